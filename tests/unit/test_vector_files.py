"""Files of word vectors: formats, oddities, damage."""

from __future__ import annotations

import gzip
import json
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

from evenhand._errors import DataError, UsageError
from evenhand.embeddings import build, vectors


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    """A file of vectors."""
    path.write_bytes(text.encode(encoding))
    return path


def test_words_with_spaces_are_read_as_in_the_840b_file(tmp_path: Path) -> None:
    """The numbers are counted from the end of the line, so a word may hold spaces, even be made of dots and spaces."""
    text = "the 1 2 3\n. . . 4 5 6\nat name@x.com 7 8 9\n1 2 1 1 1\nend 1 0 0\nmore 0 1 0\nlast 0 0 1\n"
    found = vectors(write(tmp_path / "v.txt", text))
    assert found.words == ("the", ". . .", "at name@x.com", "1 2", "end", "more", "last")
    assert found.norms[1] == pytest.approx(np.sqrt(77))


def test_a_header_of_word2vec_text_is_no_word(tmp_path: Path) -> None:
    """fastText .vec and word2vec text begin with two integers, and lines may end in a space."""
    found = vectors(write(tmp_path / "v.vec", "2 3\nman 1 2 3 \nwoman 4 5 6 \n"))
    assert found.words == ("man", "woman")
    assert found.width == 3
    assert found.problems == ()


@pytest.mark.parametrize("block", [9, 10, 11, 12, 1 << 20])
@pytest.mark.parametrize("end", ["", "\n", " ", " \n", "  \n \n"])
def test_blank_lines_and_spaces_at_either_end_are_no_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str, block: int
) -> None:
    """Blank lines, and a space behind the last number, with and without a line end, wherever the file is divided."""
    monkeypatch.setattr("evenhand.embeddings.readers.BLOCK", block)
    found = vectors(write(tmp_path / "v.txt", "\nman 1 2 3\n\nwoman 4 5 6" + end))
    assert found.words == ("man", "woman")
    np.testing.assert_allclose(found.unit[1], np.array([4, 5, 6]) / np.sqrt(77), rtol=1e-6)


def test_a_file_shorter_than_its_header_is_said_to_be_cut(tmp_path: Path) -> None:
    """What is there is kept, and the reader says that words are missing."""
    found = vectors(write(tmp_path / "v.vec", "5 2\nman 1 2\nwoman 4 5\n"))
    assert len(found) == 2
    assert "promises 5 words and the file has 2" in found.problems[0]


def test_a_line_cut_in_the_middle_is_left_out_and_said(tmp_path: Path) -> None:
    """A last line with too few numbers does not become a word."""
    text = "".join(f"w{i} {i} 1 2\n" for i in range(30)) + "half 1.5 0."
    found = vectors(write(tmp_path / "v.txt", text))
    assert len(found) == 30
    assert "half" not in found.words
    assert "half" in found.problems[0]


def test_duplicates_nan_and_zero_vectors_are_left_out_and_counted(tmp_path: Path) -> None:
    """None of them can be a direction or a neighbour; the first of two equal words is kept."""
    text = "a 1 2\nb nan 1\nc 0 0\na 9 9\nd 3 4\n"
    found = vectors(write(tmp_path / "v.txt", text))
    assert found.words == ("a", "d")
    assert found.norms[0] == pytest.approx(np.sqrt(5))
    assert len(found.problems) == 3


def test_text_that_is_no_number_costs_only_its_line(tmp_path: Path) -> None:
    """A damaged number is found although the block is parsed as one table."""
    text = "".join(f"w{i} {i} 1 2\n" for i in range(40)) + "bad 1 x 3\nz 1 1 1\n"
    found = vectors(write(tmp_path / "v.txt", text))
    assert found.words[-1] == "z"
    assert "bad" not in found.words


def test_emoji_crlf_and_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    """Windows line ends and the mark are not part of words."""
    path = tmp_path / "v.txt"
    path.write_bytes(b"\xef\xbb\xbf" + "😀 1 2\r\nZoë 3 4\r\n".encode())
    assert vectors(path).words == ("😀", "Zoë")


def test_the_real_subset_is_read_whole(data: Path) -> None:
    """The file is recoded to cp1252 and has no final newline: dashes and quotes come back, and the last word counts."""
    found = vectors(data / "attack" / "glove.6B.50d.subset.txt")
    assert (len(found), found.width, found.problems) == (2446, 50, ())
    assert {"–", "’s", "“", "”"} <= set(found.words)
    assert found.words[-1] == "attempts" or found.words[-1] == "handed"


def test_word2vec_binary_is_read_and_a_cut_one_keeps_its_whole_vectors(tmp_path: Path) -> None:
    """The binary form has the same words and numbers as the text form."""
    rows = np.arange(1, 301, dtype="<f4").reshape(100, 3)
    body = b"".join(f"w{i} ".encode() + rows[i].tobytes() + b"\n" for i in range(100))
    whole = tmp_path / "v.bin"
    whole.write_bytes(b"100 3\n" + body)
    found = vectors(whole)
    assert found.words[99] == "w99"
    assert np.allclose(found.unit[7] * found.norms[7], rows[7])
    cut = tmp_path / "cut.bin"
    cut.write_bytes((b"100 3\n" + body)[:-200])
    part = vectors(cut)
    assert 80 < len(part) < 100
    assert "cut" in part.problems[0]


def test_gzip_npz_npy_and_safetensors_are_read(tmp_path: Path) -> None:
    """The same three vectors come out of every format."""
    words, matrix = ["a", "b", "c"], np.array([[1, 2], [3, 4], [5, 6]], dtype=np.float32)
    lines = "".join(f"{w} {x} {y}\n" for w, (x, y) in zip(words, matrix.tolist(), strict=True))
    (tmp_path / "v.txt.gz").write_bytes(gzip.compress(lines.encode()))
    np.savez(tmp_path / "v.npz", words=np.array(words), vectors=matrix)
    np.save(tmp_path / "m.npy", matrix)
    (tmp_path / "m.txt").write_text("a\nb\nc\n")
    header = json.dumps({"emb": {"dtype": "F32", "shape": [3, 2], "data_offsets": [0, 24]}}).encode()
    raw = len(header).to_bytes(8, "little") + header + matrix.tobytes()
    (tmp_path / "s.safetensors").write_bytes(raw)
    (tmp_path / "s.vocab").write_text("a\nb\nc\n")
    for name in ("v.txt.gz", "v.npz", "m.npy", "s.safetensors"):
        found = vectors(tmp_path / name)
        assert found.words == ("a", "b", "c")
        assert np.allclose(found.unit * found.norms[:, None], matrix)


def test_a_pickle_is_refused_with_a_way_out(tmp_path: Path) -> None:
    """gensim's own format is a pickle, and opening one runs code."""
    path = tmp_path / "model.kv"
    path.write_bytes(pickle.dumps({"a": [1, 2]}))
    with pytest.raises(DataError, match="pickled"):
        vectors(path)


@pytest.mark.parametrize("content", ["", "hello\nworld\n", "a b c\nd e f\n"])
def test_a_file_that_holds_no_vectors_is_refused(tmp_path: Path, content: str) -> None:
    """Empty files and prose are no vectors."""
    with pytest.raises(DataError):
        vectors(write(tmp_path / "v.txt", content))


def test_a_built_folder_opens_memory_mapped_and_equal(tmp_path: Path) -> None:
    """What was parsed once is mapped afterwards."""
    found = vectors(write(tmp_path / "v.txt", "a b 1 2\nc 3 4\nd 1 1\ne 1 0\n"))
    again = vectors(build(found, tmp_path / "v.vectors"))
    assert again.words == found.words
    assert isinstance(again.unit, np.memmap)
    assert np.array_equal(again.unit, found.unit)


def test_the_cache_is_keyed_by_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A changed file is parsed anew, an equal one under another name is not."""
    monkeypatch.setattr(sys.modules["evenhand.embeddings.vectors"], "CACHE_FROM", 0)
    first = write(tmp_path / "a.txt", "a 1 2\nb 3 4\n")
    cache = tmp_path / "cache"
    vectors(first, cache=cache)
    vectors(write(tmp_path / "b.txt", "a 1 2\nb 3 4\n"), cache=cache)
    assert len(list(cache.iterdir())) == 1
    assert vectors(write(first, "a 1 2\nc 3 4\n"), cache=cache).words == ("a", "c")
    assert len(list(cache.iterdir())) == 2


def test_limit_and_case_folding(tmp_path: Path) -> None:
    """The first words of the file are the frequent ones; folding keeps the first of each."""
    path = write(tmp_path / "v.txt", "The 1 2\nthe 3 4\nman 1 1\nMan 2 1\n")
    assert vectors(path, limit=2).words == ("The", "the")
    assert vectors(path, fold_case=True).words == ("the", "man")
    with pytest.raises(UsageError):
        vectors(path, limit=0)


def test_parallel_blocks_keep_the_order_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small blocks cut lines apart anywhere; nothing is lost or swapped."""
    monkeypatch.setattr("evenhand.embeddings.readers.BLOCK", 97)
    path = write(tmp_path / "v.txt", "".join(f"w{i} {i} 2 3\n" for i in range(500)))
    found = vectors(path)
    assert found.words == tuple(f"w{i}" for i in range(500))
    assert np.allclose(found.unit[:, 0] * found.norms, np.arange(500), atol=1e-3)

"""Damaged and hostile files: one clear error or a reading that loses nothing; see tests/faults/mutants.py."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

import numpy as np
import pytest
from tests.faults.mutants import READERS, failures

import evenhand as eh
from evenhand._errors import DataError
from evenhand._files import MOST_UNPACKED, unpacking
from evenhand.cli import run
from evenhand.embeddings import vectors

MUTANTS = 3_000


@pytest.mark.parametrize("name", READERS)
def test_no_mutant_of_a_file_is_anything_but_read_or_refused(name: str) -> None:
    """No exception leaks, no process dies, no gigabyte is taken, no row is lost without a word."""
    assert list(failures(name, MUTANTS)) == []


@pytest.mark.parametrize("depth", [101, 5_000, 200_000])
def test_json_lines_nested_beyond_sense_are_refused(tmp_path: Path, depth: int) -> None:
    """Arrow's parser would follow the nesting to the end of the stack and end the process."""
    path = tmp_path / "deep.jsonl"
    path.write_text('{"a": 1, "b": "["}\n{"a": ' + "[" * depth + "]" * depth + ', "b": ""}\n')
    with pytest.raises(DataError, match="nested"):
        eh.audit_predictions(str(path), y_pred="a", groups="b")


def test_brackets_inside_texts_are_no_nesting(tmp_path: Path) -> None:
    """A text of 500 brackets is a text."""
    path = tmp_path / "texts.jsonl"
    path.write_text("".join(f'{{"text": "{"[" * 500} \\" {i}"}}\n' for i in range(3)))
    assert len(eh.texts(path)) == 3
    rows = "".join(f'{{"y": {i % 7}, "g": "{"[" * 200}{i % 2}"}}\n' for i in range(40))
    path.write_text(rows)
    assert eh.audit_predictions(str(path), y_pred="y", groups="g").findings


def _bomb(path: Path, megabytes: int) -> Path:
    block = b"0,a\n" * (1 << 18)
    with gzip.open(path, "wb", compresslevel=1) as out:
        out.write(b"y,g\n")
        for _ in range(megabytes):
            out.write(block)
    return path


def test_a_small_file_that_unpacks_to_much_is_refused_while_it_unpacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The bound is on what is unpacked in all; the command line can raise it."""
    path = _bomb(tmp_path / "bomb.csv.gz", 8)
    asked = ["predictions", str(path), "--y-pred", "y", "--group", "g"]
    try:
        assert run(["--most-unpacked", "4", *asked]) == 2
        assert "unpacks-to-much" in capsys.readouterr().err
        run(["--most-unpacked", "64", *asked])
        assert "unpacks-to-much" not in capsys.readouterr().err
    finally:
        unpacking(MOST_UNPACKED)


def test_an_archive_is_bounded_by_all_its_members_together(tmp_path: Path) -> None:
    """Many members under a limit each would still fill the memory."""
    path = tmp_path / "output.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for i in range(8):
            info = tarfile.TarInfo(f"part{i}")
            info.size = 1 << 20
            archive.addfile(info, io.BytesIO(b" " * (1 << 20)))
    unpacking(4)
    try:
        with pytest.raises(DataError, match="unpacks-to-much"):
            eh.audit_scores(str(path), scores="Positive", groups="g", tolerance=0.1)
    finally:
        unpacking(MOST_UNPACKED)


def test_vectors_in_a_zip_say_what_they_unpack_to_before_they_do(tmp_path: Path) -> None:
    """The sizes of a zip's members are added up first."""
    path = tmp_path / "v.npz"
    np.savez_compressed(path, words=np.array(["a", "b"]), vectors=np.zeros((2, 2_000_000), np.float32))
    unpacking(4)
    try:
        with pytest.raises(DataError, match="unpacks-to-much"):
            vectors(str(path))
    finally:
        unpacking(MOST_UNPACKED)


def test_a_cut_gzip_of_vectors_is_damaged_not_interrupted(tmp_path: Path) -> None:
    """A file that ends early never becomes whole by running the same command again."""
    whole = gzip.compress("".join(f"w{i} 0.5 0.25\n" for i in range(5_000)).encode())
    path = tmp_path / "v.txt.gz"
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match="cut-file"):
        vectors(str(path))


def test_a_damaged_arrow_file_is_refused_before_it_is_followed(tmp_path: Path) -> None:
    """Offsets that point out of the file end in an error, not in a signal."""
    import pyarrow as pa

    good = pa.table({"y": [0.1, 0.2], "g": ["a", "b"]})
    out = io.BytesIO()
    with pa.ipc.new_file(out, good.schema) as writer:
        writer.write_table(good)
    data = bytearray(out.getvalue())
    at = data.find(b"\x00\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00")  # the offsets of g
    data[at + 8 : at + 12] = b"\xff\xff\xff\x7f"
    path = tmp_path / "a.arrow"
    path.write_bytes(data)
    with pytest.raises(DataError, match="unreadable-file"):
        eh.audit_predictions(str(path), y_pred="y", groups="g")

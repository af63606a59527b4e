"""Reading base texts from files of all kinds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evenhand._errors import DataError
from evenhand.texts import texts


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_lines_are_read_in_any_common_encoding(tmp_path: Path, encoding: str) -> None:
    """One text per line, whatever the encoding and the line ends."""
    path = tmp_path / "a.txt"
    path.write_bytes("Arthur was naïve.\r\nHe left the café.\r\n".encode(encoding))
    assert texts(path).texts == ("Arthur was naïve.", "He left the café.")


def test_blank_lines_separate_paragraphs(tmp_path: Path) -> None:
    """Where a text file has blank lines, a text is a paragraph."""
    path = tmp_path / "a.txt"
    path.write_text("One\ntwo.\n\nThree.\n")
    assert texts(path).texts == ("One two.", "Three.")


def test_tables_keep_ids_and_columns(tmp_path: Path) -> None:
    """CSV, JSON lines and Parquet give the same texts, ids and factors."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    (tmp_path / "a.csv").write_text('id,text,mood\nx,"a, b",good\ny,c,bad\n')
    (tmp_path / "a.jsonl").write_text(
        '{"id":"x","text":"a, b","mood":"good"}\n{"id":"y","text":"c","mood":"bad"}\n'
    )
    pq.write_table(
        pa.table({"id": ["x", "y"], "text": ["a, b", "c"], "mood": ["good", "bad"]}), tmp_path / "a.parquet"
    )
    for suffix in ("csv", "jsonl", "parquet"):
        found = texts(tmp_path / f"a.{suffix}")
        assert (found.ids, found.texts, list(found.factors["mood"])) == (
            ("x", "y"),
            ("a, b", "c"),
            ["good", "bad"],
        )


@pytest.mark.parametrize("kind", ["mapping", "arrow", "pandas", "polars", "lazy"])
def test_frames_are_read_like_files(kind: str) -> None:
    """A column of texts, ids and factors; missing texts are left out; a missing column is named."""
    columns = {"id": ["a", "b", "c"], "tweet": ["One.", None, "Two."], "label": ["x", "y", "x"]}
    made = {
        "mapping": lambda: columns,
        "arrow": lambda: pytest.importorskip("pyarrow").table(columns),
        "pandas": lambda: pytest.importorskip("pandas").DataFrame(columns),
        "polars": lambda: pytest.importorskip("polars").DataFrame(columns),
        "lazy": lambda: pytest.importorskip("polars").LazyFrame(columns),
    }[kind]()
    for found in (texts(made), texts(made, column="tweet")):
        assert found.texts == ("One.", "Two.")
        assert found.ids == ("a", "c")
        assert list(found.factors["label"]) == ["x", "x"]
    with pytest.raises(DataError, match="missing-column"):
        texts(made, column="twet")


def test_a_column_of_a_frame_is_a_list_of_texts() -> None:
    """A pandas or polars series, an Arrow column of strings."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for made in (
        pandas.Series(["One.", "Two."]),
        polars.Series(["One.", "Two."]),
        np.array(["One.", "Two."]),
    ):
        assert texts(made).texts == ("One.", "Two.")


@pytest.mark.parametrize(
    ("name", "content", "slug"),
    [
        ("a.txt", b"", "empty-file"),
        ("a.csv", b"id,txet\n1,hello\n", "missing-column"),
        ("a.csv", b"id,text\n1,\n", "empty-column"),
        ("a.csv", b"id,text\n", "empty-file"),
        ("a.jsonl", b"{broken\n", "bad-json"),
        ("a.parquet", b"not parquet", "unreadable-file"),
        ("a.txt", b"\x00\x01\x02\x00\x00\x00\x00" * 9, "not-text"),
    ],
)
def test_bad_files_get_a_clear_error(tmp_path: Path, name: str, content: bytes, slug: str) -> None:
    """Empty, broken, binary files and missing columns each have their own message."""
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError) as error:
        texts(path)
    assert error.value.slug == slug


def test_a_missing_file_and_a_wrong_encoding_are_named(tmp_path: Path) -> None:
    """A file that is not there suggests near names; a named encoding that does not fit says where."""
    (tmp_path / "texts.csv").write_text("text\na\n")
    with pytest.raises(DataError, match=r"did you mean 'texts.csv'"):
        texts(tmp_path / "text.csv")
    (tmp_path / "latin.txt").write_bytes("café".encode("cp1252"))
    with pytest.raises(DataError, match="not valid utf-8"):
        texts(tmp_path / "latin.txt", encoding="utf-8")


def test_long_hostile_and_right_to_left_texts_are_kept(tmp_path: Path) -> None:
    """A 5 MB cell, control characters and right-to-left text are read unchanged, and noticed."""
    long, rtl, control = "x " * 2_500_000 + "end", "שלום Arthur مرحبا", "a\x07b"
    path = tmp_path / "a.csv"
    path.write_text(f"text\n{long}\n{rtl}\n{control}\n{control}\n", encoding="utf-8")
    found = texts(path)
    assert found.texts == (long, rtl, control, control)
    assert len(found.flags) == 3

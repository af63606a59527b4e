"""The dataframe door: every format in, clear words where one cannot be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest

from evenhand._encoding import decode
from evenhand._errors import DataError
from evenhand._table import factor, numbers, read_table, text_column

COLUMNS = {"score": [0.5, None, 2.0], "sex": ["F", None, "M"]}


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".json", ".parquet", ".arrow"])
def test_every_format_gives_the_same_columns(tmp_path: Path, suffix: str) -> None:
    """A missing value is missing in all of them."""
    path = tmp_path / f"data{suffix}"
    frame = pd.DataFrame(COLUMNS)
    writers: dict[str, Any] = {
        ".csv": lambda: frame.to_csv(path, index=False),
        ".tsv": lambda: frame.to_csv(path, index=False, sep="\t"),
        ".jsonl": lambda: frame.to_json(path, orient="records", lines=True),
        ".json": lambda: frame.to_json(path, orient="records"),
        ".parquet": lambda: parquet.write_table(pa.table(COLUMNS), path),
        ".arrow": lambda: feather.write_feather(pa.table(COLUMNS), path),
    }
    writers[suffix]()
    table = read_table(path)
    np.testing.assert_array_equal(numbers(table, "score"), [0.5, np.nan, 2.0])
    assert list(factor(table, "sex")) == ["F", None, "M"]


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.DataFrame, pa.table, dict], ids=["pandas", "polars", "arrow", "dict"]
)
def test_every_frame_gives_the_same_columns(make: Any) -> None:
    """Engines are a detail of the caller."""
    table = read_table(make(COLUMNS))
    np.testing.assert_array_equal(numbers(table, "score"), [0.5, np.nan, 2.0])
    assert list(factor(table, "sex")) == ["F", None, "M"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252", "utf-16-le"])
def test_usual_encodings_are_detected(tmp_path: Path, encoding: str) -> None:
    """A spreadsheet's idea of text is read as it was meant."""
    path = tmp_path / "data.csv"
    path.write_bytes("name,score\nZoë,1\nRené,2\n".encode(encoding))
    assert text_column(read_table(path), "name") == ["Zoë", "René"]


def test_semicolons_and_quoted_line_breaks_are_read(tmp_path: Path) -> None:
    """European exports and texts of several lines are ordinary."""
    path = tmp_path / "data.csv"
    path.write_text('text;score\n"first line\nsecond; line";0.5\n', encoding="utf-8")
    assert text_column(read_table(path), "text") == ["first line\nsecond; line"]


def test_booleans_and_whole_numbers_are_labels_as_people_write_them() -> None:
    """1.0 and 1 are one group; True is a group."""
    table = read_table({"a": [1.0, 2.0, None], "b": [True, False, True], "c": [3, 4, 3]})
    assert list(factor(table, "a")) == ["1", "2", None]
    assert sorted(factor(table, "b").levels) == ["False", "True"] or sorted(factor(table, "b").levels) == [
        "false",
        "true",
    ]
    assert list(factor(table, "c")) == ["3", "4", "3"]


@pytest.mark.parametrize(
    ("name", "content", "slug"),
    [
        ("empty.csv", b"", "empty-file"),
        ("header.csv", b"a,b\n", "empty-file"),
        ("cut.parquet", b"PAR1 cut off", "unreadable-file"),
        ("bad.jsonl", b'{"a": 1}\n{"a": ', "unreadable-file"),
        ("odd.json", b'{"a": 1}', "json-shape"),
        ("twice.csv", b"a,a\n1,2\n", "duplicate-columns"),
        ("image.png", b"\x89PNG", "unknown-format"),
        ("binary.csv", b"\x00\x01\x02\x03\x04\x00\xff" * 40, "not-text"),
        ("ragged.csv", b"a,b\n1,2\n1,2,3\n", "unreadable-file"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_clear_error(
    tmp_path: Path, name: str, content: bytes, slug: str
) -> None:
    """Each kind of trouble has its own name."""
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_table(path)
    assert caught.value.slug == slug


def test_a_missing_file_or_column_names_the_near_ones(tmp_path: Path) -> None:
    """Typing errors are the commonest errors."""
    (tmp_path / "predictions.csv").write_text("gender,score\nF,1\n")
    with pytest.raises(DataError, match=r"did you mean 'predictions\.csv'"):
        read_table(tmp_path / "prediction.csv")
    with pytest.raises(DataError, match="did you mean 'gender'"):
        factor(read_table(tmp_path / "predictions.csv"), "gendr")


def test_text_among_numbers_is_named_with_its_row() -> None:
    """The reader learns where to look."""
    with pytest.raises(DataError, match=r"row 2") as caught:
        numbers(read_table({"score": ["0.5", "high"]}), "score")
    assert caught.value.slug == "not-a-number"


def test_bytes_of_no_text_are_refused() -> None:
    """A picture is no CSV."""
    with pytest.raises(DataError):
        decode(b"\x89PNG\r\n\x00\x00\x00\x0dIHDR\xff\x00")

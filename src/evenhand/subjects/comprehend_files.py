"""Amazon Comprehend's own result files as a table: `output.tar.gz`, its JSON lines, and the flattened CSV.

A job answers ONE_DOC_PER_LINE input in any order; `Line` says which document, and lines with an ErrorCode
are kept as failed rows (Amazon Comprehend Developer Guide, "Asynchronous batch processing").
"""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._encoding import decode, read_text
from evenhand._errors import DataError
from evenhand._files import check_unpacked, foreign
from evenhand._table import numbers, read_table

if TYPE_CHECKING:
    import pyarrow as pa

_FLAT = "SentimentScore__"


def is_comprehend(path: Path) -> bool:
    """Does the file look like Comprehend's: an archive, JSON lines with `Line`, or a flattened CSV?"""
    if path.name.endswith((".tar.gz", ".tgz")):
        return True
    if not path.is_file() or path.suffix.lower() not in {".jsonl", ".json", ".csv", ".out", ""}:
        return False
    with path.open("rb") as file:
        head = file.read(4096)
    return _FLAT.encode() in head or (
        b'"Line"' in head and (b'"SentimentScore"' in head or b'"ErrorCode"' in head)
    )


def read_comprehend(path: Path, probes: Path | None = None) -> pa.Table:
    """One row a document: `Line`, `Sentiment`, the four scores from `Positive` to `Mixed`, `error`.

    Joined back on Line to the probes file that ``evenhand text --export-probes`` wrote, where given.

    Raises:
        DataError: the archive is damaged, a line is no JSON, a Line is missing or answered twice, or the
            probes are fewer than the lines.
    """
    import pyarrow as pa

    with foreign(path):
        table = _flattened(path) if path.suffix.lower() == ".csv" else pa.Table.from_pylist(_records(path))
    lines = numbers(table, "Line")
    if not np.isfinite(lines).all():
        raise DataError("comprehend-line", "a reply has no Line", given=path)
    where = lines.astype(np.int64)
    if len(np.unique(where)) != len(where):
        raise DataError(
            "comprehend-line",
            "two replies have the same Line",
            given=path,
            hint="give one job's output at a time",
        )
    if probes is None:
        return table
    asked = read_table(probes)
    if len(where) and where.max() >= asked.num_rows:
        raise DataError(
            "comprehend-line",
            f"the replies go up to line {where.max()}, but the probes file has {asked.num_rows} rows",
            given=probes,
            hint="give the probes file that this job was made from",
        )
    position = np.full(asked.num_rows, -1, dtype=np.int64)
    position[where] = np.arange(len(where))
    joined = table.take(pa.array([None if p < 0 else int(p) for p in position], type=pa.int64()))
    for name in asked.column_names:
        if name not in joined.column_names:
            joined = joined.append_column(name, asked.column(name))
    return joined


def _records(path: Path) -> list[dict[str, Any]]:
    found = []
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            raise DataError("unreadable-file", f"line {number} is not JSON: {error}", given=path) from error
        if not isinstance(record, dict) or "Line" not in record:
            raise DataError(
                "comprehend-line",
                f"line {number} is no reply of Comprehend",
                given=line[:120],
                expected='an object with "Line" and "SentimentScore" or "ErrorCode"',
            )
        scores = record.get("SentimentScore") or {}
        found.append(
            {
                "File": record.get("File"),
                "Line": int(record["Line"]),
                "Sentiment": record.get("Sentiment"),
                **{name: scores.get(name) for name in ("Positive", "Negative", "Neutral", "Mixed")},
                "error": record.get("ErrorMessage") or record.get("ErrorCode"),
            }
        )
    if not found:
        raise DataError("empty-file", "there is no reply in it", given=path)
    return found


def _lines(path: Path) -> list[str]:
    if not path.name.endswith((".tar.gz", ".tgz")):
        return read_text(path).splitlines()
    lines: list[str] = []
    size = members = 0
    with foreign(path, what="the archive cannot be read"), tarfile.open(path, "r:gz") as archive:
        for member in archive:
            size, members = size + member.size, members + 1
            check_unpacked(size, path, members=members)
            file = archive.extractfile(member) if member.isfile() else None
            if file is not None:
                lines += decode(file.read(), name=member.name).splitlines()
    return lines


def _flattened(path: Path) -> pa.Table:
    table = read_table(path)
    return table.rename_columns([name.removeprefix(_FLAT) for name in table.column_names])

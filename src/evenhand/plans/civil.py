"""The Civil Comments file, read as it is: comments that mention a category, with their labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from evenhand._errors import DataError, UsageError
from evenhand._files import foreign
from evenhand._model import FloatArray
from evenhand._table import sound

CATEGORIES: Mapping[str, tuple[str, ...]] = {
    "gender": ("male", "female", "transgender", "other_gender"),
    "sexual_orientation": (
        "heterosexual",
        "homosexual_gay_or_lesbian",
        "bisexual",
        "other_sexual_orientation",
    ),
    "religion": ("christian", "jewish", "muslim", "hindu", "buddhist", "atheist", "other_religion"),
    "race": ("black", "white", "asian", "latino", "other_race_or_ethnicity"),
    "disability": (
        "physical_disability",
        "intellectual_or_learning_disability",
        "psychiatric_or_mental_illness",
        "other_disability",
    ),
}
"""The 24 identity columns of Borkan et al. (2019), by category."""


@dataclass(frozen=True, kw_only=True)
class Comments:
    """A batch of comments.

    Args:
        ids: of the comments.
        texts: the comments.
        toxicity: the share of annotators who called it toxic, in [0, 1].
        identities: identity column → share of annotators who saw it mentioned; NaN where nobody was asked.
    """

    ids: tuple[str, ...]
    texts: tuple[str, ...]
    toxicity: FloatArray
    identities: Mapping[str, FloatArray]

    def __len__(self) -> int:
        return len(self.texts)


def civil_comments(
    path: str | PathLike[str],
    category: str,
    *,
    threshold: float = 0.5,
    columns: Sequence[str] | None = None,
    block_bytes: int = 8 << 20,
) -> Iterator[Comments]:
    """Streams the comments in which at least one identity of the category was seen by `threshold` of the
    annotators.

    Args:
        path: the CSV of the Civil Comments data (``train.csv``, ``all_data.csv``, …): ``id``, ``target`` or
            ``toxicity``, ``comment_text`` and the identity columns.
        category: "disability", "gender", "race", "religion" or "sexual_orientation".
        threshold: share of annotators, in (0, 1].
        columns: identity columns to use instead of the category's.
        block_bytes: how much of the file is read at a time.

    Raises:
        DataError: a missing file or column.
        UsageError: an unknown category.

    Source: Borkan et al. (2019), Nuanced Metrics for Measuring Unintended Bias with Real Data (CC0).
    """
    if category not in CATEGORIES and columns is None:
        raise UsageError(
            "unknown-category", "There is no such category.", given=category, available=CATEGORIES
        )
    if not 0 < threshold <= 1:
        raise UsageError(
            "bad-threshold", "The threshold is a share of annotators.", given=threshold, expected="(0, 1]"
        )
    return _stream(Path(path), tuple(columns or CATEGORIES[category]), threshold, block_bytes)


def is_civil_comments(path: str | PathLike[str]) -> bool:
    """Whether a file is a CSV whose header has ``comment_text`` and most of the 24 identity columns."""
    file = Path(path)
    if file.suffix.lower() != ".csv" or not file.is_file() or file.stat().st_size == 0:
        return False
    header = set(_header(file))
    identities = {column for columns in CATEGORIES.values() for column in columns}
    return "comment_text" in header and len(identities & header) >= len(identities) // 2


def _stream(path: Path, wanted: tuple[str, ...], threshold: float, block_bytes: int) -> Iterator[Comments]:
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv as pc

    header = _header(path)
    label = "target" if "target" in header else "toxicity"
    for column in (label, "comment_text", *wanted):
        if column not in header:
            raise DataError(
                "missing-column",
                f"{path.name} lacks a column of the Civil Comments layout.",
                given=column,
                expected="id, target (or toxicity), comment_text and the identity columns",
                available=header,
            )
    types = {c: pa.float64() for c in (label, *wanted)} | {"comment_text": pa.string()}
    keep = [*(["id"] if "id" in header else []), "comment_text", label, *wanted]
    if "id" in header:
        types["id"] = pa.string()
    row = 0
    with foreign(path, "bad-csv", "the file cannot be read as CSV"):
        reader = pc.open_csv(
            path,
            read_options=pc.ReadOptions(block_size=block_bytes),
            parse_options=pc.ParseOptions(newlines_in_values=True),
            convert_options=pc.ConvertOptions(column_types=types, include_columns=keep),
        )
        for batch in map(sound, reader):
            shares = {c: batch.column(c).to_numpy(zero_copy_only=False).astype(np.float64) for c in wanted}
            seen = np.zeros(batch.num_rows, dtype=np.bool_)
            for share in shares.values():
                seen |= np.nan_to_num(share, nan=0.0) >= threshold
            text = batch.column("comment_text")
            rows = np.flatnonzero(seen)
            rows = rows[[bool((text[int(r)].as_py() or "").strip()) for r in rows]] if len(rows) else rows
            if len(rows):
                taken = pa.array(rows)
                ids = (
                    batch.column("id").take(taken).to_pylist()
                    if "id" in header
                    else [str(row + r) for r in rows]
                )
                yield Comments(
                    ids=tuple(str(i) for i in ids),
                    texts=tuple(text.take(taken).to_pylist()),
                    toxicity=batch.column(label).to_numpy(zero_copy_only=False).astype(np.float64)[rows],
                    identities={c: s[rows] for c, s in shares.items()},
                )
            row += batch.num_rows


def _header(path: Path) -> list[str]:
    import csv

    from evenhand._encoding import encoding_of

    if not path.is_file():
        raise DataError(
            "no-such-file", "There is no such file.", given=str(path), hint="the Civil Comments CSV"
        )
    with path.open("rb") as file:
        start = file.read(1 << 16)
    if not start.strip():
        raise DataError("empty-file", "The file is empty.", given=str(path))
    line = start.decode(encoding_of(start), errors="replace").splitlines()[0]
    return [c.strip() for c in next(csv.reader([line]))]

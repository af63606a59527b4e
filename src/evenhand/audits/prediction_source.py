"""Where cells come from: rows in memory, or a Parquet file streamed in bounded memory. Everything after is the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from evenhand._errors import DataError
from evenhand._model import Factor
from evenhand.audits.prediction_cells import (
    Cell,
    Frame,
    Prepared,
    bin_of,
    bins_between,
    cell,
    cells_of,
    everyone,
    prepare,
    term_names,
)
from evenhand.audits.prediction_rows import Missing, Named, Rows, crossed, rows_of
from evenhand.audits.scoring import Analysis

STREAM_ROWS = 5_000_000
"""Parquet files with more rows are streamed."""
BATCH = 1 << 17
FINE = 1 << 20
REST = "no group"

Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class Source:
    """Cells on demand.

    Args:
        frame: what all cells share. everyone: all rows. attributes: what is compared. crossing: the last of them combines
            the others. strata: control → levels. cells: (attribute, (control, level) or None) → cells.
        rows, used: read, and kept.
    """

    frame: Frame
    everyone: Cell
    attributes: Sequence[str]
    cells: Callable[[str, tuple[str, str] | None], list[Cell]]
    strata: Mapping[str, Sequence[str]] = field(default_factory=dict)
    prepared: Prepared | None = None
    factors: Mapping[str, Factor] = field(default_factory=dict)


def from_rows(rows: Rows, quantiles: Sequence[float], *, crossing: bool) -> Source:
    """Rows in memory: exact grid, exact quantiles."""
    attributes = dict(rows.groups)
    if crossing and len(attributes) > 1:
        attributes[" & ".join(attributes)] = crossed(attributes)
    most = max((len(f.levels) for f in attributes.values()), default=1)
    made = prepare(rows, quantiles, cells=most)

    first, factor = next(iter(attributes.items()))
    parts = cells_of(made, factor, first, rest=REST)
    cached = {first: [c for c in parts if c.label != REST]}

    def cells(attribute: str, stratum: tuple[str, str] | None) -> list[Cell]:
        if stratum is None and attribute in cached:
            return cached[attribute]
        within = None if stratum is None else rows.control[stratum[0]].is_level(stratum[1])
        return cells_of(made, attributes[attribute], attribute, within)

    return Source(
        frame=made.frame,
        everyone=everyone(parts),
        attributes=list(attributes),
        cells=cells,
        strata={name: f.levels for name, f in rows.control.items()},
        prepared=made,
        factors=attributes,
    )


def large_parquet(data: Any) -> int | None:
    """Rows of a Parquet file that is to be streamed, else None."""
    if not isinstance(data, str | Path) or Path(data).suffix.lower() not in (".parquet", ".pq"):
        return None
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        rows = int(parquet.read_metadata(str(data)).num_rows)
    except (OSError, pa.ArrowInvalid):
        return None  # the ordinary reader says what is wrong
    return rows if rows > STREAM_ROWS else None


def from_parquet(
    path: str | Path,
    named: Named,
    quantiles: Sequence[float],
    *,
    missing: Missing,
    analysis: Analysis,
    crossing: bool,
    progress: Progress | None = None,
) -> tuple[Source, int]:
    """A Parquet file in three passes of batches: range, quantiles, sums. Only one batch and the sums are held.

    Quantiles come from a histogram of `FINE` equal bins between the lowest and highest prediction, scores are kept in
    `BINS`: the note says how wide a bin is.

    Returns:
        the source and the number of rows left out.

    Raises:
        DataError: as `rows_of`.
    """
    low, high, total = np.inf, -np.inf, 0.0
    used = left = 0
    for rows in _batches(path, named, missing, progress, analysis):
        p = rows.columns["y_pred"]
        if len(p):
            low, high = min(low, float(p.min())), max(high, float(p.max()))
            total += float(p.sum())
        used, left = used + len(p), left + rows.dropped
    if not used:
        raise DataError("no-rows", "no row has all the values that the audit needs", given=str(path))
    fine = np.zeros(FINE)
    for rows in _batches(path, named, missing, progress):
        place = bin_of(rows.columns["y_pred"], low, high, FINE)
        fine += np.bincount(place, rows.weight, FINE)
    top = 0.8
    wanted = list(dict.fromkeys([*quantiles, top]))
    reached = np.searchsorted(np.cumsum(fine) / fine.sum(), wanted)
    edge = low + (np.minimum(reached, FINE - 1) + 1) * (high - low) / FINE
    grid, error = bins_between(low, high)
    first = next(_batches(path, named, missing, None))
    frame = Frame(
        centre=total / used,
        thresholds=dict(zip(wanted, edge.tolist(), strict=True)),
        top=top,
        grid=grid,
        error=error,
        terms=term_names(list(first.columns), quantiles),
    )
    analysis.note(
        "streamed",
        f"{used + left:,} rows were streamed. Thresholds are exact to {(high - low) / FINE:.3g} and scores to ±{frame.error:.3g}"
        " (units of the prediction); sums are exact.",
    )
    return _summed(path, named, missing, progress, frame, crossing), left


def _summed(
    path: str | Path,
    named: Named,
    missing: Missing,
    progress: Progress | None,
    frame: Frame,
    crossing: bool,
) -> Source:
    """The third pass: cells of every attribute, and of every attribute within every stratum."""
    found: dict[tuple[str, tuple[str, str] | None], dict[str, Cell]] = {}
    total: Cell | None = None
    for rows in _batches(path, named, missing, progress):
        if not len(rows):
            continue
        made = Prepared(frame=frame, columns=rows.columns, weight=rows.weight)
        attributes = dict(rows.groups)
        if crossing and len(attributes) > 1:
            attributes[" & ".join(attributes)] = crossed(attributes)
        whole = cell(made, np.arange(len(rows)), "everyone")
        total = whole if total is None else total + whole
        strata: list[tuple[str, str] | None] = [None]
        strata += [(name, level) for name, f in rows.control.items() for level in f.levels]
        for attribute, factor in attributes.items():
            for stratum in strata:
                within = None if stratum is None else rows.control[stratum[0]].is_level(stratum[1])
                bucket = found.setdefault((attribute, stratum), {})
                for c in cells_of(made, factor, attribute, within):
                    bucket[c.label] = bucket[c.label] + c if c.label in bucket else c
    if total is None:
        raise DataError("no-rows", "no row has all the values that the audit needs", given=str(path))
    levels: dict[str, list[str]] = {}
    for _, stratum in found:
        if stratum is not None and stratum[1] not in levels.setdefault(stratum[0], []):
            levels[stratum[0]].append(stratum[1])
    return Source(
        frame=frame,
        everyone=total,
        attributes=list(dict.fromkeys(attribute for attribute, _ in found)),
        cells=lambda attribute, stratum: [v for _, v in sorted(found.get((attribute, stratum), {}).items())],
        strata=levels,
    )


def _pieces(file: Any, columns: list[str]) -> Iterator[Any]:
    """Batches, one row group after the other: the reader keeps the buffers of all groups that it was asked for."""
    for group in range(file.num_row_groups):
        yield from file.iter_batches(batch_size=BATCH, row_groups=[group], columns=columns)


def _batches(
    path: str | Path,
    named: Named,
    missing: Missing,
    progress: Progress | None,
    analysis: Analysis | None = None,
) -> Iterator[Rows]:
    """Validated rows, `BATCH` at a time; notes of all batches are added up in `analysis`."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    counts: dict[str, list[int]] = {}
    done = 0
    try:
        with parquet.ParquetFile(str(path), pre_buffer=False) as file:
            for batch in _pieces(file, named.all()):
                own = Analysis()
                table = pa.Table.from_batches([batch])
                try:
                    rows = rows_of(table, named, missing=missing, analysis=own)
                except DataError as error:
                    if error.slug != "no-rows":
                        raise
                    continue
                for note in own.notes:
                    key = note.text.partition("have no ")[2] or note.text
                    counts.setdefault(key, [0, 0])[0] += int(
                        "".join(islice((w for w in note.text.split() if w.isdigit()), 1)) or 0
                    )
                done += table.num_rows
                if progress is not None:
                    progress(done, 0)
                yield rows
    except (OSError, pa.ArrowInvalid) as error:
        raise DataError(
            "unreadable-file", f"the file cannot be read: {str(error).splitlines()[0][:200]}", given=path
        ) from error
    if analysis is not None:
        for key, (number, _) in counts.items():
            analysis.note("missing-values", f"{number} rows have no {key}", warning=True)

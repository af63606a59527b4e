"""Where cells come from: rows in memory, or a file streamed in bounded memory. Everything after is the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from evenhand._analysis import Analysis
from evenhand._errors import DataError
from evenhand._model import Factor, FloatArray
from evenhand.audits.predictions.batches import Large, Progress, batches, numbers_only
from evenhand.audits.predictions.cells import (
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
from evenhand.audits.predictions.rows import Missing, Named, Rows, check_weights, crossed, in_natural_order
from evenhand.stats.histogram import weighted_quantile

FINE = 1 << 20
MOST_DISTINCT = 1 << 20
"""Distinct predictions kept to make thresholds exact."""
C = TypeVar("C", bound=Cell)
REST = "no group"


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


@dataclass(frozen=True, kw_only=True)
class Streamed:
    """Cells of a streamed file, and how many of its rows were used and left out."""

    source: Source
    used: int
    left: int


def from_file(
    large: Large,
    named: Named,
    quantiles: Sequence[float],
    *,
    missing: Missing,
    analysis: Analysis,
    crossing: bool,
    tau: float | None = None,
    progress: Progress | None = None,
) -> Streamed:
    """A large file in passes of batches: range (unless the file states it), quantiles twice, sums. Only one batch and
    the sums are held.

    A histogram of `FINE` equal bins between the lowest and highest prediction shows which bins hold the quantiles, the
    next pass keeps the distinct predictions in these: thresholds are exact, unless a bin holds more than
    `MOST_DISTINCT`. Scores are kept in `BINS`: the note says how wide a bin is.

    Raises:
        DataError: as `rows_of`.
    """
    next(batches(large, named, missing=missing))  # what is wrong with a column is said before the first pass
    numeric = numbers_only(named)

    def again(which: Named, notes: Analysis | None = None) -> Iterator[Rows]:
        for rows in batches(large, which, missing=missing, progress=progress, analysis=notes):
            yield (
                rows
                if tau is None
                else replace(rows, columns={**rows.columns, "tau": np.full(len(rows), tau)})
            )

    stated = large.ranges(named.y_pred)
    low, high = _span(again(numeric)) if stated is None else stated
    fine, total, used, left = np.zeros(FINE), 0.0, 0, 0
    columns: list[str] = []
    for rows in again(numeric):
        p = rows.columns["y_pred"]
        fine += np.bincount(bin_of(p, low, high, FINE), rows.weight, FINE)
        total += float(p.sum() if rows.weight is None else p @ rows.weight)
        used, left, columns = used + len(p), left + rows.dropped, list(rows.columns)
    if not used:
        raise DataError("no-rows", "no row has all the values that the audit needs", given=str(large.path))
    check_weights(fine, named.weight)
    top = 0.8
    wanted = list(dict.fromkeys([*quantiles, top]))
    grid, error = bins_between(low, high)
    thresholds, exact = _thresholds(again(numeric), fine, wanted, low, high)
    frame = Frame(
        centre=total / float(fine.sum()),
        thresholds=dict(zip(wanted, thresholds.tolist(), strict=True)),
        top=top,
        grid=grid,
        error=error,
        terms=term_names(columns, quantiles),
    )
    how = "exact" if exact else f"exact to {(high - low) / FINE:.3g}"
    analysis.note(
        "streamed",
        f"{used + left:,} rows were streamed. Sums are exact, thresholds {how}, and scores (of AUC, distances and curves) to"
        f" ±{frame.error:.3g} in units of the prediction.",
    )
    return Streamed(source=_summed(again(named, analysis), frame, crossing), used=used, left=left)


def _span(parts: Iterator[Rows]) -> tuple[float, float]:
    low, high = np.inf, -np.inf
    for rows in parts:
        p = rows.columns["y_pred"]
        if len(p):
            low, high = min(low, float(p.min())), max(high, float(p.max()))
    return (low, high) if low <= high else (0.0, 0.0)


def _thresholds(
    parts: Iterator[Rows], fine: FloatArray, wanted: Sequence[float], low: float, high: float
) -> tuple[FloatArray, bool]:
    """The quantiles as `weighted_quantile` of all predictions gives them, and whether they are exact."""
    last = np.cumsum(fine)
    position = np.array(wanted) * (last[-1] - 1.0)
    spots = np.concatenate([np.floor(position), np.floor(position) + 1, np.array(wanted) * last[-1]])
    inside = np.zeros(FINE, dtype=bool)
    for side in ("left", "right"):
        inside[np.searchsorted(last, spots, side=side).clip(0, FINE - 1)] = True
    values: FloatArray = np.empty(0)
    weight: FloatArray = np.empty(0)
    for rows in parts:
        p = rows.columns["y_pred"]
        here = np.flatnonzero(inside[bin_of(p, low, high, FINE)])
        own = np.ones(len(here)) if rows.weight is None else rows.weight[here]
        values, place = np.unique(np.concatenate([values, p[here]]), return_inverse=True)
        weight = np.bincount(place, np.concatenate([weight, own]), len(values)).astype(float)
        if len(values) > MOST_DISTINCT:
            edges = np.searchsorted(last, np.array(wanted) * last[-1]).clip(0, FINE - 1) + 1
            return low + edges * (high - low) / FINE, False
    # Every other bin stands at its middle: it is not reached, and only says how much lies below.
    middles = low + (np.arange(FINE) + 0.5) * (high - low) / FINE
    others = ~inside & (fine > 0)
    every = np.concatenate([values, middles[others]]), np.concatenate([weight, fine[others]])
    return weighted_quantile(every[0], wanted, every[1]), True


def _summed(parts: Iterator[Rows], frame: Frame, crossing: bool) -> Source:
    """The last pass: cells of every attribute, and of every attribute within every stratum."""
    found: dict[tuple[str, tuple[str, str] | None], dict[str, Cell]] = {}
    total: Cell | None = None
    for rows in parts:
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
        raise DataError("no-rows", "no row has all the values that the audit needs")
    return Source(
        frame=frame,
        everyone=total,
        attributes=list(dict.fromkeys(attribute for attribute, _ in found)),
        cells=lambda attribute, stratum: ordered_cells(found.get((attribute, stratum), {})),
        strata=levels_of_strata([stratum for _, stratum in found]),
    )


def ordered_cells(found: Mapping[str, C]) -> list[C]:
    """Cells by label, in the natural order of their levels."""
    level = {name: name.partition("=")[2] for name in found}
    place = {name: i for i, name in enumerate(in_natural_order(dict.fromkeys(level.values())))}
    return [found[name] for name in sorted(found, key=lambda name: place[level[name]])]


def levels_of_strata(strata: Iterable[tuple[str, str] | None]) -> dict[str, list[str]]:
    """Control → its levels, of (control, level) pairs."""
    levels: dict[str, dict[str, None]] = {}
    for stratum in strata:
        if stratum is not None:
            levels.setdefault(stratum[0], {})[stratum[1]] = None
    return {name: in_natural_order(own) for name, own in levels.items()}

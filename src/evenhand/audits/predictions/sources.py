"""Where summaries come from: rows in memory, or a file streamed in bounded memory. Everything after is the
same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, Self, TypeAlias, TypeVar

import numpy as np

from evenhand._analysis import Analysis
from evenhand._errors import DataError
from evenhand._labels import Attribute, Grouped, Label, groupings, in_natural_order
from evenhand._model import BoolArray, Factor, FloatArray
from evenhand.audits.predictions.batches import Large, batches, numbers_only
from evenhand.audits.predictions.cells import (
    EVERYONE,
    Cell,
    Counted,
    Loose,
    Scale,
    bin_of,
    bins_between,
    cell,
    cells_of,
    everyone,
    loose_of,
    prepare,
    term_names,
)
from evenhand.audits.predictions.roles import Intake, Named
from evenhand.audits.predictions.rows import Rows, check_weights
from evenhand.stats.histogram import weighted_quantile
from evenhand.stats.missing_groups import Unlabelled, together

FINE = 1 << 20
MOST_DISTINCT = 1 << 20
"""Distinct predictions kept to make thresholds exact."""
Stratum: TypeAlias = tuple[str, str] | None
"""(control, level), or all rows."""


class Adds(Protocol):
    """A summary of rows that has a label and adds up."""

    @property
    def label(self) -> Label:
        """Whose rows they are."""
        ...

    def beside(self, rest: Loose) -> Self:
        """The summary, with the rows that may be of its group too."""
        ...

    def __add__(self, other: Self) -> Self: ...


S = TypeVar("S", bound=Adds)
T = TypeVar("T", bound=Adds)
Cells: TypeAlias = Callable[[Grouped, Stratum], list[S]]
"""The summaries of the groups that have rows in a stratum."""
Finds: TypeAlias = Callable[[Grouped, Stratum], Loose]
"""The rows of a stratum whose group is not known."""
MOST_LOOSE = 500_000
"""Rows without a group that are kept of a streamed file."""


@dataclass(frozen=True, kw_only=True)
class Source(Generic[S]):
    """Summaries on demand.

    Args:
        everyone: all rows, of any group or none. attributes: what is compared. cells: (attribute, stratum) →
            one summary for each group. strata: control → levels. used, left: rows that were kept, and left
            out. absent: attribute → group → (rows without an outcome, all rows).
    """

    everyone: S
    attributes: Sequence[Attribute]
    cells: Callable[[Attribute, Stratum], list[S]]
    strata: Mapping[str, Sequence[str]] = field(default_factory=dict)
    used: int = 0
    left: int = 0
    absent: Mapping[str, Mapping[str, tuple[int, int]]] = field(default_factory=dict)

    def of(self, part: Callable[[S], T]) -> Source[T]:
        """The same source of a part of each summary."""
        return Source(
            everyone=part(self.everyone),
            attributes=self.attributes,
            cells=lambda attribute, stratum: [part(c) for c in self.cells(attribute, stratum)],
            strata=self.strata,
            used=self.used,
            left=self.left,
            absent=self.absent,
        )

    def only(self, crossing: bool) -> Source[S]:
        """Without the crossed attribute, unless it is asked for."""
        return self if crossing else replace(self, attributes=[a for a in self.attributes if not a.crossed])


@dataclass(frozen=True, kw_only=True)
class Compared(Generic[S]):
    """The groups of one attribute, and the one that the others are held against."""

    attribute: Attribute
    cells: Sequence[S]
    reference: S


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """The source of an audit of numbers.

    Args:
        scale: what all cells share. counted, factors: the rows behind them, where they are in memory.
    """

    scale: Scale
    source: Source[Cell]
    counted: Counted | None = None
    factors: Mapping[Attribute, Factor] = field(default_factory=dict)

    def only(self, crossing: bool) -> Numbers:
        """Without the crossed attribute, unless it is asked for."""
        return replace(self, source=self.source.only(crossing))


def within_of(rows: Rows, stratum: Stratum) -> BoolArray | None:
    """The rows of a stratum; None for all."""
    return None if stratum is None else rows.control[stratum[0]].is_level(stratum[1])


def in_memory(rows: Rows, found: Sequence[Grouped], whole: S, cells: Cells[S], loose: Finds) -> Source[S]:
    """Summaries of rows that are held."""
    by_attribute = {g.attribute: g for g in found}

    def with_rest(attribute: Attribute, stratum: Stratum) -> list[S]:
        groups = by_attribute[attribute]
        doubted = rows.chances is not None or (groups.factor.codes < 0).any()
        rest = loose(groups, stratum) if doubted else {}
        return [c.beside(rest) if rest else c for c in cells(groups, stratum)]

    return Source(
        everyone=whole,
        attributes=list(by_attribute),
        cells=with_rest,
        strata={name: f.levels for name, f in rows.control.items()},
        used=rows.people,
        left=rows.dropped,
        absent=rows.absent,
    )


def summed(
    parts: Iterable[Rows], crossing: bool, count: Callable[[Rows], tuple[S, Cells[S], Finds]]
) -> Source[S]:
    """One pass over parts: the summaries of every attribute, and of every attribute within every stratum.

    Args:
        count: rows → (the summary of all of them, those of the groups in a stratum, rows without a group).

    Raises:
        DataError: `no-rows`.
    """
    found: dict[tuple[Attribute, Stratum], dict[Label, S]] = {}
    rest: dict[tuple[Attribute, Stratum], dict[str, list[Unlabelled]]] = {}
    absent: dict[str, dict[str, tuple[int, int]]] = {}
    total: S | None = None
    used = left = 0
    for rows in parts:
        used, left = used + len(rows), left + rows.dropped
        for name, counts in rows.absent.items():
            sums = absent.setdefault(name, {})
            for group, (missing, every) in counts.items():
                before = sums.get(group, (0, 0))
                sums[group] = before[0] + missing, before[1] + every
        if not len(rows):
            continue
        own, cells, loose = count(rows)
        total = own if total is None else total + own
        strata: list[Stratum] = [None]
        strata += [(name, level) for name, f in rows.control.items() for level in f.levels]
        for groups in groupings(rows.groups, crossing=crossing):
            for stratum in strata:
                bucket = found.setdefault((groups.attribute, stratum), {})
                for name, some in loose(groups, stratum).items():
                    held = rest.setdefault((groups.attribute, stratum), {}).setdefault(name, [])
                    held.append(some)
                    if sum(part.n for part in held) > MOST_LOOSE:
                        held[:] = [together(held, MOST_LOOSE) or some]
                for c in cells(groups, stratum):
                    bucket[c.label] = bucket[c.label] + c if c.label in bucket else c
    if total is None:
        raise DataError("no-rows", "no row has all the values that the audit needs")
    whole = {
        key: {name: made for name, held in own.items() if (made := together(held, MOST_LOOSE)) is not None}
        for key, own in rest.items()
    }

    def with_rest(attribute: Attribute, stratum: Stratum) -> list[S]:
        key = attribute, stratum
        every = _ordered(found.get(key, {}))
        return [c.beside(whole[key]) for c in every] if key in whole else every

    return Source(
        everyone=total,
        attributes=list(dict.fromkeys(attribute for attribute, _ in found)),
        cells=with_rest,
        strata=_levels([stratum for _, stratum in found]),
        used=used,
        left=left,
        absent=absent,
    )


def _ordered(found: Mapping[Label, S]) -> list[S]:
    return [found[label] for label in in_natural_order(found)]


def _levels(strata: Iterable[Stratum]) -> dict[str, list[str]]:
    """Control → its levels, of (control, level) pairs."""
    levels: dict[str, dict[Label, None]] = {}
    for stratum in strata:
        if stratum is not None:
            levels.setdefault(stratum[0], {})[Label.of(*stratum)] = None
    return {name: [label.level for label in in_natural_order(own)] for name, own in levels.items()}


# --- numbers


def from_rows(rows: Rows, quantiles: Sequence[float], *, crossing: bool) -> Numbers:
    """Rows in memory: exact grid, exact quantiles."""
    found = groupings(rows.groups, crossing=crossing)
    made = prepare(rows, quantiles, cells=max((len(g.factor.levels) for g in found), default=1))
    rest = Label.named("no group")
    parts = cells_of(made, found[0], rest=rest)
    first = [c for c in parts if c.label != rest]

    def cells(groups: Grouped, stratum: Stratum) -> list[Cell]:
        if stratum is None and groups is found[0]:
            return first
        return cells_of(made, groups, within_of(rows, stratum))

    return Numbers(
        scale=made.scale,
        source=in_memory(
            rows,
            found,
            everyone(parts),
            cells,
            lambda groups, at: loose_of(made, groups, within_of(rows, at)),
        ),
        counted=made,
        factors={g.attribute: g.factor for g in found},
    )


def from_file(large: Large, named: Named, quantiles: Sequence[float], intake: Intake) -> Numbers:
    """A large file in passes of batches: range (unless the file states it), quantiles twice, sums. Only one
    batch and the sums are held.

    A histogram of `FINE` equal bins between the lowest and highest prediction shows which bins hold the
    quantiles, the next pass keeps the distinct predictions in these: thresholds are exact, unless a bin holds
    more than `MOST_DISTINCT`. Scores are kept in `BINS`: the note says how wide a bin is.

    Raises:
        DataError: as `rows_of`.
    """
    missing, analysis = intake.missing, intake.analysis
    next(batches(large, named, missing=missing))  # what is wrong with a column is said before the first pass
    numeric = numbers_only(named)

    def again(which: Named, notes: Analysis | None = None) -> Iterator[Rows]:
        for rows in batches(large, which, missing=missing, progress=intake.progress, analysis=notes):
            yield rows.with_tau(intake.tau)

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
    scale = Scale(
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
        f"{used + left:,} rows were streamed. Sums are exact, thresholds {how}, and scores (of AUC, distances"
        f" and curves) to ±{scale.error:.3g} in units of the prediction.",
    )
    return Numbers(scale=scale, source=_sums(again(named, analysis), scale, intake.crossing))


def _sums(parts: Iterator[Rows], scale: Scale, crossing: bool) -> Source[Cell]:
    """The last pass."""

    def count(rows: Rows) -> tuple[Cell, Cells[Cell], Finds]:
        made = Counted(scale=scale, columns=rows.columns, weight=rows.weight)
        whole = cell(made, np.arange(len(rows)), EVERYONE)
        return (
            whole,
            lambda groups, stratum: cells_of(made, groups, within_of(rows, stratum)),
            lambda groups, stratum: loose_of(made, groups, within_of(rows, stratum)),
        )

    return summed(parts, crossing, count)


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

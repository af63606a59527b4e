"""Where summaries come from: rows in memory, or a file streamed in bounded memory. Everything after is the
same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Generic, Protocol, Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from evenhand._errors import DataError
from evenhand._labels import Attribute, Grouped, Label, groupings, in_natural_order
from evenhand._model import BoolArray, Factor
from evenhand.audits.predictions.batches import Taken, Taking
from evenhand.audits.predictions.cells import (
    EVERYONE,
    Cell,
    Counted,
    Loose,
    Scale,
    bins_between,
    cell,
    cells_of,
    combined,
    everyone,
    loose_of,
    prepare,
    term_names,
)
from evenhand.audits.predictions.roles import Intake, Named
from evenhand.audits.predictions.rows import Rows, check_weights
from evenhand.engines import Partition
from evenhand.engines.streamed import Streamed
from evenhand.stats.missing_groups import Unlabelled, together
from evenhand.stats.passes import FINE, Near, Shape, Span, quantiles_of, span_of

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


Counts: TypeAlias = Callable[[Rows], tuple[S, Cells[S], Finds]]
"""Rows → (the summary of all of them, those of the groups in a stratum, rows without a group)."""


@dataclass(kw_only=True)
class Totals(Generic[S]):
    """The summaries of some partitions: of every attribute, and of every attribute within every stratum.

    Args:
        found: (attribute, stratum) → group → its summary. rest: the same of rows without a group, by the name
            they are held under, at most `MOST_LOOSE` of each. total: of all rows.
    """

    full = False
    found: dict[tuple[Attribute, Stratum], dict[Label, S]] = field(default_factory=dict)
    rest: dict[tuple[Attribute, Stratum], dict[str, list[Unlabelled]]] = field(default_factory=dict)
    total: S | None = None
    taken: Taken = field(default_factory=Taken)

    def count(self, rows: Rows, crossing: bool, count: Counts[S]) -> None:
        """Add a batch."""
        own, cells, loose = count(rows)
        self.total = own if self.total is None else self.total + own
        strata: list[Stratum] = [None]
        strata += [(name, level) for name, f in rows.control.items() for level in f.levels]
        for groups in groupings(rows.groups, crossing=crossing):
            for stratum in strata:
                key = groups.attribute, stratum
                self._put(key, {c.label: c for c in cells(groups, stratum)})
                self._put_loose(key, {name: [some] for name, some in loose(groups, stratum).items()})

    def __add__(self, other: Self) -> Self:
        """The sums of both; what is added to is used up."""
        if self.total is None or other.total is None:
            self.total = other.total if self.total is None else self.total
        else:
            self.total = self.total + other.total
        for key, cells in other.found.items():
            self._put(key, cells)
        for key, some in other.rest.items():
            self._put_loose(key, some)
        self.taken = self.taken + other.taken
        return self

    def _put(self, key: tuple[Attribute, Stratum], cells: Mapping[Label, S]) -> None:
        bucket = self.found.setdefault(key, {})
        for label, c in cells.items():
            bucket[label] = bucket[label] + c if label in bucket else c

    def _put_loose(self, key: tuple[Attribute, Stratum], some: Mapping[str, Sequence[Unlabelled]]) -> None:
        for name, parts in some.items():
            held = self.rest.setdefault(key, {}).setdefault(name, [])
            held += parts
            if len(held) > 1 and sum(part.n for part in held) > MOST_LOOSE:
                held[:] = [made] if (made := together(held, MOST_LOOSE)) is not None else []

    def source(self) -> Source[S]:
        """The summaries on demand.

        Raises:
            DataError: `no-rows`.
        """
        if self.total is None:
            raise DataError("no-rows", "no row has all the values that the audit needs")
        whole = {
            key: {n: made for n, held in own.items() if (made := together(held, MOST_LOOSE)) is not None}
            for key, own in self.rest.items()
        }

        def with_rest(attribute: Attribute, stratum: Stratum) -> list[S]:
            key = attribute, stratum
            every = _ordered(self.found.get(key, {}))
            return [c.beside(whole[key]) for c in every] if key in whole else every

        return Source(
            everyone=self.total,
            attributes=list(dict.fromkeys(attribute for attribute, _ in self.found)),
            cells=with_rest,
            strata=_levels([stratum for _, stratum in self.found]),
            used=self.taken.used,
            left=self.taken.left,
            absent=self.taken.absent,
        )


def totals_of(taking: Taking, crossing: bool, count: Counts[S], part: Partition) -> Totals[S]:
    """The summaries of a partition."""
    found: Totals[S] = Totals()
    for rows in taking.rows(part, found.taken):
        if len(rows):
            found.count(rows, crossing, count)
    return found


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


def from_file(large: Streamed, named: Named, quantiles: Sequence[float], intake: Intake) -> Numbers:
    """Streamed data in passes over partitions: range (unless the files state it), quantiles twice, sums.
    Nobody holds more than one batch and sums.

    A histogram of `FINE` equal bins between the lowest and highest prediction shows which bins hold the
    quantiles, the next pass keeps the distinct predictions in these: thresholds are exact, unless a bin holds
    more than `MOST_DISTINCT`. Scores are kept in `BINS`: the note says how wide a bin is.

    Raises:
        DataError: as `rows_of`.
    """
    analysis, progress = intake.analysis, intake.progress
    taking = Taking(named=named, missing=intake.missing, tau=intake.tau)
    taking.look(large)  # what is wrong with a column is said before the first pass
    numeric = taking.numbers_only
    stated = large.ranges(named.y_pred)
    span = large.total(partial(_span, numeric), progress) if stated is None else Span(*stated)
    shape = large.total(partial(_shape, numeric, span), progress)
    if not shape.rows:
        raise DataError("no-rows", "no row has all the values that the audit needs", given=large.name)
    check_weights(shape.fine, named.weight)
    top = 0.8
    wanted = list(dict.fromkeys([*quantiles, top]))
    grid, error = bins_between(span.low, span.high)
    bins = shape.bins_of(wanted)
    # Where every row was kept, the predictions alone say what the second pass needs.
    alone = numeric if shape.left else numeric.predictions_only
    near = large.total(partial(_near, alone, span, bins, MOST_DISTINCT), progress)
    scale = Scale(
        centre=shape.total / float(shape.fine.sum()),
        thresholds=dict(zip(wanted, quantiles_of(shape, near, span, bins, wanted), strict=True)),
        top=top,
        grid=grid,
        error=error,
        terms=term_names(shape.columns, quantiles),
    )
    how = f"exact to {span.fine_width:.3g}" if near.full else "exact"
    analysis.note(
        "streamed",
        f"{shape.rows + shape.left:,} rows were streamed. Sums are exact, thresholds {how}, and scores (of"
        f" AUC, distances and curves) to ±{scale.error:.3g} in units of the prediction.",
    )
    sums = large.total(partial(totals_of, taking, intake.crossing, partial(_counted, scale)), progress)
    sums.taken.tell(analysis)
    return Numbers(scale=scale, source=sums.source())


def _counted(scale: Scale, rows: Rows) -> tuple[Cell, Cells[Cell], Finds]:
    """Of the last pass."""
    made = Counted(scale=scale, columns=rows.columns, weight=rows.weight)
    once = combined(made, list(rows.groups.values()))
    return (
        cell(made, np.arange(len(rows)), EVERYONE) if once is None else once.everyone(),
        lambda groups, stratum: (
            cells_of(made, groups, within_of(rows, stratum))
            if once is None or stratum is not None
            else once.cells(groups)
        ),
        lambda groups, stratum: loose_of(made, groups, within_of(rows, stratum)),
    )


def _span(taking: Taking, part: Partition) -> Span:
    found = Span()
    for rows in taking.rows(part):
        found = found + span_of(rows.columns["y_pred"])
    return found


def _shape(taking: Taking, span: Span, part: Partition) -> Shape:
    found = Shape()
    held: list[Rows] = []
    for rows in taking.rows(part):
        held.append(rows)
        found.left += rows.dropped
        found.columns = tuple(rows.columns)
        if sum(map(len, held)) >= FINE:  # a table of so many bins is worth as many numbers
            _count(found, held, span)
    _count(found, held, span)
    return found


def _count(shape: Shape, held: list[Rows], span: Span) -> None:
    """Count what is held, and let it go."""
    if held:
        weight = [rows.weight for rows in held if rows.weight is not None]
        p = np.concatenate([rows.columns["y_pred"] for rows in held])
        shape.count(p, np.concatenate(weight) if weight else None, span)
        held.clear()


def _near(taking: Taking, span: Span, bins: npt.NDArray[np.intp], most: int, part: Partition) -> Near:
    found = Near(most=most)
    for rows in taking.rows(part):
        found = found.with_rows(rows.columns["y_pred"], rows.weight, span, bins)
        if found.full:
            break
    return found

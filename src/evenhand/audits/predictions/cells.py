"""Rows of predictions reduced to what every measure needs: sums of terms and scores on a grid, for each
group."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from evenhand._labels import Grouped, Label
from evenhand._model import BoolArray, Factor, FloatArray, IntArray
from evenhand.audits.predictions.rows import Chosen, Rows
from evenhand.measures.regression import TERMS, selected_term, term_matrix
from evenhand.stats.group_chances import Chanced
from evenhand.stats.grouped_order import Ordered, distinct, in_order, scores_of
from evenhand.stats.histogram import Scores, ordered_quantile
from evenhand.stats.missing_groups import Unlabelled
from evenhand.stats.moments import Moments, moments_by_part, moments_of_units, with_indicators

MOST_GRID = 30_000_000
"""Grid points × groups held at once; beyond, scores are counted in bins and the error is stated."""
BINS = 1 << 16
MOST_TOGETHER = 16
"""Groups whose scores are counted in one table; of more it would not stay in the cache."""
MOST_COMBINED = 128
"""Combinations of groups whose rows are summed once, for all attributes."""
Loose: TypeAlias = Mapping[str, Unlabelled]
"""Rows without a group, for each class that is held against the rest; of numbers under no name."""


@dataclass(frozen=True, kw_only=True)
class Scale:
    """What all groups share.

    Args:
        centre: subtracted from outcomes and predictions, so that sums of squares keep their digits.
        thresholds: quantile → score of the full sample. top: the quantile that bounds the "top" measures.
        grid: the middles of the bins that scores are counted in, ascending, uncentred; None where it is the
            distinct scores.
        error: half a bin, in units of the score; 0 without bins.
        terms: names of the moments, those of the selections last.
    """

    centre: float
    thresholds: Mapping[float, float]
    top: float
    grid: FloatArray | None
    error: float
    terms: tuple[str, ...]

    @cached_property
    def cuts(self) -> list[float]:
        """The thresholds in ascending order, each once."""
        return sorted(set(self.thresholds.values()))


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One group, or a group within a stratum.

    Args:
        label: whose rows they are. moments: of all rows; `top` of those above the top threshold. scores: on
            the scale's grid. unlabelled: rows that may be of this group too, since nobody knows theirs.
    """

    label: Label
    moments: Moments
    top: Moments
    scores: Scores
    unlabelled: Unlabelled | None = None

    @property
    def n(self) -> int:
        """Rows; how many are to be expected where groups are known by chances only."""
        return round(self.moments.weight) if isinstance(self.unlabelled, Chanced) else self.moments.n

    def beside(self, rest: Loose) -> Self:
        """The cell, with the rows that may be of its group too."""
        return replace(self, unlabelled=rest.get(""))

    def __add__(self, other: Cell) -> Cell:
        return Cell(
            label=self.label,
            moments=self.moments + other.moments,
            top=self.top + other.top,
            scores=self.scores + other.scores,
        )


@dataclass(frozen=True, kw_only=True)
class Counted:
    """Rows, and what is made of them once: `terms`, `place` and `in_top` when they are first asked for.

    Args:
        columns: name → (n,). weight: (n,) or None. unit: (n,) codes, where rows belong to units.
        ordered: the predictions in ascending order with the codes `by`, where they have been sorted; rows
            without a code have the next free one. chances: of every group, where they are known by chances.
    """

    scale: Scale
    columns: Mapping[str, FloatArray]
    weight: FloatArray | None
    unit: IntArray | None = None
    ordered: Ordered | None = None
    by: IntArray | None = None
    chances: FloatArray | None = None

    @cached_property
    def terms(self) -> FloatArray:
        """(k, n) terms of all rows."""
        t = [t for q, t in self.scale.thresholds.items() if selected_term(q) in self.scale.terms]
        above = (self.columns["y_pred"] > np.reshape(t, (-1, 1))).astype(float)
        return np.concatenate([row_terms(self.columns, self.scale), above])

    @cached_property
    def place(self) -> npt.NDArray[np.intp]:
        """(n,) place of each prediction among the distinct ones, or its bin."""
        p, grid, error = self.columns["y_pred"], self.scale.grid, self.scale.error
        if grid is None:
            return np.unique(p, return_inverse=True)[1].astype(np.intp)
        return bin_of(p, float(grid[0]) - error, float(grid[-1]) + error, len(grid))

    @cached_property
    def in_top(self) -> BoolArray:
        """(n,) whether the prediction is above the threshold of the top."""
        return np.asarray(self.columns["y_pred"] > self.scale.thresholds[self.scale.top])


def term_names(columns: Sequence[str], quantiles: Sequence[float]) -> tuple[str, ...]:
    """The terms that these columns allow."""
    names = ["p", "pp"]
    if "y_true" in columns:
        names += ["y", "yy", "yp", "ae"]
        if "y_low" in columns:
            names.append("covered")
        if "tau" in columns:
            names += ["pinball", "pinball²"]
    if "y_low" in columns:
        names.append("width")
    if "exposure" in columns:
        names.append("exposure")
    return (*names, *(selected_term(q) for q in quantiles))


def prepare(rows: Rows, quantiles: Sequence[float], *, top: float = 0.8, cells: int = 2) -> Counted:
    """Thresholds, and the predictions in order with the groups of the first attribute.

    Args:
        cells: how many groups will be held at once; decides whether the grid can be exact.
    """
    p = rows.columns["y_pred"]
    wanted = list(dict.fromkeys([*quantiles, top]))
    first = next(iter(rows.groups.values()), Factor(np.zeros(len(p), dtype=np.int32), ("everyone",)))
    ordered = in_order(p, _without_gaps(first), len(first.levels) + 1, rows.weight)
    thresholds = ordered_quantile(ordered.values, wanted, ordered.weight).tolist()
    grid, error = None, 0.0
    if len(p) * cells > MOST_GRID and distinct(ordered.values) * cells > MOST_GRID:
        grid, error = bins_between(float(ordered.values[0]), float(ordered.values[-1]))
    scale = Scale(
        centre=float(np.average(p, weights=rows.weight)),
        thresholds=dict(zip(wanted, thresholds, strict=True)),
        top=top,
        grid=grid,
        error=error,
        terms=term_names(list(rows.columns), quantiles),
    )
    return Counted(
        scale=scale,
        columns=rows.columns,
        weight=rows.weight,
        unit=rows.unit,
        ordered=ordered,
        by=first.codes,
        chances=rows.chances,
    )


def bins_between(low: float, high: float) -> tuple[FloatArray, float]:
    """The middles of `BINS` bins of equal width, and half a width."""
    error = (high - low) / BINS / 2
    return np.asarray(low + (np.arange(BINS) + 0.5) * (2 * error), dtype=np.float64), error


def bin_of(p: FloatArray, low: float, high: float, bins: int) -> npt.NDArray[np.intp]:
    """The bin of equal width that each score falls into."""
    if high <= low:
        return np.zeros(len(p), dtype=np.intp)
    spot = p - low
    spot *= bins / (high - low)
    found = spot.astype(np.intp)
    return np.minimum(found, bins - 1, out=found)


def row_terms(
    columns: Mapping[str, FloatArray], scale: Scale, rows: Chosen = slice(None), out: FloatArray | None = None
) -> FloatArray:
    """(k, n) terms of some rows but for the selections; outcomes and predictions centred."""
    part = {name: column[rows] for name, column in columns.items()}
    for name in ("y_pred", "y_true", "y_low", "y_high"):
        if name in part:
            part[name] = part[name] - scale.centre
    return term_matrix(part, _plain(scale), out)


def _plain(scale: Scale) -> list[str]:
    return [name for name in scale.terms if name in TERMS]


def _without_gaps(groups: Factor) -> IntArray:
    """The codes, rows without a level as one more level."""
    codes = groups.codes
    return np.where(codes < 0, len(groups.levels), codes) if codes.min(initial=0) < 0 else codes


def cells_of(
    made: Counted, groups: Grouped, within: BoolArray | None = None, *, rest: Label | None = None
) -> list[Cell]:
    """One cell for each level that has rows, in the order of the levels. They share a grid.

    Args:
        rest: label of a further cell for the rows without a level, if there are any.
    """
    labels = groups.labels + ([] if rest is None else [rest])
    codes = groups.factor.codes
    if within is None:
        ordered = made.ordered if codes is made.by else None
        return _cells(made, _without_gaps(groups.factor), labels, slice(None), ordered)
    rows = np.flatnonzero(within & (codes >= 0))
    return _cells(made, codes[rows], labels, rows)


def loose_of(made: Counted, groups: Grouped, within: BoolArray | None = None) -> Loose:
    """The rows whose level is not known, or known by chances only."""
    rows = doubtful(groups, made.chances, within)
    if not len(rows):
        return {}
    found = Unlabelled(
        names=made.scale.terms,
        n=len(rows),
        terms=made.terms[:, rows],
        weight=None if made.weight is None else made.weight[rows],
        unit=None if made.unit is None else made.unit[rows],
        top=made.in_top[rows],
    )
    return {"": with_chances(found, groups, made.chances, rows)}


def doubtful(groups: Grouped, chances: FloatArray | None, within: BoolArray | None) -> npt.NDArray[np.intp]:
    """The rows without a level; all rows, where levels are known by chances only."""
    some = groups.factor.codes < 0 if chances is None else np.ones(len(chances), dtype=bool)
    return np.flatnonzero(some if within is None else some & within)


def with_chances(
    found: Unlabelled, groups: Grouped, chances: FloatArray | None, rows: npt.NDArray[np.intp]
) -> Unlabelled:
    """The rows with their chances, where they have any."""
    if chances is None:
        return found
    return Chanced(**vars(found), levels=groups.factor.levels, chances=chances[rows])


def cell(made: Counted, rows: npt.NDArray[np.intp], label: Label) -> Cell:
    """The sums of some rows, at least one."""
    return _cells(made, np.zeros(len(rows), dtype=np.int32), [label], rows)[0]


def _cells(
    made: Counted, codes: IntArray, labels: Sequence[Label], rows: Chosen, ordered: Ordered | None = None
) -> list[Cell]:
    """A cell for each label that has rows; `codes` of the `rows` are places in `labels`, or the one after
    the last."""
    pairs = _moments(made, codes, len(labels), rows)
    scores = _scores(made, codes, len(labels), rows, ordered)
    if made.weight is None:
        present = [every.n > 0 for every, _ in pairs]
    else:
        present = (np.bincount(codes, minlength=len(labels)) > 0).tolist()
    return [
        Cell(label=label, moments=every, top=top, scores=own)
        for label, some, (every, top), own in zip(labels, present, pairs, scores, strict=False)
        if some
    ]


def _moments(made: Counted, codes: IntArray, groups: int, rows: Chosen) -> list[tuple[Moments, Moments]]:
    """(all rows, those above the top's threshold) of each group.

    The rows of a group are summed by how many thresholds they are above; the selections are then sums of
    sums.
    """
    if made.unit is not None:
        return [_of_units(made, made.unit, own) for own in _by_code(codes, groups, rows)]
    sums = _by_threshold(made, codes, groups + 1, rows)
    levels = len(made.scale.cuts) + 1
    return [_of_parts(made.scale, sums[i * levels : (i + 1) * levels]) for i in range(groups)]


def _by_threshold(made: Counted, codes: IntArray, groups: int, rows: Chosen) -> list[Moments]:
    """The sums of each group's rows, by how many thresholds they are above; `codes` in [0, groups)."""
    scale, cuts = made.scale, made.scale.cuts
    p = made.columns["y_pred"][rows]
    levels = len(cuts) + 1
    parts = groups * levels
    small: Any = next(t for t in (np.uint8, np.int16, np.int64) if parts <= np.iinfo(t).max)
    part = codes.astype(small) * small(levels)
    for cut in cuts:
        part += p > cut
    return moments_by_part(
        lambda block, out: row_terms(
            made.columns, scale, block if isinstance(rows, slice) else rows[block], out
        ),
        _plain(scale),
        part,
        parts,
        None if made.weight is None else made.weight[rows],
    )


def _of_parts(scale: Scale, sums: Sequence[Moments]) -> tuple[Moments, Moments]:
    """(all rows, those above the top's threshold) of one or several groups together, from their sums by
    threshold, one group after the other."""
    levels = len(scale.cuts) + 1
    above = {q: [level > scale.cuts.index(t) for level in range(levels)] for q, t in scale.thresholds.items()}
    several = len(sums) // levels
    chosen = {
        selected_term(q): inside * several for q, inside in above.items() if selected_term(q) in scale.terms
    }
    at = [i for i, inside in enumerate(above[scale.top] * several) if inside]
    top = {name: [inside[i] for i in at] for name, inside in chosen.items()}
    return with_indicators(sums, chosen), with_indicators([sums[i] for i in at], top)


def _by_code(codes: IntArray, groups: int, rows: Chosen) -> Iterator[npt.NDArray[np.intp]]:
    """The rows of each group; `codes` are those of the `rows`."""
    for code in range(groups):
        own = np.flatnonzero(codes == code)
        yield own if isinstance(rows, slice) else rows[own]


def _of_units(made: Counted, unit: IntArray, rows: npt.NDArray[np.intp]) -> tuple[Moments, Moments]:
    """(all of some rows, those above the top's threshold), summed by unit.

    A unit may lie on both sides of a threshold, so sums by threshold do not add up to its own.
    """

    def summed(own: npt.NDArray[np.intp]) -> Moments:
        weight = None if made.weight is None else made.weight[own]
        return moments_of_units(made.terms[:, own], made.scale.terms, unit[own], weight)

    return summed(rows), summed(rows[made.in_top[rows]])


def _scores(
    made: Counted, codes: IntArray, groups: int, rows: Chosen, ordered: Ordered | None
) -> list[Scores]:
    """The scores of each group, on the distinct scores of these rows or in the scale's bins."""
    weight = None if made.weight is None else made.weight[rows]
    grid = made.scale.grid
    if grid is not None and groups <= MOST_TOGETHER:
        key = np.multiply(codes, len(grid), dtype=np.intp)
        key += made.place[rows]
        return _at_keys(key, groups, weight, grid)
    if grid is None:
        if ordered is None:
            ordered = in_order(made.columns["y_pred"][rows], codes, groups + 1, weight)
        return scores_of(ordered, groups)
    order = np.argsort(codes.astype(np.int16 if groups < 1 << 15 else np.int64), kind="stable")
    place, edges = made.place[rows][order], np.searchsorted(codes[order], np.arange(groups + 1))
    weight = None if weight is None else weight[order]
    return [scores_at(place[a:b], None if weight is None else weight[a:b], grid) for a, b in pairwise(edges)]


def _at_keys(
    key: npt.NDArray[np.intp], groups: int, weight: FloatArray | None, grid: FloatArray
) -> list[Scores]:
    """Counts (or weights) of several groups at once; `key` is group × grid + place, rows of no group last."""
    shape, size = (groups + 1, len(grid)), (groups + 1) * len(grid)
    if weight is None:
        counts = np.bincount(key, minlength=size).reshape(shape)
        numbers, first, second = counts.sum(axis=1), counts.astype(float), None
    else:
        numbers = np.bincount(key[weight != 0] // len(grid), minlength=groups + 1)
        first = np.bincount(key, weight, size).reshape(shape)
        second = np.bincount(key, weight**2, size).reshape(shape)
    return [
        Scores(
            values=grid, weight=first[i], weight2=first[i] if second is None else second[i], n=int(numbers[i])
        )
        for i in range(groups)
    ]


def scores_at(place: npt.NDArray[np.intp], weight: FloatArray | None, grid: FloatArray) -> Scores:
    """Counts (or weights) of rows on the grid."""
    if weight is None:
        counts = np.bincount(place, minlength=len(grid)).astype(float)
        return Scores(values=grid, weight=counts, weight2=counts, n=len(place))
    return Scores(
        values=grid,
        weight=np.bincount(place, weight, len(grid)).astype(float),
        weight2=np.bincount(place, weight**2, len(grid)).astype(float),
        n=int(np.count_nonzero(weight)),
    )


@dataclass(frozen=True, kw_only=True)
class Combined:
    """All rows summed once, by every combination of their groups: those of any attribute are sums of these.

    Args:
        first: (c,) a row of each combination, −1 where there is none.
        sums: of one combination after the other, by how many thresholds the rows are above.
    """

    made: Counted
    first: IntArray
    sums: Sequence[Moments]

    def everyone(self) -> Cell:
        """All rows, of any group or none."""
        every, top = _of_parts(self.made.scale, self.sums)
        grid = self.made.scale.grid
        scores = scores_at(self.made.place, self.made.weight, np.empty(0) if grid is None else grid)
        return Cell(label=EVERYONE, moments=every, top=top, scores=scores)

    def cells(self, groups: Grouped) -> list[Cell]:
        """One cell for each level that has rows, as `cells_of` gives them."""
        levels = len(self.made.scale.cuts) + 1
        there = np.flatnonzero(self.first >= 0)
        code_of = groups.factor.codes[self.first[there]]
        codes = _without_gaps(groups.factor)
        scores = _scores(self.made, codes, len(groups.labels), slice(None), None)
        found = []
        for code, (label, own) in enumerate(zip(groups.labels, scores, strict=False)):
            at = there[code_of == code]
            if len(at):
                sums = [m for i in at.tolist() for m in self.sums[i * levels : (i + 1) * levels]]
                every, top = _of_parts(self.made.scale, sums)
                found.append(Cell(label=label, moments=every, top=top, scores=own))
        return found


def combined(made: Counted, factors: Sequence[Factor]) -> Combined | None:
    """The rows by every combination of these factors' levels; None where there may be too many, or rows
    belong to units."""
    sizes = [len(f.levels) + 1 for f in factors]
    many = math.prod(sizes)
    if many > MOST_COMBINED or made.unit is not None or made.scale.grid is None or not factors:
        return None
    codes = _without_gaps(factors[0]).astype(np.int16)
    for factor, size in zip(factors[1:], sizes[1:], strict=True):
        codes = codes * np.int16(size) + _without_gaps(factor).astype(np.int16)
    first = np.full(many, -1, dtype=np.intp)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return Combined(made=made, first=first, sums=_by_threshold(made, codes, many, slice(None)))


EVERYONE = Label.named("everyone")


def everyone(cells: Sequence[Cell]) -> Cell:
    """All groups together."""
    total = cells[0]
    for other in cells[1:]:
        total = total + other
    return Cell(label=EVERYONE, moments=total.moments, top=total.top, scores=total.scores)


def all_others(cells: Sequence[Cell]) -> list[Cell]:
    """For each of at least two cells the sums over all the others, without their scores.

    Sums from both ends: linear in the cells, and nothing is subtracted, so that no digit is lost.
    """
    label = Label.named(f"all others of {cells[0].label.attribute}")
    none = Scores(values=np.zeros(1), weight=np.zeros(1), weight2=np.zeros(1), n=0)
    plain = [Cell(label=label, moments=c.moments, top=c.top, scores=none) for c in cells]
    before, after = list(accumulate(plain[:-1])), list(accumulate(plain[:0:-1]))[::-1]
    inner = [a + b for a, b in zip(before[:-1], after[1:], strict=True)]
    return [after[0], *inner, before[-1]]

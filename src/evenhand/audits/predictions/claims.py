"""What is claimed of two groups of predictions: the rows of the tables of measures, made claims about
cells."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np

from evenhand._compare import Claim, Spread, claim_of
from evenhand._declared import Declared
from evenhand._estimate import by_chance, over
from evenhand.audits.predictions.cells import Cell, Scale
from evenhand.audits.predictions.class_cells import ClassCell
from evenhand.measures import classification as labels
from evenhand.measures import regression as numbers
from evenhand.measures.contrasts import counts_of, difference, hits, log_rate, log_share, share_gap
from evenhand.measures.row import Gaps, Measure, compare, null_of, statistic
from evenhand.stats.group_chances import Chanced
from evenhand.stats.interval import Inference
from evenhand.stats.missing_groups import Bounded
from evenhand.stats.moments import Moments, estimate
from evenhand.stats.strata import mantel_haenszel_difference, mantel_haenszel_ratio, pooled_difference

LEAST_TOP = 15
"""Rows of each side that a claim about the top of the scores needs at least."""
WITHOUT_TERMS = frozenset({numbers.PLACED})
"""Terms of a row that are no sums of a cell: they are made in a bootstrap only."""


def number_claims(
    scale: Scale, quantiles: Sequence[float], declared: Declared, everyone: Cell
) -> list[Claim[Cell]]:
    """The claims about numeric predictions that the terms at hand allow."""
    sizes, rows = units(everyone), number_measures(scale, quantiles)
    every = [
        claim_of(
            row,
            declared,
            _infer(row, declared.seed),
            units=sizes,
            alone=_alone(row, everyone),
            pooled=_pooled(row),
            widest=row.widest,
            worst=row.worst,
            spread=partial(_spread, row),
        )
        for row in rows
    ]
    share = f"top {100 * (1 - scale.top):.3g} %"
    top = [
        claim_of(
            row,
            declared,
            partial(_of_top, row, declared.seed),
            units=sizes,
            given=share,
            counts=_in_top,
            spread=partial(_spread_of_top, row),
        )
        for row in (_top(row) for row in rows if row.top)
    ]
    return [*every, *(replace(c, family="top of the scores", primary=False) for c in top)]


def number_measures(scale: Scale, quantiles: Sequence[float]) -> list[Measure]:
    """The claimed measures of numbers: at the quantiles first."""
    at = [numbers.at_quantile(q) for q in quantiles]
    rows = [*(impact for impact, _ in at), *(gap for _, gap in at), *numbers.ROWS]
    known = [r for r in rows if r.tolerance is not None and set(r.terms) - WITHOUT_TERMS <= set(scale.terms)]
    # Of a ranking the places are what people get: the headline rests on exposure, not on the scores behind
    # it.
    ranked = numbers.EXPOSURE in known
    return [r.with_(primary=r.primary and (r is numbers.EXPOSURE) == ranked) for r in known]


def label_claims(known: Collection[str], declared: Declared) -> list[Claim[ClassCell]]:
    """The claims about class labels that the terms at hand allow."""
    rows = [r for r in labels.ROWS if r.tolerance is not None and set(r.terms) <= set(known)]
    return [
        claim_of(
            row,
            declared,
            _infer(row, declared.seed),
            units={},
            alone=_alone_rate(row),
            pooled=_pooled(row),
            widest=row.widest,
            worst=row.worst,
            spread=partial(_spread, row),
        )
        for row in rows
    ]


def units(everyone: Cell) -> dict[str, float]:
    """The standard deviations that some tolerances are measured in."""
    means = everyone.moments.means
    found = {"sd of predictions": float(np.sqrt(max(means["pp"] - means["p"] ** 2, 0.0)))}
    if "yy" in means:
        found["sd of outcomes"] = float(np.sqrt(max(means["yy"] - means["y"] ** 2, 0.0)))
    return found


def tolerance_names(rows: Sequence[Measure]) -> Mapping[str, float]:
    """Name → default tolerance of the claimed rows: ratios as the lower bound, scores in standard
    deviations."""
    return {row.tolerance_name: row.tolerance for row in rows if row.tolerance is not None}


def _infer(row: Measure, seed: int) -> Callable[[Cell, Cell, float], Inference]:
    return lambda a, b, level: compare(row, a, b, level=level, seed=seed)


def _top(row: Measure) -> Measure:
    return row.with_(least=max(row.least, LEAST_TOP), primary=False)


def _of_top(row: Measure, seed: int, a: Cell, b: Cell, level: float) -> Inference:
    return compare(row, *(replace(c, moments=c.top) for c in (a, b)), level=level, seed=seed)


def _in_top(c: Cell) -> int:
    return c.top.n


# --- rows whose group is not known


C = TypeVar("C", bound=Cell)


def problem_of(row: Measure, a: Cell, b: Cell, *, top: bool = False) -> Bounded | None:
    """What rows without a group can make of a measure; None where there are none, or where it is no smooth
    function of the sums."""
    rest = a.unlabelled or b.unlabelled
    if rest is None or rest.terms is None or not is_smooth(row, rest.names):
        return None
    if top and rest.top is not None:
        rest = rest.only(rest.top)
    one, two = (c.top if top else c.moments for c in (a, b))
    return Bounded(
        contrast=lambda x, y, n, m: statistic(row, x, y, (n, m)), terms=row.terms, a=one, b=two, rest=rest
    )


def _spread(row: Measure, a: C, b: C, *, top: bool = False) -> Spread[C] | None:
    """The two sides with the rows without a group put into them, at the lowest and the highest."""
    rest = a.unlabelled or b.unlabelled
    if rest is None:
        return None
    if row.join is not None and a.moments.units is None and b.moments.units is None:
        return _of_parts(row, row.join, a, b)
    if isinstance(rest, Chanced):
        return _either_way(row, a, b, rest, top=top)
    problem = problem_of(row, a, b, top=top)
    if problem is None:
        return Spread(rows=rest.n)
    if not problem.rest.n:
        return None
    ends = []
    for up in (False, True):
        found = problem.extreme(up=up)
        if found is None:
            return Spread(rows=rest.n)
        parts = (found.a, found.b)
        moved = [
            replace(c, top=m) if top else replace(c, moments=m) for c, m in zip((a, b), parts, strict=True)
        ]
        ends.append((moved[0], moved[1]))
    return Spread(rows=problem.rest.n, low=ends[0], high=ends[1])


def _of_parts(row: Measure, join: Callable[[Gaps, float], Inference], a: C, b: C) -> Spread[C] | None:
    """What the gaps of two measures become together, each over all that it may be by itself.

    The two may not be at their worst at once, so this holds, and is wider than need be.
    """
    found = [_spread(part, a, b) for part in row.parts]
    known = [s for s in found if s is not None]
    if not known:
        return None
    rows, doubt = max(s.rows for s in known), known[0].doubt
    if any(s.low is None or s.high is None for s in known):
        return Spread(rows=rows, doubt=doubt)
    # Of each part the pair whose groups are known, the one with the lowest gap, the one with the highest.
    ends = [[(a, b), (s and s.low) or (a, b), (s and s.high) or (a, b)] for s in found]

    def gap(k: int, end: int, at: float) -> Inference:
        return compare(row.parts[k], *ends[k][end], level=at, seed=0)

    def both(end: int, at: float) -> tuple[Inference, Inference]:
        return gap(0, end, at), gap(1, end, at)

    def all_of(k: int, at: float) -> Inference:
        known, lowest, highest = (gap(k, end, at) for end in range(3))
        return over(known, lowest, highest, null_of(row.parts[k].contrast))

    def whole(level: float) -> Inference:
        if not row.rises:
            return join(lambda at: (all_of(0, at), all_of(1, at)), level)
        known, lowest, highest = (join(partial(both, end), level) for end in range(3))
        return over(known, lowest, highest, null_of(row.contrast))

    return Spread(rows=rows, doubt=doubt, whole=whole)


def is_smooth(row: Measure, names: Collection[str]) -> bool:
    """Whether a measure is a smooth function of the sums of these terms."""
    smooth = row.together is not None or row.of is not None or row.hits is not None
    return smooth and set(row.terms) <= set(names)


def _either_way(row: Measure, a: C, b: C, rest: Chanced, *, top: bool) -> Spread[C]:
    """The two sides with chances of groups corrected for misclassification, beside them as weights."""
    found = None
    if is_smooth(row, rest.names):
        found = rest.corrected(a.label.level, b.label.level, rest.top if top else None)
    if found is None:
        return Spread(rows=rest.people, doubt=by_chance)
    one, two = (
        replace(c, top=m) if top else replace(c, moments=m) for c, m in zip((a, b), found, strict=True)
    )
    return Spread(rows=rest.people, doubt=by_chance, low=(one, two), high=(one, two))


def _spread_of_top(row: Measure, a: Cell, b: Cell) -> Spread[Cell] | None:
    return _spread(row, a, b, top=True)


# --- what the widest gap and the pooled claim need


def _alone(row: Measure, everyone: Cell) -> Callable[[Cell], tuple[float, float]] | None:
    if not row.widest:
        return None
    square = row.shape(everyone.moments)[0] if row.shape is not None else 0.0
    return (
        (lambda c: log_share(row, c.moments)) if row.is_ratio else (lambda c: _mean(row, c.moments, square))
    )


def _mean(row: Measure, m: Moments, square: float) -> tuple[float, float]:
    """Value and error; a small group may borrow the variance of all, so its error is at least of that."""
    if m.n < row.least:
        return float("nan"), float("nan")
    value, se = estimate(row.value, m)
    return value, max(se, float(np.sqrt(max(square, 0.0) / m.n_effective)))


def _alone_rate(row: Measure) -> Callable[[Cell], tuple[float, float]] | None:
    return (lambda c: log_rate(*counts_of(row, c.moments)[:2])) if row.widest else None


def _pooled(row: Measure) -> Callable[[Sequence[tuple[Cell, Cell]], float], Inference] | None:
    if not row.pooled:
        return None
    rate = row.hits is not None or row.infer is share_gap
    return partial(_pooled_ratio if row.is_ratio else _pooled_rate if rate else _pooled_gap, row)


def _pooled_ratio(row: Measure, pairs: Sequence[tuple[Cell, Cell]], level: float) -> Inference:
    term = row.terms[0]
    counts = np.array([(*hits(a.moments, term)[:2], *hits(b.moments, term)[:2]) for a, b in pairs])
    return mantel_haenszel_ratio(*counts.reshape(-1, 4).T, level=level)


def _pooled_rate(row: Measure, pairs: Sequence[tuple[Cell, Cell]], level: float) -> Inference:
    counts = np.array([(*counts_of(row, a.moments)[:2], *counts_of(row, b.moments)[:2]) for a, b in pairs])
    return mantel_haenszel_difference(*counts.reshape(-1, 4).T, level=level)


def _pooled_gap(row: Measure, pairs: Sequence[tuple[Cell, Cell]], level: float) -> Inference:
    found = [difference(row, a, b, level, 0) for a, b in pairs]
    values = [np.nan if f.value is None or f.se is None else f.value for f in found]
    ses = [np.nan if f.se is None else f.se for f in found]
    dfs = [np.nan if f.df is None else f.df for f in found]
    sizes = [[c.moments.n_effective for c in side] for side in zip(*pairs, strict=True)]
    return pooled_difference(values, ses, sizes[0], sizes[1], df=dfs, level=level)

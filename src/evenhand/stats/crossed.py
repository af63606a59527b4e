"""The difference of two groups' means, generalised over samples that are crossed or nested in the groups.

Terms (names, identity words) are nested in groups; texts are crossed with them. Both are samples, so both
belong in the standard error. With u ranging over the units of one dimension and d(−u) the difference without
u, the variance of that dimension is the jackknife's

    V = (U − 1)/U · Σ_u (d(−u) − d)²            (a sum over the two groups where units are nested)

and over two dimensions V = V₁ + V₂ − V_cell (Cameron, Gelbach & Miller 2011), over more by inclusion and
exclusion of their pairs, degrees of freedom by
Satterthwaite. On a complete grid these are the quasi-F mean squares of Clark (1973): V₁ is Welch's variance
of the term means, V₂ the paired variance of the text differences, V_cell the residual mean square; see
`_cell_part` for other designs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand._errors import UsageError
from evenhand._model import FloatArray, Folded
from evenhand.stats.cells import SETTLED, SWEEPS, cells_of_one
from evenhand.stats.crossing import Crossing, Dimension, Usable, compacted, prepare
from evenhand.stats.interval import Alternative, Inference, check_level, from_standard_error

MOST_UNITS = 4
"""Kinds of units that an estimate generalises over."""
LEAST_UNITS = 4
"""Units that each group needs of a dimension that is nested in the groups (names): below there is no
verdict."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Component:
    """One component of a variance: its size and its degrees of freedom."""

    variance: float
    df: float


def difference(
    score: npt.ArrayLike,
    *,
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    units: Mapping[str, npt.ArrayLike],
    weight: npt.ArrayLike | Folded | None = None,
    level: float = 0.95,
    over: Sequence[str] | None = None,
    alternative: Alternative = "two-sided",
) -> Inference:
    """Mean score of group `a` minus that of group `b`, with an interval that generalises over the units in
    `over`.

    Args:
        score: (n,) numbers; rows that are not finite are dropped and counted in ``detail["dropped"]``.
        a, b: (n,) masks of the two groups, disjoint.
        units: name → (n,) integer codes of the sampled units, −1 for missing.
        weight: (n,) case weights, not negative; None for ones. Or what each row stands for, where that is
            several rows; `score` are their means then.
        level: of the interval, in (0, 1).
        over: up to four names of `units`; None for all of them. Whether a unit is nested in groups (names) or
            crossed with them (texts) is read off the codes.
        alternative: two-sided, or greater/less for a − b.

    Returns:
        value in units of the score. Where a group has fewer than two units of a dimension in `over`, value
        without interval and `why_not`; where no score varies, likewise. ``detail`` holds the variance of each
        dimension, their sizes, the design and what was dropped.

    Raises:
        UsageError: `unequal-lengths`, `groups-overlap`, `unknown-unit`, `bad-weight`, `too-many-units`.

    Source: Clark (1973), The language-as-fixed-effect fallacy; Judd, Westfall & Kenny (2012); Cameron,
    Gelbach & Miller (2011), Robust inference with multiway clustering.

    One of 40 names shifts all its scores; pairing by text would find this significant, over names it is t =
    1:

    >>> text, term = np.divmod(np.arange(10 * 40), 40)
    >>> score = 0.5 * (term == 3) + 0.01 * text
    >>> i = difference(score, a=term < 20, b=term >= 20, units={"text": text, "term": term})
    >>> round(i.value, 3), round(i.statistic, 3), round(i.df, 2), round(i.p_value, 2)
    (0.025, 1.0, 19.0, 0.33)
    """
    check_level(level)
    over = tuple(units) if over is None else tuple(over)
    if len(over) > MOST_UNITS:
        raise UsageError(
            "too-many-units",
            f"an estimate generalises over at most {MOST_UNITS} kinds of units",
            given=", ".join(over),
        )
    rows = prepare(score, a=a, b=b, units=units, over=over, weight=weight)
    means = rows.means()
    detail: dict[str, Any] = {
        "mean_a": _finite(means[0] + rows.centre),
        "mean_b": _finite(means[1] + rows.centre),
        "n_a": rows.sizes[0],
        "n_b": rows.sizes[1],
        "dropped": rows.dropped,
        "design": {d.name: "nested" if d.nested else "crossed" for d in rows.dimensions},
        "units": {d.name: len(d.levels) for d in rows.dimensions},
    }
    method = _method(rows)
    why = _why_not(rows)
    value = float(means[0] - means[1])
    if why:
        found = value if np.isfinite(value) else None
        return Inference(value=found, level=level, method=method, why_not=why, detail=detail)
    whole, detail["variance"] = spread(rows)
    return from_standard_error(
        value,
        float(np.sqrt(whole.variance)),
        df=whole.df,
        level=level,
        method=method,
        alternative=alternative,
        detail=detail,
    )


def _finite(x: float) -> float | None:
    return float(x) if np.isfinite(x) else None


def _method(rows: Crossing) -> str:
    if not rows.dimensions:
        return "Welch's t over rows"
    named = []
    for d in rows.dimensions:
        named.append(f"{d.name}s ({'nested in groups' if d.nested else 'crossed with groups'})")
    design = ("clustered", "two-way clustered", "three-way clustered", "four-way clustered")[len(named) - 1]
    return f"difference of means over {' and '.join(named)}, {design} jackknife, Satterthwaite df"


def _why_not(rows: Crossing) -> str | None:
    """A reason where this design cannot carry an interval."""
    for side, who in ((0, "the group"), (1, "the reference")):
        n = rows.sizes[side]
        if n == 0:
            return f"{who} has no score"
        if n < 2 and not rows.dimensions:
            return f"{who} has one row"
        for d in rows.dimensions:
            if d.sizes()[side] < 2:
                return f"{who} has one {d.name}: nothing is sampled over {d.name}s"
    return None


def spread(rows: Crossing, *, alike: bool = True) -> tuple[Component, dict[str, float]]:
    """Variance and degrees of freedom of the difference of two means, and the variance of each dimension.

    Args:
        alike: whether the units of two groups vary alike, so that a small group beside a large one is given
            the larger of Welch's and the pooled variance.
    """
    means = rows.means()
    if not rows.dimensions:
        each = [_row_parts(rows.whole(), means)]
        named = {"rows": _total(each[0])}
    else:
        each = [_dimension_parts(d, means, alike) for d in rows.dimensions]
        named = {d.name: _total(p) for d, p in zip(rows.dimensions, each, strict=True)}
    if len(each) == 1:
        whole = Component(variance=_total(each[0]), df=satterthwaite(each[0]))
    elif len(each) == 2:
        minus = _cell_part(rows, means, 0, 1)
        whole, named["cell"] = combined(each, minus), _total(minus)
    else:
        whole = _over_many(rows, means, each)
    # Rounding error of sums of numbers of this size is not variation.
    least = 1e-13 * rows.furthest() + float(np.finfo(float).eps) * rows.scale
    return (whole if whole.variance > least**2 else Component(variance=0.0, df=whole.df)), named


def _over_many(rows: Crossing, means: FloatArray, each: Sequence[Sequence[Component]]) -> Component:
    """The variance over three or four dimensions, and never less than that over any two of them.

    Of D dimensions ΣVᵢ − ΣVᵢⱼ counts the residual D − D(D − 1)/2 times; the smallest Vᵢⱼ stands for it.
    """
    pairs = {(i, j): _cell_part(rows, means, i, j) for i, j in combinations(range(len(each)), 2)}
    two = [combined([each[i], each[j]], minus) for (i, j), minus in pairs.items()]
    rest = min((_total(minus) for minus in pairs.values()), default=0.0)
    counted = (len(each) - 1) * (len(each) - 2) // 2
    single, minus = [p for parts in each for p in parts], [p for parts in pairs.values() for p in parts]
    total = _total(single) - _total(minus) + counted * rest
    largest = max(two, key=lambda c: c.variance)
    if total <= largest.variance:
        return largest
    df = satterthwaite([*single, *minus], total=total)
    return Component(
        variance=total, df=min([df, *(_cap(p, total) for parts in each if len(parts) == 1 for p in parts)])
    )


def combined(each: Sequence[Sequence[Component]], minus: Sequence[Component]) -> Component:
    """The variance over two dimensions, V₁ + V₂ − V_cell, and its degrees of freedom.

    Args:
        each: the parts of each dimension: one where it is crossed, one for each group where it is nested.
        minus: the parts of what both dimensions count.
    """
    both = _total(each[0]) + _total(each[1]) - _total(minus)
    # Positive fallback: a negative component is estimated as none, so never less than one dimension alone.
    largest = max(each, key=_total)
    if both <= _total(largest):
        return Component(variance=_total(largest), df=satterthwaite(largest))
    df = satterthwaite([*each[0], *each[1], *minus], total=both)
    return Component(
        variance=both, df=min([df, *(_cap(p, both) for parts in each if len(parts) == 1 for p in parts)])
    )


def _total(parts: Sequence[Component]) -> float:
    return float(sum(p.variance for p in parts))


def satterthwaite(parts: Sequence[Component], total: float | None = None) -> float:
    """Degrees of freedom of a sum of variance components: V² / Σ Vᵢ²/dfᵢ (Satterthwaite 1946).

    >>> satterthwaite([Component(variance=1.0, df=9), Component(variance=1.0, df=9)])
    18.0
    """
    total = _total(parts) if total is None else total
    below = sum(p.variance**2 / max(p.df, 1e-9) for p in parts)
    return float(total**2 / below) if below > 0 else float(max((p.df for p in parts), default=1.0))


def _effective(shares: FloatArray, times: FloatArray | float = 1.0) -> float:
    """Degrees of freedom of a sum of squares over units of unequal size: (Σp²)²/Σp⁴ − 1, which is U − 1 for
    equal sizes (after Carter, Schnepel & Steigerwald 2017), and never under 1.

    Args:
        times: (n,) how often each share, which is positive, occurs.
    """
    p = shares[shares > 0] / np.sum(shares * times)
    return max(1.0, float(np.sum(p**2 * times) ** 2 / np.sum(p**4 * times)) - 1.0)


def _row_parts(rows: Usable, means: FloatArray) -> list[Component]:
    """Welch's two components; with case weights Σw²(x − m)²/(Σw)², times n/(n − 1)."""
    parts = []
    for side in (0, 1):
        mine = rows.side == side
        w, x = rows.weight[mine], rows.score[mine]
        if rows.folded is not None:
            parts.append(_folded_part(rows.folded[mine], x - means[side]))
            continue
        n = len(w)
        variance = float(np.sum((w * (x - means[side])) ** 2) / w.sum() ** 2 * n / (n - 1))
        parts.append(Component(variance=variance, df=_effective(w)))
    return parts


def _folded_part(own: Folded, off: FloatArray) -> Component:
    """The same of rows that stand for several; `off`: how far their means are from the group's."""
    w, n = own.weight, int(own.count.sum())
    square = float(np.sum(w**2 * (own.within + own.count * off**2)))
    variance = square / float(np.sum(w * own.count)) ** 2 * n / (n - 1)
    return Component(variance=variance, df=_effective(w, own.count.astype(float)))


def _dimension_parts(d: Dimension, means: FloatArray, alike: bool = True) -> list[Component]:
    """The jackknife variance of one dimension: one part where crossed, one for each group where nested."""
    moved = d.leave_one_out() - means[:, None]
    shares = d.total / d.total.sum(axis=1, keepdims=True)
    if not d.nested:
        n = len(d.levels)
        gap = moved[0] - moved[1]
        return [Component(variance=float(np.sum(gap**2) * (n - 1) / n), df=_effective(shares.mean(axis=0)))]
    sizes = d.sizes()
    parts = [
        Component(variance=float(np.sum(moved[s] ** 2) * (sizes[s] - 1) / sizes[s]), df=_effective(shares[s]))
        for s in (0, 1)
    ]
    return nested_parts(parts, sizes.tolist()) if alike else parts


def nested_parts(parts: Sequence[Component], sizes: Sequence[int], small: int = 10) -> list[Component]:
    """The parts of a dimension that is nested in the two groups; one where a small group (of fewer than
    `small`) stands beside a large one."""
    return [_guarded(parts)] if min(sizes) < small and max(sizes) > 2 * min(sizes) else list(parts)


def _cap(part: Component, total: float) -> float:
    """The largest df that a dimension of 1 to 3 degrees of freedom leaves: its own where it makes half of the
    variance, else twice its own. When such a component happens to be small, the estimated df is too large (7
    % false alarms with 3 texts, 9 % with 2)."""
    if part.df >= 4:
        return float("inf")
    return part.df * (1.0 if part.variance > total / 2 else 2.0)


def _guarded(parts: Sequence[Component]) -> Component:
    """One part for a small group nested beside a much larger one.

    Satterthwaite's df is itself estimated: a small group that happens to vary little makes Welch's test twice
    as liberal as it says (11.6 % at 2 + 20 units; 12.4 % at 5 + 40 skewed ones). So the variance is the
    larger of Welch's and the pooled one, and df at most twice the
    smaller group's.
    """
    n = [p.df + 1 for p in parts]
    pooled = sum(p.variance * k * p.df for p, k in zip(parts, n, strict=True)) / (n[0] + n[1] - 2)
    variance = max(_total(parts), pooled * (1 / n[0] + 1 / n[1]))
    return Component(variance=variance, df=min(satterthwaite(parts), 2 * (min(n) - 1)))


def _cell_part(crossing: Crossing, means: FloatArray, one: int, two: int) -> list[Component]:
    """What both dimensions (numbers one and two) count: the variance of the cells (text × term).

    On a complete grid term and text effects cancel in the other dimension's sums, so only the residual of the
    additive model is counted twice. In a sparse design (each text with one term) everything is. With p the
    share of a cell and p_n, p_t the margins, the doubly counted share of the effects is
    c = Σ(p_tn − p_n p_t)² / Σ p_tn², 0 on a complete grid and near 1 in a sparse one; V_cell is weighted by
    it.
    """
    first, second = (crossing.dimensions[k] for k in (one, two))
    joint = not (first.nested or second.nested)
    if crossing.several:
        found = None if joint else cells_of_one(crossing, means, (one, two))
        if found is not None:
            return [_cells(*own) for own in found]
        crossing = crossing.at_once()
    rows = crossing.whole()
    width = len(second.levels)
    keys, cell = compacted(rows.codes[one] * width + rows.codes[two])
    residual = _additive_residual(crossing, rows, means, (one, two))
    total = np.bincount(rows.side, rows.weight, 2)
    parts, tables = [], []
    for side in (0, 1):  # one after the other: the cells of all rows are what takes memory here
        mine = rows.side == side
        at, share = cell[mine], rows.weight[mine] / total[side]
        p = np.bincount(at, share, len(keys))
        e = np.bincount(at, share * residual[mine], len(keys))
        u = np.bincount(at, share * (rows.score[mine] - means[side]), len(keys))
        del mine, at, share
        left, right = first.total[side] / total[side], second.total[side] / total[side]
        common = float(np.sum(p * left[keys // width] * right[keys % width]))
        squares, s1, s2 = (float(np.sum(each**2)) for each in (p, left, right))
        doubled = min(1.0, max(0.0, (squares - 2 * common + s1 * s2) / squares))
        sizes = (int(np.count_nonzero(p)), int(first.sizes()[side]), int(second.sizes()[side]))
        if joint:
            tables.append((e, u, doubled, sizes))
        else:
            parts.append(_cells(float(np.sum(e**2)), float(np.sum(u**2)), doubled, sizes))
    if joint:
        (e0, u0, c0, z0), (e1, u1, c1, z1) = tables
        sizes = (max(z0[0], z1[0]), max(z0[1], z1[1]), max(z0[2], z1[2]))
        inner, off = float(np.sum((e0 - e1) ** 2)), float(np.sum((u0 - u1) ** 2))
        parts.append(_cells(inner, off, (c0 + c1) / 2, sizes))
    return parts


def _cells(inner: float, off: float, doubled: float, sizes: tuple[int, int, int]) -> Component:
    """The variance of cells, from Σe² of their additive residuals and Σu² of what they are off the mean."""
    cells, rows, columns = sizes
    df = cells - rows - columns + 1
    inner = inner * cells / df if df > 0 else 0.0
    blended = (1 - doubled) * max(df, 1) + doubled * max(cells - 1, 1)
    return Component(variance=(1 - doubled) * inner + doubled * off, df=float(blended))


def _additive_residual(
    crossing: Crossing, rows: Usable, means: FloatArray, dimensions: tuple[int, int], sweeps: int = SWEEPS
) -> FloatArray:
    """Residuals of score ~ first + second dimension within each group, by alternating projections.

    One sweep is exact on a complete grid with equal weights."""
    e = rows.score - means[rows.side]
    scale = max(crossing.furthest(means), 1e-300)
    chosen = [crossing.dimensions[k] for k in dimensions]
    index = [rows.side * len(d.levels) + rows.codes[k] for k, d in zip(dimensions, chosen, strict=True)]
    for _ in range(sweeps):
        moved = 0.0
        for i, d in zip(index, chosen, strict=True):
            total = d.total.ravel()
            mean = np.bincount(i, rows.weight * e, len(total)) / np.where(total > 0, total, 1.0)
            e = e - mean[i]
            moved = max(moved, float(np.abs(mean).max()))
        if moved <= SETTLED * scale:
            break
    return np.asarray(e)


def cluster_variance(influence: npt.ArrayLike, *clusters: npt.ArrayLike) -> Component:
    """Cluster-robust variance of any estimate from its influence values, over one or two cluster dimensions.

    Args:
        influence: (n,) values ψ that sum to about 0, with estimate − truth ≈ Σψ.
        clusters: one or two (n,) arrays of integer codes.

    Returns:
        V = Σ_c (Σ_{i in c} ψ)²·C/(C−1), or V₁ + V₂ − V₁₂ and never less than the larger of V₁, V₂; df is the
        smallest number of clusters minus one.

    Raises:
        UsageError: `too-many-units` for no or more than two cluster dimensions.

    Source: Cameron, Gelbach & Miller (2011), eq. 2.7 to 2.12.

    >>> round(cluster_variance([1.0, -1.0, 1.0, -1.0], [0, 1, 2, 3]).variance, 4)
    5.3333
    """
    if not 1 <= len(clusters) <= 2:
        raise UsageError("too-many-units", "one or two cluster dimensions are needed", given=len(clusters))
    psi = np.asarray(influence, dtype=float)
    variances, sizes, compacts = [], [], []
    for codes in clusters:
        levels, compact = compacted(np.asarray(codes))
        n = len(levels)
        sums = np.bincount(compact, psi, n)
        variances.append(float(np.sum(sums**2)) * n / max(n - 1, 1))
        sizes.append(n)
        compacts.append(compact)
    df = float(max(min(sizes) - 1, 0))
    if len(clusters) == 1:
        return Component(variance=variances[0], df=df)
    levels, cell = compacted(compacts[0] * sizes[1] + compacts[1])
    n = len(levels)
    sums = np.bincount(cell, psi, n)
    minus = float(np.sum(sums**2)) * n / max(n - 1, 1)
    return Component(variance=max(sum(variances) - minus, *variances), df=df)

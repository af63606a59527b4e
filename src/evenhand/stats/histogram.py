"""Scores as weights on a shared grid: AUC, distances, quantiles and pass rates from mergeable counts.

On the grid of the distinct scores every number is exact; on a grid of bins it has the error that is stated
with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from evenhand._model import BoolArray, FloatArray
from evenhand.stats.interval import Inference, bounds, check_level, from_standard_error, tail

MOST_EXACT = 600
"""Rows of both groups up to which the p of Kolmogorov–Smirnov is exact."""
FROM_ROUNDING = 1e-10
"""An exact p below this is lost in rounding, and the asymptotic one is taken."""
BLOCK = 1 << 13
"""Points handled at once, so that what is made of them stays in the cache."""
Piece: TypeAlias = tuple[float, float, float, float]
"""Of the placements x in a block: Σw², Σw·x, the mean m of x under w², Σw²(x − m)²."""
Placements: TypeAlias = Sequence[tuple[float, float]]


class Scores:
    """The scores of one group on a shared grid.

    Args:
        values: (B,) ascending scores (the distinct ones, or the middles of bins). n: rows.
        weight, weight2: (B,) Σw and Σw² of the rows at each, one and the same array for rows without weights.
        rows: in place of both where no point holds two rows of whatever group: (B,) which points are rows of
            this one.
    """

    def __init__(
        self,
        *,
        values: FloatArray,
        n: int,
        weight: FloatArray | None = None,
        weight2: FloatArray | None = None,
        rows: BoolArray | None = None,
    ) -> None:
        self.values, self.n, self.rows = values, n, rows
        self.placed: tuple[Scores, Placements] | None = None  # against the group that was asked for last
        if weight is not None and weight2 is not None:
            self.weight, self.weight2 = weight, weight2

    @cached_property
    def weight(self) -> FloatArray:
        """(B,) Σw of the rows at each point."""
        return np.zeros(len(self.values)) if self.rows is None else self.rows.astype(np.float64)

    @cached_property
    def weight2(self) -> FloatArray:
        """(B,) Σw² of the rows at each point."""
        return self.weight

    def __add__(self, other: Scores) -> Scores:
        n = self.n + other.n
        if self.rows is not None and other.rows is not None:
            return Scores(values=self.values, n=n, rows=self.rows | other.rows)
        weight = self.weight + other.weight
        counted = self.counted and other.counted
        weight2 = weight if counted else self.weight2 + other.weight2
        return Scores(values=self.values, n=n, weight=weight, weight2=weight2)

    @property
    def counted(self) -> bool:
        """Whether the weights are numbers of rows."""
        return self.rows is not None or self.weight2 is self.weight

    @property
    def occupied(self) -> BoolArray:
        """(B,) which points carry weight of this group."""
        return self.weight > 0 if self.rows is None else self.rows

    @property
    def total(self) -> float:
        """Σw."""
        return float(self.n if self.rows is not None else self.weight.sum())

    @property
    def n_effective(self) -> float:
        """Kish's effective number of rows."""
        if self.rows is not None:
            return float(self.n)
        below = float(self.weight2.sum())
        return self.total**2 / below if below > 0 else 0.0

    @cached_property
    def cumulated(self) -> npt.NDArray[Any]:
        """(B + 1,) Σw of the points before each, and of all."""
        if self.rows is None:
            return np.concatenate([[0.0], np.cumsum(self.weight)])
        found = np.zeros(len(self.rows) + 1, dtype=np.int32)
        np.cumsum(self.rows, dtype=np.int32, out=found[1:])
        return found

    def share_above(self, thresholds: npt.ArrayLike) -> FloatArray:
        """Share of the weight strictly above each threshold."""
        at = np.searchsorted(self.values, np.asarray(thresholds, dtype=float), side="right")
        return np.asarray(1.0 - self.cumulated[at] / self.cumulated[-1])


def auc(a: Scores, b: Scores, *, level: float = 0.95) -> Inference:
    """P(a > b) + ½P(a = b) with DeLong's variance, interval on the logit scale; null ½.

    Source: DeLong, DeLong & Clarke-Pearson (1988).

    >>> grid = np.array([1.0, 2.0, 3.0])
    >>> one = Scores(values=grid, weight=np.array([0.0, 1, 1]), weight2=np.array([0.0, 1, 1]), n=2)
    >>> two = Scores(values=grid, weight=np.array([1.0, 1, 0]), weight2=np.array([1.0, 1, 0]), n=2)
    >>> auc(one, two).value
    0.875
    """
    check_level(level)
    method = "Mann–Whitney with DeLong's interval on the logit scale"
    if not (a.total > 0 and b.total > 0):
        return Inference(level=level, method=method, why_not="a group has no score")
    if a.placed is None or a.placed[0] is not b:
        a.placed = (b, _placements(a, b))
    (value, spread_a), (_, spread_b) = a.placed[1]
    value = min(max(value, 0.0), 1.0)  # sums of fractional weights round beyond
    if min(a.n, b.n) < 2:
        return Inference(value=value, level=level, method=method, why_not="a group has one row")
    variance = spread_a * a.n / (a.n - 1) + spread_b * b.n / (b.n - 1)
    if variance <= 1e-30 or not 1e-12 < value < 1 - 1e-12:
        from evenhand.stats.rates import wilson

        fewest = min(a.n_effective, b.n_effective)
        edge = wilson(value * fewest, fewest, level=level)
        why = "all placements are equal: DeLong's variance is 0, the interval is Wilson's"
        return edge.with_(value=value, p_value=None, method="Wilson", why_not=why)
    se = float(np.sqrt(variance))
    logit = float(np.log(value / (1 - value)))
    low, high = (expit(x) for x in bounds(logit, se / (value * (1 - value)), level=level))
    # The test on the same scale as the interval, so that they agree; on the plain scale small groups alarm
    # too often.
    p = tail(logit * value * (1 - value) / se, None)
    return from_standard_error(value, se, level=level, null=0.5, method=method).with_(
        low=float(low), high=float(high), p_value=p
    )


def _placements(a: Scores, b: Scores) -> Placements:
    """Of each group the mean of its rows' placements, and Σw²(placement − mean)²/(Σw)².

    A row's placement is the share of the other group below it, its own point counted half.
    """
    pairs = ((a, b), (b, a))
    if a.rows is None or b.rows is None:
        return [_together(_at_points(own, other), own.total, other.total) for own, other in pairs]
    either = a.rows | b.rows
    in_a = a.rows if either.all() else a.rows[either]
    sides = zip((in_a, ~in_a), pairs, strict=True)
    return [_together(_at_rows(side), own.total, other.total) for side, (own, other) in sides]


def _at_points(own: Scores, other: Scores) -> Iterator[Piece]:
    """Placements as Σw of `other` below each point."""
    below = 0.0
    for start in range(0, len(own.weight), BLOCK):
        w, w2, others = (x[start : start + BLOCK] for x in (own.weight, own.weight2, other.weight))
        cumulated = np.cumsum(
            others.astype(np.int64) if other.counted else others
        )  # whole numbers are faster
        here = float(w2.sum())
        if here > 0:
            placed = np.asarray(cumulated + below - others / 2, dtype=np.float64)
            mean = float(w2 @ placed) / here
            first = float(w @ placed)
            placed -= mean
            yield here, first, mean, float((w2 * placed) @ placed)
        below += float(cumulated[-1])


def _at_rows(own: BoolArray) -> Iterator[Piece]:
    """As `_at_points`, each point one row of one group or the other: a row's place tells how many are
    below."""
    before, steps = 0, np.arange(BLOCK)
    for start in range(0, len(own), BLOCK):
        place = np.flatnonzero(own[start : start + BLOCK])
        n = len(place)
        if n:
            place -= steps[:n]
            mean = float(place.sum()) / n
            apart = place - mean
            mean += start - before
            yield float(n), mean * n, mean, float(apart @ apart)
        before += n


def _together(pieces: Iterable[Piece], own: float, other: float) -> tuple[float, float]:
    """Mean and spread over all blocks, put together as in Chan, Golub & LeVeque (1979): nothing cancels.

    Args:
        own, other: Σw of the two groups.
    """
    first = squares = centre = spread = 0.0
    for here, part, mean, apart in pieces:
        first += part
        shift, both = mean - centre, squares + here
        spread += apart + shift**2 * squares * here / both
        centre, squares = centre + shift * here / both, both
    value = first / own
    return value / other, (spread + squares * (centre - value) ** 2) / (own * other) ** 2


def kolmogorov_smirnov(a: Scores, b: Scores, *, level: float = 0.95) -> Inference:
    """max |F_a − F_b| with an exact p-value in samples that are not large, ties included; the interval is
    distribution-free and conservative.

    The interval is D ± k·√(1/n_a + 1/n_b), k the Kolmogorov quantile: the empirical difference is nowhere
    further than that from the true one with probability `level`.

    Source: Smirnov (1948); Massart (1990) for the band.

    >>> grid, few, many = np.array([1.0, 2.0]), np.array([2.0, 8.0]), np.array([8.0, 2.0])
    >>> one, two = (Scores(values=grid, weight=w, weight2=w, n=10) for w in (many, few))
    >>> found = kolmogorov_smirnov(one, two)
    >>> round(found.value, 6), round(found.p_value, 4)
    (0.6, 0.023)
    """
    from scipy.special import kolmogi, kolmogorov

    check_level(level)
    exact = a.counted and b.counted and a.n + b.n <= MOST_EXACT
    how = "exact p" if exact else "asymptotic p (conservative with ties)"
    method = f"Kolmogorov–Smirnov, {how}, distribution-free interval"
    if not (a.total > 0 and b.total > 0):
        return Inference(level=level, method=method, why_not="a group has no score")
    value = float(np.max(np.abs(a.cumulated[1:] / a.total - b.cumulated[1:] / b.total)))
    scale = float(np.sqrt(1 / a.n_effective + 1 / b.n_effective))
    reach = float(kolmogi(1 - level)) * scale
    p = _smirnov(value, a, b) if exact else 0.0
    return Inference(
        value=value,
        low=max(0.0, value - reach),
        high=min(1.0, value + reach),
        p_value=p if p > FROM_ROUNDING else float(kolmogorov(value / scale)),
        level=level,
        method=method,
    )


def _smirnov(value: float, a: Scores, b: Scores) -> float:
    """P(D ≥ value) over all ways to deal the ranks, tied ones looked at together.

    It is the share of lattice paths that leave the band |i/n − j/m| < value at the end of a tie.

    Source: Schröer & Trenkler (1995), Exact and randomization distributions of Kolmogorov–Smirnov tests for
    two or three samples.
    """
    n, m = a.n, b.n
    ends = np.zeros(n + m + 1, dtype=bool)
    ends[np.rint(a.cumulated + b.cumulated).astype(int)] = True
    inside = np.ones(1)  # share of the paths to (i, s − i), of all paths to there, that have stayed inside
    for s in range(1, n + m + 1):
        i = np.arange(max(0, s - m), min(n, s) + 1)
        before = np.zeros(n + 2)
        first = max(0, s - 1 - m)
        before[first + 1 : first + 1 + len(inside)] = inside
        # Of the paths to (i, j) a share i/s arrives from (i − 1, j), the rest from (i, j − 1).
        inside = before[i] * (i / s) + before[i + 1] * (1 - i / s)
        if ends[s]:
            inside[np.abs(i / n - (s - i) / m) >= value - 1e-12] = 0.0
    return float(min(1.0, max(0.0, 1.0 - inside[0])))


def weighted_quantile(
    values: npt.ArrayLike, q: npt.ArrayLike, weight: npt.ArrayLike | None = None
) -> FloatArray:
    """Quantiles as `numpy.quantile` (linear); with whole weights those of the data with each row repeated w
    times.

    With fractional weights the smallest value whose share of the weight reaches q.

    >>> weighted_quantile([1.0, 2.0, 3.0], 0.5, [1, 2, 1]).tolist(), float(np.quantile([1, 2, 2, 3], 0.5))
    ([2.0], 2.0)
    """
    x = np.asarray(values, dtype=float)
    if weight is None:
        return np.asarray(np.quantile(x, np.atleast_1d(np.asarray(q, dtype=float))))
    order = np.argsort(x, kind="stable")
    return ordered_quantile(x[order], q, np.asarray(weight, dtype=float)[order])


def ordered_quantile(values: FloatArray, q: npt.ArrayLike, weight: FloatArray | None = None) -> FloatArray:
    """As `weighted_quantile`, of values in ascending order: nothing is sorted.

    >>> ordered_quantile(np.array([1.0, 2.0, 4.0]), 0.75).tolist()
    [3.0]
    """
    x, at = values, np.atleast_1d(np.asarray(q, dtype=float))
    last = None
    if weight is not None:
        keep = weight > 0
        x, weight = x[keep], weight[keep]
        last = np.cumsum(weight)
    if len(x) == 0:
        return np.full(at.shape, np.nan)
    if weight is not None and last is not None and not np.all(weight == np.floor(weight)):
        return np.asarray(x[np.minimum(np.searchsorted(last, at * last[-1]), len(x) - 1)])
    # With whole weights row i holds the positions [last − w, last) of the repeated data.
    position = at * ((len(x) if last is None else last[-1]) - 1.0)
    whole = np.floor(position)
    rows = (
        spot.astype(int) if last is None else np.searchsorted(last, spot, side="right")
        for spot in (whole, whole + 1)
    )
    below, above = (x[np.minimum(row, len(x) - 1)] for row in rows)
    part = position - whole
    # The two forms of numpy's own interpolation, so that whole weights agree with repetition to the last
    # digit.
    return np.asarray(
        np.where(part < 0.5, below + (above - below) * part, above - (above - below) * (1 - part))
    )

"""Scores as weights on a shared grid: AUC, distances, quantiles and pass rates from mergeable counts.

On the grid of the distinct scores every number is exact; on a grid of bins it has the error that `Grid.error` states.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evenhand._model import FloatArray
from evenhand.stats.interval import Inference, bounds, check_level, from_standard_error, tail


@dataclass(frozen=True, kw_only=True, slots=True)
class Scores:
    """The scores of one group on a shared grid.

    Args:
        values: (B,) ascending scores (the distinct ones, or the middles of bins).
        weight, weight2: (B,) Σw and Σw² of the rows at each. n: rows.
    """

    values: FloatArray
    weight: FloatArray
    weight2: FloatArray
    n: int

    def __add__(self, other: Scores) -> Scores:
        return Scores(
            values=self.values,
            weight=self.weight + other.weight,
            weight2=self.weight2 + other.weight2,
            n=self.n + other.n,
        )

    @property
    def total(self) -> float:
        """Σw."""
        return float(self.weight.sum())

    @property
    def n_effective(self) -> float:
        """Kish's effective number of rows."""
        below = float(self.weight2.sum())
        return self.total**2 / below if below > 0 else 0.0

    def share_above(self, thresholds: npt.ArrayLike) -> FloatArray:
        """Share of the weight strictly above each threshold."""
        cumulated = np.concatenate([[0.0], np.cumsum(self.weight)])
        at = np.searchsorted(self.values, np.asarray(thresholds, dtype=float), side="right")
        return np.asarray(1.0 - cumulated[at] / cumulated[-1])


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
    above_a, above_b = _placed(b.weight), _placed(a.weight)
    value = float(np.sum(a.weight * above_a) / a.total)
    if min(a.n, b.n) < 2:
        return Inference(value=value, level=level, method=method, why_not="a group has one row")
    variance = 0.0
    for side, placed, mean in ((a, above_a, value), (b, above_b, 1.0 - value)):
        spread = float(np.sum(side.weight2 * (placed - mean) ** 2)) / side.total**2
        variance += spread * side.n / (side.n - 1)
    if variance <= 1e-30:
        from evenhand.stats.rates import wilson

        fewest = min(a.n_effective, b.n_effective)
        edge = wilson(value * fewest, fewest, level=level)
        why = "all placements are equal: DeLong's variance is 0, the interval is Wilson's"
        return edge.with_(value=value, p_value=None, method="Wilson", why_not=why)
    se = float(np.sqrt(variance))
    logit = float(np.log(value / (1 - value)))
    low, high = (1 / (1 + np.exp(-x)) for x in bounds(logit, se / (value * (1 - value)), level=level))
    # The test on the same scale as the interval, so that they agree; on the plain scale small groups alarm too often.
    p = tail(logit * value * (1 - value) / se, None)
    return from_standard_error(value, se, level=level, null=0.5, method=method).with_(
        low=float(low), high=float(high), p_value=p
    )


def _placed(other: FloatArray) -> FloatArray:
    """Share of `other` below each grid point, its own point counted half."""
    cumulated = np.cumsum(other)
    return np.asarray((cumulated - other / 2) / cumulated[-1])


def kolmogorov_smirnov(a: Scores, b: Scores, *, level: float = 0.95) -> Inference:
    """max |F_a − F_b| with its asymptotic p-value; the interval is distribution-free and conservative.

    The interval is D ± k·√(1/n_a + 1/n_b), k the Kolmogorov quantile: the empirical difference is nowhere further than
    that from the true one with probability `level`.

    Source: Smirnov (1948); Massart (1990) for the band.

    >>> grid = np.array([1.0, 2.0])
    >>> one = Scores(values=grid, weight=np.array([8.0, 2]), weight2=np.array([8.0, 2]), n=10)
    >>> two = Scores(values=grid, weight=np.array([2.0, 8]), weight2=np.array([2.0, 8]), n=10)
    >>> round(kolmogorov_smirnov(one, two).value, 6)
    0.6
    """
    from scipy.special import kolmogi, kolmogorov

    check_level(level)
    method = "Kolmogorov–Smirnov, asymptotic p (conservative with ties), distribution-free interval"
    if not (a.total > 0 and b.total > 0):
        return Inference(level=level, method=method, why_not="a group has no score")
    value = float(np.max(np.abs(np.cumsum(a.weight) / a.total - np.cumsum(b.weight) / b.total)))
    scale = float(np.sqrt(1 / a.n_effective + 1 / b.n_effective))
    reach = float(kolmogi(1 - level)) * scale
    return Inference(
        value=value,
        low=max(0.0, value - reach),
        high=min(1.0, value + reach),
        p_value=float(kolmogorov(value / scale)),
        level=level,
        method=method,
    )


def weighted_quantile(
    values: npt.ArrayLike, q: npt.ArrayLike, weight: npt.ArrayLike | None = None
) -> FloatArray:
    """Quantiles as `numpy.quantile` (linear); with whole weights those of the data with each row repeated w times.

    With fractional weights the smallest value whose share of the weight reaches q.

    >>> weighted_quantile([1.0, 2.0, 3.0], 0.5, [1, 2, 1]).tolist(), float(np.quantile([1, 2, 2, 3], 0.5))
    ([2.0], 2.0)
    """
    x, at = np.asarray(values, dtype=float), np.atleast_1d(np.asarray(q, dtype=float))
    if weight is None:
        return np.asarray(np.quantile(x, at))
    w = np.asarray(weight, dtype=float)
    keep = w > 0
    order = np.argsort(x[keep], kind="stable")
    x, w = x[keep][order], w[keep][order]
    if len(x) == 0:
        return np.full(at.shape, np.nan)
    last = np.cumsum(w)
    if not np.all(w == np.floor(w)):
        return np.asarray(x[np.minimum(np.searchsorted(last, at * last[-1]), len(x) - 1)])
    position = at * (last[-1] - 1.0)  # row i holds the positions [last − w, last) of the repeated data
    whole = np.floor(position)
    below, above = (
        x[np.minimum(np.searchsorted(last, spot, side="right"), len(x) - 1)] for spot in (whole, whole + 1)
    )
    part = position - whole
    # The two forms of numpy's own interpolation, so that whole weights agree with repetition to the last digit.
    return np.asarray(
        np.where(part < 0.5, below + (above - below) * part, above - (above - below) * (1 - part))
    )

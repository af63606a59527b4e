"""No variation is not certainty: what a sample whose units hardly differ still allows.

Where fewer than five units of a sampled dimension differ from the rest, a standard error says nothing. What
is left is the exact upper bound of the share of units that may differ (Clopper & Pearson 1934), times the
range of the scores.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv

from evenhand._model import BoolArray, FloatArray, Folded, IntArray
from evenhand.stats.blocks import sums_by_unit
from evenhand.stats.interval import Inference, from_standard_error
from evenhand.stats.tails import allowing_for_skewness

Means: TypeAlias = tuple[npt.NDArray[np.integer], FloatArray]
"""Units, ascending, and the mean of each."""
Pair: TypeAlias = tuple[Means, Means]
FEW = 5
"""Differing units from which on a standard error is trusted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Few:
    """A sampled dimension in which hardly anything differs: `differing` of `units`."""

    dimension: str
    differing: int
    units: int

    def bound(self, level: float) -> float:
        """Upper end of the two-sided interval of the share of units that may differ.

        >>> round(Few(dimension="text", differing=0, units=5).bound(0.95), 3)
        0.522
        """
        if self.differing >= self.units:
            return 1.0
        return float(betaincinv(self.differing + 1, self.units - self.differing, 0.5 + level / 2))


def few(means: Pair, dimension: str, scale: float) -> list[Few]:
    """Where fewer than five units differ from the most common value: of the gaps of units that both groups
    share, else of the means of each group's units.

    Args:
        means: of the units of the two groups. scale: the range of the scores.
    """
    shared = np.intersect1d(means[0][0], means[1][0])
    if len(shared):
        gaps = _at(means[0], shared) - _at(means[1], shared)
        samples = [gaps]
    else:
        samples = [own for _, own in means]
    found = [
        Few(dimension=dimension, differing=_differing(own, scale), units=len(own))
        for own in samples
        if len(own)
    ]
    return [f for f in found if f.differing < FEW]


def few_rows(sides: tuple[BoolArray, BoolArray], folded: Folded, dimension: str, scale: float) -> list[Few]:
    """The same where each row is a unit, and rows with a score are folded: of the tallies of their values."""
    found = []
    for side in sides:
        values, times = _counted(side, folded)
        if not len(values):
            continue
        differing = _differing(values - values[0], scale, times)
        found.append(Few(dimension=dimension, differing=differing, units=int(times.sum())))
    return [f for f in found if f.differing < FEW]


def _counted(side: BoolArray, folded: Folded) -> tuple[FloatArray, IntArray]:
    """(values, rows of each); none where a line has too many different ones.

    Lines whose values nobody counted (units were named, and none could be sampled) are taken to differ as
    little as their ends allow.
    """
    if folded.tallies:
        own = [folded.tallies[i] for i in np.flatnonzero(side).tolist()]
        if any(one is None for one in own):
            return np.empty(0), np.empty(0, dtype=np.int64)
        values = np.array([value for one in own for value in one or ()])
        return values, np.array([n for one in own for n in (one or {}).values()], dtype=np.int64)
    low, high, count = folded.low[side], folded.high[side], folded.count[side]
    varies = high > low
    times = np.concatenate([count - varies, np.ones(int(varies.sum()), dtype=np.int64)])
    return np.concatenate([low, high[varies]]), times


def widened(
    ends: tuple[float, float], value: float, found: Sequence[Few], spread: float, level: float
) -> tuple[float, float]:
    """An interval that also allows what the units that hardly differ allow.

    Args:
        spread: the range of the scores: what a single unit can differ by.
    """
    reach = max((f.bound(level) for f in found), default=0.0) * spread
    return min(ends[0], value - reach), max(ends[1], value + reach)


def units_for(tolerance: float, spread: float, level: float = 0.95) -> int | None:
    """How many units, none of which differs, would show that a gap is smaller than the tolerance (one-sided).

    >>> units_for(0.1, 1.0)
    29
    """
    if not 0 < tolerance < spread:
        return None
    return math.ceil(math.log(1.0 - level) / math.log1p(-tolerance / spread))


def unit_means(
    score: FloatArray,
    codes: npt.NDArray[np.integer],
    rows: BoolArray,
    times: IntArray | None = None,
    centre: float = 0.0,
) -> Means:
    """The units that have rows, and the mean score of each, less `centre`.

    Args:
        times: how many rows each row stands for.
    """
    size = int(codes.max(initial=-1)) + 1
    count, total = sums_by_unit(score, codes, rows, size, times, centre)
    units = np.flatnonzero(count)
    return units, total[units] / count[units]


def hidden(means: Pair) -> float:
    """Variance of a difference that the means of few skewed units hide, where they are nested in groups.

    It is 0 for units that both groups share.

    >>> rng = np.random.default_rng(0)
    >>> mean, codes = np.exp(rng.normal(size=72)), np.arange(72)
    >>> a, b = (codes[:12], mean[:12]), (codes[12:], mean[12:])
    >>> hidden((a, b)) > 0, hidden(((codes[:36], mean[:36]), (codes[36:], mean[36:])))
    (True, 0.0)
    """
    (mine, x), (other, y) = means
    if min(len(x), len(y)) < 2 or len(np.intersect1d(mine, other)):
        return 0.0
    plain = float(x.std(ddof=1) / len(x) ** 0.5), float(y.std(ddof=1) / len(y) ** 0.5)
    shapes = [(float(np.mean((v - v.mean()) ** 2)), float(np.mean((v - v.mean()) ** 3))) for v in (x, y)]
    wide = allowing_for_skewness(plain, (len(x), len(y)), (shapes[0], shapes[1]))
    if all(math.isclose(w, p, rel_tol=1e-12) for w, p in zip(wide, plain, strict=True)):
        return 0.0  # whatever the rounding of their squares says
    return float(wide[0] ** 2 + wide[1] ** 2 - plain[0] ** 2 - plain[1] ** 2)


def with_hidden(found: Inference, every: Iterable[Pair], times: float = 1.0) -> Inference:
    """An inference whose interval allows for what few skewed units hide; p stays that of the plain test.

    Args:
        every: the means of the units of the two groups, of each dimension.
        times: how many times the variance of the plain difference it is.
    """
    extra = times * sum(hidden(means) for means in every)
    if extra <= 0 or not found.se or found.value is None:
        return found
    se, method = (found.se**2 + extra) ** 0.5, f"{found.method}; interval widened for skewed units"
    wide = from_standard_error(found.value, se, df=found.df, method=method, detail=found.detail)
    return wide.with_(p_value=found.p_value)


def _at(means: Means, units: npt.NDArray[np.integer]) -> FloatArray:
    return np.asarray(means[1][np.searchsorted(means[0], units)])


def _differing(values: FloatArray, scale: float, times: IntArray | None = None) -> int:
    """Values that differ from the most common one, by more than rounding; all of them where no two agree.

    Args:
        scale: the range of the scores. times: how often each value occurs; None for once.
    """
    near = 1e-9 * scale or 1e-300
    _, place = np.unique(np.round(values / near), return_inverse=True)
    counts = np.bincount(place, times)
    most, n = int(counts.max()), int(counts.sum())
    return n - most if most > 1 or n == 1 else max(n, FEW)


def allowing_for(found: Inference, units: int, dimension: str, spread: float = 1.0) -> Inference:
    """An inference whose units all agree, with the interval that so many units allow; others as they are.

    >>> from evenhand.stats.interval import Inference
    >>> i = allowing_for(Inference(value=0.0, se=0.0), 100, "image")
    >>> round(i.low, 3), round(i.high, 3)
    (-0.036, 0.036)
    """
    if found.se != 0.0 or found.value is None or units < 1:
        return found
    none = Few(dimension=dimension, differing=0, units=units)
    low, high = widened((found.value, found.value), found.value, [none], spread, found.level)
    method = (
        f"{found.method}; none of {units} {dimension}s differs, so the interval allows what as many allow"
    )
    return found.with_(low=low, high=high, p_value=None, why_not=None, method=f"{method} (Clopper–Pearson)")

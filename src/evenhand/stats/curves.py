"""Curves over thresholds with simultaneous bands: pass rate against pass rate, and the impact ratio.

Bands come from a Poisson bootstrap of the counts between neighbouring thresholds: a sum of Poisson(1) weights
over n rows is Poisson(n), so whole curves are resampled without touching a row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand._model import BoolArray, FloatArray, IntArray
from evenhand.stats.histogram import Scores
from evenhand.stats.interval import Inference, check_level

DRAWS = 999
MOST_POINTS = 100
ENOUGH = 5.0
"""Expected selected people, in each group and under equal rates, below which a threshold is not judged."""
FOUR_FIFTHS = (0.8, 1.25)


@dataclass(frozen=True, kw_only=True, slots=True)
class PassCurve:
    """Share of the group above each threshold at the reference's share above it; band simultaneous over
    thresholds."""

    thresholds: FloatArray
    reference: FloatArray
    group: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class ImpactCurve:
    """Impact ratio at each judged threshold, ascending, with a simultaneous band; `selected` is everyone's
    share above."""

    thresholds: FloatArray
    ratio: FloatArray
    low: FloatArray
    high: FloatArray
    selected: FloatArray


def _thresholds(a: Scores, b: Scores) -> FloatArray:
    """At most `MOST_POINTS` distinct scores, evenly spread over both groups' ranks; both groups count
    alike."""
    mixed = (a.cumulated[1:] / a.total + b.cumulated[1:] / b.total) / 2
    at = np.searchsorted(mixed, np.linspace(0, 1, MOST_POINTS + 1)[:-1] + 1e-12)
    present = np.flatnonzero(a.occupied | b.occupied)
    index = np.unique(present[np.minimum(np.searchsorted(present, at), len(present) - 1)])
    return np.asarray(a.values[index[index < present[-1]]])


def _resampled(side: Scores, thresholds: FloatArray, draws: int, rng: np.random.Generator) -> FloatArray:
    """(draws, T) shares above each threshold under Poisson weights."""
    starts = np.concatenate([[0], np.searchsorted(side.values, thresholds, side="right")])
    total = np.diff(side.cumulated[starts], append=side.cumulated[-1]).astype(float)
    square = total if side.counted else _sums_from(side.weight2, starts)
    size = np.where(square > 0, square / np.maximum(total, 1e-300), 1.0)
    drawn = rng.poisson(total / size, (draws, len(total))) * size
    above = drawn[:, ::-1].cumsum(axis=1)[:, ::-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(above[:, 1:] / above[:, :1])


def _sums_from(values: FloatArray, starts: IntArray) -> FloatArray:
    """Sums from each start to the next one, and from the last to the end."""
    before = np.concatenate([[0.0], np.cumsum(values)])
    return np.diff(before[starts], append=before[-1])


def _reach(replicates: FloatArray, level: float) -> tuple[FloatArray, float]:
    """(standard error at each point, quantile of the largest |t|); replicates centred."""
    replicates = replicates[np.isfinite(replicates).any(axis=1)]
    if len(replicates) < 20:
        return np.full(replicates.shape[1], np.nan), float("nan")
    with np.errstate(all="ignore"):
        spread = np.sqrt(np.nanmean(replicates**2, axis=0))
    safe = np.where(spread > 1e-12, spread, np.inf)
    largest = np.nanmax(np.abs(replicates) / safe, axis=1)
    return spread, float(np.nanquantile(largest, level))


@dataclass(frozen=True, kw_only=True, slots=True)
class DrawnPair:
    """Two sides at common thresholds, as they are and drawn anew.

    Args:
        thresholds: (T,). group, reference: (`DRAWS`, T) shares above each, under Poisson weights.
    """

    thresholds: FloatArray
    group: FloatArray
    reference: FloatArray

    @classmethod
    def of(cls, a: Scores, b: Scores, *, seed: int = 0) -> DrawnPair:
        """Drawn from their counts between neighbouring thresholds."""
        t, rng = _thresholds(a, b), np.random.default_rng(seed)
        return cls(thresholds=t, group=_resampled(a, t, DRAWS, rng), reference=_resampled(b, t, DRAWS, rng))


def pass_curve(
    a: Scores, b: Scores, *, level: float = 0.95, seed: int = 0, drawn: DrawnPair | None = None
) -> PassCurve:
    """The adverse-impact ROC: P(a > t) against P(b > t).

    The band holds for the whole curve: the group's share at the reference's shares, resampling both groups.

    Args:
        drawn: the two drawn anew with this seed, where that is at hand.

    >>> grid = np.arange(100.0)
    >>> one = Scores(values=grid, weight=np.ones(100), weight2=np.ones(100), n=100)
    >>> c = pass_curve(one, one)
    >>> bool(np.all((c.low <= c.reference) & (c.reference <= c.high)))
    True
    """
    check_level(level)
    drawn = drawn or DrawnPair.of(a, b, seed=seed)
    t, group, reference = drawn.thresholds, drawn.group, drawn.reference
    one, two = a.share_above(t), b.share_above(t)
    if len(t) < 2:
        return PassCurve(thresholds=t, reference=two, group=one, low=one, high=one)
    ends = np.array([0.0]), np.array([1.0])
    moved = np.array(
        [
            np.interp(
                two, np.concatenate([ends[0], r[::-1], ends[1]]), np.concatenate([ends[0], g[::-1], ends[1]])
            )
            for g, r in zip(group, reference, strict=True)
        ]
    )
    spread, reach = _reach(moved - one, level)
    return PassCurve(
        thresholds=t,
        reference=two,
        group=one,
        low=np.clip(one - reach * spread, 0, 1),
        high=np.clip(one + reach * spread, 0, 1),
    )


def impact_curve(
    a: Scores, b: Scores, *, level: float = 0.95, seed: int = 0, drawn: DrawnPair | None = None
) -> ImpactCurve:
    """Impact ratio P(a > t)/P(b > t) at every threshold with enough people, band simultaneous on the log
    scale.

    Args:
        drawn: the two drawn anew with this seed, where that is at hand.

    >>> grid = np.arange(100.0)
    >>> one = Scores(values=grid, weight=np.ones(100), weight2=np.ones(100), n=100)
    >>> c = impact_curve(one, one)
    >>> float(c.ratio[0]), bool(c.low[0] < 1 < c.high[0])
    (1.0, True)
    """
    check_level(level)
    drawn = drawn or DrawnPair.of(a, b, seed=seed)
    t = drawn.thresholds
    one, two = a.share_above(t), b.share_above(t)
    both = (one * a.total + two * b.total) / (a.total + b.total)
    fewest = min(a.n_effective, b.n_effective)
    judged = (both * fewest >= ENOUGH) & (one > 0) & (two > 0)
    t, one, two, both = t[judged], one[judged], two[judged], both[judged]
    empty = np.empty(0)
    if not len(t):
        return ImpactCurve(thresholds=empty, ratio=empty, low=empty, high=empty, selected=empty)
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = np.log(drawn.group[:, judged]) - np.log(drawn.reference[:, judged])
    centre = np.log(one / two)
    moved = np.where(np.isfinite(moved), moved - centre, np.nan)
    spread, reach = _reach(moved, level)
    return ImpactCurve(
        thresholds=t,
        ratio=one / two,
        low=np.exp(centre - reach * spread),
        high=np.exp(centre + reach * spread),
        selected=both,
    )


def no_adverse_impact_level(
    a: Scores,
    b: Scores,
    *,
    band: tuple[float, float] = FOUR_FIFTHS,
    level: float = 0.95,
    seed: int = 0,
    curve: ImpactCurve | None = None,
) -> Inference:
    """The lowest threshold such that it and every higher one with enough people keeps the impact ratio inside
    `band`.

    Args:
        curve: `impact_curve` of the two with this level and seed, where it is at hand.

    Returns:
        value in units of the score. `low`: the same where the simultaneous band of the curve merely touches
        `band`; `high`: where it lies wholly inside. A bound is None, and why_not says so, where there is no
        such threshold.

    >>> grid = np.arange(1000.0)
    >>> one = Scores(values=grid, weight=np.ones(1000), weight2=np.ones(1000), n=1000)
    >>> no_adverse_impact_level(one, one).value
    0.0
    """
    method = (
        f"lowest threshold from which on the impact ratio stays in {band[0]:g} to {band[1]:g}; bounds from"
        " the"
        f" {100 * level:.0f} % simultaneous band of the curve; thresholds with under {ENOUGH:g} expected in a"
        " group are not judged"
    )
    if not (a.total > 0 and b.total > 0):
        return Inference(level=level, method=method, why_not="a group has no score")
    if curve is None:
        curve = impact_curve(a, b, level=level, seed=seed)
    if not len(curve.thresholds):
        return Inference(
            level=level, method=method, why_not="no threshold selects enough people of both groups"
        )
    low, high = band
    value = _from_above(curve, (curve.ratio >= low) & (curve.ratio <= high))
    touches = _from_above(curve, (curve.low <= high) & (curve.high >= low))
    inside = _from_above(curve, (curve.low >= low) & (curve.high <= high))
    if value is None:
        share = 100 * float(curve.selected[-1])
        outside = (
            "the impact ratio is outside already at the highest threshold with enough people (top"
            f" {share:.1f} %)"
        )
        return Inference(level=level, method=method, why_not=outside)
    why = (
        None
        if inside is not None
        else "the data show no threshold at which the ratio is surely inside: no upper bound"
    )
    return Inference(value=value, low=touches, high=inside, level=level, method=method, why_not=why)


def _from_above(curve: ImpactCurve, good: BoolArray) -> float | None:
    """Lowest threshold of the unbroken run of good ones that begins at the top."""
    bad = np.flatnonzero(~good)
    first = int(bad[-1]) + 1 if len(bad) else 0
    return float(curve.thresholds[first]) if first < len(curve.thresholds) else None

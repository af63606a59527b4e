"""The placebo test: is a direction worse than random directions like it? And what it exceeds them by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evenhand._estimate import stretched
from evenhand._model import BoolArray, FloatArray, IntArray
from evenhand.stats.few_units import FEW, Few, widened
from evenhand.stats.interval import Inference, check_level, from_standard_error

TINY = 1e-12
FEWEST_TEXTS = 5
"""Alterable texts below which nothing is said."""


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Excess:
    """One statistic of a direction against its placebos.

    Args:
        observed: T₀ of the direction. placebos: (K,) T of each placebo.
        p_value: (1 + #{T_k ≥ T₀})/(K + 1). inference: T₀ − mean T_k with its interval.
        signed: per group, the sum before the absolute value.
    """

    observed: float
    placebos: FloatArray
    p_value: float | None
    inference: Inference
    signed: FloatArray


def rank_p(observed: float, placebos: npt.ArrayLike) -> float:
    """Randomisation p: (1 + #{T_k ≥ T₀})/(K + 1); a tie counts against the finding.

    >>> rank_p(3.0, [1.0, 2.0, 3.0])
    0.5
    """
    values = np.asarray(placebos, dtype=np.float64)
    return float((1 + np.sum(values >= observed - TINY)) / (len(values) + 1))


def interval_at(found: Inference, level: float) -> Inference:
    """The interval of an excess of flips at another level: within ±1, and where fewer than five texts differ
    from the rest no narrower than what so many texts allow."""
    ends = stretched(found, level)
    if ends is None or found.value is None:
        return found
    n, differing = int(found.detail["sampled"]), int(found.detail["differing"])
    if n < FEWEST_TEXTS:
        texts = int(found.detail["texts"])
        whose = "" if texts == n else f" of {n} units"
        why = f"only {texts} texts{whose} can be altered along this direction; {FEWEST_TEXTS} are needed"
        return found.with_(low=None, high=None, p_value=None, why_not=why)
    few = [Few(dimension="text", differing=differing, units=n)] if differing < FEW else []
    low, high = widened(ends, found.value, few, 1.0, level)
    return found.with_(low=max(low, -1.0), high=min(high, 1.0), level=level)


def asymmetry(
    values: FloatArray | BoolArray,
    open_: BoolArray,
    texts: BoolArray,
    *,
    labels: IntArray | None = None,
    level: float = 0.95,
    units: IntArray | None = None,
) -> Excess:
    """|mean of one side − mean of the other| against the same of the placebos, paired over texts.

    Args:
        values: (1 + K, 2, T) what is averaged (flips, or score moved), the direction first.
        open_: (1 + K, 2, T) texts alterable there. texts: (T,) which texts count.
        labels: (T,) labels of the unchanged texts: the difference is then taken within each label, and the
            absolute differences are averaged by the labels' shares. One side may push texts into a label and
            the other out of it: over all texts that cancels.
        units: (T,) codes of whom each text is of: their flips are no independent evidence.
    """
    over = open_.any(axis=1) & texts
    gap = np.where(open_, values, 0.0)
    groups = np.zeros(values.shape[-1], dtype=np.int64) if labels is None else labels
    rates = values.dtype == np.bool_
    return _against(gap[:, 0] - gap[:, 1], over, groups=groups, rates=rates, level=level, units=units)


def mean_of_sides(
    values: FloatArray | BoolArray,
    open_: BoolArray,
    texts: BoolArray,
    *,
    level: float = 0.95,
    units: IntArray | None = None,
) -> Excess:
    """The mean over both sides (or the only one) against the same of the placebos."""
    over = open_.any(axis=1) & texts
    mean = np.where(open_, values, 0.0).mean(axis=1)
    return _against(mean, over, groups=None, rates=values.dtype == np.bool_, level=level, units=units)


def _against(
    values: FloatArray,
    over: BoolArray,
    *,
    groups: IntArray | None,
    rates: bool,
    level: float,
    units: IntArray | None = None,
) -> Excess:
    """values, over: (1 + K, T). With groups the statistic is Σ_g (n_g/n)·|mean_g|, else the mean.

    The interval of the excess: texts are a sample (linearised, the same texts for all directions, so paired)
    and placebos are a sample; both add to the variance (degrees of freedom by Satterthwaite).
    """
    check_level(level)
    n = over.sum(axis=1)
    used = np.concatenate([[True], n[1:] > 0])
    values, over, n = values[used] * over[used], over[used], n[used]
    count = len(values) - 1
    method = f"rank among {count} placebo directions; interval over texts and placebos"
    if not n[0] or count < 1:
        why = "no text can be altered along this direction" if not n[0] else "no placebo direction"
        empty = Inference(level=level, method=method, why_not=why)
        return Excess(observed=0.0, placebos=np.empty(0), p_value=None, inference=empty, signed=np.zeros(1))
    signs, signed = _signs(values, groups)
    statistic = (signs * values).sum(axis=1) / n
    share = n / values.shape[1]
    influence = over * (signs * values - statistic[:, None]) / share[:, None]
    paired = influence[0] - influence[1:].mean(axis=0)
    sampled, from_texts = _of_units(paired, over[0], units)
    least = 1.0 / (sampled + 2.0)
    if rates:  # no flip in n texts is no proof that there is none
        from_texts = max(from_texts, least * (1.0 - least) / sampled)
    from_placebos = float(statistic[1:].var(ddof=1) / count) if count > 1 else float("inf")
    variance = from_texts + from_placebos
    excess = float(statistic[0] - statistic[1:].mean())
    if not np.isfinite(variance):
        empty = Inference(
            value=excess, level=level, method=method, why_not="too few texts or placebos for an interval"
        )
    elif variance > 0:
        freedom = variance**2 / (from_texts**2 / max(1, sampled - 1) + from_placebos**2 / max(1, count - 1))
        empty = from_standard_error(excess, float(np.sqrt(variance)), df=freedom, level=level, method=method)
    else:
        empty = Inference(value=excess, low=excess, high=excess, se=0.0, level=level, method=method)
    p = rank_p(float(statistic[0]), statistic[1:])
    own = (signs[0] * values[0])[over[0]]
    common, times = np.unique(own, return_counts=True)
    apart = own != common[times.argmax()]
    differing = int(apart.sum()) if units is None else len(np.unique(units[over[0]][apart]))
    told = {"texts": int(n[0]), "sampled": sampled, "placebos": count, "differing": differing}
    made = empty.with_(p_value=p, detail=told)
    return Excess(
        observed=float(statistic[0]),
        placebos=np.asarray(statistic[1:]),
        p_value=p,
        inference=made,
        signed=signed,
    )


def _of_units(paired: FloatArray, over: BoolArray, units: IntArray | None) -> tuple[int, float]:
    """(units that were altered, variance of the mean of (T,) values over units, whole units at a time)."""
    texts = len(paired)
    if units is None:
        return int(over.sum()), float(paired.var(ddof=1) / texts) if texts > 1 else float("inf")
    _, unit = np.unique(units, return_inverse=True)
    sums = np.bincount(unit, paired - paired.mean())
    count = len(sums)
    spread = float((sums**2).sum() / texts**2 * count / (count - 1)) if count > 1 else float("inf")
    return len(np.unique(units[over])), spread


def _signs(values: FloatArray, groups: IntArray | None) -> tuple[FloatArray, FloatArray]:
    """The sign of every direction's mean in the group of every text, and the sums of the first direction per
    group."""
    if groups is None:
        return np.ones((1, 1)), np.array([float(values[0].sum())])
    levels, codes = np.unique(groups, return_inverse=True)
    sums = np.stack([values[:, codes == g].sum(axis=1) for g in range(len(levels))], axis=1)
    return np.where(sums < 0, -1.0, 1.0)[:, codes], sums[0]

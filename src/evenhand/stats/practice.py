"""The statistics of selection practice in the US: the four-fifths rule with its tests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand._model import FloatArray
from evenhand.stats.interval import Inference
from evenhand.stats.rates import fisher_exact, katz, miettinen_nurminen

SMALL_N = 30
SMALL_EXPECTED = 5.0


@dataclass(frozen=True, kw_only=True, slots=True)
class FourFifths:
    """Two groups' selection rates as practice compares them.

    Args:
        rate, reference_rate: shares selected. ratio: impact ratio, None where the reference's rate is 0.
        z, z_ratio: Z of the difference and of the log ratio; None where undefined.
        fisher_p: two-sided exact p. small: under 30 people in all or an expected count under 5, where Z is
            not to be used.
        interval: Katz's log interval of the ratio (Miettinen–Nurminen where a rate is 0).
    """

    rate: float | None
    reference_rate: float | None
    ratio: float | None
    z: float | None
    z_ratio: float | None
    fisher_p: float | None
    small: bool
    interval: Inference


def four_fifths(x: float, n: float, y: float, m: float, *, level: float = 0.95) -> FourFifths:
    """Impact ratio of x of n selected against y of m, with Z, Z of ln ratio, Fisher's p and the log interval.

    Z = ΔSR/√(SR_T(1 − SR_T)/(N·P(1 − P))), Z_IR = ln(SR_a/SR_b)/√((1 − SR_T)/(SR_T·N·P(1 − P))), P the
    group's share of N.

    Source: 29 CFR 1607.4 D; Morris & Lobsenz (2000), Significance tests and confidence intervals for the
    adverse impact ratio, eq. 2 and 6.

    >>> found = four_fifths(8, 58, 16, 61)
    >>> round(found.ratio, 3), round(found.z, 2), round(found.fisher_p, 3), round(found.interval.low, 2)
    (0.526, -1.69, 0.112, 0.24)
    """
    if not (n > 0 and m > 0):
        none = Inference(level=level, method="four-fifths", why_not="a group has no rows")
        return FourFifths(
            rate=None,
            reference_rate=None,
            ratio=None,
            z=None,
            z_ratio=None,
            fisher_p=None,
            small=True,
            interval=none,
        )
    rate, other, everyone, total = x / n, y / m, (x + y) / (n + m), n + m
    share = n / total
    below = everyone * (1 - everyone) / (total * share * (1 - share))
    z = (rate - other) / np.sqrt(below) if below > 0 else None
    z_ratio = None
    if rate > 0 and other > 0 and everyone < 1:
        z_ratio = float(
            np.log(rate / other) / np.sqrt((1 - everyone) / (everyone * total * share * (1 - share)))
        )
    interval = katz(x, n, y, m, level=level)
    if interval.low is None and y > 0:
        interval = miettinen_nurminen(x, n, y, m, level=level)
    expected = [size * chance for size in (n, m) for chance in (everyone, 1 - everyone)]
    return FourFifths(
        rate=rate,
        reference_rate=other,
        ratio=rate / other if other > 0 else None,
        z=None if z is None else float(z),
        z_ratio=z_ratio,
        fisher_p=fisher_exact(round(x), round(n), round(y), round(m)),
        small=total < SMALL_N or min(expected) < SMALL_EXPECTED,
        interval=interval,
    )


def impact_ratio_bounds(
    hits: FloatArray, every: FloatArray, unknown: tuple[float, float]
) -> tuple[FloatArray, FloatArray]:
    """Lowest and highest ratio of each category's rate to the highest, whichever category the unknown are of.

    Lowest: all unknown who were not selected are of this category, all who were are of the other one that
    thereby gets the highest rate. Highest: all selected are of this one, the others are spread over the
    categories with higher rates until these are equal.

    Args:
        hits, every: (k,) selected, and all, of each category. unknown: (all, selected) of unknown category.

    Returns:
        (k,) each; NaN where the highest rate is 0 or the category is empty.

    Source: Manski (1990), Nonparametric bounds on treatment effects.

    >>> low, high = impact_ratio_bounds(np.array([30.0, 40.0]), np.array([100.0, 100.0]), (10.0, 5.0))
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.667, 1.0], [0.875, 1.0])
    """
    x, n = np.asarray(hits, dtype=float), np.asarray(every, dtype=float)
    selected, rejected = unknown[1], unknown[0] - unknown[1]
    low, high = np.full(len(x), np.nan), np.full(len(x), np.nan)
    with np.errstate(all="ignore"):
        for i in np.flatnonzero(n > 0):
            others = np.flatnonzero((n > 0) & (np.arange(len(x)) != i))
            least, most = x[i] / (n[i] + rejected), (x[i] + selected) / (n[i] + selected)
            best = float(np.max((x[others] + selected) / (n[others] + selected), initial=least))
            low[i] = least / best if best > 0 else np.nan
            best = _levelled(x[others], n[others], rejected)
            high[i] = min(1.0, most / best) if best > 0 else 1.0 if most > 0 else np.nan
    return low, high


def _levelled(x: FloatArray, n: FloatArray, rejected: float) -> float:
    """The highest rate that so many more rejected, given to those with the highest rates, leave."""
    if not len(x) or not x.max(initial=0.0) > 0:
        return 0.0
    low, high = 0.0, float((x / n).max())
    for _ in range(100):
        middle = (low + high) / 2
        needed = float(np.maximum(x / max(middle, 1e-300) - n, 0.0).sum())
        low, high = (middle, high) if needed > rejected else (low, middle)
    return high

"""What a design could have found: power, smallest detectable gap, and the sample that would be needed."""

from __future__ import annotations

from functools import cache, lru_cache

import numpy as np
from scipy.special import ndtr, stdtrit

from evenhand._errors import UsageError
from evenhand._model import FloatArray
from evenhand.stats.interval import quantile


@cache
def _legendre() -> tuple[FloatArray, FloatArray]:
    nodes, weights = np.polynomial.legendre.leggauss(200)
    return nodes, weights


@lru_cache(maxsize=64)
def spread_of_errors(df: float | None) -> tuple[FloatArray, FloatArray]:
    """(values, weights) of s/σ = √(χ²/df): the standard error that a sample shows over the true one.

    Gauss–Legendre over its distribution function, fine enough for a power to 4 digits; 1 where df is None.
    Cached: the power at one gap after another is asked with the same df.
    """
    if df is None or df > 1e6:
        return np.ones(1), np.ones(1)
    from scipy.special import chdtri

    x, w = _legendre()
    return np.sqrt(chdtri(df, (1 - x) / 2) / df), w / 2


def power(gap: float, se: float, *, df: float | None = None, alpha: float = 0.05) -> float:
    """Chance that a two-sided t-test at `alpha` calls a true difference of `gap` significant.

    Args:
        gap: true difference. se: standard error of its estimate. df: None for a normal statistic.

    Source: noncentral t with noncentrality gap/se, by integrating the normal over the χ² of the standard
    error.

    >>> round(power(0.0, 1.0, df=20), 3), round(power(2.8015, 1.0), 3)
    (0.05, 0.8)
    """
    if se <= 0:
        return 1.0 if gap else alpha
    return _power(abs(gap) / se, quantile(1 - alpha / 2, df), df)[0]


def _power(shift: float, critical: float, df: float | None) -> tuple[float, float]:
    """Power where the truth lies `shift` standard errors from 0, and its slope there."""
    s, w = spread_of_errors(df)
    ends = np.array([[shift], [-shift]]) - critical * s
    density = np.exp(-(ends**2) / 2) / (2 * np.pi) ** 0.5
    return float(np.sum(w * ndtr(ends))), float(np.sum(w * (density[0] - density[1])))


def detectable(
    se: float, *, df: float | None = None, alpha: float = 0.05, wanted: float = 0.8
) -> float | None:
    """The smallest true difference that this design finds with power `wanted`, in units of the score.

    Args:
        se, df: of the estimate at hand. alpha: two-sided. wanted: power in (alpha, 1).

    Returns:
        a positive gap; None where se is not positive.

    Raises:
        UsageError: `bad-power`.

    >>> round(detectable(1.0), 3), round(detectable(0.5, df=18), 3)
    (2.802, 1.481)
    """
    if not alpha < wanted < 1:
        raise UsageError("bad-power", "power must lie between alpha and 1", given=wanted)
    if not se > 0 or not np.isfinite(se):
        return None
    # Newton's steps, halved where they leave what is left: scipy.optimize alone takes as long to import as an
    # audit of 10,000 rows to run, and power grows with the gap.
    critical = quantile(1 - alpha / 2, df)
    low, high = 0.0, 2 * (critical + quantile(wanted, df)) + 1
    while _power(high, critical, df)[0] < wanted:  # one or two degrees of freedom
        low, high = high, 2 * high
    shift = (low + high) / 2
    for _ in range(200):
        found, slope = _power(shift, critical, df)
        low, high = (shift, high) if found < wanted else (low, shift)
        step = shift - (found - wanted) / slope if slope > 0 else high
        last, shift = shift, step if low < step < high else (low + high) / 2
        if abs(shift - last) <= 1e-13 * shift:
            break
    return se * shift


def units_needed(
    gap: float, se: float, units: int, *, alpha: float = 0.05, wanted: float = 0.8
) -> int | None:
    """How many units of the limiting dimension would find `gap`, where `units` of them gave `se`.

    The standard error shrinks as 1/√units while the other dimension is not the bottleneck, so this is a lower
    bound in a crossed design. Degrees of freedom are taken as units − 1.

    Returns:
        a count ≥ 2; None for a gap of 0 or an se of 0.

    >>> units_needed(0.1, 0.05, 20)
    42
    """
    if not gap or not se > 0:
        return None
    n = 2.0
    for _ in range(50):
        df = max(n - 1, 1.0)
        reach = float(stdtrit(df, 1 - alpha / 2) + stdtrit(df, wanted))
        wanted_n = units * (reach * se / gap) ** 2
        # Small df overstate the need; a damped step settles between them.
        step = max(2.0, (n + wanted_n) / 2)
        if abs(step - n) < 0.01:
            break
        n = step
    return int(np.ceil(n - 0.02))

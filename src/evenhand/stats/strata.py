"""Two groups compared within strata of a legitimate factor, pooled over them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from evenhand.stats.interval import Inference, bounds, check_level, from_standard_error


def mantel_haenszel_ratio(
    x: npt.ArrayLike, n: npt.ArrayLike, y: npt.ArrayLike, m: npt.ArrayLike, *, level: float = 0.95
) -> Inference:
    """Common ratio of rates over strata: Σ(x·m/N)/Σ(y·n/N), Greenland & Robins' log variance.

    Args:
        x, n: (S,) hits and trials of the group. y, m: of the reference. Strata without one of them add
            nothing.

    Source: Mantel & Haenszel (1959); Greenland & Robins (1985), Estimation of a common effect parameter from
    sparse follow-up data, eq. 13.

    >>> i = mantel_haenszel_ratio([10, 20], [100, 100], [20, 40], [100, 100])
    >>> round(i.value, 4), i.low < 0.5 < i.high
    (0.5, True)
    """
    check_level(level)
    a, na, b, nb = (np.asarray(v, dtype=float) for v in (x, n, y, m))
    use = (na > 0) & (nb > 0)
    a, na, b, nb = a[use], na[use], b[use], nb[use]
    method = "Mantel–Haenszel ratio over strata, Greenland–Robins log interval"
    if not len(a):
        return Inference(level=level, method=method, why_not="no stratum holds both groups")
    total = na + nb
    top, below = float(np.sum(a * nb / total)), float(np.sum(b * na / total))
    if below <= 0 or top <= 0:
        return Inference(level=level, method=method, why_not="nobody is selected in one of the groups")
    variance = float(np.sum((na * nb * (a + b) - a * b * total) / total**2)) / (top * below)
    if variance <= 0:
        return Inference(
            value=top / below, level=level, method=method, why_not="everyone is selected in both groups"
        )
    log, se = float(np.log(top / below)), float(np.sqrt(variance))
    with np.errstate(over="ignore"):
        low, high = (float(np.exp(v)) for v in bounds(log, se, level=level))
    on = from_standard_error(log, se, level=level, method=method)
    return on.with_(value=top / below, low=low, high=high, detail={"scale_of_se": "log"})


def pooled_difference(
    gaps: npt.ArrayLike,
    ses: npt.ArrayLike,
    n: npt.ArrayLike,
    m: npt.ArrayLike,
    *,
    df: npt.ArrayLike | None = None,
    level: float = 0.95,
) -> Inference:
    """Difference of means over strata, weighted by n·m/(n + m) (Cochran); t interval.

    Args:
        gaps, ses: (S,) difference and standard error in each stratum, NaN where undefined. n, m: (S,) rows of
            the sides.
        df: (S,) degrees of freedom of each standard error, which the pooled one has by Satterthwaite's
            formula; normal where they are not given.

    Source: Cochran (1954), Some methods for strengthening the common χ² tests; Satterthwaite (1946).

    >>> i = pooled_difference([1.0, 3.0], [0.5, 0.5], [10, 10], [10, 10])
    >>> i.value, round(i.se, 4)
    (2.0, 0.3536)
    >>> pooled_difference([1.0, 3.0], [0.5, 0.5], [10, 10], [10, 10], df=[9.0, 9.0]).df
    18.0
    """
    d, s, a, b = (np.asarray(v, dtype=float) for v in (gaps, ses, n, m))
    use = np.isfinite(d) & np.isfinite(s) & (a > 0) & (b > 0)
    method = "difference over strata, weighted by n·m/(n + m)"
    if not use.any():
        return Inference(
            level=check_level(level), method=method, why_not="no stratum holds enough of both groups"
        )
    w = a[use] * b[use] / (a[use] + b[use])
    value = float(np.average(d[use], weights=w))
    parts = (w * s[use]) ** 2
    se = float(np.sqrt(np.sum(parts)) / w.sum())
    own = None
    if df is not None and se > 0:
        each = np.where(parts > 0, np.asarray(df, dtype=float)[use], 1.0)
        own = float(np.sum(parts) ** 2 / np.sum(parts**2 / each))
    return from_standard_error(value, se, df=own, level=level, method=method)


FEWEST_OF_KIND = 5
"""Hits, and misses, that a side needs over all strata: of fewer the interval is too short."""


def mantel_haenszel_difference(
    x: npt.ArrayLike, n: npt.ArrayLike, y: npt.ArrayLike, m: npt.ArrayLike, *, level: float = 0.95
) -> Inference:
    """Common difference of rates over strata: Σ(x·m − y·n)/N ÷ Σ n·m/N, Sato's variance.

    Args:
        x, n: (S,) hits and trials of the group. y, m: of the reference. Strata without one of them add
            nothing.

    Returns:
        value in [−1, 1], normal interval, p. The variance holds for many sparse strata as for few large ones;
        an interval from `FEWEST_OF_KIND` hits and misses a side.

    Source: Greenland & Robins (1985); Sato, Greenland & Robins (1989), On the variance estimator for the
    Mantel-Haenszel risk difference, Biometrics 45, 1323–1324.

    >>> i = mantel_haenszel_difference([10, 20], [100, 100], [20, 40], [100, 100])
    >>> round(i.value, 4), round(i.se, 4)
    (-0.15, 0.0405)
    """
    check_level(level)
    a, na, b, nb = (np.asarray(v, dtype=float) for v in (x, n, y, m))
    use = (na > 0) & (nb > 0)
    a, na, b, nb = a[use], na[use], b[use], nb[use]
    method = "Mantel–Haenszel difference over strata, Sato's variance"
    if not len(a):
        return Inference(level=level, method=method, why_not="no stratum holds both groups")
    total = na + nb
    weight = float(np.sum(na * nb / total))
    value = float(np.sum((a * nb - b * na) / total)) / weight
    fewest = min(float(v.sum()) for v in (a, na - a, b, nb - b))
    if fewest < FEWEST_OF_KIND - 1e-9:
        why = (
            f"a side has {fewest:.3g} cases of one kind over all strata; at least {FEWEST_OF_KIND} are needed"
        )
        return Inference(value=value, level=level, method=method, why_not=why)
    one = np.sum((na**2 * b - nb**2 * a + na * nb * (nb - na) / 2) / total**2)
    two = np.sum((a * (nb - b) + b * (na - a)) / (2 * total))
    se = float(np.sqrt(max(value * float(one) + float(two), 0.0))) / weight
    return from_standard_error(value, se, level=level, method=method)

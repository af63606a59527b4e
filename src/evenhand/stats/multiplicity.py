"""Several claims at once: adjusted p-values, and the worst pair corrected for having been selected."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from evenhand._errors import UsageError
from evenhand._model import FloatArray
from evenhand.stats.interval import Inference, check_level, from_standard_error
from evenhand.stats.studentized import range_quantile, range_tail


def bonferroni(p_values: Sequence[float | None]) -> list[float | None]:
    """Single-step adjusted p-values: p times the number of claims, in agreement with intervals at level 1 −
    α/m.

    Args:
        p_values: raw p in [0, 1]; None (undefined) is no member of the family and stays None.

    Raises:
        UsageError: `bad-p-value`.

    Source: Dunn (1961), Multiple comparisons among means.

    >>> bonferroni([0.01, 0.04, None])
    [0.02, 0.08, None]
    """
    p, known = _known(p_values)
    return _back(np.minimum(1.0, p * len(p)), known)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down adjusted p-values: the chance of any false alarm in the family stays below α.

    Args:
        p_values: raw p in [0, 1]; None (undefined) is no member of the family and stays None.

    Returns:
        adjusted p in the same order: p̃₍ᵢ₎ = max_{j ≤ i} min(1, (m − j + 1)·p₍ⱼ₎).

    Raises:
        UsageError: `bad-p-value`.

    Source: Holm (1979), A simple sequentially rejective multiple test procedure.

    >>> holm([0.01, 0.04, None, 0.03])
    [0.03, 0.06, None, 0.06]
    """
    p, known = _known(p_values)
    m = len(p)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(m)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(m, 0, -1)))
    return _back(adjusted, known)


def benjamini_hochberg(p_values: Sequence[float | None]) -> list[float | None]:
    """Benjamini–Hochberg adjusted p-values: the expected share of false alarms among the alarms stays below
    α.

    Args:
        p_values: raw p in [0, 1]; None stays None.

    Returns:
        adjusted p in the same order: p̃₍ᵢ₎ = min_{j ≥ i} min(1, m·p₍ⱼ₎/j).

    Raises:
        UsageError: `bad-p-value`.

    Source: Benjamini & Hochberg (1995), Controlling the false discovery rate.

    >>> benjamini_hochberg([0.01, 0.04, None, 0.03])
    [0.03, 0.04, None, 0.04]
    """
    p, known = _known(p_values)
    m = len(p)
    order = np.argsort(p, kind="stable")
    scaled = p[order] * m / np.arange(1, m + 1)
    adjusted = np.empty(m)
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])
    return _back(adjusted, known)


def _known(p_values: Sequence[float | None]) -> tuple[FloatArray, list[bool]]:
    known = [p is not None for p in p_values]
    p = np.array([p for p in p_values if p is not None], dtype=float)
    if p.size and not (np.all(p >= 0) and np.all(p <= 1)):
        bad = p[~((p >= 0) & (p <= 1))][0]
        raise UsageError("bad-p-value", "a p-value outside [0, 1]", given=bad)
    return p, known


def _back(adjusted: FloatArray, known: Sequence[bool]) -> list[float | None]:
    # Twelve digits: 0.06 and not 0.06 plus the rounding error of a product.
    values = iter(adjusted.tolist())
    return [float(f"{next(values):.12g}") if k else None for k in known]


def simultaneous(pair: Inference, groups: int, *, level: float | None = None) -> Inference:
    """Interval and p-value of one pair that hold for all pairs of `groups` groups at once.

    The largest |t| over all pairs is referred to the studentised range: p = P(Q_{k,df} ≥ √2·|t|), interval
    value ± q_{k,df}/√2 · se. With Welch's se and df for the pair this is the method of Games & Howell (1976),
    after Tukey (1953) and Kramer (1956).

    Args:
        pair: value, se and df of the pair (df None for a normal statistic).
        groups: how many groups the pair was picked from, ≥ 2.
        level: of the simultaneous interval; that of `pair` by default.

    Raises:
        UsageError: `bad-groups`, `bad-level`.

    With two groups nothing was selected, so nothing changes:

    >>> from evenhand.stats.interval import from_standard_error
    >>> raw = from_standard_error(2.0, 1.0, df=10)
    >>> two, ten = simultaneous(raw, 2), simultaneous(raw, 10)
    >>> round(two.p_value, 3), round(ten.p_value, 3)
    (0.073, 0.616)
    """
    if groups < 2:
        raise UsageError("bad-groups", "a pair needs at least two groups", given=groups)
    level = check_level(pair.level if level is None else level)
    if pair.value is None or not pair.se:
        return pair
    if groups == 2:
        return from_standard_error(
            pair.value, pair.se, df=pair.df, level=level, method=pair.method, detail=pair.detail
        )
    p = range_tail(abs(pair.value / pair.se) * np.sqrt(2), groups, pair.df)
    reach = range_quantile(level, groups, pair.df) / np.sqrt(2) * pair.se
    return pair.with_(
        low=pair.value - reach,
        high=pair.value + reach,
        p_value=p,
        level=level,
        method=f"{pair.method}; simultaneous over all pairs of {groups} groups (studentised range)",
    )


def worst_pair(
    pairs: Sequence[Inference], groups: int, *, level: float | None = None
) -> tuple[int, Inference]:
    """The pair with the widest gap, with an interval and p-value corrected for having been picked as the
    widest.

    Args:
        pairs: the differences of all pairs of `groups` groups.
        groups: number of groups.

    Returns:
        (index of the pair with the largest |value|, its simultaneous inference). Unlike the interval of a max
        − min gap, this one contains 0 wherever the data do not exclude it.

    Raises:
        UsageError: `bad-groups` where no pair has a value.

    >>> from evenhand.stats.interval import from_standard_error
    >>> index, worst = worst_pair([from_standard_error(v, 0.5, df=30) for v in (0.2, -1.1, 0.9)], groups=3)
    >>> index, worst.value, round(worst.p_value, 3)
    (1, -1.1, 0.087)
    """
    sizes = [-1.0 if p.value is None else abs(p.value) for p in pairs]
    if not sizes or max(sizes) < 0:
        raise UsageError("bad-groups", "no pair of groups has a value", given=len(sizes))
    index = int(np.argmax(sizes))
    return index, simultaneous(pairs[index], groups, level=level)


def max_t(
    values: npt.ArrayLike, replicates: npt.ArrayLike, *, level: float = 0.95, se: npt.ArrayLike | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Simultaneous p-values and bands of m estimates from their joint resampling distribution (single-step
    max-t).

    Args:
        values: (m,) estimates; the null of each is 0.
        replicates: (B, m) replicates, centred on the estimates (bootstrap) or on 0 after subtraction by the
            caller where they come from permutations: what is used is replicate − column mean.
        level: of the bands.
        se: (m,) standard errors; those of the replicates by default.

    Returns:
        (p (m,), low (m,), high (m,)); p = (1 + #{max_j |t*_j| ≥ |t|})/(B + 1).

    Source: Westfall & Young (1993), Resampling-based multiple testing.

    >>> rng = np.random.default_rng(0)
    >>> p, low, high = max_t([0.1, 5.0], rng.normal(size=(999, 2)))
    >>> bool(p[0] > 0.5), float(p[1]), bool(low[1] > 0)
    (True, 0.001, True)
    """
    check_level(level)
    v, r = np.asarray(values, dtype=float), np.asarray(replicates, dtype=float)
    spread = r.std(axis=0, ddof=1) if se is None else np.asarray(se, dtype=float)
    safe = np.where(spread > 0, spread, np.inf)
    largest = np.abs((r - r.mean(axis=0)) / safe).max(axis=1)
    p = (1 + np.sum(largest[:, None] >= np.abs(v / safe)[None, :], axis=0)) / (len(r) + 1)
    reach = np.quantile(largest, level) * spread
    return np.asarray(p, dtype=float), v - reach, v + reach

"""Differences paired by unit (text, case): t, effect size and sign-flip permutation."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from evenhand._errors import UsageError
from evenhand._model import FloatArray, IntArray
from evenhand.stats.blocks import sums_by_unit
from evenhand.stats.interval import Alternative, Inference, check_level, from_standard_error, quantile
from evenhand.stats.moments import estimate, moments, moments_of_units
from evenhand.stats.rates import clopper_pearson

EXACT = 14
"""Up to this many pairs all 2^T sign patterns are enumerated."""


def by_unit(
    score: npt.ArrayLike,
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    unit: npt.ArrayLike,
    times: IntArray | None = None,
) -> tuple[FloatArray, npt.NDArray[np.intp]]:
    """(differences, codes): d_t = X̄[t, A] − X̄[t, B] for each unit that has scores of both groups.

    Args:
        times: (n,) how many rows each stands for; None for one.

    >>> d, codes = by_unit([3, 5, 1, 9], [1, 1, 0, 1], [0, 0, 1, 0], [0, 0, 0, 1])
    >>> d.tolist(), codes.tolist()
    ([3.0], [0])
    """
    x, codes = np.asarray(score, dtype=float), np.asarray(unit)
    size = int(codes.max(initial=-1)) + 1
    means = []
    for mask in (np.asarray(a, dtype=bool), np.asarray(b, dtype=bool)):
        count, total = sums_by_unit(x, codes, mask & np.isfinite(x), size, times)
        with np.errstate(invalid="ignore"):
            means.append(total / count)
    d = means[0] - means[1]
    both = np.isfinite(d)
    return d[both], np.flatnonzero(both).astype(np.intp)


def paired(d: npt.ArrayLike, *, level: float = 0.95, alternative: Alternative = "two-sided") -> Inference:
    """Mean of paired differences: t = d̄/(s_d/√T), dz = d̄/s_d.

    Args:
        d: (T,) differences, one for each unit; not finite ones are dropped.

    Returns:
        mean difference; ``detail["dz"]`` is the standardised one.

    Source: Student (1908); blocked by text as in Czarnowska, Vyas & Shah (2021).

    >>> i = paired([1.0, 2, 3, 4])
    >>> i.value, round(i.statistic, 4), round(i.detail["dz"], 4)
    (2.5, 3.873, 1.9365)
    """
    check_level(level)
    values = np.asarray(d, dtype=float)
    values = values[np.isfinite(values)]
    n = len(values)
    if n < 2:
        found = float(values[0]) if n else None
        why = f"{n} pair{'s' * (n != 1)}; at least 2 are needed"
        return Inference(value=found, level=level, method="paired t", why_not=why)
    sd = float(values.std(ddof=1))
    sd = 0.0 if sd <= 1e-14 * float(np.abs(values).max()) else sd
    mean = float(values.mean())
    return from_standard_error(
        mean,
        sd / np.sqrt(n),
        df=float(n - 1),
        level=level,
        method="paired t",
        alternative=alternative,
        detail={"dz": mean / sd if sd else None, "pairs": n},
    )


def paired_rates(up: int, down: int, n: int, *, level: float = 0.95) -> Inference:
    """Difference of two rates of the same n cases, (up − down)/n: the adjusted Wald interval.

    Args:
        up: cases that the first has and the second has not. down: the other way round. n: all cases.

    Returns:
        value in [−1, 1]; p is of the same statistic.

    Source: Bonett & Price (2012), Adjusted Wald confidence interval for a difference of binomial proportions
    based on paired data: one case is added to each of the two discordant counts.

    >>> i = paired_rates(12, 4, 100)
    >>> round(i.value, 3), round(i.low, 4), round(i.high, 4)
    (0.08, -0.0017, 0.1585)
    """
    check_level(level)
    method = "Bonett-Price adjusted Wald for paired rates"
    if n < 1:
        return Inference(level=level, method=method, why_not="no case")
    one, two = (up + 1) / (n + 2), (down + 1) / (n + 2)
    centre, se = one - two, float(np.sqrt((one + two - (one - two) ** 2) / (n + 2)))
    found = from_standard_error(centre, se, level=level, method=method)
    reach = quantile(0.5 + level / 2, None) * se
    return found.with_(
        value=(up - down) / n, low=max(centre - reach, -1.0), high=min(centre + reach, 1.0), se=se
    )


def mean_change(
    d: npt.ArrayLike,
    *,
    weight: npt.ArrayLike | None = None,
    unit: IntArray | None = None,
    most: float = 1.0,
    level: float = 0.95,
) -> Inference:
    """Mean of what changed in each row, t over rows or over units.

    Args:
        d: (n,) finite changes. weight: (n,) or None. unit: (n,) codes, or None where each row is one.
        most: how large a change could have been. Where every row changed alike (or none), at most Clopper and
            Pearson's upper bound for none of n may change otherwise, each by at most this much.

    >>> i = mean_change([0.0] * 99)
    >>> i.value, round(i.high, 4)
    (0.0, 0.0366)
    """
    check_level(level)
    values = np.asarray(d, dtype=float)
    size = float(np.abs(values).max()) if len(values) else 0.0
    if not len(values):
        return Inference(level=level, method="paired t", why_not="no row")
    if np.ptp(values) <= 1e-9 * size:
        value = float(values[0])
        n = len(values) if unit is None else len(np.unique(unit))
        other = clopper_pearson(0, n, level=level).high or 1.0
        ends = [(1 - other) * value + sign * other * max(most, size) for sign in (-1, 1)]
        low, high = min(value, *ends), max(value, *ends)
        method = "every row changed alike: exact bound"
        return Inference(value=value, low=low, high=high, level=level, method=method)
    names = ["d"]
    m = (
        moments(values[None], names, weight)
        if unit is None
        else moments_of_units(values[None], names, unit, weight)
    )
    value, se = estimate(lambda t: t["d"], m)
    return from_standard_error(value, se, df=max(m.n_effective - 1, 1), level=level, method="paired t")


def sign_flip(
    d: npt.ArrayLike,
    *,
    seed: int | np.random.Generator,
    draws: int = 9999,
    alternative: Alternative = "two-sided",
) -> Inference:
    """Sign-flip permutation of paired differences: p = (1 + #{|T*| ≥ |T|})/(B + 1); all patterns where few
    pairs.

    Args:
        d: (T,) differences. seed: seed or Generator. draws: random patterns beyond 14 pairs.

    Returns:
        mean difference and p; no interval. Exact p = #{|T*| ≥ |T|}/2^T up to 14 pairs.

    Raises:
        UsageError: `bad-draws`.

    Source: Fisher (1935); Czarnowska, Vyas & Shah (2021).

    >>> sign_flip([1.0, 2, 3], seed=0).p_value
    0.25
    """
    if draws < 1:
        raise UsageError("bad-draws", "at least one random draw is needed", given=draws)
    values = np.asarray(d, dtype=float)
    values = values[np.isfinite(values)]
    n = len(values)
    if n < 2:
        return Inference(method="sign-flip permutation", why_not=f"{n} pairs; at least 2 are needed")
    seen = _signed(np.array([values.sum()]), alternative)[0] - 1e-12 * float(np.abs(values).sum())
    if n <= EXACT:
        patterns = 1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
        hits, total = int(np.sum(_signed(patterns @ values, alternative) >= seen)), 2**n
        p, how = hits / total, f"all {total} sign patterns"
    else:
        rng = np.random.default_rng(seed)
        hits, chunk = 0, max(1, 4_000_000 // n)
        for start in range(0, draws, chunk):
            size = min(chunk, draws - start)
            signs = rng.integers(0, 2, (size, n), dtype=np.int8)
            flipped = 2.0 * (signs @ values) - values.sum()
            hits += int(np.sum(_signed(flipped, alternative) >= seen))
        p, how = (1 + hits) / (draws + 1), f"{draws} random sign patterns"
    return Inference(value=float(values.mean()), p_value=p, method=f"sign-flip permutation, {how}")


def _signed(sums: FloatArray, alternative: Alternative) -> FloatArray:
    if alternative == "two-sided":
        return np.asarray(np.abs(sums))
    return sums if alternative == "greater" else -sums

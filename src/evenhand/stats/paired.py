"""Differences paired by unit (text, case): t, effect size and sign-flip permutation."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from evenhand._errors import UsageError
from evenhand._model import FloatArray
from evenhand.stats.interval import Alternative, Inference, check_level, from_standard_error

EXACT = 14
"""Up to this many pairs all 2^T sign patterns are enumerated."""


def by_unit(
    score: npt.ArrayLike, a: npt.ArrayLike, b: npt.ArrayLike, unit: npt.ArrayLike
) -> tuple[FloatArray, npt.NDArray[np.intp]]:
    """(differences, codes): d_t = X̄[t, A] − X̄[t, B] for each unit that has scores of both groups.

    >>> d, codes = by_unit([3, 5, 1, 9], [1, 1, 0, 1], [0, 0, 1, 0], [0, 0, 0, 1])
    >>> d.tolist(), codes.tolist()
    ([3.0], [0])
    """
    x, codes = np.asarray(score, dtype=float), np.asarray(unit)
    levels, compact = np.unique(codes, return_inverse=True)
    means = []
    for mask in (np.asarray(a, dtype=bool), np.asarray(b, dtype=bool)):
        keep = mask & np.isfinite(x) & (codes >= 0)
        count = np.bincount(compact[keep], minlength=len(levels))
        with np.errstate(invalid="ignore"):
            means.append(np.bincount(compact[keep], x[keep], len(levels)) / count)
    d = means[0] - means[1]
    both = np.isfinite(d)
    return d[both], levels[both].astype(np.intp)


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

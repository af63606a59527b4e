"""The pigeonhole bootstrap of crossed samples, as an independent check of the crossed difference."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import pdtr

from evenhand._model import FloatArray

_POISSON = pdtr(np.arange(12), 1.0)


def poisson_weights(hashes: npt.ArrayLike, replicates: int, *, seed: int) -> npt.NDArray[np.int8]:
    """Poisson(1) bootstrap weights, (replicates, units), each a function of (seed, replicate, unit's hash) only.

    So the order of rows and their partition over machines do not matter, and a unit that occurs in two tables has
    the same weight in both.

    Args:
        hashes: (units,) unsigned integers, different for different units.

    Source: Chamandy et al. (2012), Estimating uncertainty for massive data streams; mixing by splitmix64.

    >>> w = poisson_weights([1, 2, 3], 4, seed=0)
    >>> w.shape, bool((poisson_weights([3, 1], 4, seed=0)[:, 0] == w[:, 2]).all())
    ((4, 3), True)
    """
    h = np.asarray(hashes, dtype=np.uint64)
    stream = _mix(np.arange(1, replicates + 1, dtype=np.uint64) + np.uint64(seed % 2**32) * np.uint64(2**32))
    out = np.empty((replicates, len(h)), dtype=np.int8)
    for i, s in enumerate(stream):
        uniform = (_mix(h ^ s) >> np.uint64(11)).astype(float) * 2.0**-53
        out[i] = np.searchsorted(_POISSON, uniform, side="right")
    return out


def _mix(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """splitmix64's finaliser (Steele, Lea & Flood 2014)."""
    with np.errstate(over="ignore"):
        x = x + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(x ^ (x >> np.uint64(31)))


def pigeonhole(
    score: npt.ArrayLike,
    *,
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    rows: npt.ArrayLike,
    columns: npt.ArrayLike,
    replicates: int = 999,
    seed: int,
    weight: npt.ArrayLike | None = None,
) -> FloatArray:
    """Crossed bootstrap of a difference of means: each row unit and each column unit draws a Poisson(1) weight and a
    cell counts with the product.

    A check of `difference` (it is a little conservative), not a replacement.

    Args:
        score, a, b, weight: as in `difference`. rows, columns: (n,) integer codes of the two samples.

    Returns:
        (replicates,) differences; NaN where a group drew no cell.

    Source: Owen (2007), The pigeonhole bootstrap.

    >>> text, term = np.divmod(np.arange(60), 6)
    >>> r = pigeonhole(term / 6, a=term < 3, b=term >= 3, rows=text, columns=term, replicates=99, seed=1)
    >>> r.shape, bool(-0.7 < np.nanmean(r) < -0.3)
    ((99,), True)
    """
    x = np.asarray(score, dtype=float)
    w = np.ones(len(x)) if weight is None else np.asarray(weight, dtype=float)
    first, i = np.unique(np.asarray(rows), return_inverse=True)
    second, j = np.unique(np.asarray(columns), return_inverse=True)
    one = poisson_weights(first.astype(np.uint64), replicates, seed=seed)
    two = poisson_weights(second.astype(np.uint64) + np.uint64(2**40), replicates, seed=seed)
    finite = np.isfinite(x)
    masks = [np.asarray(m, dtype=bool) & finite for m in (a, b)]
    out = np.full(replicates, np.nan)
    for r in range(replicates):
        drawn = w * one[r][i] * two[r][j]
        sums = [float(drawn[m].sum()) for m in masks]
        if min(sums) > 0:
            means = [float(np.sum(drawn[m] * x[m])) / s for m, s in zip(masks, sums, strict=True)]
            out[r] = means[0] - means[1]
    return out

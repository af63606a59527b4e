"""Resampling: bootstrap weights that depend on the unit and not on its row, bootstrap intervals, and the placebo."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri, pdtr

from evenhand._errors import UsageError
from evenhand._model import FloatArray
from evenhand.stats.interval import Inference, check_level

_POISSON = pdtr(np.arange(12), 1.0)


def unit_hashes(labels: Sequence[str]) -> npt.NDArray[np.uint64]:
    """A 64-bit hash of each label, the same on every machine and in every process (BLAKE2b).

    >>> unit_hashes(["a", "b"])[0] == unit_hashes(["b", "a"])[1]
    np.True_
    """
    from hashlib import blake2b

    digests = b"".join(blake2b(label.encode(), digest_size=8).digest() for label in labels)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def poisson_weights(hashes: npt.ArrayLike, replicates: int, *, seed: int) -> npt.NDArray[np.int8]:
    """Poisson(1) bootstrap weights, (replicates, units), each a function of (seed, replicate, unit's hash) only.

    So the order of rows and their partition over machines do not matter, and a unit that occurs in two tables has
    the same weight in both.

    Args:
        hashes: (units,) unsigned integers, e.g. `unit_hashes` of the labels.

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


def bootstrap_interval(
    value: float,
    replicates: npt.ArrayLike,
    *,
    level: float = 0.95,
    kind: str = "percentile",
    jackknife: npt.ArrayLike | None = None,
) -> Inference:
    """Interval of an estimate from its bootstrap replicates.

    Args:
        value: the estimate on the data. replicates: (B,); those that are not finite are dropped and counted.
        kind: ``"percentile"``, ``"basic"`` (2·value − quantiles) or ``"bca"``, which needs `jackknife`.
        jackknife: (U,) the estimate without each unit.

    Returns:
        interval and bootstrap se; no p-value. why_not where under 20 replicates, or under 90 %, are finite.

    Raises:
        UsageError: `bad-kind`.

    Source: Efron (1987), Better bootstrap confidence intervals; Davison & Hinkley (1997), ch. 5.

    >>> x = np.random.default_rng(0).normal(size=2000)
    >>> i = bootstrap_interval(0.0, x)
    >>> round(i.low, 1), round(i.high, 1)
    (-1.9, 1.9)
    """
    check_level(level)
    if kind not in ("percentile", "basic", "bca"):
        raise UsageError("bad-kind", "unknown interval", given=kind, available=["percentile", "basic", "bca"])
    all_ = np.asarray(replicates, dtype=float)
    r = all_[np.isfinite(all_)]
    method = f"{kind} bootstrap, {len(r)} replicates"
    if len(r) < 20 or len(r) < 0.9 * len(all_):
        why = f"only {len(r)} of {len(all_)} bootstrap replicates are defined"
        return Inference(value=value, level=level, method=method, why_not=why)
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    if kind == "bca":
        if jackknife is None:
            raise UsageError(
                "bad-kind", "the BCa interval needs the jackknife values", given="jackknife=None"
            )
        tails = _bca_tails(value, r, np.asarray(jackknife, dtype=float), tails)
    low, high = np.quantile(r, tails)
    if kind == "basic":
        low, high = 2 * value - high, 2 * value - low
    return Inference(
        value=value, low=float(low), high=float(high), se=float(r.std(ddof=1)), level=level, method=method
    )


def _bca_tails(value: float, r: FloatArray, jackknife: FloatArray, tails: FloatArray) -> FloatArray:
    """Efron (1987), eq. 2.3 and 6.6; the bias counts ties half."""
    share = (np.sum(r < value) + 0.5 * np.sum(r == value)) / len(r)
    bias = ndtri(np.clip(share, 0.5 / len(r), 1 - 0.5 / len(r)))
    moved = np.nanmean(jackknife) - jackknife[np.isfinite(jackknife)]
    squares = float(np.sum(moved**2))
    skew = float(np.sum(moved**3) / (6 * squares**1.5)) if squares > 0 else 0.0
    z = bias + ndtri(tails)
    return np.asarray(ndtr(bias + z / (1 - skew * z)))


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


def placebo(
    unit_means: npt.ArrayLike,
    *,
    seed: int | np.random.Generator,
    draws: int = 999,
    sizes: tuple[int, int] | None = None,
) -> FloatArray:
    """The noise floor: gaps between two random parts of *one* group's units, where no group difference can exist.

    Args:
        unit_means: (K,) means of the group's units (terms). sizes: units in the two parts; halves by default.

    Returns:
        (draws,) absolute gaps; empty where the group has fewer than 2 units. On real data compare the observed gap
        with e.g. their 95th percentile.

    Raises:
        UsageError: `bad-sizes`.

    >>> placebo([0.0, 0.0, 0.0, 1.0], seed=0, draws=5).tolist()
    [0.5, 0.5, 0.5, 0.5, 0.5]
    """
    x = np.asarray(unit_means, dtype=float)
    x = x[np.isfinite(x)]
    one, two = sizes or (len(x) // 2, len(x) - len(x) // 2)
    if sizes and (min(sizes) < 1 or sum(sizes) > len(x)):
        raise UsageError(
            "bad-sizes", "two parts that do not fit into the group", given=sizes, expected=f"{len(x)} units"
        )
    if len(x) < 2:
        return np.empty(0)
    order = np.argsort(np.random.default_rng(seed).random((draws, len(x))), axis=1)
    shuffled = x[order]
    return np.asarray(np.abs(shuffled[:, :one].mean(axis=1) - shuffled[:, one : one + two].mean(axis=1)))

"""Mergeable sums of per-row terms: means of any number of terms with their covariance, and smooth functions
of them.

A measure that is a smooth function of means needs nothing else: its value is g(T) and its variance the delta
method's ∇g′ V ∇g. States of chunks add up, so a file that does not fit into memory gives the same numbers as
one that does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from evenhand._model import FloatArray, IntArray

Means: TypeAlias = Mapping[str, Any]
Smooth: TypeAlias = Callable[[Means], Any]
BLOCK = 1 << 15
FEWEST = 512
"""Rows handled at once, and the rows of each part that a block has on average, if it must be longer for
that."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Moments:
    """Sums over rows of k named terms.

    Args:
        names: the terms. n: rows with a positive weight.
        weight, weight2: Σw and Σw².
        sums, sums2: (k,) Σw·t and Σw²·t. cross: (k, k) Σw²·t·t′.
        units: how many independent units (people decided on several times) the rows belong to; None where
            each row is one. With units `weight2`, `sums2` and `cross` are sums over units, of the products of
            a unit's own sums: then everything that follows from them is robust to how rows of a unit go
            together.
    """

    names: tuple[str, ...]
    n: int
    weight: float
    weight2: float
    sums: FloatArray
    sums2: FloatArray
    cross: FloatArray
    units: int | None = None

    def __add__(self, other: Moments) -> Moments:
        return Moments(
            names=self.names,
            n=self.n + other.n,
            weight=self.weight + other.weight,
            weight2=self.weight2 + other.weight2,
            sums=self.sums + other.sums,
            sums2=self.sums2 + other.sums2,
            cross=self.cross + other.cross,
            units=None
            if self.units is None and other.units is None
            else self.independent + other.independent,
        )

    @property
    def independent(self) -> int:
        """Units, or rows where each is one."""
        return self.n if self.units is None else self.units

    @property
    def counts(self) -> bool:
        """Whether sums of 0/1 terms are whole numbers of independent rows."""
        return self.units is None and self.weight == self.weight2 == self.n

    @property
    def n_effective(self) -> float:
        """Kish's (Σw)²/Σw²: n for equal weights, the number of units for units of equal size."""
        return self.weight**2 / self.weight2 if self.weight2 > 0 else 0.0

    def cases(self, share: Smooth) -> float:
        """Kish's effective number of those rows (or units) that a share counts, linear in the 0/1 terms.

        >>> m = moments(np.array([[1.0, 1.0, 0.0, 1.0]]), ["x"])
        >>> m.cases(lambda t: t["x"])
        3.0
        """
        means = self.means
        slope, at = gradient(share, means), np.array([means[name] for name in self.names])
        whole = float(np.real(share({k: np.float64(v) for k, v in means.items()})))
        constant = whole - float(slope @ at)
        square = constant**2 * self.weight2 + 2 * constant * slope @ self.sums2 + slope @ self.cross @ slope
        return float((self.weight * whole) ** 2 / square) if square > 0 else 0.0

    @property
    def means(self) -> dict[str, float]:
        """Weighted mean of each term; NaN where there is no weight."""
        below = self.weight if self.weight > 0 else np.nan
        return dict(zip(self.names, (self.sums / below).tolist(), strict=True))

    def covariance(self) -> FloatArray:
        """(k, k) covariance of the means: Σw²(t−T)(t−T)′/(Σw)² · n/(n−1), over rows or units."""
        n = self.independent
        if n < 2 or self.weight <= 0:
            return np.full((len(self.names),) * 2, np.nan)
        t = self.sums / self.weight
        outer = np.outer(self.sums2, t)
        centred = self.cross - outer - outer.T + self.weight2 * np.outer(t, t)
        return np.asarray(centred / self.weight**2 * n / (n - 1))


def moments(terms: FloatArray, names: Sequence[str], weight: npt.ArrayLike | None = None) -> Moments:
    """The sums of all rows.

    Args:
        terms: (k, n), finite. weight: (n,) non-negative, or None for all ones.

    >>> m = moments(np.array([[1.0, 2.0, 3.0]]), ["x"])
    >>> m.means["x"], round(float(m.covariance()[0, 0]), 4)
    (2.0, 0.3333)
    """
    w = None if weight is None else np.asarray(weight, dtype=float)
    one_part = np.zeros(terms.shape[1], dtype=np.int16)
    return moments_by_part(lambda rows, out: np.take(terms, rows, 1, out), names, one_part, 1, w)[0]


def moments_of_units(
    terms: FloatArray, names: Sequence[str], unit: IntArray, weight: npt.ArrayLike | None = None
) -> Moments:
    """The sums of rows that belong to units: rows of one unit are no independent evidence.

    Args:
        terms: (k, n), finite. unit: (n,) codes. weight: (n,), or None for all ones. Rows with none are left
            out.

    Source: Liang & Zeger (1986), Longitudinal data analysis using generalized linear models.

    >>> twice = moments_of_units(np.array([[1.0, 1.0, 2.0, 2.0, 3.0, 3.0]]), ["x"], np.repeat([0, 1, 2], 2))
    >>> twice.n, twice.n_effective, round(float(twice.covariance()[0, 0]), 4)
    (6, 3.0, 0.3333)
    """
    w = np.ones(terms.shape[1]) if weight is None else np.asarray(weight, dtype=float)
    used = np.flatnonzero(w)
    place = np.unique(unit[used], return_inverse=True)[1]
    count = int(place.max(initial=-1)) + 1
    if count == len(used):
        return moments(terms, names, weight)
    w = w[used]
    each = np.array([np.bincount(place, w * t, count) for t in terms[:, used]])
    whole = np.bincount(place, w, count)
    return Moments(
        names=tuple(names),
        n=len(used),
        weight=float(whole.sum()),
        weight2=float(whole @ whole),
        sums=each.sum(axis=1),
        sums2=each @ whole,
        cross=each @ each.T,
        units=count,
    )


def moments_by_part(
    terms: Callable[[IntArray, FloatArray], Any],
    names: Sequence[str],
    part: IntArray,
    parts: int,
    weight: FloatArray | None = None,
) -> list[Moments]:
    """The sums of each part of the rows, block by block so that what is made of a block stays in the cache.

    Args:
        terms: writes the terms of some rows (m,) into an array (k, m); finite. part: (n,) in [0, parts), −1
            for rows to leave out.
        weight: (n,) non-negative, or None for all ones.

    >>> x = np.array([1.0, 2.0, 3.0, 4.0])
    >>> put = lambda rows, out: np.copyto(out, x[rows])
    >>> one, two = moments_by_part(put, ["x"], np.array([0, 1, 1, -1]), 2)
    >>> one.means["x"], two.means["x"]
    (1.0, 2.5)
    """
    k = len(names)
    # A row of ones among the terms makes the sums part of the product, whose sides are best as multiples of
    # four.
    wide = -(-(k + 1) // 4) * 4
    cross = np.zeros((parts, wide, wide))
    plain = cross if weight is None else np.zeros((parts, wide, wide))
    rows_in = np.zeros(parts, dtype=np.int64)
    block = max(BLOCK, FEWEST * parts)
    held = np.zeros((wide, min(block, len(part))))
    held[k] = 1.0
    if part.dtype.itemsize > 2 and parts < 1 << 15:
        part = part.astype(np.int16)  # short numbers are sorted by counting
    for start in range(0, len(part), block):
        own = part[start : start + block]
        order = np.argsort(own, kind="stable")
        edges = np.searchsorted(own[order], np.arange(parts + 1))
        rows = order[edges[0] :] + start
        now = held[:, : len(rows)]
        terms(rows, now[:k])
        w = None if weight is None else weight[rows]
        for code, (low, high) in enumerate(pairwise((edges - edges[0]).tolist())):
            if low == high:
                continue
            piece = now[:, low:high]
            if w is None:
                cross[code] += piece @ piece.T
                rows_in[code] += high - low
            else:
                weighted = piece * w[low:high]
                plain[code] += weighted @ piece.T
                cross[code] += weighted @ weighted.T
                rows_in[code] += np.count_nonzero(w[low:high])
    return [
        Moments(
            names=tuple(names),
            n=int(n),
            weight=float(first[k, k]),
            weight2=float(second[k, k]),
            sums=first[k, :k].copy(),
            sums2=second[k, :k].copy(),
            cross=second[:k, :k].copy(),
        )
        for n, first, second in zip(rows_in, plain, cross, strict=True)
    ]


def with_indicators(parts: Sequence[Moments], inside: Mapping[str, Sequence[bool]]) -> Moments:
    """The sums of all parts together, with further terms that are 1 in some of the parts and 0 in the others.

    Args:
        inside: name of the term → whether it is 1, for each part.

    >>> halves = [moments(np.array([[1.0, 2.0]]), ["x"]), moments(np.array([[3.0, 5.0]]), ["x"])]
    >>> m = with_indicators(halves, {"second half": [False, True]})
    >>> m.means, m.cross.tolist()
    ({'x': 2.75, 'second half': 0.5}, [[39.0, 8.0], [8.0, 2.0]])
    """
    k, names = len(parts[0].names), (*parts[0].names, *inside)
    one = np.array(list(inside.values()), dtype=float).reshape(len(inside), len(parts))
    sums, sums2 = np.zeros(len(names)), np.zeros(len(names))
    cross = np.zeros((len(names), len(names)))
    weight, weight2 = (np.array([getattr(m, name) for m in parts]) for name in ("weight", "weight2"))
    sums2_of = np.array([m.sums2 for m in parts])
    sums[:k] = np.sum([m.sums for m in parts], axis=0)
    sums2[:k] = sums2_of.sum(axis=0)
    cross[:k, :k] = np.sum([m.cross for m in parts], axis=0)
    sums[k:], sums2[k:] = one @ weight, one @ weight2
    cross[k:, :k] = one @ sums2_of
    cross[:k, k:] = cross[k:, :k].T
    cross[k:, k:] = (one * weight2) @ one.T
    return Moments(
        names=names,
        n=sum(m.n for m in parts),
        weight=float(weight.sum()),
        weight2=float(weight2.sum()),
        sums=sums,
        sums2=sums2,
        cross=cross,
    )


def gradient(function: Smooth, at: Mapping[str, float]) -> FloatArray:
    """Derivatives of a smooth function of means, by the complex step (exact to rounding).

    Source: Squire & Trapp (1998), Using complex variables to estimate derivatives of real functions.

    >>> gradient(lambda m: m["a"] ** 2 * m["b"], {"a": 3.0, "b": 2.0}).tolist()
    [12.0, 9.0]
    """
    names, step = list(at), 1e-100
    found = np.empty(len(names))
    for i, name in enumerate(names):
        moved: dict[str, Any] = {k: np.float64(v) for k, v in at.items()}
        moved[name] = np.complex128(complex(at[name], step))
        with np.errstate(all="ignore"):
            found[i] = np.imag(function(moved)) / step
    return found


def estimate(function: Smooth, m: Moments) -> tuple[float, float]:
    """(value, standard error) of a smooth function of the means; NaN where undefined.

    >>> m = moments(np.array([[1.0, 2.0, 3.0, 6.0]]), ["x"])
    >>> value, se = estimate(lambda t: t["x"] ** 2, m)
    >>> round(value, 3), round(se, 3)
    (9.0, 6.481)
    """
    if m.weight <= 0:
        return float("nan"), float("nan")
    means = m.means
    with np.errstate(all="ignore"):
        value = float(np.real(function({k: np.float64(v) for k, v in means.items()})))
    slope = gradient(function, means)
    used = slope != 0  # a term that does not enter may be undefined
    with np.errstate(all="ignore"):
        variance = float(slope[used] @ m.covariance()[np.ix_(used, used)] @ slope[used])
    return value, float(np.sqrt(max(variance, 0.0))) if np.isfinite(variance) else float("nan")

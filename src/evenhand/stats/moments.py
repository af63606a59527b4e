"""Mergeable sums of per-row terms: means of any number of terms with their covariance, and smooth functions of them.

A measure that is a smooth function of means needs nothing else: its value is g(T) and its variance the delta method's
∇g′ V ∇g. States of chunks add up, so a file that does not fit into memory gives the same numbers as one that does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from evenhand._model import FloatArray

Means: TypeAlias = Mapping[str, Any]
Smooth: TypeAlias = Callable[[Means], Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Moments:
    """Sums over rows of k named terms.

    Args:
        names: the terms. n: rows with a positive weight.
        weight, weight2: Σw and Σw².
        sums, sums2: (k,) Σw·t and Σw²·t. cross: (k, k) Σw²·t·t′.
    """

    names: tuple[str, ...]
    n: int
    weight: float
    weight2: float
    sums: FloatArray
    sums2: FloatArray
    cross: FloatArray

    def __add__(self, other: Moments) -> Moments:
        return Moments(
            names=self.names,
            n=self.n + other.n,
            weight=self.weight + other.weight,
            weight2=self.weight2 + other.weight2,
            sums=self.sums + other.sums,
            sums2=self.sums2 + other.sums2,
            cross=self.cross + other.cross,
        )

    @property
    def n_effective(self) -> float:
        """Kish's (Σw)²/Σw²: n for equal weights."""
        return self.weight**2 / self.weight2 if self.weight2 > 0 else 0.0

    @property
    def means(self) -> dict[str, float]:
        """Weighted mean of each term; NaN where there is no weight."""
        below = self.weight if self.weight > 0 else np.nan
        return dict(zip(self.names, (self.sums / below).tolist(), strict=True))

    def covariance(self) -> FloatArray:
        """(k, k) covariance of the means: Σw²(t−T)(t−T)′/(Σw)² · n/(n−1)."""
        if self.n < 2 or self.weight <= 0:
            return np.full((len(self.names),) * 2, np.nan)
        t = self.sums / self.weight
        outer = np.outer(self.sums2, t)
        centred = self.cross - outer - outer.T + self.weight2 * np.outer(t, t)
        return np.asarray(centred / self.weight**2 * self.n / (self.n - 1))


def moments(
    terms: FloatArray,
    names: Sequence[str],
    weight: npt.ArrayLike | None = None,
    *,
    rows: npt.NDArray[np.intp] | None = None,
    block: int = 1 << 14,
) -> Moments:
    """The sums of rows × terms, block by block so that a block stays in the cache.

    Args:
        terms: (k, n), finite. weight: (n,) non-negative, or None for all ones. rows: which columns of `terms` to use.

    >>> m = moments(np.array([[1.0, 2.0, 3.0]]), ["x"])
    >>> m.means["x"], round(float(m.covariance()[0, 0]), 4)
    (2.0, 0.3333)
    """
    k, n = terms.shape[0], terms.shape[1] if rows is None else len(rows)
    w = None if weight is None else np.asarray(weight, dtype=float)
    sums, sums2, cross = np.zeros(k), np.zeros(k), np.zeros((k, k))
    total = square = 0.0
    positive = 0
    for start in range(0, n, block):
        chosen: Any = slice(start, start + block) if rows is None else rows[start : start + block]
        part = terms[:, chosen]
        if w is None:
            sums += part.sum(axis=1)
            cross += part @ part.T
            continue
        own = w[chosen]
        twice = own * own
        total, square = total + float(own.sum()), square + float(twice.sum())
        positive += int(np.count_nonzero(own > 0))
        sums += part @ own
        sums2 += part @ twice
        cross += (part * twice) @ part.T
    if w is None:
        total = square = float(n)
        sums2, positive = sums, n
    return Moments(
        names=tuple(names), n=positive, weight=total, weight2=square, sums=sums, sums2=sums2, cross=cross
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

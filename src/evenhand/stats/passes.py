"""Quantiles of more numbers than memory holds, exact and in two passes: sums that add over any partitions.

The first pass counts the numbers in `FINE` equal bins between the lowest and the highest, which shows the
bins that hold the quantiles; the second keeps the distinct numbers in these few bins alone.

Source: the scheme of Munro & Paterson (1980), Selection and sorting with limited storage, with bins for the
first pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from evenhand._model import FloatArray
from evenhand.stats.histogram import weighted_quantile

FINE = 1 << 20
"""Bins of the first pass."""


@dataclass(frozen=True)
class Span:
    """The lowest and highest number; of none both are 0 once they are asked for."""

    full = False
    lowest: float = np.inf
    highest: float = -np.inf

    def __add__(self, other: Self) -> Self:
        return type(self)(min(self.lowest, other.lowest), max(self.highest, other.highest))

    @property
    def low(self) -> float:
        """The lowest."""
        return self.lowest if self.lowest <= self.highest else 0.0

    @property
    def high(self) -> float:
        """The highest."""
        return self.highest if self.lowest <= self.highest else 0.0

    @property
    def fine_width(self) -> float:
        """Of a bin of the first pass."""
        return (self.high - self.low) / FINE

    def bins(self, p: FloatArray) -> npt.NDArray[np.intp]:
        """(n,) the bin of each number."""
        if self.high <= self.low:
            return np.zeros(len(p), dtype=np.intp)
        spot = p - self.low
        spot *= FINE / (self.high - self.low)
        found = spot.astype(np.intp)
        return np.minimum(found, FINE - 1, out=found)


def span_of(p: FloatArray) -> Span:
    """Of some numbers, maybe none."""
    return Span(float(p.min()), float(p.max())) if len(p) else Span()


@dataclass(kw_only=True)
class Shape:
    """How numbers lie: the first pass.

    Args:
        fine: (FINE,) their weight in equal bins. total: Σwp. rows, left: counted, and left out. columns: that
            their rows have.
    """

    full = False
    fine: FloatArray = field(default_factory=lambda: np.zeros(FINE))
    total: float = 0.0
    rows: int = 0
    left: int = 0
    columns: tuple[str, ...] = ()

    def count(self, p: FloatArray, weight: FloatArray | None, span: Span) -> None:
        """Add (n,) numbers."""
        self.fine += np.bincount(span.bins(p), weight, FINE)
        self.total += float(p.sum() if weight is None else p @ weight)
        self.rows += len(p)

    def __add__(self, other: Self) -> Self:
        """The sum of both; what is added to is used up."""
        self.fine += other.fine
        self.total, self.rows, self.left = (
            self.total + other.total,
            self.rows + other.rows,
            self.left + other.left,
        )
        self.columns = self.columns or other.columns
        return self

    def bins_of(self, wanted: Sequence[float]) -> npt.NDArray[np.intp]:
        """The bins that the quantiles lie in."""
        last = np.cumsum(self.fine)
        position = np.array(wanted) * (last[-1] - 1.0)
        spots = np.concatenate([np.floor(position), np.floor(position) + 1, np.array(wanted) * last[-1]])
        return np.unique([np.searchsorted(last, spots, side=s).clip(0, FINE - 1) for s in ("left", "right")])


@dataclass(frozen=True, kw_only=True)
class Near:
    """The distinct numbers around the quantiles, ascending, with the weight of each: the second pass. It is
    `full` where there are more than `most`."""

    most: int
    values: FloatArray = field(default_factory=lambda: np.empty(0))
    weight: FloatArray = field(default_factory=lambda: np.empty(0))

    @property
    def full(self) -> bool:
        """Whether there are too many to go on."""
        return len(self.values) > self.most

    def with_rows(
        self, p: FloatArray, weight: FloatArray | None, span: Span, bins: npt.NDArray[np.intp]
    ) -> Self:
        """With those of (n,) numbers that lie in these bins."""
        inside = np.zeros(FINE, dtype=bool)
        inside[bins] = True
        here = np.flatnonzero(inside[span.bins(p)])
        own = np.ones(len(here)) if weight is None else weight[here]
        return self + replace(self, values=p[here], weight=own)

    def __add__(self, other: Self) -> Self:
        values, place = np.unique(np.concatenate([self.values, other.values]), return_inverse=True)
        weight = np.bincount(place, np.concatenate([self.weight, other.weight]), len(values)).astype(float)
        return replace(self, values=values, weight=weight)


def quantiles_of(
    shape: Shape, near: Near, span: Span, bins: npt.NDArray[np.intp], wanted: Sequence[float]
) -> list[float]:
    """The quantiles as `weighted_quantile` of all numbers gives them; of `near` that is full, the upper ends
    of their bins.

    >>> p = np.arange(1000.0)
    >>> span, shape = span_of(p), Shape()
    >>> shape.count(p, None, span)
    >>> bins = shape.bins_of([0.25, 0.5])
    >>> near = Near(most=100).with_rows(p, None, span, bins)
    >>> quantiles_of(shape, near, span, bins, [0.25, 0.5]), len(near.values)
    ([249.75, 499.5], 6)
    """
    width = span.fine_width
    if near.full:
        last = np.cumsum(shape.fine)
        edges = np.searchsorted(last, np.array(wanted) * last[-1]).clip(0, FINE - 1) + 1
        return list((span.low + edges * width).tolist())
    # Every other bin stands at its middle: it is not reached, and only says how much lies below.
    others = shape.fine > 0
    others[bins] = False
    middles = span.low + (np.flatnonzero(others) + 0.5) * width
    every = np.concatenate([near.values, middles]), np.concatenate([near.weight, shape.fine[others]])
    return list(weighted_quantile(every[0], wanted, every[1]).tolist())

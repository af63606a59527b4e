"""The values of several groups in one ascending order, each with the group it came from.

Sorting numbers is several times as fast as finding the order that sorts them. So the group's code rides in
the low bits of a whole number that orders as the value does: nothing is rounded, and one sort of plain
numbers gives values and groups.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evenhand._model import BoolArray, FloatArray, IntArray
from evenhand.stats.histogram import BLOCK, Scores

MAGNITUDE = np.int64(2**63 - 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Ordered:
    """(n,) ascending values, the code of each one's group, and its weight (None for all ones)."""

    values: FloatArray
    codes: IntArray
    weight: FloatArray | None = None


def in_order(values: FloatArray, codes: IntArray, groups: int, weight: FloatArray | None = None) -> Ordered:
    """Sort values with their groups.

    Args:
        values: (n,) finite. codes: (n,) in [0, groups). weight: (n,) or None for all ones.

    >>> found = in_order(np.array([2.0, -1.0, 0.5]), np.array([0, 1, 1]), 2)
    >>> found.values.tolist(), found.codes.tolist()
    ([-1.0, 0.5, 2.0], [1, 1, 0])
    """
    x = np.ascontiguousarray(values, dtype=np.float64)
    small: npt.DTypeLike = np.uint8 if groups <= 256 else np.int32
    if weight is None:
        width = max(1, (groups - 1).bit_length())
        below = _left_out(x, width)
        keys = None if below is None else _keys(x, codes, width, below)
        if keys is not None and below is not None:
            keys.sort()
            return _decoded(keys, width, below, small)
    order = np.argsort(x)
    return Ordered(
        values=x[order],
        codes=codes[order].astype(small),
        weight=None if weight is None else weight[order],
    )


def _left_out(x: FloatArray, width: int) -> int | None:
    """How far the magnitudes (as whole numbers) can be moved towards 0 so that `width` bits come free; None
    for never.

    A double without its sign orders as the whole number of the same bits. Only magnitudes near 0 are in the
    way, and whether there are any is seen when the keys are made.
    """
    largest = max(abs(float(x.max())), abs(float(x.min()))) if len(x) else 0.0
    room = (1 << (63 - width)) - 2
    if room < 1 or not np.isfinite(largest):
        return None
    return max(0, int(np.float64(largest).view(np.int64)) - room)


def _keys(x: FloatArray, codes: IntArray, width: int, below: int) -> npt.NDArray[np.int64] | None:
    """Whole numbers that order as the values do, the codes in their low bits; None where a value is too near
    to 0."""
    keys = np.empty(len(x), dtype=np.int64)
    for start in range(0, len(x), BLOCK):
        bits, out = x[start : start + BLOCK].view(np.int64), keys[start : start + BLOCK]
        sign = bits >> 63
        np.bitwise_and(bits, MAGNITUDE, out=out)
        if below:
            out -= below
            if out.min() <= 0:
                if np.any(out > -below, where=out <= 0):
                    return None
                np.maximum(out, 0, out=out)
        out ^= sign
        out -= sign
        out <<= width
        out |= codes[start : start + BLOCK]
    return keys


def _decoded(keys: npt.NDArray[np.int64], width: int, below: int, small: npt.DTypeLike) -> Ordered:
    """Values and codes of sorted keys; the values take the place of the keys."""
    codes = np.empty(len(keys), dtype=small)
    edges = [0, *np.searchsorted(keys, [0, 1 << width]).tolist(), len(keys)]
    for sign, low, high in zip((-1, 0, 1), edges[:-1], edges[1:], strict=True):
        for start in range(low, high, BLOCK):
            part = keys[start : min(start + BLOCK, high)]
            np.bitwise_and(part, (1 << width) - 1, out=codes[start : start + len(part)], casting="unsafe")
            part >>= width
            if sign < 0:
                np.subtract(below, part, out=part)
                part |= ~MAGNITUDE
            elif sign > 0:
                part += below
    return Ordered(values=keys.view(np.float64), codes=codes)


def distinct(values: FloatArray) -> int:
    """How many different numbers an ascending array holds."""
    return int(np.count_nonzero(values[1:] != values[:-1])) + 1 if len(values) else 0


def scores_of(found: Ordered, groups: int) -> list[Scores]:
    """The scores of each group on the grid of all distinct values."""
    values = found.values
    first = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=first[1:])
    sides = (found.codes == code for code in range(groups))
    if found.weight is not None:
        grid, starts = values[first], np.flatnonzero(first)
        own = (np.where(mine, found.weight, 0.0) for mine in sides)
        return [
            Scores(
                values=grid,
                n=int(np.count_nonzero(w)),
                weight=np.add.reduceat(w, starts),
                weight2=np.add.reduceat(w**2, starts),
            )
            for w in own
        ]
    if first.all():
        return [Scores(values=values, n=int(np.count_nonzero(mine)), rows=mine) for mine in sides]
    grid = values[first]
    counts = (_counts(mine, first) for mine in sides)
    return [Scores(values=grid, n=int(w.sum()), weight=w, weight2=w) for w in counts]


def _counts(mine: BoolArray, first: BoolArray) -> FloatArray:
    """How many of some rows are in each run of equal values."""
    upto = np.cumsum(mine, dtype=np.int32)[np.append(first[1:], True)]
    counts: FloatArray = upto.astype(np.float64)
    counts[1:] -= upto[:-1]
    return counts

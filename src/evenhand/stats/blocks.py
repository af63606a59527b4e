"""Sums over rows a block at a time: ten million of them take little more memory than their columns do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from evenhand._model import BoolArray, FloatArray, IntArray

WHOLE = 1 << 20
"""So many rows are one block: every sum of theirs is made at once."""
BLOCK = 1 << 18
"""Rows of a block of more than these."""


def blocks(n: int) -> Iterator[slice]:
    """Slices of n rows; of none there is one, which is empty.

    >>> list(blocks(3))
    [slice(0, 3, None)]
    """
    step = max(n, 1) if n <= WHOLE else BLOCK
    for start in range(0, max(n, 1), step):
        yield slice(start, min(start + step, n))


def sums_by_unit(
    score: FloatArray,
    codes: npt.NDArray[np.integer],
    rows: BoolArray,
    size: int,
    times: IntArray | None = None,
    centre: float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """(size,) (rows, sum of the scores less `centre`) of every unit.

    Args:
        codes: (n,) in [0, size), −1 for none. rows: (n,) those that count. times: (n,) how many rows each
            stands for; None for one.

    >>> sums_by_unit(np.array([1.0, 2.0, 4.0]), np.array([0, 0, -1]), np.array([True] * 3), 2)
    (array([2., 0.]), array([3., 0.]))
    """
    count, total = np.zeros(size), np.zeros(size)
    for at in blocks(len(score)):
        chosen = rows[at] & (codes[at] >= 0)
        own, x = codes[at][chosen], score[at][chosen] - centre
        n = None if times is None else times[at][chosen]
        count += np.bincount(own, n, size)
        total += np.bincount(own, x if n is None else x * n, size)
    return count, total


def rows_by_unit(codes: npt.NDArray[np.integer], rows: BoolArray | None, size: int) -> IntArray:
    """(size,) rows of every unit, of those with a code.

    >>> rows_by_unit(np.array([0, 1, 1, -1]), None, 3).tolist()
    [1, 2, 0]
    """
    count = np.zeros(size + 1, dtype=np.int64)
    for at in blocks(len(codes)):
        own = codes[at] if rows is None else codes[at][rows[at]]
        count += np.bincount(own + 1, minlength=size + 1)
    return count[1:]


def pairs_of(one: npt.NDArray[np.integer], two: npt.NDArray[np.integer]) -> int:
    """Different pairs of codes, of rows that have both.

    >>> pairs_of(np.array([0, 0, 1, 1, -1]), np.array([2, 2, 0, -1, 0]))
    2
    """
    width = int(two.max(initial=-1)) + 1
    possible = (int(one.max(initial=-1)) + 1) * width
    if possible > 8 * len(one) + (1 << 16):
        known = (one >= 0) & (two >= 0)
        return len(np.unique(one[known].astype(np.int64) * width + two[known]))
    seen = np.zeros(possible, dtype=np.bool_)
    for at in blocks(len(one)):
        known = (one[at] >= 0) & (two[at] >= 0)
        seen[one[at][known].astype(np.int64) * width + two[at][known]] = True
    return int(np.count_nonzero(seen))

"""Measures of rankings: the exposure that a place in the list gives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from evenhand._model import FloatArray


def exposure(
    score: npt.ArrayLike, weight: npt.ArrayLike | None = None, *, lists: npt.ArrayLike | None = None
) -> FloatArray:
    """1/log₂(1 + rank) of each row, rank 1 for the highest score; tied rows share the mean of their places.

    Args:
        score: (n,) finite, higher is nearer to the top. weight: accepted and not used: a place is a place.
        lists: (n,) which list each row is of, e.g. the answers to one query; ranks begin anew in each. One by
            default.

    Returns:
        (n,) in (0, 1].

    Source: Singh & Joachims (2018), Fairness of exposure in rankings, section 3.

    >>> exposure([0.9, 0.5, 0.5]).round(4).tolist()
    [1.0, 0.5655, 0.5655]
    >>> exposure([0.9, 0.5, 0.1], lists=["a", "b", "b"]).round(4).tolist()
    [1.0, 1.0, 0.6309]
    """
    del weight
    return _shared(score, lists, lambda rank: 1.0 / np.log2(1.0 + rank))


def taken(score: npt.ArrayLike, top: int, *, lists: npt.ArrayLike | None = None) -> FloatArray:
    """Whether each row is among the first `top` of its list; tied rows share the places they stand for.

    Args:
        score: (n,) finite, higher is nearer to the top. lists: (n,) which list each row is of; one by
            default.

    Returns:
        (n,) in [0, 1].

    >>> taken([0.9, 0.5, 0.5], 2).tolist(), taken([3, 1, 2], 1, lists=["a", "a", "b"]).tolist()
    ([1.0, 0.5, 0.5], [1.0, 0.0, 1.0])
    """
    return _shared(score, lists, lambda rank: (rank <= top).astype(float))


def _shared(
    score: npt.ArrayLike, lists: npt.ArrayLike | None, worth: Callable[[npt.NDArray[np.intp]], FloatArray]
) -> FloatArray:
    """(n,) what the place of each row is worth; tied rows share the mean of their places."""
    s = np.asarray(score, dtype=float)
    if not len(s):
        return np.empty(0)
    which: npt.NDArray[np.intp] = np.zeros(len(s), dtype=np.intp)
    if lists is not None:
        which = np.unique(np.asarray(lists), return_inverse=True)[1].reshape(-1).astype(np.intp)
    order = np.lexsort((-s, which))
    begins = np.flatnonzero(np.diff(which[order], prepend=-1))
    rank = np.arange(len(s)) - np.repeat(begins, np.diff(begins, append=len(s))) + 1
    place = worth(rank)
    changed = (np.diff(which[order], prepend=-1) != 0) | (np.diff(s[order], prepend=np.nan) != 0)
    ties = np.flatnonzero(changed)
    many = np.diff(ties, append=len(s))
    out = np.empty(len(s))
    out[order] = np.repeat(np.add.reduceat(place, ties) / many, many)
    return out

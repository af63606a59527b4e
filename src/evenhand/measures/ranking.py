"""Measures of rankings: the exposure that a place in the list gives."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from evenhand._model import FloatArray


def exposure(score: npt.ArrayLike, weight: npt.ArrayLike | None = None) -> FloatArray:
    """1/log₂(1 + rank) of each row, rank 1 for the highest score; tied rows share the mean of their places.

    Args:
        score: (n,) finite, higher is nearer to the top. weight: accepted and not used: a place is a place.

    Returns:
        (n,) in (0, 1].

    Source: Singh & Joachims (2018), Fairness of exposure in rankings, section 3.

    >>> exposure([0.9, 0.5, 0.5]).round(4).tolist()
    [1.0, 0.5655, 0.5655]
    """
    del weight
    s = np.asarray(score, dtype=float)
    values, inverse, counts = np.unique(-s, return_inverse=True, return_counts=True)
    places = 1.0 / np.log2(np.arange(2, len(s) + 2))
    last = np.cumsum(counts)
    total = np.concatenate([[0.0], np.cumsum(places)])
    shared = (total[last] - total[last - counts]) / counts
    return np.asarray(shared[inverse.reshape(s.shape)]) if len(values) else np.empty(0)

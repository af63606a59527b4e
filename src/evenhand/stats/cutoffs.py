"""Where to cut scores: thresholds that select a share, find the positives, or are right most often."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evenhand._model import FloatArray

TARGETS = np.linspace(0.0, 1.0, 201)
"""True positive rates that are tried."""


@dataclass(frozen=True, slots=True)
class Cuts:
    """The thresholds that some rows have, sorted once.

    Args:
        values: (k,) distinct scores, ascending. above: (k + 1,) share of the rows strictly above none of them
            (everyone), above the first, and so on.
    """

    values: FloatArray
    above: FloatArray

    @classmethod
    def of(cls, score: FloatArray, weight: FloatArray) -> Cuts:
        """Of rows with these scores (n,) and weights (n,), whose sum is positive."""
        values, place = np.unique(score, return_inverse=True)
        mass = np.bincount(place, weight, len(values))
        return cls(values, 1.0 - np.concatenate([[0.0], np.cumsum(mass) / mass.sum()]))

    def at(self, share: float) -> float:
        """The threshold strictly above which the share of rows is nearest to `share`; −∞ selects everyone.

        >>> Cuts.of(np.array([0.1, 0.4, 0.6, 0.9]), np.ones(4)).at(0.5)
        0.4
        """
        right = int(np.searchsorted(-self.above, -share))
        near = [i for i in (right - 1, right) if 0 <= i < len(self.above)]
        best = min(near, key=lambda i: (abs(self.above[i] - share), i))
        return -np.inf if best == 0 else float(self.values[best - 1])

    def share(self, cut: float) -> float:
        """The share of the rows strictly above a threshold."""
        return float(self.above[np.searchsorted(self.values, cut, side="right")])


def most_accurate(score: FloatArray, actual: FloatArray, weight: FloatArray) -> float:
    """The threshold strictly above which selecting is right most often; the highest of several.

    Args:
        actual: (n,) 0 and 1.

    >>> most_accurate(np.array([0.1, 0.4, 0.6, 0.9]), np.array([0.0, 0.0, 1.0, 1.0]), np.ones(4))
    0.4
    """
    values, place = np.unique(score, return_inverse=True)
    yes = np.bincount(place, weight * actual, len(values))
    no = np.bincount(place, weight * (1.0 - actual), len(values))
    right = np.concatenate([[0.0], np.cumsum(no - yes)]) + yes.sum()
    best = len(right) - 1 - int(np.argmax(right[::-1] >= right.max() - 1e-9 * max(right.max(), 1.0)))
    return -np.inf if best == 0 else float(values[best - 1])


def cuts_of_equal_recall(
    score: FloatArray,
    actual: FloatArray,
    weight: FloatArray,
    groups: Sequence[npt.NDArray[np.intp]],
    share: float,
) -> list[float]:
    """A threshold for each group, so that all find the same share of their positives and the share of
    everyone who is selected is nearest to `share`.

    Args:
        groups: for each group its rows. share: selected, of the rows of all groups.
    """
    rows = groups
    total = sum(float(weight[own].sum()) for own in rows)
    best: tuple[float, list[float]] = (np.inf, [-np.inf] * len(rows))
    found = [Cuts.of(score[own][actual[own] > 0], weight[own][actual[own] > 0]) for own in rows]
    every = [Cuts.of(score[own], weight[own]) for own in rows]
    sizes = [float(weight[own].sum()) / total for own in rows]
    for target in TARGETS:
        cuts = [own.at(float(target)) for own in found]
        chosen = sum(n * c.share(cut) for n, c, cut in zip(sizes, every, cuts, strict=True))
        off = abs(chosen - share)
        if off < best[0] - 1e-12:
            best = off, cuts
    return best[1]

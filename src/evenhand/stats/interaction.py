"""A difference of two differences of means, written as one difference of two means.

Of four groups with means m₁₁, m₁₂, m₂₁, m₂₂ the interaction (m₁₁ − m₁₂) − (m₂₁ − m₂₂) is twice the
difference between the mean of groups 11 and 22 and that of 12 and 21, if every group weighs the same. Within
each of the two, groups differ by what is asked about elsewhere (the main effects), so every group is centred
first: what is left varies as its units do. The error is then that of `evenhand.stats.crossed`, for units
nested in groups or crossed with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from evenhand._model import BoolArray, FloatArray, IntArray


class Halved(NamedTuple):
    """Half of an interaction as a difference of two means.

    Args:
        score, weight: (n,). stretch: (n,) by how much the distances of a row's scores were multiplied.
        left: the share of the degrees of freedom that four means leave, in (0, 1].
    """

    score: FloatArray
    weight: FloatArray
    stretch: FloatArray
    left: float


def as_one_difference(
    score: FloatArray,
    cells: Sequence[BoolArray],
    *,
    units: Mapping[str, IntArray],
    weight: FloatArray | None = None,
    count: IntArray | None = None,
) -> Halved:
    """Scores and weights whose difference, of the first and last of four groups against the other two, is
    half of their interaction, with its error.

    Leaving a unit out of one of two centred groups moves their common mean a little less than it moves the
    group's own; residuals of groups of h⁻¹ units that the group's partner lacks are stretched by what the
    jackknife's variance loses by it, √((1 − h/2)/(1 − h)).

    Args:
        score: (n,) numbers. cells: (n,) masks of groups 11, 12, 21, 22, disjoint, each with a score.
               units: name → (n,) codes of the sampled units, −1 for missing. weight: (n,) case weights.
        count: (n,) how many rows each stands for; None for one.

    >>> score = np.array([1.0, 2.0, 1.0, 2.0, 3.0, 4.0, 6.0, 7.0])
    >>> cells = [np.arange(8) // 2 == k for k in range(4)]
    >>> made, weight, _, _ = as_one_difference(score, cells, units={})
    >>> a, b = cells[0] | cells[3], cells[1] | cells[2]
    >>> float(2 * (np.average(made[a], weights=weight[a]) - np.average(made[b], weights=weight[b])))
    3.0
    """
    w = np.ones(len(score)) if weight is None else np.asarray(weight, dtype=float)
    known = np.isfinite(score)
    made, even, stretch = np.array(score, dtype=float), np.zeros(len(score)), np.ones(len(score))
    means, left = [], []
    for cell, partner in zip(cells, reversed(cells), strict=True):
        rows = cell & known
        means.append(float(np.average(score[rows], weights=w[rows])))
        even[rows] = w[rows] / w[rows].sum()
        own = _own_units(rows, partner & known, units, count)
        stretch[rows] = 1.0 if own is None else ((own - 0.5) / (own - 1)) ** 0.5
        made[rows] = (score[rows] - means[-1]) * stretch[rows]
        left.append(1.0 if own is None else (own - 1) / (own - 0.5))
    for cell, mean in zip(cells, _halves(means), strict=True):
        made[cell & known] += mean
    return Halved(made, even * known.sum(), stretch, min(left))


def _own_units(
    rows: BoolArray, partner: BoolArray, units: Mapping[str, IntArray], count: IntArray | None
) -> int | None:
    """The fewest units of a dimension that the group does not share with its partner; None where it shares
    all."""
    found = []
    for codes in units.values():
        mine = np.unique(codes[rows & (codes >= 0)])
        if len(mine) > 1 and not np.isin(mine, codes[partner]).any():
            found.append(len(mine))
    rows_only = [] if units else [int(np.count_nonzero(rows) if count is None else count[rows].sum())]
    return min([n for n in found + rows_only if n > 1], default=None)


def _halves(means: Sequence[float]) -> tuple[float, float, float, float]:
    """Each group's share of the two means that are compared."""
    one, two = (means[0] + means[3]) / 2, (means[1] + means[2]) / 2
    return one, two, two, one

"""The cells of two sampled dimensions (text × term), each one row, of more rows than are held twice."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from evenhand._model import FloatArray
from evenhand.stats.crossing import Crossing, Usable

SWEEPS, SETTLED = 20, 1e-6
"""Alternating projections at most, and the share of the largest score that the last one may still move."""
SPARSE = 2
"""Possible cells for each row, beyond which nobody marks them."""
Cells = tuple[float, float, float, tuple[int, int, int]]
"""Σe² and Σu² of a group's cells, the share of the effects that both dimensions count, and how many cells,
units of the first, and units of the second dimension there are; see `evenhand.stats.crossed`."""


def cells_of_one(crossing: Crossing, means: FloatArray, at: tuple[int, int]) -> list[Cells] | None:
    """The cells of each group, none of which both have.

    The residual of score ~ one + other is never held: its effects are, and rows are gone through once for
    each half of a sweep.

    Args:
        at: the two dimensions.

    Returns:
        None where a cell has several rows, or few of the possible ones are filled.
    """
    pair = [crossing.dimensions[k] for k in at]
    total, rows, squares = np.zeros(2), np.zeros(2, dtype=np.int64), np.zeros((4, 2))
    for own in crossing.pieces():
        total += np.bincount(own.side, own.weight, 2)
        rows += np.bincount(own.side, minlength=2)
    possible = len(pair[0].levels) * len(pair[1].levels)
    if possible > SPARSE * rows.sum() or _filled(crossing, at, possible) < rows.sum():
        return None
    effects = _effects(crossing, means, at)
    shares = [d.total / total[:, None] for d in pair]
    for own in crossing.pieces():
        p, u = own.weight / total[own.side], own.score - means[own.side]
        both = shares[0][own.side, own.codes[at[0]]] * shares[1][own.side, own.codes[at[1]]]
        for k, terms in enumerate((p**2, p * both, (p * _left(own, u, effects, at)) ** 2, (p * u) ** 2)):
            squares[k] += np.bincount(own.side, terms, 2)
    found = []
    for side in (0, 1):
        filled, common, inner, off = squares[:, side].tolist()
        one, two = (float(np.sum(share[side] ** 2)) for share in shares)
        doubled = min(1.0, max(0.0, (filled - 2 * common + one * two) / filled))
        sizes = int(rows[side]), int(pair[0].sizes()[side]), int(pair[1].sizes()[side])
        found.append((inner, off, doubled, sizes))
    return found


def _filled(crossing: Crossing, at: tuple[int, int], possible: int) -> int:
    """How many of the possible cells have rows."""
    seen = np.zeros(possible, dtype=np.bool_)
    width = len(crossing.dimensions[at[1]].levels)
    for own in crossing.pieces():
        seen[own.codes[at[0]] * width + own.codes[at[1]]] = True
    return int(np.count_nonzero(seen))


def _index(crossing: Crossing, own: Usable, k: int) -> npt.NDArray[np.intp]:
    return own.side * len(crossing.dimensions[k].levels) + own.codes[k]


def _left(own: Usable, off: FloatArray, effects: list[FloatArray], at: tuple[int, int]) -> FloatArray:
    """What the effects leave of how far scores are off their group's mean."""
    one, two = (effect[own.side, own.codes[k]] for effect, k in zip(effects, at, strict=True))
    return np.asarray(off - one - two)


def _effects(crossing: Crossing, means: FloatArray, at: tuple[int, int]) -> list[FloatArray]:
    """(2, levels) of each dimension, by alternating projections; one sweep is exact on a complete grid with
    equal weights."""
    pair = [crossing.dimensions[k] for k in at]
    effects = [np.zeros_like(d.total) for d in pair]
    scale = max(crossing.furthest(means), 1e-300)
    for _ in range(SWEEPS):
        moved = 0.0
        for k, d, effect in zip(at, pair, effects, strict=True):
            sums = np.zeros(d.total.size)
            for own in crossing.pieces():
                e = _left(own, own.score - means[own.side], effects, at)
                sums += np.bincount(_index(crossing, own, k), own.weight * e, d.total.size)
            mean = sums.reshape(2, -1) / np.where(d.total > 0, d.total, 1.0)
            effect += mean
            moved = max(moved, float(np.abs(mean).max()))
        if moved <= SETTLED * scale:
            break
    return effects

"""The usable rows of a comparison of two groups, and their sums over each sampled dimension."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand._errors import UsageError
from evenhand._model import FloatArray, Folded

Codes = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Dimension:
    """Sums of one sampled dimension. Arrays are (2, levels): row 0 is the group, row 1 the reference.

    Args:
        name: e.g. ``"text"``.
        codes: compact codes of the rows, 0..levels−1.
        levels: the codes as the caller numbered them.
        total: sum of the weights. score: weighted sum of the centred scores.
        nested: True where no unit occurs in both groups.
    """

    name: str
    codes: npt.NDArray[np.intp]
    levels: npt.NDArray[np.intp]
    total: FloatArray
    score: FloatArray
    nested: bool

    def sizes(self) -> npt.NDArray[np.intp]:
        """Units in each of the two groups, shape (2,)."""
        return np.asarray(np.count_nonzero(self.total, axis=1), dtype=np.intp)

    def leave_one_out(self) -> FloatArray:
        """The two groups' means without each unit, (2, levels); NaN where the unit is the whole group."""
        rest = self.total.sum(axis=1, keepdims=True) - self.total
        # A rest that is rounding error of the total is no rest.
        gone = rest <= 1e-12 * self.total.sum(axis=1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            left = (self.score.sum(axis=1, keepdims=True) - self.score) / rest
        return np.where(gone, np.nan, left)


@dataclass(frozen=True, kw_only=True, slots=True)
class Crossing:
    """The usable rows of a comparison. `side` is 0 in the group and 1 in the reference; `score` is
    centred; `folded` says what the rows stand for, where it is several each."""

    score: FloatArray
    weight: FloatArray
    side: npt.NDArray[np.intp]
    centre: float
    scale: float
    dropped: int
    dimensions: tuple[Dimension, ...]
    folded: Folded | None = None

    def on(self, side: int) -> int:
        """Rows of a side."""
        mine = self.side == side
        return int(np.count_nonzero(mine) if self.folded is None else self.folded.count[mine].sum())

    def furthest(self, off: FloatArray | float = 0.0) -> float:
        """How far the furthest of the (centred) scores is from `off`."""
        if self.folded is None:
            return float(np.abs(self.score - off).max(initial=0.0))
        ends = (self.folded.low - self.centre - off, self.folded.high - self.centre - off)
        return float(max(np.abs(end).max(initial=0.0) for end in ends))

    def means(self) -> FloatArray:
        """The two (centred) weighted means, shape (2,); NaN for an empty group."""
        total = np.bincount(self.side, self.weight, 2)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.bincount(self.side, self.weight * self.score, 2) / total)


def prepare(
    score: npt.ArrayLike,
    *,
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    units: Mapping[str, npt.ArrayLike],
    over: Sequence[str],
    weight: npt.ArrayLike | Folded | None = None,
) -> Crossing:
    """Checked, compacted rows and their sums: what `difference` and `influence` work on.

    Rows outside both groups, without a finite score, with weight 0 or with a missing unit (code −1) are
    dropped.

    Raises:
        UsageError: `unequal-lengths`, `groups-overlap`, `unknown-unit`, `bad-weight`.
    """
    x = np.asarray(score, dtype=float)
    in_a, in_b = np.asarray(a, dtype=bool), np.asarray(b, dtype=bool)
    folded = weight if isinstance(weight, Folded) else None
    if isinstance(weight, Folded):
        weight = weight.weight * weight.count
    w = np.ones(len(x)) if weight is None else np.asarray(weight, dtype=float)
    missing = [name for name in over if name not in units]
    if missing:
        raise UsageError("unknown-unit", "no such unit", given=missing[0], available=list(units))
    chosen = {name: np.asarray(units[name]) for name in over}
    lengths = {"score": len(x), "a": len(in_a), "b": len(in_b), "weight": len(w)}
    lengths |= {name: len(codes) for name, codes in chosen.items()}
    if len(set(lengths.values())) > 1:
        raise UsageError("unequal-lengths", "columns of different lengths", given=lengths)
    if np.any(in_a & in_b):
        raise UsageError(
            "groups-overlap",
            "a row belongs to both groups of a comparison",
            given=f"{np.count_nonzero(in_a & in_b)} rows in both",
            hint="compare with the rows outside the group",
        )
    if not np.all(np.isfinite(w)) or np.any(w < 0):
        raise UsageError("bad-weight", "case weights must be finite and not negative")
    asked = in_a | in_b
    keep = asked & np.isfinite(x) & (w > 0)
    for codes in chosen.values():
        keep &= codes >= 0
    x, w, side = x[keep], w[keep], in_b[keep].astype(np.intp)
    centre = float(np.average(x, weights=w)) if len(x) else 0.0
    own = None if folded is None else folded[keep]
    largest = np.abs(x) if own is None else np.maximum(np.abs(own.low), np.abs(own.high))
    scale = float(largest.max()) if len(x) else 0.0
    x = x - centre
    dimensions = tuple(_dimension(name, codes[keep], x, w, side) for name, codes in chosen.items())
    lost = asked & ~keep
    return Crossing(
        score=x,
        weight=w,
        side=side,
        centre=centre,
        scale=scale,
        dropped=int(np.count_nonzero(lost) if folded is None else folded.count[lost].sum()),
        dimensions=dimensions,
        folded=own,
    )


def compacted(codes: Codes) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """(levels present, codes renumbered 0..levels−1); by counting where codes are dense, else by sorting."""
    if len(codes) == 0 or int(codes.max()) > 4 * len(codes) + 1000:
        levels, compact = np.unique(codes, return_inverse=True)
        return levels.astype(np.intp), compact.astype(np.intp)
    present = np.bincount(codes) > 0
    levels = np.flatnonzero(present)
    return levels, np.asarray((np.cumsum(present) - 1)[codes], dtype=np.intp)


def _dimension(
    name: str, codes: Codes, x: FloatArray, w: FloatArray, side: npt.NDArray[np.intp]
) -> Dimension:
    levels, compact = compacted(codes)
    index = side * len(levels) + compact
    shape = (2, len(levels))
    total = np.bincount(index, w, 2 * len(levels)).astype(float).reshape(shape)
    score = np.bincount(index, w * x, 2 * len(levels)).astype(float).reshape(shape)
    nested = not bool(np.any((total[0] > 0) & (total[1] > 0)))
    return Dimension(name=name, codes=compact, levels=levels, total=total, score=score, nested=nested)

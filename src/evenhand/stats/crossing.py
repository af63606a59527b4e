"""The usable rows of a comparison of two groups, and their sums over each sampled dimension."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand._errors import UsageError
from evenhand._model import BoolArray, FloatArray, Folded
from evenhand.stats.blocks import blocks

Codes = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Dimension:
    """Sums of one sampled dimension. Arrays are (2, levels): row 0 is the group, row 1 the reference.

    Args:
        name: e.g. ``"text"``.
        levels: the codes as the caller numbered them.
        total: sum of the weights. score: weighted sum of the centred scores.
        nested: True where no unit occurs in both groups.
    """

    name: str
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
class Usable:
    """Some usable rows. `side` is 0 in the group and 1 in the reference; `score` is centred; `codes` are of
    each dimension, 0..levels−1; `folded` says what the rows stand for, where it is several each."""

    score: FloatArray
    weight: FloatArray
    side: npt.NDArray[np.intp]
    codes: tuple[npt.NDArray[np.intp], ...] = ()
    folded: Folded | None = None

    def on(self, side: int) -> int:
        """Rows of a side."""
        mine = self.side == side
        return int(np.count_nonzero(mine) if self.folded is None else self.folded.count[mine].sum())

    def furthest(self, centre: float, off: FloatArray | float = 0.0) -> float:
        """How far the furthest of the (centred) scores is from `off`."""
        if self.folded is None:
            return float(np.abs(self.score - off).max(initial=0.0))
        ends = (self.folded.low - centre - off, self.folded.high - centre - off)
        return float(max(np.abs(end).max(initial=0.0) for end in ends))


@dataclass(frozen=True, kw_only=True, slots=True)
class Crossing:
    """The usable rows of a comparison, in pieces that are made anew whenever they are looked at, unless they
    are one.

    Args:
        pieces: gives them. several: whether there are more than one. centre: of the scores. scale: the
            largest of them. sizes: rows of the group and of the reference. dropped: rows that cannot be used.
    """

    pieces: Callable[[], Iterator[Usable]]
    several: bool
    centre: float
    scale: float
    sizes: tuple[int, int]
    dropped: int
    dimensions: tuple[Dimension, ...]

    def furthest(self, means: FloatArray | None = None) -> float:
        """How far the furthest of the (centred) scores is from 0, or from the mean of its group."""
        return max(
            own.furthest(self.centre, 0.0 if means is None else means[own.side]) for own in self.pieces()
        )

    def means(self) -> FloatArray:
        """The two (centred) weighted means, shape (2,); NaN for an empty group."""
        total, sums = np.zeros(2), np.zeros(2)
        for own in self.pieces():
            total += np.bincount(own.side, own.weight, 2)
            sums += np.bincount(own.side, own.weight * own.score, 2)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(sums / total)

    def whole(self) -> Usable:
        """All of them at once."""
        every = list(self.pieces())
        if len(every) == 1:
            return every[0]
        return Usable(
            score=np.concatenate([own.score for own in every]),
            weight=np.concatenate([own.weight for own in every]),
            side=np.concatenate([own.side for own in every]),
            codes=tuple(np.concatenate(parts) for parts in zip(*(own.codes for own in every), strict=True)),
            folded=_joined([own.folded for own in every if own.folded is not None]),
        )

    def at_once(self) -> Crossing:
        """The same with its rows in one piece."""
        whole = self.whole()
        return replace(self, pieces=lambda: iter([whole]), several=False)


def _joined(parts: Sequence[Folded]) -> Folded | None:
    if not parts:
        return None
    named = ("count", "weight", "within", "low", "high")
    count, weight, within, low, high = (np.concatenate([getattr(p, name) for p in parts]) for name in named)
    return Folded(count=count, weight=weight, within=within, low=low, high=high)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Given:
    """What a caller handed over: (n,) columns, checked."""

    score: FloatArray
    a: BoolArray
    b: BoolArray
    weight: FloatArray | None
    codes: tuple[Codes, ...]
    folded: Folded | None

    def usable(self, at: slice) -> BoolArray:
        """Rows of a block that can be used."""
        keep = (self.a[at] | self.b[at]) & np.isfinite(self.score[at])
        if self.weight is not None:
            keep &= self.weight[at] > 0
        for codes in self.codes:
            keep &= codes[at] >= 0
        return keep

    def rows(self, at: slice, keep: BoolArray, centre: float = 0.0) -> Usable:
        """Those rows, their codes as the caller numbered them."""
        x = self.score[at][keep]
        return Usable(
            score=x - centre if centre else x,
            weight=np.ones(len(x)) if self.weight is None else self.weight[at][keep],
            side=self.b[at][keep].astype(np.intp),
            folded=None if self.folded is None else self.folded[at][keep],
        )


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
    given = _given(score, a, b, {name: units.get(name) for name in over}, list(units), weight)
    every = list(blocks(len(given.score)))
    total = weighed = scale = 0.0
    sizes, lost = [0, 0], 0
    levels: list[npt.NDArray[np.intp]] = [np.empty(0, dtype=np.intp) for _ in over]
    for at in every:
        keep = given.usable(at)
        own = given.rows(at, keep)
        total += float((own.score * own.weight).sum())
        weighed += float(own.weight.sum())
        ends = (own.score, own.score) if own.folded is None else (own.folded.low, own.folded.high)
        scale = max(scale, *(float(np.abs(end).max(initial=0.0)) for end in ends))
        sizes = [sizes[side] + own.on(side) for side in (0, 1)]
        gone = (given.a[at] | given.b[at]) & ~keep
        lost += int(np.count_nonzero(gone) if given.folded is None else given.folded.count[at][gone].sum())
        levels = [_levels(known, codes[at][keep]) for known, codes in zip(levels, given.codes, strict=True)]
    centre = total / weighed if sum(sizes) else 0.0
    places = [_place(known) for known in levels]
    pieces = partial(_pieces, given, every, centre, places)
    if len(every) == 1:
        only = next(pieces())
        pieces = partial(iter, [only])
    return Crossing(
        pieces=pieces,
        several=len(every) > 1,
        centre=centre,
        scale=scale,
        sizes=(sizes[0], sizes[1]),
        dropped=lost,
        dimensions=tuple(_dimensions(over, levels, pieces)),
    )


def _given(
    score: npt.ArrayLike,
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    units: Mapping[str, npt.ArrayLike | None],
    known: Sequence[str],
    weight: npt.ArrayLike | Folded | None,
) -> _Given:
    x, in_a, in_b = np.asarray(score, dtype=float), np.asarray(a, dtype=bool), np.asarray(b, dtype=bool)
    folded = weight if isinstance(weight, Folded) else None
    if isinstance(weight, Folded):
        weight = weight.weight * weight.count
    w = None if weight is None else np.asarray(weight, dtype=float)
    missing = [name for name, codes in units.items() if codes is None]
    if missing:
        raise UsageError("unknown-unit", "no such unit", given=missing[0], available=list(known))
    chosen = {name: np.asarray(codes) for name, codes in units.items()}
    lengths = {"score": len(x), "a": len(in_a), "b": len(in_b), "weight": len(x) if w is None else len(w)}
    lengths |= {name: len(codes) for name, codes in chosen.items()}
    if len(set(lengths.values())) > 1:
        raise UsageError("unequal-lengths", "columns of different lengths", given=lengths)
    if both := sum(int(np.count_nonzero(in_a[at] & in_b[at])) for at in blocks(len(x))):
        raise UsageError(
            "groups-overlap",
            "a row belongs to both groups of a comparison",
            given=f"{both} rows in both",
            hint="compare with the rows outside the group",
        )
    if w is not None and (not np.all(np.isfinite(w)) or np.any(w < 0)):
        raise UsageError("bad-weight", "case weights must be finite and not negative")
    return _Given(score=x, a=in_a, b=in_b, weight=w, codes=tuple(chosen.values()), folded=folded)


def _pieces(
    given: _Given, every: Sequence[slice], centre: float, places: Sequence[Callable[[Codes], Any]]
) -> Iterator[Usable]:
    for at in every:
        keep = given.usable(at)
        codes = tuple(place(own[at][keep]) for place, own in zip(places, given.codes, strict=True))
        yield replace(given.rows(at, keep, centre), codes=codes)


def _levels(known: npt.NDArray[np.intp], codes: Codes) -> npt.NDArray[np.intp]:
    """The levels known so far and those of further rows, ascending; by counting where codes are dense."""
    if len(codes) == 0:
        return np.asarray(known, dtype=np.intp)
    sparse = int(codes.max()) > 4 * len(codes) + 1000
    own = np.unique(codes) if sparse else np.flatnonzero(np.bincount(codes))
    return np.union1d(known, own).astype(np.intp) if len(known) else own.astype(np.intp)


def _place(levels: npt.NDArray[np.intp]) -> Callable[[Codes], npt.NDArray[np.intp]]:
    """What makes codes of 0..levels−1 out of those of the caller."""
    last = int(levels[-1]) if len(levels) else -1
    if last > 8 * len(levels) + 1000:
        return lambda codes: np.searchsorted(levels, codes)
    table = np.zeros(last + 1, dtype=np.intp)
    table[levels] = np.arange(len(levels))
    return lambda codes: table[codes]


def _dimensions(
    names: Sequence[str], levels: Sequence[npt.NDArray[np.intp]], pieces: Callable[[], Iterator[Usable]]
) -> Iterator[Dimension]:
    total = [np.zeros(2 * len(known)) for known in levels]
    score = [np.zeros(2 * len(known)) for known in levels]
    for own in pieces():
        for k, known in enumerate(levels):
            index = own.side * len(known) + own.codes[k]
            total[k] += np.bincount(index, own.weight, 2 * len(known))
            score[k] += np.bincount(index, own.weight * own.score, 2 * len(known))
    for name, known, w, x in zip(names, levels, total, score, strict=True):
        both = w.reshape(2, -1)
        nested = not bool(np.any((both[0] > 0) & (both[1] > 0)))
        yield Dimension(name=name, levels=known, total=both, score=x.reshape(2, -1), nested=nested)


def compacted(codes: Codes) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """(levels present, codes renumbered 0..levels−1)."""
    levels = _levels(np.empty(0, dtype=np.intp), codes)
    return levels, _place(levels)(codes)

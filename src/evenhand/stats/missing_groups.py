"""Rows whose group is not known: how far a contrast of two groups can move, whichever group they belong to.

The rows are there, with their predictions and outcomes; only their group is not. So the worst case is an
assignment of real rows, not of imagined values: sharper than bounds over the range of the scores.

Source: Manski (1990), Nonparametric bounds on treatment effects; Horowitz & Manski (2000), Nonparametric
analysis of randomized experiments with missing covariate and outcome data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from evenhand._model import BoolArray, FloatArray, IntArray
from evenhand.stats.moments import Means, Moments, gradient, moments, moments_of_units

Contrast: TypeAlias = Callable[[Means, Means, Any, Any], Any]
"""(means of the group, of the reference, effective rows of either) → a smooth contrast."""
Codes: TypeAlias = npt.NDArray[np.int8]
ROUNDS, MOVES, MOST_MOVED = 12, 40, 2000
"""Rounds of all rows, moves of single rows, and the rows up to which single ones are moved."""
GROUP, REFERENCE, NEITHER = 0, 1, 2


@dataclass(frozen=True, kw_only=True)
class Unlabelled:
    """Rows without a group.

    Args:
        names: the terms. terms: (k, n), or None where the rows were too many to keep. n: rows.
        weight: (n,) or None. unit: (n,) codes or None. top: (n,) whether a row is in the top of the scores.
    """

    names: tuple[str, ...]
    n: int
    terms: FloatArray | None = None
    weight: FloatArray | None = None
    unit: IntArray | None = None
    top: BoolArray | None = None

    @cached_property
    def weights(self) -> FloatArray:
        """(n,) case weights, 1 for rows without."""
        return np.ones(self.n) if self.weight is None else self.weight

    def only(self, rows: BoolArray) -> Unlabelled:
        """The rows of a mask."""
        if self.terms is None:
            return self
        return Unlabelled(
            names=self.names,
            n=int(rows.sum()),
            terms=self.terms[:, rows],
            weight=None if self.weight is None else self.weight[rows],
            unit=None if self.unit is None else self.unit[rows],
        )

    def moments(self, rows: npt.NDArray[Any]) -> Moments:
        """The sums of some of the rows.

        Raises:
            TypeError: the rows were not kept.
        """
        if self.terms is None:
            raise TypeError("the rows were not kept")
        terms, weight = self.terms[:, rows], None if self.weight is None else self.weight[rows]
        if self.unit is None:
            return moments(terms, self.names, weight)
        return moments_of_units(terms, self.names, self.unit[rows], weight)


def together(parts: Sequence[Unlabelled], most: int) -> Unlabelled | None:
    """The rows of all parts; only their number where there are more than `most`."""
    n = sum(p.n for p in parts)
    if not n:
        return None
    terms = [p.terms for p in parts if p.terms is not None]
    if n > most or len(terms) < len(parts):
        return Unlabelled(names=parts[0].names, n=n)
    weights, tops = [p.weight for p in parts], [p.top for p in parts]
    return Unlabelled(
        names=parts[0].names,
        n=n,
        terms=np.concatenate(terms, axis=1),
        weight=None if weights[0] is None else np.concatenate([w for w in weights if w is not None]),
        top=None if tops[0] is None else np.concatenate([t for t in tops if t is not None]),
    )


@dataclass(frozen=True, kw_only=True)
class Assigned:
    """Two groups with some of the rows without a group put into them.

    Args:
        a, b: sums of the group and of the reference. value: their contrast.
    """

    a: Moments
    b: Moments
    value: float


@dataclass(frozen=True, kw_only=True)
class Bounded:
    """What can become of a contrast.

    Args:
        contrast: a smooth function of both groups' means. terms: those it is made of.
        a, b: sums of the rows whose group is known. rest: the rows whose group is not.
    """

    contrast: Contrast
    terms: tuple[str, ...]
    a: Moments
    b: Moments
    rest: Unlabelled

    @cached_property
    def _used(self) -> FloatArray:
        if self.rest.terms is None:
            raise TypeError("the rows were not kept")
        return np.stack([self.rest.terms[self.rest.names.index(name)] for name in self.terms])

    def extreme(self, *, up: bool) -> Assigned | None:
        """The assignment with the largest (else the smallest) contrast; None where it is undefined.

        Each row goes where it moves the contrast most, by its influence on the means; the means follow, and
        it is repeated until nothing changes. For rates this is exact at once (all hits to one side, all
        others to the other), for means after few rounds.
        """
        codes, _ = self._search(up)
        return None if codes is None else self._with(codes)

    def value(self) -> float:
        """The contrast of the rows whose group is known."""
        return self._value(*self._sums(None))

    def tips(self, target: float, *, up: bool) -> int | None:
        """The fewest rows that bring the contrast to the target, those that move it most first; None where
        all of them do not."""
        codes, gain = self._search(up)
        if codes is None:
            return None
        moved = np.flatnonzero(codes != NEITHER)
        order = moved[np.argsort(-gain[moved], kind="stable")]

        def reached(rows: int) -> bool:
            some = np.full(self.rest.n, NEITHER, dtype=np.int8)
            some[order[:rows]] = codes[order[:rows]]
            value = self._value(*self._sums(some))
            return value >= target if up else value <= target

        if not reached(len(order)):
            return None
        low, high = -1, len(order)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if reached(middle) else (middle, high)
        return high

    def shared(self, shares: tuple[FloatArray, FloatArray]) -> float:
        """The contrast where each row belongs to either group with a chance.

        Args:
            shares: (n,) chances of the group, and of the reference.
        """
        return self._value(*(self._plus(m, s) for m, s in zip((self.a, self.b), shares, strict=True)))

    def _search(self, up: bool) -> tuple[Codes | None, FloatArray]:
        """The codes of the rows, and what each moves."""
        sign = 1.0 if up else -1.0
        best: Codes | None = None
        most, gains = -np.inf, np.zeros(self.rest.n)
        codes: Codes = np.full(self.rest.n, NEITHER, dtype=np.int8)
        seen: set[bytes] = set()
        for _ in range(ROUNDS):
            sums = self._sums(codes)
            value = sign * self._value(*sums)
            if not np.isfinite(value):
                break
            if best is None or value > most:
                best, most = codes, value
            gain = sign * self._influence(*sums)
            tiny = 1e-12 * max(float(np.abs(gain).max(initial=0.0)), 1e-300)
            place = np.argmax(gain, axis=0)
            top = gain.max(axis=0)
            codes = np.where(top > tiny, place, NEITHER).astype(np.int8)
            if best is None or value >= most:
                gains = top
            if codes.tobytes() in seen:
                break
            seen.add(codes.tobytes())
        return best if best is None else self._polished(best, sign), gains

    def _polished(self, codes: Codes, sign: float) -> Codes:
        """The assignment after the best moves of single rows: influences are of first order, and a row of few
        is much."""
        for _ in range(MOVES if self.rest.n <= MOST_MOVED else 0):
            value = sign * self._value(*self._sums(codes))
            moved = np.array([sign * self._moved(codes, to) for to in (GROUP, REFERENCE, NEITHER)])
            moved[~np.isfinite(moved)] = -np.inf
            to, row = np.unravel_index(int(np.argmax(moved)), moved.shape)
            if not moved[to, row] > value + 1e-12 * (1 + abs(value)):
                break
            codes = codes.copy()
            codes[row] = to
        return codes

    def _moved(self, codes: Codes, to: int) -> FloatArray:
        """(n,): the contrast if that row alone were put elsewhere."""
        sides = []
        for side, (means, weight) in zip((GROUP, REFERENCE), self._sums(codes), strict=True):
            w = self.rest.weights * ((to == side) - (codes == side).astype(float))
            now = np.maximum(weight + w, 1e-300)
            sides.append(
                (dict(zip(self.terms, (means[:, None] * weight + self._used * w) / now, strict=True)), now)
            )
        (left, n), (right, m) = sides
        with np.errstate(all="ignore"):
            return np.asarray(np.real(self.contrast(left, right, n, m)) + np.zeros(self.rest.n))

    def _with(self, codes: Codes) -> Assigned:
        a, b = (
            m + self.rest.moments(np.flatnonzero(codes == side)) if (codes == side).any() else m
            for m, side in ((self.a, GROUP), (self.b, REFERENCE))
        )
        return Assigned(a=a, b=b, value=self._value(*self._sums(codes)))

    def _sums(self, codes: Codes | None) -> tuple[tuple[FloatArray, float], ...]:
        """(means of the terms, weight) of both groups with the rows that are put into them."""
        none = np.zeros(self.rest.n)
        return tuple(
            self._plus(m, none if codes is None else (codes == side).astype(float))
            for m, side in ((self.a, GROUP), (self.b, REFERENCE))
        )

    def _plus(self, m: Moments, share: FloatArray) -> tuple[FloatArray, float]:
        w = self.rest.weights * share
        weight = m.weight + float(w.sum())
        own = np.array([m.sums[m.names.index(name)] for name in self.terms])
        return (own + self._used @ w) / max(weight, 1e-300), weight

    def _value(self, *sides: tuple[FloatArray, float]) -> float:
        with np.errstate(all="ignore"):
            left, right = (
                dict(zip(self.terms, (np.float64(v) for v in means), strict=True)) for means, _ in sides
            )
            return float(np.real(self.contrast(left, right, *(weight for _, weight in sides))))

    def _influence(self, *sides: tuple[FloatArray, float]) -> FloatArray:
        """(2, n): what a row adds to the contrast in either group, to first order."""
        means = [dict(zip(self.terms, own.tolist(), strict=True)) for own, _ in sides]
        sizes = [weight for _, weight in sides]
        slopes = (
            gradient(lambda x: self.contrast(x, means[1], *sizes), means[0]),
            gradient(lambda y: self.contrast(means[0], y, *sizes), means[1]),
        )
        found = []
        for slope, (own, weight) in zip(slopes, sides, strict=True):
            moved = np.nan_to_num(slope) @ (self._used - own[:, None])
            found.append(moved * self.rest.weights / (weight + self.rest.weights))
        return np.array(found)

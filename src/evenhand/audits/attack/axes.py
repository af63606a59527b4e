"""Axes (a direction and its opposite) and the random directions that they are held against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand._errors import UsageError
from evenhand._model import FloatArray, IntArray
from evenhand.embeddings._matrix import Vectors
from evenhand.embeddings.dictionary import FUNCTION_WORDS
from evenhand.embeddings.directions import Direction, direction, gender_words, opposite

MOST_ALIKE = 0.3
"""A placebo whose cosine with the direction is larger is not one."""
MOST_USES = 3
"""Placebo pairs that one word may be part of."""


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One line through embedding space: a direction, and its opposite where that was asked for too."""

    sides: tuple[Direction, ...]

    @property
    def name(self) -> str:
        """The sides' names."""
        return " / ".join(side.name for side in self.sides)


def axes_of(specs: Sequence[Any], vectors: Vectors, strength: float | None) -> list[Axis]:
    """Directions paired with their opposites.

    Raises:
        UsageError: `no-directions`, `repeated-direction`, and those of `direction`.
    """
    listed = [specs] if isinstance(specs, str | Direction) else list(specs)
    if not listed:
        raise UsageError("no-directions", "an attack needs a direction", expected='e.g. "woman-man"')
    made = [direction(s, vectors, strength=strength) for s in listed]
    names = [d.name for d in made]
    if len(set(names)) < len(names):
        raise UsageError("repeated-direction", "the same direction is given twice", given=", ".join(names))
    found: list[Axis] = []
    for d in made:
        partner = next((a for a in found if len(a.sides) == 1 and opposite(a.sides[0], d)), None)
        if partner is None:
            found.append(Axis(sides=(d,)))
        else:
            found[found.index(partner)] = Axis(sides=(partner.sides[0], d))
    return found


def definitional_words(axis: Axis, extra: Sequence[str] = ()) -> frozenset[str]:
    """Words that say the attribute itself; for directions of gender words the shipped lists."""
    own = {w.lower() for side in axis.sides for w in side.words} | {w.lower() for w in extra}
    listed = gender_words()
    return frozenset(own | listed) if own & listed else frozenset(own)


@dataclass(frozen=True, kw_only=True, eq=False)
class Placebos:
    """Random word-pair directions that resemble an axis.

    Args:
        directions: each as long as the axis. cosine: of the words of each pair; wanted: of the axis's own.
        skipped: wanted but not found.
    """

    directions: tuple[Direction, ...]
    cosine: tuple[float, ...]
    wanted: float
    skipped: int = 0


def draw_placebos(
    vectors: Vectors, axis: Axis, count: int, *, seed: int, special: frozenset[str], most: int = 200_000
) -> Placebos:
    """`count` pairs of ordinary words whose cosine and norms are nearest to the axis's own pairs.

    Matched on the cosine of the two words (so on the length of their difference) and on the norms of both
    vectors, which go with frequency. Left out: the words of the axis, words that say the attribute, function
    words, and pairs whose direction resembles the axis.
    """
    rng = np.random.default_rng(seed)
    out = FUNCTION_WORDS | special
    ordinary = [len(w) > 2 and w.isalpha() and w.lower() not in out for w in vectors.words]
    usable = np.flatnonzero(ordinary)
    if len(usable) < 4 or not count:
        return Placebos(directions=(), cosine=(), wanted=0.0, skipped=count)
    step = axis.sides[0].step
    cosine, norms = _own(vectors, axis)
    pairs = _random_pairs(usable, rng, most)
    near = np.einsum("ij,ij->i", vectors.unit[pairs[:, 0]], vectors.unit[pairs[:, 1]])
    length = np.sqrt(np.maximum(2.0 - 2.0 * near, 1e-12))
    along = vectors.unit @ (step / np.linalg.norm(step))
    alike = np.abs(along[pairs[:, 0]] - along[pairs[:, 1]]) / length
    logs = np.log(vectors.norms[pairs])
    spread = float(np.log(vectors.norms[usable]).std()) or 1.0
    distance = ((near - cosine) / (float(near.std()) or 1.0)) ** 2
    distance += np.sum(((logs - np.log(norms)) / spread) ** 2, axis=1)
    distance[alike > MOST_ALIKE] = np.inf
    chosen: list[tuple[int, int]] = []
    uses: dict[int, int] = {}
    for i in np.argsort(distance, kind="stable"):  # few are looked at, so no list of them all
        if len(chosen) >= count or not np.isfinite(distance[i]):
            break
        a, b = int(pairs[i, 0]), int(pairs[i, 1])
        if uses.get(a, 0) < MOST_USES and uses.get(b, 0) < MOST_USES:
            chosen.append((a, b))
            uses[a], uses[b] = uses.get(a, 0) + 1, uses.get(b, 0) + 1
    target = float(np.linalg.norm(step))
    made = tuple(_between(vectors, a, b, target) for a, b in chosen)
    found = tuple(float(vectors.unit[a] @ vectors.unit[b]) for a, b in chosen)
    return Placebos(directions=made, cosine=found, wanted=cosine, skipped=count - len(made))


def _random_pairs(usable: IntArray, rng: np.random.Generator, most: int) -> IntArray:
    n = len(usable)
    if n * (n - 1) <= most:
        a, b = np.nonzero(~np.eye(n, dtype=np.bool_))
        pairs = np.column_stack([usable[a], usable[b]])
        return pairs[rng.permutation(len(pairs))]
    a = rng.integers(0, n, most)
    b = (a + rng.integers(1, n, most)) % n
    return np.column_stack([usable[a], usable[b]])


def _own(vectors: Vectors, axis: Axis) -> tuple[float, FloatArray]:
    """Median cosine and norms of the pairs the axis is made of."""
    side = axis.sides[0]
    pairs = [(vectors.row(a), vectors.row(b)) for a, b in side.pairs]
    if not pairs:
        rows = [vectors.row(w) for w in side.words]
        length = min(2.0, float(np.linalg.norm(side.step)))
        norms = np.median(vectors.norms[rows]) if rows else np.median(vectors.norms)
        return 1.0 - length**2 / 2.0, np.array([norms, norms], dtype=np.float64)
    cosine = float(np.median([vectors.unit[a] @ vectors.unit[b] for a, b in pairs]))
    return cosine, np.asarray(np.median(vectors.norms[np.array(pairs)], axis=0), dtype=np.float64)


def _between(vectors: Vectors, a: int, b: int, length: float) -> Direction:
    step = vectors.unit[a] - vectors.unit[b]
    words = (vectors.words[a], vectors.words[b])
    return Direction(
        name="-".join(words),
        step=step * np.float32(length / np.linalg.norm(step)),
        words=words,
        pairs=(words,),
    )

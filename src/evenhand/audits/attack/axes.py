"""Axes (a direction and its opposite) and the random directions that they are held against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from evenhand._errors import UsageError
from evenhand._model import FloatArray, IntArray
from evenhand.embeddings import forms
from evenhand.embeddings._matrix import Vectors
from evenhand.embeddings.dictionary import FUNCTION_WORDS, same_lemma
from evenhand.embeddings.directions import Direction, direction, gender_words, loaded, opposite
from evenhand.embeddings.neighbours import nearest

MOST_ALIKE = 0.3
"""A placebo whose cosine with the direction is larger is not one."""
MOST_USES = 3
"""Placebo pairs that one word may be part of."""
NEAR = 30
"""Neighbours of a word that it may be paired with."""
NEAR_PRODUCT = 20_000_000
"""Cosines that are computed for such pairs, at least 200 words' worth."""
LOOKED_AT = 20_000
"""Pairs among which those of the axis's kind are sought."""


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
    """`count` pairs of ordinary words that are nearest to the axis's own pairs.

    Matched on the cosine of the two words (so on the length of their difference), on the norms of both
    vectors and their ranks in the file, which go with frequency, and on how far frequent words lean to one
    end. Left out: the words of the axis, words that say the attribute, function words, and pairs whose
    direction resembles the axis. First come pairs of the axis's kind: two words of its parts of speech, no
    inflections of one word (sue–sued), no names (Tom–Brian).
    """
    rng = np.random.default_rng(seed)
    out = FUNCTION_WORDS | special
    ordinary = [len(w) > 2 and w.isalpha() and w.lower() not in out for w in vectors.words]
    usable = np.flatnonzero(ordinary)
    if len(usable) < 4 or not count:
        return Placebos(directions=(), cosine=(), wanted=0.0, skipped=count)
    cosine, _ = _own(vectors, axis)
    pairs = _random_pairs(vectors, usable, rng, most)
    distance = _distance(vectors, axis, pairs, usable)
    chosen: list[tuple[int, int]] = []
    uses: dict[int, int] = {}
    order = np.argsort(distance, kind="stable")
    order = order[np.isfinite(distance[order])]
    # Few are looked at, so no list of them all; where too few are of the axis's kind, the next best fill up.
    for strict, some in ((True, order[:LOOKED_AT]), (False, order)):
        for a, b in (pairs[i].tolist() for i in some):
            if len(chosen) >= count:
                break
            if max(uses.get(a, 0), uses.get(b, 0)) >= MOST_USES or (a, b) in chosen or (b, a) in chosen:
                continue
            if not strict or _of_kind(vectors.words[a], vectors.words[b], axis):
                chosen.append((a, b))
                uses[a], uses[b] = uses.get(a, 0) + 1, uses.get(b, 0) + 1
    target = float(np.linalg.norm(axis.sides[0].step))
    made = tuple(_between(vectors, a, b, target) for a, b in chosen)
    found = tuple(float(vectors.unit[a] @ vectors.unit[b]) for a, b in chosen)
    return Placebos(directions=made, cosine=found, wanted=cosine, skipped=count - len(made))


def _distance(vectors: Vectors, axis: Axis, pairs: IntArray, usable: IntArray) -> FloatArray:
    """(m,) how unlike the axis's own pairs each is, in squared spreads; infinite for the axis itself."""
    step = np.asarray(axis.sides[0].step, dtype=np.float64)
    cosine, norms = _own(vectors, axis)
    near = np.einsum("ij,ij->i", vectors.unit[pairs[:, 0]], vectors.unit[pairs[:, 1]])
    length = np.sqrt(np.maximum(2.0 - 2.0 * near, 1e-12))
    along = vectors.unit @ (step / np.linalg.norm(step)).astype(np.float32)
    alike = np.abs(along[pairs[:, 0]] - along[pairs[:, 1]]) / length
    own = [np.median([vectors.row(pair[end]) for pair in _pairs_of(axis)]) for end in (0, 1)]
    lean = leaning(vectors)
    frequent = vectors.unit @ lean.astype(np.float32)
    leans = (frequent[pairs[:, 0]] - frequent[pairs[:, 1]]) / length
    apart = (
        ((near - cosine)[:, None], near),
        (np.log(vectors.norms[pairs]) - np.log(norms), np.log(vectors.norms[usable])),
        (np.log1p(pairs) - np.log1p(own), np.log1p(usable)),
        ((leans - float(step @ lean) / np.linalg.norm(step))[:, None], leans),
    )
    found = sum(np.sum((off / (float(of.std()) or 1.0)) ** 2, axis=1) for off, of in apart)
    return np.asarray(np.where(alike > MOST_ALIKE, np.inf, found), dtype=np.float64)


def leaning(vectors: Vectors) -> FloatArray:
    """(d,) by whose product with a unit direction frequent words lean to one of its ends: the covariance of
    log rank and position, in spreads of log rank."""
    ranks = np.log1p(np.arange(len(vectors)))
    ranks = (ranks - ranks.mean()) / (float(ranks.std()) or 1.0)
    return np.asarray(vectors.unit.T @ ranks.astype(np.float32) / len(vectors), dtype=np.float64)


def frequency_leaning(vectors: Vectors, side: Direction) -> float:
    """Correlation of the words' positions along a direction with their log rank in the file."""
    along, _ = loaded(vectors, side.step)
    ranks = np.log1p(np.arange(len(vectors)))
    return float(np.corrcoef(along, ranks)[0, 1]) if along.std() > 0 and len(vectors) > 2 else 0.0


def _pairs_of(axis: Axis) -> tuple[tuple[str, str], ...]:
    """The axis's own pairs; of sums of words, each word with itself."""
    side = axis.sides[0]
    return side.pairs or tuple((w, w) for w in side.words)


def _of_kind(one: str, other: str, axis: Axis) -> bool:
    """Two different words, each of a part of speech that stands at its end of one of the axis's pairs."""
    if same_lemma(one, other):
        return False
    if not forms.available():
        return True
    wanted = _kinds(_pairs_of(axis))
    return not wanted or (_kind(one), _kind(other)) in wanted


@cache
def _kinds(pairs: tuple[tuple[str, str], ...]) -> frozenset[tuple[str, str]]:
    """Parts of speech of pairs; none where a word of them is not known."""
    found = {(_kind(a), _kind(b)) for a, b in pairs}
    return frozenset(found) if all(all(pair) for pair in found) else frozenset()


def _kind(word: str) -> str:
    """Part of speech and number of a word that is in the lexicon and mostly is that; else nothing."""
    tag = forms.usual_tag(word)
    return tag if tag in forms.tags_of(word) else ""


def _random_pairs(vectors: Vectors, usable: IntArray, rng: np.random.Generator, most: int) -> IntArray:
    """Pairs of usable words: all of them where they are few, else random ones, and near ones of random words,
    since the words of a direction are mostly near each other."""
    n = len(usable)
    if n * (n - 1) <= most:
        a, b = np.nonzero(~np.eye(n, dtype=np.bool_))
        pairs = np.column_stack([usable[a], usable[b]])
        return pairs[rng.permutation(len(pairs))]
    a = rng.integers(0, n, most)
    b = (a + rng.integers(1, n, most)) % n
    some = rng.permutation(n)[: max(200, NEAR_PRODUCT // len(vectors))]
    near = nearest(vectors, usable[some], [None], n=NEAR)[0].rows
    one, other = np.repeat(usable[some], near.shape[1]), near.ravel()
    turned = rng.random(len(one)) < 0.5
    close = np.column_stack([np.where(turned, other, one), np.where(turned, one, other)])
    close = close[np.isin(other, usable)]
    return np.concatenate([np.column_stack([usable[a], usable[b]]), close])


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

"""What an attack may change: directions and their opposites, placebo directions, and the offers of every place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from evenhand._errors import UsageError
from evenhand.embeddings.dictionary import (
    FUNCTION_WORDS,
    Chosen,
    Pools,
    Rules,
    choose,
    pools,
)
from evenhand.embeddings.directions import Direction, direction, gender_words, opposite, reverse
from evenhand.embeddings.fluency import Contexts, Fluency
from evenhand.embeddings.vectors import Vectors
from evenhand.plans.alter import Fluent, Offers, Site, Tagger, fluent, sites_of

Match: TypeAlias = Literal["candidates", "mutual", "none"]
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

    Matched on the cosine of the two words (so on the length of their difference) and on the norms of both vectors, which
    go with frequency. Left out: the words of the axis, words that say the attribute, function words, and pairs whose
    direction resembles the axis.
    """
    rng = np.random.default_rng(seed)
    usable = np.array(
        [
            i
            for i, w in enumerate(vectors.words)
            if len(w) > 2 and w.isalpha() and w.lower() not in FUNCTION_WORDS and w.lower() not in special
        ],
        dtype=np.int64,
    )
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
    for i in np.argsort(distance, kind="stable").tolist():
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


def _random_pairs(
    usable: npt.NDArray[np.int64], rng: np.random.Generator, most: int
) -> npt.NDArray[np.int64]:
    n = len(usable)
    if n * (n - 1) <= most:
        a, b = np.nonzero(~np.eye(n, dtype=np.bool_))
        pairs = np.column_stack([usable[a], usable[b]])
        return pairs[rng.permutation(len(pairs))]
    a = rng.integers(0, n, most)
    b = (a + rng.integers(1, n, most)) % n
    return np.column_stack([usable[a], usable[b]])


def _own(vectors: Vectors, axis: Axis) -> tuple[float, npt.NDArray[np.float64]]:
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


@dataclass(frozen=True, kw_only=True, eq=False)
class Field:
    """Everything that may be done to the texts along one axis and its placebos.

    Args:
        axis: the axis. placebos: what they are.
        offers: per direction (the axis first), per side. offers_apart: the same without definitional words.
        special: rows of definitional words.
        funnel: one row a direction: what every rule removed.
    """

    axis: Axis
    placebos: Placebos
    offers: list[tuple[Offers, ...]]
    offers_apart: list[tuple[Offers, ...]]
    special: frozenset[int]
    funnel: list[dict[str, int]]
    contexts: Contexts
    sites: list[list[Site]]
    fluent: Fluent
    vectors: Vectors
    match: Match
    counted: dict[str, int] = field(default_factory=dict)

    def options(self, text: int, k: int, *, apart: bool = False) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """Per side, per site: the rows of the candidates, after fluency and after matching the sides' budgets.

        Args:
            k: 0 for the axis, then the placebos. apart: leave out definitional words.
        """
        tables = (self.offers_apart if apart else self.offers)[k]
        good = self.fluent.good
        found: list[list[tuple[int, ...]]] = [[] for _ in tables]
        equal = self.match == "candidates" and len(tables) > 1
        for s, site in enumerate(self.sites[text]):
            kept = [table.by_row.get(site.row, ()) for table in tables]
            if good is not None and any(kept):
                allowed = good[text][s]
                kept = [tuple([c for c in words if c in allowed]) for words in kept]
            if equal:
                n = min(map(len, kept))
                kept = [words[:n] for words in kept]
            for side, words in zip(found, kept, strict=True):
                side.append(words)
        return tuple([tuple(side) for side in found])


def field_of(
    axis: Axis,
    contexts: Contexts,
    vectors: Vectors,
    rules: Rules,
    filter: Fluency | None,
    *,
    placebos: int,
    seed: int,
    match: Match,
    ratio: float,
    tagger: Tagger | None = None,
    extra: Sequence[str] = (),
) -> Field:
    """Choose alterations and placebos for one axis, and ask the fluency filter once for all of them.

    Of twice as many placebo pairs as wanted, those are kept whose number of candidates in these texts is nearest to the
    axis's own, so that the budgets match too.
    """
    if match not in get_args(Match):
        raise UsageError("unknown-match", "there is no such matching", given=match, available=get_args(Match))
    words = definitional_words(axis, extra)
    sites = sites_of(contexts, vectors)
    counts: dict[int, int] = {}
    for row in sites:
        for site in row:
            counts[site.row] = counts.get(site.row, 0) + 1
    pool = pools(vectors, counts, rules, definitional=words)
    drawn = draw_placebos(vectors, axis, 2 * placebos, seed=seed, special=words)
    own = [choose(vectors, pool, side.step, rules) for side in axis.sides]
    others = [_both_ways(vectors, pool, d, len(axis.sides), rules) for d in drawn.directions]
    frequency = np.array([counts[r] for r in pool.sources.tolist()], dtype=np.float64)
    keep = _nearest_budget(frequency, own, others, placebos)
    kept = Placebos(
        directions=tuple(drawn.directions[i] for i in keep),
        cosine=tuple(drawn.cosine[i] for i in keep),
        wanted=drawn.wanted,
        skipped=placebos - len(keep),
    )
    chosen = [own, *(others[i] for i in keep)]
    offers = [tuple(Offers.of(pool, c) for c in sides) for sides in chosen]
    if match == "mutual":
        offers = [
            (a.mutual(b), b.mutual(a)) if len(rest) == 1 else (a,)
            for a, *rest in offers
            for b in [*rest, a][:1]
        ]
    union = _union(offers)
    allowed = fluent(contexts, sites, union, vectors, filter, ratio=ratio, tagger=tagger)
    special = frozenset(i for i, w in enumerate(vectors.words) if w.lower() in words)
    return Field(
        axis=axis, placebos=kept, offers=offers,
        offers_apart=[tuple(o.without(special) for o in sides) for sides in offers], contexts=contexts, sites=sites, fluent=allowed, vectors=vectors,
        special=special, match=match,
        funnel=[_funnel(sides) for sides in chosen], counted=dict(pool.dropped),
    )  # fmt: skip


def _both_ways(vectors: Vectors, pool: Pools, d: Direction, sides: int, rules: Rules) -> list[Chosen]:
    steps = [d.step, reverse(d).step][:sides]
    return [choose(vectors, pool, step, rules) for step in steps]


def _offered(frequency: npt.NDArray[np.float64], sides: Sequence[Chosen]) -> float:
    """Candidates that the texts' words have, over both sides, with the smaller side deciding."""
    each = [np.diff(c.begin).astype(np.float64) for c in sides]
    return float(np.minimum.reduce(each) @ frequency) if len(frequency) else 0.0


def _nearest_budget(
    frequency: npt.NDArray[np.float64], own: Sequence[Chosen], others: Sequence[Sequence[Chosen]], count: int
) -> list[int]:
    goal = _offered(frequency, own)
    gaps = np.array([abs(_offered(frequency, sides) - goal) for sides in others])
    return sorted(np.argsort(gaps, kind="stable")[:count].tolist())


def _funnel(sides: Sequence[Chosen]) -> dict[str, int]:
    total: dict[str, int] = {"offered": sum(len(c.candidate) for c in sides)}
    for c in sides:
        for rule, n in c.dropped.items():
            total[rule] = total.get(rule, 0) + n
    return total


def _union(offers: Sequence[tuple[Offers, ...]]) -> dict[int, list[int]]:
    found: dict[int, dict[int, None]] = {}
    for sides in offers:
        for side in sides:
            for row, words in side.by_row.items():
                found.setdefault(row, {}).update(dict.fromkeys(words))
    return {row: list(words) for row, words in found.items()}

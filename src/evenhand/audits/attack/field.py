"""What may stand at every place of every text, along an axis and along each of its placebos.

The budget is the axis's own: where it has b fluent candidates at a place, every placebo gets b too, from the
same similar and fluent words, the farthest along its own direction. So a subject that reacts to any change
reacts to placebos just as much; only the choice of words differs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args

import numpy as np
import numpy.typing as npt

from evenhand._errors import UsageError
from evenhand._model import IntArray
from evenhand.audits.attack.axes import Axis, Placebos, definitional_words, draw_placebos
from evenhand.audits.attack.readable import Legible, thinned
from evenhand.embeddings._matrix import Matrix, Vectors
from evenhand.embeddings.dictionary import Chosen, Pools, Rules, choose, plain_pools, pools
from evenhand.embeddings.directions import loaded
from evenhand.embeddings.fluency import Contexts, Fluency, fluency
from evenhand.embeddings.proposals import Proposals
from evenhand.embeddings.proposals import proposals as proposals_of
from evenhand.plans.alter import Fits, Fluent, Offers, Site, Tagger, fluent, sites_of
from evenhand.plans.fitting import AllFit, Forms, Meaning, Proposed, pass_rates
from evenhand.subjects.python import from_path
from evenhand.texts import texts as texts_of

Match: TypeAlias = Literal["candidates", "mutual", "none"]
DICTIONARIES = ("rules", "seed")
_NONE = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class Field:
    """Everything that may be done to the texts along one axis and its placebos.

    Args:
        axis: the axis. placebos: what they are.
        offers: per side, what the axis offers for every word. own: the same as edges of the pool.
        pool: similar words of every word. segment: row of a word → its edges in the pool.
        order: per side, (K, edges): the larger, the sooner a placebo takes a candidate.
        special: rows of definitional words. special_edge: (edges,) the candidate is one.
        funnel: rule → alterations that it removed. most: candidates of a place in one direction.
        readable: (rule, words that pass along the axis, along the mean placebo), shares of those that move.
    """

    axis: Axis
    placebos: Placebos
    offers: tuple[Offers, ...]
    own: tuple[Mapping[int, IntArray], ...]
    pool: Pools
    segment: Mapping[int, tuple[int, int]]
    order: tuple[Matrix, ...]
    special: frozenset[int]
    special_edge: npt.NDArray[np.bool_]
    funnel: Mapping[str, int]
    contexts: Contexts
    sites: list[list[Site]]
    fluent: Fluent
    vectors: Vectors
    match: Match
    most: int
    readable: Sequence[tuple[str, float, float | None]] = ()
    _open: dict[int, list[int]] = field(default_factory=dict)
    _ranked: dict[tuple[int, int], npt.NDArray[Any]] = field(default_factory=dict)

    @property
    def directions(self) -> int:
        """The axis and its placebos."""
        return 1 + len(self.placebos.directions)

    def open_sites(self, text: int) -> list[int]:
        """The sites of a text for which the axis offers a fluent word."""
        if text not in self._open:
            listed = enumerate(self.sites[text])
            self._open[text] = [s for s, site in listed if any(map(len, self._edges(text, s, site, False)))]
        return self._open[text]

    def most_changes(self, text: int, share: float) -> int:
        """Words of a text that may change: a share of its tokens with a letter, but one at least."""
        words = sum(any(c.isalpha() for c in token) for token in self.contexts.tokens[text])
        return max(1, int(share * words)) if share > 0 else 0

    def touched(self, text: int) -> bool:
        """Whether leaving out definitional words can change what is offered in a text."""
        rows = {site.row for site in self.sites[text]} & self.segment.keys()
        return any(row in self.special or self.special_edge[slice(*self.segment[row])].any() for row in rows)

    def options(self, text: int, *, apart: bool = False) -> IntArray:
        """The candidates at the open sites of a text, best first, as edges of the pool.

        Args:
            apart: leave out definitional words.

        Returns:
            (directions, sides, open sites, most) edges, the axis first; −1 where there are fewer.
        """
        open_ = self.open_sites(text)
        own = [self._edges(text, s, self.sites[text][s], apart) for s in open_]
        rows = [self.sites[text][s].row for s in open_]
        most = max((len(table.get(row, _NONE)) for table in self.own for row in rows), default=0)
        most = min(most, self.most)
        found = np.full((self.directions, len(self.own), len(open_), most), -1, dtype=np.int32)
        for p, (s, sides) in enumerate(zip(open_, own, strict=True)):
            for side, edges in enumerate(sides):
                found[0, side, p, : len(edges)] = edges
            if self.directions > 1 and any(map(len, sides)):
                self._placebos_at(text, s, [len(edges) for edges in sides], found[1:, :, p], apart=apart)
        return found

    def _edges(self, text: int, s: int, site: Site, apart: bool) -> list[IntArray]:
        """What the axis offers at a site, per side."""
        kept = [table.get(site.row, _NONE) for table in self.own]
        if not any(map(len, kept)) or (apart and site.row in self.special):
            return [_NONE] * len(kept)
        if self.fluent.good is not None:
            begin, good = self.segment[site.row][0], self.fluent.good[text][s]
            kept = [edges[good[edges - begin]] for edges in kept]
        if apart:
            kept = [edges[~self.special_edge[edges]] for edges in kept]
        kept = [edges[: self.most] for edges in kept]
        if self.match == "candidates" and len(kept) > 1:
            n = min(map(len, kept))
            kept = [edges[:n] for edges in kept]
        return kept

    def _placebos_at(
        self, text: int, s: int, budgets: list[int], found: npt.NDArray[np.int32], *, apart: bool
    ) -> None:
        """As many candidates as the axis has at this site, for all placebos at once, into (placebos, sides,
        most)."""
        row = self.sites[text][s].row
        begin, end = self.segment[row]
        usable = np.ones(end - begin, dtype=np.bool_)
        if self.fluent.good is not None:
            usable &= self.fluent.good[text][s]
        if apart:
            usable &= ~self.special_edge[begin:end]
        for side, budget in enumerate(budgets):
            if budget:
                ranked = self._ranking(side, row)
                best = ranked[usable[ranked]].reshape(len(ranked), -1)[:, :budget]
                found[:, side, :budget] = best.astype(np.int32) + begin

    def _ranking(self, side: int, row: int) -> npt.NDArray[Any]:
        """(placebos, similar words of a word) the order in which each placebo takes them."""
        if (side, row) not in self._ranked:
            part = self.order[side][:, slice(*self.segment[row])]
            best = np.argsort(-part, axis=1, kind="stable")
            self._ranked[side, row] = best.astype(np.min_scalar_type(part.shape[1]))
        return self._ranked[side, row]


@dataclass(frozen=True, kw_only=True, slots=True)
class Laying:
    """What may be done to a text: the rules, the placebos, and how they are made alike.

    Args:
        rules: what counts as an alteration. placebos: how many random directions. seed: of their draw.
        match: how both sides of an axis get equally much to choose from.
        ratio: least fluency of an altered text, as a share of the original's.
        tagger: words → parts of speech, which candidates must keep. extra: further definitional words.
        reading: what counts as readable. dictionary: "seed" for the words plainly nearest to the sum.
        sentence: least cosine of a sentence with itself as altered, −1 for any.
        proposals: a model that must propose a candidate at its place, None for any.
    """

    rules: Rules
    placebos: int
    seed: int
    match: Match
    ratio: float
    tagger: Tagger | None = None
    extra: tuple[str, ...] = ()
    reading: Legible = field(default_factory=Legible)
    dictionary: str = "rules"
    sentence: float = -1.0
    proposals: Proposals | None = None

    def __post_init__(self) -> None:
        if not -1.0 <= self.sentence <= 1.0:
            raise UsageError("bad-rules", "a cosine lies between −1 and 1", given=self.sentence)
        if self.dictionary == "seed" and self.proposals is not None:
            raise UsageError(
                "candidates-of-seed",
                "the seed dictionary takes the words nearest to the sum, so no model can propose them",
                given=self.proposals.id,
                expected='dictionary="rules", or candidates="embeddings"',
            )
        if self.dictionary not in DICTIONARIES:
            raise UsageError(
                "unknown-dictionary", "no such dictionary", given=self.dictionary, available=DICTIONARIES
            )
        if self.match not in get_args(Match):
            known = get_args(Match)
            raise UsageError("unknown-match", "there is no such matching", given=self.match, available=known)
        if not self.ratio > 0:
            raise UsageError(
                "bad-ratio", "the fluency ratio is above 0", given=self.ratio, expected="e.g. 0.25"
            )


def field_of(
    axis: Axis, contexts: Contexts, vectors: Vectors, reader: Fluency | None, laying: Laying
) -> Field:
    """Choose alterations and placebos for one axis, and ask the fluency filter once for all of them."""
    rules, match = laying.rules, laying.match
    words = definitional_words(axis, laying.extra)
    special = frozenset(i for i, w in enumerate(vectors.words) if w.lower() in words)
    sites = sites_of(contexts, vectors)
    drawn = draw_placebos(vectors, axis, laying.placebos, seed=laying.seed, special=words)
    steps = [d.step for d in drawn.directions]
    rows = {site.row for row in sites for site in row}
    every = _similar(axis, vectors, rows, steps, laying, words)
    pool = thinned(every, vectors, laying.reading, axis.sides[0], laying.extra)
    if laying.dictionary == "seed":
        rules = _plain(rules)
    best = rules if laying.proposals is None else replace(rules, n=len(vectors))
    chosen = [choose(vectors, pool, side.step, best) for side in axis.sides]
    offers = tuple(Offers.of(pool, c) for c in chosen)
    if match == "mutual" and len(offers) > 1:
        offers = (offers[0].mutual(offers[1]), offers[1].mutual(offers[0]))
    begin = np.searchsorted(pool.source, np.arange(len(pool.sources) + 1)).tolist()
    segment = {row: (begin[i], begin[i + 1]) for i, row in enumerate(pool.sources.tolist())}
    asked = {
        row: pool.candidate[slice(*segment[row])].tolist()
        for row in segment
        if any(row in o.by_row for o in offers)
    }
    if laying.proposals is not None:
        places = [(t, site.token) for t, row in enumerate(sites) for site in row if site.row in asked]
        laying.proposals.ask(contexts, places, vectors)
    fits = AllFit(rules=_rules_of_place(contexts, vectors, special, laying))
    read = fluent(
        contexts,
        sites,
        asked,
        vectors,
        reader,
        ratio=laying.ratio,
        tagger=laying.tagger,
        fits=fits if fits.rules else None,
    )
    return Field(
        axis=axis,
        placebos=drawn,
        offers=offers,
        own=tuple(_edges_of(o, pool, segment) for o in offers),
        pool=pool,
        segment=segment,
        order=tuple(_order(vectors, pool, steps, sign, rules) for sign in (1.0, -1.0)[: len(offers)]),
        special=special,
        special_edge=np.isin(pool.candidate, np.array(sorted(special), dtype=np.int64)),
        funnel=_funnel(pool, chosen),
        contexts=contexts,
        sites=sites,
        vectors=vectors,
        match=match,
        most=rules.n,
        fluent=read,
        readable=pass_rates(every, pool, vectors, [axis.sides[0].step, *steps], rules.min_gain, fits),
    )


def _similar(
    axis: Axis,
    vectors: Vectors,
    rows: set[int],
    steps: Sequence[Matrix],
    laying: Laying,
    words: frozenset[str],
) -> Pools:
    """Similar words of every word: its nearest, or the nearest to its sum with each direction."""
    if laying.dictionary != "seed":
        return pools(vectors, rows, laying.rules, definitional=words)
    along = [side.step for side in axis.sides]
    along += [sign * step for step in steps for sign in (1, -1)[: len(axis.sides)]]
    return plain_pools(vectors, rows, along, _plain(laying.rules), definitional=words)


def _plain(rules: Rules) -> Rules:
    """Without rules of gain and hubs, which the seed dictionary does not know."""
    return replace(rules, min_gain=float("-inf"), max_target=None)


def _rules_of_place(
    contexts: Contexts, vectors: Vectors, special: frozenset[int], laying: Laying
) -> dict[str, Fits]:
    """The rules that need a place, in their order."""
    rules: dict[str, Fits] = {}
    if laying.proposals is not None:
        rules["proposed by the model there"] = Proposed(found=laying.proposals)
    if laying.sentence > -1.0:
        rules["the sentence stays similar"] = Meaning(
            vectors=vectors, contexts=contexts, least=laying.sentence
        )
    if laying.reading.forms:
        rules["part of speech and form fit"] = Forms(vectors=vectors, contexts=contexts, special=special)
    return rules


def _edges_of(offers: Offers, pool: Pools, segment: Mapping[int, tuple[int, int]]) -> dict[int, IntArray]:
    """Source word → the edges of the pool that a direction offers."""
    found = {}
    for row, words in offers.by_row.items():
        begin, end = segment[row]
        place = {c: begin + i for i, c in enumerate(pool.candidate[begin:end].tolist())}
        found[row] = np.array([place[c] for c in words], dtype=np.int64)
    return found


def _order(vectors: Vectors, pool: Pools, steps: Sequence[Matrix], sign: float, rules: Rules) -> Matrix:
    """What passes the rule of least gain goes first, by its cosine with the shifted vector; then the rest by
    gain."""
    made = np.empty((len(steps), len(pool.source)), dtype=np.float32)
    for k, step in enumerate(steps):
        along, spread = loaded(vectors, np.asarray(sign * step, dtype=np.float32))
        gain = (along[pool.candidate] - along[pool.sources[pool.source]]) / np.float32(spread)
        score = pool.similarity + np.float32(np.linalg.norm(step)) * along[pool.candidate]
        made[k] = np.where(gain >= rules.min_gain, 1_000.0 + score, gain)
    return made


def _funnel(pool: Pools, chosen: Sequence[Chosen]) -> dict[str, int]:
    total = {f"before any direction: {rule}": n for rule, n in pool.dropped.items()}
    for c in chosen:
        for rule, n in c.dropped.items():
            total[rule] = total.get(rule, 0) + n
    return {**total, "left: alterations of the texts' words": sum(len(c.candidate) for c in chosen)}


def tagger_of(tagger: str | Tagger | None) -> Tagger | None:
    """A tagger, or the one that "module:attr" names."""
    return cast("Tagger", from_path(tagger).function) if isinstance(tagger, str) else tagger


def reader_of(
    spec: Any, tokens: Sequence[Sequence[str]], vectors: Vectors, *, corpus: Any, order: int, pmi: bool
) -> Fluency | None:
    """The fluency filter that `spec` names (see `evenhand.embeddings.fluency`, or "module:attr"), trained
    where it needs to."""
    further = () if corpus is None else texts_of(corpus).texts
    if (
        isinstance(spec, str)
        and ":" in spec
        and not spec.startswith(("masked:", "causal:"))
        and not Path(spec).exists()
    ):
        spec = from_path(spec).function
    return fluency(spec, texts=tokens, corpus=further, vectors=vectors, order=order, pmi=pmi)


def proposals_from(spec: Any, k: int) -> Proposals | None:
    """Where candidates come from (see `evenhand.embeddings.proposals`, or "module:attr")."""
    if isinstance(spec, str) and ":" in spec and not spec.startswith("masked:"):
        spec = from_path(spec).function
    return proposals_of(spec, k=k)

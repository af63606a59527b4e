"""What may stand at every place of every text, along an axis and along each of its placebos.

The budget is the axis's own: where it has b fluent candidates at a place, every placebo gets b too, from the same similar and
fluent words, the farthest along its own direction. So a subject that reacts to any change reacts to placebos just as
much; only the choice of words differs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from evenhand._errors import UsageError
from evenhand.audits.attack_setup import Axis, Placebos, definitional_words, draw_placebos
from evenhand.embeddings.dictionary import Chosen, Pools, Rules, choose, pools
from evenhand.embeddings.directions import loaded
from evenhand.embeddings.fluency import Contexts, Fluency
from evenhand.embeddings.vectors import Matrix, Vectors
from evenhand.plans.alter import Fluent, Offers, Site, Tagger, fluent, sites_of

Match: TypeAlias = Literal["candidates", "mutual", "none"]
Options: TypeAlias = tuple[tuple[int, ...], ...]
"""Per open site the rows of its candidates, best first."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Field:
    """Everything that may be done to the texts along one axis and its placebos.

    Args:
        axis: the axis. placebos: what they are.
        offers: per side, what the axis offers for every word. offers_apart: the same without definitional words.
        pool: similar words of every word. segment: row of a word → its edges in the pool.
        order: per side, (K, edges): the larger, the sooner a placebo takes a candidate.
        special: rows of definitional words. special_edge: (edges,) the candidate is one.
        funnel: rule → alterations that it removed.
    """

    axis: Axis
    placebos: Placebos
    offers: tuple[Offers, ...]
    offers_apart: tuple[Offers, ...]
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

    @property
    def directions(self) -> int:
        """The axis and its placebos."""
        return 1 + len(self.placebos.directions)

    def open_sites(self, text: int) -> list[int]:
        """The sites of a text for which the axis offers a fluent word."""
        return [s for s, site in enumerate(self.sites[text]) if any(self._own(text, s, site, False))]

    def touched(self, text: int) -> bool:
        """Whether leaving out definitional words can change what is offered in a text."""
        rows = {site.row for site in self.sites[text]} & self.segment.keys()
        return any(row in self.special or self.special_edge[slice(*self.segment[row])].any() for row in rows)

    def options(self, text: int, *, apart: bool = False) -> list[tuple[Options, ...]]:
        """Per direction (the axis first), per side: the candidates of every open site of a text.

        Args:
            apart: leave out definitional words.
        """
        sides = range(len(self.offers))
        found: list[list[list[tuple[int, ...]]]] = [[[] for _ in sides] for _ in range(self.directions)]
        for s in self.open_sites(text):
            site = self.sites[text][s]
            own = self._own(text, s, site, apart)
            for side, words in enumerate(own):
                found[0][side].append(words)
            if self.directions > 1:
                self._placebos_at(text, s, site, [len(words) for words in own], found, apart=apart)
        return [tuple(tuple(listed) for listed in direction) for direction in found]

    def _own(self, text: int, s: int, site: Site, apart: bool) -> list[tuple[int, ...]]:
        tables = self.offers_apart if apart else self.offers
        kept = [table.by_row.get(site.row, ()) for table in tables]
        if self.fluent.good is not None and any(kept):
            allowed = self.fluent.good[text][s]
            kept = [tuple([c for c in words if c in allowed]) for words in kept]
        if self.match == "candidates" and len(kept) > 1:
            n = min(map(len, kept))
            kept = [words[:n] for words in kept]
        return kept

    def _placebos_at(
        self,
        text: int,
        s: int,
        site: Site,
        budgets: list[int],
        found: list[list[list[tuple[int, ...]]]],
        *,
        apart: bool,
    ) -> None:
        """As many candidates as the axis has at this site, for all placebos at once."""
        if not any(budgets):
            for placebo in found[1:]:
                for listed in placebo:
                    listed.append(())
            return
        begin, end = self.segment[site.row]
        rows = self.pool.candidate[begin:end]
        usable = np.ones(len(rows), dtype=np.bool_)
        if self.fluent.good is not None:
            allowed = self.fluent.good[text][s]
            usable = np.fromiter((c in allowed for c in rows.tolist()), np.bool_, len(rows))
        if apart:
            usable &= ~self.special_edge[begin:end]
        edges = np.flatnonzero(usable) + begin
        for side, budget in enumerate(budgets):
            if not budget:
                for placebo in found[1:]:
                    placebo[side].append(())
                continue
            best = np.argsort(-self.order[side][:, edges], axis=1, kind="stable")[:, :budget]
            for placebo, words in zip(found[1:], self.pool.candidate[edges][best].tolist(), strict=True):
                placebo[side].append(tuple(words))


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
    """Choose alterations and placebos for one axis, and ask the fluency filter once for all of them."""
    if match not in get_args(Match):
        raise UsageError("unknown-match", "there is no such matching", given=match, available=get_args(Match))
    words = definitional_words(axis, extra)
    special = frozenset(i for i, w in enumerate(vectors.words) if w.lower() in words)
    sites = sites_of(contexts, vectors)
    pool = pools(vectors, {site.row for row in sites for site in row}, rules, definitional=words)
    drawn = draw_placebos(vectors, axis, placebos, seed=seed, special=words)
    chosen = [choose(vectors, pool, side.step, rules) for side in axis.sides]
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
    steps = [d.step for d in drawn.directions]
    return Field(
        axis=axis, placebos=drawn, offers=offers, offers_apart=tuple(o.without(special) for o in offers), pool=pool,
        segment=segment, order=tuple(_order(vectors, pool, steps, sign, rules) for sign in (1.0, -1.0)[: len(offers)]),
        special=special, special_edge=np.isin(pool.candidate, np.array(sorted(special), dtype=np.int64)),
        funnel=_funnel(pool, chosen), contexts=contexts, sites=sites, vectors=vectors, match=match,
        fluent=fluent(contexts, sites, asked, vectors, filter, ratio=ratio, tagger=tagger),
    )  # fmt: skip


def _order(vectors: Vectors, pool: Pools, steps: Sequence[Matrix], sign: float, rules: Rules) -> Matrix:
    """What passes the rule of least gain goes first, by its cosine with the shifted vector; then the rest by gain."""
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

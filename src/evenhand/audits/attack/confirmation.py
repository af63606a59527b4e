"""The confirmation of an attack: alterations learned on one half of the texts, applied blindly to the other
half."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evenhand._model import BoolArray, FloatArray, IntArray, Plan, Probes
from evenhand.audits.attack.field import Field
from evenhand.audits.attack.records import Changes, Records, altered, changes_of, distinct, shape_of
from evenhand.plans.goal import Goal
from evenhand.plans.search import columns_of


@dataclass(frozen=True, kw_only=True, eq=False)
class Confirmed:
    """The alterations that carried flips in one half of the texts, applied to the other half.

    Args:
        open: (directions, sides, texts) a learned alteration applies. won, moved: as in Records.
        unseen: (texts,) the half that they were applied to. changes: what was applied.
    """

    open: BoolArray
    won: BoolArray
    moved: FloatArray
    unseen: BoolArray
    changes: Changes

    @classmethod
    def empty(cls, laid: Field, unseen: BoolArray) -> Confirmed:
        """Nothing applied yet."""
        no, moved = np.zeros((2, *shape_of(laid)), dtype=np.bool_), np.zeros(shape_of(laid))
        return cls(open=no[0], won=no[1], moved=moved, unseen=unseen, changes=changes_of(laid))


class Halves(NamedTuple):
    """The texts (texts,) of which something is learned, and those on which it is confirmed."""

    seen: BoolArray
    unseen: BoolArray


def halves(texts: Sequence[int], n: int, share: float, seed: int, units: IntArray | None = None) -> Halves:
    """A random part `share` of the texts is kept for confirmation.

    Args:
        units: (n,) codes of whom each text is of; those of one stay together. None: every text is its own.
    """
    rng = np.random.default_rng([seed, 71])
    order = rng.permutation(np.array(sorted(texts), dtype=np.int64))
    cut = round(len(order) * share)
    if units is not None:  # one unit after the other, in the order in which their first text was drawn
        _, first, unit = np.unique(units[order], return_index=True, return_inverse=True)
        order = order[np.argsort(first[unit], kind="stable")]
        ends = np.flatnonzero(np.diff(units[order], append=-2)) + 1
        cut = int(ends[np.argmin(np.abs(ends - cut))]) if len(ends) > 1 else len(order)
    seen, unseen = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    unseen[order[:cut]] = True
    seen[order[cut:]] = True
    return Halves(seen, unseen)


@dataclass(frozen=True, kw_only=True, eq=False)
class Lexicon:
    """How much each edge of the pool carried in the texts seen, for every direction and side.

    Args:
        edges: in the pool. codes: ascending, (direction · sides + side) · edges + edge. worth: of each.
    """

    edges: int
    codes: IntArray
    worth: FloatArray

    def of(self, options: IntArray) -> FloatArray:
        """The worth of (directions, sides, …) edges; 0 for those that carried nothing and for −1."""
        lists = np.arange(options.shape[0] * options.shape[1]).reshape(*options.shape[:2], 1, 1)
        code = np.where(options >= 0, lists * self.edges + options, -1)
        at = np.minimum(np.searchsorted(self.codes, code), len(self.codes) - 1)
        return np.where(self.codes[at] == code, self.worth[at], 0.0)


def learned(laid: Field, records: Records, seen: BoolArray) -> Lexicon:
    """What carried.

    Flips count first, the fall of the loss decides between equals; a change of several words shares its
    worth.
    """
    state = records.changes.state
    keys = np.argwhere((state >= 0) & seen)
    where = tuple(keys.T)
    sizes, _, edges = records.changes.within(state[where])
    worth = (records.won[where] + 1e-6 * np.tanh(records.moved[where])) / np.maximum(sizes, 1)
    n = len(laid.pool.candidate)
    codes, of = np.unique(
        np.repeat(keys[:, 0] * state.shape[1] + keys[:, 1], sizes) * n + edges, return_inverse=True
    )
    carried = np.zeros(len(codes))
    np.add.at(carried, of, np.repeat(worth, sizes))
    return Lexicon(edges=n, codes=codes, worth=carried)


def plan_confirmation(
    field: Field,
    goal: Goal,
    records: Sequence[Records],
    parts: Halves,
    *,
    max_changed: float,
    chunk: int = 5_000,
) -> tuple[Plan, list[Confirmed]]:
    """One altered text for each unseen text, direction and side, with the best learned alterations; one query
    each.

    Args:
        records: of the strata; each is confirmed by what it learned itself.
    """
    made = [Confirmed.empty(field, parts.unseen) for _ in records]

    def plan() -> Plan:
        lexicons = [learned(field, one, parts.seen) for one in records]
        waiting: list[_Applied] = []
        for t in np.flatnonzero(parts.unseen).tolist():
            limit = field.most_changes(t, max_changed)
            if limit and field.open_sites(t):
                options = field.options(t)
                for lexicon, one in zip(lexicons, made, strict=True):
                    waiting += _applied(field, lexicon, options, t, limit, one)
            if sum(len(applied.texts) for applied in waiting) >= chunk:
                yield from _settle(waiting, goal)
                waiting = []
        if waiting:
            yield from _settle(waiting, goal)

    return plan(), made


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class _Applied:
    """What is asked for one unseen text: which of its altered `texts` each direction and side has (`owner`;
    −1 for none)."""

    text: int
    into: Confirmed
    owner: IntArray
    texts: list[str]


def _applied(
    field: Field, lexicon: Lexicon, options: IntArray, t: int, limit: int, into: Confirmed
) -> Iterator[_Applied]:
    """The best learned alteration of each place, at the best places."""
    if not len(lexicon.codes):
        return
    open_ = np.array(field.open_sites(t), dtype=np.int64)
    worth = lexicon.of(options)
    best = worth.max(axis=3)
    # among equals the last word of the vocabulary
    rows = np.where((worth == best[..., None]) & (options >= 0), field.pool.candidate[options], -1)
    edge = np.take_along_axis(options, rows.argmax(axis=3)[..., None], axis=3)[..., 0]
    place = np.argsort(-best, axis=2, kind="stable")[:, :, :limit]
    used = np.take_along_axis(best, place, axis=2) > 0
    edges = np.where(used, np.take_along_axis(edge, place, axis=2), -1)
    sites = np.where(used, open_[place], -1)
    first, owner = distinct(np.concatenate([sites, edges], axis=2).reshape(-1, 2 * edges.shape[2]))
    if not len(first):
        return
    owner = owner.reshape(edges.shape[:2])
    sites, edges = sites.reshape(-1, sites.shape[2])[first], edges.reshape(-1, edges.shape[2])[first]
    into.changes.add(t, owner, sites, edges)
    words = field.pool.candidate[edges]
    texts = [
        altered(field, t, tuple((s, row) for s, row in zip(places, listed, strict=True) if s >= 0))
        for places, listed in zip(sites.tolist(), words.tolist(), strict=True)
    ]
    yield _Applied(text=t, into=into, owner=owner, texts=texts)


def _settle(waiting: Sequence[_Applied], goal: Goal) -> Plan:
    inputs = [text for applied in waiting for text in applied.texts]
    places = {text: i for i, text in enumerate(dict.fromkeys(inputs))}
    replies = yield Probes(inputs=list(places))
    scores = columns_of(replies, goal.names, len(places))[[places[text] for text in inputs]]
    losses, wins = goal(scores, np.repeat([a.text for a in waiting], [len(a.texts) for a in waiting]))
    at = 0
    for applied in waiting:
        loss, won = losses[at : at + len(applied.texts)], wins[at : at + len(applied.texts)]
        at += len(applied.texts)
        t, made, owner = applied.text, applied.into, applied.owner
        here = (owner >= 0) & np.isfinite(loss)[owner]
        made.open[:, :, t][here] = True
        made.won[:, :, t][here] = won[owner[here]]
        made.moved[:, :, t][here] = goal.base_loss[t] - loss[owner[here]]

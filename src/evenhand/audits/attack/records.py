"""What the searches of an attack found, as arrays over directions, sides and texts."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from evenhand._model import BoolArray, FloatArray, IntArray
from evenhand.audits.attack.field import Field
from evenhand.plans.search import Outcomes, TextTasks

Moves: TypeAlias = tuple[tuple[int, int], ...]
"""(site, row of the word that stands there now), in the order of the changes."""
Key: TypeAlias = tuple[int, int, int]
"""(direction, side, text)."""


@dataclass(kw_only=True)
class Changes:
    """Which words were changed; states that many directions share are held once.

    Args:
        state: (directions, sides, texts) number of the state; −1 where nothing was changed.
        rows: of the pool's edges, the word that comes in.
    """

    state: IntArray
    rows: IntArray
    _count: int = 0
    _sizes: list[IntArray] = field(default_factory=list)
    _sites: list[IntArray] = field(default_factory=list)
    _edges: list[IntArray] = field(default_factory=list)

    def add(self, text: int, owner: IntArray, sites: IntArray, edges: IntArray) -> None:
        """States of one text.

        Args:
            owner: (directions, sides) which of the states; −1 for none.
            sites, edges: (n, depth) of each change in its order, −1 behind the last.
        """
        sizes = (edges >= 0).sum(axis=1)
        numbers = np.append(np.where(sizes > 0, np.arange(len(sizes)) + self._count, -1), -1)
        self.state[:, :, text] = np.where(owner >= 0, numbers[owner], self.state[:, :, text])
        self._count += len(sizes)
        self._sizes.append(sizes)
        self._sites.append(sites[edges >= 0])
        self._edges.append(edges[edges >= 0])

    def within(self, states: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """(number of changes of each of some states; site, edge of all these changes, one state behind the
        other)."""
        for parts in (self._sizes, self._sites, self._edges):
            parts[:] = [np.concatenate([np.empty(0, dtype=np.int64), *parts])]
        sizes = self._sizes[0][states]
        begin = (np.cumsum(self._sizes[0]) - self._sizes[0])[states]
        at = np.arange(sizes.sum()) + np.repeat(begin - (np.cumsum(sizes) - sizes), sizes)
        return sizes, self._sites[0][at], self._edges[0][at]

    def select(self, chosen: BoolArray) -> list[tuple[Key, Moves]]:
        """The changes of some (directions, sides, texts), in their order; without those where nothing was
        changed."""
        keys = np.argwhere(chosen & (self.state >= 0))
        sizes, sites, edges = self.within(self.state[tuple(keys.T)])
        moves = zip(sites.tolist(), self.rows[edges].tolist(), strict=True)
        return [
            ((k, s, t), tuple(islice(moves, size)))
            for (k, s, t), size in zip(keys.tolist(), sizes.tolist(), strict=True)
        ]

    def first(self, chosen: BoolArray) -> list[tuple[Key, Moves]]:
        """Of the direction itself, not its placebos."""
        only = np.zeros(chosen.shape, dtype=np.bool_)
        only[:1] = chosen[:1]
        return self.select(only)


@dataclass(kw_only=True)
class Records:
    """What the searches found: arrays of shape (directions, sides, texts), the axis first, then its placebos.

    Args:
        open: the text has an alterable word there. won: the goal was reached. moved: by how much the loss
            fell.
        changed: words changed. queries: states asked for; evaluations: with repeats.
        single: mean fall of the loss over all single changes.
        options_seen: candidates a text had. done: (texts,) all its searches ended.
        changes: which words the searches that found something changed.
    """

    open: BoolArray
    won: BoolArray
    moved: FloatArray
    changed: IntArray
    queries: IntArray
    evaluations: IntArray
    single: FloatArray
    options_seen: IntArray
    done: BoolArray
    changes: Changes

    @classmethod
    def empty(cls, laid: Field) -> Records:
        """Nothing found yet."""
        shape = shape_of(laid)
        return cls(
            open=np.zeros(shape, dtype=np.bool_),
            won=np.zeros(shape, dtype=np.bool_),
            moved=np.zeros(shape),
            changed=np.zeros(shape, dtype=np.int32),
            queries=np.zeros(shape, dtype=np.int32),
            evaluations=np.zeros(shape, dtype=np.int32),
            single=np.full(shape, np.nan),
            options_seen=np.zeros(shape, dtype=np.int32),
            done=np.zeros(shape[2], dtype=np.bool_),
            changes=changes_of(laid),
        )

    def add(
        self, tasks: TextTasks, owner: IntArray, found: Outcomes, sites: IntArray, edges: IntArray
    ) -> None:
        """The outcomes of a text's searches.

        Args:
            owner: (directions, sides) which of the searches; −1 for none. sites, edges: of the text's
                changes.
        """
        at = owner >= 0
        changed = found.changes >= 0
        self.open[:, :, tasks.number][at] = tasks.limit > 0
        for records, values in (
            (self.won, found.won),
            (self.moved, np.where(np.isfinite(found.loss), tasks.base_loss - found.loss, 0.0)),
            (self.changed, changed.sum(axis=1)),
            (self.queries, found.queries),
            (self.evaluations, found.evaluations),
            (self.single, found.single_mean),
            (self.options_seen, (tasks.tasks >= 0).sum(axis=1)),
        ):
            records[:, :, tasks.number][at] = values[owner[at]]
        self.changes.add(
            tasks.number,
            owner,
            np.where(changed, sites[found.changes], -1),
            np.where(changed, edges[found.changes], -1),
        )


def shape_of(laid: Field) -> tuple[int, int, int]:
    """(directions, sides, texts)."""
    return laid.directions, len(laid.axis.sides), len(laid.sites)


def changes_of(laid: Field) -> Changes:
    """No changes yet."""
    return Changes(state=np.full(shape_of(laid), -1, dtype=np.int64), rows=laid.pool.candidate)


def altered(laid: Field, text: int, moves: Moves) -> str:
    """A text with words replaced."""
    raw, sites = laid.contexts.texts[text], laid.sites[text]
    pieces, at = [], 0
    for s, row in sorted(moves):
        site = sites[s]
        pieces += [raw[at : site.start], site.spelled(laid.vectors.words[row])]
        at = site.end
    return "".join([*pieces, raw[at:]])


def distinct(rows: npt.NDArray[Any]) -> tuple[IntArray, IntArray]:
    """(where each distinct row is first met, which of them each row is); a row of nothing but −1 is none:
    −1."""
    number = np.full(len(rows), -1, dtype=np.int64)
    some = np.flatnonzero((rows >= 0).any(axis=1))
    width = rows.itemsize * rows.shape[1]
    joined = rows[some].tobytes()
    known: dict[bytes, int] = {}
    number[some] = [
        known.setdefault(joined[i * width : (i + 1) * width], len(known)) for i in range(len(some))
    ]
    first = np.full(len(known), -1, dtype=np.int64)
    first[number[some][::-1]] = some[::-1]
    return first, number


def rate_over(won: npt.NDArray[Any], over: npt.NDArray[Any]) -> FloatArray:
    """Share of `over` that won, along the last axis; 0 where there is nothing."""
    n = over.sum(axis=-1)
    return np.asarray(np.where(n > 0, (won & over).sum(axis=-1) / np.maximum(n, 1), 0.0))

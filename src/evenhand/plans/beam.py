"""Beam search: all single changes first, then only those combinations that the single changes promise most
of.

All tasks of a block are searched together, as arrays: a row for every state, sorted by task.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand._model import BoolArray, FloatArray, IntArray
from evenhand.plans.search import Outcomes, Search, SearchBlock, States

WORD = 62
"""Changes whose membership fits into one integer."""


def beam(block: SearchBlock, /, *, max_queries: int, width: int = 1, branch: int = 12) -> Search:
    """The default search: of all that were measured, the most flips for each distinct query.

    The loss of a combination is foretold as the loss of the state that it continues plus the effect that the
    further change has alone; only the `width` most promising are asked. That is exact for an additive model,
    and a ranking for others. Among equal promises the combination of earlier single changes goes first.

    Args:
        width: states asked and kept at each depth. branch: places whose best single change may be combined.
    """
    best = _Best.of(block)
    mean = np.full(len(block), np.nan)
    nth = _rank(block.task)
    tried = (nth < max_queries) & (block.limit[block.task] > 0)
    task, change, nth = block.task[tried], block.change[tried], nth[tried]
    if not len(task):
        return best.outcomes(mean)
    loss, won = yield States(task=task, changes=change[:, None])
    finite = np.isfinite(loss)
    count = np.bincount(task[finite], minlength=len(block))
    total = np.bincount(task[finite], weights=loss[finite], minlength=len(block))
    mean[count > 0] = (block.base_loss - total / np.maximum(count, 1))[count > 0]
    order = np.lexsort((loss, task))
    task, loss, change, nth = task[order], loss[order], change[order], nth[order]
    best.take(task, loss, won[order], change[:, None])
    on = ~best.won[task] & (block.limit[task] > 1) & (width > 0)
    steps, front = _start(block, task[on], loss[on], change[on], nth[on], width, branch)
    depth = 1
    while True:
        front = front.only(~best.won[front.task] & (block.limit[front.task] > depth))
        front = _children(front, steps, width, max_queries - best.queries)
        if not len(front.task):
            return best.outcomes(mean)
        loss, won = yield States(task=front.task, changes=front.changes)
        order = np.lexsort((loss, front.task))
        front = front.only(order, loss)
        best.take(front.task, front.loss, won[order], front.changes)
        front = front.only(np.isfinite(front.loss))
        depth += 1


def single(block: SearchBlock, /, *, max_queries: int) -> Search:
    """No search: every single change once, and the best of them."""
    return beam(block, max_queries=max_queries, width=0)


@dataclass(kw_only=True)
class _Best:
    """The best state of every task so far; a win beats any loss."""

    won: BoolArray
    loss: FloatArray
    queries: IntArray
    changes: IntArray

    @classmethod
    def of(cls, block: SearchBlock) -> _Best:
        n = len(block)
        return cls(
            won=np.zeros(n, dtype=np.bool_),
            loss=block.base_loss.copy(),
            queries=np.zeros(n, dtype=np.int64),
            changes=np.full((n, 0), -1, dtype=np.int64),
        )

    def take(self, task: IntArray, loss: FloatArray, won: BoolArray, changes: IntArray) -> None:
        """What was asked at one depth, sorted by task and loss."""
        self.queries += np.bincount(task, minlength=len(self.queries))
        deeper = changes.shape[1] - self.changes.shape[1]
        self.changes = np.pad(self.changes, ((0, 0), (0, deeper)), constant_values=-1)
        first = np.flatnonzero(_begins(task))
        lower = first[loss[first] < self.loss[task[first]]]
        winners = np.flatnonzero(won)
        winners = winners[_begins(task[winners])]
        for rows in (lower, winners):
            self.loss[task[rows]] = loss[rows]
            self.changes[task[rows]] = changes[rows]
        self.won[task[winners]] = True

    def outcomes(self, mean: FloatArray) -> Outcomes:
        return Outcomes(
            changes=self.changes,
            won=self.won,
            loss=self.loss,
            queries=self.queries,
            evaluations=self.queries,
            single_mean=mean,
        )


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class _Steps:
    """The best single change of each place, best first, for the best places of each task.

    Args:
        effect: (n, branch) what it adds to the loss; inf where there are fewer. change: its number.
        bits: (n, branch, words) its bit among the changes that the task can combine.
    """

    effect: FloatArray
    change: IntArray
    bits: IntArray


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class _Front:
    """The states that are continued, sorted by task and loss.

    Args:
        task, loss: (r,). changes: (r, depth). bits: (r, words) the changes as a set.
        closed: (r, branch) steps to a place that the state has changed.
    """

    task: IntArray
    loss: FloatArray
    changes: IntArray
    bits: IntArray
    closed: BoolArray

    def only(self, rows: IntArray | BoolArray, loss: FloatArray | None = None) -> _Front:
        """Some of the rows; with losses that have become known."""
        return _Front(
            task=self.task[rows],
            loss=(self.loss if loss is None else loss)[rows],
            changes=self.changes[rows],
            bits=self.bits[rows],
            closed=self.closed[rows],
        )


def _start(
    block: SearchBlock,
    task: IntArray,
    loss: FloatArray,
    change: IntArray,
    nth: IntArray,
    width: int,
    branch: int,
) -> tuple[_Steps, _Front]:
    """From all single changes, sorted by task and loss (`nth`: which of its task): the steps, and the first
    front."""
    finite = np.flatnonzero(np.isfinite(loss))
    place = block.place[change]
    pair = task[finite] * (int(place.max(initial=-1)) + 1) + place[finite]
    rows = finite[np.sort(np.unique(pair, return_index=True)[1])]
    column = _rank(task[rows])
    rows, column = rows[column < branch], column[column < branch]
    front = finite[_rank(task[finite]) < width]
    shape = (len(block), int(column.max(initial=-1)) + 1)
    effect, number = np.full(shape, np.inf), np.full(shape, -1, dtype=np.int64)
    effect[task[rows], column] = loss[rows] - block.base_loss[task[rows]]
    number[task[rows], column] = change[rows]
    where = np.full(shape, -1, dtype=np.int64)
    where[task[rows], column] = place[rows]
    bits = _bits(task[np.concatenate([rows, front])], nth[np.concatenate([rows, front])])
    of_step = np.zeros((*shape, bits.shape[1]), dtype=np.int64)
    of_step[task[rows], column] = bits[: len(rows)]
    steps = _Steps(effect=effect, change=number, bits=of_step)
    return steps, _Front(
        task=task[front],
        loss=loss[front],
        changes=change[front, None],
        bits=bits[len(rows) :],
        closed=where[task[front]] == place[front, None],
    )


def _bits(task: IntArray, nth: IntArray) -> IntArray:
    """(r, words) a bit for each change among those of its task, the higher the later it was tried; low words
    first."""
    size = int(nth.max(initial=-1)) + 1
    code = task * size + nth
    used = np.unique(code)
    at = np.searchsorted(used, code) - np.searchsorted(used, task * size)
    made = np.zeros((len(code), int(at.max(initial=0)) // WORD + 1), dtype=np.int64)
    made[np.arange(len(code)), at // WORD] = np.left_shift(1, at % WORD)
    return made


def _children(front: _Front, steps: _Steps, width: int, room: IntArray) -> _Front:
    """The combinations of a state with one more change that promise the lowest loss: `width` for a task, if
    it has `room`."""
    if not len(front.task):
        return front
    promise = front.loss[:, None] + steps.effect[front.task]
    promise[front.closed] = np.inf
    worth = np.isfinite(promise)
    if promise.shape[1] > width:
        # the children of one state are all different, so `width` of a task's are as good as this
        most = np.partition(promise, width - 1, axis=1)[:, width - 1]
        begins = _begins(front.task)
        worth &= promise <= np.minimum.reduceat(most, np.flatnonzero(begins))[np.cumsum(begins) - 1, None]
    parent, column = np.nonzero(worth)
    task, promised = front.task[parent], promise[parent, column]
    bits = front.bits[parent] | steps.bits[task, column]
    order = np.lexsort((promised, *bits.T, task))
    fresh = _begins(task[order])
    fresh[1:] |= (bits[order[1:]] != bits[order[:-1]]).any(axis=1)
    order = order[fresh]
    order = order[np.lexsort((promised[order], task[order]))]
    order = order[_rank(task[order]) < np.minimum(room, width)[task[order]]]
    parent, column, task = parent[order], column[order], task[order]
    closed = front.closed[parent]
    closed[np.arange(len(parent)), column] = True
    return _Front(
        task=task,
        loss=promised[order],
        changes=np.column_stack([front.changes[parent], steps.change[task, column]]),
        bits=bits[order],
        closed=closed,
    )


def _begins(ascending: IntArray) -> BoolArray:
    """Where a run of equal numbers begins."""
    made = np.ones(len(ascending), dtype=np.bool_)
    made[1:] = ascending[1:] != ascending[:-1]
    return made


def _rank(ascending: IntArray) -> IntArray:
    """0, 1, 2 … within every run of equal numbers."""
    begins = np.flatnonzero(_begins(ascending))
    return np.arange(len(ascending)) - np.repeat(begins, np.diff(np.append(begins, len(ascending))))

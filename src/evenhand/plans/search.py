"""Word-substitution searches in lockstep: the searches of many texts ask at once, equal texts are asked once.

A search is a generator over a whole block of tasks: it yields states and is sent (losses, wins); it does no
I/O and knows neither texts nor subject. The allowed words of every place are fixed on the original text, so
that the order of changes does not matter.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import accumulate
from typing import Any, Protocol, TypeAlias

import numpy as np

from evenhand._errors import UsageError
from evenhand._model import BoolArray, FloatArray, IntArray, Plan, Probes, Replies

SEARCHES: dict[str, str] = {
    "single": "evenhand.plans.beam:single",
    "beam": "evenhand.plans.beam:beam",
    "greedy": "evenhand.plans.greedy:greedy",
    "exhaustive": "evenhand.plans.exhaustive:exhaustive",
    "genetic": "evenhand.plans.genetic:genetic",
    "genetic-practice": "evenhand.plans.genetic:genetic_practice",
}
"""Name → "module:function"; a function takes a SearchBlock and keywords and returns a Search."""


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class TextTasks:
    """One text, every change that its searches may make, and the searches.

    Changes are numbered place by place; the first of each place leaves the word out.

    Args:
        text: as it is. number: by which `Judges` knows it.
        place: (m,) of each change, ascending. spans: (m,) the characters that it replaces. words: (m,) what
            then stands there.
        tasks: (n, k) the changes that each search may make, in the order in which it tries them; −1 where
            there are fewer.
        limit: most places that may be changed. base_loss: of the unchanged text.
        seeds: (n,) for searches that draw. key: of the caller.
    """

    text: str
    number: int
    place: IntArray
    spans: Sequence[tuple[int, int]]
    words: Sequence[str]
    tasks: IntArray
    limit: int
    base_loss: float
    seeds: IntArray
    key: Any = None


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class SearchBlock:
    """The tasks of some texts, numbered through, and their changes and places, numbered through too.

    Args:
        parts: the texts. first: (parts,) number of the first change of each.
        text: (n,) part of each task, ascending. task, change: (N,) the changes of every task in the order of
            trial.
        place: (M,) of each change. limit, base_loss, seed: (n,) of each task.
    """

    parts: tuple[TextTasks, ...]
    first: IntArray
    text: IntArray
    task: IntArray
    change: IntArray
    place: IntArray
    limit: IntArray
    base_loss: FloatArray
    seed: IntArray

    @classmethod
    def of(cls, parts: Sequence[TextTasks]) -> SearchBlock:
        """The block of these texts."""
        sizes = [len(p.tasks) for p in parts]
        first = _starts(len(p.place) for p in parts)
        places, tasks = _starts(int(p.place.max(initial=-1)) + 1 for p in parts), _starts(sizes)
        owners, changes = [], []
        for part, task, number in zip(parts, tasks.tolist(), first.tolist(), strict=True):
            rows, columns = np.nonzero(part.tasks >= 0)
            owners.append(rows + task)
            changes.append(part.tasks[rows, columns] + number)
        return cls(
            parts=tuple(parts),
            first=first,
            text=np.repeat(np.arange(len(parts)), sizes),
            task=_joined(owners),
            change=_joined(changes),
            place=_joined([p.place + at for p, at in zip(parts, places, strict=True)]),
            limit=np.repeat(np.array([p.limit for p in parts], dtype=np.int64), sizes),
            base_loss=np.repeat(np.array([p.base_loss for p in parts]), sizes),
            seed=_joined([p.seeds for p in parts]),
        )

    def __len__(self) -> int:
        return len(self.text)


def _starts(sizes: Iterable[int]) -> IntArray:
    """Where each of some runs begins."""
    return np.array([0, *accumulate(sizes)][:-1], dtype=np.int64)


def _joined(arrays: Sequence[IntArray]) -> IntArray:
    return np.concatenate(arrays).astype(np.int64) if arrays else np.empty(0, dtype=np.int64)


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class States:
    """What a block asks for: (r,) the task of each state, ascending, and its changes (r, depth), −1 behind
    the last."""

    task: IntArray
    changes: IntArray


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Outcomes:
    """How searches ended.

    Args:
        changes: (n, depth) the best state that each found, in the order of the changes, −1 behind the last;
            none where nothing was better than the text itself.
        won: (n,) whether the goal was reached. loss: of that state. queries: states asked for.
        evaluations: states looked at, each time that the search came back to one.
        single_mean: (n,) by how much single changes lowered the loss on average; NaN where the search did not
            ask them.
    """

    changes: IntArray
    won: BoolArray
    loss: FloatArray
    queries: IntArray
    evaluations: IntArray
    single_mean: FloatArray

    def of(self, tasks: slice, first: int) -> Outcomes:
        """Those of one text, its changes numbered from 0."""
        changes = self.changes[tasks]
        return Outcomes(
            changes=np.where(changes >= 0, changes - first, -1),
            won=self.won[tasks],
            loss=self.loss[tasks],
            queries=self.queries[tasks],
            evaluations=self.evaluations[tasks],
            single_mean=self.single_mean[tasks],
        )


Search: TypeAlias = Generator[States, tuple[FloatArray, BoolArray], Outcomes]


class MakesSearch(Protocol):
    """The signature of every search."""

    def __call__(self, block: SearchBlock, /, *, max_queries: int) -> Search: ...


class Judges(Protocol):
    """Turns scores into losses: (scores (n, k), text of each row (n,)) → (loss (n,), won (n,))."""

    def __call__(self, scores: FloatArray, texts: Any, /) -> tuple[FloatArray, BoolArray]: ...


def search(name: str, **options: Any) -> MakesSearch:
    """A search by name, with its options set.

    Raises:
        UsageError: `unknown-search`, `search-options`.
    """
    if name not in SEARCHES:
        raise UsageError("unknown-search", "there is no such search", given=name, available=sorted(SEARCHES))
    module, _, attribute = SEARCHES[name].partition(":")
    function = getattr(import_module(module), attribute)
    known = [p for p in inspect.signature(function).parameters if p not in _NOT_OPTIONS]
    for option in options:
        if option not in known:
            raise UsageError(
                "search-options", f"the search {name!r} has no such option", given=option, available=known
            )
    made: MakesSearch = partial(function, **options)
    return made


_NOT_OPTIONS = frozenset({"block", "problem", "max_queries", "seed"})


class _Memory:
    """The texts that were asked in a block, and their scores."""

    def __init__(self, block: SearchBlock, columns: int) -> None:
        self.block = block
        self.scores: FloatArray = np.empty((0, columns))
        self._row: dict[str, int] = {}

    def wanted(self, states: States) -> tuple[list[str], IntArray]:
        """Texts not asked before in this block, and the memory's row of every state; equal states are
        rendered once."""
        sets = np.sort(states.changes, axis=1)
        parts = self.block.text[states.task]
        first, number = _distinct(parts, sets, len(self.block.place))
        known, asked, rows = self._row, [], []
        parts = parts[first]
        local = sets[first] - self.block.first[parts][:, None]
        for text in _rendered([self.block.parts[p] for p in parts.tolist()], local.tolist()):
            row = known.get(text)
            if row is None:
                row = known[text] = len(known)
                asked.append(text)
            rows.append(row)
        return asked, np.array(rows, dtype=np.int64)[number]


def _rendered(parts: Sequence[TextTasks], sets: Sequence[Sequence[int]]) -> Iterator[str]:
    """Each text with some of its words changed: numbers of changes, ascending, what is below 0 left out."""
    for part, changes in zip(parts, sets, strict=True):
        text, spans, words = part.text, part.spans, part.words
        made, at = "", 0
        for change in changes:
            if change >= 0:
                start, end = spans[change]
                made += f"{text[at:start]}{words[change]}"
                at = end
        yield made + text[at:]


def _distinct(parts: IntArray, sets: IntArray, changes: int) -> tuple[IntArray, IntArray]:
    """(first row of each distinct text and set of changes, which of these each row is), in the order of the
    rows."""
    key, size = parts, int(parts.max(initial=0)) + 1
    for column in sets.T:
        if size * (changes + 1) > np.iinfo(np.int64).max:
            key, size = np.unique(key, return_inverse=True)[1], len(key)
        key, size = key * (changes + 1) + column + 1, size * (changes + 1)
    _, first, number = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[number]


def lockstep(
    blocks: Iterable[Sequence[TextTasks]],
    make: MakesSearch,
    judge: Judges,
    *,
    names: Sequence[str],
    max_queries: int,
    into: Callable[[TextTasks, Outcomes], None],
) -> Plan:
    """Run all searches of a block side by side: one batch of probes per step, then the next block.

    Args:
        names: scores of the replies that become the columns `judge` reads.
        into: called with every text of a block and the outcomes of its tasks when the block has ended.
    """
    for parts in blocks:
        block = SearchBlock.of(parts)
        number = np.array([p.number for p in parts], dtype=np.int64)[block.text]
        memory = _Memory(block, len(names))
        current = make(block, max_queries=max_queries)
        answer: tuple[FloatArray, BoolArray] | None = None
        while True:
            try:
                states = next(current) if answer is None else current.send(answer)
            except StopIteration as ended:
                outcomes: Outcomes = ended.value
                break
            asked, rows = memory.wanted(states)
            if asked:
                replies = yield Probes(inputs=asked)
                memory.scores = np.concatenate([memory.scores, columns_of(replies, names, len(asked))])
            loss, won = judge(memory.scores[rows], number[states.task])
            answer = np.where(np.isfinite(loss), loss, np.inf), won
        at = 0
        for part, first in zip(parts, block.first.tolist(), strict=True):
            into(part, outcomes.of(slice(at, at + len(part.tasks)), first))
            at += len(part.tasks)


def columns_of(replies: Replies, names: Sequence[str], n: int) -> FloatArray:
    """The named scores side by side, (n, k); NaN where a reply lacks one."""
    missing = np.full(n, np.nan)
    return np.column_stack([replies.scores.get(name, missing) for name in names])

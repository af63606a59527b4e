"""Word-substitution searches in lockstep: many searches ask at once, equal texts are asked once.

A search is a generator that yields states and is sent (losses, wins); it does no I/O and knows neither texts nor subject.
The allowed words of every place are fixed on the original text, so that the order of changes does not matter.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from itertools import islice
from typing import Any, Protocol, TypeAlias

import numpy as np

from evenhand._errors import UsageError
from evenhand._model import BoolArray, FloatArray, Plan, Probes, Replies

Move: TypeAlias = tuple[int, int]
"""(place, choice): `options[place][choice]` stands there; choice −1 leaves the word out."""
State: TypeAlias = tuple[Move, ...]
"""Moves in the order in which they were made; no place twice."""

SEARCHES: dict[str, str] = {
    "single": "evenhand.plans.beam:single",
    "beam": "evenhand.plans.beam:beam",
    "greedy": "evenhand.plans.greedy:greedy",
    "exhaustive": "evenhand.plans.exhaustive:exhaustive",
    "genetic": "evenhand.plans.genetic:genetic",
    "genetic-practice": "evenhand.plans.genetic:genetic_practice",
}
"""Name → "module:function"; a function takes a Problem and keywords and returns a Search."""


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Problem:
    """One text and the words that may stand at its alterable places.

    Args:
        pieces: the text cut at the places: between, word, between, word, …, between (2·places + 1 strings).
        options: per place the words that may stand there, best first.
        limit: most places that may be changed.
        base_loss: loss of the unchanged text.
    """

    pieces: tuple[str, ...]
    options: tuple[tuple[str, ...], ...]
    limit: int
    base_loss: float = 0.0

    def render(self, state: State) -> str:
        """The text in a state."""
        if len(state) == 1:
            ((place, choice),) = state
            before, after = _around(self.pieces)[place]
            return before + (self.options[place][choice] if choice >= 0 else "") + after
        parts = list(self.pieces)
        for place, choice in state:
            parts[2 * place + 1] = self.options[place][choice] if choice >= 0 else ""
        return "".join(parts)

    def singles(self, most: int) -> list[State]:
        """Every single change, the best candidate of every place first."""
        return list(_singles(tuple(map(len, self.options)), most)) if self.limit > 0 else []


@lru_cache(maxsize=1 << 12)
def _around(pieces: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """What stands before and behind each place of an otherwise unchanged text."""
    return tuple(("".join(pieces[:i]), "".join(pieces[i + 1 :])) for i in range(1, len(pieces), 2))


@lru_cache(maxsize=1 << 12)
def _singles(counts: tuple[int, ...], most: int) -> tuple[State, ...]:
    """The single changes of a problem with so many options at its places."""
    longest = max(counts, default=0)
    found = (((p, c),) for c in range(longest) for p, n in enumerate(counts) if c < n)
    return tuple(islice(found, most))


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """How a search ended.

    Args:
        state: the best it found; () where nothing was better than the text itself.
        won: whether the goal was reached. loss: of that state. queries: states it asked for.
        single_mean, single_most: by how much single changes lowered the loss, on average and at most; None where the
            search did not ask them all.
    """

    state: State
    won: bool
    loss: float
    queries: int
    single_mean: float | None = None
    single_most: float | None = None


Search: TypeAlias = Generator[list[State], tuple[list[float], list[bool]], Outcome]


class MakesSearch(Protocol):
    """The signature of every search."""

    def __call__(self, problem: Problem, /, *, max_queries: int, seed: int) -> Search: ...


class Judges(Protocol):
    """Turns scores into losses: (scores (n, k), text of each row (n,)) → (loss (n,), won (n,))."""

    def __call__(self, scores: FloatArray, texts: Any, /) -> tuple[FloatArray, BoolArray]: ...


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Task:
    """A search to be run: its text (a number that `Judges` knows), its problem, and a key for its outcome."""

    text: int
    problem: Problem
    key: Any
    seed: int = 0


def search(name: str, **options: Any) -> MakesSearch:
    """A search by name, with its options set.

    Raises:
        UsageError: `unknown-search`, `search-options`.
    """
    if name not in SEARCHES:
        raise UsageError("unknown-search", "there is no such search", given=name, available=sorted(SEARCHES))
    module, _, attribute = SEARCHES[name].partition(":")
    function = getattr(import_module(module), attribute)
    parameters = inspect.signature(function).parameters
    seeded = "seed" in parameters
    known = [p for p in parameters if p not in ("problem", "max_queries", "seed")]
    for option in options:
        if option not in known:
            raise UsageError(
                "search-options", f"the search {name!r} has no such option", given=option, available=known
            )

    def make(problem: Problem, /, *, max_queries: int, seed: int) -> Search:
        random = {"seed": seed} if seeded else {}
        made: Search = function(problem, max_queries=max_queries, **random, **options)
        return made

    return make


@dataclass(kw_only=True)
class _Memory:
    """Texts that were asked in this block, and their scores."""

    row: dict[str, int] = field(default_factory=dict)
    scores: list[FloatArray] = field(default_factory=list)

    def matrix(self) -> FloatArray:
        if len(self.scores) > 1:
            self.scores = [np.concatenate(self.scores)]
        return self.scores[0]


def lockstep(
    blocks: Iterable[Sequence[Task]],
    make: MakesSearch,
    judge: Judges,
    *,
    names: Sequence[str],
    max_queries: int,
    into: Callable[[Task, Outcome], None],
) -> Plan:
    """Run all searches of a block side by side: one batch of probes per step, then the next block.

    Args:
        names: scores of the replies that become the columns `judge` reads.
        into: called with every task and its outcome.
    """
    for block in blocks:
        memory = _Memory(scores=[np.empty((0, len(names)))])
        running: list[tuple[Task, Search, list[State]]] = []
        for task in block:
            started = make(task.problem, max_queries=max_queries, seed=task.seed)
            _advance(task, started, None, running, into)
        while running:
            asked, rows = _wanted(running, memory)
            if asked:
                replies = yield Probes(inputs=asked)
                memory.scores.append(columns_of(replies, names, len(asked)))
            owners = np.repeat([task.text for task, _, _ in running], [len(s) for _, _, s in running])
            loss, won = judge(memory.matrix()[rows], owners)
            losses, wins = np.where(np.isfinite(loss), loss, np.inf).tolist(), won.tolist()
            waiting, running, at = running, [], 0
            for task, current, states in waiting:
                part = (losses[at : at + len(states)], wins[at : at + len(states)])
                at += len(states)
                _advance(task, current, part, running, into)


def _advance(
    task: Task,
    current: Search,
    answer: tuple[list[float], list[bool]] | None,
    running: list[tuple[Task, Search, list[State]]],
    into: Callable[[Task, Outcome], None],
) -> None:
    try:
        while True:
            states = next(current) if answer is None else current.send(answer)
            if states:
                running.append((task, current, states))
                return
            answer = ([], [])
    except StopIteration as ended:
        into(task, ended.value)


def _wanted(
    running: Sequence[tuple[Task, Search, list[State]]], memory: _Memory
) -> tuple[list[str], list[int]]:
    """Texts not asked before in this block, and the memory's row of every state."""
    known, asked, rows = memory.row, [], []
    for task, _, states in running:
        render = task.problem.render
        for state in states:
            text = render(state)
            row = known.get(text)
            if row is None:
                row = known[text] = len(known)
                asked.append(text)
            rows.append(row)
    return asked, rows


def columns_of(replies: Replies, names: Sequence[str], n: int) -> FloatArray:
    """The named scores side by side, (n, k); NaN where a reply lacks one."""
    missing = np.full(n, np.nan)
    return np.column_stack([replies.scores.get(name, missing) for name in names])

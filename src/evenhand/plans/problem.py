"""Searches of one problem at a time, as generators, and how a block of them runs side by side."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeAlias

import numpy as np

from evenhand._model import BoolArray, FloatArray
from evenhand.plans.search import Outcomes, Search, SearchBlock, States

Move: TypeAlias = tuple[int, int]
"""(place, choice): `options[place][choice]` stands there; choice −1 leaves the word out."""
State: TypeAlias = tuple[Move, ...]
"""Moves in the order in which they were made; no place twice."""


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Problem:
    """One search: what may stand at the places of a text.

    Args:
        options: per place that can be altered the number of the change that leaves its word out, then its
            changes, best first.
        limit: most places that may be changed. base_loss: loss of the unchanged text.
    """

    options: tuple[tuple[int, ...], ...]
    limit: int
    base_loss: float = 0.0

    @property
    def counts(self) -> tuple[int, ...]:
        """How many words may stand at each place."""
        return tuple([len(choices) - 1 for choices in self.options])


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """How a search ended: the best state it found (() where nothing was better than the text itself), whether
    the goal was reached, the loss of that state, and how many states were asked for, and looked at.
    """

    state: State
    won: bool
    loss: float
    queries: int
    evaluations: int = 0


ProblemSearch: TypeAlias = Generator[list[State], tuple[list[float], list[bool]], Outcome]


def side_by_side(function: Callable[..., ProblemSearch]) -> Callable[..., Search]:
    """A search of whole blocks from a search of one problem; one with a parameter `seed` gets that of its
    task."""
    seeded = "seed" in inspect.signature(function).parameters

    @wraps(function)
    def made(block: SearchBlock, /, *, max_queries: int, **options: Any) -> Search:
        problems = list(_problems(block))
        seeds = [{"seed": seed} if seeded else {} for seed in block.seed.tolist()]
        running = {
            i: function(problem, max_queries=max_queries, **seed, **options)
            for i, (problem, seed) in enumerate(zip(problems, seeds, strict=True))
        }
        ended: dict[int, Outcome] = {}
        waiting = _advance(running, dict.fromkeys(running), ended)
        while waiting:
            tasks = [i for i, states in waiting.items() for _ in states]
            changes = [_changes(problems[i], s) for i, states in waiting.items() for s in states]
            losses, wins = yield States(task=np.array(tasks, dtype=np.int64), changes=_padded(changes))
            waiting = _advance(running, _shared(waiting, losses, wins), ended)
        found = [ended[i] for i in range(len(problems))]
        return Outcomes(
            changes=_padded([_changes(p, o.state) for p, o in zip(problems, found, strict=True)]),
            won=np.array([o.won for o in found], dtype=np.bool_),
            loss=np.array([o.loss for o in found]),
            queries=np.array([o.queries for o in found], dtype=np.int64),
            evaluations=np.array([max(o.evaluations, o.queries) for o in found], dtype=np.int64),
            single_mean=np.full(len(found), np.nan),
        )

    return made


Answer: TypeAlias = tuple[list[float], list[bool]]


def _advance(
    running: dict[int, ProblemSearch], answers: dict[int, Any], ended: dict[int, Outcome]
) -> dict[int, list[State]]:
    """Sends every search its answer (None: it starts); what those that go on want to know next."""
    waiting: dict[int, list[State]] = {}
    for i, answer in answers.items():
        try:
            states: list[State] = []
            while not states:
                states = next(running[i]) if answer is None else running[i].send(answer)
                answer = ([], [])
            waiting[i] = states
        except StopIteration as end:
            ended[i] = end.value
    return waiting


def _shared(waiting: dict[int, list[State]], losses: FloatArray, wins: BoolArray) -> dict[int, Answer]:
    """Every search's part of the answers."""
    loss, won, at, found = losses.tolist(), wins.tolist(), 0, {}
    for i, states in waiting.items():
        found[i] = (loss[at : at + len(states)], won[at : at + len(states)])
        at += len(states)
    return found


def _problems(block: SearchBlock) -> Iterator[Problem]:
    begin = np.searchsorted(block.task, np.arange(len(block) + 1)).tolist()
    removal = np.searchsorted(block.place, np.arange(int(block.place.max(initial=-1)) + 1)).tolist()
    for i in range(len(block)):
        changes = block.change[begin[i] : begin[i + 1]]
        options: dict[int, list[int]] = {}
        for place, change in zip(block.place[changes].tolist(), changes.tolist(), strict=True):
            options.setdefault(place, [removal[place]]).append(change)
        yield Problem(
            options=tuple([tuple(options[p]) for p in sorted(options)]),
            limit=int(block.limit[i]),
            base_loss=float(block.base_loss[i]),
        )


def _changes(problem: Problem, state: State) -> list[int]:
    return [problem.options[place][choice + 1] for place, choice in state]


def _padded(rows: Sequence[Sequence[int]]) -> Any:
    made = np.full((len(rows), max(map(len, rows), default=0)), -1, dtype=np.int64)
    for i, row in enumerate(rows):
        made[i, : len(row)] = row
    return made


__all__ = ["Move", "Outcome", "Problem", "ProblemSearch", "State", "side_by_side"]

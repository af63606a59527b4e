"""Genetic search: as published (Alzantot et al. 2018, algorithm 1) and as the practice runs it."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from evenhand._model import FloatArray
from evenhand.plans.problem import Move, Outcome, Problem, ProblemSearch, State, side_by_side

Answer: TypeAlias = tuple[list[float], list[bool]]


@side_by_side
def genetic(
    problem: Problem,
    *,
    max_queries: int,
    seed: int = 0,
    population: int = 60,
    generations: int = 20,
    keep: int = 4,
    temperature: float = 0.3,
) -> ProblemSearch:
    """As published: words drawn ∝ their number of neighbours, the best of `keep` candidates, which must
    improve; elitism; parents by softmax(F/temperature); uniform crossover; success only where at most the
    allowed share of words changed.
    """
    rng = np.random.default_rng(seed)
    counts = problem.counts
    sizes = np.array(counts, dtype=float)
    if problem.limit < 1 or not sizes.sum():
        return Outcome(state=(), won=False, loss=problem.base_loss, queries=0)
    run = _Run(problem, max_queries)
    members: list[State] = [()] * population
    losses = [problem.base_loss] * population
    for generation in range(generations + 1):
        if generation:
            fitness = -np.array(losses)
            chance = _softmax(fitness / temperature)
            couples = rng.choice(population, size=(population - 1, 2), p=chance)
            best = int(np.argmin(losses))
            children = [_uniform(members[a], members[b], rng) for a, b in couples]
            fresh, fresh_wins = yield from run.ask(children)
            members, losses = [members[best], *children], [losses[best], *fresh]
            if run.first(children, fresh, fresh_wins):
                break
        places = rng.choice(len(sizes), size=population, p=sizes / sizes.sum())
        drawn = [
            rng.permutation(counts[p])[:keep] if counts[p] > keep else np.arange(counts[p]) for p in places
        ]
        variants = [
            [_set(m, int(p), int(c)) for c in d] for m, p, d in zip(members, places, drawn, strict=True)
        ]
        flat = [v for group in variants for v in group]
        answers, wins = yield from run.ask(flat)
        if run.first(flat, answers, wins):
            break
        at = 0
        for i, group in enumerate(variants):
            part = answers[at : at + len(group)]
            at += len(group)
            best = int(np.argmin(part)) if part else -1
            if best >= 0 and part[best] < losses[i]:
                members[i], losses[i] = group[best], part[best]
        if run.spent:
            break
    return run.outcome(members, losses)


@side_by_side
def genetic_practice(
    problem: Problem,
    *,
    max_queries: int,
    seed: int = 0,
    population: int = 60,
    generations: int = 20,
    temperature: float = 0.3,
) -> ProblemSearch:
    """As the practice runs it: every start has one random word altered; single random cut point; one random
    word of each child mutated; children beyond the allowed share of changed words are dropped; ends at a
    flip.
    """
    rng = np.random.default_rng(seed)
    counts = problem.counts
    if problem.limit < 1 or not counts:
        return Outcome(state=(), won=False, loss=problem.base_loss, queries=0)
    run = _Run(problem, max_queries)

    def mutated(state: State) -> State:
        place = int(rng.integers(len(counts)))
        return _set(state, place, int(rng.integers(counts[place])))

    members = [mutated(()) for _ in range(population)]
    losses, wins = yield from run.ask(members)
    for _ in range(generations):
        if run.first(members, losses, wins) or run.spent:
            break
        chance = _softmax(-np.array(losses) / temperature)
        couples = rng.choice(len(members), size=(population, 2), p=chance)
        children = []
        for a, b in couples:
            cut = int(rng.integers(1, len(counts))) if len(counts) > 1 else 0
            child = mutated(_cut(members[a], members[b], cut))
            children.append(child if len(child) <= problem.limit else members[a])
        members = children
        losses, wins = yield from run.ask(members)
    run.first(members, losses, wins)
    return run.outcome(members, losses)


class _Run:
    """What one genetic search has asked so far; states are asked once."""

    def __init__(self, problem: Problem, max_queries: int) -> None:
        self.problem, self.max_queries, self.queries = problem, max_queries, 0
        self.evaluations = 0
        self.known: dict[State, tuple[float, bool]] = {(): (problem.base_loss, False)}
        self.winner: State | None = None

    @property
    def spent(self) -> bool:
        return self.queries >= self.max_queries

    def ask(self, states: Sequence[State]) -> Generator[list[State], Answer, Answer]:
        self.evaluations += len(states)
        fresh = [s for s in dict.fromkeys(states) if s not in self.known][: self.max_queries - self.queries]
        if fresh:
            losses, wins = yield fresh
            self.queries += len(fresh)
            self.known.update(zip(fresh, zip(losses, wins, strict=True), strict=True))
        unknown = (float("inf"), False)
        answers = [self.known.get(s, unknown) for s in states]
        return [a for a, _ in answers], [w for _, w in answers]

    def first(self, states: Sequence[State], losses: Sequence[float], wins: Sequence[bool]) -> bool:
        """Notes the best winner within the allowed number of changes; whether there is one."""
        good = [i for i, w in enumerate(wins) if w and len(states[i]) <= self.problem.limit]
        if good and self.winner is None:
            self.winner = states[min(good, key=lambda i: losses[i])]
        return self.winner is not None

    def outcome(self, members: Sequence[State], losses: Sequence[float]) -> Outcome:
        made = partial(Outcome, queries=self.queries, evaluations=self.evaluations)
        if self.winner is not None:
            return made(state=self.winner, won=True, loss=self.known[self.winner][0])
        allowed = [i for i, m in enumerate(members) if len(m) <= self.problem.limit]
        best = min(allowed, key=lambda i: losses[i], default=None)
        if best is None or losses[best] >= self.problem.base_loss:
            return made(state=(), won=False, loss=self.problem.base_loss)
        return made(state=members[best], won=False, loss=losses[best])


def _set(state: State, place: int, choice: int) -> State:
    """One place changed; states are kept sorted by place, so that equal ones are equal."""
    moves = {**dict(state), place: choice}
    return tuple(sorted(moves.items()))


def _uniform(a: State, b: State, rng: np.random.Generator) -> State:
    """Each place from either parent with probability ½."""
    one, two = dict(a), dict(b)
    child: dict[int, int] = {}
    for place in sorted({*one, *two}):
        source = one if rng.random() < 0.5 else two
        if place in source:
            child[place] = source[place]
    return tuple(child.items())


def _cut(a: State, b: State, cut: int) -> State:
    """Places before the cut from one parent, the others from the other."""
    kept: list[Move] = [m for m in a if m[0] < cut] + [m for m in b if m[0] >= cut]
    return tuple(kept)


def _softmax(values: FloatArray) -> FloatArray:
    finite = np.where(np.isfinite(values), values, -1e9)
    weights = np.exp(finite - finite.max())
    return np.asarray(weights / weights.sum())

"""Exhaustive search for short texts: every combination, fewest changes first."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, islice, product

from evenhand.plans.problem import Outcome, Problem, ProblemSearch, State, side_by_side


@side_by_side
def exhaustive(problem: Problem, *, max_queries: int) -> ProblemSearch:
    """All single changes, then all pairs, …: a flip that it finds has the fewest possible changes.

    Where the combinations pass `max_queries`, the search ends there.
    """
    places = list(range(len(problem.options)))
    loss, queries = problem.base_loss, 0
    state: State = ()
    for size in range(1, min(problem.limit, len(places)) + 1):
        tried = list(islice(_combined(problem, places, size), max_queries - queries))
        if not tried:
            break
        losses, wins = yield tried
        queries += len(tried)
        best = min(range(len(tried)), key=lambda i: (not wins[i], losses[i]))
        if wins[best]:
            return Outcome(state=tried[best], won=True, loss=losses[best], queries=queries)
        if losses[best] < loss:
            state, loss = tried[best], losses[best]
    return Outcome(state=state, won=False, loss=loss, queries=queries)


def _combined(problem: Problem, places: list[int], size: int) -> Iterator[State]:
    for chosen in combinations(places, size):
        for choices in product(*(range(problem.counts[p]) for p in chosen)):
            yield tuple(zip(chosen, choices, strict=True))

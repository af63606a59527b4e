"""Beam search: all single changes first, then the best few are combined with the best moves."""

from __future__ import annotations

from evenhand.plans.search import Move, Outcome, Problem, Search, State


def beam(problem: Problem, *, max_queries: int, width: int = 5, branch: int = 12) -> Search:
    """The default search: as many flips as the genetic algorithm at about a tenth of the queries.

    Args:
        width: states kept at each depth. branch: best single moves that each is combined with.
    """
    states = problem.singles(max_queries)
    if not states:
        return Outcome(state=(), won=False, loss=problem.base_loss, queries=0)
    losses, wins = yield states
    queries = len(states)
    mean, most = _lowered(problem, losses)
    best: tuple[bool, float, State] = (False, problem.base_loss, ())
    order = sorted(range(len(states)), key=losses.__getitem__)
    useful = [i for i in order if losses[i] <= problem.base_loss]
    moves: list[Move] = [states[i][0] for i in useful[:branch]]
    depth = 1
    while True:
        best = _better(best, states, losses, wins, order)
        if best[0] or depth >= problem.limit or queries >= max_queries:
            break
        frontier = [states[i] for i in order[:width] if losses[i] <= problem.base_loss]
        states = _children(frontier, moves)[: max_queries - queries]
        if not states:
            break
        losses, wins = yield states
        queries += len(states)
        order = sorted(range(len(states)), key=losses.__getitem__)
        depth += 1
    return Outcome(
        won=best[0], loss=best[1], state=best[2], queries=queries, single_mean=mean, single_most=most
    )


def single(problem: Problem, *, max_queries: int) -> Search:
    """No search: every single change once, and the best of them."""
    made: Search = beam(problem, max_queries=max_queries, width=0)
    return (yield from made)


def _lowered(problem: Problem, losses: list[float]) -> tuple[float | None, float | None]:
    finite = [problem.base_loss - x for x in losses if x < float("inf")]
    return (sum(finite) / len(finite), max(finite)) if finite else (None, None)


def _better(
    best: tuple[bool, float, State],
    states: list[State],
    losses: list[float],
    wins: list[bool],
    order: list[int],
) -> tuple[bool, float, State]:
    winner = next((i for i in order if wins[i]), None)
    if winner is not None:
        return True, losses[winner], states[winner]
    first = order[0]
    return (False, losses[first], states[first]) if losses[first] < best[1] else best


def _children(frontier: list[State], moves: list[Move]) -> list[State]:
    found: dict[frozenset[Move], State] = {}
    for state in frontier:
        used = {place for place, _ in state}
        for move in moves:
            if move[0] not in used:
                child = (*state, move)
                found.setdefault(frozenset(child), child)
    return list(found.values())

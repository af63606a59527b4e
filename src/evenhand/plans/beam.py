"""Beam search: all single changes first, then only those combinations that the single changes promise most of."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

from evenhand.plans.search import Move, Outcome, Problem, Search, State


def beam(problem: Problem, *, max_queries: int, width: int = 5, branch: int = 12) -> Search:
    """The default search: as many flips as the genetic algorithm with a fraction of its queries.

    The loss of a combination is foretold as the loss of the state that it continues plus the effect that the further
    change has alone; only the `width` most promising are asked. That is exact for an additive model, and a ranking for others.

    Args:
        width: states asked and kept at each depth. branch: places whose best single change may be combined.
    """
    states: list[State] = problem.singles(max_queries)
    base = problem.base_loss
    if not states:
        return Outcome(state=(), won=False, loss=base, queries=0)
    losses, wins = yield states
    queries = len(states)
    finite = [x for x in losses if x < float("inf")]
    mean = base - sum(finite) / len(finite) if finite else None
    most = base - min(finite) if finite else None
    best: tuple[bool, float, State] = (False, base, ())
    moves: list[_Step] | None = None
    masks = [1 << i for i in range(len(states))]
    depth = 1
    while True:
        order = sorted(range(len(states)), key=losses.__getitem__)
        best = _better(best, states, losses, wins, order)
        if best[0] or depth >= problem.limit:
            break
        if moves is None:
            moves = _moves(states, losses, order, base, branch)
        frontier = [(losses[i], masks[i], states[i]) for i in order[:width] if losses[i] < float("inf")]
        states, masks = _children(frontier, moves, min(width, max_queries - queries))
        if not states:
            break
        losses, wins = yield states
        queries += len(states)
        depth += 1
    return Outcome(
        won=best[0], loss=best[1], state=best[2], queries=queries, single_mean=mean, single_most=most
    )


def single(problem: Problem, *, max_queries: int) -> Search:
    """No search: every single change once, and the best of them."""
    made: Search = beam(problem, max_queries=max_queries, width=0)
    return (yield from made)


_Step: TypeAlias = tuple[float, int, int, Move]
"""What the best single change of a place adds to the loss, its bit, the bits of all changes of the place, and the change."""


def _moves(
    states: list[State], losses: list[float], order: list[int], base: float, branch: int
) -> list[_Step]:
    """The best single change of each place, best first, for the `branch` best places."""
    bits = _bits(tuple([state[0][0] for state in states]))
    found: list[_Step] = []
    seen = 0
    for i in order:
        if len(found) == branch or losses[i] == float("inf"):
            break
        if not seen & bits[i]:
            seen |= bits[i]
            found.append((losses[i] - base, 1 << i, bits[i], states[i][0]))
    return found


@lru_cache(maxsize=1 << 12)
def _bits(places: tuple[int, ...]) -> tuple[int, ...]:
    """For each single change the bits of all changes of its place."""
    bits: dict[int, int] = {}
    for i, place in enumerate(places):
        bits[place] = bits.get(place, 0) | 1 << i
    return tuple(bits[place] for place in places)


def _better(
    best: tuple[bool, float, State],
    states: list[State],
    losses: list[float],
    wins: list[bool],
    order: list[int],
) -> tuple[bool, float, State]:
    if any(wins):
        winner = next(i for i in order if wins[i])
        return True, losses[winner], states[winner]
    first = order[0]
    return (False, losses[first], states[first]) if losses[first] < best[1] else best


def _children(
    frontier: list[tuple[float, int, State]], moves: list[_Step], most: int
) -> tuple[list[State], list[int]]:
    """The `most` combinations of a state with one more move that promise the lowest loss, and their masks."""
    found: dict[int, tuple[float, int, State, Move]] = {}
    for loss, mask, state in frontier:
        for effect, bit, place, move in moves:
            if not mask & place:
                child, promise = mask | bit, loss + effect
                known = found.get(child)
                if known is None or promise < known[0]:
                    found[child] = (promise, child, state, move)
    chosen = sorted(found.values())[: max(0, most)]
    return [(*state, move) for _, _, state, move in chosen], [mask for _, mask, _, _ in chosen]

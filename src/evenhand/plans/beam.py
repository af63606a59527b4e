"""Beam search: all single changes first, then only those combinations that the single changes promise most of."""

from __future__ import annotations

from evenhand.plans.search import Move, Outcome, Problem, Search, State


def beam(problem: Problem, *, max_queries: int, width: int = 5, branch: int = 12) -> Search:
    """The default search: as many flips as the genetic algorithm with a fraction of its queries.

    The loss of a combination is foretold as the loss of the state that it continues plus the effect that the further
    change has alone; only the `width` most promising are asked. That is exact for an additive model, and a ranking for others.

    Args:
        width: states asked and kept at each depth. branch: places whose best single change may be combined.
    """
    states = problem.singles(max_queries)
    base = problem.base_loss
    if not states:
        return Outcome(state=(), won=False, loss=base, queries=0)
    losses, wins = yield states
    queries = len(states)
    finite = [x for x in losses if x < float("inf")]
    mean = base - sum(finite) / len(finite) if finite else None
    most = base - min(finite) if finite else None
    best: tuple[bool, float, State] = (False, base, ())
    moves = _moves(states, losses, base, branch) if problem.limit > 1 and len(states) > 1 else []
    depth = 1
    while True:
        order = sorted(range(len(states)), key=losses.__getitem__)
        best = _better(best, states, losses, wins, order)
        if best[0] or depth >= problem.limit or len(moves) < 2:
            break
        frontier = [(losses[i], states[i]) for i in order[:width] if losses[i] < float("inf")]
        states = _children(frontier, moves, min(width, max_queries - queries))
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


def _moves(states: list[State], losses: list[float], base: float, branch: int) -> list[tuple[Move, float]]:
    """The best change of each place and what it adds to the loss, best first, for the `branch` best places."""
    best: dict[int, tuple[float, Move]] = {}
    for (move,), loss in zip(states, losses, strict=True):
        known = best.get(move[0])
        if loss < float("inf") and (known is None or loss < known[0]):
            best[move[0]] = (loss, move)
    return [(move, loss - base) for loss, move in sorted(best.values())[:branch]]


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


def _children(frontier: list[tuple[float, State]], moves: list[tuple[Move, float]], most: int) -> list[State]:
    """The `most` combinations of a state with one more move that promise the lowest loss."""
    found: dict[frozenset[Move], tuple[float, State]] = {}
    for loss, state in frontier:
        used = {place for place, _ in state}
        for move, effect in moves:
            if move[0] not in used:
                child = (*state, move)
                promised = found.get(key := frozenset(child))
                if promised is None or loss + effect < promised[0]:
                    found[key] = (loss + effect, child)
    return [child for _, child in sorted(found.values(), key=lambda c: c[0])[: max(0, most)]]

"""The beam search of one problem, state by state: slow, and what the arrays of `evenhand.plans.beam` must give."""

from __future__ import annotations

from evenhand.plans.problem import Move, Outcome, Problem, ProblemSearch, State, side_by_side

INF = float("inf")


def one_beam(problem: Problem, *, max_queries: int, width: int = 1, branch: int = 12) -> ProblemSearch:
    """Single changes, then the most promising combinations of a kept state with the best single change of a place."""
    longest = max(problem.counts, default=0)
    singles: list[State] = [((p, c),) for c in range(longest) for p, n in enumerate(problem.counts) if c < n]
    bit = {state[0]: 1 << i for i, state in enumerate(singles)}
    best: tuple[bool, float, State] = (False, problem.base_loss, ())
    states = singles[:max_queries] if problem.limit > 0 else []
    moves: list[tuple[float, Move]] | None = None
    queries = depth = 0
    while states:
        losses, wins = yield states
        queries += len(states)
        depth += 1
        ranked = sorted(zip(losses, wins, states, strict=True), key=lambda item: item[0])
        won = [(loss, state) for loss, win, state in ranked if win]
        if won:
            best = (True, *won[0])
        elif ranked[0][0] < best[1]:
            best = (False, ranked[0][0], ranked[0][2])
        if best[0] or depth >= problem.limit:
            break
        front = [(loss, state) for loss, _, state in ranked if loss < INF]
        moves = _moves(front, problem.base_loss, branch) if moves is None else moves
        states = _children(front[:width], moves, bit, min(width, max_queries - queries))
    return Outcome(state=best[2], won=best[0], loss=best[1], queries=queries)


slow_beam = side_by_side(one_beam)


def _moves(ranked: list[tuple[float, State]], base: float, branch: int) -> list[tuple[float, Move]]:
    """The best single change of each place."""
    found: dict[int, tuple[float, Move]] = {}
    for loss, ((place, choice),) in ranked:
        found.setdefault(place, (loss - base, (place, choice)))
    return list(found.values())[:branch]


def _children(
    front: list[tuple[float, State]], moves: list[tuple[float, Move]], bit: dict[Move, int], most: int
) -> list[State]:
    found: dict[int, tuple[float, int, State]] = {}
    for loss, state in front:
        for effect, move in moves:
            if move[0] not in {place for place, _ in state}:
                mask = sum(bit[m] for m in (*state, move))
                if mask not in found or loss + effect < found[mask][0]:
                    found[mask] = (loss + effect, mask, (*state, move))
    return [state for _, _, state in sorted(found.values(), key=lambda item: item[:2])[: max(0, most)]]

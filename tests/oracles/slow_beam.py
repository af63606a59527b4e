"""The beam search of one problem, state by state: slow, and what the arrays of `evenhand.plans.beam` must give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from evenhand.plans.problem import Move, Outcome, State

INF = float("inf")


@dataclass(frozen=True, kw_only=True)
class Slow:
    """Outcome, mean effect of the single changes, and all states asked, step by step."""

    outcome: Outcome
    single_mean: float | None
    asked: list[list[State]]


def slow_beam(
    counts: list[int],
    limit: int,
    base: float,
    answer: Callable[[State], tuple[float, bool]],
    *,
    max_queries: int,
    width: int = 5,
    branch: int = 12,
) -> Slow:
    """`counts`: candidates of each place; `answer`: (loss, won) of a state, where infinity is worst."""
    longest = max(counts, default=0)
    singles: list[State] = [((p, c),) for c in range(longest) for p, n in enumerate(counts) if c < n]
    singles = singles[:max_queries] if limit > 0 else []
    bit = {state[0]: 1 << i for i, state in enumerate(singles)}
    best: tuple[bool, float, State] = (False, base, ())
    mean: float | None = None
    asked: list[list[State]] = []
    states, moves, queries = singles, None, 0
    while states:
        asked.append(states)
        queries += len(states)
        answers = [answer(state) for state in states]
        ranked = sorted(zip(answers, states, strict=True), key=lambda item: item[0][0])
        if len(asked) == 1:
            finite = [loss for loss, _ in answers if loss < INF]
            mean = base - sum(finite) / len(finite) if finite else None
        won = [(loss, state) for (loss, wins), state in ranked if wins]
        if won:
            best = (True, *won[0])
        elif ranked[0][0][0] < best[1]:
            best = (False, ranked[0][0][0], ranked[0][1])
        if best[0] or len(asked) >= limit:
            break
        if moves is None:
            moves = _moves(ranked, base, branch)
        front = [(loss, state) for (loss, _), state in ranked[:width] if loss < INF]
        states = _children(front, moves, bit, min(width, max_queries - queries))
    outcome = Outcome(state=best[2], won=best[0], loss=best[1], queries=queries)
    return Slow(outcome=outcome, single_mean=mean, asked=asked)


def _moves(
    ranked: list[tuple[tuple[float, bool], State]], base: float, branch: int
) -> list[tuple[float, Move]]:
    """The best single change of each place."""
    found: dict[int, tuple[float, Move]] = {}
    for (loss, _), ((place, choice),) in ranked:
        if loss < INF:
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

"""Greedy search by word importance: the word whose absence moves the score most is altered first (Jin et al.
2020)."""

from __future__ import annotations

from evenhand.plans.problem import Outcome, Problem, ProblemSearch, State, side_by_side


@side_by_side
def greedy(problem: Problem, *, max_queries: int) -> ProblemSearch:
    """One place after the other, in the order of importance; each gets its best word, if that helps."""
    places = list(range(len(problem.options))) if problem.limit > 0 else []
    alone: list[State] = [((p, -1),) for p in places]
    removed = alone[:max_queries]
    if not removed:
        return Outcome(state=(), won=False, loss=problem.base_loss, queries=0)
    losses, _ = yield removed
    queries = len(removed)
    order = [places[i] for i in sorted(range(len(removed)), key=losses.__getitem__)]
    state: State = ()
    loss, won = problem.base_loss, False
    for place in order:
        left = max_queries - queries
        if won or left < 1 or len(state) >= problem.limit:
            break
        tried: list[State] = [(*state, (place, c)) for c in range(problem.counts[place])][:left]
        losses, wins = yield tried
        queries += len(tried)
        best = min(range(len(tried)), key=lambda i: (not wins[i], losses[i]))
        if wins[best] or losses[best] < loss:
            state, loss, won = tried[best], losses[best], wins[best]
    return Outcome(state=state, won=won, loss=loss, queries=queries)

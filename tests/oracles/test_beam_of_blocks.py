"""The beam over arrays against the beam over one problem at a time, and blocks against their parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from slow_beam import Slow, slow_beam

from evenhand._model import FloatArray, Replies
from evenhand.plans.problem import State
from evenhand.plans.search import Outcomes, TextTasks, lockstep, search


@dataclass(frozen=True, kw_only=True)
class Case:
    """One text with several problems: how many candidates each has at every place, and what a text scores."""

    number: int
    counts: list[list[int]]
    limit: int
    base: float
    kind: str

    def answer(self, text: str) -> tuple[float, bool]:
        """(loss, won), the same whenever the text is asked; coarse losses tie often."""
        rng = np.random.default_rng([self.number, *map(ord, text)])
        loss = float(rng.normal(self.base, 0.3))
        if self.kind == "ties":
            loss = round(4 * loss) / 4
        elif self.kind == "additive":
            loss = self.base + sum(len(word) % 3 / 8 - 0.125 for word in text.split())
        elif self.kind == "failing" and rng.random() < 0.4:
            loss = float(rng.choice([np.nan, np.inf, -np.inf]))
        elif self.kind == "equal":
            loss = self.base
        return loss, bool(np.isfinite(loss) and rng.random() < 0.01)

    def render(self, state: State) -> str:
        """Every place holds one word; `choice` words longer where it is changed."""
        changed = dict(state)
        return " ".join(f"p{p}" + "x" * (changed.get(p, -1) + 1) for p in range(len(self.counts[0])))

    def tasks(self) -> TextTasks:
        """As the package takes it."""
        text = self.render(())
        spans, at = [], 0
        for word in text.split():
            spans.append((at, at + len(word)))
            at += len(word) + 1
        most = [max(counts[p] for counts in self.counts) for p in range(len(spans))]
        first = np.cumsum([0, *[n + 1 for n in most]])[:-1]
        rows = [
            [int(first[p]) + 1 + c if c < n else -1 for c in range(max(most, default=0)) for p, n in enumerate(counts)]
            for counts in self.counts
        ]  # fmt: skip
        return TextTasks(
            text=text, number=self.number, spans=spans, place=[p for p, n in enumerate(most) for _ in range(n + 1)],
            words=[w for p, n in enumerate(most) for w in ("", *[f"p{p}" + "x" * (c + 1) for c in range(n)])],
            tasks=np.array(rows, dtype=np.int64).reshape(len(rows), -1), limit=self.limit, base_loss=self.base,
            seeds=np.zeros(len(rows), dtype=np.int64), key=(self, first.tolist()),
        )  # fmt: skip


def drawn(rng: np.random.Generator, number: int, kind: str) -> Case:
    """A random text: places without candidates, sometimes more changes than an integer has bits."""
    places = int(rng.integers(1, 30 if rng.random() < 0.2 else 7))
    problems = [rng.integers(0, 5, places).tolist() for _ in range(int(rng.integers(1, 5)))]
    return Case(number=number, counts=problems, limit=int(rng.integers(0, 6)), base=0.5, kind=kind)


def run(
    cases: list[Case], name: str, **options: Any
) -> tuple[dict[int, tuple[TextTasks, Outcomes]], list[str]]:
    """(number → its tasks and their outcomes, texts asked)."""
    found: dict[int, tuple[TextTasks, Outcomes]] = {}
    by_number = {case.number: case for case in cases}
    asked: list[str] = []
    known: dict[tuple[int, str], tuple[float, bool]] = {}

    def judge(scores: FloatArray, texts: Any) -> tuple[FloatArray, np.ndarray]:
        for row, number in zip(scores[:, 0].astype(int).tolist(), texts.tolist(), strict=True):
            if (number, asked[row]) not in known:
                known[number, asked[row]] = by_number[number].answer(asked[row])
        answers = [known[n, asked[int(r)]] for n, r in zip(texts.tolist(), scores[:, 0], strict=True)]
        return np.array([loss for loss, _ in answers]), np.array([won for _, won in answers])

    max_queries = options.pop("max_queries")
    plan = lockstep(
        [[case.tasks() for case in cases]], search(name, **options), judge, names=["row"], max_queries=max_queries,
        into=lambda tasks, outcomes: found.__setitem__(tasks.number, (tasks, outcomes)),
    )  # fmt: skip
    try:
        probes = next(plan)
        while True:
            start = len(asked)
            asked += probes.inputs
            probes = plan.send(Replies(scores={"row": np.arange(start, len(asked), dtype=float)}))
    except StopIteration:
        pass
    return found, asked


def expected(case: Case, counts: list[int], **options: Any) -> Slow:
    """What the slow search finds."""

    def answer(state: State) -> tuple[float, bool]:
        loss, won = case.answer(case.render(state))
        return (loss if np.isfinite(loss) else float("inf")), won

    return slow_beam(counts, case.limit, case.base, answer, **options)


@pytest.mark.parametrize("kind", ["random", "ties", "additive", "failing", "equal"])
@pytest.mark.parametrize(
    "options",
    [
        {"max_queries": 500},
        {"max_queries": 7},
        {"max_queries": 60, "width": 2, "branch": 3},
        {"max_queries": 300, "width": 9, "branch": 70},
        {"max_queries": 100, "width": 70, "branch": 1},
        {"max_queries": 1, "width": 1},
    ],
)
def test_arrays_give_the_beam_of_every_problem(kind: str, options: dict[str, int]) -> None:
    """State, win, loss, queries and mean of the single changes are those of the search that goes state by state."""
    rng = np.random.default_rng(7)
    cases = [drawn(rng, number, kind) for number in range(15)]
    found, asked = run(cases, "beam", **options)
    wanted: set[tuple[int, str]] = set()
    for case in cases:
        tasks, outcomes = found[case.number]
        first = tasks.key[1]
        for i, counts in enumerate(case.counts):
            slow = expected(case, counts, **options)
            state = tuple(
                (tasks.place[c], c - first[tasks.place[c]] - 1)
                for c in outcomes.changes[i].tolist()
                if c >= 0
            )
            assert state == slow.outcome.state
            assert bool(outcomes.won[i]) == slow.outcome.won
            assert float(outcomes.loss[i]) == slow.outcome.loss
            assert int(outcomes.queries[i]) == slow.outcome.queries
            mean = float(outcomes.single_mean[i])
            assert (None if np.isnan(mean) else mean) == slow.single_mean
            wanted |= {(case.number, case.render(s)) for step in slow.asked for s in step}
    assert len(asked) == len(set(asked)), "equal candidates are asked once"
    assert set(asked) == {text for _, text in wanted}


@pytest.mark.parametrize("name", ["beam", "single", "greedy", "genetic", "exhaustive"])
def test_a_text_fares_alone_as_among_others(name: str) -> None:
    """What a search finds does not depend on what else is in its block."""
    rng = np.random.default_rng(3)
    cases = [drawn(rng, number, "ties") for number in range(8)]
    together, _ = run(cases, name, max_queries=80)
    for case in cases:
        (_, alone), (_, among) = run([case], name, max_queries=80)[0][case.number], together[case.number]
        assert np.array_equal(alone.won, among.won)
        assert np.array_equal(alone.loss, among.loss)
        assert np.array_equal(alone.queries, among.queries)
        assert np.array_equal(alone.single_mean, among.single_mean, equal_nan=True)
        depth = max(alone.changes.shape[1], among.changes.shape[1])
        padded = [
            np.pad(o.changes, ((0, 0), (0, depth - o.changes.shape[1])), constant_values=-1)
            for o in (alone, among)
        ]
        assert np.array_equal(*padded)

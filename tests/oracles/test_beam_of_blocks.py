"""The beam over arrays against the beam over one problem at a time, and blocks against their parts."""

from __future__ import annotations

import csv
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from slow_beam import one_beam

from evenhand._model import FloatArray, Replies
from evenhand.audits.attack import search as attack_search
from evenhand.audits.attack.audit import attack
from evenhand.plans.problem import Outcome, Problem, State
from evenhand.plans.search import SEARCHES, Outcomes, TextTasks, lockstep, search


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
            text=text, number=self.number, place=np.repeat(np.arange(len(most)), np.add(most, 1)),
            spans=[span for span, n in zip(spans, most, strict=True) for _ in range(n + 1)],
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


def expected(case: Case, counts: list[int], **options: Any) -> tuple[Outcome, float | None, set[str]]:
    """What the slow search finds, by how much single changes lower the loss on average, and the texts it asks."""
    problem = Problem(
        options=tuple(tuple(range(n + 1)) for n in counts), limit=case.limit, base_loss=case.base
    )
    current = one_beam(problem, **options)
    asked: set[str] = set()
    mean, answer = None, None
    try:
        while True:
            states = next(current) if answer is None else current.send(answer)
            answers = [case.answer(case.render(state)) for state in states]
            asked |= {case.render(state) for state in states}
            finite = [loss for loss, _ in answers if np.isfinite(loss)]
            if answer is None and finite:
                mean = case.base - sum(finite) / len(finite)
            answer = (
                [loss if np.isfinite(loss) else float("inf") for loss, _ in answers],
                [won for _, won in answers],
            )
    except StopIteration as ended:
        return ended.value, mean, asked


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
    wanted: set[str] = set()
    for case in cases:
        tasks, outcomes = found[case.number]
        first = tasks.key[1]
        for i, counts in enumerate(case.counts):
            slow, mean, texts = expected(case, counts, **options)
            wanted |= texts
            state = tuple(
                (int(tasks.place[c]), c - first[tasks.place[c]] - 1)
                for c in outcomes.changes[i].tolist()
                if c >= 0
            )
            assert state == slow.state
            assert bool(outcomes.won[i]) == slow.won
            assert float(outcomes.loss[i]) == slow.loss
            assert int(outcomes.queries[i]) == slow.queries
            found_mean = float(outcomes.single_mean[i])
            assert (None if np.isnan(found_mean) else found_mean) == mean
    assert len(asked) == len(set(asked)), "equal candidates are asked once"
    assert set(asked) == wanted


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


def rough(texts: list[str]) -> list[float]:
    """A score from a random weight of every word."""
    weights = [sum(zlib.crc32(word.encode()) % 1000 - 500 for word in text.lower().split()) for text in texts]
    return [1.0 / (1.0 + np.exp(-weight / 400.0)) for weight in weights]


def tweets(data: Path, n: int) -> list[str]:
    """The first of the Davidson tweets."""
    with (data / "attack/davidson_labeled_data.csv").open(encoding="utf-8", newline="") as file:
        return [row["tweet"] for row, _ in zip(csv.DictReader(file), range(n), strict=False)]


def test_an_attack_finds_what_it_finds_state_by_state(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Findings, exhibits and queries of an attack on real tweets, with the arrays and with the slow search."""
    monkeypatch.setitem(SEARCHES, "slow", "slow_beam:slow_beam")
    glove, texts = data / "attack/glove.6B.50d.subset.txt", tweets(data, 150)
    fast, slow = (attack(rough, texts, embeddings=glove, placebos=9, search=s) for s in ("beam", "slow"))
    shared = [f for f in fast.findings if f.estimate.measure != "score moved by single changes"]
    assert any(f.estimate.measure == "flip rate" and f.estimate.value for f in shared)
    assert shared == list(slow.findings)
    assert fast.exhibits == slow.exhibits
    assert fast.counts == slow.counts


def test_a_text_that_fills_a_block_is_divided_and_nothing_changes(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks of a few states hold one search each; what is found stays the same."""
    glove, texts = data / "attack/glove.6B.50d.subset.txt", tweets(data, 60)
    whole = attack(rough, texts, embeddings=glove, placebos=5)
    monkeypatch.setattr(attack_search, "BLOCK_CHARACTERS", 2_000)
    parts = attack(rough, texts, embeddings=glove, placebos=5)
    assert whole.findings == parts.findings
    assert whole.exhibits == parts.exhibits
    assert parts.counts["asked"] > whole.counts["asked"]

"""Searches over words: what they find, what they ask, and that nothing outside them matters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from evenhand import Probes, Replies
from evenhand._errors import UsageError
from evenhand.plans.goal import goal_for
from evenhand.plans.search import SEARCHES, Outcomes, TextTasks, lockstep, search

WORTH = {"b0": 0.1, "b1": 0.3, "d0": 0.25, "d1": 0.05, "f0": 0.0, "f1": 0.2}


def tasks_of(
    words: list[str],
    options: list[list[str]],
    *,
    limit: int,
    base_loss: float,
    number: int = 0,
    seed: int = 0,
) -> TextTasks:
    """One search over a text of words, with the words that may stand at each place."""
    ends = np.cumsum([len(w) + 1 for w in words]) - 1
    first = np.cumsum([0, *[len(o) + 1 for o in options]])
    longest = max(map(len, options))
    order = [int(first[p]) + 1 + c for c in range(longest) for p, o in enumerate(options) if c < len(o)]
    return TextTasks(
        text=" ".join(words), number=number, place=np.repeat(np.arange(len(options)), [len(o) + 1 for o in options]),
        spans=[(e - len(w), e) for w, e, o in zip(words, ends.tolist(), options, strict=True) for _ in range(len(o) + 1)],
        words=[w for o in options for w in ("", *o)],
        tasks=np.array([order]), limit=limit, base_loss=base_loss, seeds=np.array([seed]),
    )  # fmt: skip


def problem(limit: int = 3, *, number: int = 0, seed: int = 0) -> TextTasks:
    """Three places with two candidates each; every candidate lowers the score by its worth."""
    options = [["b0", "b1"], ["d0", "d1"], ["f0", "f1"]]
    return tasks_of(["a", "c", "e"], options, limit=limit, base_loss=0.9, number=number, seed=seed)


@dataclass(frozen=True)
class Ended:
    """What one search found: the words changed, as text, and the rest."""

    words: list[str]
    won: bool
    queries: int
    single_mean: float

    @classmethod
    def of(cls, tasks: TextTasks, outcomes: Outcomes) -> Ended:
        """Of the first search of a text."""
        changed = {int(tasks.place[c]): tasks.words[c] for c in outcomes.changes[0].tolist() if c >= 0}
        words = [changed.get(p, w) for p, w in enumerate(tasks.text.split())]
        return cls(words, bool(outcomes.won[0]), int(outcomes.queries[0]), float(outcomes.single_mean[0]))

    @property
    def changes(self) -> int:
        """Words that are not those of the problem."""
        return len(set(self.words) - {"a", "c", "e"})


def score(text: str) -> float:
    """0.9 less what the words are worth."""
    return 0.9 - sum(WORTH.get(w, 0.0) for w in text.split())


def run(
    name: str,
    *,
    limit: int = 3,
    threshold: float = 0.5,
    max_queries: int = 10_000,
    seed: int = 0,
    **options: object,
):  # type: ignore[no-untyped-def]
    """(outcome, texts asked)."""
    goal = goal_for({"p": np.array([0.9])}, threshold=threshold)
    ended: list[Ended] = []
    plan = lockstep(
        [[problem(limit, seed=seed)]],
        search(name, **options),
        goal,
        names=goal.names,
        max_queries=max_queries,
        into=lambda *found: ended.append(Ended.of(*found)),
    )
    asked: list[str] = []
    try:
        probes = next(plan)
        while True:
            asked += probes.inputs
            probes = plan.send(Replies(scores={"p": np.array([score(t) for t in probes.inputs])}))
    except StopIteration:
        pass
    return ended[0], asked


@pytest.mark.parametrize("name", [n for n in SEARCHES if n != "single"])
def test_every_search_finds_the_flip(name: str) -> None:
    """Two changes are needed and enough."""
    outcome, asked = run(name, threshold=0.4)
    assert outcome.won
    assert score(" ".join(outcome.words)) < 0.4
    assert len(asked) == len(set(asked)), "equal candidates are asked once"


@pytest.mark.parametrize("name", ["beam", "exhaustive"])
def test_beam_and_exhaustive_change_as_few_words_as_possible(name: str) -> None:
    """0.9 − 0.3 − 0.25 passes 0.4 with two words; one word cannot."""
    outcome, _ = run(name, threshold=0.4)
    assert outcome.words == ["b1", "d0", "e"]


@pytest.mark.parametrize("name", list(SEARCHES))
def test_no_search_passes_the_limit_of_changed_words(name: str) -> None:
    """With one change allowed the threshold is out of reach."""
    outcome, _ = run(name, limit=1, threshold=0.4)
    assert not outcome.won
    assert outcome.changes <= 1


@pytest.mark.parametrize("name", list(SEARCHES))
def test_no_search_passes_its_budget(name: str) -> None:
    """The budget is for one text in one direction."""
    outcome, asked = run(name, threshold=0.0, max_queries=4)
    assert len(asked) <= 4
    assert outcome.queries <= 4


def test_single_changes_report_their_mean_effect() -> None:
    """The search-free statistic is over all six single changes."""
    outcome, asked = run("single", threshold=0.0)
    assert len(asked) == 6
    assert outcome.single_mean == pytest.approx(np.mean(list(WORTH.values())))


@pytest.mark.parametrize("name", ["genetic", "genetic-practice"])
def test_the_same_seed_gives_the_same_search(name: str) -> None:
    """And another seed another one."""
    assert run(name, seed=5, threshold=0.2)[1] == run(name, seed=5, threshold=0.2)[1]
    assert run(name, seed=5, threshold=0.2)[1] != run(name, seed=6, threshold=0.2)[1]


def test_beam_needs_fewer_queries_than_the_published_search() -> None:
    """At no fewer flips, on small problems; benchmarks/attack.py measures it on real texts."""
    rng = np.random.default_rng(0)
    spent = {"beam": 0, "genetic": 0}
    flips = {"beam": 0, "genetic": 0}
    for case in range(20):
        worth = rng.normal(0, 0.08, (6, 6))
        options = [[f"w{i}{j}" for j in range(6)] for i in range(6)]
        made = tasks_of([f"o{i}" for i in range(6)], options, limit=3, base_loss=0.8, seed=case)
        table = {f"w{i}{j}": worth[i, j] for i in range(6) for j in range(6)}
        goal = goal_for({"p": np.array([0.8])})
        for name in spent:
            plan = lockstep(
                [[made]],
                search(name),
                goal,
                names=("p",),
                max_queries=100_000,
                into=lambda _, o, name=name: (
                    spent.__setitem__(name, spent[name] + int(o.queries[0])),
                    flips.__setitem__(name, flips[name] + int(o.won[0])),
                ),
            )
            try:
                probes = next(plan)
                while True:
                    values = [0.8 - sum(table.get(w, 0.0) for w in t.split()) for t in probes.inputs]
                    probes = plan.send(Replies(scores={"p": np.array(values)}))
            except StopIteration:
                pass
    assert flips["beam"] >= flips["genetic"]
    assert spent["genetic"] > 2 * spent["beam"]


def test_beam_asks_only_the_combinations_that_promise_most() -> None:
    """Six single changes, then one pair for each state kept: the best pair is among them, the other eleven are not asked."""
    outcome, asked = run("beam", threshold=0.4, width=1)
    assert outcome.won
    assert asked[6:] == ["b1 d0 e"]
    assert outcome.single_mean == pytest.approx(np.mean(list(WORTH.values())))


def test_beam_goes_on_to_the_limit_with_one_state() -> None:
    """A flip that needs every place is found, one place at a time."""
    outcome, asked = run("beam", threshold=0.2, width=1)
    assert outcome.won
    assert outcome.changes == 3
    assert len(asked) == 8


def test_beam_combines_changes_that_harm_alone() -> None:
    """Two occurrences of one word weigh as much as one: only changing both tells, though each change alone raises the score."""
    made = tasks_of(["bad", "bad"], [["ok"], ["ok"]], limit=2, base_loss=0.9)
    goal = goal_for({"p": np.array([0.9])})
    ended: list[Ended] = []
    plan = lockstep(
        [[made]], search("beam"), goal, names=("p",), max_queries=50,
        into=lambda *found: ended.append(Ended.of(*found)),
    )  # fmt: skip
    try:
        probes = next(plan)
        while True:
            values = [0.95 if "bad" in t else 0.1 for t in probes.inputs]
            probes = plan.send(Replies(scores={"p": np.array(values)}))
    except StopIteration:
        pass
    assert ended[0].won


def test_searches_of_many_texts_ask_in_one_batch_and_share_equal_texts() -> None:
    """Two identical tasks cost one."""
    goal = goal_for({"p": np.array([0.9, 0.9])}, threshold=0.4)
    sizes: list[int] = []
    plan = lockstep(
        [[problem(number=t) for t in (0, 1)]],
        search("beam"),
        goal,
        names=("p",),
        max_queries=100,
        into=lambda *_: None,
    )
    probes: Probes = next(plan)
    try:
        while True:
            sizes.append(len(probes))
            probes = plan.send(Replies(scores={"p": np.array([score(t) for t in probes.inputs])}))
    except StopIteration:
        pass
    assert sizes[0] == 6


def test_a_row_without_a_score_is_no_win_and_no_crash() -> None:
    """Failed rows count as infinitely bad."""
    goal = goal_for({"p": np.array([0.9])}, threshold=0.5)
    ended: list[Ended] = []
    plan = lockstep(
        [[problem()]], search("beam"), goal, names=("p",), max_queries=50,
        into=lambda *found: ended.append(Ended.of(*found)),
    )  # fmt: skip
    try:
        probes = next(plan)
        while True:
            probes = plan.send(Replies(scores={"p": np.full(len(probes), np.nan)}))
    except StopIteration:
        pass
    assert not ended[0].won
    assert ended[0].words == ["a", "c", "e"]


def test_unknown_searches_and_options_name_what_there_is() -> None:
    """A typo is answered with the list."""
    with pytest.raises(UsageError, match="did you mean 'beam'"):
        search("beem")
    with pytest.raises(UsageError, match="width"):
        search("beam", widht=3)


def test_goals_read_scores_as_they_are_meant() -> None:
    """Binary, several labels, thresholds, targets and amounts."""
    two = goal_for({"bad": np.array([0.8, 0.3])})
    loss, won = two(np.array([[0.4], [0.4], [0.6]]), np.array([0, 1, 1]))
    assert won.tolist() == [True, False, True]
    assert loss.tolist() == [0.4, -0.4, -0.6]
    three = goal_for(
        {"a": np.array([0.5]), "b": np.array([0.3]), "c": np.array([0.2])}, kind="targeted", target="c"
    )
    assert three(np.array([[0.2, 0.5, 0.3], [0.2, 0.3, 0.5]]), np.array([0, 0]))[1].tolist() == [False, True]
    moved = goal_for({"s": np.array([0.1])}, kind="maximise", score="s", amount=0.2)
    assert moved(np.array([[0.29], [0.31]]), np.array([0, 0]))[1].tolist() == [False, True]
    with pytest.raises(UsageError, match="threshold"):
        goal_for({"compound": np.array([-0.5, 0.5])})
    with pytest.raises(UsageError, match="amount"):
        goal_for({"s": np.array([0.1])}, kind="minimise", score="s")
    with pytest.raises(UsageError, match="label probabilities"):
        goal_for({"compound": np.array([-0.5]), "pos": np.array([0.1])})

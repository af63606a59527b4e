"""The one loop: plans are driven, failures counted, budgets kept, batches put back in order."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from evenhand._model import Factor, Plan, Probes, Replies
from evenhand._run import ask
from evenhand._store import Journal
from evenhand.subjects import Budgeted, from_callable
from evenhand.testing import Flaky, Scripted


def grid(n: int, batch: int = 4) -> Plan:
    """A fixed plan of n inputs in batches."""

    def steps() -> Plan:
        for start in range(0, n, batch):
            rows = range(start, min(start + batch, n))
            yield Probes(
                inputs=[f"t{i}" for i in rows], factors={"text": Factor.of([f"u{i % 3}" for i in rows])}
            )

    return steps()


LENGTH = from_callable(lambda xs: [float(x[1:]) for x in xs], id="number")


def test_scores_and_factors_stay_in_step() -> None:
    """Row i of every column belongs to input i, however the batches fell."""
    found = ask(grid(10), LENGTH, batch_size=3).observations
    assert found.columns["score"].tolist() == list(range(10))
    assert list(found.units["text"]) == [f"u{i % 3}" for i in range(10)]


def test_an_executor_changes_nothing_but_time() -> None:
    """Batches answered side by side come back in order."""
    with ThreadPoolExecutor(4) as pool:
        beside = ask(grid(23, batch=10), LENGTH, batch_size=2, executor=pool).observations
    alone = ask(grid(23, batch=10), LENGTH, batch_size=7).observations
    assert beside.columns["score"].tolist() == alone.columns["score"].tolist()


def test_a_plan_is_sent_the_replies() -> None:
    """A search can steer by what it hears."""
    heard: list[float] = []

    def plan() -> Plan:
        word = "1"
        for _ in range(3):
            replies = yield Probes(inputs=[f"t{word}"])
            heard.append(float(replies.scores["score"][0]))
            word += "1"

    ask(plan(), LENGTH)
    assert heard == [1.0, 11.0, 111.0]


def test_a_row_that_raises_fails_alone() -> None:
    """One bad row is found by halving and counted; its neighbours keep their scores."""

    def model(xs: list[str]) -> list[float]:
        if "t5" in xs:
            raise ValueError("cannot read this one")
        return [1.0] * len(xs)

    found = ask(grid(10), from_callable(model, id="picky"))
    assert np.isnan(found.observations.columns["score"]).nonzero()[0].tolist() == [5]
    assert found.failures == {"ValueError: cannot read this one": 1}


def test_repeats_are_asked_and_kept_apart(tmp_path: Path) -> None:
    """Identical calls on purpose do not collapse, not even in the journal."""
    calls = Scripted(replies={}, default=0.5)
    with Journal(tmp_path / "j.sqlite") as journal:
        found = ask(grid(3), calls, repeats=2, journal=journal).observations
        assert len(calls.asked) == 6
        assert sorted(found.units["repeat"].counts().items()) == [("0", 3), ("1", 3)]
        ask(grid(3), calls, repeats=2, journal=journal)
    assert len(calls.asked) == 6


def test_a_spent_budget_ends_the_run_and_keeps_what_arrived(tmp_path: Path) -> None:
    """Never one call more than allowed, by all runs on one journal; a larger budget goes on from there."""
    inner = Scripted(replies={}, default=0.5)
    with Journal(tmp_path / "j.sqlite") as journal:
        first = ask(grid(10), Budgeted(subject=inner, calls=6), journal=journal)
        assert first.stopped is not None
        assert len(inner.asked) == 6
        assert int(np.isfinite(first.observations.columns["score"]).sum()) == 6
        again = ask(grid(10), Budgeted(subject=inner, calls=6), journal=journal)
        assert again.stopped is not None
        assert "by all runs on this journal" in again.stopped
        assert len(inner.asked) == 6
        second = ask(grid(10), Budgeted(subject=inner, calls=10), journal=journal)
    assert second.stopped is None
    assert len(inner.asked) == 10


def test_a_stopped_run_resumes_without_asking_twice(tmp_path: Path) -> None:
    """Ctrl-C in the middle loses nothing that had arrived."""
    asked: list[str] = []

    def model(xs: list[str]) -> Iterator[float]:
        if len(asked) >= 4:
            raise KeyboardInterrupt
        asked.extend(xs)
        return [1.0] * len(xs)

    subject = from_callable(model, id="stopped")
    with Journal(tmp_path / "j.sqlite") as journal:
        with pytest.raises(KeyboardInterrupt):
            ask(grid(10), subject, journal=journal, batch_size=2)
        done = list(asked)
        asked.clear()
        with pytest.raises(KeyboardInterrupt):
            ask(grid(10), subject, journal=journal, batch_size=2)
    assert done == ["t0", "t1", "t2", "t3"]
    assert not set(done) & set(asked)


def test_every_row_is_a_reply_or_an_error_under_faults() -> None:
    """With a third of the rows failing for good, nothing is lost and nothing becomes 0."""
    flaky = Flaky(subject=Scripted(replies={}, default=0.5), rate=0.3, lasting=True)
    found = ask(grid(300), flaky)
    scores = found.observations.columns["score"]
    assert len(scores) == 300
    assert found.failed == int(np.isnan(scores).sum()) > 50
    assert set(scores[np.isfinite(scores)]) == {0.5}


def test_columns_that_grow_over_many_blocks_keep_every_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Uneven batches, a score and a factor that come late, new levels, missing ones, wider codes: as a list has them."""
    monkeypatch.setattr("evenhand._run.BLOCK", 5)
    sizes = [3, 4, 1, 13, 2, 0, 6, 30]
    expected: dict[str, list[object]] = {"score": [], "late": [], "name": [], "group": []}

    def plan() -> Plan:
        row = 0
        for step, size in enumerate(sizes):
            rows = range(row, row + size)
            # of step 5 none is asked; levels of later steps sort before those of earlier ones
            names = [None if i % 4 == 3 else f"n{200 - step}-{i % 20}" for i in rows]
            factors = {"name": Factor.of(names)}
            expected["name"] += names
            if step >= 3:
                factors["group"] = Factor.of([f"g{i}" for i in rows])
            expected["group"] += [f"g{i}" if step >= 3 else None for i in rows]
            expected["score"] += [float(i) for i in rows]
            expected["late"] += [-float(i) if step >= 4 else None for i in rows]
            yield Probes(inputs=[f"{step} {i}" for i in rows], factors=factors)
            row += size

    def model(inputs: list[str]) -> dict[str, list[float]]:
        numbers = [float(text.split()[1]) for text in inputs]
        late = {"late": [-x for x in numbers]} if int(inputs[0].split()[0]) >= 4 else {}
        return {"score": numbers, **late}

    found = ask(plan(), from_callable(model, id="two"), batch_size=7).observations
    told = {name: [None if x != x else x for x in found.columns[name].tolist()] for name in ("score", "late")}
    assert told == {name: expected[name] for name in ("score", "late")}
    for name in ("name", "group"):
        factor = found.units[name]
        assert factor.codes.min() == -1
        assert [None if c < 0 else factor.levels[c] for c in factor.codes.tolist()] == expected[name]


def test_codes_grow_wider_with_the_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    """300 levels, one batch after the other: what was coded in a byte before stays what it was."""
    monkeypatch.setattr("evenhand._run.BLOCK", 50)

    def plan() -> Plan:
        for start in range(0, 300, 20):
            names = [f"u{i}" for i in range(start, start + 20)]
            yield Probes(inputs=names, factors={"unit": Factor.of(names)})

    found = ask(plan(), LENGTH).observations.units["unit"]
    assert [found.levels[code] for code in found.codes.tolist()] == [f"u{i}" for i in range(300)]
    assert found.codes.dtype == np.int16


def test_progress_counts_over_all_batches_and_steps() -> None:
    """Rows asked and rows failed so far, whatever the seams."""
    told: list[tuple[int, int]] = []
    flaky = from_callable(
        lambda xs: [1.0 if x not in ("t2", "t9") else float("nan") for x in xs], id="two fail"
    )
    asked = ask(grid(10, batch=6), flaky, batch_size=4, progress=lambda *done: told.append(done))
    assert told == [(4, 1), (6, 1), (10, 2)]
    assert asked.failed == 2


def test_an_executor_takes_batches_of_any_size() -> None:
    """The last one is short."""
    with ThreadPoolExecutor(3) as pool:
        beside = ask(grid(10, batch=10), LENGTH, batch_size=3, executor=pool).observations
    assert beside.columns["score"].tolist() == list(range(10))


@pytest.mark.parametrize("failing", [0, 1])
def test_a_repeat_without_any_score_is_missing_and_nothing_more(failing: int) -> None:
    """A service that is down for one of two repeats: its rows failed, the plan hears so and goes on."""

    class Down:
        id = "down"
        calls = 0

        def __call__(self, inputs: list[str], /) -> Replies:
            self.calls += 1
            if self.calls == failing + 1:
                return Replies(scores={}, errors=dict.fromkeys(range(len(inputs)), "HTTP 500"))
            return Replies(scores={"score": np.ones(len(inputs))})

    heard = []

    def plan() -> Plan:
        heard.append((yield Probes(inputs=["a", "b"])))

    found = ask(plan(), Down(), repeats=2)
    assert found.failures == {"HTTP 500": 2}
    assert sorted(heard[0].errors) == [0, 1]
    assert np.isnan(heard[0].scores["score"]).all()

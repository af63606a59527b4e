"""Subjects: what a callable may return, how failures are told, and that wrappers compose."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand._errors import BudgetSpent, SubjectError, UsageError
from evenhand._model import Replies
from evenhand.subjects import Batched, Budgeted, Limited, Retrying, from_callable, subject
from evenhand.subjects.python import as_replies
from evenhand.testing import Flaky, Planted, Scripted, forbid_network


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ([0.1, 0.2], {"score": [0.1, 0.2]}),
        ((0.1, 0.2), {"score": [0.1, 0.2]}),
        ([np.float32(0.5), 1], {"score": [0.5, 1.0]}),
        ([{"pos": 1, "neg": 0}, {"pos": 0, "neg": 1}], {"pos": [1, 0], "neg": [0, 1]}),
        ({"pos": [1, 0]}, {"pos": [1, 0]}),
        (np.array([[0.1, 0.9], [0.2, 0.8]]), {"class_0": [0.1, 0.2], "class_1": [0.9, 0.8]}),
    ],
    ids=["floats", "tuple", "numpy scalars", "mappings", "mapping of lists", "array"],
)
def test_a_callable_may_return_any_of_the_usual_shapes(raw: Any, expected: dict[str, list[float]]) -> None:
    """Floats, mappings, a mapping of sequences, or an array become named scores."""
    found = as_replies(raw, 2)
    assert {k: v.tolist() for k, v in found.scores.items()} == expected
    assert found.errors == {}


@pytest.mark.parametrize(
    ("raw", "slug"),
    [
        ([0.1], "reply-length"),
        (None, "reply-type"),
        ("ab", "reply-type"),
        (["x", "y"], "reply-type"),
        (np.zeros((2, 2, 2)), "reply-shape"),
    ],
    ids=["too few", "nothing", "text", "words", "three dimensions"],
)
def test_a_reply_of_the_wrong_shape_is_one_clear_error(raw: Any, slug: str) -> None:
    """The subject is at fault, so the exit code is 3."""
    with pytest.raises(SubjectError) as caught:
        as_replies(raw, 2)
    assert caught.value.slug == slug
    assert caught.value.exit_code == 3


def test_nan_and_infinity_are_errors_and_never_scores() -> None:
    """What is not finite is counted as failed, in every score of that row."""
    found = as_replies({"a": [0.5, float("inf"), 1.0], "b": [0.5, 0.5, float("nan")]}, 3)
    assert sorted(found.errors) == [1, 2]
    assert np.isnan(found.scores["b"]).tolist() == [False, True, True]


def test_a_user_module_is_named_by_module_and_attribute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The current folder counts, as it does for `python -m`."""
    (tmp_path / "my_scorer_xyz.py").write_text(
        "def predict(texts):\n    return [len(t) / 10 for t in texts]\n"
    )
    monkeypatch.chdir(tmp_path)
    assert subject("my_scorer_xyz:predict")(["abc"]).scores["score"].tolist() == [0.3]
    assert subject("my_scorer_xyz.py:predict")(["abc"]).scores["score"].tolist() == [0.3]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("vadr", "did you mean 'vader'"),
        ("nosuchmodule_:f", "no module"),
        ("math:sqroot", "did you mean 'sqrt'"),
    ],
)
def test_an_unknown_subject_says_what_there_is(name: str, words: str) -> None:
    """A typing error gets the near names."""
    with pytest.raises(UsageError, match=words):
        subject(name)


def test_an_edited_function_is_another_subject() -> None:
    """The id holds a digest of the source, so the journal never answers for an older version."""
    first, second = from_callable(lambda xs: [1.0 for _ in xs]), from_callable(lambda xs: [2.0 for _ in xs])
    assert first.id != second.id


def test_vader_and_textblob_score_without_a_network() -> None:
    """The demo's models ship inside their packages."""
    with forbid_network():
        for name, score in (("vader", "compound"), ("textblob", "polarity")):
            values = subject(name)(["A wonderful, happy day.", "A terrible, sad day."]).scores[score]
            assert values[0] > 0 > values[1]


def test_retrying_asks_the_failed_rows_again_and_no_others() -> None:
    """Rows that succeeded are not billed twice."""
    inner = Flaky(subject=Scripted(replies={}, default=0.5), rate=0.5)
    wrapped = Retrying(subject=inner, attempts=30, wait_initial=0.0001, wait_max=0.0002)
    found = wrapped([f"t{i}" for i in range(200)])
    assert found.errors == {}
    assert set(inner.billed.values()) == {1}


def test_retrying_gives_up_and_keeps_the_reason() -> None:
    """After the last attempt a row is a counted error."""
    inner = Flaky(subject=Scripted(replies={}, default=0.5), rate=1.0)
    found = Retrying(subject=inner, attempts=2, wait_initial=0.0001, wait_max=0.0002)(["a"])
    assert found.errors == {0: "try again"}


def test_a_lasting_error_is_not_retried() -> None:
    """Asking again what was refused only costs money."""
    inner = Flaky(subject=Scripted(replies={}, default=0.5), rate=1.0, lasting=True)
    Retrying(subject=inner, attempts=5, wait_initial=0.0001)(["a"])
    assert inner.tries == {"a": 1}


def test_limited_spaces_calls_and_characters() -> None:
    """The sum of what passed never exceeds the rate."""
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    limited = Limited(subject=Scripted(replies={}, default=0.0), calls=10, clock=lambda: now[0], sleep=sleep)
    for _ in range(5):
        limited(["a", "b"])
    assert now[0] == pytest.approx(0.8)
    slow = Limited(
        subject=Scripted(replies={}, default=0.0), characters=100, clock=lambda: now[0], sleep=sleep
    )
    start = now[0]
    slow(["x" * 50])
    slow(["x" * 50])
    assert now[0] - start == pytest.approx(0.5)


def test_batched_never_passes_more_than_its_size() -> None:
    """Services with small batches are fed in small batches, in order."""
    sizes: list[int] = []

    def model(xs: list[str]) -> list[float]:
        sizes.append(len(xs))
        return [float(x) for x in xs]

    found = Batched(subject=from_callable(model, id="m"), size=3)([str(i) for i in range(8)])
    assert sizes == [3, 3, 2]
    assert found.scores["score"].tolist() == list(range(8))


def test_a_subject_that_batches_itself_gets_everything_at_once() -> None:
    """No seam between batches, with or without a budget around it; the budget still counts every input."""
    sizes = []

    @dataclass(frozen=True)
    class Pipelined:
        id: str = "pipelined"
        batches_itself: bool = True

        def __call__(self, inputs: Any, /) -> Replies:
            sizes.append(len(inputs))
            return Replies(scores={"s": np.arange(len(inputs), dtype=float)})

    texts = [str(i) for i in range(8)]
    Batched(subject=Pipelined(), size=3)(texts)
    paying = Budgeted(subject=Pipelined(), calls=7)
    with pytest.raises(BudgetSpent):
        Batched(subject=paying, size=3)(texts)
    assert sizes == [8, 7]
    assert paying.purse.spent.calls == 7


def test_planted_has_exactly_the_gap_it_was_given() -> None:
    """The fake's ground truth is exact, whatever its noise by text."""
    model = Planted(gap=0.25, words=["Imani"], masks=["Amy"], text_sd=0.3)
    scores = model(["Imani sang.", "Amy sang."]).scores["score"]
    assert scores[0] - scores[1] == pytest.approx(0.25)

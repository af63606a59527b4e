"""What a subject declares about itself reaches the audit through whatever is wrapped around it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand._model import traits_of
from evenhand._store import Journal
from evenhand.subjects import Batched, Budgeted, Cached, Limited, Retrying, from_path, subject
from evenhand.subjects.long_texts import LongTexts
from evenhand.testing import Flaky

TEXTS = [f"Arthur lost his {thing}." for thing in ("keys", "dog", "way", "hat")]
NAMES = "names/weat-gender"
AT_ONCE = 1e9
"""A rate that holds nobody up, so that a limit is there and the test does not wait."""


class Severity:
    """A model with an id of its own: 0, 2 or 7 by the length of the text; remembers the sizes of its calls."""

    id = "severity 1"
    ordinal = True
    whole = True
    notice = "Severities end in June."

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def __call__(self, inputs: Sequence[str], /) -> eh.Replies:
        self.sizes.append(len(inputs))
        return eh.Replies(scores={"score": np.array([float((0, 2, 7)[len(text) % 3]) for text in inputs])})


def audited(model: Any, **options: Any) -> eh.Result:
    """A small audit of names."""
    return eh.audit_text(model, TEXTS, terms=NAMES, replace="Arthur", control=False, batch_size=7, **options)


WAYS: dict[str, dict[str, Any]] = {
    "a rate": {"rate": AT_ONCE},
    "a budget": {"budget": 10_000},
    "long texts": {"long_texts": "stop"},
    "all of them": {"rate": AT_ONCE, "budget": 10_000, "long_texts": "stop"},
}


@pytest.mark.parametrize("options", WAYS.values(), ids=WAYS)
def test_limits_around_a_subject_change_neither_gap_nor_notes(options: dict[str, Any]) -> None:
    """Ordinal scores stay ranks, the notice stays a note, and one call stays one call."""
    plain, limited = Severity(), Severity()
    expected, found = audited(plain), audited(limited, **options)
    assert [f.estimate.value for f in found.findings] == [f.estimate.value for f in expected.findings]
    assert found.notes == expected.notes
    assert {"ordinal-scores", "about-the-service"} <= {note.slug for note in found.notes}
    assert limited.sizes[0] == plain.sizes[0] == len(TEXTS) * 16


def _function(inputs: list[str]) -> list[float]:
    return [float(len(text) % 3) for text in inputs]


def _marked() -> Callable[..., Any]:
    def model(inputs: list[str]) -> list[float]:
        return _function(inputs)

    model.ordinal = True  # type: ignore[attr-defined]
    return model


class Graded:
    """A callable without an id, whose class says that its scores are ordinal."""

    ordinal = True

    def __call__(self, inputs: list[str]) -> list[float]:
        return _function(inputs)


MODELS: dict[str, Callable[[], Any]] = {
    "a function": _marked,
    "a callable's class": Graded,
    "given with it": lambda: subject(_function, traits=eh.Traits(ordinal=True)),
}


@pytest.mark.parametrize("made", MODELS.values(), ids=MODELS)
def test_a_users_own_callable_says_that_it_is_ordinal(made: Callable[[], Any]) -> None:
    """An attribute of the function or of its class is enough; so is `traits=`."""
    assert "ordinal-scores" in {note.slug for note in audited(made()).notes}
    assert "ordinal-scores" not in {note.slug for note in audited(_function).notes}


def test_a_model_named_by_its_file_keeps_its_traits(tmp_path: Path) -> None:
    """`module:attr` and `file.py:attr` read the same attributes."""
    file = tmp_path / "severities.py"
    file.write_text("class Model:\n    notice = 'new'\n    def __call__(self, xs): return [1.0] * len(xs)\n")
    assert traits_of(from_path(f"{file}:Model")) == eh.Traits(notice="new", reuse="unfinished")


def test_every_wrapper_passes_traits_on(tmp_path: Path) -> None:
    """Stacked in any order; only what must see its calls one by one takes `batches_itself` away."""

    class Pipelined(Severity):
        batches_itself = True

    declared = eh.Traits(ordinal=True, whole=True, notice=Severity.notice, batches_itself=True)
    model = Pipelined()
    with Journal(tmp_path / "j.sqlite") as journal:
        wrapped = Cached(
            subject=Batched(subject=Budgeted(subject=LongTexts(subject=model, how="split")), size=2),
            journal=journal,
        )
        assert (
            traits_of(model) == traits_of(wrapped) == traits_of(Flaky(subject=wrapped, rate=0.0)) == declared
        )
    for cautious in (Limited(subject=model, calls=1.0), Retrying(subject=model)):
        assert traits_of(Budgeted(subject=cautious)) == eh.Traits(
            ordinal=True, whole=True, notice=Severity.notice
        )


def test_what_only_looks_like_a_trait_is_none() -> None:
    """A method named `notice` is no notice, a `subject` that is a text no wrapped model, and a circle ends."""

    class Mail:
        subject = "Re: your letter"

        def __init__(self) -> None:
            self.function = self

        def notice(self) -> str:
            return "read"

    assert traits_of(Mail()) == eh.Traits()

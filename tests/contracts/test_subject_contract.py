"""One suite that every local subject passes: order, batches, determinism, empty input, odd texts, a stable id."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand._errors import DataError, UsageError
from evenhand.subjects import SUBJECTS, Batched, subject
from evenhand.testing import Planted, Scripted, forbid_network

TEXTS = [
    "A wonderful day, thank you!",
    "A terrible, hateful mess.",
    "",
    "12 % of 30 {x}",
    "שלום 🙂",
    "word " * 3000,
]


def _sklearn(folder: Path) -> Any:
    pytest.importorskip("skops")
    import skops.io as sio
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(HashingVectorizer(n_features=64), LogisticRegression())
    model.fit(["good", "bad", "fine day", "awful mess"], ["pos", "neg", "pos", "neg"])
    sio.dump(model, folder / "model.skops")
    return subject("sklearn", path=str(folder / "model.skops"))


MAKERS: dict[str, Callable[[Path], Any]] = {
    "vader": lambda _: subject("vader"),
    "textblob": lambda _: subject("textblob"),
    "python": lambda _: subject(lambda xs: [len(x) / 100_000 for x in xs], id="length"),
    "recorded": lambda _: subject("recorded", path={"input": TEXTS, "score": list(range(len(TEXTS)))}),
    "scripted": lambda _: Scripted(replies={}, default=0.5),
    "planted": lambda _: Planted(gap=0.1, words=["wonderful"], noise_sd=0.1),
    "sklearn": _sklearn,
}


@pytest.fixture(params=sorted(MAKERS))
def model(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Each local subject in turn."""
    return MAKERS[request.param](tmp_path)


def test_one_finite_reply_a_row(model: Any) -> None:
    """As many replies as inputs, each finite or an error."""
    replies = model(TEXTS)
    assert replies.scores
    for column in replies.scores.values():
        assert column.shape == (len(TEXTS),)
        assert np.isfinite(np.delete(column, list(replies.errors))).all()


def test_batches_and_order_change_nothing(model: Any) -> None:
    """A row's score does not depend on its neighbours."""
    whole = model(TEXTS)
    batched = Batched(subject=model, size=2)(TEXTS)
    backwards = model(TEXTS[::-1])
    for name, column in whole.scores.items():
        np.testing.assert_allclose(batched.scores[name], column)
        np.testing.assert_allclose(backwards.scores[name][::-1], column)


def test_an_empty_batch_is_no_error(model: Any) -> None:
    """Nothing asked, nothing answered."""
    assert len(model([])) == 0


def test_the_id_is_stable_and_needs_no_network(model: Any) -> None:
    """The same model has the same id in every process."""
    with forbid_network():
        assert isinstance(model.id, str)
        assert model.id == model.id
        model(TEXTS[:1])


def test_a_pickle_is_opened_only_when_trusted(tmp_path: Path) -> None:
    """Opening one runs its code."""
    joblib = pytest.importorskip("joblib")
    from sklearn.dummy import DummyClassifier

    joblib.dump(DummyClassifier().fit([["a"]], [1]), tmp_path / "model.joblib")
    with pytest.raises(UsageError, match="pickle-not-trusted"):
        subject("sklearn", path=str(tmp_path / "model.joblib"))
    assert subject("sklearn", path=str(tmp_path / "model.joblib"), trust_pickle=True)([["a"]]).scores
    (tmp_path / "bad.skops").write_bytes(b"no zip")
    with pytest.raises(DataError, match="no skops model"):
        subject("sklearn", path=str(tmp_path / "bad.skops"))


def test_every_name_in_the_table_can_be_imported() -> None:
    """The visible table does not lie."""
    from importlib import import_module

    for where in SUBJECTS.values():
        module, _, attribute = where.partition(":")
        assert callable(getattr(import_module(module), attribute))

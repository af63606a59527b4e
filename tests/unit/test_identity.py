"""Code of one's own: replies finish the run they belong to; another model never answers for it."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand._errors import JournalError
from evenhand._run import ask, finish
from evenhand._store import Journal
from evenhand.audits.text.asking import within_limits
from evenhand.cli import run
from evenhand.subjects import Budgeted, from_callable, subject, versioned
from evenhand.subjects.identity import digest_of_files
from evenhand.subjects.service import Service

LETTERS = [f"Arthur lost his {thing}." for thing in ("keys", "dog", "way", "hat", "map")]


class Weighted:
    """A model whose weights are its own."""

    def __init__(self, weight: float) -> None:
        self.weights = {"all": np.full(3, weight)}

    def predict(self, texts: list[str]) -> list[float]:
        return [float(self.weights["all"][0]) for _ in texts]


def scale(texts: list[str], factor: float) -> list[float]:
    """A function that a partial fills in."""
    return [factor for _ in texts]


def closed_over(value: Any) -> Any:
    """A closure over a value."""
    return lambda texts: [float(value) for _ in texts]


def plan(n: int = 30) -> eh.Plan:
    """n distinct texts."""
    yield eh.Probes(inputs=[f"text {i}" for i in range(n)])


PAIRS = {
    "bound methods": (Weighted(0.1).predict, Weighted(0.9).predict),
    "partials": (functools.partial(scale, factor=0.1), functools.partial(scale, factor=0.9)),
    "closures": (closed_over(0.1), closed_over(0.9)),
    "objects": (Weighted(0.1), Weighted(0.9)),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_models_with_other_weights_never_share(pair: str, tmp_path: Path) -> None:
    """Neither in a run of its own nor in one that another left unfinished."""
    functions = [f if pair != "objects" else f.predict for f in PAIRS[pair]]
    one, other = map(subject, functions)
    assert one.id != other.id
    with Journal(tmp_path / "j.sqlite") as journal:
        stopped = ask(plan(), Budgeted(subject=one, calls=25), journal=journal)
        assert stopped.stopped is not None
        found = ask(plan(), other, journal=journal).observations.columns["score"]
    assert set(found) == {0.9}


def test_equal_models_are_one(tmp_path: Path) -> None:
    """The same code and the same weights have the same id, also in another process."""
    assert subject(Weighted(0.5).predict).id == subject(Weighted(0.5).predict).id
    assert subject(functools.partial(scale, factor=2)).id == subject(functools.partial(scale, factor=2)).id
    program = "from evenhand.subjects import subject; print(subject(lambda xs: [x in {'a', 'b', 'c'} for x in xs]).id)"
    ids = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(ids) == 1


def test_a_finished_run_is_not_reused_and_an_unfinished_one_is(tmp_path: Path) -> None:
    """Local code may read another file next time: only the run that was stopped goes on."""
    asked: list[str] = []

    def model(texts: list[str]) -> list[float]:
        asked.extend(texts)
        return [float(len(t)) for t in texts]

    one = from_callable(model)
    path = tmp_path / "j.sqlite"
    with Journal(path) as journal:
        ask(plan(), Budgeted(subject=one, calls=12), journal=journal)
        assert len(asked) == 12
    with Journal(path) as journal:
        found = ask(plan(), one, journal=journal)
        assert found.reused.known == 12
        assert len(asked) == 12 + 12 + 18  # a look whether it is still the same, and the rest
        finish(journal, found)
    with Journal(path) as journal:
        assert ask(plan(), one, journal=journal).reused.known == 0
    assert len(asked) == 42 + 30


def test_a_model_that_changed_cannot_finish_a_run(tmp_path: Path) -> None:
    """Twenty of its answers are held against the journal first: any difference beyond rounding stops it."""
    weights = tmp_path / "weights.json"

    def model(texts: list[str]) -> list[float]:
        by = json.loads(weights.read_text())
        return [len(t) * by + (1e-9 if len(texts) < 21 else 0.0) for t in texts]

    one, path = from_callable(model), tmp_path / "j.sqlite"
    weights.write_text("1.0")
    with Journal(path) as journal:
        ask(plan(100), Budgeted(subject=one, calls=60), journal=journal)
    with Journal(path) as journal:
        assert ask(plan(70), Budgeted(subject=one, calls=70), journal=journal).reused.known == 60
    weights.write_text("1.1")
    with Journal(path) as journal, pytest.raises(JournalError, match="subject-changed"):
        ask(plan(100), one, journal=journal)


def test_state_that_cannot_be_seen_is_never_reused(tmp_path: Path) -> None:
    """A model behind a lock, a socket or another language's pointer needs a version to be known again."""

    class Hidden:
        def __init__(self, value: float) -> None:
            self.lock, self.value = threading.Lock(), value

        def predict(self, texts: list[str]) -> list[float]:
            return [self.value for _ in texts]

    with Journal(tmp_path / "j.sqlite") as journal:
        ask(plan(), Budgeted(subject=subject(Hidden(0.1).predict), calls=10), journal=journal)
    with Journal(tmp_path / "j.sqlite") as journal:
        assert ask(plan(), subject(Hidden(0.1).predict), journal=journal).reused.known == 0
    with Journal(tmp_path / "j.sqlite") as journal:
        ask(plan(), versioned(Hidden(0.1).predict, "1"), journal=journal)
    with Journal(tmp_path / "j.sqlite") as journal:
        assert ask(plan(), versioned(Hidden(0.1).predict, "1"), journal=journal).reused.known == 30
        found = ask(plan(), versioned(Hidden(0.9).predict, "2"), journal=journal)
        assert set(found.observations.columns["score"]) == {0.9}


def test_a_version_belongs_to_any_subject() -> None:
    """Also to one whose id is fixed; edited code is another subject whatever its version says."""
    assert versioned("vader", "3").id == subject("vader").id + " version 3"
    assert versioned("vader", None).id == subject("vader").id
    service = subject("http", url="http://127.0.0.1/", scores="$.s")
    limited = within_limits(versioned(service, "3"), 5.0, "error")
    assert limited.id == service.id + " version 3"
    assert isinstance(limited, Service)
    assert limited.rate == 5.0
    one, other = (versioned(f, "1") for f in (lambda xs: [1.0] * len(xs), lambda xs: [2.0] * len(xs)))
    assert one.id != other.id


WEIGHED = """
import json
def predict(texts):
    with open("weights.json") as file:
        weight = json.load(file)
    return [weight * (any(name in t for name in ("John", "Paul", "Mike", "Kevin", "Steve"))) for t in texts]
"""


def test_changed_weights_give_another_result_from_the_same_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file changes between two runs: the second asks again; with a version it is said what is old."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "weighed_abc.py").write_text(WEIGHED)
    (tmp_path / "letters.txt").write_text("\n".join(LETTERS))
    command = ["text", "--subject", "weighed_abc:predict", "--texts", "letters.txt", "--replace", "Arthur"]
    command += ["--terms", "names/weat-gender", "--out", "out"]

    def gap(*more: str) -> float:
        assert run([*command, *more, "-v"]) == 0
        return float(json.loads((tmp_path / "out" / "result.json").read_text())["findings"][0]["value"])

    (tmp_path / "weights.json").write_text("0.0")
    first = gap()
    (tmp_path / "weights.json").write_text("1.0")
    assert gap() != first
    old = gap("--subject-version", "1")
    (tmp_path / "weights.json").write_text("0.0")
    capsys.readouterr()
    assert gap("--subject-version", "1") == old
    assert "replies came from the journal (of 20" in capsys.readouterr().out
    assert "came from the journal" in (tmp_path / "out" / "report.html").read_text()
    assert gap("--subject-version", "2") == first


def test_files_are_known_by_their_bytes(tmp_path: Path) -> None:
    """One changed byte is another model; the place of the folder is not."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "weights.bin").write_bytes(bytes(3_000_000))
        (tmp_path / name / "config.json").write_text("{}")
    a, b = (sorted((tmp_path / name).iterdir()) for name in ("a", "b"))
    assert digest_of_files(a) == digest_of_files(b)
    with (tmp_path / "b" / "weights.bin").open("r+b") as file:
        file.seek(2_999_999)
        file.write(b"\1")
    assert digest_of_files(a) != digest_of_files(b)


def test_threads_of_one_audit_begin_one_run(tmp_path: Path) -> None:
    """With an executor, too, what was stopped goes on as one."""
    one = from_callable(lambda texts: [float(len(t)) for t in texts])
    with Journal(tmp_path / "j.sqlite") as journal, ThreadPoolExecutor(4) as pool:
        ask(plan(40), one, journal=journal, executor=pool, batch_size=5)
    with Journal(tmp_path / "j.sqlite") as journal:
        assert ask(plan(40), one, journal=journal).reused.known == 40

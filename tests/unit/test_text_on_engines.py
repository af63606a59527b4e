"""A text audit that an engine's workers ask: the result of one process, nothing asked or paid twice, or one clear message."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import evenhand as eh
from evenhand._errors import EngineError
from evenhand._store import Journal
from evenhand.audits.text import asking
from evenhand.cli import app
from evenhand.engines.attempts import attempt, summary_of
from evenhand.engines.local import Local
from evenhand.subjects import spread as spread_module

MODEL = """
import os, signal
from pathlib import Path

HERE = Path(__file__).parent

def note(texts):
    with (HERE / "asked.txt").open("a") as file:
        file.write("".join(text + "\\n" for text in texts))

def score(texts):
    if any("fails" in text for text in texts):
        raise ValueError("no score for this one")
    if (HERE / "mortal").exists() and (HERE / "asked.txt").read_text().count("\\n") >= 12:
        (HERE / "mortal").unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    note(texts)
    return [len(text) % 7 / 10 + ("Kevin" in text) / 5 for text in texts]
"""
TEXTS = [f"Arthur {verb} the {thing}." for verb in ("lost", "found") for thing in ("key", "dog", "hat")]
ATTEMPT = """
import pickle, sys
from evenhand.engines.attempts import attempt
sys.stdout.buffer.write(attempt(*pickle.load(sys.stdin.buffer)))
"""


class Sent(Local):
    """As on other machines: everything is sent, and made in any order."""

    def map(self, work: Any, parts: Sequence[Any], progress: Any = None) -> Iterator[Any]:
        order = np.random.default_rng(1).permutation(len(parts))
        made = {i: attempt(pickle.dumps(work), pickle.dumps(parts[i]), eh.__version__) for i in order}
        yield from (summary_of(made[i]) for i in range(len(parts)))


class Processes(Local):
    """Two workers, each a process of its own."""

    def map(self, work: Any, parts: Sequence[Any], progress: Any = None) -> Iterator[Any]:
        with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
            asked = [pool.submit(attempt, pickle.dumps(work), pickle.dumps(p), eh.__version__) for p in parts]
            for each in asked:
                yield summary_of(each.result())


class Mortal(Local):
    """A process for each share, which is made again where it died."""

    def map(self, work: Any, parts: Sequence[Any], progress: Any = None) -> Iterator[Any]:
        for part in parts:
            sent = pickle.dumps((pickle.dumps(work), pickle.dumps(part), eh.__version__))
            call = [sys.executable, "-c", ATTEMPT]
            done = subprocess.run(call, input=sent, capture_output=True, check=False)
            if done.returncode:
                done = subprocess.run(call, input=sent, capture_output=True, check=True)
            yield summary_of(done.stdout)


@pytest.fixture
def by(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """`engine="local"` is made by this engine instead."""

    def use(engine: Any) -> None:
        monkeypatch.setattr(asking, "engine_of", lambda *_: engine)

    return use


@pytest.fixture
def model(tmp_path: Path) -> str:
    """A subject of one's own, which notes whatever it is asked."""
    (tmp_path / "model.py").write_text(MODEL)
    return f"{tmp_path}/model.py:score"


def asked(folder: Path) -> Counter[str]:
    file = folder / "asked.txt"
    return Counter(file.read_text().splitlines()) if file.exists() else Counter()


def plain(result: eh.Result) -> dict[str, Any]:
    """result.json but for where it comes from."""
    found = json.loads(result.to_json())
    del found["provenance"]
    return dict(found)


def audit(subject: Any, **more: Any) -> eh.Result:
    given = {"texts": TEXTS, "terms": "names/weat-gender", "replace": "Arthur", "batch_size": 5}
    return eh.audit_text(subject, **{**given, **more})


WORLDS: dict[str, dict[str, Any]] = {
    "names": {},
    "nobody says how large scores are": {"tolerance": None, "texts": [*TEXTS, *TEXTS]},
    "repeated": {"repeats": 2, "threshold": 0.5},
    "rows that fail": {"texts": [*TEXTS, "Arthur fails.", "Arthur fails the dog."]},
    "one share": {"batch_size": 10_000},
    "two lists": {"terms": ["names/weat-gender", "identity/gender"], "texts": [*TEXTS, "A deaf man met Arthur.", "A blind man met Arthur."]},
}  # fmt: skip


@pytest.mark.parametrize("world", list(WORLDS))
def test_shares_give_the_result_of_one_process(
    world: str, model: str, tmp_path: Path, by: Callable[[Any], None]
) -> None:
    """To the last bit, however many shares there are, in whichever order they are made; every input is asked once."""
    call = {"tolerance": 0.1, **WORLDS[world]}
    one = audit(model, journal=tmp_path / "one.sqlite", **call)
    first = asked(tmp_path)
    (tmp_path / "asked.txt").unlink()
    for engine in (Local(), Sent()):
        by(engine)
        name = type(engine).__name__
        found = audit(model, journal=tmp_path / f"{name}.sqlite", engine="local", **call)
        assert plain(found) == plain(one)
        assert asked(tmp_path) == first
        (tmp_path / "asked.txt").unlink()
    assert max(first.values()) == call.get("repeats", 1)


def test_two_processes_ask_everything_once_and_stop_at_the_budget_of_both(
    model: str, tmp_path: Path, by: Callable[[Any], None]
) -> None:
    """31 inputs for both together; a larger budget then goes on where they stopped, and nobody asks again."""
    by(Processes())
    call = {
        "journal": tmp_path / "journal.sqlite",
        "engine": "local",
        "tolerance": 0.1,
        "subject_version": "1",
    }
    stopped = audit(model, budget=31, **call)
    assert not stopped.complete
    assert asked(tmp_path).total() == 31
    whole = audit(model, budget=500, **call)
    assert whole.complete
    assert max(asked(tmp_path).values()) == 1
    with Journal(tmp_path / "journal.sqlite") as journal:
        assert journal.stats()[0]["calls"] == len(asked(tmp_path))


def test_a_worker_killed_in_the_middle_of_a_share_is_billed_once(
    model: str, tmp_path: Path, by: Callable[[Any], None]
) -> None:
    """What it had written is found by whoever makes the share again, and counts as asked now, not as an earlier reply."""
    call = {"tolerance": 0.1, "batch_size": 4, "budget": 10_000}
    one = audit(model, journal=tmp_path / "one.sqlite", **call)
    first = asked(tmp_path)
    (tmp_path / "asked.txt").write_text("")
    (tmp_path / "mortal").touch()
    by(Mortal())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spread_module, "MOST_SHARES", 2)
        found = audit(model, journal=tmp_path / "j.sqlite", engine="local", **call)
    assert not (tmp_path / "mortal").exists()
    assert asked(tmp_path) == first
    assert plain(found) == plain(one)
    with Journal(tmp_path / "j.sqlite") as journal:
        assert journal.stats()[0]["calls"] == sum(first.values())


def test_a_resumed_audit_says_what_came_from_the_journal(model: str, tmp_path: Path) -> None:
    """Replies of an earlier run are told from those that workers of this run kept."""
    call = {"journal": tmp_path / "j.sqlite", "engine": "local", "tolerance": 0.1, "subject_version": "1"}
    audit(model, **{**call, "texts": TEXTS[:2]})
    found = audit(model, **call)
    assert "32 of 96 replies came from the journal" in str(plain(found)["notes"])
    assert max(asked(tmp_path).values()) == 1


def test_a_rate_is_kept_by_all_who_share_the_journal(model: str, tmp_path: Path) -> None:
    """They stand in one line: nobody begins before whoever stood before has had the time for all of theirs."""
    path = tmp_path / "journal.sqlite"
    with Journal(path) as one, Journal(path) as two:
        begun = [journal.leases.turn("m", "calls", 10.0) for journal in (one, two, one)]
        assert np.diff(begun) == pytest.approx([10.0, 10.0])
        assert one.leases.turn("m", "characters", 1.0) < begun[1]
    audit(model, journal=path, engine="local", tolerance=0.1, rate=1e5)
    with Journal(path) as journal:
        free = dict(journal._connection.execute("SELECT scope, free FROM turns"))
    assert [scope for scope in free if "score" in scope and scope.endswith(" calls")]


def test_a_service_stands_in_the_same_line(tmp_path: Path) -> None:
    """Its own pace asks the journal when it may begin."""
    import asyncio

    from evenhand.subjects.service import _Pace

    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    with Journal(tmp_path / "journal.sqlite") as one, Journal(tmp_path / "journal.sqlite") as two:
        for journal in (one, two):
            turn = journal.leases.turn
            pace = _Pace(0.01, sleep=sleep, line=lambda seconds, turn=turn: turn("m", "calls", seconds))
            asyncio.run(pace.wait())
    assert waited[-1] == pytest.approx(100.0, abs=1.0)
    assert len(waited) <= 2


def test_a_worker_whose_code_is_another_is_refused(
    model: str, tmp_path: Path, by: Callable[[Any], None]
) -> None:
    """Its scores would stand in the journal as those of the code that asks."""

    class Older(Sent):
        def map(self, work: Any, parts: Sequence[Any], progress: Any = None) -> Iterator[Any]:
            file = tmp_path / "model.py"
            file.write_text(
                file.read_text().replace("/ 10", "/ 20.0")
            )  # of another size: a cached module of the same second is not it
            return super().map(work, parts)

    by(Older())
    with pytest.raises(eh.EvenhandError) as caught:
        audit(model, journal=tmp_path / "journal.sqlite", engine="local", tolerance=0.1)
    assert caught.value.slug == "engine-subject"
    assert not asked(tmp_path)


def test_a_worker_that_always_fails_ends_the_audit_and_loses_nothing(
    model: str, tmp_path: Path, by: Callable[[Any], None]
) -> None:
    """What the others had asked is in the journal: the next run asks the rest."""

    class Broken(Sent):
        def map(self, work: Any, parts: Sequence[Any], progress: Any = None) -> Iterator[Any]:
            yield from super().map(work, parts[:3])
            raise EngineError("partition-lost", "the workers of a partition died 4 times", given=parts[3])

    by(Broken())
    call = {
        "journal": tmp_path / "journal.sqlite",
        "engine": "local",
        "tolerance": 0.1,
        "subject_version": "1",
    }
    with pytest.raises(EngineError, match="probes 16 to 20"):
        audit(model, **call)
    assert asked(tmp_path).total() == 15
    by(Local())
    assert audit(model, **call).complete
    assert max(asked(tmp_path).values()) == 1


def refused(*options: str, folder: Path) -> str:
    call = ["text", "--texts", "person", "--terms", "names/weat-gender", "--engine", *options]
    done = CliRunner().invoke(app, [*call, "--out", str(folder / "out")])
    assert isinstance(done.exception, eh.EvenhandError)
    assert done.exception.exit_code == 2
    return str(done.exception)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["spark"], "there is no such engine"),
        (["daft"], "a text audit asks a model, and Daft sums rows"),
        (["local", "--gpu", "1"], "this engine gives no worker a GPU"),
        (["local", "--no-cache"], "through a journal, and there is none"),
        (["local", "--subject", "none-such"], "there is no subject of that name"),
    ],
)
def test_what_no_engine_can_do_is_one_clear_message(options: list[str], said: str, tmp_path: Path) -> None:
    """Exit code 2, before anything is asked."""
    assert said in refused(*options, folder=tmp_path)


def test_a_subject_without_a_name_a_gpu_without_an_engine_and_two_ways_to_ask_side_by_side(
    tmp_path: Path,
) -> None:
    """In Python: each says what it needs."""
    from concurrent.futures import ThreadPoolExecutor

    call: dict[str, Any] = {"journal": tmp_path / "j.sqlite", "tolerance": 0.1}
    with pytest.raises(eh.EvenhandError, match="must have a name"):
        audit(lambda texts: [0.0] * len(texts), engine="local", **call)
    with pytest.raises(eh.EvenhandError, match="only workers of a cluster"):
        audit("vader", gpu=1, **call)
    with ThreadPoolExecutor(1) as pool, pytest.raises(eh.EvenhandError, match="no executor="):
        audit("vader", engine="local", executor=pool, **call)


def test_the_command_line_gives_the_same_result_with_an_engine_and_from_its_file(
    model: str, tmp_path: Path
) -> None:
    """`evenhand text --engine local`, with options of the subject's; then `evenhand run audit.toml` in another process."""
    texts = tmp_path / "texts.txt"
    texts.write_text("\n".join(TEXTS))
    call = ["text", "--subject", "python", "--option", f"path={model}", "--texts", str(texts), "--replace", "Arthur",
            "--terms", "names/weat-gender", "--tolerance", "0.1", "--batch-size", "7"]  # fmt: skip
    found = []
    for name, engine in (("one", []), ("two", ["--engine", "local"])):
        done = CliRunner().invoke(app, [*call, *engine, "--out", str(tmp_path / name)])
        assert done.exit_code == 0, done.output
        found.append(plain(eh.Result.from_json(tmp_path / name / "result.json")))
    assert found[0] == found[1]
    again = CliRunner().invoke(
        app,
        ["run", str(tmp_path / "two" / "audit.toml"), "--engine", "local", "--out", str(tmp_path / "three")],
    )
    assert again.exit_code == 0, again.output
    assert plain(eh.Result.from_json(tmp_path / "three" / "result.json")) == found[0]

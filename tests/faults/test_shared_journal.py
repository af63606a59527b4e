"""Processes and threads that share one journal ask once, spend one budget, and outlive each other."""

from __future__ import annotations

import itertools
import logging
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from service_double import Double, running

import evenhand as eh
from evenhand import _leases, _schema
from evenhand._errors import JournalError, SubjectError
from evenhand._model import Replies
from evenhand._run import ask
from evenhand._store import Journal
from evenhand.cli import run
from evenhand.subjects import Budgeted, Cached, cached, subject

WORKER = textwrap.dedent(
    """
    import sys
    import evenhand as eh
    from evenhand._run import ask
    from evenhand._store import Journal
    from evenhand.subjects import subject

    def plan(n, step):
        for start in range(0, n, step):
            yield eh.Probes(inputs=[f"text {i}" for i in range(start, min(n, start + step))])

    url, path, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
    model = subject("http", url=url, scores="$.results[*].score", batch=2, concurrency=4)
    with Journal(path) as journal:
        asked = ask(plan(n, 200), model, journal=journal)
    sys.exit(0 if asked.failed == 0 else 1)
    """
)
IN_FLIGHT = 2 * (4 + 2 * 5 * 4)
"""Texts that one worker may have been answered and not yet written down: two in each of its four requests in
flight, and what was collected for the reader while it was still writing (at most so much is held for it)."""


@pytest.fixture
def double() -> Iterator[Double]:
    """A server without faults that takes a moment."""
    with running(Double(latency=0.003)) as made:
        yield made


def plan(n: int, step: int = 1_000) -> eh.Plan:
    """n distinct texts."""
    for start in range(0, n, step):
        yield eh.Probes(inputs=[f"text {i}" for i in range(start, min(n, start + step))])


def service(url: str, **given: Any) -> Any:
    """The double as a subject."""
    return subject("http", url=f"{url}/any", **{"scores": "$.results[*].score", "batch": 2, **given})


def _worker(double: Double, path: Path, n: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", WORKER, f"{double.url}/any", str(path), str(n)])


def _four(tmp_path: Path, double: Double, n: int, kills: int) -> None:
    rng, path = random.Random(kills), tmp_path / "j.sqlite"
    workers = [_worker(double, path, n) for _ in range(4)]
    for _ in range(kills):
        before, patience = double.billed.total(), time.monotonic() + 20
        while (
            double.billed.total() < min(before + rng.randrange(10, 60), n - 50)
            and time.monotonic() < patience
        ):
            time.sleep(0.002)
        at = rng.randrange(4)
        os.kill(workers[at].pid, signal.SIGKILL)
        workers[at].wait()
        workers[at] = _worker(double, path, n)
    assert [worker.wait(120) for worker in workers] == [0, 0, 0, 0]
    assert len(double.billed) == n
    assert n <= double.billed.total() <= n + kills * IN_FLIGHT


def test_four_processes_with_kills_bill_each_probe_once(tmp_path: Path, double: Double) -> None:
    """Only what was in flight at a kill may be billed again."""
    _four(tmp_path, double, n=600, kills=3)


@pytest.mark.slow
def test_four_processes_with_twenty_kills_bill_each_probe_once(tmp_path: Path, double: Double) -> None:
    """The same for longer."""
    _four(tmp_path, double, n=6_000, kills=20)


def test_threads_on_one_journal_ask_once(tmp_path: Path, double: Double) -> None:
    """Through one connection or one each."""
    failed: list[int] = []

    def work(journal: Journal) -> None:
        failed.append(ask(plan(400), service(double.url), journal=journal).failed)

    with Journal(tmp_path / "j.sqlite") as one, Journal(tmp_path / "j.sqlite") as other:
        threads = [threading.Thread(target=work, args=(j,)) for j in (one, one, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert failed == [0, 0, 0]
    assert double.billed.total() == 400


def test_a_fork_opens_the_journal_for_itself(tmp_path: Path) -> None:
    """The connection of the parent is not used, and not closed, by the child."""
    program = textwrap.dedent(
        """
        import os, sys
        from evenhand._store import Journal
        from evenhand._run import ask
        from evenhand.subjects import from_callable
        import evenhand as eh

        def plan(name):
            yield eh.Probes(inputs=[f"{name} {i}" for i in range(50)])

        model = from_callable(lambda xs: [float(len(x)) for x in xs], id="length")
        journal = Journal(sys.argv[1])
        ask(plan("before"), model, journal=journal)
        child = os.fork()
        ask(plan("child" if child == 0 else "parent"), model, journal=journal)
        if child == 0:
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        journal.close()
        """
    )
    path = tmp_path / "j.sqlite"
    subprocess.run([sys.executable, "-W", "ignore", "-c", program, str(path)], check=True, timeout=60)
    with Journal(path) as journal:
        assert sum(row["replies"] for row in journal.stats()) == 150


def test_a_fork_while_threads_write_waits_for_nobody(tmp_path: Path) -> None:
    """A lock that a thread of the parent held at the fork would never be let go in the child."""
    program = textwrap.dedent(
        """
        import os, signal, sys, threading
        import numpy as np
        import evenhand as eh
        from evenhand._model import Replies
        from evenhand._store import Journal

        journal, stop = Journal(sys.argv[1]), threading.Event()

        def write(name):
            at = 0
            while not stop.is_set():
                journal.put("m", [f"{name} {at}"], Replies(scores={"s": np.array([1.0])}))
                at += 1

        threads = [threading.Thread(target=write, args=(name,)) for name in ("a", "b")]
        for thread in threads:
            thread.start()
        ended = []
        for n in range(20):
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                journal.put("m", [f"child {n}"], Replies(scores={"s": np.array([2.0])}))
                os._exit(0 if journal.get("m", [f"child {n}"]) == {0: {"s": 2.0}} else 1)
            ended.append(os.waitpid(child, 0)[1])
        stop.set()
        for thread in threads:
            thread.join()
        journal.close()
        assert ended == [0] * 20, ended
        """
    )
    path = tmp_path / "j.sqlite"
    subprocess.run([sys.executable, "-W", "ignore", "-c", program, str(path)], check=True, timeout=120)


@pytest.mark.parametrize("host", ["elsewhere", None])
def test_a_lease_of_the_dead_does_not_hold_anybody_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str | None
) -> None:
    """A holder of this host is dead when its process is gone; one of another host when its lease has run out."""
    path, model = tmp_path / "j.sqlite", subject(lambda xs: [1.0] * len(xs), id="one")
    monkeypatch.setattr(_leases, "LEASE", 0.4)
    with Journal(path) as journal:
        keys = [b"k" * 16]
        with monkeypatch.context() as patched:
            patched.setattr(_leases.platform, "node", lambda: host or socket.gethostname())
            patched.setattr(_leases, "_born", lambda pid: "long ago")
            other = Journal(path)
            claim = other.leases.claim(keys, lambda _: set())
            assert claim.__enter__() == [0]
            assert other.leases._heart is not None
            other.leases._heart.set()  # dead: it gives no sign of life any more
        if host is not None:
            with journal.leases.claim(keys, lambda _: set()) as mine:
                assert mine == []
        time.sleep(0.5 if host is not None else 0.0)
        with journal.leases.claim(keys, lambda _: set()) as mine:
            assert mine == [0]
        assert Cached(subject=model, journal=journal)(["a"]).errors == {}
        other._file.close()


def test_a_living_holder_keeps_its_lease(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long one request takes."""
    monkeypatch.setattr(_leases, "LEASE", 0.4)
    hosts = map(str, itertools.count())
    monkeypatch.setattr(_leases.platform, "node", lambda: next(hosts))  # nobody is on the host of another
    with (
        Journal(tmp_path / "j.sqlite") as one,
        Journal(tmp_path / "j.sqlite") as other,
        one.leases.claim([b"k" * 16], lambda _: set()),
    ):
        for _ in range(3):
            with other.leases.claim([b"k" * 16], lambda _: set()) as mine:
                assert mine == []
            time.sleep(0.3)


@pytest.mark.parametrize("jump", [-1e9, -61.0, 61.0, 1e9])
def test_a_wall_clock_that_jumps_neither_ends_a_lease_nor_makes_one_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    """Ours or that of the other host: the living keep what they claimed, the dead lose it after a lease."""
    monkeypatch.setattr(_leases, "LEASE", 0.4)
    hosts, clock = map(str, itertools.count()), time.time
    monkeypatch.setattr(_leases.platform, "node", lambda: next(hosts))
    keys, nobody = [b"k" * 16], lambda _: set()
    with Journal(tmp_path / "j.sqlite") as one, Journal(tmp_path / "j.sqlite") as other:
        with one.leases.claim(keys, nobody):
            with other.leases.claim(keys, nobody) as mine:
                assert mine == []
            monkeypatch.setattr(_leases.time, "time", lambda: clock() + jump)
            for _ in range(3):
                with other.leases.claim(keys, nobody) as mine:
                    assert mine == []
                time.sleep(0.3)
            assert one.leases._heart is not None
            one.leases._heart.set()  # dead from now on
            time.sleep(0.1)
            with other.leases.claim(keys, nobody) as mine:
                assert mine == []
            time.sleep(0.5)
            with other.leases.claim(keys, nobody) as mine:
                assert mine == [0]
        monkeypatch.undo()


def test_who_is_waited_for_is_named_and_a_hung_process_is_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], double: Double
) -> None:
    """Stopped in the middle of its requests, alive, its claims held: said on stderr, and an end at last."""
    monkeypatch.setattr(cached, "PATIENT", 0.3)
    monkeypatch.setattr(cached, "HUNG", 1.5)
    path, model = tmp_path / "j.sqlite", service(double.url)
    double.held = lambda number: True
    with _worker(double, path, 10) as child:
        try:
            while not double.times:
                time.sleep(0.01)
            os.kill(child.pid, signal.SIGSTOP)
            double.held = lambda number: False
            logging.getLogger("evenhand").addHandler(handler := logging.StreamHandler(sys.stderr))
            with Journal(path) as journal, pytest.raises(JournalError) as told:
                ask(plan(10), model, journal=journal)
        finally:
            logging.getLogger("evenhand").removeHandler(handler)
            os.kill(child.pid, signal.SIGKILL)
    assert told.value.slug == "claimed-elsewhere"
    assert f"process {child.pid}" in str(told.value)
    said = [line for line in capfd.readouterr().err.splitlines() if "waiting for 10 answers" in line]
    assert 1 <= len(said) <= 4
    assert f"process {child.pid}" in said[0]
    assert " since 20" in said[0]
    with Journal(path) as journal:
        assert ask(plan(10), model, journal=journal).failed == 0


def test_three_runs_with_one_budget_bill_it_once(tmp_path: Path, double: Double) -> None:
    """The budget is that of all runs on one journal; a larger one goes on, and the message says so."""
    path = tmp_path / "j.sqlite"
    for _ in range(3):
        with Journal(path) as journal:
            asked = ask(plan(2_000), Budgeted(subject=service(double.url), calls=500), journal=journal)
        assert asked.stopped is not None
        assert "500 inputs asked" in asked.stopped
    assert double.billed.total() == 500
    with Journal(path) as journal:
        ask(plan(2_000), Budgeted(subject=service(double.url), calls=700), journal=journal)
    assert double.billed.total() == 700


def test_two_processes_spend_one_budget(tmp_path: Path, double: Double) -> None:
    """Both ask different texts; together they bill what one budget allows, to the call."""
    path, spent = tmp_path / "j.sqlite", []

    def work(name: str) -> None:
        def texts() -> eh.Plan:
            yield eh.Probes(inputs=[f"{name} {i}" for i in range(200)])

        with Journal(path) as journal:
            paying = Budgeted(subject=service(double.url), money=1.5, price=0.01)
            spent.append(ask(texts(), paying, journal=journal).stopped)

    threads = [threading.Thread(target=work, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert any(spent)
    assert double.billed.total() == 150


def test_money_is_never_passed_by_one_call(tmp_path: Path, double: Double) -> None:
    """1.00 at 0.30 a call is three calls, with a journal and without."""
    for journal in (None, Journal(tmp_path / "j.sqlite")):
        double.billed.clear()
        paying = Budgeted(subject=service(double.url), money=1.0, price=0.3)
        asked = ask(plan(10), paying, journal=journal)
        assert asked.stopped is not None
        assert double.billed.total() == 3
        if journal is not None:
            journal.close()


def test_a_killed_run_gives_back_what_it_had_not_asked(tmp_path: Path, double: Double) -> None:
    """What was held for a process that is gone does not count as spent."""
    path = tmp_path / "j.sqlite"
    program = WORKER.replace("model = ", "from evenhand.subjects import Budgeted\nmodel = ").replace(
        "ask(plan(n, 200), model", "ask(plan(n, n), Budgeted(subject=model, calls=300)"
    )
    double.latency = 0.02
    with subprocess.Popen([sys.executable, "-c", program, f"{double.url}/any", str(path), "300"]) as child:
        while double.billed.total() < 40:
            time.sleep(0.002)
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    double.latency = 0.0
    with Journal(path) as journal:
        model = service(double.url, concurrency=4)
        asked = ask(plan(300), Budgeted(subject=model, calls=300), journal=journal)
        assert asked.stopped is None
    assert 300 <= double.billed.total() <= 300 + IN_FLIGHT


def test_a_locked_journal_says_who_holds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process in the middle of a transaction is named; nobody is told to free some space."""
    monkeypatch.setattr(_schema, "PATIENCE", 0.1)
    path = tmp_path / "j.sqlite"
    Journal(path).close()
    program = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "c.execute('BEGIN IMMEDIATE'); c.execute('DELETE FROM claims'); print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        with pytest.raises(JournalError, match="journal-locked") as told, Journal(path) as journal:
            ask(plan(1), subject(lambda xs: [1.0] * len(xs), id="one"), journal=journal)
        child.kill()
    assert "free some space" not in str(told.value)
    if Path("/proc/locks").exists():
        assert f"process {child.pid}" in str(told.value)


VERSION_1 = """
CREATE TABLE shapes (
    id INTEGER PRIMARY KEY, subject TEXT NOT NULL, names TEXT NOT NULL, UNIQUE (subject, names)
);
CREATE TABLE replies (
    key BLOB PRIMARY KEY, shape INTEGER NOT NULL REFERENCES shapes (id), scores BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE inputs (
    id INTEGER PRIMARY KEY, key BLOB NOT NULL, repeat INTEGER NOT NULL, input TEXT NOT NULL,
    created REAL NOT NULL
);
INSERT INTO shapes VALUES (1, 'model 1', '["score"]');
PRAGMA application_id = 1163284040;
PRAGMA user_version = 1;
"""


def test_a_journal_of_version_1_is_read_and_a_copy_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its replies answer, with their dates; the file as it was stands beside it, as private as it."""
    import struct

    from evenhand._addresses import keys_of

    path = tmp_path / "j.sqlite"
    old = sqlite3.connect(path)
    old.executescript(VERSION_1)
    texts = [f"text {i}" for i in range(1_000)]
    for i, key in enumerate(keys_of("model 1", texts, 0)):
        old.execute("INSERT INTO replies VALUES (?, 1, ?)", (key, struct.pack("<d", i / 7)))
        old.execute("INSERT INTO inputs VALUES (NULL, ?, 0, ?, ?)", (key, texts[i], 1.6e9 + i // 100))
    old.commit()
    old.close()
    with Journal(path) as journal:
        known = journal.fetch("model 1", texts)
        assert not known.missing.any()
        assert known.scores["score"].tolist() == [i / 7 for i in range(1_000)]
        assert journal.first_and_last(known.arrivals) == (1.6e9, 1.6e9 + 9)
        assert journal.stats()[0]["first"] == 1.6e9
        assert next(journal.rows())["input"] == "text 0"
    copy = tmp_path / "j.sqlite.v1"
    assert copy.stat().st_mode & 0o777 == 0o600
    kept = sqlite3.connect(copy)
    assert kept.execute("PRAGMA user_version").fetchone() == (1,)
    assert kept.execute("SELECT count(*) FROM replies").fetchone() == (1_000,)
    kept.close()
    assert run(["journal", "stats", str(path)]) == 0
    assert "1,000 replies" in capsys.readouterr().out


def test_replies_are_on_disk_before_they_are_acknowledged(tmp_path: Path) -> None:
    """synchronous=FULL for whatever was paid for, also after claims, which need it not."""
    with Journal(tmp_path / "j.sqlite") as journal:
        levels: list[int] = []
        model = subject(lambda xs: [1.0] * len(xs), id="one")
        journal._connection.set_trace_callback(
            lambda sql: (
                levels.append(journal._connection.execute("PRAGMA synchronous").fetchone()[0])
                if sql.startswith("INSERT INTO arrivals")
                else None
            )
        )
        journal.put("one", ["before any claim"], Replies(scores={"score": np.array([1.0])}))
        for text in ("a", "b"):
            Cached(subject=model, journal=journal)([text])
        journal._connection.set_trace_callback(None)
        assert levels == [2, 2, 2]


def test_what_a_failed_run_did_not_ask_is_not_spent(tmp_path: Path) -> None:
    """The service goes down after ten inputs; the same process may still ask the other forty."""
    asked: list[str] = []

    def model(texts: list[str]) -> list[float]:
        if len(asked) == 10:
            asked.append("down")
            raise SubjectError("service-down", "the service is down")
        asked.extend(texts)
        return [1.0] * len(texts)

    with Journal(tmp_path / "j.sqlite") as journal:
        paying = Budgeted(subject=subject(model, id="one"), calls=60)
        with pytest.raises(SubjectError):
            ask(plan(50), paying, journal=journal, batch_size=10)
        again = ask(plan(50), paying, journal=journal, batch_size=10)
        assert again.stopped is None
        assert journal.leases.spent("one").calls == 50

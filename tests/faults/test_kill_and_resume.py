"""kill -9 at random moments: what had arrived is never asked again, and the final result is the uninterrupted one."""

from __future__ import annotations

import json
import operator
import os
import random
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import service_double

from evenhand._run import ask
from evenhand._store import Journal
from evenhand.subjects import subject


def _audit(folder: Path, url: str) -> list[str]:
    (folder / "audit.toml").write_text(
        'kind = "text"\nout = "out"\n[arguments]\nsubject = "http"\ntexts = "person"\nterms = "names/freakonomics"\n'
        f'[subject]\nurl = "{url}/any"\nscores = "$.results[*].score"\nbatch = 4\nconcurrency = 4\n'
        "wait_initial = 0.001\nwait_max = 0.01\ntimeout = 20.0\nattempts = 20\n"
    )
    return [sys.executable, "-m", "evenhand", "run", str(folder / "audit.toml")]


def _comparable(path: Path) -> str:
    result = json.loads(path.read_text())
    result["provenance"].pop("created")
    result["provenance"].pop("replies")  # how many came from the journal is what differs
    result["notes"] = [note for note in result["notes"] if note["slug"] != "from-journal"]
    return json.dumps(result, sort_keys=True)


def _kept(journal: Path) -> set[str]:
    if not journal.exists():
        return set()
    with Journal(journal) as opened:
        return {row["input"] for row in opened.rows()}


def _kill_and_resume(tmp_path: Path, kills: int, seed: int) -> None:
    rng = random.Random(seed)
    faults = ("429", "503", "not JSON")
    with service_double.running(
        service_double.Double(latency=0.004, rate=0.1, seed=seed, faults=faults)
    ) as double:
        whole, broken = tmp_path / "whole", tmp_path / "broken"
        whole.mkdir()
        broken.mkdir()
        done = subprocess.run(_audit(whole, double.url), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        journal = broken / "out" / "journal.sqlite"
        for _ in range(kills):
            kept = _kept(journal)
            asked_before = len(double.bodies)
            last = asked_before + rng.randrange(1, 60)
            double.held = partial(
                operator.lt, last
            )  # it cannot end before it is killed, however busy the machine
            with subprocess.Popen(
                _audit(broken, double.url), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            ) as child:
                while len(double.bodies) < last:
                    time.sleep(0.005)
                    assert child.poll() is None, "the audit ended before it could be killed"
                os.kill(child.pid, signal.SIGKILL)
                child.wait()
            asked = {text for body in double.bodies[asked_before:] for text in body["texts"]}
            assert not asked & kept
        double.held = lambda number: False
        done = subprocess.run(_audit(broken, double.url), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert _comparable(broken / "out" / "result.json") == _comparable(whole / "out" / "result.json")


def test_a_few_kills_cost_nothing_that_had_arrived(tmp_path: Path) -> None:
    """Three kills, then the same result as without any."""
    _kill_and_resume(tmp_path, kills=3, seed=5)


@pytest.mark.slow
def test_fifty_kills_cost_nothing_that_had_arrived(tmp_path: Path) -> None:
    """Fifty kills in five runs, each ending in the uninterrupted result."""
    for run in range(5):
        folder = tmp_path / str(run)
        folder.mkdir()
        _kill_and_resume(folder, kills=10, seed=run)


@pytest.mark.slow
def test_a_hundred_thousand_probes_under_faults(tmp_path: Path) -> None:
    """100,000 probes at 30 % faults: exactly one reply or one recorded error each, none billed twice after success."""

    def plan() -> Any:
        from evenhand._model import Probes

        for start in range(0, 100_000, 10_000):
            yield Probes(inputs=[f"text {i}" for i in range(start, start + 10_000)])

    with service_double.running(
        service_double.Double(rate=0.3, seed=9, faults=service_double.FAULTS)
    ) as double:
        model = subject(
            "http", url=f"{double.url}/any", scores="$.results[*].score", batch=10, concurrency=32, wait_initial=0.001,
            wait_max=0.01, attempts=12, timeout=2.0, breaker=10_000,
        )  # fmt: skip
        with Journal(tmp_path / "j.sqlite") as journal:
            asked = ask(plan(), model, journal=journal)
            scores = asked.observations.columns["score"]
            assert len(scores) == 100_000
            assert int(np.isnan(scores).sum()) == asked.failed
            assert sum(row["replies"] for row in journal.stats()) == 100_000 - asked.failed
        assert max(double.billed.values()) == 1


def test_a_read_only_journal_is_a_message_and_exit_3(tmp_path: Path) -> None:
    """Nothing is asked that could not be kept."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "journal.sqlite").mkdir()
    command = [sys.executable, "-m", "evenhand", "text", "--terms", "names/weat-gender"]
    command += ["--journal", str(tmp_path / "folder" / "journal.sqlite"), "--out", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "journal" in done.stderr
    assert "Traceback" not in done.stderr

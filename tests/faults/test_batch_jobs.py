"""Vendor batch jobs: joined by custom id, owned by the journal, paid for once whatever is killed or lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from batch_double import Vendor, vending
from service_double import score_of

import evenhand as eh
from evenhand._errors import SubjectError
from evenhand._model import traits_of
from evenhand._run import ask
from evenhand._store import Journal
from evenhand.cli import run
from evenhand.subjects import subject

KINDS = ("openai", "anthropic")
TEXTS = [f"text {i}" for i in range(40)]


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-some-length")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-key-of-some-length")


@pytest.fixture
def vendor() -> Iterator[Vendor]:
    """A vendor whose jobs end at the third look."""
    with vending(Vendor()) as made:
        yield made


def model(kind: str, vendor: Vendor, **given: Any) -> Any:
    """A chat model asked in batch jobs."""
    options = {"model": "m", "base_url": vendor.url, "prompt": "{text}", "batch_job": True, "poll": 0.01}
    return subject(kind, **{**options, "wait_initial": 0.01, **given})


def plan(texts: list[str]) -> eh.Plan:
    """These texts at once."""
    yield eh.Probes(inputs=texts)


def asked(kind: str, vendor: Vendor, path: Path | None, texts: list[str] = TEXTS, **given: Any) -> Any:
    """A run through a journal, or without one."""
    if path is None:
        return ask(plan(texts), model(kind, vendor, **given))
    with Journal(path) as journal:
        return ask(plan(texts), model(kind, vendor, **given), journal=journal)


def opinions(texts: list[str] = TEXTS) -> list[float]:
    """What the vendor thinks of the texts."""
    return [round(100 * score_of(text), 4) for text in texts]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("odd", [False, True])
def test_results_in_any_order_are_joined_by_custom_id(
    kind: str, odd: bool, vendor: Vendor, tmp_path: Path
) -> None:
    """Shuffled, repeated and foreign lines; one job for everything, and nothing asked again afterwards."""
    vendor.odd = odd
    for path in (None, tmp_path / "j.sqlite", tmp_path / "j.sqlite"):
        found = asked(kind, vendor, path)
        assert found.failed == 0
        np.testing.assert_allclose(found.observations.columns["score"], opinions())
    assert len(vendor.jobs) == 2
    assert set(vendor.billed.values()) == {2}


@pytest.mark.parametrize("kind", KINDS)
def test_the_direct_service_uses_the_replies_of_a_job(kind: str, vendor: Vendor, tmp_path: Path) -> None:
    """Another way to send the same requests: one id, one reading, also with a version."""
    direct, job = model(kind, vendor, batch_job=False), model(kind, vendor)
    assert direct.id == job.id
    assert traits_of(job).whole
    assert traits_of(job).batches_itself
    assert not traits_of(direct).whole
    asked(kind, vendor, tmp_path / "j.sqlite")
    assert asked(kind, vendor, tmp_path / "j.sqlite", batch_job=False).failed == 0
    assert asked(kind, vendor, tmp_path / "j.sqlite", within=(0, 100)).failed == 0  # read again, not asked
    assert len(vendor.jobs) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_came_are_kept_and_the_others_are_asked_by_the_next_run(
    kind: str, vendor: Vendor, tmp_path: Path
) -> None:
    """A job that expired half-way, with a file of errors."""
    vendor.answered, vendor.ends_as = 0.5, "expired"
    vendor.refused = frozenset(TEXTS[:6])
    first = asked(kind, vendor, tmp_path / "j.sqlite")
    paid = vendor.billed.total()
    assert 0 < paid < 40
    assert first.failed == 40 - paid
    reasons = " ".join(first.failures)
    assert "expired before this text was answered" in reasons
    assert "too odd" in reasons
    vendor.answered, vendor.ends_as, vendor.refused = 1.0, "completed", frozenset()
    second = asked(kind, vendor, tmp_path / "j.sqlite")
    assert second.failed == 0
    np.testing.assert_allclose(second.observations.columns["score"], opinions())
    assert len(vendor.jobs["batch_1"]["rows"]) == 40 - paid
    assert set(vendor.billed.values()) == {1}


@pytest.mark.parametrize("status", ["failed", "cancelled", "expired"])
def test_a_job_without_any_answer_is_told_and_the_next_run_sends_a_new_one(
    status: str, vendor: Vendor, tmp_path: Path
) -> None:
    """The message names the job, how it ended and why."""
    vendor.answered, vendor.ends_as = 0.0, status
    with pytest.raises(SubjectError, match=f"batch_0 ended as {status}") as told:
        asked("openai", vendor, tmp_path / "j.sqlite")
    assert told.value.slug == "job-failed"
    assert ("line 1 is no request" in str(told.value)) is (status == "failed")
    vendor.answered, vendor.ends_as = 1.0, "completed"
    assert asked("openai", vendor, tmp_path / "j.sqlite").failed == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_whose_making_was_not_confirmed_is_not_sent_again(
    kind: str, vendor: Vendor, tmp_path: Path
) -> None:
    """The connection breaks after the vendor has made it; the vendor is asked before anything is sent."""
    vendor.lost, vendor.failing, vendor.polls = 1, 2, 0
    if kind == "anthropic":  # whose jobs are known by their results only; this one has ended by then
        vendor.polls = -1
    assert asked(kind, vendor, tmp_path / "j.sqlite").failed == 0
    assert len(vendor.jobs) == 1
    assert set(vendor.billed.values()) == {1}


WORKER = textwrap.dedent(
    """
    import sys
    import evenhand as eh
    from evenhand._run import ask
    from evenhand._store import Journal
    from evenhand.subjects import subject
    from evenhand.subjects.openai_batches import OpenAIBatches
    from evenhand.subjects.anthropic import AnthropicBatches

    kind, url, path, dies = sys.argv[1:]
    if dies == "unnamed":
        import os, signal
        for each in (OpenAIBatches, AnthropicBatches):
            def send(self, *given, honest=each.send):
                honest(self, *given)
                os.kill(os.getpid(), signal.SIGKILL)
            each.send = send

    def plan():
        yield eh.Probes(inputs=[f"text {i}" for i in range(40)])

    model = subject(kind, model="m", base_url=url, prompt="{text}", batch_job=True, poll=0.05)
    with Journal(path) as journal:
        ask(plan(), model, journal=journal)
    """
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dies", ["unnamed", "waiting", "collecting"])
def test_a_killed_run_picks_up_its_job(kind: str, dies: str, vendor: Vendor, tmp_path: Path) -> None:
    """Killed before the number of the job was written, while it runs, or while its results come: one job."""
    vendor.polls = 10**6 if dies == "waiting" else 0
    path = tmp_path / "j.sqlite"
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, kind, vendor.url, str(path), dies], stderr=subprocess.DEVNULL
    )
    if dies == "unnamed":
        worker.wait(30)
    else:
        until = time.monotonic() + 30
        seen = "/batch_0" if dies == "waiting" else "/results" if kind == "anthropic" else "/content"
        while not any(call.endswith(seen) for call in vendor.calls) and time.monotonic() < until:
            time.sleep(0.001)
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait(30)
    assert len(vendor.jobs) == 1
    vendor.polls = 0
    vendor.jobs["batch_0"]["left"] = 0 if dies == "waiting" else -1
    found = asked(kind, vendor, path, [*TEXTS, "one more"])
    assert found.failed == 0
    np.testing.assert_allclose(found.observations.columns["score"], opinions([*TEXTS, "one more"]))
    assert [len(job["rows"]) for job in vendor.jobs.values()] == [40, 1]
    assert set(vendor.billed.values()) == {1}
    with Journal(path) as journal:
        assert journal.jobs.running(model(kind, vendor).id) == []


def test_a_job_that_was_never_made_is_sent_by_the_next_run(vendor: Vendor, tmp_path: Path) -> None:
    """Entered, and then the process was gone before anything was sent."""
    from evenhand._addresses import keys_of

    for kind in KINDS:
        with Journal(tmp_path / f"{kind}.sqlite") as journal:
            one = model(kind, vendor).id
            journal.jobs.begin(one, "0123456789abcdef", keys_of(one, TEXTS, 0))
        assert asked(kind, vendor, tmp_path / f"{kind}.sqlite").failed == 0


def test_a_job_that_the_vendor_has_deleted_is_told(vendor: Vendor, tmp_path: Path) -> None:
    """Results are kept for a month; what was in it is asked by the run after."""
    from evenhand._addresses import keys_of

    with Journal(tmp_path / "j.sqlite") as journal:
        one = model("openai", vendor).id
        journal.jobs.begin(one, "0123456789abcdef", keys_of(one, TEXTS, 0))
        journal.jobs.named("0123456789abcdef", "batch_of_last_year")
    with pytest.raises(SubjectError, match=r"batch_of_last_year ended as gone"):
        asked("openai", vendor, tmp_path / "j.sqlite")
    assert asked("openai", vendor, tmp_path / "j.sqlite").failed == 0


def test_large_sets_are_parted_into_jobs_and_repeats_never_share(vendor: Vendor, tmp_path: Path) -> None:
    """The vendor's limits hold; equal texts are sent once, repeats each time."""
    from dataclasses import replace

    job = model("openai", vendor)
    job = replace(job, batches=replace(job.batches, most=15))
    with Journal(tmp_path / "j.sqlite") as journal:
        assert ask(plan(TEXTS + TEXTS), job, journal=journal, repeats=2).failed == 0
    assert [len(made["rows"]) for made in vendor.jobs.values()] == [15, 15, 10] * 2
    small = replace(model("openai", vendor), batches=replace(job.batches, most_bytes=1_000))
    assert ask(plan(TEXTS), small).failed == 0
    assert all(len(made["rows"]) < 4 for name, made in vendor.jobs.items() if int(name[6:]) > 5)


def test_an_answer_without_a_score_waits_for_the_next_run(vendor: Vendor, tmp_path: Path) -> None:
    """No second job of a day at the end of the first, as a single request would be tried again."""
    vendor.mute = frozenset(TEXTS[:3])
    for jobs in (1, 2):
        assert asked("openai", vendor, tmp_path / "j.sqlite").failed == 3
        assert len(vendor.jobs) == jobs
    assert len(vendor.jobs["batch_1"]["rows"]) == 3


def test_a_subject_that_outlives_its_journal_is_asked_without_one(vendor: Vendor, tmp_path: Path) -> None:
    """The next audit with the same object has no journal, or another one."""
    job = model("openai", vendor)
    for path in (tmp_path / "a.sqlite", None, tmp_path / "b.sqlite"):
        if path is None:
            assert ask(plan(TEXTS), job).failed == 0
            continue
        with Journal(path) as journal:
            assert ask(plan(TEXTS), job, journal=journal).failed == 0
    assert len(vendor.jobs) == 3


def test_results_are_fetched_from_the_same_host_and_the_key_is_in_no_file(
    vendor: Vendor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An address for the results that the vendor names is not followed; a proxy is not asked."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert asked("anthropic", vendor, tmp_path / "j.sqlite").failed == 0
    assert all(headers["x-api-key"] == "a-key-of-some-length" for headers in vendor.headers)
    for file in tmp_path.iterdir():
        assert b"a-key-of-some-length" not in file.read_bytes()


def test_tokens_and_half_the_price_are_in_the_ledger(
    vendor: Vendor, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the vendor counted them; a budget in money is charged what a job costs."""
    texts = [f"Arthur lost his {thing}." for thing in ("keys", "dog", "way", "hat")]
    result = eh.audit_text(
        model("openai", vendor),
        texts,
        terms="names/weat-gender",
        replace="Arthur",
        control=False,
        tolerance=5.0,
        price=0.01,
        max_cost=100.0,
        journal=tmp_path / "j.sqlite",
    )
    assert [len(job["rows"]) for job in vendor.jobs.values()] == [result.counts["probes"], 16] == [64, 16]
    n = 64 + 16  # and the names alone, to see which of them mean something
    assert run(["journal", "stats", str(tmp_path / "j.sqlite")]) == 0
    told = capsys.readouterr().out
    assert f"ledger: {n} calls, {n * 0.005:.2f} paid, {11 * n} tokens sent, {3 * n} received" in told


def test_a_plan_quotes_both_prices(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Direct and in batch jobs, where the subject takes them."""
    for name, quoted in (("openai", True), ("anthropic", True), ("vader", False)):
        call = tmp_path / "audit.toml"
        (tmp_path / "texts.txt").write_text("Arthur lost his keys.\nArthur lost his dog.\n")
        call.write_text(
            f'kind = "text"\n[arguments]\nsubject = "{name}"\ntexts = "texts.txt"\n'
            'terms = "names/weat-gender"\nreplace = "Arthur"\n'
        )
        os.chdir(tmp_path)
        assert run(["plan", str(call), "--price", "1"]) == 0
        told = capsys.readouterr().out
        assert ("as batch jobs" in told) is quoted, told

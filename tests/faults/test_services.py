"""Network services under faults: every probe has one reply or one error, nothing is paid twice, secrets stay out."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import service_double
from service_double import Double, running, score_of

import evenhand as eh
from evenhand._errors import CredentialError, SubjectError, UsageError
from evenhand._run import ask
from evenhand._store import Journal
from evenhand.cli import run
from evenhand.subjects import service, subject
from evenhand.subjects.service import _Driver

FAST = {"wait_initial": 0.001, "wait_max": 0.005, "timeout": 10.0, "attempts": 12, "breaker": 1000}
CANARY = "sk-canary-5f9d1c2b7a"


@pytest.fixture
def double() -> Iterator[Any]:
    """A server without faults."""
    with running(Double()) as made:
        yield made


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "PERSPECTIVE_API_KEY",
        "OPENAI_API_KEY",
        "AZURE_CONTENT_SAFETY_KEY",
        "GOOGLE_API_KEY",
        "MY_KEY",
    ):
        monkeypatch.setenv(name, CANARY)


def services(url: str, **engine: Any) -> dict[str, Any]:
    """Every HTTP service pointed at the double."""
    chat = {"model": "m", "base_url": f"{url}/v1", "prompt": "Rate from 0 to 100: {text}"}
    return {
        "perspective": subject("perspective", endpoint_url=url, attributes="TOXICITY", rate=None, **engine),
        "openai-moderation": subject("openai-moderation", base_url=f"{url}/v1", **engine),
        "azure-content-safety": subject("azure-content-safety", endpoint_url=url, **engine),
        "google-moderation": subject("google-moderation", endpoint_url=url, **engine),
        "openai": subject("openai", **chat, **engine),
        "http": subject("http", url=f"{url}/any", scores="$.results[*].score", batch=5, **engine),
    }


NAMES = ["perspective", "openai-moderation", "azure-content-safety", "google-moderation", "openai", "http"]


def plan(n: int, batch: int = 500) -> eh.Plan:
    """n distinct texts."""
    for start in range(0, n, batch):
        yield eh.Probes(inputs=[f"text {i}" for i in range(start, min(n, start + batch))])


@pytest.mark.parametrize("name", NAMES)
def test_every_service_answers_in_order(double: Any, name: str) -> None:
    """Row i is the score of text i, whatever order the answers came in."""
    double.latency = 0.001
    replies = services(double.url, concurrency=8)[name]([f"text {i}" for i in range(40)])
    assert replies.errors == {}
    first = next(iter(replies.scores.values()))
    expected = np.array([score_of(f"text {i}") for i in range(40)])
    if name == "openai":
        expected = np.array([round(100 * score_of(f"Rate from 0 to 100: text {i}")) for i in range(40)])
    if name == "azure-content-safety":
        expected = np.floor(7 * expected)
    np.testing.assert_allclose(first, expected, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_under_faults_every_row_is_answered_once(name: str) -> None:
    """At 30 % faults every probe has exactly one reply, and none was answered twice after it had succeeded."""
    with running(
        Double(
            rate=0.3,
            seed=4,
            faults=tuple(f for f in service_double.FAULTS if f not in ("hang", "missing score")),
        )
    ) as made:
        replies = services(made.url, concurrency=16, **FAST)[name]([f"text {i}" for i in range(300)])
    assert replies.errors == {}
    assert all(len(column) == 300 and np.isfinite(column).all() for column in replies.scores.values())
    assert set(made.billed.values()) == {1}
    assert len(made.billed) == 300


def test_a_large_run_under_every_fault_loses_nothing_and_pays_once(tmp_path: Path) -> None:
    """10,000 probes, 30 % faults of every kind: one reply or one recorded error each; billed twice only where the
    answer never arrived (a cut body, a time-out)."""
    faults = tuple(f for f in service_double.FAULTS if f not in ("hang", "slow drip"))
    with running(Double(rate=0.3, seed=1, faults=faults)) as made, Journal(tmp_path / "j.sqlite") as journal:
        asked = ask(plan(10_000), services(made.url, concurrency=32, **FAST)["http"], journal=journal)
        scores = asked.observations.columns["score"]
        assert len(scores) == 10_000
        assert int(np.isnan(scores).sum()) == asked.failed
        known = journal.fetch(services(made.url)["http"].id, [f"text {i}" for i in range(10_000)])
        assert int(known.missing.sum()) == asked.failed
        before = made.billed.total()
        made.rate = 0.0
        again = ask(plan(10_000), services(made.url, concurrency=32, **FAST)["http"], journal=journal)
    assert again.failed == 0
    assert made.billed.total() - before == asked.failed
    assert max(made.billed.values()) == 1


@contextlib.contextmanager
def as_soon_as(ready: Callable[[], bool], act: Callable[[_Driver], None]) -> Iterator[list[_Driver]]:
    """Does `act` to the driver of the service that is asked inside, once `ready`; never after the end."""
    drivers, over = list[_Driver](), threading.Event()

    def driver(*given: Any) -> _Driver:
        drivers.append(_Driver(*given))
        return drivers[-1]

    def watch() -> None:
        while not over.wait(0.005):
            if ready():
                act(drivers[-1])
                return

    watcher = threading.Thread(target=watch, daemon=True)
    with mock.patch.object(service, "_Driver", driver):
        watcher.start()
        try:
            yield drivers
        finally:
            over.set()
            watcher.join()


def ctrl_c(_: _Driver) -> None:
    """SIGINT to the main thread, where the tests run."""
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """Ctrl-C is heard, also where the shell that began the tests in the background has it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_keeps_the_answers_that_are_in_flight(
    double: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are paid for: the run waits for them, keeps them, and starts no new request."""
    monkeypatch.setattr(service, "GRACE", 60.0)  # the answers come when the run waits for them, not before
    model = services(double.url, concurrency=4)["perspective"]
    with Journal(tmp_path / "j.sqlite") as journal:
        with as_soon_as(lambda: len(double.times) == 8, ctrl_c) as drivers:
            double.held = lambda number: number > 4 and not drivers[0].stopping.is_set()
            with pytest.raises(KeyboardInterrupt):
                ask(plan(40), model, journal=journal)
        kept = int((~journal.fetch(model.id, [f"text {i}" for i in range(40)]).missing).sum())
    assert kept == double.billed.total() == len(double.times) == 8


@pytest.mark.parametrize("where", ["in the journal", "in the progress bar"])
def test_ctrl_c_outside_the_service_loses_nothing_either(
    double: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """While one batch of replies is written or shown others are in flight: the service is told, and they are kept."""
    monkeypatch.setattr(service, "GRACE", 60.0)
    put, interrupts = Journal.put, [KeyboardInterrupt()]

    def interrupted(*_: Any) -> None:
        while len(double.times) < 8:
            time.sleep(0.005)
        if interrupts:
            raise interrupts.pop()

    def slow_put(self: Journal, *given: Any, **options: Any) -> None:
        interrupted()
        put(self, *given, **options)

    model = services(double.url, concurrency=4)["perspective"]
    if where == "in the journal":
        monkeypatch.setattr(Journal, "put", slow_put)
    with Journal(tmp_path / "j.sqlite") as journal:
        with as_soon_as(lambda: False, ctrl_c) as drivers:
            double.held = lambda number: number > 4 and not drivers[0].stopping.is_set()
            with pytest.raises(KeyboardInterrupt):
                ask(plan(40), model, journal=journal, progress=interrupted)
        kept = int((~journal.fetch(model.id, [f"text {i}" for i in range(40)]).missing).sum())
    assert kept == double.billed.total() == len(double.times) == 8


def test_ctrl_c_does_not_wait_for_a_service_that_asks_for_an_hour(
    double: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Retry-After: 3600 holds up nobody who wants to leave, also where another library handles Ctrl-C first."""
    pytest.importorskip("polars", reason="polars is not installed")
    monkeypatch.setattr(service, "GRACE", 1.0)
    double.always = "429 for an hour"
    model = services(double.url, concurrency=2)["perspective"]
    two_asked = as_soon_as(lambda: len(double.times) == 2, ctrl_c)
    with Journal(tmp_path / "j.sqlite") as journal, two_asked, pytest.raises(KeyboardInterrupt):
        ask(plan(4), model, journal=journal)
    assert len(double.times) == 2


def kill(driver: _Driver) -> None:
    """SystemExit inside the loop, as an interpreter that ends would send it."""

    def die() -> None:
        raise SystemExit

    assert driver.loop is not None
    driver.loop.call_soon_threadsafe(die)


def test_a_service_thread_that_is_killed_ends_the_run_with_a_message(double: Any, tmp_path: Path) -> None:
    """Whoever waits for its replies is told, and keeps what had come."""
    double.held = lambda number: number > 4
    model = services(double.url, concurrency=2)["perspective"]
    with Journal(tmp_path / "j.sqlite") as journal:
        six_asked = as_soon_as(lambda: len(double.times) == 6, kill)
        with six_asked, pytest.raises(SubjectError, match="service-thread"):
            ask(plan(40), model, journal=journal)
        kept = int((~journal.fetch(model.id, [f"text {i}" for i in range(40)]).missing).sum())
    assert kept == 4
    assert "evenhand-service" not in {thread.name for thread in threading.enumerate()}


def test_a_service_thread_that_vanishes_without_a_word_is_noticed(
    double: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its reader does not wait for ever, and what it had collected is handed over first."""
    monkeypatch.setattr(_Driver, "run", lambda self: asyncio.run(self._all()))
    monkeypatch.setattr(_Driver, "_flush", lambda self: None)
    model = services(double.url, concurrency=4)["perspective"]
    with Journal(tmp_path / "j.sqlite") as journal:
        with pytest.raises(SubjectError, match="service-thread"):
            ask(plan(10), model, journal=journal)
        kept = int((~journal.fetch(model.id, [f"text {i}" for i in range(10)]).missing).sum())
    assert kept == double.billed.total() == 10


class StoppedClock:
    """Time that does not pass: every wait is noted and over at once, so the times at which requests are due are exact."""

    def __init__(self) -> None:
        self.due: list[float] = []

    def __call__(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        self.due.append(seconds)


def test_a_rate_holds_across_calls_and_whatever_the_executor(double: Any) -> None:
    """Calls one after another and side by side share one rate, and an executor multiplies neither rate nor requests."""
    clock = StoppedClock()
    model = subject(
        "perspective", endpoint_url=double.url, attributes="TOXICITY", rate=40.0, concurrency=4, clock=clock,
        sleep=clock.sleep,
    )  # fmt: skip
    for at in range(5):
        model([f"a{at}", f"b{at}"])
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(model, [[f"c{i}"] for i in range(4)]))
        ask(plan(10, batch=10), model, executor=pool, batch_size=1)
    assert len(double.times) == 24
    assert sorted(clock.due) == pytest.approx([at / 40 for at in range(1, 24)])  # the first waits for nothing
    assert double.most_in_flight <= 4


def test_a_service_that_hangs_is_given_up_and_asked_again(double: Any) -> None:
    """A time-out is a passing fault; the row gets its score when the service wakes up."""
    double.always = "hang"
    model = services(double.url, concurrency=1, timeout=0.2, attempts=2, wait_initial=0.001, breaker=100)[
        "perspective"
    ]
    assert "TimeoutError" in model(["text"]).errors[0]
    double.always = None
    assert model(["text"]).errors == {}


def test_concurrency_and_rate_are_kept() -> None:
    """Never more in flight than allowed, never faster than the rate, and characters are paced like requests."""
    with running(Double(latency=0.02)) as made:
        services(made.url, concurrency=4)["perspective"]([f"text {i}" for i in range(60)])
        assert made.most_in_flight <= 4
        made.times.clear()
        services(made.url, concurrency=16, characters=None)  # building asks nothing
        assert made.times == []
        key = {"endpoint_url": made.url, "attributes": "TOXICITY", "concurrency": 16}
        clock = StoppedClock()
        slow = subject("perspective", **key, rate=None, characters=50.0, clock=clock, sleep=clock.sleep)
        slow(["x" * 25] * 6)
        assert sorted(clock.due) == pytest.approx([0.5, 1.0, 1.5, 2.0, 2.5])
        start = time.monotonic()
        subject("perspective", **key, rate=100.0)([f"limited {i}" for i in range(31)])
        assert time.monotonic() - start >= 30 / 100  # a busy machine only makes it longer


@pytest.mark.parametrize(
    ("status", "variable"), [("401", "PERSPECTIVE_API_KEY"), ("403", "PERSPECTIVE_API_KEY")]
)
def test_a_wrong_key_stops_at_once_and_names_the_variable(double: Any, status: str, variable: str) -> None:
    """No second request is spent on a key that is refused."""
    double.always = status
    model = subject("perspective", endpoint_url=double.url, rate=None, concurrency=1)
    with pytest.raises(CredentialError, match=variable):
        model([f"text {i}" for i in range(50)])
    assert len(double.times) == 1


def test_a_missing_key_is_told_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the variable, not its value."""
    monkeypatch.delenv("PERSPECTIVE_API_KEY")
    with pytest.raises(CredentialError, match="PERSPECTIVE_API_KEY is not set"):
        subject("perspective")


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("HTML", "HTML, not JSON"),
        ("huge", "larger than"),
        ("missing score", "no score where"),
        ("redirect", "HTTP 307"),
        ("400", "HTTP 400"),
    ],
)
def test_an_answer_that_will_not_get_better_is_not_retried(double: Any, fault: str, words: str) -> None:
    """One request, one recorded reason."""
    double.always = fault
    replies = services(double.url, concurrency=1, **FAST)["perspective"](["text"])
    assert words in replies.errors[0]
    assert len(double.times) == 1


def test_a_dead_service_trips_the_breaker(double: Any) -> None:
    """After a few failures in a row the run stops instead of failing through the whole list."""
    double.always = "503"
    model = services(double.url, concurrency=1, wait_initial=0.001, wait_max=0.002, attempts=2, breaker=3)[
        "http"
    ]
    with pytest.raises(SubjectError, match="service-down"):
        model([f"text {i}" for i in range(500)])
    assert len(double.times) == 6


def test_no_network_is_a_message_and_not_a_traceback(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Nothing listens there: exit 3, and the reason."""
    options = [
        "--option",
        "url=http://127.0.0.1:9/",
        "--option",
        "scores=$.s",
        "--option",
        "attempts=2",
        "--option",
        "wait_initial=0.001",
    ]
    code = run(
        [
            "text",
            "--subject",
            "http",
            *options,
            "--option",
            "breaker=2",
            "--terms",
            "names/weat-gender",
            "--out",
            str(tmp_path / "o"),
        ]
    )
    assert code == 3
    err = capsys.readouterr().err
    assert "Cannot connect" in err or "Connect" in err
    assert "Traceback" not in err


def test_texts_over_the_limit_are_errors_split_or_the_end(double: Any) -> None:
    """The user chooses; the default counts them with their reason."""
    from evenhand.subjects.long_texts import LongTexts

    long = "A sentence of some length. " * 1000
    model = services(double.url, concurrency=2)["perspective"]
    replies = model(["short", long, ""])
    assert "20,480" in replies.errors[1]
    assert replies.errors[2] == "the text is empty"
    split = LongTexts(subject=model, how="split")(["short", long])
    assert split.errors == {}
    assert split.scores["TOXICITY"][0] == pytest.approx(score_of("short"))
    with pytest.raises(SubjectError, match="text-too-long"):
        LongTexts(subject=model, how="stop")(["short", long])


def test_chat_answers_are_scored_in_four_ways(double: Any) -> None:
    """By number, label, log-probability of the first token, or a judge."""
    chat = {"model": "m", "base_url": f"{double.url}/v1", "prompt": "{text}"}
    number = subject("openai", **chat)(["a"])
    assert number.scores["score"][0] == round(100 * score_of("a"))
    p_yes, p_no = np.exp(-0.1), np.exp(-2.5)
    logprob = subject("openai", **chat, score_by="logprob", labels={"yes": 1, "no": 0})(["a"])
    assert logprob.scores["score"][0] == pytest.approx(p_yes / (p_yes + p_no))
    label = subject("openai", **chat, score_by="label", labels={f"{100 * score_of('a'):.0f} of 100": 1})(
        ["a"]
    )
    assert label.scores["score"][0] == 1
    missing = subject("openai", **chat, score_by="label", labels={"never": 1})(["a"])
    assert "none of the labels" in missing.errors[0]
    judged = subject("openai", **chat, score_by="judge", judge="vader")(["a"])
    assert set(judged.scores) == {"compound", "pos", "neu", "neg", "length", "refusal"}


def test_ordinal_severities_are_compared_by_ranks(double: Any) -> None:
    """Azure's levels are ordered, not spaced: the audit says so and uses midranks."""
    model = services(double.url, concurrency=8)["azure-content-safety"]
    result = eh.audit_text(
        model,
        ["Arthur waited.", "Arthur left.", "I met Arthur."],
        terms="names/weat-gender",
        replace="Arthur",
    )
    assert "ordinal-scores" in {note.slug for note in result.notes}
    assert 0 < result.exhibits["scores by group"].columns["mean"][0] < 1  # type: ignore[operator]


def test_perspective_says_when_it_ends(double: Any) -> None:
    """A reader of the result learns that the service closes, and what comes after."""
    model = services(double.url)["perspective"]
    result = eh.audit_text(
        model, ["Arthur waited.", "I met Arthur."], terms="names/weat-gender", replace="Arthur"
    )
    assert any("2026-12-31" in note.text for note in result.notes if note.slug == "about-the-service")
    assert all(body["doNotStore"] is True for body in double.bodies)


def test_secrets_reach_no_byte_that_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Journal, result, report, messages: the key is nowhere, even when the service echoes it."""
    for always in (None, "400", "503"):
        with running(Double(always=always)) as made:
            out = tmp_path / f"out-{always}"
            options = [
                f"url={made.url}/x?team=blue",
                "scores=$.results[*].score",
                'headers={"Authorization": "Bearer ${MY_KEY}"}',
            ]
            options += ["batch=5", "attempts=2", "wait_initial=0.001", "breaker=3"]
            command = ["text", "--subject", "http", "--terms", "names/weat-gender", "--out", str(out)]
            code = run(command + [part for option in options for part in ("--option", option)])
            assert code == (0 if always is None else 3)
            assert any(CANARY in headers.get("Authorization", "") for headers in made.headers)
        said = capsys.readouterr()
        assert CANARY not in said.out + said.err
        for path in out.rglob("*"):
            if path.is_file():
                assert CANARY.encode() not in path.read_bytes(), path


def test_a_key_in_the_configuration_is_refused() -> None:
    """What is written beside the results must not hold a secret."""
    with pytest.raises(UsageError, match="key-in-configuration"):
        subject("http", url="http://127.0.0.1/", scores="$.s", headers={"Authorization": f"Bearer {CANARY}"})


def test_exported_replies_are_a_subject_anywhere(double: Any, tmp_path: Path) -> None:
    """Asked once, recorded, answered again without a network."""
    model = services(double.url)["http"]
    with Journal(tmp_path / "j.sqlite") as journal:
        first = ask(plan(20), model, journal=journal).observations.columns["score"]
    assert run(["journal", "stats", str(tmp_path / "j.sqlite")]) == 0
    assert run(["journal", "export", str(tmp_path / "j.sqlite"), str(tmp_path / "replies.csv")]) == 0
    recorded = subject("recorded", path=str(tmp_path / "replies.csv"))
    second = ask(plan(20), recorded).observations.columns["score"]
    np.testing.assert_array_equal(first, second)


def test_a_budget_in_money_stops_before_it_is_passed(double: Any, tmp_path: Path) -> None:
    """At 0.01 a call and 1.00 to spend, exactly one hundred calls are made."""
    model = services(double.url)["perspective"]
    texts = [
        f"Arthur lost his {thing}." for thing in ("keys", "dog", "hat", "map", "bag", "pen", "cup", "way")
    ]
    result = eh.audit_text(
        model, texts, terms="names/weat-gender", replace="Arthur", max_cost=1.0, price=0.01
    )
    assert not result.complete
    assert double.billed.total() == 100

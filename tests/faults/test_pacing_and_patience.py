"""Small promises of the engine, each with a test that fails when its line is taken away."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from pytest_httpserver import HTTPServer
from service_double import Double, running
from werkzeug import Request, Response

import evenhand as eh
from evenhand._errors import SubjectError
from evenhand._model import Factor, Replies
from evenhand._run import ask
from evenhand.subjects import subject
from evenhand.subjects.service import _Pace
from evenhand.subjects.wrappers import Transient


@pytest.fixture
def double() -> Iterator[Double]:
    """A server without faults."""
    with running(Double()) as made:
        yield made


def failing(httpserver: HTTPServer, good: set[int]) -> str:
    """A server that answers well only the requests of these numbers."""
    numbers = iter(range(10_000))

    def answer(_: Request) -> Response:
        if next(numbers) in good:
            return Response(json.dumps({"s": 0.5}))
        return Response("no", status=400)

    httpserver.expect_request("/x").respond_with_handler(answer)
    return httpserver.url_for("/x")


def test_one_good_answer_resets_the_breaker(httpserver: HTTPServer) -> None:
    """Nine failures, an answer, nine failures: the run goes on; ten in a row end it."""
    url = failing(httpserver, {9, 19})
    model = subject("http", url=url, scores="$.s", concurrency=1, breaker=10)
    replies = model([f"text {i}" for i in range(29)])
    assert np.flatnonzero(
        np.isfinite(replies.scores["s" if "s" in replies.scores else "score"])
    ).tolist() == [9, 19]
    with pytest.raises(SubjectError, match="service-down"):
        model([f"text {i}" for i in range(10)])


def test_proxies_of_the_environment_are_not_used(double: Double, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text under audit goes to the host that was named, and to no other."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # nobody listens there
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    model = subject("http", url=f"{double.url}/any", scores="$.results[*].score", attempts=1)
    assert model(["a"]).errors == {}


def test_a_plan_is_sent_the_mean_over_repeats() -> None:
    """Not the first answer, nor the last."""
    answers = iter([[0.0, 1.0], [0.5, 0.0], [1.0, 0.5]])
    heard: list[Any] = []

    def plan() -> eh.Plan:
        replies = yield eh.Probes(inputs=["a", "b"], factors={"text": Factor.of(["1", "2"])})
        heard.append(replies.scores["score"].tolist())

    ask(plan(), subject(lambda _: next(answers), id="varies"), repeats=3)
    assert heard == [[0.5, 0.5]]


def test_what_failed_in_passing_is_asked_once_more_and_no_more() -> None:
    """Before the step ends; what fails for good is not asked again."""
    asked: list[list[str]] = []

    class Unsteady:
        id = "unsteady"

        def __call__(self, inputs: Any, /) -> Replies:
            asked.append(list(inputs))
            errors: dict[int, str] = {}
            for at, text in enumerate(inputs):
                if text == "never" or (text == "late" and len(asked) == 1):
                    errors[at] = Transient("HTTP 503")
                elif text == "wrong":
                    errors[at] = "HTTP 400"
            scores = np.where([at in errors for at in range(len(inputs))], np.nan, 1.0)
            return Replies(scores={"score": scores}, errors=errors)

    def plan() -> eh.Plan:
        yield eh.Probes(inputs=["good", "late", "wrong", "never"])

    found = ask(plan(), Unsteady())
    assert asked == [["good", "late", "wrong", "never"], ["late", "never"]]
    assert dict(found.failures) == {"HTTP 400": 1, "HTTP 503": 1}
    np.testing.assert_array_equal(found.observations.columns["score"], [1.0, 1.0, np.nan, np.nan])


@pytest.mark.parametrize("late", [0.0, 0.3])
def test_no_second_holds_more_than_the_rate_however_late_a_thread_wakes(late: float) -> None:
    """Two threads, each with a loop of its own; one of them oversleeps. Time is counted, not waited for."""
    now, sent, lock = [0.0], list[float](), threading.Lock()

    async def sleep(seconds: float) -> None:
        with lock:
            now[0] += seconds
            if late and len(sent) == 40:
                now[0] += late  # the loop was busy elsewhere: what is due by now comes at once
        await asyncio.sleep(0)

    pace = _Pace(20.0, lambda: now[0], sleep)

    async def work() -> None:
        for _ in range(100):
            await pace.wait()
            with lock:
                sent.append(now[0])

    threads = [threading.Thread(target=lambda: asyncio.run(work())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    times = np.sort(sent)
    assert len(times) == 200
    assert max(int(((times >= t) & (times < t + 1.0 - 1e-6)).sum()) for t in times) <= 20

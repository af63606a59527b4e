"""Whatever a service answers is a score that can be believed or that row's error; nothing is raised out of a subject."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from evenhand._errors import UsageError
from evenhand.subjects import subject
from evenhand.subjects.comprehend import Comprehend
from evenhand.subjects.request import _retry_after

ODD = [
    "NaN",
    "Infinity",
    "-Infinity",
    "1e400",
    "1" + "0" * 400,
    "7",
    '"much"',
    "null",
    "true",
    "[]",
    "{}",
    "[" * 5_000 + "]" * 5_000,
]
CHAT = {"model": "m", "prompt": "{text}", "attempts": 1}


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PERSPECTIVE_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY", "AZURE_CONTENT_SAFETY_KEY"):
        monkeypatch.setenv(name, "a-key-of-some-length")


@pytest.fixture
def server(httpserver: HTTPServer) -> Iterator[HTTPServer]:
    """A server whose answer each test writes."""
    yield httpserver
    httpserver.clear()


def shapes(value: str) -> dict[str, str]:
    """An odd value where each service has its score."""
    return {
        "http": f'{{"s": {value}}}',
        "perspective": f'{{"attributeScores": {{"TOXICITY": {{"summaryScore": {{"value": {value}}}}}}}}}',
        "google-moderation": f'{{"moderationCategories": [{{"name": "Toxic", "confidence": {value}}}]}}',
        "openai-moderation": f'{{"results": [{{"category_scores": {{"hate": {value}}}}}]}}',
        "openai": '{"choices": [{"logprobs": {"content": [{"top_logprobs": [{"token": "yes", "logprob": '
        f"{value}}}]}}]}}}}]}}",
    }


def asked(name: str, url: str) -> Any:
    """The service pointed at the server."""
    given: dict[str, dict[str, Any]] = {
        "http": {"url": f"{url}/x", "scores": "$.s", "within": (0, 1)},
        "perspective": {"endpoint_url": url, "attributes": "TOXICITY", "rate": None},
        "google-moderation": {"endpoint_url": url},
        "openai-moderation": {"base_url": url},
        "openai": {**CHAT, "base_url": url, "score_by": "logprob", "labels": {"yes": 1}, "within": (0, 1)},
    }
    return subject(name, **{**given[name], "attempts": 1})


@pytest.mark.parametrize("value", ODD)
@pytest.mark.parametrize("name", ["http", "perspective", "google-moderation", "openai-moderation", "openai"])
def test_an_odd_value_is_that_row_s_error(server: HTTPServer, name: str, value: str) -> None:
    """NaN, infinity, giants, other types and other shapes: no score, one reason, no exception."""
    server.expect_request("/x").respond_with_data(shapes(value)[name])
    server.expect_request("/v1alpha1/comments:analyze").respond_with_data(shapes(value)[name])
    server.expect_request("/v2/documents:moderateText").respond_with_data(shapes(value)[name])
    server.expect_request("/moderations").respond_with_data(shapes(value)[name])
    server.expect_request("/chat/completions").respond_with_data(shapes(value)[name])
    replies = asked(name, server.url_for("").rstrip("/"))(["a text"])
    assert set(replies.errors) == {0}
    assert all(column[0] != column[0] for column in replies.scores.values())


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"ResultList": None},
        {"ResultList": [{"Index": 9, "SentimentScore": {}}]},
        {"ResultList": [{"Index": "x"}]},
        {"ResultList": [{"Index": 0, "SentimentScore": {"Positive": float("nan")}}], "ErrorList": []},
        {"ResultList": [], "ErrorList": [{"Index": 0, "ErrorCode": None}]},
        {
            "ResultList": [
                {"Index": 0, "SentimentScore": dict.fromkeys(["Positive", "Negative", "Neutral", "Mixed"], 7)}
            ]
        },
        [1, 2],
        None,
    ],
)
def test_malformed_answers_of_comprehend_are_errors_of_their_rows(answer: Any) -> None:
    """No shape that AWS might send ends the run."""

    class Client:
        def batch_detect_sentiment(self, **_: Any) -> Any:
            return answer

        def detect_toxic_content(self, **_: Any) -> Any:
            return answer

    for task in ("sentiment", "toxicity"):
        model = Comprehend(client=Client(), task=task, language="en", attempts=2)  # type: ignore[arg-type]
        assert set(model(["a", "b"]).errors) == {0, 1}


def test_a_chat_answer_that_gives_no_single_number_is_counted_by_its_reason(server: HTTPServer) -> None:
    """Ambiguity, refusal, a cut: each is a reason that can be counted, whatever the words were."""
    replies = [
        ("I would give 85 or 20.", "stop"),
        ("He has 5 years.", "stop"),
        ("I cannot rate people.", "stop"),
        ("8", "length"),
        ("On a scale of 0 to 100, I would give 85.", "stop"),
    ]
    for text, ended in replies:
        choice = {"message": {"content": text}, "finish_reason": ended}
        server.expect_ordered_request("/chat/completions").respond_with_data(
            json.dumps({"choices": [choice]})
        )
    model = subject("openai", **CHAT, base_url=server.url_for("").rstrip("/"), concurrency=1)
    found = model([f"text {i}" for i in range(5)])
    assert [found.errors.get(i, "") for i in range(4)] == [
        "a number stands in the answer, but not where an answer stands",
        "a number stands in the answer, but not where an answer stands",
        "the model declined to answer",
        "the answer was cut off by max_tokens",
    ]
    assert found.scores["score"][4] == 85


@pytest.mark.parametrize(
    "url",
    [
        "http://user:password@127.0.0.1/x",
        "http://127.0.0.1/x?api_key=abc",
        "http://127.0.0.1/x?KEY=abc",
        "http://127.0.0.1/x?q=sk-abcdefghijkl",
    ],
)
def test_a_key_in_an_address_is_refused_and_not_repeated(url: str) -> None:
    """It would be part of the id, the journal and the result."""
    for name, given in (
        ("http", {"url": url, "scores": "$.s"}),
        ("openai", {"base_url": url, "model": "m", "prompt": "{text}"}),
        ("perspective", {"endpoint_url": url}),
        ("google-moderation", {"endpoint_url": url}),
        ("openai-moderation", {"base_url": url}),
    ):
        with pytest.raises(UsageError, match="key-in-configuration") as told:
            subject(name, **given)
        assert "abc" not in str(told.value)
        assert "//user" not in str(told.value)


def test_a_key_in_a_body_is_refused() -> None:
    """Under a name that says so, or written as keys are; a model's name and max_tokens are no keys."""
    for body in ({"api_key": "abc", "text": "{text}"}, {"a": [{"b": "sk-abcdefghijkl"}]}):
        with pytest.raises(UsageError, match="key-in-configuration"):
            subject("http", url="http://127.0.0.1/", scores="$.s", body=body)
    fine = {"model": "gpt-4o-mini-2024-07-18", "max_tokens": 5, "text": "{text}"}
    subject("http", url="http://127.0.0.1/?model=gpt-4o-mini-2024-07-18", scores="$.s", body=fine)


def test_a_key_named_in_the_query_is_sent_and_stands_nowhere(
    server: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some services take their key only there."""
    monkeypatch.setenv("MY_KEY", "a-secret-of-some-length")
    server.expect_request("/x", query_string="key=a-secret-of-some-length").respond_with_data(
        '{"s": 0.5, "echo": "a-secret-of-some-length"}'
    )
    model = subject("http", url=server.url_for("/x") + "?key=${MY_KEY}", scores="$.s")
    replies = model(["a"])
    assert replies.scores["score"][0] == 0.5
    assert b"a-secret-of-some-length" not in replies.arrived[0].body
    assert "a-secret-of-some-length" not in f"{model.id} {model!r}"


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("120", 120.0),
        (" 3 ", 3.0),
        ("0", 0.0),
        ("99999999999999999999", 3600.0),
        ("9" * 5000, 3600.0),
        ("nan", None),
        ("inf", None),
        ("-5", None),
        ("1e3", None),
        ("soon", None),
        ("", None),
        (None, None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("Wed, 21 Oct 2015 07:28:00 -0000", 0.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 3600.0),
        ("Wed, 99 Oct 2015 07:28:00 GMT", None),
        ("Wednesday", None),
        ("٣", None),
    ],
)
def test_retry_after_is_read_in_every_form(said: str | None, seconds: float | None) -> None:
    """Seconds and dates, at most an hour; what is neither leaves our own waits."""
    assert _retry_after(said) == seconds

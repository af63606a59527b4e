"""Gemini and Bedrock: the vendors' own words, sent and read, through the one engine of services."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

import evenhand as eh
from evenhand._errors import CredentialError, UsageError
from evenhand._run import ask
from evenhand._store import Journal
from evenhand.subjects import subject

pytest.importorskip("boto3", reason="the extra aws is not installed")

KEY = "a-key-of-some-length"
SECRET = "a-secret-of-some-length-0123456789abcdef"
MODEL = {"gemini": "gemini-2.5-flash", "bedrock": "eu.vendor.model-v1:0"}
VENDORS = tuple(MODEL)


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in (
        "AWS_PROFILE",
        "AWS_SESSION_TOKEN",
        "AWS_BEARER_TOKEN_BEDROCK",
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)


class Vendor:
    """Answers in the documented shapes; `answers` come first, then what `text` says."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.answers: list[tuple[int, Any]] = []
        self.raw: list[bytes] = []
        self.text = "85"
        self.url = ""

    def answer(self, request: Request) -> Response:
        """One answer."""
        body = request.get_json()
        self.raw.append(request.get_data())
        self.requests.append((request.environ["RAW_URI"], dict(request.headers), body))
        status, told = self.answers.pop(0) if self.answers else (200, self.good("contents" in body))
        return Response(json.dumps(told), status=status, content_type="application/json")

    def good(self, gemini: bool, **more: Any) -> Any:
        """A good answer; `more` replaces parts of it."""
        if not gemini:
            message = {
                "role": "assistant",
                "content": [{"reasoningContent": {"reasoningText": {"text": "12?"}}}, {"text": self.text}],
            }
            usage = {"inputTokens": 11, "outputTokens": 3, "totalTokens": 14}
            return {
                "output": {"message": message},
                "stopReason": "end_turn",
                "usage": usage,
                "metrics": {},
            } | more
        parts = [{"text": "I think 12.", "thought": True}, {"text": self.text}]
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 11, "candidatesTokenCount": 2, "thoughtsTokenCount": 1}
        return {"candidates": [candidate | more], "usageMetadata": usage, "modelVersion": "m"}


@pytest.fixture
def vendor(httpserver: HTTPServer) -> Vendor:
    """A vendor behind a loopback port."""
    made = Vendor()
    made.url = httpserver.url_for("").rstrip("/")
    httpserver.expect_request(re.compile(".*")).respond_with_handler(made.answer)
    return made


def model(name: str, vendor: Vendor, **given: Any) -> Any:
    """The subject, asking the double."""
    where = (
        {"base_url": vendor.url} if name == "gemini" else {"region": "eu-west-1", "endpoint_url": vendor.url}
    )
    return subject(
        name, **{"model": MODEL[name], "prompt": "0 to 100? {text}", "wait_initial": 0.01, **where, **given}
    )


def plan(*texts: str) -> eh.Plan:
    """These texts."""
    yield eh.Probes(inputs=list(texts))


def test_gemini_is_asked_in_its_own_words(vendor: Vendor) -> None:
    """Address, key in a header, contents, settings; tables of `extra` are joined with ours."""
    thinking = {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}, "cachedContent": "c"}
    replies = model("gemini", vendor, system="Be brief.", temperature=0.5, extra=thinking)(["x"])
    assert replies.scores["score"].tolist() == [85]
    ((path, headers, body),) = vendor.requests
    assert path == "/models/gemini-2.5-flash:generateContent"
    assert headers["X-Goog-Api-Key"] == KEY
    assert body == {
        "contents": [{"role": "user", "parts": [{"text": "0 to 100? x"}]}],
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "generationConfig": {
            "temperature": 0.5,
            "maxOutputTokens": 64,
            "thinkingConfig": {"thinkingBudget": 0},
        },
        "cachedContent": "c",
    }


def test_gemini_s_probabilities_of_the_first_token(vendor: Vendor) -> None:
    """The expected value of the labels, under what it says of the first token."""
    likely = {
        "candidates": [
            {"token": "Yes", "logProbability": np.log(0.6)},
            {"token": "no", "logProbability": np.log(0.2)},
        ]
    }
    vendor.answers = [(200, vendor.good(True, logprobsResult={"topCandidates": [likely]}))]
    found = model("gemini", vendor, score_by="logprob", labels={"yes": 1, "no": 0})(["x"])
    assert found.scores["score"][0] == pytest.approx(0.75)
    settings = vendor.requests[0][2]["generationConfig"]
    assert settings == {"temperature": 0, "maxOutputTokens": 1, "responseLogprobs": True, "logprobs": 20}
    missing = model("gemini", vendor, score_by="logprob", labels={"yes": 1})(["x"])
    assert "no score where it was expected" in missing.errors[0]


def test_bedrock_sends_what_boto3_would_send(vendor: Vendor, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same address, body and signature as boto3's own client gives to the same request."""
    import boto3

    monkeypatch.setenv("AWS_SESSION_TOKEN", "a-token-of-some-length")
    extra = {"additionalModelRequestFields": {"top_k": 5}, "inferenceConfig": {"topP": 0.5}}
    ours = model("bedrock", vendor, system="Be brief.", extra=extra)
    assert ours(["Zoë"]).scores["score"].tolist() == [85]
    boto3.Session(region_name="eu-west-1").client("bedrock-runtime", endpoint_url=vendor.url).converse(
        modelId=MODEL["bedrock"],
        messages=[{"role": "user", "content": [{"text": "0 to 100? Zoë"}]}],
        system=[{"text": "Be brief."}],
        inferenceConfig={"maxTokens": 64, "temperature": 0.0, "topP": 0.5},
        additionalModelRequestFields={"top_k": 5},
    )
    (path, headers, body), (their_path, their_headers, their_body) = vendor.requests
    assert (path, body) == (their_path, their_body)
    for sent, raw in ((headers, vendor.raw[0]), (their_headers, vendor.raw[1])):
        assert sent["Authorization"] == signed(vendor.url + path, sent, raw)
        assert sent["X-Amz-Security-Token"] == "a-token-of-some-length"


def signed(url: str, sent: dict[str, str], raw: bytes) -> str:
    """The Authorization of a request as it arrived, after AWS's published steps."""
    import hashlib
    import hmac
    from urllib.parse import quote, urlsplit

    said = dict(part.strip().split("=", 1) for part in sent["Authorization"].partition(" ")[2].split(","))
    names = said["SignedHeaders"].split(";")
    lower = {name.lower(): value for name, value in sent.items()}
    headers = "".join(f"{name}:{lower[name].strip()}\n" for name in names)
    path = quote(urlsplit(url).path, safe="/-_.~")  # what is encoded is encoded again, but for S3
    digest = hashlib.sha256(raw).hexdigest()
    canonical = "\n".join(["POST", path, "", headers, ";".join(names), digest])
    moment, scope = lower["x-amz-date"], said["Credential"].partition("/")[2]
    assert scope == f"{moment[:8]}/eu-west-1/bedrock/aws4_request"
    assert {"host", "x-amz-date", "x-amz-security-token"} <= set(names)
    key = f"AWS4{SECRET}".encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    text = "\n".join(["AWS4-HMAC-SHA256", moment, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
    return f"AWS4-HMAC-SHA256 Credential={said['Credential']}, SignedHeaders={';'.join(names)}, Signature={signature}"


def test_bedrock_takes_an_api_key_in_the_place_of_credentials(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AWS_BEARER_TOKEN_BEDROCK."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    with pytest.raises(CredentialError, match="no credentials"):
        model("bedrock", vendor)
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", KEY)
    assert model("bedrock", vendor)(["x"]).scores["score"].tolist() == [85]
    assert vendor.requests[0][1]["Authorization"] == f"Bearer {KEY}"
    with pytest.raises(UsageError, match="region"):
        subject("bedrock", model="m", prompt="{text}")


DECLINED, CUT = "the model declined to answer", "the answer was cut off by max_tokens"


@pytest.mark.parametrize(
    ("name", "more", "said", "reason"),
    [
        ("gemini", {"finishReason": "SAFETY", "content": {}}, "", DECLINED),
        ("gemini", {"finishReason": "MAX_TOKENS", "content": {"role": "model"}}, "", CUT),
        ("gemini", {"finishReason": "MAX_TOKENS"}, "The score is 8", CUT),
        ("bedrock", {"stopReason": "guardrail_intervened"}, "Sorry, 0.", DECLINED),
        ("bedrock", {"stopReason": "content_filtered"}, "", DECLINED),
        ("bedrock", {"stopReason": "max_tokens"}, "The score is 8", CUT),
    ],
)
def test_what_is_no_answer_is_no_score(
    vendor: Vendor, name: str, more: dict[str, Any], said: str, reason: str
) -> None:
    """A filter's word and half a number are errors of their row, each with its reason; it is asked once."""
    vendor.text = said
    vendor.answers = [(200, vendor.good(name == "gemini", **more))]
    assert model(name, vendor)(["x"]).errors == {0: reason}
    assert len(vendor.requests) == 1


def test_a_prompt_that_gemini_blocks_is_declined(vendor: Vendor) -> None:
    """No candidate at all; with a judge it is a refusal, 1."""
    blocked = {
        "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
        "usageMetadata": {"promptTokenCount": 4},
    }
    vendor.answers = [(200, blocked), (200, blocked)]
    assert model("gemini", vendor)(["x"]).errors == {0: DECLINED}
    judged = model("gemini", vendor, score_by="judge", judge="vader")(["x"])
    assert judged.scores["refusal"].tolist() == [1]
    vendor.answers = [(200, {"usageMetadata": {}})]
    assert "no score where it was expected" in model("gemini", vendor)(["x"]).errors[0]


@pytest.mark.parametrize("name", VENDORS)
def test_faults_are_retried_and_what_arrives_is_kept(vendor: Vendor, name: str, tmp_path: Path) -> None:
    """Throttled, down, then an answer: one reply, its tokens counted, and nothing asked by the next run."""
    vendor.answers = [(429, {"message": "Too many requests"}), (503, {"message": "Busy"})]
    with Journal(tmp_path / "j.sqlite") as journal:
        assert ask(plan("a", "b"), model(name, vendor, concurrency=1), journal=journal).failed == 0
        assert len(vendor.requests) == 4
        (row,) = journal.stats()
        assert (row["replies"], row["sent"], row["received"]) == (2, 22, 6)
        other = model(name, vendor, score_by="judge", judge="vader")
        assert "refusal" in ask(plan("a", "b"), other, journal=journal).observations.columns
    assert len(vendor.requests) == 4  # the judge reads what had arrived


@pytest.mark.parametrize("name", VENDORS)
def test_the_id_covers_the_whole_request_and_no_secret(vendor: Vendor, name: str) -> None:
    """Model, settings, address and region; not the key, nor how the answer is read."""
    plain = model(name, vendor)
    ways: list[dict[str, Any]] = [
        {"model": "another"},
        {"prompt": "1 to 10? {text}"},
        {"system": "Be brief."},
        {"temperature": 1.0},
        {"max_tokens": 9},
        {"extra": {"generationConfig": {"topP": 0.1}, "inferenceConfig": {"topP": 0.1}}},
        {"base_url": f"{vendor.url}/v2"} if name == "gemini" else {"endpoint_url": f"{vendor.url}/v2"},
    ]
    ways += [{"region": "us-east-1"}] if name == "bedrock" else []
    ids = [model(name, vendor, **way).id for way in ways]
    assert len({plain.id, *ids}) == len(ways) + 1
    assert model(name, vendor, within=(0, 100), concurrency=2).id == plain.id
    for secret in (KEY, SECRET, "AKIDEXAMPLE"):
        assert secret not in plain.id + repr(plain)


@pytest.mark.parametrize("name", VENDORS)
def test_refused_keys_end_the_run_and_are_shown_nowhere(vendor: Vendor, name: str) -> None:
    """403 of AWS, 400 of Google with its word for it; what a service echoes is covered."""
    refusals = {
        "gemini": (400, {"error": {"status": "INVALID_ARGUMENT", "message": "API key not valid."}}),
        "bedrock": (403, {"__type": "AccessDeniedException", "message": f"not you, {SECRET}"}),
    }
    vendor.answers = [refusals[name]]
    with pytest.raises(CredentialError) as told:
        model(name, vendor)(["x"])
    assert {"gemini": "GEMINI_API_KEY", "bedrock": "AWS_ACCESS_KEY_ID"}[name] in str(told.value)
    echoed = KEY if name == "gemini" else SECRET
    vendor.answers = [(400, {"message": f"what is {echoed}?"})]
    assert "•••" in model(name, vendor)(["x"]).errors[0]
    assert echoed not in model(name, vendor)(["x"]).errors.get(0, "")


def test_what_a_vendor_does_not_offer_is_said_before_anything_is_asked(vendor: Vendor) -> None:
    """No batch jobs of these two here, no probabilities of Bedrock."""
    for name in VENDORS:
        with pytest.raises(UsageError, match="no batch jobs"):
            model(name, vendor, batch_job=True)
    with pytest.raises(UsageError, match="number, label, judge"):
        model("bedrock", vendor, score_by="logprob", labels={"yes": 1})
    with pytest.raises(UsageError, match="model"):
        subject("gemini", prompt="{text}")
    assert not vendor.requests

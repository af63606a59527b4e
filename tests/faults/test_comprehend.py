"""Amazon Comprehend: batches with partial failures, toxicity, and the job through S3."""

from __future__ import annotations

import io
import json
import tarfile
from collections import Counter
from typing import Any

import numpy as np
import pytest

from evenhand._errors import CredentialError, SubjectError, UsageError
from evenhand.subjects import subject
from evenhand.subjects.comprehend import Comprehend
from evenhand.subjects.comprehend_job import ComprehendJob

boto3 = pytest.importorskip("boto3", reason="the extra aws is not installed")


def sentiment(text: str) -> dict[str, float]:
    """A score that depends on the text alone."""
    positive = (len(text) % 10) / 10
    return {"Positive": positive, "Negative": 0.1, "Neutral": 0.9 - positive, "Mixed": 0.0}


class Client:
    """Speaks the shapes of boto3's client and fails on chosen documents a few times."""

    def __init__(self, failures: dict[str, int] | None = None, code: str = "INTERNAL_SERVER_ERROR") -> None:
        self.failures = dict(failures or {})
        self.code = code
        self.asked: Counter[str] = Counter()
        self.sizes: list[int] = []

    def batch_detect_sentiment(self, *, TextList: list[str], LanguageCode: str) -> dict[str, Any]:
        """Results in any order; failed documents in ErrorList."""
        self.sizes.append(len(TextList))
        results, errors = [], []
        for index, text in enumerate(TextList):
            self.asked[text] += 1
            if self.failures.get(text, 0) > 0:
                self.failures[text] -= 1
                errors.append({"Index": index, "ErrorCode": self.code, "ErrorMessage": "try again"})
            else:
                results.append({"Index": index, "Sentiment": "NEUTRAL", "SentimentScore": sentiment(text)})
        return {"ResultList": results[::-1], "ErrorList": errors}

    def detect_toxic_content(
        self, *, TextSegments: list[dict[str, str]], LanguageCode: str
    ) -> dict[str, Any]:
        """One result a segment, in order."""
        self.sizes.append(len(TextSegments))
        found = [len(s["Text"]) / 100 for s in TextSegments]
        return {
            "ResultList": [{"Labels": [{"Name": "INSULT", "Score": f / 2}], "Toxicity": f} for f in found]
        }


def test_batches_of_25_and_partial_failures_retried_alone() -> None:
    """Documents in ErrorList are asked again by themselves; the others are not."""
    texts = [f"text number {'x' * i}" for i in range(60)]
    client = Client({texts[7]: 2, texts[30]: 1})
    replies = Comprehend(client=client, task="sentiment", language="en")(texts)
    assert replies.errors == {}
    np.testing.assert_allclose(replies.scores["Positive"], [sentiment(t)["Positive"] for t in texts])
    assert max(client.sizes) == 25
    assert client.asked[texts[7]] == 3
    assert {n for t, n in client.asked.items() if t not in (texts[7], texts[30])} == {1}


def test_a_document_that_keeps_failing_is_one_counted_error() -> None:
    """Its neighbours keep their scores; a final error is not retried."""
    replies = Comprehend(client=Client({"b": 99}), task="sentiment", language="en")(["a", "b", "c"])
    assert list(replies.errors) == [1]
    assert np.isfinite(replies.scores["Positive"][[0, 2]]).all()
    client = Client({"b": 99}, code="UnsupportedLanguageException")
    Comprehend(client=client, task="sentiment", language="en")(["a", "b"])
    assert client.asked["b"] == 1


def test_long_and_empty_documents_are_errors_with_their_reason() -> None:
    """5,120 bytes, not characters."""
    replies = Comprehend(client=Client(), task="sentiment", language="en")(["ok", "ü" * 2561, " "])
    assert "5,122 bytes" in replies.errors[1]
    assert replies.errors[2] == "the text is empty"


def test_toxicity_takes_ten_segments_a_call() -> None:
    """Toxicity and every label become scores."""
    client = Client()
    replies = Comprehend(client=client, task="toxicity", language="en")([f"{'y' * i}." for i in range(23)])
    assert max(client.sizes) == 10
    assert set(replies.scores) == {"TOXICITY", "INSULT"}
    assert replies.scores["TOXICITY"][4] == pytest.approx(0.05)


def test_refused_credentials_stop_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ClientError about keys is not a row error."""
    from botocore.stub import Stubber

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    model = subject("comprehend", region="eu-west-1")
    with Stubber(model.client) as stub:  # type: ignore[attr-defined]
        stub.add_client_error("batch_detect_sentiment", "UnrecognizedClientException", "no", 400)
        with pytest.raises(CredentialError, match="credentials"):
            model(["a"])


def test_real_shapes_pass_botocore_s_own_validation(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is sent and read agrees with the service model that boto3 ships."""
    from botocore.stub import Stubber

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    model = subject("comprehend", region="eu-west-1", concurrency=1)
    answer = {
        "ResultList": [{"Index": 0, "Sentiment": "NEUTRAL", "SentimentScore": sentiment("abc")}],
        "ErrorList": [],
    }
    with Stubber(model.client) as stub:  # type: ignore[attr-defined]
        stub.add_response("batch_detect_sentiment", answer, {"TextList": ["abc"], "LanguageCode": "en"})
        assert model(["abc"]).scores["Positive"][0] == pytest.approx(0.3)


def test_bad_settings_are_told_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Language, task, region and place in S3."""
    with pytest.raises(UsageError, match="unknown-language"):
        subject("comprehend", language="tlh")
    with pytest.raises(UsageError, match="unknown-task"):
        subject("comprehend", task="mood")
    with pytest.raises(UsageError, match="s3-location"):
        subject("comprehend-job", location="https://bucket", role="arn")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    with pytest.raises(UsageError, match="region"):
        subject("comprehend")


class Cloud:
    """S3 and the job's plumbing: the job is done after two looks, its output in any order, with an error line."""

    def __init__(self, status: str = "COMPLETED", fail_line: int | None = None) -> None:
        self.objects: dict[str, bytes] = {}
        self.jobs: dict[str, dict[str, Any]] = {}
        self.started = 0
        self.looks = 0
        self.status, self.fail_line = status, fail_line

    def put_object(self, *, Bucket: str, Key: str, Body: bytes) -> None:
        """Keep an object."""
        self.objects[f"s3://{Bucket}/{Key}"] = Body

    def get_object(self, *, Bucket: str, Key: str) -> dict[str, Any]:
        """Give it back."""
        return {"Body": io.BytesIO(self.objects[f"s3://{Bucket}/{Key}"])}

    def start_sentiment_detection_job(self, **request: Any) -> dict[str, str]:
        """Idempotent by ClientRequestToken, as the service is."""
        token = request["ClientRequestToken"]
        if token not in self.jobs:
            self.started += 1
            self.jobs[token] = request
        return {"JobId": token}

    def describe_sentiment_detection_job(self, *, JobId: str) -> dict[str, Any]:
        """In progress twice, then ended."""
        self.looks += 1
        if self.looks < 3:
            return {"SentimentDetectionJobProperties": {"JobStatus": "IN_PROGRESS"}}
        request = self.jobs[JobId]
        uri = request["OutputDataConfig"]["S3Uri"] + "output/output.tar.gz"
        lines = self.objects[request["InputDataConfig"]["S3Uri"]].decode().split("\n")
        records = [
            {"File": "probes.txt", "Line": n, "Sentiment": "NEUTRAL", "SentimentScore": sentiment(line)}
            for n, line in enumerate(lines)
        ]
        if self.fail_line is not None:
            records[self.fail_line] = {
                "File": "probes.txt",
                "Line": self.fail_line,
                "ErrorCode": "INTERNAL",
                "ErrorMessage": "odd",
            }
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as tar:
            raw = "\n".join(json.dumps(r) for r in records[::-1]).encode()
            info = tarfile.TarInfo("output")
            info.size = len(raw)
            tar.addfile(info, io.BytesIO(raw))
        self.objects[uri] = packed.getvalue()
        return {
            "SentimentDetectionJobProperties": {
                "JobStatus": self.status,
                "Message": "why",
                "OutputDataConfig": {"S3Uri": uri},
            }
        }


def job(cloud: Cloud) -> ComprehendJob:
    """The subject on the pretended cloud."""
    return ComprehendJob(
        comprehend=cloud,
        s3=cloud,
        location="s3://bucket/audits/",
        role="arn:r",
        language="en",
        sleep=lambda _: None,
    )


def test_the_job_uploads_waits_and_joins_by_line() -> None:
    """Order is not guaranteed; line breaks in texts are; error lines and long texts are counted."""
    cloud = Cloud(fail_line=1)
    texts = ["one", "two", "three\nlines", "x" * 6000, "five"]
    replies = job(cloud)(texts)
    assert replies.scores["Positive"][0] == pytest.approx(0.3)
    assert replies.scores["Positive"][2] == pytest.approx(sentiment("three lines")["Positive"])
    assert replies.scores["Positive"][4] == pytest.approx(0.4)
    assert sorted(replies.errors) == [1, 3]


def test_an_interrupted_job_is_found_again_and_not_paid_twice() -> None:
    """The request token is a digest of the input."""
    cloud = Cloud()
    job(cloud)(["one", "two"])
    job(cloud)(["one", "two"])
    assert cloud.started == 1
    job(cloud)(["one", "two", "three"])
    assert cloud.started == 2


def test_a_failed_job_says_why() -> None:
    """FAILED with the service's own message."""
    with pytest.raises(SubjectError, match="FAILED: why"):
        job(Cloud(status="FAILED"))(["one"])

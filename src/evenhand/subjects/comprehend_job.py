"""Amazon Comprehend's asynchronous job: texts to S3, the job, its output back, in one call."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from evenhand._errors import SubjectError, UsageError
from evenhand._model import Replies
from evenhand.subjects.aws import aws_client, aws_session, called
from evenhand.subjects.comprehend import LANGUAGES, SENTIMENT
from evenhand.subjects.comprehend_files import read_comprehend
from evenhand.subjects.keys import check_url, too_long

DOCUMENT_BYTES = 5_120
ENDED = frozenset({"COMPLETED", "FAILED", "STOPPED"})


@dataclass(frozen=True, kw_only=True)
class ComprehendJob:
    """Asks everything in one job; `whole` tells audits to hand over all probes at once.

    The job's token is a digest of its input, so an interrupted audit that is run again finds the same job
    instead of paying for another (StartSentimentDetectionJob is idempotent by ClientRequestToken).
    """

    comprehend: Any = field(repr=False, compare=False)
    s3: Any = field(repr=False, compare=False)
    location: str
    role: str
    language: str
    poll: float = 20.0
    region: str = ""
    endpoint_url: str = ""
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False, compare=False)
    whole: bool = True

    @property
    def id(self) -> str:
        where = f"{self.region} {self.endpoint_url}".strip()
        return f"comprehend sentiment-job {self.language} {where}".rstrip()

    def __call__(self, inputs: Sequence[str], /) -> Replies:
        lines = [" ".join(str(text).splitlines()) for text in inputs]
        errors = {
            row: why for row, line in enumerate(lines) if (why := too_long(line, DOCUMENT_BYTES)) is not None
        }
        asked = [row for row in range(len(lines)) if row not in errors]
        if not asked:
            return Replies(scores={}, errors=errors)
        body = "\n".join(lines[row] for row in asked).encode()
        token = hashlib.blake2b(body + self.id.encode(), digest_size=16).hexdigest()
        bucket, prefix = _place(self.location)
        key = f"{prefix}evenhand-{token}/probes.txt"
        called(lambda content: self.s3.put_object(Bucket=bucket, Key=key, Body=content), body)
        job = self._start(token, f"s3://{bucket}/{key}", f"s3://{bucket}/{prefix}evenhand-{token}/output/")
        output = self._wait(job)
        return self._collect(output, asked, len(inputs), errors)

    def _start(self, token: str, source: str, target: str) -> str:
        request = {
            "InputDataConfig": {"S3Uri": source, "InputFormat": "ONE_DOC_PER_LINE"},
            "OutputDataConfig": {"S3Uri": target},
            "DataAccessRoleArn": self.role,
            "LanguageCode": self.language,
            "JobName": f"evenhand-{token[:12]}",
            "ClientRequestToken": token,
        }
        answer = called(lambda sent: self.comprehend.start_sentiment_detection_job(**sent), request)
        return str(answer["JobId"])

    def _wait(self, job: str) -> str:
        while True:
            answer = called(lambda name: self.comprehend.describe_sentiment_detection_job(JobId=name), job)
            properties = answer["SentimentDetectionJobProperties"]
            status = properties["JobStatus"]
            if status == "COMPLETED":
                return str(properties["OutputDataConfig"]["S3Uri"])
            if status in ENDED:
                raise SubjectError(
                    "job-failed",
                    f"the job ended as {status}: {properties.get('Message', 'no reason given')}",
                    given=job,
                )
            self.sleep(self.poll)

    def _collect(self, output: str, asked: list[int], n: int, errors: dict[int, str]) -> Replies:
        bucket, key = _place(output, folder=False)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "output.tar.gz"
            answer = called(lambda name: self.s3.get_object(Bucket=bucket, Key=name), key)
            path.write_bytes(answer["Body"].read())
            table = read_comprehend(path).to_pydict()
        scores = {name: np.full(n, np.nan) for name in SENTIMENT}
        missing = set(asked)
        for at, line in enumerate(table["Line"]):
            if not 0 <= line < len(asked):
                raise SubjectError(
                    "job-output", "the job answered a line that was not asked", given=json.dumps(line)
                )
            row = asked[line]
            missing.discard(row)
            if table["error"][at]:
                errors[row] = str(table["error"][at])
                continue
            for name in SENTIMENT:
                scores[name][row] = float(table[name][at])
        errors.update({row: "the job's output has no line for this text" for row in missing})
        return Replies(scores=scores, errors=errors)


def comprehend_job(
    *,
    location: str,
    role: str,
    language: str = "en",
    region: str | None = None,
    endpoint_url: str | None = None,
    poll: float = 20.0,
) -> ComprehendJob:
    """The subject `comprehend-job` (extra `aws`).

    Args:
        location: ``s3://bucket/folder/`` that the job may read and write. role: ARN that Comprehend assumes
            for it.
        poll: seconds between looks at the job.
    """
    _place(location)
    if language not in LANGUAGES:
        raise UsageError(
            "unknown-language",
            "sentiment is not offered in this language",
            given=language,
            available=LANGUAGES,
        )
    check_url(endpoint_url or "")
    session = aws_session(region)
    client = aws_client(session, "comprehend", endpoint_url=endpoint_url)
    return ComprehendJob(
        comprehend=client,
        region=str(client.meta.region_name),
        endpoint_url=endpoint_url or "",
        s3=aws_client(session, "s3", endpoint_url=endpoint_url),
        location=location,
        role=role,
        language=language,
        poll=poll,
    )


def _place(uri: str, *, folder: bool = True) -> tuple[str, str]:
    """("bucket", "folder/") of an s3 address."""
    parts = urlsplit(uri)
    if parts.scheme != "s3" or not parts.netloc:
        raise UsageError("s3-location", "this is no place in S3", given=uri, expected="s3://bucket/folder/")
    path = parts.path.lstrip("/")
    return parts.netloc, path if not folder or not path or path.endswith("/") else f"{path}/"

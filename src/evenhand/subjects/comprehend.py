"""Amazon Comprehend in real time: sentiment (25 documents a call) and toxicity (10 segments).

Through boto3, in threads.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np

from evenhand._errors import UsageError
from evenhand._model import Arrived, Replies
from evenhand.subjects import gate
from evenhand.subjects.aws import aws_client, aws_session, called
from evenhand.subjects.keys import check_url, too_long
from evenhand.subjects.wrappers import Arrivals, Transient, gather

Task: TypeAlias = Literal["sentiment", "toxicity"]
LANGUAGES = ("en", "es", "fr", "de", "it", "pt", "ar", "hi", "ja", "ko", "zh", "zh-TW")
SENTIMENT = ("Positive", "Negative", "Neutral", "Mixed")
DOCUMENTS, DOCUMENT_BYTES = 25, 5_120
SEGMENTS, SEGMENT_BYTES = 10, 1_024
FINAL_ERRORS = frozenset(
    {"TextSizeLimitExceededException", "InvalidRequestException", "UnsupportedLanguageException"}
)


@dataclass(frozen=True, kw_only=True)
class Comprehend:
    """BatchDetectSentiment or DetectToxicContent; those that failed inside a batch are asked again alone."""

    client: Any = field(repr=False, compare=False)
    task: Task
    language: str
    concurrency: int = 4
    attempts: int = 4
    region: str = ""
    endpoint_url: str = ""

    @property
    def id(self) -> str:
        where = f"{self.region} {self.endpoint_url}".strip()
        return f"comprehend {self.task} {self.language} {where}".rstrip()

    @property
    def batches_itself(self) -> bool:
        """Given many texts at once it keeps its places filled."""
        return True

    @property
    def notice(self) -> str:
        """What a reader of the result should know."""
        if self.task == "toxicity":
            return ""
        return "Comprehend's real-time sentiment has read only the first 500 characters of a text at times."

    def __call__(self, inputs: Sequence[str], /) -> Replies:
        return gather(self.arrivals(inputs), len(inputs))

    def arrivals(self, inputs: Sequence[str], /) -> Arrivals:
        """Batches as they are answered, a few of them in flight."""
        size, most = (DOCUMENTS, DOCUMENT_BYTES) if self.task == "sentiment" else (SEGMENTS, SEGMENT_BYTES)
        refused = {row: why for row, text in enumerate(inputs) if (why := too_long(text, most)) is not None}
        if refused:
            rows = np.array(sorted(refused), dtype=np.intp)
            yield rows, Replies(scores={}, errors={at: refused[int(row)] for at, row in enumerate(rows)})
        asked = [row for row in range(len(inputs)) if row not in refused]
        chunks = iter([asked[at : at + size] for at in range(0, len(asked), size)])
        ask = partial(self._checked, self._sentiment if self.task == "sentiment" else self._toxicity)
        with ThreadPoolExecutor(self.concurrency) as pool:
            flying: dict[Future[Replies], list[int]] = {}
            try:
                for rows_ in itertools.islice(chunks, 2 * self.concurrency):
                    flying[pool.submit(ask, [inputs[row] for row in rows_])] = rows_
                while flying:
                    done, _ = wait(flying, return_when=FIRST_COMPLETED)
                    for future in done:
                        finished = flying.pop(future)
                        yield np.array(finished, dtype=np.intp), future.result()
                        following = next(chunks, None)
                        if following is not None:
                            flying[pool.submit(ask, [inputs[row] for row in following])] = following
            finally:
                for future in flying:
                    future.cancel()

    def _checked(self, ask: Callable[[list[str]], Replies], texts: list[str]) -> Replies:
        """Probabilities or errors, whatever shape the answer has."""
        return gate.checked(lambda: ask(texts), len(texts), (0.0, 1.0))

    def _sentiment(self, texts: list[str]) -> Replies:
        scores = {name: np.full(len(texts), np.nan) for name in SENTIMENT}
        errors: dict[int, str] = {}
        arrived: dict[int, Arrived] = {}
        todo = list(range(len(texts)))
        for _ in range(self.attempts):
            answer = called(
                lambda rows: self.client.batch_detect_sentiment(
                    TextList=[texts[row] for row in rows], LanguageCode=self.language
                ),
                list(todo),
            )
            for item in answer["ResultList"]:
                row = todo[int(item["Index"])]
                for name in SENTIMENT:
                    scores[name][row] = gate.number(item["SentimentScore"][name])
                errors.pop(row, None)
            failed = {todo[int(item["Index"])]: item for item in answer.get("ErrorList", [])}
            answered = {todo[int(item["Index"])] for item in answer["ResultList"]} | set(failed)
            errors.update(
                {
                    row: f"{item.get('ErrorCode')}: {item.get('ErrorMessage', '')}"
                    for row, item in failed.items()
                }
            )
            errors.update({row: "the service did not mention this document" for row in set(todo) - answered})
            arrived.update(_arrived(answer, todo))
            todo = [row for row in todo if row in errors and not _final(failed.get(row))]
            if not todo:
                break
        for row in todo:
            errors[row] = Transient(errors[row])
        return Replies(scores=scores, errors=errors, arrived=arrived)

    def _toxicity(self, texts: list[str]) -> Replies:
        answer = called(
            lambda segments: self.client.detect_toxic_content(
                TextSegments=segments, LanguageCode=self.language
            ),
            [{"Text": text} for text in texts],
        )
        results = answer["ResultList"]
        if len(results) != len(texts):
            reason = f"{len(results)} results for {len(texts)} segments"
            rows = list(range(len(texts)))
            return Replies(scores={}, errors=dict.fromkeys(rows, reason), arrived=_arrived(answer, rows))
        scores = {"TOXICITY": np.array([gate.number(r["Toxicity"]) for r in results])}
        for name in dict.fromkeys(label["Name"] for r in results for label in r["Labels"]):
            found = [
                {label["Name"]: label["Score"] for label in r["Labels"]}.get(name, np.nan) for r in results
            ]
            scores[name] = np.array(found, dtype=np.float64)
        return Replies(scores=scores, arrived=_arrived(answer, list(range(len(texts)))))


def comprehend(
    *,
    task: Task = "sentiment",
    language: str = "en",
    region: str | None = None,
    endpoint_url: str | None = None,
    concurrency: int = 4,
) -> Comprehend:
    """The subject `comprehend` (extra `aws`). Credentials by the AWS chain: environment, profile, role.

    Args:
        task: `sentiment` (Positive, Negative, Neutral, Mixed) or `toxicity` (English only).
        language: code of the texts. region: e.g. ``eu-west-1``. endpoint_url: of a proxy or a test server.

    Raises:
        UsageError: an unknown task or language. CredentialError: no credentials or region.
    """
    if task not in ("sentiment", "toxicity"):
        raise UsageError(
            "unknown-task",
            "Comprehend has no such task here",
            given=task,
            available=["sentiment", "toxicity"],
        )
    known = LANGUAGES if task == "sentiment" else ("en",)
    if language not in known:
        raise UsageError(
            "unknown-language", f"{task} is not offered in this language", given=language, available=known
        )
    check_url(endpoint_url or "")
    client = aws_client(aws_session(region), "comprehend", endpoint_url=endpoint_url)
    return Comprehend(
        client=client,
        task=task,
        language=language,
        concurrency=concurrency,
        region=str(client.meta.region_name),
        endpoint_url=endpoint_url or "",
    )


def _arrived(answer: Any, rows: list[int]) -> dict[int, Arrived]:
    """The answer to these rows, as it came but for the headers of the transport."""
    kept = {name: value for name, value in answer.items() if name != "ResponseMetadata"}
    body = json.dumps(kept, default=str).encode()
    return {row: Arrived(body, at, len(rows)) for at, row in enumerate(rows)}


def _final(item: Any) -> bool:
    return item is not None and str(item.get("ErrorCode")) in FINAL_ERRORS

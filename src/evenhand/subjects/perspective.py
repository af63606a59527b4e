"""Perspective (comments:analyze), which ends on 2026-12-31.

Recorded replies stay usable with `evenhand scores`.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from evenhand._model import Replies, Span
from evenhand.subjects.gate import number
from evenhand.subjects.keys import check_url, from_environment, too_long
from evenhand.subjects.service import Service

END = datetime.date(2026, 12, 31)
ATTRIBUTES = ("TOXICITY", "SEVERE_TOXICITY", "IDENTITY_ATTACK", "INSULT", "PROFANITY", "THREAT")
HOST = "https://commentanalyzer.googleapis.com"


@dataclass(frozen=True, kw_only=True)
class Analyze:
    """One comment a request; probabilities between 0 and 1."""

    attributes: tuple[str, ...]
    languages: tuple[str, ...]
    host: str
    key: str = field(repr=False)
    variable: str = "PERSPECTIVE_API_KEY"
    batch: int = 1

    @property
    def id(self) -> str:
        return f"perspective v1alpha1 {','.join(self.attributes)} {','.join(self.languages)}"

    reading: ClassVar[str] = "1"
    within: ClassVar[Span] = (0.0, 1.0)

    @property
    def notice(self) -> str:
        """What a reader of the result should know."""
        ended = "ended" if datetime.datetime.now(datetime.UTC).date() > END else "ends"
        return (
            f"Perspective {ended} on {END.isoformat()}. Successors here: openai-moderation,"
            " azure-content-safety,"
            " google-moderation, or a model of your own. Recorded replies stay usable: evenhand journal"
            " export, evenhand scores."
        )

    @property
    def url(self) -> str:
        return f"{self.host}/v1alpha1/comments:analyze"

    @property
    def headers(self) -> Mapping[str, str]:
        return {"X-Goog-Api-Key": self.key}

    def refuse(self, text: Any) -> str | None:
        return too_long(text, 20_480)

    def body(self, inputs: Sequence[str]) -> Any:
        return {
            "comment": {"text": inputs[0], "type": "PLAIN_TEXT"},
            "requestedAttributes": {name: {} for name in self.attributes},
            "languages": list(self.languages),
            "doNotStore": True,
        }

    def parse(self, answer: Any, n: int) -> Replies:
        found = answer["attributeScores"]
        return Replies(
            scores={a: np.array([number(found[a]["summaryScore"]["value"])]) for a in self.attributes}
        )


def perspective(
    *,
    attributes: Sequence[str] | str = ATTRIBUTES,
    languages: Sequence[str] | str = ("en",),
    rate: float | None = 1.0,
    endpoint_url: str = HOST,
    **engine: Any,
) -> Service:
    """The subject `perspective`. Key: PERSPECTIVE_API_KEY. Default rate: the service's 1 query a second.

    Args:
        attributes: what to score. languages: ISO codes. engine: options of `Service` (concurrency,
            attempts, …).
    """
    check_url(endpoint_url)
    endpoint = Analyze(
        attributes=_names(attributes),
        languages=_names(languages),
        host=endpoint_url.rstrip("/"),
        key=from_environment("PERSPECTIVE_API_KEY"),
    )
    return Service(endpoint=endpoint, rate=rate, **engine)


def _names(given: Sequence[str] | str) -> tuple[str, ...]:
    return tuple(given.split(",")) if isinstance(given, str) else tuple(given)

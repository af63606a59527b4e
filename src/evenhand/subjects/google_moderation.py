"""Google Cloud Natural Language, documents:moderateText: a confidence for each harm category."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from evenhand._model import Replies, Span
from evenhand.subjects.gate import number
from evenhand.subjects.keys import check_url, from_environment, too_long
from evenhand.subjects.service import Service


@dataclass(frozen=True, kw_only=True)
class ModerateText:
    """One text a request; confidences between 0 and 1."""

    host: str
    language: str | None
    key: str = field(repr=False)
    batch: int = 1
    variable: str = "GOOGLE_API_KEY"

    @property
    def id(self) -> str:
        return f"google-moderation v2 {self.language or 'auto'}"

    reading: ClassVar[str] = "1"
    within: ClassVar[Span] = (0.0, 1.0)

    @property
    def url(self) -> str:
        return f"{self.host}/v2/documents:moderateText"

    @property
    def headers(self) -> Mapping[str, str]:
        return {"X-Goog-Api-Key": self.key}

    def refuse(self, text: Any) -> str | None:
        return too_long(text, 1_000_000)

    def body(self, inputs: Sequence[str]) -> Any:
        document = {"type": "PLAIN_TEXT", "content": inputs[0]}
        return {"document": document | ({"languageCode": self.language} if self.language else {})}

    def parse(self, answer: Any, n: int) -> Replies:
        found = answer["moderationCategories"]
        return Replies(scores={item["name"]: np.array([number(item["confidence"])]) for item in found})


def google_moderation(
    *, language: str | None = None, endpoint_url: str = "https://language.googleapis.com", **engine: Any
) -> Service:
    """The subject `google-moderation`. Key: GOOGLE_API_KEY."""
    check_url(endpoint_url)
    key = from_environment("GOOGLE_API_KEY")
    return Service(endpoint=ModerateText(host=endpoint_url.rstrip("/"), language=language, key=key), **engine)

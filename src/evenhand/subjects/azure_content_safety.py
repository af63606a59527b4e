"""Azure AI Content Safety: ordinal severities (0 to 7) for four categories: groups are compared by ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from evenhand._errors import UsageError
from evenhand._model import Replies, Span
from evenhand.subjects.gate import number
from evenhand.subjects.keys import TooLong, check_url, from_environment, too_long
from evenhand.subjects.service import Service

CATEGORIES = ("Hate", "SelfHarm", "Sexual", "Violence")


@dataclass(frozen=True, kw_only=True)
class AnalyzeText:
    """One text a request; severities are ordered, not spaced: `ordinal` tells audits to use ranks."""

    endpoint: str
    version: str
    key: str = field(repr=False)
    batch: int = 1
    variable: str = "AZURE_CONTENT_SAFETY_KEY"
    ordinal: bool = True

    @property
    def id(self) -> str:
        return f"azure-content-safety {self.version} EightSeverityLevels"

    reading: ClassVar[str] = "1"
    within: ClassVar[Span] = (0.0, 7.0)

    @property
    def url(self) -> str:
        return f"{self.endpoint}/contentsafety/text:analyze?api-version={self.version}"

    @property
    def headers(self) -> Mapping[str, str]:
        return {"Ocp-Apim-Subscription-Key": self.key}

    def refuse(self, text: Any) -> str | None:
        if isinstance(text, str) and len(text) > 10_000:
            return TooLong(f"the text has {len(text):,} characters; the service takes 10,000", limit=10_000)
        return too_long(text, 40_000)

    def body(self, inputs: Sequence[str]) -> Any:
        return {"text": inputs[0], "categories": list(CATEGORIES), "outputType": "EightSeverityLevels"}

    def parse(self, answer: Any, n: int) -> Replies:
        found = {item["category"]: number(item["severity"]) for item in answer["categoriesAnalysis"]}
        return Replies(scores={name: np.array([found[name]]) for name in CATEGORIES})


def azure_content_safety(
    *, endpoint_url: str | None = None, version: str = "2024-09-01", **engine: Any
) -> Service:
    """The subject `azure-content-safety`.

    Key: AZURE_CONTENT_SAFETY_KEY; endpoint: AZURE_CONTENT_SAFETY_ENDPOINT.
    """
    where = endpoint_url or from_environment("AZURE_CONTENT_SAFETY_ENDPOINT")
    if not where.startswith(("https://", "http://")):
        raise UsageError("endpoint-url", "the endpoint is no https address", given=where)
    check_url(where)
    key = from_environment("AZURE_CONTENT_SAFETY_KEY")
    return Service(endpoint=AnalyzeText(endpoint=where.rstrip("/"), version=version, key=key), **engine)

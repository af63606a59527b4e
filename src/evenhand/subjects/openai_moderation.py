"""OpenAI's moderation endpoint: a probability for each category."""

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
class Moderations:
    """Up to `batch` texts a request, answered in order."""

    model: str
    base_url: str
    key: str = field(repr=False)
    batch: int = 16
    variable: str = "OPENAI_API_KEY"

    @property
    def id(self) -> str:
        return f"openai-moderation {self.model}"

    reading: ClassVar[str] = "1"
    within: ClassVar[Span] = (0.0, 1.0)

    @property
    def url(self) -> str:
        return f"{self.base_url}/moderations"

    @property
    def headers(self) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {self.key}"}

    def refuse(self, text: Any) -> str | None:
        return too_long(text, 400_000)

    def body(self, inputs: Sequence[str]) -> Any:
        return {"model": self.model, "input": list(inputs)}

    def parse(self, answer: Any, n: int) -> Replies:
        results = answer["results"]
        if len(results) != n:
            raise ValueError(f"{len(results)} results for {n} texts")
        names = list(results[0]["category_scores"])
        return Replies(
            scores={k: np.array([number(r["category_scores"][k]) for r in results]) for k in names}
        )


def openai_moderation(
    *,
    model: str = "omni-moderation-latest",
    base_url: str = "https://api.openai.com/v1",
    batch: int = 16,
    **engine: Any,
) -> Service:
    """The subject `openai-moderation`. Key: OPENAI_API_KEY."""
    check_url(base_url)
    key = from_environment("OPENAI_API_KEY")
    return Service(
        endpoint=Moderations(model=model, base_url=base_url.rstrip("/"), key=key, batch=batch), **engine
    )

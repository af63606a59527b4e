"""Google's Gemini models in their own words: generateContent, one prompt a request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from evenhand.subjects.batch_job import BatchJob
from evenhand.subjects.chat import Chat, Said, chat
from evenhand.subjects.service import Service

DECLINED = frozenset({"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"})
"""Reasons to finish that are a filter's."""


class GenerateContent:
    """Contents of parts; settings in `generationConfig`."""

    name = "gemini"

    def url(self, chat: Chat) -> str:
        model = chat.model if "/" in chat.model else f"models/{chat.model}"
        return f"{chat.base_url}/{quote(model)}:generateContent"

    def public(self) -> Mapping[str, str]:
        return {}

    def keyed(self, key: str) -> Mapping[str, str]:
        return {"x-goog-api-key": key}

    def body(self, chat: Chat, text: str) -> dict[str, Any]:
        settings: dict[str, Any] = {"temperature": chat.temperature, "maxOutputTokens": chat.max_tokens}
        if chat.score_by == "logprob":
            settings |= {"responseLogprobs": True, "logprobs": 20, "maxOutputTokens": 1}
        sent = {"contents": [{"role": "user", "parts": [{"text": text}]}], "generationConfig": settings}
        return sent | ({"systemInstruction": {"parts": [{"text": chat.system}]}} if chat.system else {})

    def said(self, answer: Any) -> Said:
        """A prompt that is blocked has no candidate; thoughts are no part of the answer."""
        if not answer.get("candidates") and answer["promptFeedback"]["blockReason"]:
            return Said(declined=True)
        first = answer["candidates"][0]
        parts = (first.get("content") or {}).get("parts") or []
        likely = ((first.get("logprobsResult") or {}).get("topCandidates") or [{}])[0].get("candidates") or []
        ended = first.get("finishReason")
        return Said(
            text="".join(part.get("text", "") for part in parts if not part.get("thought")),
            declined=ended in DECLINED,
            cut=ended == "MAX_TOKENS",
            first=[(str(token["token"]), token["logProbability"]) for token in likely],
        )


def gemini(
    *,
    base_url: str = "https://generativelanguage.googleapis.com/v1beta",
    key_variable: str = "GEMINI_API_KEY",
    **options: Any,
) -> Service | BatchJob:
    """The subject `gemini`; its options are those of `chat`, without batch jobs.

    A model that thinks spends `max_tokens` on it:
    ``extra={"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}}``, or more tokens.

    Raises:
        UsageError: what `chat` raises.
    """
    return chat(GenerateContent(), base_url=base_url, key_variable=key_variable, **options)

"""Any OpenAI-compatible chat endpoint (a cloud, vLLM, Ollama)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.subjects.batch_job import BatchJob
from evenhand.subjects.chat import Chat, Said, chat
from evenhand.subjects.openai_batches import OpenAIBatches
from evenhand.subjects.service import Service


class Completions:
    """Chat completions."""

    name = "openai"

    def url(self, chat: Chat) -> str:
        return f"{chat.base_url}/chat/completions"

    def public(self) -> Mapping[str, str]:
        return {}

    def keyed(self, key: str) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {key}"}

    def body(self, chat: Chat, text: str) -> dict[str, Any]:
        messages = [{"role": "system", "content": chat.system}] if chat.system else []
        messages.append({"role": "user", "content": text})
        sent: dict[str, Any] = {
            "model": chat.model,
            "messages": messages,
            "temperature": chat.temperature,
            "max_tokens": chat.max_tokens,
        }
        if chat.score_by == "logprob":
            sent |= {"logprobs": True, "top_logprobs": 20, "max_tokens": 1}
        if "max_completion_tokens" in chat.extra:
            sent.pop("max_tokens")  # a service that knows the new name refuses both
        return sent

    def said(self, answer: Any) -> Said:
        choice = answer["choices"][0]
        message, ended = choice["message"], choice.get("finish_reason")
        tokens = ((choice.get("logprobs") or {}).get("content") or [{}])[0].get("top_logprobs") or []
        return Said(
            text=str(message.get("content") or message.get("refusal") or ""),
            declined=bool(message.get("refusal")) or ended == "content_filter",
            cut=ended == "length",
            first=[(str(token["token"]), token["logprob"]) for token in tokens],
        )


def openai(
    *,
    base_url: str = "https://api.openai.com/v1",
    key_variable: str = "OPENAI_API_KEY",
    **options: Any,
) -> Service | BatchJob:
    """The subject `openai`; its options are those of `chat`.

    Args:
        base_url: e.g. a cloud's, or ``http://localhost:11434/v1`` for a model of your own.

    Raises:
        UsageError: what `chat` raises.
    """
    wire = Completions()
    return chat(wire, base_url=base_url, key_variable=key_variable, batches=_batches, **options)


def _batches(base_url: str) -> OpenAIBatches:
    return OpenAIBatches(base_url=base_url)

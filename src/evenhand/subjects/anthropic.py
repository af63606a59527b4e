"""Anthropic's messages, one prompt a request, and its batch endpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from evenhand._jobs import Job
from evenhand.subjects.batch_job import BatchJob, Line, State
from evenhand.subjects.chat import Chat, Said, chat
from evenhand.subjects.exchange import Exchange
from evenhand.subjects.service import Service

VERSION = "2023-06-01"
"""Of the interface, which has to be named in every request."""
PAGES = 50
"""Pages of a hundred jobs that are looked through for one of ours."""


class Messages:
    """Messages; prompts and scores are those of `chat`."""

    name = "anthropic"

    def url(self, chat: Chat) -> str:
        return f"{chat.base_url}/messages"

    def public(self) -> Mapping[str, str]:
        return {"anthropic-version": VERSION}

    def keyed(self, key: str) -> Mapping[str, str]:
        return {"x-api-key": key}

    def body(self, chat: Chat, text: str) -> dict[str, Any]:
        sent = {
            "model": chat.model,
            "max_tokens": chat.max_tokens,
            "temperature": chat.temperature,
            "messages": [{"role": "user", "content": text}],
        }
        return sent | ({"system": chat.system} if chat.system else {})

    def said(self, answer: Any) -> Said:
        ended = answer.get("stop_reason")
        return Said(
            text="".join(part["text"] for part in answer["content"] if part["type"] == "text"),
            declined=ended == "refusal",
            cut=ended == "max_tokens",
        )


@dataclass(frozen=True, kw_only=True)
class AnthropicBatches:
    """Jobs of messages. A job carries no mark of ours but its custom ids, which stand in its results only.

    Args:
        base_url: of the service, e.g. ``https://api.anthropic.com/v1``.
        most, most_bytes: requests and bytes of one job (Anthropic: 100,000 and 256 MB).
    """

    base_url: str
    most: int = 100_000
    most_bytes: int = 240_000_000

    def send(self, exchange: Exchange, token: str, requests: Sequence[tuple[str, Any]]) -> str:
        """The requests themselves make the job."""
        rows = [{"custom_id": name, "params": body} for name, body in requests]
        return str(exchange.once("POST", "/messages/batches", json={"requests": rows})["id"])

    def find(self, exchange: Exchange, job: Job) -> str:
        """By the custom ids in the results of jobs of that size; those that run are waited for."""
        states = {name: self.state(exchange, name) for name in self._alike(exchange, job)}
        for name in sorted(
            states, key=lambda name: not states[name].ended
        ):  # those that ended answer at once
            while not (state := self.state(exchange, name)).ended:
                exchange.sleep(exchange.wait_max)
            for path in state.outputs:
                if f'"{job.token}-'.encode() in next(exchange.lines(path), b""):
                    return name
        return ""

    def _alike(self, exchange: Exchange, job: Job) -> Sequence[str]:
        found, after = [], ""
        for _ in range(PAGES):
            page = exchange.json("GET", f"/messages/batches?limit=100{after}")
            rows = page.get("data") or []
            for each in rows:
                if sum(n for n in each["request_counts"].values() if type(n) is int) == job.size:
                    found.append(str(each["id"]))
            if not rows or not page.get("has_more"):
                break
            after = f"&after_id={quote(str(rows[-1]['id']), safe='')}"
        return found

    def state(self, exchange: Exchange, name: str) -> State:
        """A job that ended says of each request how it ended; its own word is always "ended"."""
        where = f"/messages/batches/{quote(name, safe='')}"
        told = exchange.json("GET", where)
        ended = told.get("processing_status") == "ended"
        counts = told.get("request_counts") or {}
        status = next((word for word in ("expired", "canceled") if counts.get(word)), "completed")
        has_results = ended and told.get("results_url")
        return State(ended=ended, status=status, outputs=[f"{where}/results"] if has_results else [])

    def line(self, row: Any) -> Line:
        """Succeeded, errored, canceled or expired."""
        name, result = str(row["custom_id"]), row["result"]
        if result["type"] == "succeeded":
            return Line(custom_id=name, answer=result["message"])
        said = (result.get("error") or {}).get("error") or {}
        why = f": {said.get('type', '')} {said.get('message', '')}"[:200] if said else ""
        return Line(custom_id=name, error=f"in the batch job: {result['type']}{why}")


def anthropic(
    *,
    base_url: str = "https://api.anthropic.com/v1",
    key_variable: str = "ANTHROPIC_API_KEY",
    **options: Any,
) -> Service | BatchJob:
    """The subject `anthropic`; its options are those of `chat`. It gives no probabilities (`logprob`).

    Raises:
        UsageError: what `chat` raises.
    """
    return chat(
        Messages(),
        base_url=base_url,
        key_variable=key_variable,
        scorings=("number", "label", "judge"),
        batches=_batches,
        **options,
    )


def _batches(base_url: str) -> AnthropicBatches:
    return AnthropicBatches(base_url=base_url)

"""Anthropic's messages, one prompt a request, and its batch endpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from evenhand._errors import UsageError
from evenhand._jobs import Job
from evenhand._model import Replies, Span, Subject
from evenhand.subjects.batch_job import BatchJob, Line, State
from evenhand.subjects.exchange import Exchange
from evenhand.subjects.openai import Chat, ScoreBy, chat
from evenhand.subjects.service import Service

VERSION = "2023-06-01"
"""Of the interface, which has to be named in every request."""
PAGES = 50
"""Pages of a hundred jobs that are looked through for one of ours."""


@dataclass(frozen=True, kw_only=True)
class Messages:
    """A chat model in Anthropic's words; prompts and scores are those of `openai`."""

    chat: Chat
    batch: int = 1
    variable: str = "ANTHROPIC_API_KEY"
    public: Mapping[str, str] = field(default_factory=lambda: {"anthropic-version": VERSION})

    @property
    def id(self) -> str:
        return f"anthropic {self.chat.base_url} {self.chat.model} t={self.chat.temperature:g}"

    @property
    def reading(self) -> str:
        return self.chat.reading

    @property
    def within(self) -> Span | None:
        return self.chat.within

    @property
    def url(self) -> str:
        return f"{self.chat.base_url}/messages"

    @property
    def headers(self) -> Mapping[str, str]:
        return {"anthropic-version": VERSION, **({"x-api-key": self.chat.key} if self.chat.key else {})}

    def refuse(self, text: Any) -> str | None:
        return self.chat.refuse(text)

    def body(self, inputs: Sequence[str]) -> Any:
        sent = {
            "model": self.chat.model,
            "max_tokens": self.chat.max_tokens,
            "temperature": self.chat.temperature,
            "messages": [{"role": "user", "content": self.chat.prompt.replace("{text}", inputs[0])}],
        }
        system = {"system": self.chat.system} if self.chat.system else {}
        return sent | system | dict(self.chat.extra)

    def parse(self, answer: Any, n: int) -> Replies:
        text = "".join(part["text"] for part in answer["content"] if part["type"] == "text")
        ended = answer.get("stop_reason")
        message = {"content": text, "refusal": "refused" if ended == "refusal" else None}
        reason = "length" if ended == "max_tokens" else "stop"
        return self.chat.parse({"choices": [{"message": message, "finish_reason": reason}]}, n)


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
    model: str,
    prompt: str,
    base_url: str = "https://api.anthropic.com/v1",
    system: str | None = None,
    score_by: ScoreBy = "number",
    labels: Mapping[str, float] | None = None,
    judge: str | Subject | None = None,
    temperature: float = 0.0,
    max_tokens: int = 64,
    key_variable: str = "ANTHROPIC_API_KEY",
    extra: Mapping[str, Any] | None = None,
    within: Sequence[float] | str | None = None,
    batch_job: bool = False,
    poll: float = 60.0,
    trust_address: bool = False,
    **engine: Any,
) -> Service | BatchJob:
    """The subject `anthropic`; its options are those of `openai`, but for `logprob`, which it does not give.

    Raises:
        UsageError: what `openai` raises.
    """
    if score_by == "logprob":
        raise UsageError(
            "score-by",
            "this service gives no probabilities",
            given=score_by,
            available=["number", "label", "judge"],
        )
    given = chat(
        model=model,
        prompt=prompt,
        base_url=base_url,
        system=system,
        score_by=score_by,
        labels=labels,
        judge=judge,
        temperature=temperature,
        max_tokens=max_tokens,
        key_variable=key_variable,
        extra=extra,
        within=within,
        trust_address=trust_address,
    )
    service = Service(endpoint=Messages(chat=given, variable=key_variable), **engine)
    if not batch_job:
        return service
    return BatchJob(subject=service, batches=AnthropicBatches(base_url=given.base_url), poll=poll)

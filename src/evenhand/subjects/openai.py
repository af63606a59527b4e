"""Any OpenAI-compatible chat endpoint (a cloud, vLLM, Ollama).

A prompt with a slot, and a way to score the answer.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from evenhand._errors import UsageError
from evenhand._model import FloatArray, Replies, Span, Subject
from evenhand.subjects.batch_job import BatchJob
from evenhand.subjects.gate import Unreadable, bounds_of, number
from evenhand.subjects.keys import check_body, check_url, from_environment, is_loopback, too_long
from evenhand.subjects.openai_batches import OpenAIBatches
from evenhand.subjects.prose import label_in, number_in, refuses
from evenhand.subjects.service import Service

ScoreBy: TypeAlias = Literal["number", "label", "logprob", "judge"]


@dataclass(frozen=True, kw_only=True)
class Chat:
    """One prompt a request; the answer becomes numbers by `score_by`."""

    model: str
    base_url: str
    prompt: str
    system: str | None
    score_by: ScoreBy
    labels: Mapping[str, float]
    temperature: float
    max_tokens: int
    judge: Subject | None
    key: str = field(repr=False)
    variable: str = "OPENAI_API_KEY"
    batch: int = 1
    extra: Mapping[str, Any] = field(default_factory=dict)
    within: Span | None = None

    @property
    def id(self) -> str:
        return f"openai {self.base_url} {self.model} t={self.temperature:g}"

    @property
    def reading(self) -> str:
        """How the answer becomes a number; none of it is sent."""
        judge = self.judge.id if self.judge is not None else ""
        return json.dumps(["1", self.score_by, sorted(self.labels.items()), judge, self.within])

    @property
    def url(self) -> str:
        return f"{self.base_url}/chat/completions"

    @property
    def headers(self) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {self.key}"} if self.key else {}

    def refuse(self, text: Any) -> str | None:
        return too_long(text, 1_000_000)

    def body(self, inputs: Sequence[str]) -> Any:
        messages = [{"role": "system", "content": self.system}] if self.system else []
        messages.append({"role": "user", "content": self.prompt.replace("{text}", inputs[0])})
        sent: dict[str, Any] = {
            "model": self.model,
            "messages": messages,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
        }
        if self.score_by == "logprob":
            sent |= {"logprobs": True, "top_logprobs": 20, "max_tokens": 1}
        if "max_completion_tokens" in self.extra:
            sent.pop("max_tokens")  # a service that knows the new name refuses both
        return sent | dict(self.extra)

    def parse(self, answer: Any, n: int) -> Replies:
        choice = answer["choices"][0]
        if self.score_by == "logprob":
            return _one(
                {"score": _from_logprobs(choice["logprobs"]["content"][0]["top_logprobs"], self.labels)}
            )
        message = choice["message"]
        declined = message.get("refusal") or choice.get("finish_reason") == "content_filter"
        text = str(message.get("content") or message.get("refusal") or "")
        if self.score_by in ("number", "label"):
            return _one({"score": self._score(text, bool(declined), choice.get("finish_reason"))})
        scores = {"length": float(len(text.split())), "refusal": float(bool(declined) or refuses(text))}
        if self.judge is not None:
            judged = self.judge([text])
            if judged.errors:
                return Replies(scores={}, errors={0: f"the judge failed: {judged.errors[0]}"})
            scores = {name: float(column[0]) for name, column in judged.scores.items()} | scores
        return _one(scores)

    def _score(self, text: str, declined: bool, ended: Any) -> float:
        if declined:
            raise Unreadable("the model declined to answer")
        if ended == "length" and text.rstrip()[-1:].isalnum():
            raise Unreadable("the answer was cut off by max_tokens")  # 8 of 85, non of nontoxic
        try:
            return number_in(text) if self.score_by == "number" else label_in(text, self.labels)
        except Unreadable:
            if refuses(text):
                raise Unreadable("the model declined to answer") from None
            raise


def openai(
    *,
    model: str,
    prompt: str,
    base_url: str = "https://api.openai.com/v1",
    system: str | None = None,
    score_by: ScoreBy = "number",
    labels: Mapping[str, float] | None = None,
    judge: str | Subject | None = None,
    temperature: float = 0.0,
    max_tokens: int = 64,
    key_variable: str = "OPENAI_API_KEY",
    extra: Mapping[str, Any] | None = None,
    within: Sequence[float] | str | None = None,
    batch_job: bool = False,
    poll: float = 60.0,
    trust_address: bool = False,
    **engine: Any,
) -> Service | BatchJob:
    """The subject `openai`.

    Args:
        model, base_url: e.g. a cloud's, or ``http://localhost:11434/v1`` for a model of your own.
        prompt: with the slot ``{text}``, e.g. ``"How trustworthy is this applicant, 0 to 100? {text}"``.
        score_by: `number`: the number that the answer gives (JSON, alone, or where an answer stands; see
            `prose`); `label`: the value in `labels` of the label it gives;
            `logprob`: the expected value of `labels` under the probabilities of the first token; `judge`:
            another subject scores the free-text answer, beside its length in words and whether it refuses.
        labels: label → value, e.g. ``{"yes": 1, "no": 0}``.
        temperature: above 0 ask several times (`repeats`).
        extra: further fields of the request, e.g. ``{"max_completion_tokens": 64, "seed": 1}``.
        within: least and largest possible score, e.g. ``(0, 100)``; what lies outside is an error of its row.
        batch_job: send everything as one batch job (``/files`` and ``/batches``), which may take a day and
            costs half. poll: seconds between two looks at it.
        trust_address: send the key also over plain http to another machine, and to link-local addresses.

    Raises:
        UsageError: a prompt without its slot, labels missing, or a key in the address or in `extra`.
    """
    endpoint = chat(
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
    service = Service(endpoint=endpoint, **engine)
    if not batch_job:
        return service
    return BatchJob(subject=service, batches=OpenAIBatches(base_url=endpoint.base_url), poll=poll)


def chat(
    *,
    model: str,
    prompt: str,
    base_url: str,
    key_variable: str,
    labels: Mapping[str, float] | None,
    judge: str | Subject | None,
    extra: Mapping[str, Any] | None,
    within: Sequence[float] | str | None,
    trust_address: bool,
    **said: Any,
) -> Chat:
    """The endpoint that the options describe; see `openai`."""
    if "{text}" not in prompt:
        raise UsageError(
            "prompt-slot",
            "the prompt has no slot for the text",
            given=prompt,
            expected="{text} somewhere in it",
        )
    score_by = said["score_by"]
    if score_by not in ("number", "label", "logprob", "judge"):
        raise UsageError(
            "score-by",
            "no such way to score",
            given=score_by,
            available=["number", "label", "logprob", "judge"],
        )
    if score_by in ("label", "logprob") and not labels:
        raise UsageError(
            "score-by", f"scoring by {score_by} needs labels", expected='labels={"yes": 1, "no": 0}'
        )
    key = from_environment(key_variable, optional=is_loopback(base_url))
    check_url(base_url, keyed=bool(key), trusted=trust_address)
    check_body(extra)
    if isinstance(judge, str):
        from evenhand.subjects import subject

        judge = subject(judge)
    return Chat(
        model=model,
        base_url=base_url.rstrip("/"),
        prompt=prompt,
        labels={k.lower(): float(v) for k, v in (labels or {}).items()},
        judge=judge,
        key=key,
        variable=key_variable,
        extra=dict(extra or {}),
        within=bounds_of(within),
        **said,
    )


def _one(scores: Mapping[str, float]) -> Replies:
    columns: dict[str, FloatArray] = {
        name: np.array([value], dtype=np.float64) for name, value in scores.items()
    }
    return Replies(scores=columns)


def _from_logprobs(tokens: Sequence[Mapping[str, Any]], labels: Mapping[str, float]) -> float:
    """Expected label value: Σ p(label)·value / Σ p(label), over labels among the most likely first tokens."""
    total = weighted = 0.0
    for token in tokens:
        value = labels.get(str(token["token"]).strip().lower())
        if value is not None:
            logprob = number(token["logprob"])
            if not logprob <= 0.01:  # a little above 0 is rounding
                raise ValueError(f"no log-probability: {logprob:g}")
            p = math.exp(logprob)
            total += p
            weighted += p * value
    if total <= 0.0:
        raise Unreadable("none of the labels is among the most likely first tokens")
    return weighted / total

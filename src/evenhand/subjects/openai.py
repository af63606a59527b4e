"""Any OpenAI-compatible chat endpoint (a cloud, vLLM, Ollama).

A prompt with a slot, and a way to score the answer.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from evenhand._errors import UsageError
from evenhand._model import FloatArray, Replies, Subject
from evenhand.subjects.keys import from_environment, too_long
from evenhand.subjects.service import Service

ScoreBy: TypeAlias = Literal["number", "label", "logprob", "judge"]
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
_REFUSAL = re.compile(
    r"\b(?:i(?:'|’)?m sorry|i (?:can(?:no|')t|cannot|won't|am unable to|am not able to)|as an ai"
    r"|unable to (?:help|assist|comply))\b",
    re.I,
)


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

    @property
    def id(self) -> str:
        parts = [
            self.prompt,
            self.system or "",
            self.score_by,
            repr(sorted(self.labels.items())),
            str(self.max_tokens),
        ]
        parts.append(self.judge.id if self.judge is not None else "")
        digest = hashlib.blake2b("\0".join(parts).encode(), digest_size=6).hexdigest()
        return f"openai {self.base_url} {self.model} t={self.temperature:g} {digest}"

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
        return sent

    def parse(self, answer: Any, n: int) -> Replies:
        choice = answer["choices"][0]
        if self.score_by == "logprob":
            return _one(
                {"score": _from_logprobs(choice["logprobs"]["content"][0]["top_logprobs"], self.labels)}
            )
        text = str(choice["message"]["content"] or "")
        if self.score_by == "number":
            found = _NUMBER.search(text)
            if found is None:
                return Replies(scores={}, errors={0: f"no number in the answer: {text[:60]!r}"})
            return _one({"score": float(found.group())})
        if self.score_by == "label":
            value = _from_label(text, self.labels)
            if value is None:
                return Replies(scores={}, errors={0: f"none of the labels in the answer: {text[:60]!r}"})
            return _one({"score": value})
        scores = {"length": float(len(text.split())), "refusal": float(bool(_REFUSAL.search(text)))}
        if self.judge is not None:
            judged = self.judge([text])
            if judged.errors:
                return Replies(scores={}, errors={0: f"the judge failed: {judged.errors[0]}"})
            scores = {name: float(column[0]) for name, column in judged.scores.items()} | scores
        return _one(scores)


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
    **engine: Any,
) -> Service:
    """The subject `openai`.

    Args:
        model, base_url: e.g. a cloud's, or ``http://localhost:11434/v1`` for a model of your own.
        prompt: with the slot ``{text}``, e.g. ``"How trustworthy is this applicant, 0 to 100? {text}"``.
        score_by: `number`: the first number in the answer; `label`: the value in `labels` of the label named;
            `logprob`: the expected value of `labels` under the probabilities of the first token; `judge`:
            another subject scores the free-text answer, beside its length in words and whether it refuses.
        labels: label → value, e.g. ``{"yes": 1, "no": 0}``.
        temperature: above 0 ask several times (`repeats`).

    Raises:
        UsageError: a prompt without its slot, or labels missing.
    """
    if "{text}" not in prompt:
        raise UsageError(
            "prompt-slot",
            "the prompt has no slot for the text",
            given=prompt,
            expected="{text} somewhere in it",
        )
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
    if isinstance(judge, str):
        from evenhand.subjects import subject

        judge = subject(judge)
    local = base_url.startswith(("http://localhost", "http://127.0.0.1", "http://[::1]"))
    endpoint = Chat(
        model=model,
        base_url=base_url.rstrip("/"),
        prompt=prompt,
        system=system,
        score_by=score_by,
        labels={k.lower(): float(v) for k, v in (labels or {}).items()},
        temperature=temperature,
        max_tokens=max_tokens,
        judge=judge,
        key=from_environment(key_variable, optional=local),
        variable=key_variable,
    )
    return Service(endpoint=endpoint, **engine)


def _one(scores: Mapping[str, float]) -> Replies:
    columns: dict[str, FloatArray] = {
        name: np.array([value], dtype=np.float64) for name, value in scores.items()
    }
    return Replies(scores=columns)


def _from_label(text: str, labels: Mapping[str, float]) -> float | None:
    """The value of the label that the answer names first; whole words, longest first."""
    choices = "|".join(re.escape(label) for label in sorted(labels, key=len, reverse=True))
    found = re.search(rf"(?<!\w)(?:{choices})(?!\w)", text.lower())
    return labels[found.group()] if found else None


def _from_logprobs(tokens: Sequence[Mapping[str, Any]], labels: Mapping[str, float]) -> float:
    """Expected label value: Σ p(label)·value / Σ p(label), over labels among the most likely first tokens."""
    total = weighted = 0.0
    for token in tokens:
        value = labels.get(str(token["token"]).strip().lower())
        if value is not None:
            p = math.exp(float(token["logprob"]))
            total += p
            weighted += p * value
    if total <= 0.0:
        raise ValueError("none of the labels is among the most likely first tokens")
    return weighted / total

"""A prompt with a slot, asked of a chat model, and the ways to make a number of what it says.

A `Wire` knows how one vendor writes requests and answers; nothing else differs between them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from evenhand._errors import UsageError
from evenhand._model import Replies, Span, Subject
from evenhand.subjects.batch_job import BatchJob
from evenhand.subjects.gate import Unreadable, bounds_of, number
from evenhand.subjects.keys import check_body, check_url, from_environment, is_loopback, too_long
from evenhand.subjects.prose import label_in, number_in, refuses
from evenhand.subjects.request import Signs
from evenhand.subjects.service import Service

ScoreBy: TypeAlias = Literal["number", "label", "logprob", "judge"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """What a chat model said, in no vendor's words.

    Args:
        text: the answer. declined: by the model, or by a filter around it. cut: ended by a limit of length.
        first: token → log-probability, of the likeliest first tokens, in their order.
    """

    text: str = ""
    declined: bool = False
    cut: bool = False
    first: Sequence[tuple[str, Any]] = ()


class Wire(Protocol):
    """How one vendor writes requests and answers."""

    @property
    def name(self) -> str: ...

    def url(self, chat: Chat) -> str: ...

    def public(self) -> Mapping[str, str]:
        """Headers that hold no secret."""
        ...

    def keyed(self, key: str) -> Mapping[str, str]:
        """Headers with the key."""
        ...

    def body(self, chat: Chat, text: str) -> dict[str, Any]:
        """A request; `text` is the filled prompt."""
        ...

    def said(self, answer: Any) -> Said:
        """What an answer says; whatever it raises is that row's error (`gate`)."""
        ...


@dataclass(frozen=True, kw_only=True)
class Chat:
    """One prompt a request; the answer becomes numbers by `score_by`."""

    wire: Wire
    model: str
    base_url: str
    prompt: str
    system: str | None = None
    score_by: ScoreBy = "number"
    labels: Mapping[str, float] = field(default_factory=dict)
    temperature: float = 0.0
    max_tokens: int = 64
    judge: Subject | None = None
    key: str = field(default="", repr=False)
    variable: str = ""
    batch: int = 1
    extra: Mapping[str, Any] = field(default_factory=dict)
    within: Span | None = None
    signer: Signs | None = field(default=None, repr=False, compare=False)

    @property
    def id(self) -> str:
        return f"{self.wire.name} {self.base_url} {self.model} t={self.temperature:g}"

    @property
    def reading(self) -> str:
        """How the answer becomes a number; none of it is sent."""
        judge = self.judge.id if self.judge is not None else ""
        return json.dumps(["1", self.score_by, sorted(self.labels.items()), judge, self.within])

    @property
    def url(self) -> str:
        return self.wire.url(self)

    @property
    def public(self) -> Mapping[str, str]:
        return self.wire.public()

    @property
    def headers(self) -> Mapping[str, str]:
        return {**self.public, **(self.wire.keyed(self.key) if self.key else {})}

    def refuse(self, text: Any) -> str | None:
        return too_long(text, 1_000_000)

    def body(self, inputs: Sequence[str]) -> Any:
        """The vendor's request, with the fields of `extra`; what is a table in both is joined."""
        sent = self.wire.body(self, self.prompt.replace("{text}", inputs[0]))
        for name, value in self.extra.items():
            joined = isinstance(value, Mapping) and isinstance(sent.get(name), Mapping)
            sent[name] = {**sent[name], **value} if joined else value
        return sent

    def parse(self, answer: Any, n: int) -> Replies:
        said = self.wire.said(answer)
        if self.score_by == "logprob":
            if not said.first:
                raise ValueError("no probabilities of the first token")
            return _one({"score": _expected(said.first, self.labels)})
        if self.score_by in ("number", "label"):
            return _one({"score": self._score(said)})
        refused = said.declined or refuses(said.text)
        scores = {"length": float(len(said.text.split())), "refusal": float(refused)}
        if self.judge is not None:
            judged = self.judge([said.text])
            if judged.errors:
                return Replies(scores={}, errors={0: f"the judge failed: {judged.errors[0]}"})
            scores = {name: float(column[0]) for name, column in judged.scores.items()} | scores
        return _one(scores)

    def _score(self, said: Said) -> float:
        if said.declined:
            raise Unreadable("the model declined to answer")
        if said.cut and (not said.text.strip() or said.text.rstrip()[-1].isalnum()):
            raise Unreadable("the answer was cut off by max_tokens")  # 8 of 85, non of nontoxic, or nothing
        try:
            return number_in(said.text) if self.score_by == "number" else label_in(said.text, self.labels)
        except Unreadable:
            if refuses(said.text):
                raise Unreadable("the model declined to answer") from None
            raise


def chat(
    wire: Wire,
    *,
    model: str,
    prompt: str,
    base_url: str,
    key_variable: str,
    signer: Signs | None = None,
    scorings: Sequence[str] = ("number", "label", "logprob", "judge"),
    system: str | None = None,
    score_by: ScoreBy = "number",
    labels: Mapping[str, float] | None = None,
    judge: str | Subject | None = None,
    temperature: float = 0.0,
    max_tokens: int = 64,
    extra: Mapping[str, Any] | None = None,
    within: Sequence[float] | str | None = None,
    trust_address: bool = False,
    batch_job: bool = False,
    poll: float = 60.0,
    batches: Callable[[str], Any] | None = None,
    **engine: Any,
) -> Service | BatchJob:
    """The subject that the options describe.

    Args:
        wire: the vendor's way of writing.
        model: as the vendor names it. base_url: what addresses begin with.
        key_variable: environment variable with the key. signer: signs every request, in the place of a key.
        scorings: the ways to score that the vendor's answers allow.
        prompt: with the slot ``{text}``, e.g. ``"How trustworthy is this applicant, 0 to 100? {text}"``.
        score_by: `number`: the number that the answer gives (JSON, alone, or where an answer stands; see
            `prose`); `label`: the value in `labels` of the label it gives;
            `logprob`: the expected value of `labels` under the probabilities of the first token; `judge`:
            another subject scores the free-text answer, beside its length in words and whether it refuses.
        labels: label → value, e.g. ``{"yes": 1, "no": 0}``.
        temperature: above 0 ask several times (`repeats`).
        extra: further fields of the request, e.g. ``{"max_completion_tokens": 64, "seed": 1}``.
        within: least and largest possible score, e.g. ``(0, 100)``; what lies outside is an error of its row.
        trust_address: send the key also over plain http to another machine, and to link-local addresses.
        batch_job: send everything as one batch job, which may take a day and costs half. poll: seconds
            between two looks at it. batches: base_url → the vendor's jobs; None where it has none here.
        engine: options of `Service`: concurrency, rate, characters, attempts, timeout, …

    Raises:
        UsageError: a prompt without its slot, labels missing, a way to score that the vendor does not allow,
            or a key in the address or in `extra`.
    """
    _check(prompt, score_by, scorings, labels)
    key = "" if signer else from_environment(key_variable, optional=is_loopback(base_url))
    check_url(base_url, keyed=bool(signer or key), trusted=trust_address)
    check_body(extra)
    if isinstance(judge, str):
        from evenhand.subjects import subject

        judge = subject(judge)
    endpoint = Chat(
        wire=wire,
        model=model,
        base_url=base_url.rstrip("/"),
        prompt=prompt,
        system=system,
        score_by=score_by,
        labels={k.lower(): float(v) for k, v in (labels or {}).items()},
        temperature=temperature,
        max_tokens=max_tokens,
        judge=judge,
        key=key,
        variable=key_variable,
        extra=dict(extra or {}),
        within=bounds_of(within),
        signer=signer,
    )
    service = Service(endpoint=endpoint, **engine)
    if not batch_job:
        return service
    if batches is None:
        raise UsageError("subject-options", f"{wire.name} has no batch jobs here", given="batch_job=true")
    return BatchJob(subject=service, batches=batches(endpoint.base_url), poll=poll)


def _check(prompt: str, score_by: str, scorings: Sequence[str], labels: Mapping[str, float] | None) -> None:
    if "{text}" not in prompt:
        raise UsageError(
            "prompt-slot",
            "the prompt has no slot for the text",
            given=prompt,
            expected="{text} somewhere in it",
        )
    if score_by not in scorings:
        raise UsageError("score-by", "no such way to score here", given=score_by, available=list(scorings))
    if score_by in ("label", "logprob") and not labels:
        raise UsageError(
            "score-by", f"scoring by {score_by} needs labels", expected='labels={"yes": 1, "no": 0}'
        )


def _one(scores: Mapping[str, float]) -> Replies:
    return Replies(scores={name: np.array([value], dtype=np.float64) for name, value in scores.items()})


def _expected(first: Sequence[tuple[str, Any]], labels: Mapping[str, float]) -> float:
    """Expected label value: Σ p(label)·value / Σ p(label), over labels among the most likely first tokens."""
    total = weighted = 0.0
    for token, given in first:
        value = labels.get(token.strip().lower())
        if value is not None:
            logprob = number(given)
            if not logprob <= 0.01:  # a little above 0 is rounding
                raise ValueError(f"no log-probability: {logprob:g}")
            p = math.exp(logprob)
            total += p
            weighted += p * value
    if total <= 0.0:
        raise Unreadable("none of the labels is among the most likely first tokens")
    return weighted / total

"""Public fakes for tests of audits: subjects that do what they are told, and a network that is not there.

>>> from evenhand.testing import Planted
>>> Planted(gap=0.2, words=["Imani"])(["Imani is here.", "Amy is here."]).scores["score"].round(3)
array([0.7, 0.5])
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import numpy as np

from evenhand._model import FloatArray, Replies
from evenhand.subjects.wrappers import Transient


@dataclass(frozen=True, kw_only=True)
class Scripted:
    """Answers from a mapping of input → score, and remembers what it was asked.

    Args:
        replies: input → score, or input → mapping of scores. An input that is not in it gets `default`;
            without a default it is a counted error.

    >>> model = Scripted(replies={"a": 0.25}, default=0.5)
    >>> model(["a", "b"]).scores["score"].tolist(), model.asked
    ([0.25, 0.5], ['a', 'b'])
    """

    replies: Mapping[str, float | Mapping[str, float]]
    default: float | None = None
    id: str = "scripted"
    asked: list[Any] = field(default_factory=list, compare=False)

    def __call__(self, inputs: Sequence[Any], /) -> Replies:
        self.asked.extend(inputs)
        rows = [self.replies.get(value, self.default) for value in inputs]
        as_maps = [
            r if isinstance(r, Mapping) else {"score": np.nan if r is None else float(r)} for r in rows
        ]
        names = list(dict.fromkeys(name for row in as_maps for name in row))
        scores = {n: np.array([row.get(n, np.nan) for row in as_maps], dtype=np.float64) for n in names}
        errors = {i: "no reply is scripted" for i, r in enumerate(rows) if r is None}
        return Replies(scores=scores, errors=errors)


@dataclass(frozen=True, kw_only=True)
class Planted:
    """A model with a known gap: inputs that mention one of `words` score `gap` higher.

    Args:
        gap: the true difference.
        words: whole words that carry it (case is ignored).
        base: score of a text without them.
        text_sd: spread of a text's own level; the same whichever name stands in it, as long as names are
            among `masks`.
        noise_sd: spread of a reply. Both are drawn from a hash of the text and `seed`, so equal inputs score
            alike.
        masks: words that do not count as part of the text (e.g. all names of the lexicon).
    """

    gap: float
    words: Sequence[str]
    base: float = 0.5
    text_sd: float = 0.0
    noise_sd: float = 0.0
    masks: Sequence[str] = ()
    seed: int = 0

    @property
    def id(self) -> str:
        return f"planted gap={self.gap} base={self.base} seed={self.seed}"

    def __call__(self, inputs: Sequence[str], /) -> Replies:
        carries, masked = _any_word(self.words), _any_word([*self.words, *self.masks])
        score = np.full(len(inputs), self.base)
        for row, text in enumerate(inputs):
            if carries.search(text):
                score[row] += self.gap
            if self.text_sd:
                score[row] += self.text_sd * _normal(masked.sub("_", text), self.seed)
            if self.noise_sd:
                score[row] += self.noise_sd * _normal(text, self.seed + 1)
        return Replies(scores={"score": score})


@dataclass(frozen=True, kw_only=True)
class Flaky:
    """A subject whose rows fail at a known rate; `Retrying` gets them through unless `lasting`.

    Args:
        subject: what answers when nothing fails.
        rate: share of the rows that fail, in [0, 1].
        lasting: True for errors that stay, False for errors that a second try may pass.
        billed: input → how often it was answered, for tests that nothing is paid for twice.
    """

    subject: Callable[[Sequence[Any]], Replies]
    rate: float
    lasting: bool = False
    seed: int = 0
    billed: dict[Any, int] = field(default_factory=dict, compare=False)
    tries: dict[Any, int] = field(default_factory=dict, compare=False)

    @property
    def id(self) -> str:
        return f"flaky {getattr(self.subject, 'id', 'subject')}"

    def __call__(self, inputs: Sequence[Any], /) -> Replies:
        good: list[int] = []
        errors: dict[int, str] = {}
        for row, value in enumerate(inputs):
            attempt = 0 if self.lasting else self.tries.get(value, 0)
            self.tries[value] = self.tries.get(value, 0) + 1
            if _uniform(f"{value}\0{attempt}", self.seed) < self.rate:
                errors[row] = "refused" if self.lasting else Transient("try again")
            else:
                good.append(row)
                self.billed[value] = self.billed.get(value, 0) + 1
        answered = self.subject([inputs[r] for r in good])
        scores: dict[str, FloatArray] = {}
        for name, column in answered.scores.items():
            scores[name] = np.full(len(inputs), np.nan)
            scores[name][good] = column
        errors.update({good[at]: reason for at, reason in answered.errors.items()})
        return Replies(scores=scores, errors=errors)


@contextlib.contextmanager
def forbid_network() -> Iterator[None]:
    """Inside this context every attempt to open a connection raises, so a test proves that none is made.

    >>> with forbid_network():
    ...     socket.create_connection(("localhost", 9))
    Traceback (most recent call last):
    AssertionError: a connection to ('localhost', 9) was attempted
    """

    def refuse(address: Any, *_: Any, **__: Any) -> Any:
        raise AssertionError(f"a connection to {address} was attempted")

    def refuse_method(_self: Any, address: Any) -> Any:
        return refuse(address)

    with (
        mock.patch.object(socket, "create_connection", refuse),
        mock.patch.object(socket.socket, "connect", refuse_method),
        mock.patch.object(socket.socket, "connect_ex", refuse_method),
    ):
        yield


def _any_word(words: Sequence[str]) -> re.Pattern[str]:
    choices = "|".join(re.escape(w) for w in sorted(words, key=len, reverse=True))
    return re.compile(rf"(?<!\w)(?:{choices})(?!\w)" if choices else r"(?!)", re.IGNORECASE)


def _uniform(text: str, seed: int) -> float:
    digest = hashlib.blake2b(
        text.encode("utf-8", "surrogatepass"), digest_size=8, salt=seed.to_bytes(8, "little")
    )
    return (int.from_bytes(digest.digest(), "little") + 0.5) / 2**64


def _normal(text: str, seed: int) -> float:
    from scipy.special import ndtri

    return float(ndtri(_uniform(text, seed)))

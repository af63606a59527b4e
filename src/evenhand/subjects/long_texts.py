"""What happens to texts over a service's limit: counted as errors (default), split, or the end of the run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from evenhand._errors import SubjectError
from evenhand._model import Replies, Subject
from evenhand.subjects.keys import TooLong, byte_length
from evenhand.subjects.wrappers import Arrivals, arrivals, gather

How: TypeAlias = Literal["error", "split", "stop"]
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|\n+")


@dataclass(frozen=True, kw_only=True)
class LongTexts:
    """Splits refused texts at sentences and averages the parts by their length, or stops the run.

    A mean over parts is not what the service would say of the whole; the id says that texts were split.
    """

    subject: Subject
    how: How

    @property
    def id(self) -> str:
        return f"{self.subject.id} (long texts split)" if self.how == "split" else self.subject.id

    def __call__(self, inputs: Sequence[Any], /) -> Replies:
        return gather(self.arrivals(inputs), len(inputs))

    def arrivals(self, inputs: Sequence[Any], /) -> Arrivals:
        for rows, replies in arrivals(self.subject, inputs):
            long = {at: reason for at, reason in replies.errors.items() if isinstance(reason, TooLong)}
            if not long:
                yield rows, replies
                continue
            if self.how == "stop":
                at, reason = next(iter(long.items()))
                raise SubjectError(
                    "text-too-long",
                    str(reason),
                    given=str(inputs[int(rows[at])])[:80],
                    hint="shorten it, or split long texts",
                )
            kept = np.array([at for at in range(len(rows)) if at not in long], dtype=np.intp)
            if len(kept):
                yield rows[kept], replies.take(kept)
            for at, reason in long.items():
                row = int(rows[at])
                yield np.array([row], dtype=np.intp), self._in_parts(str(inputs[row]), reason.limit)

    def _in_parts(self, text: str, limit: int) -> Replies:
        parts = pieces(text, limit)
        answered = self.subject(parts)
        if answered.errors:
            return Replies(
                scores={}, errors={0: f"a part of the text failed: {next(iter(answered.errors.values()))}"}
            )
        weights = np.array([byte_length(part) for part in parts], dtype=np.float64)
        return Replies(
            scores={n: np.array([np.average(c, weights=weights)]) for n, c in answered.scores.items()}
        )


def pieces(text: str, limit: int) -> list[str]:
    """The text in parts of at most `limit` bytes, cut at sentences, else words, else characters.

    >>> pieces("One two. Three four. Five.", 12)
    ['One two.', 'Three four.', 'Five.']
    """
    found: list[str] = []
    for sentence in _SENTENCE.split(text):
        for part in [sentence] if byte_length(sentence) <= limit else _words(sentence, limit):
            if found and byte_length(found[-1]) + 1 + byte_length(part) <= limit:
                found[-1] += " " + part
            elif part.strip():
                found.append(part)
    return found


def _words(sentence: str, limit: int) -> list[str]:
    found: list[str] = []
    for word in sentence.split():
        while byte_length(word) > limit:
            cut = limit
            while byte_length(word[:cut]) > limit:
                cut -= 1
            found.append(word[:cut])
            word = word[cut:]
        found.append(word)
    return found

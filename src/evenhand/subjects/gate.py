"""The one gate behind every parser: what came over the wire is a score only if it can be one.

Finite, inside the range that the service declares, one for each input; whatever a parser raises is the
reason of its rows and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from evenhand._errors import EvenhandError, UsageError
from evenhand._model import BoolArray, FloatArray, Replies, Span
from evenhand.subjects.wrappers import Transient

Parse = Callable[[Any, int], Replies]


class Unreadable(ValueError):
    """An answer that arrived well and says no score; its text is the row's reason."""


def read(raw: bytes, n: int, parse: Parse, within: Span | None = None) -> Replies:
    """The replies in the JSON of one answer to `n` inputs; never raises for what the answer holds.

    Args:
        raw: the body as it arrived.
        parse: from the JSON to the replies.
        within: least and largest possible score; None where the service declares none.

    >>> parse = lambda answer, n: Replies(scores={"p": np.array([float(x) for x in answer])})
    >>> read(b"[0.5, 1e400, 7]", 3, parse, (0.0, 1.0)).errors
    {1: 'the score is no finite number: p=inf', 2: 'the score lies outside 0 to 1: p=7'}
    >>> read(b"[" * 100_000, 1, parse).errors
    {0: 'the answer is nested too deeply'}
    """
    try:
        answer = json.loads(raw)
    except RecursionError:
        return failed(n, "the answer is nested too deeply")
    except ValueError as error:
        return failed(n, f"the answer cannot be read ({type(error).__name__}: {str(error)[:80]})")
    return checked(lambda: parse(answer, n), n, within)


def checked(parsed: Callable[[], Replies], n: int, within: Span | None = None) -> Replies:
    """What a parser made of an answer, if it can be believed; else `n` errors with the reason.

    Only our own errors (a refused key of a judge, a spent budget) pass: they are about the run, not a row.
    """
    try:
        replies = parsed()
        scores = {name: np.array(column, dtype=np.float64) for name, column in replies.scores.items()}
    except EvenhandError:
        raise
    except Unreadable as error:
        return failed(n, str(error))
    except Exception as error:
        said = f"{type(error).__name__}: {str(error)[:80]}"
        return failed(n, Transient(f"the answer has no score where it was expected ({said})"))
    errors = {row: reason for row, reason in replies.errors.items() if 0 <= row < n}
    lengths = {len(column) for column in scores.values()}
    if lengths - {n} or (not scores and len(errors) < n):
        return failed(n, Transient(f"the answer has {max(lengths, default=0)} scores for {n} inputs"))
    for name, column in scores.items():
        _mark(errors, ~np.isfinite(column), f"the score is no finite number: {name}", column)
        if within is not None:
            outside = np.isfinite(column) & ((column < within[0]) | (column > within[1]))
            _mark(errors, outside, f"the score lies outside {within[0]:g} to {within[1]:g}: {name}", column)
    if errors:
        for column in scores.values():
            column[sorted(errors)] = np.nan
    return Replies(scores=scores, errors=errors, arrived=replies.arrived)


def number(value: Any) -> float:
    """A number of JSON, or one written as a text; true and false are no scores.

    Raises:
        TypeError, ValueError, OverflowError: it is none, or too large.
    """
    if isinstance(value, bool):
        raise TypeError("true or false instead of a number")
    return float(value)


def tokens_in(answer: Any) -> tuple[int, int]:
    """Tokens sent and received, as chat services count them in an answer; zeros where it says none.

    >>> tokens_in({"usage": {"prompt_tokens": 12, "completion_tokens": 3}})
    (12, 3)
    >>> tokens_in({"usage": {"input_tokens": 12, "output_tokens": "many"}}), tokens_in([])
    ((12, 0), (0, 0))
    """
    usage = (answer.get("usage") or answer.get("usageMetadata")) if isinstance(answer, dict) else None
    if not isinstance(usage, dict):
        return 0, 0
    found = [[usage.get(name) for name in names] for names in _TOKENS]
    sent, received = (sum(n for n in said if type(n) is int and 0 <= n < 1 << 40) for said in found)
    return sent, received


_TOKENS = (
    (
        *("prompt_tokens", "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
        *("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens", "promptTokenCount"),
    ),
    ("completion_tokens", "output_tokens", "outputTokens", "candidatesTokenCount", "thoughtsTokenCount"),
)
"""Fields of `usage` for what is sent and what comes back."""


def bounds_of(given: Sequence[float] | str | None) -> Span | None:
    """A declared range, ``(0, 1)`` or ``"0,1"``, as two numbers in order.

    Raises:
        UsageError: it is none.
    """
    if given is None:
        return None
    try:
        parts = [float(part) for part in (given.split(",") if isinstance(given, str) else given)]
    except (TypeError, ValueError):
        parts = []
    if len(parts) != 2 or not parts[0] < parts[1]:
        raise UsageError(
            "score-range", "this is no range of scores", given=given, expected="least,largest: within=0,1"
        )
    return parts[0], parts[1]


def failed(n: int, reason: str) -> Replies:
    """`n` rows without a score, for one reason."""
    return Replies(scores={}, errors=dict.fromkeys(range(n), reason))


def _mark(errors: dict[int, str], wrong: BoolArray, said: str, column: FloatArray) -> None:
    for row in np.flatnonzero(wrong).tolist():
        errors.setdefault(row, f"{said}={column[row]:g}")

"""What a worker on another machine and the keeper of the journal write to each other: JSON, with numbers in
columns as base64. Nothing in a letter is code, and nothing is opened that could be."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand import _errors
from evenhand._errors import EngineError, EvenhandError
from evenhand._leases import WIDTH
from evenhand._model import Arrived, Replies
from evenhand._store import Bill, Known

MOST_BYTES = 1 << 26
"""Bytes of a letter."""
_KINDS = {
    kind.__name__: kind
    for kind in vars(_errors).values()
    if isinstance(kind, type) and issubclass(kind, EvenhandError)
}


def written(letter: Mapping[str, Any]) -> bytes:
    """A letter as it is sent.

    Raises:
        EngineError: `journal-letter`: it is too long.
    """
    sent = json.dumps(letter).encode("ascii")
    if len(sent) > MOST_BYTES:
        raise EngineError(
            "journal-letter",
            "what a worker on another machine has to tell the journal is too much for one letter",
            given=f"{len(sent):,} bytes",
            expected=f"{MOST_BYTES:,} bytes at most",
            hint="a smaller --batch-size",
        )
    return sent


def opened(sent: bytes) -> dict[str, Any]:
    """What was sent.

    Raises:
        ValueError: it is no letter.
    """
    if len(sent) > MOST_BYTES:
        raise ValueError("it is too long")
    try:
        letter = json.loads(sent)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(letter, dict):
        raise ValueError("it is no letter")
    return letter


def column(values: npt.ArrayLike, kind: str) -> str:
    """Numbers as a text; kind: '<f8', '<i8' or '?'.

    >>> numbers(column([1.5, float("nan")], "<f8"), "<f8")
    array([1.5, nan])
    """
    return text_of_bytes(np.asarray(values, dtype=kind).tobytes())


def numbers(text: Any, kind: str) -> npt.NDArray[Any]:
    """What `column` wrote, copied; ValueError for anything else."""
    return np.frombuffer(bytes_of_text(text), dtype=kind).copy()


def text_of_bytes(data: bytes) -> str:
    """Bytes as a text."""
    return base64.b64encode(data).decode("ascii")


def bytes_of_text(text: Any) -> bytes:
    """What `text_of_bytes` wrote; ValueError for anything else."""
    if not isinstance(text, str):
        raise ValueError("bytes are written as a text")
    return base64.b64decode(text, validate=True)


def keys_in(text: Any) -> list[bytes]:
    """The keys that stand side by side in a text."""
    data = bytes_of_text(text)
    if len(data) % WIDTH:
        raise ValueError("a key is cut")
    return [data[at : at + WIDTH] for at in range(0, len(data), WIDTH)]


def amount(value: Any, most: float = 1e15) -> float:
    """A number that can be paid or waited for: 0 to `most`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise ValueError("a number of 0 or more is expected")
    return float(value)


def of_known(known: Known) -> dict[str, Any]:
    """What a journal knows, to be sent."""
    return {
        "scores": {name: column(scores, "<f8") for name, scores in known.scores.items()},
        "missing": column(known.missing, "?"),
        "arrivals": column(known.arrivals, "<i8"),
        "reasons": list(known.reasons.items()),
        "stamp": list(known.stamp),
    }


def known_in(sent: Mapping[str, Any]) -> Known:
    """What `of_known` wrote."""
    first, second = sent["stamp"]
    return Known(
        scores={name: numbers(scores, "<f8") for name, scores in sent["scores"].items()},
        missing=numbers(sent["missing"], "?"),
        arrivals=numbers(sent["arrivals"], "<i8"),
        reasons=dict(sent["reasons"]),
        stamp=(first, second),
    )


def of_replies(replies: Replies) -> dict[str, Any]:
    """Replies to be sent, each answer that arrived once."""
    answers = {id(each.body): each for each in replies.arrived.values()}
    place = {body: at for at, body in enumerate(answers)}
    return {
        "scores": {name: column(scores, "<f8") for name, scores in replies.scores.items()},
        "errors": [[row, str(why)] for row, why in replies.errors.items()],
        "answers": [[text_of_bytes(each.body), each.sent, each.received] for each in answers.values()],
        "arrived": [[row, place[id(each.body)], each.at, each.of] for row, each in replies.arrived.items()],
    }


def replies_in(sent: Mapping[str, Any], n: int) -> Replies:
    """What `of_replies` wrote of `n` rows; ValueError for anything else."""
    scores = {str(name): numbers(each, "<f8") for name, each in sent["scores"].items()}
    errors = {_row(row, n): _said(why) for row, why in sent["errors"]}
    answers = [(bytes_of_text(body), _row(out), _row(back)) for body, out, back in sent["answers"]]
    arrived = {
        _row(row, n): Arrived(answers[_row(at, len(answers))][0], _row(place), _row(of), *answers[at][1:])
        for row, at, place, of in sent["arrived"]
    }
    if any(len(each) != n for each in scores.values()):
        raise ValueError("a column of scores has another length")
    found = np.isfinite(np.array([*scores.values()]).reshape(-1, n)).any(axis=0)
    if not all(found[row] or row in errors for row in range(n)):
        raise ValueError("a row has neither a score nor a reason")
    return Replies(scores=scores, errors=errors, arrived=arrived)


def of_bill(bill: Bill | None) -> list[float] | None:
    """What a bill says but for its scope, which the keeper knows."""
    return None if bill is None else [bill.calls, bill.money]


def bill_in(sent: Any, scope: str) -> Bill | None:
    """What `of_bill` wrote."""
    if sent is None:
        return None
    calls, money = sent
    return Bill(scope=scope, calls=amount(calls), money=amount(money))


def of_error(error: EvenhandError) -> dict[str, Any]:
    """An error to be sent."""
    given = None if error.given is None else str(error.given)
    words = {"given": given, "expected": error.expected, "available": error.available, "hint": error.hint}
    return {"kind": type(error).__name__, "slug": error.slug, "message": error.message, "words": words}


def error_in(sent: Mapping[str, Any]) -> EvenhandError:
    """What `of_error` wrote."""
    kind = _KINDS.get(sent["kind"], EngineError)
    return kind(sent["slug"], sent["message"], **sent["words"])


def texts_in(sent: Any) -> Sequence[str]:
    """A list of texts; ValueError for anything else."""
    if not isinstance(sent, list) or not all(isinstance(text, str) for text in sent):
        raise ValueError("inputs are texts")
    return sent


def _row(value: Any, most: int = 1 << 40) -> int:
    if type(value) is not int or not 0 <= value < most:
        raise ValueError("a row, or a count, lies outside")
    return value


def _said(why: Any) -> str:
    if not isinstance(why, str):
        raise ValueError("a reason is a text")
    return why

"""Under which key a reply is kept: a digest of whose it is, which repetition, and what was asked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from evenhand._errors import JournalError


def text_of(value: Any) -> str:
    """The input as text. Anything but a string is canonical JSON behind a NUL, so that 1 and "1" differ."""
    if isinstance(value, str):
        return value
    return "\0" + json.dumps(value, sort_keys=True, default=_plain, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise JournalError(
        "journal-input",
        "this input cannot be kept in a journal",
        given=type(value).__name__,
        expected="text, or values that JSON can hold",
        hint="run with journal=None (--no-cache)",
    )


def keys_of(subject_id: str, inputs: Sequence[Any], repeat: int) -> list[bytes]:
    """The addresses of replies."""
    head = hashlib.blake2b(f"{subject_id}\0{repeat}\0".encode(), digest_size=16)
    keys = []
    for value in inputs:
        digest = head.copy()
        text = value if type(value) is str else text_of(value)
        digest.update(text.encode("utf-8", "surrogatepass"))
        keys.append(digest.digest())
    return keys

"""The result itself: the versioned JSON that every other report is a view of."""

from __future__ import annotations

from evenhand._record import Record, encode


def render(result: Record) -> str:
    """The same text as ``result.to_json()``."""
    return encode(result)

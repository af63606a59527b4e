"""The result itself: the versioned JSON that every other report is a view of."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenhand._result import Result


def render(result: Result) -> str:
    """The same text as ``result.to_json()``."""
    return result.to_json()

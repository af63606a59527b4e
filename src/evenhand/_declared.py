"""What was said before looking: against whom, within which tolerance, at which level."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evenhand._judge import Correction
from evenhand._labels import Attribute


@dataclass(frozen=True, kw_only=True)
class Declared:
    """The settings that every audit of groups shares.

    Args:
        reference: attribute → level of the group that others are held against.
        tolerance: name of a measure → tolerance, a number or bounds; None for no verdict.
        primary: names of the measures that the headline rests on; None for the rule of the table of measures.
        level: of the intervals. seed: of everything random.
        words: unit → what a reader calls it, e.g. ``{"term": "name"}``.
    """

    reference: Mapping[str, str] = field(default_factory=dict)
    tolerance: Mapping[str, Any] = field(default_factory=dict)
    primary: tuple[str, ...] | None = None
    level: float = 0.95
    correction: Correction = "single-step"
    seed: int = 0
    words: Mapping[str, str] = field(default_factory=dict)

    def reference_of(self, attribute: Attribute) -> str | None:
        """The group named for an attribute, if one was."""
        return self.reference.get(str(attribute))

    def word(self, unit: str) -> str:
        """What a reader calls a unit."""
        return self.words.get(unit, unit)

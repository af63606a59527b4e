"""What was said before looking: against whom, within which tolerance, at which level."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evenhand._errors import UsageError
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

    def heads(self, *names: str) -> bool | None:
        """Whether a claim of one of these names makes the headline; None where nothing was declared."""
        return None if self.primary is None else not set(self.primary).isdisjoint(names)

    def check_primary(self, available: Iterable[str]) -> None:
        """UsageError (`unknown-primary`) where a name was declared that no claim has."""
        known = sorted(set(available))
        for name in self.primary or ():
            if name not in known:
                raise UsageError(
                    "unknown-primary", "no claim here has this name", given=name, available=known
                )

    def word(self, unit: str) -> str:
        """What a reader calls a unit."""
        return self.words.get(unit, unit)


def named_primary(given: str | Sequence[str]) -> tuple[str, ...] | None:
    """Names of claims as the user gives them: one, several, or none for the rule.

    >>> named_primary("RMSE"), named_primary(["RMSE", "MAE"]), named_primary(())
    (('RMSE',), ('RMSE', 'MAE'), None)
    """
    return ((given,) if isinstance(given, str) else tuple(given)) or None

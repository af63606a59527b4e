"""What was said before looking: against whom, within which tolerance, at which level."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evenhand._errors import UsageError
from evenhand._judge import Correction
from evenhand._labels import Attribute, references
from evenhand._model import Span
from evenhand.stats.interval import Alternative, check_alternative


@dataclass(frozen=True, kw_only=True)
class Declared:
    """The settings that every audit of groups shares.

    Args:
        reference: attribute → level of the group that others are held against.
        tolerance: name of a measure → tolerance, a number or bounds; None for no verdict.
        primary: names of the measures that the headline rests on; None for the rule of the table of measures.
        level: of the intervals. seed: of everything random.
        words: unit → what a reader calls it, e.g. ``{"term": "name"}``.
        alternative: which direction of mean gaps is looked for: both, or that the others are
            greater, or less, than their reference.
    """

    reference: Mapping[str, str] = field(default_factory=dict)
    tolerance: Mapping[str, Any] = field(default_factory=dict)
    primary: tuple[str, ...] | None = None
    level: float = 0.95
    correction: Correction = "single-step"
    seed: int = 0
    words: Mapping[str, str] = field(default_factory=dict)
    alternative: Alternative = "two-sided"

    @classmethod
    def of(cls, call: Mapping[str, Any], attributes: Sequence[str]) -> Declared:
        """From the arguments of a door.

        Raises:
            UsageError: `reference`, `bad-alternative`, `no-direction`.
        """
        same = {name: call[name] for name in ("level", "correction", "seed", "alternative")}
        reference = references(call["reference"], attributes)
        found = cls(reference=reference, primary=named_primary(call["primary"]), **same)
        found.check_direction(attributes)
        return found

    def __post_init__(self) -> None:
        check_alternative(self.alternative)

    def check_direction(self, attributes: Iterable[str]) -> None:
        """UsageError (`no-direction`) where one direction was declared and nobody to be held against."""
        bare = [attribute for attribute in attributes if attribute not in self.reference]
        if self.alternative != "two-sided" and bare:
            raise UsageError(
                "no-direction",
                f"'{self.alternative}' than whom? No group of {bare[0]} is named as the reference",
                given=f"alternative={self.alternative}",
                hint="name the group that the others are held against: reference= (--reference)",
            )

    def one_sided(self, tolerance: Span | None) -> Span | None:
        """The bounds of a difference in the declared direction: the other one is open.

        >>> Declared(alternative="less").one_sided((-0.1, 0.1))
        (-0.1, inf)
        """
        if tolerance is None or self.alternative == "two-sided":
            return tolerance
        return (-math.inf, tolerance[1]) if self.alternative == "greater" else (tolerance[0], math.inf)

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

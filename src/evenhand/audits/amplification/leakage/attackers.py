"""Who attacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evenhand._errors import UsageError

FOLDS = 5
"""Folds by which attackers guess images that they did not learn from."""


@dataclass(frozen=True, kw_only=True)
class Attackers:
    """Who attacks: wanted (None: where scikit-learn is installed), the classifier, how many seeds, and how
    many times groups are dealt anew for the null."""

    wanted: bool | None
    classifier: Any
    seeds: int
    permutations: int
    seed: int

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise UsageError("bad-seeds", "an attacker is trained at least once", given=self.seeds)
        if self.permutations < 0:
            raise UsageError(
                "bad-permutations", "groups are dealt anew no less than 0 times", given=self.permutations
            )

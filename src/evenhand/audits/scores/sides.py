"""What is compared, and the rows of each side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from evenhand._declared import Declared
from evenhand._labels import Label, grouping
from evenhand._model import BoolArray, Observations, Span

LABEL = "(true label)"
"""The column with the true label of each row, 0 or 1; written so that no score has its name."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is to be compared.

    Args:
        score: the column. attributes: the groups to compare; each is a family of claims.
        samples: units (`text`, `term`) that estimates generalise over, where the groups allow it.
        nested: the one of them that is nested in groups, if any (`term`).
        strata: factor that classes the rows (`sentiment`), or None.
        tolerance: bounds of a difference of means, None where nothing is judged.
        declared: what else was said before looking.
    """

    score: str
    attributes: Sequence[str]
    samples: Sequence[str] = ()
    nested: str | None = None
    strata: str | None = None
    tolerance: Span | None = (-0.1, 0.1)
    declared: Declared = field(default_factory=Declared)


@dataclass(frozen=True, kw_only=True, eq=False)
class Side:
    """One side of a comparison: whose rows, and which of them.

    Args:
        parts: the groups that it joins, where it joins several.
    """

    label: Label
    rows: BoolArray
    parts: tuple[Label, ...] = ()

    @property
    def n(self) -> int:
        """Rows."""
        return int(self.rows.sum())

    def within(self, rows: BoolArray) -> Side:
        """Those of its rows that are among `rows`."""
        return Side(label=self.label, rows=self.rows & rows, parts=self.parts)


def sides_of(observations: Observations, attribute: str) -> list[Side]:
    """The groups of one attribute, in the order of its levels; levels without rows are left out."""
    factor = observations.groups[attribute]
    labels = grouping(attribute, factor).labels
    every = (Side(label=label, rows=factor.is_level(label.level)) for label in labels)
    return [side for side in every if side.rows.any()]


def scored(observations: Observations, asked: Question) -> BoolArray:
    """Rows with a score."""
    return np.isfinite(observations.columns[asked.score])

"""What is compared, and the rows of each side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from evenhand._declared import Declared
from evenhand._labels import Label, grouping_among
from evenhand._model import BoolArray, FloatArray, IntArray, Observations, Span
from evenhand.terms.chances import TermChances

LABEL = "(true label)"
"""The column with the true label of each row, 0 or 1; written so that no score has its name."""


@dataclass(frozen=True, kw_only=True)
class NameChances:
    """The chances of the names of one attribute.

    Args:
        unit: the names, among the units. chances: of the listed names. row: name → its row of them.
        listed: group → rows of the names that are listed in it.
    """

    unit: str
    chances: TermChances
    row: Mapping[str, int]
    listed: Mapping[str, Sequence[int]]

    @property
    def sure(self) -> bool:
        """Whether every name is surely of its group."""
        return not bool((self.chances.own < 1.0).any())


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
        counts_missing: whether rows without a score are replies that failed; not where the run stopped early.
        threshold: score from which a reply counts as positive, for measures of label changes. classes: the
            scores of all classes, of which the largest is a reply's label.
        chances: attribute → how surely names are of its groups, where a list says so.
    """

    score: str
    attributes: Sequence[str]
    samples: Sequence[str] = ()
    nested: str | None = None
    strata: str | None = None
    tolerance: Span | None = (-0.1, 0.1)
    declared: Declared = field(default_factory=Declared)
    counts_missing: bool = True
    threshold: float | None = None
    classes: Sequence[str] = ()
    chances: Mapping[str, NameChances] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, eq=False)
class Side:
    """One side of a comparison: whose rows, and which of them.

    Args:
        rows: that it counts. parts: the groups that it joins, where it joins several.
        asked: its rows whether or not they have a score. count: how many rows each of them stands for; None
            for one. corrected: whether its names are to be corrected for the chance of another group.
    """

    label: Label
    rows: BoolArray
    asked: BoolArray
    parts: tuple[Label, ...] = ()
    count: IntArray | None = None
    corrected: bool = False

    @property
    def n(self) -> int:
        """Rows."""
        return int(self.rows.sum() if self.count is None else self.count[self.rows].sum())

    def within(self, rows: BoolArray) -> Side:
        """Those of its rows that are among `rows`."""
        return replace(self, rows=self.rows & rows, asked=self.asked & rows)

    def with_score(self, rows: BoolArray) -> Side:
        """Those of its rows that are among `rows`; the others were asked all the same."""
        own = self.rows & rows
        return self if np.array_equal(own, self.rows) else replace(self, rows=own)

    def missing(self, score: FloatArray, weight: FloatArray | None) -> float:
        """Share of what was asked, by weight, that has no score."""
        lost = self.asked & ~np.isfinite(score)
        if weight is None:
            return int(np.count_nonzero(lost)) / max(int(np.count_nonzero(self.asked)), 1)
        whole = float(weight[self.asked].sum())
        return float(weight[lost].sum()) / whole if whole > 0 else 0.0

    def mean(self, score: FloatArray, weight: FloatArray | None) -> float | None:
        """Mean of the scores that it has; None where it has none."""
        w = (np.ones(len(score)) if weight is None else weight) * (self.rows & np.isfinite(score))
        return float(np.average(np.nan_to_num(score), weights=w)) if w.sum() > 0 else None


def sides_of(observations: Observations, attribute: str) -> list[Side]:
    """The groups of one attribute, in the order of its levels; levels without rows are left out."""
    factor = observations.groups[attribute]
    labels = grouping_among(attribute, observations.groups).labels
    rows = [factor.is_level(label.level) for label in labels]
    every = (
        Side(label=label, rows=own, asked=own, count=observations.count)
        for label, own in zip(labels, rows, strict=True)
    )
    return [side for side in every if side.rows.any()]


def scored(observations: Observations, asked: Question) -> BoolArray:
    """Rows with a score."""
    return np.isfinite(observations.columns[asked.score])

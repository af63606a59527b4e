"""What is claimed of two groups' scores: what a live text audit and recorded replies share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from evenhand._analysis import Analysis
from evenhand._compare import Claim, Pair, against, every_pair, evidence_of, side_named, widest, widest_of
from evenhand._declared import Declared
from evenhand._errors import UsageError
from evenhand._estimate import Evidence, exact_where_constant
from evenhand._judge import judge
from evenhand._labels import OTHERS, Label, grouping
from evenhand._model import BoolArray, Estimate, Finding, IntArray, Observations
from evenhand.measures.scores import MEAN_SCORE
from evenhand.stats.crossed import difference
from evenhand.stats.influence import carried
from evenhand.stats.interval import Inference

MOST_PAIRS = 10
"""All pairs of up to five groups are claims of their own; with more, each group is held against all others.
The heat map shows every pair, with p adjusted for all of them."""
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
        tolerance: bounds of a difference of means. declared: what else was said before looking.
    """

    score: str
    attributes: Sequence[str]
    samples: Sequence[str] = ()
    nested: str | None = None
    strata: str | None = None
    tolerance: tuple[float, float] = (-0.1, 0.1)
    declared: Declared = field(default_factory=Declared)


@dataclass(frozen=True, kw_only=True, eq=False)
class Side:
    """One side of a comparison: whose rows, and which of them."""

    label: Label
    rows: BoolArray

    @property
    def n(self) -> int:
        """Rows."""
        return int(self.rows.sum())

    def within(self, rows: BoolArray) -> Side:
        """Those of its rows that are among `rows`."""
        return Side(label=self.label, rows=self.rows & rows)


def sides_of(observations: Observations, attribute: str) -> list[Side]:
    """The groups of one attribute, in the order of its levels; levels without rows are left out."""
    factor = observations.groups[attribute]
    labels = grouping(attribute, factor).labels
    every = (Side(label=label, rows=factor.is_level(label.level)) for label in labels)
    return [side for side in every if side.rows.any()]


def scored(observations: Observations, asked: Question) -> BoolArray:
    """Rows with a score."""
    return np.isfinite(observations.columns[asked.score])


def mean_claim(observations: Observations, asked: Question, over: Sequence[str], family: str) -> Claim[Side]:
    """Mean score of one side minus that of another, generalised over the units in `over`."""
    return Claim(
        name=f"mean {asked.score}",
        key=MEAN_SCORE.name,
        infer=partial(gap, observations, asked.score, tuple(over)),
        tolerance=asked.tolerance,
        family=family,
        rests_on=partial(_rests_on, observations, asked, over),
        widest=MEAN_SCORE.widest,
    )


def gap(
    observations: Observations, score: str, over: tuple[str, ...], a: Side, b: Side, level: float
) -> Inference:
    """Difference of mean scores.

    The default design of a text audit: terms nested in groups, texts crossed with them (Clark 1973; Cameron,
    Gelbach & Miller 2011); see `evenhand.stats.crossed`.

    Args:
        over: names of `observations.units` that are samples; none for a claim about just these rows.
    """
    units: Mapping[str, IntArray] = {name: observations.units[name].codes for name in over}
    weight = observations.weight
    found = difference(
        observations.columns[score], a=a.rows, b=b.rows, units=units, weight=weight, level=level, over=over
    )
    return exact_where_constant(found)


def compare_groups(
    observations: Observations, asked: Question, analysis: Analysis
) -> dict[str, list[Evidence]]:
    """The claims: every pair of groups of every attribute, over all rows and within each stratum.

    Returns:
        attribute → evidence of its overall pairs, for the exhibits that look closer.
    """
    evidence: dict[str, list[Evidence]] = {}
    for attribute in asked.attributes:
        sides = _usable_sides(observations, asked, attribute, analysis)
        if len(sides) < 2:
            continue
        over = samples_of(observations, asked, sides, analysis, attribute)
        claim = mean_claim(observations, asked, over, "")
        compared, several = _pairs(asked, attribute, sides)
        evidence[attribute] = [evidence_of(claim, a, b, level=asked.declared.level) for a, b in compared]
        analysis.findings += judge(
            evidence[attribute],
            tolerance=asked.tolerance,
            family=attribute,
            correction=asked.declared.correction,
        )
        if several:
            analysis.findings += widest(sides, [claim], asked.declared, family=f"{attribute}, widest gap")
        analysis.findings += _by_stratum(observations, asked, attribute, sides, claim)
    return evidence


def _usable_sides(
    observations: Observations, asked: Question, attribute: str, analysis: Analysis
) -> list[Side]:
    usable = scored(observations, asked)
    sides = []
    for side in sides_of(observations, attribute):
        if (side.rows & usable).any():
            sides.append(side.within(usable))
        else:
            analysis.note(
                "group-without-score", f"{side.label} has no score at all and is left out.", warning=True
            )
            analysis.findings.append(_nothing(asked, side, attribute))
    if len(sides) < 2:
        analysis.note(
            "one-group",
            f"{attribute} has {len(sides)} group with scores: there is nothing to compare.",
            warning=True,
        )
    return sides


def _nothing(asked: Question, side: Side, attribute: str) -> Finding:
    estimate = Estimate(
        measure="mean score",
        contrast="difference",
        group=str(side.label),
        reference="the other groups",
        why_not=f"{side.label} has no score",
    )
    return judge([Evidence(estimate=estimate)], tolerance=asked.tolerance, family=attribute)[0]


def samples_of(
    observations: Observations, asked: Question, sides: Sequence[Side], analysis: Analysis, attribute: str
) -> tuple[str, ...]:
    """The units that claims about these groups generalise over; the reader is told where one is no sample."""
    usable = scored(observations, asked)
    over = []
    for unit in asked.samples:
        codes = observations.units[unit].codes
        sizes = [len(np.unique(codes[side.rows & usable & (codes >= 0)])) for side in sides]
        word = asked.declared.word(unit)
        if min(sizes) >= 2:
            over.append(unit)
        elif unit == asked.nested:
            analysis.note(
                "terms-not-sampled",
                f"{attribute}: at least one group has a single {word}, so nothing is sampled over {word}s;"
                " the claims are about these very words, generalised over the other samples.",
            )
        else:
            analysis.note(
                "one-unit",
                f"{attribute}: there is one {word} only; no claim reaches beyond it.",
                warning=True,
            )
    return tuple(over)


def _pairs(asked: Question, attribute: str, sides: Sequence[Side]) -> tuple[list[Pair[Side]], bool]:
    """(the pairs that are claims, whether the widest of all pairs is a claim of its own)."""
    reference = asked.declared.reference.get(attribute)
    if reference is not None:
        return against(sides, side_named(sides, reference)), False
    every = every_pair(sides)
    if len(every) <= MOST_PAIRS:
        return every, len(sides) > 2
    return list(zip(sides, others(sides), strict=True)), True


def others(sides: Sequence[Side]) -> list[Side]:
    """For each side all the others together."""
    belongs = np.logical_or.reduce([side.rows for side in sides])
    return [Side(label=Label(side.label.attribute, (OTHERS,)), rows=belongs & ~side.rows) for side in sides]


def _rests_on(
    observations: Observations, asked: Question, over: Sequence[str], a: Side, b: Side
) -> str | None:
    """Which few units carry the gap, if a few do: "carried by 1 of 40 names: Tia"."""
    said = []
    for unit in over:
        factor = observations.units[unit]
        found = carried(
            observations.columns[asked.score],
            a=a.rows,
            b=b.rows,
            units={unit: factor.codes},
            unit=unit,
            weight=observations.weight,
        )
        if found.fragile and found.k is not None and found.of >= 4:
            names = ", ".join(factor.levels[code] for code in found.codes[:5])
            said.append(f"carried by {found.k} of {found.of} {asked.declared.word(unit)}s: {names}")
    return "; ".join(said) or None


def _by_stratum(
    observations: Observations, asked: Question, attribute: str, sides: Sequence[Side], claim: Claim[Side]
) -> list[Finding]:
    """The same claims within each class of base texts: every pair of two groups, else the widest gap."""
    if asked.strata is None:
        return []
    factor = observations.units[asked.strata]
    level = asked.declared.level
    items: list[Evidence] = []
    for stratum in factor.levels:
        within = factor.is_level(stratum)
        given = str(Label.of(asked.strata, stratum))
        present = [side.within(within) for side in sides if (side.rows & within).any()]
        if len(present) == 2 or (len(present) > 2 and attribute in asked.declared.reference):
            pairs, _ = _pairs(asked, attribute, present)
            items += [evidence_of(claim, a, b, level=level, given=given) for a, b in pairs]
        elif len(present) > 2:
            items += widest_of(present, claim, level=level, given=given)
    family = f"{attribute} by {asked.strata}"
    return judge(items, tolerance=asked.tolerance, family=family, correction=asked.declared.correction)


def check_question(observations: Observations, asked: Question) -> None:
    """Raise where the question names what the observations do not have.

    Raises:
        UsageError: `no-groups`, `unknown-score`, `unknown-unit`.
    """
    if not asked.attributes:
        raise UsageError(
            "no-groups", "an audit compares groups, and none is named", hint="name one with groups= (--group)"
        )
    if asked.score not in observations.columns:
        raise UsageError(
            "unknown-score",
            "the subject gives no such score",
            given=asked.score,
            available=list(observations.columns),
        )
    for unit in asked.samples:
        if unit not in observations.units:
            raise UsageError("unknown-unit", "no such unit", given=unit, available=list(observations.units))


def sides_compared(item: Evidence) -> tuple[Side, Side]:
    """The two sides of a piece of evidence.

    Raises:
        TypeError: evidence that compares no rows.
    """
    if item.sides is None:
        raise TypeError(item.estimate.measure)
    a, b = item.sides
    return a, b

"""What is claimed of two groups' scores: what a live text audit and recorded replies share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from evenhand._analysis import Analysis
from evenhand._compare import (
    Claim,
    Pair,
    against,
    every_pair,
    evidence_of,
    side_named,
    widest_of,
)
from evenhand._errors import UsageError
from evenhand._estimate import Evidence, directed
from evenhand._judge import judge
from evenhand._labels import OTHERS, Label
from evenhand._largest import largest
from evenhand._model import Estimate, Finding, Observations
from evenhand.audits.scores.doubted import corrected_of, either_way, show_either_way
from evenhand.audits.scores.gaps import Gap, gap_of, pooled_error
from evenhand.audits.scores.interaction import add_interactions
from evenhand.audits.scores.shared import add_shared
from evenhand.audits.scores.sides import Question, Side, scored, sides_of
from evenhand.measures.scores import MEAN_SCORE
from evenhand.stats.blocks import rows_by_unit
from evenhand.stats.few_units import unit_means
from evenhand.stats.influence import carried, outlying
from evenhand.stats.interval import Inference

MOST_PAIRS = 10
"""All pairs of up to five groups are claims of their own; with more, each group is held against all others.
The heat map shows every pair, with p adjusted for all of them."""


def mean_claim(
    observations: Observations, asked: Question, sides: Sequence[Side], over: Sequence[str]
) -> Claim[Side]:
    """Mean score of one side minus that of another, generalised over the units in `over`.

    The gap of two labels is computed once, so a claim is about one set of rows: `sides` and parts of them.
    """
    pooled = pooled_error(observations, asked, sides, over)
    doubted = corrected_of(observations, asked, sides, over)
    known: dict[tuple[Label, Label, bool], Gap] = {}

    def infer(a: Side, b: Side, level: float) -> Inference:
        key = a.label, b.label, a.corrected
        if key not in known:
            known[key] = (
                doubted.gap(a, b)
                if doubted is not None and a.corrected
                else gap_of(observations, asked, tuple(over), a, b, pooled)
            )
        return known[key].at(level)

    return Claim(
        name=f"mean {asked.score}",
        key=MEAN_SCORE.name,
        infer=infer,
        tolerance=asked.tolerance,
        rests_on=partial(_rests_on, observations, asked, over),
        primary=True,
        widest=MEAN_SCORE.widest,
        spread=None if doubted is None else partial(either_way, doubted),
    )


ALARM = 0.05
"""p below which an outlier, or a gap, is worth a word about what carries it."""


def compare_groups(
    observations: Observations, asked: Question, analysis: Analysis
) -> dict[str, list[Evidence]]:
    """The claims of every attribute, over all rows and within each stratum.

    Of two groups the gap is primary; of more, the widest gap (or the largest against the reference), and
    every pair is looked at as well.

    Returns:
        attribute → evidence of its overall pairs, for the exhibits that look closer.
    """
    found: dict[str, list[Evidence]] = {}
    if asked.declared.alternative != "two-sided":
        only, other = ("higher", "lower") if asked.declared.alternative == "greater" else ("lower", "higher")
        analysis.note(
            "one-direction",
            f"Only one direction was looked for: whether mean {asked.score} is {only} than with the"
            f" reference. That it is {other}, by however much, gets no verdict, and “within tolerance” says"
            " nothing of it. Other measures are looked at both ways.",
            warning=True,
        )
    for attribute in asked.attributes:
        sides = _usable_sides(observations, asked, attribute, analysis)
        if len(sides) < 2:
            continue
        pairs = compared_pairs(asked, attribute, sides)
        if not pairs:
            text = (
                f"The groups of {attribute} with scores differ in more than one attribute: none are compared."
            )
            analysis.note("one-group", text, warning=True)
            continue
        over = samples_of(observations, asked, sides, analysis, attribute)
        claim = mean_claim(observations, asked, sides, over)
        level = asked.declared.level
        one_way, bounds = asked.declared.alternative, asked.declared.one_sided(asked.tolerance)
        items = _said_once([directed(evidence_of(claim, a, b, level=level), one_way) for a, b in pairs])
        found[attribute] = items
        show_either_way(claim, pairs, attribute, level, analysis)
        add_shared(analysis.shared, observations, asked, over, items)
        if len(sides) > 2 and attribute not in asked.declared.reference:
            primary = widest_of(sides, claim, level=level) or items[:1]
        else:
            primary = [largest(items, f"{claim.name}, largest of {len(items)} gaps")]
        head = asked.declared.heads(asked.score)
        if head is not False:
            analysis.primary += [(item, bounds) for item in primary]
        if len(items) > 1 or head is False:
            correction = asked.declared.correction
            # The pair that the primary claim tells is described, not judged again.
            told = {_sides_told(item) for item in primary} if head is not False else set()
            own = [None if _sides_told(item) in told else bounds for item in items]
            analysis.findings += judge(items, tolerances=own, family=attribute, correction=correction)
        analysis.findings += _by_stratum(observations, asked, attribute, sides, over)
        add_interactions(observations, asked, sides, over, analysis)
    return found


def _said_once(items: list[Evidence]) -> list[Evidence]:
    """What carries one group's gap also moves everyone else's mean: it is said of the widest gaps only, where
    groups are held against all the others."""
    if not any(item.sides is not None and item.sides[1].label.parts == (OTHERS,) for item in items):
        return items
    widest = max(abs(item.estimate.value or 0.0) for item in items)
    return [
        item if abs(item.estimate.value or 0.0) >= widest / 2 else replace(item, rests_on=None)
        for item in items
    ]


def _sides_told(item: Evidence) -> frozenset[str]:
    """The two groups of a gap, whichever way round it is told."""
    return frozenset((item.estimate.group, item.estimate.reference))


def _usable_sides(
    observations: Observations, asked: Question, attribute: str, analysis: Analysis
) -> list[Side]:
    usable = scored(observations, asked)
    sides = []
    for side in sides_of(observations, attribute):
        if (side.rows & usable).any():
            sides.append(side.with_score(usable))
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
        factor = observations.units[unit]
        counts = [rows_by_unit(factor.codes, side.rows & usable, len(factor.levels)) for side in sides]
        sizes = [int(np.count_nonzero(own)) for own in counts]
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


def compared_pairs(asked: Question, attribute: str, sides: Sequence[Side]) -> list[Pair[Side]]:
    """The pairs that are looked at: with the reference, or all; of many groups each against all the
    others. Of intersections, those that differ in one attribute: black men and black women, and so on."""
    reference = asked.declared.reference.get(attribute)
    if reference is not None:
        return against(sides, side_named(sides, reference))
    every = [(a, b) for a, b in every_pair(sides) if _differ_in_one(a.label, b.label)]
    return every if len(every) <= MOST_PAIRS else list(zip(sides, others(sides), strict=True))


def _differ_in_one(a: Label, b: Label) -> bool:
    return len(a.parts) != len(b.parts) or sum(x != y for x, y in zip(a.parts, b.parts, strict=True)) == 1


def others(sides: Sequence[Side]) -> list[Side]:
    """For each side all the others together."""
    belongs = np.logical_or.reduce([side.rows for side in sides])
    asked = np.logical_or.reduce([side.asked for side in sides])
    labels = [Label(side.label.attribute, (OTHERS,)) for side in sides]
    return [
        Side(label=label, rows=belongs & ~side.rows, asked=asked & ~side.asked, count=side.count)
        for label, side in zip(labels, sides, strict=True)
    ]


def _rests_on(
    observations: Observations, asked: Question, over: Sequence[str], a: Side, b: Side
) -> str | None:
    """Which few units carry the gap, if a few do: "carried by 1 of 40 names: Tia".

    Said where there is a gap (p < .05), or where the unit is an outlier among its like: without either,
    chance alone would have it said of more than half of all audits.
    """
    said = []
    score = observations.columns[asked.score]
    known = gap_of(observations, asked, tuple(over), a, b, None).found.p_value
    for unit in over:
        factor = observations.units[unit]
        found = carried(
            score,
            a=a.rows,
            b=b.rows,
            units={unit: factor.codes},
            unit=unit,
            weight=observations.weighing(asked.score),
        )
        means = [unit_means(score, factor.codes, side.rows, observations.count)[1] for side in (a, b)]
        lonely = [outlying(own) for own in means]
        telling = (known is not None and known < ALARM) or min(lonely) < ALARM
        if found.fragile and telling and found.k is not None and found.of >= 4:
            names = ", ".join(factor.levels[code] for code in found.codes[:5])
            said.append(f"carried by {found.k} of {found.of} {asked.declared.word(unit)}s: {names}")
    return "; ".join(said) or None


def _by_stratum(
    observations: Observations, asked: Question, attribute: str, sides: Sequence[Side], over: Sequence[str]
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
        claim = mean_claim(
            observations, asked, present, over
        )  # of these rows: a claim knows what it has seen
        if len(present) == 2 or (len(present) > 2 and attribute in asked.declared.reference):
            pairs = compared_pairs(asked, attribute, present)
            pieces = [evidence_of(claim, a, b, level=level, given=given) for a, b in pairs]
            items += [directed(item, asked.declared.alternative) for item in pieces]
        elif len(present) > 2:
            items += widest_of(present, claim, level=level, given=given)
    family = f"{attribute} by {asked.strata}"
    bounds = asked.declared.one_sided(asked.tolerance)
    return judge(items, tolerance=bounds, family=family, correction=asked.declared.correction)


def check_question(observations: Observations, asked: Question) -> None:
    """Raise where the question names what the observations do not have.

    Raises:
        UsageError: `no-groups`, `no-direction`, `unknown-score`, `unknown-unit`.
    """
    asked.declared.check_direction(asked.attributes)
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

"""Observations of scores → findings, exhibits and notes: what a live text audit and recorded replies share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from evenhand._analysis import Analysis
from evenhand._errors import UsageError
from evenhand._estimate import (
    Evidence,
    Side,
    evidence,
    exact_where_constant,
    group_sides,
    mean_difference,
    pairs,
)
from evenhand._judge import Correction, judge
from evenhand._model import BoolArray, Estimate, Finding, Observations
from evenhand.stats.influence import carried
from evenhand.stats.interval import Inference
from evenhand.stats.multiplicity import worst_pair

MOST_PAIRS = 10
"""All pairs of up to five groups are claims of their own; with more, each group is held against all the others. The heat
map shows every pair, with p adjusted for all of them."""


OTHERS = "all others"
"""The level that stands for every other group of an attribute."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is to be compared, declared before looking.

    Args:
        score: the column.
        attributes: the groups to compare; each is a family of claims.
        samples: units that are samples (`text`, `term`): what estimates generalise over, where the groups allow it.
        nested: the one of them that is nested in groups, if any (`term`).
        reference: group held against the others, per attribute; None for all pairs.
        strata: factor that classes the rows (`sentiment`), or None.
        tolerance: bounds of a difference of means.
        words: unit → what a reader calls it, e.g. ``{"term": "name"}``.
    """

    score: str
    attributes: Sequence[str]
    samples: Sequence[str] = ()
    nested: str | None = None
    reference: Mapping[str, str] = field(default_factory=dict)
    strata: str | None = None
    tolerance: tuple[float, float] = (-0.1, 0.1)
    level: float = 0.95
    correction: Correction = "holm"
    seed: int = 0
    words: Mapping[str, str] = field(default_factory=dict)


def compare_groups(observations: Observations, plan: Plan, analysis: Analysis) -> dict[str, list[Evidence]]:
    """The claims: every pair of groups of every attribute, over all rows and within each stratum.

    Returns:
        attribute → evidence of its overall pairs, for the exhibits that look closer.
    """
    evidence_of: dict[str, list[Evidence]] = {}
    for attribute in plan.attributes:
        sides = _usable_sides(observations, plan, attribute, analysis)
        if len(sides) < 2:
            continue
        over = samples_of(observations, plan, sides, analysis, attribute)
        compared, simultaneous = _pairs(plan, attribute, sides)
        overall = [_claim(observations, plan, a, b, over, None, None) for a, b in compared]
        evidence_of[attribute] = overall
        analysis.findings += judge(
            overall, tolerance=plan.tolerance, family=attribute, correction=plan.correction
        )
        if simultaneous:
            worst = _worst(observations, plan, sides, over, None, None)
            analysis.findings += judge(worst, tolerance=plan.tolerance, family=f"{attribute}, widest gap")
        analysis.findings += _by_stratum(observations, plan, attribute, sides, over)
    return evidence_of


def _usable_sides(observations: Observations, plan: Plan, attribute: str, analysis: Analysis) -> list[Side]:
    scored = np.isfinite(observations.columns[plan.score])
    sides = []
    for side in group_sides(observations, attribute):
        if (side.rows & scored).any():
            sides.append(side)
        else:
            analysis.note(
                "group-without-score", f"{side.label} has no score at all and is left out.", warning=True
            )
            analysis.findings.append(_nothing(plan, side, attribute))
    if len(sides) < 2:
        analysis.note(
            "one-group",
            f"{attribute} has {len(sides)} group with scores: there is nothing to compare.",
            warning=True,
        )
    return sides


def _nothing(plan: Plan, side: Side, attribute: str) -> Finding:
    why = f"{side.label} has no score"
    estimate = Estimate(
        measure="mean score",
        contrast="difference",
        group=side.label,
        reference="the other groups",
        why_not=why,
    )
    return judge([Evidence(estimate=estimate)], tolerance=plan.tolerance, family=attribute)[0]


def samples_of(
    observations: Observations, plan: Plan, sides: Sequence[Side], analysis: Analysis, attribute: str
) -> tuple[str, ...]:
    """The units that the claims about these groups generalise over; the reader is told where one is no sample."""
    usable = np.isfinite(observations.columns[plan.score])
    over = []
    for unit in plan.samples:
        codes = observations.units[unit].codes
        sizes = [len(np.unique(codes[side.rows & usable & (codes >= 0)])) for side in sides]
        word = plan.words.get(unit, unit)
        if min(sizes) >= 2:
            over.append(unit)
        elif unit == plan.nested:
            text = f"{attribute}: at least one group has a single {word}, so nothing is sampled over {word}s; the claims are"
            analysis.note(
                "terms-not-sampled", f"{text} about these very words, generalised over the other samples."
            )
        else:
            analysis.note(
                "one-unit",
                f"{attribute}: there is one {word} only; no claim reaches beyond it.",
                warning=True,
            )
    return tuple(over)


def _pairs(plan: Plan, attribute: str, sides: Sequence[Side]) -> tuple[list[tuple[Side, Side]], bool]:
    """(the pairs that are claims, whether the widest of all pairs is a claim of its own)."""
    reference = plan.reference.get(attribute)
    if reference is not None:
        return pairs(sides, reference), False
    every = pairs(sides)
    if len(every) <= MOST_PAIRS:
        return every, len(sides) > 2
    belongs = np.logical_or.reduce([side.rows for side in sides])
    others = [Side(label=f"{attribute}={OTHERS}", rows=belongs & ~side.rows) for side in sides]
    return list(zip(sides, others, strict=True)), True


def _claim(
    observations: Observations,
    plan: Plan,
    group: Side,
    reference: Side,
    over: Sequence[str],
    given: str | None,
    within: BoolArray | None,
) -> Evidence:
    found = mean_difference(
        observations,
        group,
        reference,
        score=plan.score,
        over=over,
        given=given,
        within=within,
        level=plan.level,
    )
    return replace(found, rests_on=_rests_on(observations, plan, group, reference, over, within))


def _rests_on(
    observations: Observations,
    plan: Plan,
    group: Side,
    reference: Side,
    over: Sequence[str],
    within: BoolArray | None,
) -> str | None:
    """Which few units carry the gap, if a few do: "carried by 1 of 40 names: Tia"."""
    keep = np.isfinite(observations.columns[plan.score])
    if within is not None:
        keep &= within
    a, b = group.rows & keep, reference.rows & keep
    said = []
    for unit in over:
        factor = observations.units[unit]
        found = carried(
            observations.columns[plan.score],
            a=a,
            b=b,
            units={unit: factor.codes},
            unit=unit,
            weight=observations.weight,
        )
        if found.fragile and found.k is not None and found.of >= 4:
            names = ", ".join(factor.levels[code] for code in found.codes[:5])
            said.append(f"carried by {found.k} of {found.of} {plan.words.get(unit, unit)}s: {names}")
    return "; ".join(said) or None


def all_pairs(
    observations: Observations,
    plan: Plan,
    sides: Sequence[Side],
    over: Sequence[str],
    within: BoolArray | None = None,
) -> list[tuple[Side, Side, Inference]]:
    """Every pair of groups with its raw inference, for the heat map and the widest gap."""
    from evenhand.stats.crossed import difference

    usable = np.isfinite(observations.columns[plan.score])
    if within is not None:
        usable &= within
    units = {name: observations.units[name].codes for name in over}
    found = []
    for a, b in pairs(sides):
        inference = difference(
            observations.columns[plan.score],
            a=a.rows & usable,
            b=b.rows & usable,
            units=units,
            weight=observations.weight,
            level=plan.level,
            over=tuple(over),
        )
        found.append((a, b, exact_where_constant(inference)))
    return found


def _worst(
    observations: Observations,
    plan: Plan,
    sides: Sequence[Side],
    over: Sequence[str],
    given: str | None,
    within: BoolArray | None,
) -> list[Evidence]:
    """The widest of all gaps, with an interval and p corrected for having been picked as the widest."""
    found = all_pairs(observations, plan, sides, over, within)
    if not any(inference.value is not None for _, _, inference in found):
        return []
    index, inference = worst_pair([i for _, _, i in found], len(sides), level=plan.level)
    a, b, raw = found[index]
    if (inference.value or 0.0) < 0:  # the widest gap is told as a positive one
        a, b = b, a
        low, high = inference.low, inference.high
        inference = inference.with_(
            value=-(inference.value or 0.0),
            low=None if high is None else -high,
            high=None if low is None else -low,
        )
    estimate = Estimate(
        measure=f"mean {plan.score}, widest gap of {len(sides)} groups",
        contrast="difference",
        group=a.label,
        reference=b.label,
        given=given,
        n=int(raw.detail.get("n_a", 0)) + int(raw.detail.get("n_b", 0)),
        units={str(k): int(v) for k, v in raw.detail.get("units", {}).items()},
    )
    item = evidence(estimate, inference)
    if (
        inference.low is not None and inference.high is not None
    ):  # the equivalence of all pairs needs the wide interval
        item = replace(item, narrow=(inference.low, inference.high))
    return [item]


def _by_stratum(
    observations: Observations, plan: Plan, attribute: str, sides: Sequence[Side], over: Sequence[str]
) -> list[Finding]:
    """The same claims within each class of base texts: every pair of two groups, else the widest gap."""
    if plan.strata is None:
        return []
    factor = observations.units[plan.strata]
    items: list[Evidence] = []
    for level in factor.levels:
        within = factor.is_level(level)
        given = f"{plan.strata}={level}"
        present = [side for side in sides if (side.rows & within).any()]
        if len(present) < 2:
            continue
        if len(present) == 2 or attribute in plan.reference:
            compared, _ = _pairs(plan, attribute, present)
            items += [_claim(observations, plan, a, b, over, given, within) for a, b in compared]
        else:
            items += _worst(observations, plan, present, over, given, within)
    family = f"{attribute} by {plan.strata}"
    return judge(items, tolerance=plan.tolerance, family=family, correction=plan.correction)


def check_plan(observations: Observations, plan: Plan) -> None:
    """Raise where the plan names what the observations do not have.

    Raises:
        UsageError: `no-groups`, `unknown-score`, `unknown-unit`.
    """
    if not plan.attributes:
        raise UsageError(
            "no-groups", "an audit compares groups, and none is named", hint="name one with groups= (--group)"
        )
    if plan.score not in observations.columns:
        raise UsageError(
            "unknown-score",
            "the subject gives no such score",
            given=plan.score,
            available=list(observations.columns),
        )
    for unit in plan.samples:
        if unit not in observations.units:
            raise UsageError("unknown-unit", "no such unit", given=unit, available=list(observations.units))

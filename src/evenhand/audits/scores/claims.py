"""What is claimed of two groups' scores: what a live text audit and recorded replies share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
from evenhand._declared import Declared
from evenhand._errors import UsageError
from evenhand._estimate import Evidence
from evenhand._judge import judge
from evenhand._labels import OTHERS, Label, grouping
from evenhand._largest import largest
from evenhand._model import BoolArray, Estimate, Finding, IntArray, Observations
from evenhand.measures.scores import MEAN_SCORE
from evenhand.stats.crossed import LEAST_UNITS, Component, difference
from evenhand.stats.few_units import Few, few, unit_means, units_for, widened
from evenhand.stats.influence import carried, outlying
from evenhand.stats.interval import Inference, from_standard_error, quantile

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


def mean_claim(
    observations: Observations, asked: Question, sides: Sequence[Side], over: Sequence[str]
) -> Claim[Side]:
    """Mean score of one side minus that of another, generalised over the units in `over`."""
    pooled = _pooled_error(observations, asked, sides, over)
    known: dict[tuple[Label, Label], Gap] = {}

    def infer(a: Side, b: Side, level: float) -> Inference:
        key = a.label, b.label
        if key not in known:
            known[key] = gap_of(observations, asked, tuple(over), a, b, pooled)
        return known[key].at(level)

    return Claim(
        name=f"mean {asked.score}",
        key=MEAN_SCORE.name,
        infer=infer,
        tolerance=asked.tolerance,
        rests_on=partial(_rests_on, observations, asked, over),
        primary=True,
        widest=MEAN_SCORE.widest,
    )


ALARM = 0.05
"""p below which an outlier, or a gap, is worth a word about what carries it."""


@dataclass(frozen=True, kw_only=True)
class Gap:
    """A difference of means and what its interval rests on, whatever the level.

    Args:
        found: at some level. few: dimensions in which hardly anything differs. spread: the range of the
            scores.
        tolerance: the largest gap that counts as even-handed.
    """

    found: Inference
    few: Sequence[Few]
    spread: float
    tolerance: float

    def at(self, level: float) -> Inference:
        """The inference at a level."""
        found = self.found
        if found.value is None or (found.low is None and not (found.se == 0.0 and self.few)):
            return found.with_(level=level)
        if self.spread <= 0:
            why = "every score is the same, which shows nothing about groups"
            return found.with_(low=None, high=None, p_value=None, se=None, level=level, why_not=why)
        reach = (found.se or 0.0) * quantile(0.5 + level / 2, found.df)
        low, high = widened(
            (found.value - reach, found.value + reach), found.value, self.few, self.spread, level
        )
        if not self.few:
            return found.with_(low=low, high=high, level=level)
        detail = {**found.detail, "needed": self._needed()}
        p = found.p_value if found.se else None
        return found.with_(
            low=low, high=high, level=level, p_value=p, why_not=None, detail=detail, method=self._method()
        )

    def _method(self) -> str:
        said = "; ".join(f"{f.differing} of {f.units} {f.dimension}s differ" for f in self.few)
        return (
            f"{self.found.method}; {said}, so the interval allows what as many units allow (Clopper–Pearson)"
        )

    def _needed(self) -> str | None:
        needed = units_for(self.tolerance, self.spread)
        if needed is None or min(f.units for f in self.few) >= needed:
            return None
        seen = " and ".join(dict.fromkeys(f"{f.differing} of {f.units} {f.dimension}s" for f in self.few))
        more = f"with {needed} of each, none differing, any gap would be shown to be smaller"
        return f"Only {seen} differ; {more}."


def gap_of(
    observations: Observations,
    asked: Question,
    over: tuple[str, ...],
    a: Side,
    b: Side,
    pooled: Component | None,
) -> Gap:
    """Difference of mean scores.

    The default design of a text audit: terms nested in groups, texts crossed with them (Clark 1973; Cameron,
    Gelbach & Miller 2011); see `evenhand.stats.crossed`.

    Args:
        over: names of `observations.units` that are samples; none for a claim about just these rows.
        pooled: variance of a difference from all groups, where they are single terms.
    """
    units: Mapping[str, IntArray] = {name: observations.units[name].codes for name in over}
    score = observations.columns[asked.score]
    found = difference(score, a=a.rows, b=b.rows, units=units, weight=observations.weight, over=over)
    if pooled is not None and found.se is not None and found.value is not None:
        share = pooled.variance * (1.0 + 1.0 / max(len(b.parts or (b,)), 1))
        if share > found.se**2:
            method = f"{found.method}; variance pooled over all groups"
            found = from_standard_error(
                found.value, share**0.5, df=pooled.df, method=method, detail=found.detail
            )
    small = [f"{n} {d}s" for d, n in _nested_sizes(observations, over, a, b) if n < LEAST_UNITS]
    if small and found.low is not None:
        why = f"a group has {small[0]} only; at least {LEAST_UNITS} are needed for a verdict"
        found = found.with_(low=None, high=None, p_value=None, se=None, why_not=why)
    finite = score[np.isfinite(score)]
    inside = len(finite) > 0 and float(finite.min()) >= 0.0 and float(finite.max()) <= 1.0
    spread = float(np.ptp(finite)) if len(finite) else 0.0
    dimensions = [(asked.declared.word(name), codes) for name, codes in units.items()]
    rows = dimensions or [("row", np.arange(len(score)))]
    hardly = [f for name, codes in rows for f in few(score, a.rows, b.rows, codes, name)]
    return Gap(
        found=found, few=hardly, spread=1.0 if inside and spread > 0 else spread, tolerance=asked.tolerance[1]
    )


def _nested_sizes(observations: Observations, over: Sequence[str], a: Side, b: Side) -> list[tuple[str, int]]:
    """(dimension, units of the smaller group) of the dimensions that are nested in the groups."""
    found = []
    for name in over:
        codes = observations.units[name].codes
        mine, other = (np.unique(codes[side.rows & (codes >= 0)]) for side in (a, b))
        if not len(np.intersect1d(mine, other)):
            found.append((name, min(len(mine), len(other))))
    return found


def _pooled_error(
    observations: Observations, asked: Question, sides: Sequence[Side], over: Sequence[str]
) -> Component | None:
    """Variance of one group's mean over texts, pooled over several groups that are single terms.

    A group without hits shows no variance of its own: its error is that of its like (residual of text +
    group).
    """
    if len(sides) < 3 or len(over) != 1 or over[0] == asked.nested:
        return None
    codes = observations.units[over[0]].codes
    score = observations.columns[asked.score]
    n = len(observations.units[over[0]].levels)
    table = np.full((n, len(sides)), np.nan)
    for k, side in enumerate(sides):
        rows = side.rows & (codes >= 0) & np.isfinite(score)
        count = np.bincount(codes[rows], minlength=n)
        total = np.bincount(codes[rows], score[rows], n)
        table[:, k] = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    table = table[np.isfinite(table).all(axis=1)]
    texts, groups = table.shape
    if texts < 2:
        return None
    residual = table - table.mean(axis=1, keepdims=True) - table.mean(axis=0) + table.mean()
    df = float((texts - 1) * (groups - 1))
    return Component(variance=float(np.sum(residual**2)) / df / texts, df=df)


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
    for attribute in asked.attributes:
        sides = _usable_sides(observations, asked, attribute, analysis)
        if len(sides) < 2:
            continue
        over = samples_of(observations, asked, sides, analysis, attribute)
        claim = mean_claim(observations, asked, sides, over)
        pairs = _pairs(asked, attribute, sides)
        level = asked.declared.level
        items = found[attribute] = [evidence_of(claim, a, b, level=level) for a, b in pairs]
        if len(sides) > 2 and attribute not in asked.declared.reference:
            primary = widest_of(sides, claim, level=level) or items[:1]
        else:
            primary = [largest(items, f"{claim.name}, largest of {len(items)} gaps")]
        analysis.primary += [(item, asked.tolerance) for item in primary]
        if len(items) > 1:
            correction = asked.declared.correction
            analysis.findings += judge(
                items, tolerance=asked.tolerance, family=attribute, correction=correction
            )
        analysis.findings += _by_stratum(observations, asked, attribute, sides, claim)
    return found


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


def _pairs(asked: Question, attribute: str, sides: Sequence[Side]) -> list[Pair[Side]]:
    """The pairs that are looked at: with the reference, or all; of many groups each against all the
    others."""
    reference = asked.declared.reference.get(attribute)
    if reference is not None:
        return against(sides, side_named(sides, reference))
    every = every_pair(sides)
    return every if len(every) <= MOST_PAIRS else list(zip(sides, others(sides), strict=True))


def others(sides: Sequence[Side]) -> list[Side]:
    """For each side all the others together."""
    belongs = np.logical_or.reduce([side.rows for side in sides])
    return [Side(label=Label(side.label.attribute, (OTHERS,)), rows=belongs & ~side.rows) for side in sides]


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
            weight=observations.weight,
        )
        lonely = [outlying(unit_means(score, factor.codes, side.rows)[1]) for side in (a, b)]
        telling = (known is not None and known < ALARM) or min(lonely) < ALARM
        if found.fragile and telling and found.k is not None and found.of >= 4:
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
            pairs = _pairs(asked, attribute, present)
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

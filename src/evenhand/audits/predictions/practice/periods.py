"""Audits by period: the primary claims within each, what changed from the first to the last, and along a
straight line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from evenhand._analysis import Analysis
from evenhand._compare import Claim, Pair, S, compare, evidence_of
from evenhand._declared import Declared
from evenhand._errors import DataError
from evenhand._estimate import Evidence, evidence
from evenhand._judge import judge
from evenhand._labels import Attribute, Label, natural
from evenhand._model import Estimate, Exhibit, Scalar
from evenhand.audits.predictions.roles import MOST_PERIODS
from evenhand.measures.contrasts import from_log, inverted
from evenhand.measures.row import null_of
from evenhand.stats.interval import Inference, mover

FEWEST = 20
"""Rows of either side below which a period says nothing of it."""
MOST_TOLD = 6
"""Changes that a note tells; the table has all."""
UNITS = "a unit may have rows in several periods, and then these are not independent"


@dataclass(frozen=True, kw_only=True)
class OverPeriods:
    """One claim about one pair of groups, period by period.

    Args:
        periods: their names. at: evidence in each. place: where they stand in time, of those with an
            interval. claim: what is said.
    """

    periods: Sequence[str]
    at: Sequence[Evidence]
    place: Sequence[float]
    log: bool

    def inference(self, weights: Sequence[float], method: str, level: float) -> Inference:
        """Σ c·θ over the periods: independent ones by MOVER; where rows without a group bound them, the sum
        of the ends, each at its part of the error (Bonferroni)."""
        loose = any(e.known is not None for e in self.at)

        def ends(at: float) -> tuple[float, float, float] | None:
            own = 1.0 - (1.0 - at) / sum(w != 0 for w in weights) if loose else at
            parts = [self._span(e, own) for e in self.at]
            known = [p for p in parts if p is not None]
            if len(known) < len(parts):
                return None
            return mover(known, weights, added=loose)

        found = ends(level)
        if found is None:
            why = "the ratio of a period is 0 or has no end, so it has no logarithm"
            return Inference(level=level, method=method, why_not=why)
        value, low, high = found
        p = inverted(ends) if not loose else None
        made = Inference(value=value, low=low, high=high, p_value=p, level=level, method=method)
        return from_log(made) if self.log else made

    def _span(self, item: Evidence, level: float) -> tuple[float, float, float] | None:
        """(value, low, high) of a period, as logarithms for ratios."""
        value, span = item.estimate.value, None if item.interval is None else item.interval(level)
        if value is None or span is None:
            return None
        if not self.log:
            return value, *span
        return None if min(value, span[0]) <= 0 else (math.log(value), math.log(span[0]), math.log(span[1]))


def over_time(
    periods: Sequence[tuple[str, Sequence[Pair[S]]]],
    claims: Sequence[Claim[S]],
    declared: Declared,
    analysis: Analysis,
    attribute: Attribute,
    name: str,
    given: str | None = None,
) -> None:
    """The primary claims in each period; what changed from the first to the last that can be compared, and
    along a straight line.

    Args:
        periods: name → (group, reference) in it, in the order of time. name: of the column.
        given: what all of it is conditional on.
    """
    if len(periods) > MOST_PERIODS:
        raise DataError(
            "periods",
            f"{name!r} has {len(periods)} periods: too many to hold enough people each",
            expected=f"at most {MOST_PERIODS}; days are put together by themselves",
        )
    if len(periods) < 2:
        analysis.note("periods", f"{attribute}: {name} has one period with groups to compare: no change.")
        return
    order = sorted(periods, key=lambda p: natural(p[0]))
    told = ", ".join(period for period, _ in order)
    analysis.note("periods", f"Periods of {name} in their order: {told}.")
    own = [c for c in claims if c.primary and c.given is None]
    for period, pairs in order:
        where = " and ".join(x for x in (given, f"{name}={period}") if x)
        large = [pair for pair in pairs if min(s.n for s in pair) >= FEWEST]
        for a, b in (pair for pair in pairs if pair not in large):
            text = f"{name}={period}: {a.label} or {b.label} has under {FEWEST} rows, which is too few."
            analysis.note("periods-few", text)
        if large:
            family = f"{attribute} given {where}"
            compare(large, own, declared, analysis, family=family, given=where, headline=False)
    labels = dict.fromkeys((a.label, b.label) for _, pairs in order for a, b in pairs)
    changes: list[Changed] = []
    for claim in own:
        rows: list[dict[str, Scalar]] = []
        for pair in labels:
            course = _course(order, claim, pair, declared.level, rows)
            changes += [] if course is None else _changes(course, claim, pair, declared, given)
        if rows:
            title = " and ".join(x for x in (f"{claim.name} by {name}", given) if x)
            analysis.exhibits[f"{title}, {attribute}"] = _exhibit(rows, claim, f"{title}, {attribute}")
    _tell(changes, declared, analysis, f"{attribute} over {name}")


@dataclass(frozen=True, kw_only=True)
class Changed:
    """What changed of one claim about one pair.

    Args:
        item: the estimate. text: from what to what. null: no change. ends: the claim in the first and the
            last period, as distances from no difference.
    """

    item: Evidence
    text: str
    null: float
    ends: tuple[float, float]


def _tell(changes: Sequence[Changed], declared: Declared, analysis: Analysis, family: str) -> None:
    """The changes as estimates and, in words, what they show at the level of all of them together."""
    analysis.findings += judge(
        [c.item for c in changes], tolerance=None, family=family, correction=declared.correction
    )
    level = 1.0 - (1.0 - declared.level) / max(len(changes), 1)
    rows: list[dict[str, Scalar]] = []
    for c in changes:
        e, span = c.item.estimate, None if c.item.interval is None else c.item.interval(level)
        row: dict[str, Scalar] = {"claim": e.measure, "group": e.group, "reference": e.reference}
        row |= {"periods": e.given, "change": e.value, "low": None, "high": None}
        if span is None:
            said = f"it cannot be told whether it changed: {e.why_not or 'there is no interval'}"
        else:
            row |= {"low": span[0], "high": span[1]}
            by, sign = ("a factor of ", "") if c.null == 1.0 else ("", "+")
            far = "nearer to" if c.ends[1] < c.ends[0] else "further from"
            moved = "not settled whether it changed" if span[0] <= c.null <= span[1] else ""
            moved = moved or f"it {'rose' if span[0] > c.null else 'fell'}, {far} no difference"
            said = (
                f"a change of {by}{e.value:{sign}.3f} ({span[0]:{sign}.3f} to {span[1]:{sign}.3f}): {moved}"
            )
        rows.append(row | {"what it shows": said})
        if len(rows) <= MOST_TOLD:
            analysis.note("over-time", f"{c.text}; {said}.")
    if rows:
        analysis.exhibits[f"changes, {family}"] = Exhibit.of(
            f"What changed: {family}",
            rows,
            note=f"Last period against first, and along a straight line through all; periods are independent"
            f" samples. The {100 * declared.level:.0f} % intervals hold for all {len(rows)} changes"
            " together.",
        )


def _course(
    order: Sequence[tuple[str, Sequence[Pair[S]]]],
    claim: Claim[S],
    labels: tuple[Label, Label],
    level: float,
    rows: list[dict[str, Scalar]],
) -> OverPeriods | None:
    """The periods in which the pair can be compared; `rows` take a line of every period."""
    names: list[str] = []
    at: list[Evidence] = []
    place: list[float] = []
    places = _places([period for period, _ in order])
    for (period, pairs), where in zip(order, places, strict=True):
        pair = next(((a, b) for a, b in pairs if (a.label, b.label) == labels), None)
        if pair is None:
            continue
        item = evidence_of(claim, *pair, level=level)
        e, few = item.estimate, min(s.n for s in pair) < FEWEST
        line: dict[str, Scalar] = {"period": period, claim.name: e.value, "group": str(labels[0])}
        line |= {"low": None if few else e.low, "high": None if few else e.high}
        rows.append(line | {"n": pair[0].n, "n of the reference": pair[1].n})
        if not few and item.interval is not None and e.value is not None and e.low is not None:
            names, at, place = [*names, period], [*at, item], [*place, where]
    return (
        OverPeriods(periods=names, at=at, place=place, log=null_of(claim.contrast) == 1.0) if names else None
    )


def _places(periods: Sequence[str]) -> list[float]:
    """Where periods stand: numbers (years) where all are, else one after the other."""
    try:
        return [float(period) for period in periods]
    except ValueError:
        return [float(i) for i in range(len(periods))]


def _changes(
    of: OverPeriods, claim: Claim[S], labels: tuple[Label, Label], declared: Declared, given: str | None
) -> list[Changed]:
    """Last against first, and from three periods the straight line."""
    k = len(of.periods)
    first, last = of.periods[0], of.periods[-1]
    contrast = "ratio" if of.log else "difference"
    kinds: list[tuple[str, str, list[float]]] = []
    if k > 1:
        ends = [-1.0, *[0.0] * (k - 2), 1.0]
        kinds.append(("last period against first", f"{last} against {first}", ends))
    if k > 2:
        t = np.asarray(of.place) - np.mean(of.place)
        line = (t / (t @ t) * (of.place[-1] - of.place[0])).tolist()
        kinds.append(("straight line over periods", f"{first} to {last}", line))
    found = []
    for kind, where, weights in kinds:
        method = f"{kind}: sum of the periods' independent estimates, MOVER (Zou and Donner 2008)"
        at = partial(of.inference, weights, method)
        made = at(declared.level)
        if any(item.estimate.units for item in of.at):
            made = Inference(value=made.value, level=declared.level, method=method, why_not=UNITS)
        used = [item.estimate for item, w in zip(of.at, weights, strict=True) if w]
        item = Estimate(
            measure=f"change of {claim.name}, {kind}",
            contrast=contrast,
            group=str(labels[0]),
            reference=str(labels[1]),
            given=" and ".join(x for x in (given, where) if x),
            n=sum(e.n for e in used),
            n_group=sum(e.n_group or 0 for e in used),
            n_reference=sum(e.n_reference or 0 for e in used),
        )
        whole = evidence(item, made, at)
        text = f"{claim.name} of {labels[0].level} against {labels[1].level}: {_from_to(of, kind, k)}"
        null = null_of(claim.contrast)
        values = [item.estimate.value or 0.0 for item in (of.at[0], of.at[-1])]
        one, two = (_far(v, null, of.log) for v in values)
        change = Changed(item=whole, text=text, null=1.0 if of.log else 0.0, ends=(one, two))
        found.append(change)
    return found


def _far(value: float, null: float, log: bool) -> float:
    """How far from no difference."""
    if not log:
        return abs(value - null)
    return abs(math.log(value)) if value > 0 else math.inf


def _from_to(of: OverPeriods, kind: str, k: int) -> str:
    one, two = (item.estimate.value or 0.0 for item in (of.at[0], of.at[-1]))
    sign = "" if of.log else "+"
    ends = f"{one:{sign}.3f} in {of.periods[0]}, {two:{sign}.3f} in {of.periods[-1]}"
    return ends if kind.startswith("last") else f"over {k} periods, {ends}, on a straight line"


def _exhibit(rows: Sequence[dict[str, Scalar]], claim: Claim[S], title: str) -> Exhibit:
    null = null_of(claim.contrast)
    rules = [null] if claim.tolerance is None else [claim.tolerance[0], null, claim.tolerance[1]]
    return Exhibit.of(
        title,
        rows,
        note="Each period by itself, with its interval, not corrected for how many periods are looked at."
        f" Rules at no difference and at the tolerance. No interval under {FEWEST} rows of a side.",
        chart="line",
        encode={
            "x": "period",
            "y": claim.name,
            "low": "low",
            "high": "high",
            "color": "group",
            "rules": rules,
        },
    )

"""Summaries → findings: every pair, the widest gap, the worst subgroup, and strata held equal. One engine
for every audit.

A claim takes two summaries and a level and gives an inference. What a summary holds (moments, counts, rows
of scores) is its audit's own business; here it has a label, a number of rows, and adds up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from scipy.special import stdtrit

from evenhand._analysis import Analysis
from evenhand._declared import Declared
from evenhand._errors import UsageError
from evenhand._estimate import Doubt, Evidence, Extremes, allowing, evidence, without_group
from evenhand._judge import judge, tolerance_of
from evenhand._labels import Attribute, Label
from evenhand._largest import largest, span_at
from evenhand._model import Estimate, Scalar, Span
from evenhand.measures.row import ContrastName, Measure, null_of
from evenhand.stats.interval import Inference
from evenhand.stats.studentized import range_quantile, range_tail


class Summary(Protocol):
    """What a set of rows adds up to."""

    @property
    def label(self) -> Label:
        """Whose rows they are."""
        ...

    @property
    def n(self) -> int:
        """Rows."""
        ...


S = TypeVar("S", bound=Summary)
Pair = tuple[S, S]


def _rows(side: Summary) -> int:
    return side.n


@dataclass(frozen=True, kw_only=True)
class Spread(Generic[S]):
    """Two sides at either end of what is not known of their groups.

    Args:
        rows: of how many rows. low, high: the pairs; None where no worst case is known. doubt: what is not
            known of that many rows. whole: level → what the claim becomes over all that they may be, where
            that is no pair.
    """

    rows: int
    doubt: Callable[[int], Doubt] = without_group
    low: tuple[S, S] | None = None
    high: tuple[S, S] | None = None
    whole: Callable[[float], Inference] | None = None


@dataclass(frozen=True, kw_only=True)
class Claim(Generic[S]):
    """What is said of two sides.

    Args:
        name: as in results. infer: (group, reference, level) → inference, on the scale of the contrast.
        key: the name under which the user sets the tolerance, and picks the claim.
        tolerance: bounds of the contrast; None where nothing is judged. family: the claims judged together
            with it.
        given: what all of it is conditional on, e.g. ``"top 20 %"``.
        counts: the rows that it counts of a side. rests_on: what carries the gap of two sides, in words.
        alone: (value, standard error) of one side, on the scale where the claim is the difference of two
            sides' values (the log for ratios); NaN where it has none. Claims with it find the widest of many
            gaps in linear time.
        primary: whether the headline rests on it.
        widest, worst: whether it is also claimed of the widest gap, and of the worst subgroup.
        pooled: how pairs of several strata become one inference, if they do.
        spread: the two sides at either end of what is not known of their groups; None where all is known.
    """

    name: str
    infer: Callable[[S, S, float], Inference]
    contrast: ContrastName = "difference"
    key: str = ""
    tolerance: tuple[float, float] | None = None
    family: str = ""
    given: str | None = None
    counts: Callable[[S], int] = _rows
    rests_on: Callable[[S, S], str | None] | None = None
    alone: Callable[[S], tuple[float, float]] | None = None
    primary: bool = False
    widest: bool = False
    worst: bool = False
    pooled: Callable[[Sequence[tuple[S, S]], float], Inference] | None = None
    spread: Callable[[S, S], Spread[S] | None] | None = None


def claim_of(
    measure: Measure, declared: Declared, infer: Callable[[S, S, float], Inference], *,
    units: Mapping[str, float], **more: Any,
) -> Claim[S]:  # fmt: skip
    """The claim of a row of measures, within the declared tolerance.

    Args:
        units: sizes of the units that tolerances are counted in.
    """
    return Claim(
        name=measure.name,
        infer=infer,
        contrast=measure.contrast,
        key=measure.tolerance_name,
        tolerance=bounds_of(measure, declared, units),
        family=measure.family,
        primary=is_primary(measure, declared),
        **more,
    )


def is_primary(measure: Measure, declared: Declared) -> bool:
    """Whether the headline rests on a measure: those that were declared, else by the rule of the table of
    measures."""
    said = declared.heads(measure.tolerance_name, measure.name)
    return measure.primary if said is None else said


def bounds_of(measure: Measure, declared: Declared, units: Mapping[str, float]) -> tuple[float, float] | None:
    """The declared tolerance as bounds of the contrast, on its own scale."""
    default = measure.tolerance if measure.judged else None
    value = declared.tolerance.get(measure.tolerance_name, default)
    if value is None and declared.heads(measure.tolerance_name, measure.name):
        value = measure.tolerance
    if value is None:
        return None
    low, high = tolerance_of(value, ratio=measure.is_ratio)
    if measure.is_ratio:
        return low, high
    scale = units.get(measure.unit, 1.0) if measure.unit else 1.0
    null = null_of(measure.contrast)
    return null + (0.0 if measure.contrast == "distance" else low * scale), null + high * scale


def kept(claims: Sequence[Claim[S]], measures: str | Sequence[str], *, hint: str = "") -> list[Claim[S]]:
    """The claims of these names (of a tolerance or of a measure); all for "default".

    Raises:
        UsageError: `unknown-measure`.
    """
    wanted = [measures] if isinstance(measures, str) else list(measures)
    if wanted == ["default"]:
        return list(claims)
    names = {c.key for c in claims} | {c.name for c in claims}
    for name in wanted:
        if name not in names:
            raise UsageError(
                "unknown-measure",
                "no such measure here",
                given=name,
                available=sorted(names),
                hint=hint or None,
            )
    found = [c for c in claims if c.key in wanted or c.name in wanted]
    # What was asked for by name is what the headline is about, unless something primary was.
    return (
        found
        if any(c.primary for c in found)
        else [replace(c, primary=c.tolerance is not None) for c in found]
    )


def reference_of(
    sides: Sequence[S], attribute: Attribute, declared: Declared, analysis: Analysis,
    size: Callable[[S], float] = _rows,
) -> S:  # fmt: skip
    """The named reference, else the largest group (a note says so).

    Raises:
        UsageError: `unknown-group`.
    """
    named = declared.reference_of(attribute)
    if named is None:
        largest = max(sides, key=size)
        analysis.note(
            "reference-chosen",
            f"{attribute}: no reference was named, so the largest group, {largest.label.level}, is it.",
        )
        return largest
    return side_named(sides, named)


def side_named(sides: Sequence[S], name: str) -> S:
    """The side that a user calls so.

    Raises:
        UsageError: `unknown-group`.
    """
    for side in sides:
        if side.label.answers_to(name):
            return side
    raise UsageError(
        "unknown-group",
        "the reference is not one of the groups",
        given=name,
        available=[side.label.level for side in sides],
    )


def against(sides: Iterable[S], reference: S) -> list[Pair[S]]:
    """Everyone else against the reference."""
    return [(side, reference) for side in sides if side is not reference]


# --- pairs
# ----------------------------------------------------------------------------------------------------------


def evidence_of(claim: Claim[S], a: S, b: S, *, level: float, given: str | None = None) -> Evidence:
    """The claim about one pair of sides, with what its verdict is made of."""
    found = claim.infer(a, b, level)
    item = Estimate(
        measure=claim.name,
        contrast=claim.contrast,
        group=str(a.label),
        reference=str(b.label),
        given=" and ".join(x for x in (given, claim.given) if x) or None,
        n=claim.counts(a) + claim.counts(b),
        n_group=claim.counts(a),
        n_reference=claim.counts(b),
        units={str(k): int(v) for k, v in found.detail.get("units", {}).items()},
    )
    made = evidence(item, found, partial(claim.infer, a, b))
    rests_on = None if claim.rests_on is None else claim.rests_on(a, b)
    made = replace(made, sides=(a, b), rests_on=rests_on)
    ends = extremes_of(claim, [(a, b)], lambda pairs, at: claim.infer(*pairs[0], at))
    return made if ends is None else allowing(made, ends, null_of(claim.contrast))


def extremes_of(
    claim: Claim[S], pairs: Sequence[Pair[S]], infer: Callable[[Sequence[Pair[S]], float], Inference]
) -> Extremes | None:
    """The inference with the rows put in whose group is not known, of one pair or of several together."""
    spreads = [None if claim.spread is None else claim.spread(a, b) for a, b in pairs]
    rows = sum(s.rows for s in spreads if s is not None)
    if not rows:
        return None
    doubt = next(s.doubt for s in spreads if s is not None)(rows)
    whole = spreads[0].whole if len(spreads) == 1 and spreads[0] is not None else None
    if whole is not None:
        return Extremes(doubt=doubt, low=whole, high=whole)
    low = [pair if s is None else s.low for s, pair in zip(spreads, pairs, strict=True)]
    high = [pair if s is None else s.high for s, pair in zip(spreads, pairs, strict=True)]
    lows, highs = [p for p in low if p is not None], [p for p in high if p is not None]
    if len(lows) < len(pairs) or len(highs) < len(pairs):
        return Extremes(doubt=doubt)
    return Extremes(doubt=doubt, low=partial(infer, lows), high=partial(infer, highs))


def either_way_rows(
    claim: Claim[S], pairs: Sequence[Pair[S]], level: float, known: str
) -> list[dict[str, Scalar]]:
    """A claim about pairs whose groups are known by chances: as they stand, and corrected.

    Args:
        known: what the claim as it stands is called.
    """
    rows: list[dict[str, Scalar]] = []
    for pair in pairs:
        spread = None if claim.spread is None or claim.given is not None else claim.spread(*pair)
        if spread is None or spread.low is None:
            continue
        plain, corrected = claim.infer(*pair, level), claim.infer(*spread.low, level)
        row: dict[str, Scalar] = {
            "measure": claim.name,
            "group": str(pair[0].label),
            "reference": str(pair[1].label),
        }
        row |= {known: plain.value, f"{known}, low": plain.low, f"{known}, high": plain.high}
        row |= {
            "corrected": corrected.value,
            "corrected, low": corrected.low,
            "corrected, high": corrected.high,
        }
        rows.append(row)
    return rows


def compare(
    pairs: Sequence[Pair[S]],
    claims: Sequence[Claim[S]],
    declared: Declared,
    analysis: Analysis,
    *,
    family: str,
    given: str | None = None,
    headline: bool = True,
) -> None:
    """Every claim about every pair. What is primary joins the family of the whole audit, the rest its own.

    Of a primary claim about several pairs the largest gap is primary, and the single pairs are looked at as
    well.

    Args:
        family: what the secondary families are called. given: what all of it is conditional on.
        headline: whether primary claims are primary here; else they are looked at like the others.
    """
    analysis.claimed |= {name for c in claims if headline for name in (c.name, c.key)}
    for kind in dict.fromkeys(c.family for c in claims):
        rest: list[tuple[Evidence, Span | None]] = []
        for claim in (c for c in claims if c.family == kind):
            found = [evidence_of(claim, a, b, level=declared.level, given=given) for a, b in pairs]
            primary = headline and claim.primary and bool(found)
            if primary:
                analysis.primary.append(
                    (largest(found, f"{claim.name}, largest of {len(found)} gaps"), claim.tolerance)
                )
            if not primary or len(found) > 1:
                rest += [(item, claim.tolerance) for item in found]
        analysis.findings += judge(
            [item for item, _ in rest],
            tolerances=[bounds for _, bounds in rest],
            family=f"{family}, {kind}" if kind else family,
            correction=declared.correction,
        )


# --- the widest of all gaps
# -----------------------------------------------------------------------------------------


MOST_SEARCHED = 12
"""Groups of which every pair is looked at; of more, those that can be the widest."""


def widest_of(
    sides: Sequence[S], claim: Claim[S], *, level: float, given: str | None = None
) -> list[Evidence]:
    """The widest of all gaps between more than two groups, corrected for having been picked (studentised
    range)."""
    if len(sides) < 3:
        return []
    k = len(sides)
    pairs, left_out = every_pair(sides), ""
    if claim.alone is not None and k > MOST_SEARCHED:
        pairs, left_out = _promising(sides, [claim.alone(side) for side in sides])
    parts = [evidence_of(claim, a, b, level=level, given=given) for a, b in pairs]
    if not parts:
        return []

    def ranged(part: Evidence, at: float) -> Span | None:
        e = part.estimate
        if not part.se or e.value is None:
            return span_at(part, 1.0 - (1.0 - at) / (k * (k - 1) / 2))
        reach = range_quantile(at, k, part.df) / np.sqrt(2) * part.se
        if part.log:
            return (e.value * float(np.exp(-reach)), e.value * float(np.exp(reach))) if e.value > 0 else None
        return e.value - reach, e.value + reach

    ps = [
        range_tail(abs(s) * np.sqrt(2), k, part.df)
        for part in parts
        if (s := part.estimate.statistic) is not None
    ]
    name = f"{claim.name}, widest gap of {k} groups"
    tests = k * (k - 1) // 2
    made = largest(parts, name, simultaneous=ranged, p_value=min(ps, default=None), tests=tests, turned=True)
    missing = "; ".join(x for x in (made.incomplete, left_out) if x)
    return [replace(made.with_estimate(measure=name), incomplete=missing or None)]


FEW_GROUPS, MOST_PAIRS = 16, 120
"""Groups up to which every pair is looked at, and their pairs."""


def _promising(
    sides: Sequence[S], alone: Sequence[tuple[float, float]], most: int = 12
) -> tuple[list[Pair[S]], str]:
    """The pairs that can be the widest, by size or in units of their error, and who cannot be compared.

    Up to `FEW_GROUPS` groups that is every pair. Beyond, those that come first by size, by size in units of
    their error, by their upper and their lower ends, and by their error alone: what decides either end.
    """
    value, se = np.array(alone, dtype=float).reshape(-1, 2).T
    known = np.flatnonzero(np.isfinite(value) & np.isfinite(se))
    most = MOST_PAIRS if len(known) <= FEW_GROUPS else most
    lost = [str(sides[i].label) for i in np.setdiff1d(np.arange(len(sides)), known)[:5]]
    gap = np.abs(value[known][:, None] - value[known])
    error = np.hypot(se[known][:, None], se[known])
    size = np.array([sides[i].n for i in known.tolist()], dtype=float)
    few = stdtrit(np.maximum(np.minimum(size[:, None], size) - 1.0, 1.0), 0.975)
    upper = np.triu(np.ones_like(gap, dtype=bool), 1)
    with np.errstate(all="ignore"):
        scores = (np.where(error > 0, gap / error, 0.0), gap + few * error, gap - 3 * error, few * error)
    found: dict[tuple[int, int], None] = {}
    for score in scores:
        flat = np.argsort(np.where(upper, -score, np.inf), axis=None, kind="stable")[:most]
        for i, j in zip(*np.unravel_index(flat, gap.shape), strict=True):
            if upper[i, j]:
                found[int(known[i]), int(known[j])] = None
    return [(sides[i], sides[j]) for i, j in sorted(found)], f"no value for {', '.join(lost)}" if lost else ""


def every_pair(sides: Sequence[S]) -> list[Pair[S]]:
    """Every pair once, in the order of the sides."""
    return [(a, b) for i, a in enumerate(sides) for b in sides[i + 1 :]]


def widest(
    sides: Sequence[S], claims: Sequence[Claim[S]], declared: Declared, analysis: Analysis, *, family: str
) -> None:
    """The widest gap of every claim that has one, as a family of its own."""
    found = [
        (item, c.tolerance)
        for c in claims
        if c.widest and c.given is None
        for item in widest_of(sides, c, level=declared.level)
    ]
    analysis.findings += judge(
        [item for item, _ in found],
        tolerances=[bounds for _, bounds in found],
        family=family,
        correction=declared.correction,
    )


# --- the worst subgroup
# ---------------------------------------------------------------------------------------------


def worst_subgroup(
    sides: Sequence[S],
    rest: Sequence[Any],
    claims: Sequence[Claim[S]],
    declared: Declared,
    analysis: Analysis,
    attribute: Attribute,
) -> None:
    """Of all subgroups, the one furthest from everyone else; its interval pays for the search (Šidák).

    With m subgroups each is tested at level^(1/m): valid for any correlation of two-sided normal statistics.

    Args:
        rest: for each subgroup all the others together.

    Source: Šidák (1967), Rectangular confidence regions for the means of multivariate normal distributions.
    """
    m = len(sides)
    items, bounds = [], []
    for claim in (c for c in claims if c.worst and c.given is None and m > 2):
        pairs = zip(sides, rest, strict=True)
        parts = [evidence_of(claim, a, b, level=declared.level) for a, b in pairs]
        ps = [part.estimate.p_value for part in parts if part.estimate.p_value is not None]
        p = float(-np.expm1(m * np.log1p(-min(min(ps), 1.0 - 1e-16)))) if ps else None
        name = f"{claim.name}, worst of {m} subgroups"
        found = largest(
            parts, name, simultaneous=lambda part, level: span_at(part, level ** (1 / m)), p_value=p
        )
        if found.interval is not None:
            items.append(found)
            bounds.append(claim.tolerance)
    analysis.findings += judge(
        items, tolerances=bounds, family=f"{attribute}, worst subgroup", correction=declared.correction
    )

"""Summaries → findings: every pair, the widest gap, the worst subgroup, and strata held equal. One engine
for every audit.

A claim takes two summaries and a level and gives an inference. What a summary holds (moments, counts, rows
of scores) is its audit's own business; here it has a label, a number of rows, and adds up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from evenhand._analysis import Analysis
from evenhand._declared import Declared
from evenhand._errors import UsageError
from evenhand._estimate import Evidence, evidence
from evenhand._judge import judge, tolerance_of
from evenhand._labels import Attribute, Label
from evenhand._model import Estimate, Finding
from evenhand.measures.contrasts import from_log
from evenhand.measures.row import NULLS, ContrastName, Measure
from evenhand.stats.interval import Inference
from evenhand.stats.multiplicity import simultaneous


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
        widest, worst: whether it is also claimed of the widest gap, and of the worst subgroup.
        pooled: how pairs of several strata become one inference, if they do.
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
    widest: bool = False
    worst: bool = False
    pooled: Callable[[Sequence[tuple[S, S]], float], Inference] | None = None

    @property
    def on_log(self) -> bool:
        """Whether gaps add up on the log scale."""
        return self.contrast == "ratio"


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
        **more,
    )


def bounds_of(measure: Measure, declared: Declared, units: Mapping[str, float]) -> tuple[float, float] | None:
    """The declared tolerance as bounds of the contrast, on its own scale."""
    value = declared.tolerance.get(measure.tolerance_name, measure.tolerance)
    if value is None:
        return None
    low, high = tolerance_of(value, ratio=measure.is_ratio)
    if measure.is_ratio:
        return low, high
    scale = units.get(measure.unit, 1.0) if measure.unit else 1.0
    null = NULLS[measure.contrast]
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
    return [c for c in claims if c.key in wanted or c.name in wanted]


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
    """The claim about one pair of sides, with the numbers that a verdict needs."""
    found = claim.infer(a, b, level)
    narrow = None
    if found.low is not None and found.high is not None:
        inner = claim.infer(a, b, 1.0 - 2.0 * (1.0 - level))
        if inner.low is not None and inner.high is not None:
            narrow = (inner.low, inner.high)
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
    rests_on = None if claim.rests_on is None else claim.rests_on(a, b)
    return replace(evidence(item, found), narrow=narrow, sides=(a, b), rests_on=rests_on)


def compare(
    pairs: Sequence[Pair[S]],
    claims: Sequence[Claim[S]],
    declared: Declared,
    *,
    family: str,
    given: str | None = None,
) -> list[Finding]:
    """Every claim about every pair; p is adjusted within each family of claims."""
    findings: list[Finding] = []
    for kind in dict.fromkeys(c.family for c in claims):
        own = [(c, a, b) for c in claims if c.family == kind for a, b in pairs]
        findings += judge(
            [evidence_of(c, a, b, level=declared.level, given=given) for c, a, b in own],
            tolerances=[c.tolerance for c, _, _ in own],
            family=f"{family}, {kind}" if kind else family,
            correction=declared.correction,
        )
    return findings


def within_strata(
    strata: Sequence[tuple[str, Sequence[Pair[S]]]], claims: Sequence[Claim[S]], declared: Declared,
    attribute: Attribute,
) -> list[Finding]:  # fmt: skip
    """The claims within each level of a legitimate factor; each stratum has its own families."""
    return [
        finding
        for where, pairs in strata
        for finding in compare(
            pairs,
            [c for c in claims if c.given is None],
            declared,
            family=f"{attribute} given {where}",
            given=where,
        )
    ]


def held_equal(
    strata: Sequence[tuple[str, Sequence[Pair[S]]]], claims: Sequence[Claim[S]], declared: Declared,
    attribute: Attribute, name: str,
) -> list[Finding]:  # fmt: skip
    """The claims that can be pooled, over all levels of the factor `name`."""
    by_side: dict[Label, list[Pair[S]]] = {}
    for _, pairs in strata:
        for a, b in pairs:
            by_side.setdefault(a.label, []).append((a, b))
    poolable = [c for c in claims if c.pooled is not None and c.given is None]
    own = [(c, _over(c, pairs), _whole(pairs)) for c in poolable for pairs in by_side.values()]
    given, level = f"{name} held equal", declared.level
    return judge(
        [evidence_of(over, a, b, level=level, given=given) for _, over, (a, b) in own],
        tolerances=[c.tolerance for c, _, _ in own],
        family=f"{attribute} with {name} held equal",
        correction=declared.correction,
    )


@dataclass(frozen=True, kw_only=True)
class _Whole:
    """One side of several strata: it is only counted."""

    label: Label
    n: int


def _whole(pairs: Sequence[Pair[S]]) -> tuple[_Whole, _Whole]:
    first, second = (
        _Whole(label=side[0].label, n=sum(s.n for s in side)) for side in zip(*pairs, strict=True)
    )
    return first, second


def _over(claim: Claim[S], pairs: Sequence[Pair[S]]) -> Claim[_Whole]:
    pooled = claim.pooled
    if pooled is None:
        raise TypeError(claim.name)
    return Claim(name=claim.name, infer=lambda _a, _b, level: pooled(pairs, level), contrast=claim.contrast)


# --- the widest of several gaps
# -------------------------------------------------------------------------------------


def widest(
    sides: Sequence[S],
    claims: Sequence[Claim[S]],
    declared: Declared,
    *,
    family: str,
    given: str | None = None,
) -> list[Finding]:
    """The widest of all gaps between more than two groups, corrected for having been picked (studentised
    range)."""
    found = [
        (c, item)
        for c in claims
        if c.widest and c.given is None and len(sides) > 2
        for item in widest_of(sides, c, level=declared.level, given=given)
    ]
    return judge(
        [item for _, item in found],
        tolerances=[c.tolerance for c, _ in found],
        family=family,
        correction=declared.correction,
    )


def widest_of(
    sides: Sequence[S], claim: Claim[S], *, level: float, given: str | None = None
) -> list[Evidence]:
    """The widest gap as evidence; empty where no pair has a gap with a standard error."""
    pair = _widest_pair(sides, claim, level)
    if pair is None:
        return []
    a, b = pair
    raw = claim.infer(a, b, level)
    found = simultaneous(_to_log(raw) if claim.on_log else raw, len(sides), level=level)
    # A ratio is told as the smaller rate over the larger, a difference as a positive one.
    if (found.value or 0.0) * (1 if claim.on_log else -1) > 0:
        a, b, found = b, a, _negated(found)
    if claim.on_log:
        found = from_log(found)
    item = Estimate(
        measure=f"{claim.name}, widest gap of {len(sides)} groups",
        contrast=claim.contrast,
        group=str(a.label),
        reference=str(b.label),
        given=given,
        n=claim.counts(a) + claim.counts(b),
        n_group=claim.counts(a),
        n_reference=claim.counts(b),
        units={str(k): int(v) for k, v in found.detail.get("units", {}).items()},
    )
    made = evidence(item, found)
    if claim.alone is not None:
        made = replace(made, detectable=None)
    if (
        found.low is not None and found.high is not None
    ):  # the equivalence of all pairs needs the wide interval
        made = replace(made, narrow=(found.low, found.high))
    return [replace(made, sides=(a, b))]


def _widest_pair(sides: Sequence[S], claim: Claim[S], level: float) -> Pair[S] | None:
    if claim.alone is not None:
        place = widest_pair([claim.alone(side) for side in sides])
        return None if place is None else (sides[place[0]], sides[place[1]])
    pairs = every_pair(sides)
    values = [claim.infer(a, b, level).value for a, b in pairs]
    sizes = [-1.0 if value is None else abs(value) for value in values]
    return pairs[int(np.argmax(sizes))] if max(sizes, default=-1.0) >= 0 else None


def every_pair(sides: Sequence[S]) -> list[Pair[S]]:
    """Every pair once, in the order of the sides."""
    return [(a, b) for i, a in enumerate(sides) for b in sides[i + 1 :]]


def widest_pair(alone: Sequence[tuple[float, float]]) -> tuple[int, int] | None:
    """The two groups furthest apart of those whose gap has a standard error; the first pair where several
    tie.

    Args:
        alone: (value, standard error) of each group; NaN where it has none.

    Returns:
        (i, j) with i < j; None where no pair has a gap with a standard error above 0.

    >>> widest_pair([(1.0, 0.1), (4.0, 0.1), (float("nan"), 0.1), (-1.0, 0.1)])
    (1, 3)
    """
    value, se = np.array(alone, dtype=float).reshape(-1, 2).T
    known = np.isfinite(value) & np.isfinite(se)
    if np.count_nonzero(known) < 2:
        return None
    near = 1e-12 * (1.0 + float(np.ptp(value[known])))
    varies = known & (se > near)
    if not varies.any():
        return None
    # One side must vary, so a group that does can pair with any other, a group that does not with one that
    # does.
    reach = np.full(len(value), -np.inf)
    for who, partners in ((varies, known), (known & ~varies, varies)):
        low, high = value[partners].min(), value[partners].max()
        reach[who] = np.maximum(value[who] - low, high - value[who])
    first = int(np.argmax(reach >= reach.max() - near))
    others = (known if varies[first] else varies) & (np.arange(len(value)) != first)
    gap = np.where(others, np.abs(value - value[first]), -np.inf)
    second = int(np.argmax(gap >= gap.max() - near))
    return min(first, second), max(first, second)


def _to_log(found: Inference) -> Inference:
    if not found.value or found.low is None or not found.se:
        return found.with_(value=None, se=None)
    return found.with_(value=float(np.log(found.value)))


def _negated(found: Inference) -> Inference:
    low, high = found.low, found.high
    return found.with_(
        value=-(found.value or 0.0), low=None if high is None else -high, high=None if low is None else -low
    )


# --- the worst subgroup
# ---------------------------------------------------------------------------------------------


def worst_subgroup(
    sides: Sequence[S],
    rest: Sequence[Any],
    claims: Sequence[Claim[S]],
    declared: Declared,
    attribute: Attribute,
) -> list[Finding]:
    """Of all subgroups, the one furthest from everyone else; interval and p corrected for the search (Šidák).

    With m subgroups each is tested at level^(1/m): valid for any correlation of two-sided normal statistics.

    Args:
        rest: for each subgroup all the others together.

    Source: Šidák (1967), Rectangular confidence regions for the means of multivariate normal distributions.
    """
    m = len(sides)
    if m < 3:
        return []
    items, bounds = [], []
    for claim in (c for c in claims if c.worst and c.given is None):
        pairs = zip(sides, rest, strict=True)
        every = (evidence_of(claim, a, b, level=declared.level ** (1 / m)) for a, b in pairs)
        tried = [t for t in every if t.estimate.p_value is not None]
        if not tried:
            continue
        worst = min(tried, key=lambda t: (t.estimate.p_value or 0.0, -abs(t.estimate.value or 0.0)))
        e = worst.estimate
        told = worst.with_estimate(
            measure=f"{claim.name}, worst of {m} subgroups",
            p_value=float(-np.expm1(m * np.log1p(-min(e.p_value or 0.0, 1.0 - 1e-16)))),
            level=declared.level,
            method=f"{e.method}; corrected for the search over {m} subgroups (Šidák)",
        )
        ends = None if e.low is None or e.high is None else (e.low, e.high)
        items.append(replace(told, narrow=ends, detectable=None))
        bounds.append(claim.tolerance)
    return judge(
        items, tolerances=bounds, family=f"{attribute}, worst subgroup", correction=declared.correction
    )

"""Cells → findings: every pair against the reference, the widest gap, strata, the worst subgroup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np

from evenhand._analysis import Analysis
from evenhand._errors import UsageError
from evenhand._estimate import Evidence, evidence
from evenhand._judge import Correction, judge
from evenhand._judge import because as plain_because
from evenhand._model import Estimate, Finding, Verdict
from evenhand.audits.predictions.cells import Cell
from evenhand.audits.predictions.claims import Claim, bounds_of, evidence_of
from evenhand.stats.histogram import Scores
from evenhand.stats.interval import Inference
from evenhand.stats.multiplicity import simultaneous

Bounds: TypeAlias = tuple[float, float] | None
FAMILIES: Mapping[str, str] = {"outcomes": "outcomes", "accuracy": "accuracy", "top": "top of the scores"}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What was declared before looking.

    Args:
        reference: attribute → label of the group that others are held against.
        tolerances: claim's key → tolerance. units: sizes of the standard deviations that some tolerances are in.
    """

    reference: Mapping[str, str] = field(default_factory=dict)
    tolerances: Mapping[str, Any] = field(default_factory=dict)
    units: Mapping[str, float] = field(default_factory=dict)
    level: float = 0.95
    correction: Correction = "holm"
    seed: int = 0


def reference_cell(cells: Sequence[Cell], attribute: str, settings: Settings, analysis: Analysis) -> Cell:
    """The named reference, else the largest group (a note says so).

    Raises:
        UsageError: `unknown-group`.
    """
    named = settings.reference.get(attribute)
    if named is None:
        largest = max(cells, key=lambda c: c.moments.weight)
        analysis.note(
            "reference-chosen",
            f"{attribute}: no reference was named, so the largest group, {largest.label.partition('=')[2]}, is it.",
        )
        return largest
    for cell in cells:
        if named in (cell.label, cell.label.partition("=")[2]):
            return cell
    raise UsageError(
        "unknown-group",
        "the reference is not one of the groups",
        given=named,
        available=[c.label.partition("=")[2] for c in cells],
    )


def compare(
    cells: Sequence[Cell],
    reference: Cell,
    claims: Sequence[Claim],
    settings: Settings,
    *,
    family: str,
    given: str | None = None,
) -> list[Finding]:
    """Every claim about every group against the reference; p is adjusted within each family of claims."""
    findings: list[Finding] = []
    for kind, words in FAMILIES.items():
        items: list[Evidence] = []
        bounds: list[Bounds] = []
        for claim in (c for c in claims if c.family == kind):
            for cell in cells:
                if cell is not reference:
                    items.append(evidence_of(claim, cell, reference, level=settings.level, given=given))
                    bounds.append(bounds_of(claim, settings.tolerances[claim.key], settings.units))
        findings += judge(
            items, tolerances=bounds, family=f"{family}, {words}", correction=settings.correction, say=because
        )
    return findings


def widest(
    cells: Sequence[Cell], claims: Sequence[Claim], settings: Settings, attribute: str
) -> list[Finding]:
    """The widest of all gaps between more than two groups, corrected for having been picked (studentised range).

    For the claims whose gap is a difference of two groups' own values: average score, and disparate impact on the log
    scale. The pair is found from these values, in time linear in the groups.
    """
    items, bounds = [], []
    if len(cells) < 3:
        return []
    for claim in claims:
        if claim.given is not None or claim.alone is None:
            continue
        pair = widest_pair([claim.alone(c) for c in cells])
        if pair is None:
            continue
        a, b = cells[pair[0]], cells[pair[1]]
        raw = claim.infer(a, b, settings.level)
        found = simultaneous(_on_log(raw) if claim.ratio else raw, len(cells), level=settings.level)
        # A ratio is told as the smaller rate over the larger, a difference as a positive one.
        if (found.value or 0.0) * (1 if claim.ratio else -1) > 0:
            a, b, found = b, a, _negated(found)
        items.append(_worst_evidence(claim, found, a, b, len(cells)))
        bounds.append(bounds_of(claim, settings.tolerances[claim.key], settings.units))
    return judge(
        items,
        tolerances=bounds,
        family=f"{attribute}, widest gap",
        correction=settings.correction,
        say=because,
    )


def widest_pair(alone: Sequence[tuple[float, float]]) -> tuple[int, int] | None:
    """The two groups furthest apart of those whose gap has a standard error; the first pair where several tie.

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
    # One side must vary, so a group that does can pair with any other, a group that does not with one that does.
    reach = np.full(len(value), -np.inf)
    for who, partners in ((varies, known), (known & ~varies, varies)):
        low, high = value[partners].min(), value[partners].max()
        reach[who] = np.maximum(value[who] - low, high - value[who])
    first = int(np.argmax(reach >= reach.max() - near))
    others = (known if varies[first] else varies) & (np.arange(len(value)) != first)
    gap = np.where(others, np.abs(value - value[first]), -np.inf)
    second = int(np.argmax(gap >= gap.max() - near))
    return min(first, second), max(first, second)


def _worst_evidence(claim: Claim, found: Inference, a: Cell, b: Cell, groups: int) -> Evidence:
    if claim.ratio:
        back = {
            k: None if (v := getattr(found, k)) is None else float(np.exp(v))
            for k in ("value", "low", "high")
        }
        found = found.with_(**back)
    item = Estimate(
        measure=f"{claim.measure}, widest gap of {groups} groups",
        contrast=claim.contrast,
        group=a.label,
        reference=b.label,
        n=a.n + b.n,
        n_group=a.n,
        n_reference=b.n,
    )
    made = evidence(item, found.with_(se=None))
    if found.low is not None and found.high is not None:
        made = replace(made, narrow=(found.low, found.high))
    return made


def _on_log(found: Inference) -> Inference:
    if not found.value or found.low is None or not found.se:
        return found.with_(value=None, se=None)
    return found.with_(value=float(np.log(found.value)))


def _negated(found: Inference) -> Inference:
    low, high = found.low, found.high
    return found.with_(
        value=-(found.value or 0.0), low=None if high is None else -high, high=None if low is None else -low
    )


def worst_subgroup(
    cells: Sequence[Cell], claims: Sequence[Claim], settings: Settings, attribute: str
) -> list[Finding]:
    """Of all intersections, the one furthest from everyone else; interval and p corrected for the search (Šidák).

    With m subgroups each is tested at level^(1/m): valid for any correlation of two-sided normal statistics.

    Source: Šidák (1967), Rectangular confidence regions for the means of multivariate normal distributions.
    """
    m = len(cells)
    if m < 3:
        return []
    items, bounds = [], []
    rest = all_others(cells, attribute)
    for claim in claims:
        if claim.given is not None or claim.key not in ("standardised mean difference", "disparate impact"):
            continue
        each = settings.level ** (1 / m)
        every = (evidence_of(claim, a, b, level=each) for a, b in zip(cells, rest, strict=True))
        tried = [t for t in every if t.estimate.p_value is not None]
        if not tried:
            continue
        worst = min(tried, key=lambda t: (t.estimate.p_value or 0.0, -abs(t.estimate.value or 0.0)))
        e = worst.estimate
        p = float(-np.expm1(m * np.log1p(-min(e.p_value or 0.0, 1.0 - 1e-16))))
        items.append(
            replace(
                worst.with_estimate(
                    measure=f"{claim.measure}, worst of {m} subgroups",
                    p_value=p,
                    level=settings.level,
                    method=f"{e.method}; corrected for the search over {m} subgroups (Šidák)",
                ),
                narrow=None if e.low is None or e.high is None else (e.low, e.high),
                detectable=None,
            )
        )
        bounds.append(bounds_of(claim, settings.tolerances[claim.key], settings.units))
    return judge(
        items,
        tolerances=bounds,
        family=f"{attribute}, worst subgroup",
        correction=settings.correction,
        say=because,
    )


def all_others(cells: Sequence[Cell], attribute: str) -> list[Cell]:
    """For each of at least two cells the sums over all the others, without their scores.

    Sums from both ends: linear in the cells, and nothing is subtracted, so that no digit is lost.
    """
    label = f"all others of {attribute}"
    none = Scores(values=np.zeros(1), weight=np.zeros(1), weight2=np.zeros(1), n=0)
    plain = [Cell(label=label, moments=c.moments, top=c.top, scores=none) for c in cells]
    before, after = list(accumulate(plain[:-1])), list(accumulate(plain[:0:-1]))[::-1]
    inner = [a + b for a, b in zip(before[:-1], after[1:], strict=True)]
    return [after[0], *inner, before[-1]]


def because(item: Evidence, verdict: Verdict, tolerance: tuple[float, float]) -> str:
    """One sentence for a reader without statistics, for differences, ratios, AUCs and distances."""
    e = item.estimate
    if e.value is None or e.contrast == "difference":
        return plain_because(item, verdict, tolerance)
    one, two = _name(e.group), _name(e.reference)
    interval = (
        "no interval"
        if e.low is None or e.high is None
        else f"{e.level:.0%} interval {e.low:.3f} to {e.high:.3f}"
    )
    told = {
        "ratio": f"{one} has {e.value:.3f} times the value of {two}",
        "AUC": f"a member of {one} scores above one of {two} with probability {e.value:.3f}",
        "distance": f"the distributions of {one} and {two} are {e.value:.3f} apart",
    }.get(e.contrast, f"{one} against {two}: {e.value:.3f}")
    gap = f"{e.measure}: {told} ({interval})"
    span = f"{tolerance[0]:.3g} to {tolerance[1]:.3g}"
    if verdict == "disparity":
        return f"{gap}: outside the tolerance of {span}, and more than chance explains."
    if verdict == "within tolerance":
        return f"{gap}: whatever the truth is, it lies inside the tolerance of {span}."
    if not tolerance[0] <= e.value <= tolerance[1]:
        return f"{gap}: outside the tolerance of {span}, but chance alone can explain it with so few people."
    return f"{gap}: too uncertain to place inside the tolerance of {span}."


def _name(side: str) -> str:
    return side.partition("=")[2] or side

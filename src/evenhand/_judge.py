"""Evidence → findings: the verdict is where the simultaneous interval lies (docs/decisions/0010).

With α = 1 − level shared by the m claims of a family, each claim is looked at through two intervals: that of
level 1 − α/m, and that of two one-sided tests, 1 − 2α/m.

* `disparity`: the first lies wholly beyond the tolerance;
* `within tolerance`: the second lies wholly inside (whether or not the first excludes no difference);
* `gap`: the first excludes no difference, but reaches into the tolerance;
* `inconclusive`: none of these, or there is no interval.

Whatever the truth of a claim is, only one kind of error is open to it, so the family's total is at most α.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.special import ndtr

from evenhand._errors import UsageError
from evenhand._estimate import Doubt, Evidence
from evenhand._labels import spoken
from evenhand._model import Finding, Span, Verdict
from evenhand._wording import digits_apart, number, open_side
from evenhand.measures.row import null_of
from evenhand.stats.interval import quantile
from evenhand.stats.multiplicity import benjamini_hochberg, bonferroni, holm
from evenhand.stats.power import detectable, spread_of_errors

Correction: TypeAlias = Literal["single-step", "holm", "bh", "none"]
CORRECTIONS: Mapping[str, Callable[[Sequence[float | None]], list[float | None]]] = {
    "single-step": bonferroni,
    "holm": holm,
    "bh": benjamini_hochberg,
    "none": list,
}
"""How p is adjusted. The verdict follows the intervals, which are always the single step's."""
Say: TypeAlias = Callable[[Finding], str]


def tolerance_of(value: float | Sequence[float], *, ratio: bool = False) -> Span:
    """A tolerance as bounds of the contrast: 0.1 → (−0.1, 0.1); for ratios 0.8 → (0.8, 1.25).

    Args:
        value: one number, or both bounds (a list, where it was read from a file).

    Raises:
        UsageError: `bad-tolerance` for a negative number, or a ratio outside (0, 1].

    >>> tolerance_of(0.1), tolerance_of(0.8, ratio=True), tolerance_of([-0.1, 0.2])
    ((-0.1, 0.1), (0.8, 1.25), (-0.1, 0.2))
    """
    if isinstance(value, Sequence):
        if len(value) != 2 or value[0] > value[1]:
            raise UsageError(
                "bad-tolerance",
                "the bounds of a tolerance are two numbers, the lower first",
                given=value,
                expected="e.g. (-0.1, 0.2)",
            )
        return float(value[0]), float(value[1])
    if ratio:
        if not 0 < value <= 1:
            raise UsageError(
                "bad-tolerance", "a tolerance for ratios lies in (0, 1]", given=value, expected="e.g. 0.8"
            )
        return float(value), 1.0 / float(value)
    if not 0 <= value < float("inf"):
        raise UsageError(
            "bad-tolerance", "a tolerance is a number of at least 0", given=value, expected="e.g. 0.1"
        )
    return -float(value), float(value)


def judge(
    evidence: Sequence[Evidence],
    *,
    tolerance: Span | None = None,
    tolerances: Sequence[Span | None] | None = None,
    family: str = "",
    correction: Correction = "single-step",
    primary: bool = False,
    say: Say | None = None,
) -> list[Finding]:
    """Findings for one family of claims, whose error is shared.

    Args:
        tolerance: bounds of the contrast, or None for estimates that are only described.
        tolerances: bounds of each item, where the family holds claims on different scales.
        correction: of p. primary: whether the headline rests on this family.
        say: writes the sentence of a finding; `because` by default.
    """
    if correction not in CORRECTIONS:
        raise UsageError(
            "unknown-correction", "no such correction", given=correction, available=sorted(CORRECTIONS)
        )
    own = list(tolerances) if tolerances is not None else [tolerance] * len(evidence)
    adjusted = CORRECTIONS[correction]([e.estimate.p_value for e in evidence])
    claims = sum(
        bounds is not None and e.interval is not None for e, bounds in zip(evidence, own, strict=True)
    )
    found = []
    for item, p, bounds in zip(evidence, adjusted, own, strict=True):
        item = item.with_estimate(p_adjusted=p)
        if bounds is None:
            found.append(Finding(estimate=item.estimate, rests_on=item.rests_on, family=family))
            continue
        found.append(_judged(item, bounds, max(claims, 1), family, primary, say))
    return found


def _judged(
    item: Evidence, tolerance: Span, claims: int, family: str, primary: bool, say: Say | None
) -> Finding:
    outer, inner = spans(item, claims)
    verdict = place(item, tolerance, outer, inner, claims)
    if item.known is not None and item.doubt is not None:
        item = replace(item, missing=_doubted(item, item.known, item.doubt, verdict, tolerance, claims))
    reach = None if verdict in ("disparity", "within tolerance") else reach_of(item, tolerance, claims)
    made = Finding(
        estimate=item.estimate,
        tolerance=tolerance,
        verdict=verdict,
        rests_on=item.rests_on,
        detectable=reach,
        family=family,
        primary=primary,
        simultaneous=outer,
        equivalence=inner,
    )
    return replace(made, because=told(made, item) if say is None else say(made))


def spans(item: Evidence, claims: int) -> tuple[Span | None, Span | None]:
    """The simultaneous interval, and that of two one-sided tests, of one of `claims` claims.

    Where one direction was declared, the first ends in the other one nowhere, and all of α is on its side.
    """
    if item.interval is None:
        return None, None
    alpha = (1.0 - item.estimate.level) / claims
    inside = item.inside or item.interval
    if item.alternative == "two-sided":
        return item.interval(1.0 - alpha), inside(1.0 - 2.0 * alpha)
    outer, inner = item.interval(1.0 - 2.0 * alpha), inside(1.0 - 2.0 * alpha)
    if outer is None or inner is None:
        return None, None
    if item.alternative == "greater":
        return (outer[0], math.inf), (-math.inf, inner[1])
    return (-math.inf, outer[1]), (inner[0], math.inf)


def place(
    item: Evidence, tolerance: Span, outer: Span | None, inner: Span | None, claims: int = 1
) -> Verdict:
    """Where the intervals lie. A p by another (exact, rank) method must agree that there is a gap."""
    if outer is None or item.estimate.value is None or not outer[0] < outer[1]:
        return "inconclusive"
    agreed = item.estimate.p_value is None or item.estimate.p_value * claims <= 1.0 - item.estimate.level
    whole = inner if inner is not None and item.incomplete is None else (-math.inf, math.inf)
    held = shown(outer, whole, tolerance, null_of(item.estimate.contrast))
    return next((v for v, holds in held if holds and (agreed or v == "within tolerance")), "inconclusive")


def shown(outer: Any, inner: Any, tolerance: Span, null: float) -> tuple[tuple[Verdict, Any], ...]:
    """The rule: verdicts in their order, and whether the intervals show them; the first that holds counts.

    Args:
        outer, inner: (low, high), as numbers or as arrays of them: a design asks of all samples at once what
            an audit asks of one.

    >>> [verdict for verdict, holds in shown((0.02, 0.2), (0.03, 0.19), (-0.1, 0.1), 0.0) if holds]
    ['gap']
    """
    low, high = tolerance
    apart = (outer[0] > null) | (outer[1] < null)
    beyond = (outer[0] > high) | (outer[1] < low)
    inside = (inner[0] >= low) & (inner[1] <= high)
    return ("disparity", apart & beyond), ("within tolerance", inside), ("gap", apart)


def chances(
    gap: float,
    se: float,
    df: float | None,
    tolerance: Span,
    *,
    level: float = 0.95,
    claims: float = 1.0,
    null: float = 0.0,
) -> dict[Verdict, float]:
    """The chance of each verdict, where the truth is `gap` and its estimate has this standard error.

    For ratios gap, se, tolerance and null are logarithms. The estimate is normal, its squared standard error
    a χ² of `df` degrees of freedom (None: known); given that error, each verdict is a set of intervals of the
    estimate.

    >>> {verdict: round(chance, 3) for verdict, chance in chances(0.0, 0.03, 38, (-0.1, 0.1)).items()}
    {'disparity': 0.0, 'within tolerance': 0.897, 'gap': 0.043, 'inconclusive': 0.061}
    """
    alpha = (1.0 - level) / claims
    low, high = tolerance
    errors, weight = spread_of_errors(df)
    wide = se * errors[:, None] * quantile(1.0 - alpha / 2, df)
    narrow = se * errors[:, None] * quantile(1.0 - alpha, df)
    turns = [c + s * wide for c in (null, low, high) for s in (-1, 1)]
    far = [np.full_like(wide, gap + s * 40 * se) for s in (-1, 1)]
    ends = np.sort(np.hstack([*turns, low + narrow, high - narrow, *far]))
    middle = (ends[:, 1:] + ends[:, :-1]) / 2
    mass = np.diff(ndtr((ends - gap) / se)) * weight[:, None]
    held = shown((middle - wide, middle + wide), (middle - narrow, middle + narrow), tolerance, null)
    found: dict[Verdict, float] = {v: float(mass[holds].sum()) for v, holds in first_shown(held)}
    return {**found, "inconclusive": max(0.0, 1.0 - sum(found.values()))}


def first_shown(held: Sequence[tuple[Verdict, Any]]) -> list[tuple[Verdict, Any]]:
    """Where each verdict is the first that holds."""
    free: Any = True
    found: list[tuple[Verdict, Any]] = []
    for verdict, holds in held:
        found.append((verdict, holds & free))
        free = free & ~holds
    return found


def reach_of(item: Evidence, tolerance: Span, claims: int, wanted: float = 0.8) -> float | None:
    """The smallest true gap that a design like this one calls a disparity with probability `wanted`.

    The gap must clear the tolerance by as much as a test at α/m needs; at this gap `chances` finds
    `disparity` with probability `wanted`.
    """
    null, down = null_of(item.estimate.contrast), item.alternative == "less"
    edge = 2 * null - tolerance[0] if down and not item.log else tolerance[1]
    if not item.se or not math.isfinite(item.se) or not math.isfinite(edge):
        return None
    tails = 1 if item.alternative == "two-sided" else 2
    alpha = tails * (1.0 - item.estimate.level) / (claims * item.tests)
    over = detectable(item.se, df=item.df, alpha=alpha, wanted=wanted)
    if over is None:
        return None
    if item.log:
        return math.exp(over + math.log(edge)) if edge > 0 else None
    return over + edge - null


# --- sentences
# ------------------------------------------------------------------------------------------------------


FACTS: Mapping[str, str] = {
    "ratio": "{measure}: {one} has {value} times the value of {two}",
    "AUC": "{measure}: a member of {one} scores above one of {two} with probability {value}",
    "distance": "{measure}: the distributions of {one} and {two} are {value} apart",
    "difference": "{measure}: {one} minus {two} is {value}",
}
"""What a claim says of two sides, by its contrast; others are told as differences."""


def told(finding: Finding, item: Evidence) -> str:
    """The sentence of a finding: it claims exactly what the intervals show."""
    e = finding.estimate
    tolerance, interval = finding.tolerance, interval_said(finding)
    if tolerance is None or e.value is None or interval is None:
        return f"The data can tell neither: {e.why_not or 'there is no interval'}.{item.missing}"
    one, two = _called(item)
    fact = FACTS.get(e.contrast, FACTS["difference"]).format(
        measure=e.measure, one=one, two=two, value=_number(e.value, _signed(e.contrast))
    )
    text = f"{fact} ({interval}){_judgement(finding, tolerance)}"
    if finding.verdict in ("inconclusive", "gap"):
        text += _what_would_decide(finding, item)
    return text + item.missing


def _doubted(
    item: Evidence, known: Evidence, doubt: Doubt, verdict: Verdict, tolerance: Span, claims: int
) -> str:
    """What is said of what is not known of the groups: whether the verdict would change."""
    outer, inner = spans(known, claims)
    alone = place(known, tolerance, outer, inner, claims)
    if alone == verdict or outer is None:
        return f" {doubt.held}"
    signed = _signed(item.estimate.contrast)
    low, high = (_number(end, signed) for end in outer)
    return f' {doubt.alone} would make it "{alone}" ({low} to {high}); {doubt.lost}.'


def interval_said(finding: Finding, *, scale: float = 1.0, digits: int = 3) -> str | None:
    """The interval that decided, in words; None where there is none.

    It is the simultaneous one, or that of two one-sided tests where it shows that a gap is small.

    Args:
        scale: 100 for percentage points. digits: the fewest after the point.
    """
    e, outer, inner = finding.estimate, finding.simultaneous, finding.equivalence
    if outer is None or finding.tolerance is None:
        return None
    span = outer if finding.verdict != "within tolerance" or inner is None else inner
    both = span is not outer and all(map(math.isfinite, span))
    level = 2 * e.level - 1 if both else e.level
    edges = [scale * edge for edge in (null_of(e.contrast), *finding.tolerance)]
    low, high = (_number(scale * end, _signed(e.contrast), edges, digits) for end in span)
    return f"{100 * level:g} % interval {low} to {high}"


def _signed(contrast: str) -> bool:
    return contrast not in ("ratio", "AUC", "distance")


def _called(item: Evidence) -> tuple[str, str]:
    """What a reader calls the two sides."""
    if item.sides is not None:
        a, b = item.sides
        return a.label.level, b.label.level
    return spoken(item.estimate.group, item.estimate.reference)[1:]


def _judgement(finding: Finding, tolerance: Span) -> str:
    outer, e = finding.simultaneous, finding.estimate
    null = null_of(e.contrast)
    bounds = (
        f"±{tolerance[1]:g}" if tolerance[0] == -tolerance[1] else f"{tolerance[0]:.3g} to {tolerance[1]:.3g}"
    )
    if side := open_side(tolerance):
        edge = tolerance[0] if side == "shortfall" else tolerance[1]
        bounds = f"{edge if null else abs(edge):g}"
    if finding.verdict == "disparity":
        return f": shown to be larger than the tolerance of {bounds}."
    if finding.verdict == "within tolerance":
        apart = outer is not None and not outer[0] <= null <= outer[1]
        there = (
            "there is a gap, and it" if apart else f"any {side}" if side else "whatever the true gap is, it"
        )
        return f": {there} is smaller than the tolerance of {bounds}."
    if finding.verdict == "gap":
        inside = e.value is not None and tolerance[0] <= e.value <= tolerance[1]
        side = "inside" if inside else "beyond"
        return (
            f": there is a gap; whether it exceeds the tolerance of {bounds} is not settled (the estimate"
            " lies"
            f" {side} it)."
        )
    return (
        ": the data can tell neither that there is a gap nor that it is smaller than the tolerance of"
        f" {bounds}."
    )


def _what_would_decide(finding: Finding, item: Evidence) -> str:
    said = ""
    if item.incomplete:
        said += f" Not everything could be compared: {item.incomplete}."
    if item.needed:
        said += f" {item.needed}"
    if finding.detectable is not None:
        size = _size(finding)
        said += f" With this design a true {size} would have been called a disparity four times in five."
    return said


def _size(finding: Finding) -> str:
    reach = finding.detectable or 0.0
    if finding.estimate.contrast == "ratio" and reach > 1:
        return f"ratio of {1 / reach:.3f}, or of {reach:.3f},"
    return f"gap of {reach:.3g}"


def _number(value: float, signed: bool, edges: Sequence[float] = (), least: int = 3) -> str:
    """Some digits after the point, more where the number is small or would be rounded across an edge.

    Args:
        edges: no difference and the ends of the tolerance: a printed end lies on its true side of each.
        least: digits.
    """
    if math.isinf(value):
        return number(value)
    if abs(value) < TINY:
        value = 0.0
    small = 0 < abs(value) < 10.0 ** (1 - least)
    digits = min(12, least - 1 - math.floor(math.log10(abs(value)))) if small else least
    return f"{value:{'+' if signed else ''},.{digits_apart([value], digits, edges)}f}".replace("-", "−")


TINY = 1e-12
"""Sizes below are rounding errors of sums."""

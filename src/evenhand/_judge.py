"""Evidence → findings: a tolerance declared beforehand, multiplicity, equivalence, and a sentence for the
reader.

The three verdicts (docs/decisions/0003):

* `disparity`: the gap differs from none after correction for multiple claims, *and* lies beyond the
tolerance;
* `within tolerance`: two one-sided tests place the whole gap inside the tolerance;
* `inconclusive`: neither. Absence of evidence is not evidence of even-handedness.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

from evenhand._errors import UsageError
from evenhand._estimate import Evidence
from evenhand._labels import spoken
from evenhand._model import Finding, Verdict
from evenhand.stats.multiplicity import benjamini_hochberg, holm

Correction: TypeAlias = Literal["holm", "bh", "none"]
CORRECTIONS: Mapping[str, Callable[[Sequence[float | None]], list[float | None]]] = {
    "holm": holm,
    "bh": benjamini_hochberg,
    "none": list,
}
MIN_UNITS_BLIND = 5
"""Units that must all show no gap at all before exact equality counts as shown."""


def tolerance_of(value: float | Sequence[float], *, ratio: bool = False) -> tuple[float, float]:
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
    tolerance: tuple[float, float] | None = None,
    tolerances: Sequence[tuple[float, float] | None] | None = None,
    family: str = "",
    correction: Correction = "holm",
    say: Callable[[Evidence, Verdict, tuple[float, float]], str] | None = None,
) -> list[Finding]:
    """Findings for one family of claims; p is adjusted inside it.

    Args:
        tolerance: bounds of the contrast, or None for estimates that are only described.
        tolerances: bounds of each item, where the family holds claims on different scales.
        say: writes the sentence of a finding; `because` by default.
    """
    if correction not in CORRECTIONS:
        raise UsageError(
            "unknown-correction", "no such correction", given=correction, available=sorted(CORRECTIONS)
        )
    adjusted = CORRECTIONS[correction]([e.estimate.p_value for e in evidence])
    own = tolerances if tolerances is not None else [tolerance] * len(evidence)
    findings = []
    for item, p, tolerance in zip(evidence, adjusted, own, strict=True):
        item = item.with_estimate(p_adjusted=p)
        if tolerance is None:
            findings.append(_finding(item, None, None, "", family))
            continue
        verdict = verdict_of(item, tolerance)
        findings.append(
            _finding(item, tolerance, verdict, (say or because)(item, verdict, tolerance), family)
        )
    return findings


def verdict_of(item: Evidence, tolerance: tuple[float, float]) -> Verdict:
    """The verdict of one claim, from its adjusted p-value, its value and its narrow interval."""
    estimate = item.estimate
    low, high = tolerance
    if estimate.value is None:
        return "inconclusive"
    p = estimate.p_adjusted if estimate.p_adjusted is not None else estimate.p_value
    if p is not None and p < 1.0 - estimate.level and not low <= estimate.value <= high:
        return "disparity"
    if item.blind:
        return "within tolerance" if estimate.n_units >= MIN_UNITS_BLIND else "inconclusive"
    if item.narrow is not None and low <= item.narrow[0] and item.narrow[1] <= high:
        enough = item.narrow[0] < item.narrow[1] or estimate.n_units >= MIN_UNITS_BLIND
        return "within tolerance" if enough else "inconclusive"
    return "inconclusive"


def because(item: Evidence, verdict: Verdict, tolerance: tuple[float, float]) -> str:
    """One sentence for a reader without statistics."""
    e = item.estimate
    if e.value is not None and e.contrast in TOLD:
        return _told(item, verdict, tolerance)
    if e.value is None or e.low is None or e.high is None:
        return f"No conclusion: {e.why_not or 'the gap has no interval'}."
    one, two = _called(item)
    interval = f"{100 * e.level:g} % interval {_signed(e.low)} to {_signed(e.high)}"
    gap = f"{one} minus {two} is {_signed(e.value)} ({interval})"
    bounds = (
        f"±{tolerance[1]:g}" if tolerance[0] == -tolerance[1] else f"{tolerance[0]:g} to {tolerance[1]:g}"
    )
    if verdict == "disparity":
        return f"{gap}: more than the tolerance of {bounds}, and more than chance explains."
    if item.blind and verdict == "within tolerance":
        return f"Not one of {e.n} scores differs between {one} and {two}."
    if verdict == "within tolerance":
        return f"{gap}: whatever the true gap is, it is smaller than the tolerance of {bounds}."
    if not tolerance[0] <= e.value <= tolerance[1]:
        return (
            f"{gap}: beyond the tolerance of {bounds}, but chance alone can explain a gap of this size here."
        )
    p = e.p_adjusted if e.p_adjusted is not None else e.p_value
    if p is not None and p < 1.0 - e.level:
        return f"{gap}: there is a gap, but whether it stays inside the tolerance of {bounds} is uncertain."
    return f"{gap}: too uncertain to place inside the tolerance of {bounds}."


def _called(item: Evidence) -> tuple[str, str]:
    """What a reader calls the two sides."""
    if item.sides is not None:
        a, b = item.sides
        return a.label.level, b.label.level
    return spoken(item.estimate.group, item.estimate.reference)[1:]


TOLD: Mapping[str, str] = {
    "ratio": "{one} has {value:.3f} times the value of {two}",
    "AUC": "a member of {one} scores above one of {two} with probability {value:.3f}",
    "distance": "the distributions of {one} and {two} are {value:.3f} apart",
}
"""Contrasts that are no difference, in words."""


def _told(item: Evidence, verdict: Verdict, tolerance: tuple[float, float]) -> str:
    e = item.estimate
    one, two = _called(item)
    interval = (
        "no interval"
        if e.low is None or e.high is None
        else f"{e.level:.0%} interval {e.low:.3f} to {e.high:.3f}"
    )
    gap = f"{e.measure}: {TOLD[e.contrast].format(one=one, two=two, value=e.value)} ({interval})"
    span = f"{tolerance[0]:.3g} to {tolerance[1]:.3g}"
    if verdict == "disparity":
        return f"{gap}: outside the tolerance of {span}, and more than chance explains."
    if verdict == "within tolerance":
        return f"{gap}: whatever the truth is, it lies inside the tolerance of {span}."
    if e.value is None or not tolerance[0] <= e.value <= tolerance[1]:
        return f"{gap}: outside the tolerance of {span}, but chance alone can explain it with so few people."
    return f"{gap}: too uncertain to place inside the tolerance of {span}."


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−")


def _size(item: Evidence) -> str:
    detectable = item.detectable or 0.0
    if item.estimate.contrast == "ratio" and detectable < 1:
        return f"ratio of {1 - detectable:.3f}, or of {1 / (1 - detectable):.3f},"
    return f"gap of {detectable:.3f}"


def _finding(
    item: Evidence, tolerance: tuple[float, float] | None, verdict: Verdict | None, text: str, family: str
) -> Finding:
    if verdict == "inconclusive" and item.detectable is not None:
        text += f" With this design a true {_size(item)} would have been found four times in five."
    return Finding(
        estimate=item.estimate,
        tolerance=tolerance,
        verdict=verdict,
        because=text,
        rests_on=item.rests_on,
        detectable=item.detectable,
        family=family,
    )

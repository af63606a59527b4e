"""A finding's interval as a small inline SVG: tolerance band, null line, interval, estimate. Numbers only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evenhand._model import Finding
from evenhand._wording import deciding, null_of, short

WIDTH, HEIGHT, MIDDLE = 360.0, 44.0, 15.0
PAD = 10.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Ruler:
    """The stretch of a contrast's scale that all findings of that contrast share, so that rows can be
    compared."""

    low: float
    high: float
    log: bool = False

    def place(self, value: float) -> float:
        """Where `value` lies in the picture, between its two margins; outside values stop at the margin."""
        a, b, v = self.low, self.high, value
        if self.log:
            a, b, v = math.log(a), math.log(b), math.log(max(v, 1e-300)) if v > 0 else -math.inf
        share = (v - a) / (b - a)
        return PAD + min(1.0, max(0.0, share)) * (WIDTH - 2 * PAD)


def axis_for(findings: Sequence[Finding]) -> Ruler:
    """An axis that holds every estimate and tolerance; very long intervals are cut (and drawn with an
    arrow)."""
    null = null_of(findings[0].estimate.contrast)
    core = [null]
    for f in findings:
        core += [b for b in (f.tolerance or ()) if math.isfinite(b)]
        core += [f.estimate.value] if f.estimate.value is not None else []
    ends = [b for f in findings for b in deciding(f) if b is not None]
    log = null == 1.0 and min(core) > 0
    if log:
        core = [math.log(v) for v in core]
        ends = [math.log(v) for v in ends if v > 0]
    reach = max(core) - min(core) or 1.0
    low = max(min([*core, *ends]), min(core) - reach)
    high = min(max([*core, *ends]), max(core) + reach)
    margin = 0.06 * (high - low) or 1.0
    low, high = low - margin, high + margin
    return Ruler(low=math.exp(low), high=math.exp(high), log=True) if log else Ruler(low=low, high=high)


def shared_axes(findings: Sequence[Finding]) -> dict[tuple[str, str], Ruler]:
    """One scale for each measure and contrast."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for f in findings:
        groups.setdefault((f.estimate.measure, f.estimate.contrast), []).append(f)
    return {key: axis_for(members) for key, members in groups.items()}


def picture(finding: Finding, axis: Ruler) -> str:
    """The SVG; empty where there is no estimate. It is decoration: the same numbers stand beside it as
    text."""
    e = finding.estimate
    if e.value is None:
        return ""
    parts = [*_band(finding, axis), *_tick(null_of(finding.estimate.contrast), axis, "null")]
    low, high = deciding(finding)
    left = axis.place(low) if low is not None else PAD
    right = axis.place(high) if high is not None else WIDTH - PAD
    if (low, high) != (None, None):
        parts.append(f'<line class="bar" x1="{left:.1f}" x2="{right:.1f}" y1="{MIDDLE}" y2="{MIDDLE}"/>')
        parts += _end(left, -1, clipped=low is None or _outside(low, axis))
        parts += _end(right, 1, clipped=high is None or _outside(high, axis))
    parts.append(f'<circle class="dot" cx="{axis.place(e.value):.1f}" cy="{MIDDLE}" r="4.5"/>')
    tone = (finding.verdict or "none").replace(" ", "-")
    return (
        f'<svg class="interval {tone}" viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}" aria-hidden="true"'
        ' focusable="false">'
        f"{''.join(parts)}</svg>"
    )


def _outside(value: float, axis: Ruler) -> bool:
    return not axis.low <= value <= axis.high


def _end(x: float, side: int, *, clipped: bool) -> list[str]:
    """A small cap, or an arrow where the interval goes on beyond the picture."""
    if clipped:
        back = x - side * 6
        return [
            f'<path class="bar" d="M{back:.1f} {MIDDLE - 4}L{x:.1f} {MIDDLE}L{back:.1f} {MIDDLE + 4}"'
            ' fill="none"/>'
        ]
    return [f'<line class="bar" x1="{x:.1f}" x2="{x:.1f}" y1="{MIDDLE - 4}" y2="{MIDDLE + 4}"/>']


def _band(finding: Finding, axis: Ruler) -> list[str]:
    if finding.tolerance is None:
        return []
    low, high = finding.tolerance
    a = axis.place(low) if math.isfinite(low) else PAD
    b = axis.place(high) if math.isfinite(high) else WIDTH - PAD
    parts = [
        f'<rect class="band" x="{a:.1f}" y="3" width="{max(b - a, 1):.1f}" height="{2 * MIDDLE - 6:.0f}"'
        ' rx="2"/>'
    ]
    null = axis.place(null_of(finding.estimate.contrast))
    for bound in (low, high):
        if math.isfinite(bound) and abs(axis.place(bound) - null) > 28:
            parts += _word(short(bound), axis.place(bound))
    return parts


def _tick(value: float, axis: Ruler, name: str) -> list[str]:
    x = axis.place(value)
    line = f'<line class="{name}" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{2 * MIDDLE:.0f}"/>'
    return [line, *_word(short(value), x)]


def _word(text: str, x: float) -> list[str]:
    anchor = "start" if x < 24 else "end" if x > WIDTH - 24 else "middle"
    return [f'<text x="{x:.1f}" y="{HEIGHT - 2:.0f}" text-anchor="{anchor}">{text}</text>']

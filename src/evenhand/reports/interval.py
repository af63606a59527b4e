"""A finding's interval as a strip of SVG: tolerance, equality, interval, estimate, on a shared axis.

Positions are percentages in attributes: right at every width, on paper, and without script or `style`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evenhand._headline import State, state_of
from evenhand._model import Finding
from evenhand._wording import deciding, null_of, short

HEIGHT, MIDDLE = 20, 10
PAD = 2.0
"""Percent left free at either end."""
APART = 13.0
"""Percent between two printed ticks."""

GLYPHS: dict[State, str] = {
    "disparity": '<path class="solid" d="M0-5.5 5.5 0 0 5.5-5.5 0z"/>',
    "gap": '<path class="open" d="M0-5.5 5.5 0 0 5.5-5.5 0z"/><path class="solid" d="M0-5.5V5.5L-5.5 0z"/>',
    "inconclusive": '<circle class="open" r="4.5"/>',
    "within tolerance": '<path class="solid" d="M-4.5-4.5h9v9h-9z"/>',
    "not judged": '<path class="solid" d="M-5-1h10v2h-10z"/>',
    "described": '<circle class="solid" r="3"/>',
}
"""State → its mark, centred on nothing: told apart by shape as well as by colour."""


def tone(state: str) -> str:
    """The class of a state's colour."""
    return state.replace(" ", "-")


def glyph(state: State) -> str:
    """The mark beside a word."""
    return (
        f'<svg class="icon {tone(state)}" viewBox="-7 -7 14 14" aria-hidden="true" focusable="false">'
        f"{GLYPHS[state]}</svg>"
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Ruler:
    """The stretch of a contrast's scale that all findings of a column share, so that rows can be compared."""

    low: float
    high: float
    log: bool = False

    def place(self, value: float) -> float:
        """Where `value` lies, in percent of the width; outside values stop at the margin."""
        a, b, v = self.low, self.high, value
        if self.log:
            a, b, v = math.log(a), math.log(b), math.log(v) if v > 0 else -math.inf
        share = (v - a) / (b - a)
        return PAD + min(1.0, max(0.0, share)) * (100 - 2 * PAD)


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


def strip(finding: Finding, axis: Ruler) -> str:
    """The SVG; empty where there is no estimate. The same numbers stand beside it as text."""
    e = finding.estimate
    if e.value is None:
        return ""
    null = axis.place(null_of(e.contrast))
    parts = [*_band(finding.tolerance, axis), _line("null", null, null, 0, HEIGHT)]
    low, high = deciding(finding)
    if (low, high) != (None, None):
        left = axis.place(low) if low is not None else PAD
        right = axis.place(high) if high is not None else 100 - PAD
        parts.append(_line("bar", left, right, MIDDLE, MIDDLE))
        parts += [_arrow(left, -1)] if low is None or low < axis.low else []
        parts += [_arrow(right, 1)] if high is None or high > axis.high else []
    state = state_of(finding)
    mark = f'<svg x="{axis.place(e.value):.2f}%" y="{MIDDLE}" overflow="visible">{GLYPHS[state]}</svg>'
    return _svg(f"strip {tone(state)}", HEIGHT, [*parts, mark])


def empty_strip(tolerance: tuple[float, float] | None, contrast: str, axis: Ruler) -> str:
    """Tolerance and equality alone: what the row of a reference shows."""
    null = axis.place(null_of(contrast))
    return _svg("strip described", HEIGHT, [*_band(tolerance, axis), _line("null", null, null, 0, HEIGHT)])


def scale(
    tolerance: tuple[float, float] | None,
    contrast: str,
    axis: Ruler,
    *,
    times: float = 1.0,
    apart: float = APART,
) -> str:
    """The axis of a column: the tolerance's ends and equality by name, then its own ends, as far as there is
    room."""
    bounds = [b for b in tolerance or () if math.isfinite(b)]
    near = [*bounds, null_of(contrast), *_round_ends(axis)]
    placed: list[tuple[float, str]] = []
    for value in near:
        at = axis.place(value)
        if all(abs(at - other) >= apart for other, _ in placed):
            placed.append((at, short(round(times * value, 9))))
    words = [
        f'<text x="{at:.2f}%" y="11" text-anchor="{"start" if at < 6 else "end" if at > 94 else "middle"}">'
        f"{text}</text>"
        for at, text in placed
    ]
    return _svg("scale", 14, words)


def _round_ends(axis: Ruler) -> list[float]:
    """A round number near either end of the axis."""
    found = []
    for end, inwards in ((axis.low, math.ceil), (axis.high, math.floor)):
        size = abs(end) or 1.0
        step = 10.0 ** (math.floor(math.log10(size)))
        step = step / 10 if axis.log else step / 2
        found.append(inwards(end / step) * step)
    return [v for v in found if axis.low <= v <= axis.high and (not axis.log or v > 0)]


def _svg(names: str, height: int, parts: Sequence[str]) -> str:
    return (
        f'<svg class="{names}" width="100%" height="{height}" aria-hidden="true" focusable="false">'
        f"{''.join(parts)}</svg>"
    )


def _line(name: str, x1: float, x2: float, y1: float, y2: float) -> str:
    return f'<line class="{name}" x1="{x1:.2f}%" x2="{x2:.2f}%" y1="{y1:g}" y2="{y2:g}"/>'


def _arrow(x: float, side: int) -> str:
    """Where the interval goes on beyond the strip."""
    path = f'<path class="tip" d="M{-5 * side}-4L0 0 {-5 * side} 4"/>'
    return f'<svg x="{x:.2f}%" y="{MIDDLE}" overflow="visible">{path}</svg>'


def _band(tolerance: tuple[float, float] | None, axis: Ruler) -> list[str]:
    if tolerance is None:
        return []
    a, b = (axis.place(t) if math.isfinite(t) else (PAD, 100 - PAD)[t > 0] for t in tolerance)
    return [f'<rect class="band" x="{a:.2f}%" y="1" width="{max(b - a, 0.3):.2f}%" height="{HEIGHT - 2}"/>']

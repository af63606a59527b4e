"""The largest of several gaps: one claim about all of them, at the price of having been picked.

Beyond the tolerance if one of them surely is; within it only if every one is (intersection–union, Berger &
Hsu 1996).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evenhand._estimate import At, Evidence
from evenhand._model import Span
from evenhand.measures.row import null_of
from evenhand.stats.interval import Alternative


def span_at(part: Evidence, level: float) -> Span | None:
    """The interval of a component at a level, if it has one."""
    return None if part.interval is None else part.interval(level)


@dataclass(frozen=True, kw_only=True)
class Gaps:
    """Components of a maximum, and how large the largest of them can be.

    Args:
        parts: those with an interval. each: the interval of one that holds for all of them at a level.
        ratio: gaps are ratios, told as the smaller over the larger. flipped: they are told the other way
            round, as negative differences, or as ratios above 1.
    """

    parts: Sequence[Evidence]
    each: Callable[[Evidence, float], Span | None]
    ratio: bool
    flipped: bool

    def sized(self, level: float, *, within: bool = False) -> Span | None:
        """(smallest, largest): the largest simultaneous lower bound, the largest unadjusted upper bound.

        Args:
            within: whether the upper bound is that of what must lie inside the tolerance (missing data).
        """
        near = [_near(s, self.ratio) for part in self.parts if (s := self.each(part, level)) is not None]
        ends = [part.inside(level) if within and part.inside else span_at(part, level) for part in self.parts]
        far = [_far(s, self.ratio) for s in ends if s is not None]
        if not near or not far:
            return None
        return (min(far), max(min(near), min(far))) if self.ratio else (min(max(near), max(far)), max(far))

    def ends(self, level: float) -> Span | None:
        """The interval of the maximum, on the side of no difference where it is told."""
        found = self.sized(level)
        if found is None or not self.flipped:
            return found
        low, high = found
        return (1.0 / high, _over(low)) if self.ratio else (-high, 0.0 - low)

    def inside(self, level: float) -> Span | None:
        """What must lie inside the tolerance: the largest gap, in either direction."""
        found = self.sized(level, within=True)
        if found is None:
            return None
        return (found[0], _over(found[0])) if self.ratio else (-found[1], found[1])


def largest(
    parts: Sequence[Evidence],
    measure: str,
    *,
    simultaneous: Callable[[Evidence, float], Span | None] | None = None,
    p_value: float | None = None,
    tests: int | None = None,
    turned: bool = False,
) -> Evidence:
    """The largest of several gaps as evidence. Shown is the component whose gap is largest in units of its
    error.

    A component without an interval forbids `within tolerance`, and is named.

    Args:
        measure: what the maximum is called. simultaneous: interval of a component that holds for all of them;
            Bonferroni's by default. p_value: of the whole; Bonferroni's by default.
        tests: what the choice costs, the number of parts by default. turned: whether the sides may change
            places, so that a difference is told as a positive one and a ratio as the smaller over the
            larger; not where they are held against a reference.
    """
    known = [part for part in parts if part.interval is not None and part.estimate.value is not None]
    if len(parts) == 1 or not known:
        return parts[0]
    count = tests or len(parts)
    ratio = known[0].estimate.contrast == "ratio"
    each = simultaneous or (lambda part, level: span_at(part, 1.0 - (1.0 - level) / count))
    shown = _deciding(known, each, ratio)
    if turned and _backwards(shown) != ratio:
        shown = _turned(shown)
    gaps = Gaps(parts=known, each=each, ratio=ratio, flipped=_backwards(shown) != ratio)
    ps = [part.estimate.p_value for part in known if part.estimate.p_value is not None]
    at: tuple[At, At] = gaps.ends, gaps.inside
    if known[0].alternative != "two-sided":
        at = _furthest(known, each, known[0].alternative)
    whole = p_value if p_value is not None else min(1.0, min(ps) * count) if ps else None
    plain = at[0](shown.estimate.level)
    missing = [part.estimate.group for part in parts if part not in known]
    alone = None
    if any(part.known is not None for part in parts):
        alone = largest(
            [part.known or part for part in parts],
            measure,
            simultaneous=simultaneous,
            tests=tests,
            turned=turned,
        )
    return replace(
        shown,
        interval=at[0],
        inside=at[1],
        log=ratio and shown.log,
        incomplete=f"{', '.join(missing[:5])} ({shown.estimate.measure})" if missing else None,
        tests=count,
        needed=shown.needed or next((p.needed for p in known if p.inside is not None), None),
        known=alone,
        doubt=max((p.doubt for p in parts if p.doubt is not None), key=lambda d: d.rows, default=None),
    ).with_estimate(
        measure=measure,
        low=None if plain is None else plain[0],
        high=None if plain is None else plain[1],
        p_value=whole,
        method=f"{shown.estimate.method}; the largest of {len(parts)} gaps: one end corrected for the choice,"
        " the other that of every gap",
    )


def _furthest(
    parts: Sequence[Evidence], each: Callable[[Evidence, float], Span | None], alternative: Alternative
) -> tuple[At, At]:
    """Intervals of the largest gap in a declared direction, and of what must lie inside: no gap is larger."""

    def ends(near: Sequence[Span], far: Sequence[Span]) -> Span | None:
        if not near or not far:
            return None
        if alternative == "less":
            return min(low for low, _ in far), min(high for _, high in near)
        return max(low for low, _ in near), max(high for _, high in far)

    def spans(found: Sequence[Span | None]) -> list[Span]:
        return [span for span in found if span is not None]

    def outer(level: float) -> Span | None:
        return ends(spans([each(p, level) for p in parts]), spans([span_at(p, level) for p in parts]))

    def inside(level: float) -> Span | None:
        far = [p.inside(level) if p.inside else span_at(p, level) for p in parts]
        return ends(spans([each(p, level) for p in parts]), spans(far))

    return outer, inside


def _deciding(
    parts: Sequence[Evidence], each: Callable[[Evidence, float], Span | None], ratio: bool
) -> Evidence:
    """The component that is shown to be furthest apart; of equally far ones the strongest."""

    def apart(part: Evidence) -> tuple[float, float]:
        span = each(part, part.estimate.level)
        if part.alternative != "two-sided":
            sign = 1.0 if part.alternative == "greater" else -1.0
            end = None if span is None else span[0] if sign > 0 else -span[1]
            return -np.inf if end is None else end, sign * (part.estimate.value or 0.0)
        near = (1.0 if ratio else 0.0) if span is None else _near(span, ratio)
        return -near if ratio else near, _strength(part)

    return max(parts, key=apart)


def _over(value: float) -> float:
    return 1.0 / value if value > 0 else float("inf")


def _near(span: Span, ratio: bool) -> float:
    """The smallest gap in an interval, whichever its direction; ratios as the smaller over the larger."""
    low, high = span
    if ratio:
        return high if high < 1 else 1.0 / low if low > 1 else 1.0
    return low if low > 0 else -high if high < 0 else 0.0


def _far(span: Span, ratio: bool) -> float:
    """The largest gap in an interval, whichever its direction."""
    low, high = span
    if ratio:
        return min(max(low, 0.0), 1.0 / high if high > 0 else 0.0)
    return max(abs(low), abs(high))


def _strength(part: Evidence) -> float:
    """The gap in units of the arm of its interval that points to no difference."""
    e, null = part.estimate, null_of(part.estimate.contrast)
    if e.value is None or e.low is None or e.high is None:
        return -1.0
    arm = e.value - e.low if e.value > null else e.high - e.value
    if e.contrast == "ratio" and e.value > 0 and e.low > 0:
        arm = abs(float(np.log(e.value / e.low))) if e.value > 1 else abs(float(np.log(e.high / e.value)))
        return abs(float(np.log(e.value))) / max(arm, 1e-300)
    return abs(e.value - null) / max(arm, 1e-300)


def _backwards(part: Evidence) -> bool:
    """A negative difference, or a ratio below 1."""
    return (part.estimate.value or 0.0) < null_of(part.estimate.contrast)


def _turned(part: Evidence) -> Evidence:
    """The same gap told from the other side."""
    e = part.estimate
    value = e.value or 0.0
    return replace(
        part.with_estimate(
            group=e.reference,
            reference=e.group,
            value=(1.0 / value if value else None) if e.contrast == "ratio" else -value,
            statistic=None if e.statistic is None else -e.statistic,
            n_group=e.n_reference,
            n_reference=e.n_group,
        ),
        sides=None if part.sides is None else (part.sides[1], part.sides[0]),
    )

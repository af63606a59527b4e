"""An inference as an estimate, with everything that the judge needs.

`Evidence` is an estimate together with what its verdict is made of: its interval at any level that a family
of claims asks for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from evenhand._model import Estimate, Span
from evenhand.measures.row import null_of
from evenhand.stats.interval import Alternative, Inference, check_alternative, quantile

At: TypeAlias = Callable[[float], Span | None]
"""Level → interval; None where there is none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Doubt:
    """What is not known of some rows, in words.

    Args:
        rows: how many rows. method: what an interval that allows for it is made over. none: why there is
            none.
        held: what is said where the verdict is the same without it. lost: the rest of a sentence on a verdict
            that does not survive it; alone: who would have given that verdict.
    """

    rows: int
    method: str
    none: str
    held: str
    alone: str
    lost: str


def without_group(rows: int) -> Doubt:
    """Rows of which nobody knows the group."""
    some = f"the {rows:,} rows without a group"
    return Doubt(
        rows=rows,
        method=f"over every group that {rows} rows without one may have",
        none=f"{rows} rows have no group",
        held=f"This allows for every group that {some} may belong to.",
        alone="The rows whose group is known",
        lost=f"that does not survive the worst case of {some}",
    )


def by_chance(people: int) -> Doubt:
    """Rows of which only the chances of each group are known."""
    return Doubt(
        rows=people,
        method="over chances as weights and chances corrected for misclassification",
        none="groups are known by chances only",
        held="Groups are known by chances only: this holds with chances as weights and corrected for"
        " misclassification.",
        alone="Chances as weights",
        lost="that does not survive the correction for misclassification",
    )


def by_chance_of_names(names: int) -> Doubt:
    """Names that are of each group by chances, and listed under one of them."""
    return Doubt(
        rows=names,
        method="over names as they are listed and corrected for the chance that they are of another group",
        none="names are of their groups by chances only",
        held="Names are of their groups by chances only: this holds with the names as they are listed and"
        " corrected for the chance that they are of another group.",
        alone="The names as they are listed",
        lost="that does not survive the correction for the chance that they are of another group",
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """An estimate and what its verdict is made of.

    Args:
        estimate: what the reader sees.
        interval: the two-sided interval at a level: outside the tolerance, or beside no difference, it shows
            a gap. inside: the interval that must lie inside the tolerance where another one does (maxima).
        se, df, log: standard error, degrees of freedom, and whether they are those of the logarithm: what the
            power of the verdict is computed from.
        tests: how many gaps it was picked from.
        alternative: the direction that was declared beforehand; the other one is not looked for.
        incomplete: what could not be compared, in words; it forbids `within tolerance`, and nothing else.
        rests_on: what carries the estimate, in words.
        needed: more than what is at hand, what would decide, in words.
        sides: the two summaries that were compared, for those who look closer.
        known: the same of the rows whose group is known, where all of this allows for any group of
            others; `doubt` says which, and `missing` is what the sentence adds.
    """

    estimate: Estimate
    interval: At | None = None
    inside: At | None = None
    se: float | None = None
    df: float | None = None
    log: bool = False
    tests: int = 1
    alternative: Alternative = "two-sided"
    incomplete: str | None = None
    rests_on: str | None = None
    needed: str | None = None
    sides: tuple[Any, Any] | None = None
    known: Evidence | None = None
    doubt: Doubt | None = None
    missing: str = ""

    def with_estimate(self, **changes: Any) -> Evidence:
        """A copy whose estimate has some fields changed."""
        return replace(self, estimate=self.estimate.with_(**changes))


def directed(item: Evidence, alternative: Alternative) -> Evidence:
    """The same claim about one direction, declared beforehand: its p is that of one tail.

    The estimate keeps its two-sided interval; what the verdict is read from is one-sided (`_judge.spans`).

    Raises:
        UsageError: `bad-alternative`.

    >>> e = Estimate(measure="m", contrast="difference", group="a", reference="b", value=0.3, p_value=0.02)
    >>> [directed(Evidence(estimate=e), side).estimate.p_value for side in ("greater", "less")]
    [0.01, 0.99]
    """
    check_alternative(alternative)
    e = item.estimate
    if alternative == "two-sided":
        return item
    p = e.p_value
    if p is not None and e.value is not None:
        towards = e.value > null_of(e.contrast) if alternative == "greater" else e.value < null_of(e.contrast)
        p = p / 2 if towards else 1.0 - p / 2
    known = None if item.known is None else directed(item.known, alternative)
    said = f"{e.method} (p one-sided: {alternative})" if e.method else ""
    return replace(item, alternative=alternative, known=known).with_estimate(p_value=p, method=said)


def evidence(
    estimate: Estimate, inference: Inference, at: Callable[[float], Inference] | None = None
) -> Evidence:
    """An inference as an estimate with its verdict numbers.

    Its ``detail`` may hold `needed`, and `slack`: how far down and up missing data could move the value.

    Args:
        at: the same inference at another level; by default its interval is stretched as a t (or normal)
            interval would be, on the log scale where its standard error is that of the logarithm.
    """
    log = inference.detail.get("scale_of_se") == "log"
    filled = estimate.with_(
        value=inference.value,
        low=inference.low,
        high=inference.high,
        level=inference.level,
        statistic=_statistic(inference, log),
        df=inference.df,
        p_value=inference.p_value,
        method=inference.method,
        why_not=inference.why_not,
    )
    known = inference.low is not None and inference.high is not None
    interval: At | None = None
    if known:
        interval = (lambda level: stretched(inference, level, log)) if at is None else _span(at)
    slack = inference.detail.get("slack", (0.0, 0.0))
    return Evidence(
        estimate=filled,
        interval=interval,
        inside=None if interval is None or max(slack) <= 0 else _slackened(interval, slack),
        se=inference.se,
        df=inference.df,
        log=log,
        needed=inference.detail.get("needed"),
    )


def _statistic(found: Inference, log: bool) -> float | None:
    """Value ÷ standard error, where the standard error is of this very value."""
    if found.value is None or not found.se or found.low is None:
        return None
    if log:
        return math.log(found.value) / found.se if found.value > 0 else None
    return found.value / found.se


def _span(at: Callable[[float], Inference]) -> At:
    def span(level: float) -> Span | None:
        found = at(level)
        return None if found.low is None or found.high is None else (found.low, found.high)

    return span


def _slackened(interval: At, slack: Span) -> At:
    """The interval that must lie inside the tolerance, where part of the data is missing."""

    def span(level: float) -> Span | None:
        found = interval(level)
        return None if found is None else (found[0] - slack[0], found[1] + slack[1])

    return span


def stretched(found: Inference, level: float, log: bool = False) -> Span | None:
    """The interval of an inference at another level, each arm by the ratio of the quantiles.

    >>> tuple(round(v, 3) for v in stretched(Inference(value=1.0, low=0.0, high=2.0, level=0.95), 0.99))
    (-0.314, 2.314)
    """
    if found.value is None or found.low is None or found.high is None:
        return None
    by = quantile(0.5 + level / 2, found.df) / quantile(0.5 + found.level / 2, found.df)
    if log and found.low > 0:
        low, value, high = (math.log(v) for v in (found.low, found.value, found.high))
        return math.exp(value - by * (value - low)), math.exp(value + by * (high - value))
    return found.value - by * (found.value - found.low), found.value + by * (found.high - found.value)


@dataclass(frozen=True, kw_only=True, slots=True)
class Extremes:
    """What an inference becomes at either end of what is not known of the groups.

    Args:
        doubt: what is not known. low, high: level → inference, or None where no worst case is known.
    """

    doubt: Doubt
    low: Callable[[float], Inference] | None = None
    high: Callable[[float], Inference] | None = None


def over(known: Inference, lowest: Inference, highest: Inference, null: float) -> Inference:
    """An inference that holds at the lowest of all assignments, at the highest, and between.

    Its interval reaches from the lower end at the one to the upper end at the other; p is 1 where no
    difference lies between the two values, else that of the nearer one.
    """
    ends = [i for i in (known, lowest, highest) if i.low is not None and i.high is not None]
    if len(ends) < 3:
        why = next((i.why_not for i in (lowest, highest, known) if i.low is None and i.why_not), None)
        return Inference(value=known.value, level=known.level, method=known.method, why_not=why)
    values = [i.value for i in ends if i.value is not None]
    ps = [i.p_value for i in ends if i.p_value is not None]
    apart = min(values) > null or max(values) < null
    return Inference(
        value=known.value,
        low=min(i.low for i in ends if i.low is not None),
        high=max(i.high for i in ends if i.high is not None),
        p_value=(max(ps) if apart else 1.0) if ps else None,
        level=known.level,
        method=known.method,
    )


def allowing(made: Evidence, ends: Extremes, null: float) -> Evidence:
    """Evidence that holds whichever groups the rows without one belong to.

    Source: Horowitz & Manski (2000), Nonparametric analysis of randomized experiments with missing covariate
    and outcome data.
    """
    e, inner, low, high = made.estimate, made.interval, ends.low, ends.high
    if inner is None or e.value is None:
        return made
    nothing = replace(made, interval=None, inside=None, se=None, known=made, doubt=ends.doubt)
    nothing = nothing.with_estimate(low=None, high=None, p_value=None, statistic=None, df=None)
    if low is None or high is None:
        why = f"{ends.doubt.none}, and no worst case of this measure is known"
        return nothing.with_estimate(why_not=why)

    def span(level: float) -> Span | None:
        all_known, lowest, highest = inner(level), low(level), high(level)
        if all_known is None or lowest.low is None or highest.high is None:
            return None
        return min(all_known[0], lowest.low), max(all_known[1], highest.high)

    alone = inner(e.level) or (None, None)
    known = Inference(value=e.value, low=alone[0], high=alone[1], p_value=e.p_value, level=e.level)
    whole = over(known, low(e.level), high(e.level), null)
    if whole.low is None:
        why = f"{ends.doubt.none}: at the worst case there is no interval"
        return nothing.with_estimate(why_not=why)
    told = nothing.with_estimate(
        low=whole.low, high=whole.high, p_value=whole.p_value, method=f"{e.method}; {ends.doubt.method}"
    )
    slack = [f.detail.get("slack", (0.0, 0.0)) for f in (low(e.level), high(e.level))]
    return replace(told, interval=span, inside=_inside(made, span, slack))


def _inside(made: Evidence, whole: At, slack: Sequence[Span]) -> At | None:
    """What must lie inside the tolerance where part of the data is missing as well."""
    down, up = max(s[0] for s in slack), max(s[1] for s in slack)
    own = made.inside
    if own is None and max(down, up) <= 0:
        return None
    wide = _slackened(whole, (down, up))

    def span(level: float) -> Span | None:
        found = [own(level) if own is not None else None, wide(level)]
        known = [each for each in found if each is not None]
        if len(known) < 1 + (own is not None):
            return None
        return min(each[0] for each in known), max(each[1] for each in known)

    return span

"""An inference as an estimate, with everything that the judge needs.

`Evidence` is an estimate together with what its verdict is made of: its interval at any level that a family
of claims asks for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from evenhand._model import Estimate, Span
from evenhand.stats.interval import Inference, quantile

At: TypeAlias = Callable[[float], Span | None]
"""Level → interval; None where there is none."""


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
        incomplete: what could not be compared, in words; it forbids `within tolerance`, and nothing else.
        rests_on: what carries the estimate, in words.
        needed: more than what is at hand, what would decide, in words.
        sides: the two summaries that were compared, for those who look closer.
    """

    estimate: Estimate
    interval: At | None = None
    inside: At | None = None
    se: float | None = None
    df: float | None = None
    log: bool = False
    tests: int = 1
    incomplete: str | None = None
    rests_on: str | None = None
    needed: str | None = None
    sides: tuple[Any, Any] | None = None

    def with_estimate(self, **changes: Any) -> Evidence:
        """A copy whose estimate has some fields changed."""
        return replace(self, estimate=self.estimate.with_(**changes))


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

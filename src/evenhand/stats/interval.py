"""What every procedure of this folder returns: a number, its interval, its p-value, or why there is none."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, get_args

from scipy.special import ndtr, ndtri, stdtr, stdtrit

from evenhand._errors import UsageError

Alternative: TypeAlias = Literal["two-sided", "greater", "less"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Inference:
    """An estimated number and its uncertainty.

    Args:
        value: the estimate, on the scale of the scores; None where it cannot be computed.
        low, high: bounds of the interval at `level`; the open side of a one-sided interval is None.
        p_value: against the null that the procedure names; two-sided unless `method` says otherwise.
        se: standard error. df: degrees of freedom of its t distribution, None for a normal one.
        level: of the interval, e.g. 0.95.
        method: how, in words.
        why_not: reason where value, interval or p-value is missing.
        detail: further numbers, e.g. the components of the variance.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    se: float | None = None
    df: float | None = None
    level: float = 0.95
    method: str = ""
    why_not: str | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """NaN and infinity become None: undefined is a named state."""
        for name in ("value", "low", "high", "p_value", "se", "df"):
            number = getattr(self, name)
            if number is not None:
                object.__setattr__(self, name, float(number) if math.isfinite(number) else None)
        if self.value is None and not self.why_not:
            object.__setattr__(self, "why_not", "undefined for these data")

    @property
    def statistic(self) -> float | None:
        """value / se, where both exist and se is not zero."""
        return None if self.value is None or not self.se else self.value / self.se

    def with_(self, **changes: Any) -> Inference:
        """A copy with some fields changed."""
        return replace(self, **changes)


def check_level(level: float) -> float:
    """`level` if it lies strictly between 0 and 1, else UsageError (`bad-level`)."""
    if not 0.0 < level < 1.0:
        raise UsageError(
            "bad-level", "the confidence level is outside (0, 1)", given=level, expected="for example 0.95"
        )
    return level


def check_alternative(alternative: Alternative) -> Alternative:
    """`alternative` if it is one, else UsageError (`bad-alternative`)."""
    if alternative not in get_args(Alternative):
        known = list(get_args(Alternative))
        raise UsageError("bad-alternative", "unknown alternative", given=alternative, available=known)
    return alternative


def quantile(probability: float, df: float | None) -> float:
    """Quantile of Student's t with `df` degrees of freedom, or of the normal where df is None.

    >>> round(quantile(0.975, 10), 4), round(quantile(0.975, None), 4)
    (2.2281, 1.96)
    """
    return float(ndtri(probability) if df is None else stdtrit(df, probability))


def tail(statistic: float, df: float | None, alternative: Alternative = "two-sided") -> float:
    """p-value of a t (df given) or z (df None) statistic.

    >>> round(tail(2.2281, 10), 4), round(tail(-1.0, None, "less"), 4)
    (0.05, 0.1587)
    """

    def below(x: float) -> float:
        return float(ndtr(x) if df is None else stdtr(df, x))

    if alternative == "two-sided":
        return min(1.0, 2.0 * below(-abs(statistic)))
    return below(statistic if alternative == "less" else -statistic)


def bounds(value: float, se: float, *, df: float | None = None, level: float = 0.95) -> tuple[float, float]:
    """value ± quantile · se, two-sided.

    >>> tuple(round(b, 2) for b in bounds(1.0, 0.5))
    (0.02, 1.98)
    """
    reach = se * quantile(0.5 + level / 2, df)
    return value - reach, value + reach


def from_standard_error(
    value: float,
    se: float,
    *,
    df: float | None = None,
    level: float = 0.95,
    method: str = "",
    null: float = 0.0,
    alternative: Alternative = "two-sided",
    detail: Mapping[str, Any] | None = None,
) -> Inference:
    """Interval and p-value of an estimate whose (value − truth)/se follows t(df), or a normal where df is
    None.

    Raises:
        UsageError: `bad-level`, `bad-alternative`.

    >>> i = from_standard_error(2.0, 1.0, df=10)
    >>> round(i.low, 3), round(i.high, 3), round(i.p_value, 3)
    (-0.228, 4.228, 0.073)
    """
    check_level(level)
    check_alternative(alternative)
    detail = detail or {}
    if not (math.isfinite(value) and math.isfinite(se)):
        return Inference(level=level, method=method, why_not="not a finite number", detail=detail)
    if se <= 0.0:
        why = "no variation between the units: the sampling error cannot be estimated"
        return Inference(value=value, se=0.0, df=df, level=level, method=method, why_not=why, detail=detail)
    reach = se * quantile(0.5 + level / 2 if alternative == "two-sided" else level, df)
    return Inference(
        value=value,
        low=None if alternative == "less" else value - reach,
        high=None if alternative == "greater" else value + reach,
        p_value=tail((value - null) / se, df, alternative),
        se=se,
        df=df,
        level=level,
        method=method + ("" if alternative == "two-sided" else f" (one-sided: {alternative})"),
        detail=detail,
    )


def mover(
    parts: Sequence[tuple[float, float, float]], weights: Sequence[float], *, added: bool = False
) -> tuple[float, float, float]:
    """(value, low, high) of Σ c·θ of independent estimates from their own intervals: arms add as squares.

    Args:
        parts: (value, low, high) of each. weights: c. added: arms add as they are, which holds however the
            estimates depend on each other if all intervals hold at once.

    Source: Zou & Donner (2008), Construction of confidence limits about effect measures.

    >>> tuple(round(v, 3) for v in mover([(0.5, 0.2, 0.9), (0.3, 0.1, 0.4)], [1, -1]))
    (0.2, -0.116, 0.647)
    """
    down = [
        c * (v - low) if c > 0 else -c * (high - v) for c, (v, low, high) in zip(weights, parts, strict=True)
    ]
    up = [
        c * (high - v) if c > 0 else -c * (v - low) for c, (v, low, high) in zip(weights, parts, strict=True)
    ]
    value = sum(c * v for c, (v, _, _) in zip(weights, parts, strict=True))
    below, above = (sum(arms) if added else math.hypot(*arms) for arms in (down, up))
    return value, value - below, value + above

"""Rates of two groups: hits of trials from a cell's sums, their ratio and their difference."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.audits.predictions.cells import Cell
from evenhand.stats.interval import Inference
from evenhand.stats.moments import Moments
from evenhand.stats.rates import fisher_exact, katz, miettinen_nurminen, newcombe

MOST_FISHER = 100_000
"""Rows up to which Fisher's test is exact; beyond, the score test agrees with it."""


def hits(m: Moments, term: str) -> tuple[float, float]:
    """(selected, rows); with weights the effective numbers."""
    n = m.n_effective
    return min(max(m.means[term], 0.0), 1.0) * n if m.weight > 0 else 0.0, n


def rate_ratio(
    x: float, n: float, y: float, m: float, level: float, *, exact: bool, counted: bool
) -> Inference:
    """Ratio of two rates: Katz's interval, Miettinen–Nurminen's where a rate is 0 or 1.

    Args:
        exact: p by Fisher's test, for margins that are fixed by design; else the pooled score test.
        counted: the numbers are whole counts.
    """
    x, n, y, m = ((round(v) if counted else v) for v in (x, n, y, m))
    score = newcombe(x, n, y, m, level=level)
    found = katz(x, n, y, m, level=level)
    if found.low is None and n > 0 and m > 0 and y > 0:
        found = miettinen_nurminen(x, n, y, m, level=level)
    if found.value is None:
        why = "nobody in the reference is selected" if n > 0 and m > 0 else "a group has no rows"
        return found.with_(why_not=why, p_value=None)
    use = exact and counted and n + m <= MOST_FISHER
    p = fisher_exact(int(x), int(n), int(y), int(m)) if use else score.p_value
    method = f"{found.method}; p by {'Fisher’s exact test' if use else 'the pooled score test'}"
    return found.with_(p_value=p, method=method)


def log_rate(x: float, n: float) -> tuple[float, float]:
    """(log of a rate, its standard error): what the log of Katz's ratio of two rates is the difference of; NaN at 0."""
    if not (x > 0 and n > 0):
        return float("nan"), float("nan")
    return float(np.log(x / n)), float(np.sqrt(max(1 / x - 1 / n, 0.0)))


def impact(term: str, *, exact: bool = True) -> Any:
    """Claim function: selection rate of the group ÷ that of the reference."""

    def infer(a: Cell, b: Cell, level: float) -> Inference:
        counted = a.moments.weight == a.moments.n and b.moments.weight == b.moments.n
        return rate_ratio(*hits(a.moments, term), *hits(b.moments, term), level, exact=exact, counted=counted)

    return infer


def rate_gap(term: str, *, exact: bool = True) -> Any:
    """Claim function: selection rate of the group − that of the reference, Newcombe's interval."""

    def infer(a: Cell, b: Cell, level: float) -> Inference:
        (x, n), (y, m) = hits(a.moments, term), hits(b.moments, term)
        counted = a.moments.weight == a.moments.n and b.moments.weight == b.moments.n
        if counted:
            x, n, y, m = (round(v) for v in (x, n, y, m))
        found = newcombe(x, n, y, m, level=level)
        if exact and counted and n > 0 and m > 0 and n + m <= MOST_FISHER:
            p = fisher_exact(int(x), int(n), int(y), int(m))
            return found.with_(p_value=p, method="Newcombe's hybrid score interval; p by Fisher’s exact test")
        return found

    return infer

"""How much a standard error of squared terms is to be widened where small samples hide their own heavy
tails."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from evenhand.stats.moments import Moments

SLOPE = 6.0
"""Chosen by simulation (docs/reference/calibration-predictions.md): 3 is too little, 10 too much."""


def kurtosis(m: Moments, square: Mapping[str, float], constant: float = 0.0) -> float:
    """E[u⁴]/E[u²]² of a u whose square is linear in the terms: u² = Σ square·t + constant. 3 for a normal u.

    >>> from evenhand.stats.moments import moments
    >>> u = np.array([-1.0, 1.0, -1.0, 1.0, 3.0])
    >>> (
    ...     round(kurtosis(moments((u**2)[None, :], ["uu"]), {"uu": 1.0}), 4),
    ...     round(float(np.mean(u**4) / np.mean(u**2) ** 2), 4),
    ... )
    (2.5148, 2.5148)
    """
    if m.weight2 <= 0 or not set(square) <= set(m.names):
        return float("nan")
    at = [m.names.index(name) for name in square]
    c = np.array(list(square.values()))
    mean = float(c @ m.sums2[at]) / m.weight2
    fourth = float(c @ m.cross[np.ix_(at, at)] @ c) / m.weight2 + 2 * constant * mean + constant**2
    second = mean + constant
    return fourth / second**2 if second > 0 else float("nan")


def of_errors(m: Moments) -> float:
    """Excess kurtosis of the errors ŷ − y, at least 0."""
    return _excess(kurtosis(m, {"yy": 1.0, "yp": -2.0, "pp": 1.0}))


def of_line(m: Moments) -> float:
    """Excess kurtosis of (ŷ − mean)·u, where u is the residual of y = a + b·ŷ, were they independent; at
    least 0.

    On the scale of one variable: K_ŷ·K_u/3 − 3.
    """
    t = m.means
    p, y = t["p"], t["y"]
    across = t["pp"] - p * p
    if not across > 0:
        return 0.0
    b = (t["yp"] - y * p) / across
    a = y - b * p
    residual = kurtosis(
        m, {"yy": 1.0, "yp": -2 * b, "pp": b * b, "y": -2 * a, "p": 2 * a * b}, constant=a * a
    )
    return _excess(kurtosis(m, {"pp": 1.0, "p": -2 * p}, constant=p * p) * residual / 3)


def widening(excess: float, n: float) -> float:
    """√(1 + 6·excess/n): by what a delta-method standard error of squared terms is multiplied.

    >>> widening(0.0, 50), round(widening(3.0, 50), 3)
    (1.0, 1.166)
    """
    return float(np.sqrt(1.0 + SLOPE * excess / n)) if n > 0 else 1.0


def _excess(value: float) -> float:
    return max(value - 3.0, 0.0) if np.isfinite(value) else 0.0

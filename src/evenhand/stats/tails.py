"""How much a standard error is to be widened where small samples hide their own heavy tails or skewness."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from evenhand.stats.moments import Moments

SLOPE = 6.0
"""Chosen by simulation (docs/reference/calibration.md): 3 is too little, 10 too much."""

Pair: TypeAlias = tuple[float, float]
BORROWED, BENT = 4.0, 2.0
"""Chosen by simulation (`tests/statistics/worlds.py`: 30 + 300 log-normal, 40 + 400 Pareto)."""
LEAST = 4
"""Observations below which a group's own spread says nothing against the pooled one."""
NOISE = 9.0
"""Squared skewness in units of its variance in a normal sample, 6/n, that says nothing yet."""
SQUARED_ERROR: Mapping[str, float] = {"yy": 1.0, "yp": -2.0, "pp": 1.0}
"""(ŷ − y)² in terms of products."""


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


def of_predictions(m: Moments) -> Pair:
    """Shape of the predictions."""
    return shape(m, {"pp": 1.0}, {"p": 1.0})


def of_residuals(m: Moments) -> Pair:
    """Shape of the errors ŷ − y."""
    return shape(m, SQUARED_ERROR, {"p": 1.0, "y": -1.0})


def of_absolute_errors(m: Moments) -> Pair:
    """Shape of |ŷ − y|."""
    return shape(m, SQUARED_ERROR, {"ae": 1.0})


def of_pinball(m: Moments) -> Pair:
    """Shape of the pinball loss, whose square is a term of its own."""
    return shape(m, {"pinball²": 1.0}, {"pinball": 1.0})


def of_score_bias(m: Moments) -> Pair:
    """Shape of s − y for a score s and an outcome of 0 or 1."""
    return shape(m, {"ss": 1.0, "sy": -2.0, "act": 1.0}, {"s": 1.0, "act": -1.0})


def of_errors(m: Moments) -> float:
    """Excess kurtosis of the errors ŷ − y, at least 0."""
    return _excess(kurtosis(m, SQUARED_ERROR))


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


def borrowing(errors: Pair, sizes: Pair, excess: float, scale: Pair = (1.0, 1.0)) -> Pair:
    """Standard errors of two groups where the smaller may lack the tail that they show together: an
    observation's own error is at least the pooled one, as far as the excess kurtosis matters at its size.

    Args:
        scale: what the errors are relative to.

    >>> borrowing((0.1, 0.2), (50, 40), 0.0)
    (0.1, 0.2)
    >>> tuple(round(x, 3) for x in borrowing((0.1, 0.2), (10, 1000), 10.0))
    (1.991, 0.2)
    """
    least = min(sizes)
    if not (excess > 0 and least > 1 and min(scale) > 0 and np.isfinite(errors).all()):
        return errors
    own = np.array(errors) / scale
    each = own**2 * sizes
    pooled = float(np.average(each, weights=np.array(sizes) - 1))
    each = each + min(1.0, excess / least) * np.maximum(pooled - each, 0.0)
    one, two = (np.sqrt(each / sizes) * scale).tolist()
    return one, two


# --- skewed means
# --------------------------------------------------------------------------------------------------------


def shape(m: Moments, square: Mapping[str, float], linear: Mapping[str, float]) -> Pair:
    """Second and third central moment of a u that is linear in the terms and whose square is too.

    >>> from evenhand.stats.moments import moments
    >>> u = np.array([0.0, 0.0, 0.0, 4.0])
    >>> shape(moments(np.stack([u, u * u]), ["u", "uu"]), {"uu": 1.0}, {"u": 1.0})
    (3.0, 6.0)
    """
    if m.weight2 <= 0 or not {*square, *linear} <= set(m.names):
        return float("nan"), float("nan")
    one, two = ([m.names.index(name) for name in part] for part in (linear, square))
    a, c = np.array(list(linear.values())), np.array(list(square.values()))
    mean, raw2 = float(a @ m.sums2[one]) / m.weight2, float(c @ m.sums2[two]) / m.weight2
    raw3 = float(a @ m.cross[np.ix_(one, two)] @ c) / m.weight2
    return raw2 - mean**2, raw3 - 3 * mean * raw2 + 2 * mean**3


def allowing_for_skewness(errors: Pair, sizes: Pair, shapes: tuple[Pair, Pair]) -> Pair:
    """Standard errors of two means, widened as far as the data are more skewed than normal ones look.

    A small sample of skewed data often lacks its tail, and then shows too small a mean and too small a
    spread at once; what the groups show together it does not lack. So a group's variance is at least the
    pooled one, as far as the pooled skewness matters at the smaller size; what skewness of the difference
    remains widens both (the leading term of the Edgeworth expansion of t, Hall 1992). Data that are not
    more skewed than three standard errors of a normal sample's skewness are left as they are, and so
    are groups of one size: there the skewness cancels, or makes Welch's t cautious.

    Args:
        sizes: observations. shapes: second and third central moment of either group.

    >>> allowing_for_skewness((0.1, 0.2), (50, 20), ((0.5, 0.0), (0.8, 0.0)))
    (0.1, 0.2)
    >>> [round(x, 3) for x in allowing_for_skewness((0.02, 0.2), (400, 10), ((0.16, 0.5), (0.4, 0.0)))]
    [0.02, 0.2]
    >>> [round(x, 3) for x in allowing_for_skewness((0.1, 0.02), (400, 10), ((4.0, 40.0), (0.004, 0.0)))]
    [0.1, 0.618]
    """
    n, m = (np.array(sizes) if min(sizes) > 1 else np.full(2, np.nan)).tolist()
    (x2, x3), (y2, y3) = shapes
    second, third = (n * x2 + m * y2) / (n + m), (n * x3 + m * y3) / (n + m)
    if not second > 0 or not np.isfinite(third):
        return errors
    v, w = n * errors[0] ** 2, m * errors[1] ** 2
    beyond = max(third**2 / second**3 - NOISE * 6 / (n + m), 0.0)
    uneven = 1.0 - min(n, m) / max(n, m)
    share = uneven * min(1.0, BORROWED * beyond / min(n, m))
    pooled = ((n - 1) * v + (m - 1) * w) / (n + m - 2)
    share = 1.0 if min(n, m) < LEAST else share
    v, w = v + share * max(pooled - v, 0.0), w + share * max(pooled - w, 0.0)
    square = v / n + w / m
    if not square > 0:
        return errors
    skewness = (x3 / n**2 - y3 / m**2) ** 2 / square**3
    chance = 6 * (v**3 / n**5 + w**3 / m**5) / square**3
    bent = float(np.sqrt(1 + BENT * uneven * max(skewness - NOISE * chance, 0.0)))
    return float(np.sqrt(v / n)) * bent, float(np.sqrt(w / m)) * bent

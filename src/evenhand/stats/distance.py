"""Distances: Wasserstein's between two distributions, and distance correlation, dependence of any shape."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from evenhand._model import FloatArray
from evenhand.stats.histogram import Scores
from evenhand.stats.interval import Inference, check_level, quantile

MOST_ROWS = 1500
PIECES = 256
"""Pieces in which distributions are redrawn, half of them of equal mass, half of equal noise, ∫√(F(1 − F)):
of mass alone a long tail would be one piece, and what chance does there lost."""
MOST_COUNTED = 1_000
"""Rows of each group up to which they are redrawn as counts; beyond, as the normal process that counts tend
to."""
FEWEST = 10
FEWEST_OF_DEPENDENCE = 50
BAND = 0.99


def wasserstein(a: Scores, b: Scores) -> float:
    """∫|F_a − F_b|, in units of the score; NaN where a group is empty."""
    if not (a.total > 0 and b.total > 0):
        return float("nan")
    gap = np.abs(np.cumsum(a.weight) / a.total - np.cumsum(b.weight) / b.total)
    return float(np.sum(gap[:-1] * np.diff(a.values)))


def wasserstein_test(a: Scores, b: Scores, *, seed: int, draws: int = 499, level: float = 0.95) -> Inference:
    """Wasserstein-1 distance; p by drawing both groups from their pooled scores; an interval that holds near
    0 too.

    The distance W = ∫|D|, D = F_a − F_b, is not smooth where D = 0, so a plain bootstrap fails there. For the
    error h of D, W_n − W ≤ ∫ s·h + ∫|h|, the first over scores where the sign s of D is known (a simultaneous
    band of h excludes 0), the second over the rest; and W ≤ W_n − ∫ s·h for any fixed signs s. The lower
    bound is W_n less the quantile of the former; the upper one adds that of the latter with either sign
    throughout the rest. h is drawn as the Brownian bridges of the two groups, on the rest those of the pooled
    scores.

    Returns:
        value, interval (from `FEWEST` rows a group; it covers at least `level`, and more near 0), p.
        ``detail``: the mean distance under equality, the noise floor.

    Source: del Barrio, Giné & Matrán (1999), Central limit theorems for the Wasserstein distance, for the
    limit in L1;
        Fang & Santos (2019), Inference on directionally differentiable functions, for the two regions.

    >>> grid = np.arange(4.0)
    >>> one = Scores(values=grid, weight=np.full(4, 5.0), weight2=np.full(4, 5.0), n=20)
    >>> i = wasserstein_test(one, one, seed=0, draws=99)
    >>> i.value, i.low, i.p_value
    (0.0, 0.0, 1.0)
    """
    check_level(level)
    method = f"Wasserstein-1 distance, p from {draws} draws of both groups from their pooled scores"
    value = wasserstein(a, b)
    if not np.isfinite(value):
        return Inference(level=level, method=method, why_not="a group has no score")
    values, parts = _pieces(a, b)
    sizes = [max(1.0, s.n_effective) for s in (a, b)]
    pooled = (a.total * parts[0] + b.total * parts[1]) / (a.total + b.total)
    width = np.diff(values)
    rng = np.random.default_rng(seed)
    normal = [rng.normal(size=(draws, len(values))) for _ in sizes]
    error = np.subtract(*(_bridge(z, pooled, n) for z, n in zip(normal, sizes, strict=True)))
    if min(sizes) > MOST_COUNTED:
        distances = np.abs(error) @ width
    else:
        counted = [rng.multinomial(max(1, round(n)), pooled, draws).cumsum(axis=1) / round(n) for n in sizes]
        distances = np.abs(np.subtract(*counted))[:, :-1] @ width
    p = (1 + int(np.sum(distances >= value - 1e-12))) / (draws + 1)
    found = Inference(
        value=value, p_value=p, level=level, method=method, detail={"noise floor": float(distances.mean())}
    )
    if min(a.n, b.n, *sizes) < FEWEST:
        return found.with_(why_not=f"under {FEWEST} rows in a group: the interval would not hold; see p")
    own = np.subtract(*(_bridge(z, q, n) for z, q, n in zip(normal, parts, sizes, strict=True)))
    gap = np.cumsum(parts[0] - parts[1])[:-1]
    below = np.cumsum(pooled)[:-1]
    se = np.sqrt(np.maximum(below * (1 - below), 1e-300) * (1 / sizes[0] + 1 / sizes[1]))
    edge = np.quantile(np.max(np.abs(error) / se, axis=1), BAND) if len(width) else 0.0
    known = np.abs(gap) > edge * se
    certain, rest = own @ (np.sign(gap) * known * width), width * ~known
    at = 0.5 + level / 2
    down = float(np.quantile(certain + np.abs(error) @ rest, at))
    side = own @ rest
    up = max(float(np.quantile(certain + sign * side, at)) for sign in (1.0, -1.0))
    return found.with_(
        low=max(0.0, value - max(0.0, down)),
        high=value + max(0.0, up),
        method=f"{method}; interval of the distance from drawn errors of the distribution functions",
    )


def _pieces(a: Scores, b: Scores) -> tuple[FloatArray, tuple[FloatArray, FloatArray]]:
    """(where each piece begins, its share of each group): the distinct scores, or `PIECES` pieces."""
    pooled = a.weight + b.weight
    some = pooled > 0
    values, share = a.values[some], pooled[some] / pooled.sum()
    starts = np.arange(len(values))
    if len(values) > PIECES:
        below = np.cumsum(share)
        noise = np.append(
            0.0, np.cumsum(np.sqrt(np.maximum(below * (1 - below), 0.0))[:-1] * np.diff(values))
        )
        even = np.linspace(0, 1, PIECES // 2 + 1)[1:-1]
        edges = [np.searchsorted(below, even), np.searchsorted(noise, even * noise[-1])]
        starts = np.unique(np.concatenate([[0], *edges]))
    one, two = (np.add.reduceat(s.weight[some], starts) / s.total for s in (a, b))
    return values[starts], (one, two)


def _bridge(normal: FloatArray, share: FloatArray, size: float) -> FloatArray:
    """(draws, pieces − 1) errors of an empirical distribution function: a Brownian bridge over the shares ÷
    √(n − 1)."""
    steps = normal * np.sqrt(share)
    steps -= share * steps.sum(axis=1, keepdims=True)
    return np.asarray(steps.cumsum(axis=1)[:, :-1] / np.sqrt(max(size - 1.0, 1.0)))


def distance_correlation(
    x: npt.ArrayLike, y: npt.ArrayLike, *, seed: int, draws: int = 499, level: float = 0.95
) -> Inference:
    """Distance correlation in [0, 1], 0 only under independence (in the limit), with a permutation p-value.

    Beyond `MOST_ROWS` rows a random sample of them is used: the statistic takes n² numbers.

    Returns:
        value, p, and from `FEWEST_OF_DEPENDENCE` rows an interval (`dependence_bounds`; it covers more than
        `level` near independence). ``detail``: the mean under independence; R, its standard error and n as
        `dependence_bounds` takes them.

    Source: Székely, Rizzo & Bakirov (2007), Measuring and testing dependence by correlation of distances;
    Székely & Rizzo
        (2013), The distance correlation t-test of independence in high dimension, for the corrected R.

    >>> t = np.linspace(-1, 1, 60)
    >>> i = distance_correlation(t, t**2, seed=0, draws=99)
    >>> i.value > 0.4, i.p_value, i.low > 0.2, i.high < 0.8
    (True, 0.01, True, True)
    """
    check_level(level)
    a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    keep = np.isfinite(a) & np.isfinite(b)
    a, b = a[keep], b[keep]
    rng = np.random.default_rng(seed)
    method = f"distance correlation, p from {draws} permutations"
    if len(a) > MOST_ROWS:
        chosen = rng.choice(len(a), MOST_ROWS, replace=False)
        a, b = a[chosen], b[chosen]
        method += f" of a random sample of {MOST_ROWS} rows"
    if len(a) < 5 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return Inference(level=level, method=method, why_not="under 5 rows, or a column that does not vary")
    one, two = _centred(a), _centred(b)
    scale = float(np.sqrt(np.sum(one * one) * np.sum(two * two)))
    value = float(np.sqrt(max(np.sum(one * two), 0.0) / scale))
    drawn = np.empty(draws)
    for i in range(draws):
        order = rng.permutation(len(a))
        drawn[i] = np.sqrt(max(float(np.vdot(one, two[np.ix_(order, order)])), 0.0) / scale)
    p = (1 + int(np.sum(drawn >= value - 1e-12))) / (draws + 1)
    found = Inference(
        value=value, p_value=p, level=level, method=method, detail={"noise floor": float(drawn.mean())}
    )
    if len(a) < FEWEST_OF_DEPENDENCE:
        return found.with_(why_not=f"under {FEWEST_OF_DEPENDENCE} rows the interval would not hold; see p")
    corrected, error = _corrected(a, b)
    low, high = dependence_bounds(corrected, error, len(a), level=level)
    method += "; interval from the bias-corrected square (Székely & Rizzo 2013)"
    detail = {**found.detail, "R": corrected, "standard error of R": error, "n": len(a)}
    # The value is biased upwards, so it may lie above a bound that is not; an interval holds its value all
    # the same.
    return found.with_(low=min(low, value), high=max(high, value), method=method, detail=detail)


def dependence_bounds(corrected: float, error: float, n: int, *, level: float) -> tuple[float, float]:
    """Interval of a distance correlation from the bias-corrected square R, which may be below 0, of n rows.

    The variance of R is that of its influence function (`error`²) and, since that vanishes with the
    dependence, 2/n² of independent columns. Under weak dependence R is a weighted mean of squared
    correlations, whose variance is at most 4R/n: the upper bound is never under the R′ that lies z standard
    errors of that kind above R.

    Source: for the expansion of R, Székely & Rizzo (2013); the bounds are checked by simulation only
        (docs/reference/calibration-predictions.md).

    >>> low, high = dependence_bounds(0.01, 0.01, 400, level=0.95)
    >>> low, round(high, 3)
    (0.0, 0.238)
    """
    z = quantile(0.5 + level / 2, None)
    r, above = min(corrected, 1 - 1e-9), min(max(corrected, 0.0), 1 - 1e-9)
    se = float(np.sqrt((error**2 + 2 / (n * (n - 3))) * n / (n - 4))) / (1 - r * r)
    low, high = np.tanh(np.arctanh(max(r, -1 + 1e-9)) - z * se), np.tanh(np.arctanh(above) + z * se)
    shift = 2 * (1 - above) ** 2 * z**2 / n
    weak = r + shift + np.sqrt(max((r + shift) ** 2 - r * r + 2 * z**2 / n**2, 0.0))
    low, high = (float(np.sqrt(np.clip(v, 0.0, 1.0))) for v in (low, max(high, weak)))
    return low, high


def _corrected(x: FloatArray, y: FloatArray) -> tuple[float, float]:
    """(bias-corrected square of the distance correlation, its standard error by the influence function)."""
    n = len(x)
    k = n * (n - 3)
    a, b = _without_bias(x), _without_bias(y)
    products = [(p * q).sum(axis=1) for p, q in ((a, b), (a, a), (b, b))]
    both, first, second = (float(p.sum()) / k for p in products)
    scale = float(np.sqrt(first * second))
    pull = [2 * (p * n / k - m) for p, m in zip(products, (both, first, second), strict=True)]
    r = both / scale
    influence = pull[0] / scale - r / 2 * (pull[1] / first + pull[2] / second)
    return r, float(influence.std(ddof=1) / np.sqrt(n))


def _without_bias(x: FloatArray) -> FloatArray:
    """U-centred distances (Székely & Rizzo 2014, definition 2)."""
    n = len(x)
    d = np.abs(x[:, None] - x[None, :])
    rows = d.sum(axis=0) / (n - 2)
    found = d - rows[None, :] - rows[:, None] + d.sum() / ((n - 1) * (n - 2))
    np.fill_diagonal(found, 0.0)
    return np.asarray(found)


def _centred(x: FloatArray) -> FloatArray:
    d = np.abs(x[:, None] - x[None, :])
    return np.asarray(d - d.mean(axis=0) - d.mean(axis=1)[:, None] + d.mean())

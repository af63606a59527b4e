"""Distance correlation: dependence of any shape between two numeric columns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from evenhand._model import FloatArray
from evenhand.stats.interval import Inference

MOST_ROWS = 1500


def distance_correlation(x: npt.ArrayLike, y: npt.ArrayLike, *, seed: int, draws: int = 499) -> Inference:
    """Distance correlation in [0, 1], 0 only under independence (in the limit), with a permutation p-value.

    Beyond `MOST_ROWS` rows a random sample of them is used: the statistic takes n² numbers.

    Returns:
        value and p; no interval, since the statistic is above 0 by chance alone (``detail``: the mean under
        independence).

    Source: Székely, Rizzo & Bakirov (2007), Measuring and testing dependence by correlation of distances.

    >>> t = np.linspace(-1, 1, 60)
    >>> i = distance_correlation(t, t**2, seed=0, draws=99)
    >>> i.value > 0.4, i.p_value
    (True, 0.01)
    """
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
        return Inference(method=method, why_not="under 5 rows, or a column that does not vary")
    one, two = _centred(a), _centred(b)
    scale = float(np.sqrt(np.sum(one * one) * np.sum(two * two)))
    value = float(np.sqrt(max(np.sum(one * two), 0.0) / scale))
    drawn = np.empty(draws)
    for i in range(draws):
        order = rng.permutation(len(a))
        drawn[i] = np.sqrt(max(float(np.vdot(one, two[np.ix_(order, order)])), 0.0) / scale)
    p = (1 + int(np.sum(drawn >= value - 1e-12))) / (draws + 1)
    why = "positive by chance alone, so it has no interval around 0; see p"
    return Inference(
        value=value, p_value=p, method=method, why_not=why, detail={"noise floor": float(drawn.mean())}
    )


def _centred(x: FloatArray) -> FloatArray:
    d = np.abs(x[:, None] - x[None, :])
    return np.asarray(d - d.mean(axis=0) - d.mean(axis=1)[:, None] + d.mean())

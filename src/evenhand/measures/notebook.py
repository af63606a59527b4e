"""The regression table of the 2022 notebook, value for value, with what is wrong in it left as it was.

docs/reference/notebook-2022.md lists every difference to the definitions that evenhand uses by default.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from evenhand._errors import DataError
from evenhand._model import BoolArray, FloatArray

NAMES: tuple[str, ...] = (
    "Concurrent Validity",
    "RMSE",
    "Disparate Impact Q90",
    "Disparate Impact Q80",
    "Disparate Impact Q50",
    "Average Score Spread",
    "Average Score Spread Q80",
    "Z-score Spread",
    "Z-score Spread Q80",
    "Adverse Impact AUC",
    "Concurrent Validity Spread",
    "RMSE Ratio",
    "Concurrent Validity Spread Q80",
    "RMSE Ratio Q80",
    "No Adverse Impact Level",
)
"""The rows of the table, in its order."""


def notebook_table(y_true: npt.ArrayLike, y_pred: npt.ArrayLike, minority: npt.ArrayLike) -> dict[str, float]:
    """The notebook's numbers for two groups; a number that is undefined is NaN.

    Args:
        y_true, y_pred: (n,) finite numbers. minority: (n,) True for group a, False for group b.

    Source: the regression notebook of 2022. Top 20 % are the last ⌊0.2·n⌋ rows of `argsort(y_pred)` (so ties
    depend on the order of rows); variances have ddof 0; the pooled variance is (n_a−1)(s_a² +
    (n_b−1)s_b²)/(n_a+n_b−2), a bracket too far; the area is a right Riemann sum over eleven thresholds; the
    level is the first of 100 quantiles from the top with an impact ratio in (0.8, 1.2).

    >>> table = notebook_table([1.0, 2, 3, 4], [1.0, 3, 2, 4], [True, False, True, False])
    >>> table["Average Score Spread"], table["Disparate Impact Q50"]
    (-2.0, 0.0)
    """
    y, p, a = np.asarray(y_true, dtype=float), np.asarray(y_pred, dtype=float), np.asarray(minority, bool)
    if not (a.any() and (~a).any()):
        raise DataError("one-group", "the notebook's table compares two groups", given="one group")
    top = np.zeros(len(p), dtype=bool)
    top[np.argsort(p)[len(p) - int(0.2 * len(p)) :]] = True
    with np.errstate(all="ignore"):
        values = [_validity(y, p), _rmse(y, p)]
        values += [_impact(p, a, np.quantile(p, q)) for q in (0.9, 0.8, 0.5)]
        values += [_spread(p, a), _spread(p[top], a[top]), _z(p, a), _z(p[top], a[top]), _area(p, a)]
        for rows in (np.ones(len(p), dtype=bool), top):
            one, two = rows & a, rows & ~a
            values.append(_validity(y[one], p[one]) - _validity(y[two], p[two]))
            values.append(float(np.divide(_rmse(y[one], p[one]), _rmse(y[two], p[two]))))
        values.append(_level(p, a))
    return dict(zip(NAMES, values, strict=True))


def _validity(y: FloatArray, p: FloatArray) -> float:
    if len(y) < 2 or np.ptp(y) == 0 or np.ptp(p) == 0:
        return math.nan
    return float(np.corrcoef(y, p)[0, 1])


def _rmse(y: FloatArray, p: FloatArray) -> float:
    return float(np.sqrt(np.mean((y - p) ** 2))) if len(y) else math.nan


def _impact(p: FloatArray, a: BoolArray, threshold: float) -> float:
    return float(np.divide(np.mean(p[a] > threshold), np.mean(p[~a] > threshold)))


def _spread(p: FloatArray, a: BoolArray) -> float:
    return float(p[a].mean() - p[~a].mean()) if a.any() and (~a).any() else math.nan


def _z(p: FloatArray, a: BoolArray) -> float:
    n_a, n_b = int(a.sum()), int((~a).sum())
    if not (n_a and n_b):
        return math.nan
    pooled = (n_a - 1) * (p[a].var() + (n_b - 1) * p[~a].var()) / np.float64(n_a + n_b - 2)
    return float(np.divide(_spread(p, a), np.sqrt(pooled)))


def _area(p: FloatArray, a: BoolArray) -> float:
    above = p[:, None] > np.quantile(p, np.linspace(1, 0, 11))[None, :]
    one, two = above[a].mean(axis=0), above[~a].mean(axis=0)
    return float(np.sum(two[1:] * np.diff(one)))


def _level(p: FloatArray, a: BoolArray) -> float:
    level = math.nan
    for q in np.linspace(1.0, 0.0, 100):
        level = float(np.quantile(p, q))
        one, two = np.mean(p[a] >= level), np.mean(p[~a] >= level)
        if two > 0 and 0.8 < one / two < 1.2:
            break
    return level

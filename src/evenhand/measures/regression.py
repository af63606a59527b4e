"""Measures of numeric predictions, each a smooth function of weighted means of per-row terms.

A measure is one entry of `MEASURES`: which terms it averages (`TERMS`) and what it makes of the means. Groups, case weights
and bootstrap replicates are rows of weights, so all of them are one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand._model import Columns, FloatArray, Measure
from evenhand.stats.moments import Means, Smooth

TERMS: Mapping[str, Callable[[Columns], FloatArray]] = {
    "p": lambda c: c["y_pred"],
    "pp": lambda c: c["y_pred"] ** 2,
    "y": lambda c: c["y_true"],
    "yy": lambda c: c["y_true"] ** 2,
    "yp": lambda c: c["y_true"] * c["y_pred"],
    "ae": lambda c: np.abs(c["y_pred"] - c["y_true"]),
    "covered": lambda c: ((c["y_low"] <= c["y_true"]) & (c["y_true"] <= c["y_high"])).astype(float),
    "width": lambda c: c["y_high"] - c["y_low"],
    "exposure": lambda c: c["exposure"],
    "pinball": lambda c: np.maximum(
        c["tau"] * (c["y_true"] - c["y_pred"]), (c["tau"] - 1) * (c["y_true"] - c["y_pred"])
    ),
}
"""Per-row terms. Squared errors follow from yy, yp and pp."""


@dataclass(frozen=True, slots=True)
class Smoothed:
    """``(columns, weights[..., n]) -> values[...]``: g of the weighted means of named terms.

    >>> rmse = Smoothed(("yy", "yp", "pp"), lambda m: (m["yy"] - 2 * m["yp"] + m["pp"]) ** 0.5)
    >>> columns = {"y_true": np.array([1.0, 2.0]), "y_pred": np.array([1.0, 4.0])}
    >>> rmse(columns, np.array([[1.0, 1.0], [0.0, 1.0]])).round(4).tolist()
    [1.4142, 2.0]
    """

    terms: tuple[str, ...]
    value: Smooth

    def __call__(self, columns: Columns, weights: FloatArray, /) -> FloatArray:
        rows = np.stack([np.asarray(TERMS[name](columns), dtype=float) for name in self.terms], axis=-1)
        w = np.asarray(weights, dtype=float)
        with np.errstate(all="ignore"):
            means = (w @ rows) / w.sum(axis=-1)[..., None]
            return np.asarray(self.value({name: means[..., i] for i, name in enumerate(self.terms)}))


def term_matrix(columns: Columns, names: Sequence[str], out: FloatArray | None = None) -> FloatArray:
    """(k, n) per-row terms, k in the order of `names`; written into `out` where it is given."""
    if out is None:
        out = np.empty((len(names), len(next(iter(columns.values())))))
    for name, row in zip(names, out, strict=True):
        row[:] = TERMS[name](columns)
    return out


def mean_squared_error(m: Means) -> Any:
    """E[(ŷ − y)²] = E[y²] − 2E[yŷ] + E[ŷ²]."""
    return m["yy"] - 2 * m["yp"] + m["pp"]


def correlation(m: Means) -> Any:
    """Pearson's r of y and ŷ."""
    top = m["yp"] - m["y"] * m["p"]
    return top / ((m["yy"] - m["y"] ** 2) * (m["pp"] - m["p"] ** 2)) ** 0.5


def slope(m: Means) -> Any:
    """Slope of the line y = a + b·ŷ."""
    return (m["yp"] - m["y"] * m["p"]) / (m["pp"] - m["p"] ** 2)


def _r2(m: Means) -> Any:
    return 1 - mean_squared_error(m) / (m["yy"] - m["y"] ** 2)


MEAN = Measure(
    name="average score", function=Smoothed(("p",), lambda m: m["p"]), needs=("y_pred",), reference="E[ŷ]"
)
SD = Measure(
    name="score standard deviation",
    function=Smoothed(("p", "pp"), lambda m: (m["pp"] - m["p"] ** 2) ** 0.5),
    needs=("y_pred",),
    reference="√(E[ŷ²] − E[ŷ]²)",
)
VALIDITY = Measure(
    name="concurrent validity",
    function=Smoothed(("y", "p", "yy", "pp", "yp"), correlation),
    needs=("y_true", "y_pred"),
    better="higher",
    reference="Pearson's r(y, ŷ)",
)
RMSE = Measure(
    name="RMSE",
    function=Smoothed(("yy", "yp", "pp"), lambda m: mean_squared_error(m) ** 0.5),
    needs=("y_true", "y_pred"),
    better="lower",
    reference="√E[(ŷ − y)²]",
)
MAE = Measure(
    name="MAE",
    function=Smoothed(("ae",), lambda m: m["ae"]),
    needs=("y_true", "y_pred"),
    better="lower",
    reference="E|ŷ − y|",
)
R2 = Measure(
    name="R²",
    function=Smoothed(("y", "yy", "yp", "pp"), _r2),
    needs=("y_true", "y_pred"),
    better="higher",
    reference="1 − E[(ŷ − y)²]/Var y, the variance that of the same rows",
)
RESIDUAL = Measure(
    name="mean residual",
    function=Smoothed(("p", "y"), lambda m: m["p"] - m["y"]),
    needs=("y_true", "y_pred"),
    reference="E[ŷ − y]: above 0 the model predicts too much",
)
SLOPE = Measure(
    name="calibration slope",
    function=Smoothed(("y", "p", "pp", "yp"), slope),
    needs=("y_true", "y_pred"),
    reference="b of the regression y = a + b·ŷ within the group; 1 where calibrated (Cox 1958)",
)
INTERCEPT = Measure(
    name="calibration level",
    function=Smoothed(("y", "p", "pp", "yp"), lambda m: m["y"] - slope(m) * m["p"]),
    needs=("y_true", "y_pred"),
    reference="the outcome that y = a + b·ŷ of the group gives at the average prediction of all rows (Cox 1958)",
)
COVERAGE = Measure(
    name="interval coverage",
    function=Smoothed(("covered",), lambda m: m["covered"]),
    needs=("y_true", "y_low", "y_high"),
    better="higher",
    reference="P(low ≤ y ≤ high) of the model's prediction intervals",
)
WIDTH = Measure(
    name="interval width",
    function=Smoothed(("width",), lambda m: m["width"]),
    needs=("y_low", "y_high"),
    better="lower",
    reference="E[high − low] of the model's prediction intervals",
)
PINBALL = Measure(
    name="pinball loss",
    function=Smoothed(("pinball",), lambda m: m["pinball"]),
    needs=("y_true", "y_pred", "tau"),
    better="lower",
    reference="E[max(τ(y − ŷ), (τ − 1)(y − ŷ))] of a model of the τ-quantile (Koenker & Bassett 1978)",
)
EXPOSURE = Measure(
    name="exposure",
    function=Smoothed(("exposure",), lambda m: m["exposure"]),
    needs=("exposure",),
    better="higher",
    reference="mean of 1/log₂(1 + rank), see evenhand.measures.ranking",
)

MEASURES: tuple[Measure, ...] = (
    MEAN,
    SD,
    VALIDITY,
    RMSE,
    MAE,
    R2,
    RESIDUAL,
    SLOPE,
    INTERCEPT,
    COVERAGE,
    WIDTH,
    EXPOSURE,
    PINBALL,
)

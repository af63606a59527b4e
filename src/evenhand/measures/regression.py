"""Measures of numeric predictions, each a smooth function of weighted means of per-row terms.

A measure is one entry of `ROWS`: which terms it averages (`TERMS`), what it makes of the means, how two
groups are compared by it, and within which tolerance by default. A new one is one row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from evenhand._model import Columns, FloatArray
from evenhand.measures.contrasts import (
    correlations,
    difference,
    joint,
    ratio,
    share_gap,
    share_ratio,
)
from evenhand.measures.row import Measure, Sums
from evenhand.stats import tails
from evenhand.stats.distance import wasserstein_test
from evenhand.stats.histogram import auc, kolmogorov_smirnov
from evenhand.stats.interval import Inference
from evenhand.stats.moments import Means


def pinball_loss(c: Columns) -> FloatArray:
    """max(τ(y − ŷ), (τ − 1)(y − ŷ)) of each row."""
    over = c["y_true"] - c["y_pred"]
    return np.asarray(np.maximum(c["tau"] * over, (c["tau"] - 1) * over))


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
    "pinball": lambda c: pinball_loss(c),
    "pinball²": lambda c: pinball_loss(c) ** 2,
}
"""Per-row terms. Squared errors follow from yy, yp and pp."""


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


ROUNDING = 1e-14
"""Variance ÷ mean square that is no variance, but the rounding of sums."""


def spread(square: Any, mean: Any) -> Any:
    """Variance from a mean square and a mean; NaN where nothing varies."""
    found = square - mean**2
    return np.where(np.real(found) <= ROUNDING * np.real(square), np.nan, found)


def correlation(m: Means) -> Any:
    """Pearson's r of y and ŷ."""
    top = m["yp"] - m["y"] * m["p"]
    return top / (spread(m["yy"], m["y"]) * spread(m["pp"], m["p"])) ** 0.5


def slope(m: Means) -> Any:
    """Slope of the line y = a + b·ŷ."""
    return (m["yp"] - m["y"] * m["p"]) / spread(m["pp"], m["p"])


def _r2(m: Means) -> Any:
    return 1 - mean_squared_error(m) / spread(m["yy"], m["y"])


def cohen_d(a: Means, b: Means, n: float, m: float) -> Any:
    """(mean − mean)/s, the variance s² pooled with ddof 1 from n and m rows."""
    within = n * (a["pp"] - a["p"] ** 2) + m * (b["pp"] - b["p"] ** 2)
    return (a["p"] - b["p"]) / (within / (n + m - 2)) ** 0.5


def selected_term(q: float) -> str:
    """Name of the term that is 1 above the threshold of quantile q."""
    return f"above Q{q:g}"


PLACED = "share of the other group below"
"""The term of a bootstrap that is each row's placement in the other group, ties counted half."""


def at_quantile(q: float) -> tuple[Measure, Measure]:
    """Disparate impact and the difference of selection rates, selected being strictly above quantile q of
    everyone.

    >>> [m.name for m in at_quantile(0.8)]
    ['disparate impact at q=0.8', 'selection rate above q=0.8']
    """
    term = selected_term(q)
    return (
        Measure(
            name=f"disparate impact at q={q:g}",
            key="disparate impact",
            terms=(term,),
            of=lambda m: m[term],
            infer=share_ratio,
            contrast="ratio",
            tolerance=0.8,
            widest=True,
            worst=True,
            pooled=True,
            better="higher",
            reference="P(ŷ > Q) of the group ÷ that of the reference (29 CFR 1607.4 D); Miettinen & Nurminen"
            " (1985)",
        ),
        Measure(
            name=f"selection rate above q={q:g}",
            key="selection rate",
            terms=(term,),
            of=lambda m: m[term],
            infer=share_gap,
            tolerance=0.1,
            pooled=True,
            judged=False,
            better="higher",
            reference="P(ŷ > Q) of the group − that of the reference; Newcombe (1998), method 10",
        ),
    )


def _auc(row: Measure, a: Sums, b: Sums, level: float, seed: int) -> Inference:
    return auc(a.scores, b.scores, level=level)


def _ks(row: Measure, a: Sums, b: Sums, level: float, seed: int) -> Inference:
    return kolmogorov_smirnov(a.scores, b.scores, level=level)


def _wasserstein(row: Measure, a: Sums, b: Sums, level: float, seed: int) -> Inference:
    return wasserstein_test(a.scores, b.scores, seed=seed, level=level)


MEAN = Measure(
    name="average score",
    terms=("p",),
    of=lambda m: m["p"],
    infer=difference,
    tolerance=0.2,
    unit="sd of predictions",
    least=2,
    linear=True,
    shifts=True,
    top=True,
    widest=True,
    pooled=True,
    shape=tails.of_predictions,
    reference="E[ŷ]",
    judged=False,
)
SD = Measure(
    name="score standard deviation",
    terms=("p", "pp"),
    of=lambda m: (m["pp"] - m["p"] ** 2) ** 0.5,
    log=True,
    reference="√(E[ŷ²] − E[ŷ]²)",
)
STANDARDISED = Measure(
    name="standardised mean difference",
    terms=("p", "pp"),
    together=cohen_d,
    infer=joint,
    tolerance=0.2,
    top=True,
    worst=True,
    searched=lambda m: m["p"],
    shape=tails.of_predictions,
    reference="Cohen's d: difference of means ÷ the standard deviation pooled with ddof 1 (Cohen 1988)",
    primary=True,
)
AUC = Measure(
    name="adverse-impact AUC",
    terms=(PLACED,),
    together=lambda a, b, n, m: a[PLACED] - b[PLACED] + b[PLACED][:1],
    infer=_auc,
    by_rows=True,
    contrast="AUC",
    tolerance=0.06,
    reference="P(ŷ of the group > ŷ of the reference) + ½P(=); DeLong, DeLong & Clarke-Pearson (1988)",
    judged=False,
)
SMIRNOV = Measure(
    name="Kolmogorov–Smirnov distance",
    infer=_ks,
    by_rows=True,
    contrast="distance",
    tolerance=0.1,
    reference="max |F_a − F_b| of the predictions (Smirnov 1948)",
    judged=False,
)
WASSERSTEIN = Measure(
    name="Wasserstein distance",
    infer=_wasserstein,
    by_rows=True,
    contrast="distance",
    tolerance=0.2,
    unit="sd of predictions",
    reference="∫ |F_a − F_b| of the predictions",
    judged=False,
)
VALIDITY = Measure(
    name="concurrent validity",
    terms=("y", "p", "yy", "pp", "yp"),
    of=correlation,
    infer=correlations,
    tolerance=0.1,
    family="accuracy",
    tails=tails.of_line,
    top=True,
    better="higher",
    reference="Pearson's r(y, ŷ)",
)
RMSE = Measure(
    name="RMSE",
    terms=("yy", "yp", "pp"),
    of=lambda m: mean_squared_error(m) ** 0.5,
    infer=ratio,
    contrast="ratio",
    tolerance=0.8,
    family="accuracy",
    least=15,
    tails=tails.of_errors,
    top=True,
    better="lower",
    reference="√E[(ŷ − y)²]",
)
MAE = Measure(
    name="MAE",
    terms=("ae",),
    of=lambda m: m["ae"],
    infer=ratio,
    contrast="ratio",
    tolerance=0.8,
    family="accuracy",
    linear=True,
    better="lower",
    shape=tails.of_absolute_errors,
    reference="E|ŷ − y|",
    judged=False,
)
R2 = Measure(
    name="R²",
    terms=("y", "yy", "yp", "pp"),
    of=_r2,
    better="higher",
    reference="1 − E[(ŷ − y)²]/Var y, the variance that of the same rows",
)
RESIDUAL = Measure(
    name="mean residual",
    terms=("p", "y"),
    of=lambda m: m["p"] - m["y"],
    infer=difference,
    tolerance=0.2,
    unit="sd of outcomes",
    family="accuracy",
    least=2,
    linear=True,
    pooled=True,
    searched=lambda m: m["p"] - m["y"],
    shape=tails.of_residuals,
    reference="E[ŷ − y]: above 0 the model predicts too much",
    primary=True,
)
SLOPE = Measure(
    name="calibration slope",
    terms=("y", "p", "pp", "yp"),
    of=slope,
    infer=difference,
    tolerance=0.2,
    family="accuracy",
    least=30,
    tails=tails.of_line,
    reference="b of the regression y = a + b·ŷ within the group; 1 where calibrated (Cox 1958)",
)
INTERCEPT = Measure(
    name="calibration level",
    terms=("y", "p", "pp", "yp"),
    of=lambda m: m["y"] - slope(m) * m["p"],
    infer=difference,
    tolerance=0.2,
    unit="sd of outcomes",
    family="accuracy",
    least=30,
    tails=tails.of_line,
    shifts=True,
    reference="the outcome that y = a + b·ŷ of the group gives at the average prediction of all rows (Cox"
    " 1958)",
    judged=False,
)
COVERAGE = Measure(
    name="interval coverage",
    terms=("covered",),
    of=lambda m: m["covered"],
    infer=share_gap,
    tolerance=0.05,
    family="accuracy",
    better="higher",
    reference="P(low ≤ y ≤ high) of the model's prediction intervals",
)
WIDTH = Measure(
    name="interval width",
    terms=("width",),
    of=lambda m: m["width"],
    infer=ratio,
    contrast="ratio",
    tolerance=0.8,
    family="accuracy",
    linear=True,
    better="lower",
    reference="E[high − low] of the model's prediction intervals",
)
PINBALL = Measure(
    name="pinball loss",
    terms=("pinball",),
    shape=tails.of_pinball,
    of=lambda m: m["pinball"],
    infer=ratio,
    contrast="ratio",
    tolerance=0.8,
    family="accuracy",
    linear=True,
    better="lower",
    reference="E[max(τ(y − ŷ), (τ − 1)(y − ŷ))] of a model of the τ-quantile (Koenker & Bassett 1978)",
)
EXPOSURE = Measure(
    name="exposure",
    terms=("exposure",),
    of=lambda m: m["exposure"],
    infer=ratio,
    contrast="ratio",
    tolerance=0.8,
    linear=True,
    better="higher",
    reference="mean of 1/log₂(1 + rank), see evenhand.measures.ranking",
    primary=True,
)

ROWS: tuple[Measure, ...] = tuple(row for row in list(globals().values()) if isinstance(row, Measure))
"""Every measure of numeric predictions but those at quantiles (`at_quantile`), in the order of reports."""

"""Sensitive attributes that are numbers: association with the predictions and with the errors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from evenhand._analysis import Analysis
from evenhand._declared import Declared
from evenhand._estimate import evidence
from evenhand._judge import judge
from evenhand._model import Estimate, Exhibit, FloatArray
from evenhand.audits.predictions.rows import Rows
from evenhand.measures.contrasts import described
from evenhand.measures.row import BY_ROWS
from evenhand.stats.auc import correlation
from evenhand.stats.distance import dependence_bounds, distance_correlation
from evenhand.stats.interval import Inference

TOLERANCE = (-0.1, 0.1)
PARTS = 10


def add_continuous(rows: Rows, declared: Declared, analysis: Analysis, predicted: FloatArray) -> None:
    """Correlation and distance correlation of every continuous attribute with predictions, and with
    residuals.

    Args:
        predicted: (n,) predictions, or 0/1 for the favourable class.
    """
    targets = {"predictions": predicted}
    if "y_true" in rows.columns:
        targets["residuals"] = predicted - rows.columns["y_true"]
    for attribute, values in rows.continuous.items():
        items, bounds = [], []
        for what, target in targets.items():
            n = len(values)
            linear = partial(_correlated, rows, values, target)
            item = _estimate(f"correlation with {what}", "correlation", attribute, n)
            found = evidence(item, _plain(linear(level=declared.level)), _at(linear))
            analysis.claimed.add(item.measure)
            if declared.heads(item.measure) is False:
                items.append(found)
                bounds.append(TOLERANCE)
            else:
                analysis.primary.append((found, TOLERANCE))
            apart = distance_correlation(values, target, seed=declared.seed, level=declared.level)
            if rows.unit is not None:
                apart = described(apart, BY_ROWS)
            item = _estimate(f"distance correlation with {what}", "distance correlation", attribute, n)
            items.append(evidence(item, _plain(apart), _bounded(apart)))
            bounds.append((0.0, TOLERANCE[1]))
        analysis.findings += judge(items, tolerances=bounds, family=attribute, correction=declared.correction)
        _profile(attribute, values, targets, analysis)
    if rows.continuous and rows.weight is not None:
        analysis.note(
            "continuous-weights",
            "Correlations with continuous attributes do not use the case weights.",
            warning=True,
        )


def _correlated(rows: Rows, values: FloatArray, target: FloatArray, *, level: float) -> Inference:
    found = correlation(values, target, level=level)
    return found if rows.unit is None else described(found, BY_ROWS)


def _at(linear: Callable[..., Inference]) -> Callable[[float], Inference]:
    return lambda level: linear(level=level)


def _bounded(found: Inference) -> Callable[[float], Inference]:
    """A distance correlation at another level, from its bias-corrected value and error."""
    d = found.detail

    def at(level: float) -> Inference:
        if "R" not in d:
            return found
        low, high = dependence_bounds(d["R"], d["standard error of R"], d["n"], level=level)
        return found.with_(low=low, high=high, level=level)

    return at


def _plain(found: Inference) -> Inference:
    """The standard error of a correlation is on Fisher's scale: the interval carries it, not the verdict's
    numbers."""
    return found.with_(se=None)


def _estimate(measure: str, contrast: str, attribute: str, n: int) -> Estimate:
    return Estimate(measure=measure, contrast=contrast, group=attribute, reference="no association", n=n)


def _profile(attribute: str, values: FloatArray, targets: dict[str, FloatArray], analysis: Analysis) -> None:
    """Mean prediction (and residual) in ten parts of the attribute of equal size."""
    edges = np.unique(np.quantile(values, np.linspace(0, 1, PARTS + 1)))
    if len(edges) < 3:
        return
    place = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
    table: dict[str, list[Any]] = {k: [] for k in (attribute, "mean", "low", "high", "of", "n")}
    for what, target in targets.items():
        for part in range(len(edges) - 1):
            own = target[place == part]
            if len(own) < 2:
                continue
            mean, se = float(own.mean()), float(own.std(ddof=1) / np.sqrt(len(own)))
            row = (
                float(values[place == part].mean()),
                mean,
                mean - 1.96 * se,
                mean + 1.96 * se,
                what,
                len(own),
            )
            for name, value in zip(table, row, strict=True):
                table[name].append(value)
    analysis.exhibits[f"profile over {attribute}"] = Exhibit(
        title=f"Predictions over {attribute}",
        columns=table,
        note=f"Mean within parts of {attribute} of equal size, with 95 % intervals part by part.",
        chart="band",
        encode={"x": attribute, "y": "mean", "low": "low", "high": "high", "color": "of"},
    )

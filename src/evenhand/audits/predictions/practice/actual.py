"""The gap that a model predicts beside the gap there is: who is over-predicted compared with whom."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand._analysis import Analysis
from evenhand._declared import Declared
from evenhand.audits.predictions.cells import Cell
from evenhand.measures.contrasts import difference
from evenhand.measures.regression import MEAN, RESIDUAL
from evenhand.stats.interval import Inference

ACTUAL = MEAN.with_(name="average outcome", terms=("y",), of=lambda m: m["y"], shape=None, reference="E[y]")
MOST_PAIRS = 6


def say_actual_gap(pairs: Sequence[tuple[Cell, Cell]], analysis: Analysis, declared: Declared) -> None:
    """Of each pair the predicted gap, the actual one and their difference, the gap of the mean residuals.

    Args:
        pairs: (group, reference), of which `MOST_PAIRS` are told.
    """
    for a, b in pairs[:MOST_PAIRS]:
        if "y" not in a.moments.names:
            return
        predicted, actual, over = (
            difference(row, a, b, declared.level, declared.seed) for row in (MEAN, ACTUAL, RESIDUAL)
        )
        if predicted.value is None or actual.value is None or over.low is None or over.high is None:
            continue
        told = f"{_told(predicted)}; the actual gap is {_told(actual)}"
        if over.low <= 0 <= over.high:
            meant = f"They differ by {_told(over)}, which may be chance."
        else:
            way = "over" if (over.value or 0.0) > 0 else "under"
            meant = f"The model {way}-predicts {a.label} compared with {b.label}, by {_told(over)}."
        analysis.note("actual-gap", f"{a.label} against {b.label}: the predicted gap is {told}. {meant}")


def _told(found: Inference) -> str:
    if found.value is None or found.low is None or found.high is None:
        return "not known"
    return f"{found.value:+.3g} ({100 * found.level:.0f} % interval {found.low:+.3g} to {found.high:+.3g})"

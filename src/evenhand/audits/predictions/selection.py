"""Who counts as selected in the tables of a law: above a quantile of everyone's scores, or given the favourable class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evenhand._analysis import Analysis
from evenhand.audits.predictions.cells import selected_term
from evenhand.audits.predictions.class_cells import ClassSource, positive_label
from evenhand.audits.predictions.compare import Settings
from evenhand.audits.predictions.law import Tally, add_law, tally_of_cells, tally_of_rows
from evenhand.audits.predictions.rows import Rows, crossed
from evenhand.audits.predictions.sources import Source
from evenhand.stats.histogram import weighted_quantile


def law_quantiles(law: str | None, quantiles: Sequence[float]) -> Sequence[float]:
    """The quantiles of the scores at which the tables of a law are made: Local Law 144 names the median."""
    return () if law is None else (0.5,) if law == "ll144" else quantiles


def law_of_rows(
    rows: Rows, law: str, quantiles: Sequence[float], settings: Settings, analysis: Analysis
) -> None:
    """The tables of scores in memory."""
    p, at = rows.columns["y_pred"], law_quantiles(law, quantiles)
    attributes = dict(rows.groups)
    if len(attributes) > 1:
        attributes[" & ".join(attributes)] = crossed(attributes)
    for q, threshold in zip(at, weighted_quantile(p, at, rows.weight).tolist(), strict=True):
        tallies = {name: tally_of_rows(p > threshold, f, rows.weight) for name, f in attributes.items()}
        _at(tallies, law, q, threshold, settings, analysis, weighted=rows.weight is not None)


def law_of_cells(
    source: Source,
    law: str,
    quantiles: Sequence[float],
    settings: Settings,
    analysis: Analysis,
    *,
    weighted: bool,
) -> None:
    """The tables of scores that are held as sums."""
    for q in law_quantiles(law, quantiles):
        tallies = {
            a: tally_of_cells(source.cells(a, None), source.everyone, selected_term(q))
            for a in source.attributes
        }
        _at(tallies, law, q, source.frame.thresholds[q], settings, analysis, weighted=weighted)


def law_of_classes(
    source: ClassSource, positive: Any, law: str, settings: Settings, analysis: Analysis, *, weighted: bool
) -> None:
    """The tables of those who got the favourable class."""
    label = positive_label(source.levels, positive)
    everyone = source.everyone(label)
    add_law(
        analysis,
        law,
        {a: tally_of_cells(source.cells(label, a, None), everyone, "sel") for a in source.attributes},
        weighted=weighted,
        scored=False,
        rule=f"Selected: {label}",
        reference=settings.reference,
        level=settings.level,
    )


def _at(
    tallies: Mapping[str, Tally],
    law: str,
    q: float,
    threshold: float,
    settings: Settings,
    analysis: Analysis,
    *,
    weighted: bool,
) -> None:
    """The tables of those above one threshold."""
    what = "the median" if q == 0.5 else f"quantile {q:g}"
    add_law(
        analysis,
        law,
        tallies,
        weighted=weighted,
        scored=True,
        rule=f"Selected: a score strictly above {what} of everyone's scores, {threshold:g}",
        reference=settings.reference,
        level=settings.level,
        at="" if law == "ll144" else f" at q={q:g}",
    )

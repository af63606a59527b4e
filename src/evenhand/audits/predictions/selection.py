"""Who is selected, for the tables of a law: from the summaries that the audit has anyway."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evenhand._analysis import Analysis
from evenhand._declared import Declared
from evenhand.audits.predictions.class_cells import Labelled, positive_label
from evenhand.audits.predictions.law import add_law, tally_of_cells
from evenhand.audits.predictions.sources import Numbers
from evenhand.measures.regression import selected_term


def law_quantiles(law: str | None, quantiles: Sequence[float]) -> Sequence[float]:
    """The quantiles of the scores at which the tables of a law are made: Local Law 144 names the median."""
    return () if law is None else (0.5,) if law == "ll144" else quantiles


def law_of_numbers(
    found: Numbers,
    law: str,
    quantiles: Sequence[float],
    declared: Declared,
    analysis: Analysis,
    *,
    weighted: bool,
) -> None:
    """The tables of those above each threshold."""
    source = found.source
    for q in law_quantiles(law, quantiles):
        what = "the median" if q == 0.5 else f"quantile {q:g}"
        threshold = found.scale.thresholds[q]
        term = selected_term(q)
        add_law(
            analysis,
            law,
            {a: tally_of_cells(source.cells(a, None), source.everyone, term) for a in source.attributes},
            declared,
            weighted=weighted,
            scored=True,
            rule=f"Selected: a score strictly above {what} of everyone's scores, {threshold:g}",
            at="" if law == "ll144" else f" at q={q:g}",
        )


def law_of_labels(
    found: Labelled, positive: Any, law: str, declared: Declared, analysis: Analysis, *, weighted: bool
) -> None:
    """The tables of those who got the favourable class."""
    label = positive_label(found.levels, positive)
    source = found.against_rest(label)
    add_law(
        analysis,
        law,
        {a: tally_of_cells(source.cells(a, None), source.everyone, "sel") for a in source.attributes},
        declared,
        weighted=weighted,
        scored=False,
        rule=f"Selected: {label}",
    )

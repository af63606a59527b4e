"""Who is selected, for the tables of a law: from the summaries that the audit has anyway."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand._analysis import Analysis
from evenhand._declared import Declared
from evenhand.audits.predictions.asked import Options
from evenhand.audits.predictions.class_cells import Labelled
from evenhand.audits.predictions.practice.law import Selected, add_law, tally_of_cells
from evenhand.audits.predictions.sources import Numbers
from evenhand.measures.regression import selected_term


def law_quantiles(law: str | None, quantiles: Sequence[float]) -> Sequence[float]:
    """The quantiles of the scores at which the tables of a law are made: Local Law 144 names the median."""
    return () if law is None else (0.5,) if law == "ll144" else quantiles


def law_of_numbers(
    found: Numbers, options: Options, declared: Declared, analysis: Analysis, *, weighted: bool
) -> None:
    """The tables of those above each threshold."""
    source, law = found.source, options.law
    for q in law_quantiles(law, options.quantiles):
        what, threshold = "the median" if q == 0.5 else f"quantile {q:g}", found.scale.thresholds[q]
        term = selected_term(q)
        selected = Selected(
            tallies={
                a: tally_of_cells(source.cells(a, None), source.everyone, term) for a in source.attributes
            },
            rule=f"Selected: a score strictly above {what} of everyone's scores, {threshold:g}",
            scored=True,
            at="" if law == "ll144" else f" at q={q:g}",
        )
        add_law(analysis, law, selected, declared, weighted=weighted)


def law_of_labels(
    found: Labelled, options: Options, declared: Declared, analysis: Analysis, *, weighted: bool
) -> None:
    """The tables of those who got the favourable class."""
    label = found.favourable(options.positive)
    source = found.against_rest(label)
    every = {a: tally_of_cells(source.cells(a, None), source.everyone, "sel") for a in source.attributes}
    selected = Selected(tallies=every, rule=f"Selected: {label}")
    add_law(analysis, options.law, selected, declared, weighted=weighted)

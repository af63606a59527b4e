"""The audit of numbers: claims about every attribute, within and over strata, with the exhibits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenhand._analysis import Analysis
from evenhand._compare import (
    Claim,
    against,
    compare,
    held_equal,
    kept,
    reference_of,
    widest,
    within_strata,
    worst_subgroup,
)
from evenhand._declared import Declared
from evenhand._labels import Attribute
from evenhand.audits.predictions import exhibits
from evenhand.audits.predictions.bootstrap import add_bootstrap
from evenhand.audits.predictions.cells import Cell, all_others
from evenhand.audits.predictions.claims import number_claims, number_measures
from evenhand.audits.predictions.sources import Numbers, Source
from evenhand.audits.predictions.thresholds import add_suggestion

TINY = 5


@dataclass(frozen=True, kw_only=True)
class Options:
    """What may be asked of an audit of numbers besides its claims.

    Args:
        quantiles: of everyone's scores, above which people count as selected. measures: names of claims to
            keep.
        suggest: add the thresholds that keep the impact ratio in its band. replicates: of the bootstrap
            check.
    """

    quantiles: Sequence[float]
    measures: str | Sequence[str] = "default"
    suggest: bool = False
    replicates: int = 0


def regression(found: Numbers, declared: Declared, analysis: Analysis, options: Options) -> None:
    """Everything about numeric predictions (and rankings)."""
    source, scale = found.source, found.scale
    claims = kept(
        number_claims(scale, options.quantiles, declared, source.everyone),
        options.measures,
        hint='the table of the 2022 notebook is measures="notebook-2022"',
    )
    _notice(source.everyone, analysis)
    for attribute in source.attributes:
        cells = source.cells(attribute, None)
        _remark(cells, attribute, analysis)
        if len(cells) < 2:
            continue
        reference = reference_of(cells, attribute, declared, analysis, size=lambda c: c.moments.weight)
        analysis.findings += compare(against(cells, reference), claims, declared, family=str(attribute))
        analysis.findings += widest(cells, claims, declared, family=f"{attribute}, widest gap")
        if attribute.crossed:
            analysis.findings += worst_subgroup(cells, all_others(cells), claims, declared, attribute)
        exhibits.add_regression(analysis, found, cells, reference, declared, options.quantiles)
        if options.suggest:
            add_suggestion(analysis, scale, cells, attribute, options.quantiles, level=declared.level)
        if options.replicates:
            rows = [r for r in number_measures(scale, options.quantiles) if kept_row(r.name, claims)]
            add_bootstrap(analysis, found, attribute, reference, rows, declared, options.replicates)
        for name in source.strata:
            _strata(source, attribute, name, reference, claims, declared, analysis)


def kept_row(name: str, claims: Sequence[Claim[Cell]]) -> bool:
    """Whether a row of measures is claimed."""
    return any(c.name == name for c in claims)


def _strata(
    source: Source[Cell],
    attribute: Attribute,
    name: str,
    reference: Cell,
    claims: Sequence[Claim[Cell]],
    declared: Declared,
    analysis: Analysis,
) -> None:
    """The claims within each level of a legitimate factor, and pooled over the levels."""
    strata = []
    for level in source.strata[name]:
        cells = source.cells(attribute, (name, level))
        own = next((c for c in cells if c.label == reference.label), None)
        if own is None or len(cells) < 2:
            who = reference.label.level
            text = f"{name}={level} has no {who} or nobody else of {attribute}: not compared."
            analysis.note("empty-stratum", text)
            continue
        strata.append((f"{name}={level}", against(cells, own)))
    analysis.findings += within_strata(strata, claims, declared, attribute)
    analysis.findings += held_equal(strata, claims, declared, attribute, name)


def _remark(cells: Sequence[Cell], attribute: Attribute, analysis: Analysis) -> None:
    for c in cells:
        if c.n < TINY:
            text = (
                f"{c.label} has {c.n} row{'s' * (c.n != 1)}: what can be estimated is, the rest says why not."
            )
            analysis.note("tiny-group", text, warning=True)
    if len(cells) < 2:
        text = f"{attribute} has {len(cells)} group{'s' * (len(cells) != 1)} with rows: there is nothing to compare."
        analysis.note("one-group", text, warning=True)


def _notice(everyone: Cell, analysis: Analysis) -> None:
    scores = everyone.scores
    if int(np.count_nonzero(scores.weight)) == 1:
        value = float(scores.values[int(np.argmax(scores.weight))])
        text = f"Every prediction is {value:g}: a model that says the same of everyone shows nothing about groups."
        analysis.note("constant-predictions", text, warning=True)

"""The audit of numbers: claims about every attribute, within and over strata, with the exhibits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evenhand._analysis import Analysis
from evenhand._compare import (
    Claim,
    against,
    compare,
    kept,
    reference_of,
    widest,
    worst_subgroup,
)
from evenhand._declared import Declared
from evenhand._labels import Attribute
from evenhand._strata import held_equal, say_paradox, within_strata
from evenhand.audits.predictions import exhibits
from evenhand.audits.predictions.asked import Options, Task, is_notebook, say_task
from evenhand.audits.predictions.bootstrap import add_bootstrap
from evenhand.audits.predictions.cells import Cell, all_others
from evenhand.audits.predictions.claims import number_claims, number_measures
from evenhand.audits.predictions.continuous import add_continuous
from evenhand.audits.predictions.inputs import Input, not_streamed
from evenhand.audits.predictions.practice.absent import add_absent
from evenhand.audits.predictions.practice.actual import say_actual_gap
from evenhand.audits.predictions.practice.notebook import add_notebook
from evenhand.audits.predictions.practice.periods import over_time
from evenhand.audits.predictions.practice.selection import law_of_numbers, law_quantiles
from evenhand.audits.predictions.practice.small import without_small
from evenhand.audits.predictions.practice.thresholds import add_suggestion
from evenhand.audits.predictions.practice.unlabelled import add_unlabelled
from evenhand.audits.predictions.ranking import ranked_lists
from evenhand.audits.predictions.searched.worst import worst_of_numbers
from evenhand.audits.predictions.sources import Compared, Numbers, Source
from evenhand.audits.predictions.units import needs_groups
from evenhand.measures.ranking import exposure

TINY = 5


def numbers(
    given: Input, declared: Declared, analysis: Analysis, options: Options, *, task: Task
) -> dict[str, int]:
    """A regression, a ranking, ranked lists, or the table of the 2022 notebook; rows read, used and left
    out."""
    named, notebook, law = given.named, is_notebook(options.measures), options.law
    say_task(analysis, named, options, task)
    if notebook:
        needs_groups(named, "the notebook's table")
    if given.large is not None and (notebook or task == "ranking"):
        raise not_streamed("the notebook's table" if notebook else "a ranking")
    counts = {}
    plain = not notebook and named.lists is None
    if named.groups and (plain or law is not None):
        at = [*options.quantiles, *law_quantiles(law, options.quantiles)]
        way = -1.0 if options.first == "lowest" else 1.0
        ranked = (lambda p, w: exposure(way * p, w)) if task == "ranking" else None
        found = given.numbers([*dict.fromkeys(at)], exposed=ranked)
        counts = given.counts(found.source)
        if law is not None:
            law_of_numbers(found, options, declared, analysis, weighted=named.weight is not None)
        if plain:
            add_absent(found.source.absent, declared, analysis)
            large = without_small(found.source, options.min_group, analysis, lambda c: c.n)
            found = replace(found, source=large)
            regression(found.only(options.crossing), declared, analysis, options, period=named.period)
    if given.large is None:
        rows = given.rows()
        if notebook:
            add_notebook(analysis, rows.columns, rows.groups, declared.reference)
        elif rows.lists is not None:
            ranked_lists(rows, rows.lists, declared, analysis, options)
        if not plain:
            add_absent(rows.absent, declared, analysis)
        if named.search and plain:
            worst_of_numbers(rows, declared, analysis, options)
        add_continuous(rows, declared, analysis, rows.columns["y_pred"])
        counts = counts or given.counts_of(rows)
    return counts


def regression(
    found: Numbers, declared: Declared, analysis: Analysis, options: Options, *, period: str | None = None
) -> None:
    """Everything about numeric predictions (and rankings).

    Args:
        period: the control factor that is time.
    """
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
        own = claims if not attribute.crossed else [replace(c, primary=False) for c in claims]
        compare(against(cells, reference), own, declared, analysis, family=str(attribute))
        plain = {c.name: c for c in own if c.given is None}
        known = number_measures(scale, options.quantiles)
        told = [(row, plain[row.name]) for row in known if row.name in plain]
        add_unlabelled(analysis, against(cells, reference), told, attribute, declared)
        say_actual_gap(against(cells, reference), analysis, declared)
        widest(cells, claims, declared, analysis, family=f"{attribute}, widest gap")
        if attribute.crossed:
            worst_subgroup(cells, all_others(cells), claims, declared, analysis, attribute)
        exhibits.add_regression(analysis, found, cells, reference, declared, options.quantiles)
        of = Compared(attribute=attribute, cells=cells, reference=reference)
        if options.suggest:
            add_suggestion(analysis, scale, of, options.quantiles, level=declared.level)
        if options.replicates and cells[0].moments.units is None:
            rows = [r for r in number_measures(scale, options.quantiles) if kept_row(r.name, claims)]
            add_bootstrap(analysis, found, of, rows, declared, options.replicates)
        for name in source.strata:
            _strata(source, of, name, claims, declared, analysis, period=name == period)


def kept_row(name: str, claims: Sequence[Claim[Cell]]) -> bool:
    """Whether a row of measures is claimed."""
    return any(c.name == name for c in claims)


def _strata(
    source: Source[Cell],
    of: Compared[Cell],
    name: str,
    claims: Sequence[Claim[Cell]],
    declared: Declared,
    analysis: Analysis,
    *,
    period: bool,
) -> None:
    """The claims within each level of a legitimate factor, and pooled over the levels; or over time."""
    attribute, reference = of.attribute, of.reference
    strata = []
    for level in source.strata[name]:
        cells = source.cells(attribute, (name, level))
        own = next((c for c in cells if c.label == reference.label), None)
        if own is None or len(cells) < 2:
            who = reference.label.level
            text = f"{name}={level} has no {who} or nobody else of {attribute}: not compared."
            analysis.note("empty-stratum", text)
            continue
        strata.append((level if period else f"{name}={level}", against(cells, own)))
    if period:
        over_time(strata, claims, declared, analysis, attribute, name)
        return
    within_strata(strata, claims, declared, analysis, attribute)
    if source.everyone.moments.units is None:
        found = held_equal(strata, claims, declared, attribute, name)
        say_paradox(found, analysis, name)
        analysis.findings += found
    else:
        text = f"With {name} held equal: not pooled, since a unit may have rows in several strata."
        analysis.note("units-pooled", text)


def _remark(cells: Sequence[Cell], attribute: Attribute, analysis: Analysis) -> None:
    for c in cells:
        if c.n < TINY:
            text = (
                f"{c.label} has {c.n} row{'s' * (c.n != 1)}: what can be estimated is, the rest says why not."
            )
            analysis.note("tiny-group", text, warning=True)
    if len(cells) < 2:
        groups = f"{len(cells)} group{'s' * (len(cells) != 1)}"
        text = f"{attribute} has {groups} with rows: there is nothing to compare."
        analysis.note("one-group", text, warning=True)


def _notice(everyone: Cell, analysis: Analysis) -> None:
    scores = everyone.scores
    if int(np.count_nonzero(scores.weight)) == 1:
        value = float(scores.values[int(np.argmax(scores.weight))])
        analysis.note(
            "constant-predictions",
            f"Every prediction is {value:g}: a model that says the same of everyone shows nothing about"
            " groups.",
            warning=True,
        )

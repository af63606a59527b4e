"""What is added to an audit of predictions whose model is at hand."""

from __future__ import annotations

import numpy as np

from evenhand._analysis import Analysis
from evenhand._declared import Declared
from evenhand._model import Factor
from evenhand._table import factor, numbers
from evenhand._vocabulary import reconciled
from evenhand.audits.predictions.asked import Options, Task
from evenhand.audits.predictions.class_cells import compared_labels
from evenhand.audits.predictions.diagnosed.asking import AnswersRead, ModelAtHand
from evenhand.audits.predictions.diagnosed.flips import add_flips
from evenhand.audits.predictions.diagnosed.neighbours import add_neighbours
from evenhand.audits.predictions.diagnosed.people import KnownPeople
from evenhand.audits.predictions.diagnosed.proxies import add_proxies
from evenhand.audits.predictions.inputs import Input


def diagnose(
    asked: ModelAtHand,
    given: Input,
    declared: Declared,
    analysis: Analysis,
    options: Options,
    task: Task,
) -> None:
    """Flips of each attribute, nearest neighbours, and what gives the group away."""
    table, named = given.head(), given.named
    reading = AnswersRead()
    if task == "classification":
        true = None if named.y_true is None else factor(table, named.y_true).levels
        words = reconciled(factor(table, named.y_pred).levels, true)
        reading = AnswersRead(classes=tuple(compared_labels(words, options.positive)), words=words)
    before = reading.of(table.column(named.y_pred).to_numpy(zero_copy_only=False))
    for attribute in named.groups:
        people = _people(asked, given, attribute, options.min_group)
        if len(people.groups.levels) < 2:
            continue
        reference = declared.reference.get(attribute, "")
        if reference not in people.groups.levels:
            reference = max(people.groups.levels, key=lambda level: len(people.of(level)))
        if asked.moved(attribute):
            add_flips(asked, people, reading, reference, declared, analysis)
        else:
            text = (
                f"The model is not asked with {attribute}, so flipping it changes nothing; columns that stand"
                " for it are declared with proxies= (--proxy)."
            )
            analysis.note("not-asked-with", text)
        own = {name: values[people.rows] for name, values in before.items()}
        add_neighbours(
            asked,
            people,
            own,
            reference,
            level=declared.level,
            seed=declared.seed,
            analysis=analysis,
        )
        add_proxies(people, level=declared.level, seed=declared.seed, analysis=analysis)


def _people(asked: ModelAtHand, given: Input, attribute: str, least: int) -> KnownPeople:
    """The rows whose group is known, of groups that are compared."""
    table, named = given.head(), given.named
    groups = factor(asked.table if attribute in asked.table.column_names else table, attribute)
    usable = groups.codes >= 0
    unit = None if named.unit is None else factor(table, named.unit).codes
    weight = None if named.weight is None else numbers(table, named.weight)
    usable &= True if unit is None else unit >= 0
    usable &= True if weight is None else np.isfinite(weight) & (weight > 0)
    sizes = np.bincount(groups.codes[usable], minlength=len(groups.levels))
    kept = [code for code, size in enumerate(sizes.tolist()) if size >= max(least, 1)]
    place = np.full(len(groups.levels) + 1, -1, dtype=np.int32)
    place[kept] = np.arange(len(kept), dtype=np.int32)
    codes = place[groups.codes]
    rows = np.flatnonzero((codes >= 0) & usable)
    return KnownPeople(
        attribute=attribute,
        groups=Factor(codes[rows], tuple(groups.levels[code] for code in kept)),
        rows=rows,
        weight=None if weight is None else weight[rows],
        unit=None if unit is None else unit[rows],
        table=asked.table,
        names=asked.names,
    )

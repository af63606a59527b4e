"""How well each feature gives the group away: a proxy need not be named like what it stands for."""

from __future__ import annotations

import numpy as np

from evenhand._analysis import Analysis
from evenhand._labels import Label
from evenhand._model import BoolArray, Exhibit, Factor, FloatArray, IntArray, Scalar
from evenhand.audits.predictions.diagnosed.people import KnownPeople
from evenhand.stats.auc import auc

PARTS = 20
"""Parts of equal size that a number is cut into."""
FEWEST = 20
"""KnownPeople of a group, and others, without whom nothing is said of it."""
EVERYTHING = "all of them together"


def add_proxies(people: KnownPeople, *, level: float, seed: int, analysis: Analysis) -> None:
    """For each group against all others: the AUC of each feature, and of all but the attribute together.

    A person's score is the log odds of the group among those of the other half who share the level of the
    feature (a number is cut into parts of equal size); together they are added, as naive Bayes has it, so
    that the AUC of all of them is a lower bound of what could be told.
    """
    half = _half(people, seed)
    features = {k: v for k, v in people.features.items() if k != people.attribute}
    binned = {name: _binned(values) for name, values in features.items()}
    table: list[dict[str, Scalar]] = []
    groups = people.groups.levels[:1] if len(people.groups.levels) == 2 else people.groups.levels
    for group in groups:
        inside = people.groups.is_level(group)
        if min(inside.sum(), (~inside).sum()) < FEWEST:
            continue
        odds = {name: _odds(codes, inside, half) for name, codes in binned.items()}
        if len(odds) > 1:
            odds[EVERYTHING] = np.sum(list(odds.values()), axis=0)
        found = {name: auc(o[inside], o[~inside], level=level) for name, o in odds.items()}
        for name in sorted(found, key=lambda n: -(found[n].value or 0.0)):
            i = found[name]
            label = Label.of(people.attribute, group)
            where = name if len(groups) == 1 else f"{name}: {label.level}"
            row: dict[str, Scalar] = {"told by": where, "feature": name, "group": str(label)}
            table.append(row | {"AUC": i.value, "low": i.low, "high": i.high})
    if not table:
        return
    best = next(row for row in table if row["feature"] != EVERYTHING)
    analysis.note(
        "proxies",
        f"Of what the model is asked with, {best['feature']} tells {best['group']} from others best (AUC"
        f" {best['AUC']:.2f}; 0.5 tells nothing). A feature that gives the group away can stand in for it.",
    )
    analysis.exhibits[f"what gives {people.attribute} away"] = Exhibit.of(
        f"How well each feature tells who is of which {people.attribute}",
        table,
        note="AUC of telling the group from all others by one feature, learnt on the other half of the rows;"
        " all of them together as naive Bayes has it, which is the least that could be told."
        f" {100 * level:.0f} % intervals (DeLong).",
        chart="forest",
        encode={"y": "told by", "value": "AUC", "low": "low", "high": "high", "null": 0.5, "title": "AUC"},
    )


def _half(people: KnownPeople, seed: int) -> BoolArray:
    """(n,) one half of the people; a unit is wholly in one."""
    rng = np.random.default_rng(seed)
    if people.unit is None:
        return np.asarray(rng.permutation(len(people.rows)) % 2 == 0)
    codes = np.unique(people.unit, return_inverse=True)[1]
    return np.asarray((rng.permutation(int(codes.max()) + 1) % 2 == 0)[codes])


def _binned(values: Factor | FloatArray) -> IntArray:
    """(n,) the level of each, 0 being missing."""
    if isinstance(values, Factor):
        return np.asarray(values.codes + 1, dtype=np.int32)
    known = np.isfinite(values)
    cuts = np.unique(np.quantile(values[known], np.arange(1, PARTS) / PARTS)) if known.any() else values[:0]
    return np.where(known, 1 + np.searchsorted(cuts, values, side="left"), 0).astype(np.int32)


def _odds(codes: IntArray, inside: BoolArray, half: BoolArray) -> FloatArray:
    """(n,) log odds of being inside at the level of each, counted in the other half."""
    size = int(codes.max()) + 1
    found = np.empty(len(codes))
    for mine in (half, ~half):
        other = ~mine
        one = np.bincount(codes[other & inside], minlength=size) + 0.5
        two = np.bincount(codes[other & ~inside], minlength=size) + 0.5
        found[mine] = np.log(one / one.sum() * two.sum() / two)[codes[mine]]
    return found

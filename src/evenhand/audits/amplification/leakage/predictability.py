"""Directional predictability amplification (DPA): are the outputs' items easier to tell from the group, and
their groups easier to tell from the items, than people's are at the same accuracy?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from evenhand._analysis import Analysis
from evenhand._estimate import Evidence
from evenhand._model import BoolArray, FloatArray, IntArray
from evenhand.audits.amplification.findings import describe, difference
from evenhand.audits.amplification.leakage.attackers import FOLDS, Attackers
from evenhand.audits.amplification.leakage.corpora import (
    FEWEST,
    LabelledImages,
    LeakageDesign,
    labelled,
)
from evenhand.audits.amplification.leakage.uncertainty import over_images
from evenhand.audits.amplification.leakage.words import one_row
from evenhand.audits.amplification.prepare import Matched
from evenhand.measures.leakage import balanced_accuracy, cross_fitted, dealt_folds, influence, leaked
from evenhand.measures.predictability import (
    guessed_items,
    mistaken,
    mistaken_groups,
    mistakes,
    relative_change,
)
from evenhand.stats.few_units import allowing_for

Quality: TypeAlias = tuple[float, FloatArray]
"""How well an attacker guesses, and by how much each image moves that, with mean 0."""
ITEMS_FROM_GROUP = "predictability amplification A→T (DPA)"
GROUP_FROM_ITEMS = "predictability amplification T→A (DPA)"


@dataclass(kw_only=True)
class _Told:
    """What attackers of one direction reached: a quality a seed, and what each image does to it."""

    model: list[float] = field(default_factory=list)
    data: list[float] = field(default_factory=list)
    moved: list[tuple[FloatArray, FloatArray]] = field(default_factory=list)

    def add(self, model: Quality, data: Quality) -> None:
        """One more attacker a side."""
        self.model.append(model[0])
        self.data.append(data[0])
        self.moved.append((model[1], data[1]))


def add_predictability(
    prepared: Matched, attacked: LeakageDesign, attackers: Attackers, level: float, analysis: Analysis
) -> None:
    """Two described findings: how well items are guessed from the group, and the group from items.

    The first needs items that some outputs and some people name; the second outputs that name exactly one of
    the groups, `FEWEST` of each at least. What is not there is left out.
    """
    rng = np.random.default_rng([attackers.seed, 3])
    outputs, people = attacked.tested
    said, truth = (side.corpus.items[one_row(side, rng)] for side in (outputs, people))
    kept = _varies(said) & _varies(truth)
    said, truth = said[:, kept], truth[:, kept]
    if not kept.any():
        return
    groups, n = attacked.groups, len(attacked.groups)
    units = np.arange(n) if prepared.units is None else prepared.units.of[outputs.images]
    named, told = _named(prepared, outputs)
    to_items, to_group = _Told(), _Told()
    for k in range(attackers.seeds):
        seed, rng = attackers.seed + k, np.random.default_rng([attackers.seed, 3, k])
        wrong = mistaken(truth, mistakes(truth, said), rng)
        if _varies(wrong).all():
            places = dealt_folds(groups, units, FOLDS, seed)
            to_items.add(*(guessed_items(side, groups, places) for side in (said, wrong)))
        if named is not None:
            sides = (told, mistaken_groups(groups[named], told, rng))
            own = units[named], attackers.classifier, seed
            to_group.add(*(_told_by(truth[named], side, *own) for side in sides))
    of_named = units if named is None else units[named]
    found = [
        _evidence(name, how, own, prepared.unit, attacked.people, level)
        for name, how, own in ((ITEMS_FROM_GROUP, to_items, units), (GROUP_FROM_ITEMS, to_group, of_named))
        if len(how.model) == attackers.seeds
    ]
    analysis.findings += describe(found, "leakage")


def _varies(items: Any) -> BoolArray:
    """(k,) items that some images have and some have not."""
    there = np.asarray(items.sum(axis=0)).ravel()
    return np.asarray((there > 0) & (there < items.shape[0]))


def _named(prepared: Matched, outputs: LabelledImages) -> tuple[IntArray | None, IntArray]:
    """(rows of the images whose outputs name exactly one group, that group); None where those are too few."""
    said = labelled(prepared, outputs.corpus, outputs.corpus).among(outputs.images)
    rows = np.flatnonzero(np.isin(outputs.images, said.images))
    known = outputs.groups[rows]
    sizes = [np.bincount(codes, minlength=len(prepared.groups)) for codes in (said.groups, known)]
    return (rows if min(size.min() for size in sizes) >= FEWEST else None), said.groups


def _told_by(items: Any, groups: IntArray, units: IntArray, classifier: Any, seed: int) -> Quality:
    guessed = cross_fitted(items, groups, units=_codes(units), classifier=classifier, folds=FOLDS, seed=seed)
    right, _ = leaked(guessed, groups)
    return float(balanced_accuracy(right, groups)), influence(right, groups)


def _codes(units: IntArray) -> IntArray:
    return np.asarray(np.unique(units, return_inverse=True)[1], dtype=np.int64)


def _evidence(name: str, told: _Told, units: IntArray, unit: str, people: str, level: float) -> Evidence:
    """(Ψ_M − Ψ_D)/(Ψ_M + Ψ_D), by the delta method."""
    model, data = np.array(told.model), np.array(told.data)
    m, d = float(model.mean()), float(data.mean())
    by_model, by_data = (np.mean([moved[side] for moved in told.moved], axis=0) for side in (0, 1))
    moved = 2.0 * (d * by_model - m * by_data) / (m + d) ** 2
    method = (
        f"{len(model)} attackers, {FOLDS} folds; people's as often wrong as the outputs; guessed {m:.3f} of"
        f" the outputs, {d:.3f} of people"
    )
    found = over_images(relative_change(model, data), moved, units, level, method)
    sampled = len(np.unique(units))
    found = allowing_for(found, sampled, unit)
    return difference(
        name, found, reference=f"{people}, as often wrong", n=len(units), units={unit: sampled}
    ).with_estimate(contrast="relative change")

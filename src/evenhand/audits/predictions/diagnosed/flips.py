"""The attribute-flip diagnostic: everybody is given each group's attribute (and what is declared to go with
it), all else as it is, and the model is asked again.

It is a property of the model, not of the world: nothing that would differ with the attribute in a person's
life differs here. It is no counterfactual fairness (Kusner et al. 2017), which needs a causal model.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from evenhand._analysis import Analysis
from evenhand._declared import Declared
from evenhand._estimate import Evidence, evidence
from evenhand._judge import judge, tolerance_of
from evenhand._labels import Label
from evenhand._model import Estimate, Exhibit, FloatArray, Scalar, Span
from evenhand.audits.predictions.diagnosed.asking import AnswersRead, ModelAtHand
from evenhand.audits.predictions.diagnosed.people import KnownPeople, Places, nearest
from evenhand.measures.attribute_flip import LABELS, NUMBERS
from evenhand.stats.interval import Inference
from evenhand.stats.paired import mean_change, paired_rates
from evenhand.stats.rates import wilson


def in_everyones_place(asked: ModelAtHand, people: KnownPeople, level: str) -> dict[str, Places]:
    """Column → for each row of the table the row whose value it is given: of a group's attribute, and of its
    proxies as the nearest person of that group has them. KnownPeople of the group keep what they have."""
    moved = asked.moved(people.attribute)
    inside = people.groups.is_level(level)
    donors, outside = np.flatnonzero(inside), np.flatnonzero(~inside)
    chosen = np.full(len(outside), donors[0])
    if any(name != people.attribute for name in moved):
        chosen = nearest(people.space([*moved, people.attribute]), outside, donors)[0]
    places = np.arange(len(asked.frame))
    places[people.rows[outside]] = people.rows[chosen]
    return dict.fromkeys(moved, places)


def answers_as(
    asked: ModelAtHand, people: KnownPeople, reading: AnswersRead, level: str
) -> dict[str, FloatArray]:
    """Class (or "") → (n,) what the model answers for everybody as one group."""
    frame = asked.with_columns_of(in_everyones_place(asked, people, level))
    return {name: v[people.rows] for name, v in reading.of(asked.model.answers(frame)[0]).items()}


def add_flips(
    asked: ModelAtHand,
    people: KnownPeople,
    reading: AnswersRead,
    reference: str,
    declared: Declared,
    analysis: Analysis,
) -> None:
    """What changes for everybody between each group's attribute and the reference's."""
    row = LABELS if reading.classes else NUMBERS
    made: list[tuple[Evidence, Span | None]] = []
    table: list[dict[str, Scalar]] = []
    answers = {level: answers_as(asked, people, reading, level) for level in people.groups.levels}
    for level in people.groups.levels:
        if level == reference:
            continue
        for name, theirs in answers[level].items():
            ours = answers[reference][name]
            sides = Label.of(people.attribute, level), Label.of(people.attribute, reference)
            found = _found(people, theirs, ours, bool(reading.classes), declared.level)
            item = Estimate(
                measure=row.name,
                contrast="difference",
                group=str(sides[0]),
                reference=str(sides[1]),
                given=f"class={name}" if len(reading.classes) > 1 else None,
                n=len(theirs),
            )
            at = partial(_found, people, theirs, ours, bool(reading.classes))
            made.append((evidence(item, found, at), _tolerance(reading, ours, people, declared)))
            table.append(_line(people, sides, name, (theirs, ours), found))
    moved = " and ".join(asked.moved(people.attribute))
    name = f"{people.attribute}, attribute flip"
    analysis.claimed.add(row.name)
    if declared.heads(row.name):
        analysis.primary += made
    else:
        analysis.findings += judge(
            [item for item, _ in made],
            tolerances=[bounds for _, bounds in made],
            family=name,
            correction=declared.correction,
        )
    analysis.exhibits[f"attribute flips of {people.attribute}"] = Exhibit.of(
        f"Everybody as each group of {people.attribute}: what the model answers",
        table,
        note=f"The model is asked twice for every row, with {moved} as of either group and all else as it"
        " is. An attribute-flip diagnostic of the model, not counterfactual fairness: nothing else in a"
        f" person's life changes with it. {100 * declared.level:.0f} % intervals.",
    )


def _tolerance(
    reading: AnswersRead, ours: FloatArray, people: KnownPeople, declared: Declared
) -> Span | None:
    row = LABELS if reading.classes else NUMBERS
    given = declared.tolerance.get(row.name, row.tolerance)
    if given is None:
        return None
    if reading.classes or isinstance(given, Sequence):
        return tolerance_of(given)
    spread = float(np.sqrt(people.average((ours - people.average(ours)) ** 2)))
    return tolerance_of(given * spread) if spread > 0 else None


def _found(
    people: KnownPeople, theirs: FloatArray, ours: FloatArray, labels: bool, level: float
) -> Inference:
    changed = theirs - ours
    if labels and people.weight is None and people.unit is None:
        return paired_rates(int((changed > 0).sum()), int((changed < 0).sum()), len(changed), level=level)
    both = np.concatenate([theirs, ours])
    most = 1.0 if labels else float(np.ptp(both)) if len(both) else 1.0
    return mean_change(changed, weight=people.weight, unit=people.unit, most=most, level=level)


def _line(
    people: KnownPeople,
    sides: tuple[Label, Label],
    name: str,
    answers: tuple[FloatArray, FloatArray],
    found: Inference,
) -> dict[str, Scalar]:
    theirs, ours = answers
    share = wilson(int((theirs != ours).sum()), len(theirs), level=found.level)
    return {
        "as": str(sides[0]),
        "instead of": str(sides[1]),
        **({"class": name} if name else {}),
        "mean as": people.average(theirs),
        "mean instead": people.average(ours),
        "change": found.value,
        "low": found.low,
        "high": found.high,
        "more": int((theirs > ours).sum()),
        "less": int((theirs < ours).sum()),
        "share of rows that change": share.value,
        "share low": share.low,
        "share high": share.high,
        "rows": len(theirs),
    }

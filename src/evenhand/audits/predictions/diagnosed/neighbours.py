"""Nearest-neighbour flips: each person beside the nearest one of another group, as the model answers both."""

from __future__ import annotations

import numpy as np

from evenhand._analysis import Analysis
from evenhand._estimate import evidence
from evenhand._judge import judge
from evenhand._labels import Label
from evenhand._model import Estimate, Exhibit, FloatArray, Scalar
from evenhand.audits.predictions.diagnosed.asking import ModelAtHand
from evenhand.audits.predictions.diagnosed.people import KnownPeople, Places, nearest
from evenhand.stats.interval import Inference
from evenhand.stats.paired import mean_change

MOST_ROWS, MOST_DONORS = 5_000, 20_000
"""KnownPeople of a group who get a neighbour, and of whom one is looked for; more are sampled."""

ALIKE = 1e-6
"""Distance of two people who are alike in everything else."""


def add_neighbours(
    asked: ModelAtHand,
    people: KnownPeople,
    answers: dict[str, FloatArray],
    reference: str,
    *,
    level: float,
    seed: int,
    analysis: Analysis,
) -> None:
    """Described, without a verdict: how near is near enough is not a question of statistics.

    Args:
        answers: class (or "") → (n,) what the model answers for these people as they are.
    """
    moved = [*asked.moved(people.attribute), people.attribute]
    space = people.space(moved)
    if not space.shape[1]:
        return
    what = "predictions" if "" in answers else "decisions"
    rng = np.random.default_rng(seed)
    table: list[dict[str, Scalar]] = []
    for group in people.groups.levels:
        if group == reference:
            continue
        rows = _some(people.of(group), MOST_ROWS, rng)
        match, far = nearest(space, rows, _some(people.of(reference), MOST_DONORS, rng))
        for name, values in answers.items():
            sides = Label.of(people.attribute, group), Label.of(people.attribute, reference)
            found = _found(values, rows, match, level)
            item = Estimate(
                measure=f"nearest-neighbour gap of {what}",
                contrast="difference",
                group=str(sides[0]),
                reference=str(sides[1]),
                given=f"class={name}" if len(answers) > 1 else None,
                n=len(rows),
            )
            family = f"{people.attribute}, nearest neighbours"
            analysis.findings += judge([evidence(item, found)], family=family)
            row: dict[str, Scalar] = {"group": str(sides[0]), "neighbours": str(sides[1])}
            table.append(row | ({"class": name} if name else {}) | _line(values, rows, match, far, found))
    without = " and ".join(dict.fromkeys(moved))
    analysis.exhibits[f"nearest neighbours of {people.attribute}"] = Exhibit.of(
        f"Each person beside the nearest one of another group, by {people.attribute}",
        table,
        note=f"Nearest by everything that the model is asked with except {without}: numbers in standard"
        " deviations, a different level counts one. A neighbour may stand for several people, and is a unit"
        " of inference. Where neighbours are far away, the gap is also one of what differs between them.",
    )


def _found(values: FloatArray, rows: Places, match: Places, level: float) -> Inference:
    unit = np.unique(match, return_inverse=True)[1].astype(np.int32)
    found = mean_change(values[rows] - values[match], unit=unit, most=float(np.ptp(values)), level=level)
    return found.with_(method=f"{found.method}, neighbours as units")


def _line(
    values: FloatArray, rows: Places, match: Places, far: FloatArray, found: Inference
) -> dict[str, Scalar]:
    return {
        "mean of the group": float(values[rows].mean()),
        "mean of neighbours": float(values[match].mean()),
        "gap": found.value,
        "low": found.low,
        "high": found.high,
        "share answered otherwise": float((values[rows] != values[match]).mean()),
        "alike in all else": float((far < ALIKE).mean()),
        "median distance": float(np.median(far)),
        "rows": len(rows),
        "neighbours used": len(np.unique(match)),
    }


def _some(rows: Places, most: int, rng: np.random.Generator) -> Places:
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))

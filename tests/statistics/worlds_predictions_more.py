"""More worlds of predictions: groups that are not known, candidates who recur, rare and few, labels that are
missing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from worlds import Rng, World, groups_of, lists, rate_truth

import evenhand as eh
from evenhand._result import Result


def unknown_at_random(chance: tuple[float, float], share: float) -> Callable[[Rng], Result]:
    """2,000 + 2,000 people; a share of them does not say which group is theirs, whatever becomes of them."""

    def audit(rng: Rng) -> Result:
        group = groups_of(2000, 2000).astype(object)
        p = rng.random(4000) < np.where(group == "g0", *chance)
        group[rng.random(4000) < share] = None
        return eh.audit_predictions(
            {"group": group, "p": p}, y_pred="p", groups="group", positive="True", reference="g1"
        )

    return audit


def unknown_scores(rng: Rng) -> Result:
    """300 + 500 people alike in scores and outcomes; a quarter of one group, mostly of low scores, is unknown."""
    group = groups_of(300, 500).astype(object)
    p = rng.normal(size=800)
    y = p + rng.normal(size=800)
    group[(group == "g0") & (p < 0) & (rng.random(800) < 0.5)] = None
    return eh.audit_predictions(
        {"group": group, "p": p, "y": y}, y_pred="p", y_true="y", groups="group", reference="g1", quantiles=[0.5],
        measures=["standardised mean difference", "mean residual", "disparate impact"],
    )  # fmt: skip


def unknown_of_the_found(rng: Rng) -> Result:
    """300 + 500 people with outcomes; of those of one group who were found, 40 % are unknown."""
    group = groups_of(300, 500).astype(object)
    y = rng.random(800) < 0.4
    p = rng.random(800) < np.where(y, 0.7, 0.2)
    group[(group == "g0") & y & p & (rng.random(800) < 0.4)] = None
    rows = {"group": group, "p": p, "y": y}
    return eh.audit_predictions(rows, y_pred="p", y_true="y", groups="group", positive="True", reference="g1")


WORLDS: tuple[World, ...] = (
    World(
        name="half a per cent of groups unknown at random, rates .15 and .30",
        what="A clear disparity, and few groups that are not known: power of the headline.",
        audit=unknown_at_random((0.15, 0.30), 0.005),
        truth=rate_truth((0.15, 0.30)),
        runs=400,
        quick=40,
        power={"disparity": 0.95},
    ),
    World(
        name="half a per cent of groups unknown at random, rates .30",
        what="Equal rates of 2,000 + 2,000 people: 'within' is still found.",
        audit=unknown_at_random((0.30, 0.30), 0.005),
        runs=400,
        power={"within tolerance": 0.9},
    ),
    World(
        name="group unknown for half of one group's low scores",
        what="Numbers of equal groups, and group labels that are missing with the score.",
        audit=unknown_scores,
        runs=600,
        quick=40,
    ),
    World(
        name="group unknown for 40 % of one group's true positives",
        what="Equal error rates, and group labels that are missing with outcome and prediction.",
        audit=unknown_of_the_found,
        runs=600,
        quick=40,
    ),
    World(
        name="20 lists of the same 30 candidates, who are not declared",
        what="A column of candidates that plays no role: nothing is judged.",
        audit=lists(20, 30, 15, recurring=True, declared=False),
        runs=200,
        quick=20,
        silent=True,
    ),
    World(
        name="30 lists of the same 24 candidates, 6 of one group",
        what="Few candidates of one group, who recur with abilities of their own.",
        audit=lists(30, 24, 6, recurring=True),
    ),
    World(
        name="12 lists of the same 40 candidates, 10 of one group",
        what="Few lists of many candidates who recur.",
        audit=lists(12, 40, 10, recurring=True),
    ),
)

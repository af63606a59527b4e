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


def by_chance(people: int, rates: tuple[float, float], *, through: str) -> Callable[[Rng], Result]:
    """People whose group is known by a chance p ~ Beta(.6, .6) only; the chance of being selected depends on the
    group itself, or on p (then as much as gives both groups these rates)."""
    middle, half = BETA
    slope = (rates[0] - rates[1]) / (2 * half)
    level = rates[0] - slope * (middle + half)

    def audit(rng: Rng) -> Result:
        p = rng.beta(0.6, 0.6, people)
        own = rng.random(people) < p
        rate = np.where(own, *rates) if through == "group" else level + slope * p
        rows = {"sel": rng.random(people) < rate, "p0": p, "p1": 1 - p}
        chances = {"group": {"g0": "p0", "g1": "p1"}}
        return eh.audit_predictions(
            rows, y_pred="sel", probabilities=chances, positive="True", reference="g1"
        )

    return audit


BETA = (0.5, 0.25 / 2.2 / 0.5)
"""Of p ~ Beta(.6, .6): its mean, and how far its mean among either group is from it, Var(p) ÷ E(p)."""


WORLDS: tuple[World, ...] = (
    World(
        name="groups known by chances, rates .40 and .50 by the group itself",
        what="The impact ratio is the tolerance; weights by chance attenuate it, the correction does not.",
        audit=by_chance(1500, (0.40, 0.50), through="group"),
        truth=rate_truth((0.40, 0.50)),
        runs=600,
        quick=20,
    ),
    World(
        name="groups known by chances, rates .40 and .50 by what the chances are made of",
        what="The same, where weights by chance are right and the correction exaggerates.",
        audit=by_chance(1500, (0.40, 0.50), through="chance"),
        truth=rate_truth((0.40, 0.50)),
        runs=600,
        quick=20,
    ),
    World(
        name="groups known by chances, 60 people alike",
        what="Few people, and of most of them nobody knows the group.",
        audit=by_chance(60, (0.30, 0.30), through="group"),
        runs=600,
        quick=40,
    ),
    World(
        name="groups known by chances, rates .2 and .5",
        what="A clear disparity either way: power of the headline.",
        audit=by_chance(3000, (0.20, 0.50), through="group"),
        truth=rate_truth((0.20, 0.50)),
        runs=200,
        power={"disparity": 0.95},
    ),
    World(
        name="groups known by chances, 6,000 alike",
        what="Equal rates of .5: 'within' is still found.",
        audit=by_chance(6000, (0.50, 0.50), through="group"),
        runs=200,
        power={"within tolerance": 0.8},
    ),
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

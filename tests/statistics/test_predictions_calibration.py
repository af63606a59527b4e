"""False alarms and coverage of the predictions audit where groups are truly alike.

The claims one by one, and the band of the impact ratio; verdicts are tried in `test_calibration_grid.py`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import evenhand as eh
from evenhand._declared import Declared
from evenhand._labels import grouping
from evenhand.audits.predictions.cells import cells_of, everyone, prepare
from evenhand.audits.predictions.claims import number_claims
from evenhand.audits.predictions.rows import Rows
from evenhand.stats.curves import impact_curve
from evenhand.stats.histogram import Scores

Generator = np.random.Generator
Draw = Callable[[Generator, int], tuple[np.ndarray, np.ndarray]]


def normal(rng: Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    y = rng.normal(size=n)
    return y, 0.6 * y + rng.normal(size=n)


def skewed(rng: Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    y = rng.exponential(size=n)
    return y, 0.6 * y + rng.exponential(size=n)


def tied(rng: Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    y, p = normal(rng, n)
    return y.round(), p.round()


DRAWS: dict[str, Draw] = {"normal": normal, "skewed": skewed, "tied": tied}


def false_alarms(
    n: int, m: int, draw: Draw, runs: int, seed: int
) -> dict[tuple[str, str | None], tuple[float, float]]:
    """claim → (share of p < .05, share of intervals that cover equality)."""
    rng = np.random.default_rng(seed)
    seen: dict[tuple[str, str | None], list[tuple[bool, bool]]] = {}
    groups = eh.Factor(np.repeat([0, 1], [n, m]).astype(np.int32), ("a", "b"))
    for _ in range(runs):
        y, p = draw(rng, n + m)
        made = prepare(Rows(columns={"y_pred": p, "y_true": y}, groups={"g": groups}), [0.8, 0.5])
        a, b = cells_of(made, grouping("g", groups))
        for claim in number_claims(made.scale, [0.8, 0.5], Declared(), everyone([a, b])):
            if claim.contrast == "distance":
                continue
            found = claim.infer(a, b, 0.95)
            if found.p_value is None or found.low is None or found.high is None:
                continue
            null = {"ratio": 1.0, "AUC": 0.5}.get(claim.contrast, 0.0)
            hit = (found.p_value < 0.05, found.low <= null <= found.high)
            seen.setdefault((claim.name, claim.given), []).append(hit)
    return {
        k: (float(np.mean([f for f, _ in v])), float(np.mean([c for _, c in v])))
        for k, v in seen.items()
        if len(v) >= runs / 2
    }


def test_equal_groups_of_sixty_rarely_alarm() -> None:
    """200 runs: no claim alarms in more than 10 % (5 % and three standard errors), intervals cover in at least 90 %."""
    for measure, (alarm, cover) in false_alarms(60, 60, normal, 200, 7).items():
        assert alarm <= 0.10, measure
        assert cover >= 0.89, measure


def test_the_band_of_the_impact_ratio_holds_for_the_whole_curve() -> None:
    """150 pairs of equal groups: the band leaves 1 anywhere in about 5 %."""
    rng = np.random.default_rng(11)
    outside = 0
    for seed in range(150):
        x = rng.normal(size=400)
        grid = np.sort(x)
        where = np.argsort(np.argsort(x))
        sides = [
            np.bincount(where[part], minlength=400).astype(float) for part in (slice(150), slice(150, 400))
        ]
        a, b = (Scores(values=grid, weight=w, weight2=w, n=int(w.sum())) for w in sides)
        curve = impact_curve(a, b, seed=seed)
        outside += bool(np.any((curve.low > 1) | (curve.high < 1)))
    assert outside / 150 <= 0.10


def test_families_keep_their_error_over_many_groups_and_the_search_for_the_worst() -> None:
    """25 audits of 2 × 3 equal groups: any disparity at all, over attributes, widest gaps and worst subgroup, is rare."""
    rng = np.random.default_rng(5)
    alarms = {"attribute": 0, "widest": 0, "worst": 0}
    for _ in range(25):
        n = 240
        rows = {"p": rng.normal(size=n), "a": rng.choice(["x", "y"], n), "b": rng.choice(["u", "v", "w"], n)}
        result = eh.audit_predictions(
            rows,
            y_pred="p",
            groups=["a", "b"],
            intersections=True,
            reference={"a": "x", "b": "u"},
            quantiles=[0.5],
        )
        found = [
            f for f in result.findings if f.estimate.p_adjusted is not None and f.estimate.p_adjusted < 0.05
        ]
        alarms["attribute"] += any(f.family == "a, outcomes" for f in found)
        alarms["widest"] += any(f.family == "b, widest gap" for f in found)
        alarms["worst"] += any(f.family == "a & b, worst subgroup" for f in found)
    assert all(count <= 5 for count in alarms.values()), alarms

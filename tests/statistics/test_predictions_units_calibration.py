"""False alarms of the predictions audit where people are decided on several times, through the public door.

The quick slice runs everywhere; `-m slow` runs 2,000 audits of each world.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import evenhand as eh

CALLS: dict[str, dict[str, Any]] = {
    "numbers": {"y_pred": "p", "y_true": "y", "groups": "sex", "reference": "M", "quantiles": [0.5]},
    "labels": {"y_pred": "hired", "y_true": "able", "groups": "sex", "reference": "M"},
}


def decisions(seed: int, people: int, times: int) -> dict[str, Any]:
    """Equal groups: half of what decides is the person's, the rest is new each time."""
    rng = np.random.default_rng(seed)
    own = np.repeat(rng.normal(size=people), times)
    score = own + rng.normal(size=people * times)
    return {
        "person": np.repeat(np.arange(people), times),
        "sex": np.repeat(np.where(np.arange(people) % 2 == 0, "F", "M"), times),
        "p": score,
        "y": 0.5 * own + rng.normal(size=people * times),
        "hired": (score > 0.7).astype(int),
        "able": (own + rng.normal(size=people * times) > 0).astype(int),
    }


def false_headlines(task: str, units: Any, runs: int, *, people: int = 60, times: int = 8) -> float:
    """Share of audits of equal groups whose headline is a gap or a disparity."""
    found = 0
    for seed in range(runs):
        rows = decisions(seed, people, times)
        found += eh.audit_predictions(rows, units=units, **CALLS[task]).verdict in ("gap", "disparity")
    return found / runs


@pytest.mark.parametrize("task", CALLS)
def test_people_decided_on_eight_times_rarely_alarm(task: str) -> None:
    """120 audits of 60 people × 8: at most 5 % and two standard errors with units, and more than double that without."""
    most = 0.05 + 2 * (0.05 * 0.95 / 120) ** 0.5
    assert false_headlines(task, "person", 120) <= most
    assert false_headlines(task, False, 60) > 0.12


@pytest.mark.slow
@pytest.mark.parametrize(("people", "times"), [(60, 8), (14, 8), (200, 3)])
@pytest.mark.parametrize("task", CALLS)
def test_headlines_over_units_keep_their_error(task: str, people: int, times: int) -> None:
    """2,000 audits: at most 5 % and two standard errors have a false headline."""
    most = 0.05 + 2 * (0.05 * 0.95 / 2000) ** 0.5
    assert false_headlines(task, "person", 2000, people=people, times=times) <= most


def coverage(runs: int, size: float) -> tuple[float, int]:
    """Share of intervals of the impact ratio that cover equality where case weights go with the score, and their number."""
    covered = []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        own = rng.normal(size=400)
        rows = {"sex": np.tile(["F", "M"], 200), "w": np.exp(size * own)}
        rows |= {"p": own + rng.normal(size=400) * 0.5}
        result = eh.audit_predictions(
            rows, y_pred="p", groups="sex", reference="M", weight="w", quantiles=[0.8]
        )
        e = next(f.estimate for f in result.findings if f.estimate.measure == "disparate impact at q=0.8")
        covered += [e.low <= 1 <= e.high] if e.low is not None and e.high is not None else []
    return float(np.mean(covered)), len(covered)


def test_the_impact_ratio_covers_where_weights_go_with_the_score() -> None:
    """150 weighted audits: at least 95 % less two standard errors (81 to 89 % where Kish's number of all rows stood in)."""
    share, seen = coverage(150, 0.5)
    assert seen == 150
    assert share >= 0.95 - 2 * (0.05 * 0.95 / seen) ** 0.5

"""The chance of each verdict is computed by the rule that gives the verdicts."""

from __future__ import annotations

import math

import pytest

from evenhand._estimate import evidence
from evenhand._judge import chances, judge
from evenhand._model import Estimate
from evenhand.stats.interval import from_standard_error

RATIO = math.log(1.25)


@pytest.mark.parametrize(("rate", "n"), [(0.3, 803), (0.5, 344)])
def test_people_that_an_impact_ratio_within_four_fifths_needs(rate: float, n: int) -> None:
    """803 people a group at rate .3 and 344 at .5 are the least that show equal rates to be within, four times in five."""
    few, enough = (
        chances(0.0, math.sqrt(2 * (1 - rate) / (rate * m)), None, (-RATIO, RATIO))["within tolerance"]
        for m in (n - 1, n)
    )
    assert few < 0.8 <= enough


@pytest.mark.parametrize("df", [3, 9, 38, None])
@pytest.mark.parametrize("claims", [1, 12])
def test_the_gap_said_to_be_detectable_is_called_a_disparity_four_times_in_five(
    df: float | None, claims: int
) -> None:
    """`Finding.detectable` and the chances of a design are one promise."""
    estimate = Estimate(measure="m", contrast="difference", group="a", reference="b", value=0.0)
    found = judge(
        [evidence(estimate, from_standard_error(0.02, 0.05, df=df))] * claims, tolerance=(-0.1, 0.1)
    )[0]
    assert found.detectable is not None
    at = chances(found.detectable, 0.05, df, (-0.1, 0.1), claims=claims)
    assert at["disparity"] == pytest.approx(0.8, abs=2e-4)


@pytest.mark.parametrize("truth", [0.0, 0.05, 0.1, 0.15, 0.3])
@pytest.mark.parametrize("df", [2, 20, None])
def test_the_four_chances_are_those_of_many_samples(truth: float, df: float | None) -> None:
    """Samples of the estimate and its error, judged one by one, give the same shares."""
    import numpy as np

    rng = np.random.default_rng(7)
    runs, se, tolerance = 1000, 0.03, (-0.1, 0.1)
    told = chances(truth, se, df, tolerance, claims=3)
    assert sum(told.values()) == pytest.approx(1.0)
    estimate = Estimate(measure="m", contrast="difference", group="a", reference="b", value=0.0)
    seen = dict.fromkeys(told, 0)
    for _ in range(runs):
        error = se * (1.0 if df is None else math.sqrt(rng.chisquare(df) / df))
        item = evidence(estimate, from_standard_error(rng.normal(truth, se), error, df=df))
        verdict = judge([item] * 3, tolerance=tolerance)[0].verdict
        assert verdict is not None
        seen[verdict] += 1
    for verdict, chance in told.items():
        assert seen[verdict] / runs == pytest.approx(
            chance, abs=3 * math.sqrt(max(chance * (1 - chance), 0.001) / runs)
        )

"""The 2022 notebook's table and the corrected one, on the notebook's own test predictions."""

from __future__ import annotations

from pathlib import Path

import pytest

import evenhand as eh
from evenhand.stats.practice import four_fifths

PUBLISHED = {
    "Concurrent Validity": 0.537991,
    "RMSE": 3.973615,
    "Disparate Impact Q90": 0.751232,
    "Disparate Impact Q80": 0.525862,
    "Disparate Impact Q50": 0.949944,
    "Average Score Spread": -0.706965,
    "Average Score Spread Q80": 0.240590,
    "Z-score Spread": -0.050052,
    "Z-score Spread Q80": 0.115542,
    "Adverse Impact AUC": 0.579141,
    "Concurrent Validity Spread": 0.141491,
    "RMSE Ratio": 1.064280,
    "Concurrent Validity Spread Q80": 0.600145,
    "RMSE Ratio Q80": 1.052818,
    "No Adverse Impact Level": 15.416288510200763,
}


@pytest.fixture(scope="module")
def students(data: Path) -> Path:
    return data / "predictions" / "student_test_predictions.csv"


@pytest.fixture(scope="module")
def audited(students: Path) -> eh.Result:
    return eh.audit_predictions(students, y_true="y_true", y_pred="y_pred", groups="sex", reference="M")


def estimate(result: eh.Result, measure: str, given: str | None = None) -> eh.Estimate:
    return next(
        f.estimate for f in result.findings if f.estimate.measure == measure and f.estimate.given == given
    )


def test_the_notebook_table_is_reproduced(students: Path) -> None:
    """All fifteen numbers to the digits that the notebook printed."""
    table = eh.regression_table(
        students, y_true="y_true", y_pred="y_pred", group="sex", minority="F"
    ).to_pylist()
    assert {row["measure"]: row["value"] for row in table} == pytest.approx(PUBLISHED, abs=1e-6)


def test_the_audit_gives_the_notebook_table_on_request(students: Path) -> None:
    """measures="notebook-2022" carries the same numbers, without a verdict on any of them."""
    result = eh.audit_predictions(
        students, y_true="y_true", y_pred="y_pred", groups="sex", reference="M", measures="notebook-2022"
    )
    assert {f.estimate.measure: f.estimate.value for f in result.findings} == pytest.approx(
        PUBLISHED, abs=1e-6
    )
    assert result.verdict is None


def test_sixteen_against_eight_pupils_is_inconclusive(audited: eh.Result) -> None:
    """A disparate impact of 0.53 on so few pupils is no evidence: score interval .24 to 1.11; practice says
    Fisher p .112 and Katz .24 to 1.13."""
    found = next(f for f in audited.findings if f.estimate.measure == "disparate impact at q=0.8")
    e = found.estimate
    assert e.value == pytest.approx(0.525862, abs=1e-6)
    practice = four_fifths(8, 58, 16, 61)
    assert practice.fisher_p == pytest.approx(0.112, abs=5e-4)
    assert (practice.interval.low, practice.interval.high) == pytest.approx((0.24, 1.13), abs=5e-3)
    assert e.p_value == pytest.approx(0.0924, abs=5e-5)
    assert (e.low, e.high) == pytest.approx((0.2445, 1.1055), abs=1e-4)
    assert (e.n_group, e.n_reference) == (58, 61)
    assert found.verdict == "inconclusive"


def test_practice_statistics_stand_beside_the_ratio(audited: eh.Result) -> None:
    """Z of the difference is −1.69 for the top 20 %."""
    rows = list(audited.exhibits["selection by sex"].rows())
    female = next(r for r in rows if r["group"] == "sex=F" and r["quantile"] == 0.8)
    assert female["Z"] == pytest.approx(-1.69, abs=5e-3)
    assert female["selected"] == 8


def test_corrected_effect_sizes(audited: eh.Result) -> None:
    """Cohen's d with ddof 1, Welch's p and the Mann–Whitney AUC in the place of the notebook's own formulas."""
    d = estimate(audited, "standardised mean difference")
    assert d.value == pytest.approx(-0.252059, abs=1e-6)
    assert d.p_value == pytest.approx(0.174, abs=5e-4)
    assert estimate(audited, "adverse-impact AUC").value == pytest.approx(0.4446, abs=5e-5)
    assert estimate(audited, "average score").value == pytest.approx(-0.706965, abs=1e-6)
    assert estimate(audited, "concurrent validity").value == pytest.approx(0.141491, abs=1e-6)
    assert estimate(audited, "RMSE").value == pytest.approx(1.064280, abs=1e-6)

"""Measures and intervals against scipy, scikit-learn and statsmodels, and against figures of fairness libraries.

The figures named PEER were computed once with fairlearn 0.15.0, AIF360 0.6.1 and holisticai 1.0.14 on the same rows: ProPublica's
COMPAS file, African-American and Caucasian defendants, predicted where the decile is at least 5.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.measures import classification as cls
from evenhand.measures import indices
from evenhand.stats.distance import wasserstein
from evenhand.stats.histogram import Scores, auc, kolmogorov_smirnov, weighted_quantile
from evenhand.stats.moments import moments
from evenhand.stats.practice import four_fifths
from evenhand.stats.strata import mantel_haenszel_difference, mantel_haenszel_ratio

PEER = {
    "disparate impact": 1.6902240031631133,  # AIF360 disparate_impact, holisticai disparate_impact
    "selection rate": 0.2402002032197631,  # fairlearn demographic_parity_difference, AIF360
    "true positive rate": 0.19737296377737334,  # fairlearn equal_opportunity_difference, AIF360, holisticai
    "false positive rate": 0.21392495582112797,  # holisticai false_positive_rate_diff
    "equalised odds": 0.21392495582112797,  # fairlearn equalized_odds_difference
    "average odds": 0.20564895979925066,  # AIF360 average_odds_difference, holisticai
    "positive predictive value": 0.03837991679396058,  # −1 × AIF360 false_discovery_rate_difference
    "false omission rate": 0.06141507884362679,  # AIF360
    "accuracy": -0.03166907460917234,  # −1 × AIF360 error_rate_difference
}


@pytest.fixture(scope="module")
def compas(data: Path) -> dict[str, Any]:
    import pyarrow.csv as csv

    table = csv.read_csv(data / "predictions" / "compas_two_years.csv")
    race = np.array(table["race"].to_pylist())
    keep = np.isin(race, ["African-American", "Caucasian"])
    decile = table["decile_score"].to_numpy()[keep]
    return {
        "y": table["two_year_recid"].to_numpy()[keep],
        "p": (decile >= 5).astype(int),
        "s": decile / 10,
        "race": race[keep],
    }


@pytest.fixture(scope="module")
def audited(compas: dict[str, Any]) -> eh.Result:
    return eh.audit_predictions(
        compas, y_true="y", y_pred="p", y_score="s", groups="race", reference="Caucasian"
    )


@pytest.mark.parametrize("measure", sorted(PEER))
def test_classification_measures_equal_those_of_the_fairness_libraries(
    audited: eh.Result, measure: str
) -> None:
    """To 1e-12, on real data."""
    found = next(f.estimate for f in audited.findings if f.estimate.measure == measure)
    assert found.value == pytest.approx(PEER[measure], abs=1e-12)


def test_individual_indices_equal_those_of_aif360(compas: dict[str, Any]) -> None:
    """Theil, generalised entropy, and its part between groups."""
    selected, actual = compas["p"].astype(float), compas["y"].astype(float)
    means = {"sel": selected.mean(), "act": actual.mean(), "tp": (selected * actual).mean()}
    assert cls.THEIL.value(means) == pytest.approx(0.22764925481327447, abs=1e-12)
    assert cls.ENTROPY.value(means) == pytest.approx(0.1654350010385722, abs=1e-12)


def test_between_group_entropy_equals_that_of_aif360(audited: eh.Result) -> None:
    """Printed beside the rates."""
    assert "Between-group generalised entropy: 0.001626." in audited.exhibits["rates by race"].note


def test_differential_fairness_of_the_labels_equals_that_of_aif360(compas: dict[str, Any]) -> None:
    """Smoothed empirical differential fairness of the outcomes, concentration 1."""
    black = compas["race"] == "African-American"
    hits = np.array([compas["y"][black].sum(), compas["y"][~black].sum()], dtype=float)
    n = np.array([black.sum(), (~black).sum()], dtype=float)
    assert indices.differential_fairness(hits, n) == pytest.approx(0.26732211001191797, abs=1e-12)


def test_z_of_practice_equals_that_of_holisticai(compas: dict[str, Any]) -> None:
    """z_test_diff; the rates differ with Z = 18.45."""
    black = compas["race"] == "African-American"
    found = four_fifths(compas["p"][black].sum(), black.sum(), compas["p"][~black].sum(), (~black).sum())
    assert found.z == pytest.approx(18.450995548655428, rel=1e-9)


def test_rates_by_group_equal_those_of_scikit_learn(audited: eh.Result, compas: dict[str, Any]) -> None:
    """Confusion matrix, F1 and AUC of one group."""
    metrics = pytest.importorskip("sklearn.metrics")
    black = compas["race"] == "African-American"
    y, p, s = compas["y"][black], compas["p"][black], compas["s"][black]
    rows = {r["measure"]: r["value"] for r in audited.exhibits["rates by race"].rows() if r["group"] == "race=African-American"}  # fmt: skip
    tn, fp, fn, tp = metrics.confusion_matrix(y, p).ravel()
    assert rows["true positive rate"] == pytest.approx(tp / (tp + fn))
    assert rows["false positive rate"] == pytest.approx(fp / (fp + tn))
    assert rows["F1"] == pytest.approx(metrics.f1_score(y, p))
    assert rows["balanced accuracy"] == pytest.approx(metrics.balanced_accuracy_score(y, p))
    assert rows["Brier score"] == pytest.approx(metrics.brier_score_loss(y, s))
    gap = next(f.estimate for f in audited.findings if f.estimate.measure == "AUC within the group")
    own = metrics.roc_auc_score(y, s) - metrics.roc_auc_score(compas["y"][~black], compas["s"][~black])
    assert gap.value == pytest.approx(own, abs=1e-12)


def grid_scores(x: np.ndarray, grid: np.ndarray) -> Scores:
    counts = np.bincount(np.searchsorted(grid, x), minlength=len(grid)).astype(float)
    return Scores(values=grid, weight=counts, weight2=counts, n=len(x))


def test_distances_and_areas_equal_those_of_scipy() -> None:
    """Mann–Whitney, Kolmogorov–Smirnov and Wasserstein on tied scores."""
    from scipy import stats

    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 12, 70).astype(float), rng.integers(2, 15, 90).astype(float)
    grid = np.unique(np.concatenate([a, b]))
    one, two = grid_scores(a, grid), grid_scores(b, grid)
    u = stats.mannwhitneyu(a, b).statistic
    assert auc(one, two).value == pytest.approx(u / (70 * 90), abs=1e-12)
    ks = stats.ks_2samp(a, b, method="asymp")
    assert kolmogorov_smirnov(one, two).value == pytest.approx(ks.statistic, abs=1e-12)
    assert wasserstein(one, two) == pytest.approx(stats.wasserstein_distance(a, b), abs=1e-12)


def test_delong_from_counts_equals_delong_from_rows() -> None:
    """The mergeable form has the variance of the published one."""
    from evenhand.stats.auc import auc as by_rows

    rng = np.random.default_rng(2)
    a, b = rng.normal(0.4, 1, 40).round(1), rng.normal(0, 1, 55).round(1)
    grid = np.unique(np.concatenate([a, b]))
    mine, theirs = auc(grid_scores(a, grid), grid_scores(b, grid)), by_rows(a, b)
    assert (mine.value, mine.low, mine.high, mine.se) == pytest.approx(
        (theirs.value, theirs.low, theirs.high, theirs.se), rel=1e-9
    )


def test_welch_from_moments_equals_scipy() -> None:
    """Value, df-dependent interval and p of the mean difference."""
    from scipy import stats

    rng = np.random.default_rng(3)
    x, y = rng.normal(0, 1, 23), rng.normal(0.3, 2, 41)
    rows = {"p": np.concatenate([x, y]), "g": ["a"] * 23 + ["b"] * 41}
    e = eh.measures.average_score_difference(rows["p"], group=rows["g"], reference="b")
    t = stats.ttest_ind(x, y, equal_var=False)
    low, high = t.confidence_interval()
    assert (e.value, e.p_value, e.low, e.high) == pytest.approx(
        (x.mean() - y.mean(), t.pvalue, low, high), rel=1e-9
    )


def test_calibration_line_and_its_robust_error_equal_statsmodels() -> None:
    """The slope of y on ŷ with the heteroscedasticity-robust error (HC1 up to the n/(n−1) of the moments)."""
    sm = pytest.importorskip("statsmodels.api")
    from evenhand.measures.regression import SLOPE, term_matrix
    from evenhand.stats.moments import estimate

    rng = np.random.default_rng(4)
    p = rng.normal(size=200)
    columns = {"y_pred": p, "y_true": 0.7 * p + rng.normal(size=200) * (1 + np.abs(p))}
    m = moments(term_matrix(columns, ["y", "p", "pp", "yp"]), ["y", "p", "pp", "yp"])
    fitted = sm.OLS(columns["y_true"], sm.add_constant(p)).fit(cov_type="HC0")
    value, se = estimate(SLOPE.value, m)
    assert value == pytest.approx(fitted.params[1], rel=1e-10)
    assert se == pytest.approx(fitted.bse[1] * np.sqrt(200 / 199), rel=1e-9)


def test_quantiles_of_repeated_rows_equal_numpy() -> None:
    """Whole weights are repetition, at every quantile."""
    rng = np.random.default_rng(5)
    x, w = rng.normal(size=30), rng.integers(0, 4, 30)
    q = np.linspace(0.01, 0.99, 37)
    assert weighted_quantile(x, q, w) == pytest.approx(np.quantile(np.repeat(x, w), q), abs=1e-12)


def test_pooled_ratio_over_strata_equals_statsmodels() -> None:
    """Mantel–Haenszel risk ratio of stratified tables, by hand from the published formula and as a plain ratio in one
    stratum."""

    one = mantel_haenszel_ratio([8], [58], [16], [61])
    assert (one.value, one.low, one.high) == pytest.approx((0.525862, 0.243771, 1.134386), abs=1e-5)
    # Rothman, Greenland & Lash's table form: Σ a·N0/N over Σ b·N1/N.
    x, n, y, m = [10, 4], [50, 40], [30, 6], [100, 30]
    top = 10 * 100 / 150 + 4 * 30 / 70
    below = 30 * 50 / 150 + 6 * 40 / 70
    assert mantel_haenszel_ratio(x, n, y, m).value == pytest.approx(top / below, rel=1e-12)


def test_the_rule_s_own_example_of_local_law_144() -> None:
    """92 men at 54.3 % and 76 women at 44.7 % give an impact ratio of 0.82."""
    sex = ["Male"] * 92 + ["Female"] * 76
    chosen = [1] * 50 + [0] * 42 + [1] * 34 + [0] * 42
    result = eh.audit_predictions({"sex": sex, "chosen": chosen}, y_pred="chosen", groups="sex", law="ll144")
    rows = {r["category"]: r for r in result.exhibits["ll144 sex"].rows()}
    assert rows["Male"]["selection rate"] == pytest.approx(0.543, abs=5e-4)
    assert rows["Female"]["selection rate"] == pytest.approx(0.447, abs=5e-4)
    assert rows["Female"]["impact ratio"] == pytest.approx(0.82, abs=5e-3)
    assert rows["Male"]["impact ratio"] == 1.0


def test_a_pooled_difference_of_rates_in_one_large_stratum_is_the_plain_one() -> None:
    """statsmodels' Wald interval of two proportions, to which Sato's variance tends."""
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    found = mantel_haenszel_difference([3000], [10_000], [4200], [12_000])
    low, high = proportion.confint_proportions_2indep(
        3000, 10_000, 4200, 12_000, method="wald", compare="diff"
    )
    assert found.value == pytest.approx(0.3 - 0.35)
    assert (found.low, found.high) == pytest.approx((low, high), abs=2e-5)


def test_the_error_of_a_pooled_difference_is_its_spread_over_sparse_strata() -> None:
    """Forty strata of 3 against 5 people: the mean variance is the variance of 4,000 draws (to ±5 %)."""
    rng = np.random.default_rng(0)
    base = rng.uniform(0.1, 0.6, 40)
    x, y = rng.binomial(3, base + 0.2, (4000, 40)), rng.binomial(5, base, (4000, 40))
    n, m = np.full(40, 3), np.full(40, 5)
    found = [mantel_haenszel_difference(a, n, b, m) for a, b in zip(x, y, strict=True)]
    values = np.array([f.value for f in found])
    assert np.mean([f.se**2 for f in found]) == pytest.approx(values.var(), rel=0.05)
    assert values.mean() == pytest.approx(0.2, abs=0.01)

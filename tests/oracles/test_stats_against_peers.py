"""stats/ against scipy, statsmodels and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.stats import rates
from evenhand.stats.auc import auc, correlation, placements
from evenhand.stats.multiplicity import benjamini_hochberg, holm
from evenhand.stats.paired import paired, sign_flip
from evenhand.stats.power import power
from evenhand.stats.studentized import range_quantile, range_tail
from evenhand.stats.two_samples import permutation, welch


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(11)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_welch_is_scipys(rng, alternative):
    """t, df, p and interval equal ttest_ind(equal_var=False)."""
    from scipy.stats import ttest_ind

    for n, m in ((2, 2), (3, 50), (40, 7)):
        x, y = rng.normal(0, 1, n), rng.lognormal(0, 1, m)
        theirs = ttest_ind(x, y, equal_var=False, alternative=alternative)
        ours = welch(x, y, alternative=alternative)
        assert ours.statistic == pytest.approx(theirs.statistic, rel=1e-10)
        assert ours.p_value == pytest.approx(theirs.pvalue, rel=1e-9)
        assert ours.df == pytest.approx(theirs.df)
        interval = theirs.confidence_interval()
        for mine, other in ((ours.low, interval.low), (ours.high, interval.high)):
            assert mine is None if np.isinf(other) else mine == pytest.approx(other)


def test_paired_is_scipys_one_sample_t(rng):
    """t and p equal ttest_1samp of the differences."""
    from scipy.stats import ttest_1samp

    d = rng.normal(0.2, 1, 23)
    theirs = ttest_1samp(d, 0)
    assert (paired(d).statistic, paired(d).p_value) == pytest.approx((theirs.statistic, theirs.pvalue))


def test_permutations_are_scipys_exact_ones(rng):
    """Exact sign flips and exact label permutation equal scipy.stats.permutation_test with all resamples."""
    from scipy.stats import permutation_test

    x, y = rng.normal(0.5, 1, 6), rng.normal(0, 1, 7)
    theirs = permutation_test((x, y), lambda a, b: abs(a.mean() - b.mean()), alternative="greater")
    assert permutation(x, y, seed=0, studentised=False).p_value == pytest.approx(theirs.pvalue)
    theirs = permutation_test(
        (x,), lambda a: abs(a.mean()), permutation_type="samples", alternative="greater"
    )
    assert sign_flip(x, seed=0).p_value == pytest.approx(theirs.pvalue)


def test_adjusted_p_values_are_statsmodels(rng):
    """Holm and Benjamini–Hochberg equal multipletests, ties included."""
    from statsmodels.stats.multitest import multipletests

    p = np.round(rng.random(25) ** 2, 2)
    for ours, name in ((holm, "holm"), (benjamini_hochberg, "fdr_bh")):
        assert ours(p.tolist()) == pytest.approx(multipletests(p, method=name)[1].tolist())


def test_the_studentised_range_is_scipys():
    """Tail within 1e-6 and quantile within 1e-5 from 1.5 degrees of freedom to a known scale."""
    from scipy.stats import studentized_range

    for k, df, q in ((3, 1.5, 8.0), (10, 5, 4.0), (20, 99, 6.0), (2, 7, 3.0), (50, np.inf, 5.0)):
        ours = range_tail(q, k, None if np.isinf(df) else df)
        assert ours == pytest.approx(studentized_range.sf(q, k, df), abs=1e-6)
    assert range_quantile(0.95, 5, 12.0) == pytest.approx(studentized_range.ppf(0.95, 5, 12), abs=1e-5)


def test_power_is_the_noncentral_ts():
    """Power equals the noncentral t's tails to four digits."""
    from scipy.stats import nct, t

    for df, shift in ((3, 2.5), (18, 1.0), (200, 3.0)):
        c = t.ppf(0.975, df)
        exact = nct.sf(c, df, shift) + nct.cdf(-c, df, shift)
        assert power(shift, 1.0, df=df) == pytest.approx(exact, abs=1e-4)


COUNTS = [(8, 10, 4, 10), (56, 70, 48, 80), (1, 30, 9, 25), (34, 76, 50, 92), (19, 20, 3, 40)]


@pytest.mark.parametrize("counts", COUNTS)
def test_intervals_of_rates_are_statsmodels(counts):
    """Wilson, Clopper–Pearson, Newcombe, Katz and the Miettinen–Nurminen ratio equal statsmodels."""
    from statsmodels.stats.proportion import confint_proportions_2indep as two
    from statsmodels.stats.proportion import proportion_confint as one

    x, n, y, m = counts
    for ours, name in ((rates.wilson, "wilson"), (rates.clopper_pearson, "beta")):
        found = ours(x, n)
        assert (found.low, found.high) == pytest.approx(one(x, n, method=name), abs=1e-9)
    for found, method, compare in (
        (rates.newcombe(*counts), "newcomb", "diff"),
        (rates.katz(*counts), "log", "ratio"),
        (rates.miettinen_nurminen(*counts), "score", "ratio"),
    ):
        theirs = two(x, n, y, m, method=method, compare=compare, correction=True)
        assert (found.low, found.high) == pytest.approx(theirs, rel=2e-4, abs=1e-6), method


def test_differences_of_rates_are_newcombes_published_example():
    """56/70 − 48/80: Newcombe (1998), table II, methods 6 and 10."""
    found = rates.miettinen_nurminen(56, 70, 48, 80, kind="difference")
    assert (found.low, found.high) == pytest.approx((0.0528, 0.3382), abs=5e-5)
    found = rates.newcombe(56, 70, 48, 80)
    assert (found.low, found.high) == pytest.approx((0.0524, 0.3339), abs=5e-5)


@pytest.mark.parametrize("counts", COUNTS)
def test_exact_tests_are_scipys(counts):
    """Fisher's two-sided p and McNemar's exact p."""
    from scipy.stats import binomtest, fisher_exact

    x, n, y, m = counts
    assert rates.fisher_exact(*counts) == pytest.approx(fisher_exact([[x, n - x], [y, m - y]])[1])
    assert rates.mcnemar_exact(x, y).p_value == pytest.approx(binomtest(x, x + y, 0.5).pvalue)


def test_auc_is_scikit_learns_with_ties_and_weights(rng):
    """The area equals roc_auc_score on tied scores, plain and weighted."""
    from sklearn.metrics import roc_auc_score

    label = rng.integers(0, 2, 300)
    score = np.round(rng.normal(label, 1.5), 1)
    weight = rng.uniform(0.1, 3, 300)
    p, q = label == 1, label == 0
    assert auc(score[p], score[q]).value == pytest.approx(roc_auc_score(label, score))
    weighted = placements(score[p], score[q], weight_positive=weight[p], weight_negative=weight[q])
    assert weighted.auc == pytest.approx(roc_auc_score(label, score, sample_weight=weight))


def test_delongs_variance_is_the_pairwise_definition(rng):
    """By sorting or by the m × n kernel matrix: one variance."""
    p, q = np.round(rng.normal(1, 1, 30), 1), np.round(rng.normal(0, 1, 45), 1)

    def kernel(x, y):
        return (x[:, None] > y[None, :]) + 0.5 * (x[:, None] == y[None, :])

    k = kernel(p, q)
    variance = k.mean(axis=1).var(ddof=1) / 30 + k.mean(axis=0).var(ddof=1) / 45
    assert auc(p, q).se ** 2 == pytest.approx(variance)


def test_fishers_interval_of_a_correlation_is_scipys(rng):
    """r, p and the interval equal scipy.stats.pearsonr."""
    from scipy.stats import pearsonr

    x = rng.normal(size=40)
    y = x + rng.normal(size=40)
    theirs, ours = pearsonr(x, y), correlation(x, y)
    interval = theirs.confidence_interval()
    assert (ours.value, ours.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))
    assert (ours.low, ours.high) == pytest.approx((interval.low, interval.high))

"""Welch, paired, permutation, equivalence, diagnostics and power."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.stats.crossed import difference
from evenhand.stats.interval import from_standard_error
from evenhand.stats.paired import by_unit, paired, sign_flip
from evenhand.stats.power import detectable, power, units_needed
from evenhand.stats.two_samples import diagnostics, equivalence, permutation, welch


def test_rows_and_paired_designs_agree_with_the_general_difference():
    """`difference` over nothing is Welch, over one crossed unit the paired t, over one nested unit Welch on means."""
    rng = np.random.default_rng(0)
    text, term = np.divmod(np.arange(9 * 11), 11)
    score, a = rng.normal(size=99), term < 5
    units = {"text": text, "term": term}
    rows = difference(score, a=a, b=~a, units=units, over=())
    assert rows.p_value == pytest.approx(welch(score[a], score[~a]).p_value)
    d, _ = by_unit(score, a, ~a, text)
    over_texts = difference(score, a=a, b=~a, units=units, over=("text",))
    assert (over_texts.p_value, over_texts.low) == pytest.approx((paired(d).p_value, paired(d).low))
    means = score.reshape(9, 11).mean(axis=0)
    over_terms = difference(score, a=a, b=~a, units=units, over=("term",))
    assert over_terms.p_value == pytest.approx(welch(means[:5], means[5:]).p_value)
    assert over_terms.df == pytest.approx(welch(means[:5], means[5:]).df)


def test_one_sided_p_values_add_to_one_and_the_open_side_is_none():
    """greater + less = 1; the bound of the open side is absent."""
    x, y = [1.0, 2, 4, 8], [2.0, 2.5, 3, 4]
    up, down = welch(x, y, alternative="greater"), welch(x, y, alternative="less")
    assert up.p_value + down.p_value == pytest.approx(1)
    assert up.high is None
    assert down.low is None


def test_samples_that_are_too_small_say_so():
    """One value or none: a reason, no number."""
    assert "1 value;" in welch([1.0], [1.0, 2.0]).why_not
    assert paired([]).value is None
    assert sign_flip([2.0], seed=0).p_value is None


def test_exact_sign_flips_enumerate_and_random_ones_agree():
    """For 12 pairs the exact p is a multiple of 2⁻¹²; for 15 the random p is near the t-test's."""
    rng = np.random.default_rng(3)
    p = sign_flip(rng.normal(0.3, 1, 12), seed=0).p_value
    assert (p * 4096) == pytest.approx(round(p * 4096))
    d = rng.normal(0.4, 1, 40)
    assert sign_flip(d, seed=1).p_value == pytest.approx(paired(d).p_value, abs=0.015)
    assert sign_flip(d, seed=1).p_value == sign_flip(d, seed=1).p_value


def test_equal_constant_samples_permute_to_p_one():
    """Nothing differs: every split is as extreme."""
    assert permutation([1.0, 1, 1], [1.0, 1, 1], seed=0).p_value == 1.0


def test_permutation_with_many_values_draws_at_random_near_welch():
    """Random splits give about Welch's p."""
    rng = np.random.default_rng(4)
    x, y = rng.normal(0, 1, 40), rng.normal(0.4, 2, 60)
    found = permutation(x, y, seed=0)
    assert "random" in found.method
    assert found.p_value == pytest.approx(welch(x, y).p_value, abs=0.02)


def test_equivalence_holds_exactly_where_the_narrow_interval_fits():
    """TOST p < 0.05 exactly where the 90 % interval lies inside the bounds."""
    for value in (0.0, 0.03, 0.06, 0.062, 0.07, 0.2):
        found = equivalence(from_standard_error(value, 0.02, df=12), (-0.1, 0.1))
        assert (found.p_value < 0.05) == (found.low > -0.1 and found.high < 0.1)


def test_a_constant_subject_is_equivalent_exactly_and_said_in_words():
    """se = 0 inside the bounds: no p-value, `inside` is True."""
    found = equivalence(from_standard_error(0.0, 0.0, df=9), (-0.1, 0.1))
    assert found.detail["inside"]
    assert found.p_value is None


def test_diagnostics_name_skew_unequal_variances_and_ties():
    """Each departure from the assumptions gets its sentence."""
    rng = np.random.default_rng(5)
    notes = " ".join(diagnostics(rng.lognormal(0, 1.5, 200), rng.normal(0, 0.1, 200)).notes)
    assert "far from normal" in notes
    assert "variances differ" in notes
    assert "ties" in " ".join(diagnostics([0.0, 1] * 50, [0.0, 1] * 50).notes)
    assert diagnostics([1.0, 2], [1.0, 2, 3]) is None


def test_the_detectable_gap_has_the_power_it_promises_in_simulation():
    """Samples with exactly that true gap are significant in 80 % of runs."""
    rng = np.random.default_rng(6)
    gap = detectable(np.sqrt(2 / 8), df=14)
    x, y = rng.normal(gap, 1, (4000, 8)), rng.normal(0, 1, (4000, 8))
    pooled = np.sqrt((x.var(axis=1, ddof=1) + y.var(axis=1, ddof=1)) / 8)
    hits = np.abs((x.mean(axis=1) - y.mean(axis=1)) / pooled) > 2.1448
    assert hits.mean() == pytest.approx(0.8, abs=0.02)
    assert power(gap, np.sqrt(2 / 8), df=14) == pytest.approx(0.8, abs=1e-6)


def test_fewer_degrees_of_freedom_need_a_larger_gap():
    """Two units a group find only huge gaps."""
    assert detectable(1.0, df=2) > detectable(1.0, df=20) > detectable(1.0)
    assert detectable(0.0) is None


@pytest.mark.parametrize("df", [None, 1, 1.5, 2, 7.3, 40, 1e5])
@pytest.mark.parametrize("alpha", [0.5, 0.05, 1e-3, 1e-9])
@pytest.mark.parametrize("wanted", [0.55, 0.8, 0.99])
def test_the_detectable_gap_has_its_power_from_one_degree_of_freedom_on(df, alpha, wanted):
    """Also where a quantile of the central distribution is no hint of where it lies (one degree of freedom)."""
    assert power(
        detectable(2.0, df=df, alpha=alpha, wanted=wanted), 2.0, df=df, alpha=alpha
    ) == pytest.approx(wanted)
    assert units_needed(0.05, 0.05, 20) > units_needed(0.1, 0.05, 20)

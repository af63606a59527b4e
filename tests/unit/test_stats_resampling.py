"""Bootstrap weights, intervals, pigeonhole and placebo."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand._errors import UsageError
from evenhand.stats.crossed import difference
from evenhand.stats.resampling import bootstrap_interval, pigeonhole, placebo, poisson_weights, unit_hashes


def test_weights_have_the_moments_of_poisson_one_and_units_are_independent():
    """Mean 1, variance 1, no correlation between neighbouring units or replicates."""
    w = poisson_weights(np.arange(3000), 200, seed=7).astype(float)
    assert w.mean() == pytest.approx(1, abs=0.01)
    assert w.var() == pytest.approx(1, abs=0.02)
    assert abs(np.corrcoef(w[:, 0::2].ravel(), w[:, 1::2].ravel())[0, 1]) < 0.01
    assert abs(np.corrcoef(w[:-1].ravel(), w[1:].ravel())[0, 1]) < 0.01


def test_weights_do_not_depend_on_order_or_partition():
    """Two halves computed apart and reversed are the whole; another seed is another draw."""
    h = unit_hashes([f"name {i}" for i in range(50)])
    whole = poisson_weights(h, 20, seed=1)
    apart = np.hstack([poisson_weights(h[25:], 20, seed=1), poisson_weights(h[:25], 20, seed=1)])
    assert np.array_equal(np.roll(apart, 25, axis=1), whole)
    assert not np.array_equal(poisson_weights(h, 20, seed=2), whole)


def test_the_bca_interval_is_scipys():
    """Equal replicates and jackknife give scipy's BCa bounds for the mean."""
    from scipy.stats import bootstrap

    rng = np.random.default_rng(0)
    x = rng.lognormal(size=40)
    theirs = bootstrap((x,), np.mean, n_resamples=4000, method="BCa", rng=np.random.default_rng(1))
    jackknife = (x.sum() - x) / 39
    ours = bootstrap_interval(x.mean(), theirs.bootstrap_distribution, kind="bca", jackknife=jackknife)
    interval = theirs.confidence_interval
    assert (ours.low, ours.high) == pytest.approx((interval.low, interval.high), rel=0.01)


def test_undefined_replicates_are_counted_and_too_many_refused():
    """Half NaN: a reason instead of an interval."""
    r = np.where(np.arange(100) < 50, np.nan, 1.0)
    assert "50 of 100" in bootstrap_interval(1.0, r).why_not
    with pytest.raises(UsageError, match="bad-kind"):
        bootstrap_interval(1.0, r, kind="normal")


def test_the_pigeonhole_bootstrap_agrees_with_the_crossed_standard_error():
    """Within a quarter of it, on the conservative side or near, on a crossed grid with term effects."""
    rng = np.random.default_rng(2)
    text, term = np.divmod(np.arange(30 * 40), 40)
    score = rng.normal(size=40)[term] + rng.normal(size=30)[text] + rng.normal(size=1200)
    a = term < 20
    se = difference(score, a=a, b=~a, units={"text": text, "term": term}).se
    r = pigeonhole(score, a=a, b=~a, rows=text, columns=term, replicates=400, seed=3)
    assert 0.8 < np.nanstd(r) / se < 1.3


def test_the_placebo_of_one_group_is_the_noise_of_its_halves():
    """Its size is that of a difference of two half means; one unit has none."""
    x = np.random.default_rng(4).normal(size=40)
    gaps = placebo(x, seed=0, draws=4000)
    assert np.sqrt(np.mean(gaps**2)) == pytest.approx(x.std(ddof=1) * np.sqrt(2 / 20), rel=0.05)
    assert len(placebo([1.0], seed=0)) == 0
    with pytest.raises(UsageError, match="bad-sizes"):
        placebo(x, seed=0, sizes=(30, 30))

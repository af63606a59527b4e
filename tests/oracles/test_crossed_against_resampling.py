"""The crossed difference against the pigeonhole bootstrap, and the bootstrap's weights."""

from __future__ import annotations

import numpy as np
import pytest
from pigeonhole import pigeonhole, poisson_weights

from evenhand.stats.crossed import difference


def test_weights_have_the_moments_of_poisson_one_and_units_are_independent():
    """Mean 1, variance 1, no correlation between neighbouring units or replicates."""
    w = poisson_weights(np.arange(3000), 200, seed=7).astype(float)
    assert w.mean() == pytest.approx(1, abs=0.01)
    assert w.var() == pytest.approx(1, abs=0.02)
    assert abs(np.corrcoef(w[:, 0::2].ravel(), w[:, 1::2].ravel())[0, 1]) < 0.01
    assert abs(np.corrcoef(w[:-1].ravel(), w[1:].ravel())[0, 1]) < 0.01


def test_weights_do_not_depend_on_order_or_partition():
    """Two halves computed apart and reversed are the whole; another seed is another draw."""
    h = np.random.default_rng(0).integers(0, 2**63, 50)
    whole = poisson_weights(h, 20, seed=1)
    apart = np.hstack([poisson_weights(h[25:], 20, seed=1), poisson_weights(h[:25], 20, seed=1)])
    assert np.array_equal(np.roll(apart, 25, axis=1), whole)
    assert not np.array_equal(poisson_weights(h, 20, seed=2), whole)


def test_the_pigeonhole_bootstrap_agrees_with_the_crossed_standard_error():
    """Within a quarter of it, on the conservative side or near, on a crossed grid with term effects."""
    rng = np.random.default_rng(2)
    text, term = np.divmod(np.arange(30 * 40), 40)
    score = rng.normal(size=40)[term] + rng.normal(size=30)[text] + rng.normal(size=1200)
    a = term < 20
    se = difference(score, a=a, b=~a, units={"text": text, "term": term}).se
    r = pigeonhole(score, a=a, b=~a, rows=text, columns=term, replicates=400, seed=3)
    assert 0.8 < np.nanstd(r) / se < 1.3

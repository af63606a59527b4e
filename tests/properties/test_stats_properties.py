"""Laws that hold for any input."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.stats.crossed import difference
from evenhand.stats.multiplicity import benjamini_hochberg, holm
from evenhand.stats.rates import newcombe, wilson

P = st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=12)


@given(P)
def test_adjusted_p_values_are_never_smaller_and_keep_their_order(p):
    """Holm ≥ BH ≥ raw, within [0, 1], None stays None."""
    for raw, h, b in zip(p, holm(p), benjamini_hochberg(p), strict=True):
        assert (raw is None) == (h is None) == (b is None)
        if raw is not None:
            assert h >= b - 1e-9
            assert b >= raw - 1e-9
            assert 0 <= h <= 1


@given(st.integers(0, 50), st.integers(1, 50), st.integers(0, 50), st.integers(1, 50))
def test_intervals_of_rates_contain_their_estimate_and_stay_in_range(x, n, y, m):
    """Any counts, zeros and all hits included."""
    x, y = min(x, n), min(y, m)
    one = wilson(x, n)
    assert 0 <= one.low <= one.value <= one.high <= 1
    gap = newcombe(x, n, y, m)
    assert -1 <= gap.low <= gap.value + 1e-12
    assert gap.value - 1e-12 <= gap.high <= 1


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.floats(-1e6, 1e6), st.floats(1e-3, 1e3), st.integers(4, 60))
def test_shifting_and_scaling_the_scores_scales_the_inference(seed, shift, scale, n):
    """p is unchanged, value and se scale; any incidence of texts and terms, also ragged and tiny ones."""
    rng = np.random.default_rng(seed)
    term, text = rng.integers(0, 8, n), rng.integers(0, 5, n)
    score, a = rng.normal(size=n), term < 4
    units = {"text": text, "term": term}
    one = difference(score, a=a, b=~a, units=units)
    two = difference(shift + scale * score, a=a, b=~a, units=units)
    assert (one.p_value is None) == (two.p_value is None)
    if one.p_value is not None:
        assert np.isclose(two.se, scale * one.se, rtol=1e-4)
        assert np.isclose(two.p_value, one.p_value, rtol=1e-3, atol=1e-9)
        assert one.low <= one.value <= one.high
        assert one.df >= 0.5

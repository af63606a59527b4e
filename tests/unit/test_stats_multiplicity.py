"""Adjusted p-values and the selection-corrected worst pair."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand._errors import UsageError
from evenhand.stats.interval import Inference, from_standard_error
from evenhand.stats.multiplicity import benjamini_hochberg, holm, max_t, simultaneous, worst_pair
from evenhand.stats.studentized import range_tail


def test_an_empty_family_and_a_family_of_unknowns_stay_as_they_are():
    """No p-value in, none out."""
    assert holm([]) == []
    assert holm([None, None]) == [None, None]
    assert benjamini_hochberg([None]) == [None]


def test_a_p_value_outside_the_unit_interval_is_named():
    """1.2 and NaN are refused."""
    for bad in (1.2, -0.1, float("nan")):
        with pytest.raises(UsageError, match="bad-p-value"):
            holm([0.1, bad])


def test_more_groups_widen_the_simultaneous_interval():
    """The same pair picked from more groups has a wider interval and a larger p."""
    raw = from_standard_error(1.0, 0.4, df=30)
    widths = [simultaneous(raw, k).high for k in (2, 3, 6, 20)]
    assert widths == sorted(widths)
    assert simultaneous(raw, 2).high == pytest.approx(raw.high)


def test_the_worst_pair_is_the_widest_gap_of_either_sign():
    """Pairs without a value are passed over; a negative gap can be the worst."""
    pairs = [
        Inference(why_not="no score"),
        from_standard_error(0.1, 0.2, df=9),
        from_standard_error(-3, 1, df=9),
    ]
    index, worst = worst_pair(pairs, 3)
    assert index == 2
    assert worst.value == -3
    assert worst.high > pairs[2].high


def test_the_widest_of_many_equal_groups_is_rarely_called_different():
    """Ten groups without any difference: the worst pair is significant in about 5 % of samples, not in most."""
    rng = np.random.default_rng(0)
    raw = corrected = 0
    for _ in range(120):
        x = rng.normal(size=(10, 12))
        means = x.mean(axis=1)
        pooled = from_standard_error(
            means.max() - means.min(), float(np.sqrt(2 * x.var(axis=1, ddof=1).mean() / 12)), df=110
        )
        raw += pooled.p_value < 0.05
        corrected += range_tail(pooled.statistic * np.sqrt(2), 10, pooled.df) < 0.05
    assert raw / 120 > 0.4
    assert corrected / 120 < 0.12


def test_max_t_ignores_a_constant_column():
    """A column whose replicates never move has p 1 (nothing is known about it), not a division by zero."""
    r = np.random.default_rng(1).normal(size=(199, 2))
    r[:, 1] = 0.0
    p, low, high = max_t([0.0, 0.0], r)
    assert p[1] == 1.0
    assert (low[1], high[1]) == (0.0, 0.0)

"""Small skewed samples borrow what the groups show together; nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest

import evenhand as eh
from evenhand.stats.tails import allowing_for_skewness, borrowing


def shape(x: np.ndarray) -> tuple[float, float]:
    """Second and third central moment."""
    return float(np.mean((x - x.mean()) ** 2)), float(np.mean((x - x.mean()) ** 3))


def test_normal_data_keep_their_errors() -> None:
    """Of 200 pairs of normal samples of 12 and 60 at most two in a hundred are widened at all."""
    rng = np.random.default_rng(0)
    changed = 0
    for _ in range(200):
        x, y = rng.normal(size=12), rng.normal(size=60)
        plain = (float(x.std(ddof=1) / 12**0.5), float(y.std(ddof=1) / 60**0.5))
        changed += allowing_for_skewness(plain, (12, 60), (shape(x), shape(y))) != pytest.approx(plain)
    assert changed <= 4


def test_a_small_group_without_the_tail_borrows_it() -> None:
    """Twelve values that lack the tail of sixty log-normal ones get at least the pooled spread, the sixty their own."""
    y = np.exp(np.random.default_rng(1).normal(size=60))
    x = np.linspace(0.8, 1.2, 12)
    plain = (float(x.std(ddof=1) / 12**0.5), float(y.std(ddof=1) / 60**0.5))
    wide = allowing_for_skewness(plain, (12, 60), (shape(x), shape(y)))
    assert wide[0] > 5 * plain[0]


def test_groups_of_one_size_are_left_alone() -> None:
    """There the skewness cancels: t = 1 over twenty and twenty names stays t = 1."""
    x = np.zeros(20)
    x[0] = 1.0
    plain = (float(x.std(ddof=1) / 20**0.5), 0.0)
    assert allowing_for_skewness(plain, (20, 20), (shape(x), (0.0, 0.0))) == pytest.approx(plain)


def test_errors_without_excess_kurtosis_are_left_alone() -> None:
    """Nothing is borrowed where nothing is hidden."""
    assert borrowing((0.1, 0.9), (10, 1000), 0.0) == (0.1, 0.9)


def test_lists_that_happen_to_agree_are_no_surer_than_places_dealt_at_random() -> None:
    """A group that is last in each of ten lists of ten has no spread of its own; its interval still has a width."""
    rows = {
        "s": np.tile(np.arange(10.0), 10),
        "list": np.repeat(np.arange(10), 10).astype(str),
        "group": np.tile(["a"] + ["b"] * 9, 10),
    }
    (found,) = eh.audit_predictions(rows, y_pred="s", groups="group", lists="list").primary
    low, high = found.estimate.low, found.estimate.high
    assert low is not None
    assert high is not None
    places = 1 / np.log2(1 + np.arange(1, 11))
    by_chance = np.sqrt(places.var(ddof=1) * (1 + 1 / 9) / 10) / places.mean()
    assert np.log(high / low) == pytest.approx(2 * 2.262157 * by_chance, rel=1e-5)

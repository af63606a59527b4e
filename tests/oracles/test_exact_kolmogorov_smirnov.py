"""The exact p of Kolmogorov–Smirnov against scipy, and with ties against all splits."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from evenhand.stats.histogram import Scores, kolmogorov_smirnov


def sides(x: np.ndarray, y: np.ndarray) -> tuple[Scores, Scores]:
    """Two samples on their shared grid."""
    grid = np.unique(np.concatenate([x, y]))
    made = []
    for own in (x, y):
        counts = np.array([np.sum(own == v) for v in grid], dtype=float)
        made.append(Scores(values=grid, weight=counts, weight2=counts, n=len(own)))
    return made[0], made[1]


@pytest.mark.parametrize("shape", [(12, 15), (5, 40), (60, 61), (1, 7), (200, 300)])
def test_without_ties_it_is_scipys(shape: tuple[int, int]) -> None:
    """ks_2samp(method="exact") of 20 pairs of samples, at 1e-9."""
    from scipy.stats import ks_2samp

    rng = np.random.default_rng(0)
    for _ in range(20):
        x, y = rng.normal(size=shape[0]) + 0.4, rng.normal(size=shape[1])
        found = kolmogorov_smirnov(*sides(x, y))
        assert found.p_value == pytest.approx(ks_2samp(x, y, method="exact").pvalue, rel=1e-9, abs=1e-12)
        assert "exact p" in found.method


def test_with_ties_it_is_that_of_all_splits() -> None:
    """Five and six values on a coarse grid: the share of the 462 splits whose distance is at least as large."""
    rng = np.random.default_rng(1)
    for _ in range(15):
        x, y = rng.integers(0, 4, 5).astype(float), rng.integers(0, 5, 6).astype(float)
        pooled, grid = np.concatenate([x, y]), np.unique(np.concatenate([x, y]))

        def distance(one: np.ndarray, two: np.ndarray, grid: np.ndarray = grid) -> float:
            return float(max(abs(np.mean(one <= v) - np.mean(two <= v)) for v in grid))

        seen = distance(x, y)
        every = []
        for chosen in combinations(range(11), 5):
            mask = np.zeros(11, dtype=bool)
            mask[list(chosen)] = True
            every.append(distance(pooled[mask], pooled[~mask]))
        assert kolmogorov_smirnov(*sides(x, y)).p_value == pytest.approx(
            np.mean(np.array(every) >= seen - 1e-12)
        )

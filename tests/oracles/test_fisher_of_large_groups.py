"""Fisher's test where only the tables that count are looked at, beside scipy and beside the whole sum."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import stats

from evenhand.stats import rates


@pytest.mark.parametrize(
    "table", [(50100, 500000, 49700, 500000), (41, 30000, 60, 31000), (29900, 30000, 29960, 30050)]
)
def test_fisher_of_large_groups_is_scipys(table: tuple[int, int, int, int]) -> None:
    """Hundreds of thousands of rows give scipy's p."""
    x, n, y, m = table
    expected = stats.fisher_exact([[x, n - x], [y, m - y]]).pvalue
    assert rates.fisher_exact(x, n, y, m) == pytest.approx(expected, rel=1e-6)


def test_only_the_tables_that_count_sum_to_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any table, near and far from the mode and at the ends of the support, has the p of the whole sum."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        n, m = (int(v) for v in rng.integers(1, 2000, 2))
        x, y = int(rng.integers(0, n + 1)), int(rng.integers(0, m + 1))
        whole = rates.fisher_exact(x, n, y, m)
        with monkeypatch.context() as patch:
            patch.setattr(rates, "WHOLE_SUPPORT", 0)
            assert rates.fisher_exact(x, n, y, m) == pytest.approx(whole, rel=1e-9, abs=1e-300)


def test_memory_does_not_grow_with_the_rows() -> None:
    """Two groups of fifty million need a few megabytes: the support is never held."""
    tracemalloc.start()
    rates.fisher_exact(25_000_500, 50_000_000, 25_000_000, 50_000_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6

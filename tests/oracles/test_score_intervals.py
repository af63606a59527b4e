"""Miettinen & Nurminen's score intervals and tests against statsmodels and a published example."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.stats.rates import miettinen_nurminen


@pytest.mark.parametrize("kind", ["ratio", "difference"])
def test_score_intervals_are_those_of_statsmodels(kind: str) -> None:
    """60 random tables: p of both contrasts, and the interval of the ratio (statsmodels' own root finding).

    Its interval of a difference is another one: at 56/70 and 48/80 it gives .0526 to .3440, Newcombe (1998) .0528 to
    .3382.
    """
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    rng = np.random.default_rng(0)
    compare = "ratio" if kind == "ratio" else "diff"
    for _ in range(60):
        n, m = (int(v) for v in rng.integers(8, 120, 2))
        x, y = int(rng.integers(1, n)), int(rng.integers(1, m))
        found = miettinen_nurminen(x, n, y, m, kind=kind)
        null = {"value": 1.0} if kind == "ratio" else {}
        test = proportion.test_proportions_2indep(x, n, y, m, method="score", compare=compare, **null)
        assert found.p_value == pytest.approx(test.pvalue, rel=1e-6)
        if kind == "ratio":
            ends = proportion.confint_proportions_2indep(x, n, y, m, method="score", compare=compare)
            assert (found.low, found.high) == pytest.approx(ends, rel=1e-5, abs=1e-6)


def test_the_published_difference() -> None:
    """Newcombe (1998), table II, example (a): 56/70 against 48/80, Miettinen & Nurminen's .0528 to .3382."""
    found = miettinen_nurminen(56, 70, 48, 80, kind="difference")
    assert (found.low, found.high) == pytest.approx((0.0528, 0.3382), abs=5e-5)

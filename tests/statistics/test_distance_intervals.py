"""Coverage of the intervals of distances, which are not smooth at 0 and are above it by chance alone.

The quick slice runs everywhere; `-m slow` gives the figures of docs/reference/calibration-predictions.md.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from evenhand.stats.distance import distance_correlation, wasserstein_test
from evenhand.stats.histogram import Scores

Generator = np.random.Generator
SHAPES: dict[str, tuple[Callable[[Generator, int], np.ndarray], Callable[[np.ndarray], np.ndarray]]] = {
    "normal, alike": (lambda rng, n: rng.normal(size=n), lambda x: x),
    "normal, 0.1 apart": (lambda rng, n: rng.normal(size=n), lambda x: x + 0.1),
    "normal, 0.3 apart": (lambda rng, n: rng.normal(size=n), lambda x: x + 0.3),
    "normal, 1.3 as wide": (lambda rng, n: rng.normal(size=n), lambda x: 1.3 * x),
    "exponential, alike": (lambda rng, n: rng.exponential(size=n), lambda x: x),
    "exponential, 1.3 as large": (lambda rng, n: rng.exponential(size=n), lambda x: 1.3 * x),
    "whole numbers, alike": (lambda rng, n: rng.normal(size=n).round(), lambda x: x),
    "lognormal, alike": (lambda rng, n: np.exp(rng.normal(size=n)), lambda x: x),
    "lognormal, 1.35 as large": (lambda rng, n: np.exp(rng.normal(size=n)), lambda x: 1.35 * x),
}
DEPENDENCE: dict[str, Callable[[Generator, int], tuple[np.ndarray, np.ndarray]]] = {
    f"normal, r = {r}": lambda rng, n, r=r: (x := rng.normal(size=n), r * x + np.sqrt(1 - r * r) * rng.normal(size=n))
    for r in (0.0, 0.1, 0.3, 0.7)
} | {
    "a parabola": lambda rng, n: (x := rng.normal(size=n), 0.2 * x * x + rng.normal(size=n)),
    "exponential with lognormal errors": lambda rng, n: (x := rng.exponential(size=n), 0.3 * x + np.exp(rng.normal(size=n))),
    "uniform with normal errors": lambda rng, n: (x := rng.uniform(-1.7, 1.7, n), 0.15 * x + rng.normal(size=n)),
}  # fmt: skip


def on_a_grid(a: np.ndarray, b: np.ndarray) -> list[Scores]:
    grid = np.unique(np.concatenate([a, b]))
    counts = [np.bincount(np.searchsorted(grid, x), minlength=len(grid)).astype(float) for x in (a, b)]
    return [Scores(values=grid, weight=w, weight2=w, n=int(w.sum())) for w in counts]


@pytest.mark.parametrize(("n", "spread"), [(600, 1.5), (1500, 1.5), (1500, 0.3)])
def test_p_of_equal_groups_is_small_no_more_often_than_chance_allows(n: int, spread: float) -> None:
    """Also of skewed scores: with pieces of equal mass 14 to 29 % of equal groups had p ≤ 0.05."""
    rng = np.random.default_rng(n)
    runs, small = 120, 0
    for run in range(runs):
        a, b = on_a_grid(*(np.exp(spread * rng.normal(size=n)) for _ in range(2)))
        small += (wasserstein_test(a, b, seed=run, draws=199).p_value or 0) <= 0.05
    assert small <= 13  # of 120 at 5 %: more in 1 of 150


def wasserstein_misses(shape: str, n: int, m: int, runs: int) -> tuple[float, float]:
    """Share of intervals that lie above the truth, and below it."""
    draw, moved = SHAPES[shape]
    many = draw(np.random.default_rng(0), 1_000_000)
    truth = float(np.mean(np.abs(np.sort(moved(many)) - np.sort(many))))
    rng = np.random.default_rng(1)
    above = below = 0
    for run in range(runs):
        found = wasserstein_test(*on_a_grid(moved(draw(rng, n)), draw(rng, m)), seed=run, draws=299)
        assert found.low is not None
        assert found.high is not None
        above, below = above + (found.low > truth), below + (found.high < truth)
    return above / runs, below / runs


def dependence_misses(shape: str, n: int, runs: int) -> tuple[float, float]:
    """Share of intervals that lie above the truth, and below it; the truth from the mean of 150 large samples."""
    draw = DEPENDENCE[shape]
    squares = [
        distance_correlation(*draw(np.random.default_rng(1000 + i), 1000), seed=0, draws=1).detail["R"]
        for i in range(150)
    ]
    truth = 0.0 if shape.endswith("r = 0.0") else float(np.sqrt(max(np.mean(squares), 0.0)))
    rng = np.random.default_rng(1)
    above = below = 0
    for run in range(runs):
        found = distance_correlation(*draw(rng, n), seed=run, draws=1)
        assert found.low is not None
        assert found.high is not None
        above, below = above + (found.low > truth), below + (found.high < truth)
    return above / runs, below / runs


@pytest.mark.parametrize("shape", ["normal, alike", "normal, 0.3 apart", "whole numbers, alike"])
def test_intervals_of_wasserstein_cover(shape: str) -> None:
    """100 runs of 60 and 60: at most 11 of them miss (5 % and three standard errors)."""
    assert sum(wasserstein_misses(shape, 60, 60, 100)) <= 0.11


def test_the_interval_of_wasserstein_finds_and_bounds_a_real_gap() -> None:
    """5,000 against 5,000, half a standard deviation apart: the interval is short, excludes 0, and holds 0.5."""
    rng = np.random.default_rng(3)
    found = wasserstein_test(*on_a_grid(rng.normal(size=5000) + 0.5, rng.normal(size=5000)), seed=0)
    assert found.low is not None
    assert found.high is not None
    assert 0.4 < found.low < 0.5 < found.high < 0.6


def test_few_rows_get_a_distance_and_a_reason() -> None:
    """Nine rows have a value and p, and say why there is no interval; so have 49 rows of a dependence."""
    rng = np.random.default_rng(0)
    few = wasserstein_test(*on_a_grid(rng.normal(size=9), rng.normal(size=90)), seed=0)
    weak = distance_correlation(rng.normal(size=49), rng.normal(size=49), seed=0, draws=9)
    for found, needed in ((few, "under 10 rows"), (weak, "under 50 rows")):
        assert found.value is not None
        assert found.p_value is not None
        assert found.low is None
        assert needed in (found.why_not or "")


@pytest.mark.slow
@pytest.mark.parametrize("shape", list(SHAPES))
@pytest.mark.parametrize(("n", "m"), [(10, 10), (20, 60), (60, 60), (300, 300), (50, 2000)])
def test_full_coverage_of_wasserstein(shape: str, n: int, m: int) -> None:
    """600 runs a cell; prints what the docs tell, and holds it."""
    above, below = wasserstein_misses(shape, n, m, 600)
    print(f"{shape:26} {n:4} {m:5} covers {1 - above - below:.3f} above {above:.3f} below {below:.3f}")
    assert above + below <= (0.13 if shape.startswith("lognormal") else 0.075)


@pytest.mark.slow
@pytest.mark.parametrize("shape", list(DEPENDENCE))
@pytest.mark.parametrize("n", [50, 100, 400])
def test_full_coverage_of_distance_correlation(shape: str, n: int) -> None:
    """500 runs a cell; prints what the docs tell, and holds it."""
    above, below = dependence_misses(shape, n, 500)
    print(f"{shape:34} {n:4} covers {1 - above - below:.3f} above {above:.3f} below {below:.3f}")
    assert above + below <= 0.075

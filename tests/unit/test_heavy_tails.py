"""Heavy tails widen the standard errors that rest on fourth moments, and normal data leave them alone."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.measures.regression import TERMS, term_matrix
from evenhand.stats import tails
from evenhand.stats.moments import Moments, moments

NAMES = ("p", "pp", "y", "yy", "yp")


def sums(y: np.ndarray, p: np.ndarray, weight: np.ndarray | None = None) -> Moments:
    assert set(NAMES) <= set(TERMS)
    return moments(term_matrix({"y_true": y, "y_pred": p}, NAMES), NAMES, weight)


def test_kurtosis_from_sums_is_that_of_the_rows() -> None:
    """Of errors, and of a line's residuals times the predictions' own, wherever the origin is."""
    rng = np.random.default_rng(0)
    y = rng.exponential(size=400)
    p = y + rng.standard_t(4, size=400)
    m = sums(y, p)

    def of(u: np.ndarray) -> float:
        return float(np.mean(u**4) / np.mean(u**2) ** 2)

    b, a = np.polyfit(p, y, 1)
    assert tails.of_errors(m) == pytest.approx(of(p - y) - 3)
    assert tails.of_line(m) == pytest.approx(of(p - p.mean()) * of(y - a - b * p) / 3 - 3)
    assert tails.of_line(sums(y + 10, p - 20)) == pytest.approx(tails.of_line(m), rel=1e-6)


def test_nothing_is_widened_without_variation_or_tails() -> None:
    """Equal predictions, exact lines and light tails give no widening and no error."""
    flat, line = np.ones(20), np.arange(20.0)
    assert tails.of_line(sums(line, flat)) == 0.0
    assert tails.of_errors(sums(line, line)) == 0.0
    assert tails.of_errors(sums(np.tile([0.0, 1.0], 10), np.full(20, 0.5))) == 0.0
    assert tails.widening(0.0, 10) == 1.0

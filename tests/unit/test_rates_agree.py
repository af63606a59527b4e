"""p and interval of rates come from one method: p < α exactly where the 1 − α interval excludes no difference."""

from __future__ import annotations

import numpy as np
import pytest

import evenhand as eh
from evenhand.measures.contrasts import Rate, rate_difference, rate_ratio
from evenhand.stats.rates import fisher_exact, miettinen_nurminen, newcombe

LEVELS = (0.8, 0.9, 0.95, 0.99, 0.9975)


@pytest.mark.parametrize("shape", [(7, 9), (12, 15), (3, 40), (60, 90)])
@pytest.mark.parametrize("df", [None, 12.0])
def test_p_is_below_alpha_where_the_interval_excludes_no_difference(
    shape: tuple[int, int], df: float | None
) -> None:
    """Of every table (of a grid of the large ones), ratio and difference, at five levels, counts and effective
    counts."""
    n, m = shape
    for x in range(0, n + 1, max(1, n // 12)):
        for y in range(0, m + 1, max(1, m // 12)):
            one, two = (Rate(h, t, whole=df is None, df=df) for h, t in ((x, n), (y, m)))
            for make, null in ((rate_ratio, 1.0), (rate_difference, 0.0)):
                for level in LEVELS:
                    found = make(one, two, level)
                    if found.low is None or found.high is None or found.p_value is None:
                        continue
                    outside = not found.low <= null <= found.high
                    edge = min(abs(found.low - null), abs(found.high - null))
                    assert outside == (found.p_value < 1 - level) or edge < 1e-7


def test_nobody_selected_on_a_side_still_has_a_p() -> None:
    """0 of 200 beside 100 of 200: the ratio is not finite, and p says what is sure."""
    found = rate_ratio(Rate(100, 200), Rate(0, 200), 0.95)
    assert (found.value, found.why_not) == (None, "nobody in the reference is selected")
    assert found.p_value is not None
    assert found.p_value < 1e-20
    other = rate_ratio(Rate(0, 200), Rate(100, 200), 0.95)
    assert other.high is not None
    assert other.high < 0.1
    assert other.p_value == pytest.approx(found.p_value, rel=1e-6)
    assert rate_ratio(Rate(0, 20), Rate(0, 30), 0.95).p_value == 1.0


def test_rare_rates_are_not_conservative() -> None:
    """Exact sizes over 8 designs: on average nearer to 5 % than Fisher's test, and none above 7 %."""
    from scipy.stats import binom

    sizes = []
    for n, m, p in [(12, 15, 0.3), (20, 40, 0.1), (30, 30, 0.1), (30, 300, 0.05), (15, 100, 0.1),
                    (50, 50, 0.05), (60, 40, 0.2), (25, 80, 0.3)]:  # fmt: skip
        x, y = np.arange(n + 1), np.arange(m + 1)
        chance = binom.pmf(x, n, p)[:, None] * binom.pmf(y, m, p)
        some = [(i, j) for i, j in np.argwhere(chance > 1e-5).tolist()]
        size = np.zeros(3)
        for i, j in some:
            ps = (
                miettinen_nurminen(i, n, j, m).p_value,
                newcombe(i, n, j, m).p_value,
                fisher_exact(i, n, j, m),
            )
            size += chance[i, j] * np.array([p is not None and p < 0.05 for p in ps])
        sizes.append(size)
    score, hybrid, fisher = np.mean(sizes, axis=0)
    assert fisher < 0.03
    assert 0.038 < score < 0.055
    assert 0.038 < hybrid < 0.055
    assert np.max(sizes) < 0.07


@pytest.mark.parametrize("rate", [0.1, 0.3])
def test_audited_rates_agree(rate: float) -> None:
    """Through the public door: every rate claim of small groups agrees with its interval."""
    rng = np.random.default_rng(7)
    seen = 0
    for _ in range(20):
        group, p = np.repeat(["a", "b"], [14, 20]), rng.random(34) < rate
        result = eh.audit_predictions({"g": group, "p": p}, y_pred="p", groups="g", positive="True")
        for f in result.findings:
            e = f.estimate
            if e.low is not None and e.high is not None and e.p_value is not None:
                null = 1.0 if e.contrast == "ratio" else 0.0
                assert (e.p_value < 0.05) == (not e.low <= null <= e.high)
                seen += 1
    assert seen > 20

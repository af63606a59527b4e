"""The crossed difference, our REML and statsmodels' mixed model on one grid."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from mixed_model import mixed_model

from evenhand.stats.crossed import difference


def test_reml_and_mean_squares_and_statsmodels_agree_on_a_balanced_grid():
    """With positive components REML equals the mean squares, so all three give one standard error."""
    from statsmodels.regression.mixed_linear_model import MixedLM, VCSpec

    rng = np.random.default_rng(5)
    text, term = np.divmod(np.arange(12 * 16), 16)
    a = term < 8
    side = (~a).astype(int)
    score = rng.normal(size=16)[term] + rng.normal(size=12)[text] + 0.8 * rng.normal(size=24)[text * 2 + side]
    score = score + 0.5 * rng.normal(size=len(score))
    ours = mixed_model(score, a=a, b=~a, text=text, term=term)
    crossed = difference(score, a=a, b=~a, units={"text": text, "term": term})
    assert ours.value == pytest.approx(crossed.value, abs=1e-9)
    assert ours.se == pytest.approx(crossed.se, rel=2e-3)
    designs = [np.equal.outer(c, np.unique(c)).astype(float) for c in (term, text, text * 2 + side)]
    names = ["term", "text", "text_group"]
    columns = [[[f"{n}{i}" for i in range(d.shape[1])]] for n, d in zip(names, designs, strict=True)]
    spec = VCSpec(names, columns, [[d] for d in designs])
    exog = np.column_stack([np.ones(len(score)), a.astype(float)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = MixedLM(score, exog, groups=np.zeros(len(score)), exog_vc=spec).fit(reml=True)
    assert ours.value == pytest.approx(theirs.params[1], abs=1e-4)
    assert ours.se == pytest.approx(theirs.bse[1], rel=0.02)


def test_a_design_that_is_too_large_or_too_small_says_so():
    """Beyond 1,500 cells and under two terms: a reason."""
    text, term = np.divmod(np.arange(50 * 40), 40)
    score = np.random.default_rng(0).normal(size=2000)
    assert "2000 cells" in mixed_model(score, a=term < 20, b=term >= 20, text=text, term=term).why_not
    few = term < 3
    found = mixed_model(score[few], a=term[few] < 1, b=term[few] >= 1, text=text[few], term=term[few])
    assert "fewer than two" in found.why_not

"""Designs: cheapest samples, ranges from pilots, and the way from a result back to its design."""

from __future__ import annotations

import time

import numpy as np
import pytest

import evenhand as eh
from evenhand._design import STEPS
from evenhand.reports.charts import chart


@pytest.mark.parametrize(("rate", "n"), [(0.3, 803), (0.5, 344)])
def test_the_cheapest_sample_for_equal_rates(rate: float, n: int) -> None:
    """The least people a group for an impact ratio within four fifths."""
    assert f"{n} a group" in str(eh.design("rates", n=100, rate=rate).cheapest)


def test_the_cheapest_design_grants_its_wish_and_one_name_fewer_does_not() -> None:
    """Asked again, the cheapest has the chance wanted."""
    sds = {"term_sd": 0.05, "text_sd": 0.05, "residual_sd": 0.1}
    told = str(eh.design("texts", n=20, texts=40, **sds).cheapest["disparity at a gap of 0.2, 80 %"])
    texts, names = (float(part.split()[0]) for part in told.split(", ")[:2])

    def chance(n: float, t: float) -> float:
        at = eh.design("texts", n=n, texts=t, **sds).curve
        return at[list(at)[-1]]["disparity"].value

    assert chance(names, texts) >= 0.8
    assert max(chance(names - 1, texts), chance(names, texts - 1)) < 0.8


def test_a_pilot_gives_ranges_around_the_chance() -> None:
    """With 38 degrees of freedom the chance at the gap of 80 % spans some thirty points."""
    sds = {"term_sd": 0.05, "text_sd": 0.05, "residual_sd": 0.2}
    at = eh.design("texts", n=20, texts=40, pilot_df=38, **sds)
    curve = at.curve[list(at.curve)[STEPS.index(1.6)]]
    low, value, high = (getattr(curve["disparity"], name) for name in ("low", "value", "high"))
    assert low < value < high
    assert (low, high) == (pytest.approx(0.60, abs=0.04), pytest.approx(0.92, abs=0.04))
    assert at.exhibit().encode["low"] == "low"


@pytest.mark.parametrize("wrong", [{}, {"n": 0}, {"n": 10, "rate": 1.5}, {"n": 10, "rate": 0.2, "texts": 3}])
def test_a_sample_that_is_none_is_refused(wrong: dict[str, float]) -> None:
    """Missing, unknown and impossible numbers are named."""
    with pytest.raises(eh.EvenhandError) as caught:
        eh.design("rates", **wrong)
    assert caught.value.slug == "bad-design"


def test_a_finding_s_own_design_finds_its_detectable_gap_four_times_in_five() -> None:
    """What the run printed and what the design says are one number, claims and all."""
    rng = np.random.default_rng(1)
    rows = {f"s{i}": rng.normal(0.5, 0.3, 60) for i in range(3)}
    groups = np.repeat(["a", "b"], 30)
    result = eh.audit_scores({**rows, "g": groups}, scores=list(rows), groups="g")
    for finding in result.primary:
        assert finding.detectable is not None
        told = eh.design(finding)
        assert told.claims == pytest.approx(3, rel=0.01)
        assert told.detectable == pytest.approx(finding.detectable, rel=2e-3)
    assert eh.design(result).claims == pytest.approx(3, rel=0.01)


def test_a_design_is_a_table_a_chart_and_an_answer_in_two_seconds() -> None:
    """Also for many groups and a pilot, the dearest to compute."""
    before = time.process_time()
    told = eh.design("texts", n=20, texts=40, groups=12, term_sd=0.2, text_sd=0.2, pilot_df=20)
    assert time.process_time() - before < 6  # two on a free machine
    assert told.table().num_rows == len(STEPS)
    assert told.table().column("true gap").to_pylist()[0] == 0.0
    assert chart(told.exhibit()) is not None


def test_what_a_maximum_was_picked_from_is_paid_for_by_its_design() -> None:
    """The widest of four groups reaches the gap that its finding says, not that of a single pair."""
    rng = np.random.default_rng(3)
    rows = {"s": rng.normal(0.5, 0.3, 200), "g": np.repeat(list("abcd"), 50)}
    finding = eh.audit_scores(rows, scores="s", groups="g").primary[0]
    assert finding.detectable is not None
    told = eh.design(finding)
    assert told.claims > 5
    assert told.detectable == pytest.approx(finding.detectable, rel=2e-3)

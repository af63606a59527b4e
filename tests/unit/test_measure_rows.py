"""A measure is one row: what is claimed, checked, listed and drawn follows from it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.measures import MEASURES, regression


def rows(n: int = 900, m: int = 100) -> dict[str, Any]:
    """Two groups of unlike size and spread, with prediction intervals."""
    rng = np.random.default_rng(5)
    p = np.concatenate([rng.normal(0, 1, n), rng.normal(-0.4, 4, m)])
    y = p + rng.normal(size=n + m)
    return {"p": p, "y": y, "g": np.repeat(["a", "b"], [n, m]), "lo": p - 1, "hi": p + 2 + 0.1 * np.abs(p)}


@pytest.fixture(scope="module")
def audited() -> eh.Result:
    """One audit with everything that has a row, and a bootstrap check."""
    return eh.audit_predictions(
        rows(), y_pred="p", y_true="y", groups="g", reference="a", interval=("lo", "hi"), pinball=0.5,
        task="ranking", replicates=400,
    )  # fmt: skip


def test_the_bootstrap_checks_the_very_claim(audited: eh.Result) -> None:
    """Value for value, also of the standardised mean difference of unequal groups (bug B3)."""
    claimed = {
        (f.estimate.measure, f.estimate.given): f.estimate
        for f in audited.findings
        if (f.primary or f.family.startswith("g, ")) and "widest" not in f.family
    }
    checked = {(r["measure"], r["given"]): r for r in audited.exhibits["bootstrap by g"].rows()}
    for key, row in checked.items():
        assert row["value"] == pytest.approx(claimed[key].value, abs=1e-9), key
    smd = checked["standardised mean difference", None]
    assert smd["low"] == pytest.approx(claimed["standardised mean difference", None].low, abs=0.15)


def test_no_claim_made_of_means_is_left_out_of_the_bootstrap(audited: eh.Result) -> None:
    """Interval coverage and width, pinball loss and exposure are checked too (bug B4)."""
    checked = {r["measure"] for r in audited.exhibits["bootstrap by g"].rows()}
    claimed = {
        f.estimate.measure for f in audited.findings if f.primary or f.family.startswith("g, outcomes")
    }
    claimed |= {f.estimate.measure for f in audited.findings if f.family.startswith("g, accuracy")}
    assert claimed - checked == {"Kolmogorov–Smirnov distance", "Wasserstein distance"}


def test_positive_measures_have_intervals_on_the_log_scale(audited: eh.Result) -> None:
    """In the table of performance pinball loss and exposure are treated as RMSE is (bug B4)."""
    table = list(audited.exhibits["performance by g"].rows())
    positive = {m.name for m in regression.ROWS if m.log or m.contrast == "ratio"}
    assert {"RMSE", "pinball loss", "exposure"} <= positive
    for row in table:
        if row["measure"] in positive:
            value, low, high = (float(row[k]) for k in ("value", "low", "high"))
            assert value / low == pytest.approx(high / value, rel=1e-9), row["measure"]


def test_every_claimed_measure_is_listed_and_can_be_asked_for_alone(audited: eh.Result) -> None:
    """`evenhand list measures` and `eh.measures.compare` know each claim by its name, and agree with the audit."""
    data = rows()
    roles = {"group": data["g"], "reference": "a", "y_true": data["y"]}
    for f in audited.findings:
        e = f.estimate
        name, _, _ = e.measure.partition(" at q=")
        name = name.partition(" above q=")[0]
        if f.verdict is None or e.given or name in ("interval coverage", "interval width", "pinball loss"):
            continue
        assert name in MEASURES
        if name == "exposure":
            continue
        q = float(e.measure.partition("q=")[2] or 0.8)
        alone = eh.measures.compare(name, data["p"], q=q, **roles)
        assert alone.value == pytest.approx(e.value, abs=1e-9)
        assert (alone.low, alone.high) == pytest.approx((e.low, e.high), abs=1e-9)

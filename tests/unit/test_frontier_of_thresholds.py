"""Thresholds chosen on one half of the rows, and what they give on the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand._errors import UsageError
from evenhand.cli import run
from evenhand.engines import files as engine_files
from evenhand.stats.cutoffs import Cuts, cuts_of_equal_recall, most_accurate


def rows(n: int = 6000, seed: int = 0, shift: float = 0.12) -> dict[str, Any]:
    """Scores that are chances of the outcome; women's lie lower, and so do their outcomes."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], n)
    s = np.clip(rng.beta(2, 2, n) - np.where(sex == "F", shift, 0.0), 0.01, 0.99).round(3)
    return {"s": s, "y": (rng.random(n) < s).astype(int), "p": (s > 0.5).astype(int), "sex": sex}


def audit(data: Any, **call: Any) -> eh.Result:
    given = {
        "y_pred": "p",
        "y_true": "y",
        "y_score": "s",
        "groups": "sex",
        "reference": "M",
        "frontier": True,
    }
    return eh.audit_predictions(data, **{**given, **call})


def table(result: eh.Result, name: str) -> dict[str, dict[str, Any]]:
    """Policy (and group) → row."""
    return {
        " | ".join(str(row[k]) for k in ("policy", "group") if k in row): row
        for row in result.exhibits[f"{name} by sex"].rows()
    }


def test_equal_selection_costs_accuracy_that_is_told_with_its_interval() -> None:
    """Rates are equal on rows that did not choose the thresholds, and the cost is of the same people."""
    result = audit(rows())
    costs, each = table(result, "cost of thresholds"), table(result, "thresholds")
    parity, blind = costs["per group, equal selection"], costs["one for all"]
    assert blind["impact ratio"] < 0.75
    assert parity["impact ratio"] > 0.9
    assert parity["cost high"] < 0.02
    assert parity["cost low"] < parity["cost in accuracy"] < parity["cost high"]
    assert parity["cost in accuracy"] == pytest.approx(parity["accuracy"] - blind["accuracy"])
    assert parity["selection rate"] == pytest.approx(blind["selection rate"], abs=0.03)
    women, men = (each[f"per group, equal selection | sex={g}"] for g in "FM")
    assert women["threshold"] < 0.5 < men["threshold"]
    found = next(f.estimate for f in result.findings if "equal selection" in f.estimate.group)
    assert (found.value, found.low) == (parity["cost in accuracy"], parity["cost low"])


def test_verdicts_of_a_policy_are_those_of_the_second_half() -> None:
    """Impact ratio and true positive rate of each policy; they are no part of the headline."""
    result = audit(rows())
    own = {
        (f.estimate.given, f.estimate.measure): f
        for f in result.findings
        if (f.estimate.given or "").startswith("thresholds")
    }
    assert own["thresholds one for all", "disparate impact"].verdict == "disparity"
    assert own["thresholds per group, equal selection", "disparate impact"].verdict == "within tolerance"
    recall = own["thresholds per group, equal true positive rates", "true positive rate"]
    assert abs(recall.estimate.value) < 0.08
    assert not any(f.primary for f in own.values())
    assert own["thresholds one for all", "disparate impact"].estimate.n < 3200


def test_the_half_that_chooses_is_not_the_half_that_reports() -> None:
    """Scores that say nothing: what is most accurate on the first half is no better than chance on the second."""
    rng = np.random.default_rng(99)
    gains = []
    for seed in range(40):
        data = rows(400, seed=seed, shift=0.0)
        data["y"] = rng.integers(0, 2, 400)
        gains.append(table(audit(data), "cost of thresholds")["per group, most accurate"]["cost in accuracy"])
    assert abs(np.mean(gains)) < 3 * np.std(gains) / np.sqrt(40)


def test_the_frontier_has_every_share_and_a_band() -> None:
    """Two policies at 19 shares; the band holds the accuracy, and parity is about one per group."""
    found = list(audit(rows()).exhibits["frontier by sex"].rows())
    assert len(found) == 38
    for row in found:
        assert row["low"] <= row["accuracy"] <= row["high"]
    ratios = [
        row["impact ratio"]
        for row in found
        if row["policy"].startswith("per group") and row["share selected"] > 0.3
    ]
    assert min(ratios) > 0.85
    curves = list(audit(rows()).exhibits["curves by sex"].rows())
    assert len(curves) == 38


def test_nobody_decided_otherwise_is_bounded_not_certain() -> None:
    """One threshold that decides as it was decided: the cost is 0, and what so few rows allow."""
    row = table(audit(rows(400)), "cost of thresholds")["as given"]
    assert row["cost in accuracy"] == 0.0
    assert 0 < row["cost high"] < 0.03


def test_few_people_and_missing_scores_are_said() -> None:
    """A group of thirty has no threshold of its own; without scores or outcomes it is an error."""
    data = rows()
    keep = (data["sex"] == "M") | (np.cumsum(data["sex"] == "F") <= 30)
    few = audit({k: v[keep] for k, v in data.items()})
    assert "frontier-few" in {n.slug for n in few.notes}
    assert "thresholds by sex" not in few.exhibits
    for lost in ("y_true", "y_score"):
        with pytest.raises(UsageError, match="held against outcomes"):
            audit(data, **{lost: None})


def test_weights_and_units_count_people_not_rows() -> None:
    """Every row four times with its person: as wide as once, and wider than four times the people."""
    data = rows(1500)
    many = {k: np.repeat(v, 4) for k, v in data.items()} | {"who": np.repeat(np.arange(1500), 4)}
    widths = []
    for result in (audit(data), audit(many, units="who"), audit(many, units=False)):
        row = table(result, "cost of thresholds")["per group, equal selection"]
        widths.append((row["cost high"] - row["cost low"], row["high"] - row["low"]))
    assert widths[1] == pytest.approx(widths[0], rel=0.25)
    assert widths[2][0] < 0.65 * widths[1][0]
    weighted = audit(data | {"w": np.where(np.arange(1500) % 10 == 0, 50.0, 1.0)}, weight="w")
    row = table(weighted, "cost of thresholds")["one for all"]
    assert row["high"] - row["low"] > 1.5 * widths[0][1]


def test_cuts_by_hand() -> None:
    """Ties, the ends, and equal recall."""
    cuts = Cuts.of(np.array([0.2, 0.2, 0.2, 0.9]), np.ones(4))
    assert (cuts.at(0.25), cuts.at(1.0), cuts.at(0.0), cuts.at(0.7)) == (0.2, -np.inf, 0.9, -np.inf)
    assert [cuts.share(c) for c in (-np.inf, 0.2, 0.9)] == [1.0, 0.25, 0.0]
    assert most_accurate(np.array([0.3, 0.6]), np.array([1.0, 1.0]), np.ones(2)) == -np.inf
    assert most_accurate(np.array([0.3, 0.6]), np.array([0.0, 0.0]), np.ones(2)) == 0.6
    score, actual = np.arange(8) / 10, np.array([0, 1, 1, 1, 1, 0, 1, 1.0])
    one, two = cuts_of_equal_recall(score, actual, np.ones(8), [np.arange(4), np.arange(4, 8)], 0.5)
    assert np.mean(score[1:4] > one) == pytest.approx(np.mean(score[[4, 6, 7]] > two))


def test_the_command_line_and_streamed_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """--frontier; a streamed file says why not."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    path = tmp_path / "rows.parquet"
    parquet.write_table(pa.table(rows(1000)), path)
    call = [
        "predictions",
        str(path),
        "--y-pred",
        "p",
        "--y-true",
        "y",
        "--y-score",
        "s",
        "--group",
        "sex",
        "--frontier",
    ]
    assert run([*call, "--out", str(tmp_path / "out")]) == 0
    assert "frontier by sex" in eh.Result.from_json(tmp_path / "out" / "result.json").exhibits
    monkeypatch.setattr(engine_files, "STREAM_ROWS", 100)
    assert run(call) == 2
    assert "needs all rows at once" in capsys.readouterr().err

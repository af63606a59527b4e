"""32 published cells of a language model's résumé rankings, each with the interval that lists and names allow."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh

JOBS = ("HR specialist", "software engineer", "retail", "financial analyst")


def rows_of(data: Path, job: str) -> dict[str, list[Any]]:
    with (data / "language_models" / "resume_rankings_gpt35.csv").open(encoding="utf-8") as file:
        mine = [r for r in csv.DictReader(file) if r["job"] == job]
    rows: dict[str, list[Any]] = {k: [r[k] for r in mine] for k in ("run", "candidate", "demo")}
    return rows | {k: [int(r[k]) for r in mine] for k in ("gpt_rank", "top")}


def published(data: Path, job: str) -> list[dict[str, str]]:
    with (data / "language_models" / "resume_rankings_gpt35_published.csv").open(encoding="utf-8") as file:
        return [r for r in csv.DictReader(file) if r["job"] == job]


def audit(rows: dict[str, Any], best: str, **more: Any) -> eh.Result:
    call: dict[str, Any] = {"y_pred": "gpt_rank", "first": "lowest", "top": 1, "units": "candidate"}
    return eh.audit_predictions(rows, groups="demo", lists="run", reference=best, **{**call, **more})


def gaps(result: eh.Result) -> dict[str, eh.Estimate]:
    plain = [f.estimate for f in result.findings if f.estimate.measure == "disparate impact"]
    return {e.group.removeprefix("demo="): e for e in plain}


@pytest.mark.parametrize("job", JOBS)
def test_every_published_cell_is_reproduced_with_its_interval(data: Path, job: str) -> None:
    """Selection rates and impact ratios to 1e-12; each ratio lies in an interval made of 1,000 lists and 200 names."""
    cells, rows = published(data, job), rows_of(data, job)
    assert len(cells) == 8
    best = cells[0]["demo"]
    result = audit(rows, best)
    table = result.exhibits["taken by demo"].columns
    found = gaps(result)
    for cell in cells:
        at = table["group"].index(f"demo={cell['demo']}")
        assert table["share taken"][at] == pytest.approx(float(cell["selection_rate"]), abs=1e-12)
        wanted = float(cell["disparate_impact_ratio"])
        assert table["ratio to the highest"][at] == pytest.approx(wanted, abs=1e-12)
        if cell["demo"] == best:
            continue
        e = found[cell["demo"]]
        assert e.value == pytest.approx(wanted, abs=1e-12)
        assert e.low is not None
        assert e.high is not None
        assert e.low < wanted < e.high
        assert e.units == {"list": 1000, "candidate": 200}


def test_the_financial_analyst_s_cell_and_its_verdict(data: Path) -> None:
    """Black men, .4419: shown to be beyond four fifths, also with names as a sample; for retail nothing is settled."""
    result = audit(rows_of(data, "financial analyst"), "A_W")
    e = gaps(result)["B_M"]
    assert e.value == pytest.approx(76 / 172, abs=1e-12)
    assert (e.low, e.high) == pytest.approx((0.328, 0.595), abs=0.004)
    assert result.verdict == "disparity"
    assert audit(rows_of(data, "retail"), "A_W").verdict == "inconclusive"


def test_the_interval_of_lists_is_that_of_resampled_lists(data: Path) -> None:
    """2,000 resamples of the lists, percentile ends: within 4 % of the closed form on the log scale."""
    rows = rows_of(data, "financial analyst")
    e = gaps(audit(rows, "A_W", units=False))["B_M"]
    winner = {run: demo for run, demo, top in zip(rows["run"], rows["demo"], rows["top"], strict=True) if top}
    wins = np.array([[d == "B_M", d == "A_W"] for d in winner.values()], dtype=float)
    drawn = (
        np.random.default_rng(0).multinomial(len(wins), np.full(len(wins), 1 / len(wins)), size=2000) @ wins
    )
    low, high = np.quantile(np.log(drawn[:, 0] / drawn[:, 1]), (0.025, 0.975))
    assert e.low is not None
    assert e.high is not None
    assert np.log(e.high / e.low) == pytest.approx(high - low, rel=0.04)


def test_ranks_and_labels_of_the_winner_are_one_audit(data: Path) -> None:
    """First of the ranks, or the 0/1 label: the same values, intervals and verdicts."""
    rows = rows_of(data, "retail")
    by_rank, by_label = audit(rows, "A_W"), audit(rows, "A_W", y_pred="top", top=None, first="highest")
    assert gaps(by_rank) == {k: e.with_(given="top 1 of each list") for k, e in gaps(by_label).items()}

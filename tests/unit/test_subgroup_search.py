"""Subgroups that nobody named: found on one half of the rows, judged on the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand._model import Factor
from evenhand.cli import run
from evenhand.engines import files as engine_files
from evenhand.stats.subgroups import search


def rows(n: int = 2000, gap: float = 0.0, seed: int = 0) -> dict[str, Any]:
    """0/1 decisions; young people without a job get `gap` fewer."""
    rng = np.random.default_rng(seed)
    age, job = rng.uniform(18, 70, n), rng.choice(["none", "part", "full"], n)
    sex = rng.choice(["F", "M"], n)
    hit = (age <= 28.4) & (job == "none")
    y = (rng.random(n) < 0.5).astype(int)
    share = np.where(hit, 0.5 - gap, 0.5)
    return {"age": age, "job": job, "sex": sex, "y": y, "p": (rng.random(n) < share).astype(int)}


def audit(data: Any, **call: Any) -> eh.Result:
    return eh.audit_predictions(
        data, **{"y_pred": "p", "groups": "sex", "search": ["age", "job", "sex"], **call}
    )


def found(result: eh.Result) -> list[eh.Finding]:
    return [f for f in result.findings if f.estimate.measure.endswith("worst subgroup over features")]


def test_a_hidden_subgroup_is_found_and_confirmed() -> None:
    """Nobody named it, neither of its conditions alone is it, and its verdict is that of unseen rows."""
    (worst,) = found(audit(rows(4000, gap=0.35)))
    assert worst.estimate.group.startswith("subgroup=age ≤ 28.")
    assert "job = none" in worst.estimate.group
    assert worst.verdict == "disparity"
    assert worst.estimate.value < 0.6
    assert not worst.primary


def test_the_interval_is_that_of_the_second_half_alone() -> None:
    """What the search saw is shown beside it and is further away: the best of hundreds."""
    result = audit(rows(seed=3))
    (worst,) = found(result)
    table = result.exhibits["worst subgroup over features"].columns
    assert abs(table["standard errors apart"][0]) > 2
    assert worst.estimate.n == 1000
    assert table["rows of the second half"] == [worst.estimate.n_group]
    assert worst.estimate.low < 1 < worst.estimate.high


def test_nothing_to_find_is_rarely_confirmed() -> None:
    """200 audits of decisions by coin: a subgroup is called a gap or a disparity in at most 5 % plus two errors."""
    alarms = searched = 0
    for seed in range(200):
        data = rows(800, seed=seed)
        verdicts = {f.verdict for f in found(audit(data, y_true="y"))}
        alarms += bool(verdicts & {"gap", "disparity"})
        searched += bool(verdicts)
    assert searched > 190
    assert alarms <= 16


def test_units_stay_in_one_half() -> None:
    """Copies of a person in both halves would confirm what the search found by chance."""
    data = rows(800, seed=1)
    data = {k: np.repeat(v, 4) for k, v in data.items()} | {"who": np.repeat(np.arange(800), 4)}
    from evenhand.audits.predictions.rows import Rows
    from evenhand.audits.predictions.searched.worst import halves

    own = Rows(columns={}, groups={"sex": Factor.of(data["sex"])}, unit=data["who"].astype(np.int32))
    first = halves(own, 0)
    assert not set(data["who"][first]) & set(data["who"][~first])
    assert abs(first.mean() - 0.5) < 0.01
    alarms = 0
    for seed in range(40):
        one = rows(300, seed=seed)
        many = {k: np.repeat(v, 4) for k, v in one.items()} | {"who": np.repeat(np.arange(300), 4)}
        alarms += any(f.verdict in ("gap", "disparity") for f in found(audit(many, units="who")))
    assert alarms <= 5


def test_numbers_are_searched_by_mean_and_residual() -> None:
    """A model that over-predicts for the old is found by its residual."""
    rng = np.random.default_rng(0)
    data = rows(3000)
    y = rng.normal(size=3000)
    data |= {"y": y, "p": y + rng.normal(size=3000) + 0.8 * (data["age"] > 60)}
    worst = {f.estimate.measure.split(",")[0]: f for f in found(audit(data, y_true="y"))}
    assert set(worst) == {"standardised mean difference", "mean residual"}
    assert "age > 5" in worst["mean residual"].estimate.group
    assert worst["mean residual"].verdict == "disparity"


def test_missing_values_are_a_condition_of_their_own() -> None:
    """Those without an age may be the ones who are rejected."""
    data = rows(2000)
    lost = np.arange(2000) % 5 == 0
    data["age"] = np.where(lost, np.nan, data["age"])
    data["p"] = np.where(lost, 0, data["p"])
    (worst,) = found(audit(data))
    assert worst.estimate.group.startswith("subgroup=age is missing")


@pytest.mark.parametrize("scale", [1e-6, 1e12])
def test_a_number_s_scale_changes_nothing(scale: float) -> None:
    """Conditions are cuts of ranks."""
    data = rows(2000, gap=0.3)
    first = found(audit(data))[0].estimate
    again = found(audit({**data, "age": data["age"] * scale}))[0].estimate
    assert (first.value, first.low) == (again.value, again.low)


def test_features_that_say_nothing_and_few_rows_are_named() -> None:
    """An identifier has no common level; two halves of 150 rows hold no subgroups."""
    data = rows(1000)
    data["id"] = np.arange(1000).astype(str)
    assert "search-nothing" in {n.slug for n in audit(data, search=["id"]).notes}
    assert "search-few" in {n.slug for n in audit(rows(300)).notes}
    assert "search-nothing" in {n.slug for n in audit({**data, "p": np.zeros(1000, dtype=int)}).notes}


def test_a_subgroup_is_that_of_a_search_over_all_pairs() -> None:
    """With two conditions the beam finds what trying every pair finds."""
    rng = np.random.default_rng(7)
    features = {
        "a": rng.normal(size=1500),
        "b": Factor.of(rng.choice(list("xyz"), 1500)),
        "c": rng.normal(size=1500),
    }
    value = rng.normal(size=1500) + 0.4 * ((features["a"] > 0.2) & features["b"].is_level("y"))
    best, looked = search(value, np.ones(1500), features)
    assert best is not None
    assert looked > 300
    inside = best.holds(features)
    z = (value[inside].mean() - value[~inside].mean()) / np.sqrt(
        value.var() * (1 / inside.sum() + 1 / (~inside).sum())
    )
    assert best.statistic == pytest.approx(z)
    from evenhand.stats.subgroups import conditions_of

    each = conditions_of(features)
    highest = 0.0
    for i, one in enumerate(each):
        for two in each[i:]:
            rows_in = one.holds(features) & two.holds(features)
            if min(rows_in.sum(), (~rows_in).sum()) >= 50:
                gap = value[rows_in].mean() - value[~rows_in].mean()
                highest = max(
                    highest, abs(gap) / np.sqrt(value.var() * (1 / rows_in.sum() + 1 / (~rows_in).sum()))
                )
    assert abs(best.statistic) >= highest - 1e-9


def test_the_command_line_searches_and_a_streamed_file_says_why_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """--search may be repeated."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    path = tmp_path / "rows.parquet"
    parquet.write_table(pa.table(rows(2000, gap=0.3)), path)
    call = ["predictions", str(path), "--y-pred", "p", "--group", "sex", "--search", "age", "--search", "job"]
    assert run(call) == 0
    assert "Worst subgroups over age, job" in capsys.readouterr().out
    monkeypatch.setattr(engine_files, "STREAM_ROWS", 100)
    assert run(call) == 2
    assert "needs all rows at once" in capsys.readouterr().err

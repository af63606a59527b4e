"""Audits over time: claims in each period, and a change with the uncertainty of both ends."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand._calendar import in_periods
from evenhand._errors import DataError, UsageError
from evenhand.cli import run
from evenhand.engines import files as engine_files

YEARS = (2019, 2020, 2023)


def rows(n: int = 3000, gain: float = 0.0, seed: int = 0, years: tuple[Any, ...] = YEARS) -> dict[str, Any]:
    """0/1 decisions; women catch up by `gain` from the first year to the last."""
    rng = np.random.default_rng(seed)
    at = rng.integers(0, len(years), n)
    sex = rng.choice(["F", "M"], n)
    share = np.where(sex == "F", 0.45 - gain * (1 - at / (len(years) - 1)), 0.45)
    return {"year": np.array(years)[at], "sex": sex, "p": (rng.random(n) < share).astype(int)}


def audit(data: Any, **call: Any) -> eh.Result:
    return eh.audit_predictions(
        data, **{"y_pred": "p", "groups": "sex", "reference": "M", "period": "year", **call}
    )


def change(result: eh.Result, kind: str = "last") -> eh.Estimate:
    return next(
        f.estimate
        for f in result.findings
        if f.estimate.measure.startswith("change of") and kind in f.estimate.measure
    )


def impact(data: dict[str, Any], year: Any) -> eh.Estimate:
    """The impact ratio of one year, audited by itself."""
    own = {k: v[data["year"] == year] for k, v in data.items()}
    result = eh.audit_predictions(own, y_pred="p", groups="sex", reference="M")
    return next(f.estimate for f in result.findings if f.estimate.measure == "disparate impact")


def logs(e: eh.Estimate) -> tuple[float, float, float]:
    assert e.value is not None
    assert e.low is not None
    assert e.high is not None
    return math.log(e.value), math.log(e.low), math.log(e.high)


def test_a_change_is_made_of_the_audits_of_both_periods() -> None:
    """Value and interval from two audits, one of each year, by hand; each year's claim is that audit's."""
    data = rows(gain=0.2)
    result = audit(data)
    first, last = (impact(data, year) for year in (2019, 2023))
    found = change(result)
    assert found.given == "2023 against 2019"
    (v1, l1, h1), (v2, l2, h2) = logs(first), logs(last)
    assert found.value == pytest.approx(math.exp(v2 - v1))
    assert found.low == pytest.approx(math.exp(v2 - v1 - math.hypot(v2 - l2, h1 - v1)))
    assert found.high == pytest.approx(math.exp(v2 - v1 + math.hypot(h2 - v2, v1 - l1)))
    own = next(f.estimate for f in result.findings if f.estimate.given == "year=2023")
    assert (own.value, own.low, own.high) == (last.value, last.low, last.high)
    table = result.exhibits["disparate impact by year, sex"].columns
    assert table["disparate impact"] == [impact(data, year).value for year in YEARS]


def test_the_trend_is_the_straight_line_through_the_years() -> None:
    """Least squares on the years as they lie, 2019, 2020 and 2023, times their span."""
    data = rows(gain=0.2)
    values = [logs(impact(data, year))[0] for year in YEARS]
    slope = np.polyfit(YEARS, values, 1)[0]
    assert change(audit(data), "straight").value == pytest.approx(math.exp(4 * slope))


def test_it_is_said_what_rose_and_what_is_not_settled() -> None:
    """A note in words, at the level of all changes together; no verdict of a gap for an improvement."""
    told = [n.text for n in audit(rows(gain=0.25)).notes if n.slug == "over-time"]
    assert len(told) == 2
    assert "it rose, nearer to no difference" in told[0]
    same = audit(rows())
    assert all("not settled whether it changed" in n.text for n in same.notes if n.slug == "over-time")
    assert {f.verdict for f in same.findings if "change" in f.estimate.measure} == {None}


def test_no_change_is_rarely_called_one() -> None:
    """200 audits of three years and two claims each without any change: a word of one in at most 5 % plus two errors."""
    alarms = 0
    for seed in range(200):
        result = audit(rows(600, seed=seed))
        alarms += any("it rose" in n.text or "it fell" in n.text for n in result.notes)
    assert alarms <= 16


def test_periods_with_few_rows_are_withheld_and_named() -> None:
    """The change is then from the first period that can be compared."""
    data = rows()
    keep = (data["year"] != 2019) | (np.cumsum(data["year"] == 2019) <= 25)
    result = audit({k: v[keep] for k, v in data.items()})
    assert change(result).given == "2023 against 2020"
    assert any("year=2019: sex=F or sex=M has under 20 rows" in n.text for n in result.notes)
    assert not [f for f in result.findings if f.estimate.given == "year=2019"]
    table = result.exhibits["disparate impact by year, sex"].columns
    assert table["low"][0] is None


def test_one_period_is_no_course_and_too_many_are_refused() -> None:
    """With words."""
    one = audit(rows(years=(2020, 2020)))
    assert any("has one period" in n.text for n in one.notes)
    with pytest.raises(DataError, match="too many to hold enough people"):
        audit(rows(years=tuple(f"week {i}" for i in range(30))))


def test_a_rate_of_zero_in_a_period_has_no_factor() -> None:
    """A ratio of 0 has no logarithm: the reason stands where the number would."""
    data = rows()
    data["p"] = np.where((data["year"] == 2019) & (data["sex"] == "F"), 0, data["p"])
    found = change(audit(data))
    assert found.value is None
    assert "has no logarithm" in (found.why_not or "")


def test_people_of_several_periods_are_not_independent() -> None:
    """With units the change has its value and the reason."""
    data = rows()
    data["who"] = np.arange(3000) % 500
    found = change(audit(data, units="who"))
    assert found.value is not None
    assert found.low is None
    assert "several periods" in (found.why_not or "")


def test_rows_without_a_group_widen_a_change_by_both_ends() -> None:
    """Whatever they are in either period: at least the sum of both arms, and no p."""
    data = rows(gain=0.2)
    data["sex"] = np.where(np.arange(3000) % 20 == 0, None, data["sex"].astype(object))
    found = change(audit(data))
    ends = [f.estimate for y in (2019, 2023) for f in audit(data).findings if f.estimate.given == f"year={y}"]
    (v1, _, h1), (v2, l2, _) = logs(ends[0]), logs(ends[1])
    assert logs(found)[1] < v2 - v1 - ((v2 - l2) + (h1 - v1))
    assert found.p_value is None


def test_days_are_put_together() -> None:
    """By month where that is enough, else by quarter or year; other texts stay as they are."""
    import pyarrow as pa

    days = [
        f"{year}-{month:02}-{day:02}"
        for year in (2021, 2022, 2023)
        for month in range(1, 13)
        for day in (1, 15)
    ]
    column = pa.chunked_array([days])
    assert in_periods(column, 36)[1] == "month"
    quarters, unit = in_periods(column.cast(pa.date32()), 24)
    assert (unit, quarters[0], quarters[-1]) == ("quarter", "2021 Q1", "2023 Q4")
    assert in_periods(column, 3)[0][-1] == "2023"
    assert in_periods(column, 100) == (None, "")
    assert in_periods(pa.chunked_array([[f"w{i}" for i in range(30)]]), 24) == (None, "")
    data = rows(years=tuple(days))
    result = audit(data)
    assert any("put together by quarter" in n.text for n in result.notes)
    assert change(result).given == "2023 Q4 against 2021 Q1"


def test_numbers_outcomes_and_controls_go_along() -> None:
    """Numeric predictions change in standard deviations and residuals; a control stays a control."""
    data = rows()
    rng = np.random.default_rng(1)
    data |= {"score": rng.normal(size=3000), "y": rng.normal(size=3000), "site": rng.choice(["a", "b"], 3000)}
    result = audit(data, y_pred="score", y_true="y", control="site")
    names = {
        f.estimate.measure.split(",")[0] for f in result.findings if f.estimate.measure.startswith("change")
    }
    assert names == {"change of standardised mean difference", "change of mean residual"}
    assert any(f.estimate.given == "site held equal" for f in result.findings)
    assert not any(f.estimate.given == "year held equal" for f in result.findings)


def test_a_streamed_file_has_the_same_course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of batches by period are sums of rows by period; the command line takes --period."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    data = rows(gain=0.2)
    path = tmp_path / "rows.parquet"
    parquet.write_table(pa.table(data), path)
    whole = change(audit(str(path)))
    monkeypatch.setattr(engine_files, "STREAM_ROWS", 100)
    streamed = audit(str(path))
    assert "streamed" in {n.slug for n in streamed.notes}
    assert change(streamed).low == pytest.approx(whole.low)
    call = [
        "predictions",
        str(path),
        "--y-pred",
        "p",
        "--group",
        "sex",
        "--period",
        "year",
        "--out",
        str(tmp_path / "out"),
    ]
    assert run(call) == 0
    again = eh.Result.from_json(tmp_path / "out" / "result.json")
    assert change(again).given == "2023 against 2019"


def test_lists_and_the_notebook_have_no_course() -> None:
    """They are refused, not ignored."""
    for more in ({"lists": "sex", "task": "ranking"}, {"measures": "notebook-2022"}):
        with pytest.raises(UsageError, match="not compared over time"):
            audit(rows(), **more)

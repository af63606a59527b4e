"""People decided on several times: rows of one person are one piece of evidence, in every claim and every door."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand._errors import DataError, UsageError
from evenhand.cli import run
from evenhand.stats.moments import moments, moments_of_units


def decisions(seed: int = 0, people: int = 60, times: int = 8) -> dict[str, Any]:
    """Equal groups: half of what decides is the person's, the rest is new each time."""
    rng = np.random.default_rng(seed)
    own = np.repeat(rng.normal(size=people), times)
    score = own + rng.normal(size=people * times)
    return {
        "person": np.repeat(np.arange(people), times),
        "sex": np.repeat(np.where(np.arange(people) % 2 == 0, "F", "M"), times),
        "p": score,
        "y": 0.5 * own + rng.normal(size=people * times),
        "hired": (score > 0.7).astype(int),
        "able": (own + rng.normal(size=people * times) > 0).astype(int),
    }


def copied(rows: dict[str, Any], times: int) -> dict[str, Any]:
    """Every row several times, with the number of the row it is a copy of."""
    n = len(rows["sex"])
    return {k: np.repeat(v, times) for k, v in rows.items()} | {"row": np.repeat(np.arange(n), times)}


CALLS: dict[str, dict[str, Any]] = {
    "numbers": {"y_pred": "p", "y_true": "y", "groups": "sex", "reference": "M"},
    "labels": {"y_pred": "hired", "y_true": "able", "groups": "sex", "reference": "M"},
}


@pytest.mark.parametrize("task", CALLS)
def test_rows_copied_four_times_say_what_the_rows_said(task: str) -> None:
    """With the original row as unit, verdicts are those of the original rows and intervals nearly so; without, narrower."""
    rows = decisions(3, people=240, times=1) | {"sex": np.where(np.arange(240) % 2 == 0, "F", "M")}
    rows["hired"] = np.where(rows["sex"] == "F", (rows["p"] > 1.2), rows["hired"]).astype(int)
    call = CALLS[task]
    plain = eh.audit_predictions(rows, **call)
    four = eh.audit_predictions(copied(rows, 4), units="row", **call)
    blind = eh.audit_predictions(copied(rows, 4), units=False, **call)
    of = {(f.estimate.measure, f.estimate.given): f for f in plain.findings}
    seen = 0
    for f, g in zip(four.findings, blind.findings, strict=True):
        e, o = f.estimate, of[f.estimate.measure, f.estimate.given].estimate
        if e.low is None or o.low is None or e.high is None or o.high is None:
            continue
        seen += 1
        assert f.verdict == of[e.measure, e.given].verdict, e.measure
        width = o.high - o.low
        assert e.low == pytest.approx(o.low, abs=0.12 * width), e.measure
        assert e.high == pytest.approx(o.high, abs=0.12 * width), e.measure
        low, high = g.estimate.low, g.estimate.high
        assert None not in (low, high), e.measure
        assert high - low < 0.8 * width, e.measure  # type: ignore[operator]
    assert seen >= 8


def test_the_covariance_over_units_is_that_of_their_sums() -> None:
    """Σ_u (Σ_i w(t − T))(…)′/W² · G/(G − 1), written out for units of different size and weighted rows."""
    rng = np.random.default_rng(1)
    unit = rng.integers(0, 9, 50)
    t, w = rng.normal(size=(2, 50)), rng.uniform(0.2, 3, 50)
    found = moments_of_units(t, ["a", "b"], unit, w)
    centred = w * (t - np.average(t, axis=1, weights=w)[:, None])
    sums = np.array([centred[:, unit == u].sum(axis=1) for u in np.unique(unit)])
    assert found.covariance() == pytest.approx(sums.T @ sums / w.sum() ** 2 * 9 / 8)
    assert found.units == 9
    once = moments_of_units(t, ["a", "b"], np.arange(50), w)
    assert once.units is None
    assert once.covariance() == pytest.approx(moments(t, ["a", "b"], w).covariance())


def test_units_that_never_repeat_change_nothing() -> None:
    """One row a person: the result is that of independent rows, and a note says that none repeats."""
    rows = decisions(people=200, times=1)
    one = eh.audit_predictions(rows, units="person", **CALLS["labels"])
    other = eh.audit_predictions(rows, **CALLS["labels"])
    assert [f.estimate for f in one.findings] == [f.estimate for f in other.findings]
    assert any(n.slug == "units" and "independent" in n.text for n in one.notes)


def test_what_takes_rows_for_independent_is_not_judged_with_units() -> None:
    """AUC and distances, continuous attributes and pooled strata have a reason instead of an interval."""
    rows = decisions() | {"age": np.tile(np.arange(60.0), 8), "job": np.tile(["a", "b"], 240)}
    result = eh.audit_predictions(rows, units="person", continuous="age", control="job", **CALLS["numbers"])
    tolerant = {"adverse-impact AUC", "Kolmogorov–Smirnov distance", "Wasserstein distance"}
    own = [
        f for f in result.findings if f.estimate.measure in tolerant or "correlation" in f.estimate.measure
    ]
    assert len(own) >= 5
    for f in own:
        assert f.estimate.value is not None, f.estimate.measure
        assert f.estimate.low is None, f.estimate.measure
        assert "independent" in (f.estimate.why_not or "")
        assert f.verdict in (None, "inconclusive")
    assert not any("held equal" in (f.estimate.given or "") for f in result.findings)
    assert {"units", "units-pooled"} <= {n.slug for n in result.notes}


@pytest.mark.parametrize("task", CALLS)
def test_three_people_of_a_group_give_no_interval(task: str) -> None:
    """Below four units of a side the variance over units says nothing, however many rows they have."""
    rows = decisions(people=60, times=8)
    keep = (rows["sex"] == "M") | (rows["person"] < 6)
    result = eh.audit_predictions({k: v[keep] for k, v in rows.items()}, units="person", **CALLS[task])
    judged = [f for f in result.findings if f.primary]
    assert judged
    assert all(f.verdict == "inconclusive" and f.estimate.low is None for f in judged)
    assert any("belong to 3 units" in (f.estimate.why_not or "") for f in judged)


def test_of_nested_units_the_widest_counts() -> None:
    """A path names the cluster first; an array is as good as a column; crossed units are refused."""
    rows = decisions() | {"family": np.repeat(np.arange(20), 24)}
    call = CALLS["labels"]
    path = eh.audit_predictions(rows, units="family/person", **call)
    for units in ("family", rows["family"], ["family"]):
        other = eh.audit_predictions(rows, units=units, **call)
        assert [f.estimate for f in other.findings] == [f.estimate for f in path.findings]
    with pytest.raises(UsageError, match="one unit"):
        eh.audit_predictions(rows, units=["family", "person"], **call)
    with pytest.raises(DataError, match="pupil"):
        eh.audit_predictions(rows, units="pupil", **call)


def test_units_of_a_streamed_file_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of batches do not know whose rows they are, so nothing is claimed as if they did."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    monkeypatch.setattr("evenhand.engines.files.STREAM_ROWS", 10)
    parquet.write_table(pa.table(decisions()), tmp_path / "rows.parquet")
    with pytest.raises(UsageError, match="all rows at once"):
        eh.audit_predictions(tmp_path / "rows.parquet", units="person", **CALLS["labels"])


def test_the_command_takes_units_and_their_absence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--unit COLUMN` is the keyword, `--unit false` says that rows are independent, and audit.toml repeats it."""
    import pyarrow as pa
    import pyarrow.csv as csv

    csv.write_csv(pa.table(decisions()), tmp_path / "rows.csv")
    flags = ["--y-pred", "hired", "--y-true", "able", "--group", "sex", "--reference", "M"]
    for value, units in (("person", "person"), ("false", False)):
        out = tmp_path / value
        command = ["predictions", str(tmp_path / "rows.csv"), *flags, "--unit", value, "--out", str(out)]
        assert run(command) == 0
        ours = eh.audit_predictions(tmp_path / "rows.csv", units=units, **CALLS["labels"])
        told = [f.estimate for f in eh.Result.from_json(out / "result.json").findings]
        assert told == [f.estimate for f in ours.findings]
        assert run(["run", str(out / "audit.toml")]) == 0
        assert [f.estimate for f in eh.Result.from_json(out / "result.json").findings] == told
    capsys.readouterr()


def withheld(result: eh.Result) -> bool:
    """Whether nothing is judged because rows recur: no interval, no p, no verdict but inconclusive."""
    recurs = any(n.slug == "rows-recur" for n in result.notes)
    judged = [f for f in result.findings if f.tolerance is not None]
    assert judged
    silent = all(
        f.verdict == "inconclusive" and f.estimate.low is f.estimate.p_value is f.simultaneous is None
        for f in judged
    )
    assert silent is recurs
    return recurs


@pytest.mark.parametrize("column", ["person_id", "id", "applicant", "User-UUID"])
@pytest.mark.parametrize("task", CALLS)
def test_verdicts_wait_until_somebody_says_what_a_repeated_identifier_means(task: str, column: str) -> None:
    """60 values of an id in 480 rows: the reason names the column and both answers; either answer is obeyed."""
    rows = decisions()
    rows[column] = rows.pop("person")
    result = eh.audit_predictions(rows, **CALLS[task])
    assert withheld(result)
    assert f"60 values of {column} in 480 rows: pass units='{column}'" in result.findings[0].because
    assert "units=False" in (result.findings[0].estimate.why_not or "")
    assert not withheld(eh.audit_predictions(rows, units=column, **CALLS[task]))
    assert not withheld(eh.audit_predictions(rows, units=False, **CALLS[task]))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("person_id", np.arange(480)),
        ("student", np.tile(["no", "yes"], 240)),
        ("job", np.repeat(np.arange(60), 8)),
        ("person_id", np.where(np.arange(480) < 3, 7, np.arange(480))),
    ],
)
def test_other_columns_do_not_stop_a_verdict(name: str, values: Any) -> None:
    """Values that never repeat (or three times in 480), answers of yes and no, and what is no name of a person."""
    rows = {k: v for k, v in decisions().items() if k != "person"} | {name: values}
    assert not withheld(eh.audit_predictions(rows, **CALLS["numbers"]))


def test_exact_copies_of_real_predictions_stop_a_verdict() -> None:
    """Four times the same 100 rows of numbers, or of labels with a score, are seen without any identifier."""
    rng = np.random.default_rng(2)
    rows: dict[str, Any] = {"sex": np.tile(["F", "M"], 50), "p": rng.normal(size=100)}
    rows |= {"s": rng.uniform(size=100), "hired": rng.integers(0, 2, 100), "able": rng.integers(0, 2, 100)}
    four = {k: np.tile(v, 4) for k, v in rows.items()}
    for call in ({"y_pred": "p", "groups": "sex"}, CALLS["labels"] | {"y_score": "s"}):
        assert not withheld(eh.audit_predictions(rows, **call))
        result = eh.audit_predictions(four, **call)
        assert withheld(result)
        assert "100 different rows in 400" in result.findings[0].because
        assert not withheld(eh.audit_predictions(four, units=False, **call))


def test_few_different_rows_are_no_copies() -> None:
    """400 labels make 8 different rows, rounded scores recur among any people: verdicts are given."""
    rng = np.random.default_rng(3)
    rows = {
        "sex": rng.choice(["F", "M"], 400),
        "hired": rng.integers(0, 2, 400),
        "able": rng.integers(0, 2, 400),
    }
    assert not withheld(eh.audit_predictions(rows, **CALLS["labels"]))
    for n, digits, share in ((400, 2, 0.5), (1000, 2, 0.95), (800, 3, 0.95), (300, 3, 0.5)):
        sex = np.where(rng.uniform(size=n) < share, "F", "M")
        scores = {"p": rng.uniform(size=n).round(digits), "sex": sex}
        assert not withheld(eh.audit_predictions(scores, y_pred="p", groups="sex")), (n, digits, share)

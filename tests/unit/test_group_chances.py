"""Groups that are known by chances only: what an audit says of them, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.cli import run

ASKED = {"race": {"a": "pa", "b": "pb"}}


def people(n: int = 3000, *, seed: int = 0, rates: tuple[float, float] = (0.6, 0.3)) -> dict[str, Any]:
    """Rows with chances of both groups, the true group, and whether someone was selected."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.6, 0.6, n)
    of_a = rng.random(n) < p
    return {
        "sel": rng.random(n) < np.where(of_a, *rates),
        "pa": p,
        "pb": 1 - p,
        "race": np.where(of_a, "a", "b"),
    }


def audited(rows: dict[str, Any], **asked: Any) -> eh.Result:
    """The audit by chances."""
    return eh.audit_predictions(
        rows, **{"y_pred": "sel", "positive": "True", "probabilities": ASKED, "reference": "b"} | asked
    )


def test_both_ways_are_shown_and_the_interval_holds_both() -> None:
    """As weights it is Σ p·t ÷ Σ p; corrected it is the regression on the chances, here by numpy's solver."""
    rows = people()
    result = audited(rows)
    shown = next(iter(result.exhibits["chances of race"].rows()))
    p, y = np.column_stack([rows["pa"], rows["pb"]]), rows["sel"].astype(float)
    weighted = (p.T @ y) / p.sum(axis=0)
    corrected = np.linalg.lstsq(p, y, rcond=None)[0]
    assert shown["measure"] == "disparate impact"
    assert shown["as weights"] == pytest.approx(weighted[0] / weighted[1], rel=1e-12)
    assert shown["corrected"] == pytest.approx(corrected[0] / corrected[1], rel=1e-9)
    e = result.findings[0].estimate
    assert e.low == pytest.approx(min(shown["as weights, low"], shown["corrected, low"]))
    assert e.high == pytest.approx(max(shown["as weights, high"], shown["corrected, high"]))
    assert result.counts == {"rows": 3000, "used": 3000, "left out": 0}
    assert (e.n_group or 0) + (e.n_reference or 0) == pytest.approx(3000, abs=1)


def test_the_corrected_difference_has_the_error_of_the_regression() -> None:
    """Its interval is about that of heteroscedasticity-robust least squares, not that of independent sides."""
    statsmodels = pytest.importorskip("statsmodels.api")
    rows = people(rates=(0.5, 0.5))
    result = audited(rows, measures="selection rate")
    shown = next(iter(result.exhibits["chances of race"].rows()))
    fit = statsmodels.OLS(rows["sel"].astype(float), np.column_stack([rows["pa"], rows["pb"]])).fit(
        cov_type="HC1"
    )
    half = 1.96 * float(np.sqrt(np.array([1, -1]) @ fit.cov_params() @ np.array([1, -1])))
    assert (shown["corrected, high"] - shown["corrected, low"]) / 2 == pytest.approx(half, rel=0.05)


def test_the_sentence_says_that_it_holds_either_way_or_that_it_does_not() -> None:
    """A gap that only the correction loses is said to be lost."""
    assert "this holds with chances as weights and corrected for misclassification" in (
        audited(people()).findings[0].because or ""
    )
    close = audited(people(1200, rates=(0.48, 0.48)))
    assert 'Chances as weights would make it "within tolerance"' in (close.findings[0].because or "")
    assert close.findings[0].verdict == "inconclusive"


def test_certain_chances_are_the_plain_audit() -> None:
    """Chances of 0 and 1 give every number of an audit by the groups themselves."""
    rows = people()
    known = (rows["race"] == "a").astype(float)
    plain = eh.audit_predictions(rows, y_pred="sel", positive="True", groups="race", reference="b")
    sure = audited(rows | {"pa": known, "pb": 1 - known})
    assert [(f.estimate, f.verdict, f.because) for f in sure.findings] == [
        (f.estimate, f.verdict, f.because) for f in plain.findings
    ]


def test_chances_that_tell_nothing_apart_give_no_verdict() -> None:
    """The same chance for everybody: a weight makes everything equal, which is no finding."""
    rows = people() | {"pa": np.full(3000, 0.4), "pb": np.full(3000, 0.6)}
    result = audited(rows)
    assert result.findings[0].verdict == "inconclusive"
    assert {f.verdict for f in result.findings} <= {"inconclusive", None}


def test_people_with_several_rows_are_units_still() -> None:
    """Every row twice, with a unit: the intervals are those of the rows once."""
    rows = people(800)
    twice = {k: np.repeat(v, 2) for k, v in rows.items()} | {"who": np.repeat(np.arange(800), 2)}
    once, again = (audited(r, **k) for r, k in ((rows, {}), (twice, {"units": "who"})))
    for one, two in zip(once.findings, again.findings, strict=True):
        assert two.estimate.low == pytest.approx(one.estimate.low, rel=0.03)


def test_strata_and_numbers_are_corrected_within() -> None:
    """Within a stratum the correction is of its own rows; numbers are corrected as rates are."""
    rows = people() | {
        "where": np.tile(["x", "y"], 1500),
        "score": np.random.default_rng(1).normal(size=3000),
    }
    rows["score"] = rows["score"] + np.where(rows["race"] == "a", 1.0, 0.0)
    asked = {"y_pred": "score", "positive": None, "control": "where"}
    whole = audited(rows, **asked)
    alone = audited({k: v[rows["where"] == "x"] for k, v in rows.items()}, **asked | {"control": ()})
    name = "standardised mean difference"
    inside = next(
        f.estimate for f in whole.findings if f.estimate.measure == name and f.estimate.given == "where=x"
    )
    own = next(f.estimate for f in alone.findings if f.estimate.measure == name and not f.estimate.given)
    assert (inside.low, inside.high) == pytest.approx((own.low, own.high), rel=1e-9)
    assert (inside.high or 0) > 0.9  # chances as weights alone see .6 of the gap


def test_missing_chances_leave_the_row_out_and_say_so() -> None:
    """A row without chances is counted among those left out."""
    rows = people(500)
    rows["pa"][:7] = np.nan
    result = audited(rows)
    assert result.counts == {"rows": 500, "used": 493, "left out": 7}


@pytest.mark.parametrize(
    ("asked", "slug"),
    [
        ({"probabilities": {"race": {"a": "pa"}}}, "probabilities"),
        ({"probabilities": ASKED | {"sex": {"f": "pa", "m": "pb"}}}, "probabilities"),
        ({"groups": "race"}, "probabilities"),
        ({"law": "ll144"}, "probabilities"),
        ({"intersections": True}, "probabilities"),
        ({"search": ["race"]}, "probabilities"),
        ({"frontier": True, "y_true": "sel", "y_score": "pa"}, "probabilities"),
        ({"measures": "notebook-2022", "task": "regression", "positive": None}, "probabilities"),
        ({"probabilities": {"race": {"a": "pa", "b": "pa"}}}, "bad-probabilities"),
        ({"probabilities": {"race": {"a": "pa", "b": "nothing"}}}, "missing-column"),
        ({"probabilities": {"race": {"a": "race", "b": "pb"}}}, "not-a-number"),
        ({"reference": "c"}, "unknown-group"),
    ],
)
def test_what_cannot_be_is_refused(asked: dict[str, Any], slug: str) -> None:
    """With the name of the message."""
    with pytest.raises(eh.EvenhandError) as caught:
        audited(people(300), **asked)
    assert caught.value.slug == slug


def test_the_command_line_takes_them(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """`--probability race:a=pa --probability race:b=pb` is the call above."""
    rows = people(600)
    file = tmp_path / "rows.csv"
    columns = ["sel", "pa", "pb"]
    file.write_text(
        "\n".join([",".join(columns), *(",".join(str(rows[c][i]) for c in columns) for i in range(600))])
    )
    call = ["predictions", str(file), "--y-pred", "sel", "--positive", "True", "--out", str(tmp_path / "out")]
    chances = ["--probability", "race:a=pa", "--probability", "race:b=pb", "--reference", "b"]
    assert run([*call, *chances]) == 0
    found = eh.Result.from_json(tmp_path / "out" / "result.json")
    assert found.findings[0].because == audited(rows).findings[0].because
    assert run([*call, "--probability", "race=pa"]) == 2
    assert "ATTRIBUTE:GROUP=COLUMN" in capsys.readouterr().err

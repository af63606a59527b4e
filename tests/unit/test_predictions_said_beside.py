"""What is said beside the claims: Simpson's paradox, base rates, missing outcomes, equal weights, rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand._result import Result


def said(result: Result, slug: str) -> str:
    """The text of a note, empty without one."""
    return " ".join(n.text for n in result.notes if n.slug == slug)


def berkeley(*, numbers: bool) -> dict[str, Any]:
    """Women are admitted more often in each department, and apply where few are."""
    counts = {
        ("easy", "F"): (90, 100),
        ("easy", "M"): (640, 800),
        ("hard", "F"): (240, 800),
        ("hard", "M"): (20, 100),
    }
    rows: dict[str, list[Any]] = {"dept": [], "sex": [], "p": []}
    for (dept, sex), (yes, n) in counts.items():
        rows["dept"] += [dept] * n
        rows["sex"] += [sex] * n
        rows["p"] += [1] * yes + [0] * (n - yes)
    if numbers:
        rows["p"] = (
            np.array(rows["p"]) + np.random.default_rng(0).normal(size=len(rows["p"])) * 0.3
        ).tolist()
    return rows


@pytest.mark.parametrize("numbers", [False, True])
def test_a_gap_that_turns_round_with_a_factor_held_equal_is_said(numbers: bool) -> None:
    """Crude beside stratified, with both values, and only where they point different ways."""
    rows = berkeley(numbers=numbers)
    call: dict[str, Any] = {"y_pred": "p", "groups": "sex", "reference": "M"}
    result = eh.audit_predictions(rows, control="dept", **call)
    text = said(result, "simpson")
    assert "sex=F against sex=M" in text
    assert "with dept held equal" in text
    assert "point different ways" in text
    rng = np.random.default_rng(1)
    rows["dept"] = rng.permutation(rows["dept"]).tolist()
    assert said(eh.audit_predictions(rows, control="dept", **call), "simpson") == ""


def test_labels_have_a_pooled_impact_ratio() -> None:
    """Mantel–Haenszel over departments is that of statsmodels' risk ratio formula by hand."""
    result = eh.audit_predictions(
        berkeley(numbers=False), y_pred="p", groups="sex", reference="M", control="dept"
    )
    found = next(f.estimate for f in result.findings if f.estimate.given == "dept held equal")
    expected = (90 * 800 / 900 + 240 * 100 / 900) / (640 * 100 / 900 + 20 * 800 / 900)
    assert found.value == pytest.approx(expected)
    assert found.low is not None


def outcomes(base: tuple[float, float], tpr: float = 0.8, fpr: float = 0.1, n: int = 1500) -> Result:
    """Equal error rates, and base rates of their own."""
    rng = np.random.default_rng(2)
    g = np.repeat(["a", "b"], n)
    y = rng.random(2 * n) < np.where(g == "a", *base)
    p = rng.random(2 * n) < np.where(y, tpr, fpr)
    return eh.audit_predictions(
        {"g": g, "y": y, "p": p}, y_pred="p", y_true="y", groups="g", positive="True", reference="b"
    )


def test_base_rates_stand_beside_conflicting_parities() -> None:
    """Selection differs, errors do not, outcomes do: the reader is told; not where base rates agree."""
    assert "base rates, 0." in said(outcomes((0.3, 0.6)), "base-rates")
    assert said(outcomes((0.4, 0.4)), "base-rates") == ""


@pytest.mark.parametrize("labels", [True, False])
def test_missing_outcomes_are_an_outcome_by_group(labels: bool) -> None:
    """30 % of one group and 5 % of the other lack one: a table, a claim with an interval, a note."""
    rng = np.random.default_rng(3)
    g = np.repeat(["a", "b"], 400)
    p = rng.normal(size=800)
    lost = rng.random(800) < np.where(g == "a", 0.3, 0.05)
    y: list[Any] = [None if gone else float(v) for gone, v in zip(lost, p > 0 if labels else p, strict=True)]
    pred = (p > 0.2).astype(float) if labels else p
    task: Any = "classification" if labels else "regression"
    rows = {"g": g, "p": pred, "y": y}
    result = eh.audit_predictions(
        rows, y_pred="p", y_true="y", groups="g", reference="b", task=task, positive=1 if labels else None
    )
    found = next(f for f in result.findings if f.estimate.measure == "rate of missing outcomes")
    assert found.verdict is None
    assert found.estimate.low is not None
    assert found.estimate.low > 0.1
    assert "a 2" in said(result, "outcomes-missing") or "a 3" in said(result, "outcomes-missing")
    table = result.exhibits["missing outcomes by g"].columns
    assert table["rows"] == [int(lost[:400].sum()), int(lost[400:].sum())]
    whole = {**rows, "y": (p > 0).astype(float) if labels else p}
    full = eh.audit_predictions(
        whole, y_pred="p", y_true="y", groups="g", task=task, positive=1 if labels else None
    )
    assert said(full, "outcomes-missing") == ""


def test_weights_that_are_all_equal_change_nothing() -> None:
    """Every estimate is that without weights."""
    rng = np.random.default_rng(4)
    rows = {
        "g": np.tile(["a", "b"], 30),
        "p": rng.normal(size=60),
        "y": rng.normal(size=60),
        "w": np.full(60, 2.5),
    }
    call: dict[str, Any] = {"y_pred": "p", "y_true": "y", "groups": "g"}
    plain, same = eh.audit_predictions(rows, **call), eh.audit_predictions(rows, weight="w", **call)
    assert [f.estimate for f in plain.findings] == [f.estimate for f in same.findings]
    assert "change nothing" in said(same, "equal-weights")


@pytest.mark.parametrize(("offset", "judged"), [(1e12, True), (1e16, False)])
def test_numbers_that_differ_by_rounding_are_not_judged(offset: float, judged: bool) -> None:
    """Around 10^12 a standard deviation of 1 is seen; around 10^16 it is the spacing of the numbers."""
    rng = np.random.default_rng(5)
    rows = {"g": np.tile(["a", "b"], 50), "p": rng.normal(size=100) + offset + 3.0 * np.tile([0, 1], 50)}
    result = eh.audit_predictions(rows, y_pred="p", groups="g")
    assert (result.verdict == "disparity") is judged
    assert ("subtract what they have in common" in said(result, "precision")) is not judged


def test_small_weighted_sets_never_end_the_audit() -> None:
    """60 sets of 6 to 24 people with fractional weights, some cells perfectly separated."""
    rng = np.random.default_rng(6)
    for _ in range(60):
        n = int(rng.integers(6, 25))
        g = rng.choice(["a", "b", "c"], n)
        y = rng.random(n) < 0.5
        s = np.where(g == "a", y * 1.0, rng.random(n))
        w = rng.integers(1, 5, n) / 3
        rows = {
            "g": g,
            "y": y.astype(int),
            "p": (s > 0.4).astype(int),
            "s": s,
            "w": w,
            "v": rng.normal(size=n),
        }
        eh.audit_predictions(
            rows,
            y_pred="p",
            y_true="y",
            y_score="s",
            groups="g",
            weight="w",
            positive=1,
            task="classification",
        )
        eh.audit_predictions(rows, y_pred="s", y_true="v", groups="g", weight="w", task="regression")


def test_where_the_first_place_is_best_no_high_prediction_is_called_favourable() -> None:
    rows = {"rank": [1, 2, 3] * 16, "l": [k // 3 for k in range(48)], "g": list("aba") * 16}
    found = eh.audit_predictions(rows, y_pred="rank", groups="g", lists="l", first="lowest", top=1)
    assert any("The first place of a list is taken as good" in note.text for note in found.notes)
    page = found.to_html()
    assert "the first place of a list" in page
    assert "high prediction" not in page


def test_of_many_groups_those_furthest_off_are_drawn() -> None:
    """The one that the headline names among them; and it is said how many are not."""
    rng = np.random.default_rng(2)
    group = np.repeat(np.arange(20), 50)
    p = rng.normal(size=1000) - 1.5 * (group == 18)
    result = eh.audit_predictions({"p": p, "g": [f"town {k:02d}" for k in group]}, y_pred="p", groups="g")
    for name in ("score distributions by g", "pass rates by g", "impact ratio by g"):
        exhibit = result.exhibits[name]
        assert "g=town 18" in exhibit.columns["group"]
        assert "12 are not" in exhibit.note
    assert len(set(result.exhibits["score distributions by g"].columns["group"])) == 8

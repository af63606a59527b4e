"""The predictions audit as a user meets it: inputs of every kind, groups, strata, missing values, laws, thresholds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh


def people(n: int = 200, gap: float = 0.0, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    sex = np.where(np.arange(n) % 2 == 0, "F", "M")
    y = rng.normal(size=n)
    return {
        "y": y,
        "p": 0.6 * y + rng.normal(size=n) - gap * (sex == "F"),
        "sex": sex,
        "job": np.where(np.arange(n) % 4 < 2, "a", "b"),
        "age": rng.integers(18, 80, n).astype(float),
    }


def find(result: eh.Result, measure: str, group: str = "", given: str | None = None) -> Any:
    return next(
        f
        for f in result.findings
        if f.estimate.measure == measure and group in f.estimate.group and f.estimate.given == given
    )


def test_a_planted_gap_is_a_disparity() -> None:
    """One standard deviation between 500 and 500 people is found by the claims about outcomes, and by their sign."""
    result = eh.audit_predictions(people(1000, gap=1.0), y_true="y", y_pred="p", groups="sex", reference="M")
    assert find(result, "disparate impact at q=0.8").verdict == "disparity"
    assert find(result, "adverse-impact AUC").estimate.value < 0.4
    assert find(result, "mean residual").estimate.value == pytest.approx(-1.0, abs=0.2)


def test_equal_groups_are_within_tolerance_when_there_are_many() -> None:
    """With 20,000 people the equivalence tests have the power to say so."""
    result = eh.audit_predictions(people(20_000), y_true="y", y_pred="p", groups="sex", reference="M")
    assert result.verdicts["disparity"] == 0
    assert find(result, "standardised mean difference").verdict == "within tolerance"
    assert find(result, "disparate impact at q=0.5").verdict == "within tolerance"


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "arrays", "file"])
def test_every_kind_of_input_gives_the_same_result(kind: str, tmp_path: Path) -> None:
    """Frames, arrays and files are the same table."""
    rows = people(60)
    call: dict[str, Any] = {"y_true": "y", "y_pred": "p", "groups": "sex", "reference": "M"}
    if kind == "arrays":
        result = eh.audit_predictions(
            y_true=rows["y"], y_pred=rows["p"], groups={"sex": rows["sex"]}, reference="M"
        )
    else:
        import pyarrow as pa

        table = pa.table({k: pa.array(v) for k, v in rows.items()})
        source: Any = table
        if kind in ("pandas", "polars"):
            module = pytest.importorskip(kind)
            source = table.to_pandas() if kind == "pandas" else module.from_arrow(table)
        if kind == "file":
            import pyarrow.parquet as parquet

            source = tmp_path / "people.parquet"
            parquet.write_table(table, source)
        result = eh.audit_predictions(source, **call)
    expected = eh.audit_predictions(rows, **call)
    assert [f.estimate.value for f in result.findings] == [f.estimate.value for f in expected.findings]


def test_a_fitted_model_is_asked_for_its_test_frame() -> None:
    """A scikit-learn classifier gives labels and, by predict_proba, scores; its own feature names are used."""
    pd = pytest.importorskip("pandas")
    linear = pytest.importorskip("sklearn.linear_model")
    rows = people(300)
    frame = pd.DataFrame({**rows, "hired": (rows["y"] > 0).astype(int)})
    model = linear.LogisticRegression().fit(frame[["p", "age"]], frame["hired"])
    result = eh.audit_predictions(frame, y_true="hired", y_pred=model, groups="sex", reference="M")
    expected = model.predict(frame[["p", "age"]])
    f, m = ((expected[frame["sex"] == s]).mean() for s in "FM")
    assert find(result, "selection rate").estimate.value == pytest.approx(f - m)
    assert find(result, "AUC within the group").estimate.value is not None


def test_several_attributes_intersections_and_the_widest_gap() -> None:
    """Each attribute is a family; combinations are one more; of three groups the widest gap is corrected."""
    rng = np.random.default_rng(1)
    rows = people(600)
    rows["race"] = rng.choice(["x", "y", "z"], 600)
    result = eh.audit_predictions(
        rows, y_pred="p", groups=["sex", "race"], reference={"race": "x"}, intersections=True
    )
    families = {f.family.split(",")[0] for f in result.findings}
    assert {"sex", "race", "sex & race"} <= families
    widest = find(result, "average score, widest gap of 3 groups")
    pair = next(
        f for f in result.findings if f.estimate.measure == "average score" and f.estimate.group == "race=y"
    )
    assert widest.estimate.p_value >= pair.estimate.p_value * 0.99


def test_a_legitimate_factor_explains_a_gap() -> None:
    """A gap that comes from the job alone vanishes within jobs, and in the pooled claim."""
    rng = np.random.default_rng(2)
    n = 4000
    sex = rng.choice(["F", "M"], n)
    job = np.where(rng.random(n) < np.where(sex == "F", 0.8, 0.2), "low", "high")
    rows = {"p": rng.normal(size=n) + 2.0 * (job == "high"), "sex": sex, "job": job}
    result = eh.audit_predictions(
        rows, y_pred="p", groups="sex", reference="M", control="job", tolerance={"average score": 0.2}
    )
    assert find(result, "average score").verdict == "disparity"
    pooled = find(result, "average score", given="job held equal")
    assert abs(pooled.estimate.value) < 0.15
    assert pooled.verdict == "within tolerance"
    assert find(result, "average score", given="job=low").verdict != "disparity"


def test_a_continuous_attribute_needs_no_groups() -> None:
    """Age is not cut into groups: its correlation is a claim of its own, also where it is not a line."""
    rows = people(400)
    rows["p"] = (rows["age"] - 50) ** 2 / 100
    result = eh.audit_predictions(rows, y_pred="p", continuous="age")
    assert find(result, "distance correlation with predictions").estimate.p_value < 0.01


def test_missing_values_are_counted_and_each_policy_does_what_it_says() -> None:
    """drop notes them, error refuses, group makes missing labels a group."""
    rows = people(100)
    rows["p"][3] = np.nan
    rows["sex"] = [None if i < 12 else s for i, s in enumerate(rows["sex"])]
    dropped = eh.audit_predictions(rows, y_true="y", y_pred="p", groups="sex", reference="M")
    assert dropped.counts == {"rows": 100, "used": 99, "left out": 1}
    assert sum(n.slug == "missing-values" for n in dropped.notes) == 2
    with pytest.raises(eh.EvenhandError, match="missing-values"):
        eh.audit_predictions(rows, y_pred="p", groups="sex", missing="error")
    grouped = eh.audit_predictions(rows, y_pred="p", groups="sex", reference="M", missing="group")
    assert any("(missing)" in f.estimate.group for f in grouped.findings)


@pytest.mark.parametrize("size", [1, 2])
def test_a_tiny_group_gets_reasons_and_no_number_out_of_thin_air(size: int) -> None:
    """No interval of a slope on two points; nothing is called a disparity."""
    rows = people(60)
    rows["sex"] = np.array(["F"] * size + ["M"] * (60 - size))
    result = eh.audit_predictions(rows, y_true="y", y_pred="p", groups="sex", reference="M")
    slope = find(result, "calibration slope").estimate
    assert slope.low is None
    assert "at least 30" in (slope.why_not or "")
    assert result.verdicts["disparity"] == 0


def test_constant_predictions_are_noted_and_compare_nothing() -> None:
    """Nobody is above the quantile of equal scores: a reason, not 0."""
    rows = people(60)
    rows["p"] = np.ones(60)
    result = eh.audit_predictions(rows, y_true="y", y_pred="p", groups="sex", reference="M")
    assert "constant-predictions" in {n.slug for n in result.notes}
    e = find(result, "disparate impact at q=0.8").estimate
    assert (e.value, e.why_not) == (None, "nobody in the reference is selected")


BAD: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"sex": ["F"] * 59 + ["M"]}, {"y_pred": "prediction"}, "missing-column"),
    ({"p": [f"x{i}" for i in range(60)]}, {}, "not-a-number"),
    ({"sex": [f"user {i}" for i in range(60)]}, {}, "too-many-groups"),
    ({}, {"weight": "y"}, "bad-weights"),
    ({}, {"reference": "X"}, "unknown-group"),
    ({}, {"quantiles": [80]}, "bad-quantile"),
    ({}, {"law": "gdpr"}, "unknown-law"),
    ({}, {"tolerance": {"disparat impact": 0.8}}, "unknown-tolerance"),
    ({}, {"tolerance": 0.8}, "bad-tolerance"),
    ({}, {"task": "classification"}, "not-labels"),
    ({}, {"task": "guess"}, "unknown-task"),
    ({}, {"missing": "ignore"}, "unknown-missing"),
    ({}, {"measures": "accuracy"}, "unknown-measure"),
    ({}, {"level": 95}, "bad-level"),
    ({"p": [0, 1] * 30, "s": [0.5] * 59 + [1.5]}, {"y_score": "s"}, "not-probabilities"),
    ({"p": ["cat", "dog"] * 30}, {}, "no-positive"),
]


@pytest.mark.parametrize(("columns", "call", "slug"), BAD, ids=lambda v: v if isinstance(v, str) else "")
def test_bad_input_is_one_clear_error(columns: dict[str, Any], call: dict[str, Any], slug: str) -> None:
    """Each with its own slug, raised before anything is computed."""
    with pytest.raises(eh.EvenhandError) as error:
        eh.audit_predictions({**people(60), **columns}, **{"y_pred": "p", "groups": "sex", **call})
    assert error.value.slug == slug  # type: ignore[attr-defined]


def test_infinite_predictions_are_left_out_with_a_word() -> None:
    """Or refused, where missing="error"."""
    rows = people(60)
    rows["p"][5] = np.inf
    result = eh.audit_predictions(rows, y_pred="p", groups="sex", reference="M")
    assert "infinite" in {n.slug for n in result.notes}
    assert result.counts["left out"] == 1
    with pytest.raises(eh.EvenhandError, match="infinity"):
        eh.audit_predictions(rows, y_pred="p", groups="sex", missing="error")


def test_a_continuous_prediction_is_no_label() -> None:
    """A measure of labels says so, where others give 0.0."""
    with pytest.raises(eh.EvenhandError, match="not-labels"):
        eh.measures.selection_rate_ratio(people(60)["p"], group=people(60)["sex"])


def test_direct_measures_agree_with_the_audit() -> None:
    """One call, one Estimate, the audit's own number and interval."""
    rows = people(150, gap=0.4)
    result = eh.audit_predictions(rows, y_true="y", y_pred="p", groups="sex", reference="M")
    one = eh.measures.disparate_impact(rows["p"], group=rows["sex"], reference="M", q=0.8)
    whole = find(result, "disparate impact at q=0.8").estimate
    assert (one.value, one.low, one.high, one.p_value) == (whole.value, whole.low, whole.high, whole.p_value)
    ratio = eh.measures.rmse_ratio(rows["y"], rows["p"], group=rows["sex"], reference="M")
    assert ratio.value == find(result, "RMSE").estimate.value
    with pytest.raises(eh.EvenhandError, match="which-group"):
        eh.measures.disparate_impact([1, 2, 3], group=["a", "b", "c"], reference="a")


def test_a_scorer_lets_a_search_trade_accuracy_against_a_disparity() -> None:
    """The search prefers the model that treats the groups alike once the disparity weighs enough."""
    pd = pytest.importorskip("pandas")
    selection = pytest.importorskip("sklearn.model_selection")
    base = pytest.importorskip("sklearn.base")
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"merit": rng.normal(size=300), "sex": rng.choice(["F", "M"], 300)})
    y = X["merit"] - 0.8 * (X["sex"] == "F") + rng.normal(size=300) * 0.1

    class Linear(base.RegressorMixin, base.BaseEstimator):  # type: ignore[misc, name-defined]
        def __init__(self, penalty: float = 0.0) -> None:
            self.penalty = penalty

        def fit(self, X: Any, y: Any) -> Any:
            self.fitted_ = True
            return self

        def predict(self, X: Any) -> Any:
            return X["merit"] - self.penalty * (X["sex"] == "F")

    def best(weight: float) -> float:
        scorer = eh.sklearn.make_scorer(
            "average_score_difference", group="sex", reference="M", weight=weight,
            base=pytest.importorskip("sklearn.metrics").get_scorer("r2"),
        )  # fmt: skip
        search = selection.GridSearchCV(Linear(), {"penalty": [0.0, 0.8]}, scoring=scorer, cv=3).fit(X, y)
        return float(search.best_params_["penalty"])

    assert (best(0.0), best(5.0)) == (0.8, 0.0)


def test_ll144_has_one_table_for_each_attribute_and_one_for_the_intersection() -> None:
    """Unknown categories are counted in words; a category under 2 % stays in the table without a ratio."""
    rows = people(400)
    rows["race"] = ["x"] * 200 + ["y"] * 192 + ["rare"] * 5 + [None] * 3
    result = eh.audit_predictions(
        rows, y_pred="p", groups=["sex", "race"], law="ll144", reference={"race": "x"}
    )
    names = [n for n in result.exhibits if n.startswith("ll144")]
    assert names == ["ll144 sex", "ll144 race", "ll144 sex & race"]
    race = result.exhibits["ll144 race"]
    rare = next(r for r in race.rows() if r["category"] == "rare")
    assert (rare["impact ratio"], rare["applicants"]) == (None, 5)
    assert "3 applicants of unknown category" in race.note
    assert "compl" not in race.note.lower()


def test_a_suggested_threshold_keeps_the_ratio_and_says_what_it_costs() -> None:
    """The suggestion is one threshold for everyone; applied to the data it gives the ratio that is printed."""
    rows = people(500, gap=0.5)
    result = eh.audit_predictions(
        rows, y_pred="p", groups="sex", reference="M", suggest_threshold=True, quantiles=[0.8]
    )
    row = next(result.exhibits["suggested thresholds by sex"].rows())
    above = rows["p"] > row["suggested threshold"]
    rates = [above[rows["sex"] == s].mean() for s in "FM"]
    assert min(rates) / max(rates) == pytest.approx(row["impact ratio"])
    assert row["impact ratio"] >= 0.8
    assert row["cost in selection rate"] == pytest.approx(above.mean() - row["wanted share selected"])


def test_the_no_adverse_impact_level_has_a_reason_where_there_is_none() -> None:
    """Groups far apart have no threshold that keeps the ratio at the top."""
    rows = people(2000, gap=2.0)
    result = eh.audit_predictions(rows, y_pred="p", groups="sex", reference="M")
    e = find(result, "no-adverse-impact level").estimate
    assert e.value is None
    assert "outside already at the highest threshold" in (e.why_not or "")


def test_the_bootstrap_agrees_with_the_closed_forms() -> None:
    """A thousand Poisson replicates give the intervals of the table within a tenth of their width."""
    rows = people(3000, gap=0.3)
    result = eh.audit_predictions(rows, y_true="y", y_pred="p", groups="sex", reference="M", replicates=1000)
    for row in result.exhibits["bootstrap by sex"].rows():
        e = find(result, row["measure"], given=row["given"]).estimate
        assert row["value"] == pytest.approx(e.value, abs=1e-3), row
        width = e.high - e.low
        assert row["low"] == pytest.approx(e.low, abs=0.12 * width), row
        assert row["high"] == pytest.approx(e.high, abs=0.12 * width), row


def test_models_of_quantiles_and_intervals_are_compared_by_their_own_losses() -> None:
    """Pinball loss as scikit-learn defines it; coverage and width of prediction intervals."""
    metrics = pytest.importorskip("sklearn.metrics")
    rows = people(300)
    rows["low"], rows["high"] = rows["p"] - 1, rows["p"] + np.where(rows["sex"] == "F", 1, 2)
    result = eh.audit_predictions(
        rows, y_true="y", y_pred="p", groups="sex", reference="M", pinball=0.9, interval=("low", "high")
    )
    loss = [
        metrics.mean_pinball_loss(rows["y"][rows["sex"] == s], rows["p"][rows["sex"] == s], alpha=0.9)
        for s in "FM"
    ]
    assert find(result, "pinball loss").estimate.value == pytest.approx(loss[0] / loss[1])
    assert find(result, "interval width").estimate.value == pytest.approx(2 / 3)
    covered = (rows["low"] <= rows["y"]) & (rows["y"] <= rows["high"])
    gap = covered[rows["sex"] == "F"].mean() - covered[rows["sex"] == "M"].mean()
    assert find(result, "interval coverage").estimate.value == pytest.approx(gap)


def test_exposure_of_a_ranking() -> None:
    """A group that fills the lower half has less exposure; swapping the sides inverts the ratio."""
    score = np.arange(100.0)
    rows = {"p": score, "g": ["low"] * 50 + ["high"] * 50}
    down = eh.audit_predictions(rows, y_pred="p", groups="g", reference="high", task="ranking")
    up = eh.audit_predictions(rows, y_pred="p", groups="g", reference="low", task="ranking")
    value = find(down, "exposure").estimate.value
    assert value < 0.7
    assert find(up, "exposure").estimate.value == pytest.approx(1 / value)


def test_several_classes_are_each_held_against_the_rest() -> None:
    """And positive= picks one."""
    rows = people(90)
    rows["label"] = ["a", "b", "c"] * 30
    every = eh.audit_predictions(rows, y_pred="label", groups="sex", reference="M")
    assert {f.estimate.given for f in every.findings} == {"class=a", "class=b", "class=c"}
    one = eh.audit_predictions(rows, y_pred="label", groups="sex", reference="M", positive="b")
    assert {f.estimate.given for f in one.findings} == {None}


def test_a_result_of_predictions_survives_json_and_renders() -> None:
    """The page and the file are views of the same result."""
    rows = people(80)
    result = eh.audit_predictions(
        rows, y_true="y", y_pred="p", groups=["sex", "job"], intersections=True, reference={"sex": "M"}
    )
    assert eh.Result.from_json(result.to_json()) == result
    assert "Impact ratio by threshold" in result.to_html()

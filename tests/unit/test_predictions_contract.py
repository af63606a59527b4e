"""What a user hands over is audited as what it is, and said so: task, labels, favourable class, shapes, counts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand import measures as em
from evenhand._errors import DataError, EvenhandError, UsageError

N = 400


def decided(gap: float = 0.25) -> dict[str, Any]:
    """0/1 decisions of which men get more, and 0/1 outcomes."""
    rng = np.random.default_rng(5)
    sex = np.where(np.arange(N) % 2 == 0, "F", "M")
    y = rng.integers(0, 2, N)
    p = np.where(rng.random(N) < 0.8, y, 1 - y)
    p = np.where((sex == "F") & (rng.random(N) < gap), 0, p)
    return {"y": y, "p": p, "sex": sex}


def audit(data: Any, **call: Any) -> eh.Result:
    return eh.audit_predictions(
        data, **{"y_true": "y", "y_pred": "p", "groups": "sex", "reference": "M", **call}
    )


def told(result: eh.Result) -> list[tuple[Any, ...]]:
    """All that was found, without the words for it."""
    return [
        (f.estimate.measure, f.estimate.group, f.estimate.value, f.estimate.low, f.estimate.high, f.verdict)
        for f in result.findings
    ]


def note(result: eh.Result, slug: str) -> str:
    return next((n.text for n in result.notes if n.slug == slug), "")


WORDS = np.array(["no", "yes"])
CODINGS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "integers": (lambda v: v, None),
    "floats": (lambda v: v.astype(float), None),
    "booleans": (lambda v: v.astype(bool), None),
    "small": (lambda v: v.astype(np.int8), None),
    "texts of numbers": (lambda v: v.astype(str), None),
    "texts of decimals": (lambda v: np.array(["0.0", "1.0"])[v], None),
    "words": (lambda v: WORDS[v], None),
    "capitals": (lambda v: np.array(["NO", "Yes"])[v], None),
    "minus one": (lambda v: 2 * v - 1, None),
    "one and two": (lambda v: v + 1, 2),
    "objects": (lambda v: np.array([None, *v.tolist()], dtype=object)[1:], None),
}


@pytest.mark.parametrize("coding", CODINGS)
def test_relabelling_the_classes_changes_nothing(coding: str) -> None:
    """The same decisions in other words are the same audit."""
    rows = decided()
    code, positive = CODINGS[coding]
    again = audit({**rows, "y": code(rows["y"]), "p": code(rows["p"])}, positive=positive)
    assert told(again) == told(audit(rows))
    assert "Audited as classification" in note(again, "audited-as")


@pytest.mark.parametrize("ours", ["integers", "floats", "booleans", "texts of numbers", "texts of decimals"])
@pytest.mark.parametrize("theirs", ["integers", "booleans", "texts of numbers"])
def test_predictions_and_outcomes_of_different_types_are_the_same_audit(ours: str, theirs: str) -> None:
    """True is 1, "1" and 1.0, whichever of the two columns says so."""
    rows = decided()
    again = audit({**rows, "p": CODINGS[ours][0](rows["p"]), "y": CODINGS[theirs][0](rows["y"])})
    assert told(again) == told(audit(rows))


@pytest.mark.parametrize("kind", ["Int64", "boolean", "category", "string", "Float64"])
def test_pandas_types_change_nothing(kind: str) -> None:
    """Nullable and categorical columns are the numbers and texts that they hold."""
    pd = pytest.importorskip("pandas")
    rows = decided()
    frame = pd.DataFrame(rows).astype({"y": kind, "p": kind})
    assert told(audit(frame)) == told(audit(rows))


@pytest.mark.parametrize("kind", ["Categorical", "Enum", "nulls"])
def test_polars_categories_change_nothing(kind: str) -> None:
    """Categories of polars are labels; where one is missing the row is counted as missing."""
    pl = pytest.importorskip("polars")
    rows = decided()
    frame = pl.DataFrame(rows)
    of = pl.Enum(["F", "M"]) if kind == "Enum" else pl.Categorical
    frame = frame.with_columns(pl.col("sex").cast(of), pl.col("p").cast(pl.String).cast(pl.Categorical))
    if kind == "nulls":
        rows["sex"] = np.array([None, *rows["sex"][1:]], dtype=object)
        frame = frame.with_columns(pl.Series("sex", rows["sex"].tolist()).cast(pl.Categorical))
    assert told(audit(frame)) == told(audit(rows))


def test_the_order_of_rows_never_decides_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """30,000 rows sorted by the prediction begin with 10,000 of one class; all pieces of a column are looked at."""
    from evenhand.audits.predictions import inputs

    monkeypatch.setattr(inputs, "PIECE", 1000)
    rows = {k: np.repeat(v, 75) for k, v in decided().items()}
    order = np.argsort(rows["p"], kind="stable")
    sorted_rows = {k: v[order] for k, v in rows.items()}
    assert told(audit(sorted_rows)) == told(audit(rows))
    grades = {**rows, "p": np.sort(np.append(np.zeros(29_999), 0.5)), "y": rows["y"].astype(float)}
    assert "Audited as regression" in note(audit(grades), "audited-as")


@pytest.mark.parametrize(
    ("p", "y"),
    [
        (lambda p: 2 * p - 1, lambda y: y),
        (lambda p: p + 1, lambda y: y),
        (lambda p: p, lambda y: WORDS[y]),
        (lambda p: np.array(["bad", "good"])[p], lambda y: WORDS[y]),
        (lambda p: p * 0, lambda y: y + 1),
    ],
)
def test_labels_of_two_vocabularies_are_refused_side_by_side(p: Any, y: Any) -> None:
    """Whether 1 or 2 is the 1 of the other column is the user's to say."""
    rows = decided()
    with pytest.raises(DataError, match="different-labels") as error:
        audit({**rows, "p": p(rows["p"]), "y": y(rows["y"])}, positive=1)
    assert "predictions:" in str(error.value)
    assert "outcomes:" in str(error.value)


def test_yes_and_yes_with_a_capital_are_one_label() -> None:
    """Without that nobody who was given "yes" had "Yes" as outcome: every error rate was an artefact."""
    rows = decided()
    mixed = {**rows, "p": WORDS[rows["p"]], "y": np.array(["No", "Yes"])[rows["y"]]}
    for positive in ("yes", "Yes", "YES", None):
        result = audit(mixed, positive=positive)
        assert told(result) == told(audit(rows))
        assert "'yes' is 'Yes'" in note(result, "labels-reconciled")


def test_a_favourable_class_that_does_not_occur_is_an_error() -> None:
    """But that nobody was given it is a result."""
    rows = decided()
    words = {**rows, "p": WORDS[rows["p"]], "y": WORDS[rows["y"]]}
    with pytest.raises(UsageError, match="unknown-class") as error:
        audit(words, positive="maybe")
    assert "predictions: 'no', 'yes'; outcomes: 'no', 'yes'" in str(error.value)
    with pytest.raises(UsageError, match="no outcome is of this class"):
        audit({**words, "y": np.full(N, "no")}, positive="yes")
    nobody = audit({**words, "p": np.full(N, "no")}, positive="yes")
    assert nobody.verdict == "inconclusive"
    assert "nobody" in note(nobody, "constant-predictions")
    assert audit({"p": rows["p"] * 0, "sex": rows["sex"]}, y_true=None, positive=1).verdict == "inconclusive"


def test_one_and_two_are_asked_for_and_not_guessed() -> None:
    """German credit: 1 is good there, 2 is elsewhere."""
    rows = decided()
    coded = {**rows, "p": rows["p"] + 1, "y": rows["y"] + 1}
    with pytest.raises(UsageError, match="no-positive"):
        audit(coded)
    one, two = (audit(coded, positive=c) for c in (1, 2))
    rate = {
        c: next(f.estimate.value for f in r.findings if f.estimate.measure == "selection rate")
        for c, r in ((1, one), (2, two))
    }
    assert rate[1] == pytest.approx(-rate[2])


def test_a_constant_prediction_of_a_classifier_is_a_classification() -> None:
    """Nobody, or everybody, is selected: that is said, and not the regression of a constant."""
    rows = decided()
    for value in (0, 1):
        result = audit({**rows, "p": np.full(N, value)})
        assert "Audited as classification" in note(result, "audited-as")
        assert "Favourable: 1" in note(result, "audited-as")


def test_being_selected_may_be_bad() -> None:
    """COMPAS 1 is "will reoffend": the report says which way is the disadvantage, and no law's table is made of it."""
    rows = decided()
    result = audit(rows, selection="bad")
    assert "Unfavourable, and looked at: 1" in note(result, "audited-as")
    assert result.provenance["call"]["arguments"]["selection"] == "bad"
    with pytest.raises(UsageError, match="selection"):
        audit(rows, selection="bad", law="ll144")
    with pytest.raises(UsageError, match="good or bad"):
        audit(rows, selection="worse")


def test_the_page_says_what_was_audited(tmp_path: Path) -> None:
    """Task and favourable class stand on the page and in the JSON."""
    result = audit(decided())
    result.to_html(tmp_path / "page.html")
    assert (
        "Audited as classification, p as class labels. Favourable: 1." in (tmp_path / "page.html").read_text()
    )
    again = eh.Result.from_json(result.to_json())
    assert note(again, "audited-as") == note(result, "audited-as")


def test_labels_that_differ_by_spelling_are_noticed() -> None:
    """ "F " beside "F" is a third group that nobody meant."""
    rows = decided()
    rows["sex"] = np.where(np.arange(N) % 20 == 0, "F ", rows["sex"])
    result = audit(rows)
    assert "'F' and 'F '" in note(result, "near-duplicates")
    assert not note(audit(decided()), "near-duplicates")


@pytest.mark.parametrize("shape", ["column", "series", "frame", "polars"])
def test_columns_of_matrices_series_and_frames_are_columns(shape: str) -> None:
    """(n, 1) arrays, Series and frames of groups are what they look like, names included."""
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    rows = decided()
    frame: Any = pl.DataFrame(rows) if shape == "polars" else pd.DataFrame(rows)
    if shape == "column":
        call = {"y_true": rows["y"][:, None], "y_pred": rows["p"][:, None], "groups": {"sex": rows["sex"]}}
    else:
        groups = frame["sex"] if shape == "series" else frame[["sex"]]
        call = {"y_true": frame["y"], "y_pred": frame["p"], "groups": groups}
    result = eh.audit_predictions(None, reference="M", **call)
    assert told(result) == told(audit(rows))
    two = {**call, "groups": [frame["sex"], frame["y"]]} if shape == "series" else None
    if two is not None:
        found = eh.audit_predictions(None, reference={"sex": "M"}, **two).findings
        assert {f.estimate.group.split("=")[0] for f in found} >= {"sex", "y"}
    if shape in ("series", "frame"):
        assert told(eh.audit_predictions(frame, reference="M", **call)) == told(audit(rows))


def test_a_derived_series_is_not_taken_for_the_column_of_its_name() -> None:
    """df["age"] > 40 is called "age" by pandas and is not the age."""
    pd = pytest.importorskip("pandas")
    rows = decided()
    frame = pd.DataFrame({**rows, "age": np.arange(N) % 60})
    result = eh.audit_predictions(
        frame, y_pred="p", y_true="y", groups=frame["age"] > 40, continuous="age", reference=False
    )
    assert {f.estimate.group for f in result.findings if f.estimate.measure == "selection rate"} == {
        "group=True"
    }


@pytest.mark.parametrize("positive", [0, 1])
def test_both_columns_of_predict_proba_are_the_scores_of_the_favourable_class(positive: int) -> None:
    """The chance of the second class is not the score of the first."""
    rows = decided()
    chance = np.random.default_rng(1).beta(2, 2, N) * 0.5 + 0.5 * rows["p"]
    own = chance if positive else 1 - chance
    both = audit(rows, y_score=np.column_stack([1 - chance, chance]), positive=positive)
    assert told(both) == told(audit(rows, y_score=own, positive=positive))
    with pytest.raises(DataError, match="two-dimensional"):
        audit(rows, y_pred=np.column_stack([1 - chance, chance]))


# --- counts


def table_of(rows: dict[str, Any]) -> dict[str, Any]:
    """The distinct rows and how many people each stands for."""
    keys = sorted(set(zip(*(np.asarray(v).tolist() for v in rows.values()), strict=True)))
    every = list(zip(*(np.asarray(v).tolist() for v in rows.values()), strict=True))
    return {
        **{name: [k[i] for k in keys] for i, name in enumerate(rows)},
        "n": [every.count(k) for k in keys],
    }


@pytest.mark.parametrize(
    "extra", [{}, {"law": "ll144"}, {"y_true": None}, {"task": "regression"}, {"control": "job"}]
)
def test_a_table_of_counts_is_its_rows(extra: dict[str, Any]) -> None:
    """Every claim, interval and verdict is that of one row a person."""
    rows = {**decided(), "job": np.where(np.arange(N) % 3 == 0, "a", "b")}
    counted, plain = audit(table_of(rows), count="n", **extra), audit(rows, **extra)
    assert [(t[0], t[1], t[5]) for t in told(counted)] == [(t[0], t[1], t[5]) for t in told(plain)]
    for a, b in zip(told(counted), told(plain), strict=True):
        assert [x is None for x in a[2:5]] == [x is None for x in b[2:5]]
        assert [x for x in a[2:5] if x is not None] == pytest.approx(
            [x for x in b[2:5] if x is not None], abs=1e-12
        )
    assert counted.counts == plain.counts


def test_counts_of_a_file_are_read_by_the_command(tmp_path: Path) -> None:
    """--count n on a CSV of six lines."""
    from typer.testing import CliRunner

    from evenhand.cli import app

    file = tmp_path / "counts.csv"
    file.write_text("race,selected,n\nwhite,1,300\nwhite,0,700\nblack,1,200\nblack,0,800\n,1,20\n,0,30\n")
    out = tmp_path / "out"
    call = [
        "predictions",
        str(file),
        "--y-pred",
        "selected",
        "--group",
        "race",
        "--count",
        "n",
        "--out",
        str(out),
    ]
    done = CliRunner().invoke(app, [*call, "--reference", "white", "--law", "four-fifths"])
    assert done.exit_code == 0, done.output
    result = eh.Result.from_json(out / "result.json")
    impact = next(f.estimate for f in result.findings if f.estimate.measure == "disparate impact")
    assert impact.value == pytest.approx(0.2 / 0.3)
    assert impact.n == 2000
    assert result.counts["rows"] == 2050
    assert note(result, "counted")


@pytest.mark.parametrize("n", [[1, 2.5], [1, -1], [0, 0], [1, None], ["many", "few"], [10**9, 1]])
def test_counts_that_are_no_counts_are_refused(n: list[Any]) -> None:
    """Not whole, negative, none, missing, text, or more than can be laid out as rows."""
    with pytest.raises(EvenhandError, match=r"bad-counts|not-a-number"):
        audit({"p": [0, 1], "y": [0, 1], "sex": ["F", "M"], "n": n}, count="n")


# --- the story


def test_the_predicted_gap_stands_beside_the_actual_one() -> None:
    """The three numbers of the note are those of scipy's Welch intervals, and the direction is theirs."""
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(2)
    sex = np.where(np.arange(N) % 2 == 0, "F", "M")
    y = rng.normal(size=N) - 1.0 * (sex == "F")
    rows = {"y": y, "p": 0.4 * y + 0.3 * rng.normal(size=N), "sex": sex}
    text = note(audit(rows), "actual-gap")
    for values in (rows["p"], y, rows["p"] - y):
        welch = stats.ttest_ind(values[sex == "F"], values[sex == "M"], equal_var=False)
        low, high = welch.confidence_interval()
        gap = values[sex == "F"].mean() - values[sex == "M"].mean()
        assert f"{gap:+.3g} (95 % interval {low:+.3g} to {high:+.3g})" in text
    assert "over-predicts sex=F compared with sex=M" in text
    assert "may be chance" in note(audit({**rows, "p": y + 0.5 * rng.normal(size=N)}), "actual-gap")
    assert not note(audit(rows, y_true=None), "actual-gap")


@pytest.mark.parametrize("weighted", [False, True])
def test_several_classes_have_one_accuracy_beside_those_against_the_rest(weighted: bool) -> None:
    """Being right about one class or another is one event; against the rest each class counts it its own way."""
    rng = np.random.default_rng(0)
    y, sex = rng.choice(list("abc"), N), np.where(np.arange(N) % 2 == 0, "F", "M")
    p = np.where(rng.random(N) < np.where(sex == "F", 0.5, 0.9), y, rng.choice(list("abc"), N))
    w = rng.uniform(0.5, 2, N)
    call = {"weight": "w"} if weighted else {}
    result = audit({"y": y, "p": p, "sex": sex, "w": w}, **call)
    every = {f.estimate.given: f for f in result.findings if f.estimate.measure == "accuracy"}
    size = w if weighted else np.ones(N)
    f, m = (np.average((p == y)[sex == s], weights=size[sex == s]) for s in "FM")
    assert every[None].estimate.value == pytest.approx(f - m)
    assert set(every) == {None, "class=a", "class=b", "class=c"}
    picked = audit({"y": y, "p": p, "sex": sex}, measures="true positive rate")
    assert not [f for f in picked.findings if f.estimate.measure == "accuracy"]


@pytest.mark.parametrize("weighted", [False, True])
def test_rates_are_pooled_over_a_control(weighted: bool) -> None:
    """Mantel and Haenszel's difference, of those who count for the rate: the value by its definition."""
    rng = np.random.default_rng(3)
    rows = {**decided(), "job": rng.choice(list("abc"), N), "w": rng.choice([1.0, 2.0], N)}
    result = audit(rows, control="job", **({"weight": "w"} if weighted else {}))
    pooled = {f.estimate.measure: f for f in result.findings if f.estimate.given == "job held equal"}
    assert set(pooled) >= {"selection rate", "true positive rate", "false positive rate", "accuracy"}
    if weighted:
        assert pooled["true positive rate"].estimate.low is not None
        return
    top = below = 0.0
    for job in "abc":
        here = (rows["job"] == job) & (rows["y"] == 1)
        n, m = (int((here & (rows["sex"] == s)).sum()) for s in "FM")
        x, y = (int((here & (rows["sex"] == s) & (rows["p"] == 1)).sum()) for s in "FM")
        top, below = top + (x * m - y * n) / (n + m), below + n * m / (n + m)
    found = pooled["true positive rate"].estimate
    assert found.value == pytest.approx(top / below)
    assert found.low < found.value < found.high
    assert pooled["true positive rate"].verdict is not None


def test_a_ratio_whose_error_is_astronomical_has_no_interval() -> None:
    """One wrong prediction in 30,000 equal ones: the interval of its spread overflowed."""
    rows = {
        "p": np.append(np.zeros(29_999), 0.5),
        "y": np.tile([0.0, 1.0], 15_000),
        "sex": np.repeat(["F", "M"], 15_000),
    }
    assert "Audited as regression" in note(audit(rows), "audited-as")


# --- one measure


def test_direct_measures_of_labels_are_those_of_the_audit() -> None:
    """A default quantile cut 0/1 labels at 1, above which is nobody: a difference of 0 where the rates differ."""
    rows = decided()
    rates = [rows["p"][rows["sex"] == s].mean() for s in "FM"]
    for p in (rows["p"], rows["p"].astype(bool), rows["p"].astype(str), WORDS[rows["p"]], 2 * rows["p"] - 1):
        of = {"group": rows["sex"], "reference": "M"}
        assert em.selection_rate_difference(p, **of).value == pytest.approx(rates[0] - rates[1])
        assert em.disparate_impact(p, **of).value == pytest.approx(rates[0] / rates[1])
        assert em.compare("selection rate", p, **of).value == pytest.approx(rates[0] - rates[1])
        with pytest.raises(UsageError, match="bad-quantile"):
            em.disparate_impact(p, q=0.8, **of)
    with pytest.raises(UsageError, match="no-positive"):
        em.selection_rate_difference(rows["p"] + 1, **of)
    assert em.selection_rate_difference(rows["p"] + 1, positive=2, **of).value == pytest.approx(
        rates[0] - rates[1]
    )


def test_a_scorer_in_cross_validation_sees_that_labels_are_unfair() -> None:
    """`cross_val_score` and a grid search over a pipeline, of a classifier that selects by the group."""
    selection = pytest.importorskip("sklearn.model_selection")
    dummy = pytest.importorskip("sklearn.linear_model")
    pipeline = pytest.importorskip("sklearn.pipeline")
    scale = pytest.importorskip("sklearn.preprocessing")
    from evenhand.sklearn import make_scorer

    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 600)
    x = np.column_stack([rng.normal(size=600) + 1.5 * group, group])
    y = (x[:, 0] + rng.normal(size=600) > 0.7).astype(int)
    model = pipeline.make_pipeline(scale.StandardScaler(), dummy.LogisticRegression())
    scorer = make_scorer("selection_rate_difference", group=1, reference="0")
    scores = selection.cross_val_score(model, x, y, scoring=scorer, cv=3)
    assert (scores < -0.2).all()
    search = selection.GridSearchCV(model, {"logisticregression__C": [1e-6, 1.0]}, scoring=scorer, cv=3).fit(
        x, y
    )
    assert search.best_params_ == {"logisticregression__C": 1e-6}  # which gives everybody the same


def test_combinations_are_the_same_counted_or_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few possible combinations are counted in a table, many are sorted: codes and names do not tell which."""
    from evenhand import _labels
    from evenhand._model import Factor

    rng = np.random.default_rng(0)
    for a, b in rng.integers(1, 6, (40, 2)).tolist():
        groups = {
            name: Factor(rng.integers(-1, size, 30).astype(np.int32), tuple(map(str, range(size))))
            for name, size in (("a", a), ("b", b))
        }
        counted = _labels.crossed(groups)
        monkeypatch.setattr(_labels, "MOST_TALLIED", 0)
        in_order = _labels.crossed(groups)
        monkeypatch.undo()
        assert counted.parts == in_order.parts
        assert counted.factor.codes.tolist() == in_order.factor.codes.tolist()


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_groups_that_are_said_to_be_too_small_are_named_and_not_compared(task: str) -> None:
    """Neither as a group nor as others of a subgroup; everyone still counts them, and a small reference is an error."""
    rng = np.random.default_rng(1)
    race = np.array(["a"] * 300 + ["b"] * 280 + ["c"] * 20)
    rows = {"p": rng.integers(0, 2, 600) if task == "classification" else rng.normal(size=600), "race": race}
    result = eh.audit_predictions(rows, y_pred="p", groups="race", reference="a", min_group=30)
    assert "c (20)" in note(result, "small-groups")
    assert not [f for f in result.findings if "race=c" in (f.estimate.group, f.estimate.reference)]
    assert result.counts["used"] == 600
    whole = eh.audit_predictions(rows, y_pred="p", groups="race", reference="a")
    value = {f.estimate.value for f in result.findings if f.estimate.group == "race=b"}
    assert value <= {f.estimate.value for f in whole.findings}
    assert value
    assert not note(eh.audit_predictions(rows, y_pred="p", groups="race", min_group=20), "small-groups")
    with pytest.raises(UsageError, match="not one of the groups"):
        eh.audit_predictions(rows, y_pred="p", groups="race", reference="c", min_group=30)
    with pytest.raises(UsageError, match="at least one row"):
        eh.audit_predictions(rows, y_pred="p", groups="race", min_group=0)

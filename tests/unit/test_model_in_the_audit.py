"""`--model`: the model is asked again with another group's attribute, and what it reads is looked at."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand._errors import DataError, UsageError
from evenhand.audits.predictions.diagnosed.people import nearest
from evenhand.stats.paired import mean_change, paired_rates

pd = pytest.importorskip("pandas", reason="pandas is not installed")


class Rule:
    """A model of rows that anybody can read."""

    def __init__(self, names: list[str], rule: Any) -> None:
        self.feature_names_in_ = np.array(names)
        self.rule = rule

    def predict(self, frame: Any) -> Any:
        return self.rule(frame)


def people(n: int = 2000, *, seed: int = 0, tie: float = 1.0) -> Any:
    """Rows with an attribute, a column that goes with it, and one that does not."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], n)
    told = np.where(rng.random(n) < tie, sex, rng.choice(["F", "M"], n))
    return pd.DataFrame(
        {
            "sex": sex,
            "kin": np.where(told == "F", "wife", "husband"),
            "x": rng.normal(size=n),
            "y": rng.integers(0, 2, n),
        }
    )


def flips(result: eh.Result, measure: str = "attribute flip of decisions") -> list[Any]:
    return [f for f in result.findings if f.estimate.measure == measure]


def by_sex(frame: Any) -> Any:
    return ((frame["x"] + 0.5 * (frame["sex"] == "F")) > 0.3).astype(int)


def blind(frame: Any) -> Any:
    return (frame["x"] > 0.3).astype(int)


def test_a_model_that_uses_the_attribute_is_shown_to_and_by_how_much() -> None:
    rows = people()
    found = eh.audit_predictions(rows, model=Rule(["sex", "x"], by_sex), groups="sex", reference="M")
    (one,) = flips(found)
    direct = ((rows.x + 0.5 > 0.3).mean()) - (rows.x > 0.3).mean()
    assert one.estimate.value == pytest.approx(direct, abs=1e-12)
    assert one.verdict == "disparity"
    assert not one.primary
    table = found.exhibits["attribute flips of sex"].columns
    assert table["more"] == [int(((rows.x > -0.2) & (rows.x <= 0.3)).sum())]
    assert table["less"] == [0]


@pytest.mark.parametrize(("n", "verdict"), [(2000, "within tolerance"), (60, "inconclusive")])
def test_a_blind_model_is_within_tolerance_only_where_there_are_enough_rows(n: int, verdict: str) -> None:
    found = eh.audit_predictions(people(n), model=Rule(["sex", "x"], blind), groups="sex")
    (one,) = flips(found)
    assert (one.estimate.value, one.verdict) == (0.0, verdict)


def test_a_proxy_is_flipped_only_where_it_is_declared() -> None:
    model = Rule(["kin", "x"], lambda f: ((f["x"] + (f["kin"] == "wife")) > 0).astype(int))
    rows = people(tie=0.9)
    without = eh.audit_predictions(rows, model=model, groups="sex")
    assert not flips(without)
    assert any(n.slug == "not-asked-with" for n in without.notes)
    (one,) = flips(eh.audit_predictions(rows, model=model, groups="sex", reference="M", proxies=["kin"]))
    assert one.verdict == "disparity"
    assert one.estimate.value > 0.2
    told = without.exhibits["what gives sex away"].columns
    assert told["AUC"][told["feature"].index("kin")] == pytest.approx(0.95, abs=0.02)
    assert told["low"][told["feature"].index("x")] < 0.5


def test_numbers_are_judged_in_standard_deviations() -> None:
    rows = people()
    small = Rule(["sex", "x"], lambda f: f["x"] + 0.01 * (f["sex"] == "F"))
    large = Rule(["sex", "x"], lambda f: f["x"] + 0.2 * (f["sex"] == "F"))
    for model, value, verdict in ((small, 0.01, "within tolerance"), (large, 0.2, "disparity")):
        found = eh.audit_predictions(rows, model=model, groups="sex", reference="M", task="regression")
        (one,) = flips(found, "attribute flip of predictions")
        assert one.estimate.value == pytest.approx(value)
        assert one.verdict == verdict


def test_a_column_keeps_its_type_when_it_is_flipped() -> None:
    rows = people(300).astype({"sex": "category"})
    seen = []

    def rule(frame: Any) -> Any:
        seen.append((str(frame.dtypes["sex"]), list(frame["sex"].cat.categories)))
        return by_sex(frame)

    eh.audit_predictions(rows, model=Rule(["sex", "x"], rule), groups="sex")
    assert set(map(str, seen)) == {"('category', ['F', 'M'])"}


def test_the_order_of_rows_changes_nothing() -> None:
    rows = people(400, tie=0.8)
    model = Rule(["sex", "kin", "x"], lambda f: by_sex(f) | (f["kin"] == "wife"))
    ask = {"model": model, "groups": "sex", "reference": "M", "proxies": ["kin"]}
    one = flips(eh.audit_predictions(rows, **ask))[0].estimate
    two = flips(eh.audit_predictions(rows.iloc[::-1].reset_index(drop=True), **ask))[0].estimate
    assert (one.value, one.low, one.high) == pytest.approx((two.value, two.low, two.high))


def test_units_make_the_interval_of_a_flip_wider() -> None:
    rows = pd.concat([people(200)] * 4, ignore_index=True)
    rows["person"] = np.tile(np.arange(200), 4)
    ask = {"model": Rule(["sex", "x"], by_sex), "groups": "sex", "reference": "M"}
    wide = flips(eh.audit_predictions(rows, units="person", **ask))[0].estimate
    narrow = flips(eh.audit_predictions(rows, units=False, **ask))[0].estimate
    assert wide.high - wide.low > 1.8 * (narrow.high - narrow.low)


def test_weights_count_people() -> None:
    rows = people(1000)
    rows["w"] = np.where(rows.x > 0, 3.0, 1.0)
    found = eh.audit_predictions(
        rows, model=Rule(["sex", "x"], by_sex), groups="sex", reference="M", weight="w"
    )
    changed = (rows.x > -0.2) & (rows.x <= 0.3)
    expected = np.average(changed, weights=rows.w)
    assert flips(found)[0].estimate.value == pytest.approx(expected)


def test_a_group_of_which_nobody_is_known_is_not_flipped() -> None:
    rows = people(500)
    rows.loc[:99, "sex"] = None
    found = eh.audit_predictions(rows, model=Rule(["sex", "x"], by_sex), groups="sex")
    assert flips(found)[0].estimate.n == 400


def test_neighbours_are_those_of_scikit_learn() -> None:
    neighbors = pytest.importorskip("sklearn.neighbors", reason="scikit-learn is not installed")
    rng = np.random.default_rng(3)
    space = rng.normal(size=(400, 3)).astype(np.float32)
    rows, donors = np.arange(150), np.arange(150, 400)
    far, at = neighbors.NearestNeighbors(n_neighbors=1).fit(space[donors]).kneighbors(space[rows])
    found, distance = nearest(space, rows, donors)
    assert found.tolist() == donors[at[:, 0]].tolist()
    assert distance == pytest.approx(far[:, 0], abs=1e-5)


def test_a_gap_between_neighbours_is_described_not_judged() -> None:
    found = eh.audit_predictions(people(), model=Rule(["sex", "x"], by_sex), groups="sex", reference="M")
    (one,) = flips(found, "nearest-neighbour gap of decisions")
    assert one.verdict is None
    assert one.estimate.low < 0.19 < one.estimate.high


@pytest.mark.parametrize("p", [(0.02, 0.02), (0.1, 0.02), (0.3, 0.3), (0.0, 0.05)])
@pytest.mark.parametrize("n", [20, 60])
def test_paired_rates_cover_whatever_the_counts(p: tuple[float, float], n: int) -> None:
    """Every pair of discordant counts, with its chance under the two rates."""
    from scipy.stats import multinomial

    covered = 0.0
    for up, down in itertools.product(range(n + 1), repeat=2):
        if up + down > n:
            continue
        chance = multinomial.pmf([up, down, n - up - down], n, [*p, 1 - sum(p)])
        i = paired_rates(up, down, n)
        covered += chance * (i.low <= p[0] - p[1] <= i.high)
    assert covered > 0.94


def test_what_never_changed_is_bounded_exactly() -> None:
    i = mean_change(np.zeros(29), unit=None)
    assert i.high == pytest.approx(1 - 0.025 ** (1 / 29))
    assert mean_change(np.zeros(29), unit=np.zeros(29, dtype=np.int32)).high > 0.9


def cli(*argv: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "evenhand", *argv], cwd=cwd, capture_output=True, text=True, timeout=120
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table, and a pipeline fitted on it, as skops and as a pickle."""
    sio = pytest.importorskip("skops.io", reason="the extra sklearn is not installed")
    import joblib
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    folder = tmp_path_factory.mktemp("model")
    rows = people(1200)
    rows["y"] = ((rows.x + (rows.sex == "F") + np.random.default_rng(1).normal(size=1200) * 0.3) > 0.5) * 1
    rows.to_csv(folder / "people.csv", index=False)
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["sex", "kin"]), remainder="passthrough"),
        LogisticRegression(),
    ).fit(rows[["sex", "kin", "x"]], rows.y)
    sio.dump(model, folder / "model.skops")
    joblib.dump(model, folder / "model.pkl")
    (folder / "mine.py").write_text("def predict(frame):\n    return (frame['x'] > 0).astype(int)\n")
    return folder


def test_a_skops_file_is_audited_from_the_command_line_and_again_from_its_audit_toml(files: Path) -> None:
    done = cli(
        *("predictions", "people.csv", "--model", "model.skops", "--y-true", "y", "--group", "sex"),
        *("--reference", "M", "--proxy", "kin", "--out", "out"),
        cwd=files,
    )
    assert done.returncode == 0, done.stderr
    assert "Everybody as each group of sex" in done.stdout
    result = eh.Result.from_json(files / "out" / "result.json")
    assert flips(result)[0].verdict == "disparity"
    again = cli("run", "out/audit.toml", "--out", "again", cwd=files)
    assert again.returncode == 0, again.stderr
    one, two = (json.loads((files / n / "result.json").read_text())["findings"] for n in ("out", "again"))
    assert one == two
    page = (files / "out" / "report.html").read_text()
    assert "not counterfactual fairness" in page


def test_the_model_s_scores_are_audited_too(files: Path) -> None:
    found = eh.audit_predictions(
        files / "people.csv", model=files / "model.skops", y_true="y", groups="sex", positive=1
    )
    assert any(f.estimate.measure == "AUC within the group" for f in found.findings)


def test_a_pickle_is_opened_only_on_an_explicit_word(files: Path) -> None:
    ask = ("predictions", "people.csv", "--model", "model.pkl", "--y-true", "y", "--group", "sex")
    refused = cli(*ask, cwd=files)
    assert refused.returncode == 2
    assert "pickle-not-trusted" in refused.stderr
    assert "--trust-pickle" in refused.stderr
    assert cli(*ask, "--trust-pickle", cwd=files).returncode == 0


def test_a_function_of_one_s_own_names_its_features(files: Path) -> None:
    ask = ("predictions", "people.csv", "--model", "mine.py:predict", "--y-true", "y", "--group", "sex")
    refused = cli(*ask, cwd=files)
    assert refused.returncode == 2
    assert "no-features" in refused.stderr
    assert cli(*ask, "--features", "x", "--features", "sex", cwd=files).returncode == 0


def test_an_onnx_graph_of_columns_is_asked_by_their_names(files: Path) -> None:
    pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")
    onnx = pytest.importorskip("onnx", reason="the onnx package is not installed")
    helper, kinds = onnx.helper, onnx.TensorProto
    inputs = [
        helper.make_tensor_value_info("sex", kinds.STRING, [None, 1]),
        helper.make_tensor_value_info("x", kinds.FLOAT, [None, 1]),
    ]
    nodes = [
        helper.make_node(
            "LabelEncoder",
            ["sex"],
            ["coded"],
            domain="ai.onnx.ml",
            keys_strings=["F"],
            values_floats=[1.0],
            default_float=0.0,
        ),
        helper.make_node("Add", ["coded", "x"], ["predicted"]),
    ]
    graph = helper.make_graph(
        nodes, "toy", inputs, [helper.make_tensor_value_info("predicted", kinds.FLOAT, [None, 1])]
    )
    opsets = [helper.make_opsetid("", 15), helper.make_opsetid("ai.onnx.ml", 2)]
    model = helper.make_model(graph, opset_imports=opsets)
    model.ir_version = 8
    onnx.save(model, str(files / "toy.onnx"))
    found = eh.audit_predictions(
        files / "people.csv", model=str(files / "toy.onnx"), groups="sex", reference="M", task="regression"
    )
    (one,) = flips(found, "attribute flip of predictions")
    assert one.estimate.value == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("more", "slug"),
    [
        ({"y_pred": "y"}, "model-and-predictions"),
        ({"proxies": ["y"]}, "proxies"),
        ({"proxies": ["z"]}, "missing-column"),
        ({"count": "x"}, "model-of-counts"),
        ({"features": ["z"]}, "missing-column"),
    ],
)
def test_what_does_not_go_together_is_said(more: dict[str, Any], slug: str) -> None:
    with pytest.raises(UsageError, match=slug):
        eh.audit_predictions(people(50), model=Rule(["sex", "x"], by_sex), groups="sex", **more)


@pytest.mark.parametrize(
    ("rule", "slug"),
    [
        (lambda f: np.zeros((len(f), 3)), "model-answers"),
        (lambda f: [0] * (len(f) - 1), "model-answers"),
        (lambda f: f["nowhere"], "model-failed"),
    ],
)
def test_a_model_that_fails_is_told(rule: Any, slug: str) -> None:
    with pytest.raises(DataError, match=slug):
        eh.audit_predictions(people(50), model=Rule(["sex", "x"], rule), groups="sex")


def test_what_is_no_model_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not-a-model"):
        eh.audit_predictions(people(50), model=3, groups="sex")
    with pytest.raises(DataError, match="no-such-file"):
        eh.audit_predictions(people(50), model=str(tmp_path / "gone.skops"), groups="sex")


def test_several_classes_without_any_known_group_are_an_audit_that_says_so() -> None:
    """It ended as a defect of evenhand's own."""
    rows = {"p": list("abc"), "y": list("abc"), "g": [None, None, None]}
    found = eh.audit_predictions(rows, y_pred="p", y_true="y", groups="g")
    assert found.verdict is None
    assert any(note.slug == "one-group" for note in found.notes)


@pytest.mark.parametrize("seed", range(12))
def test_whatever_the_rows_a_model_s_audit_ends_in_a_page_or_a_message(seed: int) -> None:
    """Few, missing, constant and categorical columns, one group, labels and numbers."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([1, 2, 3, 5, 12, 60, 300]))
    rows = pd.DataFrame(
        {
            "g": np.where(rng.random(n) < 0.2, None, rng.choice(list("abc")[: 1 + seed % 3], n)),
            "x": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "c": pd.Categorical(rng.choice(["u", "v", None], n)),
            "k": np.full(n, 3.0),
            "nan": np.full(n, np.nan),
        }
    )
    rules = (
        lambda f: np.nan_to_num(f["x"].to_numpy()) + (f["g"] == "a").to_numpy(float),
        lambda f: (f["g"] == "a").to_numpy().astype(int),
        lambda f: np.array(["lo", "mid", "hi"])[np.arange(len(f)) % 3],
    )
    model = Rule(["g", "x", "c", "k", "nan"], rules[seed % 3])
    y = [None, rng.integers(0, 2, n), rng.choice(["lo", "mid", "hi"], n)][seed % 3]
    try:
        found = eh.audit_predictions(rows, model=model, y_true=y, groups="g", proxies=["c"][: seed % 2])
    except UsageError:
        return
    assert found.to_html()
    assert found.answer

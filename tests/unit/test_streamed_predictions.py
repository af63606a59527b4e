"""A file that is streamed gives what the same rows give in memory: findings, law tables, counts, notes and errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.engines import files as engine_files


def people(n: int = 4000, seed: int = 0) -> dict[str, Any]:
    """Labels, scores and predictions with ties, gaps in every column, three and two groups, sorted by one of them."""
    rng = np.random.default_rng(seed)
    job = np.sort(rng.integers(0, 3, n))
    truth = rng.random(n) < 0.4
    score = np.clip(rng.beta(2, 3, n) + 0.2 * truth, 0, 1).round(4)
    y = rng.normal(size=n)
    return {
        "y": np.where(rng.random(n) < 0.02, np.nan, y),
        "p": (0.6 * y + rng.normal(size=n) - 0.3 * (job == 1)).round(2),
        "w": rng.integers(0, 4, n).astype(float),
        "truth": truth.astype(int),
        "label": (score > 0.5).astype(int),
        "score": score,
        "kind": rng.choice(["cat", "dog", "owl"], n),
        "job": [None if rng.random() < 0.02 else ["cook", "10", "9"][i] for i in job],
        "sex": rng.choice(["F", "M"], n),
    }


@pytest.fixture
def streaming(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Every file of more than 100 rows (or bytes) is streamed, 700 rows at a time."""

    def start() -> None:
        monkeypatch.setattr(engine_files, "STREAM_ROWS", 100)
        monkeypatch.setattr(engine_files, "STREAM_BYTES", 100)
        monkeypatch.setattr(engine_files, "BATCH", 700)

    return start


def written(folder: Path, rows: dict[str, Any], kind: str = "parquet") -> Path:
    import pyarrow as pa
    import pyarrow.csv as csv
    import pyarrow.parquet as parquet

    table = pa.table({k: pa.array(v, from_pandas=True) for k, v in rows.items()})
    path = folder / f"people.{kind}"
    if kind == "parquet":
        parquet.write_table(table, path, row_group_size=1500)
    elif kind == "csv":
        csv.write_csv(table, path)
    else:
        with pa.ipc.new_file(str(path), table.schema) as file:
            file.write_table(table, max_chunksize=1500)
    return path


CALLS: dict[str, dict[str, Any]] = {
    "numbers": {"y_true": "y", "y_pred": "p", "groups": ["job", "sex"], "reference": {"job": "9", "sex": "M"}},
    "weighted": {"y_true": "y", "y_pred": "p", "groups": "job", "weight": "w", "pinball": 0.7},
    "strata": {"y_true": "y", "y_pred": "p", "groups": "job", "control": "sex", "missing": "group"},
    "labels": {"y_true": "truth", "y_pred": "label", "y_score": "score", "groups": ["job", "sex"], "intersections": True},
    "weighted labels": {"y_true": "truth", "y_pred": "label", "y_score": "score", "groups": "job", "weight": "w", "control": "sex"},
    "classes": {"y_pred": "kind", "groups": "sex", "control": "job"},
}  # fmt: skip
BINNED = ("AUC", "Kolmogorov", "Wasserstein", "no-adverse-impact")


@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv"])
@pytest.mark.parametrize("call", list(CALLS.values()), ids=list(CALLS))
def test_a_stream_gives_the_findings_of_rows_in_memory(
    tmp_path: Path, streaming: Any, call: dict[str, Any], kind: str
) -> None:
    """Values, intervals, p, verdicts and counts; what rests on binned scores to the width of a bin."""
    path = written(tmp_path, people(), kind)
    whole = eh.audit_predictions(path, **call)
    streaming()
    found = eh.audit_predictions(path, **call)
    assert "streamed" in {n.slug for n in found.notes}
    assert found.counts == whole.counts
    assert {n.text for n in whole.notes} == {n.text for n in found.notes if n.slug != "streamed"}
    assert len(whole.findings) == len(found.findings)
    for a, b in zip(whole.findings, found.findings, strict=True):
        one, two = a.estimate, b.estimate
        assert (one.measure, one.group, one.given, one.n, a.verdict) == (two.measure, two.group, two.given, two.n, b.verdict)  # fmt: skip
        loose = (
            {"abs": 2e-3}
            if one.measure.startswith(BINNED) or "AUC" in one.measure
            else {"rel": 1e-7, "abs": 1e-9}
        )
        for name in ("value", "low", "high"):
            if one.measure == "Wasserstein distance" and name != "value":
                loose = {"abs": 0.02}  # its ends are drawn, in pieces that bins shift: 499 draws tell no more
            expected, got = getattr(one, name), getattr(two, name)
            assert (got is None) == (expected is None), (one, two)
            assert got is None or got == pytest.approx(expected, **loose), one.measure
    assert set(whole.exhibits) == set(found.exhibits)


@pytest.mark.parametrize("law", ["ll144", "four-fifths"])
@pytest.mark.parametrize("call", ["numbers", "weighted", "labels"])
def test_the_law_tables_of_a_stream_are_those_of_the_rows(
    tmp_path: Path, streaming: Any, law: str, call: str
) -> None:
    """To the last digit: the median is the exact one, unknown groups are counted, the intersection has its table."""
    path = written(tmp_path, people())
    whole = eh.audit_predictions(path, law=law, quantiles=[0.8], **CALLS[call])
    streaming()
    found = eh.audit_predictions(path, law=law, quantiles=[0.8], **CALLS[call])
    names = [n for n in whole.exhibits if n.startswith(law)]
    assert names
    assert names == [n for n in found.exhibits if n.startswith(law)]
    for name in names:
        assert found.exhibits[name].columns == whole.exhibits[name].columns
        assert found.exhibits[name].note == whole.exhibits[name].note
    assert ("job & sex" in {f.family.partition(",")[0] for f in found.findings}) == bool(
        CALLS[call].get("intersections")
    )


def test_thresholds_are_exact_unless_a_bin_holds_too_many_predictions(
    tmp_path: Path, streaming: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An outlier squeezes every other prediction into one bin: still exact; beyond the limit the error is stated."""
    from evenhand.audits.predictions import sources as prediction_source

    rows = {"p": np.append(np.random.default_rng(1).normal(size=2999), 1e9), "g": np.tile(["a", "b"], 1500)}
    path = written(tmp_path, rows)
    exact = np.quantile(rows["p"], [0.9, 0.8, 0.5])
    streaming()
    for most, said in ((1 << 20, "thresholds exact,"), (100, "exact to 954")):
        monkeypatch.setattr(prediction_source, "MOST_DISTINCT", most)
        found = eh.audit_predictions(path, y_pred="p", groups="g")
        assert any(said in n.text for n in found.notes)
        if most > 100:
            told = found.exhibits["selection by g"].columns["threshold"][::2]
            assert told == pytest.approx(exact.tolist(), rel=1e-12)


def test_batches_without_a_usable_row_or_with_few_rows_are_no_error(tmp_path: Path, streaming: Any) -> None:
    """A batch in which every outcome is missing, one whose weights are 0, a last batch with as many groups as rows."""
    n = 2130
    rows = {
        "p": np.random.default_rng(0).normal(size=n),
        "y": np.where(np.arange(n) < 700, np.nan, 1.0) * np.random.default_rng(1).normal(size=n),
        "w": np.where((np.arange(n) >= 700) & (np.arange(n) < 1400), 0.0, 1.0),
        "g": [f"g{i}" for i in np.arange(n) % 30],
    }
    path = written(tmp_path, rows)
    streaming()
    found = eh.audit_predictions(path, y_true="y", y_pred="p", groups="g", weight="w")
    assert found.counts == {"rows": n, "used": n - 700, "left out": 700}
    assert any(note.text.startswith("700 of 2130 rows") for note in found.notes)


@pytest.mark.parametrize(
    ("columns", "call", "slug"),
    [
        ({"g": [f"g{i // 10}" for i in range(4000)]}, {"groups": "g"}, "too-many-groups"),
        ({"g": ["a"] * 4000, "y": [None] * 4000}, {"groups": "g", "y_true": "y"}, "no-rows"),
        ({"g": ["a", "b"] * 2000}, {"groups": "g", "y_true": "nowhere"}, "missing-column"),
        ({"g": ["a", "b"] * 2000}, {"groups": "g", "task": "ranking"}, "streamed"),
        ({"g": ["a", "b"] * 2000}, {"groups": "g", "measures": "notebook-2022"}, "streamed"),
        ({"g": ["a", "b"] * 2000}, {"groups": "g", "continuous": ["p"]}, "streamed"),
        ({"g": ["a", "b"] * 2000}, {"groups": "g", "task": "classification"}, "not-labels"),
        ({"g": ["a", "b"] * 2000, "w": [0.0] * 4000}, {"groups": "g", "weight": "w"}, "bad-weights"),
        ({"g": ["a", "b"] * 2000, "w": [1.0] * 3999 + [-1.0]}, {"groups": "g", "weight": "w"}, "bad-weights"),
    ],
)  # fmt: skip
def test_bad_input_of_a_stream_is_one_clear_error(
    tmp_path: Path, streaming: Any, columns: dict[str, Any], call: dict[str, Any], slug: str
) -> None:
    """The errors that rows in memory give, also where only all batches together show them."""
    rows = {"p": np.random.default_rng(0).normal(size=4000), **columns}
    path = written(tmp_path, rows)
    streaming()
    with pytest.raises(eh.EvenhandError) as caught:
        eh.audit_predictions(path, y_pred="p", **call)
    assert caught.value.slug == slug


def test_progress_counts_the_rows_of_every_pass(tmp_path: Path, streaming: Any) -> None:
    """Quantiles twice and sums: three passes where Parquet states the range."""
    path = written(tmp_path, people())
    streaming()
    seen: list[int] = []
    eh.audit_predictions(path, y_pred="p", groups="sex", progress=lambda done, _: seen.append(done))
    assert seen == sorted(seen)
    assert seen[-1] == 3 * 4000


def test_replicates_that_are_not_drawn_are_said() -> None:
    """Labels have closed forms only; asking for replicates is not ignored in silence."""
    rows = people(400)
    found = eh.audit_predictions(
        rows, y_true="truth", y_pred="label", groups="sex", task="classification", replicates=50
    )
    assert "no-bootstrap" in [note.slug for note in found.notes]


def test_labels_given_as_a_list_are_values_and_no_columns(tmp_path: Path, streaming: Any) -> None:
    """Beside a file that would be streamed, too: it is then read whole, and the list is one value a row."""
    said, groups = ["yes", "no", "yes", "yes"] * 50, ["a", "b"] * 100
    path = written(tmp_path, {"g": groups})
    streaming()
    found = eh.audit_predictions(path, y_pred=said, groups="g")
    whole = eh.audit_predictions({"p": said, "g": groups}, y_pred="p", groups="g")
    assert [f.estimate for f in found.findings] == [f.estimate for f in whole.findings]

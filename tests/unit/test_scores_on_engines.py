"""Recorded scores by sums: folded into combinations of groups and units, in partitions, they give the result of all rows at once."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as parquet
import pytest
from nearly_equal import differences
from typer.testing import CliRunner

import evenhand as eh
from evenhand._errors import UsageError
from evenhand.audits.scores import folded as folded_rows
from evenhand.audits.scores import rows as score_rows
from evenhand.cli import app
from evenhand.engines import files as engine_files
from evenhand.engines.attempts import attempt, summary_of
from evenhand.engines.local import Local

CALLS: dict[str, dict[str, Any]] = {
    "crossed": {"scores": "s", "groups": "sex", "units": ["text", "term"]},
    "several scores by class": {"scores": ["s", "t"], "groups": "race*sex", "units": ["text", "term"], "strata": "mood"},
    "one kind of units": {"scores": "s", "groups": "race", "units": "text", "threshold": 0.5},
    "weighted": {"scores": "s", "groups": "race", "units": ["text", "term"], "weight": "w"},
    "nested": {"scores": "s", "groups": "race", "units": ["family/text", "term"], "reference": "b"},
    "three kinds": {"scores": "s", "groups": "sex", "units": ["text", "term", "rater"]},
    "terms alone": {"scores": "v", "groups": "few", "units": "term", "tolerance": 0.5},
    "skewed terms": {"scores": "v", "groups": "few", "units": ["text", "term"], "tolerance": 0.5},
    "no units": {"scores": ["t", "s"], "groups": ["sex", "race"], "weight": "w"},
    "no units, crossed groups": {"scores": "s", "groups": "race*sex", "weight": "w"},
    "one direction": {"scores": "s", "groups": "race", "units": "text", "reference": "b", "alternative": "less"},
    "chances": {"scores": "no", "groups": "sex", "units": ["text", "term"], "classes": ["no", "yes"]},
}  # fmt: skip


def scored(n: int = 3000, *, gaps: float = 0.04, seed: int = 0) -> pa.Table:
    """Texts of very different sizes, each with most terms, often several times and sometimes without a score."""
    rng = np.random.default_rng(seed)
    text, term = (20 * rng.random(n) ** 2).astype(int), rng.integers(0, 12, n)
    raw = 0.3 * rng.normal(size=12)[term] + 0.5 * rng.normal(size=20)[text] + 0.3 * rng.normal(size=n)
    s = 1 / (1 + np.exp(-raw - 0.2 * (term % 2)))
    columns: dict[str, Any] = {
        "s": np.where(rng.random(n) < gaps, np.nan, s),
        "t": np.where(rng.random(n) < gaps, np.nan, s**2),
        "v": s + 3.0 * (term == 11),
        "few": np.array(["few", "many"])[np.minimum(term // 4, 1)],
        "no": np.where(rng.random(n) < gaps, np.nan, 1 - s),
        "yes": s,
        "text": [f"t{i}" for i in text],
        "term": [f"k{i}" for i in term],
        "sex": np.array(["M", "F"])[term % 2],
        "race": [None if rng.random() < 0.02 else "bac"[i] for i in term % 3],
        "mood": np.array(["glum", "glad"])[text % 2],
        "family": (text // 3) / 2,
        "rater": rng.integers(0, 5, n),
        "w": rng.choice([0.0, 1.0, 2.5], n),
    }
    return pa.table({k: pa.array(v, from_pandas=True) for k, v in columns.items()})


def plain(result: eh.Result) -> dict[str, Any]:
    """result.json but for where it comes from, and for what is left out by name."""
    found = json.loads(result.to_json())
    del found["provenance"]
    found["title"] = ""
    left_out = ("streamed", "duplicate-rows")
    found["notes"] = {note["slug"]: note["text"] for note in found["notes"] if note["slug"] not in left_out}
    return dict(found)


def same(held: eh.Result, streamed: eh.Result) -> None:
    """All of it, but for the exhibits that need every row, which are only left out."""
    one, two = plain(held), plain(streamed)
    assert "streamed" in [note.slug for note in streamed.notes]
    gone = one["exhibits"].keys() - two["exhibits"].keys()
    assert all(name.startswith(("distribution of scores", "diagnostics")) for name in gone)
    assert list(differences({**one, "exhibits": None}, {**two, "exhibits": None})) == []
    for name, exhibit in two["exhibits"].items():
        # Two units of the same influence stand in either order: each column holds the same numbers.
        ties = name.startswith("influence of")
        for key, values in exhibit["columns"].items():
            other = one["exhibits"][name]["columns"][key]
            if ties and key.startswith("change"):
                other, values = sorted(map(abs, other)), sorted(map(abs, values))
            assert ties or list(differences(other, values, f"{name}.{key}")) == []


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Partitions of a few hundred rows, in batches of 130, and few lines that may wait."""
    monkeypatch.setattr(engine_files, "PART_ROWS", 300)
    monkeypatch.setattr(engine_files, "PART_BYTES", 1)
    monkeypatch.setattr(engine_files, "BATCH", 130)
    monkeypatch.setattr(engine_files, "BLOCK", 20_000)
    monkeypatch.setattr(folded_rows, "SETTLED", 200)


def written(table: pa.Table, where: Path) -> Path:
    parquet.write_table(table, where, row_group_size=100)
    return where


@pytest.mark.parametrize("call", list(CALLS.values()), ids=list(CALLS))
def test_sums_give_the_result_of_all_rows(tmp_path: Path, cut: None, call: dict[str, Any]) -> None:
    """Values, intervals, p-values, verdicts and exhibits, of crossed, nested, weighted, unbalanced and incomplete designs."""
    path = written(scored(), tmp_path / "s.parquet")
    same(eh.audit_scores(path, **call), eh.audit_scores(path, engine="local", **call))


def test_groups_that_are_numbers_stand_in_their_order(tmp_path: Path, cut: None) -> None:
    """Whichever of them comes first in the file, as in memory."""
    path = written(scored().sort_by([("family", "descending")]), tmp_path / "s.parquet")
    call: dict[str, Any] = {"scores": "s", "groups": "family", "units": "term"}
    same(eh.audit_scores(path, **call), eh.audit_scores(path, engine="local", **call))


@pytest.mark.parametrize("seed", range(4))
def test_few_rows_give_the_result_of_all_rows(tmp_path: Path, cut: None, seed: int) -> None:
    """Where most combinations occur once, and many do not occur."""
    path = written(scored(60, gaps=0.2, seed=seed), tmp_path / "s.parquet")
    for call in (CALLS["crossed"], CALLS["nested"], CALLS["no units"]):
        same(eh.audit_scores(path, **call), eh.audit_scores(path, engine="local", **call))


@pytest.mark.parametrize("units", [(), ("text",), ("text", "term")])
@pytest.mark.parametrize("differing", [0, 1, 3, 4, 5, 40])
def test_scores_that_hardly_differ_are_as_uncertain_as_in_memory(
    tmp_path: Path, cut: None, units: Sequence[str], differing: int
) -> None:
    """What few differing rows or units still allow is known by sums, too."""
    table = scored(600)
    s = np.full(600, 2.0)
    s[np.random.default_rng(1).permutation(600)[:differing]] += np.arange(differing) % 7 + 1.0
    path = written(table.set_column(0, "s", pa.array(s)), tmp_path / "s.parquet")
    call = {"scores": "s", "groups": "sex", "units": units, "tolerance": 0.5}
    same(eh.audit_scores(path, **call), eh.audit_scores(path, engine="local", **call))


def test_where_each_combination_is_one_row_nothing_is_left_out(tmp_path: Path, cut: None) -> None:
    """A grid that was asked once: distributions, diagnostics, and copies of texts are what they are in memory."""
    rng = np.random.default_rng(0)
    text, term = (part.ravel() for part in np.mgrid[:40, :12])
    s = rng.random((40, 12))
    s[20:] = s[:20]
    rows = {"s": s.ravel(), "text": text, "term": term, "sex": np.array(["F", "M"])[term % 2]}
    path = written(pa.table(rows), tmp_path / "s.parquet")
    held, streamed = (eh.audit_scores(path, engine=e, **CALLS["crossed"]) for e in (None, "local"))
    assert plain(held)["exhibits"].keys() == plain(streamed)["exhibits"].keys()
    assert {"copies"} <= plain(streamed)["notes"].keys()
    same(held, streamed)


def test_partitions_that_are_sent_and_come_in_any_order_change_nothing(
    tmp_path: Path, cut: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on other machines; levels come in another order there, so they are sorted beforehand."""
    table = scored().sort_by([("term", "ascending"), ("text", "ascending"), ("race", "ascending")])
    path = written(table, tmp_path / "s.parquet")
    one = eh.audit_scores(path, engine="local", **CALLS["weighted"])
    order: list[int] = []

    def send(self: Local, work: Any, parts: Sequence[Any], progress: Any = None) -> Iterator[Any]:
        made = [attempt(pickle.dumps(work), pickle.dumps(part), eh.__version__) for part in reversed(parts)]
        order.append(len(made))
        yield from (summary_of(each) for each in reversed(made))

    monkeypatch.setattr(Local, "map", send)
    two = eh.audit_scores(path, engine="local", **CALLS["weighted"])
    assert order[0] > 5
    assert plain(one) == plain(two)


def test_files_of_a_folder_are_one_table(tmp_path: Path, cut: None) -> None:
    """Without an engine being named; groups that some files lack and an empty file change nothing."""
    table = scored().sort_by("sex").drop_columns("rater")
    (tmp_path / "parts").mkdir()
    for i, at in enumerate((0, 900, 900, 2000)):
        csv.write_csv(
            table.slice(at, (900, 900, 900, 2000, 3000)[i + 1] - at), tmp_path / "parts" / f"{i}.csv"
        )
    same(eh.audit_scores(table, **CALLS["crossed"]), eh.audit_scores(tmp_path / "parts", **CALLS["crossed"]))


@pytest.mark.parametrize(
    ("call", "slug"),
    [
        ({"labels": "rater"}, "streamed"),
        ({"units": "nothing"}, "missing-column"),
        ({"scores": "text"}, "not-a-number"),
        ({"weight": "negative"}, "bad-weight"),
        ({"engine": "spark"}, "engine"),
    ],
)
def test_what_sums_cannot_give_is_refused_with_the_reason(
    tmp_path: Path, cut: None, call: dict[str, Any], slug: str
) -> None:
    """AUCs of labels need all scores in order; the rest is wrong in memory, too."""
    table = scored(300)
    path = written(table.append_column("negative", pa.array(-np.ones(300))), tmp_path / "s.parquet")
    with pytest.raises(eh.EvenhandError) as caught:
        eh.audit_scores(path, **{"engine": "local", "scores": "s", "groups": "sex", **call})
    assert caught.value.slug == slug


def test_rows_that_hardly_recur_are_refused_before_they_fill_the_memory(
    tmp_path: Path, cut: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is held grows with the combinations that occur, so they are counted; reading ends where they are too many."""
    monkeypatch.setattr(folded_rows, "MOST_LINES", 100)
    monkeypatch.setattr(score_rows, "MOST_LINES", 100)
    path = written(scored(), tmp_path / "s.parquet")
    with pytest.raises(UsageError, match="more than 100 combinations"):
        eh.audit_scores(path, engine="local", **CALLS["crossed"])
    assert eh.audit_scores(path, engine="local", scores="s", groups="sex").counts["rows"] == 3000


def test_the_command_streams_with_an_engine(tmp_path: Path) -> None:
    """`evenhand scores --engine local`, and its audit.toml says so."""
    path, out = written(scored(), tmp_path / "s.parquet"), tmp_path / "out"
    words = ["scores", str(path), "--score", "s", "--group", "sex", "--unit", "text", "--unit", "term"]
    done = CliRunner().invoke(app, [*words, "--engine", "local", "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "streamed" in [note.slug for note in eh.Result.from_json(out / "result.json").notes]
    assert 'engine = "local"' in (out / "audit.toml").read_text()


@pytest.mark.parametrize("values", [[0.2, 0.2, 0.2, 0.2], [0.1, 0.2, 0.3, 0.4]])
def test_units_of_which_each_group_has_one_leave_the_rows_as_units(
    tmp_path: Path, values: list[float]
) -> None:
    """Nothing is sampled over terms, so rows are what differs, and nobody counted their values: no defect, and no
    verdict that all rows would not give."""
    rows = pa.table({"s": values * 8, "term": ["a", "a", "b", "b"] * 8, "sex": ["F", "F", "M", "M"] * 8})
    csv.write_csv(rows, tmp_path / "rows.csv")
    call: dict[str, Any] = {"scores": "s", "groups": "sex", "units": "term", "tolerance": 0.5}
    whole, folded = (eh.audit_scores(tmp_path / "rows.csv", **call, engine=name) for name in (None, "local"))
    assert folded.primary[0].estimate.value == pytest.approx(whole.primary[0].estimate.value, abs=1e-12)
    assert folded.primary[0].verdict in (whole.primary[0].verdict, "inconclusive")
    low, high = folded.primary[0].estimate.low, folded.primary[0].estimate.high
    if whole.primary[0].estimate.low is not None and low is not None and high is not None:
        assert low <= whole.primary[0].estimate.low + 1e-12
        assert high >= (whole.primary[0].estimate.high or 0.0) - 1e-12

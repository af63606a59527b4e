"""Data in partitions: however they are cut, ordered and sent, the result is that of one partition, or one clear message."""

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
from evenhand._errors import EngineError
from evenhand.cli import app
from evenhand.engines import files as engine_files
from evenhand.engines.attempts import attempt, summary_of
from evenhand.engines.local import Local
from evenhand.stats.passes import Near, Shape, quantiles_of, span_of

CALLS: dict[str, dict[str, Any]] = {
    "numbers": {"y_true": "y", "y_pred": "p", "groups": ["job", "sex"], "reference": {"job": "9", "sex": "M"}},
    "weighted": {"y_true": "y", "y_pred": "p", "groups": "job", "weight": "w", "pinball": 0.7},
    "strata": {"y_true": "y", "y_pred": "p", "groups": "job", "control": "sex", "missing": "group"},
    "law": {"y_pred": "p", "groups": ["job", "sex"], "law": "ll144"},
    "labels": {"y_true": "truth", "y_pred": "label", "y_score": "score", "groups": ["job", "sex"], "intersections": True},
    "weighted labels": {"y_true": "truth", "y_pred": "label", "y_score": "score", "groups": "job", "weight": "w", "control": "sex"},
    "classes": {"y_pred": "kind", "groups": "sex", "control": "job"},
}  # fmt: skip


def people(n: int = 3000) -> pa.Table:
    """Labels, scores and predictions with ties and gaps in every column; sorted by one group, so that most partitions lack some."""
    rng = np.random.default_rng(0)
    job = np.sort(rng.integers(0, 3, n))
    truth = rng.random(n) < 0.4
    score = np.clip(rng.beta(2, 3, n) + 0.2 * truth, 0, 1).round(4)
    y = rng.normal(size=n)
    columns: dict[str, Any] = {
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
    return pa.table({k: pa.array(v, from_pandas=True) for k, v in columns.items()})


def plain(result: eh.Result) -> dict[str, Any]:
    """result.json but for where it comes from; notes in no order."""
    found = json.loads(result.to_json())
    del found["provenance"]
    found["title"] = ""
    found["notes"] = sorted(found["notes"], key=lambda note: str(note["text"]))
    return dict(found)


def same(one: eh.Result, two: eh.Result) -> None:
    first, second = plain(one), plain(two)
    assert list(first["exhibits"]) == list(second["exhibits"])
    assert list(differences(first, second)) == []


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Partitions of at least so many rows (or bytes), read in batches of 130."""

    def at(rows: int, size: int = 1) -> None:
        monkeypatch.setattr(engine_files, "PART_ROWS", rows)
        monkeypatch.setattr(engine_files, "PART_BYTES", size)
        monkeypatch.setattr(engine_files, "BATCH", 130)
        monkeypatch.setattr(engine_files, "BLOCK", 20_000)

    return at


@pytest.fixture
def scattered(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """As on other machines: everything is sent, partitions come in random order. Holds how many came in each pass."""
    passes: list[int] = []
    rng = np.random.default_rng(1)

    def send(self: Local, work: Any, parts: Sequence[Any], progress: Any = None) -> Iterator[Any]:
        passes.append(len(parts))
        for i in rng.permutation(len(parts)):
            yield summary_of(attempt(pickle.dumps(work), pickle.dumps(parts[i]), eh.__version__))

    monkeypatch.setattr(Local, "map", send)
    return passes


def in_files(folder: Path, table: pa.Table, sizes: Sequence[int], kind: str = "parquet") -> Path:
    """The rows over several files, of so many rows each and the last with the rest."""
    folder.mkdir()
    start = 0
    for i, size in enumerate([*sizes, table.num_rows - sum(sizes)]):
        path, part = folder / f"part-{i:02}.{kind}", table.slice(start, size)
        start += size
        if kind == "parquet":
            parquet.write_table(part, path, row_group_size=200)
        elif kind == "csv":
            csv.write_csv(part, path)
        else:
            path.write_text("".join(json.dumps(row) + "\n" for row in part.to_pylist()))
    return folder


@pytest.mark.parametrize("call", list(CALLS.values()), ids=list(CALLS))
def test_partitions_in_any_order_give_the_result_of_one(
    tmp_path: Path, cut: Any, scattered: list[int], call: dict[str, Any]
) -> None:
    """To 1e-12, everything in result.json: 15 partitions that were sent, some without a group of the others."""
    path = tmp_path / "people.parquet"
    parquet.write_table(people(), path, row_group_size=200)
    cut(10_000)
    whole = eh.audit_predictions(path, engine="local", **call)
    assert set(scattered) == {1}
    scattered.clear()
    cut(200)
    found = eh.audit_predictions(path, engine="local", **call)
    assert {n for n in scattered if n > 1} == {15}
    same(whole, found)


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize("named", ["folder", "pattern"])
def test_files_of_a_folder_give_the_result_of_one_file(
    tmp_path: Path, cut: Any, kind: str, named: str
) -> None:
    """Also by a pattern of names, without an engine named; what is hidden or of another kind is left alone."""
    path = tmp_path / "people.parquet"
    parquet.write_table(people(), path)
    cut(100)
    folder = in_files(tmp_path / "parts", people(), [1, 700, 1400], kind)
    (folder / "_SUCCESS").write_text("")
    (folder / f".part-00.{kind}").write_text("nothing")
    (folder / "read.me").write_text("nothing")
    data = folder if named == "folder" else str(folder / f"part-*.{kind}")
    call = CALLS["numbers"] | {"control": "kind"}
    same(eh.audit_predictions(path, engine="local", **call), eh.audit_predictions(data, **call))


def test_files_without_rows_values_or_some_of_the_groups_change_nothing(tmp_path: Path, cut: Any) -> None:
    """An empty file, one with nothing but missing values, groups in one file only and in other order, other widths of numbers."""
    table = people()
    gone = pa.table({name: pa.nulls(table.num_rows, table.schema.field(name).type) for name in ("y", "job")})
    lost = table.slice(0, 50).drop_columns(["y", "job"])
    lost = lost.append_column("y", pa.nulls(50)).append_column("job", gone["job"].slice(0, 50))
    one = pa.concat_tables([table, lost.select(table.column_names)], promote_options="permissive")
    path = tmp_path / "people.parquet"
    parquet.write_table(one, path)
    cut(100)
    folder = tmp_path / "parts"
    folder.mkdir()
    parquet.write_table(table.slice(0, 0), folder / "0.parquet")
    parquet.write_table(lost, folder / "9.parquet")
    order = np.argsort(np.asarray(table["sex"].to_pylist()), kind="stable")[::-1]
    other = table.take(pa.array(order))
    parquet.write_table(other.slice(0, 1600), folder / "1.parquet")
    rest = other.slice(1600).set_column(1, "p", other["p"].slice(1600).cast(pa.float32()).cast(pa.float64()))
    rest = rest.set_column(3, "truth", rest["truth"].cast(pa.int8()))
    rest = rest.set_column(7, "job", rest["job"].dictionary_encode())
    parquet.write_table(other.slice(1600).set_column(7, "job", rest["job"]), folder / "2.parquet")
    for call in (CALLS["numbers"], CALLS["strata"], CALLS["labels"] | {"y_score": None}):
        same(eh.audit_predictions(path, engine="local", **call), eh.audit_predictions(folder, **call))


def test_what_a_column_is_hangs_on_all_files(tmp_path: Path, cut: Any) -> None:
    """Predictions that are 0 and 1 in the first file, and halves in a later one, are numbers; all 0 and 1, they are labels."""
    cut(1)
    folder = tmp_path / "parts"
    folder.mkdir()
    sexes, zeros = ["F", "M"] * 50, [0.0, 1.0, 1.0, 0.0] * 25
    parquet.write_table(pa.table({"sex": sexes, "p": zeros}), folder / "0.parquet")
    parquet.write_table(pa.table({"sex": sexes, "p": zeros}), folder / "1.parquet")
    told = {n.slug: n.text for n in eh.audit_predictions(folder, y_pred="p", groups="sex").notes}
    assert "as classification" in told["audited-as"]
    parquet.write_table(pa.table({"sex": sexes, "p": [0.0] + [0.5] * 99}), folder / "1.parquet")
    told = {n.slug: n.text for n in eh.audit_predictions(folder, y_pred="p", groups="sex").notes}
    assert "as regression" in told["audited-as"]


@pytest.mark.parametrize(
    ("second", "call", "slug", "said"),
    [
        ({"sex": ["F"] * 9, "p": [1.0] * 9}, {"weight": "w"}, "different-columns", "1.parquet"),
        ({"sex": ["F"] * 9, "p": ["a"] * 9, "w": [1.0] * 9}, {}, "different-columns", "text in 1.parquet"),
        ({"sex": [1] * 9, "p": [1.0] * 9, "w": [1.0] * 9}, {}, "different-columns", "numbers in 1.parquet"),
        ({"sex": [True] * 9, "p": [1.0] * 9, "w": [1.0] * 9}, {}, "different-columns", "bool in 1.parquet"),
        ({"sex": ["F"] * 9, "p": [1.0] * 9, "w": [-1.0] * 9}, {"weight": "w"}, "bad-weights", "negative"),
        ({"sex": [f"s{i}" for i in range(300)], "p": [1.0] * 300, "w": [1.0] * 300}, {}, "too-many-groups", "sex"),
    ],
)  # fmt: skip
def test_files_that_do_not_go_together_are_one_clear_error(
    tmp_path: Path,
    cut: Any,
    scattered: list[int],
    second: dict[str, Any],
    call: dict[str, Any],
    slug: str,
    said: str,
) -> None:
    """Columns that some lack, or that are of other types; the error of a partition's rows comes as it is."""
    cut(1)
    first = {"sex": ["F", "M"] * 50, "p": np.random.default_rng(0).normal(size=100), "w": [1.0] * 100}
    parquet.write_table(pa.table(first), tmp_path / "0.parquet")
    parquet.write_table(pa.table(second), tmp_path / "1.parquet")
    with pytest.raises(eh.EvenhandError) as caught:
        eh.audit_predictions(tmp_path, y_pred="p", groups="sex", **call)
    assert caught.value.slug == slug
    assert said in str(caught.value)


def test_a_file_that_cannot_be_read_is_named_once_and_ends_the_audit(tmp_path: Path, cut: Any) -> None:
    """Its footer is whole, its pages are not: the partition fails on every machine, and nobody tries again."""
    cut(1)
    folder = in_files(tmp_path / "parts", people(), [1000, 1000])
    damaged = bytearray((folder / "part-01.parquet").read_bytes())
    damaged[4:6000] = bytes(5996)
    (folder / "part-01.parquet").write_bytes(bytes(damaged))
    done = CliRunner().invoke(app, ["predictions", str(folder), "--y-pred", "p", "--group", "sex"])
    assert isinstance(done.exception, eh.EvenhandError)
    assert done.exception.slug == "unreadable-file"
    assert "part-01.parquet" in str(done.exception)


@pytest.mark.parametrize(
    ("name", "slug", "said"),
    [
        ("spark", "engine", "local, daft, ray"),
        ("daft://head:1", "engine", "ray://host:port"),
        ("daft", "engine-missing", "evenhand[scale]"),
        ("ray", "engine-missing", "evenhand[scale-ray]"),
        ("ray://head:1", "engine-missing", "evenhand[scale-ray]"),
    ],
)
def test_an_engine_that_is_not_there_is_said_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, slug: str, said: str
) -> None:
    """Exit code 2 and one message, before a row is read."""
    monkeypatch.setitem(__import__("sys").modules, "daft", None)
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    path = tmp_path / "people.parquet"
    parquet.write_table(people(), path)
    done = CliRunner().invoke(
        app, ["predictions", str(path), "--y-pred", "p", "--group", "sex", "--engine", name]
    )
    assert isinstance(done.exception, eh.EvenhandError)
    assert (done.exception.slug, done.exception.exit_code) == (slug, 2)
    assert said in str(done.exception)


@pytest.mark.parametrize(
    ("data", "call", "slug"),
    [
        ({"p": [1.0, 2.0], "g": ["a", "b"]}, {}, "engine"),
        ("nowhere.parquet", {}, "no-such-file"),
        ("empty", {}, "no-such-file"),
        ("notes.docx", {}, "unknown-format"),
        ("people.parquet", {"continuous": "w"}, "streamed"),
        ("people.parquet", {"units": "job"}, "streamed"),
        ("people.parquet", {"groups": {"g": ["a"] * 3000}}, "streamed"),
    ],
)  # fmt: skip
def test_what_no_engine_can_do_is_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: Any, call: dict[str, Any], slug: str
) -> None:
    """Rows in memory, files that are not there or not read in pieces, and what needs all rows at once."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.docx").write_text("x")
    parquet.write_table(people(), "people.parquet")
    with pytest.raises(eh.EvenhandError) as caught:
        eh.audit_predictions(data, engine="local", **{"y_pred": "p", "groups": "sex", **call})
    assert caught.value.slug == slug


@pytest.mark.parametrize("kind", ["amplification", "attack"])
def test_audits_of_one_process_say_why_no_engine_makes_them(tmp_path: Path, kind: str) -> None:
    """`evenhand run --engine` refuses them, and asks and reads nothing."""
    (tmp_path / "audit.toml").write_text(f'kind = "{kind}"\n')
    done = CliRunner().invoke(app, ["run", str(tmp_path / "audit.toml"), "--engine", "daft"])
    assert isinstance(done.exception, eh.EvenhandError)
    assert done.exception.slug == "engine"
    assert f"the {kind} audit is made in one process: " in str(done.exception)


def test_an_audit_file_is_run_by_an_engine(tmp_path: Path) -> None:
    """`evenhand run audit.toml --engine local` streams what would be held, and its own audit.toml says so."""
    in_files(tmp_path / "parts", people(), [1000])
    lines = [
        'kind = "predictions"',
        "[arguments]",
        'data = "parts"',
        'y_pred = "p"',
        'groups = ["sex"]',
    ]
    (tmp_path / "audit.toml").write_text("\n".join(lines))
    done = CliRunner().invoke(
        app, ["run", str(tmp_path / "audit.toml"), "--engine", "local", "--out", str(tmp_path / "out")]
    )
    assert done.exit_code == 0, done.output
    assert "streamed" in [n.slug for n in eh.Result.from_json(tmp_path / "out" / "result.json").notes]
    assert 'engine = "local"' in (tmp_path / "out" / "audit.toml").read_text()


def test_the_digest_of_several_files_changes_with_any_of_them(tmp_path: Path, cut: Any) -> None:
    """What a result was made of can be told from another folder, also where it holds as many rows."""
    cut(1)
    folder = in_files(tmp_path / "parts", people(), [1000])

    def digest() -> object:
        found = eh.audit_predictions(folder, y_pred="p", groups="sex")
        return found.provenance["data"]["table"]

    before = digest()
    assert digest() == before
    parquet.write_table(people().slice(1000).replace_schema_metadata({"a": "b"}), folder / "part-01.parquet")
    assert digest() != before


def test_a_worker_of_another_version_is_refused_and_its_work_never_opened() -> None:
    """What is sent to it is no pickle at all, so opening it would fail in another way."""
    with pytest.raises(EngineError) as caught:
        summary_of(attempt(b"work", b"part", "0.0.0"))
    assert caught.value.slug == "engine-version"
    with pytest.raises(EngineError, match="no evenhand"):
        summary_of(b"")


def broken(part: object) -> object:
    """A defect of ours in a worker."""
    raise ZeroDivisionError("a defect")


def test_a_defect_in_a_worker_is_told_with_its_partition() -> None:
    """Exit code 3, the kind of error and the partition; no traceback of an engine."""
    with pytest.raises(EngineError) as caught:
        summary_of(attempt(pickle.dumps(broken), pickle.dumps("part 7"), eh.__version__))
    assert (caught.value.slug, caught.value.given, caught.value.exit_code) == (
        "partition-failed",
        "part 7",
        3,
    )
    assert "ZeroDivisionError: a defect" in str(caught.value)


def test_an_error_says_the_same_after_it_was_sent() -> None:
    """All its parts, near names included."""
    error = eh.EvenhandError("slug", "what", given="racee", expected="e", available=["race", "sex"], hint="h")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.slug, type(again)) == (str(error), "slug", eh.EvenhandError)
    assert "did you mean 'race'" in str(again)


@pytest.mark.parametrize("weighted", [False, True])
def test_quantiles_in_two_passes_are_those_of_all_numbers(weighted: bool) -> None:
    """Against NumPy (without weights) and the sorted whole (with), over random cuts, of tied and of wild numbers."""
    from evenhand.stats.histogram import weighted_quantile

    rng = np.random.default_rng(5)
    for numbers in (
        rng.normal(size=5000),
        rng.integers(0, 4, 5000) / 3,
        rng.standard_cauchy(5000),
        np.ones(7),
    ):
        weight = rng.integers(1, 4, len(numbers)).astype(float) if weighted else None
        cuts = np.sort(rng.integers(0, len(numbers), 6))
        parts = np.split(np.arange(len(numbers)), cuts)
        wanted = [0.01, 0.5, 0.8, 0.9]
        span = sum((span_of(numbers[p]) for p in parts[1:]), span_of(numbers[parts[0]]))
        shape, near = Shape(), Near(most=10_000)
        for p in parts:
            own = Shape()
            own.count(numbers[p], None if weight is None else weight[p], span)
            shape = shape + own
        bins = shape.bins_of(wanted)
        for p in parts:
            near = near + Near(most=10_000).with_rows(
                numbers[p], None if weight is None else weight[p], span, bins
            )
        order = np.argsort(numbers)
        expected = (
            np.quantile(numbers, wanted)
            if weight is None
            else weighted_quantile(numbers[order], wanted, weight[order])
        )
        assert quantiles_of(shape, near, span, bins, wanted) == pytest.approx(
            list(expected), rel=1e-14, abs=0
        )


def test_partitions_hang_on_the_files_alone_and_are_never_more_than_512(tmp_path: Path, cut: Any) -> None:
    """Row groups side by side until there are enough rows; of very many the least is larger."""
    pieces = [engine_files.Piece(path="f", kind="parquet", groups=(i,), size=10) for i in range(5000)]
    cut(25)
    parts = engine_files._parts(pieces)
    assert [p.rows for p in parts] == [100] * 500
    assert [p.rows for p in engine_files._parts(pieces[:7])] == [30, 30, 10]

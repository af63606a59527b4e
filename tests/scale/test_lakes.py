"""Tables of lakehouses and databases at the door: Delta, Iceberg, DuckDB, Spark. Each gives the result of the Parquet file
with the same rows."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import evenhand as eh

sys.path.append(str(Path(__file__).resolve().parents[1] / "statistics"))
from nearly_equal import differences

pytestmark = [pytest.mark.scale, pytest.mark.timeout(300), pytest.mark.filterwarnings("ignore")]
N = 40_000
CALLS: dict[str, dict[str, Any]] = {
    "numbers": {"y_true": "y", "y_pred": "p", "groups": ["sex", "job"], "intersections": True},
    "labels": {"y_true": "truth", "y_pred": "label", "groups": "job", "weight": "w"},
}
SCORES: dict[str, Any] = {"scores": "p", "groups": "sex", "units": "job", "tolerance": 0.1}


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    """Some without a group, some without an outcome."""
    rng = np.random.default_rng(0)
    y, score = rng.normal(size=N), rng.random(N)
    sex = rng.choice(["F", "M"], N).astype(str)
    sex[0] = "F"  # whose rows come in an order of their own have levels sorted, a file as they appear
    return pa.table(
        {
            "y": pa.array(np.where(rng.random(N) < 0.01, np.nan, y), from_pandas=True),
            "p": 0.6 * y + rng.normal(size=N),
            "truth": (rng.random(N) < score).astype(np.int64),
            "label": (score > 0.5).astype(np.int64),
            "w": rng.integers(1, 4, N),
            "sex": sex,
            "job": pa.array([None if rng.random() < 0.01 else f"job {i % 5}" for i in range(N)], pa.string()),
        }
    )


@pytest.fixture(scope="module")
def file(rows: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lake") / "rows.parquet"
    parquet.write_table(rows, path, row_group_size=5_000)
    return path


def apart(one: eh.Result, two: eh.Result) -> list[str]:
    found = [json.loads(result.to_json()) for result in (one, two)]
    for result in found:
        del result["provenance"], result["title"]
    return list(differences(*found))


def check(frame: Any, file: Path, **asked: Any) -> None:
    """Predictions of numbers and of labels, and scores: those of the file, to the last digit that addition allows."""
    for call in CALLS.values():
        found = eh.audit_predictions(frame, **call, **asked)
        assert found.counts["rows"] == N
        assert not apart(found, eh.audit_predictions(file, engine="local", **call))
    assert not apart(
        eh.audit_scores(frame, **SCORES, **asked), eh.audit_scores(file, engine="local", **SCORES)
    )


def test_a_delta_table_by_daft(rows: pa.Table, file: Path, tmp_path: Path) -> None:
    """Written in two commits, so that it is several files."""
    daft = pytest.importorskip("daft", reason="Daft is not installed: make test-scale")
    deltalake = pytest.importorskip("deltalake", reason="deltalake is not installed: make test-scale")
    for at in (0, N // 2):
        deltalake.write_deltalake(str(tmp_path / "delta"), rows.slice(at, N // 2), mode="append")
    check(daft.read_deltalake(str(tmp_path / "delta")), file)


def test_an_iceberg_table_by_daft(rows: pa.Table, file: Path, tmp_path: Path) -> None:
    daft = pytest.importorskip("daft", reason="Daft is not installed: make test-scale")
    catalogs = pytest.importorskip(
        "pyiceberg.catalog.sql", reason="pyiceberg is not installed: make test-scale"
    )
    settings = {"uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}"}
    catalog = catalogs.SqlCatalog("evenhand", **settings)
    catalog.create_namespace("audits")
    table = catalog.create_table("audits.people", schema=rows.schema)
    for at in (0, N // 2):
        table.append(rows.slice(at, N // 2))
    check(daft.read_iceberg(table), file)


def test_a_relation_of_duckdb_is_read_a_part_at_a_time(file: Path) -> None:
    """Every pass is a query; the connection is free again after each."""
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed: make test-scale")
    relation = duckdb.sql(f"select * from '{file}'")
    check(relation, file, engine="local")
    whole = eh.audit_predictions(relation, **CALLS["numbers"])
    assert not apart(whole, eh.audit_predictions(parquet.read_table(file), **CALLS["numbers"]))
    broken = duckdb.sql(f"select *, error('no such luck') as q from '{file}'")
    with pytest.raises(eh.EvenhandError, match="no such luck"):
        eh.audit_predictions(broken, y_true="y", y_pred="q", groups="sex", engine="local")


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """A session of two threads on this machine, which tries a lost task again."""
    sql = pytest.importorskip("pyspark.sql", reason="PySpark is not installed: make test-spark")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("there is no Java")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    made = sql.SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false").getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    yield made
    made.stop()


def test_a_frame_of_spark_is_summarised_by_its_executors(spark: Any, file: Path) -> None:
    check(spark.read.parquet(str(file)).repartition(4), file)


def test_a_worker_of_spark_that_dies_is_replaced_and_its_rows_count_once(
    spark: Any, file: Path, tmp_path: Path
) -> None:
    mark = str(tmp_path / "died")

    def fragile(batches: Any) -> Any:
        import os

        for batch in batches:
            try:
                os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                yield batch
            else:
                os._exit(1)

    frame = spark.read.parquet(str(file))
    check(frame.mapInArrow(fragile, frame.schema), file)
    assert Path(mark).exists()


def test_what_spark_cannot_do_is_said(spark: Any, file: Path) -> None:
    """Another engine, a column that there is not, no rows, and workers that always die: no result, and the reason."""
    frame, call = spark.read.parquet(str(file)), CALLS["numbers"]
    with pytest.raises(eh.EvenhandError, match="executors"):
        eh.audit_predictions(frame, engine="local", **call)
    with pytest.raises(eh.EvenhandError, match="no column 'p'"):
        eh.audit_predictions(frame.drop("p"), **call)
    with pytest.raises(eh.EvenhandError, match="no rows"):
        eh.audit_predictions(frame.filter("y > 99"), **call)

    def dies(batches: Any) -> Any:
        import os

        os._exit(1)
        yield from batches

    with pytest.raises(eh.EvenhandError, match="Spark"):
        eh.audit_predictions(frame.mapInArrow(dies, frame.schema), **call)


def test_a_column_of_spark_may_have_a_dot_in_its_name(spark: Any, file: Path) -> None:
    """Which means a field to Spark."""
    dotted = spark.read.parquet(str(file)).withColumnRenamed("p", "p.hat")
    found = eh.audit_predictions(dotted, y_true="y", y_pred="p.hat", groups="sex")
    one = eh.audit_predictions(file, engine="local", y_true="y", y_pred="p", groups="sex")
    assert found.findings[0].estimate.value == pytest.approx(one.findings[0].estimate.value, rel=1e-12)

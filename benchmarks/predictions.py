"""Predictions: this table with intervals beside one sort and beside peers, as ratios in one run on the same data.

    python benchmarks/predictions.py [--rows 1000000] [--stream 20000000]

holisticai and fairlearn are timed where they are installed. CPU seconds, best of three; peak memory of the streamed run in a
process of its own.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

TABLE = (
    "disparate impact",
    "average score",
    "standardised mean difference",
    "adverse-impact AUC",
    "concurrent validity",
    "RMSE",
)


def cpu(work: Callable[[], Any], repeat: int = 3) -> float:
    """Best CPU seconds of a few runs."""
    best = float("inf")
    for _ in range(repeat):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def people(n: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Two groups, correlated outcomes and predictions."""
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n)
    return {"y": y, "p": 0.6 * y + rng.normal(size=n), "g": rng.integers(0, 2, n).astype(np.int8)}


def table_only(rows: dict[str, np.ndarray]) -> int:
    """The 14 measures of the regression table with 95 % intervals: no distances, curves or exhibits."""
    from evenhand import Factor
    from evenhand.audits.prediction_claims import regression_claims
    from evenhand.audits.prediction_regression import kept
    from evenhand.audits.prediction_rows import Rows
    from evenhand.audits.prediction_source import from_rows

    groups = Factor(rows["g"].astype(np.int32), ("M", "F"))
    source = from_rows(
        Rows(columns={"y_pred": rows["p"], "y_true": rows["y"]}, groups={"g": groups}), [0.9, 0.8, 0.5], crossing=False
    )  # fmt: skip
    b, a = source.cells("g", None)
    claims = kept(regression_claims(source.frame, [0.9, 0.8, 0.5]), TABLE)
    found = [claim.infer(a, b, 0.95) for claim in claims]
    return sum(f.low is not None for f in found)


def peers(rows: dict[str, np.ndarray]) -> dict[str, float]:
    """CPU seconds of the peers that are installed."""
    times: dict[str, float] = {}
    a, b = rows["g"] == 1, rows["g"] == 0
    try:
        from holisticai.bias.metrics import regression_bias_metrics

        times["holisticai regression_bias_metrics (no intervals)"] = cpu(
            lambda: regression_bias_metrics(a, b, rows["p"], rows["y"], metric_type="both"), 1
        )
    except ImportError:
        print("holisticai is not installed")
    try:
        from fairlearn.metrics import MetricFrame
        from sklearn.metrics import mean_absolute_error, mean_squared_error, r2_score

        frame = {"mse": mean_squared_error, "mae": mean_absolute_error, "r2": r2_score}
        times["fairlearn MetricFrame of 3 metrics (no intervals)"] = cpu(
            lambda: MetricFrame(
                metrics=frame, y_true=rows["y"], y_pred=rows["p"], sensitive_features=rows["g"]
            ).difference(),
            1,
        )
    except ImportError:
        print("fairlearn is not installed")
    return times


STREAM = """
import resource, sys, time
import evenhand as eh
start = time.process_time()
eh.audit_predictions(sys.argv[1], y_true="y", y_pred="p", groups="g", reference="0")
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"{time.process_time() - start:.1f} CPU s, peak {peak:.0f} MB")
"""


def stream(rows: int) -> str:
    """A Parquet file of this many rows, written in pieces and audited in a process of its own."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.parquet"
        piece = pa.table(people(1_000_000))
        with parquet.ParquetWriter(path, piece.schema) as writer:
            for i in range(max(1, rows // 1_000_000)):
                writer.write_table(pa.table(people(1_000_000, seed=i)))
        done = subprocess.run(
            [sys.executable, "-c", STREAM, str(path)], capture_output=True, text=True, check=True
        )
    return done.stdout.strip()


def main() -> None:
    """Print every figure with its ratio to one sort."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--stream", type=int, default=0)
    asked = parser.parse_args()
    import evenhand as eh

    rows = people(asked.rows)
    sort = cpu(lambda: np.sort(rows["p"]))
    print(f"{asked.rows:,} rows; one sort of the predictions: {1000 * sort:.1f} ms CPU")
    times = {f"14 measures with intervals ({table_only(rows)} intervals)": cpu(lambda: table_only(rows))}
    call: dict[str, Any] = {"y_true": "y", "y_pred": "p", "groups": "g", "reference": "0"}
    times["the whole audit: every claim, curves, exhibits"] = cpu(
        lambda: eh.audit_predictions(rows, **call), 1
    )
    times["the whole audit with 1,000 bootstrap replicates"] = cpu(
        lambda: eh.audit_predictions(rows, **call, replicates=1000), 1
    )
    times |= peers(rows)
    own = next(iter(times.values()))
    for name, seconds in times.items():
        print(f"  {name:60} {seconds:8.3f} s  {seconds / sort:8.1f} sorts  {seconds / own:8.1f} × the table")
    if asked.stream:
        print(f"  {asked.stream:,} rows from Parquet: {stream(asked.stream)}")


if __name__ == "__main__":
    main()

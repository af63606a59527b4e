"""A table that does not fit into memory, audited as a user does: wall and CPU seconds, and the peak of memory.

    python -m benchmarks.streaming --rows 100000000 [--folder /tmp]

Writes a Parquet file of people (2.2 GB for 100 million rows) in row groups, runs `evenhand predictions` on it for numeric
predictions with the Local Law 144 tables and for labels with scores, each in a process of its own, and deletes the file.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks._figures import Figure, show

PIECE = 1_000_000
AUDITS = {
    "numbers, sex": "--y-true y --y-pred pred --group sex --reference M",
    "numbers, sex and race, Local Law 144": "--y-true y --y-pred pred --group sex --group race --reference sex=M --law ll144",
    "labels and scores, sex and race": "--y-true truth --y-pred label --y-score score --group sex --group race --reference sex=M",
}
PROGRAM = """
import resource, subprocess, sys
subprocess.run([sys.executable, "-m", "evenhand", *sys.argv[1:]], check=True, stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""


def write(path: Path, rows: int) -> None:
    """Two sexes, five groups of race, outcomes, predictions, and labels with scores; a million rows at a time."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    names = {"sex": ["F", "M"], "race": ["asian", "black", "hispanic", "other", "white"]}

    def piece(seed: int, n: int) -> pa.Table:
        rng = np.random.default_rng(seed)
        y, codes = rng.normal(size=n), {k: rng.integers(0, len(v), n) for k, v in names.items()}
        pred = 0.6 * y + rng.normal(size=n) - 0.05 * (codes["sex"] == 0)
        columns = {
            "y": y,
            "pred": pred,
            "score": (1 / (1 + np.exp(-pred))).astype(np.float32),
            "truth": (y > 0.3).astype(np.int8),
            "label": (pred > 0.5).astype(np.int8),
        }
        for k, v in names.items():
            columns[k] = pa.DictionaryArray.from_arrays(codes[k].astype(np.int8), v)
        return pa.table(columns)

    with parquet.ParquetWriter(path, piece(0, 1).schema) as writer:
        for start in range(0, rows, PIECE):
            writer.write_table(piece(start // PIECE, min(PIECE, rows - start)))


def audits(rows: int, folder: str | None = None) -> Iterator[Figure]:
    """Every audit's cost."""
    with tempfile.TemporaryDirectory(dir=folder) as inside:
        path = Path(inside) / "people.parquet"
        write(path, rows)
        size = f"{rows:,} rows, {path.stat().st_size / 1e9:.2f} GB of Parquet"
        for name, options in AUDITS.items():
            command = ["predictions", str(path), *options.split(), "--out", str(Path(inside) / "out")]
            start = time.monotonic()
            done = subprocess.run(
                [sys.executable, "-c", PROGRAM, *command], capture_output=True, text=True, check=True
            )
            took = time.monotonic() - start
            spent, peak = map(float, done.stdout.split())
            yield Figure(name=name, figure=f"{size}: {took:.0f} s, peak {peak:.0f} MB", cpu=spent)


def run(*, quick: bool) -> Iterator[Figure]:
    """Ten million rows."""
    yield from audits(20_000 if quick else 10_000_000)


def main() -> None:
    """Any number of rows, in a folder that has the room."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--folder", default=None)
    asked = parser.parse_args()
    show(audits(asked.rows, asked.folder))


if __name__ == "__main__":
    main()

"""One audit by every engine that is installed: wall and CPU seconds, and the peak of the driver's memory as rows grow tenfold.

    python -m benchmarks.scale --rows 10000000 100000000 [--folder /tmp]

Writes Parquet files of people (2.2 GB for 100 million rows), scans the columns that the audit reads (the floor), runs
`evenhand predictions --engine …` on them, each in a process of its own, and deletes the files. CPU seconds and memory are
those of the process that asks, with its threads; what workers of a cluster spend is theirs and not counted.
"""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks._figures import Figure, show
from benchmarks.streaming import write

OPTIONS = "--y-true y --y-pred pred --group sex --group race --reference sex=M"
COLUMNS = ("y", "pred", "sex", "race")
AUDIT = """
import resource, sys
from evenhand.__main__ import main
try:
    main()
except SystemExit as end:
    if end.code:
        raise
used = resource.getrusage(resource.RUSAGE_SELF)
print("USED", used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""
SCAN = """
import resource, sys
import pyarrow.parquet as parquet
with parquet.ParquetFile(sys.argv[1], pre_buffer=False) as file:
    for group in range(file.num_row_groups):
        for batch in file.iter_batches(batch_size=1 << 17, row_groups=[group], columns=sys.argv[2:]):
            pass
used = resource.getrusage(resource.RUSAGE_SELF)
print("USED", used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""
ENGINES = {"local": None, "daft": "daft", "ray": "ray"}
"""Engine → the package that it needs."""


def measured(program: str, *arguments: str) -> tuple[float, float, float]:
    """(wall seconds, CPU seconds, peak in MB) of a Python program."""
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError((done.stderr.strip() or "it ended without a word").splitlines()[0])
    wall = time.monotonic() - start
    spent, peak = map(float, done.stdout.rpartition("USED")[2].split())
    return wall, spent, peak


def engines(sizes: Sequence[int], folder: str | None = None) -> Iterator[Figure]:
    """Every engine on every size; the ratio is CPU of the bare scan over ours, or of the local engine over another's."""
    for rows in sizes:
        with tempfile.TemporaryDirectory(dir=folder) as inside:
            path = Path(inside) / "people.parquet"
            write(path, rows)
            wall, floor, peak = measured(SCAN, str(path), *COLUMNS)
            yield Figure(
                name=f"bare scan, {rows:,} rows", figure=f"{wall:.1f} s, peak {peak:.0f} MB", cpu=floor
            )
            local = 0.0
            for engine, package in ENGINES.items():
                name = f"{engine}, {rows:,} rows"
                if package is not None and importlib.util.find_spec(package) is None:
                    yield Figure(name=name, figure="not run", cpu=0.0, peer=f"{package} is not installed")
                    continue
                out = str(Path(inside) / "out")
                call = ["predictions", str(path), *OPTIONS.split(), "--engine", engine, "--out", out]
                try:
                    wall, spent, peak = measured(AUDIT, *call)
                except RuntimeError as error:  # a cluster that does not start, say: the others are still told
                    yield Figure(name=name, figure="not run", cpu=0.0, peer=str(error)[:90])
                    continue
                said = f"{wall:.1f} s, peak {peak:.0f} MB"
                if engine == "local":
                    local = spent
                    yield Figure(name=name, figure=said, cpu=spent, peer="bare scan", ratio=floor / spent)
                elif engine == "ray":
                    yield Figure(name=name, figure=f"{said} (driver alone)", cpu=spent)
                else:
                    yield Figure(name=name, figure=said, cpu=spent, peer="local", ratio=local / spent)


WAITS = """
import time

def score(texts):
    time.sleep(0.05)
    return [len(text) / 1000 for text in texts]
"""
WORKERS = """
import sys, tempfile, time, resource
import ray
import evenhand as eh

model, workers, most = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
if sys.argv[4:]:  # the asking process says that it is another machine than its workers
    from evenhand.subjects import spread
    spread._machine = lambda: "another"
ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
call = {"terms": "names/freakonomics", "batch_size": 40, "tolerance": 0.1, "engine": "ray"}
with tempfile.TemporaryDirectory() as folder:
    eh.audit_text(model, "person", most_texts=2, journal=f"{folder}/warm.sqlite", **call)
    start = time.monotonic()
    found = eh.audit_text(model, "person", most_texts=most, journal=f"{folder}/journal.sqlite", **call)
    wall = time.monotonic() - start
used = resource.getrusage(resource.RUSAGE_SELF)
print("WALL", wall, found.counts["probes"], used.ru_utime + used.ru_stime)
"""


def workers(most_texts: int) -> Iterator[Figure]:
    """A text audit of a subject that waits 50 ms a batch of 40, by one worker of Ray, by two, and by two that do not see the
    journal; warm, wall seconds."""
    if importlib.util.find_spec("ray") is None:
        yield Figure(name="text audit by workers", figure="not run", cpu=0.0, peer="ray is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model.py"
        model.write_text(WAITS)
        before, peer = 0.0, ""
        for who, n, away in (
            ("one worker", 1, []),
            ("two workers", 2, []),
            ("two without the journal", 2, ["away"]),
        ):
            call = [sys.executable, "-c", WORKERS, f"{model}:score", str(n), str(most_texts), *away]
            done = subprocess.run(call, capture_output=True, text=True, check=False)
            name = f"text audit that waits, {who}"
            if done.returncode:
                said = done.stderr.strip().splitlines()[-1][:90]
                yield Figure(name=name, figure="not run", cpu=0.0, peer=said)
                return
            wall, probes, spent = map(float, done.stdout.rpartition("WALL")[2].split())
            said = f"{wall:.1f} s for {probes:,.0f} probes"
            if before:
                yield Figure(name=name, figure=said, cpu=spent, peer=f"{peer}, wall", ratio=before / wall)
            else:
                yield Figure(name=name, figure=said, cpu=spent)
            before, peer = wall, who


def run(*, quick: bool) -> Iterator[Figure]:
    """One and ten million rows, and 4,160 probes."""
    yield from engines([20_000] if quick else [1_000_000, 10_000_000])
    yield from workers(2 if quick else 52)


def main() -> None:
    """Any numbers of rows, in a folder that has the room."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--folder", default=None)
    asked = parser.parse_args()
    show(engines(asked.rows, asked.folder))


if __name__ == "__main__":
    main()

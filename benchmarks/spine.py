"""The spine: what `ask` adds to calling a subject, the journal's writes and reads, and the import."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import evenhand as eh
from evenhand._model import Factor, Probes, Replies
from evenhand._run import ask
from evenhand._store import Journal
from evenhand.subjects import subject


def _plan(n: int, batch: int) -> eh.Plan:
    factor = Factor(np.zeros(batch, dtype=np.int32), ("t",))
    for start in range(0, n, batch):
        yield Probes(
            inputs=[f"This is text number {i} about a person." for i in range(start, start + batch)],
            factors={"text": factor},
        )


def _cpu(function: object) -> float:
    start = time.process_time()
    function()  # type: ignore[operator]
    return time.process_time() - start


class _Instant:
    """Answers without thinking, so that only the loop around it is measured."""

    id = "instant"

    def __call__(self, inputs: Sequence[str], /) -> Replies:
        return Replies(scores={"score": np.zeros(len(inputs))})


def ask_overhead(n: int = 1_000_000, batch: int = 1_000) -> None:
    """CPU that `ask` (journal off) adds to a bare loop over the same batches, as a share of what VADER itself takes."""
    instant, vader = _Instant(), subject("vader")

    def bare(model: eh.Subject, rows: int) -> None:
        for probes in _plan(rows, batch):
            model(probes.inputs)

    added = min(
        _cpu(lambda: ask(_plan(n, batch), instant, batch_size=batch)) - _cpu(lambda: bare(instant, n))
        for _ in range(3)
    )
    thinking = min(_cpu(lambda: bare(vader, 10_000)) for _ in range(3)) / 10_000
    print(
        f"ask adds {added / n * 1e6:.2f} µs a row; VADER takes {thinking * 1e6:.0f} µs: {added / n / thinking:.2%} (target ≤ 10 %)"
    )


def journal_speed(n: int = 200_000, batch: int = 10_000) -> None:
    """Replies written and read back a second."""
    texts = [f"This is text number {i} about a person named Arthur." for i in range(n)]
    values = {name: np.random.default_rng(0).random(batch) for name in ("a", "b", "c", "d")}
    with tempfile.TemporaryDirectory() as folder, Journal(Path(folder) / "j.sqlite") as journal:
        wall, start = time.perf_counter(), time.process_time()
        for at in range(0, n, batch):
            journal.put("m", texts[at : at + batch], Replies(scores=values))
        put, put_wall = time.process_time() - start, time.perf_counter() - wall
        start = time.process_time()
        for at in range(0, n, batch):
            journal.fetch("m", texts[at : at + batch])
        got = time.process_time() - start
    print(f"journal writes: {n / put:,.0f}/CPU s, {n / put_wall:,.0f}/s on the clock (target ≥ 50,000)")
    print(f"journal reads:  {n / got:,.0f}/CPU s (target ≥ 200,000)")


def import_time() -> None:
    """`import evenhand` in a fresh process, against `import numpy`."""

    def best(module: str) -> float:
        program = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
        runs = [
            subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
            for _ in range(5)
        ]
        return min(float(run.stdout) for run in runs)

    print(f"import evenhand: {best('evenhand'):.3f} s (numpy alone {best('numpy'):.3f} s; target < 0.4 s)")


def main() -> None:
    """All of them."""
    import_time()
    ask_overhead()
    journal_speed()


if __name__ == "__main__":
    main()

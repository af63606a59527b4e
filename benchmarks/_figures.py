"""What a benchmark tells: a figure, what it is held against, and by how much."""

from __future__ import annotations

import importlib
import resource
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from benchmarks import BENCHMARKS


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One line of the summary.

    Args:
        name: what was measured. figure: the result, with its unit.
        cpu: CPU seconds of ours that the figure rests on.
        peer: what it is held against; or why it is not, e.g. "gensim is not installed".
        ratio: cost of the peer over ours, in the same run: above 1, ours is cheaper.
    """

    name: str
    figure: str
    cpu: float
    peer: str = "none"
    ratio: float | None = None


COLUMNS = ("name", "figure", "peer", "peer ÷ ours", "CPU s")


def table(figures: Iterable[Figure]) -> str:
    """The figures in aligned columns."""
    rows = [COLUMNS]
    for f in figures:
        ratio = "" if f.ratio is None else f"{f.ratio:,.2f}" if f.ratio < 100 else f"{f.ratio:,.0f}"
        rows.append((f.name, f.figure, f.peer, ratio, f"{f.cpu:.2f}"))
    widths = [max(len(row[at]) for row in rows) for at in range(len(COLUMNS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def show(figures: Iterable[Figure]) -> list[Figure]:
    """Prints each figure as it comes."""
    seen = []
    for f in figures:
        against = f"; {f.peer}" + ("" if f.ratio is None else f": {f.ratio:,.2f} × ours")
        print(f"  {f.name}: {f.figure} ({f.cpu:.2f} CPU s{against if f.peer != 'none' else ''})", flush=True)
        seen.append(f)
    return seen


def run(name: str, quick: bool) -> list[Figure]:
    """Run one benchmark, printing as it goes."""
    print(f"== {name}: {BENCHMARKS[name]}", flush=True)
    return show(importlib.import_module(f"benchmarks.{name}").run(quick=quick))


def cpu(work: Callable[[], Any], repeat: int = 1) -> tuple[float, Any]:
    """Best CPU seconds of a few runs, never 0, and what the last one returned."""
    best, found = float("inf"), None
    for _ in range(repeat):
        start = time.process_time()
        found = work()
        best = min(best, time.process_time() - start)
    return max(best, 1e-9), found


def peak_mb() -> float:
    """The most memory that this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

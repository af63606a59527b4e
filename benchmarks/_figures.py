"""What a benchmark tells: a figure, what it is held against, and by how much."""

from __future__ import annotations

import importlib
import resource
import time
from collections.abc import Callable, Iterable, Sequence
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


def cells(figures: Iterable[Figure]) -> list[tuple[str, ...]]:
    """The figures as rows of `COLUMNS`."""
    rows = []
    for f in figures:
        ratio = "" if f.ratio is None else f"{f.ratio:,.2f}" if f.ratio < 100 else f"{f.ratio:,.0f}"
        rows.append((f.name, f.figure, f.peer, ratio, f"{f.cpu:.2f}"))
    return rows


def table(figures: Iterable[Figure]) -> str:
    """The figures in aligned columns."""
    rows = [COLUMNS, *cells(figures)]
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


@dataclass(frozen=True, kw_only=True)
class Ran:
    """A benchmark that was run in a process of its own.

    Args:
        wall, cpu: seconds of all of it, peers included. peak: the most memory of it or a process that it began,
            in MB.
    """

    name: str
    figures: list[Figure]
    wall: float
    cpu: float
    peak: float


def run(name: str, quick: bool) -> Ran:
    """Run one benchmark, printing as it goes."""
    print(f"== {name}: {BENCHMARKS[name]}", flush=True)
    start = time.monotonic()
    figures = show(importlib.import_module(f"benchmarks.{name}").run(quick=quick))
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return Ran(
        name=name,
        figures=figures,
        wall=time.monotonic() - start,
        cpu=sum(u.ru_utime + u.ru_stime for u in used),
        peak=max(u.ru_maxrss for u in used) / 1024,
    )


def page(ran: Sequence[Ran], left: Sequence[str], machine: str) -> str:
    """docs/reference/benchmarks.md: what was run, when and on what, and what was not.

    Args:
        left: names of benchmarks that were not run.
    """
    lines = [PAGE.format(machine=machine)]
    for one in ran:
        cost = f"{one.wall:.0f} s, {one.cpu:.0f} CPU s, peak {one.peak:.0f} MB, peers included"
        lines += [f"## {one.name}", "", f"{BENCHMARKS[one.name].capitalize()}. The whole of it: {cost}.", ""]
        lines += ["| " + " | ".join(COLUMNS) + " |", "|---|---|---|---|---|"]
        lines += [
            "| " + " | ".join(cell.replace("|", "/") for cell in row) + " |" for row in cells(one.figures)
        ]
        lines.append("")
    if left:
        lines += ["## Not run", "", *(f"* `{name}`: {BENCHMARKS[name]}" for name in left), ""]
    return "\n".join(lines)


PAGE = """# Benchmarks

Written by `python -m benchmarks --write docs/reference/benchmarks.md` (`make bench` prints the same). Every figure stands beside its
peer of the same run, since machines and their load differ: what carries over is the ratio, *peer ÷ ours*, above 1 where ours is
cheaper. CPU seconds are ours, the best of a few runs where it takes little. Peers that are not installed are named.

{machine}
"""


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

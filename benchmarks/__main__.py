"""`python -m benchmarks [--quick] [--write PAGE] [name …]`: the named benchmarks, or all, and their figures in one table."""

from __future__ import annotations

import argparse
import datetime
import multiprocessing
import os
import platform
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from pathlib import Path

from benchmarks import BENCHMARKS
from benchmarks._figures import Ran, page, run, table


def run_all(names: Iterable[str], quick: bool) -> Iterator[Ran]:
    """Each in a process of its own: the peak of one's memory is not that of another."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn, max_tasks_per_child=1) as processes:
        for name in names:
            yield processes.submit(run, name, quick).result()


def machine() -> str:
    """When, and on what."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "pyarrow"))
    load = ", ".join(f"{x:.1f}" for x in os.getloadavg())
    when = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    return (
        f"Run on {when} on {os.cpu_count()} processors ({platform.machine()}, {platform.system()}), Python"
        f" {platform.python_version()}, {packages}; load averages at the end {load}, so other work was"
        " going on where they are above 1."
    )


def main() -> None:
    """The command line; an unknown name is told with those that there are."""
    listed = "\n".join(f"  {name:14} {about}" for name, about in BENCHMARKS.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=f"Ratios measured in one run, on this machine:\n\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="which; all by default")
    parser.add_argument("--quick", action="store_true", help="a size that takes seconds and measures nothing")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="also write a Markdown page")
    asked = parser.parse_args()
    if unknown := [name for name in asked.names if name not in BENCHMARKS]:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    ran: list[Ran] = []
    for one in run_all(asked.names or BENCHMARKS, asked.quick):
        ran.append(one)
        if asked.write is not None:  # after each: an interrupt leaves what was run
            left = [name for name in BENCHMARKS if name not in {each.name for each in ran}]
            asked.write.write_text(page(ran, left, machine()), encoding="utf-8")
    print("\n" + table(figure for one in ran for figure in one.figures))


if __name__ == "__main__":
    main()

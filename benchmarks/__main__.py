"""`python -m benchmarks [--quick] [name …]`: the named benchmarks, or all, and their figures in one table."""

from __future__ import annotations

import argparse
import multiprocessing
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor

from benchmarks import BENCHMARKS
from benchmarks._figures import Figure, run, table


def run_all(names: Iterable[str], quick: bool) -> Iterator[Figure]:
    """Each in a process of its own: the peak of one's memory is not that of another."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn, max_tasks_per_child=1) as processes:
        for name in names:
            yield from processes.submit(run, name, quick).result()


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
    asked = parser.parse_args()
    if unknown := [name for name in asked.names if name not in BENCHMARKS]:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    print("\n" + table(run_all(asked.names or BENCHMARKS, asked.quick)))


if __name__ == "__main__":
    main()

"""`python -m benchmarks [name …]`: every module of this folder that has a `main()`."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import benchmarks


def run(names: list[str]) -> None:
    """Run the named benchmarks, or all."""
    every = sorted(m.name for m in pkgutil.iter_modules(benchmarks.__path__) if not m.name.startswith("_"))
    for name in names or every:
        print(f"== {name}", flush=True)
        sys.argv = [name]
        importlib.import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    run(sys.argv[1:])

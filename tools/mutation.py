"""Break lines on purpose, a seeded sample of all the ways that cosmic-ray knows, and see whether the tests notice.

    pip install cosmic-ray coverage
    python tools/mutation.py                          the modules and tests below, 120 mutants each (about an hour)
    python tools/mutation.py _judge --sample 40       one of them, fewer mutants
    python tools/mutation.py elsewhere --sample 300   all other modules together (some hours)

The tree is copied first, so nothing here is changed. What is printed: killed, survived, the share, and each survivor.
Elsewhere a mutant meets the test files that run its line, the quickest first, as far as they take two minutes.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
UNIT, FAULTS = "tests/unit", "tests/faults"
TESTED = {
    "_judge": [
        "src/evenhand/_judge.py",
        f"{UNIT}/test_verdict_sentences.py",
        f"{UNIT}/test_deciding_intervals.py",
        f"{UNIT}/test_stats_multiplicity.py",
        f"{UNIT}/test_design.py",
        f"{UNIT}/test_scores_audit.py",
        f"{UNIT}/test_chances_of_verdicts.py",
    ],
    "_store": [
        "src/evenhand/_store.py",
        f"{UNIT}/test_journal.py",
        f"{UNIT}/test_run.py",
        f"{FAULTS}/test_raw_replies.py",
        f"{UNIT}/test_identity.py",
        f"{FAULTS}/test_shared_journal.py",
    ],
    "_run": [
        "src/evenhand/_run.py",
        f"{UNIT}/test_run.py",
        f"{UNIT}/test_journal.py",
        f"{FAULTS}/test_pacing_and_patience.py",
        f"{FAULTS}/test_raw_replies.py",
        f"{FAULTS}/test_attack_read_again.py",
        f"{FAULTS}/test_shared_journal.py",
    ],
}
"""Module → its own doctests, then the tests that are to notice, the quickest first."""
ANNOTATIONS = "BitOr"
"""Operators of types in annotations, which nothing evaluates: `int | None` broken is no broken program."""
ELSEWHERE = "elsewhere"
LOOKED_AT = ("unit", "audits", "contracts", "properties", "oracles", "faults")
"""Folders of tests that mutants elsewhere meet; the others are slow, or test no module."""
PATIENCE = 120.0
"""Seconds of tests that a mutant elsewhere meets at most."""
CONFIGURATION = """[cosmic-ray]
module-path = "{module}"
timeout = {timeout}
excluded-modules = {excluded}
test-command = "{python} -m pytest -x -q -p no:cacheprovider -m 'not slow and not torch' --doctest-modules {tests}"

[cosmic-ray.distributor]
name = "local"
"""


def score(module: str, sample: int, seed: int) -> tuple[int, list[str]]:
    """(mutants that were tried, the survivors in words) of one module."""
    with _copied() as tree:
        _configured(tree, f"src/evenhand/{module}.py", TESTED[module])
        _cosmic_ray(tree, "init")
        _thin(tree / "session.sqlite", sample, seed)
        _cosmic_ray(tree, "exec")
        return _outcome(tree / "session.sqlite")


def elsewhere(sample: int, seed: int) -> tuple[int, list[str]]:
    """The same of all modules that are not in the table."""
    tried, survived = 0, []
    with _copied() as tree:
        runs = _running(tree)
        _configured(tree, "src/evenhand", [])
        _cosmic_ray(tree, "init")
        session, whole = tree / "session.sqlite", tree / "whole.sqlite"
        _thin(session, sample, seed)
        shutil.copy(session, whole)
        with contextlib.closing(sqlite3.connect(whole)) as database:
            jobs = database.execute(
                "SELECT job_id, module_path, start_pos_row FROM mutation_specs ORDER BY module_path, start_pos_row"
            ).fetchall()
        random.Random(seed).shuffle(jobs)  # whoever stops it early has a sample all the same
        for job, module, line in jobs:
            tests = _within(runs.get((module, line), []))
            shutil.copy(whole, session)
            _keep(session, {job})
            _configured(tree, module, [module, *tests])
            _cosmic_ray(tree, "exec")
            n, lived = _outcome(session)
            tried += n
            survived += [f"{module} {each}" + ("" if tests else " (no test runs it)") for each in lived]
            print(f"  {tried} of {len(jobs)}:", *(lived or ["killed"]), file=sys.stderr, flush=True)
    return tried, survived


@contextlib.contextmanager
def _copied() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        ignored = shutil.ignore_patterns(".venv", ".git", "__pycache__", ".mypy_cache", ".ruff_cache")
        shutil.copytree(ROOT, tree, ignore=ignored)
        yield tree


def _environment(tree: Path) -> dict[str, str]:
    told = {"EVENHAND_DATA": str(ROOT.parent / "shared" / "data")}
    return {**told, **os.environ, "PYTHONPATH": str(tree / "src")}


def _configured(tree: Path, module: str, tests: Sequence[str]) -> None:
    """Which module is broken, and which tests are to notice."""
    excluded = [f"src/evenhand/{name}.py" for name in TESTED] if module == "src/evenhand" else []
    made = CONFIGURATION.format(
        module=module,
        excluded=excluded,
        timeout=90.0 if module[12:-3] in TESTED else 2 * PATIENCE,
        python=sys.executable,
        tests=" ".join(tests),
    )
    (tree / "mutation.toml").write_text(made)


def _cosmic_ray(tree: Path, command: str) -> None:
    tool = [sys.executable, "-m", "cosmic_ray.cli", command, "mutation.toml", "session.sqlite"]
    subprocess.run(tool, cwd=tree, env=_environment(tree), check=True)


def _running(tree: Path) -> dict[tuple[str, int], list[tuple[float, str]]]:
    """(module, line) → the test files that run it, and how long each takes."""
    from coverage import CoverageData  # type: ignore[import-not-found, unused-ignore]

    found: dict[tuple[str, int], list[tuple[float, str]]] = {}
    files = sorted(file for each in LOOKED_AT for file in (tree / "tests" / each).glob("test_*.py"))
    for file in files:
        start, data, name = time.monotonic(), tree / "coverage.data", str(file.relative_to(tree))
        command = [sys.executable, "-m", "coverage", "run", f"--data-file={data}", "--source=src/evenhand"]
        command += ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow and not torch", name]
        subprocess.run(command, cwd=tree, env=_environment(tree), check=False, stdout=subprocess.DEVNULL)
        seconds, read = time.monotonic() - start, CoverageData(str(data))
        read.read()
        for module in read.measured_files():
            for line in read.lines(module) or []:
                found.setdefault((str(Path(module).relative_to(tree)), line), []).append((seconds, name))
        print(f"  {name}: {seconds:.0f} s", file=sys.stderr, flush=True)
    return found


def _within(runs: Sequence[tuple[float, str]]) -> list[str]:
    """The quickest tests first, one at least."""
    chosen: list[str] = []
    spent = 0.0
    for seconds, name in sorted(runs):
        spent += seconds
        if chosen and spent > PATIENCE:
            break
        chosen.append(name)
    return chosen


def _thin(session: Path, sample: int, seed: int) -> None:
    """Keep a seeded sample of the mutants."""
    with contextlib.closing(sqlite3.connect(session)) as database:
        where = sorted(
            database.execute(
                "SELECT module_path, start_pos_row, start_pos_col, operator_name, occurrence, job_id"
                f" FROM mutation_specs WHERE operator_name NOT LIKE '%{ANNOTATIONS}%'"
            )
        )
    _keep(session, set(random.Random(seed).sample([row[-1] for row in where], min(sample, len(where)))))


def _keep(session: Path, kept: set[str]) -> None:
    with contextlib.closing(sqlite3.connect(session)) as database, database:
        database.execute("CREATE TEMP TABLE kept (job TEXT PRIMARY KEY)")
        database.executemany("INSERT INTO kept VALUES (?)", [(job,) for job in kept])
        for table in ("mutation_specs", "work_items"):
            database.execute(f"DELETE FROM {table} WHERE job_id NOT IN (SELECT job FROM kept)")


def _outcome(session: Path) -> tuple[int, list[str]]:
    with sqlite3.connect(session) as database:
        rows = database.execute(
            "SELECT test_outcome, operator_name, start_pos_row, diff FROM work_results"
            " JOIN mutation_specs USING (job_id) ORDER BY start_pos_row"
        ).fetchall()
    survived = []
    for outcome, operator, line, diff in rows:
        if "SURVIVED" in str(outcome).upper():
            changed = [
                row for row in (diff or "").splitlines() if row[:1] in "+-" and row[:3] not in ("+++", "---")
            ]
            survived.append(f"line {line}, {operator}: {' '.join(changed)[:200]}")
    return len(rows), survived


def main() -> None:
    """The command."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument(
        "modules", nargs="*", choices=[*TESTED, ELSEWHERE, []], help="by default those of the table"
    )
    asked.add_argument("--sample", type=int, default=120)
    asked.add_argument("--seed", type=int, default=1)
    given = asked.parse_args()
    for module in given.modules or TESTED:
        of = elsewhere if module == ELSEWHERE else partial(score, module)
        tried, survived = of(given.sample, given.seed)
        killed = tried - len(survived)
        print(f"{module}: {killed} of {tried} mutants killed ({killed / max(tried, 1):.0%})", flush=True)
        for line in survived:
            print(f"  {line}", flush=True)


if __name__ == "__main__":
    main()

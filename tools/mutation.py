"""Break lines on purpose, a seeded sample of all the ways that cosmic-ray knows, and see whether the tests notice.

    pip install cosmic-ray
    python tools/mutation.py                          the modules and tests below, 120 mutants each (about an hour)
    python tools/mutation.py _judge --sample 40       one of them, fewer mutants

The tree is copied first, so nothing here is changed. What is printed: killed, survived, the share, and each survivor.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
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
        f"{FAULTS}/test_shared_journal.py",
    ],
}
"""Module → its own doctests, then the tests that are to notice, the quickest first."""
ANNOTATIONS = "BitOr"
"""Operators of types in annotations, which nothing evaluates: `int | None` broken is no broken program."""
CONFIGURATION = """[cosmic-ray]
module-path = "src/evenhand/{module}.py"
timeout = 90.0
excluded-modules = []
test-command = "{python} -m pytest -x -q -p no:cacheprovider -m 'not slow and not torch' --doctest-modules {tests}"

[cosmic-ray.distributor]
name = "local"
"""


def score(module: str, sample: int, seed: int) -> tuple[int, list[str]]:
    """(mutants that were tried, the survivors in words) of one module."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        ignored = shutil.ignore_patterns(".venv", ".git", "__pycache__", ".mypy_cache", ".ruff_cache")
        shutil.copytree(ROOT, tree, ignore=ignored)
        (tree / "mutation.toml").write_text(
            CONFIGURATION.format(module=module, python=sys.executable, tests=" ".join(TESTED[module]))
        )
        tool = [sys.executable, "-m", "cosmic_ray.cli"]
        told = {"PYTHONPATH": str(tree / "src"), "EVENHAND_DATA": str(ROOT.parent / "shared" / "data")}
        environment = {**told, **os.environ} | {"PYTHONPATH": str(tree / "src")}
        for command in (["init"], ["exec"]):
            subprocess.run(
                [*tool, *command, "mutation.toml", "session.sqlite"], cwd=tree, env=environment, check=True
            )
            if command == ["init"]:
                _thin(tree / "session.sqlite", sample, seed)
        return _outcome(tree / "session.sqlite")


def _thin(session: Path, sample: int, seed: int) -> None:
    """Keep a seeded sample of the mutants."""
    with sqlite3.connect(session) as database:
        every = sorted(row[0] for row in database.execute("SELECT job_id FROM work_items"))
        where = sorted(
            database.execute(
                "SELECT start_pos_row, start_pos_col, operator_name, occurrence, job_id FROM mutation_specs"
                f" WHERE operator_name NOT LIKE '%{ANNOTATIONS}%'"
            )
        )
        kept = set(random.Random(seed).sample([row[-1] for row in where], min(sample, len(where))))
        for job in every:
            if job not in kept:
                database.execute("DELETE FROM mutation_specs WHERE job_id = ?", (job,))
                database.execute("DELETE FROM work_items WHERE job_id = ?", (job,))


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
    asked.add_argument("modules", nargs="*", choices=[*TESTED, []], help="by default all")
    asked.add_argument("--sample", type=int, default=120)
    asked.add_argument("--seed", type=int, default=1)
    given = asked.parse_args()
    for module in given.modules or TESTED:
        tried, survived = score(module, given.sample, given.seed)
        killed = tried - len(survived)
        print(f"{module}: {killed} of {tried} mutants killed ({killed / max(tried, 1):.0%})", flush=True)
        for line in survived:
            print(f"  {line}", flush=True)


if __name__ == "__main__":
    main()

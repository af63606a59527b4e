"""Every benchmark runs by its name, at a size that takes seconds; what it measures is not judged here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMES = sorted(p.stem for p in (ROOT / "benchmarks").glob("*.py") if not p.stem.startswith("_"))


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """`python -m benchmarks` with these arguments."""
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_runs_by_its_name(name: str) -> None:
    """It ends well, and its figures stand in the table at the end."""
    done = run(name, "--quick")
    assert done.returncode == 0, done.stderr
    progress, _, table = done.stdout.partition("\n\n")
    assert progress.startswith(f"== {name}: ")
    heading, *figures = table.splitlines()
    assert heading.split("  ")[0] == "name"
    assert len(figures) == len(progress.splitlines()) - 1 > 0


def test_help_and_an_unknown_name_list_what_is_there() -> None:
    """Nobody has to read the folder."""
    helped, unknown = run("--help"), run("nonsense")
    assert (helped.returncode, unknown.returncode) == (0, 2)
    for name in NAMES:
        assert f"  {name} " in helped.stdout
        assert name in unknown.stderr
    assert "Traceback" not in unknown.stderr

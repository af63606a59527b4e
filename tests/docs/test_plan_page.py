"""The examples of the page on planning are what Python answers."""

from __future__ import annotations

import doctest
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "plan-an-audit.md"


def test_the_examples_on_planning_run_as_printed() -> None:
    """Every number on the page is computed again."""
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert tried >= 4
    assert failed == 0

"""The documentation keeps up with the code: every message is explained, every link leads somewhere, commands exist."""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path

import pytest
from pages import PAGES

from evenhand.cli import run

ROOT = Path(__file__).resolve().parents[2]


def slugs() -> set[str]:
    """Every slug that the package's errors and notes use."""
    found = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            first = node.args[0]
            said = isinstance(first, ast.Constant) and isinstance(first.value, str)
            if (
                said
                and (name.endswith("Error") or name in {"BudgetSpent", "note"})
                and name
                not in {
                    "ValueError",
                    "TypeError",
                    "AssertionError",
                    "AttributeError",
                    "IndexError",
                    "KeyError",
                }
            ):
                found.add(str(first.value))
    return {slug for slug in found if re.fullmatch(r"[a-z][a-z0-9-]+", slug)}


def test_every_message_is_explained() -> None:
    """A slug in an error is a promise of a paragraph."""
    explained = set()
    for page in (ROOT / "docs" / "reference").glob("messages*.md"):
        explained |= set(re.findall(r"`([a-z][a-z0-9-]+)`", page.read_text(encoding="utf-8")))
    assert sorted(slugs() - explained) == []
    assert len(slugs()) > 60


def test_commands_in_the_pages_exist(capsys: pytest.CaptureFixture[str]) -> None:
    """Every `evenhand …` line in a code block names a command that has help."""
    named = set()
    for page in PAGES:
        for block in re.findall(r"```\w*\n(.*?)```", page.read_text(encoding="utf-8"), re.S):
            named |= set(re.findall(r"^evenhand (\w+)", block, re.M))
    for command in sorted(named):
        assert run([command, "--help"]) == 0, command
    assert {"text", "scores", "plan", "run"} <= named


GUIDES = (
    "CONTRIBUTING.md",
    "docs/explanation/how-it-works.md",
    "docs/decisions/0008-summaries-and-claims.md",
    "docs/decisions/0009-labels.md",
)


@pytest.mark.parametrize("guide", GUIDES)
def test_the_files_that_a_guide_to_the_code_names_are_there(guide: str) -> None:
    """A path is one of the repository or of the package; a file's name alone is that of some module."""
    named = re.findall(r"`([\w./]+(?:\.py|/))`", (ROOT / guide).read_text(encoding="utf-8"))
    package = ROOT / "src" / "evenhand"
    modules = {path.name for path in package.rglob("*.py")}
    gone = [
        name for name in named if not ((package / name).exists() or (ROOT / name).exists() or name in modules)
    ]
    assert named
    assert gone == []


def test_the_table_of_measures_is_written_from_the_rows() -> None:
    """docs/reference/measures.md says what the audit does; `python tools/measures_page.py` writes it."""
    program = runpy.run_path(str(ROOT / "tools" / "measures_page.py"))
    assert program["PAGE"].read_text(encoding="utf-8") == program["page"]()

"""The pages of the documentation, and what stands in their fenced blocks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("examples/**/*.md"),
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")),
    ]
)
FENCE = re.compile(
    r"^(?:<!-- not run: (?P<why>[^>]+?) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.S | re.M
)


@dataclass(frozen=True, kw_only=True)
class Block:
    """A fenced block: its language, its text, its line, and why it is not run (empty where it is)."""

    language: str
    text: str
    line: int
    why: str


def blocks(page: Path) -> list[Block]:
    """Every fenced block of a page, in order."""
    text = page.read_text(encoding="utf-8")
    found = [
        Block(
            language=m["language"],
            text=m["text"],
            line=text[: m.start()].count("\n") + 1,
            why=m["why"] or "",
        )
        for m in FENCE.finditer(text)
    ]
    assert 2 * len(found) == len(re.findall(r"^\s*```", text, re.M)), (
        f"{page.name}: a fence that is indented or open"
    )
    return found


def name_of(page: Path) -> str:
    """Its path in the repository."""
    return str(page.relative_to(ROOT))

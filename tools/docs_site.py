"""Build the documentation into build/site: `python tools/docs_site.py` (or `make docs`).

The pages are those of docs/, the README and its neighbours, and what tools/reference_pages.py reads from the code. Each message
gets an anchor; a link to a file that is no page keeps its words and loses its link. Zensical (extra `docs`) makes the HTML; nothing
is loaded from elsewhere when it is read.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]
TARGET = ROOT / "build" / "pages"
BESIDE = {
    "README.md": "index.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "examples/README.md": "project/example-files.md",
    "examples/tweets/README.md": "project/tweets.md",
    "examples/student_grades/README.md": "project/student-grades.md",
}
"""Pages outside docs/ → where they stand on the site."""
LINK = re.compile(r"(?<!!)\[((?:[^\]\[]|\[[^\]]*\])+)\]\(([^)\s]+)\)")
NAMED = re.compile(r"`([a-z][a-z0-9-]+)`")


def placed() -> dict[Path, Path]:
    """File of the repository → page or picture of the site."""
    found = {ROOT / name: Path(page) for name, page in BESIDE.items()}
    for path in sorted((ROOT / "docs").rglob("*")):
        if path.suffix in (".md", ".png", ".json"):
            found[path] = path.relative_to(ROOT / "docs")
    return found


def relinked(text: str, source: Path, pages: dict[Path, Path]) -> str:
    """The text of a page with links as the site has them."""

    def to(match: re.Match[str]) -> str:
        words, target = match[1], match[2]
        if target.startswith(("http:", "https:", "mailto:", "#")):
            return match[0]
        name, _, anchor = target.partition("#")
        there = (source.parent / name).resolve()
        if there == ROOT / "docs" / "decisions":
            there = ROOT / "docs" / "decisions" / "README.md"
        if there not in pages:
            return words
        link = os.path.relpath(pages[there], pages[source].parent)
        return f"[{words}]({link}{'#' if anchor else ''}{anchor})"

    return LINK.sub(to, text)


def anchored(text: str) -> str:
    """A page of messages with an anchor at each message's name.

    >>> anchored("- `bad-csv`, `cut-file` (3): the file. `other` (note): more.")
    '- <a id="bad-csv"></a>`bad-csv`, <a id="cut-file"></a>`cut-file` (3): the file. `other` (note): more.'
    """
    lines = []
    for line in text.splitlines():
        names, colon, rest = line.partition(": ")
        if line.startswith("- `") and colon:
            line = NAMED.sub(r'<a id="\1"></a>`\1`', names) + colon + rest
        lines.append(line)
    return "\n".join(lines) + "\n"


def decisions() -> str:
    """The list of decision notes."""
    rows = []
    for path in sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md")):
        title = path.read_text(encoding="utf-8").splitlines()[0].lstrip("# ")
        rows.append(f"* [{title}]({path.name})")
    return "\n".join(["# Decisions", "", *rows, ""])


def prepare(target: Path = TARGET) -> None:
    """Write every page of the site, as Markdown."""
    from reference_pages import PAGES

    shutil.rmtree(target, ignore_errors=True)
    pages = placed()
    pages[ROOT / "docs" / "decisions" / "README.md"] = Path("decisions/README.md")
    for name in PAGES:
        pages[ROOT / "docs" / name] = Path(name)
    for source, page in pages.items():
        path = target / page
        path.parent.mkdir(parents=True, exist_ok=True)
        if page == Path("decisions/README.md"):
            path.write_text(decisions(), encoding="utf-8")
        elif str(page) in PAGES:
            path.write_text(PAGES[str(page)](), encoding="utf-8")
        elif source.suffix == ".md":
            text = relinked(source.read_text(encoding="utf-8"), source, pages)
            path.write_text(anchored(text) if "messages" in path.name else text, encoding="utf-8")
        else:
            shutil.copyfile(source, path)


if __name__ == "__main__":
    prepare()
    sys.exit(subprocess.run([sys.executable, "-m", "zensical", "build", "--clean"], cwd=ROOT).returncode)

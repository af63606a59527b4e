"""The documentation as a site: every link and anchor leads somewhere, every page is in the menu, nothing is loaded from elsewhere."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from urllib.parse import unquote

import pytest
import typer
from pages import PAGES, ROOT, name_of

import evenhand as eh
from evenhand.cli import app
from evenhand.cli.about import messages

LINKS = re.compile(r"\]\(([^)\s]+)\)")


def bare(page: Path) -> str:
    """Its text without fenced blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)


def anchors(page: Path) -> set[str]:
    """The anchors of its headings, as forges and the site write them."""
    found: Counter[str] = Counter()
    names = set()
    for heading in re.findall(r"^#+ (.+)$", bare(page), re.M):
        plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        name = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        names.add(f"{name}-{found[name]}" if found[name] else name)
        found[name] += 1
    return names


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_and_anchors_lead_somewhere(page: Path) -> None:
    """Relative links of every page point to files that exist, and to headings that they have."""
    broken = []
    for target in LINKS.findall(bare(page)):
        name, _, anchor = target.partition("#")
        there = page.parent / name if name else page
        if target.startswith(("http:", "https:", "mailto:")):
            continue
        if not there.exists() or (anchor and unquote(anchor) not in anchors(there)):
            broken.append(target)
    assert broken == []


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of the site as Markdown, beside its zensical.toml."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copyfile(ROOT / "zensical.toml", folder / "zensical.toml")
    runpy.run_path(str(ROOT / "tools" / "docs_site.py"))["prepare"](folder / "build" / "pages")
    return folder


def listed(entries: object) -> list[str]:
    """The pages of a menu."""
    if isinstance(entries, str):
        return [entries]
    values = entries.values() if isinstance(entries, dict) else entries
    assert not isinstance(values, str)
    return [page for inner in values for page in listed(inner)]  # type: ignore[attr-defined]


def test_the_menu_has_every_page_once(prepared: Path) -> None:
    """A new page is seen, a page that is gone is not offered; decisions have a list of their own."""
    menu = listed(tomllib.loads((prepared / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"])
    pages = {str(p.relative_to(prepared / "build" / "pages")) for p in prepared.rglob("*.md")}
    decisions = {page for page in pages if re.match(r"decisions/\d", page)}
    assert Counter(menu) == Counter(pages - decisions)
    listing = (prepared / "build" / "pages" / "decisions" / "README.md").read_text(encoding="utf-8")
    assert all(Path(page).name in listing for page in decisions)


def test_the_reference_has_every_name_and_every_option(prepared: Path) -> None:
    """Public names with what their docstrings say, commands with their options."""
    folder = prepared / "build" / "pages" / "reference"
    python = (folder / "api.md").read_text(encoding="utf-8")
    assert [name for name in eh.__all__ if f"# eh.{name}\n" not in python] == []
    assert "* `tolerance`: largest difference of means that counts as even-handed" in python
    assert not re.search(r"^ +>>> ", python, re.M), "a session outside a block"
    commands = (folder / "command-line.md").read_text(encoding="utf-8")
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        section = commands.partition(f"### evenhand {name}\n")[2].partition("\n### ")[0]
        for option in command.params:
            shown = option.name.upper() if option.param_type_name == "argument" else option.opts[0]
            assert option.name == "help" or f"`{shown}" in section, (name, shown)


def test_every_message_has_an_anchor_that_explain_names(
    prepared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From a name in brackets to its entry, on the page that `evenhand explain` says."""
    from evenhand.cli import run

    pages = prepared / "build" / "pages" / "reference"
    for slug, (page, _) in messages().items():
        assert f'<a id="{slug}"></a>`{slug}`' in (pages / f"{page}.md").read_text(encoding="utf-8")
    assert run(["explain", "missing-values"]) == 0
    assert "reference/messages-predictions#missing-values" in capsys.readouterr().out


def test_the_site_is_whole_and_loads_nothing_from_elsewhere(prepared: Path) -> None:
    """Built as `make docs` does: links and anchors inside it resolve, scripts, styles and pictures are its own."""
    pytest.importorskip("zensical", reason="the extra docs is not installed")
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build"], cwd=prepared, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    site = prepared / "build" / "site"
    html = {
        path: path.read_text(encoding="utf-8") for path in site.rglob("*.html") if path.name != "404.html"
    }
    assert len(html) > 50
    wrong = []
    for path, text in html.items():
        wrong += [
            f"{path.name}: {x}" for x in re.findall(r'<(?:script|img)[^>]* src="(?:https?:)?//([^"]+)', text)
        ]
        wrong += [
            f"{path.name}: {x}"
            for x in re.findall(r'<link rel="stylesheet" href="(?:https?:)?//([^"]+)', text)
        ]
        for link in re.findall(r'<a[^>]* href="([^"]*)"', text):
            name, _, anchor = link.partition("#")
            there = (path.parent / unquote(name)).resolve() if name else path
            if re.match(r"https?:|mailto:", link):
                continue
            known = there == path or there.exists()
            if not known or (anchor and there in html and f'id="{unquote(anchor)}"' not in html[there]):
                wrong.append(f"{path.name}: {link}")
    assert wrong == []

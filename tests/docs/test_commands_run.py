"""Every command and every snippet of the pages runs, in a folder that holds the repository's own examples and nothing else."""

from __future__ import annotations

import doctest
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from pages import PAGES, ROOT, Block, blocks, name_of

RUN = ("sh", "python", "toml", "yaml", "json")
"""Languages whose blocks are run or read; `text` is a drawing or what a command printed."""
NOT_RUN = {
    "installs from a package index": 3,
    "needs a key": 1,
    "needs data that may not be handed on": 1,
    "takes an hour": 2,
    "needs people": 1,
    "needs MLflow": 1,
    "needs a cluster": 1,
    "needs a downloaded model": 1,
}
"""Reason → blocks that are marked `<!-- not run: reason -->`, over all pages."""
WITH = [page for page in PAGES if any(b.language in RUN and not b.why for b in blocks(page))]


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    """A copy of the files of examples/ that the repository keeps, with `evenhand` and `python` on the PATH."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "examples"], cwd=ROOT, capture_output=True, text=True
    )
    kept = [ROOT / line for line in listed.stdout.splitlines()] or (ROOT / "examples").rglob("*")
    for path in kept:
        if path.is_file() and "__pycache__" not in path.parts:
            copy = tmp_path / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, words in (("evenhand", "-m evenhand"), ("python", "")):
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n', encoding="utf-8")
        (programs / name).chmod(0o755)
    return tmp_path / "examples"


def ran(command: list[str], folder: Path, at: str) -> subprocess.CompletedProcess[str]:
    """What it printed; nothing but evenhand's own programs, and a cache of its own."""
    path = f"{folder.parent / 'programs'}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "XDG_CACHE_HOME": str(folder.parent / "cache"), "NO_COLOR": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert "Traceback" not in done.stderr or command[0] == sys.executable, f"{at}\n{done.stderr}"
    return done


def perform(block: Block, folder: Path, at: str) -> None:
    """Run it, read it, or write the file that its first line names."""
    first = re.match(r"# (\S+\.(?:toml|py))\n", block.text)
    if first:
        (folder / first[1]).write_text(block.text, encoding="utf-8")
    if block.language == "sh":
        for line in block.text.replace("\\\n", " ").splitlines():
            said = re.search(r"# exits (\d)", line)
            done = ran(["bash", "-c", line], folder, at)
            assert done.returncode == (int(said[1]) if said else 0), (
                f"{at}: {line}\n{done.stdout}{done.stderr}"
            )
    elif block.language == "python" and "def test_" in block.text:
        (folder / "test_of_the_page.py").write_text(block.text, encoding="utf-8")
        done = ran([sys.executable, "-m", "pytest", "-q", "test_of_the_page.py"], folder, at)
        assert done.returncode == 0, f"{at}\n{done.stdout}"
    elif block.language == "python":
        (folder / "snippet.py").write_text(block.text, encoding="utf-8")
        done = ran([sys.executable, "-W", "error", "snippet.py"], folder, at)
        if "[missing-extra]" in done.stderr and not os.environ.get("CI"):
            pytest.skip(done.stderr[done.stderr.index("expected:") :])
        assert done.returncode == 0, f"{at}\n{done.stdout}{done.stderr}"
    elif block.language == "toml":
        tomllib.loads(block.text)
    elif block.language == "yaml":
        pytest.importorskip("yaml").safe_load(block.text)
    elif block.language == "json":
        json.loads(block.text)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("page", WITH, ids=name_of)
def test_what_the_page_says_can_be_done(page: Path, examples: Path) -> None:
    """In order, in examples/; a line ends with exit code 0, or with that of its comment `# exits 1`."""
    for block in blocks(page):
        if not block.why and ">>> " not in block.text:
            perform(block, examples, f"{name_of(page)}:{block.line}")


@pytest.mark.parametrize("page", [p for p in WITH if any(">>> " in b.text for b in blocks(p))], ids=name_of)
def test_the_answers_of_a_session_are_those_printed(page: Path) -> None:
    """Every number behind a `>>>` is computed again."""
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert tried >= 4
    assert failed == 0


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_says_what_it_is(page: Path) -> None:
    """No command hides in a block without a language, or in one of text."""
    for block in blocks(page):
        assert block.language in (*RUN, "text"), f"{name_of(page)}:{block.line}: {block.language!r}"
        if block.language == "text":
            assert not re.search(r"^\$? ?(evenhand|python|pip|make) ", block.text, re.M), block.text


def test_what_is_not_run_is_counted() -> None:
    """A new exception is seen here."""
    assert Counter(b.why for page in PAGES for b in blocks(page) if b.why) == NOT_RUN

"""What is written holds: modules named in strings are imports, a name means one thing, and docstrings name what is there."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import evenhand as eh

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "evenhand"
SOURCES = sorted(PACKAGE.rglob("*.py"))
NAMED_MODULE = re.compile(r"evenhand\.(\w+)(?:\.\w+)*(?::\w+)?")

TODAY_UPWARD: set[str] = set()
"""Strings that name a room above their own. Each entry goes as soon as it can; one too many fails, too."""
TODAY_TWICE: set[str] = set()
"""Class names that mean two things."""
TODAY_GHOSTS: set[str] = set()
"""module.function: names under `Args:` that are no parameter or field."""
TODAY_UNNAMED: set[str] = set()
"""module.function: parameters that `Args:` does not name."""


def floors() -> dict[str, int]:
    """Room → its floor in the contract of import-linter, 0 at the top."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = config["tool"]["importlinter"]["contracts"][0]["layers"]
    return {
        room.strip(" ()"): floor for floor, layer in enumerate(layers) for room in re.split(r"[|:]", layer)
    }


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


def test_a_module_named_in_a_string_counts_as_an_import() -> None:
    """A lower room does not reach a higher one by `import_module` or a table of "module:attribute" either."""
    floor = floors()
    upward = set()
    for path in SOURCES:
        own = module_of(path).partition(".")[0]
        if own not in floor:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found = NAMED_MODULE.fullmatch(node.value)
                if found and found[1] != own and floor.get(found[1], -1) <= floor[own]:
                    upward.add(f"{module_of(path)}: {node.value}")
    assert upward == TODAY_UPWARD


def test_a_class_name_means_one_thing() -> None:
    """No two classes of the package share a name."""
    homes: dict[str, list[str]] = defaultdict(list)
    for path in SOURCES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(module_of(path))
    assert {name for name, found in homes.items() if len(found) > 1} == TODAY_TWICE


def documented(path: Path) -> Iterator[tuple[str, str, list[str]]]:
    """(name, text under Args:, parameters or fields) of every function and class that has `Args:`."""
    stack: list[tuple[str, ast.AST]] = [(module_of(path), ast.parse(path.read_text(encoding="utf-8")))]
    while stack:
        where, parent = stack.pop()
        for node in ast.iter_child_nodes(parent):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                continue
            name = f"{where}.{node.name}"
            stack.append((name, node))
            text = ast.get_docstring(node) or ""
            section = re.search(r"^Args:\n(.*?)(?:\n\n|\Z)", text, re.S | re.M)
            if section:
                yield name, section[1], list(members(node))


def members(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> Iterator[str]:
    """Parameters of a function; fields and properties of a class, or the parameters of its `__init__`."""
    if not isinstance(node, ast.ClassDef):
        a = node.args
        yield from (p.arg for p in [*a.posonlyargs, *a.args, *a.kwonlyargs] if p.arg not in ("self", "cls"))
        yield from (p.arg for p in (a.vararg, a.kwarg) if p is not None)
        return
    for child in node.body:
        if isinstance(child, ast.AnnAssign) and isinstance(child.target, ast.Name):
            yield child.target.id
        elif isinstance(child, ast.FunctionDef) and child.name == "__init__":
            yield from members(child)


@pytest.fixture(scope="module")
def entries() -> list[tuple[str, str, list[str]]]:
    return [entry for path in SOURCES for entry in documented(path)]


def test_what_args_describes_is_there(entries: list[tuple[str, str, list[str]]]) -> None:
    """An entry that begins a line under `Args:` names parameters or fields that exist."""
    ghosts = set()
    for name, text, real in entries:
        heads = re.findall(r"^ {4}(\*{0,2}\w+(?:, \*{0,2}\w+)*):(?= |$)", text, re.M)
        for word in (w.strip(" *") for head in heads for w in head.split(",")):
            if word not in real:
                ghosts.add(f"{name}: {word}")
    assert ghosts == TODAY_GHOSTS


def test_every_parameter_of_a_public_function_is_named(
    entries: list[tuple[str, str, list[str]]],
) -> None:
    """What `evenhand` itself offers says under `Args:` what each of its parameters and fields is."""
    public = {f"{home.removeprefix('evenhand.')}.{name}" for name, home in eh._PUBLIC.items()}
    unnamed = {
        f"{name}: {word}"
        for name, text, real in entries
        if name in public
        for word in real
        if not re.search(rf"(?<!\w){word}(?:,\s+\*{{0,2}}\w+)*:(?= |\n|$)", text)
    }
    assert unnamed == TODAY_UNNAMED

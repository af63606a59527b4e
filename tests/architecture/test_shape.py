"""One shape for every audit: facts are values and not strings, what travels together is one thing, and it stays small."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "evenhand"
TREES = {
    str(path.relative_to(PACKAGE)): ast.parse(path.read_text(encoding="utf-8"))
    for path in sorted(PACKAGE.rglob("*.py"))
}

LABELS_APART = {
    "cli/options.py": "options are written NAME=VALUE",
    "subjects/request.py": "the query of a URL",
}
"""Files besides `_labels.py` that take a text apart at "=" or "&", and why: none of these texts is a label."""
NAMES = {
    "measure",
    "name",
    "key",
    "contrast",
    "family",
    "given",
    "attribute",
    "group",
    "reference",
    "method",
    "title",
}
"""Fields that a reader sees. What is done with a thing does not hang on them (`kind` is a closed list of its own)."""
TODAY_BY_NAME = {
    "audits/amplification/comparison.py": 1,
}
"""File → places that look at a name. A place that is gone goes from here, too; none is added."""
MOST_WIDE = 42
"""Functions with 7 parameters and more. It only goes down, but for doors: two for the tests of embeddings."""
MOST_ANY = 61
"""Parameters of audits that are typed `Any`. It only goes down."""
MOST_LINES = 24_400
"""Lines of `audits/` and `cli/` together. It only goes down, unless an audit is added or can do more."""


def text_of(node: ast.AST) -> str | None:
    """A literal string."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def cuts(tree: ast.AST) -> Iterator[str]:
    """Calls that take a text apart at "=" or "&", and literals that put one together with " & "."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            sign = text_of(node.args[0]) or ""
            if node.func.attr in ("partition", "rpartition", "split", "rsplit") and {"=", "&"} & set(sign):
                yield ast.unparse(node)
        elif text_of(node) == " & ":
            yield '" & "'
        elif isinstance(node, ast.JoinedStr) and any(" & " in (text_of(part) or "") for part in node.values):
            yield ast.unparse(node)


def looks_at_a_name(node: ast.AST) -> bool:
    """Whether a field that a reader sees is held against a literal."""

    def literal(x: ast.AST) -> bool:
        several = isinstance(x, ast.Tuple | ast.List | ast.Set) and bool(x.elts) and all(map(literal, x.elts))
        return text_of(x) is not None or several

    def field(x: ast.AST) -> bool:
        return isinstance(x, ast.Attribute) and x.attr in NAMES

    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        return any(map(field, sides)) and any(map(literal, sides))
    parts = ("startswith", "endswith", "removeprefix", "removesuffix")
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in parts:
        return field(node.func.value) and bool(node.args) and literal(node.args[0])
    return False


def functions(tree: ast.AST) -> Iterator[tuple[str, list[ast.arg]]]:
    """(name, parameters but for `self`, `cls`, `*args` and `**kwargs`) of every function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            a = node.args
            named = [*a.posonlyargs, *a.args, *a.kwonlyargs]
            yield node.name, [p for p in named if p.arg not in ("self", "cls")]


def test_labels_are_written_in_one_place() -> None:
    """A name or a level may hold "=" and " & ": only `_labels.py` writes them, and nobody takes one apart."""
    found = {where for where, tree in TREES.items() if any(cuts(tree))}
    assert found == {"_labels.py", *LABELS_APART}


def test_no_audit_looks_at_a_name() -> None:
    """What is done with a measure stands in its row; a name is for the reader."""
    found = {
        where: sum(map(looks_at_a_name, ast.walk(tree)))
        for where, tree in TREES.items()
        if where.startswith("audits/")
    }
    assert {where: n for where, n in found.items() if n} == TODAY_BY_NAME


def test_what_travels_together_is_one_thing() -> None:
    """Seven parameters are a dataclass that nobody has named yet; doors and commands take what a user may say."""
    wide = [
        f"{where}:{name}" for where, tree in TREES.items() for name, of in functions(tree) if len(of) >= 7
    ]
    assert len(wide) <= MOST_WIDE, wide


def test_parameters_of_audits_say_what_they_are() -> None:
    """`Any` is for what a user may hand over in many forms, not for what one function gives to another."""
    untyped = Counter(
        where
        for where, tree in TREES.items()
        if where.startswith("audits/")
        for _, parameters in functions(tree)
        for p in parameters
        if p.annotation is not None and ast.unparse(p.annotation) == "Any"
    )
    assert untyped.total() <= MOST_ANY, untyped


def test_the_audits_and_their_commands_do_not_grow() -> None:
    """What two audits need goes down into the spine, where it is written once."""
    lines = sum(
        len((PACKAGE / where).read_text(encoding="utf-8").splitlines())
        for where in TREES
        if where.startswith(("audits/", "cli/"))
    )
    assert lines <= MOST_LINES


@pytest.mark.parametrize(
    ("code", "looks"),
    [
        ("claim.key == 'disparate impact'", True),
        ("'RMSE' != row.name", True),
        ("e.measure in ('RMSE', 'MAE')", True),
        ("e.measure.startswith('widest')", True),
        ("row.name == other.name", False),
        ("source.kind == 'captions'", False),
        ("e.measure in names", False),
    ],
)
def test_the_guard_of_names_sees_what_it_should(code: str, looks: bool) -> None:
    """A field against a literal is seen, two fields or a closed list of kinds are not."""
    assert any(map(looks_at_a_name, ast.walk(ast.parse(code)))) is looks


@pytest.mark.parametrize(
    ("code", "seen"),
    [
        ("label.partition('=')", True),
        ("label.split(' & ')", True),
        ("' & '.join(parts)", True),
        ("f'{a} & {b}'", True),
        ("text.partition(':')", False),
        ("'Cameron, Gelbach & Miller'", False),
    ],
)
def test_the_guard_of_labels_sees_what_it_should(code: str, seen: bool) -> None:
    """Texts taken apart or put together as labels are; a reference to a paper is not."""
    assert any(cuts(ast.parse(code))) is seen

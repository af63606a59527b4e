"""The reference pages that are read from the code: the API from docstrings, the command line from its own help.

Nothing here is committed: tools/docs_site.py writes the pages when the site is built.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import typer

import evenhand as eh
from evenhand.cli import app
from evenhand.cli.help import GROUPS, OTHERS

SECTION = re.compile(r"(Args|Attributes|Returns|Raises|Yields):$")
ENTRY = re.compile(r"\s{4}([\w*][\w., *]*?): (.*)")


def prose(text: str) -> str:
    """A docstring in Markdown: sections as lists, sessions as blocks.

    >>> print(prose("Half of it.\\n\\nArgs:\\n    x: a number,\\n        in metres.\\n\\n>>> half(2)\\n1"))
    Half of it.
    <BLANKLINE>
    **Args**
    <BLANKLINE>
    * `x`: a number, in metres.
    <BLANKLINE>
    ```python
    >>> half(2)
    1
    ```
    """
    lines: list[str] = []
    inside, session = False, False
    for line in text.replace("``", "`").splitlines():
        begins = line.lstrip().startswith(">>> ")
        if session and not line.strip():
            lines += ["```", ""]
            session = False
        elif begins and not session:
            lines += ["", "```python", line.strip()] if lines and lines[-1] else ["```python", line.strip()]
            session = True
        elif session:
            lines.append(line.strip() if begins else line)
        elif named := SECTION.match(line):
            lines += [f"**{named[1]}**", ""]
            inside = True
        elif inside and (entry := ENTRY.match(line)):
            lines.append(f"* `{entry[1]}`: {entry[2]}")
        elif inside and line.startswith("    ") and lines and lines[-1]:
            lines[-1] += f" {line.strip()}"
        else:
            inside = inside and not line.strip()
            lines.append(line)
    return "\n".join([*lines, "```"] if session else lines)


def signature(thing: Any) -> str:
    """How it is called, a parameter a line where there are several; empty for protocols and what takes nothing."""
    if getattr(thing, "_is_protocol", False) or not callable(thing):
        return ""
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""
    parts = []
    for parameter in found.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        bare = parameter.replace(annotation=parameter.empty)
        kind = "" if parameter.annotation is parameter.empty else f": {text(parameter.annotation)}"
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        stars = str(bare)[: len(str(bare)) - len(str(bare).lstrip("*"))]
        parts.append(f"{stars}{parameter.name}{kind}{default}")
    back = "" if found.return_annotation is found.empty else f" -> {text(found.return_annotation)}"
    inside = ", ".join(parts) if len(parts) < 3 else "\n    " + ",\n    ".join(parts) + ",\n"
    return f"({inside}){back}"


def text(annotation: Any) -> str:
    """An annotation as it was written."""
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def public(name: str) -> Any:
    """What `eh.NAME` is; a folder that can be called is its function."""
    found = getattr(eh, name)
    return getattr(found, name) if isinstance(found, ModuleType) and hasattr(found, name) else found


def shown(name: str, thing: Any, level: int) -> Iterator[str]:
    """One entry: its name, signature and docstring, then its public methods."""
    yield f"{'#' * level} {name}\n"
    if called := signature(thing):
        yield f"```text\n{name}{called}\n```\n"
    yield prose(inspect.getdoc(thing) or "") + "\n"
    if isinstance(thing, type):
        for key, value in vars(thing).items():
            called = value.__func__ if isinstance(value, classmethod | staticmethod) else value
            wanted = inspect.isfunction(called) or isinstance(value, property)
            if wanted and not key.startswith("_") and inspect.getdoc(value):
                bare = inspect.getdoc(called) or ""
                yield f"**`{key}{'' if isinstance(value, property) else '()'}`** {prose(bare)}\n"


def api() -> str:
    """Every public name of `evenhand`, and of its public modules."""
    lines = [
        "# Python reference\n",
        "Written from the docstrings when this site is built. `import evenhand as eh`.\n",
    ]
    modules = [name for name in eh.__all__ if isinstance(public(name), ModuleType)]
    functions = [n for n in eh.__all__ if n not in modules and inspect.isfunction(public(n))]
    types = [n for n in eh.__all__ if n not in modules and n not in functions]
    for heading, names in (("Functions", functions), ("Types", types)):
        lines.append(f"## {heading}\n")
        for name in names:
            lines += shown(f"eh.{name}", public(name), 3)
    for module in modules:
        thing = getattr(eh, module)
        lines += [f"## eh.{module}\n", prose(inspect.getdoc(thing) or "") + "\n"]
        for name in getattr(thing, "__all__", None) or dir(thing):
            inner = getattr(thing, name)
            if not name.startswith("_") and (
                inspect.isfunction(inner) and inner.__module__.startswith("evenhand")
            ):
                lines += shown(f"eh.{module}.{name}", inner, 3)
    return "\n".join(lines)


def command_line() -> str:
    """Every command with its sentence, its example and its options under their headings."""
    root = typer.main.get_command(app)
    lines = ["# Command line reference\n", "Written from the commands when this site is built.\n"]
    lines += list(commands(root, "evenhand", 2))
    return "\n".join(lines)


def commands(command: Any, name: str, level: int) -> Iterator[str]:
    """One command, and those below it."""
    yield f"{'#' * level} {name}\n"
    yield " ".join((command.help or "").split()) + "\n"
    if command.epilog:
        yield " ".join(command.epilog.split()) + "\n"
    homes = {param: heading for heading, names in GROUPS.items() for param in names.split()}
    rows: dict[str, list[str]] = {heading: [] for heading in ("Arguments", *GROUPS, OTHERS)}
    for param in command.params:
        if getattr(param, "hidden", False) or param.name == "help":
            continue
        argument = param.param_type_name == "argument"
        heading = "Arguments" if argument else homes.get(param.name, OTHERS)
        names = (param.name or "").upper() if argument else ", ".join([*param.opts, *param.secondary_opts])
        told = " ".join((param.help or "").split()).replace("|", "\\|")
        rows[heading].append(f"| `{names}` | {told} |")
    for heading, told_rows in rows.items():
        if told_rows:
            yield "\n".join([f"| {heading} | |", "|---|---|", *told_rows]) + "\n"
    for below, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, f"{name} {below}" if level > 1 else below, level + 1 if level > 2 else 3)


def benchmarks() -> str:
    """What there is to measure."""
    from benchmarks import BENCHMARKS

    rows = [f"| `python -m benchmarks {name}` | {about} |" for name, about in BENCHMARKS.items()]
    head = "# Benchmarks\n\nRatios to somebody else's code, measured in one run on your own machine; no figure is kept.\n"
    return "\n".join([head, "| command | what it measures |", "|---|---|", *rows, ""])


PAGES = {
    "reference/api.md": api,
    "reference/command-line.md": command_line,
    "reference/benchmarks.md": benchmarks,
}
"""Page of the site → what writes it."""

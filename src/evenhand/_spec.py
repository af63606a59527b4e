"""audit.toml ↔ the keyword arguments of an audit: a file is a saved function call.

kind = "text"                 # which audit: a key of evenhand.audits.AUDITS
out = "audit-out"             # where result.json, estimates.csv and report.html go

[arguments]                   # the keyword arguments of the function, as they are
subject = "vader"
texts = "letters.txt"
terms = "names/freakonomics"
replace = "Arthur"

[subject]                     # optional: options of the subject's factory
"""

from __future__ import annotations

import importlib
import inspect
import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evenhand._errors import DataError, UsageError
from evenhand._result import Result
from evenhand.audits import AUDITS

_TOP = ("kind", "out", "arguments", "subject")
_RUNTIME = frozenset({"progress", "executor"})
_ONCE = frozenset({"rescore"})
"""Arguments of one call that its repetition must not inherit: it would never ask anything again."""


@dataclass(frozen=True, kw_only=True)
class Spec:
    """A saved call of an audit.

    Args:
        kind: a key of evenhand.audits.AUDITS.
        arguments: keyword arguments of the function, plain values only.
        subject: options of the subject's factory.
        out: folder for what the audit writes.
    """

    kind: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    subject: Mapping[str, Any] = field(default_factory=dict)
    out: str | None = None

    def function(self) -> Callable[..., Result]:
        """The audit that this spec calls."""
        module, _, attribute = AUDITS[self.kind].call.partition(":")
        found: Callable[..., Result] = getattr(importlib.import_module(module), attribute)
        return found

    def call(self, **runtime: Any) -> Result:
        """Run the audit; `runtime` adds what no file can hold, e.g. a progress callback."""
        arguments = dict(self.arguments)
        if self.subject:
            from evenhand.subjects import subject

            arguments["subject"] = subject(arguments.get("subject", ""), **self.subject)
        if "features" in arguments:  # only a fitted model is asked with features, and a file can only name it
            from evenhand.subjects.python import named

            arguments["y_pred"] = named(arguments["y_pred"])
        return self.function()(**arguments, **runtime)


def read_spec(path: str | os.PathLike[str]) -> Spec:
    """A spec from a TOML file; paths inside it are relative to the file.

    Raises:
        DataError: no such file, or not TOML.
        UsageError: an unknown kind, table or argument (near names are named).
    """
    file = Path(path)
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except FileNotFoundError as error:
        near = [p.name for p in file.parent.glob("*.toml")] if file.parent.is_dir() else []
        raise DataError("no-such-file", "there is no such file", given=file, available=near) from error
    except IsADirectoryError as error:
        raise DataError("no-such-file", "this is a folder, not a file", given=file) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError("not-toml", f"the file is not TOML: {error}", given=file) from error
    return _resolve(validate(document), file.parent)


def validate(document: Mapping[str, Any]) -> Spec:
    """A spec from a parsed document, every key checked against the audit's own signature."""
    for key in document:
        if key not in _TOP:
            raise UsageError("unknown-key", "unknown key in the audit file", given=key, available=_TOP)
    kind = document.get("kind")
    if kind not in AUDITS:
        raise UsageError(
            "unknown-audit", "the audit file must name its kind", given=kind, available=sorted(AUDITS)
        )
    for name in ("arguments", "subject"):
        if not isinstance(document.get(name, {}), Mapping):
            raise UsageError("unknown-key", f"[{name}] must be a table", given=document[name])
    spec = Spec(
        kind=str(kind),
        arguments=dict(document.get("arguments", {})),
        subject=dict(document.get("subject", {})),
        out=document.get("out"),
    )
    known = [p for p in inspect.signature(spec.function()).parameters if p not in _RUNTIME]
    for key in spec.arguments:
        if key not in known:
            raise UsageError(
                "unknown-argument", f"the {kind} audit has no such argument", given=key, available=known
            )
    return spec


def to_toml(spec: Spec) -> str:
    """The spec as TOML, for keeping beside the results.

    >>> print(to_toml(Spec(kind="text", arguments={"subject": "vader", "tolerance": 0.1})))
    kind = "text"
    <BLANKLINE>
    [arguments]
    subject = "vader"
    tolerance = 0.1
    <BLANKLINE>
    """
    lines = [f"kind = {_toml(spec.kind)}"]
    if spec.out is not None:
        lines.append(f"out = {_toml(spec.out)}")
    for name in ("arguments", "subject"):
        table = {k: v for k, v in getattr(spec, name).items() if v is not None and k not in _ONCE}
        if table:
            lines += ["", f"[{name}]", *(f"{_key(k)} = {_toml(v)}" for k, v in table.items())]
    return "\n".join(lines) + "\n"


def _resolve(spec: Spec, folder: Path) -> Spec:
    """Arguments that name a file beside the spec become paths from here."""

    def resolved(value: Any) -> Any:
        if isinstance(value, str) and not Path(value).is_absolute() and (folder / value).is_file():
            return str(folder / value)
        if isinstance(value, list):
            return [resolved(v) for v in value]
        return value

    arguments = {k: resolved(v) for k, v in spec.arguments.items()}
    journal = arguments.get("journal")
    if isinstance(journal, str) and not Path(journal).is_absolute():
        arguments["journal"] = str(folder / journal)
    out = None if spec.out is None else str(folder / spec.out)
    return Spec(kind=spec.kind, arguments=arguments, subject=spec.subject, out=out)


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else _toml(name)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(str(k))} = {_toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(v) for v in value) + "]"
    text = str(value).replace("\\", "\\\\").replace('"', '\\"')
    escaped = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)
    return f'"{escaped}"'

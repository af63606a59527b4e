"""audit.toml ↔ the keyword arguments of an audit: a file is a saved function call.

kind = "text"                 # which audit: a key of evenhand.audits.AUDITS
out = "audit-out"             # where result.json, estimates.csv and report.html go

[arguments]                   # the keyword arguments of the function, as they are
subject = "vader"
texts = "letters.txt"
terms = "names/freakonomics"
replace = "Arthur"

[subject]                     # optional: options of the subject's factory

[about]                       # optional: what the report says of the audit
title = "Does VADER read letters alike, whoever they are about?"

[files]                       # what the files held; a file that has changed since is refused
"letters.txt" = "sha256:…"

Names are relative to `folder` where the file names one (as every audit.toml beside a result does), else to
the file itself.
"""

from __future__ import annotations

import glob
import importlib
import inspect
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evenhand._errors import DataError, UsageError
from evenhand._files import foreign, sha256
from evenhand._result import Result
from evenhand.audits import AUDITS

_TOP = ("kind", "out", "folder", "arguments", "subject", "about", "files")
ABOUT = ("title", "purpose", "system", "version", "run_by", "period", "declared", "said", "favourable")
"""What a user may say of an audit; a report prints "not stated" where nobody did."""
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
        folder: where the names of files and modules are looked for; None: here.
        files: name → "sha256:…" of what the call was made with.
        about: what the report says of the audit, by the names of `ABOUT`.
    """

    kind: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    subject: Mapping[str, Any] = field(default_factory=dict)
    out: str | None = None
    folder: str | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    about: Mapping[str, str] = field(default_factory=dict)

    def function(self) -> Callable[..., Result]:
        """The audit that this spec calls."""
        module, _, attribute = AUDITS[self.kind].call.partition(":")
        found: Callable[..., Result] = getattr(importlib.import_module(module), attribute)
        return found

    def call(self, **runtime: Any) -> Result:
        """Run the audit; `runtime` adds what no file can hold, e.g. a progress callback."""
        arguments = dict(self.arguments)
        if self.subject:
            from evenhand.subjects import ByName

            arguments["subject"] = ByName(name=arguments.get("subject", ""), options=self.subject)
        if (
            "features" in arguments and "y_pred" in arguments
        ):  # only a fitted model is asked with features, and a file can only name it
            from evenhand.subjects.python import named

            arguments["y_pred"] = named(arguments["y_pred"])
        return described(self.function()(**arguments, **runtime), self.about)

    @contextmanager
    def place(self) -> Iterator[None]:
        """Inside, names mean what they meant when the call was made, and its files are as they were.

        Raises:
            DataError: `no-such-folder`; `no-such-file`; `file-changed`.
        """
        if self.folder is not None and not Path(self.folder).is_dir():
            raise DataError(
                "no-such-folder",
                "the folder that this audit was made in is not here",
                given=self.folder,
                hint="write where its files are now as `folder` into the audit file",
            )
        with chdir(self.folder) if self.folder is not None else nullcontext():
            for name, digest in self.files.items():
                _check_file(name, digest)
            yield

    def kept(self) -> Spec:
        """This call as it can be repeated from anywhere: with the folder it was made in and what its files
        held."""
        given = {name: value for name, value in self.arguments.items() if name != "journal"}
        named = [*_strings(given), *_strings(self.subject)]
        files = {name: f"sha256:{sha256(name)}" for name in named if _is_file(Path(name))}
        return replace(self, folder=str(Path.cwd()), files=files)


def described(result: Result, about: Mapping[str, str]) -> Result:
    """The result with what its user says of it; the result itself where nothing was said."""
    if not about:
        return result
    known = result.provenance.get("about") or {}
    return replace(result, provenance={**result.provenance, "about": {**known, **about}})


def _check_file(name: str, digest: str) -> None:
    if not _is_file(Path(name)):
        raise DataError("no-such-file", "a file that this audit was made with is gone", given=name)
    if digest != f"sha256:{sha256(name)}":
        raise DataError(
            "file-changed",
            "a file has changed since this audit was made",
            given=name,
            expected=digest,
            hint="to audit what it holds now, delete its line under [files]",
        )


def _is_file(path: Path) -> bool:
    """Whether `path` is a file; what is too long or too odd for a name is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _strings(value: Any) -> Iterator[str]:
    """Every string among plain values; of "file.py:attr" the file too."""
    if isinstance(value, str):
        yield value
        yield value.rpartition(":")[0]
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _strings(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _strings(part)


def read_spec(path: str | os.PathLike[str]) -> Spec:
    """A spec from a TOML file; paths inside it are relative to its `folder`, else to the file.

    Raises:
        DataError: no such file, or not TOML.
        UsageError: an unknown kind, table or argument (near names are named).
    """
    file = Path(path)
    if file.is_dir():
        raise DataError("no-such-file", "this is a folder, not a file", given=file)
    if not file.is_file():
        near = [p.name for p in file.parent.glob("*.toml")] if file.parent.is_dir() else []
        raise DataError("no-such-file", "there is no such file", given=file, available=near)
    with foreign(file, "not-toml", "the file is not TOML"):
        document = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    spec = validate(document)
    return spec if spec.folder is not None else _resolve(spec, file.parent)


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
    for name in ("arguments", "subject", "about", "files"):
        if not isinstance(document.get(name, {}), Mapping):
            raise UsageError("unknown-key", f"[{name}] must be a table", given=document[name])
    spec = Spec(
        kind=str(kind),
        arguments=dict(document.get("arguments", {})),
        subject=dict(document.get("subject", {})),
        out=document.get("out"),
        folder=document.get("folder"),
        files=dict(document.get("files", {})),
        about=dict(document.get("about", {})),
    )
    for key, said in spec.about.items():
        if key not in ABOUT:
            raise UsageError("unknown-key", "unknown key in [about]", given=key, available=ABOUT)
        if not isinstance(said, str):
            raise UsageError("unknown-key", f"[about] {key} must be a text", given=said)
    known = [p for p in inspect.signature(spec.function()).parameters if p not in _RUNTIME]
    for key, value in (("out", spec.out), ("folder", spec.folder), *spec.files.items()):
        if value is not None and not isinstance(value, str):
            raise UsageError("unknown-key", f"{key} must be a text", given=value)
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
    for name in ("out", "folder"):
        if getattr(spec, name) is not None:
            lines.append(f"{name} = {_toml(getattr(spec, name))}")
    for name in ("arguments", "subject", "about", "files"):
        table = {k: v for k, v in getattr(spec, name).items() if v is not None and k not in _ONCE}
        if table:
            lines += ["", f"[{name}]", *(f"{_key(k)} = {_toml(v)}" for k, v in table.items())]
    return "\n".join(lines) + "\n"


def _resolve(spec: Spec, folder: Path) -> Spec:
    """Arguments that name a file beside the spec become paths from here."""

    def resolved(value: Any) -> Any:
        if isinstance(value, str) and not Path(value).is_absolute() and _is_file(folder / value):
            return str(folder / value)
        if isinstance(value, list):
            return [resolved(v) for v in value]
        return value

    arguments = {k: resolved(v) for k, v in spec.arguments.items()}
    data = arguments.get("data")
    if isinstance(data, str) and glob.glob(str(folder / data)):  # a folder, or a pattern of files
        arguments["data"] = str(folder / data)
    journal = arguments.get("journal")
    if isinstance(journal, str) and not Path(journal).is_absolute():
        arguments["journal"] = str(folder / journal)
    out = None if spec.out is None else str(folder / spec.out)
    return replace(spec, arguments=arguments, out=out)


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

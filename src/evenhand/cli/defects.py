"""What is left of a defect of evenhand itself: a short report in a file, never a traceback on the screen."""

from __future__ import annotations

import os
import platform
import shlex
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path

from evenhand._errors import DataError
from evenhand._files import write_whole
from evenhand._version import __version__

EXIT_CODE = 4
DEEPEST = 30
"""Calls that the report shows."""


def report(error: BaseException, arguments: Sequence[str]) -> str:
    """Write the report of `error`, and say in a few lines that it is our fault and where the report is."""
    said = f"a defect of evenhand: {type(error).__name__}"
    try:
        path = write_whole(where(), _text(error, arguments), private=True)
    except DataError:  # neither place can be written: then it is said here
        return f"{said}\n{_text(error, arguments)}"
    return (
        f"{said}. This should not have happened, and no verdict came of it.\n"
        f"  report:    {path} (`evenhand doctor --last` shows it; it may quote your data)\n"
        "  hint:      every reply that had arrived is kept; please send the report with what you did"
    )


def last() -> str:
    """The report of the last defect.

    Raises:
        DataError: there was none.
    """
    path = where()
    if not path.is_file():
        raise DataError("no-such-file", "no defect has been reported here", given=path)
    return path.read_text("utf-8")


def where() -> Path:
    """Where the report goes: the user's folder of states, else the one for temporary files."""
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    try:
        folder = Path(state).expanduser() / "evenhand"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except (OSError, RuntimeError):
        folder = Path(tempfile.gettempdir())
    return folder / "last-defect.txt"


def _text(error: BaseException, arguments: Sequence[str]) -> str:
    frames = traceback.extract_tb(error.__traceback__)[-DEEPEST:]
    calls = [f"  {_place(f.filename)}:{f.lineno} {f.name}: {f.line}" for f in frames]
    return "\n".join(
        [
            f"evenhand {__version__}, Python {platform.python_version()}, {platform.platform()}",
            f"command: evenhand {shlex.join(arguments)}",
            f"{type(error).__name__}: {str(error)[:500]}",
            *calls,
            "",
        ]
    )


def _place(file: str) -> str:
    """The end of a path, from the package on: not where it is installed."""
    parts = Path(file).parts
    start = max((i for i, part in enumerate(parts) if part == "site-packages"), default=len(parts) - 4)
    return "/".join(parts[max(start + 1, 0) :])

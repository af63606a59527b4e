"""Files are written whole or not at all: a full disk or a kill spoils no older file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from evenhand._errors import DataError


def write_whole(path: str | os.PathLike[str], text: str) -> Path:
    """`text` as the UTF-8 file `path`, complete or not at all; folders on the way are made.

    Raises:
        DataError: `cannot-write`, with the reason of the system.
    """
    target = Path(path)
    try:
        _replace_file(target, text)
    except OSError as error:
        raise DataError(
            "cannot-write", f"the file cannot be written: {error.strerror or error}", given=target
        ) from error
    return target


def _replace_file(target: Path, text: str) -> None:
    if target.exists() and not target.is_file():  # /dev/stdout and other devices have no rename
        target.write_text(text, "utf-8", newline="")
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    draft = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as out:
            out.write(text)
        draft.chmod(_mode(target))
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _mode(target: Path) -> int:
    """The permissions of the file that is replaced, or those of any new file (mkstemp alone gives 0600)."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


FORMULA_STARTS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
"""What makes a spreadsheet run a cell; full-width forms count in some locales."""


def inert_cell(text: str) -> str:
    r"""A text for a cell of CSV: an apostrophe before what a spreadsheet would run, no control characters
    but tabs and line ends.

    >>> inert_cell("=1+1"), inert_cell("a\x1b[2J"), inert_cell("fine")
    ("'=1+1", 'a�[2J', 'fine')
    """
    shown = "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)
    return (
        f"'{shown}" if text[:1] in ("\t", "\r", "\n") or shown.lstrip().startswith(FORMULA_STARTS) else shown
    )

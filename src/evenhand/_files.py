"""The boundary to files: written whole or not at all; read with every failure of a reader in our words, and
with a bound on what a small packed file may unpack to."""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO

from evenhand._errors import DataError, EvenhandError

MOST_UNPACKED = 512
"""MB that any packed file may unpack to; see `unpacking`."""
MOST_EXPANSION = 50
"""Times its own size that a packed file may unpack to, where that is more: honest text packs 3 to 20 times"""
MOST_MEMBERS = 10_000
"""Files in one archive."""
_most_unpacked: ContextVar[int] = ContextVar("_most_unpacked", default=MOST_UNPACKED)


@contextmanager
def foreign(
    path: object, slug: str = "unreadable-file", what: str = "the file cannot be read"
) -> Iterator[None]:
    """Whatever a reader of somebody else's file raises, as a DataError `slug` that names the file.

    Only reading and checking stand inside: a defect of ours in there would be told as damage of the file.

    >>> with foreign("a.json"):
    ...     [][0]
    Traceback (most recent call last):
    evenhand._errors.DataError: the file cannot be read: list index out of range
      given:     a.json
      [unreadable-file]
    """
    try:
        yield
    except EvenhandError:
        raise
    except RecursionError as error:
        raise DataError(slug, f"{what}: it is nested too deeply", given=path) from error
    except MemoryError as error:
        raise DataError(
            slug, f"{what}: what it claims to hold does not fit into memory", given=path
        ) from error
    except Exception as error:
        raise DataError(slug, f"{what}: {brief(error)}", given=path) from error


def brief(error: BaseException) -> str:
    """The first line of what an exception says, at most 200 characters; its name where it says nothing."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


def unpacking(megabytes: int) -> None:
    """From now on packed files may unpack to so many MB, however small they are (`--most-unpacked`)."""
    _most_unpacked.set(megabytes)


def bounded(file: IO[bytes], path: Path) -> io.BufferedReader:
    """The unpacked stream `file` of the packed file `path`, refused where it grows beyond all proportion.

    Raises:
        DataError: `unpacks-to-much`, while reading.
    """
    return io.BufferedReader(_Bounded(file, path))


def check_unpacked(size: int, path: Path, *, members: int = 1) -> None:
    """Whether `size` bytes in `members` files, all that `path` unpacks to, are in proportion.

    Raises:
        DataError: `unpacks-to-much`.
    """
    most = max(_most_unpacked.get() << 20, MOST_EXPANSION * path.stat().st_size)
    if size > most or members > MOST_MEMBERS:
        beyond = f"{most >> 20:,} MB" if size > most else f"{MOST_MEMBERS:,} files"
        raise DataError(
            "unpacks-to-much",
            f"this packed file of {path.stat().st_size:,} bytes unpacks to more than {beyond}",
            given=path,
            hint="if you trust it, unpack it yourself, or allow more: evenhand --most-unpacked MB …",
        )


def check_zip(path: Path) -> None:
    """Whether a zip archive (.npz) says that it unpacks to something in proportion; see `check_unpacked`."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
    check_unpacked(sum(m.file_size for m in members), path, members=len(members))


class _Bounded(io.RawIOBase):
    """A stream that counts what was read of it."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self._file, self._path, self._count = file, path, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        part = self._file.read(len(buffer))
        buffer[: len(part)] = part
        self._count += len(part)
        check_unpacked(self._count, self._path)
        return len(part)

    def close(self) -> None:
        self._file.close()
        super().close()


def sha256(path: str | os.PathLike[str]) -> str:
    """The SHA-256 of a file's bytes, as 64 hex digits."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def check_writable(folder: str | os.PathLike[str]) -> None:
    """Whether files can be written into `folder`, which is made: asked before hours of work, not after.

    Raises:
        DataError: `cannot-write`, with the reason of the system.
    """
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        said = f"nothing can be written into this folder: {error.strerror or error}"
        raise DataError("cannot-write", said, given=folder) from error


def write_whole(path: str | os.PathLike[str], held: str | bytes, *, private: bool = False) -> Path:
    """`held` as the file `path` (text as UTF-8), complete or not at all; folders on the way are made.

    Args:
        private: a new file is for its owner alone (0600), as the journal beside it is.

    Raises:
        DataError: `cannot-write`, with the reason of the system.
    """
    target = Path(path)
    try:
        _replace_file(target, held.encode("utf-8") if isinstance(held, str) else held, private)
    except OSError as error:
        raise DataError(
            "cannot-write", f"the file cannot be written: {error.strerror or error}", given=target
        ) from error
    return target


def _replace_file(target: Path, held: bytes, private: bool) -> None:
    if target.exists() and not target.is_file():  # /dev/stdout and other devices have no rename
        target.write_bytes(held)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(held)
        draft.chmod(_mode(target, private))
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _mode(target: Path, private: bool) -> int:
    """The permissions of the file that is replaced, or those of any new file (mkstemp alone gives 0600)."""
    if target.exists():
        return target.stat().st_mode & 0o777
    if private:
        return 0o600
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

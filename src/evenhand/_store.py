"""The journal: content-addressed replies in one SQLite file, so that nothing is asked, or paid for, twice.

A reply is found by a 16-byte BLAKE2b digest of (subject id, repeat index, input). The subject id carries
model, version and parameters, so a changed model never answers from an old reply. One transaction per
arrived batch, WAL and ``synchronous=FULL``: a row that was acknowledged survives ``kill -9``.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evenhand._errors import JournalError
from evenhand._model import BoolArray, FloatArray, Replies

APPLICATION_ID = 0x45564E48  # "EVNH": tells our files from other programs' databases
SCHEMA_VERSION = 1
_CHUNK = 500  # keys in one SELECT; SQLite's default limit of variables is far above

_SCHEMA = """
CREATE TABLE shapes (
    id INTEGER PRIMARY KEY, subject TEXT NOT NULL, names TEXT NOT NULL, UNIQUE (subject, names)
);
CREATE TABLE replies (
    key BLOB PRIMARY KEY, shape INTEGER NOT NULL REFERENCES shapes (id), scores BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE inputs (
    id INTEGER PRIMARY KEY, key BLOB NOT NULL, repeat INTEGER NOT NULL, input TEXT NOT NULL,
    created REAL NOT NULL
);
"""


def _text_of(value: Any) -> str:
    """The input as text. Anything but a string is canonical JSON behind a NUL, so that 1 and "1" differ."""
    if isinstance(value, str):
        return value
    return "\0" + json.dumps(value, sort_keys=True, default=_plain, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise JournalError(
        "journal-input",
        "this input cannot be kept in a journal",
        given=type(value).__name__,
        expected="text, or values that JSON can hold",
        hint="run with journal=None (--no-cache)",
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """What a journal knows of a batch: scores (n,), NaN where missing, and which rows are missing (n,)."""

    scores: dict[str, FloatArray]
    missing: BoolArray


class Journal:
    """Replies that have arrived, in one SQLite file that several processes may share.

    Args:
        path: the file; created with permissions 0600. A file of another program, or of a newer evenhand, is
            refused and left as it is.

    Raises:
        JournalError: the file is not a journal, is damaged, or cannot be written.

    >>> import tempfile, numpy as np
    >>> folder = tempfile.mkdtemp()
    >>> with Journal(folder + "/journal.sqlite") as journal:
    ...     journal.put("model-1", ["a", "b"], Replies(scores={"score": np.array([0.5, 1.0])}))
    ...     journal.get("model-1", ["b", "c"])
    {0: {'score': 1.0}}
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._shapes: dict[tuple[str, tuple[str, ...]], int] = {}
        self._names: dict[int, tuple[str, ...]] = {}
        self._connection = self._open()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; what was put is on disk already."""
        self._connection.close()

    def get(self, subject_id: str, inputs: Sequence[Any], *, repeat: int = 0) -> dict[int, dict[str, float]]:
        """The replies that are known: row → scores, for those of `inputs` that were answered before."""
        known = self.fetch(subject_id, inputs, repeat=repeat)
        answered = np.flatnonzero(~known.missing)
        return {int(r): {n: float(c[r]) for n, c in known.scores.items() if c[r] == c[r]} for r in answered}

    def fetch(self, subject_id: str, inputs: Sequence[Any], *, repeat: int = 0) -> Known:
        """The same in columns: scores of length n, and which rows are still missing."""
        keys = _keys(subject_id, inputs, repeat)
        found = self._lookup(keys)
        hits = [found.get(address) for address in keys]
        missing = np.array([hit is None for hit in hits], dtype=np.bool_)
        shapes = np.array([-1 if hit is None else hit[0] for hit in hits], dtype=np.int64)
        scores: dict[str, FloatArray] = {}
        for shape in set(shapes[~missing].tolist()):
            at = shapes == shape
            names = self._names_of(shape)
            blobs = b"".join([hit[1] for hit in hits if hit is not None and hit[0] == shape])
            values = np.frombuffer(blobs, dtype="<f8").reshape(-1, len(names))
            for name, column in zip(names, values.T, strict=True):
                scores.setdefault(name, np.full(len(keys), np.nan))[at] = column
        return Known(scores=scores, missing=missing)

    def put(self, subject_id: str, inputs: Sequence[Any], replies: Replies, *, repeat: int = 0) -> None:
        """Keep the replies that arrived, in one transaction; rows with an error are left to be asked
        again."""
        names = tuple(replies.scores)
        if not names or not len(inputs):
            return
        values = np.column_stack([replies.scores[n] for n in names]).astype("<f8")
        now = time.time()
        keys = _keys(subject_id, inputs, repeat)
        with self._guard(), self._connection as connection:
            connection.execute("BEGIN IMMEDIATE")
            shape = self._shape(subject_id, names)
            arrived = [row for row in range(len(inputs)) if row not in replies.errors]
            connection.executemany(
                "INSERT OR IGNORE INTO replies VALUES (?, ?, ?)",
                [(keys[row], shape, values[row].tobytes()) for row in arrived],
            )
            connection.executemany(
                "INSERT INTO inputs (key, repeat, input, created) VALUES (?, ?, ?, ?)",
                [(keys[row], repeat, _text_of(inputs[row]), now) for row in arrived],
            )
        self._shapes[(subject_id, names)] = shape  # only now: a transaction that was interrupted wrote none

    def stats(self) -> list[dict[str, Any]]:
        """Per subject: replies held, characters of input, first and last arrival (seconds since 1970)."""
        with self._guard():
            cursor = self._connection.execute(
                "SELECT subject, count(*), sum(length(input)), min(created), max(created)"
                " FROM (SELECT key, input, min(created) AS created FROM inputs GROUP BY key)"
                " JOIN replies USING (key) JOIN shapes ON shapes.id = shape GROUP BY subject ORDER BY subject"
            )
            keys = ("subject", "replies", "characters", "first", "last")
            return [dict(zip(keys, row, strict=True)) for row in cursor]

    def rows(self, subject: str | None = None) -> Iterator[dict[str, Any]]:
        """Every reply as a mapping: subject, repeat, input, and one entry per score; for `evenhand journal
        export`."""
        with self._guard():
            cursor = self._connection.execute(
                "SELECT subject, names, repeat, input, scores FROM inputs JOIN replies USING (key)"
                " JOIN shapes ON shapes.id = shape WHERE :subject IS NULL OR subject = :subject"
                " GROUP BY key ORDER BY min(inputs.id)",
                {"subject": subject},
            )
            for name, names, repeat, text, scores in cursor:
                values = np.frombuffer(scores, dtype="<f8").tolist()
                yield {
                    "subject": name,
                    "repeat": repeat,
                    "input": text,
                    **dict(zip(json.loads(names), values, strict=True)),
                }

    def prune(self, *, subject: str | None = None, before: float | None = None) -> int:
        """Delete the replies of one subject, or those that arrived before a time; the number deleted."""
        with self._guard(), self._connection as connection:
            connection.execute("BEGIN IMMEDIATE")
            cursor = connection.execute(
                "DELETE FROM replies WHERE (:subject IS NULL OR shape IN (SELECT id FROM shapes WHERE"
                " subject = :subject))"
                " AND (:before IS NULL OR key IN (SELECT key FROM inputs WHERE created < :before))",
                {"subject": subject, "before": before},
            )
            deleted = cursor.rowcount
            connection.execute("DELETE FROM inputs WHERE key NOT IN (SELECT key FROM replies)")
        with self._guard():
            self._connection.execute("VACUUM")
        return deleted

    def _lookup(self, keys: Sequence[bytes]) -> dict[bytes, tuple[int, bytes]]:
        found: dict[bytes, tuple[int, bytes]] = {}
        wanted = list(dict.fromkeys(keys))
        with self._guard():
            for start in range(0, len(wanted), _CHUNK):
                part = wanted[start : start + _CHUNK]
                marks = ",".join("?" * len(part))
                query = f"SELECT key, shape, scores FROM replies WHERE key IN ({marks})"  # noqa: S608 - marks only
                rows = self._connection.execute(query, part).fetchall()
                found.update(zip([row[0] for row in rows], [row[1:] for row in rows], strict=True))
        return found

    def _names_of(self, shape: int) -> tuple[str, ...]:
        if shape not in self._names:
            with self._guard():
                row = self._connection.execute("SELECT names FROM shapes WHERE id = ?", (shape,)).fetchone()
                self._names[shape] = tuple(json.loads(row[0]))
        return self._names[shape]

    def _shape(self, subject_id: str, names: tuple[str, ...]) -> int:
        known = self._shapes.get((subject_id, names))
        if known is None:
            written = (subject_id, json.dumps(list(names)))
            self._connection.execute("INSERT OR IGNORE INTO shapes (subject, names) VALUES (?, ?)", written)
            row = self._connection.execute(
                "SELECT id FROM shapes WHERE subject = ? AND names = ?", written
            ).fetchone()
            known = int(row[0])
        return known

    def _open(self) -> sqlite3.Connection:
        fresh = not self.path.exists() or self.path.stat().st_size == 0
        if fresh:
            self._create_private()
        with self._guard():
            connection = sqlite3.connect(self.path, timeout=60, isolation_level=None, check_same_thread=False)
            try:
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
        return connection

    def _create_private(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY, 0o600))
        except OSError as error:
            raise JournalError(
                "journal-unwritable", f"the journal cannot be created: {error.strerror}", given=self.path
            ) from error

    def _prepare(self, connection: sqlite3.Connection) -> None:
        def pragma(name: str) -> int:
            return int(connection.execute(f"PRAGMA {name}").fetchone()[0])

        connection.execute("BEGIN IMMEDIATE")  # two processes may meet a fresh file at the same time
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if tables == 0 and pragma("application_id") in (0, APPLICATION_ID):
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        connection.execute("COMMIT")
        if pragma("application_id") != APPLICATION_ID:
            raise self._refuse("it is a database of another program")
        if pragma("user_version") > SCHEMA_VERSION:
            raise self._refuse("a newer evenhand wrote it")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA cache_size = -65536")  # 64 MiB: keys are random, so pages are revisited

    def _refuse(self, why: str) -> JournalError:
        return JournalError(
            "journal-foreign",
            f"the journal cannot be used: {why}",
            given=self.path,
            expected="a journal written by this version of evenhand, or a path where no file is yet",
            hint="name another file with --journal; this one was left as it is",
        )

    @contextlib.contextmanager
    def _guard(self) -> Iterator[None]:
        """SQLite's errors in our words; a full disk or a read-only file must not look like a bug."""
        try:
            yield
        except (UnicodeDecodeError, TypeError, ValueError) as error:
            raise self._refuse(f"it is damaged ({error})") from error
        except sqlite3.DatabaseError as error:
            text = str(error)
            if "not a database" in text or "malformed" in text:
                raise self._refuse(f"it is damaged or not a journal ({text})") from error
            hint = "free some space and run the same command again: every reply that had arrived is kept"
            raise JournalError(
                "journal-unwritable", f"the journal cannot be written: {text}", given=self.path, hint=hint
            ) from error


def _keys(subject_id: str, inputs: Sequence[Any], repeat: int) -> list[bytes]:
    head = hashlib.blake2b(f"{subject_id}\0{repeat}\0".encode(), digest_size=16)
    keys = []
    for value in inputs:
        digest = head.copy()
        text = value if type(value) is str else _text_of(value)
        digest.update(text.encode("utf-8", "surrogatepass"))
        keys.append(digest.digest())
    return keys

"""The file of a journal: its tables, how it is opened, an older one brought up to date, SQLite's errors."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path

from evenhand._errors import JournalError

APPLICATION_ID = 0x45564E48  # "EVNH": tells our files from other programs' databases
SCHEMA_VERSION = 3
PATIENCE = 60.0
"""Seconds that a write waits for another process to end its own."""

_REPLIES = """
CREATE TABLE shapes (
    id INTEGER PRIMARY KEY, subject TEXT NOT NULL, reading TEXT NOT NULL, names TEXT NOT NULL,
    UNIQUE (subject, reading, names)
);
CREATE TABLE arrivals (id INTEGER PRIMARY KEY, created REAL NOT NULL, answers BLOB);
CREATE TABLE replies (
    key BLOB PRIMARY KEY, shape INTEGER NOT NULL REFERENCES shapes (id), scores BLOB NOT NULL,
    arrival INTEGER NOT NULL REFERENCES arrivals (id), place INTEGER
) WITHOUT ROWID;
CREATE TABLE inputs (id INTEGER PRIMARY KEY, key BLOB NOT NULL, repeat INTEGER NOT NULL, input TEXT NOT NULL);
CREATE TABLE failures (
    key BLOB PRIMARY KEY, subject TEXT NOT NULL, reading TEXT NOT NULL, repeat INTEGER NOT NULL,
    input TEXT NOT NULL, reason TEXT NOT NULL, arrival INTEGER NOT NULL REFERENCES arrivals (id),
    place INTEGER
) WITHOUT ROWID;
"""
_RUNS = """
CREATE TABLE runs (id INTEGER PRIMARY KEY, subject TEXT NOT NULL, began REAL NOT NULL, finished REAL);
CREATE TABLE holders (
    id TEXT PRIMARY KEY, host TEXT NOT NULL, pid INTEGER NOT NULL, born TEXT NOT NULL, expires REAL NOT NULL
);
CREATE TABLE claims (
    id TEXT PRIMARY KEY, holder TEXT NOT NULL, keys BLOB NOT NULL, since REAL NOT NULL DEFAULT 0
);
CREATE TABLE ledger (scope TEXT PRIMARY KEY, calls REAL NOT NULL, money REAL NOT NULL);
CREATE TABLE holds (
    holder TEXT NOT NULL, scope TEXT NOT NULL, calls REAL NOT NULL, money REAL NOT NULL,
    PRIMARY KEY (holder, scope)
);
"""
_JOBS = """
CREATE TABLE tokens (scope TEXT PRIMARY KEY, sent REAL NOT NULL, received REAL NOT NULL);
CREATE TABLE jobs (
    token TEXT PRIMARY KEY, scope TEXT NOT NULL, name TEXT NOT NULL, began REAL NOT NULL,
    size INTEGER NOT NULL, keys BLOB NOT NULL, places BLOB NOT NULL
);
"""
_SET_ASIDE_1 = """
ALTER TABLE shapes RENAME TO shapes_1;
ALTER TABLE replies RENAME TO replies_1;
ALTER TABLE inputs RENAME TO inputs_1;
"""
_TAKEN_OVER_1 = """
INSERT INTO shapes SELECT id, subject, '', names FROM shapes_1;
INSERT INTO arrivals (created) SELECT DISTINCT created FROM inputs_1 ORDER BY created;
CREATE INDEX arrivals_1 ON arrivals (created);
CREATE INDEX inputs_key_1 ON inputs_1 (key, created);
INSERT INTO replies
    SELECT key, shape, scores, (
        SELECT id FROM arrivals
        WHERE created = (SELECT min(created) FROM inputs_1 WHERE inputs_1.key = replies_1.key)
    ), NULL
    FROM replies_1 WHERE key IN (SELECT key FROM inputs_1);
INSERT INTO inputs SELECT id, key, repeat, input FROM inputs_1;
DROP INDEX arrivals_1;
DROP TABLE inputs_1;
DROP TABLE replies_1;
DROP TABLE shapes_1;
"""
_FROM = {
    1: _SET_ASIDE_1 + _REPLIES + _TAKEN_OVER_1 + _RUNS + _JOBS,
    2: "ALTER TABLE claims ADD COLUMN since REAL NOT NULL DEFAULT 0;" + _JOBS,
}
"""Version → how it is brought up to date. Version 1 kept no raw answers: its scores stay, as the ones of a
reading without a name; version 2 knew of no batch jobs and counted no tokens."""


class JournalFile:
    """One connection to a journal's file, for all threads of a process and, opened anew, of its forks."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = threading.RLock()
        self._abandoned: list[
            sqlite3.Connection
        ] = []  # of before a fork: to close it here would harm the parent
        self._durable = True
        self.writes = 0
        self.closed = False
        self._open()
        _OPENED.add(self)

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The connection, for one thread at a time."""
        with self.lock, self._guard():
            if self._pid != os.getpid():
                self._abandoned.append(self.connection)
                self._open()
            yield self.connection

    @contextlib.contextmanager
    def writing(self, *, durable: bool = True) -> Iterator[sqlite3.Connection]:
        """A transaction: all of it, or nothing.

        Args:
            durable: on disk before it returns (``synchronous=FULL``), as replies must be. Claims need not
                survive a power failure: nobody who made one does.
        """
        with self.reading() as connection:
            if durable != self._durable:
                connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
                self._durable = durable
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                yield connection

    def close(self) -> None:
        """Close the connection of this process."""
        if self._pid == os.getpid():
            self.closed = True
            self.connection.close()

    def refuse(self, why: str) -> JournalError:
        """The error for a file that is not ours to write."""
        return JournalError(
            "journal-foreign",
            f"the journal cannot be used: {why}",
            given=self.path,
            expected="a journal written by this version of evenhand, or a path where no file is yet",
            hint="name another file with --journal; this one was left as it is",
        )

    def _open(self) -> None:
        if not self.path.exists() or self.path.stat().st_size == 0:
            self._create_private(self.path)
        with self._guard():
            connection = sqlite3.connect(
                self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
            )
            try:
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
        self.connection, self._pid, self._durable = connection, os.getpid(), True

    def _create_private(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        except OSError as error:
            raise JournalError(
                "journal-unwritable", f"the journal cannot be created: {error.strerror}", given=path
            ) from error

    def _prepare(self, connection: sqlite3.Connection) -> None:
        def pragma(name: str) -> int:
            return int(connection.execute(f"PRAGMA {name}").fetchone()[0])

        with connection:
            connection.execute("BEGIN IMMEDIATE")  # two processes may meet a fresh file at the same time
            tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if tables == 0 and pragma("application_id") in (0, APPLICATION_ID):
                _execute(connection, _REPLIES + _RUNS + _JOBS)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        if pragma("application_id") != APPLICATION_ID:
            raise self.refuse("it is a database of another program")
        if pragma("user_version") > SCHEMA_VERSION:
            raise self.refuse("a newer evenhand wrote it")
        if (version := pragma("user_version")) in _FROM:
            self._bring_up_to_date(connection, version)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA cache_size = -65536")  # 64 MiB: keys are random, so pages are revisited

    def _bring_up_to_date(self, connection: sqlite3.Connection, version: int) -> None:
        """Bring a journal of an older version up to date; a copy of it is kept beside it."""
        copy = next(
            place
            for n in range(1_000)
            if not (
                place := self.path.with_name(f"{self.path.name}.v{version}{f'-{n}' if n else ''}")
            ).exists()
        )
        self._create_private(copy)
        connection.execute("VACUUM INTO ?", (str(copy),))
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            if connection.execute("PRAGMA user_version").fetchone()[0] == version:  # nobody was faster
                _execute(connection, _FROM[version])
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    @contextlib.contextmanager
    def _guard(self) -> Iterator[None]:
        """SQLite's errors in our words; a full disk or a read-only file must not look like a bug."""
        try:
            yield
        except UnicodeDecodeError as error:
            raise self.refuse(f"it is damaged ({error})") from error
        except sqlite3.DatabaseError as error:
            text = str(error)
            if "not a database" in text or "malformed" in text:
                raise self.refuse(f"it is damaged or not a journal ({text})") from error
            if "locked" in text or "busy" in text:
                raise JournalError(
                    "journal-locked",
                    f"another program holds the journal: {self._holder()}",
                    given=self.path,
                    hint="wait until it has ended, or name another file with --journal; every reply that had"
                    " arrived is kept",
                ) from error
            hint = "free some space and run the same command again: every reply that had arrived is kept"
            raise JournalError(
                "journal-unwritable", f"the journal cannot be written: {text}", given=self.path, hint=hint
            ) from error

    def _holder(self) -> str:
        """Who has a write lock on the file or its shared memory, by the kernel's own table (Linux).

        The file is not opened for it: closing it again would drop the locks of our own connection (POSIX).
        """
        files = [self.path, self.path.with_name(f"{self.path.name}-shm")]
        nodes = {str(file.stat().st_ino) for file in files if file.exists()}
        try:
            table = Path("/proc/locks").read_text(encoding="ascii", errors="replace")
        except OSError:
            return "its number cannot be seen on this system"
        held = re.findall(r"(?m)^\d+: \S+\s+\S+\s+WRITE (\d+) \w+:\w+:(\d+) ", table)
        pids = sorted({int(pid) for pid, node in held if node in nodes} - {os.getpid()})
        named = [f"process {pid}{command_of(pid)}" for pid in pids]
        return ", ".join(named) or "it cannot be seen from here (another host, or a container)"


_OPENED: weakref.WeakSet[JournalFile] = weakref.WeakSet()


_HELD: list[threading.RLock] = []


def _hold_all() -> None:
    """Before a fork: nobody is inside SQLite, whose own locks would stay locked in the child for ever."""
    for file in list(_OPENED):
        if file.lock.acquire(timeout=PATIENCE):
            _HELD.append(file.lock)


def _let_go_all() -> None:
    while _HELD:
        _HELD.pop().release()


if hasattr(os, "register_at_fork"):  # the thread that forks is the one that goes on in the child
    os.register_at_fork(before=_hold_all, after_in_parent=_let_go_all, after_in_child=_let_go_all)


def command_of(pid: int) -> str:
    """The name of a process in brackets, where the system tells it."""
    try:
        name = Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
    return f" ({name})"


def _execute(connection: sqlite3.Connection, script: str) -> None:
    for statement in script.split(";"):
        if statement.strip():
            connection.execute(statement)

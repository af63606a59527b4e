"""The journal: content-addressed replies in one SQLite file, so that nothing is asked, or paid for, twice.

A reply is found by a 16-byte BLAKE2b digest of (subject id, repeat index, input). The subject id covers all
that is sent, so a changed model never answers from an old reply. Beside the scores stands how they were read
(`reading`) and, for services, what arrived: another way of reading costs no call. One transaction per arrived
batch, WAL and ``synchronous=FULL``: a row that was acknowledged survives ``kill -9``.
"""

from __future__ import annotations

import copy
import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from evenhand._addresses import keys_of, text_of
from evenhand._answers import packed
from evenhand._contents import held, pruned, sampled, shown, told_of
from evenhand._jobs import Jobs
from evenhand._leases import Leases
from evenhand._model import BoolArray, FloatArray, IntArray, Replies
from evenhand._rereading import Read, read_again, rereadable, rewrite
from evenhand._schema import JournalFile

Row: TypeAlias = tuple[bytes, int, bytes, int]
"""Key, shape, scores and arrival of a reply."""
_CHUNK = 500  # keys in one SELECT; SQLite's default limit of variables is far above


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """What a journal knows of a batch.

    Args:
        scores: name → (n,), NaN where missing. missing: which rows have no score (n,).
        arrivals: which arrival each row came in (n,), -1 where missing.
        reasons: row → why what arrived earlier gives no score.
        stamp: of the journal before it was looked at; see `Journal.stamp`.
    """

    scores: dict[str, FloatArray]
    missing: BoolArray
    arrivals: IntArray
    reasons: dict[int, str] = field(default_factory=dict)
    stamp: tuple[int, int] = (-1, -1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Bill:
    """What the rows of one transaction cost. scope: whose budget it is charged to."""

    scope: str
    calls: float
    money: float


class Journal:
    """Replies that have arrived, in one SQLite file that several processes may share.

    Args:
        path: the file; created with permissions 0600. A file of another program, or of a newer evenhand, is
            refused and left as it is; one of an older evenhand is brought up to date, and a copy is kept.

    Raises:
        JournalError: the file is not a journal, is damaged, is held by another program, or cannot be written.

    >>> import tempfile, numpy as np
    >>> folder = tempfile.mkdtemp()
    >>> with Journal(folder + "/journal.sqlite") as journal:
    ...     journal.put("model-1", ["a", "b"], Replies(scores={"score": np.array([0.5, 1.0])}))
    ...     journal.get("model-1", ["b", "c"])
    {0: {'score': 1.0}}
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._shapes: dict[tuple[str, str, tuple[str, ...]], int] = {}
        self._named: dict[int, tuple[str, tuple[str, ...]]] = {}
        self._runs: dict[str, int] = {}
        self._visits = False
        self.beginning = threading.RLock()
        self._file = JournalFile(self.path)
        self.leases = Leases(self._file)
        self.jobs = Jobs(self._file)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _connection(self) -> sqlite3.Connection:
        return self._file.connection

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._file.closed

    def close(self) -> None:
        """Close the file; what was put is on disk already."""
        self.leases.close()
        if not self._visits:
            self._file.close()

    def visitor(self) -> Journal:
        """Another holder on the same open file: what it claims and holds is its own, and ends when it is
        closed."""
        made = copy.copy(self)
        made.leases, made._visits = Leases(self._file), True
        return made

    def get(self, subject_id: str, inputs: Sequence[Any], *, repeat: int = 0) -> dict[int, dict[str, float]]:
        """The replies that are known: row → scores, for those of `inputs` that were answered before."""
        known = self.fetch(subject_id, inputs, repeat=repeat)
        answered = np.flatnonzero(~known.missing)
        return {int(r): {n: float(c[r]) for n, c in known.scores.items() if c[r] == c[r]} for r in answered}

    def fetch(
        self,
        subject_id: str,
        inputs: Sequence[Any],
        *,
        repeat: int = 0,
        reading: str | None = None,
        read: Read | None = None,
    ) -> Known:
        """The same in columns: scores of length n, and which rows are still missing.

        Args:
            reading: how answers are read now; None for whatever way they were read. Scores that were read
                otherwise are read again from what arrived, once, and are missing where nothing was kept.
            read: reads an answer that arrived.
        """
        return self.known(subject_id, keys_of(subject_id, inputs, repeat), reading, read)

    def known(
        self, subject_id: str, keys: Sequence[bytes], reading: str | None = None, read: Read | None = None
    ) -> Known:
        """What is known of these keys; see `fetch`."""
        with self._file.reading() as connection:
            stamp = self.stamp()
            known = replace(self._gathered(keys, reading), stamp=stamp)
            if reading is None or read is None or not known.missing.any():
                return known
            if not rereadable(connection, subject_id, reading):
                return known
            missing = [keys[row] for row in np.flatnonzero(known.missing).tolist()]
            again = self._read_again(connection, missing, reading, read)
        if not again:
            return known
        found = self._gathered(keys, reading)
        left = np.flatnonzero(found.missing).tolist()
        reasons = {row: again[keys[row]] for row in left if again.get(keys[row])}
        return replace(found, reasons=reasons, stamp=stamp)

    def put(
        self,
        subject_id: str,
        inputs: Sequence[Any],
        replies: Replies,
        *,
        repeat: int = 0,
        reading: str = "",
        bill: Bill | None = None,
    ) -> None:
        """Keep what arrived, in one transaction: scores, raw answers, and what they cost.

        Rows with an error are left to be asked again; their answers and reasons are kept to be looked at.
        """
        if not len(inputs):
            return
        names, keys = tuple(replies.scores), keys_of(subject_id, inputs, repeat)
        arrived = [row for row in range(len(inputs)) if row not in replies.errors]
        columns = [replies.scores[n] for n in names]
        values = np.column_stack(columns).astype("<f8") if columns else np.empty((len(inputs), 0))
        block, places = packed(replies.arrived)
        with self._file.writing() as connection:
            arrival = connection.execute(
                "INSERT INTO arrivals (created, answers) VALUES (?, ?)", (time.time(), block)
            ).lastrowid
            shape = self._shape(subject_id, reading, names) if arrived else 0
            connection.executemany(
                "INSERT INTO replies VALUES (?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET"
                " shape = excluded.shape, scores = excluded.scores, arrival = excluded.arrival,"
                " place = excluded.place WHERE shape <> excluded.shape",
                [(keys[row], shape, values[row].tobytes(), arrival, places.get(row)) for row in arrived],
            )
            connection.executemany(
                "INSERT INTO inputs (key, repeat, input) VALUES (?, ?, ?)",
                [(keys[row], repeat, text_of(inputs[row])) for row in arrived],
            )
            connection.executemany(
                "INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        keys[r],
                        subject_id,
                        reading,
                        repeat,
                        text_of(inputs[r]),
                        str(why),
                        arrival,
                        places.get(r),
                    )
                    for r, why in replies.errors.items()
                ],
            )
            if bill is not None and (bill.calls or bill.money):
                self.leases.settle(connection, bill.scope, bill.calls, bill.money)
            answers = {id(answer.body): answer for answer in replies.arrived.values()}.values()
            sent, received = sum(a.sent for a in answers), sum(a.received for a in answers)
            if sent or received:
                self.leases.count(connection, subject_id, sent, received)
            self._file.writes += 1
        if arrived:  # only now: a transaction that was interrupted wrote none
            self._shapes[subject_id, reading, names] = shape

    def charge(self, bill: Bill) -> None:
        """Enter a bill for answers that are not kept."""
        with self._file.writing() as connection:
            self.leases.settle(connection, bill.scope, bill.calls, bill.money)

    def stamp(self) -> tuple[int, int]:
        """Changes with every reply that is written, by whomever: what was missing may be there then."""
        with self._file.reading() as connection:
            return self._file.writes, int(connection.execute("PRAGMA data_version").fetchone()[0])

    def latest(self) -> int:
        """The number of the last arrival, by whomever; 0 before the first."""
        with self._file.reading() as connection:
            return int(connection.execute("SELECT coalesce(max(id), 0) FROM arrivals").fetchone()[0])

    def reasons(self, keys: Sequence[bytes]) -> dict[bytes, str]:
        """Why those of the keys that were asked and have no reply have none, as it was last told."""
        with self._file.reading() as connection:
            return told_of(connection, keys)

    def answered(self, keys: Sequence[bytes], reading: str) -> set[bytes]:
        """Those of the keys that have a reply of this reading."""
        return {key for key, hit in self._lookup(keys).items() if self._name_of(hit[1])[0] == reading}

    def since(self, stamp: tuple[int, int], reading: str) -> Callable[[Sequence[bytes]], set[bytes]]:
        """What finds those of some keys that were answered since a look at that stamp."""
        return lambda keys: self.answered(keys, reading) if self.stamp() != stamp else set()

    def claim(
        self, keys: Sequence[bytes], reading: str, stamp: tuple[int, int]
    ) -> AbstractContextManager[list[int]]:
        """Positions of the keys that are ours to ask while this is open: nobody else asks them, and nobody
        answered them since the look at that stamp."""
        return self.leases.claim(keys, self.since(stamp, reading))

    def first_and_last(self, arrivals: IntArray) -> tuple[float, float] | None:
        """When the first and the last of these arrivals came (seconds since 1970)."""
        found = arrivals[arrivals >= 0]
        if not len(found):
            return None
        with self._file.reading() as connection:  # they are numbered as they came
            ends = [
                connection.execute("SELECT created FROM arrivals WHERE id = ?", (int(end),)).fetchone()[0]
                for end in (found.min(), found.max())
            ]
        return min(ends), max(ends)

    def unfinished(self, subject_id: str) -> int | None:
        """The number of the last run of a subject that came to no end, or None."""
        with self._file.reading() as connection:
            row = connection.execute(
                "SELECT id FROM runs WHERE subject = ? AND finished IS NULL ORDER BY id DESC", (subject_id,)
            ).fetchone()
        return None if row is None else int(row[0])

    def begin(self, subject_id: str, run: int | None = None) -> int:
        """The number of a run that begins, or goes on (`run`); `finish` ends it."""
        if run is None:
            with self._file.writing() as connection:
                run = connection.execute(
                    "INSERT INTO runs (subject, began) VALUES (?, ?)", (subject_id, time.time())
                ).lastrowid
        self._runs[subject_id] = int(run or 0)
        return self._runs[subject_id]

    def begun(self, subject_id: str) -> int | None:
        """The run of a subject that this journal began or went on with."""
        return self._runs.get(subject_id)

    def finish(self) -> None:
        """The audit has all it wanted: replies that hold for one run only are not used by the next."""
        if self._runs:
            with self._file.writing() as connection:
                connection.executemany(
                    "UPDATE runs SET finished = ? WHERE id = ?",
                    [(time.time(), run) for run in self._runs.values()],
                )
        self._runs.clear()

    def sample(self, subject_id: str, n: int) -> list[tuple[str, dict[str, float]]]:
        """Up to `n` texts with their scores, evenly over all that were answered."""
        with self._file.reading() as connection:
            return sampled(connection, subject_id, n)

    def shown(self, *, failed: bool, limit: int) -> list[dict[str, Any]]:
        """What arrived, newest first: subject, input, when, the scores or the reason, and the raw answer.

        Args:
            failed: only inputs that have no reply.
            limit: at most so many.
        """
        with self._file.reading() as connection:
            return shown(connection, failed=failed, limit=limit)

    def stats(self) -> list[dict[str, Any]]:
        """Per subject: replies held, characters of input, first and last arrival (seconds since 1970), and
        the ledger: calls and money charged to a budget, tokens sent and received as the service counted."""
        with self._file.reading() as connection:
            return held(connection)

    def rows(self, subject: str | None = None) -> Iterator[dict[str, Any]]:
        """Every reply as a mapping: subject, repeat, input, and one entry per score; for `evenhand journal
        export`."""
        with self._file.reading() as connection:
            cursor = connection.execute(
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
        with self._file.writing() as connection:
            deleted = pruned(connection, subject, before)
        with self._file.reading() as connection:
            connection.execute("VACUUM")
        return deleted

    def _gathered(self, keys: Sequence[bytes], reading: str | None) -> Known:
        """What is known as it is read now."""
        found = self._lookup(keys)
        shapes_found = {hit[1] for hit in found.values()}
        stale = {s for s in shapes_found if reading is not None and self._name_of(s)[0] != reading}
        nothing: Row = (b"", -1, b"", -1)
        hits = [found.get(key, nothing) for key in keys]
        if stale:
            hits = [nothing if hit[1] in stale else hit for hit in hits]
        _, codes, stored, came = zip(*hits, strict=True) if hits else ((), (), (), ())
        shapes = np.array(codes, dtype=np.int64)
        scores: dict[str, FloatArray] = {}
        for shape in set(shapes[shapes >= 0].tolist()):
            at = shapes == shape
            names = self._name_of(shape)[1]
            blobs = b"".join(stored if at.all() else [stored[row] for row in np.flatnonzero(at).tolist()])
            values = np.frombuffer(blobs, dtype="<f8").reshape(-1, len(names))
            for name, column in zip(names, values.T, strict=True):
                scores.setdefault(name, np.full(len(keys), np.nan))[at] = column
        return Known(scores=scores, missing=shapes < 0, arrivals=np.array(came, dtype=np.int64))

    def _read_again(
        self, connection: sqlite3.Connection, keys: Sequence[bytes], reading: str, read: Read
    ) -> dict[bytes, str]:
        """Key → why what arrived for it gives no score as it is read now; empty where it gives one."""
        found, told = read_again(connection, keys, reading, read)
        if told:
            with self._file.writing() as connection:
                rewrite(
                    connection,
                    [
                        (self._shape(subject, reading, names), values, key)
                        for key, subject, names, values in found
                    ],
                    reading,
                    {key: why for key, why in told.items() if why},
                )
        return told

    def _lookup(self, keys: Sequence[bytes]) -> dict[bytes, Row]:
        found: dict[bytes, Row] = {}
        wanted = sorted(set(keys))  # neighbours lie on one page of the file
        with self._file.reading() as connection:
            for start in range(0, len(wanted), _CHUNK):
                part = wanted[start : start + _CHUNK]
                marks = ",".join("?" * len(part))
                query = f"SELECT key, shape, scores, arrival FROM replies WHERE key IN ({marks})"  # noqa: S608 - marks only
                rows = connection.execute(query, part).fetchall()
                found.update(zip(map(itemgetter(0), rows), rows, strict=True))
        return found

    def _name_of(self, shape: int) -> tuple[str, tuple[str, ...]]:
        """(how it was read, names of the scores) of a shape."""
        if shape not in self._named:
            with self._file.reading() as connection:
                row = connection.execute(
                    "SELECT reading, names FROM shapes WHERE id = ?", (shape,)
                ).fetchone()
            if row is None:
                raise self._file.refuse(f"it is damaged (replies of a shape {shape} that is not there)")
            self._named[shape] = (row[0], tuple(json.loads(row[1])))
        return self._named[shape]

    def _shape(self, subject_id: str, reading: str, names: tuple[str, ...]) -> int:
        known = self._shapes.get((subject_id, reading, names))
        if known is None:
            written = (subject_id, reading, json.dumps(list(names)))
            with self._file.reading() as connection:
                connection.execute(
                    "INSERT OR IGNORE INTO shapes (subject, reading, names) VALUES (?, ?, ?)", written
                )
                row = connection.execute(
                    "SELECT id FROM shapes WHERE subject = ? AND reading = ? AND names = ?", written
                ).fetchone()
            known = int(row[0])
        return known


def opened(journal: str | os.PathLike[str] | Journal | None) -> AbstractContextManager[Journal | None]:
    """The journal of a path, which is closed again; what is open already, or none, as it is."""
    return Journal(journal) if isinstance(journal, str | os.PathLike) else nullcontext(journal)

"""A subject that asks the journal first: what arrived is kept, and whoever shares the file asks once."""

from __future__ import annotations

import datetime
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from evenhand._addresses import keys_of
from evenhand._book import Book
from evenhand._errors import JournalError
from evenhand._model import Replies, Subject, layers, traits_of
from evenhand._rereading import Read
from evenhand._store import Journal, Known
from evenhand.subjects.batch_job import Owner
from evenhand.subjects.wrappers import (
    Arrivals,
    Budgeted,
    Purse,
    Rows,
    arrivals,
    gather,
    passing_on,
)

CANARY = 20
"""Journalled inputs that are asked again before a run of code with unseen state goes on."""
ROUNDING = 1e-5
"""Relative difference of two scores that is arithmetic (another batch, another thread), not another model."""
LOOK, LOOK_MOST = 0.02, 0.5
"""Seconds after which one looks whether somebody else's answer has arrived, at first and at most."""
PATIENT, PATIENT_MOST = 10.0, 600.0
"""Seconds without a new answer after which one says who is waited for, at first and at most between lines."""
HUNG = 1_800.0
"""Seconds without a new answer after which one who lives and asks counts as hung: far above any time-out.
A subject that wants everything in one call (a batch job) may take its time."""
UNASKED = "no answer in the journal, and nothing is asked"
"""The reason of a row that was never asked, where nothing may be."""
_log = logging.getLogger("evenhand")


@dataclass
class Reused:
    """How many rows of a run came from the journal, and of when they are.

    Args:
        rows: rows in all, counted by who asks. known: those that the journal had.
        first, last: when the first and the last of the known arrived, seconds since 1970.
        before: the last arrival before the run began; what came later was asked by it. None: all count.
    """

    rows: int = 0
    known: int = 0
    first: float | None = None
    last: float | None = None
    before: int | None = None

    def record(self) -> dict[str, Any]:
        """For the provenance of a result."""
        ends = {name: _moment(at) for name, at in (("first", self.first), ("last", self.last)) if at}
        return {"replies": self.rows, "from_journal": self.known, **ends}

    def sentence(self) -> str:
        """For the reader: how many replies were not asked now; empty where all were."""
        if self.first is None or self.last is None:
            return ""
        days = [_moment(at)[:10] for at in (self.first, self.last)]
        when = f"of {days[0]}" if days[0] == days[1] else f"of {days[0]} to {days[1]}"
        return f"{self.known:,} of {self.rows:,} replies came from the journal ({when})."

    def join(self, other: Reused) -> None:
        """Count what another run counted."""
        self.rows += other.rows
        ends = None if other.first is None or other.last is None else (other.first, other.last)
        self.add(other.known, ends)

    def add(self, known: int, span: tuple[float, float] | None) -> None:
        """So many more rows that were known, from this span of time."""
        self.known += known
        if span is not None:
            self.first = span[0] if self.first is None else min(self.first, span[0])
            self.last = span[1] if self.last is None else max(self.last, span[1])


def _moment(at: float) -> str:
    return datetime.datetime.fromtimestamp(at, datetime.UTC).isoformat(timespec="seconds")


@dataclass(frozen=True, kw_only=True)
class Cached:
    """Asks the journal first and keeps what arrives; equal inputs are asked once.

    What another process or thread is asking is waited for. Code whose state cannot be seen (`Traits.reuse`)
    is answered by the journal only to finish a run that came to no end, after a look whether it still answers
    the same.

    Args:
        journal: the open file, or what stands for it on another machine, which then needs `address`.
        repeat: index of a deliberate repetition; different indices never share a reply.
        asks: whether anything is asked at all; else what the journal lacks is an error of its row.
        reused: counts what came from the journal.
        address: under which name the replies are kept; by default as `address_of` says.
        waits: called once before somebody else's answers are waited for.
    """

    subject: Subject
    journal: Book
    repeat: int = 0
    asks: bool = True
    reused: Reused = field(default_factory=Reused, compare=False, repr=False)
    address: str = ""
    waits: Callable[[], None] | None = field(default=None, compare=False, repr=False)

    @property
    def id(self) -> str:
        return self.subject.id

    def __call__(self, inputs: Sequence[Any], /) -> Replies:
        return gather(self.arrivals(inputs), len(inputs))

    def arrivals(self, inputs: Sequence[Any], /) -> Arrivals:
        desk = _Desk(self)
        known = desk.fetch(inputs)
        yield from self._of_journal(known, np.arange(len(inputs)))
        positions: dict[Any, list[int]] = {}
        for row in np.flatnonzero(known.missing).tolist():
            value = inputs[row]
            positions.setdefault(value if isinstance(value, str) else repr(value), []).append(row)
        copies = list(positions.values())
        if not self.asks:
            yield from _unasked(copies, desk.reasons(inputs, known))
        elif copies:
            asked = self._asked(desk, [inputs[rows[0]] for rows in copies])
            yield from passing_on(asked, partial(_spread, copies))

    def _of_journal(self, known: Known, rows: Rows) -> Arrivals:
        at = np.flatnonzero(~known.missing)
        if len(at):
            came = known.arrivals[at]
            came = came if self.reused.before is None else came[came <= self.reused.before]
            self.reused.add(len(came), self.journal.first_and_last(came))
            yield rows[at], Replies(scores={n: c[at] for n, c in known.scores.items()})

    def _asked(self, desk: _Desk, unique: list[Any]) -> Arrivals:
        """Distinct inputs: ours are asked, those that somebody else is asking are waited for."""
        waiting, pause = np.arange(len(unique)), LOOK
        watch: _Watch | None = None
        while len(waiting):
            with desk.claimed([unique[at] for at in waiting.tolist()]) as free:
                mine = waiting[free]
                if len(free):
                    yield from desk.ask([unique[at] for at in mine.tolist()], mine)
            waiting = np.delete(waiting, free)
            if not len(waiting):
                return
            if watch is None:
                watch = _Watch(desk)
                if self.waits is not None:
                    self.waits()
            known = desk.fetch([unique[at] for at in waiting.tolist()])
            yield from self._of_journal(known, waiting)
            pause = LOOK if len(free) or not known.missing.all() else min(2 * pause, LOOK_MOST)
            waiting = waiting[known.missing]
            if len(waiting):
                watch.look([unique[at] for at in waiting.tolist()])
                time.sleep(pause)


class _Watch:
    """Says who is waited for, and ends a wait for somebody who lives and does nothing."""

    def __init__(self, desk: _Desk) -> None:
        self.desk, self.latest = desk, desk.journal.latest()
        self.since = self.told = time.monotonic()
        self.next = PATIENT

    def look(self, inputs: Sequence[Any]) -> None:
        """Once a round, with what is still missing.

        Raises:
            JournalError: `claimed-elsewhere`.
        """
        now = time.monotonic()
        latest = self.desk.journal.latest()
        if latest != self.latest:  # an answer was written, by whomever
            self.latest, self.since, self.told, self.next = latest, now, now, PATIENT
            return
        hung = now - self.since > HUNG and not traits_of(self.desk.subject).whole
        if not hung and now - self.told < self.next:
            return
        keys = keys_of(self.desk.address, inputs, self.desk.repeat)
        who = ", ".join(str(each) for each in self.desk.journal.leases.holders_of(keys)) or "nobody by now"
        if hung:
            raise JournalError(
                "claimed-elsewhere",
                f"{len(inputs)} inputs are being asked by another process, and no answer has come for"
                f" {now - self.since:.0f} s",
                given=who,
                hint="end that process, then run the same command again: what it claimed is free at once",
            )
        _log.warning("evenhand: waiting for %d answers that are asked by %s", len(inputs), who)
        self.told, self.next = now, min(2 * self.next, PATIENT_MOST)


class _Desk:
    """What one call of `Cached` needs to know: under which address, and how answers are read."""

    def __init__(self, cached: Cached) -> None:
        self.subject, self.journal, self.repeat = cached.subject, cached.journal, cached.repeat
        book = cached.journal
        self.address = cached.address
        if not self.address and isinstance(book, Journal):
            self.address = address_of(cached.subject, book, asks=cached.asks)
        self.purses: list[Purse] = []
        self.reading, self.read = reading_of(cached.subject)
        for layer in layers(cached.subject):
            if isinstance(layer, Budgeted):
                layer.purse.keep_in(book, self.address)
                self.purses.append(layer.purse)
            if isinstance(owner := getattr(layer, "owner", None), Owner) and isinstance(book, Journal):
                owner.keep_in(book, self.address, self.repeat)  # workers elsewhere send no jobs
            if isinstance(getattr(layer, "reading", None), str):
                break
        self.stamp = (-1, -1)

    def fetch(self, inputs: Sequence[Any]) -> Known:
        known = self.journal.fetch(
            self.address, inputs, repeat=self.repeat, reading=self.reading, read=self.read
        )
        self.stamp = known.stamp
        return known

    def reasons(self, inputs: Sequence[Any], known: Known) -> dict[int, str]:
        """Row → why it has no score, of those that were asked at some time."""
        rows = np.flatnonzero(known.missing).tolist()
        keys = keys_of(self.address, [inputs[row] for row in rows], self.repeat)
        told = self.journal.reasons(keys)
        return {row: told[key] for row, key in zip(rows, keys, strict=True) if key in told} | known.reasons

    def claimed(self, inputs: Sequence[Any]) -> AbstractContextManager[list[int]]:
        """Which of the inputs are ours to ask; while they are, nobody else asks them. Those that were
        answered since we looked are nobody's."""
        return self.journal.claim(keys_of(self.address, inputs, self.repeat), self.reading, self.stamp)

    def ask(self, inputs: list[Any], rows: Rows) -> Arrivals:
        """The replies of the subject, kept on their way."""

        def kept(at: Rows, replies: Replies) -> tuple[Rows, Replies]:
            bills = [bill for purse in self.purses if (bill := purse.bill()) is not None]
            self.journal.put(
                self.address,
                [inputs[row] for row in at.tolist()],
                replies,
                repeat=self.repeat,
                reading=self.reading,
                bill=bills[0] if bills else None,
            )
            return rows[at], replies

        yield from passing_on(arrivals(self.subject, inputs), kept)


def reading_of(subject: Subject) -> tuple[str, Read | None]:
    """How the answers of a subject become scores, and what reads an answer that arrived earlier."""
    for layer in layers(subject):
        if isinstance(reading := getattr(layer, "reading", None), str):
            return reading, getattr(layer, "read", None)
    return "", None


def address_of(subject: Subject, journal: Journal, *, asks: bool = True) -> str:
    """Under which name a journal keeps the replies of a subject: its id, and the run where its id does not
    say everything.

    Raises:
        JournalError: `subject-changed`: a run that came to no end cannot be finished by this subject.
    """
    reuse = traits_of(subject).reuse
    if reuse == "always":
        return subject.id
    with journal.beginning:  # threads that begin together begin one run
        run = journal.begun(subject.id)
        open_run = journal.unfinished(subject.id) if run is None and reuse == "unfinished" else None
        if not asks:
            return _of_run(subject.id, run or open_run or 0)
        if run is None:
            if open_run is not None:
                _check_unchanged(subject, journal, _of_run(subject.id, open_run))
            run = journal.begin(subject.id, open_run)
    return _of_run(subject.id, run)


def _of_run(subject_id: str, run: int) -> str:
    return f"{subject_id} (run {run})"


def _check_unchanged(subject: Subject, journal: Journal, address: str) -> None:
    """Ask some of what is in the journal once more: code that reads other weights by now must not go on."""
    sample = journal.sample(address, CANARY)
    if not sample:
        return
    replies = subject([text for text, _ in sample])
    differ = [
        row
        for row, (_, scores) in enumerate(sample)
        if not all(
            np.isclose(
                replies.scores.get(name, np.full(len(sample), np.nan))[row],
                value,
                rtol=ROUNDING,
                atol=1e-9,
                equal_nan=True,
            )
            for name, value in scores.items()
        )
    ]
    if differ:
        raise JournalError(
            "subject-changed",
            f"the run in this journal cannot go on: asked again, {len(differ)} of {len(sample)} of its probes"
            " have another answer now",
            given=subject.id,
            expected="the same code and weights as when the run began",
            hint="begin anew with another --out or --journal (or --no-cache); if answers vary by chance, say"
            " which model it is with --subject-version",
        )


def _unasked(copies: list[list[int]], reasons: dict[int, str]) -> Arrivals:
    """Rows that the journal cannot answer, where nothing may be asked."""
    rows = [row for same in copies for row in same]
    if rows:
        errors = {
            at: reasons.get(same[0], UNASKED) for at, same in enumerate(same for same in copies for _ in same)
        }
        yield np.array(rows, dtype=np.intp), Replies(scores={}, errors=errors)


def _spread(copies: list[list[int]], rows: Rows, replies: Replies) -> tuple[Rows, Replies]:
    """One reply to every row that asked the same."""
    back = [(at, row) for at, unique in enumerate(rows.tolist()) for row in copies[unique]]
    source = np.array([at for at, _ in back], dtype=np.intp)
    return np.array([row for _, row in back], dtype=np.intp), replies.take(source)

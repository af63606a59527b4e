"""A subject that is asked by an engine's workers: each makes it once, asks its share of the inputs, and keeps
what arrives in the one journal of the audit. Scores come back, texts and answers do not.

The journal is what holds the workers together: claims, budget and ledger are in it, and the line in which the
calls of a rate stand. Workers that see its file use it; the others write to the process that asks, which does
it for them (`clerk`, `by_post`). A worker that dies loses what it had not written; whoever makes its share
again finds the rest there.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import platform
import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from evenhand._book import Book
from evenhand._errors import BudgetSpent, EngineError, JournalError, UsageError
from evenhand._model import Replies, Subject, layers, traits_of
from evenhand._store import Journal
from evenhand.engines import Engine, Postal, Send
from evenhand.subjects.by_post import ByPost
from evenhand.subjects.cached import Cached, Reused, address_of
from evenhand.subjects.clerk import RATES, Clerk
from evenhand.subjects.service import Service
from evenhand.subjects.wrappers import Arrivals, Batched, Budgeted, Limited, Rows, gather

MOST_SHARES = 512
"""Shares of one step at most: beyond, each holds several batches."""


@dataclass(frozen=True, kw_only=True)
class Home:
    """What the workers of one audit have in common.

    Args:
        build: makes the subject. subject_id: whose replies are asked for. address: where they are kept.
        journal: its file. token: a run that only this file knows of. machine: where it is.
        send: to the process that asks, for who does not see the file.
        folder: where names of modules and files are looked for.
    """

    build: Callable[[], Subject]
    subject_id: str
    address: str
    journal: str
    token: str
    machine: str
    send: Send
    folder: str

    @property
    def line(self) -> str:
        """Whose rate it is, by whose clock."""
        return f"{self.machine} {self.subject_id}"


@dataclass(frozen=True, kw_only=True)
class Share:
    """A partition: rows `start` to `stop` of what is asked."""

    start: int
    stop: int

    @property
    def rows(self) -> int:
        """How many there are."""
        return self.stop - self.start

    def __str__(self) -> str:
        return f"probes {self.start + 1:,} to {self.stop:,}"


@dataclass(frozen=True, kw_only=True)
class Answered:
    """What a worker sends back. stopped: why it ended early; empty where it did not."""

    rows: Rows
    replies: Replies
    reused: Reused
    stopped: str = ""


@dataclass(frozen=True, kw_only=True)
class Scattered:
    """Asks where the workers of an engine are; see `spread`.

    Args:
        subject: what they ask, for its id and its traits; it is not asked here.
        batch_size: inputs in one call of the subject. repeat: as in `Cached`.
    """

    subject: Subject
    home: Home
    engine: Engine
    batch_size: int
    repeat: int = 0
    reused: Reused = field(default_factory=Reused, compare=False, repr=False)

    @property
    def id(self) -> str:
        return self.subject.id

    def repetition(self, repeat: int, reused: Reused) -> Scattered:
        """The same for one deliberate repetition, which counts what came from the journal."""
        return replace(self, repeat=repeat, reused=reused)

    def __call__(self, inputs: Sequence[Any], /) -> Replies:
        return gather(self.arrivals(inputs), len(inputs))

    def arrivals(self, inputs: Sequence[Any], /) -> Arrivals:
        """The shares, in order. Where the budget ends, all are waited for: what they asked is paid.

        Raises:
            BudgetSpent; EngineError: `partition-lost`, `partition-failed`, `engine-version`. What the subject
            or the journal raised where it was asked.
        """
        work = ShareWork(
            home=self.home,
            packed=pickle.dumps(inputs),
            call=uuid.uuid4().hex,
            batch_size=self.batch_size,
            repeat=self.repeat,
            before=self.reused.before,
        )
        shares = _shares(len(inputs), self.batch_size)
        stopped = ""
        for share, found in zip(shares, self.engine.map(work, shares), strict=True):
            self.reused.join(found.reused)
            stopped = stopped or found.stopped
            yield share.start + found.rows, found.replies
        if stopped:
            raise BudgetSpent("budget-spent", stopped)


def _shares(n: int, batch: int) -> list[Share]:
    """Whole batches side by side, at most `MOST_SHARES` shares.

    >>> [str(share) for share in _shares(5, 2)]
    ['probes 1 to 2', 'probes 3 to 4', 'probes 5 to 5']
    """
    rows = batch * max(1, -(-n // (batch * MOST_SHARES)))
    return [Share(start=start, stop=min(start + rows, n)) for start in range(0, n, rows)]


@contextlib.contextmanager
def spread(
    subject: Subject, build: Callable[[], Subject], engine: Engine, journal: Journal | None, batch_size: int
) -> Iterator[Scattered]:
    """The subject, asked by the workers of an engine for as long as this is open.

    Args:
        subject: made here. build: makes the same where it is asked; can be pickled.
        journal: on this machine.

    Raises:
        UsageError: `engine-journal`: there is none; `engine`: the subject wants everything in one call, or
            workers of this engine cannot write to this process.
        JournalError: `subject-changed`.
    """
    if journal is None:
        raise UsageError(
            "engine-journal",
            "workers share what has arrived, the budget and the rate through a journal, and there is none",
            expected="journal= (--journal, or --out)",
        )
    if traits_of(subject).whole:
        raise UsageError(
            "engine",
            "this subject wants everything in one call, so there is nothing to spread",
            given=subject.id,
        )
    if not isinstance(engine, Postal):
        raise UsageError("engine", "workers of this engine cannot write to the process that asks")
    address = address_of(subject, journal)
    token, machine = f"engine {uuid.uuid4().hex}", _machine()
    journal.begin(token)
    with (
        Clerk(journal, subject, address, f"{machine} {subject.id}") as clerk,
        engine.post(clerk.answer) as send,
    ):
        home = Home(
            build=build,
            subject_id=subject.id,
            address=address,
            journal=str(journal.path.absolute()),
            token=token,
            machine=machine,
            send=send,
            folder=str(Path.cwd()),
        )
        try:
            yield Scattered(subject=subject, home=home, engine=engine, batch_size=batch_size)
        finally:
            clerk.drain()
            _leave(token)


@dataclass(frozen=True, kw_only=True)
class ShareWork:
    """What a worker does with a share: it asks, and sends back the scores.

    Args:
        packed: the inputs of all shares, pickled. call: stands for them.
        before: the last arrival before the audit began; what came later was asked by it.
    """

    home: Home
    packed: bytes = field(repr=False)
    call: str
    batch_size: int
    repeat: int
    before: int | None

    def __call__(self, share: Share) -> Answered:
        place = _place(self.home)
        if place.call != self.call:
            place.inputs, place.call = pickle.loads(self.packed), self.call  # noqa: S301 - sent by who asks
        inputs = list(place.inputs[share.start : share.stop])
        place.post.share = f"{self.call} {share.start}"
        reused = Reused(before=self.before)
        asked = Cached(
            subject=Batched(subject=place.subject, size=self.batch_size),
            journal=place.book,
            repeat=self.repeat,
            reused=reused,
            address=self.home.address,
            waits=place.begin,
        )
        parts: list[tuple[Rows, Replies]] = []
        stopped = ""
        try:
            for rows, replies in asked.arrivals(inputs):
                parts.append((rows, replace(replies, arrived={})))
        except BudgetSpent as spent:
            stopped = spent.message
        finally:
            for purse in (layer.purse for layer in layers(place.subject) if isinstance(layer, Budgeted)):
                purse.settle()
            place.post.rest()
        rows = np.concatenate([rows for rows, _ in parts]) if parts else np.empty(0, dtype=np.intp)
        replies = gather(parts, len(inputs)).take(rows)
        return Answered(rows=rows, replies=replies, reused=reused, stopped=stopped)


@dataclass(kw_only=True)
class _Place:
    """What a worker makes once for an audit, and the inputs that it was sent last."""

    subject: Subject
    book: Book
    post: ByPost
    inputs: Sequence[Any] = ()
    call: str = ""

    def begin(self) -> None:
        """Tell the keeper of the journal whose share is made here: if one who wrote letters had begun it,
        that one is dead, and is not to be waited for. Who writes letters says it in each."""
        if self.book is not self.post:
            with contextlib.suppress(EngineError):
                self.post.begin()


_PLACES: dict[str, _Place] = {}
"""Token → what this process has made; one at a time."""


def _place(home: Home) -> _Place:
    if home.token not in _PLACES:
        for token in list(_PLACES):
            _leave(token)
        post = ByPost(home.send, home.address)
        book = _file(home) or post
        try:
            with contextlib.chdir(home.folder):
                if home.folder not in sys.path:
                    sys.path.insert(0, home.folder)
                subject = home.build()
            _check_same(subject, home)
        except BaseException:
            book.close()
            raise
        _in_one_line(subject, home.line, book)
        _PLACES[home.token] = _Place(subject=subject, book=book, post=post)
    return _PLACES[home.token]


def _leave(token: str) -> None:
    place = _PLACES.pop(token, None)
    if place is not None:
        place.book.close()


def _file(home: Home) -> Journal | None:
    """The journal of who asks, where its file is on this machine and can be written; else None. A log of
    SQLite's holds among the processes of one machine, whatever file system lies between several."""
    if home.machine != _machine() or not Path(home.journal).is_file():
        return None
    try:
        journal = Journal(home.journal)
    except JournalError:  # another program's, or not ours to write: a container has files of its own
        return None
    if journal.unfinished(home.token) is not None:
        return journal
    journal.close()
    return None


def _check_same(subject: Subject, home: Home) -> None:
    if subject.id != home.subject_id:
        raise UsageError(
            "engine-subject",
            "a worker's subject is another one than that of who asks",
            given=subject.id,
            expected=home.subject_id,
            hint="the same code, packages, and environment variables on both sides",
        )


def _in_one_line(subject: Subject, line: str, book: Book) -> None:
    """Whatever keeps a rate keeps it together with all who share the journal."""
    turn = partial(book.leases.turn, line)
    for layer in layers(subject):
        if isinstance(layer, Limited):
            object.__setattr__(layer, "line", turn)
        if isinstance(layer, Service):
            for name, pace in zip(RATES, layer.paces, strict=True):
                pace.line = partial(turn, name)


def _machine() -> str:
    """This machine since it was started; containers on it are the same machine."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return f"{platform.node()} {os.name}"

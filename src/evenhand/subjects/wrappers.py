"""Wrappers that take a Subject and return a Subject: ``Cached(Retrying(Limited(client)))``.

Each keeps the id of what it wraps, since none changes an answer; its traits are found through `subject`
(`traits_of`).
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, ClassVar, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from evenhand._book import Book
from evenhand._errors import BudgetSpent, CredentialError, JournalError, SubjectError
from evenhand._leases import Spent, affordable
from evenhand._model import FloatArray, Replies, Subject, traits_of
from evenhand._store import Bill
from evenhand.subjects.python import join


class Transient(str):
    """The reason of a row that may succeed when it is asked again; `Retrying` looks for it.

    >>> reason = Transient("HTTP 429", retry_after=2.0)
    >>> reason, reason.retry_after
    ('HTTP 429', 2.0)
    """

    __slots__ = ("retry_after",)
    retry_after: float | None

    def __new__(cls, reason: str, *, retry_after: float | None = None) -> Transient:
        made = super().__new__(cls, reason)
        made.retry_after = retry_after
        return made


Rows: TypeAlias = npt.NDArray[np.intp]
Arrivals: TypeAlias = Iterator[tuple[Rows, Replies]]
"""(rows of the inputs, their replies), in any order, each row at most once."""


@runtime_checkable
class Streaming(Protocol):
    """A subject that can hand over replies as they arrive, so that a journal can keep them at once."""

    @property
    def id(self) -> str: ...

    def __call__(self, inputs: Sequence[Any], /) -> Replies: ...

    def arrivals(self, inputs: Sequence[Any], /) -> Arrivals: ...


def arrivals(subject: Subject, inputs: Sequence[Any]) -> Arrivals:
    """The replies of any subject as they arrive: all at once where it cannot stream."""
    if isinstance(subject, Streaming):
        yield from subject.arrivals(inputs)
    else:
        yield np.arange(len(inputs)), subject(inputs)


def passing_on(stream: Arrivals, change: Callable[[Rows, Replies], tuple[Rows, Replies]]) -> Arrivals:
    """What arrives, changed. An interrupt here or in the reader loses none of it: see `left_of`."""
    arrived: tuple[Rows, Replies] | None = None
    try:
        for item in stream:
            arrived = item
            changed = change(*arrived)
            arrived = None
            yield changed
    except KeyboardInterrupt as interrupt:
        for rows, replies in chain([arrived] if arrived else [], left_of(stream, interrupt)):
            yield change(rows, replies)
        raise


def left_of(stream: Arrivals, interrupt: KeyboardInterrupt) -> Arrivals:
    """What a stream still hands over when it is told of the interrupt: requests in flight are paid for.

    A reader that was interrupted would otherwise just leave it, and a stream that is left only closes.
    """
    if isinstance(stream, Generator):
        with contextlib.suppress(KeyboardInterrupt):
            yield stream.throw(interrupt)
            yield from stream


def gather(parts: Iterable[tuple[Rows, Replies]], n: int, missing: str = "no reply arrived") -> Replies:
    """Arrivals in any order as Replies of length `n`; what never arrived is an error (`missing`)."""
    pieces = list(parts)
    if len(pieces) == 1 and len(pieces[0][0]) == n and np.array_equal(pieces[0][0], np.arange(n)):
        return pieces[0][1]
    order = np.concatenate([rows for rows, _ in pieces]) if pieces else np.empty(0, dtype=np.intp)
    joined = join([replies for _, replies in pieces], [len(rows) for rows, _ in pieces])
    scores: dict[str, FloatArray] = {}
    for name, column in joined.scores.items():
        scores[name] = np.full(n, np.nan)
        scores[name][order] = column
    errors = {int(order[at]): reason for at, reason in joined.errors.items()}
    arrived = {int(order[at]): answer for at, answer in joined.arrived.items()}
    seen = np.zeros(n, dtype=np.bool_)
    seen[order] = True
    errors.update({int(row): missing for row in np.flatnonzero(~seen)})
    return Replies(scores=scores, errors=errors, arrived=arrived)


@dataclass(frozen=True, kw_only=True)
class Batched:
    """Asks in batches of at most `size` inputs and hands over each batch as it arrives.

    A subject that says `batches_itself` gets everything at once.

    >>> from evenhand.subjects import from_callable
    >>> sizes = []
    >>> model = from_callable(lambda xs: sizes.append(len(xs)) or [1.0] * len(xs), id="ones")
    >>> len(Batched(subject=model, size=2)(["a", "b", "c"])), sizes
    (3, [2, 1])
    """

    subject: Subject
    size: int

    @property
    def id(self) -> str:
        return self.subject.id

    def __call__(self, inputs: Sequence[Any], /) -> Replies:
        return gather(self.arrivals(inputs), len(inputs))

    def arrivals(self, inputs: Sequence[Any], /) -> Arrivals:
        size = max(len(inputs), 1) if traits_of(self.subject).batches_itself else self.size
        for start in range(0, len(inputs), size):
            part = inputs[start : start + size]
            moved = partial(_moved, start)
            yield from passing_on(arrivals(self.subject, part), moved)


def _moved(start: int, rows: Rows, replies: Replies) -> tuple[Rows, Replies]:
    return start + rows, replies


@dataclass(frozen=True, kw_only=True)
class Versioned:
    """A subject whose model has a version that its id does not say: another version is another subject."""

    subject: Subject
    version: str
    reuse: ClassVar[str] = "always"

    @property
    def id(self) -> str:
        return f"{self.subject.id} version {self.version}"

    def __call__(self, inputs: Sequence[Any], /) -> Replies:
        return self.subject(inputs)

    def arrivals(self, inputs: Sequence[Any], /) -> Arrivals:
        yield from arrivals(self.subject, inputs)


@dataclass(frozen=True, kw_only=True)
class Retrying:
    """Asks again, with jitter, the rows whose error is `Transient` and whole calls that failed in passing.

    Args:
        attempts: tries in all. timeout: seconds after which no further try begins.
        wait_initial, wait_max: seconds before the second try, and at most between tries; a service's
            Retry-After wins.
    """

    subject: Subject
    attempts: int = 5
    timeout: float | None = 300.0
    wait_initial: float = 0.2
    wait_max: float = 30.0
    batches_itself: ClassVar[bool] = (
        False  # hands over nothing before the last try, so a call must stay small
    )

    @property
    def id(self) -> str:
        return self.subject.id

    def __call__(self, inputs: Sequence[Any], /) -> Replies:
        import stamina

        state: dict[int, tuple[dict[str, float], str | None]] = {}
        try:
            for attempt in stamina.retry_context(
                on=_wait_for,
                attempts=self.attempts,
                timeout=self.timeout,
                wait_initial=self.wait_initial,
                wait_max=self.wait_max,
                wait_jitter=self.wait_initial,
            ):
                with attempt:
                    self._try(inputs, state)
        except _StillFailing:
            pass  # the rows keep their last error: counted, shown, asked again by the next run
        return _assemble(state, len(inputs))

    def _try(self, inputs: Sequence[Any], state: dict[int, tuple[dict[str, float], str | None]]) -> None:
        todo = [r for r in range(len(inputs)) if r not in state or isinstance(state[r][1], Transient)]
        replies = self.subject([inputs[r] for r in todo])
        waits = []
        for at, row in enumerate(todo):
            reason = replies.errors.get(at)
            state[row] = ({n: float(c[at]) for n, c in replies.scores.items()}, reason)
            if isinstance(reason, Transient):
                waits.append(reason.retry_after)
        if waits:
            asked = [w for w in waits if w is not None]
            raise _StillFailing(max(asked) if asked else None)


class _StillFailing(Exception):
    def __init__(self, retry_after: float | None) -> None:
        self.retry_after = retry_after
        super().__init__("some rows may succeed when asked again")


def _wait_for(error: Exception) -> bool | float:
    if isinstance(error, _StillFailing):
        return error.retry_after if error.retry_after is not None else True
    final = isinstance(error, CredentialError | BudgetSpent | SubjectError | JournalError)
    return not final and isinstance(error, ConnectionError | TimeoutError | OSError)


def _assemble(state: dict[int, tuple[dict[str, float], str | None]], n: int) -> Replies:
    names = list(dict.fromkeys(name for scores, _ in state.values() for name in scores))
    columns = {name: np.full(n, np.nan) for name in names}
    for row, (scores, _) in state.items():
        for name, value in scores.items():
            columns[name][row] = value
    errors = {row: reason for row, (_, reason) in state.items() if reason is not None}
    errors.update({row: "no reply arrived" for row in range(n) if row not in state})
    return Replies(scores=columns, errors=errors)


@dataclass(frozen=True, kw_only=True)
class Limited:
    """Lets through at most `calls` inputs and `characters` a second, and `concurrency` calls at a time.

    A call waits until its share has accrued since the last one; nothing is dropped.

    Args:
        line: (which limit, seconds) → when one may begin who then takes so long; for processes that share a
            rate.
    """

    subject: Subject
    calls: float | None = None
    characters: float | None = None
    concurrency: int | None = None
    batches_itself: ClassVar[bool] = False  # lets calls through, so everything in one call would pass at once
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    line: Callable[[str, float], float] | None = field(default=None, repr=False, compare=False)
    _free_at: dict[str, float] = field(default_factory=dict, repr=False, compare=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)
    _places: threading.BoundedSemaphore | None = field(init=False, default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.concurrency is not None:
            object.__setattr__(self, "_places", threading.BoundedSemaphore(self.concurrency))

    @property
    def id(self) -> str:
        return self.subject.id

    def __call__(self, inputs: Sequence[Any], /) -> Replies:
        self._await_turn(len(inputs), sum(len(str(i)) for i in inputs))
        if self._places is None:
            return self.subject(inputs)
        with self._places:
            return self.subject(inputs)

    def _await_turn(self, calls: int, characters: int) -> None:
        with self._lock:
            now = self.clock()
            starts = now
            for name, rate, amount in (
                ("calls", self.calls, calls),
                ("characters", self.characters, characters),
            ):
                if rate and self.line is not None:
                    starts = max(starts, self.line(name, amount / rate))
                elif rate:
                    free = max(self._free_at.get(name, now), now)
                    starts = max(starts, free)
                    self._free_at[name] = free + amount / rate
        if starts > now:
            self.sleep(starts - now)


class Purse:
    """What a budget has been charged: in memory, or in a journal, where all runs and processes share it."""

    def __init__(self) -> None:
        self._spent = Spent()
        self._owed = Spent()
        self._lock = threading.Lock()
        self._journal: Book | None = None
        self._scope = ""

    def keep_in(self, journal: Book, scope: str) -> None:
        """Charge to the ledger of a journal from now on."""
        self._journal, self._scope = journal, scope

    @property
    def shared(self) -> bool:
        """Whether other runs and processes charge to it, too."""
        return self._journal is not None

    @property
    def spent(self) -> Spent:
        """What was spent, with what is held for inputs in flight."""
        return self._spent if self._journal is None else self._journal.leases.spent(self._scope)

    def take(self, prices: Sequence[float], calls: int | None, money: float | None) -> int:
        """How many of the next inputs may be asked; they are charged."""
        if self._journal is not None:
            return self._journal.leases.hold(self._scope, prices, calls, money)
        with self._lock:
            allowed, paid = affordable(self._spent, prices, calls, money)
            self._spent = Spent(calls=self._spent.calls + allowed, money=self._spent.money + paid)
        return allowed

    def answered(self, calls: int, money: float) -> None:
        """So many are answered; the ledger hears of it with the replies, in one transaction (`bill`)."""
        if self._journal is not None:
            with self._lock:
                self._owed = Spent(calls=self._owed.calls + calls, money=self._owed.money + money)

    def bill(self) -> Bill | None:
        """What was answered and is not in the ledger yet."""
        with self._lock:
            owed, self._owed = self._owed, Spent()
        return Bill(scope=self._scope, calls=owed.calls, money=owed.money) if owed.calls else None

    def settle(self) -> None:
        """Enter into the ledger what was answered past the journal, and so came with no reply to keep."""
        if self._journal is not None and (bill := self.bill()) is not None:
            self._journal.charge(bill)

    def give_back(self, calls: float, money: float) -> None:
        """So many were charged and not asked after all."""
        if self._journal is not None:
            self._journal.leases.let_go(self._scope, calls, money)


@dataclass(frozen=True, kw_only=True)
class Budgeted:
    """Stops before `calls` inputs, or `money`, would be passed; inside `Cached` only real calls count.

    With a journal the budget is that of all runs and processes that ask this subject through it.

    Args:
        price: money for one input, or a function of the input.
    """

    subject: Subject
    calls: int | None = None
    money: float | None = None
    price: float | Callable[[Any], float] = 0.0
    purse: Purse = field(default_factory=Purse, compare=False, repr=False)

    @property
    def id(self) -> str:
        return self.subject.id

    def __call__(self, inputs: Sequence[Any], /) -> Replies:
        return gather(self.arrivals(inputs), len(inputs))

    def arrivals(self, inputs: Sequence[Any], /) -> Arrivals:
        prices = [float(self.price(value) if callable(self.price) else self.price) for value in inputs]
        allowed = self.purse.take(prices, self.calls, self.money)
        open_ = [allowed, sum(prices[:allowed])]

        def settled(rows: Rows, replies: Replies) -> tuple[Rows, Replies]:
            paid = sum(prices[row] for row in rows.tolist())
            open_[:] = open_[0] - len(rows), open_[1] - paid
            self.purse.answered(len(rows), paid)
            return rows, replies

        try:
            if allowed:
                yield from passing_on(arrivals(self.subject, inputs[:allowed]), settled)
        finally:
            self.purse.give_back(*open_)
        if allowed < len(inputs):
            raise self._spent(len(inputs) - allowed)

    def _spent(self, more: int) -> BudgetSpent:
        spent = self.purse.spent
        whose = " by all runs on this journal" if self.purse.shared else ""
        limits = [f"--budget {self.calls}"] if self.calls is not None else []
        limits += [f"--max-cost {self.money:g}"] if self.money is not None else []
        raised = "it counts all runs on one journal" if self.purse.shared else "it counts this run"
        return BudgetSpent(
            "budget-spent",
            f"the budget is spent: {spent.calls:.0f} inputs asked, {spent.money:.2f} paid{whose}",
            given=" ".join(limits),
            expected=f"{more} more inputs in this batch",
            hint=f"raise the limit above what is spent ({raised}); every reply that arrived is in the journal"
            if self.purse.shared
            else "run again with a larger budget; without a journal everything is asked again",
        )

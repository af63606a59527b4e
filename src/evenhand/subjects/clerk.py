"""Who keeps the journal for workers that do not see its file: they write letters, and the asking process does
with its own journal what they ask for.

Semantics stay with `Journal`: a worker elsewhere is a holder like any other, whose claims and holds end when
it is given up. Only this process's clock counts. A letter can ask for nothing but what the table `OPERATIONS`
has, and for nothing but the replies of the audit that is being made.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType, TracebackType
from typing import Any, Self

import numpy as np

from evenhand._errors import EngineError, EvenhandError, JournalError
from evenhand._leases import LEASE
from evenhand._model import Subject
from evenhand._rereading import Read
from evenhand._store import Journal, Known
from evenhand.subjects import letters
from evenhand.subjects.cached import reading_of

MOST_WORKERS = 10_000
"""Workers that may write in one audit."""
GRACE = 5.0
"""Seconds that the end of an audit waits for what workers who are asking still have to tell."""
_GARBLED = (AttributeError, KeyError, OverflowError, TypeError, ValueError)


@dataclass
class _Worker:
    """Who writes.

    Args:
        journal: a holder of its own, from the first claim or hold on until it is given up.
        seen: its last letter, by our monotonic clock. number, reply: the last that was answered, and how.
        share: what it is asking.
    """

    seen: float
    journal: Journal | None = None
    number: int = 0
    reply: bytes = b""
    share: str = ""
    claims: set[str] = field(default_factory=set)

    def give_up(self) -> None:
        """What it claimed and held is free."""
        self.claims.clear()
        if self.journal is not None:
            self.journal.close()
            self.journal = None


class Clerk:
    """Answers letters, one at a time; a context, in which those who fall silent are given up.

    Args:
        journal: open. subject: whose replies are kept, which reads answers that arrived earlier.
        address: where they are kept. line: whose rate it is; see `Leases.turn`.
    """

    def __init__(self, journal: Journal, subject: Subject, address: str, line: str) -> None:
        self.journal, self.address, self.line = journal, address, line
        self.reading: str
        self.read: Read | None
        self.reading, self.read = reading_of(subject)
        self._workers: dict[str, _Worker] = {}
        self._makers: dict[str, str] = {}
        self._lock = threading.Lock()
        self._ended = threading.Event()

    def __enter__(self) -> Self:
        threading.Thread(target=self._watch, name="evenhand-clerk", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        with self._lock:
            for worker in self._workers.values():
                worker.give_up()

    def answer(self, sent: bytes) -> bytes:
        """The reply to a letter; never raises for what it says.

        A letter that is sent again is answered as the first time, and done once.
        """
        with self._lock:
            if self._ended.is_set():
                return b""
            try:
                return self._answer(letters.opened(sent))
            except _GARBLED as error:
                return _refusal(f"it cannot be read ({type(error).__name__})")
            except EvenhandError as error:
                return letters.written({"error": letters.of_error(error)})

    def drain(self) -> None:
        """Wait, for a while, for those who are asking: what they asked is paid for."""
        end = time.monotonic() + GRACE
        while time.monotonic() < end:
            with self._lock:
                if not any(worker.claims for worker in self._workers.values()):
                    return
            time.sleep(0.02)

    def sweep(self) -> None:
        """Give up who has not written for a lease."""
        with self._lock:
            for worker in self._workers.values():
                if time.monotonic() - worker.seen > LEASE:
                    worker.give_up()

    def _watch(self) -> None:
        while not self._ended.wait(LEASE / 4):
            with contextlib.suppress(JournalError):  # the next letter says so, to who wrote it
                self.sweep()

    def _answer(self, letter: Mapping[str, Any]) -> bytes:
        name, number, share = letter["worker"], letter["number"], letter["share"]
        operation = OPERATIONS.get(letter["operation"])
        if operation is None:
            return _refusal("there is no such operation")
        if not isinstance(name, str) or not isinstance(share, str) or type(number) is not int or number < 1:
            return _refusal("it does not say who writes")
        if name not in self._workers and len(self._workers) >= MOST_WORKERS:
            return _refusal("there are too many workers")
        worker = self._workers.setdefault(name, _Worker(seen=time.monotonic()))
        worker.seen = time.monotonic()
        if number <= worker.number:
            return worker.reply if number == worker.number else _refusal("it is an old one")
        if not self._makes(name, worker, share) and operation in ASKING:
            raise EngineError("partition-lost", "another worker was given this share", given=name)
        done = operation(self, worker, letter["with"])
        reply = letters.written({"done": done})
        worker.number, worker.reply = number, reply
        return reply

    def _makes(self, name: str, worker: _Worker, share: str) -> bool:
        """Whether a share is this worker's. Whoever begins one that another had begun was given it by the
        engine, because the other is dead: what that one claimed and held is free at once."""
        if share != worker.share:
            if self._makers.get(worker.share) == name:
                del self._makers[worker.share]
            before = self._workers.get(self._makers.get(share, ""))
            if before is not None:
                before.give_up()
            self._makers[share], worker.share = name, share
        return self._makers.get(share) == name

    def _of(self, worker: _Worker) -> Journal:
        if worker.journal is None:
            worker.journal = self.journal.visitor()
        return worker.journal

    def _share(self, worker: _Worker, given: Mapping[str, Any]) -> None:
        """It begins a share, which `_makes` has heard; or it gives a sign of life."""

    def _fetch(self, worker: _Worker, given: Mapping[str, Any]) -> Any:
        reading, keys = given["reading"], letters.keys_in(given["keys"])
        if reading is not None and not isinstance(reading, str):
            raise ValueError("a reading is a text")
        read = self.read if reading == self.reading else None
        known = self._of(worker).known(self.address, keys, reading, read)
        missing = distinct(keys, known)
        free = self._take(worker, given["claim"], missing, reading or "", known.stamp) if missing else []
        return {"known": letters.of_known(known), "free": free}

    def _claim(self, worker: _Worker, given: Mapping[str, Any]) -> list[int]:
        first, second = given["stamp"]
        keys = letters.keys_in(given["keys"])
        return self._take(worker, given["claim"], keys, str(given["reading"]), (first, second))

    def _take(
        self, worker: _Worker, name: Any, keys: Sequence[bytes], reading: str, stamp: tuple[int, int]
    ) -> list[int]:
        if not isinstance(name, str):
            raise ValueError("a claim has a name")
        journal = self._of(worker)
        free = journal.leases.take(name, keys, journal.since(stamp, reading))
        if free:
            worker.claims.add(name)
        return free

    def _leave(self, worker: _Worker, given: Mapping[str, Any]) -> None:
        name = given["claim"]
        worker.claims.discard(name)
        if worker.journal is not None:
            worker.journal.leases.leave(name)

    def _put(self, worker: _Worker, given: Mapping[str, Any]) -> None:
        inputs, repeat = letters.texts_in(given["inputs"]), int(given["repeat"])
        replies = letters.replies_in(given["replies"], len(inputs))
        bill = letters.bill_in(given["bill"], self.address)
        self._of(worker).put(
            self.address, inputs, replies, repeat=repeat, reading=str(given["reading"]), bill=bill
        )
        self._leave(worker, given)

    def _charge(self, worker: _Worker, given: Mapping[str, Any]) -> None:
        bill = letters.bill_in(given["bill"], self.address)
        if bill is not None:
            self._of(worker).charge(bill)

    def _hold(self, worker: _Worker, given: Mapping[str, Any]) -> int:
        prices = [letters.amount(price) for price in given["prices"]]
        calls, money = (None if each is None else letters.amount(each) for each in given["limits"])
        return self._of(worker).leases.hold(self.address, prices, calls, money)

    def _let_go(self, worker: _Worker, given: Mapping[str, Any]) -> None:
        calls, money = map(letters.amount, given["amounts"])
        self._of(worker).leases.let_go(self.address, calls, money)

    def _spent(self, worker: _Worker, given: Mapping[str, Any]) -> list[float]:
        spent = self._of(worker).leases.spent(self.address)
        return [spent.calls, spent.money]

    def _turn(self, worker: _Worker, given: Mapping[str, Any]) -> float:
        """Seconds until it may begin: clocks of two machines say different times."""
        name, seconds = given["name"], letters.amount(given["seconds"])
        if name not in RATES:
            raise ValueError("there is no such rate")
        begins = self.journal.leases.turn(self.line, name, seconds)
        return max(begins - time.monotonic(), 0.0)

    def _latest(self, worker: _Worker, given: Mapping[str, Any]) -> int:
        return self.journal.latest()

    def _ends(self, worker: _Worker, given: Mapping[str, Any]) -> Any:
        return self.journal.first_and_last(np.array([int(at) for at in given["arrivals"]], dtype=np.int64))

    def _reasons(self, worker: _Worker, given: Mapping[str, Any]) -> Any:
        told = self.journal.reasons(letters.keys_in(given["keys"]))
        return [[letters.text_of_bytes(key), why] for key, why in told.items()]

    def _holders(self, worker: _Worker, given: Mapping[str, Any]) -> Any:
        holders = self.journal.leases.holders_of(letters.keys_in(given["keys"]))
        return [[each.host, each.pid, each.since] for each in holders]


def distinct(keys: Sequence[bytes], known: Known) -> list[bytes]:
    """Those that are missing, each once."""
    return list(dict.fromkeys(keys[row] for row in np.flatnonzero(known.missing).tolist()))


RATES = ("calls", "characters")
"""What a subject can be limited by in a second."""
OPERATIONS: Mapping[str, Callable[[Clerk, _Worker, Mapping[str, Any]], Any]] = MappingProxyType(
    {
        "share": Clerk._share,
        "fetch": Clerk._fetch,
        "claim": Clerk._claim,
        "leave": Clerk._leave,
        "put": Clerk._put,
        "charge": Clerk._charge,
        "hold": Clerk._hold,
        "let_go": Clerk._let_go,
        "spent": Clerk._spent,
        "turn": Clerk._turn,
        "latest": Clerk._latest,
        "ends": Clerk._ends,
        "reasons": Clerk._reasons,
        "holders": Clerk._holders,
    }
)
"""All that a letter can ask for."""
ASKING = frozenset({Clerk._fetch, Clerk._claim, Clerk._hold, Clerk._turn})
"""What only the worker of a share may do; what was asked already is always kept."""


def _refusal(why: str) -> bytes:
    refused = EngineError("journal-letter", f"a letter to the journal was refused: {why}")
    return letters.written({"error": letters.of_error(refused)})

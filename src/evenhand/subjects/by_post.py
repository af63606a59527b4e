"""The journal of the asking process, where its file cannot be seen: every question of it is a letter."""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from evenhand._addresses import keys_of, text_of
from evenhand._errors import EngineError, EvenhandError
from evenhand._leases import LEASE, Holding, Spent
from evenhand._model import IntArray, Replies
from evenhand._rereading import Read
from evenhand._store import Bill, Known
from evenhand.engines import Send
from evenhand.subjects import letters
from evenhand.subjects.clerk import distinct


class ByPost:
    """A `Book` that writes letters, one after the other; see `Clerk`, who answers them.

    Args:
        send: to who keeps the journal. address: where the replies of this audit are kept.

    Raises:
        EngineError: `journal-unreachable`: nobody answers, so nothing may be asked; `journal-letter`.
    """

    def __init__(self, send: Send, address: str) -> None:
        self.share = ""
        self._send, self._address = send, address
        self._name, self._number = uuid.uuid4().hex, 0
        self._lock = threading.RLock()
        self._ahead: tuple[str, list[bytes], list[int]] | None = None
        self._claim, self._unanswered = "", 0
        self._heart: threading.Event | None = None

    @property
    def leases(self) -> ByPost:
        """Itself: claims and holds are asked for in the same way."""
        return self

    def fetch(
        self,
        subject_id: str,
        inputs: Sequence[Any],
        *,
        repeat: int = 0,
        reading: str | None = None,
        read: Read | None = None,
    ) -> Known:
        """See `Journal`. `read` stays here: who keeps the journal has the same. What is missing is claimed in
        the same letter, since that is what is asked for next."""
        self.rest()
        keys, name = keys_of(subject_id, inputs, repeat), uuid.uuid4().hex
        said = self._ask("fetch", keys=letters.text_of_bytes(b"".join(keys)), reading=reading, claim=name)
        known = letters.known_in(said["known"])
        self._ahead = name, distinct(keys, known), said["free"]
        return known

    @contextlib.contextmanager
    def claim(self, keys: Sequence[bytes], reading: str, stamp: tuple[int, int]) -> Iterator[list[int]]:
        """See `Journal`. While it is open this worker gives signs of life."""
        name, free = self._taken(keys, reading, stamp)
        self._claim, self._unanswered = name if free else "", len(free)
        self._live()
        try:
            yield free
        finally:
            if self._claim:
                self._claim = ""
                with contextlib.suppress(EvenhandError):  # a claim ends with its worker, too
                    self._ask("leave", claim=name)

    def _taken(self, keys: Sequence[bytes], reading: str, stamp: tuple[int, int]) -> tuple[str, list[int]]:
        ahead, self._ahead = self._ahead, None
        if ahead is not None and ahead[1] == list(keys):
            return ahead[0], ahead[2]
        self._ahead = ahead
        self.rest()
        name, said = uuid.uuid4().hex, letters.text_of_bytes(b"".join(keys))
        return name, self._ask("claim", claim=name, keys=said, reading=reading, stamp=list(stamp))

    def rest(self) -> None:
        """Leave what was claimed ahead and was not asked for."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None and ahead[2]:
            with contextlib.suppress(EvenhandError):
                self._ask("leave", claim=ahead[0])

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
        """See `Journal`."""
        if len(inputs):
            self._unanswered -= len(inputs)
            last, self._claim = self._claim, "" if self._unanswered <= 0 else self._claim
            self._ask(
                "put",
                claim="" if self._claim else last,
                inputs=[text_of(each) for each in inputs],
                replies=letters.of_replies(replies),
                repeat=repeat,
                reading=reading,
                bill=letters.of_bill(bill),
            )

    def charge(self, bill: Bill) -> None:
        """See `Journal`."""
        self._ask("charge", bill=letters.of_bill(bill))

    def hold(self, scope: str, prices: Sequence[float], calls: float | None, money: float | None) -> int:
        """See `Leases`."""
        return int(self._ask("hold", prices=list(prices), limits=[calls, money]))

    def let_go(self, scope: str, calls: float, money: float) -> None:
        """See `Leases`."""
        if calls:
            self._ask("let_go", amounts=[calls, max(money, 0.0)])

    def spent(self, scope: str) -> Spent:
        """See `Leases`."""
        calls, money = self._ask("spent")
        return Spent(calls=calls, money=money)

    def turn(self, scope: str, name: str, seconds: float) -> float:
        """See `Leases`: by the clock of this machine, and never before the keeper's."""
        wait = self._ask("turn", name=name, seconds=seconds)
        return time.monotonic() + float(wait)

    def holders_of(self, keys: Sequence[bytes]) -> list[Holding]:
        """See `Leases`."""
        found = self._ask("holders", keys=letters.text_of_bytes(b"".join(keys)))
        return [Holding(host=host, pid=pid, since=since) for host, pid, since in found]

    def latest(self) -> int:
        """See `Journal`."""
        return int(self._ask("latest"))

    def reasons(self, keys: Sequence[bytes]) -> dict[bytes, str]:
        """See `Journal`."""
        found = self._ask("reasons", keys=letters.text_of_bytes(b"".join(keys)))
        return {letters.bytes_of_text(key): why for key, why in found}

    def first_and_last(self, arrivals: IntArray) -> tuple[float, float] | None:
        """See `Journal`."""
        found = arrivals[arrivals >= 0]
        if not len(found):
            return None
        first, last = self._ask("ends", arrivals=[int(np.min(found)), int(np.max(found))])
        return first, last

    def begin(self) -> None:
        """Say which share is made here: whoever had begun it is dead."""
        self._ask("share")

    def close(self) -> None:
        """Give no more signs of life."""
        if self._heart is not None:
            self._heart.set()

    def renew(self) -> None:
        """Say that this worker is alive."""
        if self._claim:
            self._ask("share")

    def _ask(self, operation: str, **given: Any) -> Any:
        with self._lock:
            self._number += 1
            letter = letters.written(
                {
                    "worker": self._name,
                    "number": self._number,
                    "share": self.share,
                    "operation": operation,
                    "with": given,
                }
            )
            try:
                reply = self._send(letter)
            except KeyboardInterrupt:  # it may say what was paid for; who has read it does it once
                self._send(letter)
                raise
        if not reply:
            raise EngineError(
                "journal-unreachable",
                "the process that keeps the journal of this audit does not answer, so nothing more is asked",
                expected="the process that began the audit, alive and connected to the cluster",
                hint="run the same command again: what had arrived is in its journal",
            )
        said = letters.opened(reply)
        if "error" in said:
            raise letters.error_in(said["error"])
        return said["done"]

    def _live(self) -> None:
        if self._heart is None:
            self._heart = threading.Event()
            beat = (weakref.ref(self), self._heart)
            threading.Thread(target=_beat, args=beat, name="evenhand-post", daemon=True).start()


def _beat(book: weakref.ref[ByPost], stop: threading.Event) -> None:
    while not stop.wait(LEASE / 4):
        mine = book()
        if mine is None:
            return
        with contextlib.suppress(EvenhandError):  # the next letter says so, in the thread of who asks
            mine.renew()
        del mine

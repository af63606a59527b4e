"""Who is asking what, and what has been spent, in the journal's file: whoever shares one file asks once.

A holder is one open journal of a living process. It claims the inputs that it asks, and holds money for
them until they are answered; claims and holds of the dead count for nothing.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import platform
import sqlite3
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from evenhand._errors import JournalError
from evenhand._schema import JournalFile, command_of

LEASE = 60.0
"""Seconds after which a holder on another host that gave no new sign of life counts as dead; it gives one
every quarter of that. On this host a process that is gone is seen at once."""
WIDTH = 16
"""Bytes of a key."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Spent:
    """What a budget has been charged, with what is held for inputs in flight."""

    calls: float = 0.0
    money: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Holding:
    """Who is asking something. since: when it was claimed, seconds since 1970 by that host's clock."""

    host: str
    pid: int
    since: float

    def __str__(self) -> str:
        where = f"process {self.pid} on {self.host}"
        if self.host == platform.node():
            where = f"process {self.pid}{command_of(self.pid)}"
        when = datetime.datetime.fromtimestamp(self.since, datetime.UTC).isoformat(timespec="seconds")
        return f"{where} since {when}"


def affordable(
    before: Spent, prices: Sequence[float], calls: float | None, money: float | None
) -> tuple[int, float]:
    """How many of the next inputs neither limit would be passed by, and what they cost.

    >>> affordable(Spent(calls=8, money=0.8), [0.1] * 5, 100, 1.0)
    (2, 0.2)
    """
    allowed, paid = 0, 0.0
    for price in prices:
        over = money is not None and before.money + paid + price > money + 1e-9
        if over or (calls is not None and before.calls + allowed + 1 > calls):
            break
        allowed, paid = allowed + 1, paid + price
    return allowed, paid


class Leases:
    """The claims and holds of one open journal."""

    def __init__(self, file: JournalFile) -> None:
        self._file = file
        self._name = ""
        self._pid = 0
        self._claimed: set[str] = set()
        self._signs: dict[str, tuple[float, float]] = {}
        self._heart: threading.Event | None = None

    @contextlib.contextmanager
    def claim(
        self, keys: Sequence[bytes], answered: Callable[[Sequence[bytes]], set[bytes]]
    ) -> Iterator[list[int]]:
        """Positions of the keys that are ours to ask; the others are being asked by somebody else.

        Args:
            answered: which of them have a reply by now; those are nobody's to ask.
        """
        name = uuid.uuid4().hex
        free = self.take(name, keys, answered)
        try:
            yield free
        finally:
            self.leave(name)

    def take(
        self, name: str, keys: Sequence[bytes], answered: Callable[[Sequence[bytes]], set[bytes]]
    ) -> list[int]:
        """Begin a claim of this name; see `claim`. `leave` ends it."""
        with self._file.writing(durable=False) as connection:
            holder = self._present(connection)
            taken = _taken(connection) | answered(keys)
            free = [at for at, key in enumerate(keys) if key not in taken]
            if free:
                blob = b"".join([keys[at] for at in free])
                connection.execute(
                    "INSERT INTO claims VALUES (?, ?, ?, ?)", (name, holder, blob, time.time())
                )
        if free:
            self._claimed.add(name)
        return free

    def leave(self, name: str) -> None:
        """End a claim."""
        if name in self._claimed:
            self._claimed.discard(name)
            if not self._file.closed:
                with self._file.writing(durable=False) as connection:
                    connection.execute("DELETE FROM claims WHERE id = ?", (name,))

    def hold(self, scope: str, prices: Sequence[float], calls: float | None, money: float | None) -> int:
        """How many of the next inputs the budget allows; so much is held for them.

        Args:
            scope: whose budget. prices: of the inputs, in order.
            calls, money: the limits; None for none.
        """
        with self._file.writing(durable=False) as connection:
            holder = self._present(connection)
            allowed, paid = affordable(_spent(connection, scope), prices, calls, money)
            _hold(connection, holder, scope, allowed, paid)
        return allowed

    def let_go(self, scope: str, calls: float, money: float) -> None:
        """Hold so much less: it was not asked after all."""
        if calls and not self._file.closed:
            with self._file.writing(durable=False) as connection:
                _hold(connection, self._present(connection), scope, -calls, -money)

    def settle(self, connection: sqlite3.Connection, scope: str, calls: float, money: float) -> None:
        """Inside a transaction: what was held is spent."""
        _hold(connection, self._present(connection), scope, -calls, -money)
        connection.execute(
            "INSERT INTO ledger VALUES (?, ?, ?) ON CONFLICT (scope) DO UPDATE SET"
            " calls = calls + excluded.calls, money = money + excluded.money",
            (scope, calls, money),
        )

    def count(self, connection: sqlite3.Connection, scope: str, sent: int, received: int) -> None:
        """Inside a transaction: tokens that the service says it was sent and gave back."""
        connection.execute(
            "INSERT INTO tokens VALUES (?, ?, ?) ON CONFLICT (scope) DO UPDATE SET"
            " sent = sent + excluded.sent, received = received + excluded.received",
            (scope, sent, received),
        )

    def holders_of(self, keys: Sequence[bytes]) -> list[Holding]:
        """Who has claimed any of these keys."""
        wanted = set(keys)
        with self._file.reading() as connection:
            rows = connection.execute(
                "SELECT host, pid, since, keys FROM claims JOIN holders ON holders.id = holder"
            ).fetchall()
        return [
            Holding(host=host, pid=pid, since=since)
            for host, pid, since, blob in rows
            if not wanted.isdisjoint(blob[at : at + WIDTH] for at in range(0, len(blob), WIDTH))
        ]

    def turn(self, scope: str, name: str, seconds: float) -> float:
        """When one may begin who then takes so many seconds: whoever shares the file stands in one line.

        Args:
            scope: whose rate, and of which machine since its start, whose monotonic clock is told.
            name: of the rate.
        """
        with self._file.writing(durable=False) as connection:
            connection.execute(
                "CREATE TABLE IF NOT EXISTS turns (scope TEXT PRIMARY KEY, free REAL NOT NULL)"
            )
            key = f"{scope} {name}"
            free = connection.execute("SELECT free FROM turns WHERE scope = ?", (key,)).fetchone()
            begins = max(time.monotonic(), 0.0 if free is None else float(free[0]))
            connection.execute("INSERT OR REPLACE INTO turns VALUES (?, ?)", (key, begins + seconds))
        return begins

    def spent(self, scope: str) -> Spent:
        """What was spent, and is held by the living."""
        with self._file.writing(durable=False) as connection:
            return _spent(connection, scope)

    def close(self) -> None:
        """Leave: nothing is claimed or held any more."""
        if self._heart is not None:
            self._heart.set()
        if self._name and self._pid == os.getpid() and not self._file.closed:
            with contextlib.suppress(JournalError), self._file.writing(durable=False) as connection:
                _forget(connection, [self._name])
        self._name = ""

    def renew(self) -> None:
        """Say that this holder is alive."""
        if self._claimed and self._pid == os.getpid() and not self._file.closed:
            with self._file.writing(durable=False) as connection:
                self._present(connection)

    def _present(self, connection: sqlite3.Connection) -> str:
        """Enter the holder, or renew it, and clear away the dead."""
        if self._pid != os.getpid():  # the first time, and after a fork
            self._name, self._pid, self._heart = uuid.uuid4().hex, os.getpid(), None
        connection.execute(
            "INSERT INTO holders VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET expires = excluded.expires",
            (self._name, platform.node(), self._pid, _born(self._pid), time.time() + LEASE),
        )
        others = connection.execute("SELECT * FROM holders WHERE id <> ?", (self._name,)).fetchall()
        _forget(connection, [row[0] for row in others if not self._alive(*row)])
        if self._heart is None:
            self._heart = threading.Event()
            beat = (weakref.ref(self), self._heart)
            threading.Thread(target=_beat, args=beat, name="evenhand-lease", daemon=True).start()
        return self._name

    def _alive(self, holder: str, host: str, pid: int, born: str, sign: float) -> bool:
        """A process of this host lives while its number does, and is still the same. One of another host
        lives for a lease after its last new sign of life, by our monotonic clock: no two wall clocks are
        compared, so neither may be wrong or jump.
        """
        if host == platform.node() and os.name == "posix":
            return _is_running(pid, born)
        now = time.monotonic()
        last, since = self._signs.get(holder, (None, now))
        if last != sign:
            since = now
        self._signs[holder] = sign, since
        return now - since < LEASE


def _beat(leases: weakref.ref[Leases], stop: threading.Event) -> None:
    while not stop.wait(LEASE / 4):
        mine = leases()
        if mine is None:
            return
        with contextlib.suppress(JournalError):  # the next write says so, in the thread of who asks
            mine.renew()
        del mine


def _taken(connection: sqlite3.Connection) -> set[bytes]:
    taken: set[bytes] = set()
    for (blob,) in connection.execute("SELECT keys FROM claims"):
        taken.update(blob[at : at + WIDTH] for at in range(0, len(blob), WIDTH))
    return taken


def _hold(connection: sqlite3.Connection, holder: str, scope: str, calls: float, money: float) -> None:
    connection.execute(
        "INSERT INTO holds VALUES (?, ?, max(?, 0), max(?, 0)) ON CONFLICT (holder, scope) DO UPDATE SET"
        " calls = max(calls + ?, 0), money = max(money + ?, 0)",
        (holder, scope, calls, money, calls, money),
    )


def _spent(connection: sqlite3.Connection, scope: str) -> Spent:
    row = connection.execute(
        "SELECT total(calls), total(money) FROM (SELECT calls, money FROM ledger WHERE scope = :scope"
        " UNION ALL SELECT calls, money FROM holds WHERE scope = :scope)",
        {"scope": scope},
    ).fetchone()
    return Spent(calls=row[0], money=row[1])


def _forget(connection: sqlite3.Connection, holders: Sequence[str]) -> None:
    for holder in holders:
        for statement in (
            "DELETE FROM claims WHERE holder = ?",
            "DELETE FROM holds WHERE holder = ?",
            "DELETE FROM holders WHERE id = ?",
        ):
            connection.execute(statement, (holder,))


def _is_running(pid: int, born: str) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return born == _born(pid)


def _born(pid: int) -> str:
    """When a process began, in the kernel's ticks: a number may be given out again, to another process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] in "ZX" else fields[19]  # a dead one that nobody has waited for lives no more

"""What asking needs of a journal: the open file has it, and so has what stands for it on another machine."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from evenhand._leases import Holding, Spent
from evenhand._model import IntArray, Replies
from evenhand._rereading import Read
from evenhand._store import Bill, Known


class Claims(Protocol):
    """Money that is held, and turns of a rate; see `Leases`."""

    def hold(self, scope: str, prices: Sequence[float], calls: float | None, money: float | None) -> int: ...

    def let_go(self, scope: str, calls: float, money: float) -> None: ...

    def spent(self, scope: str) -> Spent: ...

    def turn(self, scope: str, name: str, seconds: float) -> float: ...

    def holders_of(self, keys: Sequence[bytes]) -> list[Holding]: ...


class Book(Protocol):
    """Replies that have arrived, and who is asking what; see `Journal`."""

    @property
    def leases(self) -> Claims: ...

    def fetch(
        self,
        subject_id: str,
        inputs: Sequence[Any],
        *,
        repeat: int = 0,
        reading: str | None = None,
        read: Read | None = None,
    ) -> Known: ...

    def claim(
        self, keys: Sequence[bytes], reading: str, stamp: tuple[int, int]
    ) -> AbstractContextManager[list[int]]: ...

    def put(
        self,
        subject_id: str,
        inputs: Sequence[Any],
        replies: Replies,
        *,
        repeat: int = 0,
        reading: str = "",
        bill: Bill | None = None,
    ) -> None: ...

    def charge(self, bill: Bill) -> None: ...

    def latest(self) -> int: ...

    def reasons(self, keys: Sequence[bytes]) -> dict[bytes, str]: ...

    def first_and_last(self, arrivals: IntArray) -> tuple[float, float] | None: ...

    def close(self) -> None: ...

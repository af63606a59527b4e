"""Letters of workers to the process that asks, left with a third: neither needs to reach the other.

It runs as an actor of the cluster, whose every call is a coroutine. Letters stay until they are answered, so
one that was lost on its way to the reader is handed out again.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid

SILENT = 60.0
"""Seconds without a look by the reader after which whoever waits for an answer is told that nobody reads."""


class Mailbox:
    """Letters, and those who wait for the answers. What an earlier box of this name held is gone with it:
    whoever wrote writes again.

    Args:
        silent: see `SILENT`.
    """

    def __init__(self, silent: float = SILENT) -> None:
        self._silent = silent
        self._name = uuid.uuid4().hex
        self._number = 0
        self._letters: dict[int, tuple[bytes, asyncio.Future[bytes]]] = {}
        self._came = asyncio.Event()
        self._looked = time.monotonic()

    async def ask(self, letter: bytes) -> bytes:
        """Leave a letter and wait for the answer; nothing where nobody reads."""
        self._number += 1
        number = self._number
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._letters[number] = letter, answer
        self._came.set()
        try:
            while not answer.done():
                await asyncio.wait([answer], timeout=self._silent / 4)
                if not answer.done() and time.monotonic() - self._looked > self._silent:
                    return b""
            return answer.result()
        finally:
            self._letters.pop(number, None)

    async def look(self, name: str, seen: int, patience: float) -> tuple[str, list[tuple[int, bytes]]]:
        """The letters that are new to the reader, waited for so many seconds; and the name of this box.

        Args:
            name: of the box that the reader knows. seen: the number of the last letter that it has.
        """
        self._looked = time.monotonic()
        after = seen if name == self._name else 0
        if not any(number > after for number in self._letters):
            self._came.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._came.wait(), patience)
        self._looked = time.monotonic()
        return self._name, [(number, each[0]) for number, each in self._letters.items() if number > after]

    async def answer(self, name: str, number: int, answer: bytes) -> None:
        """The answer to a letter of this box; one that nobody waits for any more is dropped."""
        held = self._letters.get(number) if name == self._name else None
        if held is not None and not held[1].done():
            held[1].set_result(answer)

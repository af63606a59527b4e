"""This process: one partition after the other, one batch of rows at a time."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from evenhand.engines import Partition, Progress, Send

if TYPE_CHECKING:
    import pyarrow as pa

P = TypeVar("P")
S = TypeVar("S")


class Local:
    """The engine of a single process."""

    def map(
        self, work: Callable[[P], S], parts: Sequence[P], progress: Progress | None = None
    ) -> Iterator[S]:
        """One after the other; `progress` hears of every batch."""
        meter = None if progress is None else _Meter(progress)
        for part in parts:
            seen: Any = part if meter is None else _Metered(part, meter)
            yield work(seen)

    @contextlib.contextmanager
    def post(self, answer: Send) -> Iterator[Send]:
        """From this process to itself."""
        here = _Here(name=uuid.uuid4().hex)
        _OPEN[here.name] = answer
        try:
            yield here
        finally:
            del _OPEN[here.name]


_OPEN: dict[str, Send] = {}
"""Name → who answers in this process."""


@dataclass(frozen=True, kw_only=True)
class _Here:
    """Sends to who answers in this process under a name; nobody else would get it."""

    name: str

    def __call__(self, letter: bytes) -> bytes:
        answer = _OPEN.get(self.name)
        return b"" if answer is None else answer(letter)


@dataclass
class _Meter:
    """How many rows were read."""

    progress: Progress
    rows: int = field(default=0)


class _Metered:
    """A partition whose batches are counted as they are read."""

    def __init__(self, part: Any, meter: _Meter) -> None:
        self._part: Partition = part
        self._meter = meter

    @property
    def rows(self) -> int:
        return self._part.rows

    def read(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        for batch in self._part.read(names):
            yield batch
            self._meter.rows += batch.num_rows
            self._meter.progress(self._meter.rows, 0)

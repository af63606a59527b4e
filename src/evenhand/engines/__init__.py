"""Where the partitions of large data are summarised: in this process, by Daft, or on the machines of a Ray
cluster.

Rows become summaries, and summaries add. An engine does one thing: it makes the summary of every partition,
once, and hands them over in the order of the partitions. The sum is made here, in that order, so every engine
gives the same bits. A new engine is a module with a class, and a row of `ENGINES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeAlias, TypeVar, runtime_checkable

from evenhand._errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

ENGINES: dict[str, str] = {
    "local": "evenhand.engines.local:Local",
    "daft": "evenhand.engines.daft:Daft",
    "ray": "evenhand.engines.ray:Ray",
}
"""Name → "module:class". What follows "://" in a user's word is the address that the class is made with."""
Progress: TypeAlias = Callable[[int, int], None]
"""Called with (rows read, 0)."""
Send: TypeAlias = Callable[[bytes], bytes]
"""Sends a letter, waits, and gives back the answer; nothing where nobody answers."""


class Partition(Protocol):
    """Some of the rows, on whichever machine they are asked for: it can be pickled."""

    @property
    def rows(self) -> int:
        """How many there are; 0 where nobody knows before they are read."""
        ...

    def read(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Record batches of these columns, each checked before it is used."""
        ...


class Additive(Protocol):
    """A summary. One that is `full` is changed by no further partition."""

    @property
    def full(self) -> bool:
        """Whether the rest need not be read."""
        ...

    def __add__(self, other: Self) -> Self: ...


P = TypeVar("P")
S = TypeVar("S")
A = TypeVar("A", bound=Additive)


class Engine(Protocol):
    """What makes the summaries."""

    def map(
        self, work: Callable[[P], S], parts: Sequence[P], progress: Progress | None = None
    ) -> Iterator[S]:
        """The summary of each partition, in their order, each counted once however often it was made.

        Args:
            work: partition → summary; it and the partitions can be pickled.

        Raises:
            EvenhandError: what `work` raised; `partition-lost` where a partition's workers died again and
                again.
        """
        ...


@runtime_checkable
class Postal(Engine, Protocol):
    """An engine whose workers can write to the process that asks."""

    def post(self, answer: Send) -> AbstractContextManager[Send]:
        """What workers send their letters with, for as long as this is open; it can be pickled.

        Args:
            answer: is given every letter here, in a thread of its own: one that was sent twice perhaps
                twice.
        """
        ...


def engine_of(name: str, gpu: float | None = None) -> Engine:
    """The engine of a user's word: ``local``, ``daft``, ``ray`` or ``ray://host:port``.

    Args:
        gpu: GPUs for each worker, where there are machines to choose from.

    Raises:
        UsageError: `engine` for a name that there is not, or a GPU that it cannot give; `engine-missing`
            where its package is not installed; `engine-unreachable`.

    >>> type(engine_of("local")).__name__
    'Local'
    """
    word, _, address = str(name).partition("://")
    if word not in ENGINES or (address and word != "ray"):
        raise UsageError(
            "engine",
            "there is no such engine",
            given=name,
            expected="local, daft, ray, or ray://host:port",
            available=ENGINES,
        )
    module, _, attribute = ENGINES[word].partition(":")
    made: Any = getattr(import_module(module), attribute)
    if gpu is not None and word != "ray":
        raise UsageError("engine", "this engine gives no worker a GPU", given=name, expected="ray")
    asked = {} if gpu is None else {"gpu": gpu}
    found: Engine = made(name, **asked) if address else made(**asked)
    return found


def total(
    engine: Engine, work: Callable[[P], A], parts: Sequence[P], progress: Progress | None = None
) -> A | None:
    """The sum over all partitions, in their order; None of none."""
    whole: A | None = None
    for own in engine.map(work, parts, progress):
        whole = own if whole is None else whole + own
        if whole.full:
            break
    return whole


def needs(package: str, extra: str) -> UsageError:
    """The error of an engine whose package is not installed."""
    return UsageError(
        "engine-missing",
        f"this engine needs the package {package}, which is not installed",
        given=package,
        hint=f"pip install 'evenhand[{extra}]'",
    )

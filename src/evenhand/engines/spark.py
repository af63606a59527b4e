"""Spark: the rows of a frame are summarised by its executors, and the summaries come back."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from evenhand._errors import EngineError, EvenhandError
from evenhand._files import brief
from evenhand._version import __version__
from evenhand.engines import Progress
from evenhand.engines.attempts import summary_of

P = TypeVar("P")
S = TypeVar("S")
ROWS = 1 << 20
"""Rows that are summarised together: an executor holds no more at a time."""
SUMMARY = "sent binary"


class Spark:
    """The engine of frames of Spark's, on whichever cluster their session is."""

    def map(
        self, work: Callable[[P], S], parts: Sequence[P], progress: Progress | None = None
    ) -> Iterator[S]:
        """See `Engine`; the parts are `SparkPart`. Spark runs what is lost again, and counts it once."""
        del progress  # Spark's own console shows it
        for part in parts:
            frame: Any = getattr(part, "frame", None)
            numbered = frame.toDF(*[f"c{i}" for i in range(len(frame.columns))])  # a dot would mean a field
            asked = numbered.mapInArrow(_summariser(pickle.dumps(work), frame.columns), SUMMARY)
            for row in _arriving(asked):
                yield summary_of(bytes(row[0]))


def _arriving(asked: Any) -> Iterator[Any]:
    """Spark's partitions one after the other, so that sums are made in their order."""
    try:
        yield from asked.toLocalIterator()
    except EvenhandError:
        raise
    except Exception as error:
        raise EngineError(
            "partition-lost", f"Spark gave up: {brief(error)}", hint="have its executors the memory for it?"
        ) from error


def _summariser(work: bytes, names: Sequence[str]) -> Callable[[Any], Any]:
    """A function that travels as it is, so that an executor without evenhand can say so."""
    version, most = __version__, ROWS

    def summarise(batches: Any) -> Any:
        import pickle

        import pyarrow as pa

        def told(held: list[Any]) -> Any:
            try:
                from evenhand.engines.attempts import attempt
                from evenhand.engines.frames import HeldPart
            except ImportError:
                found = b""
            else:
                part = HeldPart(table=pa.Table.from_batches(held).rename_columns(list(names)))
                found = attempt(work, pickle.dumps(part), version)
            return pa.RecordBatch.from_pydict({"sent": pa.array([found], pa.binary())})

        held: list[Any] = []
        rows = 0
        for batch in batches:
            held.append(batch)
            rows += batch.num_rows
            if rows >= most:
                yield told(held)
                held, rows = [], 0
        if rows:
            yield told(held)

    return summarise

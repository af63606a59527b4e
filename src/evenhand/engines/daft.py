"""Daft: on this machine, or on the Ray cluster that ``daft.set_runner_ray`` names."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from evenhand._errors import EngineError, EvenhandError
from evenhand._files import brief
from evenhand._version import __version__
from evenhand.engines import Progress, needs
from evenhand.engines.attempts import summary_of
from evenhand.engines.frames import FramePart
from evenhand.engines.local import Local

P = TypeVar("P")
S = TypeVar("S")
ROWS = 1 << 20
"""Rows of a frame that are summarised together, where the rows are on other machines."""


class Daft:
    """The engine of Daft.

    Raises:
        UsageError: `engine-missing`.
    """

    def __init__(self) -> None:
        try:
            import daft
        except ImportError:
            raise needs("daft", "scale") from None
        self._daft: Any = daft

    def map(
        self, work: Callable[[P], S], parts: Sequence[P], progress: Progress | None = None
    ) -> Iterator[S]:
        """See `Engine`. The rows of a frame are summarised in this process where Daft runs in it, too."""
        frame = next((part.frame for part in parts if isinstance(part, FramePart)), None)
        here = self._daft.get_or_infer_runner_type() == "native"
        if frame is not None and here:
            yield from Local().map(work, parts, progress)
        elif frame is not None:
            yield from self._of_frame(work, frame)
        else:
            yield from self._of_parts(work, parts, progress, here=here)

    def _of_parts(
        self, work: Callable[[P], S], parts: Sequence[P], progress: Progress | None, *, here: bool
    ) -> Iterator[S]:
        """A row for each partition; the summaries that arrive early are held until it is their turn."""
        daft, kind = self._daft, self._daft.DataType
        frame = daft.from_pydict({"at": list(range(len(parts))), "part": [pickle.dumps(p) for p in parts]})
        frame = frame.into_batches(1) if here else frame.into_partitions(max(len(parts), 1))
        summarise = daft.func(return_dtype=kind.binary(), use_process=False)(_by_value(pickle.dumps(work)))
        asked = frame.select(frame["at"], summarise(frame["part"]).alias("sent"))
        early: dict[int, bytes] = {}
        done = rows = 0
        for batch in self._arriving(asked):
            early.update(zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True))
            while done in early:
                found = summary_of(early.pop(done))
                if progress is not None:
                    rows += getattr(parts[done], "rows", 0)
                    progress(rows, 0)
                done += 1
                yield found

    def _of_frame(self, work: Callable[[Any], S], frame: Any) -> Iterator[S]:
        """The rows stay where they are: each worker's batch becomes one summary, in no order."""
        daft = self._daft
        names, sent, version = frame.column_names, pickle.dumps(work), __version__

        def summarise(*columns: Any) -> Any:
            import pickle

            import pyarrow as pa

            table = pa.table(dict(zip(names, (c.to_arrow() for c in columns), strict=True)))
            try:
                from evenhand.engines.attempts import attempt
                from evenhand.engines.frames import HeldPart
            except ImportError:
                found = b""
            else:
                found = attempt(sent, pickle.dumps(HeldPart(table=table)), version)
            return pa.array([found, *[None] * (table.num_rows - 1)][: table.num_rows], pa.large_binary())

        asked = daft.func.batch(return_dtype=daft.DataType.binary(), batch_size=ROWS)(summarise)
        column = asked(*(frame[name] for name in names)).alias("sent")
        for batch in self._arriving(frame.select(column).where(daft.col("sent").not_null())):
            for found in batch.column(0).to_pylist():
                yield summary_of(found)

    def _arriving(self, asked: Any) -> Iterator[Any]:
        try:
            yield from asked.to_arrow_iter()
        except EvenhandError:
            raise
        except Exception as error:
            raise EngineError(
                "partition-lost", f"Daft gave up: {brief(error)}", hint="has it the memory for a partition?"
            ) from error


def _by_value(work: bytes) -> Callable[[bytes], bytes]:
    """A function that travels as it is, so that a worker without evenhand can say so."""
    version = __version__

    def summarise(part: bytes) -> bytes:
        try:
            from evenhand.engines.attempts import attempt
        except ImportError:
            return b""
        return attempt(work, part, version)

    return summarise

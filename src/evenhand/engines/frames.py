"""A frame of Daft's at the door: Delta, Iceberg, object stores, and whatever else Daft reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand._errors import UsageError
from evenhand._files import foreign
from evenhand._table import sound
from evenhand.engines import Engine
from evenhand.engines.local import Local
from evenhand.engines.streamed import Streamed

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = 1 << 17


@dataclass(frozen=True, kw_only=True)
class FramePart:
    """All rows of a frame; every pass asks for them anew.

    Args:
        frame: a daft.DataFrame.
    """

    frame: Any
    rows: int = 0

    def read(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Record batches of these columns, as Daft makes them."""
        with foreign("a frame of Daft's", "unreadable-frame", "Daft cannot read the frame"):
            for batch in self.frame.select(*names).to_arrow_iter():
                yield sound(batch)

    def __str__(self) -> str:
        return "a frame of Daft's"


@dataclass(frozen=True, kw_only=True)
class HeldPart:
    """Rows of a frame that a worker holds."""

    table: pa.Table

    @property
    def rows(self) -> int:
        """How many there are."""
        return int(self.table.num_rows)

    def read(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """See `Partition`."""
        yield from self.table.select(list(names)).to_batches(max_chunksize=BATCH)

    def __str__(self) -> str:
        return f"{self.rows} rows of a frame of Daft's"


def is_daft(data: Any) -> bool:
    """Whether `data` is a frame of Daft's, which is not imported for the question."""
    return type(data).__module__.partition(".")[0] == "daft" and hasattr(data, "to_arrow_iter")


def streamed_frame(frame: Any, engine: Engine | None) -> Streamed:
    """How to stream it.

    Raises:
        UsageError: `engine` for one that is not Daft's own.
    """
    from evenhand.engines.daft import Daft

    if engine is not None and not isinstance(engine, Daft | Local):
        raise UsageError(
            "engine",
            "a frame of Daft's is read by Daft, here or on the cluster that daft.set_runner_ray names",
            given=type(engine).__name__.lower(),
            expected='engine="daft"',
        )
    return Streamed(
        name="a frame of Daft's",
        columns=frame.column_names,
        parts=[FramePart(frame=frame)],
        engine=engine or Daft(),
        only=True,
    )

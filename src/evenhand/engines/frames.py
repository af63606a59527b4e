"""Frames whose rows are not in memory: Daft's, Spark's, and tables that are computed when they are asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand._errors import UsageError
from evenhand._files import foreign
from evenhand._table import sound

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = 1 << 17


@dataclass(frozen=True, kw_only=True)
class FramePart:
    """All rows of a frame of Daft's; every pass asks for them anew.

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
class SparkPart:
    """All rows of a frame of Spark's, which stay where Spark has them.

    Args:
        frame: a pyspark.sql.DataFrame.
    """

    frame: Any
    rows: int = 0

    def read(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The first rows alone, to look at: the rest is summarised where it is."""
        with foreign("a frame of Spark's", "unreadable-frame", "Spark cannot read the frame"):
            first = self.frame.select(*[_quoted(name) for name in names]).limit(BATCH).toArrow()
            for batch in first.to_batches():
                yield sound(batch)

    def __str__(self) -> str:
        return "a frame of Spark's"


@dataclass(frozen=True, kw_only=True)
class LazyPart:
    """All rows of a table that is computed when it is asked; every pass asks anew.

    Args:
        frame: what narwhals takes for a lazy frame: a DuckDB relation, a LazyFrame of polars, ….
    """

    frame: Any
    rows: int = 0

    def names(self) -> list[str]:
        """Its columns."""
        import narwhals as nw

        with foreign(str(self), "unreadable-frame", "the frame cannot be read"):
            found: Any = nw.from_native(self.frame)
            return list(found.collect_schema().names())

    def read(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Record batches of these columns, never all at once.

        Raises:
            UsageError: `engine` for a library that only hands over everything.
        """
        import narwhals as nw
        import pyarrow as pa

        with foreign(str(self), "unreadable-frame", "the frame cannot be read"):
            asked: Any = nw.from_native(self.frame).select(*names).to_native()
            if hasattr(asked, "collect_batches"):  # polars
                for piece in asked.collect_batches(chunk_size=BATCH):
                    yield from map(sound, piece.to_arrow().to_batches())
            elif hasattr(asked, "__arrow_c_stream__"):
                with pa.RecordBatchReader.from_stream(asked) as reader:
                    yield from map(sound, reader)
            else:
                raise UsageError(
                    "engine",
                    "this library hands over a table whole, not a part at a time",
                    given=type(self.frame).__module__.partition(".")[0],
                    expected="a relation of DuckDB, a LazyFrame of polars 1.34 or later, or no engine=",
                )

    def __str__(self) -> str:
        return f"a {type(self.frame).__name__}"


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
        return f"{self.rows} rows of a frame"


def library_of(data: Any) -> str:
    """The package that a frame is of; nothing is imported for the question."""
    return type(data).__module__.partition(".")[0]


def is_lazy(data: Any) -> bool:
    """Whether narwhals takes it for a table that is computed when it is asked."""
    import narwhals as nw

    return isinstance(nw.from_native(data, pass_through=True), nw.LazyFrame)


def _quoted(name: str) -> str:
    """A column's name for Spark, to which a dot means a field."""
    return "`" + name.replace("`", "``") + "`"

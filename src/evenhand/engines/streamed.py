"""Data that are read in partitions, a batch at a time: what columns they have, and sums over all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

from evenhand._errors import DataError
from evenhand._files import sha256
from evenhand._table import distinct
from evenhand.engines import Additive, Engine, Partition, Progress, total
from evenhand.engines.local import Local

if TYPE_CHECKING:
    import pyarrow as pa

A = TypeVar("A", bound=Additive)


@dataclass(frozen=True, kw_only=True)
class Streamed:
    """Rows that are never held together.

    Args:
        name: what a message calls them. columns: its names.
        parts: every row is in one. engine: where they are read.
        lacking: column → a file that has none of this name. clashing: column → two types, with their files.
        ranges: a column's lowest and highest value where the files state them, else None.
        files: what they are read from. only: they cannot be held instead. any_order: rows, or partitions, may
            come in another order in the next pass.
    """

    name: str
    columns: Sequence[str]
    parts: Sequence[Partition]
    engine: Engine = field(default_factory=Local)
    lacking: Mapping[str, str] = field(default_factory=dict)
    clashing: Mapping[str, str] = field(default_factory=dict)
    ranges: Callable[[str], tuple[float, float] | None] = lambda _: None
    files: Sequence[str] = ()
    only: bool = False
    any_order: bool = False

    def check(self, names: Sequence[str]) -> None:
        """DataError where a column is nowhere, in some of the files only, or of different types in them:
        `missing-column`, `duplicate-columns`, `different-columns`."""
        for name in names:
            if list(self.columns).count(name) > 1:
                raise DataError("duplicate-columns", "column names must be unique", given=name)
            if name not in self.columns:
                raise DataError(
                    "missing-column", f"there is no column {name!r}", given=name, available=self.columns
                )
            if name in self.lacking:
                raise DataError(
                    "different-columns",
                    f"some of the files have no column {name!r}",
                    given=self.lacking[name],
                    expected="every column that is named, in every file",
                )
            if name in self.clashing:
                raise DataError(
                    "different-columns",
                    f"the column {name!r} is of different types in different files",
                    given=self.clashing[name],
                    expected="numbers everywhere, or text everywhere",
                )

    def read(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Every batch, here."""
        for part in self.parts:
            yield from part.read(names)

    def head(self, names: Sequence[str]) -> pa.Table:
        """The first rows.

        Raises:
            DataError: `empty-file`.
        """
        import pyarrow as pa

        first = next((batch for batch in self.read(names) if batch.num_rows), None)
        if first is None:
            raise DataError("empty-file", "there are no rows", given=self.name)
        return pa.Table.from_batches([first])

    def total(self, work: Callable[[Partition], A], progress: Progress | None = None) -> A:
        """The sum of all partitions' summaries, made where the engine is.

        Raises:
            DataError: `empty-file`.
        """
        found = total(self.engine, work, self.parts, progress)
        if found is None:
            raise DataError("empty-file", "there are no rows", given=self.name)
        return found

    def distinct(self, name: str, most: int) -> list[Any] | None:
        """The values of all of a column, in the order of their appearance; None where there are more."""
        if distinct([self.head([name]).column(0)], most) is None:
            return None
        found = self.total(partial(_values_of, name, most)).values
        return None if found is None else list(found)

    def digests(self) -> list[str]:
        """The SHA-256 of every file's bytes, made where the engine is."""
        return list(self.engine.map(sha256, self.files)) if self.files else []


@dataclass(frozen=True)
class _Values:
    """The distinct values of a column; None where there are more than `most`."""

    values: Mapping[Any, None] | None
    most: int

    @property
    def full(self) -> bool:
        return self.values is None

    def __add__(self, other: Self) -> Self:
        if self.values is None or other.values is None:
            return type(self)(None, self.most)
        both = {**self.values, **other.values}
        return type(self)(both if len(both) <= self.most else None, self.most)


def _values_of(name: str, most: int, part: Partition) -> _Values:
    found = distinct((batch.column(0) for batch in part.read([name])), most)
    return _Values(None if found is None else dict.fromkeys(found), most)

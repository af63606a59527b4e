"""Files too large for memory: which they are, what columns they have, and their validated rows, batch by
batch."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._analysis import Analysis
from evenhand._errors import DataError
from evenhand._files import foreign
from evenhand._table import sound
from evenhand.audits.predictions.roles import Missing, Named, Progress
from evenhand.audits.predictions.rows import Rows, check_groups, rows_of

if TYPE_CHECKING:
    import pyarrow as pa

STREAM_ROWS = 5_000_000
"""Parquet and Arrow files with more rows are streamed."""
STREAM_BYTES = 1 << 29
"""CSV and TSV files with more bytes are streamed."""
BATCH = 1 << 17
DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}


@dataclass(frozen=True, kw_only=True)
class Large:
    """A file that is streamed.

    Args:
        path: of the file. columns: its names. pieces: names → record batches of these columns, from the
            first row on.
        ranges: a column's lowest and highest value where the file states them, else None.
    """

    path: Path
    columns: Sequence[str]
    pieces: Callable[[list[str]], Iterator[pa.RecordBatch]]
    ranges: Callable[[str], tuple[float, float] | None] = lambda _: None

    def read(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Record batches of these columns, each checked before it is used."""
        with foreign(self.path):
            for batch in self.pieces(list(names)):
                yield sound(batch)

    def head(self, names: Sequence[str]) -> pa.Table:
        """The first rows."""
        import pyarrow as pa

        first = next(self.read(names), None)
        if first is None:
            raise DataError("empty-file", "the file has no rows", given=self.path)
        return pa.Table.from_batches([first])


def large_file(data: Any) -> Large | None:
    """How to stream a file that is too large to be held, else None (the ordinary reader says what else is
    wrong)."""
    if not isinstance(data, str | Path):
        return None
    path = Path(data)
    suffix = path.suffix.lower()
    kinds = {".parquet": _parquet, ".pq": _parquet, ".arrow": _arrow, ".feather": _arrow, ".ipc": _arrow}
    kinds |= dict.fromkeys(DELIMITERS, _delimited)
    try:
        with foreign(path):
            return kinds[suffix](path) if suffix in kinds else None
    except DataError:
        return None


def _parquet(path: Path) -> Large | None:
    import pyarrow.parquet as parquet

    about = parquet.read_metadata(str(path))
    if about.num_rows <= STREAM_ROWS:
        return None
    names = parquet.read_schema(str(path)).names

    def pieces(columns: list[str]) -> Iterator[pa.RecordBatch]:
        with parquet.ParquetFile(str(path), pre_buffer=False) as file:
            for group in range(
                file.num_row_groups
            ):  # one by one: the reader keeps the buffers of all it was asked for
                yield from file.iter_batches(batch_size=BATCH, row_groups=[group], columns=columns)

    def ranges(name: str) -> tuple[float, float] | None:
        place = next((i for i in range(about.num_columns) if about.schema.column(i).path == name), None)
        if place is None:
            return None
        found = [about.row_group(g).column(place).statistics for g in range(about.num_row_groups)]
        if not all(s is not None and s.has_min_max and isinstance(s.min, int | float) for s in found):
            return None
        low, high = float(min(s.min for s in found)), float(max(s.max for s in found))
        return (low, high) if np.isfinite([low, high]).all() else None

    return Large(path=path, columns=names, pieces=pieces, ranges=ranges)


def _arrow(path: Path) -> Large | None:
    import pyarrow as pa

    with pa.OSFile(str(path)) as source:
        file = pa.ipc.open_file(source)
        names = file.schema.names
        rows = sum(file.get_batch(i).num_rows for i in range(file.num_record_batches))
    if rows <= STREAM_ROWS:
        return None

    def pieces(columns: list[str]) -> Iterator[pa.RecordBatch]:
        with pa.OSFile(str(path)) as source:
            file = pa.ipc.open_file(source)
            for i in range(file.num_record_batches):
                batch = file.get_batch(i).select(columns)
                for start in range(0, batch.num_rows, BATCH):
                    yield batch.slice(start, BATCH)

    return Large(path=path, columns=names, pieces=pieces)


def _delimited(path: Path) -> Large | None:
    """Types are those of the first block, whole numbers taken as decimals: a later block may hold some."""
    import pyarrow as pa
    import pyarrow.csv as csv
    import pyarrow.types as types

    if path.stat().st_size <= STREAM_BYTES:
        return None
    parse = csv.ParseOptions(delimiter=DELIMITERS[path.suffix.lower()], newlines_in_values=True)
    null = {"strings_can_be_null": True, "null_values": ["", "NA", "NaN", "nan", "None", "null", "NULL"]}
    read = csv.ReadOptions(block_size=1 << 23)
    with csv.open_csv(
        str(path), read_options=read, parse_options=parse, convert_options=csv.ConvertOptions(**null)
    ) as file:
        schema = file.schema
    kinds = {
        f.name: pa.float64() if types.is_integer(f.type) or types.is_null(f.type) else f.type for f in schema
    }

    def pieces(columns: list[str]) -> Iterator[pa.RecordBatch]:
        convert = csv.ConvertOptions(
            include_columns=columns, column_types={n: kinds[n] for n in columns}, **null
        )
        with csv.open_csv(str(path), read_options=read, parse_options=parse, convert_options=convert) as file:
            for batch in file:
                for start in range(0, batch.num_rows, BATCH):
                    yield batch.slice(start, BATCH)

    return Large(path=path, columns=schema.names, pieces=pieces)


def numbers_only(named: Named) -> Named:
    """The same roles without groups and controls, for passes that need none: they leave out the same rows."""
    return replace(named, groups=(), control=())


def batches(
    large: Large,
    named: Named,
    *,
    missing: Missing,
    labels: bool = False,
    progress: Progress | None = None,
    analysis: Analysis | None = None,
) -> Iterator[Rows]:
    """Validated rows, `BATCH` at a time; the notes of all batches are added up in `analysis`.

    Raises:
        DataError: as `rows_of`; `too-many-groups` also where all batches together have too many.
    """
    import pyarrow as pa

    seen: dict[str, dict[str, None]] = {}
    notes: dict[tuple[str, str], int] = {}
    done = 0
    for batch in large.read(named.all()):
        own = Analysis()
        table = pa.Table.from_batches([batch])
        rows = rows_of(table, named, missing=missing, analysis=own, labels=labels, part=True)
        done += table.num_rows
        for name, factor in {**rows.groups, **rows.control}.items():
            seen.setdefault(name, {}).update(dict.fromkeys(factor.levels))
            check_groups(name, list(seen[name]), done, part=True)
        _add_up(own, notes)
        if progress is not None:
            progress(done, 0)
        yield rows
    if analysis is not None:
        for (slug, rest), some in notes.items():
            analysis.note(slug, f"{some} of {done} {rest}", warning=True)


def _add_up(found: Analysis, notes: dict[tuple[str, str], int]) -> None:
    """Notes of a batch that say "3 of 700 rows …", added to those of the batches before."""
    for note in found.notes:
        counted = re.match(r"(\d+) of \d+ (.*)", note.text, flags=re.DOTALL)
        if counted is not None:
            key = (note.slug, counted[2])
            notes[key] = notes.get(key, 0) + int(counted[1])

"""Files, folders of files and patterns of names as partitions. How they are cut hangs on the files alone, so
that every engine, and every number of workers, adds the same summaries in the same order."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._errors import DataError
from evenhand._files import foreign
from evenhand._json_lines import json_lines
from evenhand._table import sound
from evenhand.engines import Engine
from evenhand.engines.local import Local
from evenhand.engines.streamed import Streamed

if TYPE_CHECKING:
    import pyarrow as pa

STREAM_ROWS = 5_000_000
"""Parquet and Arrow files with more rows are streamed."""
STREAM_BYTES = 1 << 29
"""Files of delimited text and JSON lines with more bytes are streamed."""
BATCH = 1 << 18
BLOCK = 1 << 23
"""Bytes of text read at once."""
PART_ROWS = 1 << 22
"""Least rows of a partition, but for the last."""
PART_BYTES = 1 << 28
"""The same, of files that do not say how many rows they have."""
MOST_PARTS = 512
"""Partitions of all data, however large: what their summaries weigh is bounded, too."""
DELIMITERS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
KINDS = {
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "arrow"),
    **dict.fromkeys(DELIMITERS, "delimited"),
    **dict.fromkeys((".jsonl", ".ndjson"), "lines"),
}
"""Ending → how a file is read in pieces."""
NULLS: Mapping[str, Any] = {
    "strings_can_be_null": True,
    "null_values": ["", "NA", "NaN", "nan", "None", "null", "NULL"],
}


@dataclass(frozen=True, kw_only=True)
class Piece:
    """What is read at one go: some row groups (or batches) of a file, or all of it.

    Args:
        path: absolute. kind: a value of `KINDS`. groups: of the file. size: rows, or bytes where nobody
            knows.
        types: column → type, of text.
    """

    path: str
    kind: str
    groups: tuple[int, ...] = ()
    size: int = 0
    types: Mapping[str, Any] = field(default_factory=dict)

    def read(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Record batches of these columns."""
        with foreign(self.path):
            for batch in READERS[self.kind](self, list(names)):
                yield sound(batch)


@dataclass(frozen=True, kw_only=True)
class FilePart:
    """Pieces that are summarised together.

    Args:
        rows: how many they have; 0 where nobody knows.
    """

    pieces: tuple[Piece, ...]
    rows: int = 0

    def read(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """See `Partition`."""
        for piece in self.pieces:
            yield from piece.read(names)

    def __str__(self) -> str:
        first, last = self.pieces[0], self.pieces[-1]
        if first.path != last.path:
            return f"{first.path} to {last.path}"
        groups = [*first.groups[:1], *last.groups[-1:]]
        return f"{first.path}, groups {groups[0]} to {groups[-1]}" if groups else first.path


@dataclass(frozen=True, kw_only=True)
class _File:
    """A file that has been looked at.

    Args:
        types: column → its type. names: its columns, as often as they occur. about: Parquet's metadata.
    """

    path: Path
    names: Sequence[str]
    types: dict[str, pa.DataType]
    pieces: Sequence[Piece]
    about: Any = None

    @property
    def size(self) -> int:
        return sum(piece.size for piece in self.pieces)


def streamed_files(data: Any, engine: Engine | None) -> Streamed | None:
    """How to stream a file that is too large to be held, several files, or any that an engine was named for;
    None where the ordinary reader takes it (and says what is wrong with it).

    Args:
        data: a path, a folder, or a pattern (``parts/*.parquet``). Of a folder every file with an ending of
            `KINDS` is read, whose name begins with neither "." nor "_".

    Raises:
        DataError: `unreadable-file`, `unknown-format`, `no-such-file`, where several files or an engine were
            named.
    """
    if not isinstance(data, str | os.PathLike):
        return None
    path = Path(data)
    several = os.path.isdir(path) or (not os.path.exists(path) and glob.has_magic(os.fspath(path)))
    if several or engine is not None:
        return replace(_together(data, [_looked_at(file) for file in _files(path)], engine), only=True)
    try:
        file = _looked_at(path)
    except DataError:
        return None
    most = STREAM_ROWS if KINDS[path.suffix.lower()] in ("parquet", "arrow") else STREAM_BYTES
    return _together(data, [file], None) if file.size > most else None


def _files(path: Path) -> list[Path]:
    """The file, those of the folder, or those that match, sorted."""
    if path.is_dir():
        every = (p for p in sorted(path.rglob("*")) if p.is_file() and p.suffix.lower() in KINDS)
        found = [p for p in every if not any(n[:1] in "._" for n in p.relative_to(path).parts)]
    elif path.exists():
        found = [path]
    else:
        found = sorted(Path(p) for p in glob.glob(os.fspath(path), recursive=True) if Path(p).is_file())
    if not found:
        near = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        raise DataError(
            "no-such-file",
            "there is no such file, or none that is read",
            given=path,
            available=near,
            hint=f"folders and patterns hold files of {', '.join(KINDS)}",
        )
    return found


def _looked_at(path: Path) -> _File:
    """The file's columns, and how it is read in pieces."""
    suffix = path.suffix.lower()
    if suffix not in KINDS:
        raise DataError(
            "unknown-format",
            "files of this format are not read in pieces",
            given=path,
            available=sorted(KINDS),
        )
    with foreign(path):
        return LOOKS[KINDS[suffix]](path.absolute())


def _together(data: Any, files: Sequence[_File], engine: Engine | None) -> Streamed:
    filled = _as_text([file for file in files if file.size] or files)
    names = list(dict.fromkeys(name for file in filled for name in file.names))
    first = filled[0]
    twice = [name for file in filled for name in file.names if list(file.names).count(name) > 1]
    lacking = {name: str(f.path) for f in reversed(filled) for name in names if name not in f.names}
    return Streamed(
        name=str(data),
        columns=[*names, *twice],
        parts=_parts([piece for file in filled for piece in file.pieces if piece.size]),
        engine=engine or Local(),
        lacking=lacking,
        clashing={name: said for name in names if (said := _clash(name, filled))},
        ranges=lambda name: _ranges(name, filled) if first.about is not None else None,
        files=[str(file.path) for file in files],
    )


def _as_text(files: Sequence[_File]) -> Sequence[_File]:
    """Columns of delimited text that look like one thing in one file and like another in the next, as the
    text that they are: a group named "9" may be alone in its file."""
    import pyarrow as pa

    if any(piece.kind != "delimited" for file in files for piece in file.pieces):
        return files
    plain = {name: pa.string() for file in files for name in file.names if _clash(name, files)}
    return [
        replace(
            file,
            types=file.types | {name: plain[name] for name in file.names if name in plain},
            pieces=[replace(piece, types={**piece.types, **plain}) for piece in file.pieces],
        )
        for file in files
    ]


def _parts(pieces: Sequence[Piece]) -> list[FilePart]:
    """Pieces side by side, until there are enough rows (of text: bytes) for a partition."""
    known = all(piece.kind in ("parquet", "arrow") for piece in pieces)
    least = max(PART_ROWS if known else PART_BYTES, sum(p.size for p in pieces) // MOST_PARTS)
    found: list[list[Piece]] = []
    held = least
    for piece in pieces:
        if held >= least:
            found.append([])
            held = 0
        before = found[-1][-1:]
        if piece.groups and before and before[0].path == piece.path:  # opened once
            groups, size = before[0].groups + piece.groups, before[0].size + piece.size
            found[-1][-1] = replace(piece, groups=groups, size=size)
        else:
            found[-1].append(piece)
        held += piece.size
    return [FilePart(pieces=tuple(p), rows=sum(q.size for q in p) if known else 0) for p in found]


def _clash(name: str, files: Sequence[_File]) -> str:
    """Two files in which a column is not of one kind, "" where there are none; nothing but missing values
    goes with everything."""
    seen: dict[str, str] = {}
    for file in files:
        kind = _kind(file.types[name]) if name in file.types else ""
        if kind and kind not in seen:
            seen[kind] = f"{kind} in {file.path.name}"
    return "; ".join(seen.values()) if len(seen) > 1 else ""


def _kind(kind: pa.DataType) -> str:
    """Numbers of all sizes are one kind, and so is text, however it is kept."""
    import pyarrow.types as types

    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_null(kind):
        return ""
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "numbers"
    if types.is_string(kind) or types.is_large_string(kind):
        return "text"
    return str(kind)


def _ranges(name: str, files: Sequence[_File]) -> tuple[float, float] | None:
    """The lowest and highest value that all files' footers state."""
    found = []
    for file in files:
        about = file.about
        if about is None:
            return None
        with foreign(file.path):
            place = next((i for i in range(about.num_columns) if about.schema.column(i).path == name), None)
            if place is None:
                return None
            found += [about.row_group(g).column(place).statistics for g in range(about.num_row_groups)]
    known = [s for s in found if s is None or s.null_count is None or s.num_values > 0]
    if not known or not all(
        s is not None and s.has_min_max and isinstance(s.min, int | float) for s in known
    ):
        return None
    low, high = float(min(s.min for s in known)), float(max(s.max for s in known))
    return (low, high) if np.isfinite([low, high]).all() else None


# --- one kind of file after the other: how it is looked at, and how a piece of it is read


def _look_at_parquet(path: Path) -> _File:
    import pyarrow.parquet as parquet

    with parquet.ParquetFile(str(path)) as file:
        about, schema = file.metadata, file.schema_arrow
    groups = range(about.num_row_groups)
    pieces = [
        Piece(path=str(path), kind="parquet", groups=(g,), size=about.row_group(g).num_rows) for g in groups
    ]
    return _File(path=path, names=schema.names, types=_types(schema), pieces=pieces, about=about)


def _read_parquet(piece: Piece, names: list[str]) -> Iterator[pa.RecordBatch]:
    import pyarrow.parquet as parquet

    with parquet.ParquetFile(piece.path, pre_buffer=False) as file:
        for group in piece.groups:  # one by one: the reader keeps the buffers of all it was asked for
            yield from file.iter_batches(batch_size=BATCH, row_groups=[group], columns=names)


def _look_at_arrow(path: Path) -> _File:
    import pyarrow as pa

    with pa.OSFile(str(path)) as source:
        file = pa.ipc.open_file(source)
        sizes = [file.get_batch(i).num_rows for i in range(file.num_record_batches)]
        schema = file.schema
    pieces = [Piece(path=str(path), kind="arrow", groups=(i,), size=n) for i, n in enumerate(sizes)]
    return _File(path=path, names=schema.names, types=_types(schema), pieces=pieces)


def _read_arrow(piece: Piece, names: list[str]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    with pa.OSFile(piece.path) as source:
        file = pa.ipc.open_file(source)
        for i in piece.groups:
            batch = file.get_batch(i).select(names)
            for start in range(0, batch.num_rows, BATCH):
                yield batch.slice(start, BATCH)


def _look_at_delimited(path: Path) -> _File:
    """Types are those of the first block, whole numbers taken as decimals: a later block may hold some."""
    import pyarrow.csv as csv

    if not path.stat().st_size:
        return _File(path=path, names=(), types={}, pieces=())
    with csv.open_csv(str(path), **_options(str(path)), convert_options=csv.ConvertOptions(**NULLS)) as file:
        schema = file.schema
    return _text(path, "delimited", schema)


def _read_delimited(piece: Piece, names: list[str]) -> Iterator[pa.RecordBatch]:
    import pyarrow.csv as csv

    types = {name: piece.types[name] for name in names}
    convert = csv.ConvertOptions(include_columns=names, column_types=types, **NULLS)
    with csv.open_csv(piece.path, **_options(piece.path), convert_options=convert) as file:
        for batch in file:
            for start in range(0, batch.num_rows, BATCH):
                yield batch.slice(start, BATCH)


def _options(path: str) -> dict[str, Any]:
    import pyarrow.csv as csv

    delimiter = DELIMITERS[Path(path).suffix.lower()]
    return {
        "read_options": csv.ReadOptions(block_size=BLOCK),
        "parse_options": csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
    }


def _look_at_lines(path: Path) -> _File:
    first = next(_blocks(path), b"")
    if not first.strip():
        return _File(path=path, names=(), types={}, pieces=())
    return _text(path, "lines", json_lines(first).schema)


def _read_lines(piece: Piece, names: list[str]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    schema = pa.schema([(name, piece.types[name]) for name in names])
    for block in _blocks(Path(piece.path)):
        yield from json_lines(block, schema).to_batches(max_chunksize=BATCH)


def _blocks(path: Path) -> Iterator[bytes]:
    """Whole lines, about `BLOCK` bytes at a time."""
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            yield block + file.readline()


def _text(path: Path, kind: str, schema: pa.Schema) -> _File:
    import pyarrow as pa
    import pyarrow.types as types

    kinds = {
        f.name: pa.float64() if types.is_integer(f.type) or types.is_null(f.type) else f.type for f in schema
    }
    piece = Piece(path=str(path), kind=kind, size=path.stat().st_size, types=kinds)
    return _File(path=path, names=schema.names, types=_types(schema), pieces=[piece])


def _types(schema: pa.Schema) -> dict[str, pa.DataType]:
    return {field.name: field.type for field in schema}


LOOKS = {
    "parquet": _look_at_parquet,
    "arrow": _look_at_arrow,
    "delimited": _look_at_delimited,
    "lines": _look_at_lines,
}
READERS = {
    "parquet": _read_parquet,
    "arrow": _read_arrow,
    "delimited": _read_delimited,
    "lines": _read_lines,
}

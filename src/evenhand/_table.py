"""The dataframe door: files and frames become Arrow tables, and their columns numbers, texts and factors,
validated.

Files are CSV, TSV, JSON lines, JSON (a list of records), Parquet and Arrow; frames are whatever narwhals
reads.
"""

from __future__ import annotations

import gzip
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from evenhand._encoding import decode, read_bytes
from evenhand._errors import DataError
from evenhand._files import bounded, brief, foreign
from evenhand._json_lines import json_lines
from evenhand._model import Factor, FloatArray

if TYPE_CHECKING:
    import pyarrow as pa

Checked = TypeVar("Checked", "pa.Table", "pa.RecordBatch")
_DELIMITED = {".csv": None, ".tsv": "\t", ".tab": "\t", ".txt": None, ".dat": None, ".data": None}


def read_table(source: Any, *, columns: Sequence[str] | None = None) -> pa.Table:
    """Anything tabular as an Arrow table.

    Args:
        source: a path; a dataframe that narwhals or Arrow's PyCapsule interface reads; a mapping of columns;
            a sequence of mappings; or a structured NumPy array.
        columns: only these, where given.

    Raises:
        DataError: no such file, empty, damaged, a format that is not read, or a missing column (near names
            are named).
    """
    import pyarrow as pa

    if isinstance(source, str | os.PathLike):
        table = _read_file(Path(source))
    elif isinstance(source, pa.Table):
        table = source
    elif isinstance(source, Mapping):
        table = _from_mapping(source)
    elif isinstance(source, np.ndarray) and source.dtype.names:
        table = _from_mapping({n: source[n] for n in source.dtype.names})
    elif isinstance(source, Sequence) and source and all(isinstance(r, Mapping) for r in source):
        table = pa.Table.from_pylist(list(source))
    else:
        table = _from_frame(source)
    duplicated = sorted(n for n, times in Counter(table.column_names).items() if times > 1)
    if duplicated:
        raise DataError("duplicate-columns", "column names must be unique", given=", ".join(duplicated))
    if columns is not None:
        for name in columns:
            require(table, name)
        table = table.select(list(dict.fromkeys(columns)))
    return table


def read_printed(source: Any) -> dict[str, list[str | None]]:
    """A table as texts, every digit as it is printed: name → the cells of a column, None where it is empty.

    Args:
        source: as `read_table`. Of other sources than delimited text a number is written as shortly as it
            can be.
    """
    import pyarrow as pa

    table = read_table(source)
    if isinstance(source, str | os.PathLike) and _suffix(Path(source)) in _DELIMITED:
        table = _read_delimited(Path(source), dict.fromkeys(table.column_names, pa.string()))
    return {name: text_column(table, name) for name in table.column_names}


def require(table: pa.Table, name: str) -> pa.ChunkedArray:
    """A column, or an error that names the near ones."""
    if name not in table.column_names:
        raise DataError(
            "missing-column", f"there is no column {name!r}", given=name, available=table.column_names
        )
    return table.column(name)


def as_numpy(column: pa.Array | pa.ChunkedArray, missing: float) -> Any:
    """(n,) a column of numbers as NumPy has it, read-only. Arrow's own way imports pandas where it is
    installed, which takes longer than many an audit.

    Args:
        column: whole or floating numbers, of the type that the array shall have. missing: stands for nulls.

    >>> import pyarrow as pa
    >>> as_numpy(pa.array([1.0, None]), np.nan).tolist()
    [1.0, nan]
    """
    import pyarrow as pa

    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    filled = whole.fill_null(missing) if whole.null_count else whole
    found = np.from_dlpack(filled) if len(filled) else np.empty(0, filled.type.to_pandas_dtype())
    found.flags.writeable = False
    return found


def numbers(table: pa.Table, name: str) -> FloatArray:
    """A column as floats (n,); missing and "" become NaN, text that is not a number is an error."""
    import pyarrow as pa
    import pyarrow.types as types

    column = require(table, name)
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if types.is_string(column.type) or types.is_large_string(column.type):
        return _parsed(column.to_pylist(), name)
    if types.is_null(column.type):
        return np.full(len(column), np.nan)
    try:
        found: FloatArray = as_numpy(column.cast(pa.float64()), np.nan)
        return found
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DataError(
            "not-a-number", f"the column {name!r} holds {column.type}", expected="numbers"
        ) from error


def text_column(table: pa.Table, name: str) -> list[str | None]:
    """A column as texts; numbers are written out, missing stays None."""
    values = require(table, name).to_pylist()
    return [None if v is None else str(v) for v in values]


def factor(table: pa.Table, name: str) -> Factor:
    """A column as a Factor; missing, NaN and "" are missing, whole numbers lose their ".0", booleans are
    labels."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as types

    column = require(table, name).combine_chunks()
    if types.is_floating(column.type):
        values = as_numpy(column.cast(pa.float64()), np.nan)
        labels = np.unique(values[~np.isnan(values)])
        names = tuple(str(int(v)) if float(v).is_integer() else str(v) for v in labels)
        codes = np.searchsorted(labels, values)
        return Factor(np.where(np.isnan(values), -1, codes).astype(np.int32), names)
    if not types.is_dictionary(column.type):
        column = pc.dictionary_encode(column)
    levels = [None if v is None else str(v) for v in column.dictionary.to_pylist()]
    codes = as_numpy(column.indices.cast(pa.int32()), -1)
    merged = Factor.of([None if v is None or not v.strip() else v for v in levels])
    if np.array_equal(merged.codes, np.arange(len(levels))):  # the dictionary has each level once
        return Factor(codes, merged.levels)
    return Factor(np.append(merged.codes, -1)[codes].astype(np.int32), merged.levels)


def feature(table: pa.Table, name: str) -> Factor | FloatArray:
    """A column as numbers where it holds numbers, NaN being missing, else as a Factor."""
    import pyarrow.types as types

    kind = require(table, name).type
    number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    return numbers(table, name) if number else factor(table, name)


def distinct(pieces: Iterable[Any], most: int) -> list[Any] | None:
    """The values of a column that comes in pieces, each once, without the missing; None where there are more.

    Args:
        pieces: Arrow arrays. most: distinct values, beyond which no further piece is looked at.

    >>> import pyarrow as pa
    >>> distinct([pa.array([1, 0, None]), pa.array([1, 2])], 3), distinct([pa.array(["a", "b"])], 1)
    ([1, 0, 2], None)
    """
    import pyarrow.compute as pc

    found: dict[Any, None] = {}
    for piece in pieces:
        for value in pc.unique(piece):
            plain = value.as_py()
            if plain is not None and plain == plain and not (isinstance(plain, str) and not plain.strip()):
                found[plain] = None
            if len(found) > most:
                return None
    return list(found)


MOST_COUNTED = 20_000_000
"""People that a table of counts may stand for."""


def expanded(table: pa.Table, name: str) -> pa.Table:
    """A table of counts as one row a person: each row as often as its count says.

    Raises:
        DataError: `missing-column`, `not-a-number`, `bad-counts`.

    >>> import pyarrow as pa
    >>> expanded(pa.table({"sex": ["F", "M"], "n": [2, 1]}), "n").column("sex").to_pylist()
    ['F', 'F', 'M']
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as types

    counts = numbers(table, name)
    wrong = np.flatnonzero(~(np.isfinite(counts) & (counts >= 0) & (counts == np.round(counts))))
    total = float(counts.sum())
    if len(wrong) or not 0 < total <= MOST_COUNTED:
        row = f" (row {wrong[0] + 1})" if len(wrong) else ""
        raise DataError(
            "bad-counts",
            f"the counts in {name!r} are not how many people there are{row}",
            given=float(counts[wrong[0]]) if len(wrong) else f"{total:,.0f} in all",
            expected=f"whole numbers from 0, of 1 to {MOST_COUNTED:,} people in all",
            hint="weights, which need not be whole, are given with weight= (--weight)",
        )
    for at, column in enumerate(table.columns):
        if types.is_string(column.type) or types.is_large_string(column.type):
            table = table.set_column(at, table.column_names[at], pc.dictionary_encode(column))
    times = np.repeat(np.arange(len(counts)), counts.astype(np.int64))
    return table.unify_dictionaries().combine_chunks().take(pa.array(times))


def sound(table: Checked) -> Checked:
    """`table` (or a record batch) with every offset, index and character checked: no damage is followed.

    Raises:
        pyarrow.ArrowInvalid, UnicodeDecodeError: it is damaged.
    """
    _ = table.schema.names
    table.validate(full=True)
    return table


def write_csv(path: str | os.PathLike[str], columns: Mapping[str, Iterable[Any]]) -> None:
    """A plain CSV of columns, for files that evenhand itself reads back."""
    import pyarrow as pa
    import pyarrow.csv as csv

    csv.write_csv(pa.table({k: list(v) for k, v in columns.items()}), os.fspath(path))


def _read_file(path: Path) -> pa.Table:
    read_bytes(path, most=64)
    read = _reader(_suffix(path), path)
    with foreign(path):
        table = sound(read(path))
    if table.num_columns == 0 or table.num_rows == 0:
        raise DataError("empty-file", "the file has no rows", given=path)
    return table


def _suffix(path: Path) -> str:
    """The ending that says the format, that of a packed file before its .gz."""
    suffix = "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix
    return suffix.lower().removesuffix(".gz")


def _reader(suffix: str, path: Path) -> Any:
    readers = {
        ".jsonl": _read_json_lines,
        ".ndjson": _read_json_lines,
        ".json": _read_json,
        ".parquet": _read_parquet,
        ".pq": _read_parquet,
        ".arrow": _read_arrow,
        ".feather": _read_arrow,
        ".ipc": _read_arrow,
        **dict.fromkeys(_DELIMITED, _read_delimited),
    }
    if suffix not in readers:
        raise DataError(
            "unknown-format", "the format of this file is not read", given=path, available=sorted(readers)
        )
    return readers[suffix]


def _read_delimited(path: Path, types: Mapping[str, Any] | None = None) -> pa.Table:
    import pyarrow as pa
    import pyarrow.csv as csv

    text = decode(_unpacked(path), name=path.name)
    data = text.encode("utf-8")
    header = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = _DELIMITED.get(path.suffix.lower()) or _delimiter(header)
    convert = csv.ConvertOptions(
        strings_can_be_null=True,
        null_values=["", "NA", "NaN", "nan", "None", "null", "NULL"],
        column_types=types,
    )
    parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    read = csv.ReadOptions(block_size=max(1 << 24, len(data) // 8))
    return csv.read_csv(
        pa.BufferReader(data), read_options=read, parse_options=parse, convert_options=convert
    )


def _delimiter(header: str) -> str:
    counts = {d: header.count(d) for d in (",", ";", "\t", "|")}
    best = max(counts, key=lambda d: counts[d])
    return best if counts[best] else ","


def _unpacked(path: Path) -> bytes:
    """The bytes of a file, unpacked where it is gzipped."""
    with path.open("rb") as file:
        if file.read(2) != b"\x1f\x8b":
            file.seek(0)
            return file.read()
    with gzip.open(path, "rb") as packed, bounded(packed, path) as stream:  # type: ignore[arg-type]
        return stream.read()


def _read_json_lines(path: Path) -> pa.Table:
    return json_lines(decode(_unpacked(path), name=path.name).encode("utf-8"))


def _read_json(path: Path) -> pa.Table:
    import json

    import pyarrow as pa

    text = decode(_unpacked(path), name=path.name)
    try:
        value = json.loads(text)
    except ValueError as error:
        if "Extra data" in str(error):
            return _read_json_lines(path)
        raise DataError("unreadable-file", f"the file is not JSON: {brief(error)}", given=path) from error
    if isinstance(value, list) and value and all(isinstance(r, dict) for r in value):
        return pa.Table.from_pylist(value)
    if isinstance(value, dict) and value and all(isinstance(c, list) for c in value.values()):
        return _from_mapping(value)
    raise DataError(
        "json-shape",
        "this JSON is not a table",
        given=path,
        expected="a list of records, or an object of equally long lists",
    )


def _read_parquet(path: Path) -> pa.Table:
    import pyarrow.parquet as parquet

    return parquet.read_table(os.fspath(path))


def _read_arrow(path: Path) -> pa.Table:
    import pyarrow as pa

    with pa.OSFile(os.fspath(path)) as source:  # never mapped: a file that shrinks would end the process
        try:
            return pa.ipc.open_file(source).read_all()
        except pa.ArrowInvalid:
            source.seek(0)
            return pa.ipc.open_stream(source).read_all()


def _from_mapping(columns: Mapping[str, Any]) -> pa.Table:
    import pyarrow as pa

    lengths = {k: len(v) for k, v in columns.items()}
    if len(set(lengths.values())) > 1:
        raise DataError("column-lengths", "columns of different lengths", given=lengths)
    try:
        return pa.Table.from_pydict({str(k): _arrow_column(v) for k, v in columns.items()})
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise DataError("mixed-column", f"a column mixes kinds of values: {brief(error)}") from error


def _arrow_column(values: Any) -> Any:
    import pyarrow as pa

    if isinstance(values, Factor):
        return pa.array(list(values), type=pa.string())
    if isinstance(values, np.ndarray):
        return _of_numpy(values)
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    return pa.array(list(values), from_pandas=True)


def _of_numpy(values: npt.NDArray[Any]) -> Any:
    """Numbers and texts as Arrow has them, without `pa.array`, which imports pandas where it is installed. Of
    texts each value is read once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    plain = values.ndim == 1 and len(values) > 0
    if plain and values.dtype.kind in "iuf" and values.dtype.itemsize in (4, 8):
        buffers = [None, pa.py_buffer(np.ascontiguousarray(values))]
        return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), buffers)
    if plain and values.dtype.kind == "b":
        bits = pa.py_buffer(np.packbits(values, bitorder="little"))
        return pa.Array.from_buffers(pa.bool_(), len(values), [None, bits])
    if plain and values.dtype.kind == "U" and values.dtype.itemsize > 0:
        wide = pa.binary(values.dtype.itemsize)
        whole = pa.Array.from_buffers(wide, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])
        found = pc.dictionary_encode(whole)
        words = np.frombuffer(b"".join(found.dictionary.to_pylist()), dtype=values.dtype)
        written = [word.encode("utf-8", "surrogatepass") for word in words.tolist()]
        ends = np.cumsum([0, *map(len, written)], dtype=np.int32)
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(written))]
        texts = pa.Array.from_buffers(pa.string(), len(written), buffers)
        texts.validate(full=True)
        return pa.DictionaryArray.from_arrays(found.indices, texts)
    return values


def _from_frame(source: Any) -> pa.Table:
    import narwhals as nw
    import pyarrow as pa

    if hasattr(source, "__arrow_c_stream__") and not hasattr(source, "iloc"):
        return pa.table(source)
    try:
        frame = nw.from_native(source)
        collected = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
        return collected.to_arrow()
    except (TypeError, pa.ArrowInvalid, pa.ArrowTypeError, ValueError) as error:
        raise DataError(
            "not-a-table",
            f"this cannot be read as a table: {brief(error)}",
            given=type(source).__name__,
            expected="a path, a dataframe, a mapping of columns, or a list of records",
        ) from error


def _parsed(values: list[str | None], name: str) -> FloatArray:
    out = np.full(len(values), np.nan)
    for row, value in enumerate(values):
        if value is None or not value.strip():
            continue
        try:
            out[row] = float(value)
        except ValueError:
            raise DataError(
                "not-a-number",
                f"the column {name!r} holds text that is not a number (row {row + 1})",
                given=value,
                expected="numbers",
                hint="decimal commas are not read; write 0.5",
            ) from None
    return out

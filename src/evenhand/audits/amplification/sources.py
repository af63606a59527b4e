"""Captions, label tables and counts from whatever the user has: COCO's JSON, JSON lines, CSV, Parquet,
frames, lists."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypeGuard

import numpy as np

from evenhand._encoding import decode
from evenhand._errors import DataError, UsageError
from evenhand._files import foreign
from evenhand._model import BoolArray, FloatArray, IntArray
from evenhand._provenance import digest_of
from evenhand._table import factor, numbers, read_table, require

if TYPE_CHECKING:
    import pyarrow as pa

Kind: TypeAlias = Literal["captions", "labels", "counts"]
TEXT_COLUMNS = ("caption", "captions", "text", "sentence", "generated", "output", "prediction", "description")
ID_COLUMNS = (
    *("image_id", "image", "imgid", "img_id", "cocoid", "file_name", "filename"),
    *("id", "person_id", "row_id"),
)
ITEM_COLUMNS = ("item", "object", "verb", "word", "activity", "prompt")
LONG_GROUPS = ("group", "gender", "sex", "race")
EXPECTED = (
    "COCO captions {annotations: [{image_id, caption}]}, a list of {image_id, caption}, {image_id: caption or"
    " captions},"
    " a list of texts or of lists of texts, or Karpathy's {images: [{cocoid, sentences: [{raw}]}]}"
)


@dataclass(frozen=True, kw_only=True)
class RawCorpus:
    """One corpus as it was read.

    Args:
        name: what messages call it. kind: what it holds.
        texts: captions, None where missing. ids: the image of each row, None where every row is its own.
        table: the other columns, where it is a table. digest: of what was read.
        repeated: rows left out because the same caption of the same image was there already.
    """

    name: str
    kind: Kind = "captions"
    texts: Sequence[str | None] = ()
    ids: Sequence[str] | None = None
    table: pa.Table | None = None
    digest: str = ""
    repeated: int = 0

    def __len__(self) -> int:
        return len(self.texts) if self.table is None else int(self.table.num_rows)

    @property
    def columns(self) -> list[str]:
        """Of its table; none where it has none."""
        return [] if self.table is None else list(self.table.column_names)

    def needs_table(self, slug: str, without: str) -> pa.Table:
        """Its table; UsageError `slug` where it has none, and so is `without` something."""
        if self.table is None:
            raise UsageError(slug, f"the {self.name} has {without}")
        return self.table


class _Shape(NamedTuple):
    """Captions as they are published: their images, the captions, what these are called, their own ids."""

    ids: list[str] | None
    captions: Sequence[object]
    column: str
    keys: list[str] | None = None


def read_source(
    source: object, *, name: str, text: str | None = None, id: str | None = None, labels: bool = False
) -> RawCorpus:
    """Read one corpus and tell what it is.

    Args:
        source: a path, frame, mapping or sequence. name: "train", "outputs", … for messages.
        text, id: columns with captions and image ids, where their names do not tell.
        labels: take a table as labels although it has captions too.

    Raises:
        DataError: JSON of an unknown shape, a caption that is not text, an empty corpus, repeated ids of
            labels.
    """
    digest = ""
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        digest = digest_of(path) if path.is_file() else ""
        source = _open(path)
    shape = _shape_of(source, name, text, id)
    if shape is not None and not labels:
        texts = _texts(shape.captions, name, shape.column)
        read = RawCorpus(name=name, texts=texts, ids=shape.ids, digest=digest or digest_of(texts))
        return _captions(read, shape.keys)
    table = read_table(source)
    if table.num_rows == 0:
        raise DataError("empty-corpus", f"the {name} has no rows")
    digest = digest or digest_of(None, table)
    caption = None if labels else _column(table, text, TEXT_COLUMNS)
    if caption is None and not labels and _column(table, None, ITEM_COLUMNS) is not None:
        return RawCorpus(name=name, kind="counts", table=table, digest=digest)
    if caption is not None:
        table = _a_caption_a_row(table, caption)
    texts = [] if caption is None else _texts(require(table, caption).to_pylist(), name, caption)
    known = _column(table, id, ID_COLUMNS)
    ids = None if known is None else _ids(table, known)
    read = RawCorpus(name=name, texts=texts, ids=ids, table=table, digest=digest)
    if caption is not None:
        return _captions(read)
    if ids is not None and len(set(ids)) < len(ids):
        repeated = sorted({i for i in ids if ids.count(i) > 1}) if len(ids) < 2000 else ["(many)"]
        raise DataError(
            "duplicate-ids",
            f"the {name} has {len(ids) - len(set(ids))} ids more than once",
            given=", ".join(repeated[:5]),
            expected="one row of labels for each id",
            hint=f"the ids were read from the column {known!r}; name another with id= (--id)",
        )
    return replace(read, kind="labels")


def _a_caption_a_row(table: pa.Table, column: str) -> pa.Table:
    """A table whose rows hold lists of captions as one with a row each; without ids the rows are images."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as types

    kind = require(table, column).type
    if not (types.is_list(kind) or types.is_large_list(kind)):
        return table
    lists = table.column(column).combine_chunks()
    of = pc.list_parent_indices(lists)
    if _column(table, None, ID_COLUMNS) is None:
        table = table.append_column("image_id", pa.array([str(i) for i in range(table.num_rows)]))
    place = table.column_names.index(column)
    return table.take(of).set_column(place, column, pc.list_flatten(lists))


def _open(path: Path) -> object:
    """JSON and plain text are parsed here, since captions come in more shapes than tables do."""
    if path.suffix.lower() not in (".json", ".txt") or not path.is_file() or path.stat().st_size == 0:
        return path
    text = decode(path.read_bytes(), name=path.name)
    if path.suffix.lower() == ".txt":
        return [line.strip() for line in text.splitlines() if line.strip()]
    with foreign(path, what="the file is not JSON"):
        try:
            return json.loads(text)
        except ValueError as error:
            if "Extra data" not in str(error):
                raise
    return path  # JSON lines, which the reader of tables knows


def _shape_of(source: object, name: str, text: str | None, id: str | None) -> _Shape | None:
    """The captions of a shape that captions are published in; None where it is some other table."""
    if isinstance(source, Mapping):
        return _of_mapping(source, name, text, id)
    if not isinstance(source, list | tuple):
        return None
    if not source:
        raise DataError("empty-corpus", f"the {name} has no rows")
    if all(isinstance(row, Mapping) for row in source):
        return None  # a table of records
    if any(isinstance(row, str) for row in source):
        return _Shape(None, source, "row")
    if all(isinstance(row, list | tuple) for row in source):
        pairs = [(str(k), caption) for k, listed in enumerate(source) for caption in listed]
        return _Shape([p[0] for p in pairs], [p[1] for p in pairs], "row")
    raise _unknown_shape(name, type(source[0]).__name__)


def _unknown_shape(name: str, given: str) -> DataError:
    return DataError("json-shape", f"the {name} has an unknown shape", given=given, expected=EXPECTED)


def _of_mapping(source: Mapping[str, Any], name: str, text: str | None, id: str | None) -> _Shape | None:
    caption, image = text or "caption", id or "image_id"
    rows, images = source.get("annotations"), source.get("images")
    if _records(rows, caption, image):
        return _Shape([str(r[image]) for r in rows], [r[caption] for r in rows], caption, _keys(rows, image))
    if _records(images, "sentences"):
        pairs = [(_karpathy(i, id), s.get("raw")) for i in images for s in i["sentences"]]
        return _Shape([p[0] for p in pairs], [p[1] for p in pairs], "raw")
    if _is_columns(source, text):
        return None
    each = {str(k): [v] if isinstance(v, str) else v for k, v in source.items()}
    if each and all(isinstance(v, list) and all(isinstance(s, str) for s in v) for v in each.values()):
        pairs = [(k, s) for k, listed in each.items() for s in listed]
        return _Shape([p[0] for p in pairs], [p[1] for p in pairs], "caption")
    raise _unknown_shape(name, "an object with the keys " + ", ".join(map(str, list(source)[:8])))


def _records(rows: object, *keys: str) -> TypeGuard[list[Mapping[str, Any]]]:
    """A list of objects that all have these keys."""
    if not isinstance(rows, list) or not rows:
        return False
    return all(isinstance(r, Mapping) and all(k in r for k in keys) for r in rows)


def _karpathy(image: Mapping[str, Any], id: str | None) -> str:
    return str(image.get(id or "cocoid", image.get("imgid", image.get("filename"))))


def _keys(rows: Sequence[Mapping[str, object]], image: str) -> list[str] | None:
    """COCO numbers its captions: two annotators who wrote the same words are two captions."""
    return [str(r["id"]) for r in rows] if image != "id" and all("id" in r for r in rows) else None


def _is_columns(source: Mapping[str, object], text: str | None) -> bool:
    sized = [v for v in source.values() if isinstance(v, Sized) and not isinstance(v, str | Mapping)]
    if len(sized) < len(source) or not source or len({len(v) for v in sized}) > 1:
        return False
    named = {text, *TEXT_COLUMNS, *ID_COLUMNS, *ITEM_COLUMNS} & set(source)
    firsts = [x for v in sized if isinstance(v, Iterable) for x in itertools.islice(v, 1)]
    plain = any(not isinstance(x, str) for x in firsts)
    nested = any(isinstance(x, Mapping | list) for x in firsts)
    return bool(named) or (plain and not nested and len(source) > 1)


def _texts(values: Sequence[object], name: str, column: str) -> list[str | None]:
    for row, value in enumerate(values, 1):
        missing = value is None or (isinstance(value, float) and np.isnan(value))
        if not missing and not isinstance(value, str):
            raise DataError(
                "caption-not-text",
                f"a caption of the {name} is not text (row {row})",
                given=repr(value),
                expected="a text in every row; missing captions may be empty",
                hint=f"captions were read from {column!r}; name another column with text= (--text)",
            )
    return [value if isinstance(value, str) else None for value in values]


def _captions(read: RawCorpus, keys: Sequence[str] | None = None) -> RawCorpus:
    """Each caption counted once: known by its own id, else by its image and its words."""
    texts, ids = read.texts, read.ids
    if not any(t and t.strip() for t in texts):
        raise DataError("empty-corpus", f"the {read.name} has no captions")
    marks = None if keys is None else _codes(keys)
    if keys is None and ids is not None:
        marks = _codes(ids) * len(texts) + _codes(texts)
    if marks is None:
        return read
    keep = np.sort(np.unique(marks, return_index=True)[1]).tolist()
    if len(keep) == len(marks):
        return read
    return replace(
        read,
        texts=[texts[r] for r in keep],
        ids=None if ids is None else [ids[r] for r in keep],
        table=None if read.table is None else read.table.take(keep),
        repeated=len(texts) - len(keep),
    )


def _codes(values: Sequence[str | None]) -> IntArray:
    """(n,) the same code for the same value."""
    index = {value: code for code, value in enumerate(dict.fromkeys(values))}
    return np.fromiter(map(index.__getitem__, values), dtype=np.int64, count=len(values))


def _column(table: pa.Table, named: str | None, usual: Sequence[str]) -> str | None:
    if named is not None:
        require(table, named)
        return named
    lowered = {c.lower(): c for c in reversed(table.column_names)}
    return next((lowered[c] for c in usual if c in lowered), None)


def _ids(table: pa.Table, column: str) -> list[str]:
    found = list(factor(table, column))
    missing = next((row for row, value in enumerate(found) if value is None), None)
    if missing is not None:
        raise DataError(
            "missing-id",
            f"row {missing + 1} has no id in the column {column!r}",
            expected="an id in every row",
        )
    return [str(value) for value in found]


def binary(table: pa.Table, column: str, name: str) -> BoolArray:
    """A 0/1 column (also true/false) as booleans (n,).

    Raises:
        DataError: `item-not-binary`.
    """
    found = factor(table, column)
    words = {"0": False, "1": True, "false": False, "true": True, "no": False, "yes": True}
    levels = [words.get(level.strip().lower()) for level in found.levels]
    if None in levels or (found.codes < 0).any():
        odd = [level for level, known in zip(found.levels, levels, strict=True) if known is None]
        raise DataError(
            "item-not-binary",
            f"the column {column!r} of the {name} is not 0/1",
            given=", ".join(odd[:5]) or "missing values",
            expected="0 or 1 in every row",
            hint="name the item columns with items= (--item), or leave this column out",
        )
    return np.array([bool(v) for v in levels], dtype=np.bool_)[found.codes]


def binary_columns(table: pa.Table, without: Iterable[str]) -> list[str]:
    """The names of all columns that hold nothing but 0 and 1."""
    skipped, plain = set(without), {"0", "1", "True", "False", "true", "false"}
    found = ((c, factor(table, c)) for c in table.column_names if c not in skipped)
    return [c for c, values in found if plain.issuperset(values.levels) and not (values.codes < 0).any()]


def count_table(source: RawCorpus, groups: Sequence[str] | None) -> tuple[list[str], list[str], FloatArray]:
    """(items, groups, counts (G, I)) of a table of counts: item, group, count; item, group with a row for
    each mention (a prompt and who its picture shows); or item and one column a group.

    Raises:
        DataError: counts that are missing, negative or not whole; an item listed twice. UsageError: no group
            columns.
    """
    table = source.needs_table("counts", "no table of counts")
    item = _column(table, None, ITEM_COLUMNS) or ""
    items = [str(i) for i in factor(table, item)]
    column = next((c for c in (*(groups or ())[:1], *LONG_GROUPS) if c in table.column_names), None)
    if column is not None and not _numeric(table, column):
        group = factor(table, column)
        names = list(group.levels if not groups or groups[0] == column else groups)
        count = "count" if "count" in table.column_names else None
        values = np.ones(len(items)) if count is None else _whole(numbers(table, count), source.name, count)
        ordered = list(dict.fromkeys(items))
        counts = np.zeros((len(names), len(ordered)))
        place = {i: k for k, i in enumerate(ordered)}
        for label, value, name in zip(items, values, group, strict=True):
            if name in names:
                counts[names.index(name), place[label]] += value
        return ordered, names, counts
    names = list(groups) if groups else [c for c in table.column_names if c != item and _numeric(table, c)]
    if len(names) < 2:
        raise UsageError(
            "counts-groups",
            f"the counts of the {source.name} need a column for each group",
            available=table.column_names,
            hint="name them with groups= (--groups man,woman)",
        )
    if len(set(items)) < len(items):
        twice = next(i for i in items if items.count(i) > 1)
        raise DataError(
            "duplicate-ids", f"the {source.name} lists an item twice", given=twice, expected="one row an item"
        )
    return items, names, np.stack([_whole(numbers(table, c), source.name, c) for c in names])


def _numeric(table: pa.Table, column: str) -> bool:
    import pyarrow.types as types

    kind = require(table, column).type
    return bool(types.is_integer(kind) or types.is_floating(kind))


def _whole(values: FloatArray, name: str, column: str) -> FloatArray:
    bad = ~(np.isfinite(values) & (values >= 0) & (values == np.floor(values)))
    if bad.any():
        raise DataError(
            "bad-counts",
            f"the column {column!r} of the {name} is not a count (row {int(np.argmax(bad)) + 1})",
            given=values[np.argmax(bad)],
            expected="whole numbers of at least 0",
        )
    return values

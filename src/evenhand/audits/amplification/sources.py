"""Captions, label tables and counts from whatever the user has: COCO's JSON, JSON lines, CSV, Parquet,
frames, lists."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from evenhand._encoding import decode
from evenhand._errors import DataError, UsageError
from evenhand._model import BoolArray, FloatArray
from evenhand._provenance import digest_of
from evenhand._table import factor, numbers, read_table, require

if TYPE_CHECKING:
    import pyarrow as pa

Kind: TypeAlias = Literal["captions", "labels", "counts"]
TEXT_COLUMNS = ("caption", "captions", "text", "sentence", "generated", "output", "prediction", "description")
ID_COLUMNS = (
    "image_id",
    "image",
    "imgid",
    "img_id",
    "cocoid",
    "file_name",
    "filename",
    "id",
    "person_id",
    "row_id",
)
ITEM_COLUMNS = ("item", "object", "verb", "word", "activity")
EXPECTED = (
    "COCO captions {annotations: [{image_id, caption}]}, a list of {image_id, caption}, {image_id: caption or"
    " captions},"
    " a list of texts, or Karpathy's {images: [{cocoid, sentences: [{raw}]}]}"
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
    kind: Kind
    texts: Sequence[str | None] = ()
    ids: Sequence[str] | None = None
    table: pa.Table | None = None
    digest: str = ""
    repeated: int = 0
    columns: Sequence[str] = field(default_factory=tuple)


def read_source(
    source: Any, *, name: str, text: str | None = None, id: str | None = None, labels: bool = False
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
    records = _captions_of(source, name, text, id)
    if records is not None and not labels:
        ids, texts, keys = records
        return _captions(name, ids, texts, digest or digest_of(texts), keys=keys)
    table = read_table(source)
    if table.num_rows == 0:
        raise DataError("empty-corpus", f"the {name} has no rows")
    digest = digest or digest_of(None, table)
    caption = None if labels else _column(table, text, TEXT_COLUMNS)
    if caption is not None:
        texts = _texts(require(table, caption).to_pylist(), name, caption)
        known = _column(table, id, ID_COLUMNS)
        return _captions(name, None if known is None else _ids(table, known), texts, digest, table)
    if _column(table, None, ITEM_COLUMNS) is not None and not labels:
        return RawCorpus(name=name, kind="counts", table=table, digest=digest)
    known = _column(table, id, ID_COLUMNS)
    ids = None if known is None else _ids(table, known)
    if ids is not None and len(set(ids)) < len(ids):
        repeated = sorted({i for i in ids if ids.count(i) > 1}) if len(ids) < 2000 else ["(many)"]
        raise DataError(
            "duplicate-ids",
            f"the {name} has {len(ids) - len(set(ids))} ids more than once",
            given=", ".join(repeated[:5]),
            expected="one row of labels for each id",
            hint=f"the ids were read from the column {known!r}; name another with id= (--id)",
        )
    return RawCorpus(name=name, kind="labels", ids=ids, table=table, digest=digest)


def _open(path: Path) -> Any:
    """JSON and plain text are parsed here, since captions come in more shapes than tables do."""
    if path.suffix.lower() not in (".json", ".txt") or not path.is_file() or path.stat().st_size == 0:
        return path
    text = decode(path.read_bytes(), name=path.name)
    if path.suffix.lower() == ".txt":
        return [line.strip() for line in text.splitlines() if line.strip()]
    try:
        return json.loads(text)
    except ValueError as error:
        if "Extra data" in str(error):
            return path
        raise DataError("unreadable-file", f"the file is not JSON: {error}", given=path) from error


def _captions_of(
    source: Any, name: str, text: str | None, id: str | None
) -> tuple[list[str] | None, list[str | None], list[str] | None] | None:
    """(image ids, captions, ids of the captions themselves) of the shapes that captions are published in;
    None where it is some other table."""
    if isinstance(source, Mapping):
        return _of_mapping(source, name, text, id)
    if isinstance(source, list | tuple):
        if not source:
            raise DataError("empty-corpus", f"the {name} has no rows")
        if all(isinstance(row, Mapping) for row in source):
            return None  # a table of records
        if any(isinstance(row, str) for row in source):
            return None, _texts(source, name, "row"), None
        raise DataError(
            "json-shape",
            f"the {name} has an unknown shape",
            given=type(source[0]).__name__,
            expected=EXPECTED,
        )
    return None


def _of_mapping(
    source: Mapping[Any, Any], name: str, text: str | None, id: str | None
) -> tuple[list[str] | None, list[str | None], list[str] | None] | None:
    caption = text or "caption"
    if isinstance(source.get("annotations"), list):
        rows = source["annotations"]
        image = id or "image_id"
        if all(isinstance(r, Mapping) and caption in r and image in r for r in rows) and rows:
            return (
                [str(r[image]) for r in rows],
                _texts([r[caption] for r in rows], name, caption),
                _keys(rows, image),
            )
    images = source.get("images")
    if (
        isinstance(images, list)
        and images
        and all(isinstance(i, Mapping) and "sentences" in i for i in images)
    ):
        pairs = [
            (str(i.get(id or "cocoid", i.get("imgid", i.get("filename")))), s.get("raw"))
            for i in images
            for s in i["sentences"]
        ]
        return [p[0] for p in pairs], _texts([p[1] for p in pairs], name, "raw"), None
    if _is_columns(source, text):
        return None
    if source and all(isinstance(v, str) for v in source.values()):
        return [str(k) for k in source], _texts(list(source.values()), name, "caption"), None
    if source and all(isinstance(v, list) and all(isinstance(s, str) for s in v) for v in source.values()):
        return [str(k) for k, v in source.items() for _ in v], [s for v in source.values() for s in v], None
    raise DataError(
        "json-shape",
        f"the {name} has an unknown shape",
        given="an object with the keys " + ", ".join(map(str, list(source)[:8])),
        expected=EXPECTED,
    )


def _keys(rows: Sequence[Mapping[Any, Any]], image: str) -> list[str] | None:
    """COCO numbers its captions: two annotators who wrote the same words are two captions."""
    return [str(r["id"]) for r in rows] if image != "id" and all("id" in r for r in rows) else None


def _is_columns(source: Mapping[Any, Any], text: str | None) -> bool:
    sized = [v for v in source.values() if hasattr(v, "__len__") and not isinstance(v, str | Mapping)]
    if len(sized) < len(source) or not source or len({len(v) for v in sized}) > 1:
        return False
    named = {text, *TEXT_COLUMNS, *ID_COLUMNS, *ITEM_COLUMNS} & set(source)
    firsts = [x for v in sized for x in list(v)[:1]]
    plain = any(not isinstance(x, str) for x in firsts) and not any(
        isinstance(x, Mapping | list) for x in firsts
    )
    return bool(named) or (plain and len(source) > 1)


def _texts(values: Iterable[Any], name: str, column: str) -> list[str | None]:
    texts: list[str | None] = []
    for row, value in enumerate(values):
        if (
            value is not None
            and not isinstance(value, str)
            and not (isinstance(value, float) and value != value)
        ):
            raise DataError(
                "caption-not-text",
                f"a caption of the {name} is not text (row {row + 1})",
                given=repr(value),
                expected="a text in every row; missing captions may be empty",
                hint=f"captions were read from {column!r}; name another column with text= (--text)",
            )
        texts.append(value if isinstance(value, str) else None)
    return texts


def _captions(
    name: str,
    ids: Sequence[str] | None,
    texts: Sequence[str | None],
    digest: str,
    table: pa.Table | None = None,
    keys: Sequence[str] | None = None,
) -> RawCorpus:
    """A corpus of captions, each counted once: known by its own id, else by its image and its words."""
    if not any(t and t.strip() for t in texts):
        raise DataError("empty-corpus", f"the {name} has no captions")
    marks: Sequence[Any] | None = keys
    if keys is None and ids is not None:
        marks = list(zip(ids, texts, strict=True))
    if marks is None or len(set(marks)) == len(marks):
        return RawCorpus(name=name, kind="captions", texts=texts, ids=ids, table=table, digest=digest)
    keep = sorted({mark: row for row, mark in reversed(list(enumerate(marks)))}.values())
    return RawCorpus(
        name=name,
        kind="captions",
        texts=[texts[r] for r in keep],
        ids=None if ids is None else [ids[r] for r in keep],
        table=None if table is None else table.take(keep),
        digest=digest,
        repeated=len(texts) - len(keep),
    )


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
    skipped = set(without)
    found = []
    for column in table.column_names:
        if column in skipped:
            continue
        levels = factor(table, column)
        if (
            set(levels.levels) <= {"0", "1", "True", "False", "true", "false"}
            and not (levels.codes < 0).any()
        ):
            found.append(column)
    return found


def count_table(source: RawCorpus, groups: Sequence[str] | None) -> tuple[list[str], list[str], FloatArray]:
    """(items, groups, counts (G, I)) of a table of counts: item, group, count; or item and one column a
    group.

    Raises:
        DataError: counts that are missing, negative or not whole; an item listed twice. UsageError: no group
            columns.
    """
    table = source.table
    if table is None:
        raise UsageError("counts", f"the {source.name} is no table of counts")
    item = _column(table, None, ITEM_COLUMNS) or ""
    items = [str(i) for i in factor(table, item)]
    if {"group", "count"} <= set(table.column_names):
        group = factor(table, "group")
        names = list(groups or group.levels)
        values = _whole(numbers(table, "count"), source.name, "count")
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

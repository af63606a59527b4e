"""Base texts: those written for this project, and a loader for the user's own files."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from evenhand._callable import make_callable
from evenhand._encoding import read_text
from evenhand._errors import DataError
from evenhand._files import foreign
from evenhand._model import Factor
from evenhand._table import read_table
from evenhand.texts.copies import copies

__all__ = ["SHIPPED", "Texts", "distinct_texts", "texts"]

SHIPPED: Mapping[str, str] = {
    "person": "52 texts about a person called Arthur, 2 to 7 sentences, 20 registers, three sentiment"
    " classes",
}
"""What is shipped: name → one line."""

TEXT_COLUMNS = (
    "text",
    "comment_text",
    "sentence",
    "comment",
    "body",
    "content",
    "document",
    "review",
    "tweet",
    "message",
)


@dataclass(frozen=True, kw_only=True)
class Texts:
    """Base texts in a column, with their ids and further columns.

    Args:
        id: shipped name or file name.
        ids: one id per text.
        texts: the texts.
        factors: other columns with text labels, e.g. ``sentiment`` and ``register``.
        flags: what was noticed while reading, one sentence each (duplicates, control characters, long texts).
        replace: the name of the person in the texts, where it is known.
        source, licence: of the texts.
    """

    id: str
    ids: tuple[str, ...]
    texts: tuple[str, ...]
    factors: Mapping[str, Factor] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    replace: str | None = None
    source: str = ""
    licence: str = ""

    def __len__(self) -> int:
        return len(self.texts)


def texts(
    name: Any,
    *,
    column: str | None = None,
    id_column: str | None = None,
    encoding: str | None = None,
) -> Texts:
    """Shipped texts by name, a user's file, a dataframe, or a list of strings.

    A ``.txt`` file holds one text per line, or paragraphs where blank lines separate them; ``.csv``,
    ``.tsv``, ``.jsonl``, ``.json`` and ``.parquet``, dataframes (pandas, polars, Arrow, …) and mappings of
    columns have a column of texts; their other text columns become factors.

    Args:
        name: one of `SHIPPED`, a path, a table, or the texts themselves (`Texts` as they are).
        column: the column of texts; ``text`` (or ``sentence``, ``comment_text``, …) where None.
        id_column: the column of ids; ``id`` where there is one, else ``t1``, ``t2``, ….
        encoding: of the file; detected where None (UTF-8, byte order marks, UTF-16, else cp1252/Latin-1).

    Raises:
        DataError: no such file, an empty one, a missing column, a wrong encoding, a binary file, or no table.

    >>> t = texts("person")
    >>> len(t) >= 40, t.replace, sorted(t.factors["sentiment"].levels)
    (True, 'Arthur', ['negative', 'neutral', 'positive'])
    >>> texts(["One text.", "Another."]).ids
    ('t1', 't2')
    >>> texts({"tweet": ["One text.", "Another."], "label": [0, 1]}).texts
    ('One text.', 'Another.')
    """
    if isinstance(name, Texts):
        return name
    if isinstance(name, Mapping) or hasattr(type(name), "columns"):
        return _collect(read_table(name).to_pylist(), "texts", column=column, id_column=id_column)
    if not isinstance(name, str | PathLike):
        return _collect(
            [{"text": _as_text(t, i)} for i, t in enumerate(name)], "texts", column="text", id_column=None
        )
    label = str(name)
    if label in SHIPPED:
        raw = files("evenhand.texts").joinpath("data", f"{label}.csv").read_text(encoding="utf-8")
        found = _collect(_delimited(raw, ",", label), label, column="text", id_column="id")
        return Texts(
            id=label,
            ids=found.ids,
            texts=found.texts,
            factors=found.factors,
            replace="Arthur",
            source="written for this project",
            licence="Apache-2.0",
        )
    path = Path(label)
    suffix = path.suffix.lower()
    if not suffix and not path.exists():
        raise DataError(
            "unknown-texts",
            "There are no such texts.",
            given=label,
            expected="a shipped name, or a .txt, .csv, .tsv, .jsonl, .json or .parquet file",
            available=SHIPPED,
        )
    with foreign(path):
        records = _records(path, suffix, encoding)
    return _collect(records, path.name, column=column, id_column=id_column)


def distinct_texts(given: Texts) -> Texts:
    """One of each text that comes several times, equal or nearly so (`evenhand.texts.copies`), with a flag
    that says how many were left out: a copy is no further evidence."""
    first = copies(given.texts)
    kept = [i for i, place in enumerate(first.tolist()) if i == place]
    left = len(given) - len(kept)
    if not left:
        return given
    flag = f"{left} of {len(given)} texts are copies of others, equal or nearly so; one of each is used."
    return replace(
        given,
        ids=tuple(given.ids[i] for i in kept),
        texts=tuple(given.texts[i] for i in kept),
        factors={name: factor[np.array(kept)] for name, factor in given.factors.items()},
        flags=(*(f for f in given.flags if "uplicate" not in f), flag),
    )


def _as_text(value: object, i: int) -> str:
    if not isinstance(value, str):
        raise DataError(
            "not-text", f"Text {i + 1} is not a string.", given=repr(value), expected="a list of strings"
        )
    return value


def _records(path: Path, suffix: str, encoding: str | None) -> list[Mapping[str, Any]]:
    if suffix == ".parquet":
        return list(read_table(path).to_pylist())
    raw = read_text(path, encoding=encoding)
    if suffix in (".csv", ".tsv"):
        first = next((line for line in raw.splitlines() if line.strip()), "")
        delimiter = "\t" if suffix == ".tsv" else ";" if first.count(";") > first.count(",") else ","
        return _delimited(raw, delimiter, path.name)
    if suffix in (".jsonl", ".ndjson", ".json"):
        return _json_records(raw, suffix, path.name)
    blocks = (
        [" ".join(b.split("\n")).strip() for b in raw.split("\n\n")]
        if "\n\n" in raw.strip()
        else raw.split("\n")
    )
    return [{"text": b.strip()} for b in blocks if b.strip()]


def _delimited(raw: str, delimiter: str, name: str) -> list[Mapping[str, Any]]:
    limit = csv.field_size_limit(max(len(raw) + 1, 131072))  # a single cell may hold a 5 MB text
    try:
        lines = [
            row for row in csv.reader(io.StringIO(raw), delimiter=delimiter) if any(c.strip() for c in row)
        ]
    except csv.Error as error:
        raise DataError("bad-csv", f"{name} cannot be read as CSV: {error}.") from None
    finally:
        csv.field_size_limit(limit)
    header = [c.strip() for c in lines[0]]
    for number, row in enumerate(lines[1:], start=2):
        if len(row) > len(header):
            raise DataError(
                "ragged-csv",
                f"Row {number} of {name} has {len(row)} cells, the header {len(header)}.",
                given=delimiter.join(row)[:100],
                hint='put quotes around texts that contain the delimiter: "a, b"',
            )
    return [dict(zip(header, [*row, *[""] * (len(header) - len(row))], strict=True)) for row in lines[1:]]


def _json_records(raw: str, suffix: str, name: str) -> list[Mapping[str, Any]]:
    rows: list[Any] = []
    if suffix == ".json":
        try:
            content = json.loads(raw)
        except ValueError as error:
            raise DataError("bad-json", f"{name} is not valid JSON: {error}.") from None
        rows = content if isinstance(content, list) else [content]
    else:
        for number, line in enumerate(raw.split("\n"), start=1):
            if line.strip():
                try:
                    rows.append(json.loads(line))
                except ValueError as error:
                    raise DataError(
                        "bad-json", f"Line {number} of {name} is not valid JSON: {error}."
                    ) from None
    return [r if isinstance(r, dict) else {"text": r} for r in rows]


def _collect(
    rows: Sequence[Mapping[str, Any]], name: str, *, column: str | None, id_column: str | None
) -> Texts:
    if not rows:
        raise DataError("empty-file", "There are no texts.", given=name, expected="at least one text")
    columns = list(dict.fromkeys(k for r in rows for k in r))
    lowered = {c.lower(): c for c in columns}
    chosen = column or next((lowered[c] for c in TEXT_COLUMNS if c in lowered), None)
    if chosen is None and len(columns) == 1:
        chosen = columns[0]
    if chosen not in columns:
        raise DataError(
            "missing-column",
            f"{name} has no such column of texts.",
            given=chosen or "text",
            expected="a column named text, or the name of one",
            available=columns,
        )
    if id_column is not None and id_column not in columns:
        raise DataError("missing-column", f"{name} has no such column.", given=id_column, available=columns)
    key = id_column or lowered.get("id")
    cells = [r.get(chosen) for r in rows]
    keep = [i for i, c in enumerate(cells) if c is not None and str(c).strip()]
    if not keep:
        raise DataError(
            "empty-column", f"The column {chosen!r} of {name} has no text in any row.", given=name
        )
    values = tuple(str(cells[i]) for i in keep)
    ids = tuple(str(rows[i].get(key)) if key else f"t{i + 1}" for i in keep)
    if len(set(ids)) < len(ids):
        ids = tuple(f"{x}#{i + 1}" for x, i in zip(ids, keep, strict=True))
    others = [c for c in columns if c not in (chosen, key)]
    labels = {c: [rows[i].get(c) for i in keep] for c in others}
    return Texts(
        id=name,
        ids=ids,
        texts=values,
        factors={c: Factor.of([x if x != "" else None for x in v]) for c, v in labels.items()},
        flags=_notice(values, dropped=len(rows) - len(keep)),
    )


def _notice(values: Sequence[str], *, dropped: int) -> tuple[str, ...]:
    double = len(values) - len(set(values))
    control = sum(any(ord(c) < 32 and c not in "\t\n\r" for c in v) for v in values)
    long = sum(len(v) > 5_000 for v in values)
    return tuple(
        message
        for n, message in (
            (dropped, f"{dropped} row(s) without a text were left out"),
            (double, f"{double} text(s) occur more than once: they are not independent"),
            (control, f"{control} text(s) contain control characters, kept as they are"),
            (long, f"{long} text(s) are longer than 5,000 characters: services may refuse or cut them"),
        )
        if n
    )


make_callable(__name__)

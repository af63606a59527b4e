"""Replies recorded elsewhere, answered by looking the input up."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evenhand._files import inert_cell
from evenhand._model import FloatArray, Replies
from evenhand._table import numbers, read_table, text_column


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """Answers from a table; an input that is not in it is a counted error, never a guess."""

    id: str
    rows: dict[str, int] = field(repr=False, compare=False)
    columns: dict[str, FloatArray] = field(repr=False, compare=False)

    def __call__(self, inputs: Sequence[Any], /) -> Replies:
        at = np.array([self._row_of(str(value)) for value in inputs], dtype=np.int64)
        unknown = np.flatnonzero(at < 0)
        scores = {}
        for name, column in self.columns.items():
            picked = column[at].copy() if len(column) else np.empty(len(at))
            picked[unknown] = np.nan
            scores[name] = picked
        return Replies(scores=scores, errors={int(row): "not among the recorded replies" for row in unknown})

    def _row_of(self, text: str) -> int:
        """The row of a text, as it is or as `evenhand journal export` writes it into a CSV."""
        row = self.rows.get(text)
        return self.rows.get(inert_cell(text), -1) if row is None else row


def recorded(
    *, path: str | os.PathLike[str] | Any, input: str = "input", scores: Sequence[str] | None = None
) -> Recorded:
    """A subject that answers from a table of replies.

    Args:
        path: CSV, TSV, JSON lines, Parquet or Arrow, or a dataframe; also what `evenhand journal export`
            wrote.
        input: the column with the text that was asked.
        scores: the columns with scores; by default every numeric column but `repeat`.

    >>> model = recorded(path={"input": ["a", "b"], "score": [0.25, 0.75]})
    >>> model(["b", "z"]).errors
    {1: 'not among the recorded replies'}
    """
    table = read_table(path)
    texts = text_column(table, input)
    if scores is None:
        scores = [f.name for f in table.schema if f.name not in (input, "repeat") and _is_numeric(f.type)]
    columns = {name: numbers(table, name) for name in scores}
    digest = hashlib.blake2b(digest_size=8)
    for text in texts:
        digest.update(f"{text}\0".encode("utf-8", "surrogatepass"))
    for name, column in columns.items():
        digest.update(name.encode() + column.tobytes())
    rows: dict[str, int] = {}
    for row, text in enumerate(texts):
        if text is not None:
            rows.setdefault(text, row)
    return Recorded(id=f"recorded {digest.hexdigest()}", rows=rows, columns=columns)


def _is_numeric(kind: Any) -> bool:
    import pyarrow.types as types

    return bool(types.is_floating(kind) or types.is_integer(kind) or types.is_decimal(kind))

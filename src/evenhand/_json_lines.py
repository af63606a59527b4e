"""Lines of JSON as a table, after what would end the process is refused."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

MOST_DEPTH = 100
"""Lists and objects inside one another in a line of JSON."""
_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*"?')


def json_lines(data: bytes, schema: pa.Schema | None = None) -> pa.Table:
    """Whole lines of JSON as a table.

    Args:
        schema: of the columns that are wanted; by default all, of the types that they look like.

    >>> json_lines(b'{"a": 1}\\n{"a": 2}\\n').column("a").to_pylist()
    [1, 2]
    """
    import pyarrow as pa
    import pyarrow.json as json

    _refuse_hostile(data)
    parse = json.ParseOptions(
        explicit_schema=schema, unexpected_field_behavior="ignore" if schema else "infer"
    )
    options = json.ReadOptions(block_size=max(1 << 24, len(data)))
    return json.read_json(pa.BufferReader(data), read_options=options, parse_options=parse)


def _refuse_hostile(data: bytes) -> None:
    """Arrow's reader of JSON lines ends the process at a leading null, and follows any depth."""
    if data.lstrip()[:1] != b"{":
        raise ValueError("its first line is not an object")
    raw = np.frombuffer(data, dtype=np.uint8)
    opening = (raw == ord("[")) | (raw == ord("{"))
    places = np.flatnonzero(opening | (raw == ord("]")) | (raw == ord("}")) | (raw == ord("\n")))
    if np.cumsum(np.where(opening[places], 1, -1) * (raw[places] != ord("\n"))).max(initial=0) <= MOST_DEPTH:
        return
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.count(b"[") + line.count(b"{") > MOST_DEPTH:
            depth = deepest = 0
            for mark in _STRINGS.sub(b"", line):
                depth += (mark in b"[{") - (mark in b"]}")
                deepest = max(deepest, depth)
            if deepest > MOST_DEPTH:
                raise ValueError(f"line {number} is nested {deepest} deep; {MOST_DEPTH} are read")

"""Raw answers as they arrived together, compressed into one block: the next row of a journal's `arrivals`.

Answers of one service look alike, so a block shrinks far better, and costs far less, than each one alone.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

import numpy as np

from evenhand._model import Arrived

_HEAD = struct.Struct("<III")  # rows, bodies, bytes before compression


def packed(arrived: Mapping[int, Arrived]) -> tuple[bytes | None, dict[int, int]]:
    """One block for the answers of some rows, and row → its place in it; no block where nothing arrived.

    >>> block, places = packed({7: Arrived(b'{"s": [1, 2]}', 1, 2)})
    >>> unpacked(block)[places[7]]
    Arrived(body=b'{"s": [1, 2]}', at=1, of=2)
    """
    if not arrived:
        return None, {}
    import pyarrow as pa

    answers = list(arrived.values())
    bodies = list({id(answer.body): answer.body for answer in answers}.values())
    rows = np.empty((3, len(answers)), dtype="<u4")
    if len(bodies) == len(answers):
        rows[0] = np.arange(len(answers))
    else:  # an answer to several inputs is one object, and is kept once
        index = {id(body): at for at, body in enumerate(bodies)}
        rows[0] = [index[id(answer.body)] for answer in answers]
    rows[1] = [answer.at for answer in answers]
    rows[2] = [answer.of for answer in answers]
    head = rows.tobytes() + np.array(list(map(len, bodies)), dtype="<u4").tobytes()
    whole = head + b"".join(bodies)
    block = _HEAD.pack(len(answers), len(bodies), len(whole)) + pa.compress(whole, codec="zstd", asbytes=True)
    return block, dict(zip(arrived, range(len(answers)), strict=True))


def unpacked(block: bytes) -> list[Arrived]:
    """The answers in a block, by place; rows that shared an answer share one object again."""
    import pyarrow as pa

    n, m, size = _HEAD.unpack_from(block)
    whole = pa.decompress(block[_HEAD.size :], decompressed_size=size, codec="zstd", asbytes=True)
    rows = np.frombuffer(whole, dtype="<u4", count=3 * n).reshape(3, n).T.tolist()
    lengths = np.frombuffer(whole, dtype="<u4", count=m, offset=12 * n)
    ends = 12 * n + 4 * m + np.cumsum(lengths, dtype=np.int64)
    bodies = [whole[end - length : end] for end, length in zip(ends.tolist(), lengths.tolist(), strict=True)]
    return [Arrived(bodies[at], position, of) for at, position, of in rows]

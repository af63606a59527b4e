"""Exact nearest neighbours of shifted vectors, by blocked matrix products.

For unit vectors cos(v_w + g, v_c) = (v_w·v_c + g·v_c)/‖v_w + g‖, and the divisor does not depend on c. So one
product X_W Xᵀ serves every direction; each adds the vector X g before its top k. The top k is taken among the
k groups of columns with the largest maximum, which must hold it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evenhand._errors import UsageError
from evenhand.embeddings._matrix import Matrix, Vectors

GROUP = 32
BLOCK_BYTES = 100 << 20
"""Of similarities held at a time: in fewer rows, a matrix product spends its time on moving the
vocabulary."""
CACHED_BYTES = 6 << 20
"""Of similarities shifted and searched at a time, which stay in the processor's cache."""
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, slots=True)
class Nearest:
    """For m words the n nearest others, best first.

    Args:
        rows: (m, n) rows of the vocabulary; −1 where there are fewer.
        cosine: (m, n) cosine with the shifted vector; −inf where there are fewer.
    """

    rows: Rows
    cosine: Matrix


def nearest(
    vectors: Vectors,
    rows: npt.ArrayLike,
    steps: Sequence[Matrix | None],
    *,
    n: int = 10,
    exclude: Sequence[Sequence[int]] | None = None,
    block_bytes: int = BLOCK_BYTES,
) -> list[Nearest]:
    """The `n` words nearest to normalise(v_w + step), by cosine, for every word and every step; w itself is
    left out.

    Args:
        rows: (m,) rows of the words w.
        steps: directions (d,); None or zeros for the plain neighbours.
        exclude: per step, rows that are never returned (gensim leaves out the words of the query).
        block_bytes: size of the block of similarities held at a time.

    >>> from evenhand.embeddings.vectors import vectors
    >>> v = vectors({"a": [1.0, 0.0], "b": [0.9, 0.1], "c": [0.0, 1.0]})
    >>> [v.words[r] for r in nearest(v, [0], [None])[0].rows[0] if r >= 0]
    ['b', 'c']
    """
    if n < 1:
        raise UsageError("bad-count", "the number of neighbours is at least 1", given=n)
    wanted = np.asarray(rows, dtype=np.int64)
    size = len(vectors)
    groups = -(-size // GROUP)
    padded = groups * GROUP
    shifts = [
        _shift(vectors, step, padded, (exclude or [()] * len(steps))[i]) for i, step in enumerate(steps)
    ]
    high = max(1, min(len(wanted), block_bytes // (4 * padded)))
    product = np.full((high, padded), -np.inf, dtype=np.float32)
    few = max(1, min(high, CACHED_BYTES // (4 * padded)))
    shifted = np.empty((few, padded), dtype=np.float32)
    made = [
        Nearest(
            rows=np.full((len(wanted), n), -1, dtype=np.int64),
            cosine=np.full((len(wanted), n), -np.inf, dtype=np.float32),
        )
        for _ in steps
    ]
    matrix = np.ascontiguousarray(vectors.unit)
    for start in range(0, len(wanted), high):
        part = wanted[start : start + high]
        np.matmul(matrix[part], matrix.T, out=product[: len(part), :size])
        product[np.arange(len(part)), part] = -np.inf
        for at in range(0, len(part), few):
            block = product[at : min(at + few, len(part))]
            here = slice(start + at, start + at + len(block))
            for found, shift, step in zip(made, shifts, steps, strict=True):
                work = np.add(block, shift, out=shifted[: len(block)])
                where, score = _top(work, n, groups)
                k = where.shape[1]
                length = _lengths(matrix[wanted[here]], step)
                found.cosine[here, :k] = score / length[:, None]
                found.rows[here, :k] = np.where(np.isfinite(score), where, -1)
    return made


def _shift(vectors: Vectors, step: Matrix | None, padded: int, exclude: Sequence[int]) -> Matrix:
    shift = np.zeros(padded, dtype=np.float32)
    if step is not None:
        shift[: len(vectors)] = vectors.unit @ np.asarray(step, dtype=np.float32)
    shift[list(exclude)] = -np.inf
    return shift


def _lengths(block: Matrix, step: Matrix | None) -> Matrix:
    """‖v_w + g‖ for unit v_w."""
    if step is None:
        return np.ones(len(block), dtype=np.float32)
    squared = 1.0 + float(step @ step) + 2.0 * (block @ step)
    return np.asarray(np.sqrt(np.maximum(squared, 1e-12)), dtype=np.float32)


def _top(work: Matrix, n: int, groups: int) -> tuple[Rows, Matrix]:
    """The n largest of every row, best first: columns and values."""
    m, padded = work.shape
    keep = min(n, padded)
    some = min(keep, groups)
    view = work.reshape(m, GROUP, groups)
    peaks = view.max(axis=1)
    best = np.argpartition(peaks, groups - some, axis=1)[:, groups - some :] if some < groups else None
    if best is None:
        columns = np.broadcast_to(np.arange(padded), (m, padded))
    else:
        columns = (best[:, None, :] + groups * np.arange(GROUP)[None, :, None]).reshape(m, -1)
    values = np.take_along_axis(work, columns, axis=1)
    keep = min(keep, values.shape[1])
    if keep < values.shape[1]:
        at = np.argpartition(values, values.shape[1] - keep, axis=1)[:, values.shape[1] - keep :]
        columns, values = np.take_along_axis(columns, at, axis=1), np.take_along_axis(values, at, axis=1)
    order = np.lexsort((columns, -values), axis=1)
    return (
        np.take_along_axis(columns, order, axis=1).astype(np.int64),
        np.take_along_axis(values, order, axis=1),
    )

"""Word vectors in memory: unit rows and their words."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from evenhand._errors import DataError, UsageError

Matrix: TypeAlias = npt.NDArray[np.float32]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Vectors:
    """Words and their unit vectors.

    Args:
        words: n words in the order of the file, which is by frequency in all common distributions.
        unit: (n, d) float32, every row of length 1; may be memory-mapped.
        norms: (n,) float32, the lengths before normalising.
        id: name and content digest.
        problems: what was left out while reading, one sentence each.
    """

    words: tuple[str, ...]
    unit: Matrix
    norms: Matrix
    id: str
    problems: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.words)

    def __repr__(self) -> str:
        return f"Vectors({self.id!r}: {len(self):,} words, {self.width} dimensions)"

    @property
    def width(self) -> int:
        """Dimensions of a vector."""
        return int(self.unit.shape[1])

    @cached_property
    def index(self) -> dict[str, int]:
        """Word → row."""
        return {word: row for row, word in reversed(list(enumerate(self.words)))}

    def find(self, word: str) -> int | None:
        """The row of a word as it is written, or else in lower case; None where it has no vector."""
        row = self.index.get(word)
        return row if row is not None else self.index.get(word.lower())

    def row(self, word: str) -> int:
        """The row of a word.

        Raises:
            UsageError: `unknown-word`, with near words.
        """
        found = self.find(word)
        if found is None:
            raise UsageError(
                "unknown-word",
                "this word has no vector in the embeddings",
                given=word,
                available=self.words,
                hint="a direction needs words of the vocabulary; `evenhand embeddings info` shows it",
            )
        return found


def from_arrays(
    words: Sequence[str], matrix: npt.ArrayLike, *, id: str = "", problems: Sequence[str] = ()
) -> Vectors:
    """Vectors from words and an (n, d) matrix; duplicates, zero and non-finite vectors are left out and
    counted.

    Raises:
        DataError: shapes that do not fit, or nothing left.

    >>> v = from_arrays(["a", "b", "a", "c"], [[3.0, 4], [0, 2], [1, 1], [0, 0]])
    >>> v.words, v.norms.tolist(), v.problems[0]
    (('a', 'b'), [5.0, 2.0], 'left out 1 repeated words (the first vector of each is kept): a')
    """
    raw = np.asarray(matrix, dtype=np.float32)
    if raw.ndim != 2 or raw.shape[0] != len(words) or raw.shape[1] < 1:
        raise DataError(
            "vectors-shape",
            "the matrix does not fit the words",
            given=f"{len(words)} words, array of shape {raw.shape}",
            expected="one row of numbers for each word",
        )
    with np.errstate(over="ignore", invalid="ignore"):
        norms = np.sqrt(np.einsum("ij,ij->i", raw, raw))
    index: dict[str, int] = {}
    first = np.fromiter((index.setdefault(w, i) == i for i, w in enumerate(words)), np.bool_, len(words))
    finite, some = np.isfinite(norms), norms > 0
    notes = [
        *problems,
        *_left_out(words, ~first, "repeated words (the first vector of each is kept)"),
        *_left_out(words, first & ~finite, "vectors with values that are not finite numbers"),
        *_left_out(words, first & finite & ~some, "vectors of zeros, which have no direction"),
    ]
    keep = first & finite & some
    if not keep.any():
        raise DataError(
            "no-vectors",
            "there is no usable vector",
            given=id or f"{len(words)} words",
            hint="; ".join(notes),
        )
    if not keep.all():
        raw, norms = raw[keep], norms[keep]
        words = [w for w, k in zip(words, keep.tolist(), strict=True) if k]
    unit = raw / norms[:, None]
    name = id or f"vectors {_digest_matrix(unit)}"
    return Vectors(words=tuple(words), unit=unit, norms=norms, id=name, problems=tuple(notes))


def _left_out(words: Sequence[str], rows: npt.NDArray[np.bool_], what: str) -> list[str]:
    found = np.flatnonzero(rows)
    if not len(found):
        return []
    shown = ", ".join(words[i] for i in found[:5]) + (", …" if len(found) > 5 else "")
    return [f"left out {len(found):,} {what}: {shown}"]


def _digest_matrix(unit: Matrix) -> str:
    return hashlib.blake2b(np.ascontiguousarray(unit[:1000]).tobytes(), digest_size=6).hexdigest()

"""Captions as integer codes of their words, and which of them name which words or phrases: counting without
loops.

A token is a run of letters, digits and underscores, lower case, so "man's" names *man* and "womanly" does not
name *woman*. Cost is linear in the captions.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from evenhand._model import BoolArray, IntArray
from evenhand.terms.groups import plural

_FIND: Callable[[str], list[str]] = re.compile(r"\w+").findall
CHUNK = 20_000


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """The words of many captions.

    Args:
        codes: (tokens,) index of each token into `words`.
        starts: (captions + 1,) where each caption begins in `codes`.
        words: the vocabulary, in order of first appearance.
        index: word → code.
    """

    codes: IntArray
    starts: IntArray
    words: Sequence[str]
    index: Mapping[str, int]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def rows(self) -> IntArray:
        """(tokens,) the caption of each token."""
        return np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.starts))

    def caption(self, row: int) -> list[str]:
        """The tokens of one caption."""
        return [self.words[c] for c in self.codes[self.starts[row] : self.starts[row + 1]].tolist()]


def normal(text: str) -> str:
    """Lower case and composed (é as one letter), so that the same word is the same token."""
    return (text if text.isascii() else unicodedata.normalize("NFC", text)).lower()


def tokenise(texts: Iterable[str | None]) -> Tokens:
    """The tokens of each text; a missing text has none.

    >>> t = tokenise(["A man's Dog.", None, "dog"])
    >>> t.words, t.codes.tolist(), t.starts.tolist()
    (['a', 'man', 's', 'dog'], [0, 1, 2, 3, 3], [0, 4, 4, 5])
    """
    index: defaultdict[str, int] = defaultdict(itertools.count().__next__)
    codes: list[IntArray] = []
    lengths: list[IntArray] = []
    source = iter(texts)
    while chunk := list(itertools.islice(source, CHUNK)):
        words, size = _words(chunk)
        codes.append(np.fromiter(map(index.__getitem__, words), dtype=np.int32, count=len(words)))
        lengths.append(size)
    starts = np.concatenate([[0], *lengths]).cumsum().astype(np.int64)
    joined = np.concatenate(codes) if codes else np.empty(0, dtype=np.int32)
    return Tokens(codes=joined, starts=starts, words=list(index), index=dict(index))


def _words(chunk: Sequence[str | None]) -> tuple[list[str], IntArray]:
    """(the words of all texts, how many each text has). ASCII goes through one translate and one split."""
    joined = _END.join([t or "" for t in chunk])
    if not joined.isascii() or joined.count(_END) != len(chunk) - 1:
        found = [_FIND(normal(t)) if t else [] for t in chunk]
        size = np.fromiter(map(len, found), dtype=np.int64, count=len(found))
        return list(itertools.chain.from_iterable(found)), size
    plain = joined.encode().translate(_ASCII)
    letters = np.frombuffer(plain, dtype=np.uint8)
    ends = letters == ord(_END)
    gap = ends | (letters == ord(" "))
    begins = np.append(True, gap[:-1]) & ~gap
    size = np.bincount(np.cumsum(ends)[begins], minlength=len(chunk))
    return plain.decode().split(), size.astype(np.int64)  # which splits at separators, too


_END = "\x1e"  # the ASCII record separator
_ASCII = bytes(
    ord(chr(b).lower()) if b < 128 and (chr(b).isalnum() or chr(b) == "_") else b if b == ord(_END) else 32
    for b in range(256)
)


def mentions(tokens: Tokens, concepts: Sequence[Iterable[str]]) -> sparse.csr_matrix:
    """Which caption names which concept: a sparse 0/1 matrix (captions, concepts), CSR.

    Args:
        concepts: the surface forms of each concept, words or phrases, in lower case. Longer phrases are found
            first and keep their words: with the concepts *dog* and *hot dog*, "a hot dog" names the second
            only.

    >>> t = tokenise(["a hot dog", "the dog", "cats"])
    >>> mentions(t, [["dog"], ["hot dog"], ["cat", "cats"]]).toarray().tolist()
    [[0, 1, 0], [1, 0, 0], [0, 0, 1]]
    """
    forms: dict[tuple[str, ...], list[int]] = {}
    for concept, surfaces in enumerate(concepts):
        for surface in dict.fromkeys(surfaces):
            parts = tuple(_FIND(normal(surface)))
            if parts:
                forms.setdefault(parts, []).append(concept)
    rows, columns = _matches(tokens, forms)
    matrix = sparse.csr_matrix(
        (np.ones(len(rows), dtype=np.int32), (rows, columns)), shape=(len(tokens), len(concepts))
    )
    matrix.data[:] = 1  # csr_matrix adds duplicates up: a caption names an item once, however often
    return matrix


def _matches(tokens: Tokens, forms: Mapping[tuple[str, ...], list[int]]) -> tuple[IntArray, IntArray]:
    row_of = tokens.rows()
    taken = np.zeros(len(tokens.codes), dtype=np.bool_)
    rows: list[IntArray] = [np.empty(0, dtype=np.int32)]
    columns: list[IntArray] = [np.empty(0, dtype=np.int32)]
    phrases = sorted((f for f in forms if len(f) > 1), key=len, reverse=True)
    for phrase in phrases:
        at = _phrase(tokens, phrase, row_of, taken)
        for concept in forms[phrase]:
            rows.append(row_of[at])
            columns.append(np.full(len(at), concept, dtype=np.int32))
        for k in range(len(phrase)):
            taken[at + k] = True
    single = [
        (tokens.index[f[0]], concept)
        for f, cs in forms.items()
        if len(f) == 1 and f[0] in tokens.index
        for concept in cs
    ]
    while single:  # one pass, and one more for each further concept that shares a form
        lookup = np.full(len(tokens.words), -1, dtype=np.int32)
        later = []
        for code, concept in single:
            if lookup[code] < 0:
                lookup[code] = concept
            else:
                later.append((code, concept))
        concept_of = np.where(taken, -1, lookup[tokens.codes])
        at = np.flatnonzero(concept_of >= 0)
        rows.append(row_of[at])
        columns.append(concept_of[at])
        single = later
    return np.concatenate(rows), np.concatenate(columns)


def _phrase(tokens: Tokens, phrase: tuple[str, ...], row_of: IntArray, taken: BoolArray) -> IntArray:
    """Where the phrase begins, inside one caption, on words that no longer phrase has taken."""
    codes = [tokens.index.get(w, -1) for w in phrase]
    n = len(tokens.codes) - len(phrase) + 1
    if min(codes) < 0 or n <= 0:
        return np.empty(0, dtype=np.int64)
    at = np.flatnonzero(tokens.codes[:n] == codes[0])
    for k, code in enumerate(codes):
        at = at[(tokens.codes[at + k] == code) & (row_of[at + k] == row_of[at]) & ~taken[at + k]]
    last = -len(phrase)
    kept = []
    for position in at.tolist():  # "a b a b a" holds "a b a" once, not twice
        if position >= last + len(phrase):
            kept.append(position)
            last = position
    return np.asarray(kept, dtype=np.int64)


def with_words(tokens: Tokens, more: Sequence[Collection[str]]) -> Tokens:
    """The same captions with further words at the end of each, e.g. of what a parser read from it.

    >>> t = with_words(tokenise(["a dog", "a cat"]), [["sleep__agent"], []])
    >>> t.caption(0), t.caption(1)
    (['a', 'dog', 'sleep__agent'], ['a', 'cat'])
    """
    index = dict(tokens.index)
    added = np.array([index.setdefault(w, len(index)) for own in more for w in own], dtype=np.int32)
    at = np.repeat(tokens.starts[1:], np.fromiter(map(len, more), dtype=np.int64, count=len(more)))
    starts = tokens.starts + np.concatenate([[0], np.cumsum(list(map(len, more)), dtype=np.int64)])
    return Tokens(codes=np.insert(tokens.codes, at, added), starts=starts, words=list(index), index=index)


def all_words(tokens: Tokens) -> sparse.csr_matrix:
    """Which caption holds which word of the vocabulary: a sparse 0/1 matrix (captions, words), CSR."""
    matrix = sparse.csr_matrix(
        # sum_duplicates sorts the indices where they lie: the tokens keep their own.
        (np.ones(len(tokens.codes), dtype=np.int32), tokens.codes.copy(), tokens.starts),
        shape=(len(tokens), len(tokens.words)),
    )
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return matrix


def with_plurals(forms: Iterable[str]) -> list[str]:
    """The forms and their regular plurals.

    >>> with_plurals(["umbrella", "cell phone"])
    ['umbrella', 'cell phone', 'umbrellas', 'cell phones']
    """
    given = list(forms)
    made = [" ".join([*f.split(" ")[:-1], plural(f.split(" ")[-1])]) for f in given]
    return list(dict.fromkeys([*given, *made]))

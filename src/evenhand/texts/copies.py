"""Texts that are copies of one another: the same but for case, links, addressees, or a word among many."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from math import ceil

import numpy as np

from evenhand._model import IntArray

ALIKE = 0.8
"""Shared words ÷ all words (Jaccard) from which two texts are copies: one word of nine may differ."""
FEWEST_WORDS = 5
"""Words that a text needs to be compared with texts that are not quite the same."""
_LEFT_OUT = re.compile(r"https?://\S+|www\.\S+|@\w+|&\w+;|\brt\b", re.I)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def copies(texts: Sequence[str]) -> IntArray:
    """(n,) for each text the place of the first text that it is a copy of; its own place where there is none.

    Case, punctuation, links, @names and "RT" make no difference; of longer texts a few words may differ
    (Jaccard similarity of their words of at least 0.8). Copies of copies are copies.

    Source: the prefix filter that finds all similar pairs without comparing all: Bayardo, Ma & Srikant
    (2007), Scaling up all pairs similarity search.

    >>> copies(["RT @me: He is late again today!", "a day", "he is late again today", "A day."]).tolist()
    [0, 1, 0, 1]
    """
    words = [tuple(_WORD.findall(_LEFT_OUT.sub(" ", text.casefold()))) for text in texts]
    first: dict[tuple[str, ...], int] = {}
    root = [first.setdefault(w, i) if w else i for i, w in enumerate(words)]
    for i, j in _similar({i: frozenset(words[i]) for i in first.values()}):
        a, b = sorted((_top(root, i), _top(root, j)))
        root[b] = a
    return np.array([_top(root, i) for i in range(len(texts))], dtype=np.int64)


def _top(root: list[int], i: int) -> int:
    while root[i] != i:
        i = root[i]
    return i


def _similar(sets: dict[int, frozenset[str]]) -> list[tuple[int, int]]:
    """Pairs of sets with a Jaccard similarity of at least `ALIKE`.

    With the words of each set in one order, rarest first, two such sets share one of the first
    n − ⌈ALIKE·n⌉ + 1.
    """
    often = Counter(word for words in sets.values() for word in words)
    holders: defaultdict[str, list[int]] = defaultdict(list)
    found: list[tuple[int, int]] = []
    for i, words in sorted(sets.items(), key=lambda pair: (len(pair[1]), pair[0])):
        if len(words) < FEWEST_WORDS:
            continue
        ordered = sorted(words, key=lambda word: (often[word], word))
        prefix = ordered[: len(words) - ceil(ALIKE * len(words)) + 1]
        near = {j for word in prefix for j in holders[word]}
        for j in near:
            shared = len(words & sets[j])
            if shared >= ALIKE * (len(words) + len(sets[j]) - shared) - 1e-9:
                found.append((j, i))
        for word in prefix:
            holders[word].append(i)
    return found

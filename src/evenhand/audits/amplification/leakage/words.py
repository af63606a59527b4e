"""What attackers see: one row an image of each side, without words that name a group, in one vocabulary."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy import sparse

from evenhand._model import IntArray
from evenhand.audits.amplification.captions import all_words, tokenise
from evenhand.audits.amplification.corpus import Corpus
from evenhand.audits.amplification.leakage.corpora import LabelledImages, LeakageDesign
from evenhand.audits.amplification.prepare import Matched

MIN_WORD = 2


def features(
    prepared: Matched, attacked: LeakageDesign, rng: np.random.Generator
) -> tuple[Sequence[sparse.csr_matrix], Sequence[sparse.csr_matrix]]:
    """(tested (outputs, people), taught likewise or nothing): one row an image, drawn at random where it has
    several; the same words may be used everywhere."""
    sides: tuple[LabelledImages, ...] = (*attacked.tested, *(attacked.taught or ()))
    picked = [one_row(side, rng) for side in sides]
    words = prepared.who.words
    if words is None or not by_words(prepared, attacked):
        made = [s.corpus.items[p].astype(np.float64) for s, p in zip(sides, picked, strict=True)]
        return made[:2], made[2:]
    banned, texts = words.words(), []
    for side, rows in zip(sides, picked, strict=True):
        texts += _masked([side.corpus.texts[r] for r in rows.tolist()], banned)
    bags, ends = all_words(tokenise(texts)), np.cumsum([0, *map(len, picked)])
    # The vocabulary of the outputs serves for all: human captions have more words to give a group away by.
    seen = np.flatnonzero(np.asarray(bags[: ends[1]].sum(axis=0)).ravel() >= MIN_WORD)
    bags = bags[:, seen].astype(np.float64)
    made = [bags[i:j] for i, j in pairwise(ends.tolist())]
    return made[:2], made[2:]


def by_words(prepared: Matched, attacked: LeakageDesign) -> bool:
    """Whether attackers see the words of captions; else labels, or items that were looked for."""
    sides = (*attacked.tested, *(attacked.taught or ()))
    return prepared.who.words is not None and all(len(side.corpus.texts) for side in sides)


def alike(seen: Sequence[sparse.csr_matrix], units: IntArray | None) -> IntArray | None:
    """(n,) codes of images that stay together: of one unit, or copies, of which outputs and people say
    exactly the same; None where none do.

    Where most images are like another, words are too few to tell copies by: then units alone count.

    Args:
        units: (n,) what the images belong to.
    """
    known: dict[bytes, int] = {}
    both = sparse.hstack(seen).tocsr()
    both.sort_indices()
    marks = [both.indices[i:j].tobytes() + both.data[i:j].tobytes() for i, j in pairwise(both.indptr)]
    codes = np.array([known.setdefault(mark, len(known)) for mark in marks], dtype=np.int64)
    if 2 * len(known) <= len(codes):
        return units
    if units is None:
        return codes
    rows, n = np.arange(len(codes)), len(codes)
    first = [np.unique(c, return_index=True, return_inverse=True)[1:] for c in (codes, units)]
    ends = np.concatenate([at[back] for at, back in first])
    links = sparse.csr_matrix((np.ones(2 * n), (np.tile(rows, 2), ends)), shape=(n, n))
    return np.asarray(sparse.csgraph.connected_components(links, directed=False)[1], dtype=np.int64)


def _masked(texts: Sequence[str | None], banned: frozenset[str]) -> list[str]:
    longest = sorted(banned, key=len, reverse=True)
    pattern = re.compile(r"\b(?:" + "|".join(re.escape(w).replace(r"\ ", r"\W+") for w in longest) + r")\b")
    return [pattern.sub(" ", (t or "").lower()) for t in texts]


def one_row(side: LabelledImages, rng: np.random.Generator) -> IntArray:
    """(n,) a row of the corpus for each image, at random where it has several."""
    corpus: Corpus = side.corpus
    order = rng.permutation(len(corpus))
    first = np.full(int(max(corpus.images.max(), side.images.max(initial=0))) + 1, -1, dtype=np.int64)
    first[corpus.images[order]] = order
    return first[side.images]

"""Texts cut at their alterable words, and the fluent alterations of every place, fixed on the original
text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np

from evenhand._model import BoolArray, IntArray
from evenhand.embeddings._matrix import Vectors
from evenhand.embeddings.dictionary import Chosen, Pools
from evenhand.embeddings.fluency import Contexts, Fluency, contexts_of, passes
from evenhand.plans._rewriting import article_like
from evenhand.plans._words import match_case

Tagger: TypeAlias = Callable[[Sequence[str]], Sequence[str]]
"""From the words of a text to their parts of speech."""
Fits: TypeAlias = "Callable[[int, Site, Sequence[int]], BoolArray]"
"""From a text, a place and its (n,) candidates to which of them fit there."""
_KEPT = re.compile(r"https?://\S+|www\.\S+|\S+@\S+\.\S+|[@#]\w+|&#?\w+;|\bRT\b")
CHUNK = 200_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Site:
    """A word that has a vector and may be altered.

    Args:
        token: its place among the text's tokens. row: its row in the embeddings.
        start, end: characters that are replaced; an article just before belongs to it (an actor → a star).
        word: as it is written. article: as it is written, with the space behind it; "" without.
    """

    token: int
    row: int
    start: int
    end: int
    word: str
    article: str = ""

    def spelled(self, word: str) -> str:
        """A replacement in the letter case of the word, with its article."""
        return _spelled(word, self.word, self.article)


@lru_cache(maxsize=1 << 18)
def _spelled(word: str, like: str, article: str) -> str:
    new = match_case(word, like)
    if not article:
        return new
    bare = article.rstrip()
    return article_like(bare, new) + article[len(bare) :] + new


def sites_of(contexts: Contexts, vectors: Vectors) -> list[list[Site]]:
    """The words of every text that have a vector; addresses, @names, #tags and entities are left alone."""
    return [_sites(contexts, row, vectors) for row in range(len(contexts.texts))]


def _sites(contexts: Contexts, row: int, vectors: Vectors) -> list[Site]:
    text, starts, ends = contexts.texts[row], contexts.starts[row], contexts.ends[row]
    kept = [m.span() for m in _KEPT.finditer(text)]
    found: list[Site] = []
    at = 0
    for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
        while at < len(kept) and kept[at][1] <= start:
            at += 1
        if at < len(kept) and kept[at][0] < end:
            continue
        word = text[start:end]
        place = vectors.find(word) if any(c.isalpha() for c in word) else None
        if place is None:
            continue
        article, begin = "", start
        if i and contexts.tokens[row][i - 1] in ("a", "an") and text[ends[i - 1] : start] == " ":
            begin = starts[i - 1]
            article = text[begin:start]
        found.append(Site(token=i, row=place, start=begin, end=end, word=word, article=article))
    return found


@dataclass(frozen=True, kw_only=True, eq=False)
class Fluent:
    """Which candidates of every site read fluently.

    Args:
        good: per text, per site, which of the candidates read fluently; None without a filter.
        tried, passed: candidates in all.
    """

    good: list[list[BoolArray]] | None
    tried: int = 0
    passed: int = 0


def fluent(
    contexts: Contexts,
    sites: Sequence[Sequence[Site]],
    candidates: Mapping[int, Sequence[int]],
    vectors: Vectors,
    filter: Fluency | None,
    *,
    ratio: float = 0.25,
    tagger: Tagger | None = None,
    fits: Fits | None = None,
) -> Fluent:
    """Asks the filter once for every candidate of every site, whatever the direction.

    Args:
        candidates: row of a source word → rows of all words that any direction offers for it.
        ratio: least p(altered)/p(original). tagger: keep only candidates of the same part of speech.
        fits: keep only candidates that fit.
    """
    if filter is None and tagger is None and fits is None:
        return Fluent(good=None)
    none = np.empty(0, dtype=np.bool_)
    good = [[none] * len(row) for row in sites]
    tried = passed = 0
    asked: list[tuple[int, int, Sequence[int]]] = []

    def settle() -> None:
        nonlocal passed
        counts = [len(offered) for _, _, offered in asked]
        rows = np.repeat(np.array([t for t, _, _ in asked], dtype=np.int64), counts)
        places = np.repeat(np.array([sites[t][s].token for t, s, _ in asked], dtype=np.int64), counts)
        words = [vectors.words[c] for _, _, offered in asked for c in offered]
        keep = np.ones(len(rows), dtype=np.bool_)
        if filter is not None:
            keep = passes(filter.log_ratios(contexts, rows, places, words), ratio)
        if tagger is not None:
            for i in np.flatnonzero(keep).tolist():
                keep[i] = _same_part(contexts.tokens[rows[i]], int(places[i]), words[i], tagger)
        if fits is not None:
            keep &= np.concatenate([fits(t, sites[t][s], offered) for t, s, offered in asked])
        passed += int(keep.sum())
        at = 0
        for t, s, offered in asked:
            good[t][s] = keep[at : at + len(offered)]
            at += len(offered)
        asked.clear()

    waiting = 0
    for t, row in enumerate(sites):
        for s, site in enumerate(row):
            offered = candidates.get(site.row, ())
            if len(offered):
                asked.append((t, s, offered))
                tried, waiting = tried + len(offered), waiting + len(offered)
        if waiting >= CHUNK:
            settle()
            waiting = 0
    if asked:
        settle()
    return Fluent(good=good, tried=tried, passed=passed)


def _same_part(tokens: Sequence[str], place: int, word: str, tagger: Tagger) -> bool:
    altered = [*tokens[:place], word.lower(), *tokens[place + 1 :]]
    return tagger(list(tokens))[place] == tagger(altered)[place]


@dataclass(frozen=True, kw_only=True, eq=False)
class Offers:
    """The alterations of one direction by source word, as rows, best first."""

    by_row: Mapping[int, tuple[int, ...]]

    @classmethod
    def of(cls, pool: Pools, chosen: Chosen) -> Offers:
        """From the arrays of `choose`."""
        flat, begin = chosen.candidate.tolist(), chosen.begin.tolist()
        return cls(
            by_row={
                row: tuple(flat[begin[i] : begin[i + 1]])
                for i, row in enumerate(pool.sources.tolist())
                if begin[i + 1] > begin[i]
            }
        )

    def mutual(self, other: Offers) -> Offers:
        """Only w → c for which the other direction offers c → w."""
        back = {(w, c) for c, words in other.by_row.items() for w in words}
        kept = {w: tuple(c for c in words if (w, c) in back) for w, words in self.by_row.items()}
        return Offers(by_row={w: words for w, words in kept.items() if words})


class TextChanges(NamedTuple):
    """Every change that may be made to a text, as in `TextTasks`, and which of them each offered word is.

    Args:
        place, spans, words: (m,) of each change; the first of each place leaves the word out.
        number: of the change of each offered word, through all sites; −1 at the end, for none.
    """

    place: IntArray
    spans: list[tuple[int, int]]
    words: list[str]
    number: IntArray


def alterations(sites: Sequence[Site], offered: Sequence[Sequence[int]], vectors: Vectors) -> TextChanges:
    """The changes of one text, from the rows of the words that any search may put at each of its sites."""
    words: list[str] = []
    spans: list[tuple[int, int]] = []
    for site, rows in zip(sites, offered, strict=True):
        words += ["", *[site.spelled(vectors.words[row]) for row in rows]]
        spans += [(site.start, site.end)] * (len(rows) + 1)
    place = np.repeat(np.arange(len(sites)), [len(rows) + 1 for rows in offered])
    kept = np.diff(place, prepend=-1) == 0
    return TextChanges(place, spans, words, np.append(np.flatnonzero(kept), -1))


__all__ = [
    "Contexts",
    "Fluent",
    "Offers",
    "Site",
    "Tagger",
    "TextChanges",
    "alterations",
    "contexts_of",
    "fluent",
    "sites_of",
]

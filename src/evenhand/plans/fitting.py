"""Which candidates stand at a place of a text, rule after rule, and how many of them each rule lets through.

No rule knows a direction, so placebos pass as the direction does; both shares are shown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from evenhand._model import BoolArray, FloatArray, IntArray
from evenhand.embeddings import forms
from evenhand.embeddings._matrix import Matrix, Vectors
from evenhand.embeddings.dictionary import FUNCTION_WORDS, Pools
from evenhand.embeddings.directions import loaded
from evenhand.embeddings.fluency import Contexts
from evenhand.embeddings.proposals import Proposals
from evenhand.plans._edits import Edits
from evenhand.plans._pronouns import gender_of, swap_pronouns
from evenhand.plans._words import words_of
from evenhand.plans.alter import Fits, Site

_ENDS = frozenset(".!?…;")
_BEGINS = re.compile(r"[.!?:…\n]$|(?:^|\s)[@#]\w+:?$")
"""What stands before the first word of a sentence."""
_LAST = re.compile(r"\w+$")


@dataclass(frozen=True, kw_only=True, eq=False)
class Proposed:
    """Says which candidates a model proposed for the very place."""

    found: Proposals

    def __call__(self, text: int, site: Site, candidates: Sequence[int]) -> BoolArray:
        return np.isin(candidates, self.found.at(text, site.token))


@dataclass(kw_only=True, eq=False)
class Meaning:
    """Says which candidates leave the sentence similar: cosine of its means of unit vectors, before and
    after.

    A sentence is what stands between full stops, question marks and their like. Function words are no part of
    the mean, which they would dominate; each change is judged by itself.

    Args:
        vectors: the words. contexts: the texts. least: cosine.
    """

    vectors: Vectors
    contexts: Contexts
    least: float
    _sums: dict[tuple[int, int], FloatArray] = field(default_factory=dict)
    _sentences: dict[int, list[int]] = field(default_factory=dict)

    def __call__(self, text: int, site: Site, candidates: Sequence[int]) -> BoolArray:
        """(candidates,) those that keep it."""
        whole = self._sum(text, site.token)
        unit = self.vectors.unit
        if self.vectors.words[site.row].lower() in FUNCTION_WORDS:
            whole = whole + unit[site.row]
        after = whole - unit[site.row] + unit[np.asarray(candidates, dtype=np.int64)]
        length = np.linalg.norm(whole) * np.linalg.norm(after, axis=1)
        return np.asarray(after @ whole >= self.least * length - 1e-6, dtype=np.bool_)

    def _sum(self, text: int, token: int) -> FloatArray:
        """(d,) sum of the vectors of the sentence in which a token stands."""
        tokens, raw = self.contexts.tokens[text], self.contexts.texts[text]
        spans = zip(self.contexts.starts[text], self.contexts.ends[text], strict=True)
        if text not in self._sentences:
            ends = np.cumsum([word[:1] in _ENDS for word in tokens])
            self._sentences[text] = ends.tolist()
        sentence = self._sentences[text]
        key = text, sentence[token]
        if key not in self._sums:
            here = [
                raw[begin:end]
                for (begin, end), word, of in zip(spans, tokens, sentence, strict=True)
                if of == key[1] and word not in FUNCTION_WORDS
            ]
            rows = [self.vectors.find(word) for word in here]
            known = [row for row in rows if row is not None]
            self._sums[key] = np.asarray(self.vectors.unit[known].sum(axis=0), dtype=np.float64)
        return self._sums[key]


@dataclass(kw_only=True, eq=False)
class Forms:
    """Says which candidates fit at a place: of the word's part of speech and inflection there.

    Args:
        vectors: the words. contexts: the texts. special: rows of words that say the attribute, which
            are altered even where they look like names.
    """

    vectors: Vectors
    contexts: Contexts
    special: frozenset[int]
    _tags: dict[int, list[str]] = field(default_factory=dict)
    _swapped: dict[int, dict[int, str]] = field(default_factory=dict)
    _fitting: dict[tuple[int, str, bool], BoolArray] = field(default_factory=dict)

    def __call__(self, text: int, site: Site, candidates: Sequence[int]) -> BoolArray:
        """(candidates,) those that fit."""
        if gender_of(site.word.lower()) is not None:
            wanted = self._pronouns(text).get(site.end - len(site.word))
            return np.array([self.vectors.words[c].lower() == wanted for c in candidates], dtype=np.bool_)
        if self._name(text, site) or (site.row not in self.special and self._bound(text, site)):
            return np.zeros(len(candidates), dtype=np.bool_)
        if text not in self._tags:
            self._tags[text] = forms.tags_in(self.contexts.tokens[text])
        tag, *after = self._tags[text][site.token : site.token + 2]
        before_noun = tag[:1] == "J" and bool(after) and after[0][:1] in ("J", "N")
        key = site.row, tag, before_noun
        if key not in self._fitting:
            fitting = [self._fits(site.row, c, tag, before_noun) for c in candidates]
            self._fitting[key] = np.array(fitting, dtype=np.bool_)
        return self._fitting[key]

    def _fits(self, row: int, candidate: int, tag: str, before_noun: bool) -> bool:
        word, other = self.vectors.words[row], self.vectors.words[candidate]
        if candidate not in self.special and forms.known_name(other):
            return False
        if before_noun and other.lower() in forms.ALONE:
            return False
        return forms.same_form(word, other, tag) and (
            row in self.special or forms.same_kind(word, other, tag)
        )

    def _bound(self, text: int, site: Site) -> bool:
        """Part of an expression with the word beside it."""
        tokens, i = self.contexts.tokens[text], site.token
        pairs = zip(tokens[max(0, i - 1) : i + 1], tokens[max(1, i) : i + 2], strict=False)
        return any(forms.compound(*pair) for pair in pairs)

    def _pronouns(self, text: int) -> dict[int, str]:
        """Where each pronoun of a text begins → what the rewriting makes of it: her → him or his."""
        if text not in self._swapped:
            edits = Edits()
            swap_pronouns(words_of(self.contexts.texts[text]), edits)
            self._swapped[text] = {begin: new.lower() for (begin, _), (new, _) in edits.spans.items()}
        return self._swapped[text]

    def _name(self, text: int, site: Site) -> bool:
        """A known name, an abbreviation, or a capital inside a sentence; one begins behind an @name.

        Words that say the attribute are names only where a capital stands before them, too: Cheetah Girls.
        """
        raw = self.contexts.texts[text]
        before = raw[: site.start].rstrip(" \"'“‘(\t")
        inside = bool(before) and _BEGINS.search(before) is None
        if site.row in self.special:
            last = _LAST.search(before)
            return site.word.istitle() and inside and last is not None and last[0].istitle()
        if forms.known_name(site.word):
            return True
        if site.word.isupper():
            return not raw.isupper() and not forms.tags_of(site.word)
        return site.word[:1].isupper() and inside


@dataclass(kw_only=True, eq=False)
class AllFit:
    """Rules one after the other, and what each lets through.

    Args:
        rules: name → rule.
        tried: row of a source word → how often each of its candidates was held against a place.
        passed: per rule, row → how often each candidate passed it and the rules before it.
    """

    rules: dict[str, Fits]
    tried: dict[int, int] = field(default_factory=dict)
    passed: list[dict[int, IntArray]] = field(default_factory=list)

    def __call__(self, text: int, site: Site, candidates: Sequence[int]) -> BoolArray:
        """(candidates,) those that pass all rules."""
        keep = np.ones(len(candidates), dtype=np.bool_)
        self.passed = self.passed or [{} for _ in self.rules]
        self.tried[site.row] = self.tried.get(site.row, 0) + 1
        for counts, rule in zip(self.passed, self.rules.values(), strict=True):
            keep &= rule(text, site, candidates)
            counts[site.row] = counts.get(site.row, np.zeros(len(keep), dtype=np.int64)) + keep
        return keep


def pass_rates(
    every: Pools, pool: Pools, vectors: Vectors, steps: Sequence[Matrix], least: float, fits: AllFit
) -> list[tuple[str, float, float | None]]:
    """(rule, share of what moves along the axis that passes it, the same of the mean placebo).

    Args:
        every: before the rules without a direction. pool: after. steps: of the axis, then of its placebos.
        least: gain from which a word moves along a direction, either way.
    """
    size = len(vectors)
    codes = every.sources[every.source] * size + every.candidate
    kept = np.isin(codes, pool.sources[pool.source] * size + pool.candidate)
    tried, passed = np.zeros(len(codes)), np.zeros((len(fits.rules), len(codes)))
    begin = np.searchsorted(pool.source, np.arange(len(pool.sources) + 1))
    here = np.flatnonzero(kept)
    for i, row in enumerate(pool.sources.tolist()):
        if row in fits.tried:
            part = here[begin[i] : begin[i + 1]]
            tried[part] = fits.tried[row]
            for r, counts in enumerate(fits.passed):
                passed[r, part] = counts[row]
    found: list[list[float]] = []
    for step in steps:
        along, spread = loaded(vectors, np.asarray(step, dtype=np.float32))
        gain = (along[every.candidate] - along[every.sources[every.source]]) / spread
        moves = np.abs(gain) >= least
        found.append([_share(moves & kept, moves), *(_share(one * moves, tried * moves) for one in passed)])
    names = ["words that move along it: neither opposite nor left out"]
    names += [f"{'and' if i else 'the same in their places:'} {rule}" for i, rule in enumerate(fits.rules)]
    return [
        (name, found[0][i], float(np.mean([one[i] for one in found[1:]])) if found[1:] else None)
        for i, name in enumerate(names)
    ]


def _share(some: FloatArray | BoolArray, of: FloatArray | BoolArray) -> float:
    return float(some.sum() / of.sum()) if of.sum() else 0.0

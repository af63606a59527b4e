"""Which alterations still read: no opposites, names, words in another form, pronouns in another role.

All of it is decided on the unchanged text and whatever the direction, so that it holds for placebos alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evenhand._errors import UsageError
from evenhand._model import BoolArray, FloatArray, IntArray
from evenhand.embeddings import forms
from evenhand.embeddings._matrix import Vectors
from evenhand.embeddings.dictionary import Pools
from evenhand.embeddings.directions import Direction, someone_else
from evenhand.embeddings.feelings import feelings
from evenhand.plans.goal import Goal

Columns = Callable[[list[str]], Mapping[str, FloatArray]]
MOST_FELT = 2.0
"""Difference in feeling, on VADER's scale from −4 to 4, from which a word says something else."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Legible:
    """What counts as readable.

    Args:
        forms: keep part of speech and inflection, leave names alone. opposites: leave opposites out.
        guarded: leave out words that flip the label by themselves.
        bare: then, the goal and how to ask for the scores of bare words.
        untold: forms were asked for, but the packages that know them are not installed.
    """

    forms: bool = True
    opposites: bool = True
    guarded: bool = False
    bare: tuple[Goal, Columns] | None = None
    untold: bool = False

    def asking(self, goal: Goal, ask: Columns) -> Legible:
        """With the subject's word on bare words, where it is wanted."""
        return replace(self, bare=(goal, ask)) if self.guarded else self


def reading_of(dictionary: str, *, any_form: bool, antonyms: bool, label_words: str) -> Legible:
    """What the arguments of an attack say; the seed dictionary knows neither form nor opposites.

    Raises:
        UsageError: `unknown-label-words`.
    """
    if label_words not in ("include", "leave"):
        raise UsageError(
            "unknown-label-words",
            "no such treatment of words that carry the label",
            given=label_words,
            available=["include", "leave"],
        )
    plain = dictionary == "seed"
    any_form = any_form or plain
    known = any_form or forms.available()
    return Legible(
        forms=not any_form and known,
        opposites=not antonyms and not plain,
        guarded=label_words == "leave",
        untold=not known,
    )


def thinned(
    pool: Pools, vectors: Vectors, reading: Legible, side: Direction, extra: Sequence[str] = ()
) -> Pools:
    """The pool without opposites, other people, and words that carry the label by themselves.

    Args:
        side: a direction; its words are no opposites of one another (old → young), nor are its pairs other
            people. extra: further words that say the attribute.
    """
    source = pool.sources[pool.source]
    listed = list(zip(source.tolist(), pool.candidate.tolist(), strict=True))
    rules: dict[str, BoolArray] = {}
    if reading.opposites:
        pairs = [(vectors.words[w].lower(), vectors.words[c].lower()) for w, c in listed]
        own = frozenset(w.lower() for w in (*side.words, *extra))
        asked = {frozenset((a.lower(), b.lower())) for a, b in side.pairs}
        alike = [own.issuperset(pair) or not forms.contrary(*pair) for pair in pairs]
        apart = [own.issuperset(pair) or not forms.of_a_series(*pair) for pair in pairs]
        same = [frozenset(pair) in asked or not someone_else(*pair) for pair in pairs]
        rules["opposites"] = np.array(alike, dtype=np.bool_)
        rules["another of a series: three → four"] = np.array(apart, dtype=np.bool_)
        felt = feelings(vectors)
        rules["much kinder or harsher"] = ~(np.abs(felt[source] - felt[pool.candidate]) > MOST_FELT)
        rules["someone else: son → father"] = np.array(same, dtype=np.bool_)
    if reading.bare is not None and listed:
        rules["flip the label by themselves"] = ~_flipping(source, pool.candidate, vectors, *reading.bare)
    alive, dropped = np.ones(len(source), dtype=np.bool_), dict(pool.dropped)
    for rule, keep in rules.items():
        dropped[rule] = int(np.sum(alive & ~keep))
        alive &= keep
    return replace(
        pool,
        source=pool.source[alive],
        candidate=pool.candidate[alive],
        similarity=pool.similarity[alive],
        dropped=dropped,
    )


def _flipping(source: IntArray, candidate: IntArray, vectors: Vectors, goal: Goal, ask: Columns) -> BoolArray:
    """(edges,) the word alone, as a text, has another label than its replacement alone, or moves as far."""
    rows, code = np.unique(np.concatenate([source, candidate]), return_inverse=True)
    columns = ask([vectors.words[row] for row in rows.tolist()])
    if not columns:
        return np.zeros(len(source), dtype=np.bool_)
    scores = np.column_stack([columns[name] for name in goal.names])
    before, after = scores[code[: len(source)]], scores[code[len(source) :]]
    if goal.amount:
        return np.asarray(np.abs(after[:, 0] - before[:, 0]) >= goal.amount)
    return np.asarray(goal.labels_of(before) != goal.labels_of(after))

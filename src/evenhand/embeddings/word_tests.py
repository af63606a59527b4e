"""Whether sets of words lie apart in an embedding: published tests with intervals over words and two nulls.

A value alone says little: any two lists of words differ. So the words of the lists are exchanged (is the
grouping what matters?) and the target words are replaced by random words as frequent (do any words do this?).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from evenhand._errors import UsageError
from evenhand._model import FloatArray
from evenhand.embeddings import word_nulls
from evenhand.embeddings._matrix import Vectors
from evenhand.embeddings.vectors import vectors as vectors_of
from evenhand.embeddings.word_measures import MEASURES, Sets, WordMeasure
from evenhand.embeddings.word_nulls import ALTERNATIVES, exchange, jackknife, ordinary_words, rank, raw
from evenhand.embeddings.word_sets import Words, WordSet, queries, word_set

MANY_LOST = 0.2
"""Share of a set without vectors beyond which it is said to be another set."""


@dataclass(frozen=True, kw_only=True, eq=False)
class WordTest:
    """What a test found.

    Args:
        test: its name. title, says: what the value is called, and how it is read.
        value: of the test. low, high: its interval over words, None where `why_not` says why.
        p_value: of the exchange; None where the test has none. exchange: how it was made.
        placebo_p: rank among random words. placebos: (K,) values of these.
        kept: set → its words with a vector. missing: set → those without.
        words: word → what it contributes.
        notes: what a reader should know.
    """

    test: str
    title: str
    says: str
    value: float
    low: float | None
    high: float | None
    level: float
    p_value: float | None
    exchange: str
    placebo_p: float | None
    placebos: FloatArray
    kept: dict[str, tuple[str, ...]]
    missing: dict[str, tuple[str, ...]]
    words: dict[str, float]
    why_not: str | None = None
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """The finding in sentences, as the command line prints it."""
        interval = (
            f"no interval: {self.why_not}"
            if self.low is None or self.high is None
            else f"{100 * self.level:g} % over words: {self.low:.3f} to {self.high:.3f}"
        )
        told = [f"{self.test}: {self.title} {self.value:.4f} ({interval})", f"  read: {self.says}"]
        p = "no p" if self.p_value is None else f"p = {self.p_value:.4g}"
        told.append(f"  words exchanged: {p} ({self.exchange})")
        if self.placebo_p is not None:
            low, high = np.quantile(self.placebos, [0.025, 0.975]).tolist()
            told.append(
                f"  random words as frequent instead of the targets: {self.placebos.mean():.3f} on average,"
                f" {low:.3f} to {high:.3f} in 95 of 100; rank p = {self.placebo_p:.3g} among"
                f" {len(self.placebos)}"
            )
        for name, words in self.kept.items():
            lost = self.missing[name]
            gone = f"; without a vector: {', '.join(lost)}" if lost else ""
            told.append(f"  {name}: {len(words)} of {len(words) + len(lost)} words{gone}")
        ends = sorted(self.words, key=lambda w: self.words[w])
        some = ends if len(ends) <= 6 else [*ends[:3], *ends[-3:]]
        told.append("  words at the ends: " + ", ".join(f"{w} {self.words[w]:+.3f}" for w in some))
        return [*told, *(f"  note: {note}" for note in self.notes)]

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON holds it."""
        found = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {**found, "placebos": self.placebos.tolist(), "notes": list(self.notes)}


def word_test(
    embeddings: Any,
    test: str = "weat",
    *,
    targets: Sequence[Words] = (),
    attributes: Sequence[Words] = (),
    query: str | None = None,
    alternative: str = "two-sided",
    draws: int = 999,
    placebos: int = 99,
    level: float = 0.95,
    seed: int = 0,
    limit: int | None = None,
    fold_case: bool = False,
) -> WordTest:
    """One published test of association between sets of words in an embedding.

    The interval is a jackknife over words: the words of each set stand for more words like them. p by
    exchange asks whether the grouping of the words matters; the rank among placebos, whether random words as
    frequent as the targets do as much.

    Args:
        embeddings: a file of word vectors, or "module:attr" of an encoder of sentences. In Python also
            whatever `vectors` reads, or the function from n texts to an (n, d) array.
        test: weat, rnd, rnsb, mac, ect or ripa. See `word_measures.MEASURES`.
        targets: sets of words whose treatment is in question: shipped names, or files with a word a line. In
            Python also lists.
        attributes: sets of words that they are held against. Given as the targets are.
        query: a published comparison, weat-1 to weat-10, in place of targets and attributes.
        alternative: two-sided, greater or less. Of the p by exchange, where the value has a zero to be away
            from; Caliskan et al. report "greater".
        draws: exchanges drawn where there are too many to try all.
        placebos: times that random words take the place of the targets.
        level: confidence level of the interval.
        seed: seed of everything random.
        limit: only the first words of the file.
        fold_case: lower-case the words.

    Raises:
        UsageError: `unknown-test`, `unknown-query`, `test-sets`, `unknown-word-set`, `few-words`,
            `unequal-pairs`, `encoder-shape`.

    >>> v = {"rose": [1, 0.1], "lily": [1, 0.2], "ant": [0.1, 1], "bee": [0.3, 1]}
    >>> v |= {"good": [1, 0], "bad": [0, 1]}
    >>> sets = {"targets": [["rose", "lily"], ["ant", "bee"]], "attributes": [["good"], ["bad"]]}
    >>> found = word_test(v, **sets, placebos=0)
    >>> round(found.value, 2), round(found.p_value, 3), found.low
    (1.99, 0.333, None)
    """
    _check(test, alternative, draws, placebos, level)
    measure = MEASURES[test]
    groups, held = _sets(measure, test, targets, attributes, query)
    space = None if callable(embeddings) else vectors_of(embeddings, limit=limit, fold_case=fold_case)
    found = _encoded(embeddings, [*groups, *held]) if space is None else _found(space, groups, held, measure)
    first, second = ([one.rows for one in part] for part in (found[: len(groups)], found[len(groups) :]))
    value, each = measure.of(first, second)
    if not math.isfinite(value):
        raise UsageError("few-words", "the words do not differ, so the test has no value", given=test)
    interval = jackknife(measure, first, second, value, level)
    p, how = exchange(measure, (first, second), value, alternative=alternative, draws=draws, seed=seed)
    drawn = np.empty(0)
    if space is not None:
        places = [[space.row(w) for w in one.words] for one in found[: len(groups)]]
        ordinary = ordinary_words(space, frozenset(w.lower() for s in (*groups, *held) for w in s.words))
        again = partial(_valued, measure, second)
        drawn = word_nulls.placebos(space, ordinary, places, again, count=placebos, seed=seed)
    told = found[: len(groups)] if measure.each == "targets" else found[len(groups) :][:1]
    return WordTest(
        test=test,
        title=measure.title,
        says=measure.says,
        value=value,
        low=interval.low,
        high=interval.high,
        why_not=interval.why_not,
        level=level,
        p_value=p,
        exchange=how,
        placebo_p=rank(measure, value, drawn),
        placebos=drawn,
        kept={one.name: one.words for one in found},
        missing={one.name: one.missing for one in found},
        words=dict(zip(chain.from_iterable(one.words for one in told), each.tolist(), strict=True)),
        notes=tuple(_notes(found, drawn, wanted=placebos, encoder=space is None)),
    )


def _valued(measure: WordMeasure, attributes: Sets, targets: Sets) -> float:
    return measure.of(targets, attributes)[0]


def _check(test: str, alternative: str, draws: int, placebos: int, level: float) -> None:
    if test not in MEASURES:
        raise UsageError("unknown-test", "there is no such test", given=test, available=list(MEASURES))
    if alternative not in ALTERNATIVES:
        raise UsageError(
            "unknown-alternative",
            "there is no such alternative",
            given=alternative,
            available=ALTERNATIVES,
        )
    if draws < 1 or placebos < 0 or not 0.0 < level < 1.0:
        raise UsageError(
            "bad-count",
            "draws is at least 1, placebos at least 0, level between 0 and 1",
            given=f"draws={draws}, placebos={placebos}, level={level:g}",
        )


def _notes(found: Sequence[_Found], drawn: FloatArray, *, wanted: int, encoder: bool) -> list[str]:
    notes = [
        f"{one.name} lost {len(one.missing)} of {len(one.missing) + len(one.words)} words: it is another set"
        " than the one that was named"
        for one in found
        if len(one.missing) > MANY_LOST * (len(one.missing) + len(one.words))
    ]
    if wanted and not len(drawn):
        why = "an encoder has no vocabulary" if encoder else "the vocabulary is too small"
        notes.append(f"{why}, so no random words were drawn")
    return notes


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class _Found:
    """A set's words that have a vector, those that have none, and the (n, d) vectors."""

    name: str
    words: tuple[str, ...]
    missing: tuple[str, ...]
    rows: FloatArray


def _sets(
    measure: WordMeasure, name: str, targets: Sequence[Words], attributes: Sequence[Words], query: str | None
) -> tuple[list[WordSet], list[WordSet]]:
    """The target sets and the attribute sets; of a query as many as the test takes."""
    if query is not None:
        if query not in queries():
            raise UsageError(
                "unknown-query", "there is no such comparison", given=query, available=list(queries())
            )
        if targets or attributes:
            raise UsageError("test-sets", "a query brings its own sets", given=query)
        targets, attributes = queries()[query]
        attributes = attributes[: measure.attributes]
    for given, number, what in (
        (targets, measure.targets, "target"),
        (attributes, measure.attributes, "attribute"),
    ):
        if isinstance(given, str) or len(given) != (number or max(1, len(given))):
            raise UsageError(
                "test-sets",
                f"{name} needs {number or 'one or more'} {what} set{'' if number == 1 else 's'}",
                given=given if isinstance(given, str) else f"{len(given)}",
                expected=f"--{what} once for each set, or --query weat-6",
            )
    return [word_set(spec) for spec in targets], [word_set(spec) for spec in attributes]


def _names(sets: Sequence[WordSet]) -> list[str]:
    """Each set's name, numbered where two have the same."""
    return [
        f"{one.name} {i + 1}" if sum(one.name == other.name for other in sets) > 1 else one.name
        for i, one in enumerate(sets)
    ]


def _found(
    space: Vectors, targets: Sequence[WordSet], attributes: Sequence[WordSet], measure: WordMeasure
) -> list[_Found]:
    sets = [*targets, *attributes]
    rows = [[space.find(w) for w in one.words] for one in sets]
    if measure.exchanged == "pairs":
        if len(rows[0]) != len(rows[1]):
            raise UsageError(
                "unequal-pairs",
                "the target sets are read as pairs, word by word, so they are equally long",
                given=f"{len(rows[0])} and {len(rows[1])} words",
            )
        whole = [None not in pair for pair in zip(rows[0], rows[1], strict=True)]
        rows[:2] = ([r if both else None for r, both in zip(side, whole, strict=True)] for side in rows[:2])
    found = []
    for name, one, places in zip(_names(sets), sets, rows, strict=True):
        have = [(w, row) for w, row in zip(one.words, places, strict=True) if row is not None]
        if not have:
            raise UsageError(
                "few-words",
                "no word of this set has a vector",
                given=f"{name}: {', '.join(one.words[:8])}",
                hint="`evenhand embeddings info` shows the vocabulary; --fold-case ignores letter case",
            )
        kept = tuple(w for w, _ in have)
        missing = tuple(w for w in one.words if w not in kept)
        found.append(
            _Found(name=name, words=kept, missing=missing, rows=raw(space, [row for _, row in have]))
        )
    return found


def _encoded(encoder: Callable[[list[str]], Any], sets: Sequence[WordSet]) -> list[_Found]:
    texts = [w for one in sets for w in one.words]
    rows = np.asarray(encoder(texts), dtype=np.float64)
    if rows.ndim != 2 or len(rows) != len(texts) or not np.isfinite(rows).all():
        raise UsageError(
            "encoder-shape",
            "an encoder gives a row of finite numbers for each text",
            given=f"{len(texts)} texts, array of shape {rows.shape}",
        )
    ends = np.cumsum([len(one.words) for one in sets])[:-1]
    parts = zip(_names(sets), sets, np.split(rows, ends), strict=True)
    return [_Found(name=name, words=one.words, missing=(), rows=part) for name, one, part in parts]


def encoder_of(spec: str | os.PathLike[str]) -> Any:
    """Vectors as the command line names them: a file, or "module:attr" of an encoder."""
    from evenhand.subjects.python import named

    text = os.fspath(spec)
    return named(text) if ":" in text and not os.path.exists(text) else text

"""Names that are words: a lexicon or a model may score them for what they mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from evenhand.terms import Terms


@dataclass(frozen=True, kw_only=True, slots=True)
class Collision:
    """A term that may be scored for what it means rather than for whom it stands.

    Args:
        term: as it stands in the list.
        reason: one sentence.
        score: the subject's score of the single word, where a subject was asked; None otherwise.
        typical: the median score of the list's single words.
    """

    term: str
    reason: str
    score: float | None = None
    typical: float | None = None


@cache
def ordinary_words() -> frozenset[str]:
    """Given names that are ordinary English words, lower case (the project's own list)."""
    text = files("evenhand.terms").joinpath("data", "words.txt").read_text(encoding="utf-8")
    return frozenset(w for line in text.splitlines() if not line.startswith("#") for w in line.split())


def is_word(name: str) -> bool:
    """Whether a name is also an ordinary word ("Grace", "Mark").

    >>> is_word("Grace"), is_word("Molly")
    (True, False)
    """
    return name.lower() in ordinary_words()


def collisions(
    terms: Terms,
    score: Callable[[Sequence[str]], Sequence[float]] | None = None,
    *,
    z: float = 5.0,
    floor: float = 1e-3,
    words: bool = True,
) -> tuple[Collision, ...]:
    """Terms that are ordinary words, or that the subject itself scores unlike the typical term of the list.

    The second rule asks the subject for each term as a single word, and flags robust outliers: |s − median|
    more than `z` scaled median absolute deviations (1.4826·MAD, at least `floor`) away. Of identity terms
    only this rule is used (they are words by nature).

    Args:
        terms: the list.
        score: texts → one number each, or None where no subject is to be asked.
        z: how many scaled deviations count as unlike.
        floor: smallest difference that counts, on the scale of the score.
        words: whether to flag ordinary words.

    Raises:
        ValueError: `score` returned another number of values.

    Source: the rule is Hampel's identifier (Davies & Gather 1993, JASA 88).

    >>> from evenhand.terms import terms as load
    >>> [c.term for c in collisions(load("names/freakonomics")) if c.term in ("Precious", "Diamond", "Molly")]
    ['Precious', 'Diamond']
    """
    by_word: Mapping[str, str] = {}
    if words and terms.kind == "name":
        by_word = {t: f"'{t}' is also an ordinary word" for t in terms.terms if is_word(t)}
    scores = None if score is None else np.asarray(score(list(terms.terms)), dtype=np.float64)
    found = []
    typical, unlike = None, np.zeros(len(terms), dtype=np.bool_)
    if scores is not None:
        if scores.shape != (len(terms),):
            raise ValueError(f"{len(terms)} terms were scored, but the scores have shape {scores.shape}")
        known = np.isfinite(scores)
        if known.any():
            typical = float(np.median(scores[known]))
            spread = 1.4826 * float(np.median(np.abs(scores[known] - typical)))
            unlike = known & (np.abs(scores - typical) > np.maximum(z * spread, floor))
    for i, term in enumerate(terms.terms):
        value = None if scores is None or not np.isfinite(scores[i]) else float(scores[i])
        reasons = [by_word[term]] if term in by_word else []
        if unlike[i]:
            reasons.append(f"the subject scores it {value:.3g} alone, but {typical:.3g} for the typical term")
        if reasons:
            found.append(Collision(term=term, reason="; ".join(reasons), score=value, typical=typical))
    return tuple(found)

"""A text whose words agree with one person, while that person's gender changes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from evenhand.plans._edits import Edits
from evenhand.plans._languages import Gender, Language
from evenhand.plans._words import Words

STOP = re.compile(r"[.!?…;:()«»\"“”—\n]|¿|¡")
PAUSE = re.compile(r"[,.!?…;:()«»\"“”—\n¿¡]")
SURE, LIKELY, OPEN = 0.99, 0.95, 0.8
"""How sure a change is: beside the name, of a subject that is left out, and where nobody was named before."""


@dataclass
class PersonReading:
    """A text while one person's gender changes.

    Args:
        words: the text. language: its words. target: the new gender.
        people: word → the last word of the mention of the person that begins or stands there.
        edits: where changes and flags go.
        seen: words that are the person's. others: words that are somebody else's or a thing's.
    """

    words: Words
    language: Language
    target: Gender
    people: dict[int, int]
    edits: Edits
    seen: set[int] = field(default_factory=set)
    others: set[int] = field(default_factory=set)

    def change(self, i: int, sure: float) -> None:
        """Word i in the new gender, where it changes."""
        self.seen.add(i)
        low, language = self.words.low[i], self.language
        new = language.in_gender(low, self.target)
        if low in language.contractions and self.target == "female":
            new = f"{language.contractions[low]} la"
        if new is None:
            return
        following = self.words.at(i + 1)
        before_a_noun = (
            following in language.nouns or language.agrees(following) or language.is_adverb(following)
        )
        if new in language.short and before_a_noun and self.words.gap(i) == " ":
            new = language.short[new]
        if low == "la" and i and self.words.low[i - 1] in language.contractions.values():
            joined = next(c for c, p in language.contractions.items() if p == self.words.low[i - 1])
            self.edits.word(self.words, i - 1, joined, "agreement", sure=sure)
            span = (self.words.ends[i - 1], self.words.ends[i])
            self.edits.spans[span], self.edits.sure[span] = ("", "agreement"), sure
            return
        self.edits.word(self.words, i, new, "agreement", sure=sure)


def pauses(words: Words, i: int) -> bool:
    return PAUSE.search(words.gap(i)) is not None


def goes_on(r: PersonReading, k: int) -> bool:
    """Whether the phrase goes on at word k with something that may be its noun."""
    low = r.words.at(k)
    if k >= len(r.words) or pauses(r.words, k - 1):
        return False
    closed = r.language.words["prepositions"] | r.language.words["boundaries"] | r.language.words["clitics"]
    return low not in closed and low not in r.language.words["copulas"]


def until_pause(r: PersonReading, i: int) -> Iterator[int]:
    """The words from i on, up to a full stop or a new subject."""
    new = (r.language.words["boundaries"] - r.language.words["joining"]) | {"pero"}
    while i < len(r.words) and r.words.low[i] not in new:
        yield i
        if pauses(r.words, i):
            return
        i += 1

"""Words of a text with their places; letter case; a or an."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, chain, compress, count, repeat
from operator import sub

# Noncharacters of Unicode (never valid in interchanged text) stand for slots while a text is being rewritten.
SLOT_FIRST, SLOT_LAST = "\ufdd0", "\ufdef"
_LETTER = "(?:[^\\W_]|[\ufdd0-\ufdef\u0300-\u036f])"
WORD = re.compile(f"{_LETTER}+(?:['’ʼ]{_LETTER}+)*")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:mr|mrs|ms|mx|dr|prof|st|jr|sr|rev|gen|sgt|lt|col|capt|no|vs|etc|approx|inc|dept|[a-hj-z])$",
    re.I,
)


_WITHIN = frozenset((" ", ", ", "-", "; ", ": ", " (", ") ", ' "', '" '))
"""Gaps that end no sentence, the commonest ones."""
_END = re.compile(r"[!?…]|\n\s*\n")
_LOOSE_ENDS = (
    r"(?:[^\W_]+(?:n ['’] ?| n['’])t"
    r"|(?:s?he|they|it|we|you|i|who|what|where|how|that|there) ['’] ?(?:s|re|ve|ll|d|m))"
)
_LOOSE = re.compile(rf"(?<![^\W_]){_LOOSE_ENDS}(?![^\W_])", re.I)
"""Contractions of tokenised text, in two or three pieces: doesn 't, he 's, she ' s."""
_LOOSE_WORD = re.compile(rf"((?<![^\W_]){_LOOSE_ENDS}(?![^\W_])|{WORD.pattern})", re.I)
_MAYBE_LOOSE = re.compile(r" n?['’]")
"""What every contraction in pieces has: only there it is looked for."""
_ANY_WORD = re.compile(f"({WORD.pattern})")
_PLAIN = f"[0-9A-Za-z{SLOT_FIRST}-{SLOT_LAST}]+"
_PLAIN_WORD = re.compile(f"({_PLAIN}(?:['’]{_PLAIN})*)")
"""A word where all letters are ASCII: one class of them instead of a choice of two is three times as fast."""
_ODD = re.compile(f"[^\\x00-\\x7f{SLOT_FIRST}-{SLOT_LAST}‘’“”–—…]")


def word_set(text: str) -> frozenset[str]:
    """The words of a string, as a set."""
    return frozenset(text.split())


@dataclass(frozen=True)
class Words:
    """The words of a text: `words[i]` is ``text[starts[i]:ends[i]]``; `low` is lower case with straight
    apostrophes; `gaps[i]` stands before word i, the last behind all words."""

    text: str
    words: tuple[str, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    low: tuple[str, ...]
    gaps: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.words)

    def gap(self, i: int) -> str:
        """What stands between word i and word i + 1 (before the first word for -1, after the last for the
        last)."""
        return self.gaps[i + 1]

    def at(self, i: int) -> str:
        """`low[i]`, or an empty string outside the text."""
        return self.low[i] if 0 <= i < len(self.low) else ""

    def among(self, known: Container[str]) -> list[int]:
        """The places of the words that, in lower case, are among those that are known."""
        return list(compress(count(), map(known.__contains__, self.low)))

    def ends_sentence(self, i: int) -> bool:
        """Whether a sentence ends between word i and word i + 1."""
        if i + 1 >= len(self.words):
            return True
        gap = self.gap(i)
        if gap in _WITHIN:
            return False
        if _END.search(gap):
            return True
        return "." in gap and not (gap.startswith(". ") and self._abbreviated(i))

    def _abbreviated(self, i: int) -> bool:
        return bool(_ABBREVIATION.search(self.text[max(0, self.starts[i] - 1) : self.ends[i]]))

    @cached_property
    def sentence(self) -> tuple[int, ...]:
        """The number of the sentence that each word stands in."""
        if not self.words:
            return ()
        between = enumerate(self.gaps[1:-1])
        ends = [i + 1 for i, gap in between if gap not in _WITHIN and self.ends_sentence(i)]
        lengths = map(sub, (*ends, len(self.words)), (0, *ends))
        return tuple(chain.from_iterable(map(repeat, count(), lengths)))

    def inside_compound(self, i: int) -> bool:
        """Whether the word is part of something larger: she-he, @he, he/him, he_1, he.example."""
        if self.gaps[i][-1:] == " " == self.gaps[i + 1][:1]:
            return False
        text, start, end = self.text, self.starts[i], self.ends[i]
        before, after = text[max(0, start - 2) : start], text[end : end + 2]
        if before[-1:] in tuple("-@#/_&\\‐‑") and before != "--":
            return True
        if after[:1] in tuple("-/_@\\‐‑") and after != "--":
            return True
        # an address such as arthur.smith@…: a dot with no space and a lower-case letter on its other side
        return (before[-1:] == "." and before[:1].islower()) or (after[:1] == "." and after[1:2].islower())


def words_of(text: str) -> Words:
    """Splits a text into words; contractions (he's, and he 's of tokenised text) are one word, hyphens
    separate.

    >>> words_of("He’s well-read.").low
    ("he's", 'well', 'read')
    """
    return _split(text) if len(text) > _KEPT else _kept(text)


_KEPT = 20_000
"""Length of a text up to which its words are kept for the next set of pronouns or names."""


def _split(text: str) -> Words:
    loose = any(_LOOSE.search(text, max(0, m.start() - 60), m.end() + 6) for m in _MAYBE_LOOSE.finditer(text))
    plain = text.isascii() or not _ODD.search(text)
    pieces = (_LOOSE_WORD if loose else _PLAIN_WORD if plain else _ANY_WORD).split(text)
    places = tuple(accumulate(map(len, pieces)))
    words = tuple(pieces[1::2])
    low = tuple(map(str.lower, words))
    if loose or "’" in text or "ʼ" in text:
        low = tuple([w if w.isalnum() else _straight(w) for w in low])
    return Words(text, words, places[:-1:2], places[1::2], low, tuple(pieces[::2]))


def _straight(low: str) -> str:
    """With straight apostrophes, in one piece."""
    return low.replace("’", "'").replace("ʼ", "'").replace(" ", "")


_kept = lru_cache(maxsize=16)(_split)


def match_case(word: str, like: str) -> str:
    """`word` in the letter case of `like`: HE → THEY, He → They, he → they.

    >>> match_case("they", "HE"), match_case("they", "He"), match_case("them", "him")
    ('THEY', 'They', 'them')
    """
    if like.islower():
        return word
    letters = [c for c in like if c.isalpha()]
    if len(letters) > 1 and all(c.isupper() for c in letters):
        return word.upper()
    if letters and letters[0].isupper():
        return word[:1].upper() + word[1:]
    return word


_AN_EXCEPT = re.compile(
    r"(?:eu|ew(?:e|er)\b|u(?:ni(?!n|m|d|s[sh])|nanim|s[aeiu]|tens|til|ti|bi|kr|r[aeiou]|ku|ga)|on(?:e|ce)\b|one-|ouija|"
    r"u[cfhjkqrst][aeiou])",
    re.I,
)
_SILENT_H = re.compile(r"(?:hour|hono[u]?r|honest|heir)", re.I)
_SPELLED = re.compile(r"[A-Z][A-Z0-9]*(?:[-'’.]|$|s$)")


def article(word: str) -> str:
    """The indefinite article before `word`: "a" or "an", by sound.

    Vowel letters take "an" except where they sound like a consonant (a European, a one-off); a silent h takes
    "an"; capitals that are spelled out go by the letter's name (an FBI agent, a UN report); so do numbers (an
    80).

    >>> [
    ...     article(w)
    ...     for w in ("apple", "user", "hour", "uncle", "FBI", "unusual", "18th", "European", "house")
    ... ]
    ['an', 'a', 'an', 'an', 'an', 'an', 'an', 'a', 'a']
    """
    if not word:
        return "a"
    if word[0].isdigit():
        digits = re.match(r"\d+", word).group()  # type: ignore[union-attr]
        return "an" if word[0] == "8" or (digits in ("11", "18")) else "a"
    if _SPELLED.fullmatch(word) and (len(word) == 1 or not re.search(r"[AEIOU]", word[1:]) or len(word) <= 3):
        return "an" if word[0] in "AEFHILMNORSX" else "a"
    if re.match(r"[A-Z](?:[-.]|$)", word):  # an X-ray, a T-shirt
        return "an" if word[0] in "AEFHILMNORSX" else "a"
    if _SILENT_H.match(word):
        return "an"
    first = word[0].lower()
    plain = {
        "é": "e",
        "è": "e",
        "á": "a",
        "à": "a",
        "â": "a",
        "ä": "a",
        "å": "a",
        "í": "i",
        "ó": "o",
        "ö": "o",
    }
    first = plain.get(first, first)
    if first in "aeiou":
        return "a" if _AN_EXCEPT.match(word) else "an"
    return "an" if re.match(r"y(?:tt|vonne|vette|vonn)", word, re.I) and not word[0].isspace() else "a"

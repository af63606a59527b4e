"""Finding identity terms in free text, and the templates that they make."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import ahocorasick_rs
import numpy as np

from evenhand._errors import UsageError
from evenhand._model import Factor
from evenhand.plans._reference import PEOPLE, is_had_by_somebody, refers_to_people
from evenhand.plans._slots import SLOT, Slot, escape, starts_sentence
from evenhand.plans._verbs import SURE, is_past
from evenhand.plans._words import word_set
from evenhand.plans.grid import Skipped
from evenhand.plans.templates import Templates
from evenhand.terms import Terms

# Adjectives that are about people only sometimes: a black car, a straight line, a blind spot.
_OFTEN_NOT_PEOPLE = word_set(
    "black white straight blind deaf old young native indigenous older younger senior bi trans gay queer "
    "disabled"
)


@dataclass(frozen=True, slots=True)
class Found:
    """One term in a text: ``text[start:end]`` has the surface form `form` of `category`."""

    start: int
    end: int
    category: str
    form: str


def _lower(text: str) -> str:
    """Lower case of the same length: "İ".lower() is two characters long and would shift every later place."""
    low = text.lower()
    if len(low) == len(text):
        return low
    return "".join(c if len(c.lower()) != 1 else c.lower() for c in text)


def _joins(c: str) -> bool:
    return c.isalnum() or c in "-_@#/&‐‑" or "\u0300" <= c <= "\u036f"


class Finder:
    """Finds the surface forms of a list of terms, as whole words, whatever the letter case.

    Built once, used for many texts; the longest term wins ("African American" before "American").

    Args:
        terms: identity terms, or any list (its terms are then looked for as they are).
        categories: the categories to look for; all where None.

    >>> from evenhand.terms import terms
    >>> [
    ...     (f.start, f.end, f.form)
    ...     for f in Finder(terms("identity/religion")).find("Two Muslims and a Jewish boy")
    ... ]
    [(4, 11, 'noun_plural'), (18, 24, 'adjective')]
    """

    def __init__(self, terms: Terms, categories: Sequence[str] | None = None) -> None:
        self.terms = terms
        wanted = list(terms.factors) if categories is None else list(categories)
        self._what: list[tuple[str, str]] = []
        patterns: dict[str, None] = {}
        for surface, category, form in _surfaces(terms, wanted):
            low = _lower(surface)
            if low and low not in patterns:
                patterns[low] = None
                self._what.append((category, form))
        if not patterns:
            raise UsageError(
                "nothing-to-find",
                f"{terms.id} has no terms of these categories.",
                given=wanted,
                available=terms.factors,
            )
        self._patterns = list(patterns)
        self._automaton = ahocorasick_rs.AhoCorasick(self._patterns)

    @cached_property
    def pattern_count(self) -> int:
        """How many distinct surface forms are looked for."""
        return len(self._patterns)

    def _stands_here(self, which: int, text: str, end: int) -> bool:
        """ "the blind" are people, but "the blind man" is one man: then the adjective is what counts."""
        if not self._patterns[which].startswith("the "):
            return True
        m = _NEXT_WORD.match(text, end)
        following = "" if m is None else m.group(1).lower()
        return not following or following in _FUNCTION or following in SURE or is_past(following)

    @cached_property
    def proper(self) -> frozenset[str]:
        """The surface forms that the list writes with a capital."""
        surfaces = (
            x for column in self.terms.forms.values() for cell in column if cell for x in cell.split("|")
        )
        return frozenset(x for x in surfaces if x[:1].isupper())

    def find(self, text: str) -> list[Found]:
        """The terms in `text` from left to right, none overlapping; not inside words, hyphenations or
        addresses."""
        low = _lower(text)
        hits = self._automaton.find_matches_as_indexes(low, overlapping=True)
        if not hits:
            return []
        n = len(text)
        whole = [
            (start, -end, which)
            for which, start, end in hits
            if self._stands_here(which, text, end)
            and (start == 0 or not _joins(low[start - 1]))
            and (end == n or not _joins(low[end]))
        ]
        whole.sort()
        found, at = [], 0
        for start, minus_end, which in whole:
            if start >= at:
                category, form = self._what[which]
                found.append(Found(start, -minus_end, category, form))
                at = -minus_end
        return found


def _surfaces(terms: Terms, categories: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """(surface form, category, form that fits there) of every term, plurals first so that they win ties."""
    forms = [
        f for f in ("noun_plural", "noun", "adjective") if f in terms.forms or f"seen_{f}" in terms.forms
    ]
    for i, label in enumerate(terms.terms):
        category = next((c for c in categories if terms.level(c, i) is not None), None)
        if category is None and terms.factors and categories:
            continue
        if not forms:
            yield label, category or "term", ""
        for form in reversed(forms):  # an adjective that is also a noun is read by its neighbours
            surface = terms.forms[form][i] if form in terms.forms else None
            if surface:
                yield surface, category or "term", form
    yield from _of_own_frames(terms, categories, forms)


def _of_own_frames(
    terms: Terms, categories: Sequence[str], forms: Sequence[str]
) -> Iterator[tuple[str, str, str]]:
    """What is said of somebody in a frame of its own (in a wheelchair, has autism), and other spellings."""
    own = [
        (form, cells, begins)
        for form, begins in (("predicate", "in "), ("condition", ""))  # other predicates look like adjectives
        if (cells := terms.forms.get(form))
    ]
    seen = [
        (form, terms.forms.get(f"seen_{form}", ()), "") for form in [*forms, *(form for form, _, _ in own)]
    ]
    for form, cells, begins in [*own, *seen]:
        for i, alternatives in enumerate(cells):
            category = next((c for c in categories if terms.level(c, i) is not None), None)
            if alternatives and category is not None:
                for surface in alternatives.split("|"):
                    if surface.startswith(begins):
                        yield surface, category, form


@dataclass(frozen=True, kw_only=True, slots=True)
class Placeholder:
    """A text whose identity terms became slots.

    Args:
        template: the text with slots; equal to the (escaped) text where nothing was found.
        found: what was found.
        flags: what a person should look at.
    """

    template: str
    found: tuple[Found, ...]
    flags: tuple[str, ...]


_NEXT_WORD = re.compile(r"\s+([^\W\d_]+)")


def placeholder(
    text: str, terms: Terms | Finder, category: str | None = None, *, people: bool = False
) -> Placeholder:
    """The text as a template: every identity term becomes a slot that carries its form, number and letter
    case.

    A word that is both a noun and an adjective ("a Muslim", "a Muslim teacher") is read by the word after it.
    Words that are about people only sometimes ("black", "straight") are flagged where no person word follows.

    Args:
        text: any text.
        terms: identity terms, or a Finder built from them.
        category: which category to look for; all where None.
        people: leave out what does not clearly refer to people: the Black Sea, the Old Testament.

    >>> from evenhand.terms import terms as load
    >>> placeholder("I have many Black friends, and two Asians.", load("identity/race")).template
    'I have many {Race:adjective} friends, and two {race:noun_plural}.'
    """
    finder = terms if isinstance(terms, Finder) else Finder(terms, [category] if category else None)
    out, at, flags, kept = [], 0, [], []
    for f in finder.find(text):
        if category is not None and f.category != category:
            continue
        form, flag = _form_here(text, f)
        surface = text[f.start : f.end]
        if form == "condition" and not is_had_by_somebody(text, f.start, f.end):
            continue
        if people and form != "condition":  # a pole is no Pole
            plural = form == "noun_plural" and surface not in ("poles", "swedes")
            lower = f.category == "nationality" and surface.islower() and not plural
            if not refers_to_people(text, f.start, f.end, "adjective" if lower else form):
                continue
        key = f.category
        if len(surface) > 2 and surface.isupper():
            key = key.upper()
        elif surface[:1].isupper() and not _proper(finder, surface):
            key = key.capitalize()
        lower = surface.islower() and starts_sentence(text[max(0, f.start - 400) : f.start])
        out += [escape(text[at : f.start]), str(Slot(f.category, form or None, key, lower))]
        at = f.end
        kept.append(Found(f.start, f.end, f.category, form))
        if flag and flag not in flags:
            flags.append(flag)
    if len({f.category for f in kept}) > 1:
        flags.append("terms of several categories")
    if len(kept) > 1:
        flags.append(f"{len(kept)} terms: all are filled with the same group")
    return Placeholder(template="".join(out) + escape(text[at:]), found=tuple(kept), flags=tuple(flags))


def _proper(finder: Finder, surface: str) -> bool:
    """Whether the list itself writes this term with a capital."""
    return surface in finder.proper


def _form_here(text: str, f: Found) -> tuple[str, str | None]:
    surface = _lower(text[f.start : f.end])
    m = _NEXT_WORD.match(text, f.end)
    following = m.group(1).lower() if m else ""
    form = f.form
    if form in ("noun", "adjective"):
        before = re.search(r"([^\W\d_]+)\s+\Z", text[max(0, f.start - 20) : f.start])
        article = before is not None and before.group(1).lower() in (
            "a",
            "an",
            "the",
            "this",
            "that",
            "another",
            "every",
        )
        if following in PEOPLE:
            form = "adjective"
        elif article and (not following or following in _FUNCTION) and surface not in _OFTEN_NOT_PEOPLE:
            form = "noun"
    if surface in _OFTEN_NOT_PEOPLE and following not in PEOPLE:
        return form, f"'{text[f.start : f.end]}' may not be about people here"
    if (
        f.category == "nationality"
        and form == "adjective"
        and following not in PEOPLE | _FUNCTION
        and following
    ):
        return form, f"'{text[f.start : f.end]} {following}' may not be about people"
    if form == "noun" and following in PEOPLE:
        return "adjective", None
    return form, None


_FUNCTION = word_set(
    "and or but is was are were has had who that in on at to of for with from by as will would can could "
    "said says lives lived works worked moved came went because when if than does did do have be been"
)


def identity_templates(
    texts: Sequence[str],
    terms: Terms,
    category: str | None = None,
    *,
    ids: Sequence[str] | None = None,
    factors: Mapping[str, Factor] | None = None,
) -> Templates:
    """The templates of those texts that mention a term of the category; the others are in `skipped`.

    Args:
        texts: free texts.
        terms: identity terms.
        category: which category; all where None.
        ids: of the texts; ``t1``, ``t2``, … where None.
        factors: columns of the texts (``toxicity label``, ``sentiment``, …), Factors of the same length.

    Raises:
        UsageError: no text mentions any of the terms.

    >>> from evenhand.terms import terms as load
    >>> made = identity_templates(["My deaf neighbor sings.", "It rains."], load("identity/disability"))
    >>> made.templates, made.skipped[0].reason
    (('My {disability:adjective} neighbor sings.',), 'mentions no term of disability')
    """
    finder = Finder(terms, [category] if category else None)
    names = list(ids) if ids is not None else [f"t{i + 1}" for i in range(len(texts))]
    rows, made, skipped = [], [], []
    for i, text in enumerate(texts):
        p = placeholder(text, finder, category, people=True)
        if not p.found:
            what = category or terms.id.split("/")[-1]
            said = "a word of {}, but hardly of people" if finder.find(text) else "no term of {}"
            skipped.append(Skipped(text=names[i], reason=f"mentions {said.format(what)}"))
        elif len({f.category for f in p.found}) > 1:
            skipped.append(Skipped(text=names[i], reason="mentions terms of several categories: name one"))
        else:
            rows.append(i)
            made.append(p)
    if not made:
        written = next((m.group() for text in texts for m in SLOT.finditer(text) if m.group(1)), None)
        slots = " or ".join(f"{{{factor}}}" for factor in terms.factors)
        raise UsageError(
            "no-identity-terms",
            "No text mentions any of these terms.",
            given=f"{len(texts)} texts, {terms.id}",
            hint=f"{written} is no slot for these terms; {slots} is" if written
            else skipped[0].reason if skipped else "there are no texts",
        )  # fmt: skip
    index = np.array(rows)
    return Templates(
        templates=tuple(p.template for p in made),
        ids=tuple(names[i] for i in rows),
        bases=tuple(texts[i] for i in rows),
        flags=tuple("; ".join(p.flags) for p in made),
        factors={k: f[index] for k, f in (factors or {}).items()},
        skipped=tuple(skipped),
        terms=terms,
    )

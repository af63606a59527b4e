"""Rewriting one text: another name, other pronouns, with the grammar that follows."""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache

from evenhand._errors import UsageError
from evenhand.plans._agreeing import change_gender
from evenhand.plans._edits import GENDERED, Edits, Rewrite, apply_edits
from evenhand.plans._languages import Language, gender_of_set, language_of_code
from evenhand.plans._naming import doubtful
from evenhand.plans._pronouns import PronounSet, change_pronouns, pronoun_set, roles_of
from evenhand.plans._titles import TITLES, called, change_titles, everyones_titles
from evenhand.plans._words import Words, article, match_case, word_set, words_of
from evenhand.terms import terms


def rewrite(
    text: str,
    *,
    pronouns: str | PronounSet | None = None,
    replace: str | None = None,
    name: str | None = None,
    all_people: bool = False,
    language: str = "en",
) -> Rewrite:
    """The same text about a person with another name or other pronouns.

    Pronouns change in all five forms with letter case kept; "her" and "his" are resolved by the words around
    them; verbs agree with "they" (was → were, has → have, runs → run, he's → they're or they've, "is he" →
    "are they", "he runs and jumps" → "they run and jump"). The whole text is read as being about one person;
    pronouns of another set are kept and flagged, or change too
    (`all_people`). What cannot be decided is rewritten by the likelier reading and flagged.

    Args:
        text: any text.
        pronouns: "he", "she", "they", "xe", "ze", "ey", "fae", or five forms separated by slashes; None keeps
            them.
        replace: the name of the person in the text; possessives are changed with it.
        name: the new name.
        all_people: every "he" and "she", and every title, become those of `pronouns`, whoever they belong to.
        language: of the text: "en", or "es" (Spanish), where nouns, adjectives and articles follow "él" or
            "ella" (docs/how-to/own-names-and-language.md).

    Raises:
        UsageError: unknown pronouns or language; `replace` without `name` or the other way; a name that is
            not in the text.

    Source: the agreement of singular "they" follows Merriam-Webster's and the APA's guidance; checked against
    the Winogender sentences (Rudinger et al. 2018).

    >>> rewrite("He was late because he's lost his keys.", pronouns="they").text
    "They were late because they've lost their keys."
    >>> rewrite("Arthur’s boss saw her.", replace="Arthur", name="Maria", pronouns="she").text
    'Maria’s boss saw her.'
    >>> rewrite("I saw her with her dog; the dog is hers.", pronouns="he").text
    'I saw him with his dog; the dog is his.'
    """
    if (replace is None) != (name is None):
        raise UsageError(
            "replace-and-name",
            "A name is replaced by another: both are needed.",
            given=f"replace={replace!r}, name={name!r}",
            expected="replace='Arthur', name='Maria'",
        )
    if language != "en":
        return _agreed(text, language_of_code(language), pronouns, replace, name)
    target = None if pronouns is None else pronoun_set(pronouns)
    if replace is None and (target is None or says_nothing(text, target)):
        return Rewrite(text=text)
    words, edits = words_of(text), Edits()
    anchor: int | None = None
    if replace is not None and name is not None:
        anchor = replace_name(words, replace, name, edits)
    if target is not None:
        source = change_pronouns(words, target, edits, anchor=anchor, everyone=all_people)
        for gender in ("he", "she") if all_people else (source,):
            flag_gendered_nouns(words, gender, target, edits)
        if all_people:
            everyones_titles(words, target, edits)
            return apply_edits(text, edits)
        names = None if replace is None else _names(words, replace, name_places(text, replace.strip()))
        change_titles(words, target, edits, source=source, names=names)
    return apply_edits(text, edits)


def _agreed(
    text: str, language: Language, pronouns: str | PronounSet | None, replace: str | None, name: str | None
) -> Rewrite:
    """The text in a language whose words agree with the person."""
    words, edits, firsts = words_of(text), Edits(), set[int]()
    if replace is not None and name is not None:
        replace_name(words, replace, name, edits, repair=False)
        starts = {start for start, _, _ in name_places(text, replace.strip())}
        firsts = {i for i, start in enumerate(words.starts) if start in starts}
    if pronouns is not None:
        change_gender(words, language, gender_of_set(pronouns, language), edits, firsts=firsts)
    return apply_edits(text, edits)


_TOKEN = re.compile(r"[^\W_]+")
_LONG = 20_000
"""Characters of which the first so many are looked at by themselves, since they mostly tell."""


def says_nothing(text: str, target: PronounSet) -> bool:
    """Whether no pronoun, title or gendered noun can stand in the text, told without its words; where this is
    False they need not."""
    telling = _telling(target)
    if len(text) > _LONG and not telling.isdisjoint(_TOKEN.findall(text[:_LONG].lower())):
        return False
    return telling.isdisjoint(_TOKEN.findall(text.lower()))


@cache
def _telling(target: PronounSet) -> frozenset[str]:
    """How the words begin that a rewriting may change or flag."""
    words = (*roles_of(target), *TITLES, *_gendered())
    return frozenset(token[0] for word in words if (token := _TOKEN.findall(word)))


def name_places(text: str, name: str) -> list[tuple[int, int, str]]:
    """Where a name stands: (start, end, what follows it of "", "'s", "'"), not inside words, hyphens or
    addresses.

    Written exactly so, or in capitals; in lower case only where the name is not an ordinary word.
    """
    places = []
    for m in _spelled(name).finditer(text):
        if _GOES_ON.match(text, m.end()):
            continue
        if _OWNS.match(text, m.end()):
            tail = text[m.end() : m.end() + 2]
        elif name[-1:].lower() in tuple("sxz") and _OWNS_BARE.match(text, m.end()):
            tail = text[m.end()]
        else:
            tail = ""
        places.append((m.start(), m.end(), tail))
    return places


_GOES_ON = re.compile(r"[-‐‑](?!-)[^\W_]|[_@]|\.[a-z@]|/[^\W_]")
_OWNS = re.compile(r"['’ʼ][sS](?![^\W_])")
_OWNS_BARE = re.compile(r"['’ʼ](?![^\W_])")


@lru_cache(maxsize=1024)
def _spelled(name: str) -> re.Pattern[str]:
    from evenhand.terms.collide import is_word

    spelled = [name, name.upper()]
    if not is_word(name):
        spelled.append(name.lower())
    spelled += [unicodedata.normalize("NFD", s) for s in spelled]
    pattern = "|".join(re.escape(s) for s in sorted(set(spelled), key=len, reverse=True))
    return re.compile(rf"(?<![^\W_])(?<![-@#/_&\\‐‑])(?:{pattern})(?![^\W_\u0300-\u036f])")


def _names(words: Words, name: str, places: list[tuple[int, int, str]]) -> set[str]:
    """What the person is called: the parts of the name, and the surname after it."""
    ends = {end for _, end, _ in places}
    return called(words, [i for i, end in enumerate(words.ends) if end in ends], name.lower().split())


def replace_name(words: Words, old: str, new: str, edits: Edits, *, repair: bool = True) -> int | None:
    """Adds the replacement of a name, its possessives and, with `repair`, the "a" or "an" before it; returns
    the first word that names it.

    Raises:
        UsageError: the name does not stand in the text.
    """
    old, new = old.strip(), new.strip()
    places = name_places(words.text, old) if old else []
    if not places:
        capital = sorted({w for w in words.words if w[:1].isupper() and len(w) > 1})
        raise UsageError(
            "name-not-in-text",
            "The text does not mention the name to replace.",
            given=old,
            expected="a name that stands in the text, as a whole word",
            available=capital[:50],
        )
    for start, end, tail in places:
        fitted = match_case(new, words.text[start:end]) if words.text[start:end] != old else new
        if words.text[start:end].islower() and not old.islower():
            fitted = new.lower()
        if tail and tail[1:] == "":
            if _closes_quote(words.text, start):
                edits.flag(f"'{old}{tail}': possessive or closing quotation mark?")
            elif new[-1:].lower() not in "sxz":
                fitted, end = f"{fitted}{tail}s", end + 1
        edits.spans[(start, end)] = (fitted, "name")
        if repair:
            _article_before(words, start, fitted, edits)
    left = re.search(rf"(?<![^\W_]){re.escape(old)}(?![^\W_])", _without(words.text, places), re.I)
    if left:
        edits.flag(f"'{left.group()}' in a compound or another spelling was kept")
    if why := doubtful(words.text, places):
        edits.flag(why)
    parts = old.split()
    if len(parts) > 1:
        rest = _without(words.text, places)
        alone = [p for p in parts if len(p) > 1 and re.search(rf"(?<![^\W_]){re.escape(p)}(?![^\W_])", rest)]
        if alone:
            edits.flag(f"'{alone[0]}' also stands alone and was kept")
    first = places[0][0]
    return next((i for i, s in enumerate(words.starts) if s >= first), None)


def _without(text: str, places: list[tuple[int, int, str]]) -> str:
    out = list(text)
    for start, end, _ in places:
        out[start:end] = " " * (end - start)
    return "".join(out)


def _closes_quote(text: str, start: int) -> bool:
    opening = max(text.rfind("'", 0, start), text.rfind("‘", 0, start))
    return opening >= 0 and (opening == 0 or not text[opening - 1].isalnum())


def _article_before(words: Words, start: int, new: str, edits: Edits) -> None:
    """Repairs "a" or "an" directly before `start`."""
    m = re.search(r"(?<![^\W_])(an?)(?=[ \n\"“'‘(]+\Z)", words.text[max(0, start - 8) : start], re.I)
    if m:
        begin = max(0, start - 8) + m.start()
        edits.spans[(begin, begin + len(m.group()))] = (article_like(m.group(), new), "article")


def article_like(old: str, following: str) -> str:
    """ "a" or "an" for the word that follows, in the letter case of the old article."""
    new = article(following)
    return new.capitalize() if old[0].isupper() else new


@cache
def _gendered() -> dict[str, str]:
    """Gendered noun → "he" or "she"."""
    pairs = terms("pairs/gender")
    found: dict[str, str] = {}
    for column, owner in (("male", "he"), ("male_plural", "he"), ("female", "she"), ("female_plural", "she")):
        for word in pairs.forms[column]:
            if word:
                found.setdefault(word, owner)
    found |= {"guy": "he"}
    both = set(pairs.forms["neutral"]) | {
        "host",
        "hosts",
        "lord",
        "lords",
        "sir",
        "madam",
        "lady",
        "male",
        "males",
        "female",
        "females",
    }
    return {w: o for w, o in found.items() if w not in both and not w.endswith("s")}


_RANKS = word_set(
    "king queen prince princess duke duchess count countess baron baroness emperor empress lady"
)


def rank_in_a_name(words: Words, i: int) -> bool:
    """Whether a rank is a family's or a place's name (Luther King, Duke University), or "count" a verb."""
    low, word = words.low[i], words.words[i]
    if low == "count" and not word[0].isupper():
        return words.at(i - 1) not in ("a", "the", "this", "that")
    if low not in _RANKS or not word[0].isupper():
        return False
    around = [words.words[k] for k in (i - 1, i + 1) if 0 <= k < len(words)]
    return low != "lady" and any(w[0].isupper() and w.lower() not in ("the", "a") for w in around)


def flag_gendered_nouns(words: Words, source: str | None, target: PronounSet, edits: Edits) -> None:
    """A noun of the person's old gender is either the person (then it should change) or another possible
    "he"."""
    if source is None or source == target.id:
        return
    gendered = _gendered()
    if gendered.keys().isdisjoint(words.low) and "'s" not in words.text and "’" not in words.text:
        return
    theirs = {low for low in set(words.low) if gendered.get(low.removesuffix("'s")) == source}
    if not theirs:
        return
    for i in words.among(theirs):
        changed = (words.starts[i], words.ends[i]) in edits.spans
        if not changed and not rank_in_a_name(words, i):
            edits.flag(
                f"'{words.words[i]}' is gendered and was kept: the person, or somebody else?", sure=GENDERED
            )

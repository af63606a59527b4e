"""One person's gender in a text whose nouns, adjectives and articles agree with it (Spanish).

No parser: the subject of a verb is whoever stands before it in its clause, or, where nobody does, the person
who was spoken of last. What follows a verb of being is read as a chain of articles, adverbs, adjectives and
nouns for persons. What could be the person's and is not understood is flagged.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import get_args

from evenhand.plans._edits import Edits, Rewrite, apply_edits
from evenhand.plans._languages import Gender, Language, gender_of_set, language_of_code
from evenhand.plans._person import LIKELY, OPEN, STOP, SURE, PersonReading, goes_on, pauses, until_pause
from evenhand.plans._pronouns import PronounSet
from evenhand.plans._unsure import flag_the_rest, flag_what_follows, unknown_word
from evenhand.plans._words import SLOT_FIRST, SLOT_LAST, Words, words_of


def change_gender(
    words: Words, language: Language, target: Gender, edits: Edits, *, firsts: Collection[int]
) -> None:
    """Adds to `edits` what makes the words about the person agree with a gender.

    Args:
        words: the text.
        language: its language.
        target: the new gender.
        edits: where changes and flags go.
        firsts: the first words of the person's names.
    """
    people = {i: _last_of_name(words, i) for i in firsts}
    own = [i for i, low in enumerate(words.low) if any(low in p for p in language.pronouns.values())]
    genders = {g for i in own for g, forms in language.pronouns.items() if words.low[i] in forms}
    other = "male" if target == "female" else "female"
    if len(genders) > 1:
        edits.flag("the text has pronouns of both genders: whose are they?")
        own = [i for i in own if words.low[i] in language.pronouns[other]]  # type: ignore[index]
    people |= dict.fromkeys(own)  # type: ignore[arg-type]
    people = {i: i if last is None else last for i, last in people.items()}
    reading = PersonReading(words, language, target, people, edits)
    for i in own:
        reading.change(i, SURE)
        if words.at(i + 1) in ("mismo", "misma", "solo", "sola"):
            reading.change(i + 1, SURE)
    for first, last in people.items():
        _beside_the_name(reading, first, last)
    for i in range(1, len(words)):
        if words.low[i - 1] == "sí" and words.low[i] in ("mismo", "misma") and people:
            reading.change(i, LIKELY)
    _clauses(reading)
    flag_the_rest(reading)


def agreeing(marked: str, target: PronounSet | None, language: str) -> Rewrite:
    """A text with marks for a name, in the gender of the name. Where that is not known, or none of the two,
    the text stays, and is flagged if any word of it would change."""
    words, known = words_of(marked), language_of_code(language)
    firsts = [i for i, word in enumerate(words.words) if any(SLOT_FIRST <= c <= SLOT_LAST for c in word)]
    if target is not None and target.id in ("he", "she"):
        edits = Edits()
        change_gender(words, known, gender_of_set(target, known), edits, firsts=firsts)
        return apply_edits(marked, edits)
    edits, would = Edits(), Edits()
    for gender in get_args(Gender):
        change_gender(words, known, gender, would, firsts=firsts)
    if would.spans:
        edits.flag("words of the text agree with a gender, and that of the name is not known or has no forms")
    return apply_edits(marked, edits)


def _last_of_name(words: Words, i: int) -> int:
    while i + 1 < len(words) and words.gap(i) == " " and words.words[i + 1][0].isupper():
        i += 1
    return i


def _beside_the_name(r: PersonReading, first: int, last: int) -> None:
    """El señor Carlos; el jefe, Carlos, …; Carlos, un abogado conocido; un chico llamado Carlos."""
    words, k = r.words, first - 1
    apposed = words.gap(k) == ", " and pauses(words, last)
    if k >= 0 and (words.gap(k).strip() == "" or apposed):
        _phrase_before(r, k)
    n = last + 1
    if n < len(words) and words.gap(last) == ", " and _begins_phrase(r, n):
        _predicate(r, n, SURE)
    while words.gap(n - 1) == " " and r.language.is_adverb(words.at(n)):
        n += 1
    bare = words.at(n) not in r.language.determiners | {"solo", "sola"}
    if n < len(words) and words.gap(n - 1) == " " and bare and _begins_phrase(r, n):
        _predicate(r, n, LIKELY)  # vieron a Carlos muy cansado; eligieron a Carlos capitán


def _phrase_before(r: PersonReading, k: int) -> int:
    """Changes the article, nouns and adjectives that end at word k; returns the word before them."""
    words, language, start = r.words, r.language, k
    found = []
    while k >= 0 and (language.agrees(words.low[k]) or words.low[k] in language.nouns):
        found.append(k)
        k -= 1
        if words.gap(k).strip():
            break
    else:
        low = words.at(k)
        if k < start and (low in language.determiners or low in language.contractions) and low:
            found.append(k)
            k -= 1
    for i in found:
        r.change(i, SURE)
    return k


def _begins_phrase(r: PersonReading, k: int) -> bool:
    """Whether an adjective, a noun for a person, or an article and one of these begins at word k."""
    words, language = r.words, r.language
    while language.is_adverb(words.at(k)) and not language.agrees(words.at(k)):
        k += 1
    if _one_of_several(words, k):
        return True
    determined = False
    while words.at(k) in language.determiners and goes_on(r, k + 1):
        k, determined = k + 1, True
    while language.is_adverb(words.at(k)) or (language.agrees(words.at(k)) and determined):
        if words.at(k) in language.nouns or not (language.is_adverb(words.at(k)) or goes_on(r, k + 1)):
            return True
        k += 1
    return words.at(k) in language.nouns or language.agrees(words.at(k))


def _predicate(r: PersonReading, j: int, sure: float) -> int:
    """Changes what is said of the person from word j on; returns the word behind it."""
    words, language, start = r.words, r.language, j
    while j < len(words) and not (j > start and STOP.search(words.gap(j - 1))):
        low = words.low[j]
        joins = low in language.words["joining"]
        comma = j > start and "," in words.gap(j - 1)
        if comma and not joins and not _begins_phrase(r, j):
            break
        if low in language.words["joining"] and j > start:
            if not _begins_phrase(r, j + 1) or j + 1 in r.people or _is_a_clause(r, j + 1):
                break
        elif _one_of_several(words, j):
            r.change(j, sure)
            j = _several(r, j + 2, sure)
            continue
        elif low in language.determiners:
            if not _begins_phrase(r, j):
                if j == start and words.at(j + 1) not in language.words["nouns_no_person_is"]:
                    r.edits.flag(f"'{words.words[j]} {words.at(j + 1)}': is it said of the person?")
                break
            r.change(j, sure)
        elif words.at(j + 1) in language.words["of_one_gender"]:  # buena persona, whoever it is
            r.others.update((j, j + 1))
            break
        elif language.agrees(low) or low in language.nouns:
            r.change(j, sure)
        elif not language.is_adverb(low):
            flag_what_follows(r, j)
            break
        j += 1
    return j


def _is_a_clause(r: PersonReading, k: int) -> bool:
    """Whether what begins with an article at word k is the subject of a verb: "… pero su hermano es alto"."""
    words, language = r.words, r.language
    if words.at(k) not in language.determiners:
        return False
    while k < len(words) and not pauses(words, k):
        k += 1
        low = words.at(k)
        known = low in language.nouns or low in language.determiners or language.agrees(low)
        if not known and not language.is_adverb(low):
            return low not in language.words["prepositions"] | language.words["boundaries"]
    return False


def _one_of_several(words: Words, j: int) -> bool:
    """Uno de los mejores alumnos."""
    return words.at(j) in ("uno", "una") and words.at(j + 1) == "de" and words.at(j + 2) in ("los", "las")


def _several(r: PersonReading, j: int, sure: float) -> int:
    """Changes "los mejores alumnos"."""
    while j < len(r.words) and (j in r.seen or r.language.forms[r.target].get(r.words.low[j])
                                or r.words.low[j].endswith(("ores", "tes"))):  # fmt: skip
        r.change(j, sure)
        j += 1
    return j


def _clauses(r: PersonReading) -> None:
    """Reads the text clause by clause: whose is each verb of being?"""
    words, language = r.words, r.language
    topic, begins = "", 0
    for i, low in enumerate(words.low):
        boundary = low in language.words["boundaries"]
        if i and (boundary or pauses(words, i - 1)):
            topic, begins = _topic_after(r, begins, i, topic), i
        if low in language.words["as_a"]:
            _as_a(r, i)
        linking = low in language.words["copulas"]
        if not (linking or low in language.words["with_adjective"]):
            continue
        left = [k for k in range(begins + (words.low[begins] in language.words["boundaries"]), i)]
        who = _subject(r, left, i)
        start = _behind_the_verb(r, i)
        if start - 1 in r.people.values() and who in ("nobody", "other"):
            if who == "other" or left:
                _what_the_person_is(r, left)
            who = "person"
        if who == "nobody":
            who = topic or "open"
            if linking and _impersonal(r, start):
                continue
        sure = SURE if who == "person" and left else LIKELY if who == "person" else OPEN
        if who == "other" and left:
            r.others.update(until_pause(r, start))
        if who == "other" or not _begins_phrase(r, start):
            _works_as(r, i, who, sure)
            unknown_word(r, start, who, linking)
            continue
        if who == "open":
            r.edits.flag(f"'{words.words[i]} {words.at(start)}': is the person the subject?", sure=1)
        _predicate(r, start, sure)


def _subject(r: PersonReading, left: list[int], verb: int) -> str:
    """Whose a verb is by the words before it in its clause: "person", "other" or "nobody"."""
    words, language = r.words, r.language
    objects = {"lo", "la", "los", "las"}
    around = (language.words["clitics"] - objects) | language.words["auxiliaries"] | language.words["copulas"]
    left = [
        k
        for k in left
        if words.low[k] not in around
        and not language.is_adverb(words.low[k])
        and not (words.low[k] in objects and k == verb - 1)
    ]
    if not left:
        return "nobody"
    for k in left:
        if k in r.people:
            before = k - 1
            while before >= 0 and before in r.seen and words.low[before] not in language.contractions:
                before -= 1
            if words.at(before) in language.words["prepositions"] and before >= left[0]:
                return "nobody" if before == left[0] else "other"
            return "person"
    if words.low[left[0]] in language.words["prepositions"]:
        return "nobody"
    if all(language.agrees(words.low[k]) or words.low[k] in ("qué", "tan") for k in left):
        return "nobody"  # ¡Qué guapo está!
    return "other"


def _behind_the_verb(r: PersonReading, i: int) -> int:
    """The word behind a verb of being, and behind the person who stands there ("¿Está Carlos listo?")."""
    k = i + 1
    while r.language.is_adverb(r.words.at(k)) and k + 1 in r.people:
        k += 1
    return r.people[k] + 1 if k in r.people and not pauses(r.words, i) else i + 1


def _what_the_person_is(r: PersonReading, left: list[int]) -> None:
    """Changes what stands before "es Carlos": the best player of the match, or ¡qué guapo!"""
    words, language = r.words, r.language
    for k in left:
        low = words.low[k]
        if low in language.words["prepositions"]:
            return
        if language.agrees(low) or low in language.nouns or low in language.determiners:
            r.change(k, LIKELY)


def _topic_after(r: PersonReading, begins: int, ends: int, topic: str) -> str:
    """Who is spoken of behind a clause: the person who was named, or another subject."""
    words, language = r.words, r.language
    inside = range(begins, ends)
    named = [k for k in inside if k in r.people]
    if named:
        owner = words.at(named[0] - 1) == "de" and words.at(begins) in language.determiners
        return "other" if owner else "person"
    first = begins + (words.low[begins] in language.words["boundaries"])
    verb = next((k for k in inside if words.low[k] in language.words["copulas"]), None)
    subject = words.at(first) in language.determiners and verb is not None and verb > first
    return "other" if subject and first not in r.seen else topic


def _impersonal(r: PersonReading, start: int) -> bool:
    """Es cierto que …, es un placer trabajar: nobody is."""
    words, k = r.words, start
    while k < len(words) and not pauses(words, k) and k < start + 4:
        k += 1
        if words.at(k) in r.language.words["prepositions"]:
            return False
        if words.at(k) == "que" or re.fullmatch(r"\w+[aei]r", words.at(k)):
            return not any(words.low[i] in r.language.nouns for i in range(start, k + 1))
    return False


def _as_a(r: PersonReading, i: int) -> None:
    """Como ingeniero, where the person is in the sentence."""
    words, n = r.words, i + 1
    sentence = words.sentence[i]
    named = any(words.sentence[k] == sentence for k in r.people)
    if not named or pauses(words, i) or n in r.people:
        return
    if words.at(n) in r.language.nouns:
        _predicate(r, n, LIKELY)
    elif words.at(n) in r.language.determiners - r.language.words["invariable_determiners"]:
        r.edits.flag(f"'{words.words[i]} {words.words[n]} {words.at(n + 1)}': is it the person?", sure=1)
        if _begins_phrase(r, n):
            _predicate(r, n, OPEN)


def _works_as(r: PersonReading, i: int, who: str, sure: float) -> None:
    """Trabaja de secretario."""
    words = r.words
    job = words.low[i] in r.language.words["works_as"] and words.at(i + 1) == "de"
    if job and who != "other" and words.at(i + 2) in r.language.nouns:
        _predicate(r, i + 2, sure)

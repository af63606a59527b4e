"""What may agree with the person and was kept: never silently."""

from __future__ import annotations

import re

from evenhand.plans._person import OPEN, STOP, PersonReading, goes_on, pauses


def unknown_word(r: PersonReading, start: int, who: str, linking: bool) -> None:
    """A word that no list has and that looks like the old gender, said of the person: flagged."""
    while r.language.is_adverb(r.words.at(start)):
        start += 1
    low = r.words.at(start)
    if low in r.language.determiners and who != "other" and linking:
        if r.words.at(start + 1) not in r.language.words["nouns_no_person_is"]:
            r.edits.flag(f"'{r.words.words[start]} {r.words.at(start + 1)}': is it said of the person?")
        return
    if who == "other" or not linking or not low or low in r.language.words["prepositions"]:
        return
    if low[-1] == ("o" if r.target == "female" else "a") and low not in r.language.words["boundaries"]:
        r.edits.flag(
            f"'{r.words.words[start]}' is no known word and was kept: does it agree with the person?"
        )


def flag_the_rest(r: PersonReading) -> None:
    """Flags nouns of the old gender that were kept and may be the person, and objects ("lo contrataron")."""
    words, language = r.words, r.language
    clitic, other = ("lo", "la") if r.target == "female" else ("la", "lo")
    for i, low in enumerate(words.low):
        if low == clitic and words.at(i + 1) in language.words["takes_person"]:
            r.edits.word(words, i, other, "agreement", sure=OPEN)
            r.edits.flag(f"'{low} {words.at(i + 1)}': is it the person?", sure=1)
        elif low.endswith(clitic) and low[:-2] in language.words["takes_person"] and low[-3] == "r":
            r.edits.word(words, i, low[:-2] + other, "agreement", sure=OPEN)
            r.edits.flag(f"'{low}': is it the person?", sure=1)
        elif i not in r.seen and low in language.nouns and language.in_gender(low, r.target):
            before = {words.at(i - 1), words.at(i - 2), words.at(i - 3)}
            somebody = before & ((language.words["prepositions"] - {"como"}) | {"mi", "tu", "su"})
            role = words.at(i - 1) == "de" and (i < 2 or pauses(words, i - 2))  # De niño, Carlos …
            if (role or not somebody) and i not in r.people:
                r.edits.flag(f"'{words.words[i]}' is gendered and was kept: the person, or somebody else?")
        elif i not in r.seen and i not in r.others and _may_be_theirs(r, i):
            r.edits.flag(f"'{words.words[i]}' was kept: does it agree with the person?")
        elif low == clitic and _is_an_object(r, i):
            r.edits.flag(f"'{words.words[i]} {words.at(i + 1)}' was kept: is it the person?")
    for i in r.seen:
        if words.low[i] in language.words["of_two"] and language.in_gender(words.low[i], r.target):
            r.edits.flag(f"'{words.words[i]}' has two words in the other gender")
    _flag_several(r)


_LIKE_A_VERB = re.compile(r"\w+(?:aba|aban|ía|ían|ó|aron|ieron|é|ará|erá|irá|arán|erán|irán|en|an)")


def _is_an_object(r: PersonReading, i: int) -> bool:
    """Whether "lo" or "la" is the object of the verb behind it, whose subject is not the person themself."""
    words, p = r.words, i - 1
    while words.at(p) in ("no", "se", "me", "te", "ya", "nunca"):
        p -= 1
    if p in r.people.values() and not pauses(words, p):
        return False
    verb = words.at(i + 1)
    known = verb in r.language.words["copulas"] | r.language.words["auxiliaries"]
    return (
        known
        or (words.low[i] == "lo" and verb != "que" and not r.language.agrees(verb))
        or (_LIKE_A_VERB.fullmatch(verb) is not None and verb not in r.language.nouns)
    )


def _may_be_theirs(r: PersonReading, i: int) -> bool:
    """Whether an adjective of the old gender that was kept may be the person's."""
    low, language = r.words.low[i], r.language
    if language.is_adverb(low):
        return False
    if not language.agrees(low):
        return _unknown(r, i) and _where_adjectives_stand(r, i)
    if language.in_gender(low, r.target) is None:
        return False
    return _said_while_doing(r, i) or not _behind_a_noun(r, i)


def _unknown(r: PersonReading, i: int) -> bool:
    """Whether no list has word i, and it ends as words of the old gender do."""
    low, language = r.words.low[i], r.language
    closed = ("prepositions", "boundaries", "clitics", "copulas", "with_adjective", "auxiliaries", "adverbs")
    listed = (
        any(low in language.words[name] for name in closed) or low in language.determiners | language.nouns
    )
    ends = low[-1] == ("o" if r.target == "female" else "a")
    return ends and len(low) > 3 and not listed and r.words.words[i].islower()


def _where_adjectives_stand(r: PersonReading, i: int) -> bool:
    """Behind what is said of the person, joined to it, behind a verb of being, or alone between commas."""
    words, language, p = r.words, r.language, i - 1
    alone = pauses(words, p) and pauses(words, i)
    while language.is_adverb(words.at(p)) and not pauses(words, p):
        p -= 1
    joined = words.at(p) in language.words["joining"] | {"sino"} and p - 1 in r.seen
    theirs = (
        p in r.seen and language.in_gender(words.at(p), "male" if r.target == "female" else "female") is None
    )
    return alone or joined or theirs or words.at(p) in language.words["copulas"]


def _said_while_doing(r: PersonReading, i: int) -> bool:
    """Whether a verb such as "llegó" stands before in the clause: "llegó a la oficina mojado"."""
    words = r.words
    while i > 0 and not pauses(words, i - 1):
        i -= 1
        if words.low[i] in r.language.words["with_adjective"]:
            return True
    return False


def _behind_a_noun(r: PersonReading, i: int) -> bool:
    """Whether the adjective at word i stands beside a noun of its own ("coche rojo", "el viejo coche")."""
    words, language = r.words, r.language
    p = i - 1
    while language.is_adverb(words.at(p)) and not pauses(words, p):
        p -= 1
    before = words.at(p)
    if p < 0 or pauses(words, p) or p in r.people or p in r.seen:
        return False
    if before in language.words["joining"] | {"sino"}:
        return p - 1 in r.others or (language.agrees(words.at(p - 1)) and _behind_a_noun(r, p - 1))
    if before in language.determiners or before in language.words["prepositions"]:
        return goes_on(r, i + 1)
    verbs = language.words["copulas"] | language.words["with_adjective"] | language.words["auxiliaries"]
    if before in verbs | {"sí"} or words.low[i] in ("solo", "sola"):
        return False
    opens = words.at(p - 1)
    if language.agrees(opens):  # una casa vieja y roja; un gran coche rojo
        opens = words.at(p - 2)
    ours = language.forms["female" if r.target == "male" else "male"]
    other = (
        opens in language.determiners
        and opens in ours
        and language.in_gender(words.low[i], r.target) is not None
    )
    return not other and opens in language.determiners | language.words["prepositions"]


def _flag_several(r: PersonReading) -> None:
    """Flags "Carlos y su primo están cansados": what is said of several, of whom the person is one."""
    words = r.words
    for i, low in enumerate(words.low):
        if low in r.language.words["several"] and any(
            "y" in (words.at(first - 1), words.at(last + 1))
            for first, last in r.people.items()
            if words.sentence[first] == words.sentence[i]
        ):
            r.edits.flag(f"'{words.words[i]}' is said of several people: what agrees with them was kept")


def flag_what_follows(r: PersonReading, j: int) -> None:
    """Flags an adjective of the old gender soon behind an unknown word ("un empleado … y discreto")."""
    words, language = r.words, r.language
    closed = language.words["prepositions"] | language.determiners | language.words["copulas"] | {"que"}
    for k in range(j, min(j + 4, len(words))):
        if words.low[k] in closed or STOP.search(words.gap(k - 1)):
            return
        if language.agrees(words.low[k]) and language.in_gender(words.low[k], r.target):
            r.edits.flag(f"'{words.words[k]}' was kept: does it agree with the person?")

"""Titles that change with the person (Mr., Ms., Mx. Smith); those that may be another's are flagged."""

from __future__ import annotations

import re
from collections.abc import Collection

from evenhand.plans._edits import Edits
from evenhand.plans._pronouns import PronounSet, pronoun_set
from evenhand.plans._words import SLOT_FIRST, SLOT_LAST, Words, match_case, word_set

TITLES = {
    **dict.fromkeys(("mr", "mister", "sir", "lord"), "he"),
    **dict.fromkeys(("mrs", "ms", "miss", "madam", "madame", "dame", "lady", "ma'am"), "she"),
    "mx": "they",
}
"""Title → the pronouns of whoever has it."""
_POLITE = word_set("mr mister mrs ms miss mx madam madame")
_KEPT = word_set("lord lady")
_OFFICES = word_set(
    "president speaker secretary chairman chairwoman chairperson chair mayor justice ambassador minister"
    " chancellor senator vice"
)


def change_titles(
    words: Words, target: PronounSet, edits: Edits, *, source: str | None, names: Collection[str] | None
) -> None:
    """Adds to `edits` the titles of the person; flags those that may be somebody else's and are kept.

    Args:
        words: the text.
        target: the person's new pronouns.
        edits: where changes and flags go.
        source: the person's old pronouns, where the text has some.
        names: what the person is called, lower case; None where nobody said. Then whoever alone has a title
            of the old gender is the person.
    """
    if TITLES.keys().isdisjoint(words.low):
        return
    places = words.among(TITLES)
    held = {i: _holder(words, i) for i in places if words.words[i][0].isupper()}
    if names is None:
        owners = {TITLES[words.low[i]] for i, holder in held.items() if holder}
        source = source or (owners.pop() if len(owners) == 1 else None)
        people = {h for i, h in held.items() if h and TITLES[words.low[i]] == source}
        names = people if len(people) == 1 else ()
    for i in places:
        low = words.low[i]
        if TITLES[low] == target.id:
            continue
        holder, theirs = held.get(i, ""), TITLES[low] == source
        mine = bool(holder) and any(part in names for part in holder.split())
        new = (
            _new(low, target, words.at(i + 1))
            if mine and (theirs or source is None or holder in names)
            else None
        )
        if new is not None:
            _put(words, i, new, edits)
        elif (mine or theirs) and not _either(words, i):
            edits.flag(f"the title '{words.words[i]}' is gendered and was kept")


def swap_titles(words: Words, edits: Edits) -> None:
    """Adds to `edits` every title of a man as that of a woman, and the other way round, at once."""
    for target in ("she", "he"):
        everyones_titles(words, pronoun_set(target), edits)


def everyones_titles(words: Words, target: PronounSet, edits: Edits) -> None:
    """Adds to `edits` the titles of everyone."""
    holders = {_holder(words, i) for i, low in enumerate(words.low) if low in TITLES} - {""}
    change_titles(words, target, edits, source=None, names=holders)


def called(words: Words, firsts: Collection[int], parts: Collection[str]) -> set[str]:
    """What a person is called in lower case: `parts`, and the surnames after the words `firsts`."""
    found = set(parts)
    for i in firsts:
        while _goes_on(words, i):
            i += 1
            found.add(words.low[i].removesuffix("'s"))
    return found


def _goes_on(words: Words, i: int) -> bool:
    return i + 1 < len(words) and words.gap(i) == " " and words.words[i + 1][0].isupper()


def _holder(words: Words, i: int) -> str:
    """The last name after a title; "" where none follows, or a second title (Mr. and Mrs. Smith)."""
    if i + 1 >= len(words) or not re.fullmatch(r"\.?[ \n]+", words.gap(i)):
        return ""
    first = words.words[i + 1]
    if not (first[0].isupper() or SLOT_FIRST <= first[0] <= SLOT_LAST) or _of_both(words, i):
        return ""
    j, parts = i + 1, [words.low[i + 1]]
    while (not words.low[j].endswith("'s") and _goes_on(words, j)) or _initial(words, j):
        j += 1
        parts.append(words.low[j])
    return parts[-1].removesuffix("'s")


def _initial(words: Words, j: int) -> bool:
    """Whether word j is an initial before a further name: "Mr. J. Smith"."""
    last = j + 1 == len(words)
    return not last and len(words.words[j]) == 1 and words.gap(j) == ". " and words.words[j + 1][0].isupper()


def _of_both(words: Words, i: int) -> bool:
    """Mr. and Mrs. Smith, Sir or Madam: a couple, or anybody."""
    return any(words.at(i + k) in ("and", "&") and words.at(i + 2 * k) in TITLES for k in (-1, 1)) or _either(
        words, i
    )


def _either(words: Words, i: int) -> bool:
    """Sir or Madam, Mr/Ms: whoever reads it."""
    return any(
        (words.at(i + k) == "or" and words.at(i + 2 * k) in TITLES)
        or (words.at(i + k) in TITLES and "/" in words.gap(i + min(k, 0)))
        for k in (-1, 1)
    )


def _new(low: str, target: PronounSet, following: str) -> str | None:
    """The title of the same rank for these pronouns; None where there is none."""
    if low in _KEPT or (target.id not in ("he", "she") and low not in _POLITE):
        return None
    if target.id == "he":
        return "Mr" if low in _POLITE else "Sir"
    if target.id == "she":
        return ("Madam" if following in _OFFICES else "Ms") if low in _POLITE else "Dame"
    return "Mx"


def _put(words: Words, i: int, new: str, edits: Edits) -> None:
    start, end, old = words.starts[i], words.ends[i], words.words[i]
    dotted = words.text[end : end + 1] == "."
    spelled = old.lower() in ("miss", "sir", "dame", "madam", "madame", "mister")
    dot = (
        "."
        if new in ("Mr", "Ms", "Mx") and (dotted or (spelled and re.search(r"[a-z]\.", words.text)))
        else ""
    )
    like = old if len(old) > 1 and old.isupper() and len(words.words) > 1 else "Xx"
    edits.spans[(start, end + dotted)] = (match_case(new, like) + dot, "title")

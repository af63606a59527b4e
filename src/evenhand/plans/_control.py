"""The control of a template: the same text without the term, where that stays grammatical."""

from __future__ import annotations

import re

from evenhand.plans._roles import FUNCTION
from evenhand.plans._slots import Slot, parse_slots
from evenhand.plans._words import article, match_case

_NOUNS = {"noun": "person", "noun_plural": "people"}


def without(template: str) -> tuple[str | None, str]:
    """The text with every slot taken out, or None and the reason.

    An adjective before a noun is dropped ("many {race} friends" → "many friends"), a noun becomes "person" or
    "people", and "a" or "an" is repaired. A predicate ("She is {race}.") cannot be taken out.

    >>> without("An {race:adjective} man met {religion:noun_plural}.")
    ('A man met people.', '')
    >>> without("She is {race:adjective}.")[0] is None
    True
    """
    parts = parse_slots(template)
    out = ""
    for i, p in enumerate(parts):
        if isinstance(p, str):
            out += p
            continue
        following = parts[i + 1] if i + 1 < len(parts) else ""
        rest = following if isinstance(following, str) else ""
        if p.form in _NOUNS:
            word = _NOUNS[p.form]
            shown = word.upper() if p.case == "upper" else match_case(word, p.like if p.case else "x")
            out = _repair(out, shown) + shown if p.lower else _join(out, shown)
            continue
        if p.key in ("name", "person", "pronoun"):
            return None, "a name cannot be taken out"
        m = re.match(r"[-\s]*\s([^\W_]+)", rest)
        if not m or m.group(1).lower() in FUNCTION or rest[:1] == "-":
            return None, "the term is not before a noun"
        if re.search(r"(?:\b(?:and|or|,|but)|/)\s*\Z", out) or re.match(r"\s*(?:and|or)\b", rest):
            return None, "the term is one of several joined words"
        out = _join(out, "")
        parts[i + 1] = _capital_after(out, rest.lstrip(), p)
        out = _repair(out, str(parts[i + 1]))
    return out, ""


def _starts(out: str) -> bool:
    return not out.strip(" \n\"“'‘(") or bool(re.search(r"[.!?][\"”’')]*\s+[\"“‘(]*\Z", out))


def _capital_after(out: str, rest: str, slot: Slot) -> str:
    if slot.lower:
        return rest
    return (
        rest[:1].upper() + rest[1:] if _starts(out) or (slot.case == "capital" and not out.strip()) else rest
    )


def _join(out: str, word: str) -> str:
    if word and _starts(out):
        word = word[:1].upper() + word[1:]
    return _repair(out, word) + word if word else out


def _repair(out: str, following: str) -> str:
    m = re.search(r"(?<![^\W_])(a/an|an?)(\s+)\Z", out, re.I)
    if not m or not following:
        return out
    first = re.match(r"[\"“'‘(]*([^\s]+)", following)
    new = match_case(article(first.group(1) if first else ""), "X" if m.group(1)[0].isupper() else "x")
    return out[: m.start()] + new + m.group(2)

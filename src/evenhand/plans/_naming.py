"""Whether a name that stands in a text names the person: what cannot be told is flagged."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from evenhand.terms.collide import is_word

_BEGINS = re.compile(r"(?:^|[.!?…:\n]|\.\s?[\"”’)])[\s\"“‘'(*]*\Z")
_BEHIND_A_VERB = re.compile(
    r"\s+(?:my|your|his|her|our|their|its|the|an?|this|that|these|those|some|all|me|him|them|us|I|you|we|they|he"
    r"|she|it|up|down|out|to|not)\b"
)
_CLAUSE = "(?:when|where|while|but|because|since|though|although|if|so|that|which|who|until|after|before)"
_SIDE_BY_SIDE = re.compile(rf"(?:['’]s)?(?:\s+(?!{_CLAUSE}\b)[\w'’]+){{1,3}}\s+")


def doubtful(text: str, places: Sequence[tuple[int, int, str]]) -> str:
    """Why some of the places may not be the person, or ""; places are (start, end, possessive).

    >>> doubtful("Mark my words: it rains.", [(0, 4, "")])
    "'Mark my': the name, or the word?"
    >>> doubtful("Mary met Mary.", [(0, 4, ""), (9, 13, "")])
    "'Mary met Mary': two people of one name?"
    >>> doubtful("Mark is here, and Mark stays.", [(0, 4, ""), (18, 22, "")])
    ''
    """
    for start, end, tail in places:
        follows = _BEHIND_A_VERB.match(text, end)
        if (
            follows
            and not tail
            and is_word(text[start:end])
            and _BEGINS.search(text[max(0, start - 8) : start])
        ):
            return f"'{text[start : follows.end()]}': the name, or the word?"
    for (start, end, _), (then, last, _) in pairwise(places):
        if _SIDE_BY_SIDE.fullmatch(text, end, then):
            return f"'{text[start:last]}': two people of one name?"
    return ""

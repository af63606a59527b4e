"""Scores in the free text of a language model: structured output first, then anchored places, never a guess.

A number or a label counts only where an answer stands (alone, after "score:", after "I would give", at the
end behind a colon). Two different ones, or one somewhere in a sentence, are an error that is counted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from evenhand.subjects.gate import Unreadable

T = TypeVar("T")

_NUMBER = r"[-+]?(?:\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?"
_END = r"(?![\w%]|[.,]\d|\s*[-–—]\s*\d|\s+(?:to|or|and)\s+\d)"
"""What may not follow a number that is an answer: a unit, more digits, the other end of a range."""
_FENCE = re.compile(r"^```\w*\s*(.*?)\s*```$", re.S)
_MARKS = re.compile(r"[*_`\"“”]+")
_LIST = re.compile(r"(?m)^\s*\d+[.)]\s+(?=\S)")
_SCALE = re.compile(
    rf"(?:\b(?:on|in|using|with)\b\s+)?(?:\b(?:a|the)\b\s+)?(?:\bscale\b\s*(?:of|from|between|:)?\s*)?"
    rf"\b(?:from|between)?\s*(?<![\w.,])\d+\s*(?:-|–|—|to|and)\s*\d+\b(?=\s*(?:scale\b|[,:;)]))"
    rf"|\b(?:on|in|using|with)\s+(?:a|the)\s+scale\s+(?:of|from|between)\s+\d+\s*(?:-|–|—|to|and)\s*\d+"
    rf"|(?<=\d)\s*(?:/|\bout of\b|\bof\b)\s*{_NUMBER}|(?<=\d)\s*(?:%|\bpercent\b|\bpoints?\b)(?!\s*\w)",
    re.I,
)
"""Mentions of the scale itself: "on a scale of 0 to 100", "/100", "out of 10", "%"."""
_WORD = r"(?:score|rating|answer|result|grade|estimate|value|number|probability|likelihood)"
_GIVE = r"\bI(?:'d|’d|\s+would|'ll|’ll|\s+will)?\s+(?:give|say|rate|score|estimate|assign|go with|choose)"
_TO = r"(?:\s+(?:it|this|that|him|her|them|the\s+\w+|a|an|at|as|is|about|around|of))*"
_ANCHORED = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        rf"\b{_WORD}\b\s*(?:is|was|of|would be|will be|[:=])*\s*(?P<n>{_NUMBER}){_END}",
        rf"{_GIVE}{_TO}(?:\s+{_WORD}\s+of)?\s*:?\s+(?P<n>{_NUMBER}){_END}",
        rf"[:=]\s*(?P<n>{_NUMBER})\s*[.!)]*\s*$",
        rf"^\s*(?P<n>{_NUMBER})\s*(?:[.!)]*\s*$|[.,;:!)]\s+(?!\d)|\s+[-–—(]\s*(?=[^\W\d])|\s*\n)",
        rf"(?:^|\n)\s*(?P<n>{_NUMBER})\s*[.!]?\s*$",
    )
)
_KEYS = ("score", "rating", "answer", "value", "number", "label", "result", "verdict", "decision")
_REFUSAL = re.compile(
    r"\bI(?:'|’)?m\s+(?:very\s+|really\s+)?sorry,?\s+(?:but\s+)?I\s*(?:can|am|won|'m|’m|do)"
    r"|\bI(?:'m|’m|\s+am)\s+(?:unable|not able|not comfortable|not going)\b"
    r"|\bI\s+(?:can(?:no|')t|can’t|cannot|can not|won't|won’t|will not|must decline|decline|refuse)"
    r"(?:\s+to)?\s+(?:\w+ly\s+)?"
    r"(?:help|assist|comply|answer|respond|provide|give|rate|score|judge|assess|evaluate|fulfil|fulfill|do\s+(?:that|this)"
    r"|write|create|generate|make\s+(?:that|this|such)|engage|participate|discuss|offer)\b"
    r"|\bas an AI\b[^.!?]{0,60}\bI\s*(?:can|am|do|won|'m|’m|must)"
    r"|\bunable to (?:help|assist|comply)\b",
    re.I,
)


def number_in(text: str) -> float:
    """The score that an answer gives.

    Raises:
        Unreadable: it gives none, or more than one.

    >>> number_in("On a scale of 0 to 100, I would give 85.")
    85.0
    >>> number_in("With 5 years of experience: 90"), number_in("-.5"), number_in("1,234")
    (90.0, -0.5, 1234.0)
    >>> number_in("85/100"), number_in('{"score": 85, "because": "2 reasons"}')
    (85.0, 85.0)
    """
    value = _structured(text)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    plain = _plain(value if isinstance(value, str) else text).replace("\N{MINUS SIGN}", "-")
    if len(_LIST.findall(plain)) > 1:
        plain = _LIST.sub("", plain)
    bare = _SCALE.sub("", plain)
    found = [float(m["n"].replace(",", "")) for p in _ANCHORED for m in p.finditer(bare)]
    return _one(found, "number", any(c.isdigit() for c in bare))


def label_in(text: str, labels: Mapping[str, float]) -> float:
    """The value of the label that an answer gives; case is ignored.

    Raises:
        Unreadable: it gives none, or several.

    >>> label_in("There is no reason to refuse: yes", {"yes": 1, "no": 0})
    1
    >>> label_in("No. The letter is fine.", {"yes": 1, "no": 0})
    0
    """
    value = _structured(text)
    lowered = _plain(value if isinstance(value, str) else text).lower()
    if isinstance(value, bool | int | float):
        lowered = json.dumps(value).lower()
    choice = "|".join(re.escape(label.lower()) for label in sorted(labels, key=len, reverse=True))
    values = {label.lower(): value for label, value in labels.items()}
    places = (
        rf"^\W*(?P<l>{choice})(?!\w)(?=\W*$|\s*[.,;:!)\n]|\s+[-–—])",
        r"\b(?:answer|label|verdict|rating|class|classification|category|decision|result)\b"
        rf"\s*(?:is|was|would be|[:=])*\s*(?P<l>{choice})(?!\w)",
        rf"(?:[:=]|\bis|\bsay|\n)\s*(?P<l>{choice})\W*$",
    )
    found = [values[m["l"]] for place in places for m in re.finditer(place, lowered)]
    named = bool(re.search(rf"(?<!\w)(?:{choice})(?!\w)", lowered))
    return _one(found, "label", named)


def refuses(text: str) -> bool:
    """Whether an answer declines the task; an opinion that begins with "I cannot" is none.

    >>> refuses("I'm sorry, but I can't help with that."), refuses("I cannot recommend her highly enough.")
    (True, False)
    """
    return bool(_REFUSAL.search(text))


def _one(found: Iterable[T], what: str, mentioned: bool) -> T:
    distinct = list(dict.fromkeys(found))
    if len(distinct) == 1:
        return distinct[0]
    if distinct:
        raise Unreadable(f"more than one {what} in the answer could be meant")
    if mentioned:
        raise Unreadable(f"a {what} stands in the answer, but not where an answer stands")
    raise Unreadable(f"no {what} in the answer" if what == "number" else "none of the labels in the answer")


def _plain(text: str) -> str:
    return _MARKS.sub("", text).strip()


def _structured(text: str) -> Any:
    """What stands in JSON: the value itself, or the one of a mapping; None where there is no JSON."""
    inner = _FENCE.match(text.strip())
    try:
        value = json.loads(inner[1] if inner else text)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, Mapping):
        named = [value[key] for key in value if str(key).lower() in _KEYS]
        plain = [v for v in value.values() if isinstance(v, int | float) and not isinstance(v, bool)]
        chosen = named if named else plain
        if len(chosen) != 1:
            raise Unreadable("the JSON of the answer does not say which value is the score")
        value = chosen[0]
    return value if isinstance(value, str | int | float) else None

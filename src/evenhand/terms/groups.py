"""Words that name a group of people in a text: man and woman, young and old, or a user's own lists."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

from evenhand._errors import TermsError
from evenhand._files import foreign

GROUPS: Mapping[str, str] = {
    "groups/women-snowboard": "words for men and women (Hendricks et al. 2018); the default of the"
    " amplification audit",
    "groups/man-woman": "the two words man and woman alone (as Zhao et al. 2017)",
    "groups/wide": "a wider symmetric list for men, women and non-binary people, with plurals and pronouns",
    "groups/age": "words for young and old people",
}
"""What is shipped: name → one line."""


@dataclass(frozen=True, kw_only=True)
class GroupWords:
    """Groups and the words that name them, lower case.

    Args:
        id: shipped name, file name, or "own lists".
        groups: group → its words; a word may be a phrase ("old man"). No word belongs to two groups.
        neutral: words that name a person of no particular group; counted for coverage only.
        source, licence: where the lists are from.
    """

    id: str
    groups: Mapping[str, tuple[str, ...]]
    neutral: tuple[str, ...] = ()
    source: str = ""
    licence: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The groups, in order."""
        return tuple(self.groups)

    def words(self) -> frozenset[str]:
        """All words of all groups."""
        return frozenset(w for words in self.groups.values() for w in words)


def group_words(
    source: str | PathLike[str] | Mapping[str, Any] | GroupWords, *, plurals: bool = False
) -> GroupWords:
    """A shipped list by its name, a user's TOML or JSON file, or a mapping of group to words.

    Args:
        source: one of `GROUPS` (the part ``groups/`` may be left out), a path to a file that holds
            ``{group: [words]}`` (optionally under ``groups``, beside ``neutral``), or such a mapping.
        plurals: also count regular English plurals of the words. Off by default: published lists are taken as
            they are.

    Raises:
        TermsError: an unknown name, fewer than two groups, an empty list, a word that is not text, a word in
            two groups.

    >>> group_words("man-woman").groups
    {'man': ('man',), 'woman': ('woman',)}
    >>> group_words({"cat": ["Cat", "kitten"], "dog": ["dog"]}, plurals=True).groups["cat"]
    ('cat', 'kitten', 'cats', 'kittens')
    """
    if isinstance(source, GroupWords):
        found = source
    elif isinstance(source, Mapping):
        found = _build(source, id="own lists")
    else:
        found = _named(source)
    return _with_plurals(found) if plurals else found


def is_group_list(name: str) -> bool:
    """Whether the name is a shipped list or looks like a file of lists."""
    return _full(name) in GROUPS or Path(name).suffix.lower() in (".toml", ".json")


def plural(word: str) -> str:
    """The regular English plural of a noun, with the irregular ones of people.

    >>> [plural(w) for w in ("man", "policewoman", "lady", "boss", "boy", "wife")]
    ['men', 'policewomen', 'ladies', 'bosses', 'boys', 'wives']
    """
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word.endswith("man") and word not in ("human", "german", "roman", "shaman", "talisman"):
        return word[:-3] + "men"
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


_IRREGULAR = {
    "child": "children",
    "person": "people",
    "wife": "wives",
    "knife": "knives",
    "foot": "feet",
    "tooth": "teeth",
    "mouse": "mice",
    "goose": "geese",
    "sheep": "sheep",
    "fish": "fish",
    "skis": "skis",
    "scissors": "scissors",
}
_NO_PLURAL = frozenset(
    [
        "he",
        "him",
        "his",
        "himself",
        "she",
        "her",
        "hers",
        "herself",
        "they",
        "them",
        "their",
        "theirs",
        "themselves",
        "xe",
        "ze",
        "male",
        "female",
    ]
)


def _full(name: str) -> str:
    return name if name.startswith("groups/") else f"groups/{name}"


def _named(source: str | PathLike[str]) -> GroupWords:
    label = str(source)
    if _full(label) in GROUPS:
        return _shipped(_full(label))
    path = Path(label)
    if path.suffix.lower() not in (".toml", ".json") or not path.is_file():
        raise TermsError(
            "unknown-groups",
            "there is no such list of group words",
            given=label,
            expected="a shipped list, a TOML or JSON file {group: [words]}, or the name of a column that both"
            " tables have",
            available=GROUPS,
        )
    from evenhand._encoding import decode

    text = decode(path.read_bytes(), name=path.name)
    with foreign(path, "bad-terms-file"):
        content = tomllib.loads(text) if path.suffix.lower() == ".toml" else json.loads(text)
    if not isinstance(content, dict):
        raise TermsError("bad-terms-file", f"{path.name} holds no groups", expected="{group: [words]}")
    return _build(content, id=path.name)


@cache
def _shipped(name: str) -> GroupWords:
    text = files("evenhand.terms").joinpath("data", *f"{name}.toml".split("/")).read_text(encoding="utf-8")
    return _build(tomllib.loads(text), id=name)


def _build(content: Mapping[str, Any], *, id: str) -> GroupWords:
    nested = isinstance(content.get("groups"), Mapping)
    lists = (
        content["groups"]
        if nested
        else {k: v for k, v in content.items() if k not in ("neutral", "source", "licence")}
    )
    groups = {str(name): _words(words, str(name), id) for name, words in lists.items()}
    neutral = _words(content["neutral"], "neutral", id) if content.get("neutral") else ()
    if len(groups) < 2:
        raise TermsError(
            "one-group",
            f"{id} has fewer than two groups",
            given=", ".join(groups) or "(none)",
            expected="two or more",
        )
    _refuse_overlap({**groups, **({"neutral": neutral} if neutral else {})}, id)
    return GroupWords(
        id=id,
        groups=groups,
        neutral=neutral,
        source=str(content.get("source", f"the user's lists ({id})")),
        licence=str(content.get("licence", "")),
    )


def _words(words: Any, group: str, id: str) -> tuple[str, ...]:
    listed = [words] if isinstance(words, str) else words
    if not isinstance(listed, list | tuple | set | frozenset) or not all(isinstance(w, str) for w in listed):
        raise TermsError(
            "group-words",
            f"the words of {group!r} in {id} are not a list of texts",
            given=words,
            expected='["man", "men"]',
        )
    ordered = sorted(listed) if isinstance(listed, set | frozenset) else listed
    cleaned = tuple(dict.fromkeys(w.strip().lower() for w in ordered if w.strip()))
    if not cleaned:
        raise TermsError("group-words", f"the group {group!r} in {id} has no words", expected="at least one")
    return cleaned


def _refuse_overlap(groups: Mapping[str, tuple[str, ...]], id: str) -> None:
    owner: dict[str, str] = {}
    for group, words in groups.items():
        for word in words:
            if word in owner:
                raise TermsError(
                    "groups-overlap",
                    f"in {id} the word {word!r} belongs to both {owner[word]!r} and {group!r}",
                    given=word,
                    expected="every word in one group",
                    hint="a word that names both groups tells them apart nowhere: remove it from one, or list"
                    " it as neutral",
                )
            owner[word] = group


def _with_plurals(found: GroupWords) -> GroupWords:
    def more(words: tuple[str, ...]) -> tuple[str, ...]:
        made = (plural(w) for w in words if w not in _NO_PLURAL and w not in taken)
        return tuple(dict.fromkeys((*words, *made)))

    taken = {plural(w) for words in found.groups.values() for w in words}  # "men" gets no plural of its own
    grown = {name: more(words) for name, words in found.groups.items()}
    _refuse_overlap(grown, found.id)
    return replace(found, groups=grown, neutral=found.neutral)

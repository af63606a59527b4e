"""Sets of words or sentences that an embedding test compares: published ones, a file of lines, a list."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias

from evenhand._encoding import read_text
from evenhand._errors import UsageError
from evenhand.embeddings.directions import gender_pairs
from evenhand.terms import terms

Words: TypeAlias = str | Iterable[str] | tuple[str, Sequence[str]]


@dataclass(frozen=True, kw_only=True, slots=True)
class WordSet:
    """Words under a name, each once.

    Args:
        name: of the set, or "words" where it is a bare list. words: in their order.
    """

    name: str
    words: tuple[str, ...]


def queries() -> dict[str, tuple[list[str], list[str]]]:
    """Published comparisons: name → (names of the target sets, names of the attribute sets).

    >>> queries()["weat-6"]
    (['male_names', 'female_names'], ['career', 'family'])
    """
    return {name: (targets, attributes) for name, (targets, attributes) in _shipped()["queries"].items()}


def shipped() -> list[str]:
    """Names of the sets in the package (Caliskan et al. 2017; Bolukbasi et al. 2016)."""
    return [*_shipped()["sets"], *_shipped()["terms"], "definitional_women", "definitional_men"]


def word_set(spec: Words) -> WordSet:
    """A set from a shipped name, a file with one word or sentence a line, a list, or a pair (name, list).

    Raises:
        UsageError: `unknown-word-set`, `empty-word-set`.

    >>> word_set("career").words[:2], word_set(("mine", ["a", "b", "a"])).words
    (('executive', 'management'), ('a', 'b'))
    """
    if isinstance(spec, str):
        name, found = spec, _named(spec)
    elif isinstance(spec, tuple) and len(spec) == 2 and not isinstance(spec[1], str):
        name, found = str(spec[0]), [str(w) for w in spec[1]]
    else:
        name, found = "words", [str(w) for w in spec]
    kept = tuple(dict.fromkeys(w for raw in found if (w := str(raw).strip())))
    if not kept:
        raise UsageError("empty-word-set", "this set holds no words", given=name)
    return WordSet(name=name, words=kept)


def _named(name: str) -> list[str]:
    data = _shipped()
    if name in data["sets"]:
        return list(data["sets"][name])
    if name in data["terms"]:
        source, factor, level = data["terms"][name]
        listed = terms(source)
        codes, levels = listed.factors[factor].codes, listed.factors[factor].levels
        return [t for t, code in zip(listed.terms, codes.tolist(), strict=True) if levels[code] == level]
    if name in ("definitional_women", "definitional_men"):
        side = name == "definitional_men"
        return [pair[side] for pair in gender_pairs("definitional")]
    if not Path(name).is_file():
        raise UsageError(
            "unknown-word-set",
            "there is no such set of words",
            given=name,
            expected="a shipped name, or a text file with one word or sentence a line",
            available=shipped(),
        )
    return read_text(Path(name)).splitlines()


@cache
def _shipped() -> dict[str, Any]:
    raw = files("evenhand.embeddings").joinpath("data/word_sets.json").read_text(encoding="utf-8")
    return dict(json.loads(raw))

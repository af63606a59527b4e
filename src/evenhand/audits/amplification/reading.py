"""How corpora are read and counted, as the user said."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from evenhand.terms.groups import GroupWords
from evenhand.texts.roles import Parser

Groups: TypeAlias = str | os.PathLike[str] | Sequence[str] | Mapping[str, Any] | GroupWords
"""A list of `evenhand list terms`, a file, a column or several, {group: [words]}."""
Listed: TypeAlias = str | os.PathLike[str] | Sequence[str] | Mapping[str, str | Sequence[str]]
"""Items: one or several, a file, {name: synonyms}."""
Rule: TypeAlias = Literal["exactly-one", "any", "both"]
Pool: TypeAlias = Literal["caption", "image"]
Tagger: TypeAlias = Callable[[list[str]], Sequence[Any]]
"""The words of a caption → their tags, or (word, tag) pairs."""
RULES: Mapping[str, str] = {
    "exactly-one": "a caption that names several groups counts for none",
    "any": "a caption that names several groups counts for each of them",
    "both": "captions that name several groups are a group of their own",
}


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How corpora are read and counted; every field is an argument of `audit_amplification`."""

    groups: Groups | None = None
    items: Listed | None = None
    text: str | None = None
    id: str | None = None
    rule: Rule = "exactly-one"
    pool: Pool = "caption"
    plurals: bool = False
    min_support: int = 10
    top_n: int = 25
    tagger: Tagger | str | None = None
    parser: Parser | str | None = None
    match: str = "auto"
    units: str | Literal[False] | None = None

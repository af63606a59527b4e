"""Placeholders as people write them: {RACE}, <race>, [RACE] and {CATEGORY} are one and the same slot."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from evenhand._errors import UsageError
from evenhand._model import Factor
from evenhand.plans._slots import PERSON_KEYS, slot_keys
from evenhand.plans.grid import Skipped
from evenhand.plans.templates import Templates
from evenhand.terms import terms as load_terms
from evenhand.texts import Texts

_WORD = r"[^\W\d][\w ]*?(?:[.:][\w ]+?)?(?::upper)?"
_PLACE = re.compile(rf"(?<!\{{)\{{({_WORD})\}}(?!\}})|<({_WORD})>|\[({_WORD})\]|[{{}}]")
_ANY_CATEGORY = ("category", "identity")
"""What stands for the category of the list, whichever it is."""
PEOPLE = frozenset({"name", "person", "pronoun", "term", "identity"})
"""Keys of slots that are no category of terms."""


def as_template(text: str, categories: Collection[str]) -> str | None:
    """The text as a template, where it holds a placeholder for a person or one of the categories; else None.

    ``<b>``, ``[sic]`` and ``{}`` are the text's own; ``{who}`` is a slot of another name.

    >>> as_template("I have many [RACE] friends {1}", ["race"])
    'I have many {RACE} friends {{1}}'
    >>> as_template("<b>I have many {CATEGORY} friends</b>", ["race"])
    '<b>I have many {IDENTITY} friends</b>'
    >>> as_template("<b>Nobody</b> [sic] {}", ["race"]) is None
    True
    """
    known, found = {*categories, *PEOPLE, *_ANY_CATEGORY}, False

    def slot(m: re.Match[str]) -> str:
        nonlocal found
        inner = m.group(1) or m.group(2) or m.group(3) or ""
        key = re.split(r"[.:]", inner)[0]
        if key.lower() not in known:
            if m.group(1):
                return m.group()
            return m.group().replace("{", "{{").replace("}", "}}")
        found = True
        if key.lower() == "category" and "category" not in categories:
            general = "IDENTITY" if key.isupper() else "Identity" if key[0].isupper() else "identity"
            inner = general + inner[len(key) :]
        return f"{{{inner}}}"

    made = _PLACE.sub(slot, text)
    return made if found else None


def placeholders_and_free(source: Texts, categories: Collection[str]) -> tuple[Templates | None, Texts]:
    """(those texts with placeholders as templates, the others); the first is None where no text has one.

    In a file with placeholders a text with slots of another name is a template too: nothing fills it, which
    is told.
    """
    made = [as_template(text, categories) for text in source.texts]
    if all(m is None for m in made):
        return None, source
    made = [m if m is not None else _foreign(t) for m, t in zip(made, source.texts, strict=True)]
    rows = [i for i, m in enumerate(made) if m is not None]
    slotted = _rows(source, rows)
    whole = tuple(m for m in made if m is not None)
    return Templates(
        templates=whole,
        ids=slotted.ids,
        bases=slotted.texts,
        factors=slotted.factors,
        follow=tuple("pronoun" not in slot_keys(template) for template in whole),
    ), _rows(source, [i for i, m in enumerate(made) if m is None])


def _foreign(text: str) -> str | None:
    try:
        return text if slot_keys(text) else None
    except UsageError:  # a stray brace: free text
        return None


def _rows(source: Texts, rows: Sequence[int]) -> Texts:
    index = np.array(rows, dtype=np.intp)
    return replace(
        source,
        ids=tuple(source.ids[i] for i in rows),
        texts=tuple(source.texts[i] for i in rows),
        factors={name: factor[index] for name, factor in source.factors.items()},
    )


def joined(parts: Sequence[Templates]) -> Templates:
    """Several templates as one, in order; values, groups and terms are those of the first."""
    if len(parts) == 1:
        return parts[0]
    names = dict.fromkeys(name for part in parts for name in part.factors)
    return replace(
        parts[0],
        templates=tuple(t for p in parts for t in p.templates),
        ids=tuple(i for p in parts for i in p.ids),
        bases=tuple(b for p in parts for b in (p.bases or p.templates)),
        flags=tuple(f for p in parts for f in (p.flags or ("",) * len(p.templates))),
        follow=tuple(f for p in parts for f in p.follows),
        skipped=tuple(s for p in parts for s in p.skipped),
        factors={
            name: Factor.of([
                x for p in parts for x in (p.factors.get(name) or [None] * len(p.templates))
            ])
            for name in names
        },
    )  # fmt: skip


def strange_slots(made: Templates, known: Collection[str]) -> tuple[Skipped, ...]:
    """Texts with a slot that is neither `known`, nor a slot of names, nor a category of the shipped identity
    terms."""
    usual = {*known, *PERSON_KEYS, "pronoun", "identity", *made.values, *made.groups}
    strange = []
    for name, template in zip(made.ids, made.templates, strict=True):
        keys = [key for key in slot_keys(template) if key not in usual]
        if keys and (odd := [key for key in keys if key not in load_terms("identity").factors]):
            strange.append(Skipped(text=name, reason=f"nothing fills the slot {{{odd[0]}}}"))
    return tuple(strange)

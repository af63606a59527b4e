"""Texts about a named person as templates: every mention of the name becomes a slot."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from evenhand._errors import UsageError
from evenhand._model import Factor
from evenhand.plans._naming import doubtful
from evenhand.plans._rewriting import name_places
from evenhand.plans._slots import escape
from evenhand.plans._words import word_set
from evenhand.plans.grid import Skipped
from evenhand.plans.templates import Templates


def person_templates(
    texts: Sequence[str],
    replace: str | Sequence[str | None],
    *,
    ids: Sequence[str] | None = None,
    factors: Mapping[str, Factor] | None = None,
    language: str = "en",
) -> Templates:
    """Free texts about a named person as templates: every mention of the name becomes a slot.

    Possessives keep their ending; the pronouns follow the gender of the name that is filled in. A text that
    does not mention the name is in `skipped` with a reason.

    Args:
        texts: the base texts.
        replace: the name that stands in them, or one for each text. Of such a name the first part gives
            way: of "Dr. Maria Lopez" it is "Maria", wherever that stands; the surname stays.
        ids: of the texts; ``t1``, ``t2``, … where None.
        factors: columns of the texts (``sentiment``, …), Factors of the same length.
        language: of the texts, "en" or "es".

    Raises:
        UsageError: no text mentions the name.

    >>> t = person_templates(["Arthur lost his dog."], "Arthur").grid("names/weat-gender")
    >>> t.render(8)
    'Amy lost her dog.'
    """
    names = list(ids) if ids is not None else [f"t{i + 1}" for i in range(len(texts))]
    made, keep, skipped, flags = [], [], [], []
    for i, text in enumerate(texts):
        name = replace if isinstance(replace, str) else given_name(replace[i])
        template, flag = _name_slots(text, name) if name else (None, "")
        if template is None:
            who = repr(replace) if isinstance(replace, str) else "the name in its column"
            skipped.append(Skipped(text=names[i], reason=f"the text does not mention {who}"))
            continue
        made.append(template)
        keep.append(i)
        flags.append(flag)
    if not made:
        raise UsageError(
            "name-not-in-text",
            "No text mentions the name to replace.",
            given=replace if isinstance(replace, str) else f"{len(texts)} names, one a text",
            expected="a name that stands in the texts, as a whole word",
            hint="--replace names the person in the texts",
        )
    rows = np.array(keep)
    return Templates(
        templates=tuple(made),
        ids=tuple(names[i] for i in keep),
        bases=tuple(texts[i] for i in keep),
        factors={k: f[rows] for k, f in (factors or {}).items()},
        flags=tuple(flags),
        follow=True,
        language=language,
        skipped=tuple(skipped),
    )


_BEFORE_A_NAME = word_set("dr prof mr mrs ms miss mx sir dame lord lady rev")


def given_name(whole: str | None) -> str:
    """The first name of a whole one, without titles; "" where there is none.

    >>> given_name("Dr. Maria Lopez"), given_name("Lopez, Maria"), given_name(None)
    ('Maria', 'Maria', '')
    """
    last, comma, first = (whole or "").partition(",")
    parts = (first if comma and first.strip() else last).split()
    while len(parts) > 1 and (
        parts[0].rstrip(".").lower() in _BEFORE_A_NAME or len(parts[0].rstrip(".")) == 1
    ):
        parts = parts[1:]
    return parts[0] if parts else ""


def _name_slots(text: str, name: str) -> tuple[str | None, str]:
    places = name_places(text, name)
    if not places:
        return None, ""
    out, at, flag = [], 0, ""
    for start, end, tail in places:
        found = text[start:end]
        slot = (
            "{name:upper}"
            if found.isupper() and len(found) > 1
            else "{name:lower}"
            if found.islower()
            else "{name}"
        )
        out += [escape(text[at:start]), slot]
        at = end
        if len(tail) == 1:  # James' — the new name takes 's
            flag = (
                f"'{found}{tail}': possessive or closing quotation mark?"
                if text[:start].count("'") % 2
                else flag
            )
            out.append(f"{tail}s")
            at += 1
    rest = text[at:]
    whole = "".join(out) + escape(rest)
    if re.search(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", whole, re.I):
        flag = flag or f"'{name}' in a compound or another spelling was kept"
    return whole, flag or doubtful(text, places)

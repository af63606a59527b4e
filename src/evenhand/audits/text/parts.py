"""The grids of a design: what each list of terms makes of the texts."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as replaced
from typing import Literal, TypeAlias, get_args

import numpy as np

from evenhand._errors import UsageError
from evenhand.audits.text.sources import CivilComments
from evenhand.plans._languages import language_of_code
from evenhand.plans._placeholders import joined, placeholders_and_free, strange_slots
from evenhand.plans._slots import slot_keys
from evenhand.plans.civil import CATEGORIES
from evenhand.plans.drawing import EVERY, Sample, rows_of
from evenhand.plans.grid import Grid, Skipped
from evenhand.plans.identity import identity_templates
from evenhand.plans.pairs import Mode, pair_grid
from evenhand.plans.people import person_templates
from evenhand.plans.pronouns import pronoun_grid
from evenhand.plans.templates import Templates
from evenhand.terms import Terms
from evenhand.texts import Texts

Flagged: TypeAlias = Literal["keep", "drop", "only"]
FLAGGED: tuple[str, ...] = get_args(Flagged)
REST = " (rest)"
"""Marks, among the attributes of a part, the terms that lack another attribute."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """One grid of a design.

    Args:
        name: marks its probes in the factor `category`.
        attributes: factor of the terms → name of the attribute in the result.
        word: what a reader calls one of its terms.
        templates: what the grid was made from, where it was made from templates.
        sampled: True where the terms are a sample of their group (names), False where the group is the term.
    """

    name: str
    grid: Grid
    attributes: Mapping[str, str]
    word: str
    sampled: bool = False
    templates: Templates | None = None


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """How texts are rewritten; the names are those of the audit's keywords.

    Args:
        groups: the attributes to compare; all of the terms where None.
        replace: the name that stands in the texts. person_column: the column with the name of each text.
        control: also ask the text without the term, where it stays grammatical.
        mode: what becomes of men and women in one text, where the terms are gendered pairs.
        flagged: what becomes of texts of which some version is flagged.
        reviewed: the sheet in which a person said what becomes of versions.
        sample: how many of the texts that can be used are.
        language: of the texts.
        surer_than: chance above which a name is taken.
    """

    groups: Sequence[str] | None = None
    replace: str | None = None
    person_column: str | None = None
    control: bool = True
    mode: Mode = "swap"
    flagged: Flagged = "keep"
    reviewed: str | os.PathLike[str] | None = None
    sample: Sample = EVERY
    language: str = "en"
    surer_than: float | None = None

    def name_in(self, source: Texts) -> str | list[str | None] | None:
        """The name that gives way in these texts, or one for each.

        Raises:
            UsageError: there is no such column.
        """
        if self.person_column is None:
            return self.replace or source.replace
        if self.person_column not in source.factors:
            raise UsageError(
                "unknown-person-column",
                "the texts have no such column",
                given=self.person_column,
                available=list(source.factors),
            )
        return list(source.factors[self.person_column])


def parts_of(source: Texts | Templates, terms: Terms, wanted: Wanted) -> list[Part]:
    if wanted.language != "en":
        return _in_another_language(source, terms, wanted)
    if isinstance(source, Templates):
        return _from_templates(source, None, terms, wanted)
    if terms.kind != "pairs":
        slotted, source = placeholders_and_free(source, terms.factors)
        if slotted is not None:
            return _from_templates(slotted, source, terms, wanted)
    if terms.kind == "pairs":
        grid = pair_grid(
            source.texts,
            terms,
            mode=wanted.mode,
            sample=wanted.sample,
            ids=source.ids,
            factors=source.factors,
        )
        return [Part(name="gender", grid=grid, attributes={"gender": "gender"}, word="word")]
    if terms.kind == "pronouns":
        grid = pronoun_grid(source.texts, terms, sample=wanted.sample, ids=source.ids, factors=source.factors)
        return [Part(name="pronoun", grid=grid, attributes={"pronoun": "pronoun"}, word="pronoun set")]
    if terms.kind == "name":
        return [_named(source, terms, wanted)]
    found = []
    for category in (c for c in terms.factors if wanted.groups is None or c in wanted.groups):
        found += _identity(source, terms, category, wanted, alone=len(terms.factors) == 1)
    if not found:
        raise UsageError(
            "no-identity-terms",
            "no text mentions any of these terms",
            given=f"{len(source.texts)} texts, {terms.id}",
            hint="write a slot where the term belongs, e.g. “I have many {race:adjective} friends”",
        )
    return found


def _from_templates(slotted: Templates, source: Texts | None, terms: Terms, wanted: Wanted) -> list[Part]:
    """Templates, and beside them the free texts of the same file, where it has some."""
    free = source if source is not None and len(source) else None
    if terms.kind in ("name", "pronouns"):
        made = joined([slotted, *([_of_named(free, wanted)] if free else [])])
        made = wanted.sample.of(made) if source is not None else made
        return [replaced(_of_people(made, terms), templates=made)]
    slotted = replaced(slotted, skipped=(*slotted.skipped, *strange_slots(slotted, terms.factors)))
    found = []
    for category in terms.factors:
        mine, chosen = _with_slot(slotted, category), _of_category(terms, category)
        if free is not None:
            mined = _mined(free, chosen, category)
            mine = joined([part for part in (mine, mined) if part is not None])
            mine = mine if len(mine.templates) else None
        if mine is not None:
            mine = wanted.sample.of(mine) if source is not None else mine
            found.append(_of_terms(mine, chosen, category, wanted.control))
            slotted = replaced(slotted, skipped=())  # told once, with the first
    if not found:
        raise UsageError(
            "no-slot",
            "no template has a slot for these terms",
            given=terms.id,
            expected=" or ".join(f"{{{c}}}" for c in list(terms.factors)[:3]),
        )
    return found


def _in_another_language(source: Texts | Templates, terms: Terms, wanted: Wanted) -> list[Part]:
    """Templates, and texts with a name; English alone has rules for finding terms and for pairs.

    Raises:
        UsageError: the language is not known; terms that its texts cannot be rewritten with.
    """
    known = language_of_code(wanted.language)
    slotted, free = (
        (source, None) if isinstance(source, Templates) else placeholders_and_free(source, terms.factors)
    )
    if slotted is not None and terms.kind in ("name", "identity"):
        return _from_templates(
            replaced(slotted, language=wanted.language), free, terms, replaced(wanted, control=False)
        )
    if terms.kind != "name" or free is None:
        raise UsageError(
            "language-terms",
            f"{known.name} texts are rewritten for names, and for terms in slots.",
            given=f"{terms.id} ({terms.kind})",
            expected="names with a column gender, or texts with slots such as {name}",
            hint="finding terms, gendered pairs and sets of pronouns know English only",
        )
    return [_named(free, terms, wanted)]


def _mined(free: Texts, terms: Terms, category: str) -> Templates:
    """The templates of free texts; without any, only what was left out."""
    try:
        return identity_templates(free.texts, terms, category, ids=free.ids, factors=free.factors)
    except UsageError as error:
        if error.slug != "no-identity-terms":
            raise
        return _nothing(free, f"mentions no term of {category}")


def _nothing(free: Texts, reason: str) -> Templates:
    return Templates(templates=(), ids=(), skipped=tuple(Skipped(text=i, reason=reason) for i in free.ids))


def _of_named(free: Texts, wanted: Wanted) -> Templates:
    """Free texts beside templates: those that mention the name."""
    name = wanted.name_in(free)
    if name is None:
        return _nothing(free, "has no slot, and no name to replace was given (--replace)")
    try:
        return person_templates(
            free.texts, name, ids=free.ids, factors=free.factors, language=wanted.language
        )
    except UsageError as error:
        if error.slug != "name-not-in-text":
            raise
        who = repr(name) if isinstance(name, str) else "the name in its column"
        return _nothing(free, f"the text does not mention {who}")


def _with_slot(source: Templates, category: str) -> Templates | None:
    rows = [i for i, text in enumerate(source.templates) if {category, "identity"} & set(slot_keys(text))]
    if not rows:
        return None
    return rows_of(source, rows)


def _of_category(terms: Terms, category: str) -> Terms:
    levels = [level for level in terms.factors[category].levels if level]
    chosen = terms.where(**{category: levels})
    return replaced(chosen, factors={category: chosen.factors[category]})


def _named(source: Texts, terms: Terms, wanted: Wanted) -> Part:
    name = wanted.name_in(source)
    if name is None:
        raise UsageError(
            "no-name-to-replace",
            "names need a place in the texts",
            given=terms.id,
            expected="the name that stands in them (replace=, --replace), a column with a name for each text"
            " (person_column=, --person-column), or slots like {name}",
            hint="evenhand text … --replace Arthur",
        )
    made = person_templates(
        source.texts, name, ids=source.ids, factors=source.factors, language=wanted.language
    )
    made = wanted.sample.of(made)
    return replaced(_of_people(made, terms), templates=made)


def _of_people(source: Templates, terms: Terms) -> Part:
    word = "name" if terms.kind == "name" else "pronoun set"
    attributes = _named_attributes(terms)
    return Part(name="names", grid=source.grid(terms), attributes=attributes, word=word, sampled=True)


def _of_terms(made: Templates, terms: Terms, category: str, control: bool) -> Part:
    grid = made.grid(terms, control=control)
    return Part(name=category, grid=grid, attributes={category: category}, word="term", templates=made)


def _identity(source: Texts, terms: Terms, category: str, wanted: Wanted, *, alone: bool) -> list[Part]:
    chosen = _of_category(terms, category)
    try:
        made = identity_templates(source.texts, chosen, category, ids=source.ids, factors=source.factors)
    except UsageError as error:
        if alone or error.slug != "no-identity-terms":
            raise
        return []
    return [_of_terms(wanted.sample.of(made), chosen, category, wanted.control)]


def civil_parts(comments: CivilComments, terms: Terms, wanted: Wanted) -> list[Part]:
    """One part for each category of the terms that the comments have."""
    found = []
    for category in terms.factors:
        if category in CATEGORIES and (wanted.groups is None or category in wanted.groups):
            source = comments.of(category)
            if len(source):
                found += _identity(source, terms, category, wanted, alone=len(terms.factors) == 1)
    if not found:
        raise UsageError(
            "no-identity-terms",
            "no comment of these categories mentions any of the terms",
            given=f"{comments.path}, {terms.id}",
            available=list(CATEGORIES),
        )
    return found


def _named_attributes(terms: Terms) -> dict[str, str]:
    """Attribute → label, and a second label where some terms have this attribute but lack another."""
    known = {name: factor.codes >= 0 for name, factor in terms.factors.items()}
    complete = np.logical_and.reduce(list(known.values())) if known else np.ones(len(terms), dtype=np.bool_)
    if not complete.any():
        return {name: name for name in known}
    named = {name: name for name in known}
    for name, present in known.items():
        lacking = [other for other in known if (present & ~known[other]).any()]
        if lacking:
            named[f"{name}{REST}"] = f"{name}, of terms without {' or '.join(lacking)}"
    return named


def with_or_without_flags(part: Part, flagged: Flagged) -> Part:
    """The part without the texts of which some version is flagged ("drop"), or with those only.

    A text stays or goes whole: without its flagged version alone, it would stand on one side of a comparison.
    """
    if flagged not in FLAGGED:
        raise UsageError(
            "unknown-flagged",
            "flagged texts are kept, dropped, or asked alone",
            given=flagged,
            available=FLAGGED,
        )
    doubtful = {block.text for block in part.grid.blocks if block.flag >= 0}
    if flagged == "keep":
        return part
    kept = [i for i in range(len(part.grid.texts)) if (i in doubtful) == (flagged == "only")]
    what = "has a flagged version" if flagged == "drop" else "has no flagged version"
    return with_texts(part, kept, what, given=f"flagged={flagged!r}, {part.name}")


def with_texts(part: Part, kept: Sequence[int], reason: str, *, given: str) -> Part:
    """The part with some of its texts only; `reason`: of the others; `given`: what asked for it.

    Raises:
        UsageError: no text is left.
    """
    if not kept:
        raise UsageError("no-texts-left", f"no text is left: every one {reason}", given=given)
    place = {old: new for new, old in enumerate(kept)}
    left = [Skipped(text=t, reason=reason) for i, t in enumerate(part.grid.texts) if i not in place]
    grid = replaced(
        part.grid,
        texts=tuple(part.grid.texts[i] for i in kept),
        bases=tuple(part.grid.bases[i] for i in kept),
        blocks=tuple(replaced(b, text=place[b.text]) for b in part.grid.blocks if b.text in place),
        text_factors={name: factor[np.array(kept)] for name, factor in part.grid.text_factors.items()},
        skipped=(*part.grid.skipped, *left),
    )
    return replaced(part, grid=grid)

"""Texts and terms → the grids of a text audit: which texts are rewritten for which terms and groups."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as replaced
from typing import Any, TypeAlias

import numpy as np

from evenhand._errors import UsageError
from evenhand._labels import attributes_of, crossed
from evenhand._model import Factor, Plan, Probes
from evenhand.audits.text.sources import CivilComments, source_of
from evenhand.plans._placeholders import joined, placeholders_and_free, strange_slots
from evenhand.plans._slots import slot_keys
from evenhand.plans.civil import CATEGORIES
from evenhand.plans.grid import Grid, Skipped
from evenhand.plans.identity import identity_templates
from evenhand.plans.pairs import pair_grid
from evenhand.plans.pronouns import pronoun_grid
from evenhand.plans.templates import Templates, person_templates
from evenhand.terms import Terms
from evenhand.terms import terms as load_terms
from evenhand.texts import Texts

TermsGiven: TypeAlias = str | os.PathLike[str] | Terms | Sequence[str | os.PathLike[str] | Terms]
"""One list of terms or several, by name, as a file, or made already."""
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
class Design:
    """All grids of an audit, asked one after the other; `noticed`: what reading the texts brought up."""

    parts: tuple[Part, ...]
    noticed: tuple[str, ...] = ()

    def __len__(self) -> int:
        return sum(len(part.grid) for part in self.parts)

    @property
    def attributes(self) -> tuple[str, ...]:
        """Every attribute that some part compares, in order, once."""
        return tuple(dict.fromkeys(a for part in self.parts for a in part.attributes.values()))

    @property
    def counts(self) -> dict[str, int]:
        """Base texts, told apart by their ids, and terms."""
        texts = {text for part in self.parts for text in part.grid.texts}
        return {"texts": len(texts), "terms": sum(map(len, self.lists))}

    @property
    def bases(self) -> list[str]:
        """The base texts of every part."""
        return [base for part in self.parts for base in part.grid.bases]

    @property
    def lists(self) -> list[Terms]:
        """The terms of every part."""
        return [part.grid.terms for part in self.parts]

    def plan(self, batch: int = 10_000) -> Plan:
        """The probes of every part, marked with the part's name as `category`."""
        for part in self.parts:
            mark = np.zeros(batch, dtype=np.int8)
            for probes in part.grid.plan(batch):
                factors = {"category": Factor(mark[: len(probes)], (part.name,))}
                for name, factor in probes.factors.items():
                    if name not in part.grid.terms.factors:
                        factors[name] = factor
                factors.update(_attribute_factors(part, probes))
                yield Probes(inputs=probes.inputs, factors=factors)

    def render(self, row: int) -> str:
        """The text of one row of the plan."""
        for part in self.parts:
            if row < len(part.grid):
                return part.grid.render(row)
            row -= len(part.grid)
        raise IndexError("no such row")

    def inputs(self) -> Iterator[str]:
        """Every input, in the order of the plan."""
        for part in self.parts:
            yield from part.grid


def design(
    source: Texts | Templates | CivilComments,
    terms: TermsGiven,
    *,
    replace: str | None = None,
    groups: str | Sequence[str] | None = None,
    control: bool = True,
) -> Design:
    """The grids that these texts and terms make.

    Args:
        terms: names need `replace` or templates with slots; identity terms are found in the texts.
        replace: the name that stands in the texts.
        groups: the attributes to compare; all of the terms by default.
        control: also ask the text without the term, where it stays grammatical.

    Raises:
        UsageError: names without a place for them, unknown groups, no text that fits.
    """
    groups = [groups] if isinstance(groups, str) else groups
    lists = [terms] if isinstance(terms, str | os.PathLike | Terms) else list(terms)
    chosen = [item if isinstance(item, Terms) else load_terms(item) for item in lists]
    if groups is not None:
        wanted = attributes_of(groups, {name for item in chosen for name in item.factors})
        chosen, groups = [_with_crossings(item, wanted) for item in chosen], list(wanted)
    noticed = source.flags if isinstance(source, Texts) else ()
    if isinstance(source, CivilComments):
        parts = [part for item in chosen for part in _civil(source, item, control, groups)]
    else:
        parts = [part for item in chosen for part in _parts(source, item, replace, control, groups)]
    if groups is not None:
        known = list(dict.fromkeys(a for part in parts for a in part.attributes if not a.endswith(REST)))
        for name in groups:
            if name not in known:
                raise UsageError(
                    "unknown-group", "the terms have no such attribute", given=name, available=known
                )
        kept = [
            {f: a for f, a in part.attributes.items() if f.removesuffix(REST) in groups} for part in parts
        ]
        parts = [replaced(part, attributes=mine) for part, mine in zip(parts, kept, strict=True) if mine]
    return Design(parts=tuple(_told_apart(parts)), noticed=noticed)


def _with_crossings(terms: Terms, wanted: Mapping[str, tuple[str, ...]]) -> Terms:
    """The terms with the intersections that are wanted, and that some of them have, as further factors."""
    for name, columns in wanted.items():
        if len(columns) > 1 and all(column in terms.factors for column in columns):
            both = crossed({column: terms.factors[column] for column in columns}).factor
            if both.levels:
                terms = replaced(terms, factors={**terms.factors, name: both})
    return terms


def _attribute_factors(part: Part, probes: Probes) -> dict[str, Factor]:
    """The groups of each row. Terms that lack some attribute (noun phrases without a race) are a family of
    their own: a gap between named women and men must not be carried by "my mother" and "my father"."""
    codes = {name: probes.factors[name] for name in part.attributes if not name.endswith(REST)}
    complete = np.logical_and.reduce([factor.codes >= 0 for factor in codes.values()])
    found = {}
    for name, factor in codes.items():
        label, rest = part.attributes[name], part.attributes.get(f"{name}{REST}")
        found[label] = factor if rest is None else Factor(np.where(complete, factor.codes, -1), factor.levels)
        if rest is not None:
            found[rest] = Factor(np.where(complete, -1, factor.codes), factor.levels)
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


def _civil(comments: CivilComments, terms: Terms, control: bool, groups: Sequence[str] | None) -> list[Part]:
    found = []
    for category in terms.factors:
        if category in CATEGORIES and (groups is None or category in groups):
            source = comments.of(category)
            if len(source):
                found += _identity(source, terms, category, control, alone=len(terms.factors) == 1)
    if not found:
        raise UsageError(
            "no-identity-terms",
            "no comment of these categories mentions any of the terms",
            given=f"{comments.path}, {terms.id}",
            available=list(CATEGORIES),
        )
    return found


def design_of(arguments: Mapping[str, Any]) -> Design:
    """The design of a call of `audit_text`; texts that are a design already stay as they are."""
    texts = arguments["texts"]
    if isinstance(texts, Design):
        return texts
    given = {name: value for name, value in arguments.items() if value is not None}
    source = source_of(
        texts, column=given.get("text_column"), most=given.get("most_texts"), seed=given.get("seed", 0)
    )
    kept = {name: given[name] for name in ("replace", "groups", "control") if name in given}
    return design(source, arguments["terms"], **kept)


def together(designs: Sequence[Design]) -> Design:
    """Several designs as one; attributes of the same name are told apart."""
    return Design(parts=tuple(_told_apart([part for made in designs for part in made.parts])))


def _told_apart(parts: Sequence[Part]) -> list[Part]:
    """Parts may compare the same attribute by other means (names of a race, words for it): two families."""
    seen: set[str] = set()
    told = []
    for part in parts:
        named = {f: f"{a} ({part.word}s)" if a in seen else a for f, a in part.attributes.items()}
        seen.update(part.attributes.values())
        told.append(replaced(part, attributes=named))
    return told


def _parts(
    source: Texts | Templates, terms: Terms, replace: str | None, control: bool, groups: Sequence[str] | None
) -> list[Part]:
    if isinstance(source, Templates):
        return _from_templates(source, None, terms, replace, control)
    if terms.kind != "pairs":
        slotted, source = placeholders_and_free(source, terms.factors)
        if slotted is not None:
            return _from_templates(slotted, source, terms, replace, control)
    if terms.kind == "pairs":
        grid = pair_grid(source.texts, terms, ids=source.ids, factors=source.factors)
        return [Part(name="gender", grid=grid, attributes={"gender": "gender"}, word="word")]
    if terms.kind == "pronouns":
        grid = pronoun_grid(source.texts, terms, ids=source.ids, factors=source.factors)
        return [Part(name="pronoun", grid=grid, attributes={"pronoun": "pronoun"}, word="pronoun set")]
    if terms.kind == "name":
        return [_named(source, terms, replace)]
    found = []
    for category in (c for c in terms.factors if groups is None or c in groups):
        found += _identity(source, terms, category, control, alone=len(terms.factors) == 1)
    if not found:
        raise UsageError(
            "no-identity-terms",
            "no text mentions any of these terms",
            given=f"{len(source.texts)} texts, {terms.id}",
            hint="write a slot where the term belongs, e.g. “I have many {race:adjective} friends”",
        )
    return found


def _from_templates(
    slotted: Templates, source: Texts | None, terms: Terms, replace: str | None, control: bool
) -> list[Part]:
    """Templates, and beside them the free texts of the same file, where it has some."""
    free = source if source is not None and len(source) else None
    if terms.kind in ("name", "pronouns"):
        made = joined([slotted, *([_of_named(free, replace)] if free else [])])
        return [replaced(_of_people(made, terms), templates=made)]
    slotted = replaced(slotted, skipped=(*slotted.skipped, *strange_slots(slotted, terms.factors)))
    found = []
    for category in terms.factors:
        mine, chosen = _with_slot(slotted, category), _of_category(terms, category)
        if free is not None:
            mined = _mined(free, chosen, category)
            mine = joined(
                [part for part in (mine, mined) if part is not None and len(part.templates)] or [mined]
            )
            mine = mine if len(mine.templates) else None
        if mine is not None:
            found.append(_of_terms(mine, chosen, category, control))
            slotted = replaced(slotted, skipped=())  # told once, with the first
    if not found:
        raise UsageError(
            "no-slot",
            "no template has a slot for these terms",
            given=terms.id,
            expected=" or ".join(f"{{{c}}}" for c in list(terms.factors)[:3]),
        )
    return found


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


def _of_named(free: Texts, replace: str | None) -> Templates:
    """Free texts beside templates: those that mention the name."""
    name = replace or free.replace
    if name is None:
        return _nothing(free, "has no slot, and no name to replace was given (--replace)")
    try:
        return person_templates(free.texts, name, ids=free.ids, factors=free.factors)
    except UsageError as error:
        if error.slug != "name-not-in-text":
            raise
        return _nothing(free, f"the text does not mention {name!r}")


def _with_slot(source: Templates, category: str) -> Templates | None:
    rows = [i for i, text in enumerate(source.templates) if {category, "identity"} & set(slot_keys(text))]
    if not rows:
        return None
    index = np.array(rows)
    return replaced(
        source,
        templates=tuple(source.templates[i] for i in rows),
        ids=tuple(source.ids[i] for i in rows),
        bases=tuple(source.bases[i] for i in rows) if source.bases else (),
        flags=tuple(source.flags[i] for i in rows) if source.flags else (),
        factors={name: factor[index] for name, factor in source.factors.items()},
    )


def _of_category(terms: Terms, category: str) -> Terms:
    levels = [level for level in terms.factors[category].levels if level]
    chosen = terms.where(**{category: levels})
    return replaced(chosen, factors={category: chosen.factors[category]})


def _named(source: Texts, terms: Terms, replace: str | None) -> Part:
    replace = replace or source.replace
    if replace is None:
        raise UsageError(
            "no-name-to-replace",
            "names need a place in the texts",
            given=terms.id,
            expected="the name that stands in them (replace=, --replace), or slots like {name}",
            hint="evenhand text … --replace Arthur",
        )
    made = person_templates(source.texts, replace, ids=source.ids, factors=source.factors)
    return replaced(_of_people(made, terms), templates=made)


def _of_people(source: Templates, terms: Terms) -> Part:
    word = "name" if terms.kind == "name" else "pronoun set"
    attributes = _named_attributes(terms)
    return Part(name="names", grid=source.grid(terms), attributes=attributes, word=word, sampled=True)


def _of_terms(made: Templates, terms: Terms, category: str, control: bool) -> Part:
    grid = made.grid(terms, control=control)
    return Part(name=category, grid=grid, attributes={category: category}, word="term", templates=made)


def _identity(source: Texts, terms: Terms, category: str, control: bool, *, alone: bool) -> list[Part]:
    chosen = _of_category(terms, category)
    try:
        made = identity_templates(source.texts, chosen, category, ids=source.ids, factors=source.factors)
    except UsageError as error:
        if alone or error.slug != "no-identity-terms":
            raise
        return []
    return [_of_terms(made, chosen, category, control)]


def skipped(made: Design) -> Mapping[str, int]:
    """Reason → how many texts were left out for it."""
    return Counter(item.reason for part in made.parts for item in part.grid.skipped)

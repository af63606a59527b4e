"""Texts and terms → the grids of a text audit: which texts are rewritten for which terms and groups."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from dataclasses import replace as replaced
from typing import Any, TypeAlias

import numpy as np

from evenhand._errors import UsageError
from evenhand._labels import attributes_of, crossed
from evenhand._model import Factor, Plan, Probes
from evenhand.audits.scores.sides import NameChances
from evenhand.audits.text.parts import REST, Part, Wanted, civil_parts, parts_of, with_or_without_flags
from evenhand.audits.text.review import reviewed
from evenhand.audits.text.sources import CivilComments, source_of
from evenhand.plans.drawing import Sample
from evenhand.plans.templates import Templates
from evenhand.terms import Terms
from evenhand.terms import terms as load_terms
from evenhand.texts import Texts

TermsGiven: TypeAlias = str | os.PathLike[str] | Terms | Sequence[str | os.PathLike[str] | Terms]
"""One list of terms or several, by name, as a file, or made already."""


@dataclass(frozen=True, kw_only=True)
class Design:
    """All grids of an audit, asked one after the other.

    Args:
        parts: the grids.
        noticed: what reading the texts brought up.
        decided: what a person's review did → how many versions (or, dropped, texts).
        language: of the texts.
    """

    parts: tuple[Part, ...]
    noticed: tuple[str, ...] = ()
    decided: Mapping[str, int] = field(default_factory=dict)
    language: str = "en"

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

    def plan(self, batch: int | None = 10_000) -> Plan:
        """The probes of every part, marked with the part's name as `category`.

        Args:
            batch: probes of one step; None for a step a part, whose texts are rendered where they are read.
        """
        for part in self.parts:
            mark = np.zeros(len(part.grid) if batch is None else batch, dtype=np.int8)
            for probes in [part.grid.whole()] if batch is None else part.grid.plan(batch):
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


def chances_of(part: Part) -> dict[str, NameChances]:
    """Attribute → how surely the names of a part are of its groups, where their list says so."""
    terms, found = part.grid.terms, {}
    row = {term: i for i, term in enumerate(terms.terms)}
    for factor, attribute in part.attributes.items() if part.sampled else ():
        if factor in terms.chances:
            own = terms.factors[factor]
            listed = {level: np.flatnonzero(own.is_level(level)).tolist() for level in own.levels}
            chances = terms.chances[factor]
            found[attribute] = NameChances(unit="term", chances=chances, row=row, listed=listed)
    return found


def design(source: Texts | Templates | CivilComments, terms: TermsGiven, wanted: Wanted) -> Design:
    """The grids that these texts and terms make.

    Args:
        terms: names need `replace` or templates with slots; identity terms are found in the texts.
        wanted: how they are rewritten.

    Raises:
        UsageError: names without a place for them, unknown groups, no text that fits.
    """
    groups = wanted.groups
    lists = [terms] if isinstance(terms, str | os.PathLike | Terms) else list(terms)
    chosen = [item if isinstance(item, Terms) else load_terms(item) for item in lists]
    if wanted.surer_than is not None:
        least, doubted = wanted.surer_than, any(item.chances for item in chosen)
        chosen = [item if doubted and not item.chances else item.surer_than(least) for item in chosen]
    if groups is not None:
        named = attributes_of(groups, {name for item in chosen for name in item.factors})
        chosen, groups = [_with_crossings(item, named) for item in chosen], list(named)
        wanted = replaced(wanted, groups=groups)
    noticed = source.flags if isinstance(source, Texts) else ()
    if isinstance(source, CivilComments):
        parts = [part for item in chosen for part in civil_parts(source, item, wanted)]
    else:
        parts = [part for item in chosen for part in parts_of(source, item, wanted)]
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
    parts, decided = (parts, {}) if wanted.reviewed is None else reviewed(parts, wanted.reviewed)
    parts = [with_or_without_flags(part, wanted.flagged) for part in parts]
    return Design(parts=tuple(_told_apart(parts)), noticed=noticed, decided=decided, language=wanted.language)


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


def design_of(arguments: Mapping[str, Any]) -> Design:
    """The design of a call of `audit_text`; texts that are a design already stay as they are."""
    texts = arguments["texts"]
    if isinstance(texts, Design):
        return texts
    given = {name: value for name, value in arguments.items() if value is not None}
    source = source_of(texts, column=given.get("text_column"))
    kept = {name: given[name] for name in (f.name for f in fields(Wanted)) if name in given}
    if isinstance(kept.get("groups"), str):
        kept["groups"] = [kept["groups"]]
    kept["sample"] = Sample(most=given.get("most_texts"), seed=given.get("seed", 0))
    return design(source, arguments["terms"], Wanted(**kept))


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


def skipped(made: Design) -> Mapping[str, int]:
    """Reason → how many texts were left out for it."""
    return Counter(item.reason for part in made.parts for item in part.grid.skipped)

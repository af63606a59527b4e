"""The audit of published tables: what they say is recomputed, and what they left out is added."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from evenhand._analysis import Analysis
from evenhand._declared import Declared
from evenhand._errors import UsageError
from evenhand._labels import Attribute
from evenhand._provenance import digest_of
from evenhand._table import read_table
from evenhand.audits.predictions.asked import Options, say_task
from evenhand.audits.predictions.class_cells import Labelled
from evenhand.audits.predictions.classification import classification
from evenhand.audits.predictions.inputs import Input, from_user
from evenhand.audits.predictions.practice.law import LAWS, Selected, add_law, tally_of_cells
from evenhand.audits.predictions.practice.small import without_small
from evenhand.audits.predictions.published.printed import (
    Printed,
    Recomputed,
    across,
    read_published,
    recomputed,
)
from evenhand.audits.predictions.roles import Columns, Intake, Named, Roles

if TYPE_CHECKING:
    import pyarrow as pa

PEOPLE, SELECTED = "people", "yes"
KEPT = {"y_pred", "groups", "count"}
"""Roles that name a column of a published table."""


@dataclass(frozen=True, kw_only=True)
class Published:
    """Published tables of one audit, read.

    Args:
        tables: one for each attribute. named: their attributes, as the roles of columns.
    """

    tables: Sequence[Printed]
    named: Named
    sources: Sequence[Any]

    def digests(self) -> dict[str, str]:
        """Of each table."""
        tables = [None if isinstance(s, str | os.PathLike) else read_table(s) for s in self.sources]
        each = [digest_of(s, table) for s, table in zip(self.sources, tables, strict=True)]
        return {f"published {i}": digest for i, digest in enumerate(each, 1)}

    @property
    def title(self) -> str:
        """What is compared, of what, by what."""
        who = ", ".join(dict.fromkeys(t.source for t in self.tables))
        return f"published audit of {who} by {', '.join(self.named.groups)}"


def read_all(published: Any, data: Any, roles: Roles, *, asked: bool) -> Published:
    """The tables, one or a list of them.

    Args:
        asked: something else was asked for that counts cannot give.

    Raises:
        UsageError: `published` for what counts cannot give. DataError: as `read_published`.
    """
    plain = Roles(y_pred=None)
    also = [
        n
        for n in vars(roles)
        if n not in KEPT and getattr(roles, n) is not getattr(plain, n) and getattr(roles, n) != {}
    ]
    if data is not None or also or asked:
        raise UsageError(
            "published",
            "published tables hold counts by category and nothing else",
            given=", ".join([*["data"] * (data is not None), *also])
            or "task, positive, missing, intersections or a suggested threshold",
            expected="published= (--published) alone; groups=, count= and y_pred= may name its columns",
        )
    several = isinstance(published, list | tuple) and not all(isinstance(p, Mapping) for p in published)
    sources = list(published) if several else [published]
    names = [roles.groups] if isinstance(roles.groups, str) else list(_words(roles.groups))
    selected, count = (v if isinstance(v, str) else None for v in (roles.y_pred, roles.count))
    tables = [read_published(s, groups=names, selected=selected, count=count) for s in sources]
    attributes = [t.attribute for t in tables]
    for attribute in attributes:
        if attributes.count(attribute) > 1:
            raise UsageError(
                "published",
                "two published tables are of the same categories: audit each by itself",
                given=", ".join(attribute),
            )
    groups = tuple(dict.fromkeys(name for attribute in attributes for name in attribute))
    return Published(
        tables=tables, named=Named(y_pred="selected", groups=groups, count=PEOPLE), sources=sources
    )


def _words(value: Columns) -> list[str]:
    return [v for v in value if isinstance(v, str)] if isinstance(value, list | tuple) else []


def published_tables(
    found: Published, declared: Declared, analysis: Analysis, options: Options
) -> dict[str, int]:
    """Each table recomputed, then the claims about its counts and the tables of practice; rows read, used
    and left out."""
    wrong: list[str] = []
    people = 0
    seen: set[Attribute] = set()
    for table in found.tables:
        again = recomputed(table)
        wrong += _recompute(table, again, analysis)
        given = _input(table, analysis)
        people = max(people, table.people[0])
        crossed = len(table.attribute) > 1
        labels = given.labelled(SELECTED)
        fresh = [a for a in labels.source.attributes if a not in seen]
        seen |= {*fresh}
        source = without_small(labels.source, options.min_group, analysis, lambda c: c.of[SELECTED].moments.n)
        labels = replace(labels, source=replace(source, attributes=fresh))
        say_task(analysis, given.named, options, "classification", labels.compared)
        held = {table.attribute[0]: again.best.name, **declared.reference} if not crossed else {}
        _practice(labels, table, replace(declared, reference=held), analysis, options)
        classification(labels, declared, analysis, measures=options.measures)
    wrong += across(found.tables)
    if wrong:
        text = f"The published numbers do not agree with their counts in {len(wrong)} places: "
        analysis.note("published-mismatch", text + "; ".join(wrong) + ".", warning=True)
    else:
        text = "Every printed rate, ratio and total follows from the printed counts, within its rounding."
        analysis.note("published-agrees", text)
    return {"rows": people, "used": people, "left out": 0}


def _recompute(table: Printed, made: Recomputed, analysis: Analysis) -> list[str]:
    name = ", ".join(table.attribute)
    analysis.exhibits[f"published {name}"] = made.exhibit
    for said in table.said:
        analysis.note("published-read", f"{name}: {said}.")
    if made.left_out:
        analysis.note(
            "published-left-out",
            f"{name}: {'; '.join(made.left_out)} {'have' if len(made.left_out) > 1 else 'has'} no printed"
            " impact ratio: the rule allows that under 2 % of applicants. Here they are compared like the"
            " others, with the interval that so few allow.",
        )
    return [f"{name}: {text}" for text in made.wrong]


def _input(table: Printed, analysis: Analysis) -> Input:
    import pyarrow as pa

    lines = [*table.lines, *table.unknown]
    columns: dict[str, Any] = {
        name: [line.parts[i] for line in lines] * 2 for i, name in enumerate(table.attribute)
    }
    columns["selected"] = [SELECTED] * len(lines) + ["no"] * len(lines)
    columns[PEOPLE] = [x.selected for x in lines] + [x.applicants - x.selected for x in lines]
    whole: pa.Table = pa.table(
        {k: pa.array(v, pa.int64() if k == PEOPLE else pa.string()) for k, v in columns.items()}
    )
    intake = Intake(analysis=analysis, crossing=len(table.attribute) > 1)
    roles = Roles(y_pred="selected", groups=list(table.attribute), count=PEOPLE, units=False)
    return from_user(whole, roles, intake)


def _practice(
    found: Labelled, table: Printed, declared: Declared, analysis: Analysis, options: Options
) -> None:
    source = found.against_rest(SELECTED)
    what = "scored strictly above the median" if table.scored else "selected"
    tallies = {a: tally_of_cells(source.cells(a, None), source.everyone, "sel") for a in source.attributes}
    selected = Selected(tallies=tallies, rule=f"Selected: {what}, as published", scored=table.scored)
    for law in LAWS if options.law is None else (options.law,):
        add_law(analysis, law, selected, declared, weighted=False)

"""Lexicons: lists of names, identity terms, pronouns and gendered pairs, each with its source and licence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Literal, TypeAlias, cast

import numpy as np

from evenhand._callable import make_callable
from evenhand._encoding import read_text
from evenhand._errors import EvenhandError, TermsError
from evenhand._files import foreign
from evenhand._model import Factor
from evenhand.terms._parse import FORMS, Table, parse
from evenhand.terms.chances import TermChances, with_chances

__all__ = ["SHIPPED", "Kind", "Terms", "cross", "list_terms", "terms", "terms_from_rows"]

Kind: TypeAlias = Literal["name", "identity", "pronouns", "pairs"]

IDENTITY = ("disability", "gender", "race", "religion", "sexual_orientation", "nationality", "age")

SHIPPED: Mapping[str, str] = {
    "names/freakonomics": "80 first names, race × gender (Levitt & Dubner, after Fryer & Levitt)",
    "names/weat-race-5": "64 first names, race × gender (Caliskan et al. 2017, WEAT 5)",
    "names/weat-race-7": "36 first names, race × gender (Caliskan et al. 2017, after Bertrand &"
    " Mullainathan)",
    "names/weat-gender": "16 first names by gender (Caliskan et al. 2017)",
    "names/weat-age": "16 first names, of young and of old people (Caliskan et al. 2017)",
    "names/eec": "60 people, 40 names race × gender and 20 noun phrases (Kiritchenko & Mohammad 2018)",
    "names/us-first": "193 US first names, race × gender, with the chance of each (Tzioumis 2018)",
    "names/us-surnames": "400 US surnames by race, with the chance of each group (2010 Census)",
    **{
        f"identity/{c}": f"identity terms for {c.replace('_', ' ')}, noun and adjective forms"
        for c in IDENTITY
    },
    "identity": "the identity terms of all seven categories",
    "pronouns": "he, she, they, xe, ze, ey, fae with all five forms",
    "pairs/gender": "gendered noun pairs (man/woman, father/mother, …) with plurals",
}
"""What is shipped: name → one line for `evenhand list terms`."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Terms:
    """A list of terms (names, identity terms, …), the groups that each belongs to, and its surface forms.

    Args:
        id: shipped name or the user's file name.
        kind: "name", "identity", "pronouns" or "pairs".
        terms: the unit label of each row, length n.
        factors: group factor → Factor of length n, e.g. ``race`` and ``gender``. For identity terms: category
            → subcategory (missing where the term belongs to another category).
        forms: form → surface form of each row, None where a term has none. Names have ``name``; identity
            terms ``adjective``, ``noun``, ``noun_plural``; forms beginning with ``seen_`` are found in texts
            but never written (alternatives separated by ``|``).
        source, licence: where the list is from and under which terms.
        chances: group factor → how surely each term is of its group, where the list says so.
    """

    id: str
    kind: Kind
    terms: tuple[str, ...]
    factors: Mapping[str, Factor] = field(default_factory=dict)
    forms: Mapping[str, tuple[str | None, ...]] = field(default_factory=dict)
    source: str = ""
    licence: str = ""
    chances: Mapping[str, TermChances] = field(default_factory=dict)

    def __post_init__(self) -> None:
        lengths = {name: len(column) for part in (self.factors, self.forms) for name, column in part.items()}
        if any(n != len(self.terms) for n in lengths.values()):
            raise ValueError(f"{len(self.terms)} terms, but columns of lengths {lengths}")

    def __len__(self) -> int:
        return len(self.terms)

    def where(self, **levels: str | Iterable[str]) -> Terms:
        """The rows whose factors have one of the named levels.

        Raises:
            TermsError: no such factor, no such level, or nothing left.

        >>> len(terms("names/freakonomics").where(race="black", gender=["female"]))
        20
        """
        keep = np.ones(len(self), dtype=np.bool_)
        for name, wanted in levels.items():
            if name not in self.factors:
                raise TermsError(
                    "unknown-factor",
                    f"{self.id} has no such factor.",
                    given=name,
                    available=list(self.factors),
                )
            factor = self.factors[name]
            names = [wanted] if isinstance(wanted, str) else list(wanted)
            for level in names:
                if level not in factor.levels:
                    raise TermsError(
                        "unknown-level",
                        f"The factor {name} of {self.id} has no such level.",
                        given=level,
                        available=factor.levels,
                    )
            keep &= np.logical_or.reduce([factor.is_level(level) for level in names])
        if not keep.any():
            raise TermsError(
                "no-terms-left", f"No term of {self.id} has all of these levels.", given=levels or "(nothing)"
            )
        return self.take(np.flatnonzero(keep))

    def take(self, rows: Sequence[int] | np.ndarray[tuple[int], np.dtype[np.intp]]) -> Terms:
        """The same list, these rows only."""
        index = np.asarray(rows, dtype=np.intp)
        return replace(
            self,
            terms=tuple(self.terms[i] for i in index),
            factors={k: _trim(f[index]) for k, f in self.factors.items()},
            forms={k: tuple(column[i] for i in index) for k, column in self.forms.items()},
            chances={k: c.take(index) for k, c in self.chances.items()},
        )

    def surer_than(self, least: float, factors: Iterable[str] | None = None) -> Terms:
        """The terms whose chance to be of the group they are listed in is larger, for every factor that has
        chances.

        Args:
            least: from 0 up to, not including, 1. factors: those that count; all by default.

        Raises:
            TermsError: `surer-than`: no factor has chances, or no term is so sure.

        >>> own = terms_from_rows(
        ...     [{"name": n, "race": "white", "chance": c} for n, c in (("A", 0.9), ("B", 0.6))]
        ... )
        >>> own.surer_than(0.8).terms
        ('A',)
        """
        if not 0 <= least < 1:
            raise TermsError("surer-than", "A chance lies between 0 and 1.", given=least)
        chosen = [c for f, c in self.chances.items() if factors is None or f in factors]
        if not chosen:
            raise TermsError(
                "surer-than",
                f"{self.id} does not say how surely its terms are of their groups.",
                given=least,
                expected="columns of chances, e.g. race:white and race:black, or race_chance",
            )
        keep = np.logical_and.reduce([np.isnan(c.own) | (c.own > least) for c in chosen])
        if not keep.any():
            most = max(float(np.nanmax(c.own)) for c in chosen)
            raise TermsError(
                "surer-than",
                f"No term of {self.id} is so surely of its group.",
                given=least,
                expected=f"less than {most:g}",
            )
        return self.take(np.flatnonzero(keep))

    def level(self, factor: str, row: int) -> str | None:
        """The level of one row, None where missing or where there is no such factor."""
        column = self.factors.get(factor)
        code = -1 if column is None else int(column.codes[row])
        return None if column is None or code < 0 else column.levels[code]

    @property
    def writable(self) -> tuple[str, ...]:
        """The forms that may be filled into a text."""
        return tuple(f for f in self.forms if not f.startswith("seen_"))


def _trim(factor: Factor) -> Factor:
    """Drops levels that no longer occur, keeping their order."""
    used = np.unique(factor.codes[factor.codes >= 0])
    lookup = np.full(len(factor.levels) + 1, -1, dtype=np.int32)
    lookup[used] = np.arange(len(used), dtype=np.int32)
    return Factor(lookup[factor.codes], tuple(factor.levels[i] for i in used))


def list_terms() -> dict[str, str]:
    """The shipped lists: name → one line.

    >>> "names/freakonomics" in list_terms()
    True
    """
    return dict(SHIPPED)


def terms(
    name: str | PathLike[str] | Terms, *, kind: Kind | None = None, encoding: str | None = None
) -> Terms:
    """A shipped list by its name, or a user's own CSV, TSV, TOML or JSON file.

    A file has one column named `term` (or `name`, `word`, `identity`, `pronoun`). Columns with the name of a
    surface form (`noun`, `noun_plural`, `adjective`, `subject`, …) are forms, columns such as `race:white`,
    `p_white` or `race_chance` are chances (`evenhand.terms.chances`), all other columns are groups.

    Args:
        name: one of `list_terms()`, a path, or a `Terms` (returned as it is).
        kind: "name", "identity", "pronouns" or "pairs"; inferred from the columns where None.
        encoding: of the file; detected where None.

    Raises:
        TermsError: an unknown name, or a file without the column, with duplicates, or without rows.

    >>> t = terms("names/freakonomics")
    >>> len(t), t.terms[0], t.factors["race"].levels
    (80, 'Molly', ('white', 'black'))
    >>> terms("pronouns").forms["possessive"][:3]
    ('his', 'hers', 'theirs')
    """
    if isinstance(name, Terms):
        return name
    label = str(name)
    if label in SHIPPED:
        return _shipped(label)
    path = Path(label)
    if path.suffix.lower() in (".csv", ".tsv", ".toml", ".json", ".jsonl", ".txt") or path.is_file():
        if path.suffix.lower() not in (".csv", ".tsv", ".toml", ".json", ".jsonl", ".txt"):
            raise TermsError(
                "terms-format",
                "The format of a terms file is told by its ending.",
                given=path.name,
                expected=".csv, .tsv, .toml, .json, .jsonl or .txt",
            )
        try:
            with foreign(path, "bad-terms-file"):
                read = parse(read_text(path, encoding=encoding), suffix=path.suffix.lower(), name=path.name)
        except TermsError:
            raise
        except EvenhandError as error:
            raise TermsError(
                error.slug, error.message, given=error.given, available=error.available, hint=error.hint
            ) from None
        return _build(read, id=path.name, kind=kind)
    raise TermsError(
        "unknown-terms",
        "There is no such list of terms.",
        given=label,
        expected="a shipped list or a path to a CSV, TSV, TOML or JSON file",
        available=SHIPPED,
        hint="`evenhand list terms` shows them",
    )


def terms_from_rows(
    rows: Sequence[Mapping[str, object]], *, id: str = "terms", kind: Kind | None = None
) -> Terms:
    """Terms from rows in memory, with the same columns as a file.

    >>> terms_from_rows([{"name": "Ada", "gender": "female"}, {"name": "Bo", "gender": "male"}]).kind
    'name'
    """
    import json

    return _build(parse(json.dumps(list(rows)), suffix=".json", name=id), id=id, kind=kind)


@cache
def _shipped(name: str) -> Terms:
    if name == "identity":
        return _all_identity()
    text = files("evenhand.terms").joinpath("data", *f"{name}.toml".split("/")).read_text(encoding="utf-8")
    return _build(parse(text, suffix=".toml", name=name), id=name, kind=None)


def _all_identity() -> Terms:
    parts = [_shipped(f"identity/{c}") for c in IDENTITY]
    forms = list(dict.fromkeys(f for p in parts for f in p.forms))
    return Terms(
        id="identity",
        kind="identity",
        terms=tuple(t for p in parts for t in p.terms),
        factors={
            c: Factor.of(
                [level for p in parts for level in (p.factors[c] if c in p.factors else [None] * len(p))]
            )
            for c in IDENTITY
        },
        forms={f: tuple(x for p in parts for x in p.forms.get(f, (None,) * len(p))) for f in forms},
        source=parts[0].source,
        licence=parts[0].licence,
    )


def _build(table: Table, *, id: str, kind: Kind | None) -> Terms:
    names = tuple(table.rows[table.term])
    kind = kind or cast("Kind | None", table.kind) or _infer(table)
    forms = {f: tuple(x or None for x in table.rows[f]) for f in table.forms}
    if kind == "name" and "name" not in forms:
        forms = {"name": forms.get("subject", names), **forms}
    if kind == "identity" and not any(f in forms for f in ("adjective", "noun", "noun_plural")):
        forms["adjective"] = names
    if kind == "pronouns":
        missing = [f for f in FORMS["pronouns"] if f not in forms]
        if missing:
            raise TermsError(
                "missing-column",
                f"Pronouns in {id} need all five forms.",
                given=", ".join(forms),
                expected=", ".join(FORMS["pronouns"]),
                hint=f"missing: {', '.join(missing)}",
            )
    listed = {f: Factor.of([x or None for x in table.rows[f]]) for f in table.factors}
    factors, chances = with_chances(listed, table.chances, table.rows, names)
    return Terms(
        id=id,
        kind=kind,
        terms=names,
        factors=factors,
        chances=chances,
        forms=forms,
        source=table.source,
        licence=table.licence,
    )


def _infer(table: Table) -> Kind:
    if {"possessive", "reflexive"} <= set(table.forms):
        return "pronouns"
    if {"adjective", "noun", "noun_plural"} & set(table.forms) or table.term == "identity":
        return "identity"
    if {"male", "female"} <= set(table.forms):
        return "pairs"
    return "name"


def cross(first: Terms, second: Terms) -> Terms:
    """Every combination of two lists, for templates with two independent slots. Terms are labelled ``a × b``.

    Forms keep their names where they are unambiguous and are prefixed by the list's key (``name.``, or a
    category).

    >>> both = cross(terms("names/weat-gender"), terms("identity/religion"))
    >>> both.terms[0], len(both)
    ('John × Christian', 192)
    """
    left = np.repeat(np.arange(len(first)), len(second))
    right = np.tile(np.arange(len(second)), len(first))
    a, b = first.take(left), second.take(right)
    shared = set(a.factors) & set(b.factors)
    if shared:
        raise TermsError(
            "same-factor",
            f"{first.id} and {second.id} both set the same factor.",
            given=", ".join(sorted(shared)),
            hint="use lists whose groups differ, or rename a column",
        )
    return Terms(
        id=f"{first.id} × {second.id}",
        kind=first.kind,
        terms=tuple(f"{x} × {y}" for x, y in zip(a.terms, b.terms, strict=True)),
        factors={**a.factors, **b.factors},
        chances={**a.chances, **b.chances},
        forms={**b.forms, **a.forms},
        source=f"{first.source}; {second.source}",
        licence=f"{first.licence}; {second.licence}",
    )


make_callable(__name__)

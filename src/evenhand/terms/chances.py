"""How surely a term is of the group that it is listed in: the columns of a list that say so.

Written as ``race:white``, ``race:black``, … or ``p_white``, ``p_black``, …, the chance of every group; or as
``race_chance`` (``chance`` where there is one attribute), that of the group which the term is listed in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evenhand._errors import TermsError
from evenhand._model import BoolArray, Factor, FloatArray

ANOTHER = "another group"
"""What is left where the chances of a term do not add up to 1."""
NEAR_ONE = 0.02
"""How far chances may be from adding up to 1, by the digits that they are given with."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TermChances:
    """The chance that each term is of each group of one attribute.

    Args:
        levels: the k groups.
        values: (n, k), rows that add up to 1; NaN where a term is of no group of the attribute.
        own: (n,) of the group that each term is listed in.
        whole: whether the chances of all groups are known, which is needed to correct for them.
    """

    levels: tuple[str, ...]
    values: FloatArray
    own: FloatArray
    whole: bool = True

    def take(self, rows: Sequence[int] | np.ndarray[tuple[int], np.dtype[np.intp]]) -> TermChances:
        """The same of these terms only."""
        index = np.asarray(rows, dtype=np.intp)
        return TermChances(
            levels=self.levels, values=self.values[index], own=self.own[index], whole=self.whole
        )


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Which columns of a list hold chances: attribute → group → column, and attribute → column."""

    of_groups: Mapping[str, Mapping[str, str]]
    of_own: Mapping[str, str]

    @property
    def all(self) -> frozenset[str]:
        """Every one of them."""
        named = [column for groups in self.of_groups.values() for column in groups.values()]
        return frozenset([*named, *self.of_own.values()])


def chance_columns(columns: Sequence[str], rows: Mapping[str, Sequence[str]], name: str) -> Columns:
    """The columns of chances among those that are neither the term nor a form of it.

    Args:
        columns: their names. rows: column → cells. name: of the list.

    Raises:
        TermsError: `term-chances`, where it cannot be told of which attribute a column is.

    >>> found = chance_columns(["race", "p_white", "p_black"], {"race": ["white", "black"]}, "mine.csv")
    >>> dict(found.of_groups["race"])
    {'white': 'p_white', 'black': 'p_black'}
    """
    groups: dict[str, dict[str, str]] = {}
    own: dict[str, str] = {}
    marked = {c: c.partition(":") for c in columns if ":" in c.strip(":")}
    for column, (attribute, _, level) in marked.items():
        groups.setdefault(attribute.strip(), {})[level.strip()] = column
    plain = [c for c in columns if c not in marked]
    short = {c: c[2:] for c in plain if c.lower().startswith("p_") and len(c) > 2}
    said = {c: c[: -len("chance")].rstrip("_ ") for c in plain if c.lower().endswith("chance")}
    factors = [c for c in plain if c not in short and c not in said]
    known = {f: {cell for cell in rows[f] if cell} for f in factors}
    for column, level in short.items():
        homes = [f for f in factors if level in known[f]]
        groups_of = homes or [f for f in factors if any(other in known[f] for other in short.values())]
        if len(groups_of) != 1:
            raise _unclear(column, factors, name)
        groups.setdefault(groups_of[0], {})[level] = column
    for column, attribute in said.items():
        homes = [attribute] if attribute in factors else factors if not attribute else []
        if len(homes) != 1:
            raise _unclear(column, factors, name)
        own[homes[0]] = column
    return Columns(of_groups=groups, of_own={f: c for f, c in own.items() if f not in groups})


def _unclear(column: str, factors: Sequence[str], name: str) -> TermsError:
    return TermsError(
        "term-chances",
        f"It cannot be told of which attribute the column {column!r} of {name} has the chances.",
        given=column,
        expected="race:white, race:black, … for the chances of all groups, or race_chance for that of the"
        " group a term is listed in",
        available=list(factors),
    )


def with_chances(
    factors: Mapping[str, Factor], found: Columns, rows: Mapping[str, Sequence[str]], terms: Sequence[str]
) -> tuple[dict[str, Factor], dict[str, TermChances]]:
    """The attributes, with those that only have chances (a term is of its likeliest group), and the chances.

    Raises:
        TermsError: `term-chances`, where they are no chances, or not those of the groups that terms are in.
    """
    made, chances = dict(factors), {}
    for attribute, columns in found.of_groups.items():
        levels = tuple(columns)
        values = np.array([_numbers(rows[c], c, terms) for c in columns.values()]).T
        if attribute not in made:
            made[attribute] = Factor.of(_likeliest(values, levels))
        factor = made[attribute]
        if lacking := [level for level in factor.levels if level not in levels]:
            raise TermsError(
                "term-chances",
                f"Some terms are listed as {', '.join(lacking)}, and no column has the chance of it.",
                given=", ".join(columns.values()),
                expected=", ".join(f"{attribute}:{level}" for level in (*levels, *lacking)),
            )
        chances[attribute] = _whole(attribute, factor, levels, values, terms)
    for attribute, column in found.of_own.items():
        own = _numbers(rows[column], column, terms)
        chances[attribute] = _of_own(made[attribute], own, column, terms)
    return made, chances


def _whole(
    attribute: str, factor: Factor, levels: tuple[str, ...], values: FloatArray, terms: Sequence[str]
) -> TermChances:
    listed = factor.codes >= 0
    values = np.where(listed[:, None], values, np.nan)
    _require(~listed | np.isfinite(values).all(axis=1), values, terms, f"the chances of {attribute}")
    rest = 1.0 - values.sum(axis=1)
    _require(~listed | (rest >= -NEAR_ONE), values, terms, f"the chances of {attribute}, together,")
    if (rest[listed] > NEAR_ONE).any():
        levels, values = (*levels, ANOTHER), np.column_stack([values, np.maximum(rest, 0.0)])
    values = values / values.sum(axis=1, keepdims=True)
    own = np.full(len(values), np.nan)
    where = np.array([levels.index(level) for level in factor.levels], dtype=np.intp)
    own[listed] = values[listed, where[factor.codes[listed]]]
    return TermChances(levels=levels, values=values, own=own)


def _of_own(factor: Factor, own: FloatArray, column: str, terms: Sequence[str]) -> TermChances:
    """Of two groups, what is left is the chance of the other; of more, nobody says whose it is."""
    listed = factor.codes >= 0
    own = np.where(listed, own, np.nan)
    _require(~listed | np.isfinite(own), own[:, None], terms, column)
    levels = factor.levels
    values = np.full((len(own), len(levels)), np.nan)
    values[listed] = ((1.0 - own[listed]) / max(len(levels) - 1, 1))[:, None]
    values[listed, factor.codes[listed]] = own[listed]
    return TermChances(levels=levels, values=values, own=own, whole=len(levels) == 2)


def _likeliest(values: FloatArray, levels: Sequence[str]) -> list[str | None]:
    """The group of each term; None where there are no chances, or no likeliest."""
    found: list[str | None] = []
    for row in values:
        most = np.flatnonzero(row == row.max()).tolist()  # none of NaN
        found.append(levels[most[0]] if len(most) == 1 else None)
    return found


def _numbers(cells: Sequence[str], column: str, terms: Sequence[str]) -> FloatArray:
    values = np.full(len(cells), np.nan)
    for i, cell in enumerate(cells):
        try:
            values[i] = float(cell) if cell else np.nan
        except ValueError:
            values[i] = np.inf
    wrong = ~np.isnan(values) & ~((values >= 0) & (values <= 1))
    if wrong.any():
        first = int(np.argmax(wrong))
        raise TermsError(
            "term-chances",
            f"The column {column!r} has chances, and {int(wrong.sum())} of them are none.",
            given=f"{terms[first]}: {cells[first]}",
            expected="numbers from 0 to 1",
            hint="per cent are divided by 100",
        )
    return values


def _require(fine: BoolArray, values: FloatArray, terms: Sequence[str], what: str) -> None:
    if not fine.all():
        first = int(np.argmin(fine))
        given = ", ".join("nothing" if np.isnan(v) else f"{v:g}" for v in values[first])
        raise TermsError(
            "term-chances",
            f"{int((~fine).sum())} terms have a group, but {what} are not those of a term that has one.",
            given=f"{terms[first]}: {given}",
            expected="a number from 0 to 1 for each group, which together are no more than 1",
        )

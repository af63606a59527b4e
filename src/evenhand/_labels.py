"""What groups are called: the only place that knows how "sex=F" and "sex & race=F & black" are written.

Inside an audit a side carries its `Label`; results hold the text of it. Names and levels are the user's own,
so they may hold "=" and "&" themselves (one-hot columns are named "sex=F"): a text is never taken apart to
find a group again.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product, takewhile

import numpy as np

from evenhand._model import Factor

CROSS = " & "
OTHERS = "all others"
"""The level that stands for every other group of an attribute."""
UNKNOWN = "(missing)"
"""The level of rows whose group is not known, where they are a group of their own."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """What people are told apart by: one column, or several crossed.

    >>> str(Attribute(("sex", "race"))), Attribute(("R & D",)).crossed
    ('sex & race', False)
    """

    names: tuple[str, ...]

    def __str__(self) -> str:
        return CROSS.join(self.names)

    @property
    def crossed(self) -> bool:
        """Whether it combines several columns."""
        return len(self.names) > 1


@dataclass(frozen=True, slots=True)
class Label:
    """One side of a comparison.

    Args:
        attribute: what it is a group of; None for a side that is no group ("everyone", "background").
        parts: its level of each of the attribute's columns.

    >>> black = Label.of("race", "black")
    >>> str(black), black.level, str(Label(Attribute(("sex", "race")), ("F", "black")))
    ('race=black', 'black', 'sex & race=F & black')
    >>> str(Label.named("everyone"))
    'everyone'
    """

    attribute: Attribute | None
    parts: tuple[str, ...]

    @classmethod
    def of(cls, name: str, level: str) -> Label:
        """A level of one column."""
        return cls(Attribute((name,)), (level,))

    @classmethod
    def named(cls, text: str) -> Label:
        """A side that is no group of an attribute."""
        return cls(None, (text,))

    @property
    def level(self) -> str:
        """The side without its attribute, as a reader calls it."""
        return CROSS.join(self.parts)

    def __str__(self) -> str:
        return self.level if self.attribute is None else f"{self.attribute}={self.level}"

    def answers_to(self, name: str) -> bool:
        """Whether a user's word names this side: its level, or all of it."""
        return name in (self.level, str(self))


@dataclass(frozen=True, slots=True)
class Grouped:
    """An attribute, the level of every row, and how each level is made up.

    Args:
        factor: (n,) levels. parts: for each level of the factor its level of each of the attribute's columns.
    """

    attribute: Attribute
    factor: Factor
    parts: tuple[tuple[str, ...], ...]

    @property
    def labels(self) -> list[Label]:
        """The label of each level, in the order of the factor."""
        return [Label(self.attribute, own) for own in self.parts]


def grouping(name: str, factor: Factor) -> Grouped:
    """The levels of one column."""
    return Grouped(Attribute((name,)), factor, tuple((level,) for level in factor.levels))


def groupings(groups: Mapping[str, Factor], *, crossing: bool = False) -> list[Grouped]:
    """Every column; with `crossing` also all of them combined, where there are several.

    >>> found = groupings({"sex": Factor.of("FM"), "race": Factor.of("xx")}, crossing=True)
    >>> [str(label) for label in found[-1].labels]
    ['sex & race=F & x', 'sex & race=M & x']
    """
    single = [grouping(name, factor) for name, factor in groups.items()]
    return [*single, crossed(groups)] if crossing and len(groups) > 1 else single


MOST_TALLIED = 1 << 16
"""Possible combinations that are counted in a table; more are sorted."""


def crossed(groups: Mapping[str, Factor]) -> Grouped:
    """The intersection of several columns: one level for each combination that occurs."""
    sizes = [len(f.levels) for f in groups.values()]
    codes = np.zeros(len(next(iter(groups.values()))), dtype=np.int64)
    known = np.ones(len(codes), dtype=bool)
    for factor, size in zip(groups.values(), sizes, strict=True):
        codes = codes * size + np.maximum(factor.codes, 0)
        known &= factor.codes >= 0
    out = np.full(len(codes), -1, dtype=np.int32)
    if (many := math.prod(max(size, 1) for size in sizes)) <= MOST_TALLIED:
        some = codes if known.all() else codes[known]
        occurs = np.bincount(some, minlength=many) > 0
        found, inverse = np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[some]
    else:
        found, inverse = np.unique(codes[known], return_inverse=True)
    out[known] = inverse
    places = np.unravel_index(found, [max(size, 1) for size in sizes])
    parts = tuple(
        tuple(f.levels[int(at)] for f, at in zip(groups.values(), row, strict=True))
        for row in zip(*places, strict=True)
    )
    return Grouped(Attribute(tuple(groups)), Factor(out, tuple(CROSS.join(p) for p in parts)), parts)


def attributes_of(groups: Sequence[str], known: Collection[str] = ()) -> dict[str, tuple[str, ...]]:
    """Attribute → its columns. ``race*gender`` is race, gender, and their intersection; what is itself among
    the `known` columns is one.

    >>> attributes_of(["race*gender", "age"])
    {'race': ('race',), 'gender': ('gender',), 'race & gender': ('race', 'gender'), 'age': ('age',)}
    """
    found: dict[str, tuple[str, ...]] = {}
    for name in groups:
        columns = (name,) if name in known else tuple(part.strip() for part in name.split("*"))
        columns = tuple(dict.fromkeys(columns))
        found |= {column: (column,) for column in columns}
        found[CROSS.join(columns)] = columns
    return found


def grouping_among(name: str, groups: Mapping[str, Factor]) -> Grouped:
    """One of several attributes; an intersection of others among them knows how its levels are made up.

    >>> both = {"a": Factor.of("xy"), "b": Factor.of("pq"), "a & b": Factor.of(["x & p", "y & q"])}
    >>> grouping_among("a & b", both).parts
    (('x', 'p'), ('y', 'q'))
    """
    whole = grouping(name, groups[name])
    sizes = range(2, len(groups))
    columns = next((c for k in sizes for c in combinations(groups, k) if CROSS.join(c) == name), ())
    if not columns:
        return whole
    made = {CROSS.join(parts): parts for parts in product(*(groups[c].levels for c in columns))}
    if not all(level in made for level in whole.factor.levels):
        return whole
    return Grouped(Attribute(columns), whole.factor, tuple(made[level] for level in whole.factor.levels))


def natural(level: str) -> tuple[int, float, str]:
    """Numbers by size, then text."""
    try:
        return 0, float(level), level
    except ValueError:
        return 1, 0.0, level


def in_natural_order(labels: Iterable[Label]) -> list[Label]:
    """Labels as reports order them: part by part, numbers by size, then text, the missing last.

    >>> [l.level for l in in_natural_order(Label.of("a", v) for v in ("b", "10", "9", UNKNOWN))]
    ['9', '10', 'b', '(missing)']
    """
    return sorted(labels, key=lambda label: [(part == UNKNOWN, natural(part)) for part in label.parts])


def spoken(group: str, reference: str, family: str = "") -> tuple[str, str, str]:
    """(attribute, group, reference) of two sides as a result's file holds them, for display only.

    The two share their attribute, so it is what both begin with, up to an "="; where there are several, the
    last that the family of claims, which mostly is named after the attribute, begins with too.

    >>> spoken("race=black", "race=white"), spoken("sex=F=1", "sex=F=0")
    (('race', 'black', 'white'), ('sex=F', '1', '0'))
    >>> spoken("side=a=b", "side=a=c", "side, widest gap"), spoken("race=black", "background")
    (('side', 'a=b', 'a=c'), ('race', 'black', 'background'))
    """
    shared = takewhile(lambda both: both[0] == both[1], zip(group, reference, strict=False))
    places = [at for at, (sign, _) in enumerate(shared) if sign == "="]
    if not places:
        attribute, sign, level = group.partition("=")
        return (attribute, level, reference) if sign else ("", group, reference)
    at = max((at for at in places if family.startswith(group[:at])), default=places[-1])
    return group[:at], group[at + 1 :], reference[at + 1 :]


def levels_alone(names: Sequence[str]) -> list[str]:
    """Names of sides without the attribute that all of them share; what is no side of it stays as it is.

    >>> levels_alone(["race=black", "race=white", "everyone"]), levels_alone(["sex=F", "race=black"])
    (['black', 'white', 'everyone'], ['sex=F', 'race=black'])
    """
    attributes = {name.partition("=")[0] for name in names if "=" in name}
    if len(attributes) != 1:
        return list(names)
    start = f"{attributes.pop()}="
    return [name.removeprefix(start) for name in names]


def named_level(word: str, attributes: Sequence[str]) -> tuple[str, str] | None:
    """(attribute, level) of ``"race=white"``; None where the word begins with none of the attributes.

    >>> named_level("race=white", ["sex", "race"]), named_level("sex=F=1", ["sex", "sex=F"])
    (('race', 'white'), ('sex=F', '1'))
    >>> named_level("race*sex=white & F", ["race & sex"])
    ('race & sex', 'white & F')
    """
    for name in sorted(attributes, key=len, reverse=True):
        for written in (name, name.replace(CROSS, "*")):
            if word.startswith(f"{written}="):
                return name, word[len(written) + 1 :]
    return None


def name_of(word: str, attributes: Sequence[str]) -> str:
    """The attribute that a word names: ``race*gender`` is ``race & gender``."""
    return next((a for a in attributes if a.replace(CROSS, "*") == word), word)


def references(given: str | Mapping[str, str] | None, attributes: Sequence[str]) -> dict[str, str]:
    """Attribute → level of the group that others are held against; a bare level is one of the first
    attribute.

    >>> references("white", ["race"]), references("sex=M", ["race", "sex"])
    ({'race': 'white'}, {'sex': 'M'})
    """
    if given is None:
        return {}
    if not isinstance(given, str):
        return {name_of(str(k), attributes): str(v) for k, v in given.items()}
    found = named_level(given, attributes)
    return dict([found]) if found is not None else {attributes[0]: given} if attributes else {}

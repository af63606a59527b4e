"""What rows were drawn from: kinds of units as a user names them, nested, crossed, or copied."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from evenhand._errors import UsageError
from evenhand._model import Factor, FloatArray, IntArray
from evenhand._recurring import alike
from evenhand.stats.blocks import pairs_of, rows_by_unit


@dataclass(frozen=True, kw_only=True)
class Samples:
    """The kinds of units that claims generalise over.

    Args:
        names: of the units. factors: their codes, where copies were found to be one unit.
        told: (slug, sentence, whether it is a warning) of what a reader should know.
    """

    names: tuple[str, ...]
    factors: Mapping[str, Factor]
    told: tuple[tuple[str, str, bool], ...] = ()


def path_of(unit: str, columns: Container[str]) -> tuple[str, ...]:
    """The columns of a unit, the widest first; a column whose own name holds a slash is that column.

    >>> path_of("family/text", ["family", "text"]), path_of("a/b", ["a/b"])
    (('family', 'text'), ('a/b',))
    """
    return (unit,) if unit in columns else tuple(unit.split("/"))


def samples_among(
    factors: Mapping[str, Factor], paths: Sequence[Sequence[str]], times: IntArray | None = None
) -> Samples:
    """The widest unit of each path, without those that another one contains.

    Args:
        factors: name → unit of each row. paths: as of `path_of`. times: how many rows each stands for; None
            for one.

    Raises:
        UsageError: `units-order` where a path is nested the other way round.

    >>> text, family = Factor.of(["a", "b", "c", "d"]), Factor.of(["x", "x", "y", "y"])
    >>> samples_among({"text": text, "family": family}, [("family", "text")]).names
    ('family',)
    """
    told: list[tuple[str, str, bool]] = []
    for path in paths:
        for outer, inner in pairwise(path):
            told += _nested(outer, inner, factors)
    names = list(dict.fromkeys(path[0] for path in paths))
    for name in list(names):
        container = next((o for o in names if o != name and _contains(factors[o], factors[name])), None)
        if container is not None:
            names.remove(name)
            said = f"Each {name} belongs to one {container}: {container} is the unit, {name} no further one."
            told.append(("units-nested", said, False))
    if len(names) == 1 and factors[names[0]].codes.max(initial=0) > 0:
        only = factors[names[0]]
        counts = rows_by_unit(only.codes, None, len(only.levels))
        if times is not None:
            counts = np.bincount(_codes(only), times[only.codes >= 0]).astype(np.int64)
        if counts.max() == 1:
            said = f"No value of {names[0]} has two rows: the {len(counts)} rows are independent."
            told.append(("unit-never-repeats", said, False))
    return Samples(names=tuple(names), factors=factors, told=tuple(told))


def without_copies(
    samples: Samples, groups: Sequence[IntArray], scores: Sequence[FloatArray], nested: str | None
) -> Samples:
    """The samples once units that are exact copies of one another are one unit.

    Two texts are copies where all their rows are the same in groups, names and real scores. Without units,
    rows that are copies are the units.

    Args:
        nested: the unit whose levels belong to one group each (names): its levels are never copies, since a
            subject may treat many names alike.
    """
    factors, told = dict(samples.factors), list(samples.told)
    for name in samples.names or ("row",):
        if name == nested:
            continue
        others = [factors[o].codes for o in samples.names if o != name]
        rows = len(groups[0]) if groups else 0
        factor = factors.get(name) or Factor(np.arange(rows), tuple(map(str, range(rows))))
        merged = alike(factor.codes, [*groups, *others], scores)
        if merged is None:
            continue
        kept = np.unique(merged[merged >= 0])
        factors[name] = Factor(np.searchsorted(kept, merged), tuple(factor.levels[k] for k in kept.tolist()))
        factors[name] = Factor(np.where(merged < 0, -1, factors[name].codes), factors[name].levels)
        n = len(np.unique(_codes(factor)))
        said = (
            f"{n - len(kept)} of {n} {name}s repeat another one in every score: the {len(kept)} different"
            " ones are the units, and copies add no evidence."
        )
        told.append(("copies", said, True))
    names = samples.names or (("row",) if "row" in factors and "row" not in samples.factors else ())
    return Samples(names=names, factors=factors, told=tuple(told))


def _codes(factor: Factor) -> IntArray:
    return factor.codes[factor.codes >= 0]


def _pairs(outer: Factor, inner: Factor) -> tuple[int, int, int]:
    """(different pairs, outer levels, inner levels) among rows that have both."""
    wide = rows_by_unit(outer.codes, inner.codes >= 0, len(outer.levels))
    fine = rows_by_unit(inner.codes, outer.codes >= 0, len(inner.levels))
    return pairs_of(outer.codes, inner.codes), int(np.count_nonzero(wide)), int(np.count_nonzero(fine))


def _contains(outer: Factor, inner: Factor) -> bool:
    """Whether each of several inner units belongs to one of fewer (but at least two) outer units."""
    pairs, wide, fine = _pairs(outer, inner)
    return 2 <= wide < fine == pairs


def _nested(outer: str, inner: str, factors: Mapping[str, Factor]) -> list[tuple[str, str, bool]]:
    pairs, wide, fine = _pairs(factors[outer], factors[inner])
    if pairs == fine:
        return [
            (
                "units-nested",
                f"{fine} values of {inner} belong to {wide} of {outer}: {outer} is the unit.",
                False,
            )
        ]
    if pairs == wide:
        raise UsageError(
            "units-order",
            f"each {outer} belongs to one {inner}, not the other way round",
            given=f"{outer}/{inner}",
            expected=f"{inner}/{outer}: the widest unit first",
        )
    said = (
        f"Values of {inner} recur in several of {outer}; each is read as another {inner} there, and {outer}"
        f" is the unit. If {inner} and {outer} are crossed, name them apart."
    )
    return [("units-recur", said, True)]

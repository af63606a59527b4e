"""How recorded scores are read: any table, or Amazon Comprehend's output, becomes observations."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._analysis import Analysis
from evenhand._errors import DataError, UsageError
from evenhand._labels import crossed
from evenhand._model import Factor, FloatArray, IntArray, Observations
from evenhand._table import factor, numbers, read_table, require, text_column
from evenhand._units import path_of, samples_among, without_copies
from evenhand.audits.scores.sides import LABEL
from evenhand.stats.crossed import MOST_UNITS
from evenhand.subjects.comprehend_files import is_comprehend, read_comprehend

if TYPE_CHECKING:
    import pyarrow as pa

YES_AND_NO = (
    ("0", "1"),
    ("0.0", "1.0"),
    ("false", "true"),
    ("no", "yes"),
    ("nontoxic", "toxic"),
    ("negative", "positive"),
    ("bad", "good"),
)
"""The ways in which a column of labels may be written, no first."""


@dataclass(frozen=True, kw_only=True)
class ScoreColumns:
    """Which columns of a table hold what; the names are those of the audit's keywords.

    `groups`: attribute → its columns, several where they are crossed.
    """

    scores: tuple[str, ...]
    groups: Mapping[str, tuple[str, ...]]
    units: tuple[str, ...] = ()
    strata: str | None = None
    labels: str | None = None
    weight: str | None = None
    classes: tuple[str, ...] = ()


def table_of(data: Any, probes: str | os.PathLike[str] | None) -> pa.Table:
    """Whatever people have as a table."""
    if isinstance(data, str | os.PathLike) and is_comprehend(Path(data)):
        return read_comprehend(Path(data), None if probes is None else Path(probes))
    return read_table(data)


def observations_of(table: pa.Table, roles: ScoreColumns) -> Observations:
    """The columns that play a role; what is no number stands as NaN among the scores."""
    optional = [name for name in (roles.strata, roles.labels, roles.weight) if name is not None]
    units = [name for unit in roles.units for name in path_of(unit, table.column_names)]
    known = dict.fromkeys(column for columns in roles.groups.values() for column in columns)
    for name in (*roles.scores, *roles.classes, *known, *units, *optional):
        require(table, name)
    columns = {name: _finite(numbers(table, name)) for name in (*roles.scores, *roles.classes)}
    if roles.labels is not None:
        columns[LABEL] = _binary(table, roles.labels)
    kept = (*units, *([roles.strata] if roles.strata else []))
    return Observations(
        columns=columns,
        groups=_groups({name: factor(table, name) for name in known}, roles.groups),
        units={name: factor(table, name) for name in kept},
        weight=None if roles.weight is None else numbers(table, roles.weight),
    )


def _groups(known: Mapping[str, Factor], wanted: Mapping[str, tuple[str, ...]]) -> dict[str, Factor]:
    return {
        name: crossed({c: known[c] for c in columns}).factor if len(columns) > 1 else known[name]
        for name, columns in wanted.items()
    }


def _finite(values: FloatArray) -> FloatArray:
    return np.where(np.isfinite(values), values, np.nan)


def _binary(table: pa.Table, name: str) -> FloatArray:
    texts = [None if t is None else t.strip().lower() for t in text_column(table, name)]
    seen = {t for t in texts if t is not None}
    for no, yes in YES_AND_NO:
        if seen <= {no, yes}:
            return np.array([np.nan if t is None else float(t == yes) for t in texts])
    raise DataError(
        "labels",
        f"the labels in {name!r} are not binary",
        given=", ".join(sorted(seen)[:6]),
        expected="0 and 1",
    )


def sampled(
    observations: Observations, roles: ScoreColumns, analysis: Analysis
) -> tuple[Observations, tuple[str, ...], str | None]:
    """(rows whose copies are one unit, the units that claims generalise over, that of them which is nested).

    Raises:
        UsageError: `units-order`, `too-many-units`.
    """
    found = samples_among(observations.units, [path_of(unit, observations.units) for unit in roles.units])
    if len(found.names) > MOST_UNITS:
        raise UsageError(
            "too-many-units",
            f"claims generalise over at most {MOST_UNITS} kinds of units",
            given=", ".join(found.names),
        )
    groups = [observations.groups[name].codes for name in roles.groups]
    nested = next(
        (u for u in found.names if all(_belongs(observations.units[u].codes, codes) for codes in groups)),
        None,
    )
    found = without_copies(found, groups, [observations.columns[name] for name in roles.scores], nested)
    for slug, said, warning in found.told:
        analysis.note(slug, said, warning=warning)
    return replace(observations, units=found.factors), found.names, nested


def _belongs(unit: IntArray, group: IntArray) -> bool:
    keep = (unit >= 0) & (group >= 0)
    one, two = unit[keep].astype(np.int64), group[keep].astype(np.int64)
    pairs = np.unique(one * (int(two.max(initial=0)) + 1) + two)
    return len(pairs) == len(np.unique(one))

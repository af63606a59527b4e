"""How recorded scores are read: any table, or Amazon Comprehend's output, becomes observations."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._errors import DataError
from evenhand._model import FloatArray, IntArray, Observations
from evenhand._table import factor, numbers, read_table, require, text_column
from evenhand.audits.scores.sides import LABEL
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
    """Which columns of a table hold what; the names are those of the audit's keywords."""

    scores: tuple[str, ...]
    groups: tuple[str, ...]
    units: tuple[str, ...] = ()
    strata: str | None = None
    labels: str | None = None
    weight: str | None = None


def table_of(data: Any, probes: str | os.PathLike[str] | None) -> pa.Table:
    """Whatever people have as a table."""
    if isinstance(data, str | os.PathLike) and is_comprehend(Path(data)):
        return read_comprehend(Path(data), None if probes is None else Path(probes))
    return read_table(data)


def observations_of(table: pa.Table, roles: ScoreColumns) -> Observations:
    """The columns that play a role; what is no number stands as NaN among the scores."""
    optional = [name for name in (roles.strata, roles.labels, roles.weight) if name is not None]
    for name in (*roles.scores, *roles.groups, *roles.units, *optional):
        require(table, name)
    columns = {name: _finite(numbers(table, name)) for name in roles.scores}
    if roles.labels is not None:
        columns[LABEL] = _binary(table, roles.labels)
    kept = (*roles.units, *([roles.strata] if roles.strata else []))
    return Observations(
        columns=columns,
        groups={name: factor(table, name) for name in roles.groups},
        units={name: factor(table, name) for name in kept},
        weight=None if roles.weight is None else numbers(table, roles.weight),
    )


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


def nested_unit(observations: Observations, roles: ScoreColumns) -> str | None:
    """The unit whose levels each belong to one group only (names), if any."""
    groups = [observations.groups[a].codes for a in roles.groups]
    for unit in roles.units:
        if all(_belongs(observations.units[unit].codes, codes) for codes in groups):
            return unit
    return None


def _belongs(unit: IntArray, group: IntArray) -> bool:
    keep = (unit >= 0) & (group >= 0)
    pairs = np.unique(np.column_stack([unit[keep], group[keep]]), axis=0)
    return len(pairs) == len(np.unique(unit[keep]))

"""How recorded scores are read: any table, or Amazon Comprehend's output, becomes observations."""

from __future__ import annotations

import os
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._analysis import Analysis
from evenhand._errors import DataError, UsageError
from evenhand._labels import crossed
from evenhand._model import Factor, FloatArray, IntArray, Observations
from evenhand._provenance import digest_of
from evenhand._table import factor, numbers, read_table, require, text_column
from evenhand._units import path_of, samples_among, without_copies
from evenhand.audits.scores.folded import MOST_LINES, Folding, cells_of
from evenhand.audits.scores.sides import LABEL
from evenhand.engines.doors import streamed
from evenhand.engines.streamed import Streamed
from evenhand.stats.blocks import pairs_of, rows_by_unit
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

    def factors(self, columns: Container[str]) -> tuple[list[str], list[str]]:
        """(columns of groups, columns of units and classes of texts), each once."""
        groups = dict.fromkeys(column for own in self.groups.values() for column in own)
        units = [name for unit in self.units for name in path_of(unit, columns)]
        return list(groups), list(dict.fromkeys([*units, *([self.strata] if self.strata else [])]))


@dataclass(frozen=True, kw_only=True)
class ScoreData:
    """What was handed over: a table, or what is read in pieces."""

    table: pa.Table | None = None
    large: Streamed | None = None

    @property
    def columns(self) -> Sequence[str]:
        """Its columns."""
        return self.large.columns if self.large is not None else self.table.column_names if self.table else ()

    def observations(self, roles: ScoreColumns, analysis: Analysis) -> Observations:
        """The columns that play a role; of large data as sums.

        Raises:
            DataError: as `observations_of`. UsageError: `streamed`.
        """
        if self.large is not None:
            return observations_of_sums(self.large, roles, analysis)
        return observations_of(self.table, roles)

    def digest(self, data: Any) -> str:
        """Of a file's bytes, or of the table."""
        if self.large is None:
            return digest_of(data, self.table)
        made = self.large.digests()
        return f"sha256:{made[0]}" if len(made) == 1 else digest_of(made) if made else "not taken"


def recorded(
    data: Any, probes: str | os.PathLike[str] | None, engine: str | None, *, labels: bool
) -> ScoreData:
    """Whatever people have: read whole, or in pieces where it is large or an engine is named.

    Args:
        labels: whether true labels play a role, which need all scores in order.

    Raises:
        DataError, UsageError: as `streamed`; `engine` for Comprehend's output.
    """
    if isinstance(data, str | os.PathLike) and is_comprehend(Path(data)):
        if engine is not None:
            said = "Amazon Comprehend's output is read whole, in this process"
            raise UsageError("engine", said, given=engine, expected="no engine= (--engine)")
        return ScoreData(table=table_of(data, probes))
    large = streamed(data, engine)
    if large is None or (labels and not large.only):
        return ScoreData(table=table_of(data, probes))
    if labels:
        raise UsageError(
            "streamed",
            "AUCs of true labels (labels=, --label) need all scores in order, and these are streamed",
            hint="leave the labels out, or audit a sample of the rows: one file, without --engine",
        )
    return ScoreData(large=large)


def observations_of_sums(large: Streamed, roles: ScoreColumns, analysis: Analysis) -> Observations:
    """Large data as lines, each for all rows of the same groups, units, class and weight.

    Raises:
        DataError: as `observations_of`, and `different-columns`. UsageError: `streamed` where these are
            nearly as many as rows.
    """
    groups, units = roles.factors(large.columns)
    how = Folding(
        keys=tuple(dict.fromkeys((*groups, *units))),
        scores=tuple(dict.fromkeys((*roles.scores, *roles.classes))),
        weight=roles.weight,
        tallied=not roles.units,
    )
    large.check(how.all())
    cells = large.total(partial(cells_of, how))
    if cells.full:
        raise UsageError(
            "streamed",
            f"the rows have more than {MOST_LINES:,} combinations of groups, units and weight, each of which"
            " is held",
            hint="name fewer or wider units (--unit), or audit a sample of the rows",
        )
    lines, weight, folded = cells.settle(), cells.weight(), cells.folded()
    factors = cells.factors(any_order=large.any_order)
    if not cells.rows:
        raise DataError("empty-file", "there are no rows", given=large.name)
    said = f"{cells.rows:,} rows were streamed, as {len(lines):,} combinations of groups, units and weight."
    left = (
        " Means, intervals and p-values are those of all rows. Left out, since they need all rows at once:"
        " the distribution of scores, which rows or units are copies of others, and without units their"
        " diagnostics."
    )
    analysis.note("streamed", said + (left if folded else " Each is one row, so nothing is left out."))
    sums = lines.count if weight is None else weight * lines.count
    return Observations(
        columns={name: own.mean for name, own in lines.sums.items()},
        groups=_groups({name: factors[name] for name in groups}, roles.groups),
        units={name: factors[name] for name in units},
        weight=None if weight is None and not folded else sums.astype(float),
        folded=folded,
    )


def table_of(data: Any, probes: str | os.PathLike[str] | None) -> pa.Table:
    """Whatever people have as a table."""
    if isinstance(data, str | os.PathLike) and is_comprehend(Path(data)):
        return read_comprehend(Path(data), None if probes is None else Path(probes))
    return read_table(data)


def observations_of(table: pa.Table, roles: ScoreColumns) -> Observations:
    """The columns that play a role; what is no number stands as NaN among the scores."""
    optional = [name for name in (roles.labels, roles.weight) if name is not None]
    known, units = roles.factors(table.column_names)
    for name in (*roles.scores, *roles.classes, *known, *units, *optional):
        require(table, name)
    columns = {name: _finite(numbers(table, name)) for name in (*roles.scores, *roles.classes)}
    if roles.labels is not None:
        columns[LABEL] = _binary(table, roles.labels)
    return Observations(
        columns=columns,
        groups=_groups({name: factor(table, name) for name in known}, roles.groups),
        units={name: factor(table, name) for name in units},
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
    paths = [path_of(unit, observations.units) for unit in roles.units]
    found = samples_among(observations.units, paths, observations.count)
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
    if not observations.folded:
        scores = [observations.columns[name] for name in roles.scores]
        found = without_copies(found, groups, scores, nested)
    for slug, said, warning in found.told:
        analysis.note(slug, said, warning=warning)
    return replace(observations, units=found.factors), found.names, nested


def _belongs(unit: IntArray, group: IntArray) -> bool:
    units = rows_by_unit(unit, group >= 0, int(unit.max(initial=-1)) + 1)
    return pairs_of(unit, group) == int(np.count_nonzero(units))

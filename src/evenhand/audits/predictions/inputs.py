"""What the user handed over, however large: rows in memory, or a file that is streamed. Everything after
asks here."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from evenhand._analysis import Analysis
from evenhand._calendar import in_periods
from evenhand._errors import UsageError
from evenhand._model import FloatArray
from evenhand._provenance import digest_of
from evenhand._table import distinct, require
from evenhand._vocabulary import Positive
from evenhand.audits.predictions import class_cells, sources
from evenhand.audits.predictions.class_cells import Labelled
from evenhand.audits.predictions.roles import (
    MOST_PERIODS,
    Column,
    Columns,
    Intake,
    Named,
    Progress,
    Roles,
    gather,
    unit_of,
)
from evenhand.audits.predictions.rows import Rows, rows_of
from evenhand.audits.predictions.sources import Numbers, Source
from evenhand.audits.predictions.units import by_chances, check_chances, in_units, withhold_of_copies
from evenhand.engines.doors import streamed
from evenhand.engines.streamed import Streamed

if TYPE_CHECKING:
    import pyarrow as pa

Exposed: TypeAlias = Callable[[FloatArray, FloatArray | None], FloatArray]
PIECE = 1 << 16
"""Rows whose values are looked at together."""
MOST_DIGEST = 200_000
"""Rows of a frame up to which its contents are digested; a file's bytes always are."""


@dataclass(frozen=True, kw_only=True)
class Input:
    """Data and the roles of its columns.

    Args:
        table: all rows, or None where `large` is a file to stream.
    """

    named: Named
    table: pa.Table | None
    large: Streamed | None
    intake: Intake

    def head(self) -> pa.Table:
        """All rows, or the first batch of a streamed file."""
        return self.table if self.large is None else self.large.head([self.named.y_pred])

    def distinct(self, name: str, most: int) -> list[Any] | None:
        """The values of all of a column, in the order of their appearance; None where there are more."""
        if self.large is not None:
            return self.large.distinct(name, most)
        column = require(self.table, name)
        return distinct((column.slice(at, PIECE) for at in range(0, len(column), PIECE)), most)

    @cached_property
    def _numbers(self) -> Rows:
        return self._rows(labels=False).with_tau(self.intake.tau)

    @cached_property
    def _labels(self) -> Rows:
        return self._rows(labels=True)

    def _rows(self, *, labels: bool) -> Rows:
        how = self.intake
        rows = rows_of(self.table, self.named, missing=how.missing, analysis=how.analysis, labels=labels)
        rows = in_units(rows, self.named.unit, how.analysis)
        return by_chances(rows, self.named, how.analysis) if self.named.chances else rows

    def rows(self, *, labels: bool = False) -> Rows:
        """The validated rows in memory."""
        return self._labels if labels else self._numbers

    def numbers(self, quantiles: Sequence[float], *, exposed: Exposed | None = None) -> Numbers:
        """Numeric predictions, summed by group.

        Args:
            exposed: (predictions, weights) → the exposure of each row, for a ranking.
        """
        if self.large is not None:
            return sources.from_file(self.large, self.named, quantiles, self._over_passes)
        rows = self.rows()
        if exposed is not None:
            rows = rows.with_column("exposure", exposed(rows.columns["y_pred"], rows.weight))
        return sources.from_rows(rows, quantiles, crossing=self.intake.crossing)

    def labelled(self, positive: Positive) -> Labelled:
        """Class labels, counted by group."""
        if self.large is not None:
            return class_cells.from_file(self.large, self.named, positive, self._over_passes)
        return class_cells.from_rows(self.rows(labels=True), positive, crossing=self.intake.crossing)

    @property
    def _over_passes(self) -> Intake:
        return replace(self.intake, progress=_over_passes(self.intake.progress))

    def counts(self, source: Source[Any]) -> dict[str, int]:
        """Rows read, used and left out."""
        return {"rows": source.used + source.left, "used": source.used, "left out": source.left}

    def counts_of(self, rows: Rows) -> dict[str, int]:
        """The same, of rows in memory."""
        return {"rows": rows.people + rows.dropped, "used": rows.people, "left out": rows.dropped}

    def digest(self, data: Any) -> str:
        """Of a file's bytes, or of a table that is not too long."""
        if self.large is not None:
            made = self.large.digests()
            return made[0][:16] if len(made) == 1 else digest_of(made) if made else "not taken"
        rows = 0 if self.table is None else self.table.num_rows
        file = isinstance(data, str | os.PathLike)
        return digest_of(data, self.table) if file or rows <= MOST_DIGEST else "not taken"


def not_streamed(what: str) -> UsageError:
    """The error of an audit that cannot be made of batches."""
    return UsageError(
        "streamed",
        f"{what} needs all rows at once, and these are streamed",
        hint="audit a sample of the rows; a file of up to 5 million is read whole without --engine",
    )


def from_user(data: Any, roles: Roles, intake: Intake) -> Input:
    """Rows in memory, or streamed data whose roles are all names of their columns; see `gather`.

    Raises:
        DataError, UsageError: as `gather` and `streamed`; `streamed`.
    """
    check_chances(roles, crossing=intake.crossing)
    large = streamed(data, intake.engine)
    if large is not None and (_plain(roles) or large.only):
        if not _plain(roles):
            raise not_streamed("an audit of arrays, or of a fitted model")
        made = Input(named=_names(large, roles), table=None, large=large, intake=intake)
        if roles.continuous:
            raise not_streamed("a continuous attribute")
        if unit_of(roles.units, large.columns) is not None:
            raise not_streamed("an audit of units (--unit)")
        if roles.search != ():
            raise not_streamed("a search for subgroups (--search)")
        if roles.count is not None:
            raise not_streamed("a table of counts (--count)")
        if roles.probabilities:
            raise not_streamed("an audit by chances of groups (--probability)")
        return made
    whole, named = gather(data, roles, everything=True)
    if named.count is not None:
        text = f"Rows are counts, in {named.count}: they stand for {whole.num_rows} people, one row each."
        intake.analysis.note("counted", text)
    elif roles.units is not False and named.unit is None:
        withhold_of_copies(whole, named, intake.analysis)
    if named.period is not None:
        whole = _in_periods(whole, named.period, intake.analysis)
    return Input(named=named, table=whole.select(named.all()), large=None, intake=intake)


def _in_periods(table: pa.Table, name: str, analysis: Analysis) -> pa.Table:
    """Days as months, quarters or years, where there are too many of them."""
    import pyarrow as pa

    put, unit = in_periods(table.column(name), MOST_PERIODS)
    if put is None:
        return table
    analysis.note("periods", f"The days of {name} are put together by {unit}.")
    return table.set_column(table.column_names.index(name), name, pa.array(put, pa.string()))


def _plain(roles: Roles) -> bool:
    """Whether every role is a column's name."""
    single = (roles.y_pred, roles.y_true, roles.y_score, roles.weight, roles.count, roles.lists, roles.period)
    several = (roles.groups, roles.control)
    return all(r is None or isinstance(r, str) for r in single) and not any(
        _texts(r) is None for r in several
    )


def _texts(value: Columns) -> tuple[str, ...] | None:
    """Names of columns, if all of it is names."""
    listed = (value,) if isinstance(value, str) else value if isinstance(value, list | tuple) else (None,)
    texts = tuple(x for x in listed if isinstance(x, str))
    return texts if len(texts) == len(listed) else None


def _text(value: Column | None) -> str | None:
    return value if isinstance(value, str) else None


def _names(large: Streamed, roles: Roles) -> Named:
    """The roles of columns of a large file, checked against its schema."""
    named = Named(
        y_pred=str(roles.y_pred),
        groups=_texts(roles.groups) or (),
        y_true=_text(roles.y_true),
        y_score=_text(roles.y_score),
        control=(*(_texts(roles.control) or ()), *([roles.period] if isinstance(roles.period, str) else [])),
        period=_text(roles.period),
        interval=None if roles.interval is None else (roles.interval[0], roles.interval[1]),
        weight=_text(roles.weight),
        lists=_text(roles.lists),
    )
    large.check(named.all())
    if not (named.groups or roles.probabilities):
        raise UsageError(
            "no-groups", "an audit compares groups, and none is named", hint="name one with groups= (--group)"
        )
    return named


def _over_passes(progress: Progress | None) -> Progress | None:
    """Rows read over all passes: each pass counts from 0."""
    if progress is None:
        return None
    before = last = 0

    def update(done: int, failed: int) -> None:
        nonlocal before, last
        before, last = (before + last if done <= last else before), done
        progress(before + done, failed)

    return update

"""What the user handed over, however large: rows in memory, or a file that is streamed. Everything after
asks here."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from evenhand._analysis import Analysis
from evenhand._errors import DataError, UsageError
from evenhand._model import FloatArray
from evenhand._provenance import digest_of
from evenhand.audits.predictions import class_cells, sources
from evenhand.audits.predictions.batches import Large, large_file
from evenhand.audits.predictions.class_cells import Labelled
from evenhand.audits.predictions.rows import Missing, Named, Rows, gather, rows_of
from evenhand.audits.predictions.sources import Numbers, Source

if TYPE_CHECKING:
    import pyarrow as pa

MOST_DIGEST = 200_000
"""Rows of a frame up to which its contents are digested; a file's bytes always are."""


@dataclass(frozen=True, kw_only=True)
class Input:
    """Data and the roles of its columns.

    Args:
        table: all rows, or None where `large` is a file to stream. tau: the quantile that a model predicts.
        missing: what becomes of rows without a value. progress: called with (rows read, 0).
    """

    named: Named
    table: pa.Table | None
    large: Large | None
    analysis: Analysis
    missing: Missing = "drop"
    tau: float | None = None
    progress: Callable[[int, int], None] | None = None

    def head(self) -> pa.Table:
        """All rows, or the first batch of a streamed file."""
        return self.table if self.large is None else self.large.head([self.named.y_pred])

    @cached_property
    def _numbers(self) -> Rows:
        return rows_of(self.table, self.named, missing=self.missing, analysis=self.analysis).with_tau(
            self.tau
        )

    @cached_property
    def _labels(self) -> Rows:
        return rows_of(self.table, self.named, missing=self.missing, analysis=self.analysis, labels=True)

    def rows(self, *, labels: bool = False) -> Rows:
        """The validated rows in memory."""
        return self._labels if labels else self._numbers

    def numbers(
        self,
        quantiles: list[float],
        *,
        crossing: bool,
        exposed: Callable[[FloatArray, Any], FloatArray] | None,
    ) -> Numbers:
        """Numeric predictions, summed by group.

        Args:
            exposed: (predictions, weights) → the exposure of each row, for a ranking.
        """
        if self.large is None:
            rows = self.rows()
            if exposed is not None:
                rows = rows.with_column("exposure", exposed(rows.columns["y_pred"], rows.weight))
            return sources.from_rows(rows, quantiles, crossing=crossing)
        return sources.from_file(
            self.large, self.named, quantiles, missing=self.missing, analysis=self.analysis, crossing=crossing,
            tau=self.tau, progress=_over_passes(self.progress),
        )  # fmt: skip

    def labelled(self, positive: Any, *, crossing: bool) -> Labelled:
        """Class labels, counted by group."""
        if self.large is None:
            return class_cells.from_rows(self.rows(labels=True), positive, crossing=crossing)
        return class_cells.from_file(
            self.large, self.named, positive, missing=self.missing, analysis=self.analysis, crossing=crossing,
            progress=_over_passes(self.progress),
        )  # fmt: skip

    def not_streamed(self, what: str) -> UsageError:
        """The error of an audit that cannot be made of batches."""
        return UsageError(
            "streamed",
            f"{what} needs all rows at once, and a file of this size is streamed",
            hint="audit a sample of its rows",
        )

    def counts(self, source: Source[Any]) -> dict[str, int]:
        """Rows read, used and left out."""
        return {"rows": source.used + source.left, "used": source.used, "left out": source.left}

    def counts_of(self, rows: Rows) -> dict[str, int]:
        """The same, of rows in memory."""
        return {"rows": len(rows) + rows.dropped, "used": len(rows), "left out": rows.dropped}

    def digest(self, data: Any) -> str:
        """Of a file's bytes, or of a table that is not too long."""
        if self.large is not None:
            return digest_of(self.large.path)
        rows = 0 if self.table is None else self.table.num_rows
        file = isinstance(data, str | os.PathLike)
        return digest_of(data, self.table) if file or rows <= MOST_DIGEST else "not taken"


def from_user(
    data: Any,
    analysis: Analysis,
    *,
    y_pred: Any,
    groups: Any,
    control: Any,
    continuous: Any,
    interval: tuple[str, str] | None,
    features: Any,
    missing: Missing,
    tau: float | None,
    progress: Callable[[int, int], None] | None,
    **roles: Any,
) -> Input:
    """The roles of columns, from names, arrays or a fitted model; see `gather`.

    Raises:
        DataError, UsageError: as `gather`; `streamed`.
    """
    large = large_file(data)
    settings: dict[str, Any] = {"missing": missing, "tau": tau, "progress": progress, "analysis": analysis}
    if large is not None and _plain(y_pred, groups, control, *roles.values()):
        named = _names(large, y_pred, groups, control, interval, roles)
        made = Input(named=named, table=None, large=large, **settings)
        if continuous:
            raise made.not_streamed("a continuous attribute")
        return made
    table, named = gather(
        data, y_pred=y_pred, groups=groups, control=control, continuous=continuous, interval=interval,
        features=features, **roles,
    )  # fmt: skip
    return Input(named=named, table=table, large=None, **settings)


def _plain(*roles: Any) -> bool:
    """Whether every role is a column's name."""
    return all(
        r is None
        or isinstance(r, str)
        or (isinstance(r, list | tuple) and all(isinstance(x, str) for x in r))
        for r in roles
    )


def _names(
    large: Large,
    y_pred: str,
    groups: Any,
    control: Any,
    interval: tuple[str, str] | None,
    roles: Mapping[str, Any],
) -> Named:
    """The roles of columns of a large file, checked against its schema."""
    named = Named(
        y_pred=y_pred,
        groups=(groups,) if isinstance(groups, str) else tuple(groups),
        control=(control,) if isinstance(control, str) else tuple(control),
        interval=None if interval is None else (interval[0], interval[1]),
        **roles,
    )
    available = large.columns
    for name in named.all():
        if list(available).count(name) > 1:
            raise DataError("duplicate-columns", "column names must be unique", given=name)
        if name not in available:
            raise DataError("missing-column", f"there is no column {name!r}", given=name, available=available)
    if not named.groups:
        raise UsageError(
            "no-groups", "an audit compares groups, and none is named", hint="name one with groups= (--group)"
        )
    return named


def _over_passes(progress: Callable[[int, int], None] | None) -> Callable[[int, int], None] | None:
    """Rows read over all passes: each pass counts from 0."""
    if progress is None:
        return None
    before = last = 0

    def update(done: int, failed: int) -> None:
        nonlocal before, last
        before, last = (before + last if done <= last else before), done
        progress(before + done, failed)

    return update

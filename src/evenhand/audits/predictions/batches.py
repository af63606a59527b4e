"""Rows that are read in partitions, on whichever machine: validated batch by batch, and what is said of them
added up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Self

from evenhand._analysis import Analysis
from evenhand.audits.predictions.roles import Missing, Named
from evenhand.audits.predictions.rows import Rows, check_groups, rows_of
from evenhand.engines import Partition
from evenhand.engines.streamed import Streamed


@dataclass(frozen=True, kw_only=True)
class Taking:
    """How rows are taken in, batch by batch.

    Args:
        labels: predictions and outcomes are class labels, not numbers. tau: the quantile that a model
            predicts.
    """

    named: Named
    missing: Missing
    labels: bool = False
    tau: float | None = None

    @property
    def numbers_only(self) -> Taking:
        """Without groups and controls, for passes that need none: they leave out the same rows."""
        return replace(self, named=replace(self.named, groups=(), control=()))

    @property
    def predictions_only(self) -> Taking:
        """Predictions and weights alone; of data of which no row is left out."""
        return replace(self, named=replace(self.numbers_only.named, y_true=None), tau=None)

    def look(self, large: Streamed) -> None:
        """What is wrong with a column, said of the first rows.

        Raises:
            DataError: as `rows`.
        """
        rows_of(
            large.head(self.named.all()),
            self.named,
            missing=self.missing,
            analysis=Analysis(),
            labels=self.labels,
            part=True,
        )

    def rows(self, part: Partition, taken: Taken | None = None) -> Iterator[Rows]:
        """Validated rows, a batch at a time; what is said of them is added to `taken`.

        Raises:
            DataError: as `rows_of`; `too-many-groups` also where all batches together have too many.
        """
        import pyarrow as pa

        for batch in part.read(self.named.all()):
            own = Analysis()
            table = pa.Table.from_batches([batch])
            rows = rows_of(
                table, self.named, missing=self.missing, analysis=own, labels=self.labels, part=True
            )
            if taken is not None:
                taken.take(table.num_rows, rows, own)
            yield rows.with_tau(self.tau)


@dataclass(kw_only=True)
class Taken:
    """What is said of rows, whichever batch they were in.

    Args:
        rows: read. used, left: kept, and left out. levels: attribute or control → its levels, in the order of
            their appearance. notes: (slug, what is said of some rows) → how many. absent: attribute → group →
            (rows without an outcome, all rows).
    """

    rows: int = 0
    used: int = 0
    left: int = 0
    levels: dict[str, dict[str, None]] = field(default_factory=dict)
    notes: dict[tuple[str, str], int] = field(default_factory=dict)
    absent: dict[str, dict[str, tuple[int, int]]] = field(default_factory=dict)

    def take(self, read: int, rows: Rows, found: Analysis) -> None:
        """Add a batch; its notes say "3 of 700 rows …"."""
        factors = {**rows.groups, **rows.control}
        counted = (
            (note.slug, match) for note in found.notes if (match := _COUNTED.match(note.text)) is not None
        )
        self._add(
            Taken(
                rows=read,
                used=len(rows),
                left=rows.dropped,
                levels={name: dict.fromkeys(factor.levels) for name, factor in factors.items()},
                notes={(slug, match[2]): int(match[1]) for slug, match in counted},
                absent={name: dict(counts) for name, counts in rows.absent.items()},
            )
        )

    def __add__(self, other: Self) -> Self:
        both = type(self)()
        both._add(self)
        both._add(other)
        return both

    def _add(self, other: Taken) -> None:
        self.rows, self.used, self.left = (
            self.rows + other.rows,
            self.used + other.used,
            self.left + other.left,
        )
        for name, levels in other.levels.items():
            self.levels.setdefault(name, {}).update(levels)
            check_groups(name, list(self.levels[name]), self.rows, part=True)
        for key, some in other.notes.items():
            self.notes[key] = self.notes.get(key, 0) + some
        for name, counts in other.absent.items():
            sums = self.absent.setdefault(name, {})
            for group, (missing, every) in counts.items():
                before = sums.get(group, (0, 0))
                sums[group] = before[0] + missing, before[1] + every

    def tell(self, analysis: Analysis) -> None:
        """The notes, of all rows."""
        for (slug, rest), some in self.notes.items():
            analysis.note(slug, f"{some} of {self.rows} {rest}", warning=True)


@dataclass(kw_only=True)
class Seen:
    """Which labels there are, in the order of their appearance; rows kept and left out, and their weight. It
    is `full` with more than `most` predicted labels."""

    most: int
    predicted: dict[str, None] = field(default_factory=dict)
    true: dict[str, None] = field(default_factory=dict)
    used: int = 0
    left: int = 0
    weight: float = 0.0

    @property
    def full(self) -> bool:
        """Whether there are too many to go on."""
        return len(self.predicted) > self.most

    def __add__(self, other: Self) -> Self:
        return replace(
            self,
            predicted=self.predicted | other.predicted,
            true=self.true | other.true,
            used=self.used + other.used,
            left=self.left + other.left,
            weight=self.weight + other.weight,
        )


def seen_in(taking: Taking, most: int, part: Partition) -> Seen:
    """The labels of a partition."""
    found = Seen(most=most)
    for rows in taking.rows(part):
        found = found + Seen(
            most=most,
            predicted=dict.fromkeys(rows.labels["y_pred"].levels),
            true=dict.fromkeys(rows.labels["y_true"].levels if "y_true" in rows.labels else ()),
            used=len(rows),
            left=rows.dropped,
            weight=len(rows) if rows.weight is None else float(rows.weight.sum()),
        )
        if found.full:
            break
    return found


_COUNTED = re.compile(r"(\d+) of \d+ (.*)", flags=re.DOTALL)

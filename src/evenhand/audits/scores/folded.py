"""Recorded scores that are never held: rows that agree in groups, units, class and weight are folded into one
line, with sums that add over any partitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from evenhand._labels import natural
from evenhand._model import Factor, FloatArray, Folded, IntArray
from evenhand._table import factor, numbers
from evenhand.engines import Partition

if TYPE_CHECKING:
    import pyarrow as pa

MOST_LINES = 20_000_000
"""Combinations of groups, units, class and weight beyond which nothing is folded."""
SETTLED = 1 << 20
"""Lines that may wait to be folded with the others."""
SPARSE = 16
"""Possible combinations for each line, beyond which nobody marks them."""
MOST_TALLIED = 6
"""Different values of a line that are counted one by one: with more of them, enough rows differ."""


Tallies: TypeAlias = tuple[Mapping[float, int] | None, ...]
"""Line by line: value → rows; None where there are more different ones."""


@dataclass(frozen=True, kw_only=True)
class Folding:
    """How rows are folded.

    Args:
        keys: columns of groups, units and classes. scores: columns of numbers. weight: column with case
            weights. tallied: whether values are counted, where every row is a unit of its own.
    """

    keys: tuple[str, ...]
    scores: tuple[str, ...]
    weight: str | None = None
    tallied: bool = False

    def all(self) -> list[str]:
        """Every column that is read."""
        return list(dict.fromkeys((*self.keys, *self.scores, *([self.weight] if self.weight else []))))


@dataclass(frozen=True, kw_only=True)
class LineSums:
    """Of one score on m lines; `within`, `low` and `high` are None where every line is one row."""

    mean: FloatArray
    within: FloatArray | None = None
    low: FloatArray | None = None
    high: FloatArray | None = None
    tallies: Tallies = ()

    def whole(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """(mean, within, low, high)."""
        if self.within is None or self.low is None or self.high is None:
            return self.mean, np.zeros(len(self.mean)), self.mean, self.mean
        return self.mean, self.within, self.low, self.high


Tally: TypeAlias = Callable[[LineSums, npt.NDArray[np.intp], int], Tallies]
"""(sums of some lines, which new line each is part of, how many there are) → tallies of the new ones."""


@dataclass(frozen=True, kw_only=True)
class Lines:
    """Folded rows.

    Args:
        codes: (k, m) of the keys, the weight and which scores are missing. count: (m,) rows of each.
    """

    codes: npt.NDArray[np.int32]
    count: npt.NDArray[np.int64]
    sums: Mapping[str, LineSums]

    def __len__(self) -> int:
        return int(self.codes.shape[1])


@dataclass(kw_only=True)
class Cells:
    """What partitions add up to.

    Args:
        levels: of each key, and of the weight, in the order of their appearance. ordered: keys that are
            floating numbers, whose levels are in the order of their size.
    """

    how: Folding
    levels: list[dict[Any, int]]
    ordered: set[int] = field(default_factory=set)
    rows: int = 0
    held: list[Lines] = field(default_factory=list)

    @classmethod
    def of(cls, how: Folding) -> Self:
        """Of no rows."""
        return cls(how=how, levels=[{} for _ in range(len(how.keys) + (how.weight is not None))])

    @property
    def full(self) -> bool:
        """Whether there are too many lines to go on."""
        return bool(self.held) and len(self.held[0]) > MOST_LINES

    def take(self, table: pa.Table) -> None:
        """Add some rows.

        Raises:
            DataError: a column that holds something else. UsageError: `bad-weight`.
        """
        import pyarrow.types as types

        codes = []
        for i, name in enumerate(self.how.keys):
            found = factor(table, name)
            if types.is_floating(table.column(name).type):
                self.ordered.add(i)
            codes.append(self._known(i, found.levels)[found.codes])
        if self.how.weight is not None:
            values, place = np.unique(numbers(table, self.how.weight), return_inverse=True)
            codes.append(self._known(len(codes), values.tolist())[place])
        scores = {name: numbers(table, name) for name in self.how.scores}
        scores = {name: np.where(np.isfinite(x), x, np.nan) for name, x in scores.items()}
        lacking = np.zeros(table.num_rows, dtype=np.int32)
        for i, x in enumerate(scores.values()):
            lacking |= np.isnan(x).astype(np.int32) << i
        rows = Lines(
            codes=np.array([*codes, lacking], dtype=np.int32),
            count=np.ones(table.num_rows, dtype=np.int64),
            sums={name: LineSums(mean=x) for name, x in scores.items()},
        )
        self._put(folded(rows, _tallied if self.how.tallied else None))
        self.rows += table.num_rows

    def _known(self, at: int, levels: Sequence[Any]) -> npt.NDArray[np.int32]:
        """Codes here of levels that came elsewhere; the last entry is that of none."""
        index = self.levels[at]
        return np.array([*(index.setdefault(level, len(index)) for level in levels), -1], dtype=np.int32)

    def _put(self, lines: Lines) -> None:
        self.held.append(lines)
        if sum(map(len, self.held[1:])) > max(SETTLED, len(self.held[0])):
            self.settle()

    def settle(self) -> Lines:
        """All lines, each once."""
        if len(self.held) != 1:
            held, self.held = self.held, []
            self.held.append(folded(_joined(held, self.how, len(self.levels) + 1), _together))
        return self.held[0]

    def __add__(self, other: Self) -> Self:
        """The sum of both; what is added to is used up."""
        self.ordered |= other.ordered
        known = [self._known(i, list(levels)) for i, levels in enumerate(other.levels)]
        for lines in other.held:
            own = [*(known[i][lines.codes[i]] for i in range(len(known))), lines.codes[-1]]
            self._put(Lines(codes=np.array(own, dtype=np.int32), count=lines.count, sums=lines.sums))
        self.rows += other.rows
        return self

    def factors(self, *, any_order: bool) -> dict[str, Factor]:
        """Every key, of the lines.

        Args:
            any_order: rows come in another order each time, so that levels are sorted; else they stand as
                they appear.
        """
        codes, found = self.settle().codes, {}
        for i, name in enumerate(self.how.keys):
            levels = tuple(self.levels[i])
            if i not in self.ordered and not any_order:
                found[name] = Factor(codes[i], levels)
                continue
            by_size: Callable[[str], Any] = float if i in self.ordered else natural
            order = sorted(range(len(levels)), key=lambda k: by_size(levels[k]))
            place = np.append(np.argsort(order), -1).astype(np.int32)
            found[name] = Factor(place[codes[i]], tuple(levels[k] for k in order))
        return found

    def weight(self) -> FloatArray | None:
        """(m,) the weight of each row of a line; None without."""
        if self.how.weight is None:
            return None
        levels: FloatArray = np.array(list(self.levels[-1]), dtype=float)
        return np.asarray(levels[self.settle().codes[-2]])

    def folded(self) -> dict[str, Folded]:
        """Score → what its lines stand for; nothing where each is one row."""
        lines, weight = self.settle(), self.weight()
        if not (lines.count > 1).any():
            return {}
        w = np.ones(len(lines)) if weight is None else weight
        found = {}
        for name, sums in lines.sums.items():
            _, within, low, high = sums.whole()
            found[name] = Folded(
                count=lines.count, weight=w, within=within, low=low, high=high, tallies=sums.tallies
            )
        return found


def cells_of(how: Folding, part: Partition) -> Cells:
    """The sums of a partition."""
    import pyarrow as pa

    found = Cells.of(how)
    for batch in part.read(how.all()):
        if batch.num_rows:
            found.take(pa.Table.from_batches([batch]))
            if found.full:
                break
    found.settle()
    return found


def folded(lines: Lines, tally: Tally | None) -> Lines:
    """The lines with those of the same codes as one.

    Args:
        tally: how values are counted, where they are.
    """
    first, place = _alike(lines.codes)
    m = len(first)
    tallies = {name: () if tally is None else tally(own, place, m) for name, own in lines.sums.items()}
    if m == len(lines) and not any(tallies.values()):
        return lines
    count = np.bincount(place, lines.count, m).astype(np.int64)
    return Lines(
        codes=lines.codes[:, first],
        count=count,
        sums={
            name: _summed(own, lines.count, count, place, tallies[name]) for name, own in lines.sums.items()
        },
    )


def _summed(
    sums: LineSums, times: IntArray, count: IntArray, place: npt.NDArray[np.intp], tallies: Tallies
) -> LineSums:
    """Means and squares about them by Chan, Golub & LeVeque (1983); missing scores stay missing."""
    mean, within, low, high = sums.whole()
    m = len(count)
    lowest, highest = np.full(m, np.inf), np.full(m, -np.inf)
    with np.errstate(invalid="ignore"):
        np.minimum.at(lowest, place, low)
        np.maximum.at(highest, place, high)
    # Summed from the lowest on, so that the mean of equal numbers is that number.
    made = lowest + np.bincount(place, (mean - lowest[place]) * times, m) / count
    squares = np.bincount(place, within + times * (mean - made[place]) ** 2, m).astype(float)
    return LineSums(mean=made, within=squares, low=lowest, high=highest, tallies=tallies)


def _tallied(sums: LineSums, place: npt.NDArray[np.intp], m: int) -> Tallies:
    """Of single rows."""
    known = np.isfinite(sums.mean)
    values, at = np.unique(sums.mean[known], return_inverse=True)
    pairs, times = np.unique(place[known] * max(len(values), 1) + at, return_counts=True)
    line, value = np.divmod(pairs, max(len(values), 1))
    few = np.bincount(line, minlength=m) <= MOST_TALLIED
    found: list[dict[float, int] | None] = [{} if own else None for own in few.tolist()]
    kept = few[line]
    for i, v, n in zip(line[kept].tolist(), values[value[kept]].tolist(), times[kept].tolist(), strict=True):
        own = found[i]
        if own is not None:
            own[v] = n
    return tuple(found)


def _together(sums: LineSums, place: npt.NDArray[np.intp], m: int) -> Tallies:
    """Of lines that were tallied."""
    if not sums.tallies:
        return ()
    found: list[dict[float, int] | None] = [{} for _ in range(m)]
    for at, tally in zip(place.tolist(), sums.tallies, strict=True):
        known = found[at]
        if known is None or tally is None:
            found[at] = None
            continue
        for value, n in tally.items():
            known[value] = known.get(value, 0) + n
        if len(known) > MOST_TALLIED:
            found[at] = None
    return tuple(found)


def _alike(codes: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """(first row of each combination, (n,) which combination a row is)."""
    key = np.zeros(codes.shape[1], dtype=np.int64)
    size = 1
    for own in codes:
        width = int(own.max(initial=-1)) + 2
        if size > (1 << 62) // width:
            found, key = np.unique(key, return_inverse=True)
            size = len(found)
        key = key * width + own + 1
        size *= width
    if size <= SPARSE * len(key):
        seen = np.zeros(size, dtype=np.bool_)
        seen[key] = True
        if int(np.count_nonzero(seen)) == len(key):
            every = np.arange(len(key))
            return every, every
    if size <= max(1 << 16, 2 * len(key)):  # by counting
        first = np.full(size, -1, dtype=np.intp)
        first[key[::-1]] = np.arange(len(key))[::-1]
        there = first >= 0
        return first[there], (np.cumsum(there) - 1)[key]
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    return first, place


def _line_sums(parts: Sequence[FloatArray], tallies: Tallies) -> LineSums:
    mean, *rest = parts
    within, low, high = rest or (None, None, None)
    return LineSums(mean=mean, within=within, low=low, high=high, tallies=tallies)


def _joined(held: list[Lines], how: Folding, columns: int) -> Lines:
    """All of them side by side; each is let go once it is copied, so that `held` is empty afterwards."""
    n = sum(map(len, held))
    single = all(own.within is None for lines in held for own in lines.sums.values())
    codes, count = np.empty((columns, n), dtype=np.int32), np.empty(n, dtype=np.int64)
    parts = {name: [np.empty(n) for _ in range(1 if single else 4)] for name in how.scores}
    tallies: dict[str, list[Mapping[float, int] | None]] = {name: [] for name in how.scores}
    start = 0
    while held:
        lines = held.pop(0)
        at = slice(start, start + len(lines))
        codes[:, at], count[at], start = lines.codes, lines.count, at.stop
        for name, own in lines.sums.items():
            for into, values in zip(parts[name], own.whole()[: len(parts[name])], strict=True):
                into[at] = values
            tallies[name] += own.tallies
    sums = {name: _line_sums(own, tuple(tallies[name])) for name, own in parts.items()}
    return Lines(codes=codes, count=count, sums=sums)

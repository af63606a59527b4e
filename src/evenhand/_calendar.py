"""Days as months, quarters or years: periods that hold enough rows to say something of."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

DAY = re.compile(r"\d{4}-\d{2}-\d{2}([T ].*)?")
UNITS: dict[str, Callable[[str], str]] = {
    "month": lambda day: day[:7],
    "quarter": lambda day: f"{day[:4]} Q{(int(day[5:7]) + 2) // 3}",
    "year": lambda day: day[:4],
}
"""What days are put together as, the finest first."""


def in_periods(column: pa.ChunkedArray, most: int) -> tuple[Sequence[str | None] | None, str]:
    """The days of a column as the finest unit of the calendar of which there are at most `most`, and which.

    Args:
        column: dates, times, or texts that begin with a date (2024-03-31).

    Returns:
        None where there are no more than `most` values, or these are no days, or even years are too many.

    >>> import pyarrow as pa
    >>> in_periods(pa.chunked_array([["2024-01-05", "2024-01-31", None, "2024-02-01"]]), 2)
    (['2024-01', '2024-01', None, '2024-02'], 'month')
    """
    distinct = column.unique()
    if len(distinct) <= most:
        return None, ""
    texts = {value: str(value) for value in distinct.to_pylist() if value is not None}
    if not all(DAY.fullmatch(text) for text in texts.values()):
        return None, ""
    for unit, of in UNITS.items():
        known = {value: of(text) for value, text in texts.items()}
        if len(set(known.values())) <= most:
            return [None if v is None else known[v] for v in column.to_pylist()], unit
    return None, ""

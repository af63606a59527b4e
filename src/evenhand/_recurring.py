"""Rows that are evidently about the same person or thing although nobody said so."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evenhand._table import as_numpy
from evenhand.stats.blocks import blocks, rows_by_unit

if TYPE_CHECKING:
    import pyarrow as pa

SOMEBODY = (
    "person|people|individual|user|member|customer|client|applicant|candidate|employee|worker|student|pupil|patient"
    "|respondent|participant|subject|defendant|borrower|household|family|case|application|loan"
)
IDENTIFIES = re.compile(
    rf"(?:.*[_ .-])?(?:u?u?id|guid|(?:{SOMEBODY})s?[_ .-]?(?:u?u?id|no|nr|number|key))", re.I
)
"""Names of columns that say whom a row is about, e.g. ``person_id``, ``id``, ``user.uuid``."""
NAMES = re.compile(SOMEBODY, re.I)
"""Names that do so where they have as many values as people have."""
CALLED = re.compile(r"(?:.*[_ .-])?(?:first|last|full|sur)?[_ .-]?names?", re.I)
"""Names of columns with names of people, which are nothing else where the rows are places in lists."""
FEWEST_PEOPLE = 20
ALLOWED_BY_NAME, ALLOWED_BY_COPIES = 1.05, 1.2
"""Design effect of rows that are alike within units, beyond which rows are not taken for independent."""
COPIED = 0.95
"""Of the predictions that are seen again, the share in rows that are seen again as a whole; and the share of
different predictions among different rows."""
OTHERWISE_DIFFERENT = 0.5
"""Of units with several rows: the share of different scores among their different rows."""


def identified(
    table: pa.Table, used: Sequence[str], *, fewest: int = FEWEST_PEOPLE, names: bool = False
) -> str | None:
    """Why the rows are not independent by a column that plays no role and says whom they are about.

    Args:
        fewest: values of a column that is called after people, below which these are kinds of people.
        names: a column of names says so too.
    """
    for name in table.column_names:
        sure = IDENTIFIES.fullmatch(name) is not None
        called = NAMES.fullmatch(name) or (names and CALLED.fullmatch(name))
        if name in used or not (sure or called):
            continue
        sizes = _sizes(table, [name])
        if len(sizes) >= (2 if sure else fewest) and _effect(sizes) > ALLOWED_BY_NAME:
            return (
                f"{len(sizes)} values of {name} in {int(sizes.sum())} rows: pass units={name!r} (--unit"
                f" {name}), or units=False (--unit false) if rows are independent"
            )
    return None


def copied(table: pa.Table, used: Sequence[str], predictions: Sequence[str]) -> str | None:
    """Why the rows are not independent by predictions that are real numbers, mostly distinct, and come with
    copies of whole rows.

    Rounded predictions recur too, but then other columns differ.

    Args:
        used: columns that play a role. predictions: those of them that may be real numbers.
    """
    import pyarrow as pa

    name = next((n for n in predictions if pa.types.is_floating(table[n].type)), None)
    if name is None:
        return None
    n, values = table.num_rows, len(_sizes(table, [name]))
    again = n - values
    if again < 0.05 * n or values < max(FEWEST_PEOPLE, n / 10) or _whole(table, name):
        return None
    rows = _sizes(table, used)
    if _effect(rows) <= ALLOWED_BY_COPIES or n - len(rows) < COPIED * again or values < COPIED * len(rows):
        return None
    return (
        f"{len(rows)} different rows in {n}, the others are exact copies: pass units= (--unit) with a column"
        " that says what a row is a copy of, or units=False (--unit false) if rows are independent"
    )


def alike(
    unit: npt.NDArray[np.integer],
    keys: Sequence[npt.NDArray[np.integer]],
    scores: Sequence[npt.NDArray[np.float64]],
) -> npt.NDArray[np.integer] | None:
    """Codes in which units that are exact copies share the code of the first; None where there are none.

    Two units are copies where their rows are the same in all keys and scores. Scores must be real numbers
    that mostly differ otherwise: a flag, or a subject that looks at few words, gives many units the same.
    A few copies among many units are left alone.

    Args:
        unit: (n,) codes, −1 for none. keys: (n,) codes beside it. scores: (n,) each, NaN for missing.

    >>> unit, score = np.array([0, 0, 1, 1, 2, 2]), np.array([0.12, 0.5, 0.3, 0.7, 0.12, 0.5])
    >>> alike(unit, [np.array([0, 1, 0, 1, 0, 1])], [score]).tolist()
    [0, 0, 1, 1, 0, 0]
    """
    first = scores[0]
    known = (unit >= 0) & np.isfinite(first)
    if not known.any() or np.all(first[known] == np.round(first[known])):
        return None
    if not _agree(unit, [*keys, *scores], known):
        return None
    table = np.column_stack([unit, *keys, *(np.nan_to_num(s, nan=np.inf) for s in scores)])[known]
    table = table[np.lexsort(table.T[::-1])]
    starts = np.flatnonzero(np.diff(table[:, 0], prepend=table[0, 0] - 1))
    seen: dict[bytes, int] = {}
    same = np.arange(int(unit.max()) + 1)
    kept = 0
    for rows in np.split(table, starts[1:]):
        code = int(rows[0, 0])
        same[code] = seen.setdefault(rows[:, 1:].tobytes(), code)
        kept += len(rows) if same[code] == code else 0
    share = COPIED if len(table) == len(starts) else OTHERWISE_DIFFERENT
    if len(np.unique(first[known])) < share * kept:
        return None
    _, times = np.unique(same[table[starts, 0].astype(np.intp)], return_counts=True)
    if _effect(times) <= ALLOWED_BY_COPIES:
        return None
    return np.where(unit >= 0, same[unit], -1)


def _agree(
    unit: npt.NDArray[np.integer], columns: Sequence[npt.NDArray[Any]], known: npt.NDArray[np.bool_]
) -> bool:
    """Whether two units may have the same rows: whether sums over their rows agree that do not hang on the
    order. Units with the same rows always agree."""
    sums = np.zeros(int(unit.max()) + 1, dtype=np.uint64)
    for at in blocks(len(unit)):
        mixed = np.full(int(known[at].sum()), 0x9E3779B97F4A7C15, dtype=np.uint64)
        for column in columns:
            own = np.nan_to_num(column[at][known[at]].astype(np.float64), nan=np.inf)
            mixed = (mixed ^ own.view(np.uint64)) * np.uint64(0xBF58476D1CE4E5B9)
            mixed ^= mixed >> np.uint64(31)
        np.add.at(sums, unit[at][known[at]], mixed)
    rows = rows_by_unit(unit, known, len(sums))
    return len(np.unique(sums[rows > 0])) < int(np.count_nonzero(rows))


def _sizes(table: pa.Table, names: Sequence[str]) -> npt.NDArray[np.int64]:
    """How many rows each combination of values has; rows without a value of a single column are left out."""
    if len(names) == 1:
        return np.bincount(_codes(table[names[0]].drop_null())).astype(np.int64)
    codes = np.zeros(table.num_rows, dtype=np.int64)
    for name in names:
        own = _codes(table[name])
        codes = np.unique(codes * (int(own.max(initial=0)) + 1) + own, return_inverse=True)[1]
    return np.bincount(codes).astype(np.int64)


def _codes(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """(n,) which of its values a row has; the missing are one more value. Without Arrow's joins, which import
    pandas."""
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    found = pc.dictionary_encode(whole.combine_chunks(), null_encoding="encode")
    return as_numpy(found.indices, -1).astype(np.int64)  # type: ignore[no-any-return]


def _effect(sizes: npt.NDArray[np.int64]) -> float:
    """Design effect of units of these sizes whose rows are all alike: Σm²/Σm."""
    return float((sizes**2).sum() / max(sizes.sum(), 1))


def _whole(table: pa.Table, name: str) -> bool:
    values = as_numpy(table[name].drop_null(), 0)
    return bool(np.all(values == np.round(values)))

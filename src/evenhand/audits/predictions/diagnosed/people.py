"""The people whom a model is asked for: their groups, and how far apart they are in everything else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from evenhand._model import Factor, FloatArray, IntArray
from evenhand._table import feature

if TYPE_CHECKING:
    import pyarrow as pa

Places: TypeAlias = npt.NDArray[np.intp]
"""Places of rows in the table."""
MOST_LEVELS = 50
"""Levels of a feature, the most common first, that are told apart; the rest is one."""
BLOCK = 1 << 25
"""Distances held at once."""


@dataclass(frozen=True, kw_only=True)
class KnownPeople:
    """The rows of one attribute whose group is known.

    Args:
        attribute: its name. groups: (n,) of these rows, all levels with rows. rows: (n,) their places.
        weight: (n,) or None. unit: (n,) codes or None.
        table: all rows. names: of the columns that the model is asked with.
    """

    attribute: str
    groups: Factor
    rows: Places
    weight: FloatArray | None
    unit: IntArray | None
    table: pa.Table
    names: Sequence[str]

    @cached_property
    def features(self) -> dict[str, Factor | FloatArray]:
        """Name → (n,) what the model is asked with."""
        return {name: feature(self.table, name)[self.rows] for name in self.names}

    def of(self, level: str) -> npt.NDArray[np.intp]:
        """The rows of a group, counted among these people."""
        return np.flatnonzero(self.groups.is_level(level))

    def average(self, values: FloatArray) -> float:
        """Their (weighted) mean."""
        return float(np.average(values, weights=self.weight))

    def space(self, without: Sequence[str]) -> npt.NDArray[np.float32]:
        """(n, k) coordinates: numbers in standard deviations, a missing one at the mean with a coordinate of
        its own, and levels one apart from each other."""
        columns: list[FloatArray] = []
        for name, values in self.features.items():
            if name in without:
                continue
            columns += _of_levels(values) if isinstance(values, Factor) else _of_numbers(values)
        if not columns:
            return np.zeros((len(self.rows), 0), dtype=np.float32)
        return np.stack(columns, axis=1).astype(np.float32)


def _of_numbers(values: FloatArray) -> list[FloatArray]:
    lost = ~np.isfinite(values)
    known = values[~lost]
    spread = float(known.std()) if len(known) else 0.0
    if spread <= 0:
        return [lost.astype(float)] if lost.any() else []
    scaled = np.where(lost, 0.0, (values - known.mean()) / spread)
    return [scaled, lost.astype(float)] if lost.any() else [scaled]


def _of_levels(values: Factor) -> list[FloatArray]:
    counts = np.bincount(values.codes[values.codes >= 0], minlength=len(values.levels))
    common = np.argsort(-counts, kind="stable")[:MOST_LEVELS]
    return [(values.codes == code) / np.sqrt(2) for code in common.tolist() if counts[code]]


def nearest(space: npt.NDArray[np.float32], rows: Places, donors: Places) -> tuple[Places, FloatArray]:
    """For each row the nearest donor (the first of several), and how far away it is.

    Args:
        space: (n, k) coordinates. rows, donors: places in it; there is at least one donor.

    >>> x = np.array([[0.0], [1.0], [5.0]], dtype=np.float32)
    >>> at, far = nearest(x, np.array([0, 1]), np.array([1, 2]))
    >>> at.tolist(), far.tolist()
    ([1, 1], [1.0, 0.0])
    """
    theirs = space[donors]
    squares = (theirs**2).sum(axis=1)
    found = np.empty(len(rows), dtype=np.intp)
    step = max(1, BLOCK // max(len(donors), 1))
    for at in range(0, len(rows), step):
        ours = space[rows[at : at + step]]
        found[at : at + step] = (squares - 2 * ours @ theirs.T).argmin(axis=1)
    chosen = donors[found]
    far = np.sqrt(((space[rows] - space[chosen]).astype(np.float64) ** 2).sum(axis=1))
    return chosen, far

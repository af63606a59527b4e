"""Which group-blind threshold keeps the impact ratio in its band, and what it costs in selection rate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from evenhand._analysis import Analysis
from evenhand._labels import Attribute
from evenhand._model import Exhibit, FloatArray
from evenhand.audits.predictions.cells import Cell, Scale
from evenhand.stats.curves import ENOUGH, FOUR_FIFTHS
from evenhand.stats.practice import four_fifths


def add_suggestion(
    analysis: Analysis,
    scale: Scale,
    cells: Sequence[Cell],
    attribute: Attribute,
    quantiles: Sequence[float],
    *,
    level: float,
    band: tuple[float, float] = FOUR_FIFTHS,
) -> None:
    """For each quantile the nearest threshold at which the worst-off group's ratio to the best-off is inside
    the band."""
    names = ("wanted quantile", "wanted threshold", "wanted share selected", "impact ratio there", "suggested threshold",
             "share selected", "cost in selection rate", "impact ratio", "low", "high", "lowest", "highest")  # fmt: skip
    table: dict[str, list[Any]] = {k: [] for k in names}
    grid, rates, share = _rates(cells)
    with np.errstate(invalid="ignore", divide="ignore"):
        worst = rates.min(axis=0) / rates.max(axis=0)
    fewest = min(c.scores.n_effective for c in cells)
    good = (worst >= band[0]) & (share * fewest >= ENOUGH) & (share < 1)
    for q in quantiles:
        at = scale.thresholds[q]
        own = np.array([c.scores.share_above([at])[0] for c in cells])
        total = float(np.average(own, weights=[c.scores.total for c in cells]))
        here = float(own.min() / own.max()) if own.max() > 0 else None
        row: list[Any] = [q, at, total, here]
        if good.any():
            index = np.flatnonzero(good)
            pick = int(index[np.argmin(np.abs(share[index] - total))])
            low_cell, high_cell = cells[int(rates[:, pick].argmin())], cells[int(rates[:, pick].argmax())]
            low_n, high_n = low_cell.scores.n_effective, high_cell.scores.n_effective
            found = four_fifths(
                rates[:, pick].min() * low_n, low_n, rates[:, pick].max() * high_n, high_n, level=level
            )
            row += [float(grid[pick]), float(share[pick]), float(share[pick]) - total, float(worst[pick]),
                    found.interval.low, found.interval.high, str(low_cell.label), str(high_cell.label)]  # fmt: skip
        else:
            row += [None] * 8
        for name, value in zip(names, row, strict=True):
            table[name].append(value)
    analysis.exhibits[f"suggested thresholds by {attribute}"] = Exhibit(
        title=f"Thresholds that keep the impact ratio in its band, {attribute}",
        columns=table,
        note="For each wanted quantile the threshold nearest in selection rate, the same for everyone, at"
        " which the lowest"
        f" group's rate is at least {band[0]:g} of the highest. The cost is the change of the share of"
        " people selected. Chosen"
        " on these very data, so a new sample will give another ratio: the interval (Katz, not corrected"
        " for the choice)"
        " shows how far. Empty where no threshold with enough people keeps the ratio.",
    )


def _rates(cells: Sequence[Cell]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(thresholds, (G, T) rates above them, everyone's share above them); at most 2,000 thresholds."""
    values = cells[0].scores.values
    pooled = np.sum([c.scores.weight for c in cells], axis=0)
    present = np.flatnonzero(pooled > 0)
    if len(present) > 2000:
        ranks = np.searchsorted(np.cumsum(pooled[present]), np.linspace(0, pooled.sum(), 2001)[:-1])
        present = present[np.unique(np.minimum(ranks, len(present) - 1))]
    grid = values[present]
    rates = np.array([c.scores.share_above(grid) for c in cells])
    share = np.average(rates, axis=0, weights=[c.scores.total for c in cells])
    return grid, rates, np.asarray(share)

"""Which group-blind threshold keeps the impact ratio in its band, and what it costs in selection rate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenhand._analysis import Analysis
from evenhand._model import Exhibit, FloatArray, Scalar
from evenhand.audits.predictions.cells import Cell, Scale
from evenhand.audits.predictions.sources import Compared
from evenhand.stats.curves import ENOUGH, FOUR_FIFTHS
from evenhand.stats.practice import four_fifths

COLUMNS = (
    "wanted quantile",
    "wanted threshold",
    "wanted share selected",
    "impact ratio there",
    "suggested threshold",
    "share selected",
    "cost in selection rate",
    "impact ratio",
    "low",
    "high",
    "lowest",
    "highest",
)


def add_suggestion(
    analysis: Analysis,
    scale: Scale,
    of: Compared[Cell],
    quantiles: Sequence[float],
    *,
    level: float,
) -> None:
    """For each quantile the nearest threshold at which the worst-off group's ratio to the best-off is inside
    the band."""
    cells, least = of.cells, FOUR_FIFTHS[0]
    rows: list[dict[str, Scalar]] = []
    grid, rates, share = _rates(cells)
    with np.errstate(invalid="ignore", divide="ignore"):
        worst = rates.min(axis=0) / rates.max(axis=0)
    fewest = min(c.scores.n_effective for c in cells)
    good = (worst >= least) & (share * fewest >= ENOUGH) & (share < 1)
    for q in quantiles:
        at = scale.thresholds[q]
        own = np.array([c.scores.share_above([at])[0] for c in cells])
        total = float(np.average(own, weights=[c.scores.total for c in cells]))
        here = float(own.min() / own.max()) if own.max() > 0 else None
        row: dict[str, Scalar] = dict(zip(COLUMNS, (q, at, total, here), strict=False))
        if good.any():
            index = np.flatnonzero(good)
            pick = int(index[np.argmin(np.abs(share[index] - total))])
            chosen = float(share[pick])
            row |= {"suggested threshold": float(grid[pick]), "share selected": chosen}
            row |= {"cost in selection rate": chosen - total, "impact ratio": float(worst[pick])}
            row |= _there(cells, rates[:, pick], level)
        rows.append(row)
    analysis.exhibits[f"suggested thresholds by {of.attribute}"] = Exhibit.of(
        f"Thresholds that keep the impact ratio in its band, {of.attribute}",
        rows,
        columns=COLUMNS,
        note="For each wanted quantile the threshold nearest in selection rate, the same for everyone, at"
        f" which the lowest group's rate is at least {least:g} of the highest. The cost is the change"
        " of the share of people selected. Chosen on these very data, so a new sample will give another"
        " ratio: the interval (Katz, not corrected for the choice) shows how far. Empty where"
        " no threshold with enough people keeps the ratio.",
    )


def _there(cells: Sequence[Cell], rates: FloatArray, level: float) -> dict[str, Scalar]:
    """The interval of the lowest rate over the highest, and whose they are."""
    low, high = int(rates.argmin()), int(rates.argmax())
    few, many = cells[low].scores.n_effective, cells[high].scores.n_effective
    found = four_fifths(rates[low] * few, few, rates[high] * many, many, level=level).interval
    names = {"lowest": str(cells[low].label), "highest": str(cells[high].label)}
    return {"low": found.low, "high": found.high, **names}


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

"""Rows of predictions reduced to what every measure needs: sums of terms and scores on a grid, for each group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from evenhand._model import BoolArray, Factor, FloatArray
from evenhand.audits.prediction_rows import Rows
from evenhand.measures.regression import TERMS, term_matrix
from evenhand.stats.histogram import Scores, weighted_quantile
from evenhand.stats.moments import Moments, moments

MOST_GRID = 30_000_000
"""Grid points × groups held at once; beyond, scores are counted in bins and the error is stated."""
BINS = 1 << 16


@dataclass(frozen=True, kw_only=True)
class Frame:
    """What all groups share.

    Args:
        centre: subtracted from outcomes and predictions, so that sums of squares keep their digits.
        thresholds: quantile → score of the full sample. top: the quantile that bounds the "top" measures.
        grid: ascending scores, uncentred. error: half a bin, in units of the score; 0 where the grid is exact.
        terms: names of the moments.
    """

    centre: float
    thresholds: Mapping[float, float]
    top: float
    grid: FloatArray
    error: float
    terms: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One group, or a group within a stratum.

    Args:
        label: ``"sex=F"``. moments: of all rows; `top` of those above the top threshold. scores: on the frame's grid.
    """

    label: str
    moments: Moments
    top: Moments
    scores: Scores

    @property
    def n(self) -> int:
        """Rows."""
        return self.moments.n

    def __add__(self, other: Cell) -> Cell:
        return Cell(
            label=self.label,
            moments=self.moments + other.moments,
            top=self.top + other.top,
            scores=self.scores + other.scores,
        )


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """Per-row arrays, made once: terms (k, n), place on the grid (n,), in the top or not (n,), weights."""

    frame: Frame
    terms: FloatArray
    place: npt.NDArray[np.intp]
    in_top: BoolArray
    weight: FloatArray | None


def selected_term(q: float) -> str:
    """Name of the term that is 1 above the threshold of quantile q."""
    return f"above Q{q:g}"


def term_names(columns: Sequence[str], quantiles: Sequence[float]) -> tuple[str, ...]:
    """The terms that these columns allow."""
    names = ["p", "pp"]
    if "y_true" in columns:
        names += ["y", "yy", "yp", "ae"]
        if "y_low" in columns:
            names.append("covered")
        if "tau" in columns:
            names.append("pinball")
    if "y_low" in columns:
        names.append("width")
    if "exposure" in columns:
        names.append("exposure")
    return (*names, *(selected_term(q) for q in quantiles))


def prepare(rows: Rows, quantiles: Sequence[float], *, top: float = 0.8, cells: int = 2) -> Prepared:
    """Thresholds, grid and per-row terms.

    Args:
        cells: how many groups will be held at once; decides whether the grid can be exact.
    """
    p = rows.columns["y_pred"]
    wanted = list(dict.fromkeys([*quantiles, top]))
    thresholds = dict(zip(wanted, weighted_quantile(p, wanted, rows.weight).tolist(), strict=True))
    grid, place = np.unique(p, return_inverse=True)
    error = 0.0
    if len(grid) * cells > MOST_GRID:
        edges = np.linspace(grid[0], grid[-1], BINS + 1)
        place = bin_of(p, float(grid[0]), float(grid[-1]), BINS)
        grid, error = (edges[:-1] + edges[1:]) / 2, float(edges[1] - edges[0]) / 2
    frame = Frame(
        centre=float(np.average(p, weights=rows.weight)),
        thresholds=thresholds,
        top=top,
        grid=grid,
        error=error,
        terms=term_names(list(rows.columns), quantiles),
    )
    return Prepared(
        frame=frame,
        terms=row_terms(rows.columns, frame),
        place=place.astype(np.intp),
        in_top=p > thresholds[top],
        weight=rows.weight,
    )


def bin_of(p: FloatArray, low: float, high: float, bins: int) -> npt.NDArray[np.intp]:
    """The bin of equal width that each score falls into."""
    if high <= low:
        return np.zeros(len(p), dtype=np.intp)
    return np.minimum(((p - low) * (bins / (high - low))).astype(np.intp), bins - 1)


def row_terms(columns: Mapping[str, FloatArray], frame: Frame) -> FloatArray:
    """(k, n) terms of the rows, outcomes and predictions centred."""
    shifted = {
        k: v - frame.centre if k in ("y_pred", "y_true", "y_low", "y_high") else v for k, v in columns.items()
    }
    plain = [name for name in frame.terms if name in TERMS]
    above = [
        (columns["y_pred"] > t).astype(float)
        for q, t in frame.thresholds.items()
        if selected_term(q) in frame.terms
    ]
    return np.concatenate([term_matrix(shifted, plain), np.array(above).reshape(len(above), -1)])


def cells_of(made: Prepared, groups: Factor, attribute: str, within: BoolArray | None = None) -> list[Cell]:
    """One cell for each level that has rows, in the order of the levels."""
    codes = groups.codes if within is None else np.where(within, groups.codes, -1)
    if len(groups.levels) <= 4:
        chosen = [np.flatnonzero(codes == code) for code in range(len(groups.levels))]
    else:
        order = np.argsort(codes, kind="stable")
        edges = np.searchsorted(codes[order], np.arange(len(groups.levels) + 1))
        chosen = [order[a:b] for a, b in pairwise(edges)]
    return [
        cell(made, rows, f"{attribute}={level}")
        for level, rows in zip(groups.levels, chosen, strict=True)
        if len(rows)
    ]


def cell(made: Prepared, rows: npt.NDArray[np.intp], label: str) -> Cell:
    """The sums of some rows."""
    top = rows[made.in_top[rows]]
    names = made.frame.terms
    return Cell(
        label=label,
        moments=moments(made.terms, names, made.weight, rows=rows),
        top=moments(made.terms, names, made.weight, rows=top),
        scores=scores_at(
            made.place[rows], None if made.weight is None else made.weight[rows], made.frame.grid
        ),
    )


def scores_at(place: npt.NDArray[np.intp], weight: FloatArray | None, grid: FloatArray) -> Scores:
    """Counts (or weights) of rows on the grid."""
    if weight is None:
        counts = np.bincount(place, minlength=len(grid)).astype(float)
        return Scores(values=grid, weight=counts, weight2=counts, n=len(place))
    return Scores(
        values=grid,
        weight=np.bincount(place, weight, len(grid)).astype(float),
        weight2=np.bincount(place, weight**2, len(grid)).astype(float),
        n=int(np.count_nonzero(weight)),
    )


def everyone(cells: Sequence[Cell], label: str = "everyone") -> Cell:
    """All groups together."""
    total = cells[0]
    for other in cells[1:]:
        total = total + other
    return Cell(label=label, moments=total.moments, top=total.top, scores=total.scores)

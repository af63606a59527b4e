"""The largest part of a corpus in which no item's ratio of groups exceeds alpha: an integer programme."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand._model import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection:
    """How many images of each pattern stay.

    Args:
        kept: (P,) images kept of each pattern: whole numbers, or any amount for weights. bound: no selection
            can keep more. optimal: whether `kept` is proven to be of that size (within the solver's
            tolerance).
    """

    kept: FloatArray
    bound: float
    optimal: bool


def ratios(counts: FloatArray) -> FloatArray:
    """(I,) largest ÷ smallest count over groups; 1 where nobody mentions the item, inf where some group never
    does.

    >>> ratios(np.array([[4.0, 1.0, 0.0], [2.0, 0.0, 0.0]])).tolist()
    [2.0, inf, 1.0]
    """
    high, low = counts.max(axis=0), counts.min(axis=0)
    ratio = np.divide(high, low, out=np.full(high.shape, np.inf), where=low > 0)
    return np.asarray(np.where(high == 0, 1.0, ratio))


def constraints(patterns: FloatArray, alpha: float) -> FloatArray:
    """Rows r of r·y ≤ 0: c(o, g) − α·c(o, g') for every item and ordered pair of groups.

    Args:
        patterns: (P, G, I) mentions of one image of each pattern.

    Returns:
        (G·(G−1)·I, P).
    """
    groups = patterns.shape[1]
    rows = [
        (patterns[:, g] - alpha * patterns[:, h]).T for g in range(groups) for h in range(groups) if g != h
    ]
    return np.concatenate(rows) if rows else np.zeros((0, len(patterns)))


def largest(
    patterns: FloatArray, sizes: IntArray, alpha: float, *, whole: bool = True, seconds: float = 20.0
) -> Selection:
    """Maximise the number of images kept, Σ y, subject to c(o, g) ≤ α·c(o, g') for all items and pairs of
    groups.

    Images with the same mentions are alike, so a variable counts how many of them stay: 0 ≤ y ≤ size.

    Args:
        patterns: (P, G, I). sizes: (P,) images of each pattern. alpha: ≥ 1.
        whole: whole images (a subset); else any amount (weights), where the optimum is exact.
        seconds: for the search of the integer optimum; then the best found so far stands.

    >>> two = np.array(
    ...     [[[1.0], [0.0]], [[0.0], [1.0]]]
    ... )  # images that name the item with group 1, with group 2
    >>> largest(two, np.array([10, 3]), 2.0).kept.tolist()
    [6.0, 3.0]
    """
    from scipy import sparse
    from scipy.optimize import Bounds, LinearConstraint, milp

    if len(sizes) == 0:
        return Selection(kept=np.zeros(0), bound=0.0, optimal=True)
    rows = constraints(patterns, alpha)
    rows = rows[(rows > 0).any(axis=1)]
    limits = [LinearConstraint(sparse.csr_matrix(rows), -np.inf, 0.0)] if len(rows) else []
    bounds = Bounds(0, sizes.astype(float))
    relaxed = milp(-np.ones(len(sizes)), constraints=limits, bounds=bounds)
    bound = float(-relaxed.fun)
    amounts = np.clip(np.asarray(relaxed.x, dtype=float), 0.0, sizes)
    if not whole:
        return Selection(kept=amounts, bound=bound, optimal=True)
    solved = milp(
        -np.ones(len(sizes)),
        constraints=limits,
        bounds=bounds,
        integrality=np.ones(len(sizes)),
        options={"time_limit": seconds, "mip_rel_gap": 1e-6},
    )
    start = np.floor(amounts + 1e-6) if solved.x is None else np.round(np.asarray(solved.x, dtype=float))
    kept = repair(np.clip(start, 0.0, sizes), rows)
    return Selection(kept=kept, bound=bound, optimal=bool(solved.status == 0))


def repair(kept: FloatArray, rows: FloatArray) -> FloatArray:
    """Take images away, the most harmful pattern first, until every row·kept ≤ 0 holds exactly.

    >>> repair(np.array([3.0, 1.0]), np.array([[1.0, -2.0]])).tolist()
    [2.0, 1.0]
    """
    kept = kept.copy()
    while len(rows):
        excess = rows @ kept
        broken = excess > 1e-9
        if not broken.any():
            break
        harm = np.where(kept > 0, np.maximum(rows[broken], 0.0).sum(axis=0), 0.0)
        relief = np.where(kept > 0, np.minimum(rows[broken], 0.0).sum(axis=0), 0.0)
        worst = int(np.argmax(np.where(harm > 0, harm + relief, -np.inf)))
        kept[worst] -= 1
    return kept


def alike(matrix: Any) -> tuple[IntArray, IntArray]:
    """(pattern of each row (n,), one row of each pattern (P,)) of a sparse CSR matrix; equal rows share a
    pattern."""
    matrix = matrix.tocsr()
    matrix.sort_indices()
    seen: dict[tuple[bytes, bytes], int] = {}
    first: list[int] = []
    pattern = np.empty(matrix.shape[0], dtype=np.int64)
    for row in range(matrix.shape[0]):
        a, b = int(matrix.indptr[row]), int(matrix.indptr[row + 1])
        key = (matrix.indices[a:b].tobytes(), matrix.data[a:b].tobytes())
        if key not in seen:
            seen[key] = len(first)
            first.append(row)
        pattern[row] = seen[key]
    return pattern, np.asarray(first, dtype=np.int64)

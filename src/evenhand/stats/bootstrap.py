"""Poisson bootstrap of weighted sums: each row, or each bag of rows, draws a Poisson(1) weight.

Beyond `BAGS` rows the rows are dealt into bags at random and bags are resampled: the variance of a sum is
estimated without bias and with a relative error of √(2/BAGS), and a thousand replicates cost one matrix
product whatever the rows.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from evenhand._model import FloatArray

BAGS = 8192


def bag_totals(terms: FloatArray, weight: FloatArray | None, *, seed: int) -> FloatArray:
    """(bags, k + 1) sums of weighted terms in random bags, last the weight itself; a row is a bag while rows
    are few.

    Args:
        terms: (k, n).

    >>> bag_totals(np.array([[1.0, 2.0]]), None, seed=0).tolist()
    [[1.0, 1.0], [2.0, 1.0]]
    """
    n = terms.shape[1]
    w = np.ones(n) if weight is None else weight
    if n <= BAGS:
        return np.concatenate([terms * w, w[None, :]]).T
    # Rows are dealt like cards after a shuffle: bags of equal size, at random whatever the order of the rows.
    bag = np.random.default_rng(seed).permutation(n) % BAGS
    columns = [np.bincount(bag, row * w, BAGS) for row in terms]
    return np.stack([*columns, np.bincount(bag, w, BAGS)], axis=1)


def replicate_means(totals: FloatArray, replicates: int, *, rng: np.random.Generator) -> FloatArray:
    """(replicates, k) means of the terms under Poisson(1) weights of the bags.

    >>> replicate_means(np.ones((50, 2)), 3, rng=np.random.default_rng(0)).tolist()
    [[1.0], [1.0], [1.0]]
    """
    out = np.empty((replicates, totals.shape[1] - 1))
    block = max(1, 2**22 // max(len(totals), 1))
    for start in range(0, replicates, block):
        size = min(block, replicates - start)
        drawn: npt.NDArray[np.float64] = rng.poisson(1.0, (size, len(totals))).astype(float)
        sums = drawn @ totals
        with np.errstate(invalid="ignore", divide="ignore"):
            out[start : start + size] = sums[:, :-1] / sums[:, -1:]
    return out

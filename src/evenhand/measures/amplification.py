"""Bias amplification by shares: does an output tie items to groups more tightly than the training data did?

Shares b are arrays (…, G, I) from `association.shares`; leading axes are resamples. The sides (which group an
item is tied to) are an argument: a bootstrap that chose them anew in each resample would be biased.
"""

from __future__ import annotations

import numpy as np

from evenhand._model import BoolArray, FloatArray


def mean_amplification(before: FloatArray, after: FloatArray, tied: BoolArray) -> FloatArray:
    """(1/|O|) Σ_g Σ_{o: b*(o,g) > 1/G} [b~(o,g) − b*(o,g)], shape (…,), in [−1, 1].

    Args:
        before, after: b* and b~, (…, G, I).
        tied: (G, I) or (…, G, I), where b*(o, g) > 1/G.

    Items tied to no group (b* the same for all) count in |O| only. Items without a share in either corpus
    (NaN) count nowhere: never as 0 or −1. Without the condition the sum over groups is identically zero.

    Source: Zhao et al. (2017), section 3.

    >>> before, after = np.array([[0.66], [0.34]]), np.array([[0.84], [0.16]])
    >>> float(mean_amplification(before, after, before > 0.5).round(2))
    0.18
    """
    change = after - before
    seen = np.isfinite(change).all(axis=-2)
    gained = np.where(tied & np.isfinite(change), change, 0.0).sum(axis=(-1, -2))
    n = seen.sum(axis=-1)
    return np.asarray(np.divide(gained, n, out=np.full(np.shape(gained), np.nan), where=n > 0))


def amplification_sizes(
    before: FloatArray, after: FloatArray, tied: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of |Δ| over the tied pairs: the two numbers of multi-attribute amplification, (…,)
    each.

    Here the items are *sets* of attributes that occur together. |Δ| cannot cancel between sets that grow and
    sets that shrink, so its null lies above 0.

    Source: Zhao, Andrews & Xiang (2023), Men also do laundry: multi-attribute bias amplification, section 3.

    >>> before, after = np.array([[0.6, 0.8], [0.4, 0.2]]), np.array([[0.7, 0.7], [0.3, 0.3]])
    >>> [float(x.round(3)) for x in amplification_sizes(before, after, before > 0.5)]
    [0.1, 0.0]
    """
    change = np.abs(after - before)
    kept = tied & np.isfinite(change)
    n = kept.sum(axis=(-1, -2))
    sizes = np.where(kept, change, 0.0)
    safe = np.maximum(n, 1)
    mean = sizes.sum(axis=(-1, -2)) / safe
    variance = np.where(kept, (sizes - mean[..., None, None]) ** 2, 0.0).sum(axis=(-1, -2)) / safe
    return np.where(n > 0, mean, np.nan), np.where(n > 0, variance, np.nan)


def violations(before: FloatArray, after: FloatArray, *, margin: float = 0.05) -> FloatArray:
    """How many items moved by more than the margin: |b~(o, g) − b*(o, g)| > margin for some group, (…,).

    Source: Zhao et al. (2017), section 4, with a margin of 0.05.

    >>> float(violations(np.array([[0.6, 0.5], [0.4, 0.5]]), np.array([[0.66, 0.5], [0.34, 0.5]])))
    1.0
    """
    change = np.abs(after - before)
    return np.asarray(
        (np.where(np.isfinite(change), change, 0.0) > margin).any(axis=-2).sum(axis=-1), dtype=float
    )

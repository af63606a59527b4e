"""Right, wrong or silent about the group: gender error, ratio and outcome divergence of outputs against the
truth."""

from __future__ import annotations

import numpy as np

from evenhand._model import FloatArray


def error_rate(table: FloatArray) -> FloatArray:
    """Share of outputs that name a wrong group: Σ_{g≠g'} n(g, g') / N, (…,); silence is no error.

    Args:
        table: (…, G, G + 1) outputs by true group (rows) and named group (columns; the last: none or
            several).

    Source: Hendricks, Burns, Saenko, Darrell & Rohrbach (2018), Women also snowboard, section 4.

    >>> float(error_rate(np.array([[400.0, 19.0, 81.0], [174.0, 262.0, 64.0]])))
    0.193
    """
    g = table.shape[-2]
    wrong = table[..., :g].sum(axis=(-1, -2)) - np.trace(table[..., :g], axis1=-2, axis2=-1)
    total = table.sum(axis=(-1, -2))
    return np.asarray(np.divide(wrong, total, out=np.full(np.shape(wrong), np.nan), where=total > 0))


def ratio_gap(table: FloatArray) -> FloatArray:
    """Δ ratio: |outputs naming the second group ÷ outputs naming the first − the same of the truth|, (…,) ≥
    0.

    Two groups only. Source: Hendricks et al. (2018), section 4.

    >>> float(ratio_gap(np.array([[400.0, 19.0, 81.0], [174.0, 262.0, 64.0]])).round(3))
    0.51
    """
    named, truth = table[..., :2].sum(axis=-2), table.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = np.abs(named[..., 1] / named[..., 0] - truth[..., 1] / truth[..., 0])
    return np.asarray(np.where(np.isfinite(gap), gap, np.nan))


def outcome_divergence(table: FloatArray) -> FloatArray:
    """Jensen–Shannon divergence, in bits, of (right, wrong, none) between the true groups, in [0, log₂ G].

    The mean over groups of KL(group ‖ mean of the groups). Its square root in nats, which some libraries call
    the distance, is √(value · ln 2).

    Source: Hendricks et al. (2018), section 4; Lin (1991).

    >>> float(outcome_divergence(np.array([[400.0, 19.0, 81.0], [174.0, 262.0, 64.0]])).round(4))
    0.1258
    """
    g = table.shape[-2]
    total = table.sum(axis=-1)
    right = np.diagonal(table[..., :g], axis1=-2, axis2=-1)
    wrong = table[..., :g].sum(axis=-1) - right
    outcomes = np.stack([right, wrong, table[..., g]], axis=-1)
    p = np.divide(outcomes, total[..., None], out=np.full(outcomes.shape, np.nan), where=total[..., None] > 0)
    middle = p.mean(axis=-2, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(p > 0, p * np.log2(p / middle), np.where(np.isnan(p), np.nan, 0.0))
    return np.asarray(parts.sum(axis=-1).mean(axis=-1))

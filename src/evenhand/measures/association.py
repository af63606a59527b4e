"""How tightly items are tied to groups in one corpus: shares, log-odds with a prior, pointwise mutual
information.

Counts are arrays (G, I): co-occurrences of group g with item o. Leading axes (…, G, I) are resamples.
"""

from __future__ import annotations

import numpy as np

from evenhand._model import BoolArray, FloatArray


def shares(counts: FloatArray) -> FloatArray:
    """b(o, g) = c(o, g) / Σ_g' c(o, g'), shape (…, G, I) in [0, 1]; NaN for items that co-occur with no
    group.

    Source: Zhao, Wang, Yatskar, Ordonez & Chang (2017), Men also like shopping, section 3.

    >>> shares(np.array([[3.0, 0.0], [1.0, 0.0]])).tolist()
    [[0.75, nan], [0.25, nan]]
    """
    total = counts.sum(axis=-2, keepdims=True)
    return np.asarray(np.divide(counts, total, out=np.full(counts.shape, np.nan), where=total > 0))


def sides(counts: FloatArray) -> BoolArray:
    """Which (group, item) pairs are tied: b(o, g) > 1/G, strictly, in exact integer arithmetic where counts
    are.

    >>> sides(np.array([[3.0, 1.0], [1.0, 1.0]])).tolist()
    [[True, False], [False, False]]
    """
    return np.asarray(counts * counts.shape[-2] > counts.sum(axis=-2, keepdims=True))


def log_odds(
    counts: FloatArray, rows: FloatArray | None = None, *, strength: float = 500.0
) -> tuple[FloatArray, FloatArray]:
    """Log-odds ratio of each item between one group and all others, shrunk by an informative Dirichlet prior.

    δ = log((y+α)/(n+α₀−y−α)) − log((y'+α)/(n'+α₀−y'−α)), Var ≈ 1/(y+α) + 1/(y'+α), where y, n are the item's
    and all mentions of the group, y', n' those of the others, and α = α₀ · (share of the item in the whole
    corpus).

    Args:
        counts: (G, I).
        rows: (G,) all mentions of each group, n; the sums over the items by default. Where the items are not
            the whole vocabulary, this is what the odds are relative to.
        strength: α₀, the weight of the prior in mentions.

    Returns:
        (δ (G, I), z (G, I)); 0 for items that never occur.

    Source: Monroe, Colaresi & Quinn (2008), Fightin' Words, equations 15, 16, 18 and 22.

    >>> delta, z = log_odds(np.array([[30.0, 10.0], [10.0, 30.0]]), strength=10.0)
    >>> delta.round(3).tolist(), (z + z[::-1]).round(9).tolist()
    ([[1.695, -1.695], [-1.695, 1.695]], [[0.0, 0.0], [0.0, 0.0]])
    """
    n = counts.sum(axis=1) if rows is None else np.asarray(rows, dtype=float)
    of_item, all_mentions = counts.sum(axis=0), float(n.sum())
    if all_mentions <= 0:
        return np.zeros(counts.shape), np.zeros(counts.shape)
    prior = strength * of_item / all_mentions
    rest, n_rest = of_item - counts, (all_mentions - n)[:, None]
    seen = of_item > 0
    a, b = np.where(seen, counts + prior, 1.0), np.where(seen, rest + prior, 1.0)
    # An item in every mention has no "rest" to be odds against: half a mention stands in for it.
    a_not = np.maximum(n[:, None] + strength - a, 0.5)
    b_not = np.maximum(n_rest + strength - b, 0.5)
    delta = np.where(seen, np.log(a / a_not) - np.log(b / b_not), 0.0)
    return delta, delta / np.sqrt(1.0 / a + 1.0 / b)


def pmi(counts: FloatArray, rows: FloatArray) -> FloatArray:
    """Pointwise mutual information log₂ P(o, g)/(P(o)·P(g)) in bits, (G, I); NaN where they never co-occur.

    Args:
        counts: (G, I). rows: (G,) all captions of each group.

    Source: Church & Hanks (1990); P over the captions that name a group.

    >>> pmi(np.array([[4.0], [0.0]]), np.array([8.0, 8.0])).tolist()
    [[1.0], [nan]]
    """
    expected = counts.sum(axis=0, keepdims=True) * rows[:, None] / max(float(rows.sum()), 1.0)
    ratio = np.divide(counts, expected, out=np.zeros(counts.shape), where=expected > 0)
    return np.asarray(np.log2(ratio, out=np.full(counts.shape, np.nan), where=ratio > 0))


def item_epsilon(counts: FloatArray, rows: FloatArray, *, prior: float = 1.0) -> FloatArray:
    """Differential fairness of each item: the largest |log ratio| of P(item | group) over pairs of groups,
    (…, I) ≥ 0.

    Both outcomes count (the item is mentioned, or it is not): ε_o = max over outcomes y and pairs (g, g') of
    log[(N_yg + α)/(N_g + 2α)] − log[(N_yg' + α)/(N_g' + 2α)].

    Args:
        counts: (…, G, I). rows: (…, G) captions of each group.
        prior: α, the Dirichlet smoothing a cell.

    Source: Foulds, Islam, Keya & Pan (2020), An intersectional definition of fairness, equation 7.

    >>> item_epsilon(np.array([[8.0], [3.0]]), np.array([98.0, 98.0])).round(4).tolist()
    [0.8109]
    """
    total = rows[..., :, None] + 2.0 * prior
    with np.errstate(divide="ignore", invalid="ignore"):
        named = np.log((counts + prior) / total)
        silent = np.log((np.maximum(rows[..., :, None] - counts, 0.0) + prior) / total)
    return np.asarray(np.maximum(np.ptp(named, axis=-2), np.ptp(silent, axis=-2)))

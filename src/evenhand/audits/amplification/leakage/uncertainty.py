"""Intervals of scores that attackers reach: what images (or units) and attackers make uncertain."""

from __future__ import annotations

import numpy as np

from evenhand._model import FloatArray, IntArray
from evenhand.stats.interval import Inference, from_standard_error


def over_images(
    by_seed: FloatArray,
    moved: FloatArray,
    units: IntArray,
    level: float,
    method: str,
    null: FloatArray | None = None,
) -> Inference:
    """The mean over attackers, with what images (or units) and seeds make uncertain.

    Args:
        by_seed: (seeds,) the score of each attacker. moved: (n,) by how much each image moves it; mean 0.
        units: (n,) codes of what is sampled.
        null: of a score that also depends on what the attacker happened to learn, which images do not show:
            the spread of its null is the least standard error.
    """
    n, summed = len(moved), np.bincount(units, weights=moved)
    sampled = len(np.unique(units))
    variance = float((summed**2).sum()) / n**2 * sampled / max(sampled - 1, 1)
    seeds = len(by_seed)
    between = float(by_seed.var(ddof=1)) / seeds if seeds > 1 else 0.0
    parts = variance**2 / max(sampled - 1, 1) + between**2 / max(seeds - 1, 1)
    se = float(np.sqrt(variance + between))
    df = se**4 / parts if parts > 0 else float(max(sampled - 1, 1))  # Satterthwaite
    if null is not None and len(null) > 1 and float(null.std(ddof=1)) > se:
        se, df = float(null.std(ddof=1)), float(len(null) - 1)
        method = f"{method}; s.e. of the null"
    return from_standard_error(float(by_seed.mean()), se, df=df, level=level, method=method)

"""Indices of a whole table of class labels: one number for all groups, strata or bins together."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from evenhand._model import FloatArray


def differential_fairness(selected: FloatArray, n: FloatArray, *, concentration: float = 1.0) -> float:
    """ε: the largest |ln ratio| of any two groups' smoothed chances of either outcome.

    Args:
        selected, n: (G,) counts. concentration: of the symmetric Dirichlet prior, spread over the two
            outcomes.

    Source: Foulds, Islam, Keya & Pan (2020), An intersectional definition of fairness, eq. 2 and 12.

    >>> round(differential_fairness(np.array([10.0, 20.0]), np.array([100.0, 100.0])), 3)
    0.669
    """
    x, size = np.asarray(selected, dtype=float), np.asarray(n, dtype=float)
    x, size = x[size > 0], size[size > 0]
    if len(x) < 2:
        return float("nan")
    chance = (x + concentration / 2) / (size + concentration)
    logs = np.log(np.stack([chance, 1 - chance]))
    return float(np.max(logs.max(axis=1) - logs.min(axis=1)))


def conditional_demographic_disparity(
    selected: FloatArray, n: FloatArray, strata_of_all: FloatArray, chosen_of_all: FloatArray
) -> float:
    """Σ_s n_s/n · (share of the group among the rejected of s − its share among the selected of s).

    Args:
        selected, n: (S,) of the group in each stratum. chosen_of_all, strata_of_all: (S,) of everyone.
            Strata where everyone or nobody is selected say nothing and are left out.

    Source: Wachter, Mittelstadt & Russell (2021), Why fairness cannot be automated, section V.

    >>> conditional_demographic_disparity(
    ...     np.array([10.0]), np.array([50.0]), np.array([100.0]), np.array([40.0])
    ... ).__round__(4)
    0.4167
    """
    x, size, every, chosen = (np.asarray(v, dtype=float) for v in (selected, n, strata_of_all, chosen_of_all))
    use = (chosen > 0) & (chosen < every)
    if not use.any():
        return float("nan")
    x, size, every, chosen = x[use], size[use], every[use], chosen[use]
    gap = (size - x) / (every - chosen) - x / chosen
    return float(np.sum(every * gap) / every.sum())


def expected_calibration_error(means: Mapping[str, FloatArray]) -> FloatArray:
    """Σ_k |E[s·1_k] − E[y·1_k]| over bins k of the score.

    Args:
        means: ``s`` and ``y``, (..., K): means over all rows of score and outcome within each bin.

    Source: Naeini, Cooper & Hauskrecht (2015).

    >>> expected_calibration_error({"s": np.array([0.2, 0.3]), "y": np.array([0.1, 0.35])}).round(3).item()
    0.15
    """
    return np.asarray(np.abs(means["s"] - means["y"]).sum(axis=-1))

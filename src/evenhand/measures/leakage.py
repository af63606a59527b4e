"""Leakage: how well an attacker guesses the group from outputs whose group words are masked."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand._errors import UsageError
from evenhand._model import FloatArray, IntArray


def leaked(probabilities: FloatArray, groups: IntArray) -> tuple[FloatArray, FloatArray]:
    """(right (n,), confident (n,)) of each guess: 1[f = a], and the LIC score p(a)·1[f = a].

    Args:
        probabilities: (n, G) of an attacker that never saw the row. groups: (n,) true codes.

    Source: Wang, Zhao, Yatskar, Chang & Ordonez (2019) for the accuracy; Hirota, Nakashima & Garcia (2022),
    Quantifying societal bias amplification in image captioning, equations 4 and 5, for the confidence.

    >>> right, confident = leaked(np.array([[0.75, 0.25], [0.5, 0.5]]), np.array([0, 1]))
    >>> right.tolist(), confident.tolist()
    ([1.0, 0.0], [0.75, 0.0])
    """
    right = (probabilities.argmax(axis=1) == groups).astype(float)
    return right, right * probabilities[np.arange(len(groups)), groups]


def class_weights(groups: IntArray) -> FloatArray:
    """(n,) weights with mean 1 under which every group counts the same, so that guessing the larger group
    gains nothing.

    >>> class_weights(np.array([0, 0, 0, 1])).round(3).tolist()
    [0.667, 0.667, 0.667, 2.0]
    """
    n = np.bincount(groups)
    present = int((n > 0).sum())
    return np.asarray(len(groups) / (present * n[groups]), dtype=float)


def cross_fitted(
    features: Any,
    groups: IntArray,
    *,
    units: IntArray | None = None,
    classifier: Any = None,
    folds: int = 5,
    seed: int = 0,
) -> FloatArray:
    """(n, G) probabilities for each row from an attacker trained on the other folds.

    Args:
        features: (n, k), dense or sparse. groups: (n,) codes 0..G−1, each at least `folds` times.
        units: (n,) codes 0, 1, … of rows that are copies: they stay in one fold. None: no row is one.
        classifier: a scikit-learn classifier with `predict_proba`; class-balanced logistic regression where
            None.

    Raises:
        UsageError: `extra-missing` without scikit-learn; `classifier` where it gives no probabilities.
    """
    try:
        from sklearn.base import clone
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        raise UsageError(
            "extra-missing",
            "leakage needs scikit-learn",
            hint="pip install 'evenhand[sklearn]', or leakage=False",
        ) from None
    attacker = (
        LogisticRegression(max_iter=1000, class_weight="balanced") if classifier is None else classifier
    )
    if not hasattr(attacker, "predict_proba") or not hasattr(attacker, "fit"):
        raise UsageError(
            "classifier",
            "the attacker gives no probabilities",
            given=type(attacker).__name__,
            expected="fit and predict_proba",
        )
    out = np.zeros((len(groups), int(groups.max()) + 1))
    place = _folds(groups, np.arange(len(groups)) if units is None else units, folds, seed)
    for fold in range(folds):
        fit, guess = np.flatnonzero(place != fold), np.flatnonzero(place == fold)
        fresh = clone(attacker)
        if "random_state" in getattr(fresh, "get_params", dict)():
            fresh.set_params(random_state=seed)
        fresh.fit(features[fit], groups[fit])
        out[np.ix_(guess, np.asarray(fresh.classes_, dtype=int))] = fresh.predict_proba(features[guess])
    return out


def _folds(groups: IntArray, units: IntArray, folds: int, seed: int) -> IntArray:
    """(n,) the fold of each row: units are dealt by the group of their first row, so that folds are alike."""
    rng = np.random.default_rng(seed)
    _, first, unit = np.unique(units, return_index=True, return_inverse=True)
    place = np.empty(len(first), dtype=np.int64)
    dealt = 0
    for group in np.unique(groups):
        own = np.flatnonzero(groups[first] == group)
        place[rng.permutation(own)] = (dealt + np.arange(len(own))) % folds
        dealt += len(own)
    return np.asarray(place[unit])

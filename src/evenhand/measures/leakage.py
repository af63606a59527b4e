"""Leakage: how well an attacker guesses the group from outputs whose group words are masked."""

from __future__ import annotations

from contextlib import AbstractContextManager
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


def balanced_accuracy(scores: FloatArray, groups: IntArray) -> FloatArray:
    """(...) mean over groups of the mean score of each group's rows: the accuracy on as many of each.

    Args:
        scores: (..., n) of `leaked`. groups: (n,) true codes.

    >>> float(balanced_accuracy(np.array([1.0, 1.0, 1.0, 0.0]), np.array([0, 0, 0, 1])))
    0.5
    """
    return np.asarray((scores * class_weights(groups)).mean(axis=-1))


def influence(scores: FloatArray, groups: IntArray) -> FloatArray:
    """(n,) by how much each row moves `balanced_accuracy`, with mean 0: w_i (s_i − mean of its group).

    >>> influence(np.array([1.0, 0.0, 1.0, 1.0]), np.array([0, 0, 1, 1])).tolist()
    [0.5, -0.5, 0.0, 0.0]
    """
    sizes = np.maximum(np.bincount(groups), 1)
    means = np.bincount(groups, weights=scores) / sizes
    return np.asarray(class_weights(groups) * (scores - means[groups]))


def taught(
    features: Any, groups: IntArray, tested: Any, *, classifier: Any = None, seed: int = 0
) -> FloatArray:
    """(m, G) probabilities for `tested` rows from an attacker trained on other rows, e.g. of a training set.

    Args:
        features: (n, k), dense or sparse, with `groups` (n,) codes 0..G−1. tested: (m, k).
        classifier, seed: as in `cross_fitted`.

    Source: the dataset leakage λ_D and the model leakage λ_M of Wang, Zhao, Yatskar, Chang & Ordonez (2019),
    Balanced datasets are not enough, equations 1 and 2: annotations, or predictions, of the training images
    teach the attacker, those of the test images are guessed.

    Raises:
        UsageError: those of `cross_fitted`.

    >>> import importlib.util
    >>> if importlib.util.find_spec("sklearn"):
    ...     seen = np.array([[0.0], [0.0], [1.0], [1.0]])
    ...     guess = taught(seen, np.array([0, 0, 1, 1]), np.array([[0.0], [1.0]]))
    ...     assert guess.argmax(axis=1).tolist() == [0, 1]
    """
    attacker = _attacker(classifier)
    out = np.zeros((tested.shape[0], int(groups.max()) + 1))
    with _single_threaded():
        _guess(out, np.arange(len(out)), _fitted(attacker, features, groups, seed), tested)
    return out


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
    attacker = _attacker(classifier)
    out = np.zeros((len(groups), int(groups.max()) + 1))
    place = _folds(groups, np.arange(len(groups)) if units is None else units, folds, seed)
    with _single_threaded():
        for fold in range(folds):
            fit, guess = np.flatnonzero(place != fold), np.flatnonzero(place == fold)
            _guess(out, guess, _fitted(attacker, features[fit], groups[fit], seed), features[guess])
    return out


def _single_threaded() -> AbstractContextManager[object]:
    """Linear algebra by one thread: for hundreds of small problems threads mostly wait for each other (three
    times the CPU on a busy machine)."""
    from threadpoolctl import threadpool_limits  # scikit-learn depends on it

    limits: AbstractContextManager[object] = threadpool_limits(1)
    return limits


def _attacker(classifier: Any) -> Any:
    try:
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        raise UsageError(
            "extra-missing",
            "leakage needs scikit-learn",
            hint="pip install 'evenhand[sklearn]', or leakage=False",
        ) from None
    if classifier is None:
        # Newton's steps end nearer to the optimum than L-BFGS at its usual tolerance, in 0.4 of the time.
        return LogisticRegression(solver="newton-cg", max_iter=1000, class_weight="balanced")
    if not hasattr(classifier, "predict_proba") or not hasattr(classifier, "fit"):
        raise UsageError(
            "classifier",
            "the attacker gives no probabilities",
            given=type(classifier).__name__,
            expected="fit and predict_proba",
        )
    return classifier


def _fitted(attacker: Any, features: Any, groups: IntArray, seed: int) -> Any:
    from sklearn.base import clone

    fresh = clone(attacker)
    if "random_state" in getattr(fresh, "get_params", dict)():
        fresh.set_params(random_state=seed)
    return fresh.fit(features, groups)


def _guess(out: FloatArray, rows: IntArray, fitted: Any, features: Any) -> None:
    if len(rows):  # fewer units than folds leave one empty
        out[np.ix_(rows, np.asarray(fitted.classes_, dtype=int))] = fitted.predict_proba(features)


def permuted(groups: IntArray, units: IntArray | None, rng: np.random.Generator) -> IntArray:
    """(n,) groups dealt anew at random; rows of one unit get one group together.

    >>> sorted(permuted(np.array([0, 0, 1]), None, np.random.default_rng(0)).tolist())
    [0, 0, 1]
    """
    if units is None:
        return np.asarray(rng.permutation(groups))
    _, first, unit = np.unique(units, return_index=True, return_inverse=True)
    return np.asarray(rng.permutation(groups[first])[unit])


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

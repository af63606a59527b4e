"""Leakage: how well an attacker guesses the group from outputs whose group words are masked."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from scipy.special import expit

from evenhand._errors import UsageError
from evenhand._model import BoolArray, FloatArray, IntArray
from evenhand.stats.logistic import CELLS, balanced_logistic


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
    """(..., m, G) probabilities for `tested` rows from attackers trained on other rows, e.g. of a training
    set.

    Args:
        features: (n, k), dense or sparse, with `groups` (..., n) codes 0..G−1. tested: (m, k).
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
    several, attacker = np.atleast_2d(groups), _attacker(classifier)
    out = np.zeros((len(several), tested.shape[0], int(groups.max()) + 1))
    if not features.shape[1]:  # nothing to learn from
        return np.full((*groups.shape[:-1], *out.shape[1:]), 1.0 / out.shape[-1])
    everything = np.ones_like(several, dtype=np.bool_)
    with _single_threaded():
        if classifier is None and _two_everywhere(several, everything):
            weights, constant = balanced_logistic(features, (several == 1).T, everything.T)
            out[:, :, 1] = expit(tested @ weights + constant).T
            out[:, :, 0] = 1.0 - out[:, :, 1]
        else:
            for guessed, true in zip(out, several, strict=True):
                _guess(guessed, np.arange(len(guessed)), _fitted(attacker, features, true, seed), tested)
    return out.reshape(*groups.shape[:-1], *out.shape[1:])


def cross_fitted(
    features: Any,
    groups: IntArray,
    *,
    units: IntArray | None = None,
    classifier: Any = None,
    folds: int = 5,
    seed: int = 0,
) -> FloatArray:
    """(..., n, G) probabilities for each row from an attacker trained on the other folds.

    Args:
        features: (n, k), dense or sparse. groups: (..., n) codes 0..G−1, each at least `folds` times; several
            of them are several attackers, which cost less together.
        units: (n,) codes 0, 1, … of rows that are copies: they stay in one fold. None: no row is one.
        classifier: a scikit-learn classifier with `predict_proba`; class-balanced logistic regression where
            None.

    Raises:
        UsageError: `extra-missing` without scikit-learn; `classifier` where it gives no probabilities.
    """
    several, attacker = np.atleast_2d(groups), _attacker(classifier)
    out = np.zeros((*several.shape, int(groups.max()) + 1))
    if not features.shape[1]:  # nothing to learn from
        return np.full((*groups.shape, out.shape[-1]), 1.0 / out.shape[-1])
    alone = np.arange(several.shape[1]) if units is None else units
    places = np.stack([dealt_folds(true, alone, folds, seed) for true in several])
    taught_by = places[:, None, :] != np.arange(folds)[:, None]
    with _single_threaded():
        if classifier is None and _two_everywhere(several[:, None], taught_by):
            size = max(1, CELLS // taught_by[0].size)
            for at in range(0, len(several), size):
                here = slice(at, at + size)
                out[here, :, 1] = _two_groups(features, several[here], taught_by[here])
            out[:, :, 0] = 1.0 - out[:, :, 1]
        else:
            for guessed, true, used in zip(out, several, taught_by, strict=True):
                for fit in used:
                    rows, left = np.flatnonzero(fit), np.flatnonzero(~fit)
                    fitted = _fitted(attacker, features[rows], true[rows], seed)
                    _guess(guessed, left, fitted, features[left])
    return out.reshape(*groups.shape, out.shape[-1])


def _two_groups(features: Any, groups: IntArray, used: BoolArray) -> FloatArray:
    """(k, n) probability of the second of two groups, by the fold (k, folds, n) that does not use the row."""
    k, folds, n = used.shape
    labels = np.repeat(groups.T == 1, folds, axis=1)
    weights, constant = balanced_logistic(features, labels, used.reshape(k * folds, n).T)
    line = np.asarray(features @ weights + constant).reshape(n, k, folds)
    fold = np.argmin(used, axis=1)[:, None]
    return np.asarray(expit(np.take_along_axis(line.transpose(1, 2, 0), fold, axis=1)[:, 0]))


def _two_everywhere(groups: IntArray, used: BoolArray) -> bool:
    """Whether every attacker learns from two groups, and there are no more."""
    ones, some = (used & (groups == 1)).sum(axis=-1), used.sum(axis=-1)
    return bool(groups.max() == 1 and (ones > 0).all() and (ones < some).all())


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
        # Of two groups `balanced_logistic` finds the same optimum; this one serves for more.
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


def dealt_folds(groups: IntArray, units: IntArray, folds: int, seed: int) -> IntArray:
    """(n,) the fold of each row: units are dealt by the group of their first row, so that folds are alike.

    >>> sorted(dealt_folds(np.array([0, 0, 1, 1]), np.arange(4), folds=2, seed=0)[:2].tolist())
    [0, 1]
    """
    rng = np.random.default_rng(seed)
    _, first, unit = np.unique(units, return_index=True, return_inverse=True)
    place = np.empty(len(first), dtype=np.int64)
    dealt = 0
    for group in np.unique(groups):
        own = np.flatnonzero(groups[first] == group)
        place[rng.permutation(own)] = (dealt + np.arange(len(own))) % folds
        dealt += len(own)
    return np.asarray(place[unit])

"""How good or bad words feel: by VADER's lexicon, and of words that it does not list by their vectors."""

from __future__ import annotations

import numpy as np

from evenhand._model import FloatArray
from evenhand.embeddings import forms
from evenhand.embeddings._matrix import Vectors

FEWEST = 200
"""Listed words below which nothing is learnt from vectors."""
LEAST = 0.7
"""Correlation of listed and learnt values, on words not learnt from, below which they tell nothing."""
RIDGE = 3.0
FOLDS = 5


def feelings(vectors: Vectors) -> FloatArray:
    """(words,) how good or bad each feels, −4 to 4; NaN where nothing is known.

    Listed words have VADER's value (Hutto & Gilbert 2014). The others' are learnt from the listed ones by
    ridge regression on unit vectors, where that predicts listed words that were held out; that vectors hold
    such a direction is known since Rothe, Ebert & Schütze (2016).

    >>> from evenhand.embeddings import vectors
    >>> feelings(vectors({"nice": [1.0, 0.0], "table": [0.0, 1.0]}))
    array([1.8, nan])
    """
    listed = [forms.feeling(word) for word in vectors.words]
    found = np.array([np.nan if x is None else x for x in listed])
    rows = np.flatnonzero(np.isfinite(found))
    if len(rows) < FEWEST:
        return found
    known, felt = np.asarray(vectors.unit[rows], dtype=np.float64), found[rows]
    fold = np.arange(len(rows)) % FOLDS
    guessed = np.empty(len(rows))
    for k in range(FOLDS):
        weights, middle = _fitted(known[fold != k], felt[fold != k])
        guessed[fold == k] = known[fold == k] @ weights + middle
    if not np.std(guessed) or np.corrcoef(guessed, felt)[0, 1] < LEAST:
        return found
    weights, middle = _fitted(known, felt)
    learnt = vectors.unit @ weights.astype(np.float32) + middle
    return np.where(np.isfinite(found), found, learnt)


def _fitted(known: FloatArray, felt: FloatArray) -> tuple[FloatArray, float]:
    centre, middle = known.mean(axis=0), float(felt.mean())
    moved = known - centre
    weights = np.linalg.solve(moved.T @ moved + RIDGE * np.eye(moved.shape[1]), moved.T @ (felt - middle))
    return weights, middle - float(centre @ weights)

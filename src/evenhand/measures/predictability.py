"""How well one thing can be told from another where both are equally accurate: mistakes that know no
group, and the relative change of predictability.

Items are sparse 0/1 matrices with one row an image.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from evenhand._model import FloatArray, IntArray


@dataclass(frozen=True, kw_only=True)
class Mistakes:
    """How often outputs go wrong about each item, whoever is in the picture.

    Args:
        missed: (k,) share of the images with the item whose outputs lack it. added: (k,) share of the images
            without it whose outputs have it.
    """

    missed: FloatArray
    added: FloatArray


def mistakes(truth: Any, outputs: Any) -> Mistakes:
    """The mistakes of outputs (n, k) about the truth (n, k); 0 for an item that is nowhere, or everywhere.

    >>> truth, outputs = sparse.csr_matrix([[1], [1], [0]]), sparse.csr_matrix([[1], [0], [0]])
    >>> mistakes(truth, outputs).missed.tolist(), mistakes(truth, outputs).added.tolist()
    ([0.5], [0.0])
    """
    there, said = _column_sums(truth), _column_sums(outputs)
    both = _column_sums(truth.multiply(outputs))
    absent = truth.shape[0] - there
    return Mistakes(missed=_share(there - both, there), added=_share(said - both, absent))


def mistaken(truth: Any, made: Mistakes, rng: np.random.Generator) -> sparse.csr_matrix:
    """The truth (n, k) with mistakes as often as `made`, item by item, dealt without regard to the group.

    Every 1 is dropped with the item's `missed`, every 0 turned to 1 with its `added`, independently, so that
    precision, recall and F1 of each item are expected to be those of the outputs.

    Source: λ_D(a) of Wang, Zhao, Yatskar, Chang & Ordonez (2019), Balanced datasets are not enough: labels
    disturbed at random to the accuracy a of the model. They match one F1 over all labels; here each item is
    matched.

    >>> truth, never = sparse.csr_matrix([[1], [0]]), np.zeros(1)
    >>> made = Mistakes(missed=np.ones(1), added=never)
    >>> mistaken(truth, made, np.random.default_rng(0)).toarray().ravel().tolist()
    [0.0, 0.0]
    """
    cells = sparse.csr_matrix(truth, dtype=np.float64)
    cells.eliminate_zeros()
    kept = cells.copy()
    kept.data = (rng.random(cells.nnz) >= made.missed[cells.indices]).astype(np.float64)
    n, k = cells.shape
    # A Poisson number of darts, −n log(1 − p) expected, hits each of n cells with probability p.
    share = np.minimum(made.added, 1.0 - 0.5 / max(n, 1))
    darts = rng.poisson(-n * np.log1p(-share))
    hit = sparse.coo_matrix(
        (
            np.ones(int(darts.sum())),
            (rng.integers(0, max(n, 1), darts.sum()), np.repeat(np.arange(k), darts)),
        ),
        shape=(n, k),
    ).tocsr()
    hit.data[:] = 1.0
    made_up = hit - hit.multiply(cells)
    out = sparse.csr_matrix(kept + made_up)
    out.eliminate_zeros()
    return out


def mistaken_groups(true: IntArray, said: IntArray, rng: np.random.Generator) -> IntArray:
    """(n,) groups that are wrong as often as `said` (n,) is, in each group, in images drawn at random.

    >>> mistaken_groups(np.array([0, 0, 1]), np.array([1, 1, 1]), np.random.default_rng(0)).tolist()
    [1, 1, 1]
    """
    out = np.array(true)
    for group in np.unique(true):
        own = np.flatnonzero(true == group)
        out[own] = rng.permutation(said[own])
    return out


def guessed_items(items: Any, groups: IntArray, places: IntArray) -> tuple[float, FloatArray]:
    """(quality, moved (n,)) of guessing every item from the group alone: the mean over items of balanced
    accuracy, ½ where the group says nothing; and by how much each image moves it, with mean 0.

    An attacker says that an item is there for the groups in which it is commoner than in all; it learns that
    from the images of other folds.

    Args:
        items: (n, k), every item in some rows and not in all. groups: (n,) codes. places: (n,) folds 0, 1, ….

    >>> told = sparse.csr_matrix([[1], [0]] * 6)
    >>> guessed_items(told, np.array([0, 1] * 6), np.arange(12) // 2 % 3)[0]
    1.0
    """
    n, k = items.shape
    shape = (int(places.max()) + 1, int(groups.max()) + 1)
    cell = places * shape[1] + groups
    size = np.bincount(cell, minlength=shape[0] * shape[1]).astype(float)
    gather = sparse.csr_matrix((np.ones(n), (cell, np.arange(n))), shape=(len(size), n))
    ones = np.asarray((gather @ items).todense(), dtype=float).reshape(*shape, k)
    rows = size.reshape(*shape, 1)
    learnt, of = ones.sum(axis=0) - ones, rows.sum(axis=0) - rows
    pooled = _share(learnt.sum(axis=1, keepdims=True), of.sum(axis=1, keepdims=True))
    says = (_share(learnt, of) > pooled).astype(float)
    there, absent = ones.sum(axis=(0, 1)), n - ones.sum(axis=(0, 1))
    found = (says * ones).sum(axis=(0, 1)) / there
    spared = ((1.0 - says) * (rows - ones)).sum(axis=(0, 1)) / absent
    with_it = (says - found) * (n / (2.0 * there * k))
    without = (1.0 - says - spared) * (n / (2.0 * absent * k))
    moved = without.sum(axis=-1).ravel()[cell]
    step = (with_it - without).reshape(len(size), k)
    for c in np.flatnonzero(size):
        own = np.flatnonzero(cell == c)
        moved[own] += np.asarray(items[own] @ step[c]).ravel()
    return float((found + spared).mean() / 2.0), moved


def relative_change(model: FloatArray | float, data: FloatArray | float) -> FloatArray:
    """DPA: (Ψ_M − Ψ_D)/(Ψ_M + Ψ_D), −1 to 1; 0 where the model's is as predictable as the data's.

    Args:
        model, data: predictability, above 0, of the model's outputs and of the data at the same accuracy.

    Source: directional predictability amplification, Tokas, Nair & Kerner (2025), DPA: a one-stop metric to
    measure bias amplification in classification datasets, NeurIPS.

    >>> float(relative_change(0.75, 0.5))
    0.2
    """
    model, data = np.asarray(model, dtype=float), np.asarray(data, dtype=float)
    return np.asarray((model - data) / (model + data))


def _column_sums(matrix: Any) -> FloatArray:
    return np.asarray(matrix.sum(axis=0), dtype=float).ravel()


def _share(part: FloatArray, of: FloatArray) -> FloatArray:
    part, of = np.broadcast_arrays(part, of)
    return np.asarray(np.divide(part, of, out=np.zeros(part.shape), where=of > 0))

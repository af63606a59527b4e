"""Many logistic regressions on the same features at once: other labels, other rows, one matrix.

A permutation null trains hundreds of classifiers on one sparse matrix. Asked one by one, each step reads the
matrix for one vector; asked together, it is read once for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

from evenhand._model import BoolArray, FloatArray

Scale: TypeAlias = Callable[[FloatArray], FloatArray]
CELLS = 1_000_000
"""Rows times regressions that are worked on at a time."""
NEWTON, GRADIENTS, HALVINGS = 50, 60, 30
TOLERANCE = 1e-5
"""Of the gradient of the mean loss: a tenth of scikit-learn's, which leaves coefficients of rare words
uncertain in their first digit."""
WIDEST = 3_000
"""Features up to which their products (p, p) are made once, to scale the steps of all regressions."""


def balanced_logistic(features: Any, labels: BoolArray, used: BoolArray) -> tuple[FloatArray, FloatArray]:
    """(coefficients (p, k), intercepts (k,)) of k regressions with L2 penalty ½‖w‖², both classes of equal
    weight.

    Minimises Σ s_i log(1 + exp(−y_i f_i)) + ½‖w‖² with f = Xw + b and s_i = n/(2 n_class), as scikit-learn's
    LogisticRegression(class_weight="balanced"), by Newton's steps, each solved by conjugate gradients that
    are scaled by the diagonal (Nocedal & Wright, Numerical optimization, algorithm 7.1).

    Args:
        features: (n, p), dense or sparse. labels: (n, k). used: (n, k) the rows that each regression sees,
            of both classes.

    >>> x = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> y = np.array([[False], [False], [True], [True]])
    >>> w, b = balanced_logistic(x, y, np.ones_like(y))
    >>> bool(w[0, 0] > 0), round(float(-b[0] / w[0, 0]), 6)
    (True, 1.5)
    """
    n, k = labels.shape
    matrix = sparse.csr_matrix(features, dtype=np.float64)
    size, scale = max(1, CELLS // max(n, 1)), _scaling(matrix, float(used.mean()) / 4)
    parts = [
        _fitted(matrix, labels[:, at : at + size], used[:, at : at + size], scale) for at in range(0, k, size)
    ]
    both = np.concatenate(parts, axis=1) if parts else np.empty((matrix.shape[1] + 1, 0))
    return both[:-1], both[-1]


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class _Problem:
    """Some of the regressions: matrix (n, p), its transpose; labels ±1 and weights (n, k); about the inverse
    of the curvature, as a product."""

    matrix: Any
    turned: Any
    scale: Scale
    signs: FloatArray
    weights: FloatArray

    def only(self, columns: BoolArray) -> _Problem:
        return _Problem(
            matrix=self.matrix,
            turned=self.turned,
            scale=self.scale,
            signs=self.signs[:, columns],
            weights=self.weights[:, columns],
        )

    def value(self, line: FloatArray, penalty: FloatArray) -> FloatArray:
        """(k,) the objective, from f (n, k) and ‖w‖² (k,)."""
        return np.asarray((self.weights * np.logaddexp(0.0, -self.signs * line)).sum(axis=0) + penalty / 2)

    def along(self, both: FloatArray) -> FloatArray:
        """(n, k) Xw + b."""
        return np.asarray(self.matrix @ both[:-1] + both[-1])

    def back(self, rows: FloatArray, both: FloatArray) -> FloatArray:
        """(p + 1, k) Xᵀr + w, and Σr of the intercept."""
        return np.concatenate([self.turned @ rows + both[:-1], rows.sum(axis=0, keepdims=True)])


def _scaling(matrix: Any, curved: float) -> Scale:
    """The inverse of Xᵀ X · curved + 1 (with the intercept) as a product; of wide X, of its diagonal."""
    n, p = matrix.shape
    sums = np.append(np.asarray(matrix.sum(axis=0)).ravel(), n) * curved
    if p > WIDEST:
        squares = np.append(np.asarray(matrix.multiply(matrix).sum(axis=0)).ravel() * curved + 1.0, sums[-1])
        return lambda left: left / squares[:, None]
    whole = np.zeros((p + 1, p + 1))
    whole[:p, :p] = (matrix.T @ matrix).toarray() * curved + np.eye(p)
    whole[p] = whole[:, p] = sums
    factor = cho_factor(whole + 1e-9 * np.eye(p + 1), lower=True, overwrite_a=True, check_finite=False)
    return lambda left: np.asarray(cho_solve(factor, left, check_finite=False))


def _fitted(matrix: Any, labels: BoolArray, used: BoolArray, scale: Scale) -> FloatArray:
    """(p + 1, k) coefficients, the intercepts last."""
    seen = used.sum(axis=0)
    first = np.maximum((used & labels).sum(axis=0), 1)
    weights = np.where(labels, seen / (2 * first), seen / (2 * np.maximum(seen - first, 1))) * used
    problem = _Problem(
        matrix=matrix,
        turned=matrix.T,
        scale=scale,
        signs=np.where(labels, 1.0, -1.0),
        weights=weights,
    )
    found = np.zeros((matrix.shape[1] + 1, labels.shape[1]))
    line, open_ = np.zeros(labels.shape), np.arange(labels.shape[1])
    for _ in range(NEWTON):
        chance = expit(-problem.signs * line)  # of the other label
        slope = problem.back(-problem.signs * problem.weights * chance, found[:, open_])
        going = np.abs(slope).max(axis=0) > TOLERANCE * seen[open_]
        if not going.all():
            open_, line, chance, slope = open_[going], line[:, going], chance[:, going], slope[:, going]
            problem = problem.only(going)
        if not len(open_):
            break
        step = _towards(problem, problem.weights * chance * (1.0 - chance), slope)
        moved, line = _stepped(problem, found[:, open_], line, step, slope)
        found[:, open_] = moved
    return found


def _towards(problem: _Problem, curved: FloatArray, slope: FloatArray) -> FloatArray:
    """(p + 1, k) approximate solution of H d = −slope, each column until its residual is small beside its
    slope."""
    step, left = np.zeros_like(slope), -slope
    scaled = problem.scale(left)
    way, product = scaled.copy(), (left * scaled).sum(axis=0)
    first = np.maximum(product, 1e-300)
    enough = np.minimum(0.01, np.sqrt(first / (1.0 + first))) ** 2 * first
    for _ in range(GRADIENTS):
        if (product <= enough).all():
            break
        turned = problem.back(curved * problem.along(way), way)
        bend = np.maximum((way * turned).sum(axis=0), 1e-300)
        length = np.where(product > enough, product / bend, 0.0)
        step += length * way
        left -= length * turned
        scaled = problem.scale(left)
        now = (left * scaled).sum(axis=0)
        way = scaled + np.where(product > enough, now / np.maximum(product, 1e-300), 0.0) * way
        product = np.where(product > enough, now, product)
    return step


def _stepped(
    problem: _Problem, both: FloatArray, line: FloatArray, step: FloatArray, slope: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(coefficients, f) after as much of a step as lowers the objective enough (Armijo)."""
    along, size = problem.along(step), np.ones(step.shape[1])
    before = problem.value(line, (both[:-1] ** 2).sum(axis=0))
    falls = (slope * step).sum(axis=0)
    for _ in range(HALVINGS):
        after = problem.value(line + size * along, ((both + size * step)[:-1] ** 2).sum(axis=0))
        high = after > before + 1e-4 * size * falls + 1e-12 * np.abs(before)
        if not high.any():
            break
        size = np.where(high, size / 2, size)
    return both + size * step, line + size * along

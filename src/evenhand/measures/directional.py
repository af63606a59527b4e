"""Directional bias amplification: does knowing the group change the tasks predicted (A→T), or the other way
(T→A)?

All matrices have one row an image. Entries are 0/1, or shares where an image has several captions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand._model import FloatArray


@dataclass(frozen=True, kw_only=True, slots=True)
class Directional:
    """Sums that the directional measures are made of; leading axes are resamples.

    Args:
        both: (…, A, T) Σ A·T of the truth. predicted: the same with the prediction in place of T (A→T) or A
            (T→A).
        given: (…, A, 1) or (…, 1, T) Σ of the conditioning truth.
    """

    both: FloatArray
    predicted: FloatArray
    given: FloatArray

    def delta(self) -> FloatArray:
        """P(prediction | given) − P(truth | given), (…, A, T); NaN where the condition never holds."""
        shape = np.broadcast_shapes(self.both.shape, self.given.shape)
        given = np.broadcast_to(self.given, shape)
        gap = self.predicted - self.both
        return np.asarray(np.divide(gap, given, out=np.full(shape, np.nan), where=given > 0))


def signs(both: FloatArray, attributes: FloatArray, tasks: FloatArray, n: FloatArray | float) -> FloatArray:
    """+1 where P(A, T) > P(A)·P(T), −1 where smaller, 0 for independence: exact for counts, (…, A, T).

    Args:
        both: (…, A, T) Σ A·T. attributes: (…, A). tasks: (…, T). n: rows (…,).

    >>> signs(np.array([[3.0, 2.0]]), np.array([4.0]), np.array([4.0, 4.0]), 8).tolist()
    [[1.0, 0.0]]
    """
    observed = both * np.asarray(n)[..., None, None]
    expected = attributes[..., :, None] * tasks[..., None, :]
    gap = observed - expected
    # Shares (not counts) carry rounding errors; a relative 1e-12 is independence.
    return np.where(np.abs(gap) <= 1e-12 * np.maximum(observed, expected), 0.0, np.sign(gap))


def amplification(sign: FloatArray, delta: FloatArray) -> FloatArray:
    """BiasAmp: mean over pairs of y·Δ + (1−y)(−Δ), independence adding 0, (…,).

    Pairs whose condition never occurs have no Δ and are left out of the mean.

    Source: Wang & Russakovsky (2021), Directional bias amplification, equations 2 and 3.

    >>> float(amplification(np.array([[1.0, -1.0]]), np.array([[0.2, 0.1]])).round(3))
    0.05
    """
    seen = np.isfinite(delta)
    n = seen.sum(axis=(-1, -2))
    total = np.where(seen, sign * np.where(seen, delta, 0.0), 0.0).sum(axis=(-1, -2))
    return np.asarray(np.divide(total, n, out=np.full(np.shape(total), np.nan), where=n > 0))


def directional(
    attributes: FloatArray,
    tasks: FloatArray,
    *,
    predicted_attributes: FloatArray | None = None,
    predicted_tasks: FloatArray | None = None,
    train: tuple[FloatArray, FloatArray] | None = None,
) -> tuple[float, float]:
    """(A→T, T→A) of one data set; NaN for a direction whose prediction is not given.

    Source: Wang & Russakovsky (2021), Directional bias amplification, equations 2 and 3.

    Args:
        attributes: (n, A), the truth. tasks: (n, T), the truth.
        predicted_attributes: (n, A) Â. predicted_tasks: (n, T) T̂.
        train: (attributes, tasks) of the training data, which tell the direction y of each pair; the truth by
            default.

    A→T takes Δ = P(T̂ | A) − P(T | A), T→A takes Δ = P(Â | T) − P(A | T).

    >>> a = np.array([[1, 0], [1, 0], [0, 1], [0, 1]], dtype=float)
    >>> t = np.array([[1], [0], [0], [0]], dtype=float)
    >>> directional(a, t, predicted_tasks=np.array([[1.0], [1.0], [0.0], [0.0]]))[0]
    0.25
    """
    known_a, known_t = (attributes, tasks) if train is None else train
    sign = signs(known_a.T @ known_t, known_a.sum(axis=0), known_t.sum(axis=0), float(len(known_a)))
    both = attributes.T @ tasks
    forward = backward = float("nan")
    if predicted_tasks is not None:
        sums = Directional(
            both=both, predicted=attributes.T @ predicted_tasks, given=attributes.sum(axis=0)[:, None]
        )
        forward = float(amplification(sign, sums.delta()))
    if predicted_attributes is not None:
        sums = Directional(
            both=both, predicted=predicted_attributes.T @ tasks, given=tasks.sum(axis=0)[None, :]
        )
        backward = float(amplification(sign, sums.delta()))
    return forward, backward

"""What an embedding test computes: WEAT, RND, RNSB, MAC, ECT, RIPA, each of matrices with a row a word."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from evenhand._model import FloatArray

Sets: TypeAlias = Sequence[FloatArray]
Measured: TypeAlias = tuple[float, FloatArray]
"""The value, and what each word contributes."""


def unit(rows: FloatArray) -> FloatArray:
    """Rows at length 1; a row of zeros stays one."""
    length = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows / np.where(length > 0, length, 1.0))


def weat(targets: Sets, attributes: Sets) -> Measured:
    """d = (mean_X s − mean_Y s)/sd_{X∪Y} s, with s(w) = mean_A cos(w, a) − mean_B cos(w, b).

    Caliskan et al. The spread is over all target words, with their number as divisor.
    """
    a, b = (unit(rows).mean(axis=0) for rows in attributes)
    s = unit(np.concatenate(targets)) @ (a - b)
    spread, n = float(s.std()), len(targets[0])
    return (float(s[:n].mean() - s[n:].mean()) / spread if spread > 0 else float("nan")), s


def rnd(targets: Sets, attributes: Sets) -> Measured:
    """Mean over attribute words of ‖w − v̄_X‖ − ‖w − v̄_Y‖ (Garg et al.); negative: nearer to X."""
    x, y = (rows.mean(axis=0) for rows in targets)
    words = attributes[0]
    apart = np.linalg.norm(words - x, axis=1) - np.linalg.norm(words - y, axis=1)
    return float(apart.mean()), np.asarray(apart)


def mac(targets: Sets, attributes: Sets) -> Measured:
    """Mean over target words and attribute sets of the mean cosine distance (Manzini et al.)."""
    words = unit(np.concatenate(targets))
    distances = np.stack([1.0 - words @ unit(rows).mean(axis=0) for rows in attributes], axis=1)
    each = distances.mean(axis=1)
    return float(each.mean()), each


def ect(targets: Sets, attributes: Sets) -> Measured:
    """Spearman correlation over attribute words of cos(w, v̄_X) and cos(w, v̄_Y) (Dev & Phillips)."""
    words = unit(attributes[0])
    x, y = (_ranks(words @ unit(rows.mean(axis=0))) for rows in targets)
    centred = x - x.mean(), y - y.mean()
    length = float(np.sqrt((centred[0] ** 2).sum() * (centred[1] ** 2).sum()))
    return (float(centred[0] @ centred[1]) / length if length > 0 else float("nan")), x - y


def ripa(targets: Sets, attributes: Sets) -> Measured:
    """Mean over attribute words and pairs of w·(x − y)/‖x − y‖ (Ethayarajh et al.); vectors as they are."""
    apart = targets[0] - targets[1]
    each = attributes[0] @ unit(apart).T
    return float(each.mean()), np.asarray(each.mean(axis=1))


def rnsb(targets: Sets, attributes: Sets) -> Measured:
    """KL divergence from uniform of the target words' share of negative probability (Sweeney & Najafian).

    The probability is a logistic regression's, learned on the attribute words (first set good, second bad).
    """
    rows = np.concatenate(attributes)
    labels = np.repeat([0.0, 1.0], [len(part) for part in attributes])
    weights = _logistic(np.column_stack([rows, np.ones(len(rows))]), labels)
    words = np.concatenate(targets)
    negative = _sigmoid(words @ weights[:-1] + weights[-1])
    share = negative / negative.sum()
    return float(np.sum(share * np.log(np.maximum(share, 1e-300) * len(share)))), negative


def _sigmoid(z: FloatArray) -> FloatArray:
    return np.asarray(0.5 * (1.0 + np.tanh(z / 2.0)))


def _logistic(design: FloatArray, labels: FloatArray) -> FloatArray:
    """Weights that minimise ½‖w‖² + Σ log-loss, the constant's weight included, by Newton's method.

    They lie in the span of the rows, so that a step solves no more equations than there are words.
    """
    basis, corner = np.linalg.qr(design.T)
    rows = corner.T
    signs = 2.0 * labels - 1.0

    def cost(weights: FloatArray) -> float:
        return float(weights @ weights / 2.0 + np.logaddexp(0.0, -signs * (rows @ weights)).sum())

    found = np.zeros(rows.shape[1])
    now = cost(found)
    for _ in range(100):
        p = _sigmoid(rows @ found)
        gradient = found - rows.T @ (labels - p)
        curve = np.eye(len(found)) + rows.T @ ((p * (1.0 - p))[:, None] * rows)
        step = np.linalg.solve(curve, gradient)
        size = 1.0
        while cost(found - size * step) > now and size > 1e-6:
            size /= 2.0
        found, before = found - size * step, now
        now = cost(found)
        if before - now < 1e-13 * (1.0 + before):
            break
    return np.asarray(basis @ found)


def _ranks(values: FloatArray) -> FloatArray:
    """Ranks with ties at their mean."""
    _, code, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return np.asarray((last - (count - 1) / 2.0)[code])


@dataclass(frozen=True, kw_only=True, slots=True)
class WordMeasure:
    """A row that says everything about one test.

    Args:
        of: the function. title: what the value is called. says: how it is read.
        targets, attributes: number of sets, None for any. each: whose words are told one by one.
        exchanged: what the permutation exchanges: the words of both target sets, the words of each pair, the
            words of both attribute sets; None where there is no such null.
        extreme: which values speak of an association. low, high: what the value can be.
    """

    of: Callable[[Sets, Sets], Measured]
    title: str
    says: str
    source: str
    targets: int | None
    attributes: int | None
    each: Literal["targets", "attributes"]
    exchanged: Literal["targets", "pairs", "attributes"] | None
    extreme: Literal["away from 0", "small", "large", "either"]
    low: float = float("-inf")
    high: float = float("inf")


MEASURES: Mapping[str, WordMeasure] = {
    "weat": WordMeasure(
        of=weat,
        title="effect size d",
        says="above 0: the first targets are nearer to the first attributes, the second to the second",
        source="Caliskan, Bryson & Narayanan 2017; on sentences May et al. 2019 (SEAT)",
        targets=2,
        attributes=2,
        each="targets",
        exchanged="targets",
        extreme="away from 0",
        low=-2.0,
        high=2.0,
    ),
    "rnd": WordMeasure(
        of=rnd,
        title="relative norm distance",
        says="below 0: the attribute words are nearer to the first targets; above 0: to the second",
        source="Garg, Schiebinger, Jurafsky & Zou 2018",
        targets=2,
        attributes=1,
        each="attributes",
        exchanged="targets",
        extreme="away from 0",
    ),
    "rnsb": WordMeasure(
        of=rnsb,
        title="relative negative sentiment bias",
        says="0: a classifier of good and bad words finds all target words equally bad",
        source="Sweeney & Najafian 2019",
        targets=None,
        attributes=2,
        each="targets",
        exchanged="attributes",
        extreme="large",
        low=0.0,
    ),
    "mac": WordMeasure(
        of=mac,
        title="mean average cosine distance",
        says="1: targets and attributes are unrelated on average; below 1: they are alike",
        source="Manzini, Lim, Black & Tsvetkov 2019",
        targets=None,
        attributes=None,
        each="targets",
        exchanged=None,
        extreme="either",
        low=0.0,
        high=2.0,
    ),
    "ect": WordMeasure(
        of=ect,
        title="embedding coherence (Spearman's rho)",
        says="1: the attribute words are ordered alike by both targets; lower: the targets differ",
        source="Dev & Phillips 2019",
        targets=2,
        attributes=1,
        each="attributes",
        exchanged="targets",
        extreme="small",
        low=-1.0,
        high=1.0,
    ),
    "ripa": WordMeasure(
        of=ripa,
        title="relational inner product association",
        says="above 0: the attribute words lean to the first of each pair; below 0: to the second",
        source="Ethayarajh, Duvenaud & Hirst 2019",
        targets=2,
        attributes=1,
        each="attributes",
        exchanged="pairs",
        extreme="away from 0",
    ),
}
"""Name → test, as `evenhand embeddings test --test` takes it."""

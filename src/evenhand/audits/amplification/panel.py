"""Everything that is counted, per image, in one sparse matrix: a resample of images is a product with
weights.

Every block of columns is a table of counts; its sum over images, weighted, is the table of a resample. The
same image carries the same weight in the training data and in the outputs, so whatever is paired stays
paired.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import sparse

from evenhand._model import FloatArray, IntArray
from evenhand.audits.amplification.corpus import Corpus, gathering

BLOCK = 50
Sums: TypeAlias = Mapping[str, FloatArray]
"""block → its table, (draws, *shape)."""
Blocks: TypeAlias = dict[str, tuple[sparse.csr_matrix, tuple[int, ...]]]
"""block → (sparse (images, k), shape with k entries)."""


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Blocks of per-image counts side by side.

    Args:
        columns: sparse CSR (K, images), only images (or units of them) that carry anything.
        shapes: block → (where it begins, its shape).
        images: how many images there are.
    """

    columns: sparse.csr_matrix
    shapes: Mapping[str, tuple[int, tuple[int, ...]]]
    images: int

    def totals(self, weights: FloatArray | None = None) -> Sums:
        """block → sums (draws, *shape) under `weights` (images, draws); one draw of ones where None."""
        if weights is None:
            weights = np.ones((self.images, 1))
        sums = np.asarray(self.columns @ weights).T
        return {
            name: np.ascontiguousarray(sums[:, at : at + int(np.prod(shape))]).reshape(len(sums), *shape)
            for name, (at, shape) in self.shapes.items()
        }


def panel(blocks: Blocks, unit: IntArray | None = None) -> Panel:
    """Blocks as one panel.

    Args:
        unit: (images,) codes, where images are summed by unit and units are what is resampled.
    """
    joined = sparse.hstack([matrix for matrix, _ in blocks.values()]).tocsr()
    if unit is not None:
        joined = (gathering(unit, int(unit.max()) + 1) @ joined).tocsr()
    joined = joined[np.flatnonzero(np.diff(joined.indptr) > 0)]
    shapes: dict[str, tuple[int, tuple[int, ...]]] = {}
    at = 0
    for name, (matrix, shape) in blocks.items():
        shapes[name] = (at, shape)
        at += matrix.shape[1]
    return Panel(columns=joined.T.tocsr().astype(np.float64), shapes=shapes, images=joined.shape[0])


def by_group(member: FloatArray, matrix: sparse.csr_matrix) -> sparse.csr_matrix:
    """Sparse (rows, G·I): the items of a row, in the columns of its groups."""
    return sparse.hstack([sparse.diags(column) @ matrix for column in np.asarray(member).T]).tocsr()


def corpus_blocks(corpus: Corpus, images: int, prefix: str) -> Blocks:
    """`prefix`: c(o, g) of each image, (G, I); `prefix_rows`: its rows by group, (G,)."""
    groups, items = corpus.member.shape[1], corpus.items.shape[1]
    add = gathering(corpus.images, images)
    return {
        prefix: ((add @ by_group(corpus.member, corpus.items)).tocsr(), (groups, items)),
        f"{prefix}_rows": ((add @ sparse.csr_matrix(corpus.member)).tocsr(), (groups,)),
    }


def poisson_weights(images: int, draws: int, seed: int) -> Iterator[FloatArray]:
    """Blocks (images, ≤ BLOCK) of independent Poisson(1) weights: a bootstrap over images, whatever their
    number.

    Drawn from 16 random bits each by the inverse distribution function: mean and variance are 1 to four
    digits.
    """
    from scipy.special import pdtr

    rng = np.random.default_rng(seed)
    edges = np.round(pdtr(np.arange(9), 1.0) * 65536).astype(np.int64)
    table = np.searchsorted(edges, np.arange(65536), side="right").astype(np.uint8)
    for begin in range(0, draws, BLOCK):
        size = min(BLOCK, draws - begin)
        bits = rng.integers(0, 65536, size=(images, size), dtype=np.uint16)
        yield table[bits].astype(np.float64)


def swapped(joint: Panel, draws: int, seed: int) -> Iterator[Sums]:
    """Totals with training and outputs exchanged at random, image by image: exact where the two are
    exchangeable.

    For images that both have, each keeps or swaps its two rows; images of one corpus are dealt anew between
    the two.
    """
    rng = np.random.default_rng(seed)
    names = [n for n in joint.shapes if n.startswith("train")]
    whole = joint.totals()
    for begin in range(0, draws, BLOCK):
        size = min(BLOCK, draws - begin)
        flips = rng.integers(0, 2, size=(joint.images, size)).astype(np.float64)
        moved = joint.totals(flips)
        sums = {}
        for name in names:
            other = "out" + name[len("train") :]
            step = moved[other] - moved[name]
            sums[name], sums[other] = whole[name] + step, whole[other] - step
        yield sums


def binomial(point: Sums, draws: int, seed: int) -> Iterator[Sums]:
    """Totals under one common rate of each item in each group: c(o, g) ~ Binomial(rows of g, pooled rate).

    The model for counts, where nobody knows which mention came from which image. Rows are taken as
    independent.
    """
    rng = np.random.default_rng(seed)
    rows = {k: np.round(point[f"{k}_rows"][0]) for k in ("train", "out")}
    both = np.maximum(rows["train"] + rows["out"], 1.0)
    rate = np.clip((point["train"][0] + point["out"][0]) / both[:, None], 0.0, 1.0)
    for begin in range(0, draws, BLOCK):
        size = min(BLOCK, draws - begin)
        sums = {}
        for k in ("train", "out"):
            n = np.broadcast_to(rows[k][:, None], rate.shape).astype(np.int64)
            sums[k] = rng.binomial(n, rate, size=(size, *rate.shape)).astype(float)
            sums[f"{k}_rows"] = np.broadcast_to(rows[k], (size, len(rows[k])))
        yield sums


def exchangeable(train: Corpus, outputs: Corpus) -> bool:
    """Whether one row of the training data may stand for one of the outputs: one row an image in each.

    Corpora that share some images but not all are no sample of exchangeable rows.
    """
    a, b = np.unique(train.images), np.unique(outputs.images)
    single = len(a) == len(train) and len(b) == len(outputs)
    shared = len(np.intersect1d(a, b, assume_unique=True))
    return bool(single and shared == len(a) == len(b))

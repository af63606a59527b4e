"""Approximate neighbours for vocabularies of many millions, by FAISS's HNSW graph (extra `faiss`), with
measured recall.

For up to about a million words the exact search of `neighbours` is as fast as building the graph.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evenhand._errors import UsageError
from evenhand.embeddings._matrix import Matrix, Vectors
from evenhand.embeddings.neighbours import Nearest, nearest


@dataclass(frozen=True, kw_only=True, slots=True)
class Approximate:
    """What an index found, and how much of the truth that is.

    Args:
        nearest: per step, as in `neighbours.nearest`.
        recall: share of the true neighbours that were found, on `measured` words drawn at random.
    """

    nearest: list[Nearest]
    recall: float
    measured: int


def near(
    vectors: Vectors,
    rows: npt.ArrayLike,
    steps: Sequence[Matrix],
    *,
    n: int = 10,
    links: int = 32,
    effort: int = 128,
    sample: int = 200,
    seed: int = 0,
) -> Approximate:
    """The nearest words by an HNSW graph over the unit vectors (Malkov & Yashunin 2020).

    Args:
        links, effort: M and ef of the graph: more of either finds more and takes longer.
        sample: words on which recall is measured against the exact search.

    Raises:
        UsageError: `missing-extra`.
    """
    if importlib.util.find_spec("faiss") is None:
        raise UsageError(
            "missing-extra",
            "approximate neighbours need a package that is not installed",
            expected="the package faiss-cpu",
            hint="pip install 'evenhand[faiss]'",
        )
    import faiss

    index = faiss.IndexHNSWFlat(vectors.width, links, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = effort
    index.hnsw.efSearch = max(effort, 2 * n)
    index.add(np.ascontiguousarray(vectors.unit, dtype=np.float32))
    wanted = np.asarray(rows, dtype=np.int64)
    rng = np.random.default_rng(seed)
    drawn = rng.choice(len(vectors), size=min(sample, len(vectors)), replace=False)
    truth = nearest(vectors, drawn, list(steps), n=n)
    guessed = [_ask(index, vectors, drawn, step, n) for step in steps]
    hits = sum(
        len(set(a[a >= 0].tolist()) & set(b[b >= 0].tolist()))
        for exact, guess in zip(truth, guessed, strict=True)
        for a, b in zip(exact.rows, guess.rows, strict=True)
    )
    total = sum(int(np.sum(t.rows >= 0)) for t in truth)
    found = [_ask(index, vectors, wanted, step, n) for step in steps]
    return Approximate(nearest=found, recall=hits / total if total else 1.0, measured=len(drawn))


def _ask(index: object, vectors: Vectors, rows: npt.NDArray[np.int64], step: Matrix, n: int) -> Nearest:
    query = vectors.unit[rows] + np.asarray(step, dtype=np.float32)
    query = query / np.maximum(np.linalg.norm(query, axis=1, keepdims=True), 1e-12)
    cosine, found = index.search(np.ascontiguousarray(query, dtype=np.float32), n + 1)  # type: ignore[attr-defined]
    out = np.full((len(rows), n), -1, dtype=np.int64)
    values = np.full((len(rows), n), -np.inf, dtype=np.float32)
    for i, row in enumerate(rows.tolist()):
        keep = np.flatnonzero((found[i] != row) & (found[i] >= 0))[:n]
        out[i, : len(keep)], values[i, : len(keep)] = found[i][keep], cosine[i][keep]
    return Nearest(rows=out, cosine=values)

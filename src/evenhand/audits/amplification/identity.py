"""Which rows are of the same image: by their ids, by their order, or by what they say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from evenhand._errors import DataError
from evenhand._model import IntArray
from evenhand.audits.amplification.corpus import Corpus, image_indices
from evenhand.audits.amplification.sources import RawCorpus

MOST_COMPARED = 5_000
"""Images whose rows are compared to tell whether row numbers mean the same image."""


def image_of(sources: dict[str, RawCorpus]) -> tuple[dict[str, IntArray], int, bool]:
    """Outputs and truth without ids are aligned by row where they are equally long."""
    listed = dict(sources)
    aligned = None
    if "truth" in sources and any(sources[k].ids is None for k in ("outputs", "truth")):
        aligned = listed.pop("truth")
    found, images, known = image_indices(list(listed.values()))
    indices = dict(zip(listed, found, strict=True))
    if aligned is not None:
        size = len(indices["outputs"])
        if len(aligned) != size:
            raise DataError(
                "truth-length",
                "without ids the truth must have one row for each row of the outputs",
                given=f"{len(aligned)} rows of truth, {size} of outputs",
                hint="name a column of ids with id= (--id)",
            )
        indices["truth"] = indices["outputs"]
    return indices, images, known


def row_numbers(ids: Sequence[str]) -> bool:
    """Whether ids count up from 0 or 1 without a gap."""
    distinct = set(ids)
    return any(distinct == set(map(str, range(s, s + len(distinct)))) for s in (0, 1))


def agree(train: Corpus, outputs: Corpus) -> bool:
    """Whether rows of one image name the same people and things more often than rows of two images do, by
    four standard errors."""
    shared = np.intersect1d(train.images, outputs.images)[:MOST_COMPARED]
    if len(shared) < 3:
        return False
    one, two = (_said_of(corpus, shared) for corpus in (train, outputs))
    gap = np.asarray(
        one.multiply(two).sum(axis=1) - one.multiply(two[np.roll(np.arange(len(shared)), 1)]).sum(axis=1)
    )
    error = float(gap.std(ddof=1)) / np.sqrt(len(shared))
    return bool(float(gap.mean()) > 4 * error)


def _said_of(corpus: Corpus, images: IntArray) -> sparse.csr_matrix:
    """(images, groups + items): what the first row of each image names."""
    order = np.argsort(corpus.images, kind="stable")
    rows = order[np.searchsorted(corpus.images[order], images)]
    named = sparse.csr_matrix(corpus.named[rows].astype(float))
    return sparse.hstack([named, corpus.items[rows].astype(float)]).tocsr()

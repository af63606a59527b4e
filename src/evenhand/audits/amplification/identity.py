"""Which rows are of the same image: by their ids, by their order, or by what they say; and which images go
together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from evenhand._analysis import Analysis
from evenhand._errors import DataError
from evenhand._model import IntArray
from evenhand._recurring import identified
from evenhand._table import factor
from evenhand.audits.amplification.corpus import Corpus, image_indices
from evenhand.audits.amplification.sources import ID_COLUMNS, TEXT_COLUMNS, RawCorpus

if TYPE_CHECKING:
    import pyarrow as pa

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


@dataclass(frozen=True, kw_only=True)
class Units:
    """What images belong to, where several are no independent evidence: a photographer, a video, a prompt.

    Args:
        name: what a unit is called. of: (images,) its code.
    """

    name: str
    of: IntArray


def units_of(
    name: str,
    sources: Mapping[str, RawCorpus],
    indices: Mapping[str, IntArray],
    images: int,
    analysis: Analysis,
) -> Units | None:
    """The unit of every image, by a column; an image without a value is a unit of its own. None, with a note,
    where no unit has two.

    Raises:
        DataError: `missing-column` where an image has no row with the column, `unit-of-image` where it has
            several units.
    """
    codes = np.full(images, -1, dtype=np.int64)
    seen = np.zeros(images, dtype=np.bool_)
    known: dict[str, int] = {}
    for source_name, source in sources.items():
        if name not in source.columns:
            continue
        found, place = factor(source.table, name), indices[source_name]
        new = np.array([known.setdefault(level, len(known)) for level in found.levels], dtype=np.int64)
        own = np.where(found.codes < 0, -1, new[found.codes]) if len(new) else np.full(len(place), -1)
        filled = np.full(images, -1, dtype=np.int64)
        filled[place] = own
        if (filled[place] != own).any() or (seen & (filled >= 0) & (codes != filled)).any():
            raise DataError(
                "unit-of-image",
                f"images of the {source.name} have several values of {name!r}",
                expected="one unit for every image",
            )
        codes[place], seen[place] = own, True
    lacking = [s.name for n, s in sources.items() if not seen[indices[n]].all()]
    if lacking:
        raise DataError(
            "missing-column",
            f"the {lacking[0]} has no column {name!r}, and its images are not in the others that have it",
            given=name,
            available=sorted({c for s in sources.values() for c in s.columns}),
        )
    alone = codes < 0
    codes[alone] = len(known) + np.arange(int(alone.sum()))
    units = len(np.unique(codes))
    if units == images:
        analysis.note("units", f"No value of {name} has two images: the images are independent.")
        return None
    analysis.note(
        "units",
        f"{images:,} images belong to {units:,} values of {name}: intervals, nulls and the folds of"
        " attackers are made of these.",
    )
    return Units(name=name, of=codes)


def _same_within(table: pa.Table, column: str, first: IntArray) -> bool:
    """Whether all rows of an image have the same value of a column.

    Args:
        first: (rows,) the first row of each row's image.
    """
    codes = factor(table, column).codes
    return bool((codes == codes[first]).all())


def withhold_of_units(
    sources: Mapping[str, RawCorpus], indices: Mapping[str, IntArray], used: Sequence[str], analysis: Analysis
) -> None:
    """Nothing is judged where a column says what images belong to and nobody has said whether it matters."""
    for name, source in sources.items():
        if source.table is None or name == "truth":
            continue
        taken = {*used, *TEXT_COLUMNS, *(c for c in source.columns if c.lower() in ID_COLUMNS)}
        place = indices[name]
        _, first, back = np.unique(place, return_index=True, return_inverse=True)
        alike = [c for c in source.columns if c not in taken and _same_within(source.table, c, first[back])]
        why = identified(source.table.select(alike).take(first), ()) if alike else None
        if why is not None:
            analysis.withheld = f"in the {source.name} {why}"
            analysis.note(
                "rows-recur",
                f"In the {source.name} {why}. No verdict is given before.",
                warning=True,
            )
            return


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

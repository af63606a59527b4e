"""Tables of counts, which have no rows and no images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy import sparse

from evenhand._errors import UsageError
from evenhand._model import FloatArray
from evenhand.audits.amplification.corpus import Corpus, Items, Who, listed_names
from evenhand.audits.amplification.prepare import Matched, supported
from evenhand.audits.amplification.reading import Reading
from evenhand.audits.amplification.sources import RawCorpus, count_table


def counted(sources: Mapping[str, RawCorpus], how: Reading) -> tuple[Matched, FloatArray, FloatArray | None]:
    """The items with enough support as corpora of one row a group (all that exhibits read), and the counts
    (G, I) of the training data and of the outputs."""
    items, names, before, after, earlier = _tables(sources, how)
    others = None if after is None else after.sum(axis=0)
    kept, dropped = supported(items, before.sum(axis=0), others, how.min_support)
    before = before[:, kept]
    corpora = {"train": _corpus(before)}
    if earlier is not None:
        corpora["before"] = _corpus(earlier[:, kept])
    prepared = Matched(
        corpora=corpora,
        groups=tuple(names),
        items=Items(names=tuple(items)).only(kept),
        images=len(names),
        known=False,
        sources=dict(sources),
        who=Who(names=tuple(names), columns=tuple(names)),
        dropped=dropped,
    )
    return prepared, before, None if after is None else after[:, kept]


def _corpus(counts: FloatArray) -> Corpus:
    """Counts (G, I) as a corpus of one row a group."""
    groups = len(counts)
    return Corpus(
        images=np.arange(groups),
        named=np.eye(groups, dtype=bool),
        member=np.eye(groups),
        neutral=np.zeros(groups, dtype=bool),
        items=sparse.csr_matrix(counts),
    )


def _tables(
    sources: Mapping[str, RawCorpus], how: Reading
) -> tuple[Sequence[str], Sequence[str], FloatArray, FloatArray | None, FloatArray | None]:
    """(items, groups, counts of the training data (G, I), counts of the outputs, and of the training data
    before balancing, if there are any)."""
    wanted = None if isinstance(how.groups, Mapping) else listed_names(how.groups)
    items, names, before = count_table(sources["train"], wanted)
    if how.items is not None:
        chosen = listed_names(how.items) or []
        missing = [i for i in chosen if i not in items]
        if missing:
            raise UsageError(
                "unknown-item", "the counts have no such item", given=missing[0], available=items
            )
        before, items = before[:, [items.index(i) for i in chosen]], chosen
    after, earlier = (
        _aligned(sources[name], wanted, items, names) if name in sources else None
        for name in ("outputs", "before")
    )
    return items, names, before, after, earlier


def _aligned(
    source: RawCorpus, wanted: Sequence[str] | None, items: Sequence[str], names: Sequence[str]
) -> FloatArray:
    """Counts (G, I) of another table, in the order of the first; 0 where it has no such item."""
    listed, other, counts = count_table(source, wanted)
    if set(other) != set(names):
        raise UsageError(
            "counts-groups", "the two tables of counts have different groups", given=other, available=names
        )
    found = np.zeros((len(names), len(items)))
    for k, g in enumerate(names):
        for i, item in enumerate(items):
            found[k, i] = counts[other.index(g), listed.index(item)] if item in listed else 0.0
    return found

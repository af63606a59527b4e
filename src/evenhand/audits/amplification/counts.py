"""Tables of counts: what needs no images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evenhand._analysis import Analysis
from evenhand._errors import UsageError
from evenhand._model import FloatArray
from evenhand.audits.amplification import exhibits as show
from evenhand.audits.amplification.association import association
from evenhand.audits.amplification.comparison import conclude_nothing, note_separation
from evenhand.audits.amplification.corpus import Corpus, Grouping, Items
from evenhand.audits.amplification.findings import findings, item_findings
from evenhand.audits.amplification.prepare import (
    Matched,
    Reading,
)
from evenhand.audits.amplification.resampling import Judging, resample_counts
from evenhand.audits.amplification.sources import RawCorpus, count_table


def of_counts(
    sources: Mapping[str, RawCorpus], groups: Any, how: Reading, judging: Judging, analysis: Analysis
) -> dict[str, int]:
    """What needs no images: findings, exhibits and notes go to `analysis`; the counts of the result come
    back."""
    items, names, before, after = _tables(sources, groups, how)
    compared = "outputs" in sources
    prepared = _counted(before, after if compared else None, items, names, sources, how)
    kept = [items.index(i) for i in prepared.items.names]
    if not compared:
        association(prepared, how, judging, analysis)
    elif not kept:
        analysis.note("no-items-left", "No item has enough support to be compared.", warning=True)
        conclude_nothing(analysis, judging, "no item has enough support in both tables")
    else:
        point: dict[str, FloatArray] = {"train": before[None][:, :, kept], "out": after[None][:, :, kept]}
        done = resample_counts(point, judging)
        analysis.findings += findings(done, judging, items=prepared.items.names)
        analysis.findings += item_findings(done, judging, groups=names, items=prepared.items.names)
        analysis.exhibits.update(show.add_all(prepared, done, judging))
        note_separation(done, prepared, analysis)
    if prepared.dropped:
        analysis.exhibits["dropped"] = show.dropped(prepared)
    analysis.note(
        "counts-only",
        "Counts do not say which mentions share an image: mentions are taken as independent, so intervals are"
        " too narrow"
        " where images have several captions. Directional measures, errors and leakage need rows.",
    )
    return {"groups": len(names), "items": len(kept), "items left out": len(prepared.dropped)}


def _tables(
    sources: Mapping[str, RawCorpus], groups: Any, how: Reading
) -> tuple[Sequence[str], Sequence[str], FloatArray, FloatArray]:
    """(items, groups, counts of the training data (G, I), counts of the outputs, 0 where they have none)."""
    named = [groups] if isinstance(groups, str) else groups
    wanted = list(named) if isinstance(named, Sequence) else None
    tables = {name: count_table(s, wanted) for name, s in sources.items() if name != "truth"}
    items, names, before = tables["train"]
    if how.items is not None:
        chosen = [how.items] if isinstance(how.items, str) else list(how.items)
        missing = [i for i in chosen if i not in items]
        if missing:
            raise UsageError(
                "unknown-item", "the counts have no such item", given=missing[0], available=items
            )
        before, items = before[:, [items.index(i) for i in chosen]], chosen
    after = np.zeros_like(before)
    if "outputs" in tables:
        listed, other, counts = tables["outputs"]
        if set(other) != set(names):
            raise UsageError(
                "counts-groups",
                "the two tables of counts have different groups",
                given=other,
                available=names,
            )
        for k, g in enumerate(names):
            for i, item in enumerate(items):
                after[k, i] = counts[other.index(g), listed.index(item)] if item in listed else 0.0
    return items, names, before, after


def _counted(
    before: FloatArray,
    after: FloatArray | None,
    items: Sequence[str],
    names: Sequence[str],
    sources: Mapping[str, RawCorpus],
    how: Reading,
) -> Matched:
    """Counts as corpora of one row a mention would be: only what exhibits read."""
    from scipy import sparse

    dropped = []
    keep = []
    for i, item in enumerate(items):
        n, m = int(before[:, i].sum()), 0 if after is None else int(after[:, i].sum())
        if n < how.min_support:
            dropped.append(
                (item, f"fewer than {how.min_support} mentions with a group in the training data", n, m)
            )
        elif after is not None and m == 0:
            dropped.append((item, "never mentioned with a group in the outputs", n, m))
        else:
            keep.append(i)
    counts = before[:, keep]
    corpus = Corpus(
        name="train",
        images=np.arange(len(names)),
        named=np.eye(len(names), dtype=bool),
        member=np.eye(len(names)),
        neutral=np.zeros(len(names), dtype=bool),
        items=sparse.csr_matrix(counts),
    )
    return Matched(
        corpora={"train": corpus},
        groups=tuple(names),
        items=Items(names=tuple(items[i] for i in keep)),
        images=len(names),
        known=False,
        sources=dict(sources),
        who=Grouping(names=tuple(names), columns=tuple(names)),
        dropped=dropped,
    )

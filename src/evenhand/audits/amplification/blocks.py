"""What is counted per image: groups with items, with sets of items, and against the truth, as far as the data
allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from evenhand._analysis import Analysis
from evenhand._model import FloatArray, IntArray
from evenhand.audits.amplification.corpus import Corpus, gathering, members
from evenhand.audits.amplification.panel import Blocks, Panel, Sums, by_group, corpus_blocks, panel
from evenhand.audits.amplification.prepare import Matched, truth_of
from evenhand.audits.amplification.reading import Reading, Rule

MOST_SETS = 500


def item_sets(
    named: Mapping[str, Corpus], names: Sequence[str], min_support: int
) -> tuple[list[str], Mapping[str, sparse.csr_matrix]]:
    """Sets of items named together (singles, pairs, triples) with support in "train" and "out": names, and
    corpus → matrix."""
    compared = {k: named[k] for k in ("train", "out")}
    live = {k: c.items[np.flatnonzero(c.member.any(axis=1))].astype(np.float64) for k, c in compared.items()}
    pairs = _pairs(
        (live["train"].T @ live["train"]).tocoo(), (live["out"].T @ live["out"]).tocsr(), min_support
    )
    sets: list[tuple[int, ...]] = [*((i,) for i in range(len(names))), *pairs]
    if len(names) <= 60:
        sets += _triples(pairs, live, min_support)
    matrices: dict[str, sparse.csr_matrix] = {}
    for k, corpus in named.items():
        base = corpus.items.tocsc()
        columns = []
        for first, *rest in sets:
            column = base[:, first]
            for i in rest:
                column = column.multiply(base[:, i])
            columns.append(column)
        matrices[k] = sparse.hstack(columns).tocsr()
    return [" + ".join(names[i] for i in s) for s in sets], matrices


def _pairs(train: sparse.coo_matrix, outputs: sparse.csr_matrix, support: int) -> list[tuple[int, int]]:
    found = [
        (int(-n), int(i), int(j))
        for i, j, n in zip(train.row, train.col, train.data, strict=True)
        if i < j and n >= support and outputs[i, j] > 0
    ]
    return [(i, j) for _, i, j in sorted(found)[:MOST_SETS]]


def _triples(
    pairs: Sequence[tuple[int, int]], live: Mapping[str, sparse.csr_matrix], support: int
) -> list[tuple[int, int, int]]:
    known = set(pairs)
    found: list[tuple[int, int, int]] = []
    base = {k: m.tocsc() for k, m in live.items()}
    for i, j in sorted(known):
        for _, k in [p for p in known if p[0] == j and (i, p[1]) in known]:
            n = {c: base[c][:, i].multiply(base[c][:, j]).multiply(base[c][:, k]).sum() for c in base}
            if n["train"] >= support and n["out"] > 0:
                found.append((i, j, k))
    return found[:MOST_SETS]


@dataclass(frozen=True, kw_only=True)
class _Images:
    """Truth and outputs of the same images, (n,).

    Args:
        usable: 1 where truth and output tell one group each.
        attributes, tasks: (n, G), (n, I) of the truth; predicted_attributes, predicted_tasks of the outputs.
    """

    images: IntArray
    usable: FloatArray
    attributes: FloatArray
    tasks: sparse.csr_matrix
    predicted_attributes: FloatArray
    predicted_tasks: sparse.csr_matrix


def _image_level(prepared: Matched, truth: Corpus, outputs: Corpus, rule: Rule) -> _Images:
    """Groups by all captions of an image together, items as the share of its captions.

    Where words tell the groups, only images count whose truth and whose output name one group each, as Wang &
    Russakovsky do: else a change of coverage would pass for a change of association. Labels are taken as they
    are.
    """
    shared = np.intersect1d(truth.images, outputs.images)
    named, _, tasks = _per_image(truth, shared)
    _, predicted, predicted_tasks = _per_image(outputs, shared)
    together, every = members(named > 0, prepared.who.names, rule)
    attributes = together[:, [k for k, g in enumerate(every) if g in prepared.groups]]
    one = np.ones(len(shared), dtype=np.bool_)
    if prepared.who.words is not None:
        one = (attributes.sum(axis=1) > 0) & (predicted.sum(axis=1) > 0)
    return _Images(
        images=shared,
        usable=one.astype(float),
        attributes=attributes,
        tasks=tasks,
        predicted_attributes=predicted,
        predicted_tasks=predicted_tasks,
    )


def _per_image(corpus: Corpus, images: IntArray) -> tuple[FloatArray, FloatArray, sparse.csr_matrix]:
    """Means over the rows of each image: named, member, items."""
    rows = np.flatnonzero(np.isin(corpus.images, images))
    place = np.searchsorted(images, corpus.images[rows])
    own = corpus.take(rows)
    add = sparse.diags(1.0 / np.bincount(place, minlength=len(images))) @ gathering(place, len(images))
    return np.asarray(add @ own.named.astype(float)), np.asarray(add @ own.member), (add @ own.items).tocsr()


def panel_of(
    prepared: Matched, outputs: Corpus, how: Reading, analysis: Analysis
) -> tuple[Panel, list[str], Sums | None]:
    """Everything that is counted per image, as far as the data allow; the names of the item sets; and the
    sums of the training data before they were balanced, where those are given."""
    corpora = {"train": prepared.train, "out": outputs}
    earlier = {name: c for name, c in prepared.corpora.items() if name == "before"}
    names, sets = item_sets(corpora | earlier, prepared.items.names, how.min_support)
    blocks: Blocks = {}
    for key, corpus in corpora.items():
        blocks |= corpus_blocks(corpus, prepared.images, key)
    for key, corpus in corpora.items():
        wide = replace(corpus, items=sets[key])
        blocks[f"{key}_sets"] = corpus_blocks(wide, prepared.images, key)[key]
    truth = truth_of(prepared)
    if truth is None:
        analysis.note(
            "no-truth",
            "The truth of the outputs' images is not known, so directional amplification, gender error,"
            " outcome divergence and leakage are not computed: give truth= (--truth), or ids that training"
            " data and outputs share.",
        )
    else:
        blocks |= image_blocks(prepared, truth, outputs, how)
        shared = len(np.intersect1d(truth.images, outputs.images))
        known = (
            "the truth that was given"
            if "truth" in prepared.corpora
            else "the training data of the same images"
        )
        analysis.note(
            "truth-from",
            f"Who is truly there is taken from {known}: {shared:,} images, matched by their ids.",
        )
    before = _sums_before(prepared, earlier["before"], sets["before"], how) if earlier else None
    return prepared.panel(blocks), names, before


def _sums_before(prepared: Matched, before: Corpus, sets: sparse.csr_matrix, how: Reading) -> Sums:
    """What tells sides, of the training data before they were balanced."""
    blocks = corpus_blocks(before, prepared.images, "train")
    blocks["train_sets"] = corpus_blocks(replace(before, items=sets), prepared.images, "train")["train"]
    return panel(blocks | _sign_blocks(prepared, before, how)).totals()


def image_blocks(prepared: Matched, truth: Corpus, outputs: Corpus, how: Reading) -> Blocks:
    """What is counted of images whose truth is known."""
    level = _image_level(prepared, truth, outputs, how.rule)
    g, i = len(prepared.groups), len(prepared.items.names)
    place = gathering(level.images, prepared.images)
    truly, named = level.attributes, level.predicted_attributes
    alone = truly.sum(axis=1) == 1
    silent = np.maximum(1.0 - named.sum(axis=1), 0.0)
    told = np.column_stack([named, silent]) * alone[:, None]
    if how.rule == "any":  # a caption that names several groups names none for certain
        told = told / np.maximum(told.sum(axis=1, keepdims=True), 1.0)
    outcomes = sparse.hstack([sparse.csr_matrix(told * truly[:, [k]]) for k in range(g)])
    blocks: Blocks = {}
    if truth.known:  # else people are annotated, items are not
        only = place @ sparse.diags(level.usable)
        blocks |= {
            "both": (only @ by_group(truly, level.tasks), (g, i)),
            "forward": (only @ by_group(truly, level.predicted_tasks), (g, i)),
            "backward": (only @ by_group(named, level.tasks), (g, i)),
            "attributes": (only @ sparse.csr_matrix(truly), (g,)),
            "tasks": (only @ level.tasks, (i,)),
        }
    blocks["outcomes"] = (place @ outcomes, (g, g + 1))
    if g == 2:
        blocks["two_groups"] = (sparse.csr_matrix((prepared.images, 1)), (1,))
    return blocks | _sign_blocks(prepared, prepared.train, how) if truth.known else blocks


def _sign_blocks(prepared: Matched, corpus: Corpus, how: Reading) -> Blocks:
    """What tells the direction of each pair: the training data, image by image."""
    whole = _image_level(prepared, corpus, corpus, how.rule)
    place = gathering(whole.images, prepared.images) @ sparse.diags(whole.usable)
    g, i = len(prepared.groups), len(prepared.items.names)
    return {
        "sign_both": (place @ by_group(whole.attributes, whole.tasks), (g, i)),
        "sign_attributes": (place @ sparse.csr_matrix(whole.attributes), (g,)),
        "sign_tasks": (place @ whole.tasks, (i,)),
        "sign_rows": (place @ sparse.csr_matrix(np.ones((len(whole.images), 1))), (1,)),
    }

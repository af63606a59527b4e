"""What is counted per image: groups with items, with sets of items, and against the truth, as far as the data
allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from evenhand._analysis import Analysis
from evenhand._errors import UsageError
from evenhand._model import FloatArray, IntArray
from evenhand.audits.amplification.corpus import (
    Corpus,
    Rule,
    members,
)
from evenhand.audits.amplification.panel import Panel, by_group, corpus_blocks, panel
from evenhand.audits.amplification.prepare import (
    Matched,
    Reading,
    truth_of,
)

MOST_SETS = 500


def item_sets(prepared: Matched, min_support: int) -> tuple[list[str], dict[str, Any]]:
    """Sets of items named together (singles, pairs, triples) with support in both corpora: names, and corpus
    → matrix."""
    from scipy import sparse

    train, outputs = prepared.train, prepared.outputs
    if outputs is None or not prepared.items.names:
        return [], {}
    named = {"train": train, "out": outputs}
    live = {k: c.items[np.flatnonzero(c.member.any(axis=1))].astype(np.float64) for k, c in named.items()}
    sets: list[tuple[int, ...]] = [(i,) for i in range(len(prepared.items.names))]
    pairs = _pairs(
        (live["train"].T @ live["train"]).tocoo(), (live["out"].T @ live["out"]).tocsr(), min_support
    )
    sets += pairs
    if len(prepared.items.names) <= 60:
        sets += _triples(pairs, live, min_support)
    matrices: dict[str, Any] = {}
    for k, corpus in named.items():
        base = corpus.items.tocsc()
        columns = []
        for members_of in sets:
            column = base[:, members_of[0]]
            for i in members_of[1:]:
                column = column.multiply(base[:, i])
            columns.append(column)
        matrices[k] = sparse.hstack(columns).tocsr()
    names = [" + ".join(prepared.items.names[i] for i in s) for s in sets]
    return names, matrices


def _pairs(train: Any, outputs: Any, support: int) -> list[tuple[int, ...]]:
    found = [
        (int(-n), int(i), int(j))
        for i, j, n in zip(train.row, train.col, train.data, strict=True)
        if i < j and n >= support and outputs[i, j] > 0
    ]
    return [(i, j) for _, i, j in sorted(found)[:MOST_SETS]]


def _triples(pairs: Sequence[tuple[int, ...]], live: dict[str, Any], support: int) -> list[tuple[int, ...]]:
    known = set(pairs)
    found: list[tuple[int, ...]] = []
    base = {k: m.tocsc() for k, m in live.items()}
    for i, j in sorted(known):
        for _, k in [p for p in known if p[0] == j and (i, p[1]) in known]:
            n = {c: base[c][:, i].multiply(base[c][:, j]).multiply(base[c][:, k]).sum() for c in base}
            if n["train"] >= support and n["out"] > 0:
                found.append((i, j, k))
    return found[:MOST_SETS]


def image_level(prepared: Matched, truth: Corpus, rule: Rule) -> dict[str, Any]:
    """Truth and outputs of the same images: groups by all captions together, items as the share of captions.

    Where words tell the groups, only images count whose truth and whose output name one group each, as Wang &
    Russakovsky do: else a change of coverage would pass for a change of association. Labels are taken as they
    are.

    Returns:
        images (n,); attributes (n, G) and tasks (n, I) of the truth; predicted_attributes, predicted_tasks of
        the outputs; sparse where items are.
    """
    outputs = prepared.outputs
    if outputs is None:
        return {}
    shared = np.intersect1d(truth.images, outputs.images)
    a = _per_image(truth, shared)
    b = _per_image(outputs, shared)
    together, _ = members(a["named"] > 0, prepared.who.names, rule)
    kept = [k for k, g in enumerate(_all_groups(prepared, rule)) if g in prepared.groups]
    attributes = together[:, kept]
    if prepared.who.words is None:
        one = np.ones(len(shared), dtype=np.bool_)
    else:
        one = (attributes.sum(axis=1) > 0) & (b["member"].sum(axis=1) > 0)
    return {
        "images": shared,
        "usable": one.astype(float),
        "attributes": attributes,
        "tasks": a["items"],
        "predicted_attributes": b["member"],
        "predicted_tasks": b["items"],
    }


def _all_groups(prepared: Matched, rule: Rule) -> tuple[str, ...]:
    return members(np.zeros((0, len(prepared.who.names)), dtype=bool), prepared.who.names, rule)[1]


def _per_image(corpus: Corpus, images: IntArray) -> dict[str, Any]:
    from scipy import sparse

    rows = np.flatnonzero(np.isin(corpus.images, images))
    place = np.searchsorted(images, corpus.images[rows])
    n: FloatArray = np.bincount(place, minlength=len(images)).astype(float)
    add = sparse.csr_matrix((1.0 / n[place], (place, rows)), shape=(len(images), len(corpus)))
    return {
        "named": np.asarray(add @ corpus.named.astype(float)),
        "member": np.asarray(add @ corpus.member),
        "items": (add @ corpus.items).tocsr(),
    }


def panel_of(prepared: Matched, how: Reading, analysis: Analysis) -> tuple[Panel, list[str]]:
    """Everything that is counted per image, as far as the data allow, and the names of the item sets."""
    outputs = prepared.outputs
    if outputs is None:
        raise UsageError("no-outputs", "a comparison needs outputs")
    blocks = corpus_blocks(prepared.train, prepared.images, "train") | corpus_blocks(
        outputs, prepared.images, "out"
    )
    names, sets = item_sets(prepared, how.min_support)
    for key, corpus in (("train", prepared.train), ("out", outputs)):
        if names:
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
        blocks |= image_blocks(prepared, truth, how)
    return panel(blocks), names


def image_blocks(prepared: Matched, truth: Corpus, how: Reading) -> dict[str, tuple[Any, tuple[int, ...]]]:
    from scipy import sparse

    level = image_level(prepared, truth, how.rule)
    g, i = len(prepared.groups), len(prepared.items.names)
    n = len(level["images"])
    place = sparse.csr_matrix((np.ones(n), (level["images"], np.arange(n))), shape=(prepared.images, n))
    truly, named = level["attributes"], level["predicted_attributes"]
    alone = truly.sum(axis=1) == 1
    silent = np.maximum(1.0 - named.sum(axis=1), 0.0)
    told = np.column_stack([named, silent]) * alone[:, None]
    if how.rule == "any":  # a caption that names several groups names none for certain
        told = told / np.maximum(told.sum(axis=1, keepdims=True), 1.0)
    outcomes = sparse.hstack([sparse.csr_matrix(told * truly[:, [k]]) for k in range(g)])
    only = place @ sparse.diags(level["usable"])
    blocks = {
        "both": (only @ by_group(truly, level["tasks"]), (g, i)),
        "forward": (only @ by_group(truly, level["predicted_tasks"]), (g, i)),
        "backward": (only @ by_group(named, level["tasks"]), (g, i)),
        "attributes": (only @ sparse.csr_matrix(truly), (g,)),
        "tasks": (only @ level["tasks"], (i,)),
        "outcomes": (place @ outcomes, (g, g + 1)),
    }
    if not truth.known:  # people are annotated, items are not
        blocks = {"outcomes": blocks["outcomes"]}
    if g == 2:
        blocks["two_groups"] = (sparse.csr_matrix((prepared.images, 1)), (1,))
    return blocks | _sign_blocks(prepared, how) if truth.known else blocks


def _sign_blocks(prepared: Matched, how: Reading) -> dict[str, tuple[Any, tuple[int, ...]]]:
    """What tells the direction of each pair: the training data, image by image."""
    from scipy import sparse

    train = prepared.train
    whole = image_level(_with_outputs(prepared, train), train, how.rule)
    n = len(whole["images"])
    place = sparse.csr_matrix((whole["usable"], (whole["images"], np.arange(n))), shape=(prepared.images, n))
    g, i = len(prepared.groups), len(prepared.items.names)
    return {
        "sign_both": (place @ by_group(whole["attributes"], whole["tasks"]), (g, i)),
        "sign_attributes": (place @ sparse.csr_matrix(whole["attributes"]), (g,)),
        "sign_tasks": (place @ whole["tasks"], (i,)),
        "sign_rows": (place @ sparse.csr_matrix(np.ones((n, 1))), (1,)),
    }


def _with_outputs(prepared: Matched, corpus: Corpus) -> Matched:
    """The same comparison with another corpus as its outputs."""
    return replace(prepared, corpora={**prepared.corpora, "outputs": corpus})

"""Balancing a training set: the largest part of it in which no item is tied to a group beyond a ratio."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from evenhand._analysis import Analysis
from evenhand._errors import DataError, UsageError
from evenhand._estimate import Evidence
from evenhand._files import write_whole
from evenhand._model import BoolArray, Exhibit, FloatArray, IntArray, Scalar
from evenhand._table import write_csv
from evenhand.audits.amplification.corpus import Corpus
from evenhand.audits.amplification.findings import MIN_IMAGES, describe, difference, replicated
from evenhand.audits.amplification.panel import Sums, corpus_blocks, poisson_weights
from evenhand.audits.amplification.prepare import Matched, open_sources, prepare
from evenhand.audits.amplification.reading import Groups, Listed, Reading, Rule, Tagger
from evenhand.audits.amplification.resampling import Judging
from evenhand.measures.amplification import mean_amplification
from evenhand.measures.association import shares, sides
from evenhand.measures.balancing import Selection, alike, largest, ratios
from evenhand.stats.interval import Inference
from evenhand.texts.roles import Parser


@dataclass(frozen=True, kw_only=True)
class Balanced:
    """A balanced part of a training set.

    Args:
        alpha: the ratio that no item exceeds. ids: what is kept, image ids where there are any, else row
            numbers from 0.
        weights: one for each kept id, 1 for a subset. images: how many there were.
        items: one row an item: counts and ratio before and after, and what happened to it.
        bound: no subset keeps more images than this. optimal: whether this one is proven to be the largest.
        notes: what was left out of the constraints and why.
    """

    alpha: float
    ids: tuple[str, ...]
    weights: tuple[float, ...]
    images: int
    items: Exhibit
    bound: float
    optimal: bool
    notes: tuple[str, ...] = ()

    @property
    def impossible(self) -> tuple[str, ...]:
        """Items that some group is never named with: no subset balances them, so none of their images
        stay."""
        pairs = zip(self.items.columns["item"], self.items.columns["what"], strict=True)
        return tuple(str(i) for i, what in pairs if str(what).startswith("impossible"))

    def summary(self) -> str:
        """What was kept, in a few lines."""
        kept, weighted = len(self.ids), sum(self.weights)
        is_subset = all(w == 1.0 for w in self.weights)
        amount = f"{kept:,}" if is_subset else f"a weight of {weighted:,.1f} on {kept:,}"
        proven = "the largest possible" if self.optimal else f"at most {self.bound:,.0f} are possible"
        lines = [
            f"Kept {amount} of {self.images:,} images"
            f" ({100 * weighted / max(self.images, 1):.1f} %); {proven}.",
            f"No item's ratio of groups exceeds {self.alpha:g}: {len(self.items)} items.",
        ]
        if self.impossible:
            shown = ", ".join(self.impossible[:10]) + (", …" if len(self.impossible) > 10 else "")
            lines.append(f"Impossible to balance, so no image that names them with a group stays: {shown}.")
        return "\n".join([*lines, *self.notes])

    def write(self, path: str | os.PathLike[str]) -> None:
        """The ids for retraining: .txt (ids only), .csv or .jsonl (id, weight).

        Raises:
            UsageError: another ending.
        """
        target = Path(path)
        if target.suffix == ".txt":
            write_whole(target, "".join(f"{i}\n" for i in self.ids))
        elif target.suffix == ".csv":
            write_csv(target, {"id": self.ids, "weight": self.weights})
        elif target.suffix in (".jsonl", ".ndjson"):
            rows = (json.dumps({"id": i, "weight": w}) for i, w in zip(self.ids, self.weights, strict=True))
            write_whole(target, "".join(f"{row}\n" for row in rows))
        else:
            raise UsageError(
                "unknown-format",
                "the ending of the file tells its format",
                given=target.name,
                available=[".txt", ".csv", ".jsonl"],
            )

    def __repr__(self) -> str:
        return self.summary()


def balance(
    captions: object,
    *,
    alpha: float,
    groups: Groups | None = None,
    items: Listed | None = None,
    weights: bool = False,
    impossible: str = "drop",
    text: str | None = None,
    id: str | None = None,
    rule: Rule = "exactly-one",
    plurals: bool = False,
    min_support: int = 10,
    top_n: int = 25,
    tagger: Tagger | str | None = None,
    parser: Parser | str | None = None,
    to: str | os.PathLike[str] | None = None,
    rows: str | os.PathLike[str] | None = None,
    seconds: float = 20.0,
    seed: int = 0,
) -> Balanced:
    """The largest subset of a training set in which no item's ratio of groups exceeds `alpha`.

    Args:
        captions: as `train` of `audit_amplification`; all captions of an image stay or go together.
        alpha: largest ratio of the counts of any two groups, at least 1.
        weights: weights in [0, 1] with the largest sum, instead of a subset.
        impossible: "drop" takes out every image that names, with a group, an item that some group is never
            named with; "leave" puts no constraint on such items.
        to: also write the ids there (see `Balanced.write`).
        rows: also write the training rows that stay there, for retraining and for an audit: .jsonl or .csv.
        seconds: for the integer optimum. seed: for the choice among images with the very same mentions.
        groups, items, text, id, rule, plurals, min_support, top_n, tagger, parser: as in
            `audit_amplification`.

    Raises:
        UsageError: `bad-alpha`, and those of `audit_amplification`.

    >>> texts = ["a man with a tie"] * 10 + ["a woman with a tie"] * 4 + ["a tree"]
    >>> made = balance(texts, alpha=2, items=["tie"], min_support=1)
    >>> len(made.ids), list(made.items.rows())[0]["ratio after"]
    (13, 2.0)
    """
    check_ratio(alpha)
    if impossible not in ("drop", "leave"):
        raise UsageError(
            "bad-alpha", "no such choice for impossible items", given=impossible, available=["drop", "leave"]
        )
    how = Reading(
        groups=groups,
        items=items,
        text=text,
        id=id,
        rule=rule,
        plurals=plurals,
        min_support=min_support,
        top_n=top_n,
        tagger=tagger,
        parser=parser,
    )
    sources = open_sources(how, captions)
    if sources["train"].kind == "counts":
        raise DataError(
            "counts-balance", "counts cannot be balanced", expected="captions or labels, one row each"
        )
    prepared = prepare(sources, how, Analysis())
    made, _ = balanced(prepared, alpha, whole=not weights, impossible=impossible, seconds=seconds, seed=seed)
    if to is not None:
        made.write(to)
    if rows is not None:
        _write_rows(prepared, made, Path(rows))
    return made


def _write_rows(prepared: Matched, made: Balanced, target: Path) -> None:
    """The rows of the kept images with all their columns, or id and caption; weights where not all are 1."""
    source, weight = prepared.sources["train"], dict(zip(made.ids, made.weights, strict=True))
    ids = [str(k) for k in range(len(source))] if source.ids is None else list(source.ids)
    columns: dict[str, Sequence[object]] = {"image_id": ids, "caption": source.texts}
    if source.table is not None:
        columns = source.table.to_pydict()
    if any(w != 1.0 for w in made.weights):
        columns["weight"] = [weight.get(i, 0.0) for i in ids]
    kept = [k for k, i in enumerate(ids) if i in weight]
    found = {name: [values[k] for k in kept] for name, values in columns.items()}
    if target.suffix == ".csv":
        write_csv(target, found)
    elif target.suffix in (".jsonl", ".ndjson"):
        lines = (dict(zip(found, row, strict=True)) for row in zip(*found.values(), strict=True))
        write_whole(target, "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines))
    else:
        raise UsageError(
            "unknown-format",
            "the ending of the file tells its format",
            given=target.name,
            available=[".csv", ".jsonl"],
        )


def check_ratio(alpha: float) -> None:
    """A ratio of groups, else UsageError (`bad-alpha`)."""
    if not alpha >= 1:
        raise UsageError("bad-alpha", "a ratio of groups is at least 1", given=alpha, expected="1, 2, 3, …")


def balanced(
    prepared: Matched,
    alpha: float,
    *,
    whole: bool = True,
    impossible: str = "drop",
    seconds: float = 20.0,
    seed: int = 0,
) -> tuple[Balanced, FloatArray]:
    """(the balanced part, the weight of each image)."""
    corpus = prepared.train
    groups, n_items = corpus.member.shape[1], corpus.items.shape[1]
    present = np.unique(corpus.images)
    cells = corpus_blocks(corpus, prepared.images, "train")["train"][0][present]
    before = np.asarray(cells.sum(axis=0)).reshape(groups, n_items)
    hopeless = (before.min(axis=0) == 0) & (before.max(axis=0) > 0)
    pattern, first = alike(cells)
    patterns = np.asarray(cells[first].todense()).reshape(len(first), groups, n_items)
    if impossible == "leave":
        patterns = patterns[:, :, ~hopeless]
    sizes = np.bincount(pattern, minlength=len(first))
    chosen = largest(patterns, sizes, alpha, whole=whole, seconds=seconds)
    weight = _dealt(chosen, pattern, sizes, whole, seed)
    after = np.asarray(cells.T @ weight).reshape(groups, n_items)
    ids = _ids(prepared, present)
    kept = weight > 1e-9
    left = "" if impossible == "drop" else "; left as it is"
    made = Balanced(
        alpha=alpha,
        ids=tuple(ids[k] for k in np.flatnonzero(kept).tolist()),
        weights=tuple(float(w) for w in weight[kept]),
        images=len(present),
        items=_item_table(prepared, before, after, hopeless, left, alpha),
        bound=chosen.bound,
        optimal=chosen.optimal,
        notes=tuple(f"Not constrained: {item}, {why}." for item, why, _, _ in prepared.dropped[:20]),
    )
    every = np.zeros(prepared.images)
    every[present] = weight
    return made, every


def _dealt(chosen: Selection, pattern: IntArray, sizes: IntArray, whole: bool, seed: int) -> FloatArray:
    """The weight of each image: alike images share an amount, or which of them stay is drawn."""
    if not whole:
        return np.asarray((chosen.kept / np.maximum(sizes, 1))[pattern], dtype=float)
    order = np.random.default_rng(seed).permutation(len(pattern))
    by_pattern = order[np.argsort(pattern[order], kind="stable")]
    starts = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    rank = np.empty(len(pattern), dtype=np.int64)
    rank[by_pattern] = np.arange(len(pattern)) - starts[pattern[by_pattern]]
    return np.asarray(rank < chosen.kept[pattern], dtype=float)


def _ids(prepared: Matched, present: IntArray) -> list[str]:
    source = prepared.sources["train"]
    if source.ids is None:
        return [str(i) for i in present.tolist()]
    listed = list(dict.fromkeys(source.ids))
    # Known images were numbered in order of first appearance in the training data.
    return [listed[i] for i in present.tolist()] if prepared.known else listed[: len(present)]


def _item_table(
    prepared: Matched, before: FloatArray, after: FloatArray, hopeless: BoolArray, left: str, alpha: float
) -> Exhibit:
    was, now = ratios(before), ratios(after)

    def what(i: int) -> str:
        if hopeless[i]:
            return f"impossible: some group is never named with it{left}"
        if after[:, i].sum() == 0 and before[:, i].sum() > 0:
            return "emptied by other items' constraints"
        return "was balanced already" if was[i] <= alpha else "balanced"

    rows: list[dict[str, Scalar]] = []
    for i, item in enumerate(prepared.items.names):
        row: dict[str, Scalar] = {"item": item}
        for g, group in enumerate(prepared.groups):
            row[f"{group} before"] = int(before[g, i])
            row[f"{group} after"] = round(float(after[g, i]), 6)
        row["ratio before"] = float(was[i]) if np.isfinite(was[i]) else None
        row["ratio after"] = round(float(now[i]), 9) if np.isfinite(now[i]) else None
        rows.append(row | {"what": what(i)})
    counted = [f"{group} {when}" for group in prepared.groups for when in ("before", "after")]
    return Exhibit.of(
        f"Items before and after balancing to a ratio of {alpha:g}",
        rows,
        columns=["item", *counted, "ratio before", "ratio after", "what"],
        note="Counts of rows that name the item with each group. A missing ratio: some group is never named"
        " with the item.",
    )


def add_balanced(prepared: Matched, judging: Judging, alpha: float, analysis: Analysis) -> None:
    """In an audit: what balancing would keep, and how far the outputs are from the balanced shares."""
    made, weight = balanced(prepared, alpha, seed=judging.declared.seed)
    analysis.exhibits["balanced"] = made.items
    hint = "evenhand balance … --to kept.jsonl (eh.balance) writes their ids"
    analysis.note("balanced", f"{made.summary().splitlines()[0]} {hint}.")
    if made.impossible:
        shown = ", ".join(made.impossible[:10])
        text = f"No subset balances {shown}: some group is never named with them."
        analysis.note("balance-impossible", text, warning=True)
    outputs = prepared.outputs
    if outputs is not None:
        held = {"as it is": np.ones(prepared.images), f"balanced to {alpha:g}": weight}
        grown = [_growth(prepared, outputs, judging, w, name) for name, w in held.items()]
        analysis.findings += describe(grown, "balanced")


def _growth(prepared: Matched, outputs: Corpus, judging: Judging, weight: FloatArray, name: str) -> Evidence:
    """Mean amplification with the sides of the training data as it is, from (balanced) training shares to the
    outputs."""
    blocks = corpus_blocks(prepared.train, prepared.images, "train")
    matrix, shape = blocks["train"]
    tied = sides(np.asarray(matrix.sum(axis=0)).reshape(shape))
    blocks["train"] = ((sparse.diags(weight) @ matrix).tocsr(), shape)
    joint = prepared.panel(blocks | corpus_blocks(outputs, prepared.images, "out"))

    def value(sums: Sums) -> FloatArray:
        return mean_amplification(shares(sums["train"]), shares(sums["out"]), tied)

    point, images = float(value(joint.totals())[0]), prepared.naming(outputs)
    level, seed = judging.declared.level, judging.declared.seed
    if images < MIN_IMAGES or not np.isfinite(point):
        why = (
            f"only {images} {prepared.unit}s name a group"
            if images < MIN_IMAGES
            else "no item is left in both"
        )
        made = Inference(value=point, level=level, why_not=why)
    else:
        draws = poisson_weights(joint.images, judging.draws, seed)
        drawn = np.concatenate([value(joint.totals(w)) for w in draws])
        method = f"{prepared.unit}s resampled, sides of the training data as it is"
        made = replicated(point, drawn, images=images, level=level, method=method)
    measure = f"mean growth from the training data {name}"
    return difference(measure, made, n=len(prepared.items.names), units={prepared.unit: images})

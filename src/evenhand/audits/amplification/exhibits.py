"""Tables and charts of an amplification audit: scatter, dumbbell, coverage, items, what was dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evenhand._model import Exhibit, FloatArray, Scalar
from evenhand.audits.amplification.corpus import RULES, Corpus
from evenhand.audits.amplification.findings import Judging, Resampled, as_dict, item_inference
from evenhand.audits.amplification.prepare import Matched
from evenhand.measures.association import item_epsilon, log_odds, pmi, shares
from evenhand.stats.interval import tail
from evenhand.stats.multiplicity import benjamini_hochberg
from evenhand.stats.rates import wilson

Rows = dict[str, list[Scalar]]
MOST_DUMBBELLS = 30


def measure_table(done: Resampled) -> Exhibit:
    """All aggregates side by side with their nulls."""
    rows = [as_dict(s) for s in done.summaries]
    names = list(rows[0]) if rows else ["measure", "value"]
    return Exhibit(
        title="Amplification by every measure, each beside its null",
        columns={name: [row[name] for row in rows] for name in names},
        note="The null is what a model without amplification shows on these data: choosing the side of each item from the"
        " sample makes it differ from zero. The measures answer different questions and disagree on real systems.",
    )


def item_table(prepared: Matched, done: Resampled, judging: Judging) -> Exhibit:
    """b*, b~, counts, change and interval of each item and group."""
    before, after = done.point["train"][0], done.point["out"][0]
    b, c = shares(before), shares(after)
    names = (
        "item",
        "group",
        "b*",
        "b~",
        "change",
        "low",
        "high",
        "p_value",
        "count in training",
        "of",
        "count in outputs",
        "of outputs",
        "tied to",
    )
    rows: Rows = {n: [] for n in names}
    for i, item in enumerate(prepared.items.names):
        tied = int(np.argmax(b[:, i]))
        even = bool((b[:, i] * len(prepared.groups) <= 1 + 1e-12).all())
        for g, group in enumerate(prepared.groups):
            made = item_inference(done, g, i, judging.level)
            cells = (
                item, group, float(b[g, i]), float(c[g, i]), made.value, made.low, made.high, made.p_value,
                int(before[g, i]), int(before[:, i].sum()), int(after[g, i]), int(after[:, i].sum()),
                "none" if even else prepared.groups[tied],
            )  # fmt: skip
            for name, cell in zip(names, cells, strict=True):
                rows[name].append(cell)
    return Exhibit(
        title="Items: share of each group, before and after",
        columns=rows,
        note="b* is the group's share of the item's mentions in the training data, b~ in the outputs. Intervals are for one"
        " item at a time; the verdicts are corrected for the number of items.",
    )


def scatter(prepared: Matched, done: Resampled) -> Exhibit:
    """Each item's share in the outputs against its share in the training data."""
    b, c = shares(done.point["train"][0]), shares(done.point["out"][0])
    shown = range(1) if len(prepared.groups) == 2 else range(len(prepared.groups))
    pairs = [(i, g) for i in range(len(prepared.items.names)) for g in shown]
    more = [
        bool(abs(c[g, i] - 1 / len(prepared.groups)) > abs(b[g, i] - 1 / len(prepared.groups)))
        for i, g in pairs
    ]
    color = (
        ["further from even" if m else "no further from even" for m in more]
        if len(prepared.groups) == 2
        else [prepared.groups[g] for _, g in pairs]
    )
    group = prepared.groups[0] if len(prepared.groups) == 2 else "group"
    x, y = f"share of {group} in the training data", f"share of {group} in the outputs"
    return Exhibit(
        title=f"Share of {group} for each item: outputs against training data",
        columns={
            x: [float(b[g, i]) for i, g in pairs],
            y: [float(c[g, i]) for i, g in pairs],
            "item": [prepared.items.names[i] for i, _ in pairs],
            "side": color,
        },
        note="On the diagonal the outputs repeat the training data. Points further from even (1/groups) than the diagonal"
        " are amplified.",
        chart="scatter",
        encode={"x": x, "y": y, "label": "item", "color": "side", "diagonal": True},
    )


def dumbbells(prepared: Matched, done: Resampled) -> Exhibit:
    """Items ranked by how far their share moved towards the side they were tied to."""
    b, c = shares(done.point["train"][0]), shares(done.point["out"][0])
    tied = b.argmax(axis=0)
    columns = np.arange(b.shape[1])
    start, end = b[tied, columns], c[tied, columns]
    order = np.argsort(-(end - start), kind="stable")
    if len(order) > MOST_DUMBBELLS:
        order = np.concatenate([order[: MOST_DUMBBELLS // 2], order[-MOST_DUMBBELLS // 2 :]])
    names = [f"{prepared.items.names[i]} ({prepared.groups[tied[i]]})" for i in order]
    return Exhibit(
        title="Items by growth of the share of the group they are tied to",
        columns={
            "item": list(names),
            "training data": [float(start[i]) for i in order],
            "outputs": [float(end[i]) for i in order],
            "growth": [float(end[i] - start[i]) for i in order],
            "group": [prepared.groups[tied[i]] for i in order],
        },
        note="Ranked from the most amplified to the most evened out"
        + (
            f"; the {MOST_DUMBBELLS} at the two ends of {b.shape[1]} items."
            if b.shape[1] > MOST_DUMBBELLS
            else "."
        ),
        chart="dumbbell",
        encode={"y": "item", "from": "training data", "to": "outputs", "group": "group"},
    )


def coverage(prepared: Matched, rule: str) -> Exhibit:
    """Who is named at all: an output that names nobody would otherwise score perfectly."""
    names = ("corpus", "names", "rows", "share", "low", "high", "images")
    rows: Rows = {n: [] for n in names}
    for name, corpus in prepared.corpora.items():
        for label, mask in _coverage(prepared, corpus):
            n = int(mask.sum())
            interval = wilson(n, len(corpus)) if len(corpus) else None
            cells = (
                {"train": "training data", "outputs": "outputs", "truth": "truth"}.get(name, name), label, n,
                None if interval is None else interval.value, None if interval is None else interval.low,
                None if interval is None else interval.high, len(np.unique(corpus.images[mask])),
            )  # fmt: skip
            for column, cell in zip(names, cells, strict=True):
                rows[column].append(cell)
    return Exhibit(
        title="Coverage: whom the rows name",
        columns=rows,
        note=f"Rule {rule}: {RULES.get(rule, '')}. A model that stops naming groups looks even-handed by every share; this"
        " chart shows it.",
        chart="bars",
        encode={"y": "names", "x": "share", "color": "corpus", "low": "low", "high": "high"},
    )


def _coverage(prepared: Matched, corpus: Corpus) -> list[tuple[str, Any]]:
    several = corpus.named.sum(axis=1) > 1
    parts = [(g, corpus.member[:, k] > 0) for k, g in enumerate(prepared.groups) if g != "several"]
    if prepared.who.words is not None:
        parts.append(("a person, no group", corpus.neutral))
    nobody = ~corpus.named.any(axis=1) & ~corpus.neutral
    return [*parts, ("several groups", several), ("nobody", nobody)]


def dropped(prepared: Matched, named: Sequence[tuple[str, str, int, int]] | None = None) -> Exhibit:
    """Items left out, and why."""
    listed = prepared.dropped if named is None else named
    return Exhibit(
        title="Items left out",
        columns={
            "item": [d[0] for d in listed],
            "why": [d[1] for d in listed],
            "mentions in training": [d[2] for d in listed],
            "mentions in outputs": [d[3] for d in listed],
        },
        note="Left out of every mean; the mentions counted are those with a group.",
    )


def tied_items(
    corpus: Corpus, groups: Sequence[str], items: Sequence[str], kinds: Sequence[str], level: float
) -> Exhibit:
    """Items by how tightly they are tied to each group: log-odds with a prior, PMI, shares."""
    counts, totals = corpus.counts(), corpus.rows_of()
    delta, z = log_odds(counts, totals)
    information, b = pmi(counts, totals), shares(counts)
    p = [[tail(float(v), None) for v in row] for row in z]
    adjusted = benjamini_hochberg([x for row in p for x in row])
    epsilon = item_epsilon(counts, totals)
    columns: Rows = {
        n: []
        for n in (
            "item",
            "kind",
            "group",
            "log odds",
            "z",
            "p_adjusted",
            "pmi (bits)",
            "share",
            "low",
            "high",
            "mentions",
            "of",
            "epsilon",
        )
    }
    order = sorted(
        ((g, i) for g in range(len(groups)) for i in range(len(items))), key=lambda at: (-z[at], at)
    )
    for g, i in order:
        if z[g, i] <= 0:
            continue
        n = float(counts[:, i].sum())
        interval = wilson(float(counts[g, i]), n, level=level)
        cells = (
            items[i], kinds[i] if kinds else "item", groups[g], float(delta[g, i]), float(z[g, i]),
            adjusted[g * len(items) + i], None if np.isnan(information[g, i]) else float(information[g, i]),
            float(b[g, i]), interval.low, interval.high, int(counts[g, i]), int(n), float(epsilon[i]),
        )  # fmt: skip
        for name, cell in zip(columns, cells, strict=True):
            columns[name].append(cell)
    return Exhibit(
        title="Most tied items",
        columns=columns,
        note="Log-odds of the item in one group against the others, shrunk by an informative Dirichlet prior (Monroe, Colaresi &"
        " Quinn 2008); p is Benjamini–Hochberg adjusted. Share: of the item's mentions with a group, with Wilson's interval."
        " Epsilon: differential fairness of the item (Foulds et al. 2020).",
    )


def tied_chart(table: Exhibit, groups: Sequence[str], most: int = 12) -> Exhibit:
    """The most tied items of each group as bars of z."""
    rows = list(table.rows())
    picked = [r for g in groups for r in [r for r in rows if r["group"] == g][:most]]
    return Exhibit(
        title="Most tied items of each group",
        columns={
            "item": [r["item"] for r in picked],
            "z": [r["z"] for r in picked],
            "group": [r["group"] for r in picked],
            "mentions": [r["of"] for r in picked],
        },
        note=f"The {most} most tied items of each group by the z-score of their log-odds.",
        chart="bars",
        encode={"y": "item", "x": "z", "color": "group"},
    )


def set_table(names: Sequence[str], done: Resampled, groups: Sequence[str]) -> Exhibit:
    """Sets of items named together whose shares moved most."""
    before, after = done.point["train_sets"][0], done.point["out_sets"][0]
    b, c = shares(before), shares(after)
    tied = np.nan_to_num(b).argmax(axis=0)
    at = np.arange(b.shape[1])
    growth: FloatArray = c[tied, at] - b[tied, at]
    several = [i for i, n in enumerate(names) if " + " in n and np.isfinite(growth[i])]
    order = sorted(several, key=lambda i: -abs(growth[i]))[:50]
    return Exhibit(
        title="Sets of items named together",
        columns={
            "set": [names[i] for i in order],
            "tied to": [groups[tied[i]] for i in order],
            "b*": [float(b[tied[i], i]) for i in order],
            "b~": [float(c[tied[i], i]) for i in order],
            "growth": [float(growth[i]) for i in order],
            "mentions in training": [int(before[:, i].sum()) for i in order],
            "mentions in outputs": [int(after[:, i].sum()) for i in order],
        },
        note=f"The sets that moved most, of {len(several)} with support in both corpora.",
    )


def outcome_table(table: FloatArray, groups: Sequence[str]) -> Exhibit:
    """True group against named group, with rates."""
    total = table.sum(axis=1)
    columns: Rows = {"true group": list(groups)}
    for k, g in enumerate([*groups, "none or several"]):
        columns[f"named {g}"] = [float(round(v, 6)) for v in table[:, k]]
    right = np.diagonal(table[:, : len(groups)])
    columns["right"] = [float(r / n) if n else None for r, n in zip(right, total, strict=True)]
    columns["wrong"] = [
        float((table[k, : len(groups)].sum() - right[k]) / n) if n else None for k, n in enumerate(total)
    ]
    columns["none"] = [float(table[k, -1] / n) if n else None for k, n in enumerate(total)]
    return Exhibit(
        title="Right, wrong or silent: the group that outputs name for people of each true group",
        columns=columns,
        note="Images whose annotation names exactly one group.",
    )


def add_all(prepared: Matched, done: Resampled, judging: Judging, rule: str) -> Mapping[str, Exhibit]:
    """The exhibits of a comparison, in the order of the report."""
    return {
        "scatter": scatter(prepared, done),
        "dumbbells": dumbbells(prepared, done),
        "coverage": coverage(prepared, rule),
        "measures": measure_table(done),
        "items": item_table(prepared, done, judging),
    }

"""Tables and charts of an amplification audit: scatter, dumbbell, coverage, items, what was dropped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from evenhand._model import Exhibit, FloatArray, Scalar
from evenhand.audits.amplification.corpus import Corpus
from evenhand.audits.amplification.findings import item_inference
from evenhand.audits.amplification.prepare import Matched
from evenhand.audits.amplification.reading import RULES
from evenhand.audits.amplification.resampling import Aggregate, Resampled
from evenhand.measures.association import item_epsilon, log_odds, pmi, shares
from evenhand.stats.interval import tail
from evenhand.stats.multiplicity import benjamini_hochberg
from evenhand.stats.rates import wilson

CALLED = {"train": "training data", "before": "data before balancing", "without": "outputs without balancing"}
"""What readers see for a corpus, where it is not its own name."""
MOST_DUMBBELLS = 30
TIED = (
    *("item", "kind", "group", "log odds", "z", "p_adjusted", "pmi (bits)"),
    *("share", "low", "high", "mentions", "of", "epsilon"),
)
"""Columns of the tied items, also where none is tied."""


def measure_table(done: Resampled) -> Exhibit:
    """All aggregates side by side with their nulls."""
    return Exhibit.of(
        "Amplification by every measure, each beside its null",
        map(_measure, done.summaries),
        columns=None if done.summaries else ["measure", "value"],
        note="The null is what a model without amplification shows on these data: choosing the side of each"
        " item from the sample makes it differ from zero. The measures answer different questions and"
        " disagree on real systems.",
    )


def _measure(summary: Aggregate) -> dict[str, Scalar]:
    null = summary.null[np.isfinite(summary.null)]
    return {
        "measure": summary.statistic.name,
        "value": summary.value if np.isfinite(summary.value) else None,
        "null mean": float(null.mean()) if len(null) else None,
        "null low": float(np.quantile(null, 0.025)) if len(null) else None,
        "null high": float(np.quantile(null, 0.975)) if len(null) else None,
        "null from": summary.null_from or "none: 0 is perfect",
        "what it is": summary.statistic.about,
    }


def item_table(prepared: Matched, done: Resampled, level: float) -> Exhibit:
    """b*, b~, counts, change and interval of each item and group."""
    return Exhibit.of(
        "Items: share of each group, before and after",
        _item_rows(prepared, done, level),
        note="b* is the group's share of the item's mentions in the training data, b~ in the outputs."
        " Intervals are for one item at a time; the verdicts are corrected for the number of items.",
    )


def _item_rows(prepared: Matched, done: Resampled, level: float) -> Iterator[dict[str, Scalar]]:
    before, after = done.point["train"][0], done.point["out"][0]
    b, c = shares(before), shares(after)
    for i, item in enumerate(prepared.items.names):
        tied = int(np.argmax(b[:, i]))
        even = bool((b[:, i] * len(prepared.groups) <= 1 + 1e-12).all())
        for g, group in enumerate(prepared.groups):
            made = item_inference(done, g, i, level)
            yield {
                "item": item,
                "group": group,
                "b*": float(b[g, i]),
                "b~": float(c[g, i]),
                "change": made.value,
                "low": made.low,
                "high": made.high,
                "p_value": made.p_value,
                "count in training": int(before[g, i]),
                "of": int(before[:, i].sum()),
                "count in outputs": int(after[g, i]),
                "of outputs": int(after[:, i].sum()),
                "tied to": "none" if even else prepared.groups[tied],
            }


def scatter(prepared: Matched, done: Resampled) -> Exhibit:
    """Each item's share in the outputs against its share in the training data."""
    b, c = shares(done.point["train"][0]), shares(done.point["out"][0])
    groups = prepared.groups
    two = len(groups) == 2
    group = groups[0] if two else "group"
    x, y = f"share of {group} in the training data", f"share of {group} in the outputs"

    def side(i: int, g: int) -> str:
        if not two:
            return groups[g]
        more = abs(c[g, i] - 1 / len(groups)) > abs(b[g, i] - 1 / len(groups))
        return "further from even" if more else "no further from even"

    every = ((i, g) for i in range(b.shape[1]) for g in range(1 if two else len(groups)))
    items = prepared.items.names
    return Exhibit.of(
        f"Share of {group} for each item: outputs against training data",
        ({x: float(b[g, i]), y: float(c[g, i]), "item": items[i], "side": side(i, g)} for i, g in every),
        note="On the diagonal the outputs repeat the training data. Points further from even (1/groups) than"
        " the diagonal are amplified.",
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
    cut = ""
    if len(order) > MOST_DUMBBELLS:
        cut = f"; the {MOST_DUMBBELLS} at the two ends of {len(order)} items"
        order = np.concatenate([order[: MOST_DUMBBELLS // 2], order[-MOST_DUMBBELLS // 2 :]])
    return Exhibit.of(
        "Items by growth of the share of the group they are tied to",
        (
            {
                "item": f"{prepared.items.names[i]} ({prepared.groups[tied[i]]})",
                "training data": float(start[i]),
                "outputs": float(end[i]),
                "growth": float(end[i] - start[i]),
                "group": prepared.groups[tied[i]],
            }
            for i in order
        ),
        note=f"Ranked from the most amplified to the most evened out{cut}.",
        chart="dumbbell",
        encode={"y": "item", "from": "training data", "to": "outputs", "group": "group"},
    )


def coverage(prepared: Matched, rule: str) -> Exhibit:
    """Who is named at all: an output that names nobody would otherwise score perfectly."""
    rows: list[dict[str, Scalar]] = []
    for name, corpus in prepared.corpora.items():
        for label, mask in _coverage(prepared, corpus):
            n = int(mask.sum())
            row: dict[str, Scalar] = {"corpus": CALLED.get(name, name), "names": label, "rows": n}
            if len(corpus):
                interval = wilson(n, len(corpus))
                row |= {"share": interval.value, "low": interval.low, "high": interval.high}
            rows.append(row | {"images": len(np.unique(corpus.images[mask]))})
    return Exhibit.of(
        "Coverage: whom the rows name",
        rows,
        columns=["corpus", "names", "rows", "share", "low", "high", "images"],
        note=f"Rule {rule}: {RULES.get(rule, '')}. A model that stops naming groups looks even-handed by"
        " every share; this chart shows it.",
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


def dropped(prepared: Matched) -> Exhibit:
    """Items left out, and why."""
    names = ("item", "why", "mentions in training", "mentions in outputs")
    return Exhibit.of(
        "Items left out",
        (dict(zip(names, row, strict=True)) for row in prepared.dropped),
        columns=names,
        note="Left out of every mean; the mentions counted are those with a group.",
    )


def tied_items(prepared: Matched, level: float) -> Exhibit:
    """Items of the training data by how tightly they are tied to each group: log-odds with a prior, PMI,
    shares."""
    return Exhibit.of(
        "Most tied items",
        _tied_rows(prepared, level),
        columns=TIED,
        note="Log-odds of the item in one group against the others, shrunk by an informative Dirichlet prior"
        " (Monroe, Colaresi & Quinn 2008); p is Benjamini–Hochberg adjusted. Share: of the item's mentions"
        " with a group, with Wilson's interval. Epsilon: differential fairness of the item (Foulds et al."
        " 2020).",
    )


def _tied_rows(prepared: Matched, level: float) -> Iterator[dict[str, Scalar]]:
    items, kinds = prepared.items.names, prepared.items.kinds
    counts, totals = prepared.train.counts(), prepared.train.rows_of()
    delta, z = log_odds(counts, totals)
    information, b = pmi(counts, totals), shares(counts)
    adjusted = benjamini_hochberg([tail(float(v), None) for row in z for v in row])
    epsilon = item_epsilon(counts, totals)
    for g, i in sorted(np.argwhere(z > 0).tolist(), key=lambda at: (-z[at[0], at[1]], at)):
        n = float(counts[:, i].sum())
        interval = wilson(float(counts[g, i]), n, level=level)
        yield {
            "item": items[i],
            "kind": kinds[i] if kinds else "item",
            "group": prepared.groups[g],
            "log odds": float(delta[g, i]),
            "z": float(z[g, i]),
            "p_adjusted": adjusted[g * len(items) + i],
            "pmi (bits)": None if np.isnan(information[g, i]) else float(information[g, i]),
            "share": float(b[g, i]),
            "low": interval.low,
            "high": interval.high,
            "mentions": int(counts[g, i]),
            "of": int(n),
            "epsilon": float(epsilon[i]),
        }


def tied_chart(table: Exhibit, groups: Sequence[str], most: int = 12) -> Exhibit:
    """The most tied items of each group as bars of z."""
    rows = list(table.rows())
    picked = [r for g in groups for r in [r for r in rows if r["group"] == g][:most]]
    return Exhibit.of(
        "Most tied items of each group",
        ({"item": r["item"], "z": r["z"], "group": r["group"], "mentions": r["of"]} for r in picked),
        columns=["item", "z", "group", "mentions"],
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
    rows = (
        {
            "set": names[i],
            "tied to": groups[tied[i]],
            "b*": float(b[tied[i], i]),
            "b~": float(c[tied[i], i]),
            "growth": float(growth[i]),
            "mentions in training": int(before[:, i].sum()),
            "mentions in outputs": int(after[:, i].sum()),
        }
        for i in sorted(several, key=lambda i: -abs(growth[i]))[:50]
    )
    return Exhibit.of(
        "Sets of items named together",
        rows,
        columns=("set", "tied to", "b*", "b~", "growth", "mentions in training", "mentions in outputs"),
        note=f"The sets that moved most, of {len(several)} with support in both corpora.",
    )


def outcome_table(table: FloatArray, groups: Sequence[str]) -> Exhibit:
    """True group against named group, with rates."""
    rows: list[dict[str, Scalar]] = []
    for k, true in enumerate(groups):
        n, right = table[k].sum(), table[k, k]
        row: dict[str, Scalar] = {"true group": true}
        named = zip([*groups, "none or several"], table[k], strict=True)
        row |= {f"named {g}": float(round(v, 6)) for g, v in named}
        wrong = table[k, : len(groups)].sum() - right
        for name, count in (("right", right), ("wrong", wrong), ("none", table[k, -1])):
            row[name] = float(count / n) if n else None
        rows.append(row)
    return Exhibit.of(
        "Right, wrong or silent: the group that outputs name for people of each true group",
        rows,
        note="Images whose annotation names exactly one group.",
    )


def add_all(
    prepared: Matched, done: Resampled, level: float, *, rule: str | None = None
) -> Mapping[str, Exhibit]:
    """The exhibits of a comparison, in the order of the report; coverage where rows were read by a `rule`."""
    return {
        "scatter": scatter(prepared, done),
        "dumbbells": dumbbells(prepared, done),
        **({} if rule is None else {"coverage": coverage(prepared, rule)}),
        "measures": measure_table(done),
        "items": item_table(prepared, done, level),
    }

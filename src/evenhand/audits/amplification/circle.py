"""What balancing the training data did to the outputs: with and without it side by side, sides as they were
before."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from evenhand._analysis import Analysis
from evenhand._errors import UsageError
from evenhand._estimate import Evidence
from evenhand._model import BoolArray, Exhibit, FloatArray, Scalar
from evenhand.audits.amplification.corpus import Corpus
from evenhand.audits.amplification.findings import MIN_IMAGES, describe, difference, replicated
from evenhand.audits.amplification.panel import Blocks, Sums, corpus_blocks, poisson_weights
from evenhand.audits.amplification.prepare import Matched
from evenhand.audits.amplification.resampling import Judging
from evenhand.measures.amplification import mean_amplification
from evenhand.measures.association import shares, sides
from evenhand.stats.few_units import allowing_for
from evenhand.stats.interval import Inference

CALLED = {
    "before": "data before balancing",
    "train": "balanced data",
    "without": "outputs without balancing",
    "outputs": "outputs with balancing",
}
"""The corpora of the circle, in their order, and what readers see."""
MOST_ITEMS = 15
COMPARED = (
    ("mean growth without balancing", "without", "before"),
    ("mean growth with balancing", "outputs", "train"),
    ("mean tie of the outputs", "outputs", "without"),
)
"""(measure, corpus, less corpus)."""


def check_without(without: object, before: object, *, counts: bool = False) -> None:
    """Outputs of a model of the unbalanced data stand beside those of a model of the balanced ones.

    Raises:
        UsageError: `without-before`.
    """
    if without is not None and (before is None or counts):
        raise UsageError(
            "without-before",
            "outputs without balancing are compared by the sides of the data before it, image by image",
            given="counts" if counts else "no data before balancing",
            expected="captions or labels, and before= (--before)",
        )


def add_circle(prepared: Matched, judging: Judging, analysis: Analysis) -> None:
    """Where the data before balancing are given: the share of each item's group in every corpus, and where
    outputs of a model of these are given, how balancing moved the outputs."""
    corpora = {name: prepared.corpora[name] for name in CALLED if name in prepared.corpora}
    if "before" not in corpora or not prepared.items.names:
        return
    tied = sides(corpora["before"].counts())
    analysis.exhibits["balancing"] = _exhibit(prepared, corpora, tied)
    if "without" in corpora:
        blocks: Blocks = {}
        for name, corpus in corpora.items():
            blocks[name] = corpus_blocks(corpus, prepared.images, name)[name]
        analysis.findings += describe(
            [*_moved(prepared, blocks, tied, judging)], "with and without balancing"
        )


def _moved(prepared: Matched, blocks: Blocks, tied: BoolArray, judging: Judging) -> Iterator[Evidence]:
    joint, seed, level = prepared.panel(blocks), judging.declared.seed, judging.declared.level
    draws = [joint.totals(w) for w in poisson_weights(joint.images, judging.draws, seed)]
    for measure, name, less in COMPARED:

        def value(sums: Sums, of: str = name, than: str = less) -> FloatArray:
            return mean_amplification(shares(sums[than]), shares(sums[of]), tied)

        point = float(value(joint.totals())[0])
        images = min(prepared.naming(prepared.corpora[c]) for c in (name, less))
        method = f"{prepared.unit}s resampled, sides of the data before balancing"
        if not np.isfinite(point):
            made = Inference(level=level, why_not="no item is left in both")
        elif images < MIN_IMAGES:
            made = Inference(value=point, level=level, why_not=f"only {images} {prepared.unit}s name a group")
        else:
            drawn = np.concatenate([value(sums) for sums in draws])
            made = replicated(point, drawn, images=images, level=level, method=method)
            made = allowing_for(made, images, prepared.unit)
        yield difference(
            measure,
            made,
            group=CALLED[name],
            reference=CALLED[less],
            n=len(prepared.items.names),
            units={prepared.unit: images},
        )


def _exhibit(prepared: Matched, corpora: dict[str, Corpus], tied: BoolArray) -> Exhibit:
    """The share above even of the group that each item was tied to, in every corpus."""
    even = 1.0 / len(prepared.groups)
    above = {name: shares(c.counts()) - even for name, c in corpora.items()}
    counts = {name: c.counts() for name, c in corpora.items()}
    pairs = sorted(np.argwhere(tied > 0).tolist(), key=lambda at: -above["before"][at[0], at[1]])
    shown = pairs[:MOST_ITEMS]
    rows: list[dict[str, Scalar]] = []
    for g, i in shown:
        for name in corpora:
            value = float(above[name][g, i])
            rows.append(
                {
                    "item": f"{prepared.items.names[i]} ({prepared.groups[g]})",
                    "share above even": value if np.isfinite(value) else None,
                    "corpus": CALLED[name],
                    "with its group": int(counts[name][g, i]),
                    "of": int(counts[name][:, i].sum()),
                }
            )
    cut = f" The {len(shown)} most tied of {len(pairs)}." if len(shown) < len(pairs) else ""
    return Exhibit.of(
        "What balancing changed: how far each item leans to the group it was tied to",
        rows,
        columns=["item", "share above even", "corpus", "with its group", "of"],
        note=f"Share of the group that the item was tied to before balancing, less {even:.3g}: 0 is even. The"
        " data change by construction; whether the outputs follow is what balancing was for. Sides are chosen"
        " from the data before balancing, which therefore lean a little further than they truly do; the two"
        f" outputs are compared without this.{cut}",
        chart="bars",
        encode={"y": "item", "x": "share above even", "color": "corpus"},
    )

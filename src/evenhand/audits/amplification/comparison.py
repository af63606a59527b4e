"""What an audit concludes: outputs against training data, or the association alone."""

from __future__ import annotations

import numpy as np

from evenhand._analysis import Analysis
from evenhand._model import FloatArray
from evenhand.audits.amplification import exhibits as show
from evenhand.audits.amplification.association import association
from evenhand.audits.amplification.balance import add_balanced
from evenhand.audits.amplification.blocks import image_blocks, panel_of
from evenhand.audits.amplification.circle import add_circle
from evenhand.audits.amplification.corpus import Corpus
from evenhand.audits.amplification.findings import (
    BEYOND,
    MIN_IMAGES,
    findings,
    item_findings,
    nothing_compared,
)
from evenhand.audits.amplification.leakage.attackers import Attackers
from evenhand.audits.amplification.leakage.estimates import add_leakage
from evenhand.audits.amplification.panel import exchangeable
from evenhand.audits.amplification.prepare import Matched, truth_of
from evenhand.audits.amplification.reading import Reading
from evenhand.audits.amplification.resampling import Judging, Resampled, resample, resample_counts

NAMED_OTHERWISE = 0.1
"""Change of a group's share among those named that is worth a word."""


def of_rows(
    prepared: Matched,
    how: Reading,
    judging: Judging,
    attackers: Attackers,
    balance: float | None,
    analysis: Analysis,
) -> dict[str, int]:
    """Captions or labels: everything."""
    outputs = prepared.outputs
    if outputs is None:
        association(prepared, judging, analysis, rule=how.rule)
    else:
        if prepared.items.names:
            _compare(prepared, outputs, how, judging, analysis)
        else:
            _nothing_compared(judging, analysis, "no item has enough support in both corpora")
            _groups_only(prepared, outputs, how, judging, analysis)
            analysis.exhibits["coverage"] = show.coverage(prepared, how.rule)
        add_leakage(prepared, attackers, judging.declared.level, analysis)
        if prepared.items.names:
            add_circle(prepared, judging, analysis)
            association(prepared, judging, analysis, beside=True)
    if balance is not None:
        add_balanced(prepared, judging, balance, analysis)
    called = {
        "train": "training rows",
        "outputs": "output rows",
        "truth": "truth rows",
        "before": "rows before balancing",
        "without": "output rows without balancing",
    }
    return {called[name]: len(c) for name, c in prepared.corpora.items()} | _left(prepared, analysis)


def of_counts(
    prepared: Matched, before: FloatArray, after: FloatArray | None, judging: Judging, analysis: Analysis
) -> dict[str, int]:
    """Tables of counts (G, I): what needs no images."""
    if after is None:
        association(prepared, judging, analysis)
    elif not prepared.items.names:
        _nothing_compared(judging, analysis, "no item has enough support in both tables")
    else:
        own = prepared.corpora.get("before")
        sides = None if own is None else {"train": own.counts()[None]}
        done = resample_counts({"train": before[None], "out": after[None]}, judging, sides)
        _conclude(done, prepared, judging, analysis)
    analysis.note(
        "counts-only",
        "Counts do not say which mentions share an image: mentions are taken as independent, so intervals are"
        " too narrow where images have several captions. Directional measures, errors and leakage need rows.",
    )
    return _left(prepared, analysis)


def _left(prepared: Matched, analysis: Analysis) -> dict[str, int]:
    if prepared.dropped:
        analysis.exhibits["dropped"] = show.dropped(prepared)
    counted = {"groups": prepared.groups, "items": prepared.items.names, "items left out": prepared.dropped}
    return {name: len(of) for name, of in counted.items()}


def _nothing_compared(judging: Judging, analysis: Analysis, why: str) -> None:
    analysis.note("no-items-left", "No item has enough support to be compared.", warning=True)
    analysis.findings += nothing_compared(judging, why)


def _compare(prepared: Matched, outputs: Corpus, how: Reading, judging: Judging, analysis: Analysis) -> None:
    joint, names, before = panel_of(prepared, outputs, how, analysis)
    images = min(prepared.naming(corpus) for corpus in (prepared.train, outputs))
    exact = exchangeable(prepared.train, outputs)
    done = resample(joint, judging, exact=exact, images=images, before=before)
    done.groups, done.unit = prepared.groups, prepared.unit
    _conclude(done, prepared, judging, analysis, rule=how.rule)
    if truth_of(prepared) is None:
        _note_who_is_named(prepared, outputs, analysis)
    if any(" + " in n for n in names):
        analysis.exhibits["sets"] = show.set_table(names, done, prepared.groups)


def _note_who_is_named(prepared: Matched, outputs: Corpus, analysis: Analysis) -> None:
    """Say that a group has all but gone where nobody knows who is there, so that nothing can be judged."""
    before, after = (rows / max(rows.sum(), 1.0) for rows in (prepared.train.rows_of(), outputs.rows_of()))
    g = int(np.argmax(np.abs(after - before)))
    if abs(after[g] - before[g]) > NAMED_OTHERWISE:
        analysis.note(
            "named-otherwise",
            f"Of the rows that name a group {prepared.groups[g]} has {100 * after[g]:.0f} % in the outputs"
            f" and {100 * before[g]:.0f} % in the training data. Whether that is right cannot be judged"
            " without the truth of the outputs' images: truth= (--truth).",
            warning=True,
        )


def _conclude(
    done: Resampled, prepared: Matched, judging: Judging, analysis: Analysis, *, rule: str | None = None
) -> None:
    """Findings and exhibits of a comparison, in the order of the report; rows were read by a `rule`."""
    items, level = prepared.items.names, judging.declared.level
    analysis.findings += findings(done, judging, items=items)
    analysis.findings += item_findings(done, judging, groups=prepared.groups, items=items)
    analysis.exhibits.update(show.add_all(prepared, done, level, rule=rule))
    if "outcomes" in done.point:
        analysis.exhibits["outcomes"] = show.outcome_table(done.point["outcomes"][0], prepared.groups)
    _note_separation(done, prepared, analysis)


def _groups_only(
    prepared: Matched, outputs: Corpus, how: Reading, judging: Judging, analysis: Analysis
) -> None:
    """What needs no items: who is named rightly, wrongly or not at all."""
    truth = truth_of(prepared)
    if truth is None:
        return
    blocks = image_blocks(prepared, truth, outputs, how)
    joint = prepared.panel({k: v for k, v in blocks.items() if k in ("outcomes", "two_groups")})
    done = resample(joint, judging, exact=False, images=joint.images)
    done.groups, done.unit = prepared.groups, prepared.unit
    analysis.findings += findings(done, judging, items=())
    analysis.exhibits["measures"] = show.measure_table(done)
    analysis.exhibits["outcomes"] = show.outcome_table(done.point["outcomes"][0], prepared.groups)


def _note_separation(done: Resampled, prepared: Matched, analysis: Analysis) -> None:
    """Say in words when the items are too few to tell the model from one that amplifies nothing."""
    if done.images < MIN_IMAGES:
        counted = f"Only {done.images} {done.what}s name a group in both corpora"
        text = f"{counted}; that is too few for any interval, so nothing is concluded."
        analysis.note("few-images", text, warning=True)
        return
    judged = [f for f in analysis.findings if f.family == "amplification"]
    claims = [f for f in judged if f.estimate.value is not None]
    level = all((f.estimate.low or 0) <= 0 <= (f.estimate.high or 0) for f in claims)
    if level and any(f.detectable for f in claims):
        names = prepared.items.names
        shown = f"{len(names)} items ({', '.join(names)})" if 1 < len(names) <= 12 else f"{len(names)} items"
        measures = " and of ".join(f.estimate.measure.removesuffix(BEYOND) for f in claims)
        analysis.note(
            "not-separated",
            f"The {shown} cannot separate this model from zero amplification: the intervals of {measures}"
            " contain zero.",
        )

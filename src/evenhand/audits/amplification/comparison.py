"""What an audit concludes: outputs against training data, or the association alone."""

from __future__ import annotations

import numpy as np

from evenhand._analysis import Analysis
from evenhand._estimate import Evidence
from evenhand._judge import judge
from evenhand._model import Estimate
from evenhand.audits.amplification import exhibits as show
from evenhand.audits.amplification.association import association
from evenhand.audits.amplification.balance import add_balanced
from evenhand.audits.amplification.blocks import image_blocks, panel_of
from evenhand.audits.amplification.findings import MIN_IMAGES, findings, item_findings
from evenhand.audits.amplification.leakage import Attackers, add_leakage
from evenhand.audits.amplification.panel import exchangeable, panel
from evenhand.audits.amplification.prepare import (
    Matched,
    Reading,
    truth_of,
)
from evenhand.audits.amplification.resampling import Judging, Resampled, resample


def of_rows(
    prepared: Matched,
    how: Reading,
    judging: Judging,
    attackers: Attackers,
    balance: float | None,
    analysis: Analysis,
) -> dict[str, int]:
    """Captions or labels: everything."""
    if prepared.outputs is None:
        association(prepared, how, judging, analysis)
    elif not prepared.items.names:
        analysis.note("no-items-left", "No item has enough support to be compared.", warning=True)
        conclude_nothing(analysis, judging, "no item has enough support in both corpora")
        _groups_only(prepared, how, judging, analysis)
        analysis.exhibits["coverage"] = show.coverage(prepared, how.rule)
        add_leakage(prepared, attackers, judging.level, analysis)
    else:
        _compare(prepared, how, judging, analysis)
        add_leakage(prepared, attackers, judging.level, analysis)
        association(prepared, how, judging, analysis, beside=True)
    if balance is not None:
        add_balanced(prepared, judging, balance, analysis)
    if prepared.dropped:
        analysis.exhibits["dropped"] = show.dropped(prepared)
    called = {"train": "training rows", "outputs": "output rows", "truth": "truth rows"}
    counted = {called[name]: len(c) for name, c in prepared.corpora.items()}
    return counted | {
        "groups": len(prepared.groups),
        "items": len(prepared.items.names),
        "items left out": len(prepared.dropped),
    }


def conclude_nothing(analysis: Analysis, judging: Judging, why: str) -> None:
    estimate = Estimate(
        measure="mean bias amplification beyond its null",
        contrast="difference",
        group="outputs",
        reference="training data",
        why_not=why,
    )
    default = judging.tolerance if isinstance(judging.tolerance, float | int) else 0.02
    analysis.findings += judge(
        [Evidence(estimate=estimate)], tolerance=(-np.inf, float(default)), family="amplification"
    )


def _compare(prepared: Matched, how: Reading, judging: Judging, analysis: Analysis) -> None:
    joint, names = panel_of(prepared, how, analysis)
    outputs = prepared.outputs
    if outputs is None:
        return
    exact = exchangeable(prepared.train, outputs)
    done = resample(joint, judging, exact=exact, images=_images(prepared), blocks=list(joint.shapes))
    analysis.findings += findings(done, judging, items=prepared.items.names)
    analysis.findings += item_findings(done, judging, groups=prepared.groups, items=prepared.items.names)
    analysis.exhibits.update(show.add_all(prepared, done, judging, rule=how.rule))
    if "outcomes" in joint.shapes:
        analysis.exhibits["outcomes"] = show.outcome_table(done.point["outcomes"][0], prepared.groups)
    if "train_sets" in joint.shapes and any(" + " in n for n in names):
        analysis.exhibits["sets"] = show.set_table(names, done, prepared.groups)
    note_separation(done, prepared, analysis)


def _groups_only(prepared: Matched, how: Reading, judging: Judging, analysis: Analysis) -> None:
    """What needs no items: who is named rightly, wrongly or not at all."""
    truth = truth_of(prepared)
    if truth is None:
        return
    blocks = {k: v for k, v in image_blocks(prepared, truth, how).items() if k in ("outcomes", "two_groups")}
    joint = panel(blocks)
    done = resample(joint, judging, exact=False, images=joint.images, blocks=list(blocks))
    analysis.findings += findings(done, judging, items=())
    analysis.exhibits["measures"] = show.measure_table(done)
    analysis.exhibits["outcomes"] = show.outcome_table(done.point["outcomes"][0], prepared.groups)


def _images(prepared: Matched) -> int:
    sizes = []
    for corpus in (prepared.train, prepared.outputs):
        if corpus is not None:
            sizes.append(len(np.unique(corpus.images[corpus.member.any(axis=1)])))
    return min(sizes)


def note_separation(done: Resampled, prepared: Matched, analysis: Analysis) -> None:
    """Say in words when the items are too few to tell the model from one that amplifies nothing."""
    if done.images < MIN_IMAGES:
        analysis.note(
            "few-images",
            f"Only {done.images} images name a group in both corpora; that is too few for any interval, so"
            " nothing is concluded.",
            warning=True,
        )
        return
    claims = [f for f in analysis.findings if f.family == "amplification" and f.estimate.value is not None]
    if (
        claims
        and all((f.estimate.low or 0) <= 0 <= (f.estimate.high or 0) for f in claims)
        and any(f.detectable for f in claims)
    ):
        names = prepared.items.names
        shown = f"{len(names)} items ({', '.join(names)})" if 1 < len(names) <= 12 else f"{len(names)} items"
        analysis.note(
            "not-separated",
            f"The {shown} cannot separate this model from zero amplification: the intervals of"
            f" {' and of '.join(f.estimate.measure.removesuffix(' beyond its null') for f in claims)} contain"
            " zero.",
        )

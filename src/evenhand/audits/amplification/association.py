"""One corpus alone: which items are tied to which group, how tightly, and how much of that chance
explains."""

from __future__ import annotations

import numpy as np

from evenhand._analysis import Analysis
from evenhand._estimate import evidence
from evenhand._judge import judge
from evenhand._model import Estimate, FloatArray
from evenhand.audits.amplification import exhibits as show
from evenhand.audits.amplification.findings import MIN_IMAGES
from evenhand.audits.amplification.panel import corpus_blocks, panel, poisson_weights
from evenhand.audits.amplification.prepare import Matched, Reading
from evenhand.audits.amplification.resampling import Judging
from evenhand.measures.association import item_epsilon, shares
from evenhand.stats.interval import Inference, from_standard_error


def association(
    prepared: Matched, how: Reading, judging: Judging, analysis: Analysis, *, beside: bool = False
) -> None:
    """Tied items, coverage and the association of the whole corpus; `beside` a comparison only the tables."""
    corpus = prepared.train
    names = prepared.items.names
    if not names:
        analysis.note("no-items-left", "No item has enough support.", warning=True)
    else:
        table = show.tied_items(corpus, prepared.groups, names, prepared.items.kinds, judging.level)
        if not beside:
            analysis.exhibits["most tied"] = show.tied_chart(table, prepared.groups)
        analysis.exhibits["tied items"] = table
    if beside:
        return
    if prepared.sources["train"].kind != "counts":
        analysis.exhibits["coverage"] = show.coverage(prepared, how.rule)
        if names:
            _described(prepared, judging, analysis)
    analysis.note(
        "association-only",
        "One corpus says what is tied to whom, not whether a model made it worse: pass outputs for that."
        " Nothing is judged.",
    )


def _described(prepared: Matched, judging: Judging, analysis: Analysis) -> None:
    """Shares of each item with intervals over images, and two summaries beside their nulls."""
    corpus, groups = prepared.train, prepared.groups
    joint = panel(corpus_blocks(corpus, prepared.images, "train"))
    point = joint.totals()
    drawn: list[FloatArray] = []
    spread: list[FloatArray] = []
    epsilon: list[FloatArray] = []
    for weights in poisson_weights(joint.images, judging.draws, judging.seed):
        sums = joint.totals(weights)
        drawn.append(shares(sums["train"]))
        spread.append(_distance(sums["train"], sums["train_rows"]))
        epsilon.append(item_epsilon(sums["train"], sums["train_rows"]).max(axis=-1))
    images = len(np.unique(corpus.images[corpus.member.any(axis=1)]))
    null = _independent(point["train"][0], point["train_rows"][0], judging)
    rows = []
    for name, value, replicates, other in (
        (
            "mean distance of shares from the groups' overall shares",
            _distance(point["train"], point["train_rows"])[0],
            np.concatenate(spread),
            null[0],
        ),
        (
            "differential-fairness epsilon",
            item_epsilon(point["train"], point["train_rows"]).max(axis=-1)[0],
            np.concatenate(epsilon),
            null[1],
        ),
    ):
        rows.append(_one(name, float(value), replicates, other, images, judging, len(prepared.items.names)))
    analysis.findings += judge(
        [evidence(e, i) for e, i in rows], tolerance=None, family="association", correction="none"
    )
    share = np.concatenate(drawn)
    shown = range(1) if len(groups) == 2 else range(len(groups))
    items = []
    for i, item in enumerate(prepared.items.names):
        for g in shown:
            items.append(_share(point, share, g, i, item, groups[g], images, judging))
    analysis.findings += judge(
        [evidence(e, i) for e, i in items], tolerance=None, family="items", correction="none"
    )


def _distance(counts: FloatArray, rows: FloatArray) -> FloatArray:
    """Mean over items of half Σ_g |b(o, g) − share of g|: how far items are from the corpus's own mix,
    (…,)."""
    overall = rows / np.maximum(rows.sum(axis=-1, keepdims=True), 1.0)
    away = np.abs(shares(counts) - overall[..., :, None]).sum(axis=-2) / 2
    return np.asarray(np.nanmean(np.where(np.isfinite(away), away, np.nan), axis=-1))


def _independent(counts: FloatArray, rows: FloatArray, judging: Judging) -> tuple[FloatArray, FloatArray]:
    """Both summaries where items know nothing of groups: mentions dealt to groups by their overall shares."""
    rng = np.random.default_rng(judging.seed + 1)
    p = rows / rows.sum()
    dealt = np.stack(
        [rng.multinomial(int(n), p, size=judging.draws) for n in counts.sum(axis=0)], axis=-1
    ).astype(float)
    every = np.broadcast_to(rows, (judging.draws, len(rows)))
    return _distance(dealt, every), item_epsilon(dealt, every).max(axis=-1)


def _one(
    name: str,
    value: float,
    replicates: FloatArray,
    null: FloatArray,
    images: int,
    judging: Judging,
    items: int,
) -> tuple[Estimate, Inference]:
    estimate = Estimate(
        measure=name,
        contrast="difference",
        group="all groups",
        reference="independence",
        n=items,
        units={"image": images},
    )
    if images < MIN_IMAGES:
        why = f"only {images} images name a group; an interval needs at least {MIN_IMAGES}"
        return estimate, Inference(value=value, level=judging.level, why_not=why)
    usable = replicates[np.isfinite(replicates)]
    method = (
        f"images resampled {judging.draws} times; null: items dealt to groups at random, mean"
        f" {null.mean():.4g}"
    )
    made = from_standard_error(
        value, float(usable.std(ddof=1)), df=float(images - 1), level=judging.level, method=method
    )
    p = float((1 + np.sum(null >= value - 1e-12)) / (len(null) + 1))
    return estimate, made.with_(p_value=p, low=None if made.low is None else max(0.0, made.low))


def _share(
    point: dict[str, FloatArray],
    share: FloatArray,
    g: int,
    i: int,
    item: str,
    group: str,
    images: int,
    judging: Judging,
) -> tuple[Estimate, Inference]:
    """One item's share, less the group's overall share, with Wilson's interval on the effective number of
    mentions."""
    from evenhand.stats.rates import wilson

    counts, rows = point["train"][0], point["train_rows"][0]
    k, n = float(counts[g, i]), float(counts[:, i].sum())
    overall = float(rows[g] / rows.sum())
    p = k / n
    usable = share[:, g, i][np.isfinite(share[:, g, i])]
    plain = p * (1 - p) / n
    deflate = float(np.clip(usable.var() / plain, 1.0, 10.0)) if plain > 0 and len(usable) > 10 else 1.0
    interval = wilson(k / deflate, n / deflate, level=judging.level)
    estimate = Estimate(
        measure=f"share of {group}",
        contrast="difference",
        group=item,
        reference=f"overall ({overall:.3f})",
        n=int(n),
        n_group=int(k),
    )
    if images < MIN_IMAGES or interval.low is None or interval.high is None:
        return estimate, Inference(
            value=p - overall, level=judging.level, why_not=f"only {images} images name a group"
        )
    method = "Wilson on mentions deflated by clustering in images"
    return estimate, Inference(
        value=p - overall,
        low=interval.low - overall,
        high=interval.high - overall,
        level=judging.level,
        method=method,
    )

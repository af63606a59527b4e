"""One corpus alone: which items are tied to which group, how tightly, and how much of that chance
explains."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from evenhand._analysis import Analysis
from evenhand._estimate import Evidence
from evenhand._model import FloatArray
from evenhand.audits.amplification import exhibits as show
from evenhand.audits.amplification.findings import MIN_IMAGES, clustering, describe, difference, replicated
from evenhand.audits.amplification.panel import corpus_blocks, poisson_weights
from evenhand.audits.amplification.prepare import Matched
from evenhand.audits.amplification.resampling import Judging
from evenhand.measures.association import item_epsilon, shares
from evenhand.stats.interval import Inference
from evenhand.stats.rates import wilson


def association(
    prepared: Matched, judging: Judging, analysis: Analysis, *, rule: str | None = None, beside: bool = False
) -> None:
    """Tied items, coverage and the association of the whole corpus.

    Args:
        rule: by which rows were read; None for counts, which have none.
        beside: a comparison: only the tables.
    """
    if not prepared.items.names:
        analysis.note("no-items-left", "No item has enough support.", warning=True)
    else:
        table = show.tied_items(prepared, judging.declared.level)
        if not beside:
            analysis.exhibits["most tied"] = show.tied_chart(table, prepared.groups)
        analysis.exhibits["tied items"] = table
    if beside:
        return
    if rule is not None:
        analysis.exhibits["coverage"] = show.coverage(prepared, rule)
        if prepared.items.names:
            _describe(prepared, judging, analysis)
    analysis.note(
        "association-only",
        "One corpus says what is tied to whom, not whether a model made it worse: pass outputs for that."
        " Nothing is judged.",
    )


def _describe(prepared: Matched, judging: Judging, analysis: Analysis) -> None:
    """Shares of each item with intervals over images, and two summaries beside their nulls."""
    joint = prepared.panel(corpus_blocks(prepared.train, prepared.images, "train"))
    sums = [joint.totals()]
    sums += map(joint.totals, poisson_weights(joint.images, judging.draws, judging.declared.seed))
    # The sample comes first, then its resamples.
    counts, rows = (np.concatenate([s[k] for s in sums]) for k in ("train", "train_rows"))
    analysis.findings += describe(list(_summaries(prepared, counts, rows, judging)), "association")
    analysis.findings += describe(list(_shares(prepared, counts, rows[0], judging.declared.level)), "items")


def _summaries(
    prepared: Matched, counts: FloatArray, rows: FloatArray, judging: Judging
) -> Iterator[Evidence]:
    """How far items are from knowing nothing of groups, beside what chance would show."""
    images, level = prepared.naming(prepared.train), judging.declared.level
    dealt = _independent(counts[0], rows[0], judging)
    every = np.broadcast_to(rows[0], (judging.draws, rows.shape[1]))
    for name, of in (
        ("mean distance of shares from the groups' overall shares", _distance),
        ("differential-fairness epsilon", _largest_epsilon),
    ):
        values, null = of(counts, rows), of(dealt, every)
        value = float(values[0])
        if images < MIN_IMAGES:
            why = f"only {images} {prepared.unit}s name a group; an interval needs at least {MIN_IMAGES}"
            made = Inference(value=value, level=level, why_not=why)
        else:
            method = (
                f"{prepared.unit}s resampled {judging.draws} times; null: items dealt to groups at random,"
                f" mean {null.mean():.4g}"
            )
            made = replicated(value, values[1:], images=images, level=level, method=method)
            p = float((1 + np.sum(null >= value - 1e-12)) / (len(null) + 1))
            made = made.with_(p_value=p, low=None if made.low is None else max(0.0, made.low))
        n, units = len(prepared.items.names), {prepared.unit: images}
        yield difference(name, made, group="all groups", reference="independence", n=n, units=units)


def _distance(counts: FloatArray, rows: FloatArray) -> FloatArray:
    """Mean over items of half Σ_g |b(o, g) − share of g|: how far items are from the corpus's own mix,
    (…,)."""
    overall = rows / np.maximum(rows.sum(axis=-1, keepdims=True), 1.0)
    away = np.abs(shares(counts) - overall[..., :, None]).sum(axis=-2) / 2
    return np.asarray(np.nanmean(np.where(np.isfinite(away), away, np.nan), axis=-1))


def _largest_epsilon(counts: FloatArray, rows: FloatArray) -> FloatArray:
    return np.asarray(item_epsilon(counts, rows).max(axis=-1))


def _independent(counts: FloatArray, rows: FloatArray, judging: Judging) -> FloatArray:
    """Counts (draws, G, I) where items know nothing of groups: mentions dealt by the overall shares."""
    rng = np.random.default_rng(judging.declared.seed + 1)
    p, mentions = rows / rows.sum(), counts.sum(axis=0)
    dealt = [rng.multinomial(int(n), p, size=judging.draws) for n in mentions]
    return np.stack(dealt, axis=-1).astype(float)


def _shares(prepared: Matched, counts: FloatArray, rows: FloatArray, level: float) -> Iterator[Evidence]:
    """Each item's share, less the group's overall share, with Wilson's interval on the effective number of
    mentions."""
    groups, images, unit = prepared.groups, prepared.naming(prepared.train), prepared.unit
    drawn = shares(counts)[1:]
    for i, item in enumerate(prepared.items.names):
        for g in range(1 if len(groups) == 2 else len(groups)):
            k, n = float(counts[0, g, i]), float(counts[0, :, i].sum())
            p, overall = k / n, float(rows[g] / rows.sum())
            deflate = clustering(drawn[:, g, i], p, n)
            found = wilson(k / deflate, n / deflate, level=level)
            made = Inference(value=p - overall, level=level, why_not=f"only {images} {unit}s name a group")
            if images >= MIN_IMAGES and found.low is not None and found.high is not None:
                made = made.with_(
                    low=found.low - overall,
                    high=found.high - overall,
                    method=f"Wilson on mentions deflated by clustering in {unit}s",
                    why_not=None,
                )
            share = difference(
                f"share of {groups[g]}", made, group=item, reference=f"overall ({overall:.3f})"
            )
            yield share.with_estimate(n=int(n), n_group=int(k))

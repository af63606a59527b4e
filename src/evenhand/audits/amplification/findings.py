"""Resamples of images → estimates with intervals and nulls → findings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from evenhand._estimate import Evidence, evidence, exact_where_constant
from evenhand._judge import judge
from evenhand._model import Estimate, Finding, FloatArray, Verdict
from evenhand.audits.amplification.resampling import Judging, Resampled, Summary
from evenhand.stats.interval import Inference, from_standard_error, quantile, tail

MIN_IMAGES = 10
OUTPUTS, TRAIN = "outputs", "training data"


# --- from replicates to findings


def findings(done: Resampled, judging: Judging, *, items: Sequence[str]) -> list[Finding]:
    """The aggregates (described as they are, judged beyond their null), then each item's change."""
    described, judged = [], []
    for summary in done.summaries:
        described.append(_described(done, summary, judging, len(items)))
        tolerance = judging.of(summary.statistic)
        if tolerance is not None:
            judged.append((_beyond_null(done, summary, judging, len(items)), tolerance))
    found = judge(described, tolerance=None, family="values as published", correction="none")
    for tolerance in dict.fromkeys(t for _, t in judged):
        family = [item for item, t in judged if t == tolerance]
        found += judge(
            family,
            tolerance=(-np.inf, tolerance),
            family="amplification",
            correction=judging.correction,
            say=_say,
        )
    judged_first = [f for f in found if f.tolerance is not None]
    return judged_first + [f for f in found if f.tolerance is None]


def _estimate(done: Resampled, summary: Summary, what: str, items: int) -> Estimate:
    images = {"image": done.images} if done.boot else {"mention": done.images}
    return Estimate(
        measure=summary.statistic.name + what,
        contrast="difference",
        group=OUTPUTS,
        reference=TRAIN
        if "out" in summary.statistic.needs or "out_sets" in summary.statistic.needs
        else "truth",
        n=items,
        units=images,
    )


def _enough(done: Resampled, summary: Summary, level: float) -> Inference | None:
    """The reason why there is no interval, as an inference, where there is one."""
    value = None if not np.isfinite(summary.value) else summary.value
    if value is None:
        return Inference(level=level, why_not=summary.why_not or "no item has support in both corpora")
    if done.images < MIN_IMAGES:
        unit = "images" if done.boot else "mentions"
        why = f"only {done.images} {unit} name a group; an interval needs at least {MIN_IMAGES}"
        return Inference(value=value, level=level, why_not=why)
    return None


def _inference(done: Resampled, summary: Summary, value: float, judging: Judging, method: str) -> Inference:
    usable = summary.replicates[np.isfinite(summary.replicates)]
    se = float(usable.std(ddof=1)) if len(usable) > 1 else float("nan")
    se = 0.0 if se < 1e-12 else float(np.hypot(se, _thin(done, summary, judging)))
    made = from_standard_error(
        value,
        se,
        df=float(max(done.images - 1, 1)),
        level=judging.level,
        method=method,
        detail={"units": {"image": done.images}},
    )
    return exact_where_constant(made)


def _thin(done: Resampled, summary: Summary, judging: Judging) -> float:
    """Standard error that resampling misses, for the mean of shares.

    An item whose few mentions all agree does not vary between resamples, though another sample would. What
    Agresti & Caffo's added mentions give such an item beyond its resampled variance is added.
    """
    if summary.statistic.name != "mean bias amplification":
        return 0.0
    counts = done.point["train"][0]
    g, items = counts.shape
    missed = 0.0
    for i in range(items):
        tied = np.flatnonzero(counts[:, i] * g > counts[:, i].sum())
        for k in tied:
            drawn = done.after[:, k, i] - done.before[:, k, i]
            usable = drawn[np.isfinite(drawn)]
            own = item_inference(done, int(k), i, judging.level).se or 0.0
            missed += max(own**2 - (float(usable.var()) if len(usable) else 0.0), 0.0)
    return float(np.sqrt(missed) / items)


def _described(done: Resampled, summary: Summary, judging: Judging, items: int) -> Evidence:
    estimate = _estimate(done, summary, "", items)
    short = _enough(done, summary, judging.level)
    if short is not None:
        return Evidence(estimate=evidence(estimate, short).estimate)
    resampled = "images resampled" if done.boot else "mentions resampled"
    made = _inference(done, summary, summary.value, judging, f"{resampled} {judging.draws} times, sides kept")
    floor = summary.statistic.floor
    if floor is not None and made.low is not None:
        made = made.with_(low=max(floor, made.low))
    filled = evidence(estimate, made)
    p = _p_value(summary)
    said = (
        f"; null: {summary.null_from}, mean {_mean(summary.null):.4g}"
        if len(summary.null)
        else "; no null: 0 is perfect"
    )
    return filled.with_estimate(p_value=p, method=made.method + said)


def _beyond_null(done: Resampled, summary: Summary, judging: Judging, items: int) -> Evidence:
    """The value less the mean of its null: what a model without amplification would show is taken off."""
    estimate = _estimate(done, summary, " beyond its null", items)
    short = _enough(done, summary, judging.level)
    if short is not None:
        without = short.with_(value=None if short.value is None else short.value - _mean(summary.null))
        return evidence(estimate, without)
    expected = _mean(summary.null)
    resampled = "images resampled" if done.boot else "mentions resampled"
    method = (
        f"value {summary.value:+.4f} less {expected:+.4f}, the mean of its null ({summary.null_from});"
        f" {resampled}"
    )
    value = summary.value - expected
    made = _inference(done, summary, 0.0 if abs(value) < 1e-12 else value, judging, method)
    if made.se and made.p_value is not None:
        # Few images an item make the resampled null too narrow: the wider of the two has the say.
        made = made.with_(p_value=max(_p_value(summary) or 0.0, made.p_value))
    return evidence(estimate, made)


def _p_value(summary: Summary) -> float | None:
    """Two-sided, against the null's own distribution: (1 + #{|null − mean| ≥ |value − mean|})/(B + 1)."""
    null = summary.null[np.isfinite(summary.null)]
    if len(null) == 0 or not np.isfinite(summary.value):
        return None
    distance = abs(summary.value - null.mean()) - 1e-12
    return float((1 + np.sum(np.abs(null - null.mean()) >= distance)) / (len(null) + 1))


def _mean(null: FloatArray) -> float:
    usable = null[np.isfinite(null)]
    return float(usable.mean()) if len(usable) else 0.0


def _say(item: Evidence, verdict: Verdict, tolerance: tuple[float, float]) -> str:
    e = item.estimate
    if e.value is None or e.low is None or e.high is None:
        return f"No conclusion: {e.why_not or 'no interval can be computed'}."
    gap = (
        f"Beyond its null, the {e.measure.removesuffix(' beyond its null')} is {e.value:+.4f}"
        f" ({e.level:.0%} interval {e.low:+.4f} to {e.high:+.4f})"
    )
    bound = f"{tolerance[1]:g}"
    if verdict == "disparity":
        return (
            f"{gap}: the outputs tie items to groups more tightly than the data did, by more than {bound}"
            " and more than chance explains."
        )
    if item.blind:
        return f"{gap}: outputs and data have the same shares in every resample."
    if verdict == "within tolerance":
        return f"{gap}: whatever the amplification is, it is smaller than {bound}."
    if e.low <= 0.0 <= e.high:
        return f"{gap}: these {e.n} items cannot separate the model from zero, nor place it below {bound}."
    return f"{gap}: too uncertain to place below {bound}."


def item_inference(done: Resampled, g: int, i: int, level: float) -> Inference:
    """b~ − b* of one item and group, with an interval that holds for small counts.

    Agresti & Caffo's added mentions, on sample sizes deflated by the clustering of mentions in images, and
    with the correlation of the two shares where the images are the same.
    """
    c, after = done.point["train"][0], done.point["out"][0]
    sides = [
        (c[g, i], c[:, i].sum(), done.before[:, g, i]),
        (after[g, i], after[:, i].sum(), done.after[:, g, i]),
    ]
    value = float(sides[1][0] / sides[1][1] - sides[0][0] / sides[0][1])
    if min(s[1] for s in sides) < 2:
        return Inference(value=value, level=level, why_not="one mention only")
    shrunk, variance = [], []
    for k, n, drawn in sides:
        p = float(k / n)
        usable = drawn[np.isfinite(drawn)]
        plain = p * (1 - p) / n
        deflate = float(np.clip(usable.var() / plain, 0.5, 10.0)) if plain > 0 and len(usable) > 10 else 1.0
        size = n / max(deflate, 1.0)
        shrunk.append((p * size + 1.0) / (size + 2.0))
        variance.append(shrunk[-1] * (1 - shrunk[-1]) / (size + 2.0))
    both = np.isfinite(sides[0][2]) & np.isfinite(sides[1][2])
    spread = [float(s[2][both].std()) for s in sides] if both.sum() > 10 else [0.0, 0.0]
    rho = (
        float(np.cov(sides[0][2][both], sides[1][2][both], ddof=0)[0, 1] / (spread[0] * spread[1]))
        if min(spread) > 1e-9
        else 0.0
    )
    se = float(
        np.sqrt(max(variance[0] + variance[1] - 2 * min(rho, 1.0) * np.sqrt(variance[0] * variance[1]), 0.0))
    )
    if np.array_equal(sides[0][2][both], sides[1][2][both]) and both.any() and value == 0.0:
        se = 0.0  # the very same mentions in every resample
    if se < 1e-9:
        made = Inference(
            value=value,
            se=0.0,
            level=level,
            method="the same mentions",
            detail={"n_a": int(sides[1][1]), "n_b": int(sides[0][1])},
        )
        return exact_where_constant(made)
    middle, reach = shrunk[1] - shrunk[0], se * quantile(0.5 + level / 2, None)
    return Inference(
        value=value,
        low=max(-1.0, min(middle - reach, value)),
        high=min(1.0, max(middle + reach, value)),
        p_value=tail(middle / se, None),
        se=se,
        level=level,
        method="Agresti–Caffo with clustered, paired images" if done.boot else "Agresti–Caffo",
    )


def item_findings(
    done: Resampled, judging: Judging, *, groups: Sequence[str], items: Sequence[str]
) -> list[Finding]:
    """Every item's change, judged where a tolerance was declared; with two groups the second mirrors the
    first.

    p is adjusted for the number of items either way.
    """
    own = judging.item_tolerance
    found = []
    shown = range(1) if len(groups) == 2 else range(len(groups))
    for i, item in enumerate(items):
        for g in shown:
            inference = item_inference(done, g, i, judging.level)
            if done.images < MIN_IMAGES:
                inference = Inference(
                    value=inference.value,
                    level=judging.level,
                    why_not=f"only {done.images} images name a group",
                )
            estimate = Estimate(
                measure=f"share of {groups[g]}",
                contrast="difference",
                group=f"{item} in outputs",
                reference=TRAIN,
                n=int(done.point["train"][0][:, i].sum() + done.point["out"][0][:, i].sum()),
                n_group=int(done.point["out"][0][:, i].sum()),
                n_reference=int(done.point["train"][0][:, i].sum()),
            )
            found.append(evidence(estimate, inference))
    return judge(
        found,
        tolerance=None if own is None else (-own, own),
        family="items",
        correction=judging.correction,
    )


def as_dict(summary: Summary) -> dict[str, Any]:
    """One row of the table of measures."""
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

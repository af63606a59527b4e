"""Resamples of images → estimates with intervals and nulls → findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from evenhand._analysis import PRIMARY
from evenhand._estimate import Evidence, evidence
from evenhand._judge import interval_said, judge
from evenhand._model import Estimate, Finding, FloatArray
from evenhand.audits.amplification.resampling import Aggregate, Judging, Resampled
from evenhand.audits.amplification.statistics import ERROR, MEAN, REPRESENTATION, SILENCE
from evenhand.stats.few_units import allowing_for
from evenhand.stats.interval import Inference, from_standard_error, quantile, tail

MIN_IMAGES = 10
MIN_MENTIONS = 10
"""Training mentions of the middle item, below which sides are mostly chance (at 6 the null is off by .05)."""
OUTPUTS, TRAIN = "outputs", "training data"
BEYOND = " beyond its null"
MOST_BIAS = 0.5
"""Standard errors by which a value may be off without harm: a 95 % interval then covers 92 %."""
SAID = {
    MEAN: (
        "amplification",
        "the outputs tie items to groups more tightly than the data did",
        "the outputs tie items to groups less tightly than the data did",
    ),
    REPRESENTATION: (
        "shift",
        "among those whom the outputs name, {group} is more frequent than in the truth",
        "among those whom the outputs name, {group} is less frequent than in the truth",
    ),
    SILENCE: (
        "difference",
        "the outputs name nobody more often where the truth is {group}",
        "the outputs name nobody less often where the truth is {group}",
    ),
    ERROR: ("error", "the outputs name a wrong group", "the outputs name a wrong group"),
}
"""Measure → (what it is, said of values above nothing, and below); those of items are said as the mean is."""


def difference(
    measure: str,
    found: Inference,
    *,
    group: str = OUTPUTS,
    reference: str = TRAIN,
    n: int = 0,
    units: Mapping[str, int] | None = None,
) -> Evidence:
    """An inference as the estimate of a difference."""
    estimate = Estimate(
        measure=measure, contrast="difference", group=group, reference=reference, n=n, units=units or {}
    )
    return evidence(estimate, found)


def describe(items: Sequence[Evidence], family: str) -> list[Finding]:
    """What is only described: no tolerance, no verdict, p as it is."""
    return judge(items, tolerance=None, family=family, correction="none")


def replicated(
    value: float, drawn: FloatArray, *, images: int, level: float, method: str, missed: float = 0.0
) -> Inference:
    """A value whose standard error is the spread of its replicates.

    Args:
        images: that were resampled. missed: a standard error that resampling does not show.
    """
    usable = drawn[np.isfinite(drawn)]
    se = float(usable.std(ddof=1)) if len(usable) > 1 else float("nan")
    se = 0.0 if se < 1e-12 else float(np.hypot(se, missed))
    df = float(max(images - 1, 1))
    return from_standard_error(value, se, df=df, level=level, method=method)


def findings(done: Resampled, judging: Judging, *, items: Sequence[str]) -> list[Finding]:
    """The aggregates: judged beyond their null where they have a tolerance, described as they are."""
    declared, n = judging.declared, len(items)
    tolerances = declared.tolerance
    found: list[Finding] = []
    held = [s for s in done.summaries if s.statistic.name in tolerances]
    declared.check_primary(s.statistic.name for s in held)
    headline = declared.primary or (MEAN, REPRESENTATION)
    families = {
        s.statistic.name: PRIMARY if s.statistic.name in headline else s.statistic.family for s in held
    }
    for family in dict.fromkeys((PRIMARY, *families.values())):
        own = [s for s in held if families[s.statistic.name] == family]
        found += judge(
            [_beyond_null(done, s, judging, n) for s in own],
            tolerances=[s.statistic.bounds(float(tolerances[s.statistic.name])) for s in own],
            family=family,
            correction=declared.correction,
            primary=family == PRIMARY,
            say=_say,
        )
    return found + describe([_described(done, s, judging, n) for s in done.summaries], "values as published")


def nothing_compared(judging: Judging, why: str) -> list[Finding]:
    """The claim of every comparison, where there is nothing to compare."""
    declared = judging.declared
    tolerance = float(declared.tolerance.get(MEAN, 0.02))
    claim = difference(MEAN + BEYOND, Inference(level=declared.level, why_not=why))
    return judge([claim], tolerance=(-tolerance, tolerance), family=PRIMARY, primary=True)


def _aggregate(done: Resampled, summary: Aggregate, found: Inference, items: int, what: str = "") -> Evidence:
    of_shares = not {"out", "out_sets"}.isdisjoint(summary.statistic.needs)
    second = f"{done.groups[1]} in {OUTPUTS}" if "two_groups" in summary.statistic.needs else OUTPUTS
    return difference(
        summary.statistic.name + what,
        found,
        group=second,
        reference=TRAIN if of_shares else "truth",
        n=items,
        units={done.what: done.images},
    )


def _too_little(done: Resampled, summary: Aggregate, value: float, level: float) -> Inference | None:
    """The reason why there is no interval, as an inference, where there is one."""
    if not np.isfinite(summary.value):
        return Inference(level=level, why_not="no item has support in both corpora")
    if done.images < MIN_IMAGES:
        why = f"only {done.images} {done.what}s name a group; an interval needs at least {MIN_IMAGES}"
        return Inference(value=value, level=level, why_not=why)
    if "outcomes" in summary.statistic.needs:
        named = int(done.point["outcomes"][0][:, :-1].sum())
        if named < MIN_IMAGES:  # who is named nowhere is named wrongly nowhere
            why = (
                f"only {named} outputs name anybody; a verdict on whom they name needs at least {MIN_IMAGES}"
            )
            return Inference(value=value, level=level, why_not=why)
    return None


def _inference(done: Resampled, summary: Aggregate, value: float, judging: Judging, method: str) -> Inference:
    level, missed = judging.declared.level, _thin(done, summary, judging.declared.level)
    made = replicated(
        value, summary.replicates, images=done.images, level=level, method=method, missed=missed
    )
    return allowing_for(made, done.images, done.what)


def _thin(done: Resampled, summary: Aggregate, level: float) -> float:
    """Standard error that resampling misses, for the mean of shares.

    An item whose few mentions all agree, in the data or in the outputs, does not vary between resamples,
    though another sample would. What Agresti & Caffo's added mentions give such an item beyond its resampled
    variance is added; items whose mentions disagree vary as they should.
    """
    if summary.statistic.name != MEAN:
        return 0.0
    counts, after = done.point["train"][0], done.point["out"][0]
    g, items = counts.shape
    agreed = [(c == 0) | (c == c.sum(axis=0)) for c in (counts, after)]
    missed = 0.0
    for i in range(items):
        for k in np.flatnonzero(counts[:, i] * g > counts[:, i].sum()).tolist():
            if not (agreed[0][k, i] or agreed[1][k, i]):
                continue
            drawn = done.after[:, k, i] - done.before[:, k, i]
            usable = drawn[np.isfinite(drawn)]
            own = item_inference(done, k, i, level).se or 0.0
            missed += max(own**2 - (float(usable.var()) if len(usable) else 0.0), 0.0)
    return float(np.sqrt(missed) / items)


def _described(done: Resampled, summary: Aggregate, judging: Judging, items: int) -> Evidence:
    short = _too_little(done, summary, summary.value, judging.declared.level)
    if short is not None:
        return _aggregate(done, summary, short, items)
    method = f"{_resampled(done)} {judging.draws} times, sides kept"
    made = _inference(done, summary, summary.value, judging, method)
    expected = _mean(summary.null)
    if summary.statistic.sided is not None and made.se and abs(expected) > MOST_BIAS * made.se:
        why = (
            f"choosing sides from the same data moves this value by {expected:+.3f}, which no interval allows"
            " for; beyond its null it has one"
        )
        made = Inference(value=summary.value, level=judging.declared.level, why_not=why)
    floor = summary.statistic.floor
    if floor is not None and made.low is not None:
        made = made.with_(low=max(floor, made.low))
    null = f"null: {summary.null_from}, mean {expected:.4g}"
    said = f"{made.method}; {null if len(summary.null) else 'no null: 0 is perfect'}"
    filled = _aggregate(done, summary, made, items)
    # p is against the null's mean: it stands where the interval is about the same number.
    told = None if summary.statistic.name in judging.declared.tolerance else _p_value(summary)
    return filled.with_estimate(p_value=told, statistic=None, method=said)


def _beyond_null(done: Resampled, summary: Aggregate, judging: Judging, items: int) -> Evidence:
    """The value less the mean of its null: what a model without amplification would show is taken off."""
    expected = _mean(summary.null)
    value = summary.value - expected
    made = _too_little(done, summary, value, judging.declared.level)
    even, pairs = summary.even
    rare = int(np.median(done.point["train"][0].sum(axis=0))) if "train" in done.point else MIN_MENTIONS
    if made is None and summary.statistic.sided is not None and rare < MIN_MENTIONS:
        why = (
            f"half of the items have at most {rare} mentions in the training data, so their sides are mostly"
            f" chance; {MIN_MENTIONS} are needed"
        )
        made = Inference(value=value, level=judging.declared.level, why_not=why)
    if made is None and 2 * even > pairs:
        why = (
            f"{even} of {pairs} items are exactly even in the training data, so nothing can be tied more"
            " tightly to their side; give the training data before they were balanced: before= (--before)"
        )
        made = Inference(value=value, level=judging.declared.level, why_not=why)
    if made is None:
        method = (
            f"value {summary.value:+.4f} less {expected:+.4f}, the mean of its null ({summary.null_from});"
            f" {_resampled(done)}"
        )
        made = _inference(done, summary, 0.0 if abs(value) < 1e-12 else value, judging, method)
    if made.se and made.p_value is not None:
        # Few images an item make the resampled null too narrow: the wider of the two has the say.
        made = made.with_(p_value=max(_p_value(summary) or 0.0, made.p_value))
    return _aggregate(done, summary, made, items, BEYOND if len(summary.null) else "")


def _resampled(done: Resampled) -> str:
    return f"{done.what}s resampled"


def _p_value(summary: Aggregate) -> float | None:
    """Two-sided, against the null's own distribution: (1 + #{|null − mean| ≥ |value − mean|})/(B + 1)."""
    null = summary.null[np.isfinite(summary.null)]
    if len(null) == 0 or not np.isfinite(summary.value):
        return None
    distance = abs(summary.value - null.mean()) - 1e-12
    return float((1 + np.sum(np.abs(null - null.mean()) >= distance)) / (len(null) + 1))


def _mean(null: FloatArray) -> float:
    usable = null[np.isfinite(null)]
    return float(usable.mean()) if len(usable) else 0.0


def _say(finding: Finding) -> str:
    e, verdict, interval = finding.estimate, finding.verdict, interval_said(finding)
    if e.value is None or interval is None or finding.tolerance is None:
        return f"No conclusion: {e.why_not or 'no interval can be computed'}."
    name, more = e.measure.removesuffix(BEYOND), e.value > 0
    value = f"{e.value:+.4f}".replace("-", "−")
    beyond = "Beyond its null, the" if e.measure.endswith(BEYOND) else "The"
    gap = f"{beyond} {name} is {value} ({interval})"
    bound, (what, up, down) = f"{finding.tolerance[1]:g}", SAID.get(name, SAID[MEAN])
    way = (up if more else down).format(group=e.group.removesuffix(f" in {OUTPUTS}"))
    if verdict == "disparity":
        return f"{gap}: {way}, shown to be by more than {bound}."
    if verdict == "gap":
        return f"{gap}: {way}; whether by more than {bound} is not settled."
    if verdict == "within tolerance":
        return f"{gap}: whatever the {what} is, it is smaller than {bound}."
    return f"{gap}: the data can tell neither that there is any {what} nor that it is below {bound}."


def item_inference(done: Resampled, g: int, i: int, level: float) -> Inference:
    """b~ − b* of one item and group, with an interval that holds for small counts.

    Agresti & Caffo's added mentions, on sample sizes deflated by the clustering of mentions in images, and
    with the correlation of the two shares where the images are the same.
    """
    before, after = done.point["train"][0], done.point["out"][0]
    sides = [
        (float(before[g, i]), float(before[:, i].sum()), done.before[:, g, i]),
        (float(after[g, i]), float(after[:, i].sum()), done.after[:, g, i]),
    ]
    value = sides[1][0] / sides[1][1] - sides[0][0] / sides[0][1]
    if min(n for _, n, _ in sides) < 2:
        return Inference(value=value, level=level, why_not="one mention only")
    shrunk, variance = [], []
    for k, n, drawn in sides:
        p = k / n
        size = n / clustering(drawn, p, n)
        shrunk.append((p * size + 1.0) / (size + 2.0))
        variance.append(shrunk[-1] * (1 - shrunk[-1]) / (size + 2.0))
    both = np.isfinite(sides[0][2]) & np.isfinite(sides[1][2])
    one, two = (drawn[both] for _, _, drawn in sides)
    together = 2 * min(_correlation(one, two), 1.0) * np.sqrt(variance[0] * variance[1])
    se = float(np.sqrt(max(variance[0] + variance[1] - together, 0.0)))
    same = both.any() and value == 0.0 and np.array_equal(one, two)  # the same mentions in every resample
    if se < 1e-9 or same:
        counted = {"n_a": int(sides[1][1]), "n_b": int(sides[0][1])}
        method = "the same mentions"
        made = Inference(value=value, se=0.0, level=level, method=method, detail=counted)
        return allowing_for(made, int(min(sides[0][1], sides[1][1])), "mention")
    middle, reach = shrunk[1] - shrunk[0], se * quantile(0.5 + level / 2, None)
    return Inference(
        value=value,
        low=max(-1.0, min(middle - reach, value)),
        high=min(1.0, max(middle + reach, value)),
        p_value=tail(middle / se, None),
        se=se,
        level=level,
        method=f"Agresti–Caffo with clustered, paired {done.what}s" if done.boot else "Agresti–Caffo",
    )


def clustering(drawn: FloatArray, p: float, n: float) -> float:
    """By how much mentions that share images vary more than `n` independent ones with share `p` do."""
    usable, plain = drawn[np.isfinite(drawn)], p * (1 - p) / n
    return float(np.clip(usable.var() / plain, 1.0, 10.0)) if plain > 0 and len(usable) > 10 else 1.0


def _correlation(one: FloatArray, two: FloatArray) -> float:
    if len(one) <= 10 or min(spread := [float(one.std()), float(two.std())]) <= 1e-9:
        return 0.0
    return float(np.cov(one, two, ddof=0)[0, 1] / (spread[0] * spread[1]))


def item_findings(
    done: Resampled, judging: Judging, *, groups: Sequence[str], items: Sequence[str]
) -> list[Finding]:
    """Every item's change, judged where a tolerance was declared; with two groups the second mirrors the
    first.

    p is adjusted for the number of items either way.
    """
    declared, own = judging.declared, judging.item_tolerance
    before, after = (done.point[k][0].sum(axis=0) for k in ("train", "out"))
    found = []
    for i, item in enumerate(items):
        for g in range(1 if len(groups) == 2 else len(groups)):
            made = item_inference(done, g, i, declared.level)
            if done.images < MIN_IMAGES:
                why = f"only {done.images} {done.what}s name a group"
                made = Inference(value=made.value, level=declared.level, why_not=why)
            n, m = int(before[i]), int(after[i])
            change = difference(f"share of {groups[g]}", made, group=f"{item} in outputs", n=n + m)
            found.append(change.with_estimate(n_group=m, n_reference=n))
    bounds = None if own is None else (-own, own)
    return judge(found, tolerance=bounds, family="items", correction=declared.correction)

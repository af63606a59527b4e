"""From the records of an attack to findings: rates and movements described, asymmetry and mean rate judged by
placebos."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from evenhand._analysis import Analysis
from evenhand._estimate import Evidence, evidence
from evenhand._judge import Correction, judge
from evenhand._model import BoolArray, Estimate, Finding, FloatArray, IntArray, Verdict
from evenhand.audits.attack.confirmation import Confirmed
from evenhand.audits.attack.field import Field
from evenhand.audits.attack.placebos import Excess, asymmetry, mean_of_sides
from evenhand.audits.attack.records import Records
from evenhand.stats.interval import Inference
from evenhand.stats.paired import paired, sign_flip
from evenhand.stats.rates import mcnemar_exact, wilson

EXCESS = "excess over placebos"
APART = "without definitional words"


@dataclass(frozen=True, kw_only=True, eq=False)
class Attacked:
    """One axis after the attack.

    Args:
        whole, without: records with all words, and without definitional ones.
        texts: (T,) texts that count: scored, open to the goal, all their searches ended.
        confirmed, confirmed_without: the learned alterations on unseen texts.
        labels: (T,) labels of the unchanged texts.
        not_repeated: flips that did not come back when asked again.
    """

    field: Field
    whole: Records
    without: Records | None
    texts: BoolArray
    confirmed: Confirmed | None
    confirmed_without: Confirmed | None
    labels: IntArray
    not_repeated: int = 0

    def strata(self) -> list[tuple[str | None, Records, Confirmed | None]]:
        """(name of the stratum, its records, its confirmation)."""
        found: list[tuple[str | None, Records, Confirmed | None]] = [(None, self.whole, self.confirmed)]
        if self.without is not None:
            found.append((APART, self.without, self.confirmed_without))
        return found


def add_findings(
    attacked: Sequence[Attacked],
    analysis: Analysis,
    *,
    tolerance: tuple[float, float],
    level: float,
    correction: Correction,
) -> None:
    """The judged claims first (one family), then what is only described."""
    described: list[Evidence] = []
    families: dict[str, list[tuple[Evidence, Excess, Excess | None]]] = {}
    for one in attacked:
        for given, records, confirmed in one.strata():
            family = "placebo test" if given is None else f"placebo test, {given}"
            families.setdefault(family, []).extend(_claims(one, records, confirmed, given, level))
        described += _described(one, level)
    for family, claims in families.items():
        analysis.findings += _judged(claims, family, tolerance, correction)
        _note_resolution(claims, level, correction, analysis)
    analysis.findings += judge(described, tolerance=None, family="described", correction="none")


def _judged(
    claims: Sequence[tuple[Evidence, Excess, Excess | None]],
    family: str,
    tolerance: tuple[float, float],
    correction: Correction,
) -> list[Finding]:
    excess_of = {_key(made): excess for made, excess, _ in claims}

    def say(item: Evidence, verdict: Verdict, bounds: tuple[float, float]) -> str:
        return _sentence(item, verdict, bounds, excess_of[_key(item)])

    made = [item for item, _, _ in claims]
    judged = judge(made, tolerance=tolerance, family=family, correction=correction, say=say)
    return [
        _confirmed(finding, excess, check) for finding, (_, excess, check) in zip(judged, claims, strict=True)
    ]


def _note_resolution(
    claims: Sequence[tuple[Evidence, Excess, Excess | None]],
    level: float,
    correction: Correction,
    analysis: Analysis,
) -> None:
    """A rank among K placebos cannot be smaller than 1/(K + 1); with several claims that may be too
    coarse."""
    counts = [len(excess.placebos) for _, excess, _ in claims if len(excess.placebos)]
    claimed = 1 if correction == "none" else len(claims)
    if counts and claimed / (min(counts) + 1) >= 1.0 - level:
        needed = int(claimed / (1.0 - level)) + 1
        analysis.note(
            "too-few-placebos",
            f"With {min(counts)} placebos and {claimed} claim{'s' * (claimed != 1)} no adjusted p can fall"
            f" below {1.0 - level:.2g}, so nothing can be"
            f" called a disparity. Ask for at least {needed} placebos.",
            warning=True,
        )


def _key(item: Evidence) -> tuple[str, str, str | None]:
    return item.estimate.measure, item.estimate.group, item.estimate.given


def _claims(
    one: Attacked, records: Records, confirmed: Confirmed | None, given: str | None, level: float
) -> list[tuple[Evidence, Excess, Excess | None]]:
    """(claim, its test, the same on unseen texts)."""
    tests: list[tuple[str, Callable[..., Excess]]] = [("mean flip rate", mean_of_sides)]
    names = [side.name for side in one.field.axis.sides]
    if len(names) > 1:
        if len(np.unique(one.labels[one.texts])) > 1:
            tests.insert(0, ("asymmetry within labels", partial(asymmetry, labels=one.labels)))
        tests.insert(0, ("asymmetry of flip rates", asymmetry))
    found = []
    for measure, test in tests:
        excess = test(records.won, records.open, one.texts, level=level)
        n = int(excess.inference.detail.get("texts", 0))
        estimate = Estimate(
            measure=measure,
            contrast=EXCESS,
            group=" / ".join(names),
            reference=f"{len(one.field.placebos.directions)} placebo directions",
            given=given,
            n=n,
            units={"text": n, "placebo": len(excess.placebos)} if n else {},
        )
        check = None
        if confirmed is not None:
            check = test(confirmed.won, confirmed.open, confirmed.unseen, level=level)
        found.append((evidence(estimate, excess.inference), excess, check))
    return found


def _sentence(item: Evidence, verdict: Verdict, bounds: tuple[float, float], excess: Excess) -> str:
    e = item.estimate
    if e.value is None or e.low is None or e.high is None:
        return f"No conclusion: {e.why_not}."
    better = int(np.sum(excess.placebos >= excess.observed - 1e-12))
    start = (
        f"{e.measure[:1].upper()}{e.measure[1:]} {100 * excess.observed:.1f} %; placebo directions reach"
        f" {100 * float(excess.placebos.mean()):.1f} % on average, and {better} of {len(excess.placebos)}"
        f" reach as much. The excess is {100 * e.value:+.1f} points ({100 * e.level:g} % interval"
        f" {100 * e.low:+.1f} to {100 * e.high:+.1f})"
    ).replace("-", "−")
    if verdict == "disparity":
        return (
            f"{start}: more than random directions do, and more than the tolerance of {100 * bounds[1]:g}"
            " points."
        )
    if verdict == "within tolerance":
        return (
            f"{start}: whatever the true excess is, it is below the tolerance of {100 * bounds[1]:g} points."
        )
    if e.value > bounds[1]:
        return (
            f"{start}: beyond the tolerance of {100 * bounds[1]:g} points, but with this many claims and"
            " placebos chance can reach as much."
        )
    return f"{start}: too uncertain to place below the tolerance of {100 * bounds[1]:g} points."


def _confirmed(finding: Finding, excess: Excess, check: Excess | None) -> Finding:
    """A disparity must show on the unseen texts too, in the same direction; else it is inconclusive."""
    if check is None or check.inference.value is None:
        if finding.verdict != "disparity":
            return finding
        why = (
            "not confirmed: no learned alteration applies to the unseen texts"
            if check is not None
            else "no texts were kept for confirmation"
        )
        if check is None:
            return replace(finding, rests_on=why)
        return replace(finding, verdict="inconclusive", because=f"{finding.because} But {why}.", rests_on=why)
    agrees = check.inference.value > 0 and float(check.signed @ excess.signed) >= 0
    told = (
        f"on {check.inference.detail['texts']} unseen texts the learned alterations give"
        f" {100 * check.observed:.1f} %, placebos"
        f" {100 * float(check.placebos.mean()):.1f} % (rank p = {check.p_value:.2g})"
    )
    if finding.verdict != "disparity" or agrees:
        return replace(finding, rests_on=told)
    return replace(
        finding,
        verdict="inconclusive",
        rests_on=told,
        because=f"{finding.because} But it is not confirmed: {told}.",
    )


# --- described


def _described(one: Attacked, level: float) -> list[Evidence]:
    found: list[Evidence] = []
    for given, records, _ in one.strata():
        for s, side in enumerate(one.field.axis.sides):
            found += _of_side(one, records, s, side.name, given, level)
        if len(one.field.axis.sides) > 1:
            found += _of_pair(one, records, given, level)
    return found


def _of_side(
    one: Attacked, records: Records, s: int, name: str, given: str | None, level: float
) -> list[Evidence]:
    open_ = records.open[0, s] & one.texts
    won = records.won[0, s] & open_

    def rate(stratum: str | None, n: int) -> Evidence:
        share = wilson(int(won.sum()), n, level=level)
        return _made("flip rate", "rate", name, "unchanged texts", stratum, share, n)

    def mean(measure: str, values: FloatArray | IntArray) -> Evidence:
        return _made(measure, "mean", name, "unchanged texts", given, _mean(values, level), len(values))

    single = records.single[0, s][open_]
    single = single[np.isfinite(single)]
    return [
        rate(given, int(open_.sum())),
        rate(_and(given, "all texts"), int(one.texts.sum())),
        mean("score moved", records.moved[0, s][open_]),
        mean("words changed in a flip", records.changed[0, s][won]),
        mean("queries for a text", records.queries[0, s][open_]),
        *([mean("score moved by single changes", single)] if len(single) else []),
    ]


def _of_pair(one: Attacked, records: Records, given: str | None, level: float) -> list[Evidence]:
    """Difference of the two directions: descriptive, since almost any pair of random words shows one too."""
    first, second = (side.name for side in one.field.axis.sides)
    over = records.open[0].any(axis=0) & one.texts
    a, b = records.won[0, 0] & over, records.won[0, 1] & over
    only_a, only_b = int(np.sum(a & ~b)), int(np.sum(b & ~a))
    n = int(over.sum())
    gap = (a.astype(float) - b.astype(float))[over]
    exact = mcnemar_exact(only_a, only_b, level=level)
    method = (
        "exact McNemar, descriptive only: it compares two word lists, and those of random word pairs"
        " differ too"
    )
    found = [
        _made("flip rate", "difference", first, second, given, paired(gap, level=level), n),
        _made(
            "discordant texts",
            "odds ratio",
            first,
            second,
            given,
            exact.with_(method=method),
            only_a + only_b,
        ),
    ]
    both = np.isfinite(records.single[0]).all(axis=0) & over
    if both.any():
        moved = (records.single[0, 0] - records.single[0, 1])[both]
        t = paired(moved, level=level)
        flip = sign_flip(moved, seed=0)
        rank = asymmetry(np.nan_to_num(records.single), np.isfinite(records.single), one.texts, level=level)
        method = (
            f"interval by paired t; p by {flip.method} ="
            f" {flip.p_value if flip.p_value is not None else float('nan'):.2g}, descriptive; p shown: rank"
            " among placebos"
        )
        found.append(
            _made(
                "score moved by single changes",
                "difference",
                first,
                second,
                given,
                t.with_(p_value=rank.p_value, method=method),
                int(both.sum()),
            )
        )
    return found


def _and(given: str | None, more: str) -> str:
    return more if given is None else f"{given}, {more}"


def _mean(values: FloatArray | Any, level: float) -> Inference:
    """A mean with its t interval; no test, since the value of nothing changed is not in question."""
    made = paired(np.asarray(values, dtype=np.float64), level=level)
    return made.with_(p_value=None, method="mean, t interval over texts")


def _made(
    measure: str, contrast: str, group: str, reference: str, given: str | None, inference: Inference, n: int
) -> Evidence:
    estimate = Estimate(
        measure=measure,
        contrast=contrast,
        group=group,
        reference=reference,
        given=given,
        n=n,
        units={"text": n} if n else {},
    )
    return evidence(estimate, inference)

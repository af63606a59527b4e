"""From the records of an attack to findings: rates and movements described, asymmetry and mean rate judged by
placebos."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from evenhand._analysis import PRIMARY, Analysis
from evenhand._declared import Declared
from evenhand._estimate import Evidence, evidence
from evenhand._judge import interval_said, judge
from evenhand._model import BoolArray, Estimate, Finding, FloatArray, IntArray
from evenhand.audits.attack.confirmation import Confirmed
from evenhand.audits.attack.field import Field
from evenhand.audits.attack.placebos import Excess, asymmetry, interval_at, mean_of_sides
from evenhand.audits.attack.records import Records
from evenhand.stats.interval import Inference
from evenhand.stats.paired import paired, sign_flip
from evenhand.stats.rates import mcnemar_exact, wilson

EXCESS = "excess over placebos"
APART = "without definitional words"
ASYMMETRY, WITHIN_LABELS, MEAN_RATE = CLAIMS = (
    "asymmetry of flip rates",
    "asymmetry within labels",
    "mean flip rate",
)
"""What is held against placebos, what a direction and its opposite show first."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Attacked:
    """One axis after the attack.

    Args:
        whole, without: records with all words, and without definitional ones.
        texts: (T,) texts that count: scored, open to the goal, all their searches ended.
        confirmed: the learned alterations on unseen texts, for each of the records; empty without a
            holdout.
        labels: (T,) labels of the unchanged texts. units: (T,) codes of whom each is of, None where every
            text is its own.
        not_repeated: flips that did not come back when asked again.
    """

    field: Field
    whole: Records
    without: Records | None
    texts: BoolArray
    confirmed: Sequence[Confirmed]
    labels: IntArray
    units: IntArray | None = None
    not_repeated: int = 0

    def strata(self) -> list[tuple[str | None, Records, Confirmed | None]]:
        """(name of the stratum, its records, its confirmation)."""
        found = [(None, self.whole)] if self.without is None else [(None, self.whole), (APART, self.without)]
        checks: Sequence[Confirmed | None] = self.confirmed or [None] * len(found)
        return [(*one, check) for one, check in zip(found, checks, strict=True)]


class _Claim(NamedTuple):
    """A claim, its test, the same test on unseen texts, and the share of texts that were flipped at all."""

    item: Evidence
    excess: Excess
    check: Excess | None
    flipped: float


def add_findings(attacked: Sequence[Attacked], declared: Declared, analysis: Analysis) -> None:
    """The judged claims first (one family), then what is only described."""
    families: dict[str, list[_Claim]] = {}
    for one in attacked:
        for given, records, confirmed in one.strata():
            family = "placebo test" if given is None else f"placebo test, {given}"
            # Of each direction the first makes the headline: the asymmetry, within labels where there are
            # several, or the flip rate, where it has no opposite.
            for place, claim in enumerate(_claims(one, records, confirmed, given, declared.level)):
                said = declared.heads(claim.item.estimate.measure)
                head = given is None and (place == 0 if said is None else said)
                families.setdefault(PRIMARY if head else family, []).append(claim)
    for family, claims in families.items():
        analysis.findings += _judged(claims, family, declared)
        _note_resolution(claims, declared, analysis)
    described = [item for one in attacked for item in _described(one, declared.level)]
    analysis.findings += judge(described, tolerance=None, family="described", correction="none")


def _judged(claims: Sequence[_Claim], family: str, declared: Declared) -> list[Finding]:
    of = {_key(claim.item): claim for claim in claims}
    judged = judge(
        [claim.item for claim in claims],
        tolerance=declared.tolerance[EXCESS],
        family=family,
        correction=declared.correction,
        primary=family == PRIMARY,
        say=lambda finding: _sentence(finding, of[_key(finding)]),
    )
    return [_confirmed(f, claim.excess, claim.check) for f, claim in zip(judged, claims, strict=True)]


def _note_resolution(claims: Sequence[_Claim], declared: Declared, analysis: Analysis) -> None:
    """A rank among K placebos cannot be smaller than 1/(K + 1); with several claims that may be too
    coarse."""
    alpha = 1.0 - declared.level
    counts = [len(claim.excess.placebos) for claim in claims if len(claim.excess.placebos)]
    claimed = 1 if declared.correction == "none" else len(claims)
    if counts and claimed / (min(counts) + 1) >= alpha:
        analysis.note(
            "too-few-placebos",
            f"With {min(counts)} placebos and {claimed} claim{'s' * (claimed != 1)} no adjusted p can fall"
            f" below {alpha:.2g}, so nothing can be called a disparity. Ask for at least"
            f" {int(claimed / alpha) + 1} placebos.",
            warning=True,
        )


def _key(item: Evidence | Finding) -> tuple[str, str, str | None]:
    return item.estimate.measure, item.estimate.group, item.estimate.given


def _claims(
    one: Attacked, records: Records, confirmed: Confirmed | None, given: str | None, level: float
) -> Iterator[_Claim]:
    names = [side.name for side in one.field.axis.sides]
    tests: dict[str, Callable[..., Excess]] = {MEAN_RATE: mean_of_sides}
    if len(names) > 1:
        apart = {WITHIN_LABELS: partial(asymmetry, labels=one.labels)}
        several = len(np.unique(one.labels[one.texts])) > 1
        # One side may push texts into a label and the other out of it: over all texts that cancels.
        tests = {**(apart if several else {}), ASYMMETRY: asymmetry, **tests}
    between = " / ".join(names), f"{len(one.field.placebos.directions)} placebo directions", given
    tried = records.open[0] & one.texts
    flipped = float(np.sum(records.won[0] & tried) / max(np.sum(tried), 1))
    for measure, test in tests.items():
        excess = test(records.won, records.open, one.texts, level=level, units=one.units)
        n = int(excess.inference.detail.get("texts", 0))
        units = {"text": n, "placebo": len(excess.placebos)}
        check = None
        if confirmed is not None:
            check = test(confirmed.won, confirmed.open, confirmed.unseen, level=level, units=one.units)
        found = excess.inference
        if found.low is not None:
            found = interval_at(found, level)
        yield _Claim(
            _made(measure, EXCESS, between, found, units, partial(interval_at, found)), excess, check, flipped
        )


def _sentence(finding: Finding, claim: _Claim) -> str:
    excess = claim.excess
    e, verdict, interval = finding.estimate, finding.verdict, interval_said(finding, scale=100, digits=1)
    if e.value is None or interval is None or finding.tolerance is None:
        return f"No conclusion: {e.why_not}."
    better = int(np.sum(excess.placebos >= excess.observed - 1e-12))
    start = (
        f"{e.measure[:1].upper()}{e.measure[1:]} {100 * excess.observed:.1f} %; placebo directions reach"
        f" {100 * float(excess.placebos.mean()):.1f} % on average, and {better} of {len(excess.placebos)}"
        f" reach as much. The excess is {100 * e.value:+.1f} points ({interval})"
    ).replace("-", "−")
    points = f"the tolerance of {100 * finding.tolerance[1]:g} points"
    if verdict == "disparity":
        return f"{start}: shown to be more than random directions do, by more than {points}."
    if verdict == "gap":
        less = "less" if e.value < 0 else "more"
        return f"{start}: {less} than random directions do; whether by more than {points} is not settled."
    if verdict == "within tolerance":
        toothless = ""
        if claim.flipped < finding.tolerance[1]:
            share = 100 * claim.flipped
            toothless = (
                f" That tolerance exceeds the whole flip rate, {share:.1f} %: this verdict says little."
            )
        return f"{start}: whatever the true excess is, it is below {points}.{toothless}"
    low, high = finding.simultaneous or (-1.0, 1.0)
    if claim.flipped == 0 and e.n:
        least = 1.0 - e.level  # of no flip in so many texts, at the highest rate that is not ruled out
        allowed = 100 * (1.0 - least ** (1.0 / e.n))
        return f"{start}. No flip in {e.n} texts still allows a rate of {allowed:.1f} %."
    if not low <= 0 <= high and e.p_adjusted is not None:
        coarse = f"the rank among {len(excess.placebos)} placebos gives an adjusted p of {e.p_adjusted:.2g}"
        return f"{start}, but {coarse}: whether it is more than chance is not settled."
    return f"{start}: the data can tell neither that it is more than chance nor that it is below {points}."


def _confirmed(finding: Finding, excess: Excess, check: Excess | None) -> Finding:
    """A disparity must show on the unseen texts too, in the same direction; else it is inconclusive."""
    disparity = finding.verdict == "disparity"
    if check is None:
        return replace(finding, rests_on="no texts were kept for confirmation") if disparity else finding
    found = check.inference
    if found.value is None:
        why = "not confirmed: no learned alteration applies to the unseen texts"
        return _unconfirmed(finding, f"But {why}.", why) if disparity else finding
    agrees = found.value > 0 and float(check.signed @ excess.signed) >= 0
    told = (
        f"on {found.detail['texts']} unseen texts the learned alterations give {100 * check.observed:.1f} %,"
        f" placebos {100 * float(check.placebos.mean()):.1f} % (rank p = {check.p_value:.2g})"
    )
    if not disparity or agrees:
        return replace(finding, rests_on=told)
    return _unconfirmed(finding, f"But it is not confirmed: {told}.", told)


def _unconfirmed(finding: Finding, but: str, rests_on: str) -> Finding:
    return replace(finding, verdict="inconclusive", because=f"{finding.because} {but}", rests_on=rests_on)


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
        return _made("flip rate", "rate", (name, "unchanged texts", stratum), share, {"text": n})

    def mean(measure: str, values: FloatArray | IntArray) -> Evidence:
        """With its t interval; no test, since the value of nothing changed is not in question."""
        made = paired(np.asarray(values, dtype=np.float64), level=level)
        made = made.with_(p_value=None, method="mean, t interval over texts")
        return _made(measure, "mean", (name, "unchanged texts", given), made, {"text": len(values)})

    single = records.single[0, s][open_]
    single = single[np.isfinite(single)]
    return [
        rate(given, int(open_.sum())),
        rate("all texts" if given is None else f"{given}, all texts", int(one.texts.sum())),
        mean("score moved", records.moved[0, s][open_]),
        mean("words changed in a flip", records.changed[0, s][won]),
        mean("queries for a text", records.queries[0, s][open_]),
        *([mean("score moved by single changes", single)] if len(single) else []),
    ]


def _of_pair(one: Attacked, records: Records, given: str | None, level: float) -> list[Evidence]:
    """Difference of the two directions: descriptive, since almost any pair of random words shows one too."""
    first, second = (side.name for side in one.field.axis.sides)
    between = first, second, given
    over = records.open[0].any(axis=0) & one.texts
    a, b = records.won[0, 0] & over, records.won[0, 1] & over
    only_a, only_b = int(np.sum(a & ~b)), int(np.sum(b & ~a))
    gap = paired((a.astype(float) - b.astype(float))[over], level=level)
    exact = mcnemar_exact(only_a, only_b, level=level).with_(
        method="exact McNemar, descriptive only: it compares two word lists, and those of random word pairs"
        " differ too"
    )
    found = [
        _made("flip rate", "difference", between, gap, {"text": int(over.sum())}),
        _made("discordant texts", "odds ratio", between, exact, {"text": only_a + only_b}),
    ]
    both = np.isfinite(records.single[0]).all(axis=0) & over
    if both.any():
        moved = (records.single[0, 0] - records.single[0, 1])[both]
        flip = sign_flip(moved, seed=0)
        rank = asymmetry(np.nan_to_num(records.single), np.isfinite(records.single), one.texts, level=level)
        made = paired(moved, level=level).with_(
            p_value=rank.p_value,
            method=f"interval by paired t; p by {flip.method} ="
            f" {flip.p_value if flip.p_value is not None else float('nan'):.2g}, descriptive; p shown: rank"
            " among placebos",
        )
        n = {"text": int(both.sum())}
        found.append(_made("score moved by single changes", "difference", between, made, n))
    return found


def _made(
    measure: str,
    contrast: str,
    between: tuple[str, str, str | None],
    inference: Inference,
    units: Mapping[str, int],
    at: Callable[[float], Inference] | None = None,
) -> Evidence:
    """An inference as evidence about (group, reference, stratum), over texts and what else is in `units`."""
    group, reference, given = between
    estimate = Estimate(
        measure=measure,
        contrast=contrast,
        group=group,
        reference=reference,
        given=given,
        n=units["text"],
        units=units if units["text"] else {},
    )
    return evidence(estimate, inference, at)

"""The leakage part of an amplification audit: how well attackers guess, with intervals over seeds and images
and a permutation null beside."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand._analysis import Analysis
from evenhand._errors import UsageError
from evenhand._estimate import Evidence
from evenhand._model import Exhibit, FloatArray, IntArray, Scalar
from evenhand.audits.amplification.findings import describe, difference
from evenhand.audits.amplification.leakage.attackers import FOLDS, Attackers
from evenhand.audits.amplification.leakage.corpora import FEWEST, LeakageDesign, attacks, baseline
from evenhand.audits.amplification.leakage.predictability import add_predictability
from evenhand.audits.amplification.leakage.uncertainty import over_images
from evenhand.audits.amplification.leakage.words import alike, by_words, features
from evenhand.audits.amplification.prepare import Matched, truth_of
from evenhand.measures.leakage import (
    balanced_accuracy,
    cross_fitted,
    influence,
    leaked,
    permuted,
    taught,
)
from evenhand.measures.predictability import mistaken, mistakes
from evenhand.stats.few_units import allowing_for
from evenhand.stats.interval import Inference

AS_ACCURATE = "leakage at equal accuracy"
BELOW = 2.6
"""Standard errors below chance beyond which an attacker is taken to be misled by balanced data."""
SCORES = (
    ("leakage", "leakage of the outputs (λ_M)", "leakage of the data (λ_D)", "accuracy", False),
    ("LIC", "LIC_M", "LIC_D", "confidence-weighted accuracy", True),
)
"""(outputs less people, of the outputs, of people, what is averaged, whether it is made of confidences)."""


def add_leakage(prepared: Matched, attackers: Attackers, level: float, analysis: Analysis) -> None:
    """Findings `leakage` (accuracy) and `LIC` (confidence): outputs minus people's captions, and both alone.

    Raises:
        UsageError: `extra-missing` where leakage was asked for and scikit-learn is not installed.
    """
    if attackers.wanted is False:
        return
    if importlib.util.find_spec("sklearn") is None:
        if attackers.wanted:
            raise UsageError(
                "extra-missing", "leakage needs scikit-learn", hint="pip install 'evenhand[sklearn]'"
            )
        analysis.note("no-leakage", "Leakage and LIC need scikit-learn: pip install 'evenhand[sklearn]'.")
        return
    truth, outputs = truth_of(prepared), prepared.outputs
    if truth is None or outputs is None:
        return
    people = baseline(prepared, truth, outputs)
    if people is None:
        lacking = "captions" if len(outputs.texts) else "items"
        analysis.note(
            "no-leakage",
            f"Leakage holds outputs against what people said of the same images, and the truth has no"
            f" {lacking}: give it with them, or training data of these images.",
        )
        return
    found = attacks(prepared, truth, outputs, people)
    if not (prepared.items.names or by_words(prepared, found[0])):
        analysis.note("no-leakage", "Leakage is guessed from items, and none has enough support.")
        return
    fewest = found[0].tested[0].fewest
    if fewest < FEWEST:
        needed = f"{FEWEST} images of each group whose annotation names exactly one"
        analysis.note("no-leakage", f"Leakage needs {needed}; there are {fewest}.")
        return
    rows: list[dict[str, Scalar]] = []
    for attacked in found:
        made = _attacked(prepared, attacked, attackers)
        analysis.findings += describe(_estimates(made, attacked, attackers, level), "leakage")
        rows += _rows(made, attacked, attackers)
    add_predictability(prepared, found[0], attackers, level, analysis)
    chance = 1.0 / len(prepared.groups)
    analysis.exhibits["leakage"] = Exhibit.of(
        "Leakage: guessing the group from masked outputs",
        rows,
        note=f"Class-balanced, so that chance is {chance:.3f} for the accuracy (leakage); LIC weighs right"
        " guesses by their confidence. Group words are masked, an image has one row a side, in the outputs'"
        " words. Outputs above people's own captions give the group away more than these do. The null deals"
        " the groups anew among the images and trains the attackers again: its mean, and its highest.",
    )


@dataclass(frozen=True, kw_only=True)
class _Scores:
    """What the attackers of one design scored.

    Args:
        right: (seeds, sides, 2 scores, n): outputs, people, and of labels people with the outputs' mistakes.
        null: (permutations, 2 sides, 2 scores), class-balanced.
        units: (n,) codes of what is sampled, called `unit`.
    """

    right: FloatArray
    null: FloatArray
    units: IntArray
    unit: str


def _attacked(prepared: Matched, attacked: LeakageDesign, attackers: Attackers) -> _Scores:
    images, n = attacked.tested[0].images, len(attacked.groups)
    own = None if prepared.units is None else prepared.units.of[images]
    right, null, units = [], [], None
    rng = np.random.default_rng(attackers.seed)
    dealt = np.random.default_rng([attackers.seed, 1]).integers(0, 2**31, attackers.permutations)
    for k in range(attackers.seeds):
        seen, learnt = features(prepared, attacked, rng)
        units = alike(seen, own)
        sides = (seen, learnt)
        if not by_words(prepared, attacked):
            sides = _with_mistakes(*sides, attacked, np.random.default_rng([attackers.seed, 2, k]))
        right.append(_guessed(*sides, attacked, attackers, units, k))
        share = dealt[k :: attackers.seeds]  # every seed's captions make a part of the null
        if len(share):
            null.append(_by_chance(seen, learnt, attacked, attackers, units, share))
    return _Scores(
        right=np.stack(right),
        null=np.concatenate(null) if null else np.empty((0, 2, 2)),
        units=np.arange(n) if own is None else own,
        unit=prepared.unit,
    )


def _with_mistakes(
    seen: Sequence[Any], learnt: Sequence[Any], attacked: LeakageDesign, rng: np.random.Generator
) -> tuple[Sequence[Any], Sequence[Any]]:
    """A third side beside outputs and people: people's labels with the outputs' mistakes, in any group.

    It is taught as the outputs are: by people's own labels where these teach both, else by labels of the
    training images with the mistakes of their outputs.
    """
    wrong = mistaken(seen[1], mistakes(seen[1], seen[0]), rng)
    if attacked.taught is None:
        return (*seen, wrong), ()
    if attacked.taught[0] is attacked.taught[1]:
        return (*seen, wrong), (*learnt, learnt[1])
    return (*seen, wrong), (*learnt, mistaken(learnt[1], mistakes(learnt[1], learnt[0]), rng))


def _guessed(
    seen: Sequence[Any],
    learnt: Sequence[Any],
    attacked: LeakageDesign,
    attackers: Attackers,
    units: IntArray | None,
    k: int,
) -> FloatArray:
    """(sides, 2 scores, n): right and confident guesses of the k-th attacker."""
    how, seed, groups = attackers.classifier, attackers.seed + k, attacked.groups
    if attacked.taught is None:
        made = [cross_fitted(m, groups, units=units, classifier=how, folds=FOLDS, seed=seed) for m in seen]
    else:
        groups_of = [side.groups for side in (*attacked.taught, attacked.taught[1])]
        pairs = zip(learnt, groups_of[: len(learnt)], seen, strict=True)
        made = [taught(m, true, s, classifier=how, seed=seed) for m, true, s in pairs]
    return np.stack([leaked(g, groups) for g in made])


def _by_chance(
    seen: Sequence[Any],
    learnt: Sequence[Any],
    attacked: LeakageDesign,
    attackers: Attackers,
    units: IntArray | None,
    seeds: IntArray,
) -> FloatArray:
    """(seeds, 2 sides, 2 scores) of attackers that learn from groups dealt anew, alike on both sides."""
    how, groups = attackers.classifier, attacked.groups

    def deal(true: IntArray, units: IntArray | None) -> IntArray:
        return np.stack([permuted(true, units, np.random.default_rng(int(s))) for s in seeds])

    if attacked.taught is None:
        dealt = deal(groups, units)
        made = [cross_fitted(m, dealt, units=units, classifier=how, folds=FOLDS) for m in seen]
    else:
        dealt = np.broadcast_to(groups, (len(seeds), len(groups)))
        pairs = zip(learnt, attacked.taught, seen, strict=True)
        made = [taught(m, deal(t.groups, None), s, classifier=how) for m, t, s in pairs]
    scored = [
        [balanced_accuracy(np.stack(leaked(g, true)), true) for g, true in zip(side, dealt, strict=True)]
        for side in made
    ]
    return np.stack([np.stack(side) for side in scored], axis=1)


def _below_chance(made: _Scores, attacked: LeakageDesign, level: float) -> str | None:
    """Why guesses cannot be compared: in data balanced on purpose what one fold has too much of the others
    lack, so that an attacker does worse than a coin."""
    groups = attacked.groups
    chance, low = 1.0 / len(np.unique(groups)), {}
    for side, name in enumerate(("outputs", attacked.people)):
        found = _over_images(made.right[:, side, 0], made, groups, level, "")
        if found.value is not None and found.value - chance < -BELOW * (found.se or 0.0):
            low[name] = found.value
    if not low:
        return None
    return (
        f"the attacker on {' and '.join(low)} is right in {min(low.values()):.3f} where chance is"
        f" {chance:.3f}: the data are balanced so that guesses across folds lean the wrong way, and a"
        " difference would say nothing"
    )


def _over_images(
    scores: FloatArray,
    made: _Scores,
    groups: IntArray,
    level: float,
    method: str,
    null: FloatArray | None = None,
) -> Inference:
    """Class-balanced mean of scores (seeds, n); see `over_images`."""
    moved = influence(scores.mean(axis=0), groups)
    return over_images(balanced_accuracy(scores, groups), moved, made.units, level, method, null)


def _estimates(made: _Scores, attacked: LeakageDesign, attackers: Attackers, level: float) -> list[Evidence]:
    groups, n, below = attacked.groups, len(attacked.groups), _below_chance(made, attacked, level)
    learnt = f", learnt from {attacked.called}" if attacked.taught else ""
    how = "learnt from other images" if attacked.taught else f"each image guessed by {FOLDS} folds' others"
    units = {made.unit: len(np.unique(made.units))}
    items = []
    for s, (name, of_outputs, of_people, what, confident) in enumerate(SCORES):
        method = f"{attackers.seeds} attackers, {how}; class-balanced {what}"
        gap = made.right[:, 0, s] - made.right[:, 1, s]
        drawn = made.null[:, 0, s] - made.null[:, 1, s]
        alone = f"; {drawn.mean():+.4f} with groups dealt anew" if len(drawn) else ""
        told = f"{method}; paired over images{alone}"
        both = _over_images(gap, made, groups, level, told, drawn if confident else None)
        both = allowing_for(both, units[made.unit], made.unit)
        if below is not None:
            both = Inference(value=both.value, level=level, why_not=below)
        items.append(difference(name + learnt, both, reference=attacked.people, n=n, units=units))
        for side, (short, whose) in enumerate(((of_outputs, "outputs"), (of_people, attacked.people))):
            null = made.null[:, side, s]
            own = _over_images(
                made.right[:, side, s], made, groups, level, method, null if confident else None
            )
            beaten = _p_value(float(own.value or 0.0), null)
            own = own.with_(p_value=beaten)
            items.append(_guesses(f"{short}{learnt}", own, whose, n, units))
    return items + _as_accurate(made, attacked, level, below, learnt, units)


def _guesses(name: str, own: Inference, whose: str, n: int, units: dict[str, int]) -> Evidence:
    """A share of right guesses, whose interval ends at 0 and 1."""
    if own.low is not None and own.high is not None:
        own = own.with_(low=max(own.low, 0.0), high=min(own.high, 1.0))
    item = difference(name, own, group=whose, reference="chance", n=n, units=units)
    return item.with_estimate(contrast="share guessed", statistic=None, df=None)


def _as_accurate(
    made: _Scores,
    attacked: LeakageDesign,
    level: float,
    below: str | None,
    learnt: str,
    units: dict[str, int],
) -> list[Evidence]:
    """λ_M − λ_D(a) and λ_D(a), of labels: what is left of the leakage once people's labels have as many
    mistakes as the outputs, dealt without regard to the group."""
    if made.right.shape[1] < 3:
        return []
    groups, n = attacked.groups, len(attacked.groups)
    method = f"people's labels with the outputs' mistakes, dealt anew for each of {len(made.right)} attackers"
    alone = _over_images(made.right[:, 2, 0], made, groups, level, f"{method}; class-balanced accuracy")
    alone = alone.with_(p_value=None)
    gap = made.right[:, 0, 0] - made.right[:, 2, 0]
    both = _over_images(gap, made, groups, level, f"{method}; paired over images")
    both = allowing_for(both, units[made.unit], made.unit)
    if below is not None:
        both = Inference(value=both.value, level=level, why_not=below)
    as_wrong = f"{attacked.people}, as often wrong"
    return [
        difference(f"{AS_ACCURATE}{learnt}", both, reference=as_wrong, n=n, units=units),
        _guesses(f"leakage of the data at the outputs' accuracy (λ_D(a)){learnt}", alone, as_wrong, n, units),
    ]


def _p_value(value: float, null: FloatArray) -> float | None:
    """One-sided: (1 + #{null ≥ value})/(K + 1); None without a null."""
    return float((1 + np.sum(null >= value - 1e-12)) / (len(null) + 1)) if len(null) else None


def _rows(made: _Scores, attacked: LeakageDesign, attackers: Attackers) -> list[dict[str, Scalar]]:
    rows = []
    for s, (name, *_) in enumerate(SCORES):
        by_seed, also = balanced_accuracy(made.right[:, :2, s], attacked.groups), []
        if made.right.shape[1] > 2:
            also = balanced_accuracy(made.right[:, 2, s], attacked.groups).tolist()
        null = made.null[:, :, s]
        for k, (o, h) in enumerate(by_seed.tolist()):
            row: dict[str, Scalar] = {
                "score": name,
                "learnt from": attacked.called or "other folds",
                "seed": attackers.seed + k,
                "outputs": o,
                attacked.people: h,
            }
            if s == 0 and len(also):
                row[f"{attacked.people}, as often wrong"] = also[k]
            for side, whose in enumerate(("outputs", "people")):
                drawn = null[:, side]
                row[f"null {whose}"] = float(drawn.mean()) if len(drawn) else None
                row[f"highest {whose}"] = float(drawn.max()) if len(drawn) else None
            rows.append(row)
    return rows

"""What a reader of an attack should know besides findings: texts left out, few placebos, failures, an early
stop."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenhand._analysis import Analysis
from evenhand.audits.attack.asking import Asking
from evenhand.audits.attack.axes import frequency_leaning
from evenhand.audits.attack.findings import Attacked
from evenhand.audits.attack.readable import Legible
from evenhand.plans.goal import Goal
from evenhand.texts import Texts

FEW_WORDS = 10_000
"""Words with vectors below which a note says how flips read with few words: between the two sets measured."""
LEANS = 0.2
"""Correlation of a direction with frequency from which it is told, where the placebos have less."""


def note_texts(given: Texts, goal: Goal, attacked: Sequence[Attacked], analysis: Analysis) -> None:
    for flag in given.flags:
        analysis.note("texts-flagged", flag)
    for slug, text in goal.notes:
        analysis.note(slug, text, warning=True)
    missing = [label for i, label in enumerate(goal.labels) if not np.any(goal.label == i)]
    if missing and goal.kind in ("untargeted", "targeted"):
        aimed = goal.kind == "targeted" and goal.labels[goal.target] in missing
        text = f"No unchanged text has the label {', '.join(missing)}" + (
            ": it is the target, and may be out of reach." if aimed else "; the subject may never give it."
        )
        analysis.note("label-never-given", text, warning=aimed)
    unscored = int(np.sum(~np.isfinite(goal.base).all(axis=1)))
    if unscored:
        text = f"{unscored} of {len(given)} texts have no score and are not attacked."
        analysis.note("failed-rows", text, warning=True)
    reached = int(np.sum(np.isfinite(goal.base).all(axis=1) & ~goal.attackable))
    if reached:
        text = f"{reached} texts have the target label as they are and are not attacked."
        analysis.note("target-reached", text)
    for one in attacked:
        name = one.field.axis.name
        bare = int(np.sum(one.texts & ~one.whole.open[0].any(axis=0)))
        if bare:
            analysis.note(
                "not-alterable",
                f"{name}: {bare} of {int(one.texts.sum())} texts have no word with a fluent alteration; they"
                " are counted, and rates are given over alterable texts and over all.",
            )
        if one.field.placebos.skipped:
            drawn = len(one.field.placebos.directions)
            text = (
                f"{name}: only {drawn} placebo directions could be matched in this vocabulary; the smallest"
                f" possible p is {1 / (drawn + 1):.3g}."
            )
            analysis.note("few-placebos", text, warning=True)
        lean = frequency_leaning(one.field.vectors, one.field.axis.sides[0])
        placed = [frequency_leaning(one.field.vectors, d) for d in one.field.placebos.directions]
        if placed and abs(lean) >= LEANS and abs(lean - float(np.mean(placed))) >= LEANS / 2:
            theirs = float(np.mean(placed))
            text = (
                f"The direction {name} goes with word frequency. A model that reacts to rare words may look"
                " as if it reacted to the direction (correlation with the rank in the file"
                f" {lean:.2f}, placebos {theirs:.2f} on average)."
            )
            analysis.note("direction-of-frequency", text, warning=True)
        if one.not_repeated:
            analysis.note(
                "flips-not-repeated",
                f"{name}: {one.not_repeated} flips (placebos included) did not come back when asked again and"
                " do not count.",
                warning=True,
            )


def note_reading(reading: Legible, words: int, analysis: Analysis) -> None:
    """What is known of how alterations read; `words` have a vector."""
    if words < FEW_WORDS:
        text = (
            f"Only {words:,} words have a vector. Alterations out of few words in short vectors seldom read"
            " well (of 48 flips 29 %, 17 to 44, with 2,446 words of 50 numbers; of 96 flips 91 %, 83 to 96,"
            " with 21,719 of 384): judge flips with evenhand annotation, or take larger vectors."
        )
        analysis.note("few-vectors", text)
    if reading.untold:
        text = (
            "Parts of speech and inflections are not known, so alterations may be ungrammatical: install"
            " evenhand[captions], or say --any-form."
        )
        analysis.note("no-forms", text, warning=True)


def note_asked(asking: Asking, analysis: Analysis) -> None:
    if asking.failed:
        reasons = "; ".join(f"{r} × {n}" for r, n in sorted(asking.reasons.items(), key=lambda x: -x[1])[:5])
        text = f"{asking.failed} of {asking.asked} inputs have no score: {reasons}."
        analysis.note("failed-rows", text, warning=True)
    if said := asking.reused.sentence():
        analysis.note("from-journal", said)
    if asking.stopped is not None:
        analysis.note(
            "incomplete",
            f"The audit stopped early: {asking.stopped}. Findings are over the texts whose searches had all"
            " ended.",
            warning=True,
        )

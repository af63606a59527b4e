"""Worlds of the audits of texts and recorded scores: units of several kinds, copies, missing replies, labelled texts."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from worlds import Rng, World, alike, crossed, scores

import evenhand as eh
from evenhand._result import Result


def labelled_texts(
    terms: tuple[int, ...], texts: int, *, share: float = 0.5, term_sd: float = 0.3, fixed: bool = False
) -> Callable[[Rng], Result]:
    """Labelled texts × names: positives score 1 higher; a share of them is positive (`fixed`: exactly so many)."""

    def audit(rng: Rng) -> Result:
        label = np.arange(texts) < round(share * texts) if fixed else rng.random(texts) < share
        rows = crossed(rng, terms, texts, term_sd=term_sd, text_sd=1.0, both_sd=0.0, noise_sd=0.5)
        each = np.repeat(label.astype(int), sum(terms))
        units = ("text", "term") if min(terms) > 1 else ("text",)
        return scores({**rows, "score": rows["score"] + each, "label": each}, units, labels="label")

    return audit


def truth_of(term_sd: float) -> Callable[[eh.Finding], float | None]:
    """Φ(1/√(2·variance)) for an AUC between two texts of other names; the difference of two is 0."""

    def truth(found: eh.Finding) -> float | None:
        if found.family != "identity AUC":
            return alike(found)
        if "AEG" in found.estimate.measure:
            return 0.0
        spread = 2 * (term_sd**2 + 1.0 + 0.5**2)
        return 0.5 * (1 + math.erf(1 / math.sqrt(spread) / math.sqrt(2)))

    return truth


WORLDS_OF_SCORES: tuple[World, ...] = (
    World(
        name="40 texts, 15 % positive, x 8 + 12 names",
        what="AUCs of labelled texts where few are positive.",
        audit=labelled_texts((8, 12), 40, share=0.15),
        truth=truth_of(0.3),
        runs=600,
    ),
    World(
        name="10 labelled texts x 20 + 20 names",
        what="AUCs of few labelled texts, five of them positive.",
        audit=labelled_texts((20, 20), 10, fixed=True),
        truth=truth_of(0.3),
        runs=600,
    ),
    World(
        name="5 labelled texts x 10 + 10 names",
        what="AUCs of two positive and three negative texts.",
        audit=labelled_texts((10, 10), 5, share=0.4, fixed=True),
        truth=truth_of(0.3),
        runs=600,
    ),
    World(
        name="40 labelled texts x 12 single words",
        what="AUCs where each group is one word without an effect of its own.",
        audit=labelled_texts((1,) * 12, 40, term_sd=0.0),
        truth=truth_of(0.0),
        runs=600,
    ),
)
"""More of the grid, in the order of the page."""

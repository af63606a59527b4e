"""Replies that never came: what the gaps could be with them, and whether one group lacks more of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evenhand._analysis import Analysis
from evenhand._compare import evidence_of, widest_of
from evenhand._judge import judge
from evenhand._model import Exhibit, FloatArray, Folded, Observations, Scalar
from evenhand.audits.scores.claims import compared_pairs, mean_claim, samples_of
from evenhand.audits.scores.gaps import range_of
from evenhand.audits.scores.sides import Question, Side, sides_of

SHARE = "(missing)"
"""The column with 1 where a row has no score; written so that no score has its name."""
MISSING_TOLERANCE = (-0.1, 0.1)
"""Of the difference between two groups' shares of missing replies."""


def add_missing(observations: Observations, asked: Question, analysis: Analysis) -> None:
    """Where rows have no score: each group's share of them, as claims of their own, and what they change."""
    score = observations.columns[asked.score]
    for attribute in asked.attributes if asked.counts_missing else ():
        sides = sides_of(observations, attribute)
        shares = [side.missing(score, observations.weight) for side in sides]
        if len(sides) < 2 or not any(shares):
            continue
        table = _with_share(observations, (~np.isfinite(score)).astype(float))
        own = replace(asked, score=SHARE, tolerance=MISSING_TOLERANCE, chances={})
        noted = Analysis()  # what is noted here was noted with the claims
        claim = mean_claim(table, own, sides, samples_of(table, own, sides, noted, attribute))
        claim = replace(claim, name=f"share of {asked.score} missing", rests_on=None)
        level = asked.declared.level
        every = compared_pairs(asked, attribute, sides)
        pairs = [(a, b) for a, b in every if any(side.missing(score, None) for side in (a, b))]
        items = [evidence_of(claim, a, b, level=level) for a, b in pairs]
        if attribute not in asked.declared.reference:
            items = [*widest_of(sides, claim, level=level), *items]
        analysis.findings += judge(
            items,
            tolerance=MISSING_TOLERANCE,
            family=f"{attribute}, missing replies",
            correction=asked.declared.correction,
        )
        analysis.show({f"missing replies by {attribute}": _bounds(observations, asked, attribute, sides)})


def _with_share(observations: Observations, lacks: FloatArray) -> Observations:
    """With a column that is 1 where a score is missing; rows that stand for several lack it all alike."""
    folded = dict(observations.folded)
    if folded:
        own = next(iter(folded.values()))
        alike = Folded(
            count=own.count,
            weight=own.weight,
            within=np.zeros(len(lacks)),
            low=lacks,
            high=lacks,
            tallies=[{x: n} for x, n in zip(lacks.tolist(), own.count.tolist(), strict=True)]
            if own.tallies
            else (),
        )
        folded[SHARE] = alike
    return replace(observations, columns={**observations.columns, SHARE: lacks}, folded=folded)


def _bounds(observations: Observations, asked: Question, attribute: str, sides: Sequence[Side]) -> Exhibit:
    """What each group's mean could be with the scores that are missing."""
    score, weight = observations.columns[asked.score], observations.weight
    low, high = range_of(observations, asked.score)
    rows: list[dict[str, Scalar]] = []
    for side in sides:
        share, mean = side.missing(score, weight), side.mean(score, weight)
        rows.append(
            {
                "group": side.label.level,
                "rows": side.n,
                "missing": side.n - side.within(np.isfinite(score)).n,
                "share": share,
                "mean of the others": mean,
                "lowest mean": low if mean is None else (1 - share) * mean + share * low,
                "highest mean": high if mean is None else (1 - share) * mean + share * high,
            }
        )
    note = (
        f"What the means could be, were every missing score as low as {low:g} or as high as {high:g} (Manski"
        " 1989). A gap is called within its tolerance only if it would be with these, too."
    )
    return Exhibit.of(f"Missing replies by {attribute}", rows, note=note)

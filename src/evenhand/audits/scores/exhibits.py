"""What a reader may want to see behind the claims: each group's scores, and every pair of groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from evenhand._analysis import Analysis
from evenhand._compare import every_pair
from evenhand._estimate import Evidence
from evenhand._judge import CORRECTIONS
from evenhand._labels import Label
from evenhand._model import BoolArray, Exhibit, FloatArray, Folded, Observations, Scalar
from evenhand.audits.scores.claims import samples_of
from evenhand.audits.scores.closer_look import (
    diagnostic_table,
    influential,
    other_analyses,
    placebo,
    worth_a_look,
)
from evenhand.audits.scores.gaps import gap_of
from evenhand.audits.scores.sides import Question, Side, scored, sides_of

BINS = 40
MOST_GROUPS = 12


def add_exhibits(
    observations: Observations,
    asked: Question,
    evidence: Mapping[str, Sequence[Evidence]],
    analysis: Analysis,
) -> None:
    """Every exhibit of an audit of scores, in the order of the report."""
    analysis.show({"scores by group": summary(observations, asked)})
    for attribute in evidence:
        sides = sides_of(observations, attribute)
        if 2 <= len(sides) <= MOST_GROUPS and not observations.folded:  # means have another distribution
            name = f"distribution of scores by {attribute}"
            analysis.show({name: distribution(observations, asked, sides, attribute)})
        if len(sides) > 2:
            analysis.show({f"pairwise gaps by {attribute}": heat_map(observations, asked, sides, attribute)})
    chosen = worth_a_look(evidence)
    analysis.show({f"influence of {u}s": influential(observations, asked, chosen, u) for u in asked.samples})
    analysis.show(
        {
            "other analyses": other_analyses(observations, asked, chosen),
            "placebo": placebo(observations, asked, chosen),
            "diagnostics": diagnostic_table(observations, asked, chosen),
        }
    )


def summary(observations: Observations, asked: Question) -> Exhibit:
    """Size, range and spread of every group, per class of base text; controls are a group of their own."""
    score = observations.columns[asked.score]
    strata: list[tuple[str | None, BoolArray]] = [(None, np.ones(len(score), dtype=np.bool_))]
    if asked.strata is not None:
        factor = observations.units[asked.strata]
        strata += [(str(Label.of(asked.strata, level)), factor.is_level(level)) for level in factor.levels]
    rows = [
        {
            "attribute": attribute,
            "group": side.label.level,
            "given": given,
            **_described(observations, asked.score, side.rows & within),
        }
        for attribute in asked.attributes
        for side in [*sides_of(observations, attribute), *_control(observations, attribute)]
        for given, within in strata
        if (side.rows & within).any()
    ]
    return Exhibit.of(
        "Scores by group",
        rows,
        note="Raw scores; a difference here is no evidence by itself. Controls are the base texts without the"
        " term.",
    )


def _described(observations: Observations, score: str, rows: BoolArray) -> dict[str, Scalar]:
    scores = observations.columns[score][rows]
    if score in observations.folded:
        return _of_folded(scores, observations.folded[score][rows])
    values = scores[np.isfinite(scores)]
    some, several = len(values) > 0, len(values) > 1
    return {
        "n": len(values),
        "failed": len(scores) - len(values),
        "min": float(values.min()) if some else None,
        "mean": float(values.mean()) if some else None,
        "max": float(values.max()) if some else None,
        "sd": float(values.std(ddof=1)) if several else None,
    }


def _of_folded(means: FloatArray, folded: Folded) -> dict[str, Scalar]:
    """The same of rows that stand for several."""
    own, x = folded[np.isfinite(means)], means[np.isfinite(means)]
    n = int(own.count.sum())
    mean = float(np.average(x, weights=own.count)) if n else None
    square = 0.0 if mean is None else float(np.sum(own.within + own.count * (x - mean) ** 2))
    return {
        "n": n,
        "failed": int(folded.count.sum()) - n,
        "min": float(own.low.min()) if n else None,
        "mean": mean,
        "max": float(own.high.max()) if n else None,
        "sd": (square / (n - 1)) ** 0.5 if n > 1 else None,
    }


def _control(observations: Observations, attribute: str) -> list[Side]:
    """The texts without a term, where they were asked; of this attribute's texts where it has its own."""
    role = observations.units.get("role")
    if role is None or "control" not in role.levels:
        return []
    rows = role.is_level("control")
    if attribute in observations.units.get("category", role).levels:
        rows = rows & observations.units["category"].is_level(attribute)
    return [Side(label=Label.named("control"), rows=rows, asked=rows)] if rows.any() else []


def distribution(
    observations: Observations, asked: Question, sides: Sequence[Side], attribute: str
) -> Exhibit:
    """Shares of each group's scores in common bins."""
    score = observations.columns[asked.score]
    usable = scored(observations, asked)
    low, high = (float(score[usable].min()), float(score[usable].max())) if usable.any() else (0.0, 1.0)
    edges = np.linspace(low, high if high > low else low + 1.0, BINS + 1)
    rows = []
    for side in sides:
        values = score[side.rows & usable]
        shares = np.histogram(values, edges)[0] / max(len(values), 1)
        rows += [
            {"group": side.label.level, "low": left, "high": right, "share": share}
            for left, right, share in zip(
                edges[:-1].tolist(), edges[1:].tolist(), shares.tolist(), strict=True
            )
        ]
    return Exhibit.of(
        f"Distribution of scores by {attribute}",
        rows,
        note=f"Share of each group's scores in {BINS} equal bins of {asked.score}.",
        chart="density",
        encode={"low": "low", "high": "high", "y": "share", "color": "group", "x_title": asked.score},
    )


def heat_map(observations: Observations, asked: Question, sides: Sequence[Side], attribute: str) -> Exhibit:
    """Every pair of groups: mean of the row minus mean of the column, and whether it is beyond tolerance."""
    noted = Analysis()  # what is noted here was noted with the claims
    over = samples_of(observations, asked, sides, noted, attribute)
    usable = [side.within(scored(observations, asked)) for side in sides]
    level = asked.declared.level
    found = [(a, b, gap_of(observations, asked, over, a, b, None).at(level)) for a, b in every_pair(usable)]
    adjusted = CORRECTIONS[asked.declared.correction]([inference.p_value for _, _, inference in found])
    rows: list[dict[str, Scalar]] = []
    for (a, b, inference), p_adjusted in zip(found, adjusted, strict=True):
        for first, second, sign in ((a, b, 1.0), (b, a, -1.0)):
            value = None if inference.value is None else sign * inference.value
            ends = sorted(sign * end for end in (inference.low, inference.high) if end is not None)
            low, high = ends if len(ends) == 2 else (None, None)
            bounds = asked.tolerance
            outside = None if value is None or bounds is None else not bounds[0] < value < bounds[1]
            rows.append(
                {
                    "group": first.label.level,
                    "reference": second.label.level,
                    "gap": value,
                    "low": low,
                    "high": high,
                    "p_value": inference.p_value,
                    "p_adjusted": p_adjusted,
                    "beyond tolerance": outside,
                }
            )
    return Exhibit.of(
        f"Pairwise gaps by {attribute}",
        rows,
        note="Mean of the row's group minus mean of the column's group; p_adjusted is corrected for all pairs"
        " shown.",
        chart="heatmap",
        encode={"x": "reference", "y": "group", "value": "gap"},
    )

"""What a reader may want to see behind the claims: each group's scores, and every pair of groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from evenhand._analysis import Analysis
from evenhand._compare import every_pair
from evenhand._estimate import Evidence
from evenhand._judge import CORRECTIONS
from evenhand._labels import Label
from evenhand._model import BoolArray, Exhibit, Observations, Scalar
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
from evenhand.stats.blocks import WHOLE, blocks
from evenhand.stats.two_samples import described

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
    scores, folded = observations.columns[score], observations.folded.get(score)
    if folded is not None or len(scores) > WHOLE:
        of = described(scores, rows, folded)
        return {
            "n": of.n,
            "failed": of.lost,
            "min": of.low if of.n else None,
            "mean": of.mean if of.n else None,
            "max": of.high if of.n else None,
            "sd": (of.squares / (of.n - 1)) ** 0.5 if of.n > 1 else None,
        }
    values = scores[rows & np.isfinite(scores)]
    some, several = len(values) > 0, len(values) > 1
    return {
        "n": len(values),
        "failed": int(np.count_nonzero(rows)) - len(values),
        "min": float(values.min()) if some else None,
        "mean": float(values.mean()) if some else None,
        "max": float(values.max()) if some else None,
        "sd": float(values.std(ddof=1)) if several else None,
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
    low, high = observations.span(asked.score) or (0.0, 1.0)
    edges = np.linspace(low, high if high > low else low + 1.0, BINS + 1)
    rows = []
    for side in sides:
        counts = np.zeros(BINS, dtype=np.int64)
        for at in blocks(len(score)):
            counts += np.histogram(score[at][side.rows[at] & usable[at]], edges)[0]
        shares = counts / max(int(counts.sum()), 1)
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

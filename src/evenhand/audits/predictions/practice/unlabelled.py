"""Rows whose group is not known: what they can make of the primary claims, as a table and a note."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evenhand._analysis import Analysis
from evenhand._compare import Claim, either_way_rows
from evenhand._declared import Declared
from evenhand._labels import Attribute
from evenhand._model import Exhibit, FloatArray, Scalar
from evenhand.audits.predictions.cells import Cell
from evenhand.audits.predictions.claims import C, problem_of
from evenhand.measures.row import Measure, null_of
from evenhand.stats.group_chances import Chanced
from evenhand.stats.missing_groups import Bounded, Unlabelled

COLUMNS = (
    "measure",
    "group",
    "reference",
    "value",
    "low",
    "high",
    "by shares",
    "by shares of the same prediction",
    "lowest",
    "highest",
    "lowest low",
    "highest high",
    "rows to no difference",
    "rows across the tolerance",
    "rows without group",
)


def add_unlabelled(
    analysis: Analysis,
    pairs: Sequence[tuple[C, C]],
    claims: Sequence[tuple[Measure, Claim[C]]],
    attribute: Attribute,
    declared: Declared,
) -> None:
    """Worst case, proportional shares and tipping points of the primary claims, where a group is missing.

    Args:
        pairs: every group and the reference. claims: rows of measures and their claims.
    """
    rest = next((a.unlabelled for a, _ in pairs if a.unlabelled is not None), None)
    if rest is None or not rest.n:
        return
    if isinstance(rest, Chanced):
        _either_way(analysis, pairs, claims, attribute, declared.level)
        return
    rows = [
        _row(measure, claim, pair, problem, _shares(pairs, pair, rest), declared.level)
        for measure, claim in claims
        for pair in pairs
        for problem in (problem_of(measure, *pair),)
        if problem is not None and claim.primary and claim.given is None
    ]
    n = rest.n + sum(c.n for c in _every(pairs))
    text = f"{rest.n:,} of {n:,} rows have no {attribute}: intervals and verdicts allow for every group that"
    if rest.terms is None:
        text = (
            f"{rest.n:,} of {n:,} rows have no {attribute}, too many to look at the worst case: nothing that"
        )
        text += " they could change is judged."
    else:
        text += " they may belong to. The table of missing groups says what the rows with a group say alone."
    analysis.note("groups-missing", text, warning=True)
    if rows:
        analysis.exhibits[f"missing groups of {attribute}"] = Exhibit.of(
            f"What rows without {attribute} could change",
            rows,
            columns=COLUMNS,
            note="value, low, high: of the rows whose group is known. By shares: the others split by the"
            " groups' shares of everyone, or of those with the same prediction. Lowest, highest: the estimate"
            " at the worst assignment (Manski 1990), and its interval there (Horowitz & Manski 2000). Rows to"
            " no difference, and across the nearer end of the tolerance: the fewest that bring the estimate"
            " there; empty where all of them do not.",
        )


def _either_way(
    analysis: Analysis,
    pairs: Sequence[tuple[C, C]],
    claims: Sequence[tuple[Measure, Claim[C]]],
    attribute: Attribute,
    level: float,
) -> None:
    """Every claim with chances of groups as weights, and corrected for misclassification."""
    rows = [row for _, claim in claims for row in either_way_rows(claim, pairs, level, "as weights")]
    if rows:
        analysis.exhibits[f"chances of {attribute}"] = Exhibit.of(
            f"{attribute} known by chances: the claims either way",
            rows,
            note="As weights: each person counts for a group by the chance of it (Chen et al. 2019)."
            " Corrected: the regression on all chances, which undoes misclassification that has nothing to do"
            " with what happens to people. Verdicts are those that hold with both intervals (Elzayn et al."
            " 2023 on when the truth lies between the two).",
        )


def _every(pairs: Sequence[tuple[C, C]]) -> list[C]:
    return [pairs[0][1], *(a for a, _ in pairs)]


def _shares(
    pairs: Sequence[tuple[Cell, Cell]], pair: tuple[Cell, Cell], rest: Unlabelled
) -> list[tuple[FloatArray, FloatArray]]:
    """For each unlabelled row the chance of either side: by the shares of everyone, and of those with the
    same label."""
    cells = [pairs[0][1], *(a for a, _ in pairs)]
    total = sum(c.moments.weight for c in cells)
    found = [tuple(np.full(rest.n, c.moments.weight / total) for c in pair)]
    if rest.terms is not None and "sel" in rest.names:
        hit = rest.terms[rest.names.index("sel")] > 0
        chosen = [
            c.moments.weight * np.array([1 - c.moments.means["sel"], c.moments.means["sel"]]) for c in cells
        ]
        every = np.maximum(np.sum(chosen, axis=0), 1e-300)
        own = [chosen[next(i for i, c in enumerate(cells) if c is side)] / every for side in pair]
        found.append(tuple(share[hit.astype(int)] for share in own))
    return [(a, b) for a, b in found]


def _row(
    measure: Measure,
    claim: Claim[C],
    pair: tuple[C, C],
    problem: Bounded,
    shares: Sequence[tuple[FloatArray, FloatArray]],
    level: float,
) -> dict[str, Scalar]:
    alone = claim.infer(*pair, level)
    row: dict[str, Scalar] = {
        "measure": measure.name,
        "group": str(pair[0].label),
        "reference": str(pair[1].label),
    }
    row |= {"value": alone.value, "low": alone.low, "high": alone.high, "rows without group": problem.rest.n}
    for name, share in zip(("by shares", "by shares of the same prediction"), shares, strict=False):
        row[name] = _finite(problem.shared(share))
    spread = None if claim.spread is None else claim.spread(*pair)
    if spread is not None and spread.low is not None and spread.high is not None:
        lowest, highest = claim.infer(*spread.low, level), claim.infer(*spread.high, level)
        row |= {
            "lowest": lowest.value,
            "lowest low": lowest.low,
            "highest": highest.value,
            "highest high": highest.high,
        }
    if alone.value is None or claim.tolerance is None:
        return row
    null, (low, high) = null_of(measure.contrast), claim.tolerance
    row["rows to no difference"] = problem.tips(null, up=alone.value < null)
    row["rows across the tolerance"] = _across(problem, alone.value, low, high)
    return row


def _across(problem: Bounded, value: float, low: float, high: float) -> int | None:
    """The fewest rows that bring the contrast over an end of the tolerance, from inside or outside."""
    if value < low or value > high:
        return problem.tips(low if value < low else high, up=value < low)
    found = [problem.tips(low, up=False), problem.tips(high, up=True)]
    return min((rows for rows in found if rows is not None), default=None)


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None

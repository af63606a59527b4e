"""What a reader of scores should know of the rows themselves: copies, gaps, scores that never change."""

from __future__ import annotations

import numpy as np

from evenhand._analysis import Analysis
from evenhand._model import Observations
from evenhand.audits.scores.rows import ScoreColumns


def note_rows(
    observations: Observations, roles: ScoreColumns, analysis: Analysis, *, folded: bool = False
) -> None:
    """Everything that recorded rows bring up; of rows that were folded none repeats another."""
    if not folded and (twice := _repeated_rows(observations, roles)):
        analysis.note(
            "duplicate-rows",
            f"{twice} rows repeat another row in every column used. Rows of one unit are one piece of"
            " evidence, so that copies narrow no interval; they do count twice in the means.",
        )
    if failed := unscored(observations, roles.scores[0]):
        analysis.note(
            "failed-rows",
            f"{failed} of {observations.rows()} rows have no score; they are counted and left out.",
            warning=True,
        )
    if not observations.units.keys() - {roles.strata}:
        analysis.note(
            "no-units",
            "No units were named, so every row counts as an independent case. Where texts or names repeat,"
            " name them with units= (--unit): otherwise the intervals are too narrow.",
            warning=True,
        )
    for name in roles.scores:
        note_constant(observations, name, analysis)


def note_constant(observations: Observations, score: str, analysis: Analysis) -> None:
    """A subject that has one answer to everything."""
    low, high = observations.span(score) or (0.0, 1.0)
    if low == high and observations.rows(np.isfinite(observations.columns[score])) > 1:
        analysis.note(
            "constant-subject",
            f"Every {score} is {low:g}: a subject that answers the same to everything shows nothing"
            " about groups.",
            warning=True,
        )


def unscored(observations: Observations, score: str) -> int:
    """Rows without a score."""
    return observations.rows(~np.isfinite(observations.columns[score]))


def _repeated_rows(observations: Observations, roles: ScoreColumns) -> int:
    """Rows that repeat another in every column used; 0 where there are no units to tell rows apart."""
    if not observations.units:
        return 0
    factors = (*observations.units.values(), *observations.groups.values())
    scores = [np.nan_to_num(observations.columns[name], nan=np.inf) for name in roles.scores]
    stacked = np.column_stack([*(factor.codes for factor in factors), *scores])
    return len(stacked) - len(np.unique(stacked, axis=0))

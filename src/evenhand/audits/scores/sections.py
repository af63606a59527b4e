"""The sections of every audit of scores, live or recorded: claims, measures, AUCs of labels, exhibits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evenhand._analysis import Analysis
from evenhand._estimate import Evidence
from evenhand._model import Observations
from evenhand.audits.scores.claims import check_question, compare_groups
from evenhand.audits.scores.exhibits import add_exhibits
from evenhand.audits.scores.measures import add_labels, add_measures
from evenhand.audits.scores.missing import add_missing
from evenhand.audits.scores.sides import LABEL, Question


def add_sections(
    observations: Observations,
    asked: Question,
    analysis: Analysis,
    *,
    part: str | None = None,
) -> Mapping[str, Sequence[Evidence]]:
    """Answer one question, section by section.

    Args:
        part: the level of the unit `category` that the question is about, in a design of several parts.

    Returns:
        attribute → evidence of its overall pairs.

    Raises:
        UsageError: the question names what the observations do not have.
    """
    check_question(observations, asked)
    evidence = compare_groups(observations, asked, analysis)
    add_missing(observations, asked, analysis)
    add_measures(observations, asked, analysis, part=part)
    if LABEL in observations.columns:
        add_labels(observations, asked, analysis)
    add_exhibits(observations, asked, evidence, analysis)
    return evidence

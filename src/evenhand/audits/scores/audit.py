"""The audit of recorded replies: scores that a service gave earlier, judged like those asked live."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evenhand._analysis import Analysis
from evenhand._declared import Declared, named_primary
from evenhand._errors import UsageError
from evenhand._judge import Correction, tolerance_of
from evenhand._labels import references
from evenhand._model import FloatArray, Span
from evenhand._provenance import digest_of, provenance, tells_its_call
from evenhand._result import Result
from evenhand.audits.scores.notes import note_rows, unscored
from evenhand.audits.scores.rows import ScoreColumns, nested_unit, observations_of, table_of
from evenhand.audits.scores.sections import add_sections
from evenhand.audits.scores.sides import Question

MOST_UNITS = 2
"""Kinds of units (texts, names) that claims generalise over."""
SHARE_TOLERANCE = 0.1
"""Of scores in [−1, 1], where nobody says another."""


@tells_its_call("data", "probes")
def audit_scores(
    data: Any,
    *,
    scores: str | Sequence[str],
    groups: str | Sequence[str],
    units: str | Sequence[str] = (),
    labels: str | None = None,
    strata: str | None = None,
    reference: str | Mapping[str, str] | None = None,
    tolerance: float | tuple[float, float] | None = None,
    primary: str | Sequence[str] = (),
    weight: str | None = None,
    probes: str | os.PathLike[str] | None = None,
    threshold: float | None = None,
    level: float = 0.95,
    correction: Correction = "single-step",
    seed: int = 0,
) -> Result:
    """Audit scores that were recorded elsewhere: one row a scored text.

    Args:
        data: a file: CSV, TSV, JSON lines, Parquet, Arrow, or Amazon Comprehend's output (`output.tar.gz`,
            its JSON lines or flattened CSV). In Python also a dataframe, or a mapping of columns.
        scores: columns with scores; the first carries the claims, each gets its own.
        groups: columns with the groups; each is a family of claims.
        units: what the rows were sampled from, at most two: the text or template, and the term or name.
            Estimates generalise over them. Without units every row counts as independent, and a note says so.
        labels: column with true labels (0/1), for AUCs within and across subgroups. Borkan et al. 2019.
        strata: column that classes the texts, e.g. by sentiment.
        reference: the group that the others are held against; all pairs by default.
        tolerance: largest difference of means that counts as even-handed, declared beforehand. By default
            0.1 for scores in [−1, 1]; scores on another scale need one.
        primary: names of the claims that make the headline; by default a rule of the audit chooses them.
            Here they are names of scores.
        weight: column with case weights.
        probes: probes file that Comprehend's lines are joined to.
        threshold: score from which a reply counts as positive, for measures of label changes.
        level: confidence level of the intervals.
        correction: adjustment of p-values: single-step, holm, bh or none. Verdicts follow the intervals.
        seed: seed of everything random.

    Raises:
        DataError: a file that cannot be read, a missing column, text instead of numbers.
        UsageError: no groups, unknown or more than two units, scores beyond [−1, 1] without a tolerance.

    >>> rows = {"score": [0.1, 0.2, 0.3, 0.1, 0.2, 0.3], "sex": list("FFFMMM"), "text": list("abcabc")}
    >>> audit_scores(rows, scores="score", groups="sex", units="text").findings[0].estimate.value
    0.0
    """
    table = table_of(data, probes)
    roles = ScoreColumns(
        scores=_names(scores),
        groups=_names(groups),
        units=_names(units),
        strata=strata,
        labels=labels,
        weight=weight,
    )
    if len(roles.units) > MOST_UNITS:
        raise UsageError(
            "too-many-units",
            f"claims generalise over at most {MOST_UNITS} kinds of units",
            given=", ".join(roles.units),
            expected="the text or template, and the term or name",
        )
    observations = observations_of(table, roles)
    declared = Declared(
        reference=references(reference, roles.groups),
        primary=named_primary(primary),
        level=level,
        correction=correction,
        seed=seed,
    )
    declared.check_primary(roles.scores)
    analysis = Analysis()
    for name in roles.scores:
        question = Question(
            score=name,
            attributes=roles.groups,
            samples=roles.units,
            nested=nested_unit(observations, roles),
            strata=strata,
            tolerance=_tolerance(tolerance, name, observations.columns[name]),
            declared=declared,
        )
        add_sections(observations, question, analysis, threshold=threshold)
    note_rows(observations, roles, analysis)
    who = Path(data).name if isinstance(data, str | os.PathLike) else "recorded replies"
    return analysis.result(
        correction=correction,
        audit="scores",
        title=f"{', '.join(roles.scores)} of {who} by {', '.join(roles.groups)}",
        counts={"rows": len(observations), "failed": unscored(observations, roles.scores[0])},
        provenance=provenance(
            audit_scores,
            {"scores": roles.scores, "groups": roles.groups, "units": roles.units},
            data={"table": digest_of(data, table)},
        ),
    )


def _tolerance(given: float | tuple[float, float] | None, score: str, values: FloatArray) -> Span:
    """As declared; a default only where the scale of the scores is that of a share or of −1 to 1."""
    if given is not None:
        return tolerance_of(given)
    known = values[np.isfinite(values)]
    if len(known) and np.abs(known).max() > 1.0:
        raise UsageError(
            "bad-tolerance",
            f"{score} is on a scale of its own ({known.min():g} to {known.max():g}), so no default tells how"
            " large a gap counts as even-handed",
            expected="a tolerance in units of the score, declared before looking",
        )
    return tolerance_of(SHARE_TOLERANCE)


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)

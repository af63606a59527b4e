"""The audit of recorded replies: scores that a service gave earlier, judged like those asked live."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand._analysis import Analysis
from evenhand._declared import Declared
from evenhand._judge import Correction
from evenhand._labels import attributes_of
from evenhand._provenance import provenance, tells_its_call
from evenhand._result import Result
from evenhand.audits.scores.measures import checked_classes
from evenhand.audits.scores.notes import note_rows, unscored
from evenhand.audits.scores.rows import ScoreColumns, recorded, sampled
from evenhand.audits.scores.scale import tolerance_for
from evenhand.audits.scores.sections import add_sections
from evenhand.audits.scores.sides import Question
from evenhand.stats.interval import Alternative


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
    alternative: Alternative = "two-sided",
    primary: str | Sequence[str] = (),
    weight: str | None = None,
    probes: str | os.PathLike[str] | None = None,
    threshold: float | None = None,
    classes: Sequence[str] = (),
    level: float = 0.95,
    correction: Correction = "single-step",
    seed: int = 0,
    engine: str | None = None,
) -> Result:
    """Audit scores that were recorded elsewhere: one row a scored text.

    Args:
        data: a file: CSV, TSV, JSON lines, Parquet, Arrow, or Amazon Comprehend's output (`output.tar.gz`,
            its JSON lines or flattened CSV). Also a folder of files, or a pattern ("parts/*.parquet"). In
            Python also a dataframe, or a mapping of columns.
        scores: columns with scores; the first carries the claims, each gets its own.
        groups: columns with the groups; each is a family of claims. ``race*gender`` also compares their
            intersections: each pair that differs in one of the two.
        units: what the rows were sampled from: the text or template, the term or name, a rater.
            Estimates generalise over them; of nested units ("family/text") over the widest, and copies of a
            unit are one. Without units every row counts as independent, and a note says so.
        labels: column with true labels (0/1), for AUCs within and across subgroups. Borkan et al. 2019.
        strata: column that classes the texts, e.g. by sentiment.
        reference: the group that the others are held against; all pairs by default.
        tolerance: largest difference of means that counts as even-handed, declared beforehand. By default
            0.1 for scores in [−1, 1]; scores on another scale need one.
        alternative: which direction of mean gaps is looked for, declared beforehand: two-sided, or whether
            others are greater, or less, than their reference. Other measures stay two-sided.
        primary: names of the claims that make the headline; by default a rule of the audit chooses them.
            Here they are names of scores.
        weight: column with case weights.
        probes: probes file that Comprehend's lines are joined to.
        threshold: score from which a reply counts as positive, for measures of label changes.
        classes: scores that are the chances of all classes, for measures of label changes. A reply's label is
            the most likely class.
        level: confidence level of the intervals.
        correction: adjustment of p-values: single-step, holm, bh or none. Verdicts follow the intervals.
        seed: seed of everything random.
        engine: where the rows are summarised: local, daft, ray or ray://host:port. Rows become sums for each
            combination of groups and units, and every engine gives the same result; by default only what is
            too large for memory does, in this process. Frames of Daft's or Spark's need none, lazy
            ones (DuckDB, polars) are read a part at a time by local. See docs/explanation/scale.md.

    Raises:
        DataError: a file that cannot be read, a missing column, text instead of numbers.
        UsageError: no groups, unknown units or nested the other way round, scores beyond [−1, 1] without a
            tolerance, an engine that is not installed or does not answer. EngineError: workers of an engine
            were lost again and again.

    >>> rows = {"score": [0.1, 0.2, 0.3, 0.1, 0.2, 0.3], "sex": list("FFFMMM"), "text": list("abcabc")}
    >>> audit_scores(rows, scores="score", groups="sex", units="text").findings[0].estimate.value
    0.0
    """
    call = locals()
    given, analysis = recorded(data, probes, engine, labels=labels is not None), Analysis()
    roles = ScoreColumns(
        scores=_names(scores),
        groups=attributes_of(_names(groups), given.columns),
        units=_names(units),
        strata=strata,
        labels=labels,
        weight=weight,
        classes=checked_classes(classes),
    )
    observations = given.observations(roles, analysis)
    declared = Declared.of(call, tuple(roles.groups))
    declared.check_primary(roles.scores)
    observations, samples, nested = sampled(observations, roles, analysis)
    for name in roles.scores:
        question = Question(
            score=name,
            attributes=tuple(roles.groups),
            samples=samples,
            nested=nested,
            strata=strata,
            tolerance=tolerance_for(tolerance, name, observations, analysis),
            declared=declared,
            threshold=threshold,
            classes=roles.classes if name == roles.scores[0] else (),
        )
        with analysis.about(name, first=name == roles.scores[0]):
            add_sections(observations, question, analysis)
    single = bool(observations.folded) or (given.large is not None and weight is None)
    note_rows(observations, roles, analysis, folded=single)
    who = Path(data).name if isinstance(data, str | os.PathLike) else "recorded replies"
    return analysis.result(
        correction=correction,
        audit="scores",
        title=f"{', '.join(roles.scores)} of {who} by {', '.join(roles.groups)}",
        counts={"rows": observations.rows(), "failed": unscored(observations, roles.scores[0])},
        provenance=provenance(
            audit_scores,
            {"scores": roles.scores, "groups": _names(groups), "units": roles.units},
            data={"table": given.digest(data)},
        ),
    )


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)

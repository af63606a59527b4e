"""The audit of recorded replies: scores that a service gave earlier, judged like those asked live."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._analysis import Analysis
from evenhand._declared import Declared
from evenhand._errors import DataError
from evenhand._judge import Correction, tolerance_of
from evenhand._labels import references
from evenhand._model import Factor, FloatArray, Observations
from evenhand._provenance import digest_of, provenance
from evenhand._result import Result
from evenhand._table import factor, numbers, read_table, require, text_column
from evenhand.audits.scores.claims import Question, check_question, compare_groups
from evenhand.audits.scores.exhibits import add_exhibits
from evenhand.audits.scores.measures import add_labels, add_measures
from evenhand.subjects.comprehend_files import is_comprehend, read_comprehend

if TYPE_CHECKING:
    import pyarrow as pa


def audit_scores(
    data: Any,
    *,
    scores: str | Sequence[str],
    groups: str | Sequence[str],
    units: str | Sequence[str] = (),
    labels: str | None = None,
    strata: str | None = None,
    reference: str | Mapping[str, str] | None = None,
    tolerance: float | tuple[float, float] = 0.1,
    weight: str | None = None,
    probes: str | os.PathLike[str] | None = None,
    threshold: float | None = None,
    level: float = 0.95,
    correction: Correction = "single-step",
    seed: int = 0,
) -> Result:
    """Audit scores that were recorded elsewhere: one row a scored text.

    Args:
        data: a file: CSV, TSV, JSON lines, Parquet, Arrow, or Amazon Comprehend's output (`output.tar.gz`, its JSON lines or
            flattened CSV). In Python also a dataframe, or a mapping of columns.
        scores: columns with scores; the first carries the claims, each gets its own.
        groups: columns with the groups; each is a family of claims.
        units: what the rows were sampled from, at most two: the text or template, and the term or name. Estimates
            generalise over them. Without units every row counts as independent, and a note says so.
        labels: column with true labels (0/1), for AUCs within and across subgroups. Borkan et al. 2019.
        strata: column that classes the texts, e.g. by sentiment.
        reference: the group that the others are held against; all pairs by default.
        tolerance: largest difference of means that counts as even-handed, declared beforehand.
        weight: column with case weights.
        probes: probes file that Comprehend's lines are joined to.
        threshold: score from which a reply counts as positive, for measures of label changes.
        level: confidence level of the intervals.
        correction: adjustment of p-values for many claims: holm, bh or none.
        seed: seed of everything random.

    Raises:
        DataError: a file that cannot be read, a missing column, text instead of numbers.
        UsageError: no groups, unknown units.

    >>> rows = {"score": [0.1, 0.2, 0.3, 0.1, 0.2, 0.3], "sex": list("FFFMMM"), "text": list("abcabc")}
    >>> audit_scores(rows, scores="score", groups="sex", units="text").findings[0].estimate.value
    0.0
    """
    table = _read(data, probes)
    names = [scores] if isinstance(scores, str) else list(scores)
    attributes = [groups] if isinstance(groups, str) else list(groups)
    sampled = [units] if isinstance(units, str) else list(units)
    observations = _observations(table, names, attributes, sampled, strata, labels, weight)
    analysis = Analysis()
    declared = Declared(
        reference=references(reference, attributes), level=level, correction=correction, seed=seed
    )
    for name in names:
        question = Question(
            score=name,
            attributes=attributes,
            samples=sampled[:2],
            nested=_nested(observations, attributes, sampled),
            strata=strata,
            tolerance=tolerance_of(tolerance),
            declared=declared,
        )
        check_question(observations, question)
        _analyse(observations, question, analysis, labels, threshold)
    _note_rows(observations, names, sampled, analysis)
    analysis.settle(correction)
    who = "recorded replies" if not isinstance(data, str | os.PathLike) else Path(data).name
    counted = {"rows": len(observations), "failed": int((~np.isfinite(observations.columns[names[0]])).sum())}
    return Result(
        audit="scores",
        title=f"{', '.join(names)} of {who} by {', '.join(attributes)}",
        findings=tuple(analysis.findings),
        exhibits=analysis.exhibits,
        notes=tuple(analysis.notes),
        counts=counted,
        provenance=provenance(
            audit_scores,
            {"scores": names, "groups": attributes, "units": sampled, "tolerance": tolerance, "level": level,
             "correction": correction, "strata": strata, "labels": labels, "reference": reference, "seed": seed},
            data={"table": digest_of(data, table)},
        ),
    )  # fmt: skip


def _read(data: Any, probes: str | os.PathLike[str] | None) -> pa.Table:
    if isinstance(data, str | os.PathLike) and is_comprehend(Path(data)):
        return read_comprehend(Path(data), None if probes is None else Path(probes))
    return read_table(data)


def _observations(
    table: pa.Table,
    scores: Sequence[str],
    groups: Sequence[str],
    units: Sequence[str],
    strata: str | None,
    labels: str | None,
    weight: str | None,
) -> Observations:
    for name in (*scores, *groups, *units, *(n for n in (strata, labels, weight) if n is not None)):
        require(table, name)
    columns: dict[str, FloatArray] = {name: _finite(numbers(table, name)) for name in scores}
    if labels is not None:
        columns["label"] = _binary(table, labels)
    kept = {name: factor(table, name) for name in (*units, *([strata] if strata else []))}
    return Observations(
        columns=columns,
        groups={name: factor(table, name) for name in groups},
        units=kept,
        weight=None if weight is None else numbers(table, weight),
    )


def _finite(values: FloatArray) -> FloatArray:
    return np.where(np.isfinite(values), values, np.nan)


def _binary(table: pa.Table, name: str) -> FloatArray:
    texts = text_column(table, name)
    seen = {t.strip().lower() for t in texts if t is not None}
    for no, yes in (
        ("0", "1"),
        ("0.0", "1.0"),
        ("false", "true"),
        ("no", "yes"),
        ("nontoxic", "toxic"),
        ("negative", "positive"),
        ("bad", "good"),
    ):
        if seen <= {no, yes}:
            return np.array([np.nan if t is None else float(t.strip().lower() == yes) for t in texts])
    raise DataError(
        "labels",
        f"the labels in {name!r} are not binary",
        given=", ".join(sorted(seen)[:6]),
        expected="0 and 1",
    )


def _nested(observations: Observations, attributes: Sequence[str], units: Sequence[str]) -> str | None:
    """The unit whose levels each belong to one group only (names), if any."""
    for unit in units:
        codes = observations.units[unit].codes.astype(np.int64)
        groups: list[Factor] = [observations.groups[a] for a in attributes]
        if all(_belongs(codes, g.codes.astype(np.int64)) for g in groups):
            return unit
    return None


def _belongs(unit: Any, group: Any) -> bool:
    keep = (unit >= 0) & (group >= 0)
    pairs = len(np.unique(unit[keep] * (int(group.max(initial=0)) + 1) + group[keep]))
    return pairs == len(np.unique(unit[keep]))


def _analyse(
    observations: Observations,
    asked: Question,
    analysis: Analysis,
    labels: str | None,
    threshold: float | None,
) -> None:
    evidence = compare_groups(observations, asked, analysis)
    add_measures(observations, asked, analysis, threshold=threshold)
    if labels is not None:
        add_labels(observations, asked, analysis)
    add_exhibits(observations, asked, evidence, analysis)


def _repeated_rows(observations: Observations, names: Sequence[str]) -> int:
    """Rows that agree with an earlier row in all units, groups and scores; 0 where there are no units to tell rows apart."""
    if not observations.units:
        return 0
    keys = [
        factor.codes.astype(np.float64)
        for factor in (*observations.units.values(), *observations.groups.values())
    ]
    stacked = np.column_stack([*keys, *(np.nan_to_num(observations.columns[n], nan=np.inf) for n in names)])
    return len(stacked) - len(np.unique(stacked, axis=0))


def _note_rows(
    observations: Observations, names: Sequence[str], units: Sequence[str], analysis: Analysis
) -> None:
    failed = int((~np.isfinite(observations.columns[names[0]])).sum())
    twice = _repeated_rows(observations, names)
    if twice:
        analysis.note(
            "duplicate-rows",
            f"{twice} rows repeat another row in every column used. If they are copies, not further cases, remove them:"
            " they make the intervals too narrow.",
            warning=True,
        )
    if failed:
        analysis.note(
            "failed-rows",
            f"{failed} of {len(observations)} rows have no score; they are counted and left out.",
            warning=True,
        )
    if not units:
        analysis.note(
            "no-units",
            "No units were named, so every row counts as an independent case. Where texts or names repeat, name them with"
            " units= (--unit): otherwise the intervals are too narrow.",
            warning=True,
        )
    for name in names:
        values = observations.columns[name]
        finite = values[np.isfinite(values)]
        if len(finite) > 1 and float(np.ptp(finite)) == 0.0:
            text = f"Every {name} is {finite[0]:g}: a subject that answers the same to everything shows nothing about groups."
            analysis.note("constant-subject", text, warning=True)

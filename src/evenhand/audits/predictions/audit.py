"""The audit of predictions that someone made: regression, classification and ranking, every measure with its
uncertainty."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand._analysis import Analysis
from evenhand._declared import Declared
from evenhand._judge import Correction
from evenhand._provenance import provenance
from evenhand._result import Result
from evenhand.audits.predictions.asked import (
    Task,
    checked_quantiles,
    is_notebook,
    references,
    task_of,
    tau_of,
    tolerances,
)
from evenhand.audits.predictions.classification import classification
from evenhand.audits.predictions.continuous import add_continuous
from evenhand.audits.predictions.inputs import Input, from_user
from evenhand.audits.predictions.law import check_law
from evenhand.audits.predictions.notebook import add_notebook
from evenhand.audits.predictions.ranking import ranked_lists
from evenhand.audits.predictions.regression import Options, regression
from evenhand.audits.predictions.rows import Missing
from evenhand.audits.predictions.selection import law_of_labels, law_of_numbers, law_quantiles
from evenhand.measures.ranking import exposure
from evenhand.stats.interval import check_level

QUANTILES = (0.9, 0.8, 0.5)


def audit_predictions(
    data: Any = None,
    *,
    y_pred: Any,
    groups: Any = (),
    y_true: Any = None,
    y_score: Any = None,
    reference: str | Mapping[str, str] | None = None,
    measures: str | Sequence[str] = "default",
    task: Task = "auto",
    positive: str | int | float | bool | None = None,
    intersections: bool = False,
    control: Any = (),
    continuous: Any = (),
    interval: tuple[str, str] | None = None,
    pinball: float | None = None,
    weight: Any = None,
    lists: Any = None,
    features: Sequence[str] | None = None,
    missing: Missing = "drop",
    quantiles: Sequence[float] = QUANTILES,
    tolerance: Mapping[str, Any] | None = None,
    law: str | None = None,
    suggest_threshold: bool = False,
    level: float = 0.95,
    correction: Correction = "holm",
    replicates: int = 0,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Result:
    """Audit recorded predictions, or a fitted model on its test frame, group by group.

    Args:
        data: a file: CSV, TSV, JSON lines, Parquet or Arrow, one row a person. In Python also a dataframe, a
            mapping of columns, or None where every role is given as an array.
        y_pred: column with the predictions: numbers or class labels. In Python also an array, or a fitted
            model with ``predict``, which is asked for the rows of `data`.
        groups: columns with the groups; each is a family of claims. In Python also a mapping of name → array.
        y_true: column with the outcomes.
        y_score: column with a classifier's scores in [0, 1].
        reference: the group that the others are held against; the largest by default. ``"M"`` or ``{"sex":
            "M"}``.
        measures: default, notebook-2022, or names of claims to keep, e.g. "disparate impact".
        task: auto, regression, classification or ranking; auto takes text, booleans and 0/1 as class labels.
        positive: the favourable class.
        intersections: also compare the combinations of all groups.
        control: legitimate factors: every claim is repeated within each of their levels, and pooled over
            them.
        continuous: sensitive attributes that are numbers, e.g. age.
        interval: columns with the lower and upper bound of prediction intervals.
        pinball: τ of a model that predicts the τ-quantile: adds the ratio of pinball losses.
        weight: column with case weights.
        lists: column with the ranked list (query) of a row, which makes the task a ranking. Ranks are
            counted in each list, exposures averaged over lists, and lists are the units of inference;
            nothing else is compared.
        features: columns that a fitted model is asked with, where it does not name its own.
        missing: rows without a group: drop (and count), error, or group (a group of their own).
        quantiles: selection thresholds, as quantiles of all predictions.
        tolerance: largest differences that count as even-handed, by measure. E.g. ``{"disparate impact":
            0.8}``; defaults in `prediction_claims.TOLERANCES`.
        law: tables to add: ll144 or four-fifths.
        suggest_threshold: add the group-blind thresholds that keep the impact ratio in its band, with their
            cost.
        level: confidence level of the intervals.
        correction: adjustment of p-values for many claims: holm, bh or none.
        replicates: bootstrap replicates of the regression table, as a check of the intervals; 0 for none.
        seed: seed of everything random.
        progress: called with (rows read, 0) while a large file is streamed.

    Raises:
        DataError: a file that cannot be read, a missing column, text instead of numbers, too many groups.
        UsageError: no groups, unknown names.

    >>> rows = {"G3": [1, 2, 3, 4, 2, 3, 4, 5], "pred": [1.5, 2, 2, 3, 2, 3, 4, 4.5], "sex": list("FFFFMMMM")}
    >>> result = audit_predictions(rows, y_true="G3", y_pred="pred", groups="sex", reference="M")
    >>> [f.estimate.value for f in result.findings if f.estimate.measure == "average score"][:1]
    [-1.25]
    """
    check_level(level)
    check_law(law)
    options = Options(
        quantiles=checked_quantiles(quantiles),
        measures=measures,
        suggest=suggest_threshold,
        replicates=replicates,
    )
    analysis = Analysis()
    tau = tau_of(pinball, y_true)
    given = from_user(
        data, analysis, y_pred=y_pred, groups=groups, control=control, continuous=continuous, interval=interval,
        features=features, missing=missing, tau=tau, progress=progress,
        y_true=y_true, y_score=y_score, weight=weight, lists=lists,
    )  # fmt: skip
    named = given.named
    chosen = task_of("ranking" if lists is not None and task == "auto" else task, given)
    declared = Declared(
        reference=references(reference, named),
        tolerance=tolerances(tolerance, chosen),
        level=level,
        correction=correction,
        seed=seed,
    )
    if chosen == "classification":
        counts = _labels(
            given, declared, analysis, options, positive=positive, crossing=intersections, law=law
        )
    else:
        counts = _numbers(given, declared, analysis, options, task=chosen, crossing=intersections, law=law)
    if replicates and (chosen == "classification" or lists is not None):
        analysis.note(
            "no-bootstrap", "Only the regression table is bootstrapped: the intervals are the closed forms."
        )
    who = Path(data).name if isinstance(data, str | os.PathLike) else "a table"
    if hasattr(y_pred, "predict"):
        who = type(y_pred).__name__
    what = "predictions" if named.y_pred == "y_pred" else named.y_pred
    return Result(
        audit="predictions",
        title=f"{what} of {who} by {', '.join((*named.groups, *named.continuous))}",
        findings=tuple(analysis.findings),
        exhibits=analysis.exhibits,
        notes=tuple(analysis.notes),
        counts=counts,
        provenance=provenance(
            audit_predictions,
            {"y_pred": named.y_pred, "y_true": named.y_true, "y_score": named.y_score, "groups": list(named.groups),
             "control": list(named.control), "continuous": list(named.continuous), "weight": named.weight, "lists": named.lists,
             "task": chosen, "positive": positive, "missing": missing, "quantiles": options.quantiles,
             "reference": dict(declared.reference), "tolerance": dict(declared.tolerance), "level": level,
             "correction": correction, "seed": seed, "law": law, "measures": measures,
             "pinball": pinball, "intersections": intersections, "replicates": replicates},
            data={"table": given.digest(data)},
        ),
    )  # fmt: skip


def _labels(
    given: Input,
    declared: Declared,
    analysis: Analysis,
    options: Options,
    *,
    positive: Any,
    crossing: bool,
    law: str | None,
) -> dict[str, int]:
    """Class labels: the tables of a law, then the claims."""
    found = given.labelled(positive, crossing=crossing or law is not None)
    weighted = given.named.weight is not None
    if law is not None:
        law_of_labels(found, positive, law, declared, analysis, weighted=weighted)
    classification(found.only(crossing), declared, analysis, measures=options.measures)
    if given.named.continuous:
        rows = given.rows(labels=True)
        favoured = rows.labels["y_pred"].is_level(found.favourable(positive)).astype(float)
        add_continuous(rows, declared, analysis, favoured)
    return given.counts(found.source)


def _numbers(
    given: Input,
    declared: Declared,
    analysis: Analysis,
    options: Options,
    *,
    task: Task,
    crossing: bool,
    law: str | None,
) -> dict[str, int]:
    """Numbers: a regression, a ranking, ranked lists, or the table of the 2022 notebook."""
    named, notebook = given.named, is_notebook(options.measures)
    if given.large is not None and (notebook or task == "ranking"):
        raise given.not_streamed("the notebook's table" if notebook else "a ranking")
    counts = {}
    if (named.groups and not notebook and named.lists is None) or (law is not None and named.groups):
        at = [*options.quantiles, *law_quantiles(law, options.quantiles)]
        ranked = (lambda p, w: exposure(p, w)) if task == "ranking" else None
        found = given.numbers([*dict.fromkeys(at)], crossing=crossing or law is not None, exposed=ranked)
        counts = given.counts(found.source)
        if law is not None:
            law_of_numbers(
                found, law, options.quantiles, declared, analysis, weighted=named.weight is not None
            )
        if not notebook and named.lists is None:
            regression(found.only(crossing), declared, analysis, options)
    if given.large is None:
        rows = given.rows()
        if notebook:
            add_notebook(analysis, rows.columns, rows.groups, declared.reference)
        elif rows.lists is not None:
            ranked_lists(rows, rows.lists, declared, analysis, crossing=crossing)
        add_continuous(rows, declared, analysis, rows.columns["y_pred"])
        counts = counts or given.counts_of(rows)
    return counts

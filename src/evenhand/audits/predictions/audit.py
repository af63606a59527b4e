"""The audit of predictions that someone made: regression, classification and ranking, every measure with its uncertainty."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from evenhand._analysis import Analysis
from evenhand._errors import DataError, UsageError
from evenhand._judge import Correction
from evenhand._model import FloatArray
from evenhand._provenance import digest_of, provenance
from evenhand._result import Result
from evenhand.audits.predictions import class_cells
from evenhand.audits.predictions import classification as labels
from evenhand.audits.predictions.batches import Large, large_file
from evenhand.audits.predictions.claims import TOLERANCES, tolerances
from evenhand.audits.predictions.compare import Settings
from evenhand.audits.predictions.continuous import add_continuous
from evenhand.audits.predictions.law import check_law
from evenhand.audits.predictions.notebook import add_notebook
from evenhand.audits.predictions.ranking import ranked_lists
from evenhand.audits.predictions.regression import regression
from evenhand.audits.predictions.rows import Missing, Named, Rows, gather, rows_of
from evenhand.audits.predictions.selection import law_of_cells, law_of_classes, law_of_rows, law_quantiles
from evenhand.audits.predictions.sources import from_file, from_rows
from evenhand.measures.ranking import exposure
from evenhand.stats.interval import check_level

Task: TypeAlias = Literal["auto", "regression", "classification", "ranking"]
TASKS: tuple[Task, ...] = ("auto", "regression", "classification", "ranking")
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
        data: a file: CSV, TSV, JSON lines, Parquet or Arrow, one row a person. In Python also a dataframe, a mapping of columns,
            or None where every role is given as an array.
        y_pred: column with the predictions: numbers or class labels. In Python also an array, or a fitted model with
            ``predict``, which is asked for the rows of `data`.
        groups: columns with the groups; each is a family of claims. In Python also a mapping of name → array.
        y_true: column with the outcomes.
        y_score: column with a classifier's scores in [0, 1].
        reference: the group that the others are held against; the largest by default. ``"M"`` or ``{"sex": "M"}``.
        measures: default, notebook-2022, or names of claims to keep, e.g. "disparate impact".
        task: auto, regression, classification or ranking; auto takes text, booleans and 0/1 as class labels.
        positive: the favourable class.
        intersections: also compare the combinations of all groups.
        control: legitimate factors: every claim is repeated within each of their levels, and pooled over them.
        continuous: sensitive attributes that are numbers, e.g. age.
        interval: columns with the lower and upper bound of prediction intervals.
        pinball: τ of a model that predicts the τ-quantile: adds the ratio of pinball losses.
        weight: column with case weights.
        lists: column with the ranked list (query) of a row, which makes the task a ranking. Ranks are counted in each
            list, exposures averaged over lists, and lists are the units of inference; nothing else is compared.
        features: columns that a fitted model is asked with, where it does not name its own.
        missing: rows without a group: drop (and count), error, or group (a group of their own).
        quantiles: selection thresholds, as quantiles of all predictions.
        tolerance: largest differences that count as even-handed, by measure. E.g. ``{"disparate impact": 0.8}``; defaults
            in `prediction_claims.TOLERANCES`.
        law: tables to add: ll144 or four-fifths.
        suggest_threshold: add the group-blind thresholds that keep the impact ratio in its band, with their cost.
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
    chosen = _quantiles(quantiles)
    analysis = Analysis()
    if lists is not None:
        if task not in ("auto", "ranking"):
            raise UsageError(
                "lists", "ranked lists belong to a ranking", given=task, expected='task="ranking"'
            )
        task = "ranking"
    asked = Asked(
        quantiles=chosen, task=task, positive=positive, crossing=intersections, law=law, missing=missing,
        reference=reference, tolerance=tolerance,
        declared={"level": level, "correction": correction, "seed": seed},
        pinball=_tau(pinball, y_true),
        options={"measures": measures, "suggest": suggest_threshold, "replicates": replicates},
    )  # fmt: skip
    roles: dict[str, Any] = {"y_true": y_true, "y_score": y_score, "weight": weight, "lists": lists}
    large = large_file(data)
    if large is not None and _plain(y_pred, groups, control, *roles.values()):
        named = _names(large, y_pred, groups, control, interval, roles)
        if continuous:
            raise _not_streamed("a continuous attribute")
        ran = _streamed(large, named, asked, analysis, progress)
    else:
        table, named = gather(
            data, y_pred=y_pred, groups=groups, control=control, continuous=continuous, interval=interval,
            features=features, **roles,
        )  # fmt: skip
        ran = _in_memory(data, table, named, asked, analysis)
    if replicates and (ran.task == "classification" or lists is not None):
        analysis.note(
            "no-bootstrap", "Only the regression table is bootstrapped: the intervals are the closed forms."
        )
    who = Path(data).name if isinstance(data, str | os.PathLike) else "a table"
    if hasattr(y_pred, "predict"):
        who = type(y_pred).__name__
    return Result(
        audit="predictions",
        title=f"{'predictions' if named.y_pred == 'y_pred' else named.y_pred} of {who} by {', '.join((*named.groups, *named.continuous))}",
        findings=tuple(analysis.findings),
        exhibits=analysis.exhibits,
        notes=tuple(analysis.notes),
        counts=ran.counts,
        provenance=provenance(
            audit_predictions,
            {"y_pred": named.y_pred, "y_true": named.y_true, "y_score": named.y_score, "groups": list(named.groups),
             "control": list(named.control), "continuous": list(named.continuous), "weight": named.weight, "lists": named.lists,
             "task": ran.task, "positive": positive, "missing": missing, "quantiles": chosen,
             "reference": dict(ran.settings.reference), "tolerance": dict(ran.settings.tolerances), "level": level,
             "correction": correction, "seed": seed, "law": law, "measures": measures,
             "pinball": pinball, "intersections": intersections, "replicates": replicates},
            data={"table": ran.digest},
        ),
    )  # fmt: skip


MOST_DIGEST = 200_000
"""Rows of a frame up to which its contents are digested; a file's bytes always are."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What was asked of an audit, whatever the data."""

    quantiles: Sequence[float]
    task: Task
    positive: Any
    crossing: bool
    law: str | None
    missing: Missing
    reference: Any
    tolerance: Mapping[str, Any] | None
    pinball: float | None
    declared: Mapping[str, Any]
    options: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What an audit was in the end."""

    settings: Settings
    task: Task
    counts: Mapping[str, int]
    digest: str


def _not_streamed(what: str) -> UsageError:
    return UsageError(
        "streamed",
        f"{what} needs all rows at once, and a file of this size is streamed",
        hint="audit a sample of its rows",
    )


def _streamed(large: Large, named: Named, asked: Asked, analysis: Analysis, progress: Any) -> Ran:
    """Numeric predictions or class labels of a large file, from sums."""
    if _is_notebook(asked.options["measures"]):
        raise _not_streamed("the notebook's table")
    task = _task(asked.task, large.head([named.y_pred]), named)
    if task == "ranking":
        raise _not_streamed("a ranking")
    read: dict[str, Any] = {
        "missing": asked.missing, "analysis": analysis, "crossing": asked.crossing or asked.law is not None,
        "progress": None if progress is None else _over_passes(progress),
    }  # fmt: skip
    if task == "classification":
        settings = _settings(asked, named, labels.TOLERANCES)
        classes = class_cells.from_file(large, named, asked.positive, **read)
        source = classes.source
        if asked.law is not None:
            law_of_classes(
                source, asked.positive, asked.law, settings, analysis, weighted=named.weight is not None
            )
        kept = source.attributes if asked.crossing else named.groups
        labels.classification(
            replace(source, attributes=kept), settings, analysis, measures=asked.options["measures"]
        )
        counts = {"used": classes.used, "left out": classes.left}
    else:
        settings = _settings(asked, named, TOLERANCES)
        at = [*asked.quantiles, *law_quantiles(asked.law, asked.quantiles)]
        streamed = from_file(large, named, [*dict.fromkeys(at)], tau=asked.pinball, **read)
        cells = streamed.source
        if asked.law is not None:
            law_of_cells(
                cells, asked.law, asked.quantiles, settings, analysis, weighted=named.weight is not None
            )
        kept = cells.attributes if asked.crossing else named.groups
        regression(
            replace(cells, attributes=kept), settings, analysis, quantiles=asked.quantiles, **asked.options
        )
        counts = {"used": streamed.used, "left out": streamed.left}
    counts = {"rows": sum(counts.values()), **counts}
    return Ran(settings=settings, task=task, counts=counts, digest=digest_of(large.path))


def _over_passes(progress: Callable[[int, int], None]) -> Callable[[int, int], None]:
    """Rows read over all passes: each pass counts from 0."""
    before = last = 0

    def update(done: int, failed: int) -> None:
        nonlocal before, last
        before, last = (before + last if done <= last else before), done
        progress(before + done, failed)

    return update


def _in_memory(data: Any, table: Any, named: Named, asked: Asked, analysis: Analysis) -> Ran:
    """Any audit of rows that fit into memory."""
    task = _task(asked.task, table, named)
    rows = rows_of(table, named, missing=asked.missing, analysis=analysis, labels=task == "classification")
    settings = _settings(asked, named, labels.TOLERANCES if task == "classification" else TOLERANCES)
    if asked.pinball is not None and task != "classification":
        rows = replace(rows, columns={**rows.columns, "tau": np.full(len(rows), asked.pinball)})
    _audit(rows, task, settings, analysis, asked)
    file = isinstance(data, str | os.PathLike)
    digest = digest_of(data, table) if file or table.num_rows <= MOST_DIGEST else "not taken"
    counts = {"rows": table.num_rows, "used": len(rows), "left out": rows.dropped}
    return Ran(settings=settings, task=task, counts=counts, digest=digest)


def _audit(rows: Rows, task: Task, settings: Settings, analysis: Analysis, asked: Asked) -> None:
    """The task's own audit of rows in memory."""
    if task == "classification":
        source = class_cells.from_rows(rows, asked.positive, crossing=asked.crossing)
        if asked.law is not None:
            wide = class_cells.from_rows(rows, asked.positive, crossing=True)
            law_of_classes(
                wide, asked.positive, asked.law, settings, analysis, weighted=rows.weight is not None
            )
        labels.classification(source, settings, analysis, measures=asked.options["measures"])
        predicted: FloatArray = np.zeros(len(rows))
        if rows.continuous:
            label = class_cells.positive_label(source.levels, asked.positive)
            predicted = rows.labels["y_pred"].is_level(label).astype(float)
    else:
        if asked.law is not None:
            law_of_rows(rows, asked.law, asked.quantiles, settings, analysis)
        predicted = rows.columns["y_pred"]
        if _is_notebook(asked.options["measures"]):
            add_notebook(analysis, rows.columns, rows.groups, settings.reference)
        elif rows.lists is not None:
            ranked_lists(rows, rows.lists, settings, analysis, crossing=asked.crossing)
        elif rows.groups:
            if task == "ranking":
                given = exposure(predicted, rows.weight)
                rows = replace(rows, columns={**rows.columns, "exposure": given})
            regression(
                from_rows(rows, asked.quantiles, crossing=asked.crossing),
                settings,
                analysis,
                quantiles=asked.quantiles,
                **asked.options,
            )
    add_continuous(rows, settings, analysis, predicted)


def _settings(asked: Asked, named: Named, defaults: Mapping[str, float]) -> Settings:
    return Settings(
        reference=_references(asked.reference, named),
        tolerances=tolerances(asked.tolerance, defaults),
        **asked.declared,
    )


def _plain(*roles: Any) -> bool:
    """Whether every role is a column's name."""
    return all(
        r is None
        or isinstance(r, str)
        or (isinstance(r, list | tuple) and all(isinstance(x, str) for x in r))
        for r in roles
    )


def _names(
    large: Large,
    y_pred: str,
    groups: Any,
    control: Any,
    interval: tuple[str, str] | None,
    roles: Mapping[str, Any],
) -> Named:
    """The roles of columns of a large file, checked against its schema."""
    named = Named(
        y_pred=y_pred,
        groups=(groups,) if isinstance(groups, str) else tuple(groups),
        control=(control,) if isinstance(control, str) else tuple(control),
        interval=None if interval is None else (interval[0], interval[1]),
        **roles,
    )
    available = large.columns
    for name in named.all():
        if list(available).count(name) > 1:
            raise DataError("duplicate-columns", "column names must be unique", given=name)
        if name not in available:
            raise DataError("missing-column", f"there is no column {name!r}", given=name, available=available)
    if not named.groups:
        raise UsageError(
            "no-groups", "an audit compares groups, and none is named", hint="name one with groups= (--group)"
        )
    return named


def _is_notebook(measures: str | Sequence[str]) -> bool:
    return measures == "notebook-2022" or list(measures) == ["notebook-2022"]


def _references(reference: str | Mapping[str, str] | None, named: Named) -> dict[str, str]:
    if reference is None:
        return {}
    if isinstance(reference, str):
        if len(named.groups) > 1:
            raise UsageError(
                "reference",
                "with several attributes a reference names its own",
                given=reference,
                expected='{"attribute": "group"}',
                available=list(named.groups),
            )
        return {named.groups[0]: reference} if named.groups else {}
    for name in reference:
        if name not in named.groups:
            raise UsageError(
                "reference",
                "the reference names no attribute of this audit",
                given=name,
                available=list(named.groups),
            )
    return {k: str(v) for k, v in reference.items()}


def _tau(pinball: float | None, y_true: Any) -> float | None:
    if pinball is None:
        return None
    if not 0 < pinball < 1:
        raise UsageError(
            "bad-quantile", "τ lies strictly between 0 and 1", given=pinball, expected="e.g. 0.9"
        )
    if y_true is None:
        raise UsageError(
            "no-outcome", "the pinball loss needs outcomes", hint="name them with y_true= (--y-true)"
        )
    return float(pinball)


def _quantiles(quantiles: Sequence[float]) -> list[float]:
    chosen = [float(q) for q in quantiles]
    for q in chosen:
        if not 0 < q < 1:
            raise UsageError(
                "bad-quantile", "a quantile lies strictly between 0 and 1", given=q, expected="e.g. 0.8"
            )
    if not chosen:
        raise UsageError("bad-quantile", "no quantile is given", expected="e.g. 0.8")
    return list(dict.fromkeys(chosen))


def _task(task: Task, table: Any, named: Named) -> Task:
    import pyarrow.types as types

    if task not in TASKS:
        raise UsageError("unknown-task", "no such task", given=task, available=TASKS)
    if task != "auto":
        return task
    kind = table.column(named.y_pred).type
    kind = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_boolean(kind):
        return "classification"
    if types.is_string(kind) or types.is_large_string(kind):
        texts = [t for t in table.column(named.y_pred).unique().to_pylist() if t is not None and t.strip()]
        try:
            [float(t) for t in texts]
        except ValueError:
            if len(texts) > 50:
                raise DataError(
                    "not-a-number",
                    f"the predictions in {named.y_pred!r} are text, and too many different ones to be class labels",
                    given=texts[0],
                    expected="numbers, or at most 50 class labels",
                ) from None
            return "classification"
    if types.is_floating(kind) or types.is_integer(kind):
        import pyarrow.compute as pc

        values = [
            v for v in pc.unique(table.column(named.y_pred).slice(0, 10_000)).to_pylist() if v is not None
        ]
        if set(values) <= {0, 1} and len(values) == 2:
            return "classification"
    return "regression"

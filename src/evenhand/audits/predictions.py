"""The audit of predictions that someone made: regression, classification and ranking, every measure with its uncertainty."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from evenhand._errors import DataError, UsageError
from evenhand._judge import Correction
from evenhand._model import BoolArray, Factor
from evenhand._result import Result
from evenhand.audits import classification as labels
from evenhand.audits import prediction_exhibits as exhibits
from evenhand.audits.law import add_law, check_law
from evenhand.audits.notebook import add_notebook
from evenhand.audits.prediction_cells import Cell, Prepared, cell, cells_of, prepare
from evenhand.audits.prediction_claims import TOLERANCES, Claim, regression_claims, tolerances
from evenhand.audits.prediction_compare import (
    Settings,
    compare,
    reference_cell,
    widest,
    worst_subgroup,
)
from evenhand.audits.prediction_rows import Missing, Named, Rows, crossed, gather, rows_of
from evenhand.audits.provenance import digest_of, provenance
from evenhand.audits.scoring import Analysis
from evenhand.audits.thresholds import add_suggestion
from evenhand.stats.histogram import weighted_quantile
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
    weight: Any = None,
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
        data: a path (CSV, TSV, JSON lines, Parquet, Arrow), a dataframe, a mapping of columns; or None where every role
            is given as an array.
        y_pred: the predictions: a column, an array, or a fitted model with ``predict`` (asked for the rows of `data`).
        groups: columns with the groups (or a mapping of name → array); each is a family of claims.
        y_true: outcomes. y_score: scores of a classifier in [0, 1].
        reference: the group that others are held against, ``"M"`` or ``{"sex": "M"}``; the largest group by default.
        measures: ``"default"``, ``"notebook-2022"``, or names of claims to keep, e.g. ``["disparate impact"]``.
        task: ``"auto"`` takes text, booleans and 0/1 as class labels and other numbers as a regression.
        positive: the favourable class. intersections: also compare the combinations of all groups.
        control: legitimate factors; every claim is repeated within each of their levels, and pooled over them.
        continuous: sensitive attributes that are numbers, e.g. age.
        interval: columns with the lower and upper bound of prediction intervals.
        weight: case weights. features: columns for a model that does not name its own.
        missing: ``"drop"`` (counted and noted), ``"error"``, or ``"group"`` (missing labels are a group).
        quantiles: selection thresholds, as quantiles of all predictions.
        tolerance: name → tolerance, e.g. ``{"disparate impact": 0.8}``; defaults in `prediction_claims.TOLERANCES`.
        law: ``"ll144"`` or ``"four-fifths"``: add these tables.
        suggest_threshold: add the group-blind thresholds that keep the impact ratio in its band, with their cost.
        level: of the intervals. correction: "holm", "bh" or "none".
        replicates: Poisson bootstrap replicates of the regression table, as a check of the intervals; 0 for none.
        seed: of everything random. progress: called with (rows read, 0) while a large file is streamed.

    Raises:
        DataError: a file that cannot be read, a missing column, text instead of numbers, too many groups.
        UsageError: no groups, unknown names.

    >>> rows = {"G3": [1, 2, 3, 4, 2, 3, 4, 5], "pred": [1.5, 2, 2, 3, 2, 3, 4, 4.5], "sex": list("FFFFMMMM")}
    >>> result = audit_predictions(rows, y_true="G3", y_pred="pred", groups="sex", reference="M")
    >>> [f.estimate.value for f in result.findings if f.estimate.measure == "average score"][:1]
    [-1.25]
    """
    check_level(level)
    analysis = Analysis()
    table, named = gather(
        data,
        y_pred=y_pred,
        y_true=y_true,
        y_score=y_score,
        groups=groups,
        weight=weight,
        control=control,
        continuous=continuous,
        interval=interval,
        features=features,
    )
    chosen = _task(task, table, named)
    rows = rows_of(table, named, missing=missing, analysis=analysis, labels=chosen == "classification")
    settings = Settings(
        reference=_references(reference, named),
        tolerances=tolerances(tolerance, labels.TOLERANCES if chosen == "classification" else TOLERANCES),
        level=level,
        correction=correction,
        seed=seed,
    )
    check_law(law)
    if law is not None:
        _law(rows, law, chosen, positive, settings, analysis, _quantiles(quantiles))
    if chosen == "regression" and _is_notebook(measures):
        add_notebook(analysis, rows.columns, rows.groups, settings.reference)
    elif chosen == "regression":
        regression(
            rows, settings, analysis, quantiles=_quantiles(quantiles), measures=measures, crossing=intersections,
            suggest=suggest_threshold,
        )  # fmt: skip
    elif chosen == "classification":
        labels.classification(
            rows, settings, analysis, positive=positive, measures=measures, crossing=intersections
        )
    who = Path(data).name if isinstance(data, str | os.PathLike) else "predictions"
    return Result(
        audit="predictions",
        title=f"{named.y_pred} of {who} by {', '.join((*named.groups, *named.continuous))}",
        findings=tuple(analysis.findings),
        exhibits=analysis.exhibits,
        notes=tuple(analysis.notes),
        counts={"rows": table.num_rows, "used": len(rows), "left out": rows.dropped},
        provenance=provenance(
            audit_predictions,
            {"y_pred": named.y_pred, "y_true": named.y_true, "y_score": named.y_score, "groups": list(named.groups),
             "control": list(named.control), "weight": named.weight, "task": chosen, "missing": missing,
             "quantiles": list(quantiles), "reference": dict(settings.reference), "level": level,
             "correction": correction, "seed": seed, "law": law, "measures": measures},
            data={"table": digest_of(data, table)},
        ),
    )  # fmt: skip


def regression(
    rows: Rows,
    settings: Settings,
    analysis: Analysis,
    *,
    quantiles: Sequence[float],
    measures: str | Sequence[str],
    crossing: bool,
    suggest: bool = False,
) -> None:
    """The regression table, its strata and subgroups, and the exhibits."""
    _notice(rows, analysis)
    attributes = dict(rows.groups)
    if crossing and len(attributes) > 1:
        attributes[" & ".join(attributes)] = crossed(attributes)
    made = prepare(rows, quantiles, cells=max(len(f.levels) for f in attributes.values()))
    all_rows = cell(made, np.arange(len(rows)), "everyone")
    claims = _kept(regression_claims(made.frame, quantiles, seed=settings.seed), measures)
    sized = Settings(
        reference=settings.reference,
        tolerances=settings.tolerances,
        units=_units(all_rows),
        level=settings.level,
        correction=settings.correction,
        seed=settings.seed,
    )
    for attribute, factor in attributes.items():
        cells = _enough(cells_of(made, factor, attribute), attribute, analysis)
        if len(cells) < 2:
            continue
        reference = reference_cell(cells, attribute, sized, analysis)
        analysis.findings += compare(cells, reference, claims, sized, family=attribute)
        analysis.findings += widest(cells, claims, sized, attribute)
        if attribute not in rows.groups:
            analysis.findings += worst_subgroup(
                cells, _rest(made, factor, attribute), claims, sized, attribute
            )
        exhibits.add_regression(analysis, made.frame, cells, reference, all_rows, attribute, sized, quantiles)
        if suggest:
            add_suggestion(analysis, made.frame, cells, attribute, quantiles, level=settings.level)
        _strata(rows, made, factor, attribute, reference, claims, sized, analysis)


def _is_notebook(measures: str | Sequence[str]) -> bool:
    return measures == "notebook-2022" or list(measures) == ["notebook-2022"]


def _law(
    rows: Rows,
    law: str,
    task: Task,
    positive: Any,
    settings: Settings,
    analysis: Analysis,
    quantiles: Sequence[float],
) -> None:
    attributes = dict(rows.groups)
    if len(attributes) > 1:
        attributes[" & ".join(attributes)] = crossed(attributes)
    tables: list[tuple[BoolArray, str, str]] = []
    if task == "classification":
        label = labels.positive_label(rows.labels, positive)
        tables.append((rows.labels["y_pred"].is_level(label), f"Selected: {label}", ""))
    else:
        p = rows.columns["y_pred"]
        at = [0.5] if law == "ll144" else list(quantiles)
        for q, threshold in zip(at, weighted_quantile(p, at, rows.weight).tolist(), strict=True):
            what = "the median" if q == 0.5 else f"quantile {q:g}"
            rule = f"Selected: a score strictly above {what} of everyone's scores, {threshold:g}"
            tables.append((p > threshold, rule, "" if law == "ll144" else f" at q={q:g}"))
    for selected, rule, where in tables:
        add_law(
            analysis,
            law,
            selected,
            attributes,
            weight=rows.weight,
            scored=task != "classification",
            rule=rule,
            reference=settings.reference,
            level=settings.level,
            at=where,
        )


def _rest(made: Prepared, factor: Factor, attribute: str) -> Any:
    def rest(chosen: Cell) -> Cell:
        inside = factor.is_level(chosen.label.partition("=")[2])
        others = np.flatnonzero(~inside & (factor.codes >= 0))
        return cell(made, others, f"all others of {attribute}")

    return rest


def _strata(
    rows: Rows,
    made: Prepared,
    factor: Factor,
    attribute: str,
    reference: Cell,
    claims: Sequence[Claim],
    settings: Settings,
    analysis: Analysis,
) -> None:
    for name, levels in rows.control.items():
        strata: list[list[Cell]] = []
        for stratum in levels.levels:
            within: BoolArray = levels.is_level(stratum)
            cells = cells_of(made, factor, attribute, within)
            own = next((c for c in cells if c.label == reference.label), None)
            if own is None or len(cells) < 2:
                analysis.note(
                    "empty-stratum",
                    f"{name}={stratum} has no {reference.label.partition('=')[2]} or nobody else of {attribute}: not compared.",
                )
                continue
            strata.append(cells)
            simple = [c for c in claims if c.given is None]
            analysis.findings += compare(
                cells,
                own,
                simple,
                settings,
                family=f"{attribute} given {name}={stratum}",
                given=f"{name}={stratum}",
            )


def _kept(claims: Sequence[Claim], measures: str | Sequence[str]) -> list[Claim]:
    wanted = [measures] if isinstance(measures, str) else list(measures)
    if wanted == ["default"]:
        return list(claims)
    keys = {c.key for c in claims} | {c.measure for c in claims}
    for name in wanted:
        if name not in keys:
            raise UsageError(
                "unknown-measure",
                "no such measure here",
                given=name,
                available=sorted({"notebook-2022", *keys}),
            )
    return [c for c in claims if c.key in wanted or c.measure in wanted]


def _enough(cells: list[Cell], attribute: str, analysis: Analysis) -> list[Cell]:
    for c in cells:
        if c.n < 5:
            analysis.note(
                "tiny-group",
                f"{c.label} has {c.n} row{'s' * (c.n != 1)}: what can be estimated is, the rest says why not.",
                warning=True,
            )
    if len(cells) < 2:
        analysis.note(
            "one-group",
            f"{attribute} has {len(cells)} group with rows: there is nothing to compare.",
            warning=True,
        )
    return cells


def _units(everyone_: Cell) -> dict[str, float]:
    means = everyone_.moments.means
    units = {"sd of predictions": float(np.sqrt(max(means["pp"] - means["p"] ** 2, 0.0)))}
    if "yy" in means:
        units["sd of outcomes"] = float(np.sqrt(max(means["yy"] - means["y"] ** 2, 0.0)))
    return units


def _notice(rows: Rows, analysis: Analysis) -> None:
    p = rows.columns["y_pred"]
    if float(np.ptp(p)) == 0.0:
        analysis.note(
            "constant-predictions",
            f"Every prediction is {p[0]:g}: a model that says the same of everyone shows nothing about groups.",
            warning=True,
        )


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

"""The audit of predictions that someone made: regression, classification and ranking, every measure with its
uncertainty."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from evenhand._analysis import Analysis
from evenhand._declared import Declared, named_primary
from evenhand._judge import Correction
from evenhand._provenance import digest_of, provenance, tells_its_call
from evenhand._result import Result
from evenhand._vocabulary import Positive
from evenhand.audits.predictions.asked import (
    First,
    Options,
    Selection,
    Task,
    check_claims,
    check_min_group,
    check_period,
    check_selection,
    check_top,
    checked_quantiles,
    references,
    say_bootstrap,
    task_of,
    tau_of,
    tolerances,
)
from evenhand.audits.predictions.classification import labels
from evenhand.audits.predictions.diagnosed.asking import ModelAtHand, ask
from evenhand.audits.predictions.diagnosed.sections import diagnose
from evenhand.audits.predictions.inputs import Input, from_user
from evenhand.audits.predictions.practice.law import check_law
from evenhand.audits.predictions.practice.shared import add_shared
from evenhand.audits.predictions.published.tables import Published, published_tables, read_all
from evenhand.audits.predictions.regression import numbers
from evenhand.audits.predictions.roles import (
    Chances,
    Column,
    Columns,
    Fitted,
    Intake,
    Missing,
    Progress,
    Roles,
    Units,
)
from evenhand.stats.interval import check_level

QUANTILES = (0.9, 0.8, 0.5)


@tells_its_call("data", "published", "progress")
def audit_predictions(
    data: Any = None,
    *,
    y_pred: Column | Fitted | None = None,
    groups: Columns = (),
    y_true: Column | None = None,
    y_score: Column | None = None,
    units: Units = (),
    reference: str | Mapping[str, str] | None = None,
    measures: str | Sequence[str] = "default",
    task: Task = "auto",
    positive: Positive = None,
    selection: Selection = "good",
    intersections: bool = False,
    control: Columns = (),
    period: Column | None = None,
    continuous: Columns = (),
    search: Columns = (),
    interval: tuple[str, str] | None = None,
    pinball: float | None = None,
    weight: Column | None = None,
    count: Column | None = None,
    lists: Column | None = None,
    top: int | None = None,
    first: First = "highest",
    published: Any = None,
    model: Any = None,
    features: Sequence[str] | None = None,
    proxies: Sequence[str] = (),
    trusted: Sequence[str] = (),
    trust_pickle: bool = False,
    probabilities: Chances | None = None,
    missing: Missing = "drop",
    min_group: int = 1,
    quantiles: Sequence[float] = QUANTILES,
    tolerance: Mapping[str, Any] | None = None,
    primary: str | Sequence[str] = (),
    law: str | None = None,
    suggest_threshold: bool = False,
    frontier: bool = False,
    level: float = 0.95,
    correction: Correction = "single-step",
    replicates: int = 0,
    seed: int = 0,
    engine: str | None = None,
    progress: Progress | None = None,
) -> Result:
    """Audit recorded predictions, or a fitted model on its test frame, group by group.

    Args:
        data: a file: CSV, TSV, JSON lines, Parquet or Arrow, one row a person. Also a folder of such files,
            or a pattern ("parts/*.parquet"). In Python also a dataframe, a mapping of columns, or None where
            every role is given as an array.
        y_pred: column with the predictions: numbers or class labels. In Python also an array, or a fitted
            model with ``predict``, which is asked for the rows of `data`.
        groups: columns with the groups; each is a family of claims. In Python also a mapping of name → array.
        y_true: column with the outcomes.
        y_score: column with a classifier's scores in [0, 1].
        units: whom or what a row is about, where several rows may be about one: a column, e.g. of persons.
            Rows of one unit are one piece of evidence, and intervals are made of units; of nested units
            ("family/person") the widest counts. False says that rows are independent.
        reference: the group that the others are held against; the largest by default. ``"M"`` or ``{"sex":
            "M"}``.
        measures: default, notebook-2022, or names of claims to keep, e.g. "disparate impact".
        task: auto, regression, classification or ranking; auto takes text, booleans and 0/1 as class labels.
        positive: the favourable class.
        selection: whether being selected (given the class, or a high prediction) is good or bad for people.
            It is stated in the report; with "bad", e.g. of "will reoffend", no table of a law is made.
        intersections: also compare the combinations of all groups.
        control: legitimate factors: every claim is repeated within each of their levels, and pooled over
            them. Pooled are impact ratios, differences of rates, of average scores and of mean residuals.
        period: column that says when a row is of: a year, a date, or a name that sorts. The primary claims
            are repeated in each period, and what changed from the first to the last, and along a straight
            line, is a claim of its own. More than 24 days are put together by month, quarter or year.
        continuous: sensitive attributes that are numbers, e.g. age.
        search: features over which the subgroup with the largest gap is searched, on one half of the rows,
            and confirmed on the other. Conditions on up to three of them are looked at.
        interval: columns with the lower and upper bound of prediction intervals.
        pinball: τ of a model that predicts the τ-quantile: adds the ratio of pinball losses.
        weight: column with case weights.
        count: column with how many people a row stands for, in a table of counts. Every claim is that of
            one row a person.
        lists: column with the ranked list (query) of a row, which makes the task a ranking. Ranks are
            counted in each list, exposures averaged over lists, and lists are the units of inference;
            nothing else is compared.
        top: how many of each ranked list are taken: adds the ratio of the shares taken. Lists whose
            predictions are 0 and 1 say themselves who is.
        first: which predictions stand first in a list: highest (scores) or lowest (places, 1 being the
            first).
        published: tables of a published audit instead of rows: a file with category, applicants, selected (or
            scored above the median), rate and impact ratio. Several are of the same people by other
            categories. Rates, ratios and totals are recomputed, every mismatch is named, and intervals,
            tests and the bounds for people of unknown category are added. `groups`, `count` and `y_pred` may
            name the columns of categories, applicants and selected.
        model: a fitted model instead of its predictions: a .skops or .onnx file, or "module:attr". It is
            asked for the rows of `data`, and again with the attribute of another group: an attribute-flip
            diagnostic. Each person is also held against the nearest one of another group, and it is shown
            how well each feature tells the group. In Python also the object itself, with ``predict``, or a
            function from a frame to predictions.
        features: columns that a fitted model is asked with, where it does not name its own.
        proxies: columns that stand for a group, and change with it where a model is asked again. Their
            values are those of the nearest person of the other group.
        trusted: further type names that a .skops file may contain.
        trust_pickle: open a .pkl or .joblib file as the model, which runs whatever code it holds.
        probabilities: chances of each group, where groups are known by chances only, e.g. of race by name
            and address. ``{"race": {"white": "p_white", "black": "p_black"}}``: group → column of numbers
            that add up to 1 in each row; given instead of `groups`.
        missing: rows without a group: drop (and count), error, or group (a group of their own).
        min_group: rows below which a group is not compared; it is named, and counted among everyone.
        quantiles: selection thresholds, as quantiles of all predictions.
        tolerance: largest differences that count as even-handed, by measure. E.g. ``{"disparate impact":
            0.8}``; defaults in docs/reference/predictions.md.
        primary: names of the claims that make the headline; by default a rule of the audit chooses them.
            E.g. ``"equal opportunity"``: the name of a claim, or that of its tolerance.
        law: tables to add: ll144 or four-fifths.
        suggest_threshold: add the group-blind thresholds that keep the impact ratio in its band, with their
            cost.
        frontier: add what other thresholds of the scores would give: one for all or one per group, chosen on
            one half of the rows and reported on the other, with what equal rates cost in accuracy.
        level: confidence level of the intervals.
        correction: adjustment of p-values: single-step, holm, bh or none. Verdicts follow the intervals.
        replicates: bootstrap replicates of the regression table, as a check of the intervals; 0 for none.
        seed: seed of everything random.
        engine: where the rows are summarised: local, daft, ray or ray://host:port. Rows are read in passes of
            partitions, whatever their number, and every engine gives the same result; by default only what is
            too large for memory is, in this process. Frames of Daft's or Spark's need none, lazy
            ones (DuckDB, polars) are read a part at a time by local. See docs/explanation/scale.md.
        progress: called with (rows read, 0) while a large file is streamed.

    Raises:
        DataError: a file that cannot be read, a missing column, text instead of numbers, too many groups.
        UsageError: no groups, unknown names, an engine that is not installed or does not answer.
        EngineError: workers of an engine were lost again and again.

    >>> rows = {"G3": [1, 2, 3, 4, 2, 3, 4, 5], "pred": [1.5, 2, 2, 3, 2, 3, 4, 4.5], "sex": list("FFFFMMMM")}
    >>> result = audit_predictions(rows, y_true="G3", y_pred="pred", groups="sex", reference="M")
    >>> [f.estimate.value for f in result.findings if f.estimate.measure == "average score"][:1]
    [-1.25]
    """
    check_level(level)
    analysis = Analysis()
    options = Options(
        quantiles=checked_quantiles(quantiles),
        measures=measures,
        positive=positive,
        selection=selection,
        crossing=intersections,
        law=law,
        top=top,
        first=first,
        suggest=suggest_threshold,
        frontier=frontier,
        min_group=min_group,
        replicates=replicates,
    )
    intake = Intake(
        analysis=analysis,
        missing=missing,
        tau=tau_of(pinball, y_true),
        crossing=intersections or law is not None,
        engine=engine,
        progress=progress,
    )
    roles = Roles(
        y_pred=y_pred,
        groups=groups,
        y_true=y_true,
        y_score=y_score,
        units=units,
        weight=weight,
        count=count,
        lists=lists,
        control=control,
        period=period,
        continuous=continuous,
        search=search,
        interval=interval,
        features=features,
        probabilities=probabilities or {},
    )
    at_hand, roles = ask(model, data, roles, proxies, trusted=trusted, trust_pickle=trust_pickle)
    given, chosen = _given(published, at_hand.table if at_hand else data, roles, intake, options, task)
    declared = Declared(
        reference=references(reference, given.named),
        tolerance=tolerances(tolerance, chosen),
        primary=named_primary(primary),
        level=level,
        correction=correction,
        seed=seed,
    )
    counts = _counted(given, declared, analysis, options, chosen, at_hand)
    check_claims(tolerance, declared, analysis)
    return analysis.result(
        audit="predictions",
        title=_title(data, y_pred, at_hand, given),
        counts=counts,
        correction=correction,
        provenance=_provenance(data, model, at_hand, given, _told(given, chosen, options, declared)),
    )


def _check(options: Options, roles: Roles, published: Any) -> None:
    """What is asked for fits together."""
    check_law(options.law)
    check_selection(options.selection, options.law if published is None else "ll144", suggest=options.suggest)
    check_min_group(options.min_group)
    check_top(options.top, options.first, roles.lists)
    check_period(roles.period, roles.lists, options.measures)


def _given(
    published: Any, data: Any, roles: Roles, intake: Intake, options: Options, task: Task
) -> tuple[Input | Published, Task]:
    """What was handed over, and what it is audited as."""
    _check(options, roles, published)
    if published is not None:
        asked = _beyond_counts(task, options, intake)
        return read_all(published, data, roles, asked=asked), "classification"
    given = from_user(data, roles, intake)
    return given, task_of(task, given, options.positive)


def _beyond_counts(task: Task, options: Options, intake: Intake) -> bool:
    """Whether something is asked for that counts by category cannot give."""
    labels_only = task in ("auto", "classification") and options.positive is None
    return (
        not labels_only or intake.missing != "drop" or options.crossing or options.suggest or options.frontier
    )


def _counted(
    given: Input | Published,
    declared: Declared,
    analysis: Analysis,
    options: Options,
    task: Task,
    at_hand: ModelAtHand | None,
) -> dict[str, int]:
    """Everything that is found; rows read, used and left out."""
    if isinstance(given, Published):
        return published_tables(given, declared, analysis, options)
    if task == "classification":
        counts = labels(given, declared, analysis, options)
    else:
        counts = numbers(given, declared, analysis, options, task=task)
    if at_hand is not None:
        diagnose(at_hand, given, declared, analysis, options, task)
    say_bootstrap(analysis, given.named, options, task)
    add_shared(given, analysis, options, task)
    return counts


def _told(given: Input | Published, task: Task, options: Options, declared: Declared) -> dict[str, Any]:
    """What was asked, as the result keeps it."""
    roles = {k: v for k, v in asdict(given.named).items() if k not in ("of_second", "chances")}
    if isinstance(given, Published):
        roles["published"] = [table.source for table in given.tables]
    return roles | {
        "task": task,
        "selection": options.selection,
        "quantiles": options.quantiles,
        "reference": dict(declared.reference),
        "tolerance": dict(declared.tolerance),
    }


def _provenance(
    data: Any, model: Any, at_hand: ModelAtHand | None, given: Input | Published, told: Mapping[str, Any]
) -> dict[str, Any]:
    digests = given.digests() if isinstance(given, Published) else {"table": given.digest(data)}
    if isinstance(model, str | os.PathLike) and Path(model).is_file():
        digests["model"] = digest_of(model)
    name = None if at_hand is None else at_hand.model.name
    return provenance(audit_predictions, told, data=digests, subject=name)


def _title(
    data: Any, y_pred: Column | Fitted | None, at_hand: ModelAtHand | None, given: Input | Published
) -> str:
    """What is compared, of what, by what."""
    if isinstance(given, Published):
        return given.title
    named = given.named
    who = Path(data).name if isinstance(data, str | os.PathLike) else "a table"
    if at_hand is not None:
        who = at_hand.model.name
    elif isinstance(y_pred, Fitted):
        who = type(y_pred).__name__
    what = "predictions" if named.y_pred == "y_pred" else named.y_pred
    return f"{what} of {who} by {', '.join((*named.groups, *named.continuous))}"

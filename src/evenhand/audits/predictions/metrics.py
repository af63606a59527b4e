"""One measure of two groups as one call: arrays in, an Estimate with its interval out. Found as
`evenhand.measures.…`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict, TypeVar, Unpack

import numpy as np

from evenhand._analysis import Analysis
from evenhand._compare import Claim, evidence_of, kept, side_named
from evenhand._declared import Declared
from evenhand._errors import DataError, UsageError
from evenhand._labels import grouping
from evenhand._model import Estimate
from evenhand._table import distinct, read_table
from evenhand._vocabulary import Positive, reconciled
from evenhand.audits.predictions.asked import are_labels
from evenhand.audits.predictions.cells import Cell, cells_of, everyone, prepare
from evenhand.audits.predictions.claims import label_claims, number_claims
from evenhand.audits.predictions.class_cells import (
    MOST_LABELS,
    check_labels,
    class_cells,
    class_columns,
)
from evenhand.audits.predictions.roles import Column, Roles, gather
from evenhand.audits.predictions.rows import Rows, rows_of
from evenhand.measures import classification

C = TypeVar("C", bound=Cell)


class Sides(TypedDict, total=False):
    """What every function of this room takes besides its measure.

    Args:
        reference: label of the other side, the largest group by default. of: the group, where there are more
            than two.
        weight: (n,) case weights. level: of the interval.
    """

    reference: Any
    of: Any
    weight: Column | None
    level: float


def compare(
    measure: str,
    y_pred: Column,
    *,
    group: Column,
    y_true: Column | None = None,
    q: float = 0.8,
    positive: Positive = None,
    labels: bool | None = None,
    **sides: Unpack[Sides],
) -> Estimate:
    """Any claimed measure of two groups by its name; the functions beside this one are the most asked for.

    Args:
        measure: as `evenhand list measures` has it, e.g. ``"calibration slope"``; at a quantile ``"disparate
            impact"``.
        y_pred: (n,) numbers, or class labels with `labels`. group: (n,) labels. y_true: (n,) outcomes.
        q: in (0, 1), for measures at a quantile. positive: the favourable class. labels: predictions are
            class labels; by default where they look like it and the measure is one of labels. sides: who
            against whom, see `Sides`.

    Raises:
        UsageError: `unknown-measure`, unknown groups, q outside (0, 1). DataError: text for numbers, one
            group.

    >>> compare("MAE", [1, 2, 3, 5], y_true=[0, 0, 0, 0], group=list("FFMM"), reference="M").value
    0.375
    """
    if labels is None:
        labels = measure in {row.name for row in classification.ROWS} and _are_classes(y_pred, positive)
    if labels:
        return _labels(measure, y_pred, y_true, group, positive=positive, **sides)
    return _numbers(measure, y_pred, y_true, group, q=q, **sides)


def disparate_impact(
    y_pred: Column,
    *,
    group: Column,
    q: float | None = None,
    positive: Positive = None,
    **sides: Unpack[Sides],
) -> Estimate:
    """Selection rate of a group ÷ that of the reference. Of numbers those are selected who are strictly above
    quantile q of all predictions; of class labels those given the favourable class.

    Args:
        y_pred: (n,) numbers or class labels. group: (n,) labels. q: in (0, 1), of numbers; 0.8 by default.
            positive: the favourable class, of labels. sides: who against whom, see `Sides`.

    Returns:
        an Estimate: value, Katz's log interval (Miettinen–Nurminen where a rate is 0), Fisher's p.

    Raises:
        UsageError, DataError: unknown or missing groups, q outside (0, 1) or of class labels, no favourable
            class.

    Source: 29 CFR 1607.4 D for the ratio; Katz et al. (1978) for its interval.

    >>> e = disparate_impact([1, 2, 3, 4, 5, 6, 7, 8], group=list("FMFMFMFM"), reference="M", q=0.5)
    >>> e.value, e.n_group, e.n_reference
    (1.0, 4, 4)
    >>> disparate_impact([1, 0, 0, 1, 1, 0], group=list("FFFMMM"), reference="M").value
    0.5
    """
    if _are_classes(y_pred, positive, q):
        return _labels("disparate impact", y_pred, None, group, positive=positive, **sides)
    at = 0.8 if q is None else q
    return _numbers(f"disparate impact at q={at:g}", y_pred, None, group, q=at, **sides)


def selection_rate_difference(
    y_pred: Column,
    *,
    group: Column,
    q: float | None = None,
    positive: Positive = None,
    **sides: Unpack[Sides],
) -> Estimate:
    """Selection rate of a group − that of the reference, Newcombe's interval, Fisher's p; arguments as
    `disparate_impact`.

    Source: Newcombe (1998), method 10.

    >>> selection_rate_difference([1, 2, 3, 4], group=list("FMFM"), reference="M", q=0.5).value
    0.0
    """
    if _are_classes(y_pred, positive, q):
        return _labels("selection rate", y_pred, None, group, positive=positive, **sides)
    at = 0.8 if q is None else q
    return _numbers(f"selection rate above q={at:g}", y_pred, None, group, q=at, **sides)


def average_score_difference(y_pred: Column, *, group: Column, **sides: Unpack[Sides]) -> Estimate:
    """Mean prediction of a group − that of the reference, in units of the prediction; Welch's t.

    >>> average_score_difference([1, 2, 3, 5], group=list("FFMM"), reference="M").value
    -2.5
    """
    return _numbers("average score", y_pred, None, group, **sides)


def standardised_mean_difference(y_pred: Column, *, group: Column, **sides: Unpack[Sides]) -> Estimate:
    """Cohen's d, variance pooled with ddof 1; p is Welch's.

    Source: Cohen (1988).

    >>> standardised_mean_difference([1, 2, 3, 2, 3, 4], group=list("FFFMMM"), reference="M").value
    -1.0
    """
    return _numbers("standardised mean difference", y_pred, None, group, **sides)


def adverse_impact_auc(y_pred: Column, *, group: Column, **sides: Unpack[Sides]) -> Estimate:
    """P(ŷ of the group > ŷ of the reference) + ½P(=), in [0, 1]; DeLong's interval, null ½.

    Source: DeLong, DeLong & Clarke-Pearson (1988).

    >>> adverse_impact_auc([1, 2, 3, 2, 3, 4], group=list("FFFMMM"), reference="M").value.__round__(4)
    0.2222
    """
    return _numbers("adverse-impact AUC", y_pred, None, group, **sides)


def rmse_ratio(y_true: Column, y_pred: Column, *, group: Column, **sides: Unpack[Sides]) -> Estimate:
    """RMSE of a group ÷ that of the reference, interval on the log scale by the delta method.

    >>> rmse_ratio([0, 0, 0, 0], [2, -2, 1, -1], group=list("FFMM"), reference="M").value.__round__(6)
    2.0
    """
    return _numbers("RMSE", y_pred, y_true, group, **sides)


def mae_ratio(y_true: Column, y_pred: Column, *, group: Column, **sides: Unpack[Sides]) -> Estimate:
    """MAE of a group ÷ that of the reference, interval on the log scale by the delta method.

    >>> mae_ratio([0, 0, 0, 0], [2, -4, 1, -2], group=list("FFMM"), reference="M").value.__round__(6)
    2.0
    """
    return _numbers("MAE", y_pred, y_true, group, **sides)


def mean_residual_difference(
    y_true: Column, y_pred: Column, *, group: Column, **sides: Unpack[Sides]
) -> Estimate:
    """E[ŷ − y] of a group − that of the reference: above 0 the group is over-predicted in comparison.
    Welch's t.

    >>> mean_residual_difference([0, 0, 0, 0], [1, 2, 3, 5], group=list("FFMM"), reference="M").value
    -2.5
    """
    return _numbers("mean residual", y_pred, y_true, group, **sides)


def concurrent_validity_difference(
    y_true: Column, y_pred: Column, *, group: Column, **sides: Unpack[Sides]
) -> Estimate:
    """Pearson's r(y, ŷ) of a group − that of the reference; Fisher's z test, Zou's interval.

    >>> y, p = [1, 2, 3, 4, 5, 1, 2, 3, 4, 5], [1, 3, 2, 4, 5, 1, 3, 2, 4, 5]
    >>> concurrent_validity_difference(y, p, group=list("FFFFFMMMMM"), reference="M").value
    0.0
    """
    return _numbers("concurrent validity", y_pred, y_true, group, **sides)


def selection_rate_ratio(
    y_pred: Column, *, group: Column, positive: Positive = None, **sides: Unpack[Sides]
) -> Estimate:
    """Disparate impact of class labels: P(ŷ = positive) of a group ÷ that of the reference.

    Raises:
        DataError: `not-labels` for continuous predictions.

    >>> selection_rate_ratio([1, 0, 0, 1, 1, 0], group=list("FFFMMM"), reference="M").value
    0.5
    """
    return _labels("disparate impact", y_pred, None, group, positive=positive, **sides)


def equal_opportunity_difference(
    y_true: Column, y_pred: Column, *, group: Column, positive: Positive = None, **sides: Unpack[Sides]
) -> Estimate:
    """True positive rate of a group − that of the reference, Newcombe's interval.

    Source: Hardt, Price & Srebro (2016), Equality of opportunity in supervised learning.

    >>> equal_opportunity_difference(
    ...     [1, 1, 0, 1, 1, 0], [1, 0, 0, 1, 1, 0], group=list("FFFMMM"), reference="M"
    ... ).value
    -0.5
    """
    return _labels("true positive rate", y_pred, y_true, group, positive=positive, **sides)


def equalised_odds_difference(
    y_true: Column, y_pred: Column, *, group: Column, positive: Positive = None, **sides: Unpack[Sides]
) -> Estimate:
    """The larger of the TPR and FPR gaps, Bonferroni for two.

    Source: Hardt, Price & Srebro (2016), Equality of opportunity in supervised learning.

    >>> y, p = (
    ...     [1, 1, 1, 1, 1, 0, 0, 0, 0, 0] * 2,
    ...     [1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0],
    ... )
    >>> round(equalised_odds_difference(y, p, group=["F"] * 10 + ["M"] * 10, reference="M").value, 6)
    0.6
    """
    return _labels("equalised odds", y_pred, y_true, group, positive=positive, **sides)


def _are_classes(y_pred: Column, positive: Positive, q: float | None = None) -> bool:
    """Whether predictions are class labels: a favourable class is named, or they look like it.

    Raises:
        UsageError: `bad-quantile` where labels are to be cut at a quantile.
    """
    column = read_table({"y_pred": np.asarray(y_pred).reshape(-1)}).column("y_pred")
    values = distinct([column], MOST_LABELS)
    two = values is not None and len(values) <= 2 and are_labels(values, values)
    found = positive is not None or (values is not None and (two or are_labels(values, None)))
    if found and q is not None:
        raise UsageError(
            "bad-quantile", "class labels are not cut at a quantile", given=q, expected="positive=, a label"
        )
    return found


def _numbers(
    measure: str,
    y_pred: Column,
    y_true: Column | None,
    group: Column,
    *,
    q: float = 0.8,
    **sides: Unpack[Sides],
) -> Estimate:
    if not 0 < q < 1:
        raise UsageError(
            "bad-quantile", "a quantile lies strictly between 0 and 1", given=q, expected="e.g. 0.8"
        )
    rows = _rows(y_pred, y_true, group, sides.get("weight"), labels=False)
    made = prepare(rows, [q])
    cells = cells_of(made, grouping("group", rows.groups["group"]))
    claims = number_claims(made.scale, [q], Declared(), everyone(cells))
    return _pair(claims, measure, cells, sides)


def _labels(
    measure: str,
    y_pred: Column,
    y_true: Column | None,
    group: Column,
    *,
    positive: Positive = None,
    **sides: Unpack[Sides],
) -> Estimate:
    rows = _rows(y_pred, y_true, group, sides.get("weight"), labels=True)
    check_labels(rows.labels["y_pred"].levels)
    true = rows.labels.get("y_true")
    words = reconciled(rows.labels["y_pred"].levels, None if true is None else true.levels)
    columns = class_columns(rows, words.favourable(positive), scored=False)
    cells = class_cells(columns, rows.weight, grouping("group", rows.groups["group"]))
    return _pair(label_claims(cells[0].moments.names, Declared()), measure, cells, sides)


def _rows(
    y_pred: Column, y_true: Column | None, group: Column, weight: Column | None, *, labels: bool
) -> Rows:
    truth, weights = (None if v is None else np.asarray(v) for v in (y_true, weight))
    roles = Roles(groups={"group": group}, y_pred=np.asarray(y_pred), y_true=truth, weight=weights)
    table, named = gather(None, roles)
    return rows_of(table, named, missing="drop", analysis=Analysis(), labels=labels)


def _pair(claims: Sequence[Claim[C]], measure: str, cells: Sequence[C], sides: Sides) -> Estimate:
    of, reference = sides.get("of"), sides.get("reference")
    if len(cells) < 2:
        raise DataError("one-group", "two groups are needed", given=", ".join(c.label.level for c in cells))
    named = None if of is None else side_named(cells, str(of))
    if reference is not None:
        other = side_named(cells, str(reference))
    else:
        other = max((c for c in cells if c is not named), key=lambda c: c.moments.weight)
    rest = [c for c in cells if c is not other]
    if named is None and len(rest) > 1:
        raise UsageError(
            "which-group",
            "there are more than two groups",
            expected="of=, the group to hold against the reference",
            available=[c.label.level for c in rest],
            hint="audit_predictions compares all of them",
        )
    claim = kept([c for c in claims if c.given is None], [measure])[0]
    return evidence_of(claim, named or rest[0], other, level=sides.get("level", 0.95)).estimate

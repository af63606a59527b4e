"""One measure of two groups as one call: arrays in, an Estimate with its interval out. Found as `evenhand.measures.…`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from evenhand._analysis import Analysis
from evenhand._errors import DataError, UsageError
from evenhand._model import Estimate
from evenhand.audits.predictions.cells import Cell, cells_of, prepare
from evenhand.audits.predictions.claims import Claim, evidence_of, regression_claims
from evenhand.audits.predictions.class_cells import class_cells, class_columns, levels_of, positive_label
from evenhand.audits.predictions.classification import class_claims
from evenhand.audits.predictions.rows import Rows, gather, rows_of


def disparate_impact(
    y_pred: Any,
    *,
    group: Any,
    reference: Any = None,
    of: Any = None,
    q: float = 0.8,
    weight: Any = None,
    level: float = 0.95,
) -> Estimate:
    """Selection rate of a group ÷ that of the reference; selected is strictly above quantile q of all predictions.

    Args:
        y_pred: (n,) numbers. group: (n,) labels. reference: the label of the other side, the largest group by default.
        of: the group, where there are more than two. q: in (0, 1). weight: (n,) case weights. level: of the interval.

    Returns:
        an Estimate: value, Katz's log interval (Miettinen–Nurminen where a rate is 0), Fisher's p.

    Raises:
        UsageError, DataError: unknown or missing groups, text for numbers, q outside (0, 1).

    Source: 29 CFR 1607.4 D for the ratio; Katz et al. (1978) for its interval.

    >>> e = disparate_impact([1, 2, 3, 4, 5, 6, 7, 8], group=list("FMFMFMFM"), reference="M", q=0.5)
    >>> e.value, e.n_group, e.n_reference
    (1.0, 4, 4)
    """
    return _numeric(f"disparate impact at q={q:g}", y_pred, None, group, reference, of, weight, level, q=q)


def selection_rate_difference(
    y_pred: Any,
    *,
    group: Any,
    reference: Any = None,
    of: Any = None,
    q: float = 0.8,
    weight: Any = None,
    level: float = 0.95,
) -> Estimate:
    """Selection rate of a group − that of the reference, Newcombe's interval, Fisher's p; arguments as `disparate_impact`.

    Source: Newcombe (1998), method 10.

    >>> selection_rate_difference([1, 2, 3, 4], group=list("FMFM"), reference="M", q=0.5).value
    0.0
    """
    return _numeric(f"selection rate above q={q:g}", y_pred, None, group, reference, of, weight, level, q=q)


def average_score_difference(
    y_pred: Any, *, group: Any, reference: Any = None, of: Any = None, weight: Any = None, level: float = 0.95
) -> Estimate:
    """Mean prediction of a group − that of the reference, in units of the prediction; Welch's t.

    >>> average_score_difference([1, 2, 3, 5], group=list("FFMM"), reference="M").value
    -2.5
    """
    return _numeric("average score", y_pred, None, group, reference, of, weight, level)


def standardised_mean_difference(
    y_pred: Any, *, group: Any, reference: Any = None, of: Any = None, weight: Any = None, level: float = 0.95
) -> Estimate:
    """Cohen's d, variance pooled with ddof 1; p is Welch's.

    Source: Cohen (1988).

    >>> standardised_mean_difference([1, 2, 3, 2, 3, 4], group=list("FFFMMM"), reference="M").value
    -1.0
    """
    return _numeric("standardised mean difference", y_pred, None, group, reference, of, weight, level)


def adverse_impact_auc(
    y_pred: Any, *, group: Any, reference: Any = None, of: Any = None, weight: Any = None, level: float = 0.95
) -> Estimate:
    """P(ŷ of the group > ŷ of the reference) + ½P(=), in [0, 1]; DeLong's interval, null ½.

    Source: DeLong, DeLong & Clarke-Pearson (1988).

    >>> adverse_impact_auc([1, 2, 3, 2, 3, 4], group=list("FFFMMM"), reference="M").value.__round__(4)
    0.2222
    """
    return _numeric("adverse-impact AUC", y_pred, None, group, reference, of, weight, level)


def rmse_ratio(
    y_true: Any,
    y_pred: Any,
    *,
    group: Any,
    reference: Any = None,
    of: Any = None,
    weight: Any = None,
    level: float = 0.95,
) -> Estimate:
    """RMSE of a group ÷ that of the reference, interval on the log scale by the delta method.

    >>> rmse_ratio([0, 0, 0, 0], [2, -2, 1, -1], group=list("FFMM"), reference="M").value.__round__(6)
    2.0
    """
    return _numeric("RMSE", y_pred, y_true, group, reference, of, weight, level)


def mae_ratio(
    y_true: Any,
    y_pred: Any,
    *,
    group: Any,
    reference: Any = None,
    of: Any = None,
    weight: Any = None,
    level: float = 0.95,
) -> Estimate:
    """MAE of a group ÷ that of the reference, interval on the log scale by the delta method.

    >>> mae_ratio([0, 0, 0, 0], [2, -4, 1, -2], group=list("FFMM"), reference="M").value.__round__(6)
    2.0
    """
    return _numeric("MAE", y_pred, y_true, group, reference, of, weight, level)


def mean_residual_difference(
    y_true: Any,
    y_pred: Any,
    *,
    group: Any,
    reference: Any = None,
    of: Any = None,
    weight: Any = None,
    level: float = 0.95,
) -> Estimate:
    """E[ŷ − y] of a group − that of the reference: above 0 the group is over-predicted in comparison. Welch's t.

    >>> mean_residual_difference([0, 0, 0, 0], [1, 2, 3, 5], group=list("FFMM"), reference="M").value
    -2.5
    """
    return _numeric("mean residual", y_pred, y_true, group, reference, of, weight, level)


def concurrent_validity_difference(
    y_true: Any,
    y_pred: Any,
    *,
    group: Any,
    reference: Any = None,
    of: Any = None,
    weight: Any = None,
    level: float = 0.95,
) -> Estimate:
    """Pearson's r(y, ŷ) of a group − that of the reference; Fisher's z test, Zou's interval.

    >>> y, p = [1, 2, 3, 4, 5, 1, 2, 3, 4, 5], [1, 3, 2, 4, 5, 1, 3, 2, 4, 5]
    >>> concurrent_validity_difference(y, p, group=list("FFFFFMMMMM"), reference="M").value
    0.0
    """
    return _numeric("concurrent validity", y_pred, y_true, group, reference, of, weight, level)


def selection_rate_ratio(
    y_pred: Any,
    *,
    group: Any,
    reference: Any = None,
    of: Any = None,
    positive: Any = None,
    weight: Any = None,
    level: float = 0.95,
) -> Estimate:
    """Disparate impact of class labels: P(ŷ = positive) of a group ÷ that of the reference.

    Raises:
        DataError: `not-labels` for continuous predictions.

    >>> selection_rate_ratio([1, 0, 0, 1, 1, 0], group=list("FFFMMM"), reference="M").value
    0.5
    """
    return _labelled("disparate impact", y_pred, None, group, reference, of, positive, weight, level)


def equal_opportunity_difference(
    y_true: Any, y_pred: Any, *, group: Any, reference: Any = None, of: Any = None, positive: Any = None, weight: Any = None,
    level: float = 0.95,
) -> Estimate:  # fmt: skip
    """True positive rate of a group − that of the reference, Newcombe's interval.

    Source: Hardt, Price & Srebro (2016), Equality of opportunity in supervised learning.

    >>> equal_opportunity_difference(
    ...     [1, 1, 0, 1, 1, 0], [1, 0, 0, 1, 1, 0], group=list("FFFMMM"), reference="M"
    ... ).value
    -0.5
    """
    return _labelled("true positive rate", y_pred, y_true, group, reference, of, positive, weight, level)


def equalised_odds_difference(
    y_true: Any, y_pred: Any, *, group: Any, reference: Any = None, of: Any = None, positive: Any = None, weight: Any = None,
    level: float = 0.95,
) -> Estimate:  # fmt: skip
    """The larger of the TPR and FPR gaps, Bonferroni for two.

    Source: Hardt, Price & Srebro (2016), Equality of opportunity in supervised learning.

    >>> equalised_odds_difference(
    ...     [1, 1, 0, 1, 1, 0], [1, 0, 0, 1, 1, 0], group=list("FFFMMM"), reference="M"
    ... ).value
    -0.5
    """
    return _labelled("equalised odds", y_pred, y_true, group, reference, of, positive, weight, level)


def _numeric(
    measure: str,
    y_pred: Any,
    y_true: Any,
    group: Any,
    reference: Any,
    of: Any,
    weight: Any,
    level: float,
    *,
    q: float = 0.8,
) -> Estimate:
    if not 0 < q < 1:
        raise UsageError(
            "bad-quantile", "a quantile lies strictly between 0 and 1", given=q, expected="e.g. 0.8"
        )
    rows = _rows(y_pred, y_true, group, weight, labels=False)
    made = prepare(rows, [q])
    claim = _named(regression_claims(made.frame, [q]), measure)
    return _pair(claim, cells_of(made, rows.groups["group"], "group"), reference, of, level)


def _labelled(
    measure: str,
    y_pred: Any,
    y_true: Any,
    group: Any,
    reference: Any,
    of: Any,
    positive: Any,
    weight: Any,
    level: float,
) -> Estimate:
    rows = _rows(y_pred, y_true, group, weight, labels=True)
    if len(rows.labels["y_pred"].levels) > 50:
        raise DataError(
            "not-labels",
            f"the predictions have {len(rows.labels['y_pred'].levels)} distinct values: too many to be class labels",
            expected="class labels",
            hint="turn scores into labels at a threshold, or use disparate_impact(…, q=…)",
        )
    columns = class_columns(rows, positive_label(levels_of(rows.labels), positive), scored=False)
    claim = _named(class_claims(columns), measure)
    return _pair(
        claim, class_cells(columns, rows.weight, rows.groups["group"], "group"), reference, of, level
    )


def _rows(y_pred: Any, y_true: Any, group: Any, weight: Any, *, labels: bool) -> Rows:
    truth, weights = (None if v is None else np.asarray(v) for v in (y_true, weight))
    table, named = gather(
        None, groups={"group": group}, y_pred=np.asarray(y_pred), y_true=truth, weight=weights
    )
    return rows_of(table, named, missing="drop", analysis=Analysis(), labels=labels)


def _named(claims: Sequence[Claim], measure: str) -> Claim:
    return next(c for c in claims if c.measure == measure and c.given is None)


def _pair(claim: Claim, cells: Sequence[Cell], reference: Any, of: Any, level: float) -> Estimate:
    by_name = {c.label.partition("=")[2]: c for c in cells}
    if len(by_name) < 2:
        raise DataError("one-group", "two groups are needed", given=", ".join(by_name))
    for name in (reference, of):
        if name is not None and str(name) not in by_name:
            raise UsageError("unknown-group", "no such group", given=name, available=by_name)
    other = by_name[str(reference)] if reference is not None else max(
        (c for c in cells if str(of) != c.label.partition("=")[2]), key=lambda c: c.moments.weight
    )  # fmt: skip
    rest = [c for c in cells if c is not other]
    if of is None and len(rest) > 1:
        raise UsageError(
            "which-group", "there are more than two groups", expected="of=, the group to hold against the reference",
            available=[c.label.partition("=")[2] for c in rest], hint="audit_predictions compares all of them",
        )  # fmt: skip
    chosen = by_name[str(of)] if of is not None else rest[0]
    return evidence_of(claim, chosen, other, level=level).estimate

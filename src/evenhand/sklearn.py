"""A disparity as a scikit-learn scorer, so that a search can trade accuracy against it. Needs no
scikit-learn itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from evenhand._errors import UsageError
from evenhand._model import Estimate
from evenhand.measures import DIRECT

__all__ = ["disparity_score", "make_scorer"]


def make_scorer(
    measure: str | Callable[..., Estimate],
    *,
    group: Any,
    reference: Any = None,
    of: Any = None,
    weight: float = 1.0,
    base: Callable[[Any, Any, Any], float] | None = None,
    **options: Any,
) -> Callable[[Any, Any, Any], float]:
    """A scorer ``(estimator, X, y) -> float`` that is largest where the groups are treated alike.

    Args:
        measure: a name of `evenhand.measures.DIRECT`, e.g. ``"disparate_impact"``, or a function like them.
        group: a column of X (name, or position for arrays), or a function of X that gives the labels. The
            column may be one that the estimator's pipeline drops.
        reference, of, options: passed to the measure, e.g. ``q=0.8``.
        weight: of the disparity. base: a scorer to add, e.g. ``get_scorer("r2")``: base − weight·disparity.

    Returns:
        a callable for ``scoring=``. The disparity is |ln ratio| for ratios, |AUC − ½| for the AUC, else
        |value|. Where it is undefined (a fold without a group) the score is NaN, which a search reports and
        ranks last.

    Raises:
        UsageError: an unknown measure, or a group that X does not have.

    >>> class Mean:
    ...     def predict(self, X):
    ...         return X[:, 0]
    >>> X = np.array([[1.0, 0], [2.0, 0], [3.0, 0], [1.0, 1], [2.0, 1], [3.0, 1]])
    >>> scorer = make_scorer("average_score_difference", group=1, reference="0")
    >>> scorer(Mean(), X, None)
    -0.0
    """
    alike = disparity_score(measure, reference=reference, of=of, **options)

    def score(estimator: Any, X: Any, y: Any) -> float:
        gap = weight * alike(y, estimator.predict(X), group=_labels(X, group))
        return gap if base is None else float(base(estimator, X, y)) + gap

    return score


def disparity_score(
    measure: str | Callable[..., Estimate], *, reference: Any = None, of: Any = None, **options: Any
) -> Callable[..., float]:
    """A score ``(y_true, y_pred, *, group) -> float``, at most 0, for scikit-learn's own `make_scorer`.

    With metadata routing the groups are an argument of `fit`, and need be no column of X:
    ``make_scorer(disparity_score("disparate_impact")).set_score_request(group=True)``.

    Args:
        measure, reference, of, options: as in `make_scorer`.

    Returns:
        minus the disparity as `make_scorer` counts it; NaN where it is undefined.

    Raises:
        UsageError: an unknown measure.

    >>> score = disparity_score("average_score_difference", reference="b")
    >>> score(None, [1.0, 2.0, 3.0, 1.0, 2.0, 6.0], group=list("aaabbb"))
    -1.0
    """
    function = _function(measure)
    takes_truth = "y_true" in getattr(function, "__annotations__", {})

    def score(y_true: Any, y_pred: Any, *, group: Any) -> float:
        data = (y_true, y_pred) if takes_truth else (y_pred,)
        found = function(*data, group=group, reference=reference, of=of, **options)
        return float("nan") if found.value is None else -_disparity(found)

    return score


def _function(measure: str | Callable[..., Estimate]) -> Callable[..., Estimate]:
    if callable(measure):
        return measure
    if measure not in DIRECT:
        raise UsageError("unknown-measure", "no such measure", given=measure, available=DIRECT)
    import evenhand.measures as measures

    found: Callable[..., Estimate] = getattr(measures, measure)
    return found


def _labels(X: Any, group: Any) -> Any:
    if callable(group):
        return np.asarray(group(X))
    if hasattr(X, "columns"):
        names = [str(c) for c in X.columns]
        if str(group) not in names:
            raise UsageError("unknown-group", "X has no such column", given=group, available=names)
        return np.asarray(X[group])
    matrix = np.asarray(X)
    if not isinstance(group, int) or not 0 <= group < matrix.shape[1]:
        raise UsageError(
            "unknown-group",
            "X is an array, so the group is a position",
            given=group,
            expected=f"0 to {matrix.shape[1] - 1}",
        )
    return matrix[:, group]


def _disparity(found: Estimate) -> float:
    value = float(found.value or 0.0)
    if found.contrast == "ratio":
        return abs(float(np.log(value))) if value > 0 else float("inf")
    return abs(value - 0.5) if found.contrast == "AUC" else abs(value)

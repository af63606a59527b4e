"""Areas under the ROC curve with DeLong's variance, by sorting: n log n, ties and case weights included."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from evenhand._errors import UsageError
from evenhand._model import FloatArray
from evenhand.stats.interval import Inference, bounds, check_level, from_standard_error


@dataclass(frozen=True, kw_only=True, slots=True)
class Placements:
    """An AUC and its structural components (DeLong 1988).

    Args:
        auc: P(positive > negative) + ½P(=).
        positive: (m,) V10, the weighted share of negatives below each positive.
        negative: (n,) V01, the weighted share of positives above each negative.
        weight_positive, weight_negative: shares that sum to 1.
    """

    auc: float
    positive: FloatArray
    negative: FloatArray
    weight_positive: FloatArray
    weight_negative: FloatArray

    def variance(self) -> float:
        """Σw²(V10 − AUC)²·m/(m−1) + the same over V01; DeLong's S₁₀/m + S₀₁/n for equal weights."""
        parts = 0.0
        for v, w in ((self.positive, self.weight_positive), (self.negative, self.weight_negative)):
            n = len(v)
            parts += float(np.sum((w * (v - self.auc)) ** 2)) * n / (n - 1)
        return parts


def _below(x: FloatArray, other: FloatArray, weight: FloatArray) -> FloatArray:
    """Weighted share of `other` below each x, ties counted half."""
    order = np.argsort(other, kind="stable")
    ordered = other[order]
    cumulated = np.concatenate([[0.0], np.cumsum(weight[order])])
    left = cumulated[np.searchsorted(ordered, x, side="left")]
    right = cumulated[np.searchsorted(ordered, x, side="right")]
    return np.asarray((left + right) / 2 / cumulated[-1])


def placements(
    positive: npt.ArrayLike,
    negative: npt.ArrayLike,
    *,
    weight_positive: npt.ArrayLike | None = None,
    weight_negative: npt.ArrayLike | None = None,
) -> Placements | None:
    """The Mann–Whitney AUC of two samples with its structural components; None where a sample is empty.

    Values that are not finite are dropped with their weights.

    Source: DeLong, DeLong & Clarke-Pearson (1988); fast form after Sun & Xu (2014).

    >>> placements([2.0, 3.0], [1.0, 2.0]).auc
    0.875
    """
    samples = []
    for x, w in ((positive, weight_positive), (negative, weight_negative)):
        values = np.asarray(x, dtype=float)
        weights = np.ones(len(values)) if w is None else np.asarray(w, dtype=float)
        if len(weights) != len(values):
            raise UsageError(
                "unequal-lengths", "weights of another length", given=(len(values), len(weights))
            )
        keep = np.isfinite(values) & (weights > 0)
        samples.append((values[keep], weights[keep]))
    (p, wp), (q, wq) = samples
    if not (len(p) and len(q)):
        return None
    above = _below(p, q, wq)
    share_p, share_q = wp / wp.sum(), wq / wq.sum()
    return Placements(
        auc=float(np.sum(share_p * above)),
        positive=above,
        negative=1.0 - _below(q, p, wp),
        weight_positive=share_p,
        weight_negative=share_q,
    )


def auc(
    positive: npt.ArrayLike,
    negative: npt.ArrayLike,
    *,
    weight_positive: npt.ArrayLike | None = None,
    weight_negative: npt.ArrayLike | None = None,
    level: float = 0.95,
) -> Inference:
    """P(positive > negative) + ½P(=) with DeLong's interval on the logit scale; null value ½.

    Args:
        positive, negative: scores of the two classes (or of two groups). Weights as in `placements`.

    Returns:
        value in [0, 1], se on that scale, p against ½. At 0 or 1 no variance can be estimated: the interval
        is then Wilson's for min(m, n) trials, and no p-value.

    Source: DeLong et al. (1988); logit interval after Pepe (2003), section 5.2.

    >>> i = auc([3.0, 4, 5, 6, 2], [1.0, 2, 3, 0, 4])
    >>> i.value, round(i.se, 4), i.low < 0.82 < i.high
    (0.82, 0.1371, True)
    """
    check_level(level)
    found = placements(positive, negative, weight_positive=weight_positive, weight_negative=weight_negative)
    if found is None:
        return Inference(level=level, method="DeLong", why_not="one of the two classes has no score")
    m, n = len(found.positive), len(found.negative)
    detail = {"n_positive": m, "n_negative": n}
    if min(m, n) < 2:
        why = "one of the two classes has one score"
        return Inference(value=found.auc, level=level, method="DeLong", why_not=why, detail=detail)
    return on_logits(
        found.auc,
        float(np.sqrt(found.variance())),
        None,
        level=level,
        trials=min(m, n),
        method="DeLong",
        detail=detail,
    )


def on_logits(
    value: float,
    se: float,
    df: float | None,
    *,
    level: float,
    trials: int,
    method: str,
    detail: Mapping[str, Any],
) -> Inference:
    """An AUC with its interval on the logit scale, p against ½.

    Args:
        trials: of Wilson's interval, where all placements are equal and the standard error is 0.
    """
    if se <= 1e-15 or not 0.0 < value < 1.0:
        from evenhand.stats.rates import wilson

        edge = wilson(round(value * trials), trials, level=level)
        why = "all placements are equal: DeLong's variance is 0, the interval is Wilson's"
        return edge.with_(value=value, p_value=None, method="Wilson", why_not=why, detail=detail)
    plain = from_standard_error(value, se, df=df, level=level, null=0.5)
    logit = np.log(value / (1 - value))
    low, high = bounds(float(logit), se / (value * (1 - value)), df=df, level=level)
    return plain.with_(
        low=float(expit(low)),
        high=float(expit(high)),
        method=f"{method}, interval on the logit scale",
        detail=detail,
    )


def correlation(x: npt.ArrayLike, y: npt.ArrayLike, *, level: float = 0.95) -> Inference:
    """Pearson's r with Fisher's z interval: artanh r ± z/√(n − 3); p from t = r√((n−2)/(1−r²)).

    Source: Fisher (1921).

    >>> i = correlation([1.0, 2, 3, 4, 5, 6], [1.0, 3, 2, 5, 4, 6])
    >>> round(i.value, 4), round(i.low, 3), round(i.high, 3)
    (0.8857, 0.264, 0.987)
    """
    check_level(level)
    a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    keep = np.isfinite(a) & np.isfinite(b)
    a, b = a[keep], b[keep]
    n = len(a)
    method = "Pearson's r, Fisher's z interval"
    if n < 4 or np.ptp(a) == 0 or np.ptp(b) == 0:
        why = f"{n} pairs; at least 4 are needed" if n < 4 else "one of the two columns does not vary"
        return Inference(level=level, method=method, why_not=why)
    r = float(np.clip(np.corrcoef(a, b)[0, 1], -1, 1))
    if abs(r) >= 1 - 1e-15:
        return Inference(value=r, level=level, method=method, why_not="an exact line: no sampling variation")
    se = float(1 / np.sqrt(n - 3))
    low, high = bounds(float(np.arctanh(r)), se, level=level)
    p = from_standard_error(r, float(np.sqrt((1 - r**2) / (n - 2))), df=float(n - 2)).p_value
    return Inference(
        value=r,
        low=float(np.tanh(low)),
        high=float(np.tanh(high)),
        p_value=p,
        se=se,
        level=level,
        method=method,
        detail={"n": n, "scale_of_se": "artanh r"},
    )


def correlation_difference(first: Inference, second: Inference, *, level: float = 0.95) -> Inference:
    """Difference of two independent correlations: test on the z scale, interval after Zou (2007).

    Args:
        first, second: results of `correlation` at the same level as `level`.

    >>> rng = np.random.default_rng(0)
    >>> one, two = (correlation(rng.normal(size=50), rng.normal(size=50)) for _ in "ab")
    >>> i = correlation_difference(one, two)
    >>> i.low < i.value < i.high
    True
    """
    method = "difference of correlations (Fisher's z test, Zou's interval)"
    parts = (first.value, first.low, first.high, first.se, second.value, second.low, second.high, second.se)
    if any(v is None for v in parts):
        why = first.why_not or second.why_not
        return Inference(level=level, method=method, why_not=why)
    r1, l1, u1, s1, r2, l2, u2, s2 = (float(v) for v in parts if v is not None)
    on = from_standard_error(float(np.arctanh(r1) - np.arctanh(r2)), float(np.hypot(s1, s2)), level=level)
    return Inference(
        value=r1 - r2,
        low=r1 - r2 - float(np.hypot(r1 - l1, u2 - r2)),
        high=r1 - r2 + float(np.hypot(u1 - r1, r2 - l2)),
        p_value=on.p_value,
        level=level,
        method=method,
    )

"""The area under the ROC curve where rows belong to units: texts and names that come again and again.

An AUC is, to first order, a sum of its structural components: V10 of each positive (the share of negatives
below it) and V01 of each negative (the share of positives above it). Summed by unit they are what DeLong's
variance counts where units, not rows, are drawn (Obuchowski 1997).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from evenhand._errors import UsageError
from evenhand._model import BoolArray
from evenhand.stats.auc import Placements, auc, on_logits, placements
from evenhand.stats.crossed import spread
from evenhand.stats.crossing import Codes, prepare
from evenhand.stats.interval import Inference, check_level


def obuchowski(found: Placements, positive: npt.ArrayLike, negative: npt.ArrayLike) -> float:
    """Variance of an AUC whose rows belong to one kind of units.

    With X_i, Y_i the sums of V10 − AUC and V01 − AUC over the m positives and n negatives of unit i, I units,
    I₁ of them with a positive and I₀ with a negative:
    V = I₁/(I₁−1)·ΣX²/m² + I₀/(I₀−1)·ΣY²/n² + 2·I/(I−1)·ΣXY/(mn).

    Args:
        found: of `placements`. positive: (m,) unit of each positive. negative: (n,) of each negative.

    Source: Obuchowski (1997), Nonparametric analysis of clustered ROC curve data, Biometrics 53:567, eq. 2.

    With a unit for each row it is DeLong's:

    >>> found = placements([3.0, 4, 5, 6, 2], [1.0, 2, 3, 0, 4])
    >>> round(obuchowski(found, range(5), range(5, 10)) - found.variance(), 12)
    0.0
    """
    one, two = np.asarray(positive), np.asarray(negative)
    levels, codes = np.unique(np.concatenate([one, two]), return_inverse=True)
    count = len(levels)
    sums = [
        np.bincount(own, share * (v - found.auc), count)
        for own, share, v in (
            (codes[: len(one)], found.weight_positive, found.positive),
            (codes[len(one) :], found.weight_negative, found.negative),
        )
    ]
    sizes = [len(np.unique(one)), len(np.unique(two))]
    if min(sizes) < 2:
        return float("nan")
    parts = sum(float(np.sum(s**2)) * k / (k - 1) for s, k in zip(sums, sizes, strict=True))
    return max(0.0, parts + 2 * float(np.sum(sums[0] * sums[1])) * count / (count - 1))


def clustered_auc(
    score: npt.ArrayLike,
    *,
    positive: npt.ArrayLike,
    negative: npt.ArrayLike,
    units: Mapping[str, Codes],
    level: float = 0.95,
) -> Inference:
    """P(positive > negative) + ½P(=), with an interval that generalises over units; null value ½.

    Over one kind of units the variance is Obuchowski's, over several it is that of a difference of means of
    the structural components (`evenhand.stats.crossed`), whose degrees of freedom count units in either case.
    The interval is Student's t on the logit scale.

    Args:
        score: (n,) scores. positive, negative: (n,) masks of the two classes, disjoint.
        units: name → (n,) integer codes, −1 for missing; none for DeLong's interval over rows.
        level: of the interval, in (0, 1).

    Returns:
        value in [0, 1]. Without an interval where a class has one unit. Where no unit differs, Wilson's
        interval for as many trials as the smaller class has units.

    Raises:
        UsageError: `unequal-lengths`, `bad-level`, and as `difference`.

    Source: Obuchowski (1997); over several kinds of units Cameron, Gelbach & Miller (2011).

    >>> text = np.repeat(np.arange(6), 4)
    >>> score = np.array([0.0, 2, 4, 3, 1, 5])[text] + 0.1 * np.tile(np.arange(4), 6)
    >>> i = clustered_auc(score, positive=text > 2, negative=text < 3, units={"text": text})
    >>> round(i.value, 3), round(i.df, 1), i.p_value < auc(score[text > 2], score[text < 3]).p_value
    (0.667, 4.0, False)
    """
    check_level(level)
    x = np.asarray(score, dtype=float)
    one, two = np.asarray(positive, dtype=bool), np.asarray(negative, dtype=bool)
    if not len(x) == len(one) == len(two):
        raise UsageError(
            "unequal-lengths", "columns of different lengths", given=(len(x), len(one), len(two))
        )
    known = np.isfinite(x)
    for codes in units.values():
        known &= np.asarray(codes) >= 0
    one, two = one & known, two & known
    found = placements(x[one], x[two])
    if found is None or not units:
        return auc(x[one], x[two], level=level)
    component = np.full(len(x), np.nan)
    component[one], component[two] = found.positive, -found.negative
    rows = prepare(component, a=one, b=two, units=units, over=tuple(units))
    method = f"DeLong, clustered by {' and '.join(units)}"
    sizes = {d.name: len(d.levels) for d in rows.dimensions}
    detail = {"n_positive": int(one.sum()), "n_negative": int(two.sum()), "units": sizes}
    if lacking := [d.name for d in rows.dimensions if d.sizes().min() < 2]:
        why = f"one of the two classes has one {lacking[0]}: nothing is sampled over {lacking[0]}s"
        return Inference(value=found.auc, level=level, method=method, why_not=why, detail=detail)
    whole, _ = spread(rows, alike=False)
    se = float(np.sqrt(whole.variance))
    if len(units) == 1:
        (codes,) = (np.asarray(c) for c in units.values())
        se = float(np.sqrt(obuchowski(found, codes[one], codes[two])))
    trials = _fewest(units, one, two)
    return on_logits(found.auc, se, whole.df, level=level, trials=trials, method=method, detail=detail)


def _fewest(units: Mapping[str, Codes], one: BoolArray, two: BoolArray) -> int:
    """Units of the scarcest kind in the smaller class."""
    return min(len(np.unique(np.asarray(codes)[rows])) for codes in units.values() for rows in (one, two))

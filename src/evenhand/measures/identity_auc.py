"""AUC measures of unintended bias towards identity subgroups, with DeLong intervals.

With D⁺, D⁻ the positive and negative examples and g the subgroup: does the subject rank the subgroup's
examples right among themselves (subgroup AUC), and against the background (BPSN, BNSP)? Is its score
distribution shifted (AEG)?
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from evenhand._errors import UsageError
from evenhand._model import FloatArray
from evenhand.stats.auc import auc
from evenhand.stats.interval import Inference


def _split(
    score: npt.ArrayLike, positive: npt.ArrayLike, member: npt.ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """(subgroup positives, subgroup negatives, background positives, background negatives)."""
    x = np.asarray(score, dtype=float)
    y, g = np.asarray(positive, dtype=bool), np.asarray(member, dtype=bool)
    if not len(x) == len(y) == len(g):
        raise UsageError("unequal-lengths", "columns of different lengths", given=(len(x), len(y), len(g)))
    return x[y & g], x[~y & g], x[y & ~g], x[~y & ~g]


def subgroup_auc(
    score: npt.ArrayLike, positive: npt.ArrayLike, member: npt.ArrayLike, *, level: float = 0.95
) -> Inference:
    """AUC(D⁺_g, D⁻_g): how well the subgroup's own examples are told apart.

    Args:
        score: (n,) higher means more likely positive. positive: (n,) true labels. member: (n,) in the
            subgroup.

    Returns:
        value in [0, 1] with DeLong's interval; why_not where a class is empty.

    Raises:
        UsageError: `unequal-lengths`.

    Source: Borkan, Dixon, Sorensen, Thain & Vasserman (2019), Nuanced metrics for measuring unintended bias,
    eq. 1.

    >>> subgroup_auc([0.1, 0.9, 0.8, 0.2], [0, 1, 1, 0], [1, 1, 0, 0]).value
    1.0
    """
    sp, sn, _, _ = _split(score, positive, member)
    return auc(sp, sn, level=level)


def bpsn_auc(
    score: npt.ArrayLike, positive: npt.ArrayLike, member: npt.ArrayLike, *, level: float = 0.95
) -> Inference:
    """Background positive, subgroup negative AUC(D⁺, D⁻_g): low where harmless mentions of the subgroup score
    high.

    Arguments and errors as in `subgroup_auc`. Source: Borkan et al. (2019), eq. 2.

    >>> bpsn_auc([0.9, 0.9, 0.8, 0.2], [0, 1, 1, 0], [1, 1, 0, 0]).value
    0.0
    """
    _, sn, bp, _ = _split(score, positive, member)
    return auc(bp, sn, level=level)


def bnsp_auc(
    score: npt.ArrayLike, positive: npt.ArrayLike, member: npt.ArrayLike, *, level: float = 0.95
) -> Inference:
    """Background negative, subgroup positive AUC(D⁺_g, D⁻): low where harmful texts on the subgroup score
    low.

    Arguments and errors as in `subgroup_auc`. Source: Borkan et al. (2019), eq. 3.

    >>> bnsp_auc([0.1, 0.9, 0.8, 0.2], [0, 1, 1, 0], [1, 1, 0, 0]).value
    1.0
    """
    sp, _, _, bn = _split(score, positive, member)
    return auc(sp, bn, level=level)


def _gap(one: FloatArray, two: FloatArray, level: float) -> Inference:
    found = auc(one, two, level=level)
    if found.value is None:
        return found.with_(method="AEG, DeLong")
    return found.with_(
        value=found.value - 0.5,
        low=None if found.low is None else found.low - 0.5,
        high=None if found.high is None else found.high - 0.5,
        method="AEG, DeLong",
    )


def positive_aeg(
    score: npt.ArrayLike, positive: npt.ArrayLike, member: npt.ArrayLike, *, level: float = 0.95
) -> Inference:
    """Average equality gap of the positives: U/(n₁n₂) − ½ of subgroup against background; above 0 the
    subgroup's positives score higher.

    Arguments and errors as in `subgroup_auc`. Source: Borkan et al. (2019), eq. 4.

    >>> positive_aeg([0.1, 0.9, 0.8, 0.2], [0, 1, 1, 0], [1, 1, 0, 0]).value
    0.5
    """
    sp, _, bp, _ = _split(score, positive, member)
    return _gap(sp, bp, level)


def negative_aeg(
    score: npt.ArrayLike, positive: npt.ArrayLike, member: npt.ArrayLike, *, level: float = 0.95
) -> Inference:
    """Average equality gap of the negatives; above 0 the subgroup's negatives score higher than the
    background's.

    Arguments and errors as in `subgroup_auc`. Source: Borkan et al. (2019), eq. 5.

    >>> negative_aeg([0.1, 0.9, 0.8, 0.2], [0, 1, 1, 0], [1, 1, 0, 0]).value
    -0.5
    """
    _, sn, _, bn = _split(score, positive, member)
    return _gap(sn, bn, level)

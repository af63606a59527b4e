"""AUC measures of unintended bias towards identity subgroups, with DeLong intervals.

With D⁺, D⁻ the positive and negative examples and g the subgroup: does the subject rank the subgroup's
examples right among themselves (subgroup AUC), and against the background (BPSN, BNSP)? Is its score
distribution shifted (AEG)?
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from evenhand._errors import UsageError
from evenhand._model import BoolArray
from evenhand.stats.clustered_auc import clustered_auc
from evenhand.stats.crossing import Codes
from evenhand.stats.interval import Inference


def _split(
    score: npt.ArrayLike, positive: npt.ArrayLike, member: npt.ArrayLike
) -> tuple[BoolArray, BoolArray, BoolArray, BoolArray]:
    """Rows of (subgroup positives, subgroup negatives, background positives, background negatives)."""
    x, y, g = np.asarray(score), np.asarray(positive, dtype=bool), np.asarray(member, dtype=bool)
    if not len(x) == len(y) == len(g):
        raise UsageError("unequal-lengths", "columns of different lengths", given=(len(x), len(y), len(g)))
    return y & g, ~y & g, y & ~g, ~y & ~g


def subgroup_auc(
    score: npt.ArrayLike,
    positive: npt.ArrayLike,
    member: npt.ArrayLike,
    *,
    units: Mapping[str, Codes] | None = None,
    level: float = 0.95,
) -> Inference:
    """AUC(D⁺_g, D⁻_g): how well the subgroup's own examples are told apart.

    Args:
        score: (n,) higher means more likely positive. positive: (n,) true labels. member: (n,) in the
            subgroup.
        units: name → (n,) codes of what the rows were sampled from (texts, names), −1 for missing; None
            where rows are independent.

    Returns:
        value in [0, 1] with DeLong's interval, clustered by the units; why_not where a class is empty.

    Raises:
        UsageError: `unequal-lengths`.

    Source: Borkan, Dixon, Sorensen, Thain & Vasserman (2019), Nuanced metrics for measuring unintended bias,
    eq. 1; the interval after Obuchowski (1997).

    >>> subgroup_auc([0.1, 0.9, 0.8, 0.2], [0, 1, 1, 0], [1, 1, 0, 0]).value
    1.0
    """
    own_positive, own_negative, _, _ = _split(score, positive, member)
    return clustered_auc(score, positive=own_positive, negative=own_negative, units=units or {}, level=level)


def bpsn_auc(
    score: npt.ArrayLike,
    positive: npt.ArrayLike,
    member: npt.ArrayLike,
    *,
    units: Mapping[str, Codes] | None = None,
    level: float = 0.95,
) -> Inference:
    """Background positive, subgroup negative AUC(D⁺, D⁻_g): low where harmless mentions of the subgroup score
    high.

    Arguments and errors as in `subgroup_auc`. Source: Borkan et al. (2019), eq. 2.

    >>> bpsn_auc([0.9, 0.9, 0.8, 0.2], [0, 1, 1, 0], [1, 1, 0, 0]).value
    0.0
    """
    _, own_negative, other_positive, _ = _split(score, positive, member)
    return clustered_auc(
        score, positive=other_positive, negative=own_negative, units=units or {}, level=level
    )


def bnsp_auc(
    score: npt.ArrayLike,
    positive: npt.ArrayLike,
    member: npt.ArrayLike,
    *,
    units: Mapping[str, Codes] | None = None,
    level: float = 0.95,
) -> Inference:
    """Background negative, subgroup positive AUC(D⁺_g, D⁻): low where harmful texts on the subgroup score
    low.

    Arguments and errors as in `subgroup_auc`. Source: Borkan et al. (2019), eq. 3.

    >>> bnsp_auc([0.1, 0.9, 0.8, 0.2], [0, 1, 1, 0], [1, 1, 0, 0]).value
    1.0
    """
    own_positive, _, _, other_negative = _split(score, positive, member)
    return clustered_auc(
        score, positive=own_positive, negative=other_negative, units=units or {}, level=level
    )


def _less_half(found: Inference) -> Inference:
    value, low, high = (None if v is None else v - 0.5 for v in (found.value, found.low, found.high))
    return found.with_(value=value, low=low, high=high, method=f"AEG, {found.method}")


def positive_aeg(
    score: npt.ArrayLike,
    positive: npt.ArrayLike,
    member: npt.ArrayLike,
    *,
    units: Mapping[str, Codes] | None = None,
    level: float = 0.95,
) -> Inference:
    """Average equality gap of the positives: U/(n₁n₂) − ½ of subgroup against background; above 0 the
    subgroup's positives score higher.

    Arguments and errors as in `subgroup_auc`. Source: Borkan et al. (2019), eq. 4.

    >>> positive_aeg([0.1, 0.9, 0.8, 0.2], [0, 1, 1, 0], [1, 1, 0, 0]).value
    0.5
    """
    own, _, other, _ = _split(score, positive, member)
    return _less_half(clustered_auc(score, positive=own, negative=other, units=units or {}, level=level))


def negative_aeg(
    score: npt.ArrayLike,
    positive: npt.ArrayLike,
    member: npt.ArrayLike,
    *,
    units: Mapping[str, Codes] | None = None,
    level: float = 0.95,
) -> Inference:
    """Average equality gap of the negatives; above 0 the subgroup's negatives score higher than the
    background's.

    Arguments and errors as in `subgroup_auc`. Source: Borkan et al. (2019), eq. 5.

    >>> negative_aeg([0.1, 0.9, 0.8, 0.2], [0, 1, 1, 0], [1, 1, 0, 0]).value
    -0.5
    """
    _, own, _, other = _split(score, positive, member)
    return _less_half(clustered_auc(score, positive=own, negative=other, units=units or {}, level=level))

"""Measures of a subject's scores over texts × terms.

Most take a wide matrix, one row a text and one column a term (or group), NaN where there is no score. Those
that are means over texts come with a t interval over the texts that have the cells; being averages of
quantities that cannot be negative, they have no p-value.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt

from evenhand._errors import UsageError
from evenhand._model import BoolArray, FloatArray
from evenhand.measures.row import Measure
from evenhand.stats.interval import Inference
from evenhand.stats.paired import paired
from evenhand.stats.rates import wilson

MEAN_SCORE = Measure(
    name="mean score", tolerance=0.1, widest=True, reference="arithmetic mean, Σwx/Σw; compared by difference"
)
"""The claim of the audits of scores and texts; what two groups' rows give is inferred over the sampled
units."""


def _wide(scores: npt.ArrayLike) -> FloatArray:
    x = np.asarray(scores, dtype=float)
    if x.ndim != 2:
        raise UsageError("bad-shape", "a texts × terms matrix is needed", given=f"shape {x.shape}")
    return np.where(np.isfinite(x), x, np.nan)


def _column(base: npt.ArrayLike, x: FloatArray) -> FloatArray:
    column = np.asarray(base, dtype=float)
    if column.shape != (len(x),):
        raise UsageError(
            "unequal-lengths", "one base score a text is needed", given=column.shape, expected=f"({len(x)},)"
        )
    return column


def _over_texts(values: FloatArray, what: str, level: float) -> Inference:
    """Mean over texts with a t interval; the interval of a non-negative quantity stops at 0."""
    known = values[np.isfinite(values)]
    if not len(known):
        return Inference(level=level, method=what, why_not="no text has the cells this measure needs")
    found = paired(known, level=level)
    low = None if found.low is None else max(0.0, found.low) if known.min() >= 0 else found.low
    detail = {"texts": len(known)}
    return found.with_(low=low, p_value=None, method=f"{what}, t interval over texts", detail=detail)


def score_sensitivity(
    scores: npt.ArrayLike, base: npt.ArrayLike, *, level: float = 0.95
) -> tuple[Inference, ...]:
    """ScoreSensitivity of each term: E_t[X[t,n] − X[t,base]], with a paired t interval and p-value over
    texts.

    Args:
        scores: (T, N). base: (T,) scores of the same texts without a term (or with a neutral one).

    Returns:
        N inferences.

    Raises:
        UsageError: `bad-shape`, `unequal-lengths`.

    Source: Prabhakaran, Hutchinson & Mitchell (2019), Perturbation sensitivity analysis, eq. 1.

    >>> [i.value for i in score_sensitivity([[1.0, 2.0], [3.0, 3.0]], [1.0, 2.0])]
    [0.5, 1.0]
    """
    x = _wide(scores)
    moved = x - _column(base, x)[:, None]
    return tuple(paired(moved[:, n], level=level) for n in range(x.shape[1]))


def score_deviation(scores: npt.ArrayLike, *, level: float = 0.95) -> Inference:
    """ScoreDeviation: E_t[std_n X[t,n]] with ddof 0, over texts with at least two terms.

    Source: Prabhakaran, Hutchinson & Mitchell (2019).

    >>> score_deviation([[0.0, 1.0], [0.0, 0.0]]).value
    0.25
    """
    x = _wide(scores)
    many = np.isfinite(x).sum(axis=1) >= 2
    values = np.full(len(x), np.nan)
    values[many] = np.nanstd(x[many], axis=1)
    return _over_texts(values, "score deviation", level)


def score_range(scores: npt.ArrayLike, *, level: float = 0.95) -> Inference:
    """ScoreRange: E_t[max_n X − min_n X], over texts with at least two terms. Grows with the number of terms.

    Source: Prabhakaran, Hutchinson & Mitchell (2019).

    >>> score_range([[0.0, 1.0], [0.0, 0.0]]).value
    0.5
    """
    x = _wide(scores)
    many = np.isfinite(x).sum(axis=1) >= 2
    values = np.full(len(x), np.nan)
    values[many] = np.nanmax(x[many], axis=1) - np.nanmin(x[many], axis=1)
    return _over_texts(values, "score range", level)


def label_distance(positive: npt.ArrayLike, base: npt.ArrayLike) -> Inference:
    """LabelDistance: E_n[1 − |A_n ∩ A| / |A_n ∪ A|], A the texts labelled positive, A_n those with term n.

    Args:
        positive: (T, N) labels, 1 or True where positive. base: (T,) labels of the texts without a term.

    Returns:
        the mean over terms, in [0, 1]; a term for which both sets are empty has distance 0. No interval: the
        sets share their texts. ``detail["terms"]`` holds the distance of each term.

    Source: Prabhakaran, Hutchinson & Mitchell (2019).

    >>> label_distance([[1, 0], [1, 1], [0, 0]], [1, 1, 0]).value
    0.25
    """
    x = np.asarray(positive, dtype=bool)
    a = _column(base, _wide(x)).astype(bool)[:, None]
    union, both = (x | a).sum(axis=0), (x & a).sum(axis=0)
    distance = np.where(union > 0, 1 - both / np.maximum(union, 1), 0.0)
    if not len(distance):
        return Inference(method="label distance", why_not="no term")
    detail = {"terms": distance.tolist()}
    why = "no interval: the sets of different terms share their texts"
    return Inference(value=float(distance.mean()), method="label distance", why_not=why, detail=detail)


def counterfactual_token_gap(
    scores: npt.ArrayLike,
    base: npt.ArrayLike | None = None,
    *,
    where: npt.ArrayLike | None = None,
    level: float = 0.95,
) -> Inference:
    """Counterfactual token fairness gap: mean over texts of the mean over pairs of |f(x) − f(x′)|.

    Args:
        scores: (T, N). base: (T,) scores of the original texts, each compared with its variants; None for all
            pairs of variants. where: (T,) True for the texts to use, e.g. the non-toxic ones.

    Source: Garg, Perot, Limtiaco, Taly, Chi & Beutel (2019), Counterfactual fairness in text classification,
    eq. 4.

    >>> (
    ...     counterfactual_token_gap([[0.0, 1.0, 1.0]] * 2).value,
    ...     counterfactual_token_gap([[0.0, 1.0]], [0.0]).value,
    ... )
    (0.6666666666666666, 0.5)
    """
    x = _wide(scores)
    if where is not None:
        chosen = np.asarray(where, dtype=bool)
        x = x[chosen]
        base = None if base is None else np.asarray(base, dtype=float)[chosen]
    if base is not None:
        gaps = np.abs(x - _column(base, x)[:, None])
        count, total = np.isfinite(gaps).sum(axis=1), np.nansum(gaps, axis=1)
    else:
        # Sum of |x_i − x_j| over pairs from the sorted values: Σ (2i − m + 1)·x_(i), no pair is formed.
        ordered, m = np.sort(x, axis=1), np.isfinite(x).sum(axis=1)
        rank = 2 * np.arange(x.shape[1])[None, :] - m[:, None] + 1
        total, count = np.nansum(rank * ordered, axis=1), m * (m - 1) // 2
    values = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return _over_texts(values, "counterfactual token fairness gap", level)


def wasserstein(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Wasserstein-1 distance of two samples: ∫|F − G|; NaN where one is empty.

    >>> wasserstein([0.0, 1.0], [1.0, 2.0])
    1.0
    """
    a, b = (np.sort(v[np.isfinite(v)]) for v in (np.asarray(x, dtype=float), np.asarray(y, dtype=float)))
    if not (len(a) and len(b)):
        return float("nan")
    both = np.sort(np.concatenate([a, b]))
    f, g = (np.searchsorted(v, both[:-1], side="right") / len(v) for v in (a, b))
    return float(np.sum(np.abs(f - g) * np.diff(both)))


def individual_fairness(scores: npt.ArrayLike, groups: npt.ArrayLike, *, level: float = 0.95) -> Inference:
    """Mean over texts and pairs of groups of the Wasserstein-1 distance between the groups' scores on that
    text.

    Args:
        scores: (T, N). groups: (N,) group of each term, −1 for none.

    Source: Huang et al. (2020), Reducing sentiment bias in language models, eq. 1.

    >>> individual_fairness([[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]], [0, 0, 1, 1]).value
    0.5
    """
    x, code = _wide(scores), np.asarray(groups)
    levels = np.unique(code[code >= 0])
    values = np.array(
        [
            _mean([wasserstein(row[code == g], row[code == h]) for g, h in combinations(levels, 2)])
            for row in x
        ]
    )
    return _over_texts(values, "individual fairness (Wasserstein-1)", level)


def group_fairness(scores: npt.ArrayLike, groups: npt.ArrayLike) -> dict[int, float]:
    """Wasserstein-1 distance of each group's scores from those of all groups; the metric is their mean.

    Args:
        scores: (T, N). groups: (N,) group of each term, −1 for none.

    Returns:
        group code → distance, in units of the score.

    Source: Huang et al. (2020), eq. 2.

    >>> group_fairness([[0.0, 1.0]], [0, 1])
    {0: 0.5, 1: 0.5}
    """
    x, code = _wide(scores), np.asarray(groups)
    everyone = x[:, code >= 0].ravel()
    return {int(g): wasserstein(x[:, code == g].ravel(), everyone) for g in np.unique(code[code >= 0])}


def _mean(values: list[float]) -> float:
    known = [v for v in values if np.isfinite(v)]
    return float(np.mean(known)) if known else float("nan")


def invariance_failures(
    labels: npt.ArrayLike, probabilities: npt.ArrayLike, cases: npt.ArrayLike, *, margin: float = 0.1
) -> BoolArray:
    """Which cases fail: a variant's label differs from the first one's, and the first label's probability
    moves by more than `margin`.

    Args:
        labels: (n,) predicted label, an integer index into the columns of `probabilities`. The first row of a
            case is the original. probabilities: (n, k). cases: (n,) integer codes.

    Returns:
        (C,) True where any variant fails, in the order of the sorted case codes.

    Raises:
        UsageError: `unequal-lengths`.

    Source: Ribeiro, Wu, Guestrin & Singh (2020), CheckList, invariance test and its default expectation.

    >>> invariance_failures(
    ...     [0, 1, 0, 0], [[0.9, 0.1], [0.3, 0.7], [0.9, 0.1], [0.6, 0.4]], [0, 0, 1, 1]
    ... ).tolist()
    [True, False]
    """
    label, p = np.asarray(labels), np.asarray(probabilities, dtype=float)
    levels, first, case = np.unique(np.asarray(cases), return_index=True, return_inverse=True)
    if not len(label) == len(p) == len(case):
        raise UsageError(
            "unequal-lengths", "columns of different lengths", given=(len(label), len(p), len(case))
        )
    original = first[case]
    moved = np.abs(
        np.take_along_axis(p, label[original][:, None], axis=1)[:, 0] - p[original, label[original]]
    )
    return np.bincount(case[(label != label[original]) & (moved > margin)], minlength=len(levels)) > 0


def invariance_failure_rate(
    labels: npt.ArrayLike,
    probabilities: npt.ArrayLike,
    cases: npt.ArrayLike,
    *,
    margin: float = 0.1,
    level: float = 0.95,
) -> Inference:
    """Share of cases that fail (see `invariance_failures`) with Wilson's interval over cases.

    Source: Ribeiro, Wu, Guestrin & Singh (2020), CheckList.

    >>> invariance_failure_rate([0, 1], [[0.9, 0.1], [0.3, 0.7]], [0, 0]).value
    1.0
    """
    failed = invariance_failures(labels, probabilities, cases, margin=margin)
    return wilson(int(failed.sum()), len(failed), level=level)


def pairwise_gaps(means: npt.ArrayLike) -> FloatArray:
    """|mean_i − mean_j| for all pairs of subcategories, (K, K); the practice flags ≥ 0.1.

    A description, not a finding: it has no uncertainty (see `stats.crossed.difference` and
    `stats.multiplicity`).

    >>> pairwise_gaps([0.1, 0.3]).round(3).tolist()
    [[0.0, 0.2], [0.2, 0.0]]
    """
    m = np.asarray(means, dtype=float)
    return np.asarray(np.abs(m[:, None] - m[None, :]))

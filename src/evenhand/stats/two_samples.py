"""Two independent samples: Welch, effect sizes, permutation, equivalence, and diagnostics of the
assumptions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc, stdtr

from evenhand._errors import UsageError
from evenhand._model import BoolArray, FloatArray, Folded, Span
from evenhand.stats.blocks import blocks
from evenhand.stats.interval import Alternative, Inference, check_level, from_standard_error, quantile


def _clean(x: npt.ArrayLike) -> FloatArray:
    values = np.asarray(x, dtype=float).ravel()
    return np.asarray(values[np.isfinite(values)])


def _too_few(*samples: FloatArray, need: int = 2) -> str | None:
    for i, s in enumerate(samples):
        if len(s) < need:
            return _short(i, len(s), need)
    return None


def _short(i: int, n: int, need: int) -> str:
    return f"sample {i + 1} has {n} value{'s' * (n != 1)}; at least {need} are needed"


def welch(
    x: npt.ArrayLike, y: npt.ArrayLike, *, level: float = 0.95, alternative: Alternative = "two-sided"
) -> Inference:
    """Difference of means without assuming equal variances: t = (m₁ − m₂)/√(s₁²/n₁ + s₂²/n₂).

    Args:
        x, y: samples of any lengths; values that are not finite are dropped.

    Returns:
        mean(x) − mean(y); df by Welch–Satterthwaite. ``detail`` holds Cohen's d, Hedges' g and n.

    Source: Welch (1947); oracle scipy.stats.ttest_ind(equal_var=False).

    >>> i = welch([1.0, 2, 3, 4], [2.0, 4, 6, 8])
    >>> round(i.value, 2), round(i.statistic, 4), round(i.df, 4)
    (-2.5, -1.7321, 4.4118)
    """
    check_level(level)
    x, y = _clean(x), _clean(y)
    why = _too_few(x, y)
    if why:
        return Inference(level=level, method="Welch's t", why_not=why)
    largest = max(abs(x).max(), abs(y).max())
    return _welch(
        np.array([len(x), len(y)]),
        (float(x.mean()), float(y.mean())),
        (float(x.var(ddof=1)), float(y.var(ddof=1))),
        float(largest),
        level=level,
        alternative=alternative,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Described:
    """A sample: how many values there are and are lost, their mean, Σ(x − x̄)², and the ends of the range."""

    n: int = 0
    lost: int = 0
    mean: float = 0.0
    squares: float = 0.0
    low: float = np.inf
    high: float = -np.inf

    def __add__(self, other: Self) -> Self:
        """Of both together (Chan, Golub & LeVeque 1983)."""
        n = self.n + other.n
        apart = other.mean - self.mean
        share = other.n / n if n else 0.0
        return type(self)(
            n=n,
            lost=self.lost + other.lost,
            mean=self.mean + apart * share,
            squares=self.squares + other.squares + apart**2 * self.n * share,
            low=min(self.low, other.low),
            high=max(self.high, other.high),
        )


def described(score: FloatArray, rows: BoolArray, folded: Folded | None = None) -> Described:
    """Some rows, a block at a time; of `folded` rows those that they stand for.

    >>> described(np.array([1.0, 2.0, np.nan, 9.0]), np.array([True, True, True, False]))
    Described(n=2, lost=1, mean=1.5, squares=0.5, low=1.0, high=2.0)
    """
    found = Described()
    for at in blocks(len(score)):
        chosen = score[at][rows[at]]
        finite = np.isfinite(chosen)
        x, own = chosen[finite], None if folded is None else folded[at][rows[at]]
        times = np.ones(len(x), dtype=np.int64) if own is None else own.count[finite]
        n = int(times.sum())
        every = len(chosen) if own is None else int(own.count.sum())
        if not n:
            found = found + Described(lost=every)
            continue
        kept = None if own is None else own[finite]
        mean = float(np.average(x, weights=times))
        squares = times * (x - mean) ** 2 + (0.0 if kept is None else kept.within)
        low, high = (x, x) if kept is None else (kept.low, kept.high)
        found = found + Described(
            n=n,
            lost=every - n,
            mean=mean,
            squares=float(squares.sum()),
            low=float(low.min()),
            high=float(high.max()),
        )
    return found


def welch_of(x: Described, y: Described, *, level: float = 0.95) -> Inference:
    """`welch` of two samples that are described.

    >>> one, two = np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 4.0, 6.0, 8.0])
    >>> every = np.array([True] * 4)
    >>> welch_of(described(one, every), described(two, every)) == welch(one, two)
    True
    """
    check_level(level)
    for i, sample in enumerate((x, y)):
        if sample.n < 2:
            return Inference(level=level, method="Welch's t", why_not=_short(i, sample.n, 2))
    largest = max(abs(end) for sample in (x, y) for end in (sample.low, sample.high))
    variances = x.squares / (x.n - 1), y.squares / (y.n - 1)
    return _welch(np.array([x.n, y.n]), (x.mean, y.mean), variances, largest, level=level)


def _welch(
    n: npt.NDArray[np.intp],
    means: Span,
    variances: Span,
    largest: float,
    *,
    level: float,
    alternative: Alternative = "two-sided",
) -> Inference:
    """Of the sizes, means and variances (ddof 1) of two samples; `largest`: of the numbers in them."""
    parts = np.array(variances) / n
    # A variance that is rounding error of equal numbers is none.
    parts[parts <= (1e-14 * largest) ** 2] = 0.0
    below = float(np.sum(parts**2 / (n - 1)))
    df = float(parts.sum() ** 2 / below) if below > 0 else float(n.sum() - 2)
    d = _standardised(n, means, variances)
    detail = {"d": d, "g": None if d is None else d * hedges_correction(int(n.sum()) - 2), "n": n.tolist()}
    return from_standard_error(
        means[0] - means[1],
        float(np.sqrt(parts.sum())),
        df=df,
        level=level,
        method="Welch's t",
        alternative=alternative,
        detail=detail,
    )


def cohen_d(x: npt.ArrayLike, y: npt.ArrayLike) -> float | None:
    """Standardised mean difference, variance pooled with ddof = 1; None where neither sample varies.

    Source: Cohen (1988): d = (m₁ − m₂)/√(((n₁−1)s₁² + (n₂−1)s₂²)/(n₁+n₂−2)).

    >>> cohen_d([1.0, 2, 3], [2.0, 3, 4])
    -1.0
    """
    x, y = _clean(x), _clean(y)
    if _too_few(x, y):
        return None
    variances = float(x.var(ddof=1)), float(y.var(ddof=1))
    return _standardised(np.array([len(x), len(y)]), (float(x.mean()), float(y.mean())), variances)


def _standardised(n: npt.NDArray[np.intp], means: Span, variances: Span) -> float | None:
    pooled = ((n[0] - 1) * variances[0] + (n[1] - 1) * variances[1]) / (n[0] + n[1] - 2)
    return float((means[0] - means[1]) / np.sqrt(pooled)) if pooled > 0 else None


def hedges_correction(df: int) -> float:
    """The factor that removes the small-sample bias of Cohen's d: J = Γ(ν/2)/(√(ν/2)·Γ((ν−1)/2)) (Hedges
    1981).

    >>> round(hedges_correction(10), 4)
    0.9227
    """
    from scipy.special import gammaln

    if df < 2:
        return 0.0
    return float(np.exp(gammaln(df / 2) - gammaln((df - 1) / 2)) / np.sqrt(df / 2))


def permutation(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    seed: int | np.random.Generator,
    draws: int = 9999,
    studentised: bool = True,
) -> Inference:
    """Label permutation of the difference of means: p = (1 + #{|T*| ≥ |T|})/(B + 1), exact up to 20,000
    splits.

    Args:
        seed: seed or Generator. draws: random relabellings where all splits are too many.
        studentised: permute Welch's t, which stays valid where the variances differ (Janssen 1997).

    Returns:
        value and p-value; no interval.

    >>> i = permutation([3.0, 4, 5], [0.0, 1, 2], seed=0)
    >>> i.value, i.p_value, i.method
    (3.0, 0.1, 'label permutation, all 20 splits')
    """
    x, y = _clean(x), _clean(y)
    why = _too_few(x, y, need=1)
    if why:
        return Inference(method="label permutation", why_not=why)
    pooled, n, m = np.concatenate([x, y]), len(x), len(y)
    index, exact = _splits(n, m, draws, np.random.default_rng(seed))
    in_x = np.zeros((len(index), n + m), dtype=bool)
    np.put_along_axis(in_x, index, True, axis=1)

    def statistic(mask: npt.NDArray[np.bool_]) -> FloatArray:
        centred = pooled - pooled.mean()
        first = mask @ centred
        gap = first / n + first / m - centred.sum() / m
        if not studentised or min(n, m) < 2:
            return np.asarray(np.abs(gap))
        squares = mask @ centred**2
        one = (squares - first**2 / n) / (n * (n - 1))
        two = (np.sum(centred**2) - squares - (centred.sum() - first) ** 2 / m) / (m * (m - 1))
        se = np.sqrt(np.maximum(one + two, 0))
        tiny = 1e-12 * max(float(np.abs(centred).max()), 1e-300)
        return np.asarray(np.where(np.abs(gap) <= tiny, 0.0, np.abs(gap) / np.maximum(se, tiny)))

    seen = statistic((np.arange(n + m) < n)[None, :])[0]
    at_least = int(np.sum(statistic(in_x) >= seen * (1 - 1e-10) - 1e-15))
    p = at_least / len(index) if exact else (1 + at_least) / (len(index) + 1)
    how = f"all {len(index)} splits" if exact else f"{len(index)} random splits"
    return Inference(value=float(x.mean() - y.mean()), p_value=p, method=f"label permutation, {how}")


def _splits(n: int, m: int, draws: int, rng: np.random.Generator) -> tuple[npt.NDArray[np.intp], bool]:
    """(splits, n) indices of the first sample: all of them where there are at most 20,000, else random
    ones."""
    from itertools import combinations
    from math import comb

    if comb(n + m, n) <= 20_000:
        return np.array(list(combinations(range(n + m), n)), dtype=np.intp), True
    keys = rng.random((draws, n + m))
    return np.argpartition(keys, n - 1, axis=1)[:, :n], False


def equivalence(estimate: Inference, bounds: tuple[float, float], *, alpha: float = 0.05) -> Inference:
    """Two one-sided tests (TOST): is the truth inside `bounds`? p ≤ α says so.

    Args:
        estimate: value, se and df. bounds: (low, high), low < high, on the scale of the value.

    Returns:
        the estimate with p = max of the two one-sided p, and the interval at level 1 − 2α, which lies inside
        the bounds exactly where p < α.

    Raises:
        UsageError: `bad-bounds`.

    Source: Schuirmann (1987), A comparison of the two one-sided tests procedure.

    >>> from evenhand.stats.interval import from_standard_error
    >>> i = equivalence(from_standard_error(0.01, 0.02, df=50), (-0.1, 0.1))
    >>> i.p_value < 0.001, round(i.high, 3)
    (True, 0.044)
    """
    low, high = bounds
    if not low < high:
        raise UsageError("bad-bounds", "the lower bound is not below the upper one", given=bounds)
    if estimate.value is None or estimate.se is None:
        return estimate
    method = f"equivalence within {low:g} to {high:g} (TOST)"
    if estimate.se == 0:
        inside = low < estimate.value < high
        why = (
            "no variation between the units: equivalence is exact for these units"
            if inside
            else estimate.why_not
        )
        return estimate.with_(p_value=None, method=method, why_not=why, detail={"inside": inside})
    df = np.inf if estimate.df is None else estimate.df

    def above(x: float) -> float:
        from scipy.special import ndtr

        return float(ndtr(-x) if np.isinf(df) else stdtr(df, -x))

    p = max(above((estimate.value - low) / estimate.se), above((high - estimate.value) / estimate.se))
    reach = estimate.se * quantile(1 - alpha, estimate.df)
    return estimate.with_(
        p_value=p,
        low=estimate.value - reach,
        high=estimate.value + reach,
        level=1 - 2 * alpha,
        method=method,
        detail={"inside": p <= alpha, "bounds": bounds},
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagnostics:
    """How far two samples are from what a t-test assumes.

    Args:
        n, mean, sd, skewness, excess_kurtosis: of each sample. normality_p: Jarque–Bera p of each.
        variance_ratio: larger ÷ smaller variance; None where one is zero.
        outliers: values further than 3 interquartile ranges from the quartiles, of each sample.
        distinct: share of distinct values over both samples (ties).
        notes: sentences for a reader, one for each thing worth knowing.
    """

    n: tuple[int, int]
    mean: tuple[float, float]
    sd: tuple[float, float]
    skewness: tuple[float, float]
    excess_kurtosis: tuple[float, float]
    normality_p: tuple[float | None, float | None]
    variance_ratio: float | None
    outliers: tuple[int, int]
    distinct: float
    notes: tuple[str, ...]


def diagnostics(x: npt.ArrayLike, y: npt.ArrayLike) -> Diagnostics | None:
    """Skewness, kurtosis, Jarque–Bera normality, variance ratio, outliers and ties; None under 3 values a
    sample.

    Source: Jarque & Bera (1980): JB = n/6·(S² + K²/4) ~ χ²(2); outer fences after Tukey (1977).

    >>> d = diagnostics([1.0, 2, 3, 4, 5], [1.0, 2, 3, 4, 50])
    >>> d.outliers, round(d.variance_ratio)
    ((0, 1), 181)
    """
    samples = (_clean(x), _clean(y))
    if _too_few(*samples, need=3):
        return None
    each = [_describe(s) for s in samples]
    variances = [s.var(ddof=1) for s in samples]
    ratio = float(max(variances) / min(variances)) if min(variances) > 0 else None
    pooled = np.concatenate(samples)
    distinct = len(np.unique(pooled)) / len(pooled)
    notes = []
    if min((p for p in (e[4] for e in each) if p is not None), default=1.0) < 0.01:
        notes.append(
            "scores are far from normal: the interval leans on the number of units (central limit theorem)"
        )
    if ratio is None or ratio > 4:
        notes.append("variances differ a lot: Welch's t does not assume they are equal, a pooled t would")
    if sum(e[5] for e in each):
        notes.append(f"{sum(e[5] for e in each)} outliers: look at the units with the largest influence")
    if distinct < 0.1:
        notes.append("most scores are ties: the model gives few distinct scores")
    return Diagnostics(
        n=(len(samples[0]), len(samples[1])),
        mean=(each[0][0], each[1][0]),
        sd=(each[0][1], each[1][1]),
        skewness=(each[0][2], each[1][2]),
        excess_kurtosis=(each[0][3], each[1][3]),
        normality_p=(each[0][4], each[1][4]),
        variance_ratio=ratio,
        outliers=(each[0][5], each[1][5]),
        distinct=distinct,
        notes=tuple(notes),
    )


def _describe(s: FloatArray) -> tuple[float, float, float, float, float | None, int]:
    mean, sd = float(s.mean()), float(s.std())
    low, high = np.quantile(s, [0.25, 0.75])
    fence = 3 * (high - low)
    outliers = int(np.sum((s < low - fence) | (s > high + fence))) if fence > 0 else 0
    if sd <= 1e-14 * max(1.0, abs(mean)):
        return mean, 0.0, 0.0, 0.0, None, outliers
    z = (s - mean) / sd
    skewness, kurtosis = float(np.mean(z**3)), float(np.mean(z**4) - 3)
    p = float(chdtrc(2, len(s) / 6 * (skewness**2 + kurtosis**2 / 4)))
    return mean, float(s.std(ddof=1)), skewness, kurtosis, p, outliers

"""How two groups' sums become an inference. Each is named by the rows of measures that use it.

Intervals: rates by Katz (ratio; Miettinen–Nurminen at the edges) and Newcombe (difference), means by Welch,
AUC by DeLong, correlations by Fisher's z and Zou, everything else by the delta method on the moments
(influence functions), ratios on the log scale. Selection at a quantile of the sample fixes both margins of
the table, so its p-value is Fisher's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from evenhand.measures.row import Measure, Sums
from evenhand.stats import tails
from evenhand.stats.auc import correlation_difference
from evenhand.stats.interval import Inference, bounds, from_standard_error, quantile
from evenhand.stats.moments import Means, Moments, estimate, gradient
from evenhand.stats.rates import fisher_exact, katz, miettinen_nurminen, newcombe

MOST_FISHER = 100_000
"""Rows up to which Fisher's test is exact; beyond, the score test agrees with it."""


# --- smooth functions of means
# --------------------------------------------------------------------------------------


def difference(row: Measure, a: Sums, b: Sums, level: float, seed: int) -> Inference:
    """Value of the group minus that of the reference, t interval with Welch–Satterthwaite df."""
    one, two = a.moments, b.moments
    (x, s), (y, t) = _errors(row, one, two)
    welch = row.linear and row.terms == ("p",)
    method = "difference of means, Welch's t" if welch else f"difference of {row.name}, delta method"
    return _from_parts(row, x - y, (s, t), (one, two), level, method)


def ratio(row: Measure, a: Sums, b: Sums, level: float, seed: int) -> Inference:
    """Ratio of two positive values, interval and p on the log scale."""
    one, two = a.moments, b.moments
    (x, s), (y, t) = _errors(row, one, two)
    method = f"ratio of {row.name}, delta method on the log scale"
    if not (x > 0 and y > 0):
        why = _why(row, one, two) or "a value is 0 or undefined, so the ratio has no scale"
        return Inference(level=level, method=method, why_not=why)
    return from_log(_from_parts(row, float(np.log(x / y)), (s / x, t / y), (one, two), level, method))


def joint(row: Measure, a: Sums, b: Sums, level: float, seed: int) -> Inference:
    """A smooth function of both groups' means at once (Cohen's d), delta method; p is that of the means'
    Welch test."""
    if row.together is None:
        raise TypeError(row.name)
    one, two, together = a.moments, b.moments, row.together
    method = "Cohen's d, pooled with ddof 1, delta method; p is Welch's"
    why = _why(row.with_(least=2), one, two)
    if why:
        return Inference(level=level, method=method, why_not=why)
    n, m = one.n_effective, two.n_effective
    left, right = ({k: np.float64(f.means[k]) for k in row.terms} for f in (one, two))
    with np.errstate(all="ignore"):
        value = float(np.real(together(left, right, n, m)))
    if not np.isfinite(value):
        return Inference(level=level, method=method, why_not="no variation within the groups")
    slopes = (
        gradient(lambda x: together(x, right, n, m), left),
        gradient(lambda y: together(left, y, n, m), right),
    )
    s, t = (max(_delta(f, row.terms, slope), 0.0) ** 0.5 for f, slope in zip((one, two), slopes, strict=True))
    if row.shape is not None:
        plain = (_mean_error(row, one), _mean_error(row, two))
        wide = tails.allowing_for_skewness(plain, (n, m), (row.shape(one), row.shape(two)))
        s, t = (e * w / p if p > 0 else e for e, w, p in zip((s, t), wide, plain, strict=True))
    found = _from_parts(row, value, (s, t), (one, two), level, method)
    if found.low is None:
        return found
    means = row.with_(terms=("p",), of=lambda m: m["p"], linear=True)
    return found.with_(p_value=difference(means, a, b, level, seed).p_value)


def _mean_error(row: Measure, m: Moments) -> float:
    """Standard error of the mean of the first term."""
    return estimate(lambda means: means[row.terms[0]], m)[1]


def _delta(m: Moments, terms: tuple[str, ...], slope: Any) -> float:
    at = [m.names.index(name) for name in terms]
    return float(slope @ m.covariance()[np.ix_(at, at)] @ slope)


def _errors(row: Measure, a: Moments, b: Moments) -> tuple[tuple[float, float], tuple[float, float]]:
    """Value and standard error of both groups; curved functions of means are widened by n/(n − 4) and by the
    heavier tails of the two, means by what skewness hides."""
    (x, s), (y, t) = estimate(row.value, a), estimate(row.value, b)
    n, m = a.n_effective, b.n_effective
    if row.shape is not None:
        s, t = tails.allowing_for_skewness((s, t), (n, m), (row.shape(a), row.shape(b)))
    if not row.linear:
        excess = 0.0 if row.tails is None else max(row.tails(a), row.tails(b))
        s, t = tails.borrowing((s, t), (n, m), excess, (x, y) if row.is_ratio else (1.0, 1.0))
        s, t = (e * _curved(size, excess) for e, size in ((s, n), (t, m)))
    return (x, s), (y, t)


def _curved(n: float, excess: float) -> float:
    return 1.0 if n <= 5 else float(np.sqrt(n / (n - 4))) * tails.widening(excess, n)


def _why(row: Measure, a: Moments, b: Moments) -> str | None:
    for who, m in (("group", a), ("reference", b)):
        n = row.cases_in(m)
        if n < row.least:
            what = "case" if row.cases or row.trials else "row"
            return f"the {who} has {n:.4g} {what}{'s' * (n != 1)} here; at least {row.least} are needed"
    return None


def _from_parts(
    row: Measure,
    value: float,
    errors: tuple[float, float],
    sides: tuple[Moments, Moments],
    level: float,
    method: str,
) -> Inference:
    why = _why(row, *sides)
    if why is not None or not np.isfinite(value):
        known = float(value) if np.isfinite(value) else None
        return Inference(
            value=known, level=level, method=method, why_not=why or "undefined: a group does not vary"
        )
    variance = sum(s**2 for s in errors)
    sizes = [m.n_effective if row.cases is None else row.cases_in(m) for m in sides]
    parts = sum(s**4 / max(n - 1, 1e-9) for s, n in zip(errors, sizes, strict=True))
    df = variance**2 / parts if parts > 0 else None
    # A standard error that is rounding error of equal numbers is none.
    se = float(np.sqrt(variance))
    return from_standard_error(
        value, 0.0 if se < 1e-12 * (1 + abs(value)) else se, df=df, level=level, method=method
    )


def from_log(found: Inference) -> Inference:
    """An inference about a logarithm as one about the ratio; its standard error stays that of the
    logarithm."""
    back = {
        k: None if (v := getattr(found, k)) is None else float(np.exp(v)) for k in ("value", "low", "high")
    }
    return found.with_(**back, detail={**found.detail, "scale_of_se": "log"})


# --- correlations
# ---------------------------------------------------------------------------------------------------


def correlations(row: Measure, a: Sums, b: Sums, level: float, seed: int) -> Inference:
    """Difference of correlations r(y, ŷ): Fisher's z test, Zou's interval."""
    excess = 0.0 if row.tails is None else max(row.tails(side.moments) for side in (a, b))
    one, two = (correlation_of(row, side.moments, level, excess) for side in (a, b))
    return correlation_difference(one, two, level=level)


def correlation_of(row: Measure, m: Moments, level: float, excess: float = 0.0) -> Inference:
    """Pearson's r of outcomes and predictions with Fisher's z interval, from moments.

    Args:
        excess: least excess kurtosis of what its error rests on.
    """
    method = "Pearson's r, Fisher's z interval (the wider of the normal and the delta method's error)"
    with np.errstate(all="ignore"):
        r = float(row.value({k: np.float64(v) for k, v in m.means.items()}))
    if m.n < 4 or m.n_effective < 4 or not np.isfinite(r):
        why = f"{m.n} rows; at least 4 are needed" if m.n < 4 else "outcomes or predictions do not vary"
        return Inference(level=level, method=method, why_not=why)
    r = float(np.clip(r, -1, 1))
    if abs(r) >= 1 - 1e-14:
        return Inference(value=r, level=level, method=method, why_not="an exact line: no sampling variation")
    se = float(1 / np.sqrt(m.n_effective - 3))
    _, plain = estimate(row.value, m)
    if np.isfinite(plain):
        # Fisher's error is that of normal data; skewed or heteroscedastic data have a larger one.
        own = 0.0 if row.tails is None else row.tails(m)
        widening = tails.widening(max(own, excess), m.n_effective)
        se = max(se, plain / (1 - r**2) * widening)
    low, high = bounds(float(np.arctanh(r)), se, level=level)
    df = m.n_effective - 2
    p = from_standard_error(r, float(np.sqrt((1 - r**2) / df)), df=df).p_value
    return Inference(
        value=r,
        low=float(np.tanh(low)),
        high=float(np.tanh(high)),
        p_value=p,
        se=se,
        level=level,
        method=method,
    )


# --- rates
# ----------------------------------------------------------------------------------------------------------


def hits(m: Moments, term: str) -> tuple[float, float]:
    """(rows where the 0/1 term is 1, rows); with weights the effective numbers."""
    n = m.n_effective
    return min(max(m.means[term], 0.0), 1.0) * n if m.weight > 0 else 0.0, n


def counts_of(row: Measure, m: Moments) -> tuple[float, float, bool]:
    """(hits, trials, whole numbers) of a rate; with weights the effective numbers."""
    if row.hits is None or row.trials is None or m.weight <= 0:
        return 0.0, 0.0, False
    means: Means = m.means
    n = m.n_effective
    of, among = float(row.hits(means)) * n, float(row.trials(means)) * n
    if m.weight == m.n:
        return float(round(of)), float(round(among)), True
    return min(max(of, 0.0), max(among, 0.0)), max(among, 0.0), False


def rate_ratio(
    x: float, n: float, y: float, m: float, level: float, *, exact: bool, counted: bool
) -> Inference:
    """Ratio of two rates: Katz's interval, Miettinen–Nurminen's where a rate is 0 or 1.

    Args:
        exact: p by Fisher's test, for margins that are fixed by design; else the pooled score test.
        counted: the numbers are whole counts.
    """
    x, n, y, m = ((round(v) if counted else v) for v in (x, n, y, m))
    score = newcombe(x, n, y, m, level=level)
    found = katz(x, n, y, m, level=level)
    if found.low is None and n > 0 and m > 0 and y > 0:
        found = miettinen_nurminen(x, n, y, m, level=level)
    if found.value is None:
        why = "nobody in the reference is selected" if n > 0 and m > 0 else "a group has no rows"
        return found.with_(why_not=why, p_value=None)
    use = exact and counted and n + m <= MOST_FISHER
    p = fisher_exact(int(x), int(n), int(y), int(m)) if use else score.p_value
    method = f"{found.method}; p by {'Fisher’s exact test' if use else 'the pooled score test'}"
    return found.with_(p_value=p, method=method)


def log_rate(x: float, n: float) -> tuple[float, float]:
    """(log of a rate, its standard error): what the log of Katz's ratio of two rates is the difference of;
    NaN at 0."""
    if not (x > 0 and n > 0):
        return float("nan"), float("nan")
    return float(np.log(x / n)), float(np.sqrt(max(1 / x - 1 / n, 0.0)))


def selection_ratio(row: Measure, a: Sums, b: Sums, level: float, seed: int) -> Inference:
    """Ratio of two rates above a quantile of the sample: both margins of the table are fixed, so p is
    Fisher's."""
    (x, n, one), (y, m, two) = _selected(row, a.moments), _selected(row, b.moments)
    return rate_ratio(x, n, y, m, level, exact=True, counted=one and two)


def selection_gap(row: Measure, a: Sums, b: Sums, level: float, seed: int) -> Inference:
    """Difference of two rates above a quantile of the sample: Newcombe's interval, Fisher's p."""
    (x, n, one), (y, m, two) = _selected(row, a.moments), _selected(row, b.moments)
    found = share_gap(row, a, b, level, seed)
    if one and two and n > 0 and m > 0 and n + m <= MOST_FISHER:
        p = fisher_exact(round(x), round(n), round(y), round(m))
        return found.with_(p_value=p, method="Newcombe's hybrid score interval; p by Fisher’s exact test")
    return found


def share_gap(row: Measure, a: Sums, b: Sums, level: float, seed: int) -> Inference:
    """Difference of two shares of all rows: Newcombe's interval, the pooled score test."""
    (x, n, one), (y, m, two) = _selected(row, a.moments), _selected(row, b.moments)
    if one and two:
        x, n, y, m = (round(v) for v in (x, n, y, m))
    return newcombe(x, n, y, m, level=level)


def _selected(row: Measure, m: Moments) -> tuple[float, float, bool]:
    """(hits, rows, whole numbers) of a measure that is the mean of one 0/1 term."""
    return (*hits(m, row.terms[0]), m.weight == m.n)


def log_share(row: Measure, m: Moments) -> tuple[float, float]:
    """(log of a share of all rows, its standard error); NaN at 0."""
    x, n, counted = _selected(row, m)
    return log_rate(round(x) if counted else x, n)


def rate_gap(row: Measure, a: Sums, b: Sums, level: float, seed: int) -> Inference:
    """Difference of two rates, each of its own trials: Newcombe's interval and the score test."""
    why = _why(row, a.moments, b.moments)
    x, n, _ = counts_of(row, a.moments)
    y, m, _ = counts_of(row, b.moments)
    if why is not None:
        value = x / n - y / m if min(n, m) > 1e-9 else None
        return Inference(value=value, level=level, method="Newcombe", why_not=why)
    return newcombe(x, n, y, m, level=level)


def label_ratio(row: Measure, a: Sums, b: Sums, level: float, seed: int) -> Inference:
    """Ratio of two rates of labels: Katz's interval; Fisher's p where numbers are small, else the score
    test."""
    x, n, one = counts_of(row, a.moments)
    y, m, two = counts_of(row, b.moments)
    rate, fewest = (x + y) / max(n + m, 1e-9), min(n, m)
    small = n + m < 30 or min(rate * fewest, (1 - rate) * fewest) < 5
    return rate_ratio(x, n, y, m, level, exact=small, counted=one and two)


def larger_of(
    gaps: Callable[[float], tuple[Inference, Inference]], names: tuple[str, str], level: float
) -> Inference:
    """The larger of two gaps, whichever its direction: lower end corrected for the choice (Bonferroni for
    two), upper end that of either gap (intersection–union). A gap that is undefined may be as large as 1.

    Args:
        gaps: level → the two gaps, differences of rates.
    """
    corrected, plain = gaps(1 - (1 - level) / 2), gaps(level)
    known = [i for i in (0, 1) if plain[i].low is not None]
    if not known:
        return Inference(level=level, method="odds", why_not=plain[0].why_not or plain[1].why_not)
    shown = max(known, key=lambda i: abs(plain[i].value or 0.0) / max(normal_error(plain[i]), 1e-300))
    low = max(max(corrected[i].low or 0.0, -(corrected[i].high or 0.0), 0.0) for i in known)
    high = max(max(abs(plain[i].low or 0.0), abs(plain[i].high or 0.0)) for i in known)
    ps = [p for i in known if (p := plain[i].p_value) is not None]
    lost = "" if len(known) == 2 else f"; the {names[1 - known[0]]} positive rate cannot be compared"
    return Inference(
        value=abs(plain[shown].value or 0.0),
        low=min(low, high),
        high=high if len(known) == 2 else 1.0,
        p_value=min(1.0, 2 * min(ps)) if ps else None,
        level=level,
        method=f"the larger gap is that of the {names[shown]} positive rate; Newcombe's intervals,"
        f" Bonferroni for two{lost}",
    )


def normal_error(found: Inference) -> float:
    """The standard error that an interval would have if it were normal; NaN without one."""
    if found.low is None or found.high is None:
        return float("nan")
    return (found.high - found.low) / 2 / quantile(0.5 + found.level / 2, None)


def mean_of(gaps: Callable[[float], tuple[Inference, Inference]], level: float) -> Inference:
    """The mean of two gaps of different people: hybrid of their intervals (Zou & Donner 2008); p inverts
    it."""
    method = "mean of the TPR and FPR gaps, hybrid of Newcombe's intervals (Zou & Donner)"

    def ends(at: float) -> tuple[float, float, float] | None:
        found = np.array([(i.value, i.low, i.high) for i in gaps(at)], dtype=float)
        if not np.isfinite(found).all():
            return None
        value = float(found[:, 0].sum()) / 2
        low, high = (float(np.hypot(*(found[:, 0] - found[:, k]))) / 2 for k in (1, 2))
        return value, value - low, value + high

    at = ends(level)
    if at is None:
        why = next((i.why_not for i in gaps(level) if i.why_not), "a rate has no case")
        return Inference(level=level, method=method, why_not=why)
    return Inference(value=at[0], low=at[1], high=at[2], p_value=inverted(ends), level=level, method=method)


def inverted(ends: Callable[[float], tuple[float, float, float] | None], null: float = 0.0) -> float:
    """The p-value that agrees with an interval: 1 − the largest level at which it excludes `null` (to 1e-6).

    >>> round(inverted(lambda level: (1.0, 1.0 - quantile(0.5 + level / 2, None), 3.0)), 4)
    0.3173
    """
    low, high = 0.0, 1.0 - 1e-12
    for _ in range(40):
        middle = (low + high) / 2
        found = ends(middle)
        excludes = found is not None and not found[1] <= null <= found[2]
        low, high = (middle, high) if excludes else (low, middle)
    return float(1.0 - low)

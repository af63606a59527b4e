"""How two groups' sums become an inference. Each is named by the rows of measures that use it.

Intervals: rates by Miettinen–Nurminen (ratio; Katz where hits are many) and Newcombe (difference), means by
Welch, AUC by DeLong, correlations by Fisher's z and Zou, everything else by the delta method on the moments
(influence functions), ratios on the log scale. Each p inverts the interval beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from evenhand.measures.row import Measure, Sums
from evenhand.stats import tails
from evenhand.stats.auc import correlation_difference
from evenhand.stats.interval import Inference, bounds, from_standard_error, quantile
from evenhand.stats.moments import Means, Moments, Smooth, estimate, gradient
from evenhand.stats.rates import katz, miettinen_nurminen, newcombe

MANY_HITS = 30
"""Hits of either group from which Katz's closed form takes the place of the score interval."""
FEWEST_UNITS = 4
"""Units of a side below which a variance over units says nothing."""


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
    n, m = (f.n_effective if f.units is None else f.n for f in (one, two))
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
    few = few_units(a, b)
    if few is not None:
        return few
    for who, m in (("group", a), ("reference", b)):
        n = row.cases_in(m)
        if n < row.least:
            what = "case" if row.cases or row.trials else "row"
            return f"the {who} has {n:.4g} {what}{'s' * (n != 1)} here; at least {row.least} are needed"
    return None


def few_units(a: Moments, b: Moments) -> str | None:
    """Why two sides whose rows belong to units have no interval."""
    for who, m in (("group", a), ("reference", b)):
        if m.units is not None and m.units < FEWEST_UNITS:
            return (
                f"the rows of the {who} belong to {m.units} unit{'s' * (m.units != 1)}; at least"
                f" {FEWEST_UNITS} are needed"
            )
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
    with np.errstate(over="ignore"):  # an end without bound is None
        back = {
            k: None if (v := getattr(found, k)) is None else float(np.exp(v))
            for k in ("value", "low", "high")
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
    if m.independent < 4 or m.n_effective < 4 or not np.isfinite(r):
        what = "rows" if m.units is None else "units"
        few = f"{m.independent} {what}; at least 4 are needed"
        why = few if m.independent < 4 else "outcomes or predictions do not vary"
        return Inference(level=level, method=method, why_not=why)
    r = float(np.clip(r, -1, 1))
    if abs(r) >= 1 - 1e-14:
        return Inference(value=r, level=level, method=method, why_not="an exact line: no sampling variation")
    # The normal theory knows independent rows only: of units the delta method alone speaks.
    se = float(1 / np.sqrt((m.n_effective if m.units is None else m.n) - 3))
    _, plain = estimate(row.value, m)
    if np.isfinite(plain):
        # Fisher's error is that of normal data; skewed or heteroscedastic data have a larger one.
        own = 0.0 if row.tails is None else row.tails(m)
        widening = tails.widening(max(own, excess), m.n_effective)
        se = max(se, plain / (1 - r**2) * widening)
    df = m.n_effective - 2
    low, high = bounds(float(np.arctanh(r)), se, df=None if m.units is None else df, level=level)
    p = from_standard_error(r, float(np.sqrt((1 - r**2) / df)), df=df).p_value
    if m.units is not None:
        p = from_standard_error(float(np.arctanh(r)), se, df=df).p_value
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


class Rate(NamedTuple):
    """A rate as hits of independent trials.

    Args:
        hits, trials: with weights or units the numbers that would vary as much as the rate does: p(1 − p)/V
            trials, V being the linearised variance of the rate.
        whole: they are counts of rows. df: of V.

    Source: Korn & Graubard (1998), Confidence intervals for proportions with small expected number of
    positive counts estimated from survey data.
    """

    hits: float
    trials: float
    whole: bool = True
    df: float | None = None


def whole(_: Means) -> Any:
    """The share that all rows are of themselves."""
    return 1.0


def rate_in(m: Moments, of: Smooth, among: Smooth = whole) -> Rate:
    """The share `of` ÷ `among` of a group's means.

    Without hits, or with nothing else, nothing varies: Kish's effective number of trials stands for it.
    """
    if m.weight <= 0:
        return Rate(0.0, 0.0, whole=False)
    means: Means = m.means
    x, n = float(of(means)) * m.n_effective, float(among(means)) * m.n_effective
    if m.counts:
        return Rate(min(max(x, 0.0), n), n)
    if n <= 0:
        return Rate(0.0, 0.0, whole=False)
    cases, share = m.cases(among), min(max(x / n, 0.0), 1.0)
    variance = estimate(lambda t: of(t) / among(t), m)[1] ** 2
    if 1e-12 < share < 1 - 1e-12 and variance > 0:
        trials = min(share * (1 - share) / variance, float(among(means)) * m.n)
    else:
        trials = cases
    return Rate(share * trials, trials, whole=False, df=max(cases - 1, 1.0))


def shared_df(one: Rate, two: Rate, *, log: bool = False) -> float | None:
    """Degrees of freedom of a difference (or a log ratio) of two rates (Welch–Satterthwaite); None for
    counts."""
    if one.df is None and two.df is None:
        return None
    least = min(r.df for r in (one, two) if r.df is not None)
    variances = []
    for r in (one, two):
        p = r.hits / r.trials if r.trials > 0 else 0.0
        if log and p <= 0:
            return least
        variances.append((1 - p) * (1 / p if log else p) / max(r.trials, 1e-9))
    below = sum(v**2 / r.df for v, r in zip(variances, (one, two), strict=True) if r.df is not None)
    return sum(variances) ** 2 / below if below > 0 else least


def hits(m: Moments, term: str) -> Rate:
    """The rows where the 0/1 term is 1, of all rows."""
    return rate_in(m, lambda t: t[term])


def counts_of(row: Measure, m: Moments) -> Rate:
    """Hits and trials of a rate, or of a share of all rows; counts are whole."""
    of = row.hits or row.of
    if of is None:
        return Rate(0.0, 0.0, whole=False)
    found = rate_in(m, of, row.trials or whole)
    return Rate(float(round(found.hits)), float(round(found.trials))) if found.whole else found


def rate_difference(one: Rate, two: Rate, level: float) -> Inference:
    """Difference of two rates: Newcombe's interval, and the p that inverts it."""
    return newcombe(*one[:2], *two[:2], level=level, df=shared_df(one, two))


def rate_ratio(one: Rate, two: Rate, level: float) -> Inference:
    """Ratio of two rates: Miettinen–Nurminen's score interval and test where hits are few, else Katz's."""
    (x, n), (y, m) = one[:2], two[:2]
    df = shared_df(one, two, log=True)
    plain = katz(x, n, y, m, level=level, df=df)
    if not (n > 0 and m > 0):
        return plain.with_(why_not="a group has no rows", p_value=None)
    if plain.low is not None and min(x, y) >= MANY_HITS:
        return plain
    found = miettinen_nurminen(x, n, y, m, level=level, df=df)
    if found.value is None:
        return found.with_(why_not="nobody in the reference is selected")
    return _with_scale(found, plain)


def _with_scale(found: Inference, plain: Inference) -> Inference:
    """The inference with the standard error of the log ratio, from which power is computed."""
    if plain.se is None or found.low is None:
        return found
    return found.with_(se=plain.se, df=plain.df, detail={**found.detail, **plain.detail})


def log_rate(x: float, n: float) -> tuple[float, float]:
    """(log of a rate, its standard error): what the log of Katz's ratio of two rates is the difference of;
    NaN at 0."""
    if not (x > 0 and n > 0):
        return float("nan"), float("nan")
    return float(np.log(x / n)), float(np.sqrt(max(1 / x - 1 / n, 0.0)))


def _rates(row: Measure, a: Moments, b: Moments) -> tuple[Rate, Rate]:
    return counts_of(row, a), counts_of(row, b)


def share_ratio(row: Measure, a: Sums, b: Sums, level: float, seed: int) -> Inference:
    """Ratio of two shares of all rows, see `rate_ratio`."""
    return _unless_few(row, rate_ratio(*_rates(row, a.moments, b.moments), level), a, b)


def share_gap(row: Measure, a: Sums, b: Sums, level: float, seed: int) -> Inference:
    """Difference of two shares of all rows: Newcombe's interval, and the p that inverts it."""
    return _unless_few(row, rate_difference(*_rates(row, a.moments, b.moments), level), a, b)


def _unless_few(row: Measure, found: Inference, a: Sums, b: Sums) -> Inference:
    """The value alone where a side has too few rows, or its rows belong to too few units."""
    why = _why(row, a.moments, b.moments)
    return found if why is None else described(found, why)


def described(found: Inference, why: str) -> Inference:
    """An inference of which nothing but the value holds."""
    return Inference(value=found.value, level=found.level, method=found.method, why_not=why)


def log_share(row: Measure, m: Moments) -> tuple[float, float]:
    """(log of a share of all rows, its standard error); NaN at 0."""
    return log_rate(*counts_of(row, m)[:2])


def rate_gap(row: Measure, a: Sums, b: Sums, level: float, seed: int) -> Inference:
    """Difference of two rates, each of its own trials: Newcombe's interval, and the p that inverts it."""
    return rate_gap_at(row, a, b)(level)


def rate_gap_at(row: Measure, a: Sums, b: Sums) -> Callable[[float], Inference]:
    """Level → `rate_gap`; what does not depend on the level is counted once."""
    why = _why(row, a.moments, b.moments)
    one, two = _rates(row, a.moments, b.moments)
    if why is None:
        return partial(rate_difference, one, two)
    (x, n), (y, m) = one[:2], two[:2]
    value = x / n - y / m if min(n, m) > 1e-9 else None
    return lambda level: Inference(value=value, level=level, method="Newcombe", why_not=why)


def joined(row: Measure, a: Sums, b: Sums, level: float, seed: int) -> Inference:
    """What the gaps of its parts become together."""
    if row.join is None:
        raise TypeError(row.name)
    one, two = (rate_gap_at(part, a, b) for part in row.parts)
    return row.join(lambda at: (one(at), two(at)), level)


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

"""Rates: intervals for one, for differences and ratios of two, and exact tests of small tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr, bdtrc, betaincinv, gammaln

from evenhand._errors import UsageError
from evenhand._model import FloatArray
from evenhand.stats.interval import Inference, bounds, check_level, from_standard_error, quantile, tail


def check_counts(hits: float, n: float) -> None:
    """UsageError (`bad-counts`) unless 0 ≤ hits ≤ n."""
    if not (0 <= hits <= n) or not np.isfinite(n):
        raise UsageError(
            "bad-counts", "a count of hits must lie between 0 and the number of trials", given=(hits, n)
        )


def _no_trials(method: str, level: float) -> Inference:
    return Inference(level=level, method=method, why_not="a group has no cases")


def wilson(hits: float, n: float, *, level: float = 0.95, df: float | None = None) -> Inference:
    """Score interval of one rate (Wilson 1927): (p̂ + z²/2n ± z√(p̂q̂/n + z²/4n²))/(1 + z²/n).

    Args:
        hits, n: counts (an effective sample size may be fractional), 0 ≤ hits ≤ n.
        df: of a variance that was estimated rather than that of a binomial: t takes the place of z, which is
            Korn & Graubard's (1998) adjustment of the effective sample size.

    Raises:
        UsageError: `bad-counts`.

    >>> i = wilson(8, 10)
    >>> i.value, round(i.low, 4), round(i.high, 4)
    (0.8, 0.4902, 0.9433)
    """
    check_level(level)
    check_counts(hits, n)
    if n == 0:
        return _no_trials("Wilson", level)
    z, p = quantile(0.5 + level / 2, df), hits / n
    lowest, highest = _score_ends(p, n, z)
    low = 0.0 if hits == 0 else lowest
    high = 1.0 if hits == n else highest
    return Inference(value=p, low=max(0.0, low), high=min(1.0, high), level=level, method="Wilson")


def _score_ends(p: float, n: float, z: float) -> tuple[float, float]:
    """Wilson's ends of a share p of n at a normal (or t) quantile z."""
    middle, below = p + z * z / (2 * n), 1 + z * z / n
    reach = z * float((p * (1 - p) / n + z * z / (4 * n * n)) ** 0.5)
    return (middle - reach) / below, (middle + reach) / below


def clopper_pearson(hits: int, n: int, *, level: float = 0.95) -> Inference:
    """Exact interval of one rate from beta quantiles (Clopper & Pearson 1934); never covers less than
    `level`.

    Raises:
        UsageError: `bad-counts`.

    >>> i = clopper_pearson(8, 10)
    >>> round(i.low, 4), round(i.high, 4)
    (0.4439, 0.9748)
    """
    check_level(level)
    check_counts(hits, n)
    if n == 0:
        return _no_trials("Clopper–Pearson", level)
    low, high = _exact_bounds(hits, n, level)
    return Inference(value=hits / n, low=low, high=high, level=level, method="Clopper–Pearson")


def binomial_tails(hits: int, n: int, share: float) -> tuple[float, float]:
    """Chance of at most, and of at least, so many hits of n, each with the chance `share`.

    >>> binomial_tails(1, 2, 0.5)
    (0.75, 0.75)
    """
    above = 1.0 if hits <= 0 else float(bdtrc(hits - 1, n, share))
    return float(bdtr(hits, n, share)), above


def _exact_bounds(hits: int, n: int, level: float) -> tuple[float, float]:
    side = (1 - level) / 2
    low = 0.0 if hits == 0 else float(betaincinv(hits, n - hits + 1, side))
    high = 1.0 if hits == n else float(betaincinv(hits + 1, n - hits, 1 - side))
    return low, high


def newcombe(
    hits_a: float, n_a: float, hits_b: float, n_b: float, *, level: float = 0.95, df: float | None = None
) -> Inference:
    """p_a − p_b with the hybrid score interval (Newcombe 1998, method 10); p inverts it.

    Args:
        df: as in `wilson`.

    Raises:
        UsageError: `bad-counts`.

    >>> i = newcombe(56, 70, 48, 80)
    >>> round(i.value, 4), round(i.low, 4), round(i.high, 4)
    (0.2, 0.0524, 0.3339)
    """
    method = "Newcombe's hybrid score interval, and the p that inverts it"
    if n_a == 0 or n_b == 0:
        return _no_trials(method, check_level(level))
    one, two = wilson(hits_a, n_a, level=level, df=df), wilson(hits_b, n_b, level=level, df=df)
    p1, l1, u1, p2, l2, u2 = (
        float(v) for v in (one.value, one.low, one.high, two.value, two.low, two.high) if v is not None
    )
    d = p1 - p2
    return Inference(
        value=d,
        low=d - float(np.hypot(p1 - l1, u2 - p2)),
        high=d + float(np.hypot(u1 - p1, p2 - l2)),
        p_value=_hybrid_p(hits_a, n_a, hits_b, n_b, df),
        level=level,
        method=method,
    )


@lru_cache(maxsize=4096)
def _hybrid_p(hits_a: float, n_a: float, hits_b: float, n_b: float, df: float | None = None) -> float:
    """The p at whose level Newcombe's interval just reaches 0, √((p₁ − l₁)² + (u₂ − p₂)²) = |p₁ − p₂|."""
    one, two = (hits_a / n_a, n_a), (hits_b / n_b, n_b)
    if one[0] == two[0]:
        return 1.0
    (p, n), (q, m) = (one, two) if one[0] > two[0] else (two, one)

    def short(z: float) -> float:
        """How far the interval at this quantile stays from 0."""
        (low, _), (_, high) = _score_ends(p, n, z), _score_ends(q, m, z)
        down, up = p - low, high - q
        return float(np.hypot(down, up)) - (p - q)

    far = 1.0
    while short(far) <= 0 and far < 1e6:
        far *= 2
    return tail(root(short, far, 0.0), df)


def katz(
    hits_a: float, n_a: float, hits_b: float, n_b: float, *, level: float = 0.95, df: float | None = None
) -> Inference:
    """p_a / p_b with the log interval (Katz et al. 1978): se² = 1/x_a − 1/n_a + 1/x_b − 1/n_b; p on the log
    scale.

    Args:
        df: as in `wilson`.

    Returns:
        why_not where a rate is 0: the log of the ratio is not finite (see `miettinen_nurminen`).

    Raises:
        UsageError: `bad-counts`.

    >>> i = katz(34, 76, 50, 92)
    >>> round(i.value, 4), round(i.low, 3), round(i.high, 3)
    (0.8232, 0.602, 1.125)
    """
    check_level(level)
    check_counts(hits_a, n_a)
    check_counts(hits_b, n_b)
    method = "Katz's log interval of a ratio of rates"
    if n_a == 0 or n_b == 0:
        return _no_trials(method, level)
    if hits_b == 0:
        return Inference(level=level, method=method, why_not="the reference's rate is 0")
    if hits_a == 0:
        return Inference(value=0.0, level=level, method=method, why_not="the group's rate is 0")
    variance = 1 / hits_a - 1 / n_a + 1 / hits_b - 1 / n_b
    ratio = hits_a / n_a / (hits_b / n_b)
    if variance <= 0:
        return Inference(value=ratio, level=level, method=method, why_not="both rates are 1")
    log, se = float(np.log(ratio)), float(np.sqrt(variance))
    with np.errstate(over="ignore"):
        low, high = (float(np.exp(bound)) for bound in bounds(log, se, df=df, level=level))
    on = from_standard_error(log, se, df=df, level=level, method=method)
    return on.with_(value=ratio, low=low, high=high, detail={"scale_of_se": "log"})


def miettinen_nurminen(
    hits_a: float,
    n_a: float,
    hits_b: float,
    n_b: float,
    *,
    kind: str = "ratio",
    level: float = 0.95,
    df: float | None = None,
) -> Inference:
    """p_a / p_b (or p_a − p_b) with the score interval under the restricted maximum likelihood.

    Inverts the χ² score test, so it exists where a rate is 0: the ratio's lower bound is then 0, or its upper
    one is absent (unbounded).

    Args:
        kind: ``"ratio"`` or ``"difference"``. df: as in `wilson`.

    Raises:
        UsageError: `bad-counts`, `bad-kind`.

    Source: Miettinen & Nurminen (1985), Comparative analysis of two rates, eq. 8 to 13.

    >>> i = miettinen_nurminen(0, 20, 5, 20)
    >>> i.value, i.low, round(i.high, 3)
    (0.0, 0.0, 0.705)
    """
    check_level(level)
    check_counts(hits_a, n_a)
    check_counts(hits_b, n_b)
    if kind not in ("ratio", "difference"):
        raise UsageError("bad-kind", "unknown contrast", given=kind, available=["ratio", "difference"])
    method = f"Miettinen–Nurminen score interval of a {kind}"
    if n_a == 0 or n_b == 0:
        return _no_trials(method, level)
    if kind == "ratio" and hits_b == 0:
        known = tail(_score_ratio(1.0, hits_a, n_a, hits_b, n_b), df)
        return Inference(level=level, p_value=known, method=method, why_not="the reference's rate is 0")
    p, q = hits_a / n_a, hits_b / n_b
    value = p / q if kind == "ratio" else p - q
    score = _score_ratio if kind == "ratio" else _score_difference
    z = quantile(0.5 + level / 2, df)

    def outside(contrast: float, sign: float) -> float:
        return sign * score(contrast, hits_a, n_a, hits_b, n_b) - z

    if kind == "ratio":
        low = 0.0 if hits_a == 0 else root(lambda t: outside(np.exp(t), 1.0), -20.0, float(np.log(value)))
        if hits_a > 0:
            low = float(np.exp(low))
        start = float(np.log(value)) if value > 0 else -20.0
        high = float(np.exp(root(lambda t: outside(np.exp(t), -1.0), 20.0, start)))
    else:
        edge = 1 - 1e-9
        low = -1.0 if outside(-edge, 1.0) <= 0 else root(lambda t: outside(t, 1.0), -edge, value)
        high = 1.0 if outside(edge, -1.0) <= 0 else root(lambda t: outside(t, -1.0), edge, value)
    return Inference(
        value=value,
        low=low,
        high=high,
        p_value=tail(score(1.0 if kind == "ratio" else 0.0, hits_a, n_a, hits_b, n_b), df),
        level=level,
        method=method,
    )


def root(f: Callable[[float], float], out: float, inside: float) -> float:
    """Where f changes sign between `out` (positive) and `inside` (not positive).

    Secants, with a bisection every third step, so that it ends whatever f does.

    >>> round(root(lambda x: x * x - 2, 4.0, 0.0), 9)
    1.414213562
    """
    above, below = f(out), f(inside)
    for step in range(200):
        middle = (out + inside) / 2
        if step % 3 != 2 and np.isfinite(above) and np.isfinite(below) and above > below:
            middle = out - above * (out - inside) / (above - below)
        value = f(middle)
        if value > 0:
            out, above, below = middle, value, below / 2 if step % 3 != 2 else below
        else:
            inside, below, above = middle, value, above / 2 if step % 3 != 2 else above
        if abs(out - inside) < 1e-12 or value == 0.0 or abs(value) < 1e-14:
            return middle
    return (out + inside) / 2


def _score_ratio(ratio: float, x: float, n: float, y: float, m: float) -> float:
    """Signed root of the score statistic for p_a = ratio·p_b (eq. 9, 10), N/(N−1) included."""
    total = n + m
    # Restricted estimate of p_b: root of A p² + B p + C.
    a, b, c = total * ratio, -(n * ratio + x + m + y * ratio), x + y
    q = (-b - np.sqrt(max(b * b - 4 * a * c, 0.0))) / (2 * a)
    p = min(ratio * q, 1.0)
    variance = (p * (1 - p) / n + ratio**2 * q * (1 - q) / m) * total / max(total - 1, 0.5)
    gap = x / n - ratio * y / m
    return (
        float(gap / np.sqrt(variance)) if variance > 1e-300 else float(np.sign(gap) * np.inf) if gap else 0.0
    )


def _score_difference(d: float, x: float, n: float, y: float, m: float) -> float:
    """Signed root of the score statistic for p_a = p_b + d (eq. 8, 11), N/(N−1) included."""
    total = n + m
    q = _restricted_reference(d, x, n, y, m)
    p = min(max(q + d, 0.0), 1.0)
    variance = (p * (1 - p) / n + q * (1 - q) / m) * total / max(total - 1, 0.5)
    gap = x / n - y / m - d
    return (
        float(gap / np.sqrt(variance)) if variance > 1e-300 else float(np.sign(gap) * np.inf) if gap else 0.0
    )


def _restricted_reference(d: float, x: float, n: float, y: float, m: float) -> float:
    """p_b that maximises x·log(q+d) + (n−x)·log(1−q−d) + y·log q + (m−y)·log(1−q), by bisection of the
    slope."""
    low, high = max(0.0, -d), min(1.0, 1.0 - d)

    def slope(q: float) -> float:
        tiny = 1e-300
        p = q + d
        return float(
            x / max(p, tiny) - (n - x) / max(1 - p, tiny) + y / max(q, tiny) - (m - y) / max(1 - q, tiny)
        )

    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return (low + high) / 2


WHOLE_SUPPORT = 20_000
"""Tables up to which Fisher's test looks at each; beyond, only at those that count."""


def fisher_exact(hits_a: int, n_a: int, hits_b: int, n_b: int) -> float:
    """Two-sided p of Fisher's exact test: the tables no likelier than the one seen (Fisher 1922).

    Raises:
        UsageError: `bad-counts`.

    >>> round(fisher_exact(3, 10, 8, 10), 4)
    0.0698
    """
    check_counts(hits_a, n_a)
    check_counts(hits_b, n_b)
    hits, total = hits_a + hits_b, n_a + n_b
    first, last = max(0, hits - n_b), min(hits, n_a)

    def log_choose(n: float, r: FloatArray) -> FloatArray:
        return np.asarray(gammaln(n + 1) - gammaln(r + 1) - gammaln(n - r + 1))

    def logs_of(k: npt.NDArray[np.int64]) -> FloatArray:
        ways = log_choose(n_a, k.astype(float)) + log_choose(n_b, (hits - k).astype(float))
        return np.asarray(ways - log_choose(total, np.array([float(hits)])))

    seen = float(logs_of(np.array([hits_a]))[0]) + 1e-7
    if last - first < WHOLE_SUPPORT:
        logs = logs_of(np.arange(first, last + 1))
        return float(min(1.0, np.sum(np.exp(logs[logs <= seen]))))
    # The tables are log-concave around the mode: each tail starts where it becomes as unlikely as what was
    # seen, and falls from there at least as fast as from the mode, so 40 standard deviations of it are all
    # that a sum can feel.
    mode = min(max((hits + 1) * (n_a + 1) // (total + 2), first), last)
    share = hits / total
    reach = 200 + int(40 * np.sqrt(n_a * share * (1 - share) * n_b / max(total - 1, 1)))
    if float(logs_of(np.array([mode]))[0]) <= seen:
        return 1.0
    p = 0.0
    for end, step in ((first, -1), (last, 1)):
        inside, outside = (
            0,
            abs(end - mode) + 1,
        )  # steps from the mode: likelier than seen, and not (or off the support)
        while outside - inside > 1:
            middle = (inside + outside) // 2
            likely = float(logs_of(np.array([mode + step * middle]))[0]) > seen
            inside, outside = (middle, outside) if likely else (inside, middle)
        steps = np.arange(outside, min(abs(end - mode), outside + reach) + 1)
        p += float(np.sum(np.exp(logs_of(mode + step * steps))))
    return min(1.0, p)


def mcnemar_exact(b: int, c: int, *, level: float = 0.95) -> Inference:
    """Odds b/c of the two kinds of discordant pairs, exact binomial p and Clopper–Pearson interval.

    Args:
        b, c: pairs that changed only one way, and only the other.

    Returns:
        value b/c (None where c = 0), its interval (an unbounded side is None), p of b ~ Binomial(b + c, ½).

    Raises:
        UsageError: `bad-counts`.

    Source: McNemar (1947), exact form.

    >>> i = mcnemar_exact(10, 2)
    >>> i.value, round(i.p_value, 4), round(i.low, 3)
    (5.0, 0.0386, 1.066)
    """
    check_counts(b, b + c)
    method = "exact McNemar, Clopper–Pearson odds"
    if b + c == 0:
        return Inference(level=check_level(level), method=method, why_not="no discordant pair")
    n, k = b + c, min(b, c)
    p = min(1.0, 2 * float(bdtr(k, n, 0.5)))
    lowest, highest = _exact_bounds(b, n, level)
    low = lowest / (1 - lowest)
    high = highest / (1 - highest) if highest < 1 else None
    return Inference(
        value=b / c if c else None,
        low=low,
        high=high,
        p_value=p,
        level=level,
        method=method,
        why_not=None if c else "no pair changed the other way: the odds are unbounded",
    )

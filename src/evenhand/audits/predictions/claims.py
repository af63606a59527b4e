"""Claims about two groups' predictions: one visible list; each claim is a number, its interval and its p-value.

Intervals: rates by Katz (ratio; Miettinen–Nurminen at the edges) and Newcombe (difference), means by Welch, AUC by DeLong,
correlations by Fisher's z and Zou, everything else by the delta method on the moments (influence functions), ratios on
the log scale. Selection at a quantile of the sample fixes both margins of the table, so its p-value is Fisher's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np

from evenhand._errors import UsageError
from evenhand._estimate import Evidence
from evenhand._judge import tolerance_of
from evenhand._model import Estimate, Measure
from evenhand.audits.predictions.cells import Cell, Frame, selected_term
from evenhand.audits.predictions.rates import hits, impact, log_rate, rate_gap
from evenhand.measures import regression as reg
from evenhand.measures.regression import Smoothed
from evenhand.stats import tails
from evenhand.stats.auc import correlation_difference
from evenhand.stats.distance import wasserstein_test
from evenhand.stats.histogram import auc, kolmogorov_smirnov
from evenhand.stats.interval import Inference, bounds, from_standard_error
from evenhand.stats.moments import Moments, estimate, gradient
from evenhand.stats.power import detectable

Unit: TypeAlias = Literal["", "sd of predictions", "sd of outcomes"]
Family: TypeAlias = Literal["outcomes", "accuracy", "top"]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One comparison of two cells.

    Args:
        measure, contrast: as in results. infer: (group, reference, level) → Inference.
        tolerance: default, a number; in units of `unit` where one is given. ratio: the tolerance is of a ratio.
        key: name under which the user sets the tolerance.
        alone: (value, standard error) of one cell, on the scale where the claim is the difference of two cells' values
            (the log for ratios); NaN where it has none. Claims with it have a widest gap.
    """

    measure: str
    contrast: str
    infer: Callable[[Cell, Cell, float], Inference]
    key: str
    family: Family
    tolerance: float
    ratio: bool = False
    centre: float = 0.0
    unit: Unit = ""
    given: str | None = None
    counts: Callable[[Cell], int] = field(default=lambda c: c.n)
    alone: Callable[[Cell], tuple[float, float]] | None = None


TOLERANCES: Mapping[str, float] = {
    "disparate impact": 0.8,
    "selection rate": 0.1,
    "average score": 0.2,
    "standardised mean difference": 0.2,
    "adverse-impact AUC": 0.06,
    "Kolmogorov–Smirnov distance": 0.1,
    "Wasserstein distance": 0.2,
    "concurrent validity": 0.1,
    "RMSE": 0.8,
    "MAE": 0.8,
    "mean residual": 0.2,
    "calibration slope": 0.2,
    "calibration level": 0.2,
    "interval coverage": 0.05,
    "interval width": 0.8,
    "pinball loss": 0.8,
    "exposure": 0.8,
}
"""Default tolerances: ratios as the lower bound (0.8 → 0.8 to 1.25), scores in standard deviations, the AUC from ½."""


def tolerances(given: Mapping[str, Any] | None, defaults: Mapping[str, float] = TOLERANCES) -> dict[str, Any]:
    """Defaults with the user's own put in.

    Raises:
        UsageError: `unknown-tolerance` for a name that no claim has.
    """
    merged: dict[str, Any] = dict(defaults)
    if given is not None and not isinstance(given, Mapping):
        raise UsageError(
            "bad-tolerance",
            "predictions have many measures, so a tolerance names its own",
            given=given,
            expected='a mapping, e.g. {"disparate impact": 0.8}',
            available=sorted(defaults),
        )
    for name, value in (given or {}).items():
        if name not in defaults:
            raise UsageError(
                "unknown-tolerance", "no claim has this name", given=name, available=sorted(defaults)
            )
        merged[name] = tuple(value) if isinstance(value, list) else value
    return merged


# --- contrasts of moments -------------------------------------------------------------------------------------------


def difference(measure: Measure, *, of: Callable[[Cell], Moments] | None = None) -> Any:
    """Claim function: value of the group minus that of the reference, t interval with Welch–Satterthwaite df."""

    part = of or everyone_in
    need = _needed(measure, part is top_of)

    def infer(a: Cell, b: Cell, level: float) -> Inference:
        one, two = part(a), part(b)
        (x, s), (y, t) = _both(measure, one, two)
        method = (
            "difference of means, Welch's t"
            if measure.name == "average score"
            else f"difference of {measure.name}, delta method"
        )
        return _from_parts(x - y, s, t, one, two, level, method, need)

    return infer


def ratio(measure: Measure, *, of: Callable[[Cell], Moments] | None = None) -> Any:
    """Claim function: ratio of two positive values, interval and p on the log scale."""

    part = of or everyone_in
    need = _needed(measure, part is top_of)

    def infer(a: Cell, b: Cell, level: float) -> Inference:
        one, two = part(a), part(b)
        (x, s), (y, t) = _both(measure, one, two)
        method = f"ratio of {measure.name}, delta method on the log scale"
        if not (x > 0 and y > 0):
            return Inference(
                level=level,
                method=method,
                why_not=_why(one, two) or "a value is 0, so the ratio has no scale",
            )
        on = _from_parts(float(np.log(x / y)), s / x, t / y, one, two, level, method, need)
        back = {
            k: None if v is None else float(np.exp(v))
            for k, v in (("value", on.value), ("low", on.low), ("high", on.high))
        }
        return on.with_(**back, detail={"scale_of_se": "log"})

    return infer


def _both(measure: Measure, a: Moments, b: Moments) -> tuple[tuple[float, float], tuple[float, float]]:
    function = measure.function
    if not isinstance(function, Smoothed):  # the table of measures holds nothing else
        raise TypeError(measure.name)
    found = []
    for m in (a, b):
        value, se = estimate(function.value, m)
        found.append((value, _widened(measure, se, m)))
    return found[0], found[1]


def _why(a: Moments, b: Moments, need: int = 2) -> str | None:
    for who, m in (("group", a), ("reference", b)):
        if m.n < need:
            return f"the {who} has {m.n} row{'s' * (m.n != 1)} here; at least {need} are needed"
    return None


NEEDED: Mapping[str, int] = {
    "average score": 2,
    "mean residual": 2,
    "RMSE": 15,
    "calibration slope": 30,
    "calibration level": 30,
}
"""Rows of each side below which a measure gets no interval (docs/reference/calibration-predictions.md); see `NEEDED_ELSE`."""
NEEDED_ELSE = 5
NEEDED_TOP = 8
LINEAR = frozenset({"average score", "mean residual", "MAE", "pinball loss", "interval width", "exposure"})
"""Means; the others are curved functions of means, whose delta variance is widened by n/(n − 4), and by heavy tails."""


def _widened(measure: Measure, se: float, m: Moments) -> float:
    n = m.n_effective
    if measure.name in LINEAR or n <= 5:
        return se
    excess = {"RMSE": tails.of_errors, "calibration slope": tails.of_line}.get(measure.name)
    return se * float(np.sqrt(n / (n - 4))) * (1.0 if excess is None else tails.widening(excess(m), n))


def _needed(measure: Measure, infer_top: bool) -> int:
    return max(NEEDED.get(measure.name, NEEDED_ELSE), NEEDED_TOP if infer_top else 0)


def everyone_in(c: Cell) -> Moments:
    """The sums over all rows of a cell."""
    return c.moments


def top_of(c: Cell) -> Moments:
    """The sums over the top rows of a cell."""
    return c.top


def _from_parts(
    value: float, s: float, t: float, a: Moments, b: Moments, level: float, method: str, need: int = 2
) -> Inference:
    why = _why(a, b, need)
    if why is not None or not np.isfinite(value):
        known = float(value) if np.isfinite(value) else None
        return Inference(
            value=known, level=level, method=method, why_not=why or "undefined: a group does not vary"
        )
    variance = s**2 + t**2
    parts = s**4 / max(a.n_effective - 1, 1e-9) + t**4 / max(b.n_effective - 1, 1e-9)
    df = variance**2 / parts if parts > 0 else None
    # A standard error that is rounding error of equal numbers is none.
    se = float(np.sqrt(variance))
    return from_standard_error(
        value, 0.0 if se < 1e-12 * (1 + abs(value)) else se, df=df, level=level, method=method
    )


def standardised(of: Callable[[Cell], Moments] | None = None) -> Any:
    """Claim function: Cohen's d (variance pooled with ddof 1); p is Welch's, Hedges' g in the method."""

    part = of or everyone_in

    def infer(a: Cell, b: Cell, level: float) -> Inference:
        one, two = part(a), part(b)
        method = "Cohen's d, pooled with ddof 1, delta method; p is Welch's"
        need = NEEDED_TOP if part is top_of else NEEDED_ELSE
        why = _why(one, two)
        if why:
            return Inference(level=level, method=method, why_not=why)
        n, m = one.n_effective, two.n_effective

        def d(x: Any, y: Any) -> Any:
            pooled = (n * (x["pp"] - x["p"] ** 2) + m * (y["pp"] - y["p"] ** 2)) / (n + m - 2)
            return (x["p"] - y["p"]) / pooled**0.5

        first, second = one.means, two.means
        left, right = ({k: v for k, v in f.items() if k in ("p", "pp")} for f in (first, second))
        with np.errstate(all="ignore"):
            value = float(
                np.real(
                    d(
                        {k: np.float64(v) for k, v in left.items()},
                        {k: np.float64(v) for k, v in right.items()},
                    )
                )
            )
        if not np.isfinite(value):
            return Inference(level=level, method=method, why_not="no variation within the groups")
        variances = []
        for m_, slope in (
            (one, gradient(lambda x: d(x, right), left)),
            (two, gradient(lambda y: d(left, y), right)),
        ):
            at = [m_.names.index("p"), m_.names.index("pp")]
            variances.append(float(slope @ m_.covariance()[np.ix_(at, at)] @ slope))
        same: Inference = difference(reg.MEAN, of=part)(a, b, level)
        found = _from_parts(
            value, max(variances[0], 0.0) ** 0.5, max(variances[1], 0.0) ** 0.5, one, two, level, method, need
        )
        return found if found.low is None else found.with_(p_value=same.p_value)

    return infer


def hedges_g(a: Cell, b: Cell, level: float) -> Inference:
    """Cohen's d without its small-sample bias (Hedges 1981): d·J(n + m − 2)."""
    from evenhand.stats.two_samples import hedges_correction

    found: Inference = standardised()(a, b, level)
    factor = hedges_correction(round(a.moments.n_effective + b.moments.n_effective) - 2)
    scaled = {k: None if (v := getattr(found, k)) is None else v * factor for k in ("value", "low", "high")}
    return found.with_(**scaled, method="Hedges' g: Cohen's d times J; p is Welch's")


def validity_gap(of: Callable[[Cell], Moments] | None = None) -> Any:
    """Claim function: difference of correlations r(y, ŷ): Fisher's z test, Zou's interval."""

    part = of or everyone_in

    def infer(a: Cell, b: Cell, level: float) -> Inference:
        return correlation_difference(
            correlation_of(part(a), level), correlation_of(part(b), level), level=level
        )

    return infer


def correlation_of(m: Moments, level: float) -> Inference:
    """Pearson's r of outcomes and predictions with Fisher's z interval, from moments."""
    method = "Pearson's r, Fisher's z interval (the wider of the normal and the delta method's error)"
    means = m.means
    with np.errstate(all="ignore"):
        r = float(reg.correlation({k: np.float64(v) for k, v in means.items()}))
    if m.n < 4 or m.n_effective < 4 or not np.isfinite(r):
        why = f"{m.n} rows; at least 4 are needed" if m.n < 4 else "outcomes or predictions do not vary"
        return Inference(level=level, method=method, why_not=why)
    r = float(np.clip(r, -1, 1))
    if abs(r) >= 1 - 1e-14:
        return Inference(value=r, level=level, method=method, why_not="an exact line: no sampling variation")
    se = float(1 / np.sqrt(m.n_effective - 3))
    _, plain = estimate(reg.correlation, m)
    if np.isfinite(
        plain
    ):  # Fisher's error is that of normal data; skewed or heteroscedastic data have a larger one
        se = max(se, plain / (1 - r**2) * tails.widening(tails.of_line(m), m.n_effective))
    low, high = bounds(float(np.arctanh(r)), se, level=level)
    p = from_standard_error(r, float(np.sqrt((1 - r**2) / (m.n_effective - 2))), df=m.n_effective - 2).p_value
    return Inference(
        value=r,
        low=float(np.tanh(low)),
        high=float(np.tanh(high)),
        p_value=p,
        se=se,
        level=level,
        method=method,
    )


# --- the list -------------------------------------------------------------------------------------------------------


def regression_claims(frame: Frame, quantiles: Sequence[float], *, seed: int = 0) -> list[Claim]:
    """The regression table: what is claimed about each pair of groups."""
    found: list[Claim] = []
    for q in quantiles:
        term = selected_term(q)
        name = f"disparate impact at q={q:g}"
        alone = partial(_log_share, term)
        found.append(
            _claim(name, "ratio", impact(term), "disparate impact", "outcomes", ratio=True, alone=alone)
        )
    for q in quantiles:
        found.append(
            _claim(
                f"selection rate above q={q:g}",
                "difference",
                rate_gap(selected_term(q)),
                "selection rate",
                "outcomes",
            )
        )
    p, y = "sd of predictions", "sd of outcomes"
    found += [
        _claim("average score", "difference", difference(reg.MEAN), "average score", "outcomes", unit=p, alone=_mean_alone),
        _claim("standardised mean difference", "difference", standardised(), "standardised mean difference", "outcomes"),
        _claim("adverse-impact AUC", "AUC", lambda a, b, level: auc(a.scores, b.scores, level=level), "adverse-impact AUC", "outcomes", centre=0.5),
        _claim("Kolmogorov–Smirnov distance", "distance", lambda a, b, level: kolmogorov_smirnov(a.scores, b.scores, level=level), "Kolmogorov–Smirnov distance", "outcomes"),
        _claim("Wasserstein distance", "distance", lambda a, b, level: wasserstein_test(a.scores, b.scores, seed=seed, level=level), "Wasserstein distance", "outcomes", unit=p),
    ]  # fmt: skip
    if "y" in frame.terms:
        found += [
            _claim("concurrent validity", "difference", validity_gap(), "concurrent validity", "accuracy"),
            _claim("RMSE", "ratio", ratio(reg.RMSE), "RMSE", "accuracy", ratio=True),
            _claim("MAE", "ratio", ratio(reg.MAE), "MAE", "accuracy", ratio=True),
            _claim("mean residual", "difference", difference(reg.RESIDUAL), "mean residual", "accuracy", unit=y),
            _claim("calibration slope", "difference", difference(reg.SLOPE), "calibration slope", "accuracy"),
            _claim("calibration level", "difference", difference(reg.INTERCEPT), "calibration level", "accuracy", unit=y),
        ]  # fmt: skip
    if "covered" in frame.terms:
        found.append(
            _claim(
                "interval coverage",
                "difference",
                rate_gap("covered", exact=False),
                "interval coverage",
                "accuracy",
            )
        )
    if "width" in frame.terms:
        found.append(
            _claim("interval width", "ratio", ratio(reg.WIDTH), "interval width", "accuracy", ratio=True)
        )
    if "pinball" in frame.terms:
        found.append(
            _claim("pinball loss", "ratio", ratio(reg.PINBALL), "pinball loss", "accuracy", ratio=True)
        )
    if "exposure" in frame.terms:
        found.append(_claim("exposure", "ratio", ratio(reg.EXPOSURE), "exposure", "outcomes", ratio=True))
    return found + _top_claims(frame)


def _log_share(term: str, c: Cell) -> tuple[float, float]:
    x, n = hits(c.moments, term)
    counted = c.moments.weight == c.moments.n
    return log_rate(round(x) if counted else x, n)


def _mean_alone(c: Cell) -> tuple[float, float]:
    if c.moments.n < NEEDED["average score"]:
        return float("nan"), float("nan")
    return estimate(lambda m: m["p"], c.moments)


def _top_claims(frame: Frame) -> list[Claim]:
    share = f"top {100 * (1 - frame.top):.3g} %"

    found = [
        _claim("average score", "difference", difference(reg.MEAN, of=top_of), "average score", "top", unit="sd of predictions"),
        _claim("standardised mean difference", "difference", standardised(top_of), "standardised mean difference", "top"),
    ]  # fmt: skip
    if "y" in frame.terms:
        found += [
            _claim("concurrent validity", "difference", validity_gap(top_of), "concurrent validity", "top"),
            _claim("RMSE", "ratio", ratio(reg.RMSE, of=top_of), "RMSE", "top", ratio=True),
        ]
    return [_with(c, given=share, counts=lambda c: c.top.n) for c in found]


def _claim(measure: str, contrast: str, infer: Any, key: str, family: Family, **more: Any) -> Claim:
    return Claim(
        measure=measure,
        contrast=contrast,
        infer=infer,
        key=key,
        family=family,
        tolerance=TOLERANCES[key],
        **more,
    )


def _with(claim: Claim, **changes: Any) -> Claim:
    from dataclasses import replace

    return replace(claim, **changes)


def bounds_of(claim: Claim, value: Any, units: Mapping[str, float]) -> tuple[float, float] | None:
    """The declared tolerance as bounds of the contrast, on its own scale.

    Args:
        units: size of "sd of predictions" and "sd of outcomes".
    """
    if value is None:
        return None
    low, high = tolerance_of(value, ratio=claim.ratio)
    if claim.ratio:
        return low, high
    scale = units.get(claim.unit, 1.0) if claim.unit else 1.0
    low, high = low * scale, high * scale
    if claim.contrast == "distance":
        low = 0.0
    return claim.centre + low, claim.centre + high


def evidence_of(claim: Claim, a: Cell, b: Cell, *, level: float, given: str | None = None) -> Evidence:
    """The claim about one pair of cells, with the numbers that a verdict needs."""
    found = claim.infer(a, b, level)
    alpha = 1.0 - level
    narrow = None
    if found.low is not None and found.high is not None:
        inner = claim.infer(a, b, 1.0 - 2.0 * alpha)
        if inner.low is not None and inner.high is not None:
            narrow = (inner.low, inner.high)
    where = " and ".join(x for x in (given, claim.given) if x) or None
    item = Estimate(
        measure=claim.measure,
        contrast=claim.contrast,
        group=a.label,
        reference=b.label,
        given=where,
        value=found.value,
        low=found.low,
        high=found.high,
        level=level,
        p_value=found.p_value,
        n=claim.counts(a) + claim.counts(b),
        n_group=claim.counts(a),
        n_reference=claim.counts(b),
        method=found.method,
        why_not=found.why_not,
    )
    return Evidence(estimate=item, narrow=narrow, detectable=_detectable(claim, found, alpha))


def _detectable(claim: Claim, found: Inference, alpha: float) -> float | None:
    se = found.se
    if se is None and found.low is not None and found.high is not None and claim.contrast == "difference":
        from evenhand.stats.interval import quantile

        se = (found.high - found.low) / 2 / quantile(1 - alpha / 2, None)
    if not se or claim.contrast == "distance":
        return None
    gap = detectable(se, df=found.df, alpha=alpha)
    if gap is None:
        return None
    return 1.0 - float(np.exp(-gap)) if found.detail.get("scale_of_se") == "log" else gap

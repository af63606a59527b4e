"""The audit of class labels: binary, multiclass (each class against the rest), and a classifier's scores."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

import numpy as np

from evenhand._analysis import Analysis
from evenhand._errors import UsageError
from evenhand._model import Measure
from evenhand.audits.predictions.cells import Cell
from evenhand.audits.predictions.claims import Claim, _from_parts
from evenhand.audits.predictions.class_cells import ClassCell, ClassSource
from evenhand.audits.predictions.class_exhibits import add_classification, add_conditional
from evenhand.audits.predictions.compare import Settings, compare, reference_cell, widest, worst_subgroup
from evenhand.audits.predictions.rates import log_rate, rate_ratio
from evenhand.measures import classification as cls
from evenhand.measures.classification import Counted
from evenhand.stats.histogram import auc
from evenhand.stats.interval import Inference, bounds
from evenhand.stats.moments import Moments, estimate
from evenhand.stats.rates import newcombe

TOLERANCES: Mapping[str, float] = {
    "disparate impact": 0.8,
    "statistical parity": 0.1,
    "equal opportunity": 0.1,
    "predictive equality": 0.1,
    "equalised odds": 0.1,
    "average odds": 0.1,
    "predictive parity": 0.1,
    "false omission rate": 0.1,
    "accuracy": 0.1,
    "AUC": 0.06,
    "Brier score": 0.8,
    "calibration in the large": 0.1,
    "balance for the positive class": 0.1,
    "balance for the negative class": 0.1,
}


def classification(
    source: ClassSource, settings: Settings, analysis: Analysis, *, measures: str | Sequence[str]
) -> None:
    """Every claim about every group against the reference, for the favourable class or for each of several."""
    if len(source.labels) == 1:
        one_class(source, source.labels[0], settings, analysis, measures=measures)
        return
    for label in source.labels:
        one_class(source, label, settings, analysis, measures=measures, given=f"class={label}")
    analysis.note(
        "multiclass",
        f"{len(source.labels)} classes: each is held against the rest; positive= picks one of them.",
    )


def one_class(
    source: ClassSource,
    label: str,
    settings: Settings,
    analysis: Analysis,
    *,
    measures: str | Sequence[str],
    given: str | None = None,
) -> None:
    """The claims for one class against the rest."""
    everyone = source.everyone(label)
    _notice(everyone, label, analysis)
    for attribute in source.attributes:
        cells = source.cells(label, attribute, None)
        if len(cells) < 2:
            analysis.note(
                "one-group",
                f"{attribute} has {len(cells)} group with rows: there is nothing to compare.",
                warning=True,
            )
            continue
        claims = _kept(class_claims(known_of(cells[0])), measures)
        reference = reference_cell(cells, attribute, settings, analysis)
        family = attribute if given is None else f"{attribute}, {given}"
        analysis.findings += compare(cells, reference, claims, settings, family=family, given=given)
        if given is None:
            analysis.findings += widest(cells, claims, settings, attribute)
        if given is None and attribute in source.crossing:
            analysis.findings += worst_subgroup(cells, claims, settings, attribute)
        add_classification(analysis, cells, attribute, settings, given)
        for name, levels in source.strata.items():
            strata = [source.cells(label, attribute, (name, level)) for level in levels]
            for level, within in zip(levels, strata, strict=True):
                own = next((c for c in within if c.label == reference.label), None)
                if own is None or len(within) < 2:
                    continue
                where = " and ".join(x for x in (given, f"{name}={level}") if x)
                analysis.findings += compare(
                    within, own, claims, settings, family=f"{attribute} given {where}", given=where
                )
            add_conditional(analysis, [c.label for c in cells], strata, attribute, name, given)


def _notice(everyone: Cell, label: str, analysis: Analysis) -> None:
    selected = everyone.moments.means["sel"]
    if selected in (0.0, 1.0):
        who = "everybody" if selected else "nobody"
        analysis.note(
            "constant-predictions",
            f"The model gives {label} to {who}: that shows nothing about groups.",
            warning=True,
        )


def known_of(cell: Cell) -> set[str]:
    """Which of selected, actual and y_score a cell has sums of."""
    roles = {"sel": "selected", "act": "actual", "s": "y_score"}
    return {role for term, role in roles.items() if term in cell.moments.names}


# --- claims ---------------------------------------------------------------------------------------------------------


def counts_of(measure: Measure, m: Moments) -> tuple[float, float, bool]:
    """(hits, trials, whole numbers) of a rate; with weights the effective numbers."""
    function = cast(Counted, measure.function)
    if function.hits is None or function.trials is None or m.weight <= 0:
        return 0.0, 0.0, False
    means = m.means
    n = m.n_effective
    trials = float(function.trials(means)) * n
    hits = float(function.hits(means)) * n
    counted = m.weight == m.n
    if counted:
        return float(round(hits)), float(round(trials)), True
    return min(max(hits, 0.0), max(trials, 0.0)), max(trials, 0.0), False


def _rate_gap(measure: Measure) -> Any:
    def infer(a: Cell, b: Cell, level: float) -> Inference:
        x, n, _ = counts_of(measure, a.moments)
        y, m, _ = counts_of(measure, b.moments)
        if min(n, m) < 1e-9:
            who = "group" if n < 1e-9 else "reference"
            return Inference(
                level=level, method="Newcombe", why_not=f"the {who} has no case to count {measure.name} on"
            )
        found = newcombe(x, n, y, m, level=level)
        alike = (x in (0, n)) and (y in (0, m)) and x / n == y / m
        return found.with_(p_value=None if alike and min(n, m) < 2 else found.p_value)

    return infer


def _rate_ratio(measure: Measure) -> Any:
    def infer(a: Cell, b: Cell, level: float) -> Inference:
        x, n, one = counts_of(measure, a.moments)
        y, m, two = counts_of(measure, b.moments)
        small = (
            n + m < 30
            or min((x + y) / max(n + m, 1e-9) * min(n, m), (1 - (x + y) / max(n + m, 1e-9)) * min(n, m)) < 5
        )
        return rate_ratio(x, n, y, m, level, exact=small, counted=one and two)

    return infer


def _odds(kind: str) -> Any:
    """Equalised odds: the larger of the TPR and FPR gaps, Bonferroni for two; average odds: their mean."""
    tpr, fpr = _rate_gap(cls.RATES["true positive rate"]), _rate_gap(cls.RATES["false positive rate"])

    def infer(a: Cell, b: Cell, level: float) -> Inference:
        each = 1 - (1 - level) / 2 if kind == "larger" else level
        one, two = tpr(a, b, each), fpr(a, b, each)
        if one.value is None or two.value is None:
            return Inference(level=level, method="odds", why_not=one.why_not or two.why_not)
        if kind == "larger":
            worse = one if abs(one.value) >= abs(two.value) else two
            which = "true" if worse is one else "false"
            return cast(Inference, worse).with_(
                p_value=None if worse.p_value is None else min(1.0, 2 * worse.p_value),
                level=level,
                method=f"the larger gap is that of the {which} positive rate; Newcombe's interval and score test, Bonferroni for two",
            )
        parts = [(i.value, i.low, i.high) for i in (one, two)]
        value = sum(v for v, _, _ in parts) / 2
        # The rates are of different people, so the gaps are independent: hybrid of the two intervals (Zou & Donner 2008).
        low = value - float(np.hypot(parts[0][0] - parts[0][1], parts[1][0] - parts[1][1])) / 2
        high = value + float(np.hypot(parts[0][2] - parts[0][0], parts[1][2] - parts[1][0])) / 2
        z = [i.value / _se(i) for i in (one, two)]
        se = float(np.hypot(_se(one), _se(two))) / 2
        from evenhand.stats.interval import tail

        p_value = tail(value / se, None) if se > 0 and all(np.isfinite(z)) else None
        return Inference(value=value, low=low, high=high, p_value=p_value, level=level,
                         method="mean of the TPR and FPR gaps, hybrid of Newcombe's intervals (Zou & Donner)")  # fmt: skip

    return infer


def _se(found: Inference) -> float:
    from evenhand.stats.interval import quantile

    if found.low is None or found.high is None:
        return float("nan")
    return (found.high - found.low) / 2 / quantile(0.5 + found.level / 2, None)


def _smooth(measure: Measure, *, as_ratio: bool = False) -> Any:
    def infer(a: Cell, b: Cell, level: float) -> Inference:
        value = cast(Counted, measure.function).value
        (x, s), (y, t) = estimate(value, a.moments), estimate(value, b.moments)
        if not as_ratio:
            return _from_parts(
                x - y, s, t, a.moments, b.moments, level, f"difference of {measure.name}, delta method"
            )
        method = f"ratio of {measure.name}, delta method on the log scale"
        if not (x > 0 and y > 0):
            return Inference(
                level=level, method=method, why_not="a value is 0 or undefined, so the ratio has no scale"
            )
        on = _from_parts(float(np.log(x / y)), s / x, t / y, a.moments, b.moments, level, method)
        back = {
            k: None if (v := getattr(on, k)) is None else float(np.exp(v)) for k in ("value", "low", "high")
        }
        return on.with_(**back, detail={"scale_of_se": "log"})

    return infer


def _auc_gap(a: Cell, b: Cell, level: float) -> Inference:
    method = "difference of independent AUCs, DeLong"
    found = [group_auc(c, level) for c in (a, b)]
    if any(f.value is None or not f.se for f in found):
        why = next(f.why_not for f in found if f.value is None or not f.se)
        return Inference(level=level, method=method, why_not=why or "an AUC has no standard error")
    one, two = found
    se = float(np.hypot(one.se or 0.0, two.se or 0.0))
    value = (one.value or 0.0) - (two.value or 0.0)
    from evenhand.stats.interval import tail

    low, high = bounds(value, se, level=level)
    return Inference(
        value=value, low=low, high=high, se=se, p_value=tail(value / se, None), level=level, method=method
    )


def group_auc(c: Cell, level: float) -> Inference:
    """The AUC of the scores within one group."""
    made = cast(ClassCell, c)
    if made.positives is None or made.negatives is None:
        return Inference(level=level, method="DeLong", why_not="no scores or no outcomes")
    found = auc(made.positives, made.negatives, level=level)
    return (
        found if found.value is not None else found.with_(why_not=f"{c.label} lacks one of the two classes")
    )


def class_claims(columns: Collection[str]) -> list[Claim]:
    """What is claimed about each pair of groups, given the columns there are."""
    rate = cls.RATES

    def claim(
        measure: str,
        infer: Any,
        key: str,
        *,
        contrast: str = "difference",
        ratio: bool = False,
        family: Any = "outcomes",
        alone: Any = None,
    ) -> Claim:
        return Claim(
            measure=measure,
            contrast=contrast,
            infer=infer,
            key=key,
            family=family,
            tolerance=TOLERANCES[key],
            ratio=ratio,
            alone=alone,
        )

    found = [
        claim(
            "disparate impact",
            _rate_ratio(rate["selection rate"]),
            "disparate impact",
            contrast="ratio",
            ratio=True,
            alone=lambda c: log_rate(*counts_of(rate["selection rate"], c.moments)[:2]),
        ),
        claim("selection rate", _rate_gap(rate["selection rate"]), "statistical parity"),
    ]
    if "actual" in columns:
        found += [
            claim("true positive rate", _rate_gap(rate["true positive rate"]), "equal opportunity", family="accuracy"),
            claim("false positive rate", _rate_gap(rate["false positive rate"]), "predictive equality", family="accuracy"),
            claim("equalised odds", _odds("larger"), "equalised odds", family="accuracy"),
            claim("average odds", _odds("mean"), "average odds", family="accuracy"),
            claim("positive predictive value", _rate_gap(rate["positive predictive value"]), "predictive parity", family="accuracy"),
            claim("false omission rate", _rate_gap(rate["false omission rate"]), "false omission rate", family="accuracy"),
            claim("accuracy", _rate_gap(rate["accuracy"]), "accuracy", family="accuracy"),
        ]  # fmt: skip
        if "y_score" in columns:
            found += [
                claim("AUC within the group", _auc_gap, "AUC", family="accuracy"),
                claim("Brier score", _smooth(cls.BRIER, as_ratio=True), "Brier score", contrast="ratio", ratio=True, family="accuracy"),
                claim("calibration in the large", _smooth(cls.BIAS), "calibration in the large", family="accuracy"),
                claim("balance for the positive class", _smooth(cls.POSITIVE_BALANCE), "balance for the positive class", family="accuracy"),
                claim("balance for the negative class", _smooth(cls.NEGATIVE_BALANCE), "balance for the negative class", family="accuracy"),
            ]  # fmt: skip
    return found


def _kept(claims: list[Claim], measures: str | Sequence[str]) -> list[Claim]:
    wanted = [measures] if isinstance(measures, str) else list(measures)
    if wanted == ["default"]:
        return claims
    keys = {c.key for c in claims} | {c.measure for c in claims}
    for name in wanted:
        if name not in keys:
            raise UsageError(
                "unknown-measure", "no such measure for class labels", given=name, available=sorted(keys),
                hint="measures of numbers need numeric predictions: task=\"regression\"",
            )  # fmt: skip
    return [c for c in claims if c.key in wanted or c.measure in wanted]

"""The audit of class labels: binary, multiclass (each class against the rest), and a classifier's scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from evenhand._errors import DataError, UsageError
from evenhand._model import BoolArray, Exhibit, Factor, FloatArray, Measure
from evenhand.audits.classification_exhibits import add_classification, add_conditional
from evenhand.audits.prediction_cells import Cell, scores_at
from evenhand.audits.prediction_claims import Claim, _from_parts
from evenhand.audits.prediction_compare import Settings, compare, reference_cell, widest, worst_subgroup
from evenhand.audits.prediction_rows import Rows, crossed
from evenhand.audits.rate_claims import log_rate, rate_ratio
from evenhand.audits.scoring import Analysis
from evenhand.measures import classification as cls
from evenhand.measures.classification import Counted
from evenhand.stats.histogram import Scores, auc
from evenhand.stats.interval import Inference, bounds
from evenhand.stats.moments import Moments, estimate, moments
from evenhand.stats.rates import newcombe

MOST_LABELS = 50
POSITIVES = ("1", "1.0", "True", "true", "yes", "Yes", "y", "Y", "positive", "Positive", "accepted", "hired")
NEGATIVES = ("0", "0.0", "False", "false", "no", "No", "n", "N", "negative", "Negative", "rejected", "-1")

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


@dataclass(frozen=True, kw_only=True)
class ClassCell(Cell):
    """A group: sums of the class terms; the scores of its positives and of its negatives."""

    positives: Scores | None = None
    negatives: Scores | None = None


def positive_label(labels: Mapping[str, Factor], positive: Any) -> str:
    """The favourable class: named, or the obvious one of two.

    Raises:
        UsageError: `no-positive`, `unknown-class`.
    """
    levels = sorted({level for f in labels.values() for level in f.levels})
    if positive is not None:
        wanted = (
            str(int(positive)) if isinstance(positive, float) and positive.is_integer() else str(positive)
        )
        if wanted not in levels:
            raise UsageError("unknown-class", "no label is this class", given=wanted, available=levels)
        return wanted
    if len(levels) <= 2:
        for level in levels:
            if level in POSITIVES:
                return level
        other = [level for level in levels if level not in NEGATIVES]
        if len(levels) == 2 and len(other) == 1:
            return other[0]
        if levels and all(level in NEGATIVES for level in levels):
            return "1"  # nobody is selected
    raise UsageError(
        "no-positive",
        "which class is the favourable one?",
        expected="positive= (--positive), one of the labels",
        available=levels,
    )


def classification(
    rows: Rows,
    settings: Settings,
    analysis: Analysis,
    *,
    positive: Any,
    measures: str | Sequence[str],
    crossing: bool,
) -> None:
    """Every claim about every group against the reference, for the favourable class or for each of several."""
    predicted = rows.labels["y_pred"]
    if len(predicted.levels) > MOST_LABELS:
        raise DataError(
            "not-labels",
            f"the predictions have {len(predicted.levels)} distinct values: too many to be class labels",
            given=", ".join(predicted.levels[:4]),
            expected=f"at most {MOST_LABELS} labels",
            hint='numbers are audited with task="regression", or turned into labels at a threshold beforehand',
        )
    levels = sorted({level for f in rows.labels.values() for level in f.levels})
    if positive is None and len(levels) > 2:
        for label in levels:
            one_class(
                rows, settings, analysis, label, measures=measures, crossing=crossing, given=f"class={label}"
            )
        analysis.note(
            "multiclass",
            f"{len(levels)} classes: each is held against the rest; positive= picks one of them.",
        )
        return
    one_class(
        rows, settings, analysis, positive_label(rows.labels, positive), measures=measures, crossing=crossing
    )


def one_class(
    rows: Rows,
    settings: Settings,
    analysis: Analysis,
    label: str,
    *,
    measures: str | Sequence[str],
    crossing: bool,
    given: str | None = None,
) -> None:
    """The claims for one class against the rest."""
    columns = _columns(rows, label, analysis, given)
    attributes = dict(rows.groups)
    if crossing and len(attributes) > 1:
        attributes[" & ".join(attributes)] = crossed(attributes)
    claims = _kept(class_claims(columns), measures)
    for attribute, factor in attributes.items():
        cells = class_cells(columns, rows.weight, factor, attribute)
        if len(cells) < 2:
            analysis.note(
                "one-group",
                f"{attribute} has {len(cells)} group with rows: there is nothing to compare.",
                warning=True,
            )
            continue
        reference = reference_cell(cells, attribute, settings, analysis)
        family = attribute if given is None else f"{attribute}, {given}"
        analysis.findings += compare(cells, reference, claims, settings, family=family, given=given)
        if given is None:
            analysis.findings += widest(cells, claims, settings, attribute)
        if given is None and attribute not in rows.groups:
            analysis.findings += worst_subgroup(cells, claims, settings, attribute)
        add_classification(analysis, columns, rows.weight, cells, factor, attribute, settings, given)
        for name, levels in rows.control.items():
            for stratum in levels.levels:
                within = class_cells(columns, rows.weight, factor, attribute, levels.is_level(stratum))
                own = next((c for c in within if c.label == reference.label), None)
                if own is None or len(within) < 2:
                    continue
                where = " and ".join(x for x in (given, f"{name}={stratum}") if x)
                analysis.findings += compare(
                    within, own, claims, settings, family=f"{attribute} given {where}", given=where
                )
            add_conditional(analysis, columns, rows.weight, factor, attribute, levels, name, given)


def _columns(rows: Rows, label: str, analysis: Analysis, given: str | None) -> dict[str, FloatArray]:
    columns = {"selected": rows.labels["y_pred"].is_level(label).astype(float)}
    if "y_true" in rows.labels:
        truth = rows.labels["y_true"]
        if label not in truth.levels and label not in rows.labels["y_pred"].levels:
            raise UsageError("unknown-class", "no label is this class", given=label, available=truth.levels)
        columns["actual"] = truth.is_level(label).astype(float)
    if "y_score" in rows.columns and given is None:
        score = rows.columns["y_score"]
        if score.min() < 0 or score.max() > 1:
            outside = int(((score < 0) | (score > 1)).sum())
            raise DataError(
                "not-probabilities",
                f"{outside} of {len(score)} scores lie outside 0 to 1",
                given=f"{score.min():g} to {score.max():g}",
                expected="probabilities of the favourable class",
                hint='scores on another scale are audited as y_pred with task="regression"',
            )
        columns["y_score"] = score
    if float(np.ptp(columns["selected"])) == 0.0:
        who = "everybody" if columns["selected"][0] else "nobody"
        analysis.note(
            "constant-predictions",
            f"The model gives {label} to {who}: that shows nothing about groups.",
            warning=True,
        )
    return columns


def class_cells(
    columns: Mapping[str, FloatArray],
    weight: FloatArray | None,
    factor: Factor,
    attribute: str,
    within: BoolArray | None = None,
) -> list[Cell]:
    """One cell for each level that has rows."""
    codes = factor.codes if within is None else np.where(within, factor.codes, -1)
    cells: list[Cell] = []
    for code, level in enumerate(factor.levels):
        rows = np.flatnonzero(codes == code)
        if len(rows):
            cells.append(class_cell(columns, weight, rows, f"{attribute}={level}"))
    return cells


def class_cell(
    columns: Mapping[str, FloatArray], weight: FloatArray | None, rows: Any, label: str
) -> ClassCell:
    """The sums of some rows."""
    part = {k: v[rows] for k, v in columns.items()}
    w = None if weight is None else weight[rows]
    names = [n for n in cls.TERMS if set(_needs(n)) <= set(part)]
    terms = np.stack([cls.TERMS[n](part) for n in names])
    made = moments(terms, names, w)
    none = Scores(values=np.zeros(1), weight=np.zeros(1), weight2=np.zeros(1), n=0)
    positives = negatives = None
    if "y_score" in part and "actual" in part:
        grid, place = np.unique(part["y_score"], return_inverse=True)
        yes = part["actual"] > 0
        positives, negatives = (
            scores_at(place[side], None if w is None else w[side], grid) for side in (yes, ~yes)
        )
    return ClassCell(
        label=label, moments=made, top=made, scores=none, positives=positives, negatives=negatives
    )


def _needs(term: str) -> tuple[str, ...]:
    return {"sel": ("selected",), "act": ("actual",), "tp": ("selected", "actual"), "s": ("y_score",),
            "ss": ("y_score",), "sy": ("y_score", "actual")}[term]  # fmt: skip


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


def class_claims(columns: Mapping[str, Any]) -> list[Claim]:
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


__all__ = [
    "Exhibit",
    "class_cells",
    "class_claims",
    "classification",
    "counts_of",
    "group_auc",
    "positive_label",
]

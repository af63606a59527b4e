"""Measures of class labels, each a smooth function of three means: selected, actual, and both (true
positives).

Every rate is hits of trials, so groups, weights and replicates are one matrix product; individual indices
(Theil, generalised entropy) follow from the same means because the benefit b = ŷ − y + 1 takes the values 0,
1 and 2 only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from evenhand._model import Columns, FloatArray
from evenhand.measures.contrasts import (
    difference,
    joined,
    larger_of,
    mean_of,
    rate_gap,
    ratio,
    share_ratio,
    whole,
)
from evenhand.measures.row import Measure, Sums
from evenhand.stats import tails
from evenhand.stats.histogram import Scores, auc
from evenhand.stats.interval import Inference, bounds, tail
from evenhand.stats.moments import Means

TERMS: Mapping[str, Callable[[Columns], FloatArray]] = {
    "sel": lambda c: c["selected"],
    "act": lambda c: c["actual"],
    "tp": lambda c: c["selected"] * c["actual"],
    "s": lambda c: c["y_score"],
    "ss": lambda c: c["y_score"] ** 2,
    "sy": lambda c: c["y_score"] * c["actual"],
}


def _fp(m: Means) -> Any:
    return m["sel"] - m["tp"]


def _fn(m: Means) -> Any:
    return m["act"] - m["tp"]


def _tn(m: Means) -> Any:
    return 1 - m["sel"] - m["act"] + m["tp"]


def _half(m: Means) -> Any:
    return (m["tp"] / m["act"] + _tn(m) / (1 - m["act"])) / 2


def generalised_entropy(m: Means) -> Any:
    """(E[(b/μ)²] − 1)/2 of b = ŷ − y + 1: the generalised entropy index with α = 2."""
    mean = 1 + m["sel"] - m["act"]
    square = 1 + 3 * _fp(m) - _fn(m)
    return (square / mean**2 - 1) / 2


def theil(m: Means) -> Any:
    """E[(b/μ)·ln(b/μ)] of b = ŷ − y + 1: only false positives have b ln b ≠ 0, namely 2 ln 2."""
    mean = 1 + m["sel"] - m["act"]
    return 2 * np.log(2) * _fp(m) / mean - np.log(mean)


class ScoredSums(Sums, Protocol):
    """The sums of a group whose members have a score and an outcome."""

    @property
    def positives(self) -> Scores | None:
        """Scores of those who are of the class."""
        ...

    @property
    def negatives(self) -> Scores | None:
        """Scores of those who are not."""
        ...


def _average(row: Measure, a: Sums, b: Sums, level: float, seed: int) -> Inference:
    if a.moments.units is None and b.moments.units is None:
        return joined(row, a, b, level, seed)
    # Those of the class and those who are not may be the same people, decided on several times.
    smooth = row.with_(of=lambda m: (m["tp"] / m["act"] + _fp(m) / (1 - m["act"])) / 2, cases=BRIER.cases)
    return difference(smooth, a, b, level, seed)


LEAST_AUC = 10
"""Cases of either class that the AUC of a group needs for an interval."""


def group_auc(c: ScoredSums, level: float) -> Inference:
    """The AUC of the scores within one group."""
    if c.positives is None or c.negatives is None:
        return Inference(level=level, method="DeLong", why_not="no scores or no outcomes")
    fewest = min(c.positives.n, c.negatives.n)
    if fewest < LEAST_AUC:
        why = f"a group has {fewest} case{'s' * (fewest != 1)} of one class; at least {LEAST_AUC} are needed"
        return Inference(level=level, method="DeLong", why_not=why)
    found = auc(c.positives, c.negatives, level=level)
    return found if found.value is not None else found.with_(why_not="a group lacks one of the two classes")


def _auc_gap(row: Measure, a: ScoredSums, b: ScoredSums, level: float, seed: int) -> Inference:
    method = "difference of independent AUCs, DeLong"
    one, two = (group_auc(c, level) for c in (a, b))
    for f in (one, two):
        if f.value is None or not f.se:
            return Inference(level=level, method=method, why_not=f.why_not or "an AUC has no standard error")
    se = float(np.hypot(one.se or 0.0, two.se or 0.0))
    value = (one.value or 0.0) - (two.value or 0.0)
    low, high = bounds(value, se, level=level)
    return Inference(
        value=value, low=low, high=high, se=se, p_value=tail(value / se, None), level=level, method=method
    )


IMPACT = Measure(
    name="disparate impact",
    terms=("sel",),
    hits=lambda m: m["sel"],
    trials=whole,
    infer=share_ratio,
    contrast="ratio",
    tolerance=0.8,
    widest=True,
    worst=True,
    pooled=True,
    searched=lambda m: m["sel"],
    better="higher",
    reference="P(ŷ = 1) of the group ÷ that of the reference (29 CFR 1607.4 D)",
    primary=True,
)
SELECTED = Measure(
    name="selection rate",
    key="statistical parity",
    terms=("sel",),
    hits=lambda m: m["sel"],
    trials=whole,
    infer=rate_gap,
    pooled=True,
    tolerance=0.1,
    better="higher",
    reference="P(ŷ = 1)",
    judged=False,
)
BASE = Measure(name="base rate", terms=("act",), hits=lambda m: m["act"], trials=whole, reference="P(y = 1)")
TPR = Measure(
    name="true positive rate",
    key="equal opportunity",
    terms=("act", "tp"),
    searched=lambda m: m["tp"],
    hits=lambda m: m["tp"],
    trials=lambda m: m["act"],
    infer=rate_gap,
    pooled=True,
    tolerance=0.1,
    family="accuracy",
    better="higher",
    reference="P(ŷ = 1 | y = 1) (Hardt, Price & Srebro 2016)",
    primary=True,
)
FPR = Measure(
    name="false positive rate",
    key="predictive equality",
    terms=("sel", "act", "tp"),
    searched=_fp,
    hits=_fp,
    trials=lambda m: 1 - m["act"],
    infer=rate_gap,
    pooled=True,
    tolerance=0.1,
    family="accuracy",
    better="lower",
    reference="P(ŷ = 1 | y = 0)",
)
ODDS = Measure(
    name="equalised odds",
    terms=("sel", "act", "tp"),
    parts=(TPR, FPR),
    join=lambda gaps, level: larger_of(gaps, ("true", "false"), level),
    infer=joined,
    tolerance=0.1,
    family="accuracy",
    reference="the larger of the TPR and FPR gaps (Hardt, Price & Srebro 2016)",
    judged=False,
)
AVERAGE_ODDS = ODDS.with_(
    name="average odds",
    infer=_average,
    join=mean_of,
    rises=True,
    reference="mean of the TPR and FPR gaps (Bellamy et al. 2018)",
)
FNR = Measure(
    name="false negative rate",
    terms=("act", "tp"),
    hits=_fn,
    trials=lambda m: m["act"],
    better="lower",
    reference="P(ŷ = 0 | y = 1)",
)
TNR = Measure(
    name="true negative rate",
    terms=("sel", "act", "tp"),
    hits=_tn,
    trials=lambda m: 1 - m["act"],
    better="higher",
    reference="P(ŷ = 0 | y = 0)",
)
PPV = Measure(
    name="positive predictive value",
    key="predictive parity",
    terms=("sel", "tp"),
    hits=lambda m: m["tp"],
    trials=lambda m: m["sel"],
    infer=rate_gap,
    pooled=True,
    tolerance=0.1,
    family="accuracy",
    better="higher",
    reference="P(y = 1 | ŷ = 1)",
)
FDR = Measure(
    name="false discovery rate",
    terms=("sel", "tp"),
    hits=_fp,
    trials=lambda m: m["sel"],
    better="lower",
    reference="P(y = 0 | ŷ = 1)",
)
FOR = Measure(
    name="false omission rate",
    terms=("sel", "act", "tp"),
    hits=_fn,
    trials=lambda m: 1 - m["sel"],
    infer=rate_gap,
    pooled=True,
    tolerance=0.1,
    family="accuracy",
    better="lower",
    reference="P(y = 1 | ŷ = 0)",
    judged=False,
)
NPV = Measure(
    name="negative predictive value",
    terms=("sel", "act", "tp"),
    hits=_tn,
    trials=lambda m: 1 - m["sel"],
    better="higher",
    reference="P(y = 0 | ŷ = 0)",
)
ACCURACY = Measure(
    name="accuracy",
    terms=("sel", "act", "tp"),
    hits=lambda m: m["tp"] + _tn(m),
    trials=whole,
    infer=rate_gap,
    pooled=True,
    tolerance=0.1,
    family="accuracy",
    better="higher",
    reference="P(ŷ = y)",
)
ERROR = Measure(
    name="error rate",
    terms=("sel", "act", "tp"),
    hits=lambda m: _fp(m) + _fn(m),
    trials=whole,
    better="lower",
    reference="P(ŷ ≠ y)",
)
AUC = Measure(
    name="AUC within the group",
    key="AUC",
    terms=("s", "act"),
    infer=_auc_gap,
    by_rows=True,
    tolerance=0.06,
    family="accuracy",
    better="higher",
    reference="P(s of a positive > s of a negative) + ½P(=), within the group (DeLong et al. 1988)",
)
BALANCED = Measure(
    name="balanced accuracy",
    terms=("sel", "act", "tp"),
    of=_half,
    better="higher",
    reference="½(TPR + TNR)",
)
F1 = Measure(
    name="F1",
    terms=("sel", "act", "tp"),
    of=lambda m: 2 * m["tp"] / (m["sel"] + m["act"]),
    better="higher",
    reference="2·TP/(2·TP + FP + FN)",
)
ENTROPY = Measure(
    name="generalised entropy index",
    terms=("sel", "act", "tp"),
    of=generalised_entropy,
    better="lower",
    reference="(E[(b/μ)²] − 1)/2, b = ŷ − y + 1 (Speicher et al. 2018, α = 2)",
)
THEIL = Measure(
    name="Theil index",
    terms=("sel", "act", "tp"),
    of=theil,
    better="lower",
    reference="E[(b/μ) ln(b/μ)], b = ŷ − y + 1 (Speicher et al. 2018, α = 1)",
)
BRIER = Measure(
    name="Brier score",
    terms=("ss", "sy", "act"),
    of=lambda m: m["ss"] - 2 * m["sy"] + m["act"],
    infer=ratio,
    contrast="ratio",
    tolerance=0.8,
    family="accuracy",
    linear=True,
    better="lower",
    reference="E[(s − y)²]",
    judged=False,
    cases=lambda m: np.minimum(m["act"], 1 - m["act"]),
    least=10,
)
BIAS = Measure(
    name="calibration in the large",
    terms=("s", "act"),
    of=lambda m: m["s"] - m["act"],
    searched=lambda m: m["s"] - m["act"],
    infer=difference,
    tolerance=0.1,
    family="accuracy",
    linear=True,
    shape=tails.of_score_bias,
    reference="E[s] − P(y = 1): above 0 the scores promise too much",
    least=10,
)
POSITIVE_BALANCE = Measure(
    name="balance for the positive class",
    terms=("sy", "act"),
    of=lambda m: m["sy"] / m["act"],
    infer=difference,
    tolerance=0.1,
    family="accuracy",
    linear=True,
    better="higher",
    reference="E[s | y = 1] (Kleinberg, Mullainathan & Raghavan 2017)",
    judged=False,
    cases=lambda m: m["act"],
    least=15,
)
NEGATIVE_BALANCE = Measure(
    name="balance for the negative class",
    terms=("s", "sy", "act"),
    of=lambda m: (m["s"] - m["sy"]) / (1 - m["act"]),
    infer=difference,
    tolerance=0.1,
    family="accuracy",
    linear=True,
    better="lower",
    reference="E[s | y = 0] (Kleinberg, Mullainathan & Raghavan 2017)",
    judged=False,
    cases=lambda m: 1 - m["act"],
    least=30,
)

ROWS: tuple[Measure, ...] = tuple(row for row in list(globals().values()) if isinstance(row, Measure))
"""Every measure of class labels and of their scores, in the order of reports."""

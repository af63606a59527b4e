"""Measures of class labels, each a smooth function of three means: selected, actual, and both (true positives).

Every rate is hits of trials, so groups, weights and replicates are one matrix product; individual indices (Theil, generalised
entropy) follow from the same means because the benefit b = ŷ − y + 1 takes the values 0, 1 and 2 only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand._model import Columns, FloatArray, Measure
from evenhand.stats.moments import Means, Smooth

TERMS: Mapping[str, Callable[[Columns], FloatArray]] = {
    "sel": lambda c: c["selected"],
    "act": lambda c: c["actual"],
    "tp": lambda c: c["selected"] * c["actual"],
    "s": lambda c: c["y_score"],
    "ss": lambda c: c["y_score"] ** 2,
    "sy": lambda c: c["y_score"] * c["actual"],
}


@dataclass(frozen=True, slots=True)
class Counted:
    """``(columns, weights[..., n]) -> values[...]`` of 0/1 columns ``selected`` and ``actual`` (and ``y_score``).

    >>> tpr = RATES["true positive rate"].function
    >>> tpr({"selected": np.array([1.0, 0, 1]), "actual": np.array([1.0, 1, 0])}, np.ones(3)).item()
    0.5
    """

    terms: tuple[str, ...]
    value: Smooth
    hits: Smooth | None = None
    trials: Smooth | None = None

    def __call__(self, columns: Columns, weights: FloatArray, /) -> FloatArray:
        rows = np.stack([np.asarray(TERMS[name](columns), dtype=float) for name in self.terms], axis=-1)
        w = np.asarray(weights, dtype=float)
        with np.errstate(all="ignore"):
            means = (w @ rows) / w.sum(axis=-1)[..., None]
            return np.asarray(self.value({name: means[..., i] for i, name in enumerate(self.terms)}))


def _rate(name: str, hits: Smooth, trials: Smooth, better: Any, formula: str, *terms: str) -> Measure:
    def value(m: Means) -> Any:
        return hits(m) / trials(m)

    used = terms or ("sel", "act", "tp")
    return Measure(
        name=name,
        function=Counted(used, value, hits, trials),
        needs=tuple({"sel": "selected", "act": "actual", "tp": "actual"}[t] for t in used),
        better=better,
        reference=formula,
    )


def _one(_: Means) -> Any:
    return 1.0


def _fp(m: Means) -> Any:
    return m["sel"] - m["tp"]


def _fn(m: Means) -> Any:
    return m["act"] - m["tp"]


def _tn(m: Means) -> Any:
    return 1 - m["sel"] - m["act"] + m["tp"]


RATES: dict[str, Measure] = {
    m.name: m
    for m in (
        _rate("selection rate", lambda m: m["sel"], _one, "higher", "P(ŷ = 1)", "sel"),
        _rate("base rate", lambda m: m["act"], _one, None, "P(y = 1)", "act"),
        _rate(
            "true positive rate",
            lambda m: m["tp"],
            lambda m: m["act"],
            "higher",
            "P(ŷ = 1 | y = 1)",
            "act",
            "tp",
        ),
        _rate("false positive rate", _fp, lambda m: 1 - m["act"], "lower", "P(ŷ = 1 | y = 0)"),
        _rate("false negative rate", _fn, lambda m: m["act"], "lower", "P(ŷ = 0 | y = 1)", "act", "tp"),
        _rate("true negative rate", _tn, lambda m: 1 - m["act"], "higher", "P(ŷ = 0 | y = 0)"),
        _rate(
            "positive predictive value",
            lambda m: m["tp"],
            lambda m: m["sel"],
            "higher",
            "P(y = 1 | ŷ = 1)",
            "sel",
            "tp",
        ),
        _rate("false discovery rate", _fp, lambda m: m["sel"], "lower", "P(y = 0 | ŷ = 1)", "sel", "tp"),
        _rate("false omission rate", _fn, lambda m: 1 - m["sel"], "lower", "P(y = 1 | ŷ = 0)"),
        _rate("negative predictive value", _tn, lambda m: 1 - m["sel"], "higher", "P(y = 0 | ŷ = 0)"),
        _rate("accuracy", lambda m: m["tp"] + _tn(m), _one, "higher", "P(ŷ = y)"),
        _rate("error rate", lambda m: _fp(m) + _fn(m), _one, "lower", "P(ŷ ≠ y)"),
    )
}
"""Rates by name, in the order of reports."""


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


BALANCED = Measure(
    name="balanced accuracy",
    function=Counted(("sel", "act", "tp"), _half),
    needs=("selected", "actual"),
    better="higher",
    reference="½(TPR + TNR)",
)
F1 = Measure(
    name="F1",
    function=Counted(("sel", "act", "tp"), lambda m: 2 * m["tp"] / (m["sel"] + m["act"])),
    needs=("selected", "actual"),
    better="higher",
    reference="2·TP/(2·TP + FP + FN)",
)
ENTROPY = Measure(
    name="generalised entropy index",
    function=Counted(("sel", "act", "tp"), generalised_entropy),
    needs=("selected", "actual"),
    better="lower",
    reference="(E[(b/μ)²] − 1)/2, b = ŷ − y + 1 (Speicher et al. 2018, α = 2)",
)
THEIL = Measure(
    name="Theil index",
    function=Counted(("sel", "act", "tp"), theil),
    needs=("selected", "actual"),
    better="lower",
    reference="E[(b/μ) ln(b/μ)], b = ŷ − y + 1 (Speicher et al. 2018, α = 1)",
)
BRIER = Measure(
    name="Brier score",
    function=Counted(("ss", "sy", "act"), lambda m: m["ss"] - 2 * m["sy"] + m["act"]),
    needs=("y_score", "actual"),
    better="lower",
    reference="E[(s − y)²]",
)
BIAS = Measure(
    name="calibration in the large",
    function=Counted(("s", "act"), lambda m: m["s"] - m["act"]),
    needs=("y_score", "actual"),
    reference="E[s] − P(y = 1): above 0 the scores promise too much",
)
POSITIVE_BALANCE = Measure(
    name="balance for the positive class",
    function=Counted(("sy", "act"), lambda m: m["sy"] / m["act"]),
    needs=("y_score", "actual"),
    better="higher",
    reference="E[s | y = 1] (Kleinberg, Mullainathan & Raghavan 2017)",
)
NEGATIVE_BALANCE = Measure(
    name="balance for the negative class",
    function=Counted(("s", "sy", "act"), lambda m: (m["s"] - m["sy"]) / (1 - m["act"])),
    needs=("y_score", "actual"),
    better="lower",
    reference="E[s | y = 0] (Kleinberg, Mullainathan & Raghavan 2017)",
)
SMOOTH: tuple[Measure, ...] = (BALANCED, F1, ENTROPY, THEIL, BRIER, BIAS, POSITIVE_BALANCE, NEGATIVE_BALANCE)


def differential_fairness(selected: FloatArray, n: FloatArray, *, concentration: float = 1.0) -> float:
    """ε: the largest |ln ratio| of any two groups' smoothed chances of either outcome.

    Args:
        selected, n: (G,) counts. concentration: of the symmetric Dirichlet prior, spread over the two outcomes.

    Source: Foulds, Islam, Keya & Pan (2020), An intersectional definition of fairness, eq. 2 and 12.

    >>> round(differential_fairness(np.array([10.0, 20.0]), np.array([100.0, 100.0])), 3)
    0.669
    """
    x, size = np.asarray(selected, dtype=float), np.asarray(n, dtype=float)
    x, size = x[size > 0], size[size > 0]
    if len(x) < 2:
        return float("nan")
    chance = (x + concentration / 2) / (size + concentration)
    logs = np.log(np.stack([chance, 1 - chance]))
    return float(np.max(logs.max(axis=1) - logs.min(axis=1)))


def conditional_demographic_disparity(
    selected: FloatArray, n: FloatArray, strata_of_all: FloatArray, chosen_of_all: FloatArray
) -> float:
    """Σ_s n_s/n · (share of the group among the rejected of s − its share among the selected of s).

    Args:
        selected, n: (S,) of the group in each stratum. chosen_of_all, strata_of_all: (S,) of everyone. Strata where
            everyone or nobody is selected say nothing and are left out.

    Source: Wachter, Mittelstadt & Russell (2021), Why fairness cannot be automated, section V.

    >>> conditional_demographic_disparity(
    ...     np.array([10.0]), np.array([50.0]), np.array([100.0]), np.array([40.0])
    ... ).__round__(4)
    0.4167
    """
    x, size, every, chosen = (np.asarray(v, dtype=float) for v in (selected, n, strata_of_all, chosen_of_all))
    use = (chosen > 0) & (chosen < every)
    if not use.any():
        return float("nan")
    x, size, every, chosen = x[use], size[use], every[use], chosen[use]
    gap = (size - x) / (every - chosen) - x / chosen
    return float(np.sum(every * gap) / every.sum())


def expected_calibration_error(means: Mapping[str, FloatArray]) -> FloatArray:
    """Σ_k |E[s·1_k] − E[y·1_k]| over bins k of the score.

    Args:
        means: ``s`` and ``y``, (..., K): means over all rows of score and outcome within each bin.

    Source: Naeini, Cooper & Hauskrecht (2015).

    >>> expected_calibration_error({"s": np.array([0.2, 0.3]), "y": np.array([0.1, 0.35])}).round(3).item()
    0.15
    """
    return np.asarray(np.abs(means["s"] - means["y"]).sum(axis=-1))

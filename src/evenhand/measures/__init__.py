"""Pure measures. The visible table: a name of ``evenhand list measures`` → where it lives, imported on
demand."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from evenhand._errors import UsageError

OTHERS: dict[str, str] = {
    "mean score": "evenhand.measures.scores:MEAN_SCORE",
    "score sensitivity": "evenhand.measures.scores:score_sensitivity",
    "score deviation": "evenhand.measures.scores:score_deviation",
    "score range": "evenhand.measures.scores:score_range",
    "label distance": "evenhand.measures.scores:label_distance",
    "counterfactual token gap": "evenhand.measures.scores:counterfactual_token_gap",
    "individual fairness": "evenhand.measures.scores:individual_fairness",
    "group fairness": "evenhand.measures.scores:group_fairness",
    "invariance failure": "evenhand.measures.scores:invariance_failure_rate",
    "pairwise gap": "evenhand.measures.scores:pairwise_gaps",
    "subgroup AUC": "evenhand.measures.identity_auc:subgroup_auc",
    "BPSN AUC": "evenhand.measures.identity_auc:bpsn_auc",
    "BNSP AUC": "evenhand.measures.identity_auc:bnsp_auc",
    "positive AEG": "evenhand.measures.identity_auc:positive_aeg",
    "negative AEG": "evenhand.measures.identity_auc:negative_aeg",
    "mean bias amplification": "evenhand.measures.amplification:mean_amplification",
    "violations": "evenhand.measures.amplification:violations",
    "multi-attribute amplification": "evenhand.measures.amplification:amplification_sizes",
    "directional amplification": "evenhand.measures.directional:directional",
    "differential-fairness epsilon": "evenhand.measures.association:item_epsilon",
    "log-odds with prior": "evenhand.measures.association:log_odds",
    "pointwise mutual information": "evenhand.measures.association:pmi",
    "gender error": "evenhand.measures.outcomes:error_rate",
    "ratio gap": "evenhand.measures.outcomes:ratio_gap",
    "outcome divergence": "evenhand.measures.outcomes:outcome_divergence",
    "leakage, LIC": "evenhand.measures.leakage:leaked",
    "notebook-2022": "evenhand.measures.notebook:notebook_table",
    "differential fairness": "evenhand.measures.indices:differential_fairness",
    "conditional demographic disparity": "evenhand.measures.indices:conditional_demographic_disparity",
    "expected calibration error": "evenhand.measures.indices:expected_calibration_error",
}
"""Measures that are functions: name → where it lives."""
ROWS = ("evenhand.measures.regression", "evenhand.measures.classification")
"""The rooms whose rows are measures: what is listed, claimed, checked and documented follows from the
rows."""


def _listed() -> dict[str, str]:
    """Name of a measure → where it lives, rows first read when they are asked for."""
    from evenhand.measures.row import Measure

    rows = {
        own.name: f"{room}:{attribute}"
        for room in ROWS
        for attribute, own in vars(import_module(room)).items()
        if isinstance(own, Measure)
    }
    return {**OTHERS, **rows}


def measure(name: str) -> Any:
    """The measure of that name in `MEASURES`, or of ``"module:attribute"``.

    Raises:
        UsageError: `unknown-measure`.

    >>> measure("mean score").name
    'mean score'
    """
    known = _listed()
    target = known.get(name, name)
    module, _, attribute = target.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError):
        raise UsageError(
            "unknown-measure",
            "no such measure",
            given=name,
            expected="a name of `evenhand list measures`, or module:attribute",
            available=known,
        ) from None


DIRECT: dict[str, str] = {}
"""Functions that compare two groups and return an Estimate → where they live. `evenhand` itself fills it when
it is imported: such a comparison needs an audit's claims, which stand above the measures."""


def __getattr__(name: str) -> Any:
    if name in DIRECT:
        return getattr(import_module(DIRECT[name]), name)
    if name == "MEASURES":
        return _listed()
    raise AttributeError(f"module 'evenhand.measures' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*DIRECT, "DIRECT", "MEASURES", "measure"])

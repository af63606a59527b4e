"""Measures whether a machine-learning model treats people even-handedly, with calibrated uncertainty.

import evenhand as eh

result = eh.audit_text("vader", "person", terms="names/freakonomics", replace="Arthur")
result.to_html("report.html")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from evenhand._version import __version__ as __version__
from evenhand.audits import AUDITS as _AUDITS
from evenhand.measures import DIRECT as _DIRECT

if TYPE_CHECKING:
    from evenhand import measures, sklearn, testing
    from evenhand._changes import compare, merge
    from evenhand._design import design
    from evenhand._errors import EvenhandError
    from evenhand._gate import assert_within
    from evenhand._model import (
        Estimate,
        Exhibit,
        Factor,
        Finding,
        Observations,
        Plan,
        Probes,
        Replies,
        Subject,
        Traits,
    )
    from evenhand._record import Note
    from evenhand._result import Result
    from evenhand._run import ask
    from evenhand._store import Journal
    from evenhand.audits.amplification.audit import audit_amplification
    from evenhand.audits.amplification.balance import Balanced, balance
    from evenhand.audits.attack.audit import attack
    from evenhand.audits.predictions.audit import audit_predictions
    from evenhand.audits.predictions.practice.notebook import regression_table
    from evenhand.audits.scores.audit import audit_scores
    from evenhand.audits.text.audit import audit_text
    from evenhand.measures.row import Measure
    from evenhand.plans import Rewrite, rewrite
    from evenhand.plans.templates import Templates, templates
    from evenhand.subjects import subject
    from evenhand.terms import Terms, terms
    from evenhand.texts import Texts, texts

_PUBLIC: dict[str, str] = {
    "Balanced": "evenhand.audits.amplification.balance",
    "Estimate": "evenhand._model",
    "EvenhandError": "evenhand._errors",
    "Exhibit": "evenhand._model",
    "Factor": "evenhand._model",
    "Finding": "evenhand._model",
    "Journal": "evenhand._store",
    "Measure": "evenhand.measures.row",
    "Note": "evenhand._record",
    "Observations": "evenhand._model",
    "Plan": "evenhand._model",
    "Probes": "evenhand._model",
    "Replies": "evenhand._model",
    "Result": "evenhand._result",
    "Rewrite": "evenhand.plans",
    "Subject": "evenhand._model",
    "Templates": "evenhand.plans.templates",
    "Terms": "evenhand.terms",
    "Texts": "evenhand.texts",
    "Traits": "evenhand._model",
    "ask": "evenhand._run",
    "assert_within": "evenhand._gate",
    "balance": "evenhand.audits.amplification.balance",
    "compare": "evenhand._changes",
    "design": "evenhand._design",
    "measures": "evenhand.measures",
    "merge": "evenhand._changes",
    "regression_table": "evenhand.audits.predictions.practice.notebook",
    "rewrite": "evenhand.plans",
    "sklearn": "evenhand.sklearn",
    "subject": "evenhand.subjects",
    "templates": "evenhand.plans.templates",
    "terms": "evenhand.terms",
    "testing": "evenhand.testing",
    "texts": "evenhand.texts",
    **{attribute: module for module, attribute in (row.call.split(":") for row in _AUDITS.values())},
}
"""Public name → where it lives. Imported when first used: `import evenhand` stays fast and loads nothing
heavy."""

_DIRECT |= dict.fromkeys(
    (
        "adverse_impact_auc",
        "average_score_difference",
        "compare",
        "concurrent_validity_difference",
        "disparate_impact",
        "equal_opportunity_difference",
        "equalised_odds_difference",
        "mae_ratio",
        "mean_residual_difference",
        "rmse_ratio",
        "selection_rate_difference",
        "selection_rate_ratio",
        "standardised_mean_difference",
    ),
    "evenhand.audits.predictions.metrics",
)


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'evenhand' has no attribute {name!r}")
    module = import_module(_PUBLIC[name])
    return module if name in ("measures", "sklearn", "testing") else getattr(module, name)


def __dir__() -> list[str]:
    return sorted([*_PUBLIC, "__version__"])


__all__ = [
    "Balanced",
    "Estimate",
    "EvenhandError",
    "Exhibit",
    "Factor",
    "Finding",
    "Journal",
    "Measure",
    "Note",
    "Observations",
    "Plan",
    "Probes",
    "Replies",
    "Result",
    "Rewrite",
    "Subject",
    "Templates",
    "Terms",
    "Texts",
    "Traits",
    "ask",
    "assert_within",
    "attack",
    "audit_amplification",
    "audit_predictions",
    "audit_scores",
    "audit_text",
    "balance",
    "compare",
    "design",
    "measures",
    "merge",
    "regression_table",
    "rewrite",
    "sklearn",
    "subject",
    "templates",
    "terms",
    "testing",
    "texts",
]

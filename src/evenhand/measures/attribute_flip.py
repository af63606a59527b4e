"""What an attribute alone does to a model's answers: the mean change when everybody is given another group's.

An attribute-flip diagnostic of the model, not counterfactual fairness (Kusner et al. 2017), which needs a
causal model of what else would differ.
"""

from __future__ import annotations

from evenhand.measures.row import Measure

LABELS = Measure(
    name="attribute flip of decisions",
    contrast="difference",
    tolerance=0.02,
    family="outcomes",
    reference="mean over everybody of f(x with a's attribute) − f(x with b's), f 1 for the favourable class",
)
NUMBERS = LABELS.with_(
    name="attribute flip of predictions",
    tolerance=0.05,
    unit="sd of predictions",
    reference="mean over everybody of f(x with a's attribute) − f(x with b's)",
)

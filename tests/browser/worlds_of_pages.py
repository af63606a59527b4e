"""Made-up results of the five audits with few and many groups: complete, incomplete, nothing judged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from evenhand._model import Estimate, Exhibit, Finding
from evenhand._record import Note
from evenhand._result import Result

AUDITS = ("text", "scores", "predictions", "amplification", "attack")
SIZES = (2, 5, 12, 30, 60)
STATES = ("complete", "incomplete", "nothing judged")
NAMES = ("Black", "White", "Asian", "people who prefer to describe themselves in their own words", "A/B × C")


def name_of(i: int) -> str:
    """A group's name: a few real and long ones, then numbered ones."""
    return NAMES[i] if i < len(NAMES) else f"group number {i}"


def page_of(audit: str, groups: int, state: str = "complete", *, attributes: int = 2) -> Result:
    """The result of one audit; the same one for the same arguments."""
    rng = np.random.default_rng(groups)
    measures = {
        "text": [("mean compound", "difference", 0.1, 0.1)],
        "scores": [("mean toxicity", "difference", 0.1, 0.1)],
        "predictions": [
            ("disparate impact", "ratio", 0.8, 0.25),
            ("true positive rate", "difference", 0.1, 0.15),
        ],
        "amplification": [("mean bias amplification beyond its null", "difference", 0.02, 0.03)],
        "attack": [("mean flip rate", "excess over placebos", 0.05, 0.04)],
    }[audit]
    found: list[Finding] = []
    for a in range(attributes):
        for measure, contrast, bound, spread in measures:
            found += _claims(rng, audit, f"attribute{a}", measure, contrast, bound, spread, groups)
    if state == "nothing judged":
        found = [_unjudged(f) for f in found]
    counts = {"probes": 9362, "failed": 812 if state == "incomplete" else 0}
    notes = [
        Note(
            slug="rows-recur",
            level="warning",
            text="A warning. It has more to say than fits one line, and goes on.",
        ),
        Note(
            slug="audited-as", text="Audited as classification, decision as class labels. Favourable: invite."
        ),
    ]
    return Result(
        audit=audit, title="made up", findings=tuple(found), exhibits=_exhibits(rng, groups), notes=tuple(notes),
        counts=counts, complete=state != "incomplete",
        provenance={"call": {"arguments": {"y_pred": "decision", "positive": "invite"}}, "subject": "model 1",
                    "data": {"table": "ab" * 8}, "created": "2026-11-22T10:00:00+00:00"},
    )  # fmt: skip


def _claims(
    rng: Any,
    audit: str,
    attribute: str,
    measure: str,
    contrast: str,
    bound: float,
    spread: float,
    groups: int,
) -> list[Finding]:
    ratio = contrast == "ratio"
    tolerance = (bound, 1 / bound) if ratio else (-bound, bound)
    alone = audit in ("amplification", "attack")
    found = []
    for i in range(1, 2 if alone else groups):
        value = float(rng.normal(0, spread))
        half = float(rng.uniform(0.02, 1.2)) * spread
        span = (value - half, value + half)
        if ratio:
            value, span = float(np.exp(value)), (float(np.exp(span[0])), float(np.exp(span[1])))
        sides = (
            ("outputs", "training data")
            if audit == "amplification"
            else (f"{attribute}={name_of(i)}", f"{attribute}={name_of(0)}")
        )
        if audit == "attack":
            sides = (f"{attribute}: a-b / b-a", "99 placebo directions")
        e = Estimate(
            measure=measure, contrast=contrast, group=sides[0], reference=sides[1], value=value, low=span[0], high=span[1],
            p_value=0.03, n=400, n_group=200, n_reference=200, units={"text": 40}, method="made up",
        )  # fmt: skip
        found.append(_judged(e, tolerance, span, primary=alone or groups == 2, family=attribute))
    if not alone and groups > 2:
        widest = max(found, key=lambda f: abs((f.estimate.value or 0) - (1 if ratio else 0)))
        e = widest.estimate.with_(measure=f"{measure}, largest of {groups - 1} gaps")
        found.insert(0, replace(widest, estimate=e, primary=True, family="primary claims"))
    return found


def _judged(
    e: Estimate, tolerance: tuple[float, float], span: tuple[float, float], *, primary: bool, family: str
) -> Finding:
    null = 1.0 if e.contrast == "ratio" else 0.0
    apart = not span[0] <= null <= span[1]
    beyond = span[0] > tolerance[1] or span[1] < tolerance[0]
    inside = tolerance[0] <= span[0] and span[1] <= tolerance[1]
    verdict: Any = (
        "disparity" if beyond else "within tolerance" if inside else "gap" if apart else "inconclusive"
    )
    return Finding(
        estimate=e, tolerance=tolerance, verdict=verdict, primary=primary, family=family, simultaneous=span,
        equivalence=span, because="A fact (95 % interval 1 to 2). With this design a true gap of 0.3 would be found.",
    )  # fmt: skip


def _unjudged(f: Finding) -> Finding:
    e = f.estimate.with_(
        value=None, low=None, high=None, p_value=None, why_not="7 people in the group; 10 are needed"
    )
    return replace(f, estimate=e, verdict="inconclusive", simultaneous=None, equivalence=None)


def _exhibits(rng: Any, groups: int) -> dict[str, Exhibit]:
    names = [f"attribute0={name_of(i)}" for i in range(groups)]
    curve = [(n, x / 5, float(np.clip(x / 5 + rng.normal(0, 0.05), 0, 1))) for n in names for x in range(6)]
    even = [("perfectly calibrated", 0.0, 0.0), ("perfectly calibrated", 1.0, 1.0)]
    rows = [*curve, *even]
    pairs = [(a, b) for a in names[:14] for b in names[:14]]
    return {
        "calibration": Exhibit(
            title="Calibration", chart="band",
            columns={"group": [r[0] for r in rows], "score": [r[1] for r in rows], "observed": [r[2] for r in rows],
                     "low": [max(0.0, r[2] - 0.1) for r in rows], "high": [min(1.0, r[2] + 0.1) for r in rows]},
            encode={"x": "score", "y": "observed", "low": "low", "high": "high", "color": "group"},
        ),
        "pairs": Exhibit(
            title="Pairs", chart="heatmap",
            columns={"group": [p[0] for p in pairs], "reference": [p[1] for p in pairs],
                     "gap": [float(v) for v in rng.normal(0, 0.1, len(pairs))]},
            encode={"x": "reference", "y": "group", "value": "gap"},
        ),
        "zeros": Exhibit(
            title="Zeros", chart="bars", columns={"group": names, "gap": [0.0] * groups}, encode={"x": "gap", "y": "group"}
        ),
        "placebos": Exhibit(
            title="Among random directions", chart="scatter",
            columns={"direction": ["asked for it", *(f"random {i}" for i in range(30))],
                     "kind": ["asked for", *["placebo"] * 30],
                     "rate": [0.3, *(float(v) for v in rng.uniform(0, 0.2, 30))],
                     "asymmetry": [0.2, *(float(v) for v in rng.uniform(0, 0.1, 30))]},
            encode={"x": "rate", "y": "asymmetry", "label": "direction", "color": "kind", "emphasis": "asked for"},
        ),
    }  # fmt: skip

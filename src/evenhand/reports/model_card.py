"""What an audit found, as a part of a model card: Markdown with the metadata that Hugging Face reads, and the
JSON of Google's Model Card Toolkit.

Sources: Mitchell et al. (2019), Model cards for model reporting; the `model-index` of Hugging Face's model
cards; schema 0.0.2 of the Model Card Toolkit.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from evenhand._headline import answer_of, scene_of
from evenhand._model import Finding
from evenhand._wording import middle_cut, visible
from evenhand.reports import masthead, words
from evenhand.reports.caveats import caveats
from evenhand.reports.markdown import escape

if TYPE_CHECKING:
    from evenhand._record import Record

TASKS = {
    "text": "text-classification",
    "scores": "text-classification",
    "attack": "text-classification",
    "predictions": "tabular-classification",
    "amplification": "image-to-text",
}
"""Kind of audit → the name of a task that Hugging Face knows."""
MOST = 40
"""Findings of a card; result.json has all."""


def render(result: Record) -> str:
    """A model card's evaluation, bias and limits, with `model-index` metadata before them."""
    said = masthead.about(result)
    facts = dict(masthead.record(result))
    lines = ["---", *_front(result), "---", "", f"# {escape(masthead.question(result))}", ""]
    lines += ["## Bias, Risks, and Limitations", "", f"**{escape(result.answer)}**", ""]
    lines += [f"* {escape(head)} {escape(rest)}" for head, rest in caveats(result, answer_of(result))]
    lines += ["", "## Evaluation", "", "### Testing Data, Factors & Metrics", ""]
    counts = ", ".join(f"{n:,} {visible(name)}" for name, n in result.counts.items())
    outcome = scene_of(result).outcome
    lines += [f"* Data: {escape(said.get('period', ''))}{escape(counts or masthead.NOT_STATED)}"]
    lines += [f"* {escape(outcome)}"] if outcome else []
    lines += [
        f"* {escape(name)}: {escape(facts[name])}" for name in ("Purpose", "System", "Run by", "Run at")
    ]
    lines += [f"* {escape(name)}: {escape(facts[name])}" for name in ("Tool", "Protocol")]
    lines += ["", "### Results", "", "| Verdict | Comparison | Measure | Estimate | Tolerance |"]
    lines += ["| --- | --- | --- | --- | --- |"]
    for f in _shown(result):
        e = f.estimate
        cells = (f.verdict or "–", words.comparison(f), f"{e.measure}, {e.contrast}")
        row = (*cells, words.interval_words(f), words.tolerance_words(f))
        lines.append("| " + " | ".join(escape(middle_cut(cell, 300)) for cell in row) + " |")
    left = len(result.findings) - len(_shown(result))
    lines += ["", f"{left} more figures stand in the audit's result.json.", ""] if left else [""]
    return "\n".join(lines)


def _shown(result: Record) -> Sequence[Finding]:
    judged = [f for f in words.worst_first(result.findings) if f.verdict is not None]
    return (judged or words.worst_first(result.findings))[:MOST]


def _front(result: Record) -> list[str]:
    """The YAML of `model-index`; its texts are JSON strings, which YAML reads as they are."""
    facts = dict(masthead.record(result))
    lines = ["tags:", "- evenhand", "model-index:", f"- name: {_text(facts['System'])}", "  results:"]
    lines += ["  - task:", f"      type: {_task(result)}"]
    lines += ["    dataset:", f"      type: {_text(result.audit)}", f"      name: {_text(facts['Title'])}"]
    lines += ["    metrics:"]
    for f in [f for f in _shown(result) if f.estimate.value is not None] or []:
        e = f.estimate
        lines += [f"    - type: {_text(e.measure)}", f"      value: {json.dumps(e.value)}"]
        lines += [f"      name: {_text(f'{e.measure} ({e.contrast}), {words.comparison(f)}: {f.verdict}')}"]
    return lines if lines[-1] != "    metrics:" else lines[:2]


def _task(result: Record) -> str:
    call = result.provenance.get("call")
    asked = call.get("arguments", {}) if isinstance(call, dict) else {}
    if result.audit == "predictions" and asked.get("task") in ("regression", "ranking"):
        return "tabular-regression"
    return TASKS.get(result.audit, "other")


def _text(text: str) -> str:
    return json.dumps(middle_cut(visible(text), 300))


def render_json(result: Record) -> str:
    """The same as JSON of the Model Card Toolkit (schema 0.0.2)."""
    facts = dict(masthead.record(result))
    metrics = []
    for f in _shown(result):
        e = f.estimate
        if e.value is None:
            continue
        metric: dict[str, Any] = {
            "type": visible(f"{e.measure} ({e.contrast})"),
            "value": repr(e.value),
            "slice": words.comparison(f),
        }
        if e.low is not None and e.high is not None:
            metric["confidence_interval"] = {"lower_bound": repr(e.low), "upper_bound": repr(e.high)}
        if f.tolerance is not None:
            metric["threshold"] = words.tolerance_words(f)
        metrics.append(metric)
    card = {
        "model_details": {
            "name": facts["System"],
            "overview": result.answer,
            "documentation": masthead.question(result),
            "version": {"name": masthead.about(result).get("version", ""), "date": facts["Run at"]},
        },
        "quantitative_analysis": {"performance_metrics": metrics},
        "considerations": {
            "limitations": [
                {"description": f"{a} {b}".strip()} for a, b in caveats(result, answer_of(result))
            ],
            "ethical_considerations": [{"name": result.answer, "mitigation_strategy": ""}],
        },
    }
    return json.dumps(card, indent=2, ensure_ascii=False) + "\n"

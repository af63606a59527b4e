"""The demo: a real model audited on what ships with the package, names first, identity terms second."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import Any

from evenhand._changes import merge
from evenhand._result import Result
from evenhand._run import Progress
from evenhand.audits.text.audit import audit_text
from evenhand.audits.text.designs import Design, design_of, together

PARTS: tuple[Mapping[str, Any], ...] = (
    {"texts": "person", "terms": "names/freakonomics"},
    {"texts": "identity", "terms": "identity"},
)
"""80 names in original texts about one person; identity terms of five categories in original templates."""


def demo_subjects(subject: str) -> tuple[str, ...]:
    """The subject asked for; TextBlob beside VADER where its extra is installed."""
    both = subject == "vader" and importlib.util.find_spec("textblob") is not None
    return (subject, "textblob") if both else (subject,)


def demo_design() -> Design:
    """Both parts as one design."""
    return together([design_of(part) for part in PARTS])


def run_demo(subject: str = "vader", *, progress: Progress | None = None) -> Result:
    """Audit `subject` on the shipped texts.

    Returns:
        one result: its findings name the score of the model they belong to.
    """
    made = demo_design()
    results: list[Result] = []
    terms = [part["terms"] for part in PARTS]

    def report(done: int, lost: int) -> None:
        if progress is not None:
            progress(len(results) * len(made) + done, lost)

    for name in demo_subjects(subject):
        results.append(audit_text(name, made, terms=terms, progress=report))
    models = " and ".join(
        {"vader": "VADER", "textblob": "TextBlob"}.get(n, n) for n in demo_subjects(subject)
    )
    return merge(results, title=f"{models} on 80 names and on the identity terms of five categories")

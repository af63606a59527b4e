"""A result in an MLflow run (extra ``mlflow``): verdict and answer as tags, claims as metrics, its page as an
artifact."""

from __future__ import annotations

import re
import tempfile
from importlib import import_module
from pathlib import Path

from evenhand import reports
from evenhand._errors import UsageError
from evenhand._model import Finding
from evenhand._result import Result

FILES = {"result.json": "json", "report.html": "html", "estimates.csv": "csv", "summary.md": "markdown"}
"""Artifact → the report it is."""
LONGEST = 240
"""Characters of a metric's name; MLflow takes 250."""
_ODD = re.compile(r"[^\w\-. /]+")


def log_result(result: Result, *, artifact_path: str = "evenhand") -> dict[str, float]:
    """Log a result to the active MLflow run, or to a new one.

    Every primary claim becomes the metrics ``… value``, ``… low`` and ``… high`` (its simultaneous interval,
    where it has one); the verdict, the answer and whether the audit came to its end become tags.

    Args:
        artifact_path: folder of the run for result.json, report.html, estimates.csv and summary.md.

    Returns:
        the metrics, by name.

    Raises:
        UsageError: `missing-extra` where MLflow is not installed.
    """
    try:
        mlflow = import_module("mlflow")
    except ImportError:
        raise UsageError(
            "missing-extra",
            "mlflow is not installed",
            expected="mlflow, which comes with the extra `mlflow`",
            hint="pip install 'evenhand[mlflow]'",
        ) from None
    metrics = metrics_of(result)
    mlflow.log_metrics(metrics)
    tags = {"audit": result.audit, "verdict": result.verdict or "nothing judged"}
    tags |= {"answer": result.answer, "complete": str(result.complete).lower()}
    mlflow.set_tags({f"evenhand.{name}": text for name, text in tags.items()})
    with tempfile.TemporaryDirectory() as folder:
        for name, kind in FILES.items():
            Path(folder, name).write_text(reports.render(result, kind), encoding="utf-8")
        mlflow.log_artifacts(folder, artifact_path)
    return metrics


def metrics_of(result: Result) -> dict[str, float]:
    """Name → number, of the primary claims; what is not known is left out.

    >>> metrics_of(Result(audit="text", title="t"))
    {}
    """
    found: dict[str, float] = {}
    for finding in result.primary:
        e = finding.estimate
        low, high = finding.simultaneous or (e.low, e.high)
        for end, value in (("value", e.value), ("low", low), ("high", high)):
            if value is not None:
                found[f"{_name(finding)} {end}"] = value
    return found


def _name(finding: Finding) -> str:
    """A claim as MLflow takes names: letters, digits, and ``_ - . /`` and spaces."""
    e = finding.estimate
    given = f" given {e.given}" if e.given else ""
    whole = f"{e.measure} {e.group} against {e.reference}{given}".replace("=", " ").replace("&", "and")
    return " ".join(_ODD.sub("-", whole).split())[:LONGEST]

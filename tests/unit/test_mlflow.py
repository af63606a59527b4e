"""A result in an MLflow run: claims are metrics, the verdict is a tag, the page an artifact."""

from __future__ import annotations

from pathlib import Path

import pytest

import evenhand as eh
from evenhand._errors import UsageError
from evenhand.mlflow import log_result, metrics_of


def audited() -> eh.Result:
    rows = {"p": [int(k % 3 == 0) for k in range(300)], "sex": list("FM") * 150, "race": list("aabbb") * 60}
    return eh.audit_predictions(rows, y_pred="p", groups=["sex", "race"], positive=1)


def test_the_metrics_are_the_primary_claims() -> None:
    result = audited()
    metrics = metrics_of(result)
    judged = [f for f in result.primary if f.estimate.value is not None]
    assert len([name for name in metrics if name.endswith(" value")]) == len(judged)
    for f in judged:
        name = f"{f.estimate.measure} {f.estimate.group.replace('=', ' ')} against {f.estimate.reference.replace('=', ' ')}"
        assert metrics[f"{name} value"] == f.estimate.value
        assert (metrics[f"{name} low"], metrics[f"{name} high"]) == f.simultaneous


def test_names_that_mlflow_refuses_are_rewritten() -> None:
    estimate = eh.Estimate(
        measure="m:é<b>", contrast="difference", group="g=x & y|", reference="b" * 400, value=1.0
    )
    finding = eh.Finding(estimate=estimate, tolerance=(-1, 1), verdict="gap", primary=True)
    (name,) = metrics_of(eh.Result(audit="scores", title="t", findings=(finding,)))
    assert len(name) <= 250
    assert not set("<>|:&=") & set(name)


@pytest.mark.filterwarnings("ignore")  # of what MLflow itself uses
def test_a_run_holds_metrics_tags_and_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow", reason="the extra mlflow is not installed")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'runs.db'}")
    result = audited()
    with mlflow.start_run() as run:
        logged = log_result(result)
    found = mlflow.get_run(run.info.run_id)
    assert found.data.metrics == pytest.approx(logged)
    assert found.data.tags["evenhand.verdict"] == result.verdict
    names = {f.path for f in mlflow.MlflowClient().list_artifacts(run.info.run_id, "evenhand")}
    assert names == {f"evenhand/{n}" for n in ("result.json", "report.html", "estimates.csv", "summary.md")}


def test_without_mlflow_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(UsageError, match="missing-extra"):
        log_result(audited())

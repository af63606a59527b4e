"""`evenhand predictions` on the command line: files written, tables printed, exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest

import evenhand as eh
from evenhand.cli import run


@pytest.fixture
def table(tmp_path: Path) -> Path:
    lines = ["G3,pred,sex"] + [f"{i % 7},{(i * 37) % 11 + i % 7},{'FM'[i % 2]}" for i in range(80)]
    path = tmp_path / "preds.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_the_issue_s_command_writes_result_estimates_and_report(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 0; audit.toml repeats the call."""
    out = tmp_path / "out"
    flags = ["--y-true", "G3", "--y-pred", "pred", "--group", "sex", "--reference", "M"]
    assert run(["predictions", str(table), *flags, "--out", str(out)]) == 0
    assert {p.name for p in out.iterdir()} >= {"result.json", "estimates.csv", "report.html", "audit.toml"}
    first = eh.Result.from_json(out / "result.json")
    assert run(["run", str(out / "audit.toml")]) == 0
    again = eh.Result.from_json(out / "result.json")
    assert [f.estimate for f in again.findings] == [f.estimate for f in first.findings]
    capsys.readouterr()


def test_the_notebook_table_is_printed_with_every_digit(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What regression_table returns is what is printed."""
    flags = ["--y-true", "G3", "--y-pred", "pred", "--group", "sex", "--reference", "M"]
    assert run(["predictions", str(table), *flags, "--measures", "notebook-2022"]) == 0
    printed = capsys.readouterr().out
    for row in eh.regression_table(
        table, y_true="G3", y_pred="pred", group="sex", minority="F", reference="M"
    ).to_pylist():
        assert row["value"] is None or repr(row["value"]) in printed


def test_the_notebook_s_table_says_what_it_is_and_does_without_outcomes(table: Path) -> None:
    """One note, no reason beside a number that is there; without outcomes the other lines are as before."""
    given = {"y_pred": "pred", "groups": "sex", "reference": "M", "measures": "notebook-2022"}
    whole = eh.audit_predictions(str(table), y_true="G3", **given)
    assert "nothing else: single values" in next(n.text for n in whole.notes if n.slug == "notebook-2022")
    assert {f.estimate.why_not for f in whole.findings if f.estimate.value is not None} == {None}
    bare = eh.audit_predictions(str(table), **given)
    assert len(bare.findings) == len(whole.findings)
    for one, two in zip(whole.findings, bare.findings, strict=True):
        if two.estimate.value is None:
            assert two.estimate.why_not == "it needs outcomes, y_true= (--y-true)"
            assert "Validity" in two.estimate.measure or "RMSE" in two.estimate.measure
        else:
            assert two.estimate.value == one.estimate.value
    values = eh.regression_table(
        str(table), y_pred="pred", group="sex", minority="F", reference="M"
    ).to_pylist()
    assert [row["value"] for row in values] == [f.estimate.value for f in bare.findings]


def test_law_tables_are_printed_and_written(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One CSV file a table, ready to publish."""
    out = tmp_path / "out"
    assert run(["predictions", str(table), "--y-pred", "pred", "--group", "sex", "--law", "ll144", "--out", str(out)]) == 0  # fmt: skip
    assert "Local Law 144: sex" in capsys.readouterr().out
    text = (out / "ll144-sex.csv").read_text(encoding="utf-8")
    assert text.splitlines()[0].split(",")[0].strip('"') == "category"


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--y-pred", "prd", "--group", "sex"], "did you mean 'pred'"),
        (["--y-pred", "pred"], "no-groups"),
        (["--y-pred", "pred", "--group", "sex", "--features", "G3"], "module:attr"),
        (["--y-pred", "pred", "--group", "sex", "--tolerance", "RMSE=wide"], "bad-tolerance"),
    ],
)
def test_bad_usage_is_one_message_and_exit_code_two(
    table: Path, flags: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """No traceback, a hint where there is one."""
    assert run(["predictions", str(table), *flags]) == 2
    heard = capsys.readouterr().err
    assert said in heard
    assert "Traceback" not in heard


def test_a_fitted_model_is_asked_with_the_features_that_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """--features makes --y-pred the place of a model; audit.toml repeats the call."""
    (tmp_path / "fitted_model_abc.py").write_text(
        "class Doubles:\n    def predict(self, rows):\n        return [2 * float(r[0]) for r in rows]\nmodel = Doubles()\n"
    )
    lines = ["x,y,sex"] + [f"{i % 7},{i % 5},{'FM'[i % 2]}" for i in range(80)]
    (tmp_path / "rows.csv").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    flags = ["--y-pred", "fitted_model_abc:model", "--features", "x", "--y-true", "y", "--group", "sex"]
    assert run(["predictions", "rows.csv", *flags, "--out", "out"]) == 0
    first = eh.Result.from_json("out/result.json")
    assert run(["run", "out/audit.toml", "--out", "again"]) == 0
    assert eh.Result.from_json("again/result.json").findings == first.findings
    gap = next(f.estimate.value for f in first.findings if f.estimate.measure == "average score")
    x = {sex: [i % 7 for i in range(80) if "FM"[i % 2] == sex] for sex in "FM"}
    assert gap == pytest.approx(2 * (sum(x["M"]) - sum(x["F"])) / 40)


def test_a_truncated_parquet_file_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Half a file is no file."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    path = tmp_path / "half.parquet"
    parquet.write_table(pa.table({"p": list(range(1000)), "g": ["a", "b"] * 500}), path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert run(["predictions", str(path), "--y-pred", "p", "--group", "g"]) == 2
    assert "unreadable-file" in capsys.readouterr().err


def test_mixed_encodings_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One label would become two, unnoticed."""
    path = tmp_path / "mixed.csv"
    path.write_bytes("p,g\n1,Jörg\n2,x\n".encode() + "3,Jörg\n4,x\n".encode("latin-1"))
    assert run(["predictions", str(path), "--y-pred", "p", "--group", "g"]) == 2
    assert "mixes encodings" in capsys.readouterr().err

"""The gate: what fails a check, by a policy, beside a baseline, in pytest, in a workflow."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand._version import __version__
from evenhand.cli import run

ROOT = Path(__file__).parents[2]


def audited(women: int, men: int = 90, other: int = 85, n: int = 200) -> eh.Result:
    """So many of n people of each group are hired."""
    hired = [
        *([1] * men + [0] * (n - men)),
        *([1] * women + [0] * (n - women)),
        *([1] * other + [0] * (n - other)),
    ]
    sex = ["M"] * n + ["F"] * n + ["X"] * n
    asked: dict[str, Any] = {"y_pred": "hired", "groups": "sex", "reference": "M", "units": False}
    return eh.audit_predictions({"hired": hired, "sex": sex}, **asked)


BAD, WORSE, FINE = audited(40), audited(4), audited(90, n=2000, men=90)


def kept(result: eh.Result, tmp_path: Path, name: str = "result") -> str:
    """The file of a result."""
    file = tmp_path / f"{name}.json"
    result.to_json(file)
    return str(file)


def test_the_default_fails_on_a_gap_and_prints_the_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 1, and what a reader needs in the log."""
    assert BAD.verdict == "disparity"
    assert run(["check", kept(BAD, tmp_path)]) == 1
    told = capsys.readouterr().out
    assert BAD.primary[0].because in told
    assert "failed: 1 disparity" in told
    assert run(["check", kept(BAD, tmp_path), "--fail-on", "never"]) == 0


def test_a_policy_picks_claims_and_verdicts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The last rule that fits decides; a rule that fits nothing is said."""
    policy = tmp_path / "policy.toml"
    file = kept(BAD, tmp_path)
    policy.write_text('fail_on = "inconclusive"\n[[rule]]\nattribute = "sex"\nfail_on = "never"\n')
    assert run(["check", file, "--policy", str(policy)]) == 0
    policy.write_text(
        '[[rule]]\nattribute = "sex"\nfail_on = "never"\n[[rule]]\nmeasure = "disparate*"\nfail_on = "disparity"\n'
        '[[rule]]\nattribute = "race"\nfail_on = "never"\n'
    )
    capsys.readouterr()
    assert run(["check", file, "--policy", str(policy)]) == 1
    assert "rule 3 of the policy fits no claim" in capsys.readouterr().err
    policy.write_text('claims = "all"\nfail_on = "never"\n[[rule]]\ngroup = "X"\nfail_on = "inconclusive"\n')
    assert run(["check", file, "--policy", str(policy)]) == 1
    assert "sex=F" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "text",
    [
        'fail_on = "bias"',
        'claims = "some"',
        'verdict = "gap"',
        '[[rule]]\nmeasure = "x"',
        '[[rule]]\nfail_on = "gap"\ncolour = "red"',
        '[rule]\nfail_on = "gap"',
        'rule = "gap"',
    ],
)
def test_a_policy_that_is_none_is_refused(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2 and the name of the message, never a check that passes by a spelling mistake."""
    policy = tmp_path / "policy.toml"
    policy.write_text(text)
    assert run(["check", kept(BAD, tmp_path), "--policy", str(policy)]) == 2
    assert "[policy]" in capsys.readouterr().err


def test_files_that_are_no_policy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Broken TOML, and none at all."""
    policy = tmp_path / "policy.toml"
    policy.write_text("fail_on = = 3")
    assert run(["check", kept(BAD, tmp_path), "--policy", str(policy)]) == 2
    assert run(["check", kept(BAD, tmp_path), "--policy", str(tmp_path / "none.toml")]) == 2
    assert "none.toml" in capsys.readouterr().err


def test_a_known_failure_passes_beside_a_baseline_until_it_grows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Same: known. Much worse: fails and says by how much. Better: known. New: fails."""
    bad, worse, fine = (kept(r, tmp_path, n) for r, n in ((BAD, "bad"), (WORSE, "worse"), (FINE, "fine")))
    assert run(["check", bad, "--baseline", bad]) == 0
    assert "1 failed in the baseline as well and did not grow" in capsys.readouterr().out
    assert run(["check", worse, "--baseline", bad]) == 1
    assert "disparity (grew by" in capsys.readouterr().out
    assert run(["check", bad, "--baseline", worse]) == 0
    assert run(["check", bad, "--baseline", fine]) == 1
    assert "was " in capsys.readouterr().out
    assert run(["check", fine, "--baseline", bad]) == 0


def test_another_group_is_not_the_known_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Women were worst off, now it is others: that is new, and said."""
    women, others = audited(40), audited(88, other=30)
    assert run(["check", kept(others, tmp_path), "--baseline", kept(women, tmp_path, "old")]) == 1
    assert "(was sex=F against sex=M)" in capsys.readouterr().out


def test_a_slightly_larger_gap_is_no_growth(tmp_path: Path) -> None:
    """A change within its uncertainty is not new."""
    assert run(["check", kept(audited(38), tmp_path), "--baseline", kept(BAD, tmp_path, "old")]) == 0


def test_a_baseline_of_something_else_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another kind of audit, another rule of verdicts, no claim in common."""
    file = kept(BAD, tmp_path)
    renamed = eh.audit_predictions(
        {"hired": [1, 0] * 200, "race": ["a"] * 200 + ["b"] * 200}, y_pred="hired", groups="race", units=False
    )
    others = [replace(BAD, audit="scores"), replace(BAD, rule=1), renamed]
    for i, other in enumerate(others):
        assert run(["check", file, "--baseline", kept(other, tmp_path, f"other{i}")]) == 2
        assert "[baseline]" in capsys.readouterr().err


def test_nothing_judged_never_passes(tmp_path: Path) -> None:
    """Whatever the policy and the baseline."""
    empty = replace(BAD, findings=())
    file = kept(empty, tmp_path)
    assert run(["check", file, "--fail-on", "never"]) == 1
    assert run(["check", file, "--baseline", kept(BAD, tmp_path, "old")]) == 1
    with pytest.raises(AssertionError, match="nothing was judged"):
        eh.assert_within(empty, fail_on="never")


def test_in_a_test_of_a_model(tmp_path: Path) -> None:
    """AssertionError with the sentence; policies and baselines as on the command line."""
    with pytest.raises(AssertionError, match=re.escape(BAD.primary[0].because)):
        eh.assert_within(BAD)
    eh.assert_within(FINE)
    eh.assert_within(BAD, baseline=kept(BAD, tmp_path))
    eh.assert_within(BAD, policy={"rule": [{"attribute": "sex", "fail_on": "never"}]})
    with pytest.raises(AssertionError, match="incomplete"):
        eh.assert_within(replace(FINE, complete=False))
    with pytest.raises(eh.EvenhandError, match=r"\[policy\]"):
        eh.assert_within(BAD, fail_on="bias")  # type: ignore[arg-type]


def steps(text: str) -> list[str]:
    """The scripts of a composite action, in order."""
    blocks = re.findall(r"^( +)run: \|\n((?:\1  .*\n?)+)|^ +run: (?!\|)(.+)$", text, flags=re.M)
    return [block or line for _, block, line in blocks]


@pytest.mark.parametrize(("result", "baseline", "code"), [(BAD, None, 1), (BAD, BAD, 0), (FINE, None, 0)])
def test_the_action_shows_and_checks(result: eh.Result, baseline: Any, code: int, tmp_path: Path) -> None:
    """Its steps run as a workflow would run them, with names of files that have spaces."""
    text = (ROOT / "action.yml").read_text()
    declared = set(re.findall(r"^  ([a-z-]+):$", text.split("runs:")[0], flags=re.M))
    assert set(re.findall(r"inputs\.([a-z-]+)", text)) <= declared
    install, show, check = steps(text)
    assert install == 'python -m pip install "$INSTALL"'
    folder = tmp_path / "a folder"
    folder.mkdir()
    summary = folder / "summary.md"
    evenhand = tmp_path / "evenhand"
    evenhand.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m evenhand "$@"\n')
    evenhand.chmod(0o755)
    env = os.environ | {
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(summary),
        "RESULT": kept(result, folder),
        "FAIL_ON": "gap",
        "POLICY": "",
        "BASELINE": "" if baseline is None else kept(baseline, folder, "base line"),
    }
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"]
    assert subprocess.run([*shell, show], env=env, check=False).returncode == 0
    assert result.title in summary.read_text()
    assert subprocess.run([*shell, check], env=env, check=False, capture_output=True).returncode == code


def test_the_hook_and_the_citation_are_about_this_evenhand() -> None:
    """The hook's command is one that there is, its files are results; the version is ours."""
    hook = dict(
        line.strip().removeprefix("- ").split(": ", 1)
        for line in (ROOT / ".pre-commit-hooks.yaml").read_text().splitlines()
    )
    assert hook["entry"].split()[0] == "evenhand"
    assert run([*hook["entry"].split()[1:], "--help"]) == 0
    assert re.search(hook["files"], "audits/model/result.json")
    assert not re.search(hook["files"], "audits/my-result.json.bak")
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_messages_are_explained(capsys: pytest.CaptureFixture[str]) -> None:
    """By the name in the brackets, with or without them; near names where there is none."""
    for name in ("missing-values", "[missing-values]"):
        assert run(["explain", name]) == 0
        assert "counted and left out" in capsys.readouterr().out
    assert run(["explain", "missing-value"]) == 2
    assert "missing-values" in capsys.readouterr().err

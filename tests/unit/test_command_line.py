"""The command line: exit codes, one clear message, resumable runs, files where they were promised."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from evenhand.cli import run

SCORES = "text,name,race,score\n" + "".join(
    f"t{t},{name},{race},{0.5 + 0.3 * (race == 'black') + 0.01 * t + 0.001 * k}\n"
    for t in range(8)
    for k, (name, race) in enumerate(
        [
            ("Imani", "black"),
            ("Ebony", "black"),
            ("Aliyah", "black"),
            ("Amy", "white"),
            ("Claire", "white"),
            ("Emma", "white"),
        ]
    )
)


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    """Recorded scores with a gap of 0.3."""
    path = tmp_path / "scores.csv"
    path.write_text(SCORES)
    return path


def test_help_and_version_work(capsys: pytest.CaptureFixture[str]) -> None:
    """A first look costs nothing."""
    assert run(["--version"]) == 0
    assert "evenhand" in capsys.readouterr().out
    assert run(["--help"]) == 0
    assert "Exit codes" in capsys.readouterr().out


@pytest.mark.parametrize(
    "command", ["text", "scores", "demo", "plan", "run", "report", "check", "compare", "list", "doctor"]
)
def test_every_command_has_help_with_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody should need the manual for the first call."""
    assert run([command, "--help"]) == 0
    assert f"Example: evenhand {command}" in " ".join(capsys.readouterr().out.split())


def test_recorded_scores_are_audited_and_the_files_written(
    scores: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """result.json, estimates.csv, report.html and the call itself."""
    out = tmp_path / "out"
    code = run(
        [
            "scores",
            str(scores),
            "--score",
            "score",
            "--group",
            "race",
            "--unit",
            "text",
            "--unit",
            "name",
            "--out",
            str(out),
        ]
    )
    assert code == 0
    assert {p.name for p in out.iterdir()} == {"result.json", "estimates.csv", "report.html", "audit.toml"}
    assert "Disparity" in capsys.readouterr().out
    assert run(["check", str(out / "result.json")]) == 1
    assert run(["check", str(out / "result.json"), "--fail-on", "inconclusive"]) == 1
    for flag, words in (
        ("--markdown", "#"),
        ("--csv", "measure,"),
        ("--junit", "<testsuite"),
        ("--html", "<!doctype html>"),
        ("--json", "{"),
    ):
        capsys.readouterr()
        assert run(["report", str(out / "result.json"), flag]) == 0
        assert words.lower() in capsys.readouterr().out.lower()
    assert run(["compare", str(out / "result.json"), str(out / "result.json")]) == 0
    assert "same verdict" in capsys.readouterr().out
    assert run(["run", str(out / "audit.toml"), "--out", str(tmp_path / "again")]) == 0
    first, second = (json.loads((folder / "result.json").read_text()) for folder in (out, tmp_path / "again"))
    assert first["findings"] == second["findings"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["scores", "{file}", "--score", "scor", "--group", "race"], "did you mean 'score'"),
        (["scores", "nosuch.csv", "--score", "score", "--group", "race"], "no such file"),
        (["scores", "{file}", "--score", "race", "--group", "race"], "not a number"),
        (["scores", "{file}", "--score", "score"], "--group"),
        (["text", "--terms", "names/nope"], "names/freakonomics"),
        (["text", "--subject", "vadr"], "did you mean 'vader'"),
        (["report", "{file}"], "result"),
        (["frobnicate"], "frobnicate"),
        (["check", "nosuch.json"], "nosuch.json"),
        (["run", "nosuch.toml"], "no such file"),
    ],
)
def test_bad_input_is_exit_2_with_one_message(
    arguments: list[str], words: str, scores: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was given, what is there, no traceback."""
    assert run([a.replace("{file}", str(scores)) for a in arguments]) == 2
    err = capsys.readouterr().err
    assert words in err
    assert "Traceback" not in err


def test_a_subject_that_fails_everywhere_is_exit_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The audit has nothing to say, and says why."""
    (tmp_path / "broken_model_abc.py").write_text(
        "def predict(texts):\n    raise RuntimeError('no weights')\n"
    )
    monkeypatch.chdir(tmp_path)
    assert run(["text", "--subject", "broken_model_abc:predict", "--terms", "names/weat-gender"]) == 3
    assert "no weights" in capsys.readouterr().err


def test_a_budget_makes_an_incomplete_result_that_resumes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 3 with partial results; the same command goes on, until it is done."""
    out = tmp_path / "out"
    command = ["text", "--terms", "names/weat-gender", "--out", str(out), "--budget", "500"]
    assert run(command) == 3
    assert json.loads((out / "result.json").read_text())["complete"] is False
    assert run(command) == 0
    assert json.loads((out / "result.json").read_text())["complete"] is True


def test_probes_go_out_and_a_service_s_replies_come_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """--export-probes, Comprehend's archive in any order with an error line, joined on Line."""
    probes = tmp_path / "probes.csv"
    assert run(["text", "--terms", "names/weat-gender", "--export-probes", str(probes)]) == 0
    lines = (tmp_path / "probes.lines.txt").read_text().splitlines()
    records = []
    for number in reversed(range(len(lines))):
        if number == 3:
            records.append(
                {"File": "probes", "Line": number, "ErrorCode": "INTERNAL", "ErrorMessage": "failed"}
            )
            continue
        scores = {
            "Positive": 0.2 + 0.3 * ("Amy" in lines[number]),
            "Negative": 0.1,
            "Neutral": 0.6,
            "Mixed": 0.1,
        }
        records.append({"File": "probes", "Line": number, "Sentiment": "NEUTRAL", "SentimentScore": scores})
    reply = tmp_path / "output"
    reply.write_text("\n".join(json.dumps(r) for r in records))
    archive = tmp_path / "output.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(reply, arcname="output")
    command = ["scores", str(archive), "--probes", str(probes), "--score", "Positive", "--group", "gender"]
    assert run([*command, "--unit", "text_id", "--unit", "term", "--out", str(tmp_path / "out")]) == 0
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert result["counts"] == {"rows": len(lines), "failed": 1}


def test_templates_are_written_for_review_and_read_again(tmp_path: Path) -> None:
    """A person sees the placeholders, edits, and audits the file."""
    texts = tmp_path / "texts.txt"
    texts.write_text("I have many Black friends.\nShe is a deaf lawyer.\n")
    review = tmp_path / "review.toml"
    assert run(["text", "--texts", str(texts), "--terms", "identity", "--export-templates", str(review)]) == 0
    assert "{Race:adjective}" in review.read_text() or "{race:adjective}" in review.read_text()
    assert run(["text", "--texts", str(review), "--terms", "identity", "--out", str(tmp_path / "out")]) == 0


def test_a_plan_says_what_it_would_ask_and_asks_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Probes, characters, cost, time and the smallest detectable gap."""
    spec = tmp_path / "audit.toml"
    spec.write_text(
        'kind = "text"\n[arguments]\nsubject = "nothing:here"\ntexts = "person"\nterms = "names/freakonomics"\n'
    )
    assert run(["plan", str(spec), "--price", "0.0001", "--rate", "10"]) == 0
    out = capsys.readouterr().out
    assert "4,160" in out
    assert "0.42" in out
    assert "7 min" in out
    assert "race" in out


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('kind = "text"\n[arguments]\nsubjct = "vader"\n', "did you mean 'subject'"),
        ('kind = "txt"\n', "did you mean 'text'"),
        ("kind = text\n", "not TOML"),
        ('kind = "text"\ncolour = 1\n', "colour"),
    ],
)
def test_a_bad_audit_file_is_explained(
    content: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Typing errors in a file get the same care as those on the command line."""
    spec = tmp_path / "audit.toml"
    spec.write_text(content)
    assert run(["run", str(spec)]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("what", ["subjects", "terms", "measures", "datasets"])
def test_lists_are_lists(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One name a line, with a word on each."""
    assert run(["list", what]) == 0
    assert len(capsys.readouterr().out.splitlines()) >= 3


def test_the_doctor_finds_this_installation_well(capsys: pytest.CaptureFixture[str]) -> None:
    """Versions, a journal round trip, a subject and a report."""
    assert run(["doctor"]) == 0
    assert "FAILED" not in capsys.readouterr().out


SLOW = """
import os, time
def predict(texts):
    with open("asked.txt", "a") as log:
        for text in texts:
            log.write(text.replace("\\n", " ") + "\\n")
    while sum(1 for _ in open("asked.txt")) > 200 and not os.path.exists("go on"):
        time.sleep(0.01)
    return [len(t) % 7 / 7 for t in texts]
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["kill", "ctrl-c"])
def test_a_stopped_run_resumes_and_asks_nothing_twice(tmp_path: Path, how: signal.Signals) -> None:
    """Whatever had arrived is kept; only the batch in flight may be asked again."""
    (tmp_path / "slow_model_abc.py").write_text(SLOW)
    command = [sys.executable, "-m", "evenhand", "text", "--subject", "slow_model_abc:predict"]
    command += ["--terms", "names/weat-gender", "--batch-size", "20", "--out", "out"]
    log = tmp_path / "asked.txt"
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as child:
        while not log.exists() or len(log.read_text().splitlines()) <= 200:
            time.sleep(0.02)
            assert child.poll() is None
        os.kill(child.pid, how)
        _, err = child.communicate()
    assert "Traceback" not in err
    if how is signal.SIGINT:
        assert child.returncode == 3
        assert "same command again" in err
    before = log.read_text().splitlines()
    (tmp_path / "go on").touch()
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    asked = log.read_text().splitlines()
    assert len(asked) - len(set(asked)) <= 20
    assert 200 < len(before) <= 220  # the batch that was in flight is the eleventh
    assert not set(before[:200]) & set(asked[len(before) :])

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
from typing import Any

import pytest

import evenhand as eh
from evenhand._model import Verdict
from evenhand._spec import Spec
from evenhand.cli import run
from evenhand.reports import REPORTS, Report, render
from evenhand.subjects.cached import CANARY

SCORES = "text,name,race,score\n" + "".join(
    f"t{t},{name},{race},{0.5 + 0.3 * (race == 'black') + 0.01 * t + 0.0003 * ((t * 31 + k * 17 + 5) ** 3 % 101)}\n"
    for t in range(8)
    for k, (name, race) in enumerate(
        [
            ("Imani", "black"),
            ("Ebony", "black"),
            ("Aliyah", "black"),
            ("Nia", "black"),
            ("Amy", "white"),
            ("Claire", "white"),
            ("Emma", "white"),
            ("Molly", "white"),
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
    assert "◆ disparity: " in capsys.readouterr().out
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
        (["list", "subject"], "did you mean 'subjects'"),
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
    """Exit 3 with partial results; the budget holds for all runs together, and a larger one goes on."""
    out = tmp_path / "out"
    command = ["text", "--terms", "names/weat-gender", "--out", str(out), "--budget", "500"]
    assert run(command) == 3
    assert json.loads((out / "result.json").read_text())["complete"] is False
    assert run(command) == 3
    told = (out / "report.html").read_text()
    assert "500 inputs asked" in told
    assert run([*command, "--budget", "100000"]) == 0
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
    assert all(verdict in out for verdict in ("disparity", "gap", "within tolerance", "inconclusive"))


def test_a_plan_of_a_table_says_the_chance_of_each_verdict_and_no_gap_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Group sizes and spread are looked at; the verdicts of these data are not told."""
    (tmp_path / "scores.csv").write_text(SCORES)
    spec = tmp_path / "audit.toml"
    spec.write_text(
        'kind = "scores"\n[arguments]\ndata = "scores.csv"\nscores = "score"\ngroups = "race"\n'
        'units = ["text", "name"]\n'
    )
    assert run(["plan", str(spec)]) == 0
    out = capsys.readouterr().out
    assert "true gap" in out
    assert out.count("within tolerance") == 2  # the chances, and the cheapest design
    found = Spec(
        kind="scores",
        arguments={
            "data": str(tmp_path / "scores.csv"),
            "scores": "score",
            "groups": "race",
            "units": ["text", "name"],
        },
    ).call()
    assert f"{found.findings[0].estimate.value:.2f}" not in out
    assert run(["plan", str(spec), "--price", "1"]) == 2
    assert not (tmp_path / "evenhand-out").exists()


@pytest.mark.parametrize(
    ("kind", "flags", "words"),
    [
        ("attack", ["--minimum-units", "3"], "no use of it"),
        ("scores", [], "asks no subject"),
    ],
)
def test_a_plan_refuses_what_it_would_not_use(
    kind: str, flags: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An option that changed nothing would be taken for an answer."""
    spec = tmp_path / "audit.toml"
    spec.write_text(f'kind = "{kind}"\n')
    assert run(["plan", str(spec), *flags]) == 2
    assert words in capsys.readouterr().err


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


@pytest.mark.parametrize("what", ["audits", "subjects", "terms", "measures", "datasets"])
def test_lists_are_lists(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One name a line, with a word on each."""
    assert run(["list", what]) == 0
    assert len(capsys.readouterr().out.splitlines()) >= 3


def test_the_doctor_finds_this_installation_well(capsys: pytest.CaptureFixture[str]) -> None:
    """Versions, a journal round trip, a subject and a report."""
    assert run(["doctor"]) == 0
    assert "FAILED" not in capsys.readouterr().out


def judged(verdict: Verdict | None, value: float | None = 0.1, **more: Any) -> eh.Result:
    """A result with one finding."""
    estimate = eh.Estimate(
        measure="m", contrast="difference", group="a", reference="b", value=value,
        why_not=None if value is not None else "no replies",
    )  # fmt: skip
    return eh.Result(
        audit="text", title="t", findings=(eh.Finding(estimate=estimate, verdict=verdict),), **more
    )


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (eh.Result(audit="text", title="t"), "nothing was compared"),
        (judged(None), "no estimate was held against a tolerance"),
        (judged("inconclusive", None), "no comparison could be estimated"),
        (
            judged("within tolerance", counts={"probes": 12, "asked": 12, "failed": 12}),
            "every one of 12 replies failed",
        ),
    ],
    ids=["no findings", "no verdicts", "no values", "all replies failed"],
)
def test_a_check_does_not_pass_where_nothing_was_judged(
    result: eh.Result, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 1 and one sentence that says why, so that a broken audit cannot turn a pipeline green."""
    result.to_json(tmp_path / "result.json")
    assert run(["check", str(tmp_path / "result.json")]) == 1
    assert capsys.readouterr().out == f"failed: nothing was judged, since {why}\n"


def test_a_check_passes_where_some_replies_failed_and_the_rest_was_judged(tmp_path: Path) -> None:
    """A lost reply is counted in the audit; it does not take the verdict away."""
    judged("within tolerance", counts={"rows": 12, "failed": 11}).to_json(tmp_path / "result.json")
    assert run(["check", str(tmp_path / "result.json")]) == 0


def test_every_format_of_the_table_is_reached_by_its_name_and_by_its_ending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A new row in REPORTS is all that the command line needs: here one of this test's own."""
    made = judged("within tolerance")
    made.to_json(tmp_path / "result.json")
    row = Report("evenhand.reports.json:render", ".card", "A card.")
    monkeypatch.setitem(REPORTS, "model-card", row)
    for name, known in REPORTS.items():
        capsys.readouterr()
        assert run(["report", str(tmp_path / "result.json"), "--as", name]) == 0
        assert capsys.readouterr().out.rstrip("\n") == render(made, name).rstrip("\n")
        file = tmp_path / f"report{known.suffix}"
        assert run(["report", str(tmp_path / "result.json"), "-o", str(file)]) == 0
        assert file.read_text(encoding="utf-8") == render(made, name)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--as", "markdwn"], "did you mean 'markdown'"),
        (["--as", "csv", "--html"], "several formats need a file each"),
        (["-o", "report.pdf"], "no report format has this ending"),
    ],
)
def test_a_report_format_that_is_not_there_is_explained(
    flags: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message names the formats, and nothing is written."""
    judged("within tolerance").to_json(tmp_path / "result.json")
    assert run(["report", str(tmp_path / "result.json"), *flags]) == 2
    assert said in capsys.readouterr().err


def test_what_the_user_gives_reaches_the_audit_and_what_is_left_out_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Lists, flags, paths and the options of the subject and the search arrive under the audit's own names."""
    heard: list[Spec] = []
    monkeypatch.setattr("evenhand.cli.attack.perform", heard.append)
    flags = [
        "--subject",
        "m:f",
        "--texts",
        "t.txt",
        "--embeddings",
        "e.txt",
        "--max-rank",
        "9",
        "--max-target",
        "7",
    ]
    flags += [
        "--inflections",
        "--strength",
        "0.5",
        "--definitional-word",
        "dad",
        "--definitional-word",
        "mum",
    ]
    flags += ["--fluency-order", "2", "--fluency-pmi", "--tagger", "m:tag", "--search-option", "width=3"]
    assert run(["attack", *flags, "--option", "key=1", "--out", "somewhere"]) == 0
    (spec,) = heard
    wanted = {
        "max_rank": 9, "max_target": 7, "inflections": True, "strength": 0.5, "definitional_words": ["dad", "mum"],
        "fluency_order": 2, "fluency_pmi": True, "tagger": "m:tag", "search_options": {"width": 3},
        "journal": str(Path("somewhere") / "journal.sqlite"),
    }  # fmt: skip
    assert wanted.items() <= spec.arguments.items()
    assert not {"directions", "target", "labels", "out", "option", "no_cache"} & set(spec.arguments)
    assert (spec.subject, spec.out) == ({"key": 1}, "somewhere")
    assert run(["attack", *flags, "--no-cache", "--journal", "j", "--out", "somewhere"]) == 0
    assert "journal" not in heard[1].arguments


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
    """Whatever had arrived is kept; only the batch in flight may be asked again, and a sample to see that the
    model is still the same."""
    (tmp_path / "slow_model_abc.py").write_text(SLOW)
    command = [sys.executable, "-m", "evenhand", "text", "--subject", "slow_model_abc:predict"]
    command += ["--terms", "names/weat-gender", "--batch-size", "20", "--tolerance", "0.1", "--out", "out"]
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
    assert len(asked) - len(set(asked)) <= 20 + CANARY
    assert 200 < len(before) <= 220  # the batch that was in flight is the eleventh
    assert len(set(before[:200]) & set(asked[len(before) :])) <= CANARY


def unread(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """A run whose output goes into a pipe that nobody reads any more, as after `| head`."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return subprocess.run(
            [sys.executable, "-m", "evenhand", *arguments],
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=60,
        )
    finally:
        os.close(writer)


@pytest.mark.skipif(sys.platform == "win32", reason="a closed pipe is another error there")
def test_a_pipe_that_closes_early_is_no_failed_check_and_loses_no_file(scores: Path, tmp_path: Path) -> None:
    """`evenhand … | head` ends with 0 and without a word, and what the audit found is on disk."""
    out = tmp_path / "out"
    roles = ["--score", "score", "--group", "race", "--unit", "text", "--out", str(out)]
    for arguments in (["list", "measures"], ["scores", str(scores), *roles]):
        done = unread(arguments)
        assert (done.returncode, done.stderr) == (0, "")
    assert {path.name for path in out.iterdir()} >= {"result.json", "report.html", "audit.toml"}


def audited(tmp_path: Path, *more: str) -> Path:
    """The folder of a small audit of predictions."""
    rows = "y,sex\n" + "".join(f"{i % 7},{'FM'[i % 2]}\n" for i in range(60))
    (tmp_path / "data.csv").write_text(rows, encoding="utf-8")
    out = tmp_path / "out"
    given = [
        "predictions",
        str(tmp_path / "data.csv"),
        "--y-pred",
        "y",
        "--group",
        "sex",
        "--task",
        "regression",
    ]
    assert run([*given, "--out", str(out), *more]) == 0
    return out


def test_a_summary_is_short_and_all_of_it_is_one_flag_away(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """At most 25 lines and where the files are; -v, before or after the command, shows every finding."""
    out = audited(tmp_path)
    short = capsys.readouterr().out
    assert len(short.partition("Written:")[0].splitlines()) <= 26
    assert json.loads((out / "result.json").read_text())["answer"].split(".")[0] in " ".join(short.split())
    for arguments in (["-v", "report", str(out / "result.json")], ["report", str(out / "result.json"), "-v"]):
        assert run(arguments) == 0
        whole = capsys.readouterr().out
        assert "Note: " in whole
        assert len(whole.splitlines()) > len(short.splitlines())


def test_quiet_says_nothing_and_json_only_the_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """--quiet writes the files and prints nothing; --json prints the result alone, the rest on stderr."""
    audited(tmp_path, "--quiet")
    assert capsys.readouterr() == ("", "")
    out = audited(tmp_path, "--json")
    printed = capsys.readouterr()
    assert json.loads(printed.out) == json.loads((out / "result.json").read_text())
    assert "Written:" in printed.err


def test_a_title_is_the_heading_and_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--title heads summary and page, stands in the result and in audit.toml, and another can be given later."""
    out = audited(tmp_path, "--title", "Who gets a higher <grade>?")
    assert capsys.readouterr().out.startswith("Who gets a higher <grade>?\n")
    assert "<h1>Who gets a higher &lt;grade&gt;?</h1>" in (out / "report.html").read_text(encoding="utf-8")
    assert run(["run", str(out / "audit.toml"), "--out", str(tmp_path / "again"), "-q"]) == 0
    about = json.loads((tmp_path / "again" / "result.json").read_text())["provenance"]["about"]
    assert about == {"title": "Who gets a higher <grade>?"}
    assert run(["report", str(out / "result.json"), "--title=Another"]) == 0
    assert capsys.readouterr().out.startswith("Another\n")


def test_what_is_said_of_an_audit_is_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown key of [about] is named with its near ones; what is not said is printed as not stated."""
    file = tmp_path / "audit.toml"
    file.write_text('kind = "predictions"\n[about]\npurpos = "x"\n', encoding="utf-8")
    assert run(["plan", str(file)]) == 2
    assert "did you mean 'purpose'" in capsys.readouterr().err
    out = audited(tmp_path, "-q")
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "run by: not stated" in page
    assert page.count("<dd>not stated</dd>") >= 3


def test_help_cuts_no_summary_and_groups_many_options(capsys: pytest.CaptureFixture[str]) -> None:
    """Every command's first sentence stands whole; a command of many options has them under headings."""
    assert run(["--help"]) == 0
    whole = capsys.readouterr().out
    assert "..." not in whole.partition("Commands:")[2]
    assert "with interval, p-value and verdict." in " ".join(whole.split()).replace(
        "by group, with", "by group, with"
    )
    assert run(["predictions", "--help"]) == 0
    one = capsys.readouterr().out
    for heading in (
        "Arguments:",
        "What is audited:",
        "Who is compared:",
        "How it is judged:",
        "Where results go:",
    ):
        assert heading in one
    others = one.partition("\nOptions:")[2]
    assert others.count("\n  --") <= 4, "new options belong under a heading of cli/help.py"


def test_several_formats_get_a_file_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--html --markdown with -o writes both, each with its ending; without a file it is refused."""
    result = str(audited(tmp_path, "-q") / "result.json")
    assert run(["report", result, "--html", "--markdown", "-o", str(tmp_path / "both")]) == 0
    assert (tmp_path / "both.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert (tmp_path / "both.md").read_text(encoding="utf-8").startswith("# ")
    capsys.readouterr()
    assert run(["report", result, "--html", "--markdown"]) == 2
    assert "one-format" in capsys.readouterr().err


def test_a_result_that_is_not_there_has_near_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A slip in the name of a result names what is there."""
    out = audited(tmp_path, "-q")
    assert run(["report", str(out / "resul.json")]) == 2
    assert "did you mean 'result.json'" in capsys.readouterr().err


def test_a_table_of_another_ending_is_read_as_text(tmp_path: Path) -> None:
    """.dat and .data are delimited text, whatever the delimiter."""
    rows = "y;sex\n" + "".join(f"{i % 7};{'FM'[i % 2]}\n" for i in range(60))
    (tmp_path / "people.dat").write_text(rows, encoding="utf-8")
    given = [
        "predictions",
        str(tmp_path / "people.dat"),
        "--y-pred",
        "y",
        "--group",
        "sex",
        "--task",
        "regression",
    ]
    assert run([*given, "-q"]) == 0


def test_what_a_subject_needs_is_said_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    """Options that lack, and options that there are none of: never the words of a Python error."""
    assert run(["text", "--subject", "http"]) == 2
    told = capsys.readouterr().err
    assert "needs url, scores" in told
    assert "--option url=… --option scores=…" in told
    assert run(["text", "--subject", "vader", "--option", "colour=red"]) == 2
    told = capsys.readouterr().err
    assert "the subject 'vader' has no such option" in told
    assert "colour" in told

"""Where evenhand meets the shell: files first, pipes that close, calls that repeat, defects that are ours."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import evenhand as eh
from evenhand.cli import run


def _table(folder: Path, name: str = "a.csv") -> Path:
    path = folder / name
    path.write_text("s,g,u\n" + "".join(f"{(i * 7 % 10) / 10},{'ab'[i % 2]},u{i}\n" for i in range(60)))
    return path


ASKED = ["scores", "a.csv", "--score", "s", "--group", "g", "--unit", "u", "--tolerance", ".1"]


def _shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True, timeout=120)


def test_a_reader_that_stops_reading_changes_nothing(tmp_path: Path) -> None:
    """`evenhand … --out o | true` writes every file, whole, and says nothing on stderr."""
    _table(tmp_path)
    done = _shell(
        f"{sys.executable} -m evenhand {' '.join(ASKED)} --out o | true; echo ${{PIPESTATUS[0]}}", tmp_path
    )
    assert (done.stdout, done.stderr) == ("0\n", "")
    assert {p.name for p in (tmp_path / "o").iterdir()} == {
        "result.json",
        "estimates.csv",
        "report.html",
        "audit.toml",
    }
    assert eh.Result.from_json(tmp_path / "o" / "result.json").findings


def test_a_check_that_fails_fails_through_a_closed_pipe(tmp_path: Path) -> None:
    """`evenhand check … | true` keeps its exit code: a gate must not open because nobody reads."""
    _table(tmp_path)
    assert _shell(f"{sys.executable} -m evenhand {' '.join(ASKED)} --out o", tmp_path).returncode == 0
    check = f"{sys.executable} -m evenhand check o/result.json --fail-on inconclusive"
    plain = _shell(check, tmp_path).returncode
    piped = _shell(f"{check} | true; exit ${{PIPESTATUS[0]}}", tmp_path)
    assert (plain, piped.returncode, piped.stderr) == (1, 1, "")


def test_a_folder_that_cannot_be_written_is_found_before_anything_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An hour of paid calls must not end at a wrong path."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    (tmp_path / "model.py").write_text(
        "def predict(texts):\n    open('asked', 'w')\n    return [0.0] * len(texts)\n"
    )
    asked = [
        "text",
        "--texts",
        "person",
        "--subject",
        "model:predict",
        "--terms",
        "names/freakonomics",
        "--tolerance",
        ".1",
    ]
    assert run([*asked, "--out", "file/out"]) == 2
    assert "cannot-write" in capsys.readouterr().err
    assert not (tmp_path / "asked").exists()


def test_the_call_beside_a_result_repeats_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From inside, from above and from elsewhere: the same result, in the same place."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "counting.py").write_text("def predict(texts):\n    return [0.1 * (len(t) % 7) for t in texts]\n")
    (home / "texts.txt").write_text("Arthur came home.\nWe met Arthur at noon.\nArthur was late again.\n")
    monkeypatch.chdir(home)
    asked = [
        "text",
        "--texts",
        "texts.txt",
        "--subject",
        "./counting.py:predict",
        "--terms",
        "names/freakonomics",
    ]
    assert run([*asked, "--replace", "Arthur", "--tolerance", ".1", "--out", "out"]) == 0
    first = (home / "out" / "estimates.csv").read_text()
    for place in (home / "out", tmp_path, Path("/")):
        monkeypatch.chdir(place)
        assert run(["run", str(home / "out" / "audit.toml")]) == 0
        assert Path.cwd() == place
        assert (home / "out" / "estimates.csv").read_text() == first
    assert not (home / "out" / "out").exists()
    capsys.readouterr()


def test_a_file_that_changed_since_the_audit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The audit file stands beside a result: other data under its name would be another audit."""
    monkeypatch.chdir(tmp_path)
    table = _table(tmp_path)
    assert run([*ASKED, "--out", "o"]) == 0
    table.write_text(table.read_text().replace("u7\n", "u8\n"))
    assert run(["run", "o/audit.toml"]) == 2
    assert "file-changed" in capsys.readouterr().err
    table.unlink()
    assert run(["run", "o/audit.toml"]) == 2
    assert "no-such-file" in capsys.readouterr().err


def test_a_hand_written_audit_file_names_files_beside_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without `folder` names are relative to the file, from wherever it is run."""
    (tmp_path / "sub").mkdir()
    _table(tmp_path / "sub")
    (tmp_path / "sub" / "audit.toml").write_text(
        'kind = "scores"\nout = "o"\n[arguments]\ndata = "a.csv"\nscores = "s"\ngroups = "g"\nunits = "u"\n'
        "tolerance = 0.1\n"
    )
    monkeypatch.chdir(tmp_path)
    assert run(["run", "sub/audit.toml"]) == 0
    assert (tmp_path / "sub" / "o" / "result.json").is_file()


@pytest.mark.parametrize("line", ["folder = 3", "out = 3", "files = 3", "[files]\n'a.csv' = 3"])
def test_an_audit_file_of_odd_values_is_one_clear_error(
    tmp_path: Path, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every top-level key is checked."""
    path = tmp_path / "audit.toml"
    path.write_text(f'kind = "scores"\n{line}\n')
    assert run(["run", str(path)]) == 2
    assert "unknown-key" in capsys.readouterr().err


def test_a_folder_that_is_gone_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A result that moved to another machine says what to correct."""
    path = tmp_path / "audit.toml"
    path.write_text(f'kind = "scores"\nfolder = "{tmp_path / "gone"}"\n')
    assert run(["run", str(path)]) == 2
    said = capsys.readouterr().err
    assert "no-such-folder" in said
    assert "gone" in said


@pytest.mark.skipif(os.name == "nt", reason="permissions are those of POSIX")
def test_results_and_journal_are_their_owners_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They hold the same texts and replies, so none is more open than another."""
    monkeypatch.chdir(tmp_path)
    asked = [
        "text",
        "--texts",
        "person",
        "--subject",
        "vader",
        "--terms",
        "names/freakonomics",
        "--most-texts",
        "2",
    ]
    assert run([*asked, "--out", "o"]) == 0
    modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in (tmp_path / "o").iterdir()}
    assert set(modes.values()) == {0o600}, modes


def test_a_defect_is_said_to_be_ours_and_leaves_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 4, three lines, no traceback on the screen; `doctor --last` shows the report."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def broken(*_: object) -> None:
        raise ZeroDivisionError("a secret of ours")

    monkeypatch.setattr("evenhand.cli.results.compare", broken)
    eh.Result(audit="scores", title="t").to_json(tmp_path / "r.json")
    assert run(["compare", str(tmp_path / "r.json"), str(tmp_path / "r.json")]) == 4
    said = capsys.readouterr()
    assert "a defect of evenhand: ZeroDivisionError" in said.err
    assert "Traceback" not in said.err
    assert run(["doctor", "--last"]) == 0
    shown = capsys.readouterr().out
    assert "ZeroDivisionError: a secret of ours" in shown
    assert "compare" in shown
    assert "broken" in shown


def test_no_defect_yet_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The doctor has nothing to show on a healthy machine."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert run(["doctor", "--last"]) == 2
    assert "no defect has been reported" in capsys.readouterr().err


def test_exported_probes_run_nothing_in_a_spreadsheet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cells that begin like a formula are neutralised in the table, not in the file that is sent."""
    monkeypatch.chdir(tmp_path)
    Path("t.txt").write_text("=cmd|' /C calc'!A0 said Arthur.\n")
    asked = [
        "text",
        "--texts",
        "t.txt",
        "--subject",
        "vader",
        "--terms",
        "names/freakonomics",
        "--replace",
        "Arthur",
    ]
    assert run([*asked, "--export-probes", "p.csv"]) == 0
    rows = Path("p.csv").read_text().splitlines()[1:]
    assert all(",'=cmd" in row for row in rows), rows[0]
    assert all(line.startswith("=cmd") for line in Path("p.lines.txt").read_text().splitlines())


def test_a_name_with_escape_sequences_is_shown_and_not_obeyed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In what was given, in what is available, and in the hint that says where was looked."""
    monkeypatch.chdir(tmp_path)
    odd = "a\x1b[31m\x1b]0;owned\x07\u202eb.csv"
    _table(tmp_path, odd + "2")
    for arguments in (
        ["scores", odd, "--score", "s", "--group", "g"],
        ["text", "--subject", "vader", "--texts", odd, "--terms", odd],
        ["journal", "stats", odd],
        ["run", odd],
        ["check", odd],
        ["text", "--subject", odd, "--terms", "names/weat-gender"],
    ):
        assert run(arguments) in (2, 3), arguments
        told = capsys.readouterr().err
        assert not set("\x1b\x07\u202e") & set(told), arguments
        assert "owned" in told, arguments

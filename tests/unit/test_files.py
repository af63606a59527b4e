"""What evenhand writes is complete or not there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

import evenhand as eh
from evenhand._errors import DataError
from evenhand._files import write_whole
from evenhand.cli import app


def full(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_new_file_has_the_permissions_of_any_new_file_and_an_old_one_keeps_its_own(tmp_path: Path) -> None:
    """The draft's private mode (0600) does not stay on the file."""
    path = write_whole(tmp_path / "new" / "a.txt", "é\n")
    plain = tmp_path / "plain"
    plain.touch()
    assert path.stat().st_mode == plain.stat().st_mode
    path.chmod(0o640)
    assert write_whole(path, "again").stat().st_mode & 0o777 == 0o640
    assert path.read_bytes() == b"again"


def test_a_report_that_cannot_be_written_leaves_the_older_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`evenhand report -o` is one clear error on a full disk, and the report of the last run stays."""
    source, out = tmp_path / "result.json", tmp_path / "report.md"
    eh.Result(audit="text", title="t").to_json(source)
    out.write_text("old")
    monkeypatch.setattr(Path, "replace", full)
    done = CliRunner().invoke(app, ["report", str(source), "--markdown", "-o", str(out)])
    assert isinstance(done.exception, DataError)
    assert out.read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["report.md", "result.json"]

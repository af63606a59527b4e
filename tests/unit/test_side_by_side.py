"""Several results on one page: each claim is its system's, in every sentence and figure."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand._result import Result
from evenhand.cli import run


@pytest.fixture
def two(tmp_path: Path) -> list[Path]:
    """Audits of two systems over the same people: one selects men twice as often, one everybody alike."""
    found = []
    for name, share in (("unfair", {"F": 4, "M": 2}), ("fair", {"F": 3, "M": 3})):
        folder = tmp_path / name
        folder.mkdir()
        rows = [f"{int(i // 2 % share[sex] == 0)},{sex}" for i, sex in enumerate("FM" * 1500)]
        (folder / "p.csv").write_text("chosen,sex\n" + "\n".join(rows) + "\n")
        argv = [
            "predictions",
            str(folder / "p.csv"),
            "--y-pred",
            "chosen",
            "--group",
            "sex",
            "--positive",
            "1",
        ]
        assert run(["--quiet", *argv, "--reference", "M", "--out", str(folder)]) == 0
        found.append(folder / "result.json")
    return found


def test_the_answer_says_which_system(two: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", *map(str, two)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "In unfair, sex F" in said
    assert "likewise" not in said
    assert "How do unfair and fair compare?" in said


def test_no_rate_of_one_system_stands_beside_the_other(two: list[Path], tmp_path: Path) -> None:
    """Rates come from tables by group alone; both systems have such a table."""
    assert run(["report", *map(str, two), "--html", "-o", str(tmp_path / "both.html")]) == 0
    page = (tmp_path / "both.html").read_text()
    assert "25\N{NO-BREAK SPACE}% of 1,500" not in page
    assert "sex, unfair" in page.lower()
    assert "sex, fair" in page.lower()


def test_both_systems_have_their_own_row(two: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    from evenhand._changes import beside

    whole = beside({path.parent.name: Result.from_json(path) for path in two})
    table = whole.exhibits["side by side"]
    verdicts = dict(zip(table.columns["system"], table.columns["verdict"], strict=True))
    assert verdicts["unfair"] == "disparity"
    assert verdicts["fair"] == "within tolerance"
    assert whole.counts["rows"] == 6000


def test_the_same_system_twice_is_told_apart_by_its_folder(
    two: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    for path in two:
        text = path.read_text().replace('"provenance": {', '"provenance": {"subject": "m",', 1)
        path.write_text(text)
    assert run(["report", *map(str, two)]) == 0
    assert "How do unfair and fair compare?" in capsys.readouterr().out


def test_audits_of_different_kinds_do_not_stand_side_by_side(
    two: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = two[1].with_name("other.json")
    other.write_text(two[1].read_text().replace('"audit": "predictions"', '"audit": "scores"', 1))
    assert run(["report", str(two[0]), str(other)]) == 2
    assert "merge-kinds" in capsys.readouterr().err

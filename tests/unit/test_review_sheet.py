"""The review sheet: `--review` writes the rewritten versions, `--reviewed` does what a person decided."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import evenhand as eh
from evenhand._errors import UsageError
from evenhand.cli import run

TEXTS = [
    "He lost his keys.",
    "She saw her duck at the pond.",
    "=She told her friend, and 100% of {it} was true.",
    "She called her dear.",
    "He is kind.",
]


def _write(path: Path, texts: Sequence[str]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["text"], *([text] for text in texts)])
    return path


def _run(*arguments: str | Path) -> int:
    return run(["text", "--subject", "vader", *map(str, arguments)])


def _filled(sheet: Path, fill: Callable[[dict[str, str]], None]) -> Path:
    """The sheet after somebody wrote into it, its rows in another order."""
    with sheet.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        fill(row)
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(reversed(rows))
    return sheet


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    """A sheet for the texts with he, she and other pronouns."""
    texts = _write(tmp_path / "t.csv", TEXTS)
    assert _run("--texts", texts, "--terms", "pronouns", "--review", tmp_path / "s.csv") == 0
    return tmp_path / "s.csv"


def _asked(tmp_path: Path, *arguments: str | Path) -> list[dict[str, str]]:
    probes = tmp_path / "probes.csv"
    given = ("--texts", tmp_path / "t.csv", "--terms", "pronouns", "--export-probes", probes)
    assert _run(*given, *arguments) == 0
    with probes.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_least_sure_version_comes_first_and_cells_are_no_formulas(sheet: Path) -> None:
    """What changed is said word by word; a version that changes nothing is not in the sheet."""
    with sheet.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    confidence = [float(row["confidence"]) for row in rows]
    assert confidence == sorted(confidence)
    assert "object or possessive" in rows[0]["flag"]
    assert rows[-1]["flag"] == ""
    lost = next(r for r in rows if r["rewritten"] == "They lost their keys.")
    assert lost["changed"] == "He → They; his → their"
    assert not [r for r in rows if r["text"] == "t1" and r["version"] == "he"]
    formulas = [c for r in rows for c in r.values() if c.startswith(("=", "+", "-", "@"))]
    assert formulas == []
    assert {r["original"][:10] for r in rows if r["text"] == "t3"} == {"'=She told"}


def test_what_a_person_decided_is_what_is_asked(sheet: Path, tmp_path: Path) -> None:
    """A replacement is asked as written, a dropped version takes its text along, a kept one has no flag any more."""

    def fill(row: dict[str, str]) -> None:
        if row["text"] == "t2":
            row["decision"] = " Keep "
        if row["text"] == "t3" and row["version"] == "he":
            row["replacement"] = "'=He told his friend, and 100% of {it} was TRUE."
        if row["text"] == "t4" and row["version"] == "they":
            row["decision"] = "drop"

    before = _asked(tmp_path)
    asked = _asked(tmp_path, "--reviewed", _filled(sheet, fill))
    assert {r["text_id"] for r in before} - {r["text_id"] for r in asked} == {"t4"}
    assert "'=He told his friend, and 100% of {it} was TRUE." in [r["text"] for r in asked]
    assert [r for r in before if r["text_id"] == "t2" and r["flag"]]
    assert not [r for r in asked if r["text_id"] == "t2" and r["flag"]]
    only = _asked(tmp_path, "--reviewed", sheet, "--flagged", "drop")
    assert "t2" in {r["text_id"] for r in only}


def test_the_page_counts_what_the_review_did(sheet: Path, tmp_path: Path) -> None:
    """Kept, written anew, dropped; decisions on versions that are not there any more."""

    def fill(row: dict[str, str]) -> None:
        if row["text"] == "t4":
            row["decision"] = "drop"
        if row["text"] == "t1":
            row["decision"] = "keep"
        if row["text"] == "t5" and row["version"] == "she":
            row["replacement"] = "She is very kind."

    _filled(sheet, fill)
    result = eh.audit_text("vader", TEXTS, terms="pronouns", reviewed=sheet)
    (said,) = [note.text for note in result.notes if note.slug == "reviewed"]
    assert "6 kept" in said
    assert "1 written anew" in said
    assert "1 dropped" in said
    assert "reviewed" in result.to_markdown() or "review of the rewritten versions" in result.to_markdown()
    fewer = eh.audit_text("vader", TEXTS[:3], terms="pronouns", reviewed=sheet)
    (said,) = [note.text for note in fewer.notes if note.slug == "reviewed"]
    assert "without a version here" in said


def test_names_are_filled_into_a_replacement(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The place {1} stays where the name comes; without it the sheet is refused."""
    texts = _write(tmp_path / "t.csv", ["Arthur lost his keys.", "Arthur called his son."])
    base = ("--texts", texts, "--terms", "names/weat-gender", "--replace", "Arthur")
    sheet, probes = tmp_path / "s.csv", tmp_path / "p.csv"
    _run(*base, "--review", sheet)

    def better(row: dict[str, str]) -> None:
        if row["rewritten"] == "{1} lost her keys.":
            row["replacement"] = "Then {1} lost all her keys."

    _run(*base, "--reviewed", _filled(sheet, better), "--export-probes", probes)
    with probes.open(encoding="utf-8", newline="") as file:
        asked = [row["text"] for row in csv.DictReader(file)]
    assert "Then Amy lost all her keys." in asked
    assert "John lost his keys." in asked

    def worse(row: dict[str, str]) -> None:
        row["replacement"] = "Nobody lost her keys."

    _filled(sheet, worse)
    assert _run(*base, "--reviewed", sheet, "--export-probes", probes) == 2
    assert "review-replacement" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("column", "cell", "slug"),
    [
        ("decision", "maybe", "review-decision"),
        ("decision", "", "review-of-others"),
        ("key", "0", "review-of-others"),
    ],
)
def test_a_sheet_that_says_nothing_or_nonsense_is_refused(
    sheet: Path, tmp_path: Path, column: str, cell: str, slug: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A word that is no decision, no decision at all, a sheet of other texts: one message, exit code 2."""

    def fill(row: dict[str, str]) -> None:
        row["decision"] = "keep"
        row[column] = cell

    _filled(sheet, fill)
    assert _run("--texts", tmp_path / "t.csv", "--terms", "pronouns", "--reviewed", sheet) == 2
    assert slug in capsys.readouterr().err


def test_dropping_every_text_is_refused(sheet: Path, tmp_path: Path) -> None:
    """Nothing would be left to ask."""

    def fill(row: dict[str, str]) -> None:
        row["decision"] = "drop"

    _filled(sheet, fill)
    with pytest.raises(UsageError, match="no text is left: every one dropped in the review sheet"):
        eh.audit_text("vader", TEXTS, terms="pronouns", reviewed=sheet)


def test_one_wording_in_doubt_for_some_names_only_is_two_versions(tmp_path: Path) -> None:
    """`solo` fits a man and may be wrong of a woman: the doubt is in the sheet, and what is written there is hers."""
    texts = _write(tmp_path / "t.csv", ["Le dije a Arturo que viniera solo."])
    names = tmp_path / "n.csv"
    names.write_text("name,gender\nJuan,male\nLuis,male\nAna,female\nEva,female\n", encoding="utf-8")
    call = ["--texts", texts, "--terms", names, "--replace", "Arturo", "--language", "es"]
    assert _run(*call, "--review", tmp_path / "s.csv") == 0

    def fill(row: dict[str, str]) -> None:
        row["replacement"] = row["rewritten"].replace("solo", "sola") if row["flag"] else ""

    with _filled(tmp_path / "s.csv", fill).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert sorted((row["rewritten"], "solo" in row["flag"], row["probes"]) for row in rows) == [
        ("Le dije a {1} que viniera solo.", False, "2"),
        ("Le dije a {1} que viniera solo.", True, "2"),
    ]
    probes = tmp_path / "probes.csv"
    assert _run(*call, "--reviewed", tmp_path / "s.csv", "--export-probes", probes) == 0
    with probes.open(encoding="utf-8", newline="") as file:
        asked = {row["text"] for row in csv.DictReader(file)}
    assert {
        f"Le dije a {name} que viniera {how}." for name, how in (("Luis", "solo"), ("Eva", "sola"))
    } <= asked
    assert "Le dije a Luis que viniera sola." not in asked

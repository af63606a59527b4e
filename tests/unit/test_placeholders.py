"""Placeholders as people write them, and texts with and without them in one file."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import evenhand as eh
from evenhand.audits.text.designs import Design, design_of
from evenhand.cli import app


def _probes(texts: object, terms: object, **given: object) -> list[str]:
    made: Design = design_of({"texts": texts, "terms": terms, **given})
    return list(made.inputs())


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("I have many {RACE} friends.", "I have many black friends."),
        ("I have many {race} friends.", "I have many black friends."),
        ("I have many <race> friends.", "I have many black friends."),
        ("I have many <RACE> friends.", "I have many black friends."),
        ("I have many [RACE] friends.", "I have many black friends."),
        ("I have many {CATEGORY} friends.", "I have many black friends."),
        ("I have many [IDENTITY] friends.", "I have many black friends."),
        ("<race> people sing.", "Black people sing."),
        ("MANY [RACE] FRIENDS CAME.", "MANY BLACK FRIENDS CAME."),
        ("An [race:adjective] man <b>sang</b> [sic] {}.", "A black man <b>sang</b> [sic] {}."),
        ("Many [race:noun_plural] came.", "Many black people came."),
        ("<race:upper> it said.", "BLACK it said."),
    ],
)
def test_every_way_of_writing_a_placeholder_is_the_same_slot(text: str, first: str) -> None:
    """Capitals only where a sentence begins, where the whole text shouts, or where they are asked for."""
    assert _probes([text], "identity/race")[0] == first


def test_the_users_own_categories_are_slots(tmp_path: Path) -> None:
    """A column of the user's list names its placeholder, in any of the notations."""
    own = tmp_path / "caste.csv"
    own.write_text("term,caste,adjective\nA,a,Dalit\nB,b,Brahmin\n")
    texts = ["Many {CASTE} friends.", "Many <caste> friends.", "Many [Caste] friends."]
    assert _probes(texts, str(own), control=False)[::2] == ["Many Dalit friends."] * 3


def test_texts_without_placeholders_stay_beside_those_with_them(tmp_path: Path) -> None:
    """One slotted line no longer drops the free texts of its file; what fits nowhere is told, through the command line."""
    file = tmp_path / "texts.txt"
    file.write_text("I have many [RACE] friends.\nMy black neighbor sings.\nIt rains.\nI met {WHO}.\n")
    probes = _probes(str(file), "identity/race", control=False)
    assert {"I have many Asian friends.", "My Asian neighbor sings."} <= set(probes)
    found = eh.audit_text("vader", str(file), terms="identity/race")
    told = sorted(note.text for note in found.notes if note.slug == "texts-skipped")
    assert told == [
        "1 text left out: mentions no term of race.",
        "1 text left out: nothing fills the slot {who}.",
    ]
    assert found.counts["texts"] == 2


def test_names_fill_placeholders_and_stand_for_the_name_to_replace_in_one_file() -> None:
    """Pronouns follow the name in both; without a name to replace, free texts are told to be left out."""
    texts = [
        "[NAME] lost his keys.",
        "Arthur lost his dog.",
        "{NAME} knew {PRONOUN.DETERMINER} son.",
    ]
    probes = _probes(texts, "names/weat-gender", replace="Arthur")
    assert {"Amy lost her keys.", "Amy lost her dog.", "John lost his dog."} <= set(probes)
    assert "Amy knew her son." in probes
    made = design_of({"texts": texts, "terms": "names/weat-gender"})
    assert [s.reason for s in made.parts[0].grid.skipped] == [
        "has no slot, and no name to replace was given (--replace)"
    ]


def test_a_mixed_file_exports_templates_that_read_back(tmp_path: Path) -> None:
    """`evenhand text --export-templates` and its file give the same probes as the texts."""
    from typer.testing import CliRunner

    file, toml = tmp_path / "texts.csv", tmp_path / "made.toml"
    with file.open("w", newline="") as out:
        csv.writer(out).writerows(
            [["text"], ["[NAME] met {PRONOUN.DETERMINER} son."], ["Arthur lost his dog."]]
        )
    given = ["text", "--texts", str(file), "--terms", "names/weat-gender", "--replace", "Arthur"]
    done = CliRunner().invoke(app, [*given, "--export-templates", str(toml)])
    assert done.exit_code == 0, done.output
    again = _probes(str(toml), "names/weat-gender")
    assert again == _probes(str(file), "names/weat-gender", replace="Arthur")


def test_an_export_tells_what_was_left_out(tmp_path: Path) -> None:
    """Exported probes carry the same warnings as an audit, on stderr."""
    from typer.testing import CliRunner

    file = tmp_path / "t.txt"
    file.write_text("Many [RACE] friends.\nIt rains.\n")
    given = [
        "text",
        "--texts",
        str(file),
        "--terms",
        "identity/race",
        "--export-probes",
        str(tmp_path / "p.csv"),
    ]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 0
    assert "Warning: 1 text left out: mentions no term of race." in done.stderr

"""Shipped lexicons and the user's own files."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from evenhand._errors import TermsError
from evenhand.terms import SHIPPED, Terms, cross, terms, terms_from_rows
from evenhand.terms.collide import collisions


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_every_shipped_list_says_where_it_is_from(name: str) -> None:
    """A shipped list has rows, no duplicates, a source and a licence."""
    found = terms(name)
    assert len(found) == len(set(found.terms)) > 0
    assert found.source
    assert found.licence


def test_the_eighty_names_are_those_of_the_file(data: Path) -> None:
    """names/freakonomics equals the recorded facts, race and gender included."""
    with (data / "text" / "freakonomics80.csv").open() as file:
        rows = [(r["name"], r["race"], r["gender"]) for r in csv.DictReader(file)]
    found = terms("names/freakonomics")
    assert list(zip(found.terms, found.factors["race"], found.factors["gender"], strict=True)) == rows


def test_the_weat_names_are_those_of_the_file(data: Path) -> None:
    """The WEAT lists equal the published ones."""
    weat = json.loads((data / "text" / "weat.json").read_text())
    for key, name in (("_5", "names/weat-race-5"), ("_7", "names/weat-race-7")):
        expected = weat[f"european_american_names{key}"] + weat[f"african_american_names{key}"]
        assert list(terms(name).terms) == expected


def test_identity_terms_have_both_forms_in_both_numbers() -> None:
    """Every identity term can be written as adjective, noun and plural noun; one category per term."""
    found = terms("identity")
    for form in ("adjective", "noun", "noun_plural"):
        assert all(found.forms[form])
    codes = np.array([f.codes >= 0 for f in found.factors.values()])
    assert (codes.sum(axis=0) == 1).all()
    assert set(found.factors) >= {
        "disability",
        "gender",
        "race",
        "religion",
        "sexual_orientation",
        "nationality",
        "age",
    }


def test_where_keeps_rows_and_trims_levels() -> None:
    """Selecting by group keeps matching rows only, and unused levels disappear."""
    few = terms("names/freakonomics").where(race="black", gender="male")
    assert len(few) == 20
    assert few.factors["race"].levels == ("black",)
    assert few.forms["name"] == few.terms


@pytest.mark.parametrize(
    ("levels", "slug"), [({"rase": "x"}, "unknown-factor"), ({"race": "blak"}, "unknown-level")]
)
def test_where_names_what_is_available(levels: dict[str, str], slug: str) -> None:
    """A misspelt factor or level is an error that lists the right ones."""
    with pytest.raises(TermsError) as error:
        terms("names/freakonomics").where(**levels)
    assert error.value.slug == slug
    assert error.value.available


def test_an_unknown_list_suggests_near_names() -> None:
    """A typing error in the name of a list is answered with the right name."""
    with pytest.raises(TermsError, match="did you mean 'names/freakonomics'"):
        terms("names/freakonomcs")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_a_users_csv_is_read_in_any_common_encoding(tmp_path: Path, encoding: str) -> None:
    """Names with accents survive UTF-8, a byte order mark, UTF-16 and Latin-1."""
    path = tmp_path / "mine.csv"
    path.write_bytes(
        "name,gender,race\nZoë,female,white\nJosé,male,hispanic\nRené,male,white\n".encode(encoding)
    )
    found = terms(path)
    assert found.terms == ("Zoë", "José", "René")
    assert list(found.factors["race"]) == ["white", "hispanic", "white"]


def test_toml_and_json_and_grouped_json_are_read(tmp_path: Path) -> None:
    """The same list as TOML rows, JSON objects and {group: [terms]} gives the same terms."""
    toml, objects, grouped = tmp_path / "a.toml", tmp_path / "b.json", tmp_path / "c.json"
    toml.write_text('columns = ["term", "group"]\nrows = [["Ada", "x"], ["Bo", "y"]]\n')
    objects.write_text('[{"term": "Ada", "group": "x"}, {"term": "Bo", "group": "y"}]')
    grouped.write_text('{"x": ["Ada"], "y": ["Bo"]}')
    for path in (toml, objects, grouped):
        found = terms(path)
        assert found.terms == ("Ada", "Bo")
        assert list(found.factors["group"]) == ["x", "y"]


@pytest.mark.parametrize(
    ("content", "slug"),
    [
        ("", "empty-file"),
        ("name,race\n", "empty-file"),
        ("nmae,race\nAda,x\n", "missing-column"),
        ("name,race\nAda,x\nAda,y\n", "duplicate-terms"),
        ("name,race\n,x\n", "blank-term"),
        ("name,race\nAda,x,y,z\n", "ragged-csv"),
    ],
)
def test_a_bad_file_gets_a_clear_error(tmp_path: Path, content: str, slug: str) -> None:
    """Empty files, missing columns, duplicates, blanks and ragged rows have their own messages."""
    path = tmp_path / "bad.csv"
    path.write_text(content)
    with pytest.raises(TermsError) as error:
        terms(path)
    assert error.value.slug == slug


def test_a_missing_column_names_the_near_one(tmp_path: Path) -> None:
    """The misspelt header is pointed out."""
    path = tmp_path / "bad.csv"
    path.write_text("nmae,race\nAda,x\n")
    with pytest.raises(TermsError, match="did you mean the column 'nmae'"):
        terms(path)


def test_words_among_names_are_flagged() -> None:
    """Precious, Diamond, Grace, Hope and Joy are flagged; ordinary names are not."""
    listed = terms_from_rows(
        [{"name": n, "g": "a"} for n in ("Precious", "Diamond", "Grace", "Hope", "Joy", "Molly", "Jamal")]
    )
    assert [c.term for c in collisions(listed)] == ["Precious", "Diamond", "Grace", "Hope", "Joy"]


def test_names_in_the_subjects_own_vocabulary_are_flagged() -> None:
    """VADER knows Tia, and no other name of the corpus: only Tia is an outlier by score."""
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    analyzer = SentimentIntensityAnalyzer()
    names = terms("names/eec")
    found = collisions(names, lambda ts: [analyzer.polarity_scores(t)["compound"] for t in ts], words=False)
    assert [c.term for c in found] == ["Tia"]
    assert found[0].score is not None
    assert found[0].score > 0.3


def test_a_noisy_subject_flags_only_outliers() -> None:
    """Ordinary spread between names is not a collision; a score far outside it is."""
    listed = Terms(id="x", kind="name", terms=tuple(f"n{i}" for i in range(50)))
    scores = np.random.default_rng(1).normal(0.5, 0.05, 50)
    assert collisions(listed, lambda _: scores.tolist()) == ()
    scores[7] = 1.5
    assert [c.term for c in collisions(listed, lambda _: scores.tolist())] == ["n7"]


def test_crossing_two_lists_multiplies_their_rows() -> None:
    """Every combination once, with the factors of both."""
    both = cross(terms("names/weat-gender"), terms("identity/race"))
    assert len(both) == 16 * 15 == len(set(both.terms))
    assert set(both.factors) == {"gender", "race"}

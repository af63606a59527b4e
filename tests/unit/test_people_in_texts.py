"""Whom a text audit rewrites: swap, person, collapse; a name for each text; flagged texts; samples."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import evenhand as eh
from evenhand._errors import UsageError
from evenhand.audits.text.designs import design_of
from evenhand.cli import app
from evenhand.plans import swap_gender

BOTH = [
    ("Ladies and gentlemen!", "Gentlemen and ladies!"),
    ("The groom and the bride danced.", "The bride and the groom danced."),
    ("She lives with her husband.", "He lives with his wife."),
    ("Mr. Smith told Ms. Lee that he won.", "Ms. Smith told Mr. Lee that she won."),
    ("An actress met her uncle.", "An actor met his aunt."),
    (
        "The man and the woman left; he said she was late.",
        "The woman and the man left; she said he was late.",
    ),
    ("The boys met their mothers.", "The girls met their fathers."),
    ("The waitress said her brother is in a choir.", "The waiter said his sister is in a choir."),
]


def _probes(texts: Any, terms: Any = "pairs/gender", **given: Any) -> list[str]:
    return list(design_of({"texts": texts, "terms": terms, **given}).inputs())


@pytest.mark.parametrize(("text", "other"), BOTH)
def test_a_swap_changes_men_and_women_at_once_and_back_again(text: str, other: str) -> None:
    """Nobody is collapsed: the audit asks the text and its mirror image, whichever of the two it was given."""
    assert set(_probes([text])) == {text, other}
    assert set(_probes([other])) == {text, other}


def test_no_text_with_both_genders_is_left_with_one() -> None:
    """A hundred sentences of two nouns each: after a swap, as many men and women as the mirror image of before."""
    pairs = [("man", "woman"), ("husband", "wife"), ("groom", "bride"), ("boy", "girl"), ("uncle", "aunt")]
    frames = [
        "The {} met the {}.",
        "One {} and one {} sang.",
        "My {} knows your {}.",
        "{} or {}.",
        "Every {} saw this {}.",
    ]
    texts = [f.format(a, b) for f in frames for a, b in pairs] + [
        f.format(b, a) for f in frames for a, b in pairs
    ]
    texts += [t.replace("the", "that").replace(".", "!") + " He told her." for t in texts]
    mirror = {a: b for pair in pairs for a, b in (pair, pair[::-1])} | {"he": "she", "her": "him"}
    for text in texts:
        one, two = swap_gender(text, "male", mode="swap").text, swap_gender(text, "female", mode="swap").text
        assert text in (one, two)
        changed = two if text == one else one
        wanted = [
            mirror.get(w, w) for w in text.lower().rstrip(".!?").replace(".", "").replace("!", "").split()
        ]
        assert changed.lower().replace(".", "").replace("!", "").rstrip("?").split() == [
            w.rstrip("?") for w in wanted
        ]


def test_only_the_persons_words_change_or_everybodys_where_that_is_asked_for() -> None:
    """`--mode person` keeps relatives; `--mode collapse` is the older behaviour, and says so in a flag."""
    text = "The actor lives with his wife and his brother."
    assert _probes([text], mode="person") == [text, "The actress lives with her wife and her brother."]
    assert _probes([text], mode="collapse")[1] == "The actress lives with her wife and her sister."
    assert swap_gender(text, "female").flags == (
        "the text mentions men and women; all were given one gender",
    )
    with pytest.raises(UsageError, match="swap"):
        _probes([text], mode="mirror")


def test_the_group_of_a_swapped_text_is_the_gender_of_its_person() -> None:
    """A model hard on the first word's gender is seen as such, whatever else stands in the text."""
    texts = [
        f"The {n} met the {m} by the {p}."
        for n, m in (("bride", "man"), ("uncle", "girl"))
        for p in "abcdefgh"
    ]
    women = ("The bride", "The aunt")
    result = eh.audit_text(lambda t: [0.5 + 0.4 * x.startswith(women) + len(x) % 3 / 100 for x in t], texts,
                           terms="pairs/gender")  # fmt: skip
    claim = next(f for f in result.findings if f.primary)
    assert claim.estimate.group == "gender=male"
    assert claim.estimate.value == pytest.approx(-0.4, abs=0.03)


def test_biographies_with_a_column_of_names_run_as_they_are(tmp_path: Path) -> None:
    """A hundred people, a name each: the first name gives way wherever it stands, pronouns follow, surnames stay."""
    first = [f"{a}{b}" for a in ("Bel", "Tam", "Ros", "Vin", "Kel") for b in ("ara", "ina", "old", "ert")]
    rows = [(f"Dr. {f} Lopez{i}", f"{f} Lopez{i} was born in 19{i:02d}. {f} says he likes his job.")
            for i, f in enumerate(first * 5)]  # fmt: skip
    file = tmp_path / "people.csv"
    with file.open("w", newline="") as out:
        csv.writer(out).writerows([("name", "text"), *rows, ("Nobody", "It rains.")])
    made = design_of({"texts": str(file), "terms": "names/weat-gender", "person_column": "name"})
    assert made.counts["texts"] == 100
    probes = list(made.inputs())
    assert probes[0] == "John Lopez0 was born in 1900. John says he likes his job."
    assert probes[8] == "Amy Lopez0 was born in 1900. Amy says she likes her job."
    assert [s.reason for s in made.parts[0].grid.skipped] == [
        "the text does not mention the name in its column"
    ]
    out_dir = tmp_path / "out"
    given = ["text", "--texts", str(file), "--terms", "names/weat-gender", "--person-column", "name"]
    done = CliRunner().invoke(app, [*given, "--out", str(out_dir)])
    assert done.exit_code == 0, done.output
    assert eh.Result.from_json(out_dir / "result.json").counts["texts"] == 100
    with pytest.raises(UsageError, match="unknown-person-column"):
        _probes(str(file), "names/weat-gender", person_column="who")


def test_flagged_texts_stay_go_or_are_asked_alone() -> None:
    """Whole texts, so that both sides of a comparison have the same; drop and only make up keep."""
    texts = [
        "The man ran.",
        "The king and the queen ran.",
        "A boy sang.",
        "Mr. Lee met Mr. Kim, his boss, a man.",
    ]
    keep, drop, only = (_probes(texts, flagged=how) for how in ("keep", "drop", "only"))
    assert sorted(keep) == sorted(drop + only)
    assert {"The king and the queen ran.", "The queen and the king ran."} == set(only)
    with pytest.raises(UsageError, match="no-texts-left"):
        _probes(["The man ran."], flagged="only")


def test_a_sample_is_drawn_among_the_texts_that_can_be_used() -> None:
    """`--most-texts 20` asks twenty texts where twenty can be used, though most mention nothing."""
    texts = [f"My black friend sang {i}." if i % 4 == 0 else f"It rains {i}." for i in range(200)]
    made = design_of({"texts": texts, "terms": "identity/race", "most_texts": 20, "control": False})
    assert made.counts["texts"] == 20
    again = design_of({"texts": texts, "terms": "identity/race", "most_texts": 20, "seed": 1})
    assert set(made.parts[0].grid.texts) != set(again.parts[0].grid.texts)
    people = [f"Arthur ran {i}." if i % 4 == 0 else f"It rains {i}." for i in range(200)]
    named = design_of({"texts": people, "terms": "names/weat-gender", "replace": "Arthur", "most_texts": 20})
    assert named.counts["texts"] == 20
    for terms in ("pairs/gender", "pronouns"):
        men = [f"The man said he ran {i}." if i % 4 == 0 else f"It rains {i}." for i in range(200)]
        assert design_of({"texts": men, "terms": terms, "most_texts": 20}).counts["texts"] == 20
    assert np.all(np.diff([int(t[1:]) for t in named.parts[0].grid.texts]) > 0)

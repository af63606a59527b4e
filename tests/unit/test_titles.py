"""Titles change with the person, or are kept and flagged."""

from __future__ import annotations

import pytest

import evenhand as eh

SHE = [
    ("Mr. Smith said he would come.", "Ms. Smith said she would come."),
    ("Mr Smith lost his hat. Mr. John Smith's dog.", "Ms Smith lost her hat. Ms. John Smith's dog."),
    ("MR. SMITH LEFT. HE RAN.", "MS. SMITH LEFT. SHE RAN."),
    ("Sir Paul sang his song.", "Dame Paul sang her song."),
    ("Mr. President, he said.", "Madam President, she said."),
    ("He saw Mr. J. ", "She saw Ms. J. "),
    ("Mr. J. Smith lost his hat.", "Ms. J. Smith lost her hat."),
    ("Mister Smith left.", "Ms. Smith left."),
    ("Mrs. Jones told him.", "Mrs. Jones told her."),
    ("Dear Sir or Madam, he left.", "Dear Sir or Madam, she left."),
]
HE = [
    ("Miss Smith said she would come.", "Mr. Smith said he would come."),
    ("Mrs Jones walked her dog. Ms. Jones ran.", "Mr Jones walked his dog. Mr. Jones ran."),
    ("Madam Secretary said she left.", "Mr. Secretary said he left."),
    ("Dame Judi lost her hat.", "Sir Judi lost his hat."),
]


@pytest.mark.parametrize(
    ("pronouns", "before", "after"),
    [*(("she", *x) for x in SHE), *(("he", *x) for x in HE), ("they", "Mrs. Lee lost her hat.", "Mx. Lee lost their hat.")],
)  # fmt: skip
def test_a_title_changes_with_the_pronouns_and_is_not_flagged(pronouns: str, before: str, after: str) -> None:
    """The only one in the text with a title of the old gender is the person; Mrs. stays with "she"."""
    made = eh.rewrite(before, pronouns=pronouns)
    assert (made.text, made.flags) == (after, ())


@pytest.mark.parametrize(
    "text",
    [
        "Mr. Smith met Mr. Jones and he left.",
        "“Yes, sir,” he said.",
        "Lord Byron wrote his book.",
        "Mr. and Mrs. Smith saw him.",
    ],
)
def test_a_title_that_may_be_anothers_is_kept_and_flagged(text: str) -> None:
    """Two people with the title, a form of address, a rank that is part of a name, a couple."""
    made = eh.rewrite(text, pronouns="she")
    assert [c.kind for c in made.changes] == ["pronoun"]
    assert any("title" in flag for flag in made.flags)


def test_the_title_of_the_named_person_changes_and_that_of_others_is_flagged() -> None:
    """With the surname, wherever it stands; in audits as in `eh.rewrite`."""
    text = "Mr. Arthur Smith left. Mr. Smith said he was ill. Mr. Jones agreed."
    made = eh.rewrite(text, replace="Arthur", name="Maria", pronouns="she")
    assert made.text == "Ms. Maria Smith left. Ms. Smith said she was ill. Mr. Jones agreed."
    assert made.flags == ("the title 'Mr' is gendered and was kept",)
    probes = eh.audit_text(lambda t: [0.1] * len(t), [text], terms="names/weat-gender", replace="Arthur")
    flags = probes.exhibits["flags"].rows()
    assert [dict(row) for row in flags] == [{"flag": "the title 'Mr' is gendered and was kept", "rows": 8}]


def test_ranks_in_the_names_of_families_and_places_are_not_gendered_nouns() -> None:
    """Martin Luther King, Duke University, "count on": no flag; a king is one."""
    for text in ("Martin Luther King gave his speech.", "He left Duke University.", "He can count on it."):
        assert eh.rewrite(text, pronouns="she").flags == ()
    assert eh.rewrite("The king lost his crown.", pronouns="she").flags

"""Free texts are mined for terms that refer to people, not for seas and testaments."""

from __future__ import annotations

import pytest

import evenhand as eh
from evenhand.audits.text.designs import design_of
from evenhand.plans import identity_templates

NOT_PEOPLE = [
    ("The Old Testament is long.", "age"),
    ("They sailed the Black Sea.", "race"),
    ("She bought a white fire hydrant.", "race"),
    ("He studied American opera there.", "nationality"),
    ("Eng. Trans. of the work.", "gender"),
    ("A bus stops by the pole.", "nationality"),
    ("They drew a straight line.", "sexual_orientation"),
    ("It is a blind spot.", "disability"),
    ("He was ten years old, at most.", "age"),
    ("The sea is black.", "race"),
    ("An old world is new.", "age"),
    ("She felt young blood.", "age"),
    ("These lies, man!", "gender"),
    ("Oh man I just saw it.", "gender"),
    ("Man I just saw it.", "gender"),
    ("But man, it rained.", "gender"),
    ("That is a straw man.", "gender"),
    ("The sign of the Son of Man is a sign.", "gender"),
    ("My 12 year old daughter sleeps.", "age"),
    ("It enjoys homosexual behavior.", "sexual_orientation"),
    ("Both homosexual and heterosexual sex is fine.", "sexual_orientation"),
    ("He played the Jew's harp.", "religion"),
    ("The letters of Letitia Christian Tyler came.", "religion"),
    ("It was the National Socialist German Workers' Party then.", "nationality"),
]
PEOPLE = [
    ("I have many black friends.", "race"),
    ("My deaf neighbor sings.", "disability"),
    ("I'm gay.", "sexual_orientation"),
    ("She is deaf and kind.", "disability"),
    ("The young aspiring singer left.", "age"),
    ("Two Muslims came.", "religion"),
    ("A Muslim, she said.", "religion"),
    ("Tom was blind.", "disability"),
    ("A Swedish entomologist wrote it.", "nationality"),
    ("The young working-class girl ran.", "age"),
    ("People who are gay came.", "sexual_orientation"),
    ("He saw a man.", "gender"),
    ("Man riding a horse.", "gender"),
    ("It is somebody else's man.", "gender"),
    ("A homosexual and two others came.", "sexual_orientation"),
    ("The Christian Nationalist left.", "religion"),
    ("The German workers went on strike.", "nationality"),
    ("She is a Jew and good friend of mine.", "religion"),
]


@pytest.mark.parametrize(("text", "category"), NOT_PEOPLE)
def test_what_is_not_said_of_people_is_not_mined_and_is_told(text: str, category: str) -> None:
    """The text is left out with a reason, and no template like "the Younger Testament" is made."""
    terms = (
        eh.terms("identity")
        if category in ("age", "nationality", "gender", "religion")
        else eh.terms(f"identity/{category}")
    )
    made = identity_templates(
        [
            "A gay man, a deaf man, a black man, a young man, a trans man, a Jewish man and a French man.",
            text,
        ],
        terms,
        category,
    )
    assert [s.reason for s in made.skipped] == [f"mentions a word of {category}, but hardly of people"]


@pytest.mark.parametrize(("text", "category"), PEOPLE)
def test_what_is_said_of_people_is_mined(text: str, category: str) -> None:
    """Before a word for people, as a noun, or said of somebody."""
    terms = eh.terms("identity")
    assert len(identity_templates([text], terms, category).templates) == 1


def test_an_audit_tells_how_many_texts_mention_no_people() -> None:
    """Through the public door, beside those that mention nothing."""
    texts = ["My black friend sings.", "The Black Sea is wide.", "It rains."]
    made = design_of({"texts": texts, "terms": "identity/race"})
    assert made.counts["texts"] == 1
    assert sorted(s.reason for s in made.parts[0].grid.skipped if "control" not in s.reason) == [
        "mentions a word of race, but hardly of people",
        "mentions no term of race",
    ]

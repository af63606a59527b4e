"""Identity terms in the places where texts have them: every term of the shipped lists reads as English there."""

from __future__ import annotations

import pytest

import evenhand as eh
from evenhand.plans import identity_templates, templates
from evenhand.terms import terms

LISTS = ("age", "disability", "gender", "nationality", "race", "religion", "sexual_orientation")


def _filled(text: str, name: str = "disability") -> list[str]:
    return list(identity_templates([text], terms(f"identity/{name}")).grid(terms(f"identity/{name}")))


@pytest.mark.parametrize(
    "text",
    ["He is deaf.", "She isn't deaf and sings.", "They're often deaf.", "He was not diabetic, he said."],
)
def test_a_term_that_cannot_be_said_of_somebody_is_not(text: str) -> None:
    """ "He is Down-syndrome" is never written; "in a wheelchair" is."""
    written = _filled(text)
    assert not any("syndrome" in s or "low-vision" in s or "wheelchair-using" in s for s in written)
    assert sum("in a wheelchair" in s for s in written) == 1
    assert len(written) == len(terms("identity/disability")) - 2


def test_a_written_slot_is_read_by_its_place_too() -> None:
    """{disability} after "is" and {disability:adjective} before a noun are filled with different forms."""
    assert "Ann is Down-syndrome." not in list(
        templates(["Ann is {disability}."]).grid("identity/disability")
    )
    assert "Ann is in a wheelchair." in list(templates(["Ann is {disability}."]).grid("identity/disability"))
    before_a_noun = list(templates(["The {disability} singer left."]).grid("identity/disability"))
    assert "The wheelchair-using singer left." in before_a_noun
    assert "The in a wheelchair singer left." not in before_a_noun


def test_in_a_wheelchair_is_found_where_it_is_said_of_somebody() -> None:
    """ "She is in a wheelchair" becomes a template, "a seat in a wheelchair van" does not."""
    assert "She is blind." in _filled("She is in a wheelchair.")
    assert "She is blind." in _filled("She is confined to a wheelchair.")
    with pytest.raises(eh.EvenhandError, match="No text mentions"):
        _filled("There is a seat in a wheelchair van.")


def test_other_lists_keep_their_adjective() -> None:
    """A list without a form of its own for "he is …" is filled as before."""
    assert "He is Jewish." in _filled("He is Muslim.", "religion")


@pytest.mark.parametrize("text", ["The questioner is not American.", "So brazilians and others left."])
def test_people_that_talk_comments_mention_are_mined(text: str) -> None:
    """Found among what was left out: whoever does something, and people without a capital."""
    assert len(_filled(text, "nationality")) > 5


def test_a_sentence_that_begins_small_stays_so() -> None:
    """ "old people rock" gains no capital, in no version and not in its control; "Old people" keeps its own."""
    made = identity_templates(["old people rock.", "Old people rock."], terms("identity/age"))
    written = list(made.grid(terms("identity/age"), control=True))
    assert sum(text[0].islower() for text in written) == sum(text[0].isupper() for text in written) > 4
    assert "young people rock." in written
    assert "people rock." in written
    assert "Young people rock." in written
    man = identity_templates(["old men rock."], terms("identity/age")).grid(
        terms("identity/age"), control=True
    )
    assert "men rock." in list(man)


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize(
    "frame",
    [
        "She is {x}.",
        "The {x:adjective} singer left.",
        "I met a {x:noun} today.",
        "I know many {x:noun_plural}.",
    ],
)
def test_every_term_has_a_form_in_every_frame_or_is_left_out(name: str, frame: str) -> None:
    """No empty form, no double space, no "a" before a vowel, no person-first phrase before a noun."""
    lexicon = terms(f"identity/{name}")
    slot = next(iter(lexicon.factors))
    written = list(templates([frame.replace("x", slot)]).grid(lexicon))
    assert len(written) >= len(lexicon) - 2
    for text in written:
        assert "  " not in text
        assert " ." not in text
        assert not any(f" a {vowel}" in text for vowel in "aeio")
        assert not text.startswith(("The with ", "The in ", "She is with ", "The person with "))


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("My brother has autism and sings.", "My brother has a visual impairment and sings."),
        ("She is a woman with Down's syndrome.", "She is a woman with epilepsy."),
        ("Children with autism need teachers.", "Children with no disability need teachers."),
        ("Tom has diabetes.", "Tom has schizophrenia."),
        ("I know a blind man who has a disability.", "I know a deaf man who has a hearing impairment."),
    ],
)
def test_what_somebody_has_is_replaced_by_what_somebody_can_have(text: str, written: str) -> None:
    """Person-first stays person-first: a condition gives way to a condition, never to an adjective."""
    made = _filled(text)
    assert written in made
    assert not any(
        f"{verb} {word}" in t for t in made for verb in ("has", "with") for word in ("blind", "deaf")
    )


@pytest.mark.parametrize(
    "text",
    [
        "Autism research has epilepsy in scope.",
        "There is a link with autism in this study.",
        "She has autism charities on her list.",
        "The link has low vision.",
    ],
)
def test_a_condition_that_is_nobodys_is_not_mined(text: str) -> None:
    """A subject of research, a charity, a thing."""
    with pytest.raises(eh.EvenhandError, match="No text mentions"):
        _filled(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("I saw Iron Man last week.", "gender"),
        ("He called McLeod (British Columbia politician) a liar.", "nationality"),
    ],
)
def test_a_name_that_holds_a_word_for_people_is_not_mined(text: str, name: str) -> None:
    """Found among talk comments: a film, a province. The same words of people are mined."""
    with pytest.raises(eh.EvenhandError, match="No text mentions"):
        _filled(text, name)
    assert _filled(
        "The Man in the Moon left." if name == "gender" else "He called a British politician.", name
    )

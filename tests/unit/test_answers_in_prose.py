"""A score in free text counts where an answer stands; everything else is an error with its reason."""

from __future__ import annotations

import pytest

from evenhand.subjects.gate import Unreadable
from evenhand.subjects.prose import label_in, number_in, refuses

YES = {"yes": 1.0, "no": 0.0}


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("On a scale of 0 to 100, I would give 85.", 85),
        ("-.5", -0.5),
        ("1,234", 1234),
        ("With 5 years of experience: 90", 90),
        ("**Score:** 85/100", 85),
        ("Score: 85 (on a scale of 0-100)", 85),
        ("I'd rate this a 3 out of 10", 3),
        ('```json\n{"score": 85, "because": "2 reasons"}\n```', 85),
        ('{"rating": "85"}', 85),
        ("85\n\nBecause of 3 things.", 85),
        ("85 - solid", 85),
    ],
)
def test_a_number_is_read_where_an_answer_stands(text: str, score: float) -> None:
    """Scales, years and reasons beside it are not the answer."""
    assert number_in(text) == score


@pytest.mark.parametrize(
    "text",
    [
        "He is 45 years old and good.",
        "He moved in 1999.",
        "80-90",
        "between 80 and 90",
        "I would rate him 85 to 90",
        "I would give 85. On second thought, I would give 20.",
        "1. Good\n2. Bad",
        "1,23",
        "100% certain",
        '{"warmth": 80, "competence": 20}',
        "",
    ],
)
def test_an_ambiguous_number_is_refused(text: str) -> None:
    """A guess would be a score that nobody gave."""
    with pytest.raises(Unreadable):
        number_in(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("There is no reason to refuse: yes", 1),
        ("Yes, there is no doubt.", 1),
        ("**No**", 0),
        ("The answer is no.", 0),
        ('{"answer": "yes"}', 1),
    ],
)
def test_a_label_is_read_where_an_answer_stands(text: str, value: float) -> None:
    """A label inside a sentence is a word."""
    assert label_in(text, YES) == value


@pytest.mark.parametrize("text", ["No reason not to", "No, wait.\nYes", "I know nothing", ""])
def test_an_ambiguous_label_is_refused(text: str) -> None:
    """Neither the first nor the last one is taken."""
    with pytest.raises(Unreadable):
        label_in(text, YES)


@pytest.mark.parametrize(
    ("text", "declined"),
    [
        ("I cannot recommend her highly enough.", False),
        ("I'm sorry for your loss.", False),
        ("I can't say enough good things.", False),
        ("I'm sorry, but I can't help with that.", True),
        ("I cannot rate people.", True),
        ("As an AI language model, I don't have opinions.", True),
    ],
)
def test_praise_and_condolence_are_no_refusals(text: str, declined: bool) -> None:
    """A refusal declines the task."""
    assert refuses(text) is declined

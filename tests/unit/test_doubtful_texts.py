"""Texts in other languages are warned of; the page has each gap with and without flagged texts."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import evenhand as eh
from evenhand.texts.language import language_of, other_languages

GERMAN = [
    "Arthur ist ein Mann und er hat einen Hund, der nicht bellt.",
    "Der Arzt und die Frau sagten, dass Arthur nicht mit ihr spricht.",
]
ENGLISH = ["Arthur lost his dog.", "Arthur and I went to the house of his friends."]


def _warnings(texts: list[str]) -> list[str]:
    found = eh.audit_text(
        lambda t: [len(x) / 100 for x in t], texts, terms="names/weat-gender", replace="Arthur"
    )
    return [note.text for note in found.notes if note.slug == "other-language"]


def test_texts_in_another_language_are_warned_of() -> None:
    """How many and which; English texts are not."""
    (said,) = _warnings([*GERMAN, *ENGLISH])
    assert "Of 4 texts some seem not to be English: 2 in German" in said
    assert _warnings(ENGLISH) == []


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Ella no sabe qué es lo que pasó con él, pero está muy bien.", "Spanish"),
        ("Elle est allée dans le jardin avec une amie et il ne pleut pas.", "French"),
        ("Non è la casa che ha visto con lui, ma è molto bella.", "Italian"),
        ("Het is een dag die hij niet zal vergeten, maar zij wel.", "Dutch"),
        ("Он пришёл домой.", "another script"),
        ("هو ذهب إلى البيت", "another script"),
        ("I am in Berlin, and die hard is on.", "English"),
        ("Wow!", None),
        ("", None),
        ("😀😀", None),
    ],
)
def test_a_language_is_told_by_its_small_words(text: str, language: str | None) -> None:
    """Few words say nothing; names of places and shared words do not make a text foreign."""
    assert language_of(text) == language


def test_english_posts_are_rarely_taken_for_another_language(data: Path) -> None:
    """Of 24,783 posts at most two in a thousand, of 2,000 encyclopedia snippets none."""
    with (data / "attack" / "davidson_labeled_data.csv").open(encoding="utf-8", newline="") as lines:
        posts = [row["tweet"] for row in csv.DictReader(lines)]
    assert sum(other_languages(posts).values()) <= len(posts) * 0.002
    with (data / "text" / "gap-development.tsv").open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        assert other_languages(row["Text"] for row in rows) == {}


def test_the_page_has_each_gap_with_and_without_flagged_texts() -> None:
    """The second is what an audit of the unflagged texts alone finds; both are differences of means."""
    flagged = [f"The king lost his crown {i}." for i in range(6)]
    plain = [f"The man lost his hat {i}." for i in range(12)]

    def model(texts: list[str]) -> list[float]:
        gap = np.array([0.4 if "queen" in t else 0.1 if "woman" in t else 0.0 for t in texts])
        return list(0.2 + gap + np.array([len(t) % 5 / 100 for t in texts]))

    both = eh.audit_text(model, [*flagged, *plain], terms="pairs/gender")
    (row,) = both.exhibits["flagged"].rows()
    assert row["all texts"] == next(f for f in both.findings if f.primary).estimate.value
    alone = eh.audit_text(model, [*flagged, *plain], terms="pairs/gender", flagged="drop")
    assert row["without flagged"] == pytest.approx(
        next(f for f in alone.findings if f.primary).estimate.value
    )
    assert row["without flagged, rows"] == 24
    assert "flagged" not in alone.exhibits
    assert abs(float(row["all texts"] or 0)) > abs(float(row["without flagged"] or 0)) + 0.05

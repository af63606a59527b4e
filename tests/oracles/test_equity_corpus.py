"""The Equity Evaluation Corpus, regenerated, against the figures of its paper."""

from __future__ import annotations

import re
from collections import Counter

from evenhand.plans import templates


def test_the_grid_has_the_size_the_paper_gives() -> None:
    """8,640 unique sentences: 1,200 for each of templates 1-7 and 60 for 8-11, half of them about women."""
    grid = templates("eec").grid()
    assert len(grid) == 8640
    counts: Counter[str | None] = Counter()
    people: Counter[tuple[str | None, str | None]] = Counter()
    emotions: Counter[str | None] = Counter()
    for batch in grid.plan(1000):
        counts.update(batch.factors["template"])
        people.update(zip(batch.factors["race"], batch.factors["gender"], strict=True))
        emotions.update(batch.factors["emotion"])
    assert counts == {**{str(i): 1200 for i in range(1, 8)}, **{str(i): 60 for i in range(8, 12)}}
    assert people[("black", "female")] == people[("white", "male")] == 1440
    assert people[(None, "female")] == people[(None, "male")] == 1440
    assert {emotions[e] for e in ("anger", "fear", "joy", "sadness")} == {2100}


def test_the_sentences_are_unique_and_grammatical() -> None:
    """No sentence twice; a or an by sound; object forms and reflexives by gender; a capital at the start."""
    sentences = list(templates("eec"))
    assert len(set(sentences)) == 8640
    assert "He found himself in an outrageous situation." in sentences
    assert "I saw her in the market." in sentences
    assert "My sister found herself in a vexing situation." in sentences
    assert not [s for s in sentences if re.search(r"\ba [aeio]|\ban [^aeiou]", s) or not s[0].isupper()]

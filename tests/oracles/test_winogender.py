"""The Winogender sentences (Rudinger et al. 2018) as gold for pronoun rewriting."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from evenhand.plans import rewrite

PRONOUNS = {"male": "he", "female": "she", "neutral": "they"}


def _triples(data: Path) -> list[dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    with (data / "text" / "winogender_sentences.tsv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            *case, gender, _ = row["sentid"].split(".")
            found.setdefault(".".join(case), {})[gender] = row["sentence"]
    return list(found.values())


@pytest.mark.parametrize(
    ("source", "target"),
    [("male", "female"), ("female", "male"), ("male", "neutral"), ("female", "neutral"), ("neutral", "male"), ("neutral", "female")],
)  # fmt: skip
def test_rewriting_reaches_the_gold_sentence(data: Path, source: str, target: str) -> None:
    """At least 99 % of the 240 sentences equal the gold sentence of the other gender."""
    triples = _triples(data)
    exact = sum(rewrite(t[source], pronouns=PRONOUNS[target]).text == t[target] for t in triples)
    assert len(triples) == 240
    assert exact >= 0.99 * len(triples)

"""Whether "her" is an object or a determiner: the learnt weights, on kinds of text that they were not learnt from."""

from __future__ import annotations

import csv
import json
import runpy
from importlib.resources import files
from pathlib import Path

import pytest

import evenhand as eh
from evenhand.plans import _her
from evenhand.plans._edits import Edits
from evenhand.plans._roles import is_determiner
from evenhand.plans._words import words_of

TOOL = Path(__file__).parents[2] / "tools" / "her_model.py"
BEYOND_THE_RULES = [
    ("We watched her overtake the whole field.", "watched him overtake"),
    ("They wanted her gone by noon.", "wanted him gone"),
    ("I miss her so bad.", "miss him so"),
    ("Look at her smile.", "at his smile"),
    ("Her half of the bill was paid.", "His half of"),
    ("They cheered for her loudly.", "for him loudly"),
    ("I met her two sons.", "met his two"),
]


@pytest.mark.parametrize(("before", "after"), BEYOND_THE_RULES)
def test_her_is_read_by_what_was_learnt(before: str, after: str) -> None:
    """Objects before nouns, verbs and adjectives, each in its own words."""
    assert after in eh.rewrite(before, pronouns="he").text


def test_a_reading_that_is_not_certain_is_flagged_once_and_names_the_words() -> None:
    """What can be either is flagged; what cannot is not, whatever stands around it."""
    open_reading = eh.rewrite("She saw her duck.", pronouns="he")
    assert [f for f in open_reading.flags if "object or possessive" in f] == [
        "'saw her duck': object or possessive?"
    ]
    assert not eh.rewrite("I told her that, and she sold her car.", pronouns="he").flags


@pytest.mark.parametrize(
    "text", ["her", "Her", "HER!", "her 🙂", "her &amp; him", "her &#128514; x", "her her her", "…her…"]
)
def test_any_place_of_her_has_a_chance(text: str) -> None:
    """At both ends of a text, beside emoji and the entities of web pages."""
    words = words_of(text)
    for i in (i for i, low in enumerate(words.low) if low == "her"):
        assert 0 <= _her.chance_of_determiner(words, i, rule=True, unsure=False) <= 1
    assert len(eh.rewrite(text, pronouns="he").text) == len(text)


def test_an_entity_of_a_web_page_is_no_noun() -> None:
    """ "her &#128514;" is followed by a sign, "her &amp; me" by a conjunction."""
    assert _her._tokens(words_of("her &#128514; so"), 0, 1, 2) == [("#", "#"), ("so", "so")]
    assert _her._tokens(words_of("her &amp; me"), 0, 1, 2)[0][0] == "amp"


def test_the_weights_are_whole_and_small() -> None:
    """One weight a bucket, two kinds a word, in less than 400 kB."""
    stored = files("evenhand.plans") / "data" / "her.npz"
    assert len(stored.read_bytes()) < 400_000
    weights, scale, kinds = _her._learnt()
    assert kinds["his"] == kinds["my"]
    assert kinds["mother"] != kinds["walked"]
    assert weights.shape == (_her.BUCKETS,)
    assert weights.any()
    assert 0 < scale < 1


@pytest.fixture(scope="module")
def held_out(data: Path) -> dict[str, list[str]]:
    """Two kinds of text that were not learnt from: tweets and captions of pictures."""
    with (data / "attack" / "davidson_labeled_data.csv").open(encoding="utf-8", newline="") as lines:
        tweets = [row["tweet"] for row in csv.DictReader(lines)]
    kept = json.loads((data / "captions" / "captions_val2017.json").read_text(encoding="utf-8"))
    return {"tweets": tweets, "captions": sorted({a["caption"] for a in kept["annotations"]})}


@pytest.mark.parametrize(
    ("kind", "wrong", "silent", "determiner"), [("tweets", 0.08, 0.01, 0.03), ("captions", 0.03, 0.0, 0.006)]
)
def test_her_comes_back_from_kinds_of_text_that_were_not_learnt_from(
    held_out: dict[str, list[str]], kind: str, wrong: float, silent: float, determiner: float
) -> None:
    """him and his, hidden as "her", come back through `eh.rewrite` about as often as the documentation says; the rules
    alone have 11.5 % of the tweets' objects wrong and 8.4 % without a flag."""
    found = runpy.run_path(str(TOOL))["measured"](held_out[kind])
    (n, bad, quiet, _), (m, other, _, _) = found[False], found[True]
    assert n > 70
    assert m > 500
    assert bad / n <= wrong
    assert quiet / n <= silent
    assert other / m <= determiner


def test_the_model_differs_from_the_rules_where_they_are_wrong() -> None:
    """Else the weights would be idle."""
    words = words_of(BEYOND_THE_RULES[0][0])
    i = words.low.index("her")
    assert is_determiner(words, i, Edits())
    assert not _her.belongs(words, i, Edits())[0]


CERTAIN_OF = [("He lost his keys.", "she"), ("I met her yesterday.", "he"), ("She is her own boss.", "he")]


@pytest.mark.parametrize(("text", "pronouns"), CERTAIN_OF)
def test_what_nobody_would_doubt_has_a_confidence_near_one(text: str, pronouns: str) -> None:
    """Of the whole rewriting, and of each change."""
    made = eh.rewrite(text, pronouns=pronouns)
    assert made.confidence > 0.95
    assert all(made.confidence <= change.confidence <= 1 for change in made.changes)


def test_the_confidence_of_an_open_reading_is_that_of_its_change() -> None:
    """And a doubt about somebody else's words lowers the whole, not the change."""
    duck = eh.rewrite("She saw her duck.", pronouns="he")
    assert duck.confidence == pytest.approx(duck.changes[0].confidence * duck.changes[1].confidence)
    assert duck.changes[1].confidence < 0.97
    other = eh.rewrite("He said that she lost her keys and he left.", pronouns="they")
    assert min(change.confidence for change in other.changes) > 0.98
    assert other.confidence < 0.95


@pytest.mark.parametrize("text", ["", "No one.", "🙂", "It rained."])
def test_a_text_without_a_person_is_left_with_full_confidence(text: str) -> None:
    """Nothing changes, and nothing can be wrong."""
    assert eh.rewrite(text, pronouns="they") == eh.rewrite(text)
    assert eh.rewrite(text, pronouns="they").confidence == 1


def test_confidence_is_how_often_captions_and_tweets_come_back_right(held_out: dict[str, list[str]]) -> None:
    """In every band of confidence, the mean lies within four standard errors (and 2 %) of the share that was right."""
    read_back = runpy.run_path(str(TOOL))["read_back"]
    found = [(c, ok) for texts in held_out.values() for _, ok, _, c in read_back(texts)]
    for low, high in ((0.5, 0.8), (0.8, 0.95), (0.95, 0.99), (0.99, 1.01)):
        band = [(c, ok) for c, ok in found if low <= c < high]
        mean, right = (sum(column) / len(band) for column in zip(*band, strict=True))
        assert len(band) > 30
        assert abs(mean - right) < 0.02 + 4 * (mean * (1 - mean) / len(band)) ** 0.5

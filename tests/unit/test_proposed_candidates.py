"""Candidates that a model proposes for a place, and a bound on how far a sentence may move."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from planted_words import planted

import evenhand as eh
from evenhand._errors import UsageError
from evenhand.cli import run

LOOSE: dict[str, Any] = {
    "fluency": "none", "placebos": 0, "holdout": 0, "match": "none", "max_target": None, "any_form": True,
    "search": "exhaustive", "directions": ["woman-man"], "min_similarity": -1.0, "min_gain": 0.0, "max_changed": 1.0,
}  # fmt: skip
SPACE = {"man": [-1.0, 0.0, 0.3], "woman": [1.0, 0.0, 0.3]} | {
    word: [0.1 * i - 0.3, 1.0, 0.05 * i] for i, word in enumerate(("nice", "soft", "lovely", "kind", "wooden", "happy"))
}  # fmt: skip


def used(texts: list[str], **options: Any) -> set[tuple[str, str]]:
    """(text, text as altered) of every change that an attack can make, found by flipping on each in turn."""
    seen: set[str] = set()

    def model(inputs: list[str]) -> list[dict[str, float]]:
        seen.update(inputs)
        return [{"old": 1.0, "new": 0.0} for _ in inputs]

    eh.attack(model, texts, **(LOOSE | {"embeddings": SPACE} | options))
    return {(t, s) for t in texts for s in seen - set(texts) if s.split()[1:] == t.split()[1:]}


def by_the_words_behind(gaps: list[tuple[str, str]], words: list[str], k: int) -> list[list[str]]:
    """lovely where a day follows, kind where a man does, and a word without a vector first."""
    assert list(words) == list(SPACE)
    told = {"day": ["unheard", "lovely"], "one": ["kind", "soft"]}
    return [told.get(after.split()[0] if after else "", [])[: k + 1] for _, after in gaps]


def test_each_place_takes_only_what_the_model_proposes_there() -> None:
    """One word, two contexts, two words in its place; nearest words that nobody proposed are out."""
    texts = ["nice day", "nice one"]
    assert len(used(texts)) == 12
    found = used(texts, candidates=by_the_words_behind)
    assert found == {("nice day", "lovely day"), ("nice one", "kind one"), ("nice one", "soft one")}
    assert used(texts, candidates=by_the_words_behind, proposals=1) == found - {("nice one", "soft one")}


def test_as_many_candidates_as_asked_for_at_each_place() -> None:
    """With n=1 each place has one, although the words of both places are counted as one word's candidates."""
    found = used(["nice day", "nice one"], candidates=by_the_words_behind, n=1)
    assert found == {("nice day", "lovely day"), ("nice one", "soft one")} or found == {
        ("nice day", "lovely day"),
        ("nice one", "kind one"),
    }


def test_the_same_rules_hold_for_what_is_proposed() -> None:
    """Direction, similarity and opposites: a proposal that moves the other way, is unlike, or says the contrary is none."""
    space = SPACE | {"unhappy": [0.9, 1.0, 0.0], "stone": [0.9, -1.0, 0.0], "sad": [0.8, 1.0, 0.0]}

    def all_of_it(gaps: list[tuple[str, str]], words: list[str], k: int) -> list[list[str]]:
        return [list(words) for _ in gaps]

    options: dict[str, Any] = {"candidates": all_of_it, "embeddings": space, "min_similarity": 0.3}
    words = {after.split()[0] for _, after in used(["happy day"], **options)}
    assert words == set()
    words = {after.split()[0] for _, after in used(["happy day"], antonyms=True, **options)}
    assert words == {"unhappy", "sad"}
    words = {
        after.split()[0] for _, after in used(["happy day"], **(options | {"directions": ["man-woman"]}))
    }
    assert words == {"nice", "soft", "lovely", "kind", "wooden"}


def test_what_is_proposed_is_also_among_the_nearest_words() -> None:
    """What a model expects there may mean anything; the embeddings say what is near."""
    assert ("nice day", "lovely day") in used(["nice day"], candidates=by_the_words_behind)
    assert used(["nice day"], max_rank=1, candidates=by_the_words_behind) == set()


def test_a_short_sentence_may_not_move_as_far_as_a_long_one() -> None:
    """The bound is on the mean of the sentence in which the word stands, whatever stands in other sentences."""
    short, long = "nice day", "nice kind lovely wooden kind lovely wooden kind"
    space = SPACE | {"happy": [0.4, 0.2, 0.9], "day": [0.0, 1.0, 0.0]}

    def happy(gaps: list[tuple[str, str]], words: list[str], k: int) -> list[list[str]]:
        return [["happy"] for _ in gaps]

    def reached(text: str, least: float) -> bool:
        return bool(used([text], embeddings=space, candidates=happy, min_sentence_similarity=least))

    v = {w: np.array(x) / np.linalg.norm(x) for w, x in space.items()}

    def cosine(text: str) -> float:
        before = sum((v[w] for w in text.split()), np.zeros(3))
        after = before - v["nice"] + v["happy"]
        return float(before @ after / np.linalg.norm(before) / np.linalg.norm(after))

    assert cosine(short) < 0.93 < cosine(long)
    assert reached(long, 0.93)
    assert not reached(short, 0.93)
    assert reached(short, cosine(short) - 1e-4)
    assert not reached(short, cosine(short) + 1e-4)
    assert not reached(f"{short}. {long}", 0.93)


def test_pass_rates_of_both_rules_stand_beside_those_of_placebos() -> None:
    """A model or a bound that lets the direction through more often than random ones would be seen on the page."""
    world = planted(clusters=12, size=6, seed=1)

    def half(gaps: list[tuple[str, str]], words: list[str], k: int) -> list[list[str]]:
        return [[w for w in words if zlib.crc32(f"{a}{w}{b}".encode()) % 2] for a, b in gaps]

    made = eh.attack(
        lambda texts: [{"a": 0.9, "b": 0.1} for _ in texts], list(world.sentences(20, seed=1)), embeddings=world.vectors,
        candidates=half, proposals=10_000, min_sentence_similarity=0.5, any_form=True, fluency="none", placebos=9,
    )  # fmt: skip
    rows = {str(r["step"]): r for r in made.exhibits["filters"].rows()}
    first = next(r for step, r in rows.items() if "proposed by the model there" in step)
    then = next(r for step, r in rows.items() if "sentence stays similar" in step)
    for row in (first, then):
        assert 0.0 < float(row["alterations"]) <= 1.0
        assert 0.0 < float(row["mean placebo"]) <= 1.0
    assert float(then["alterations"]) <= float(first["alterations"]) < 0.75
    assert made.provenance["candidates"].startswith("function")


def test_the_command_line_takes_a_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--candidates module:attr, --proposals and --min-sentence-similarity are those of Python."""
    monkeypatch.chdir(tmp_path)
    Path("toy.py").write_text(
        "def predict(texts):\n    return [0.9 - 0.6 * ('lovely' in t) - 0.6 * ('kind' in t) for t in texts]\n"
        "def gaps(pairs, words, k):\n    return [['lovely', 'kind'] for _ in pairs]\n"
    )
    Path("v.txt").write_text("\n".join(f"{w} {' '.join(map(str, v))}" for w, v in SPACE.items()))
    Path("t.txt").write_text("nice day\nnice one")
    words = ["attack", "--subject", "toy.py:predict", "--texts", "t.txt", "--embeddings", "v.txt", "--match", "none",
             "--fluency", "none", "--placebos", "0", "--direction", "woman-man", "--any-form", "--min-gain", "0",
             "--candidates", "toy.py:gaps", "--proposals", "1", "--out", "out"]  # fmt: skip
    assert run(words) == 0
    page = eh.Result.from_json("out/result.json")
    assert {row["becomes"] for row in page.exhibits["alterations"].rows()} == {"lovely"}
    assert run([*words, "--min-sentence-similarity", "0.9999"]) == 0
    assert "alterations" not in eh.Result.from_json("out/result.json").exhibits


@pytest.mark.parametrize(
    ("options", "slug"),
    [
        ({"candidates": "nearest"}, "unknown-candidates"),
        ({"candidates": "masked:"}, "unknown-candidates"),
        ({"candidates": by_the_words_behind, "dictionary": "seed"}, "candidates-of-seed"),
        ({"candidates": by_the_words_behind, "proposals": 0}, "bad-count"),
        ({"candidates": lambda gaps, words, k: []}, "candidates-shape"),
        ({"min_sentence_similarity": 1.5}, "bad-rules"),
    ],
)
def test_what_cannot_be_is_one_message(options: dict[str, Any], slug: str) -> None:
    """No traceback, and nothing is asked of the subject."""
    with pytest.raises(UsageError, match=slug):
        used(["nice day"], **options)

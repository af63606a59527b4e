"""Copies of texts are no further evidence in an attack: equal or nearly so, they are one text."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.texts.copies import copies

WORDS = ["early", "late", "kind", "cold", "loud", "calm", "bold", "shy", "warm", "dull", "neat", "rude"]


def _texts(n: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    return [f"{' '.join(rng.choice(WORDS, 6, replace=False))} number{i} thing{i * 7}" for i in range(n)]


def _attack(texts: list[str]) -> eh.Result:
    rng = np.random.default_rng(1)
    vectors = {w: rng.normal(size=6).tolist() for w in [*WORDS, "man", "woman", "he", "she", "king", "queen"]}

    def model(inputs: list[str]) -> list[dict[str, float]]:
        bad = [
            0.5 + 0.08 * (t.count("cold") + t.count("rude") - t.count("warm") - t.count("kind"))
            for t in inputs
        ]
        return [{"bad": b, "good": 1 - b} for b in bad]

    return eh.attack(
        model,
        texts,
        embeddings=vectors,
        fluency="none",
        placebos=19,
        min_similarity=-1.0,
        max_rank=17,
        any_form=True,
        antonyms=True,
        seed=3,
    )


def test_the_same_texts_four_times_are_the_same_attack() -> None:
    """Copies once narrowed the interval until a claim became a disparity; now nothing changes but the note."""
    texts = _texts(30)
    noisy = [f"RT @user{i}: {t.upper()}! http://t.co/{i}" for i, t in enumerate(texts)]
    nearly = [f"{t} indeed" for t in texts]
    once, often = _attack(texts), _attack([*texts, *texts, *noisy, *nearly])
    assert [f.estimate for f in once.findings] == [f.estimate for f in often.findings]
    assert [f.verdict for f in once.findings] == [f.verdict for f in often.findings]
    said = [n.text for n in often.notes if n.slug == "texts-flagged"]
    assert any("90 of 120 texts are copies of others" in text for text in said)
    assert often.counts["texts"] == 30


@pytest.mark.parametrize(
    ("one", "two", "alike"),
    [
        ("He is late.", "he is LATE", True),
        ("He is late.", "She is late.", False),
        ("he and she went to the old house by the sea", "he and she went to the old house by the lake", True),
        ("a b c", "a b d", False),
        ("", "", False),
        ("???", "!!!", False),
    ],
)
def test_what_counts_as_a_copy(one: str, two: str, alike: bool) -> None:
    """Case and punctuation make no difference; a word does in short texts, and one of many does not."""
    assert (copies([one, two]).tolist() == [0, 0]) is alike


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=5, max_size=8), max_size=25))
def test_all_similar_pairs_are_found(texts: list[list[str]]) -> None:
    """The prefix filter finds what comparing all pairs finds."""
    sets = [frozenset(t) for t in texts]
    found = copies([" ".join(t) for t in texts])
    for i, a in enumerate(sets):
        for j, b in enumerate(sets[:i]):
            if min(len(a), len(b)) >= 5 and len(a & b) >= 0.8 * len(a | b):
                assert found[i] == found[j]


def _never(inputs: list[str]) -> list[dict[str, float]]:
    return [{"bad": 0.1, "good": 0.9} for _ in inputs]


@pytest.mark.parametrize(
    ("n", "verdict"), [(2, "inconclusive"), (40, "inconclusive"), (90, "within tolerance")]
)
def test_no_flip_in_few_texts_is_no_proof_that_none_flips(n: int, verdict: str) -> None:
    """0 of 40 still allows 7.2 % (Clopper & Pearson); two texts allow no statement, and no impossible interval."""
    rng = np.random.default_rng(1)
    vectors = {w: rng.normal(size=6).tolist() for w in [*WORDS, "man", "woman", "he", "she", "king", "queen"]}
    result = eh.attack(
        _never, _texts(n), embeddings=vectors, fluency="none", placebos=19, min_similarity=-1.0, max_rank=17,
        antonyms=True,
    )  # fmt: skip
    (claim,) = result.primary
    assert claim.verdict == verdict
    if n == 2:
        assert claim.estimate.low is None
        assert "only 2 texts can be altered" in claim.because
    if n == 40:
        assert claim.equivalence == pytest.approx((-0.0734, 0.0734), abs=2e-3)
        assert "No flip in 40 texts still allows a rate of 7.2 %." in claim.because


def test_a_rank_that_is_too_coarse_is_said_to_be_the_reason() -> None:
    """An interval that leaves out nothing is not contradicted: the sentence names the few placebos."""
    result = _attack(_texts(60))
    claim = result.primary[0]
    low, _ = claim.simultaneous or (0, 0)
    assert low > 0
    assert claim.verdict == "inconclusive"
    assert "but the rank among" in claim.because
    assert "can tell neither" not in claim.because


def test_texts_of_one_author_are_one_piece_of_evidence() -> None:
    """Five authors of twelve texts each: the interval is over authors, halves hold whole authors; a column that
    is not there is an error, and a column in which every text is its own changes nothing."""
    texts = _texts(60)
    rng = np.random.default_rng(1)
    vectors = {w: rng.normal(size=6).tolist() for w in [*WORDS, "man", "woman", "he", "she", "king", "queen"]}

    def model(inputs: list[str]) -> list[dict[str, float]]:
        bad = [
            0.5 + 0.08 * (t.count("cold") + t.count("rude") - t.count("warm") - t.count("kind"))
            for t in inputs
        ]
        return [{"bad": b, "good": 1 - b} for b in bad]

    asked = {"embeddings": vectors, "fluency": "none", "placebos": 19, "min_similarity": -1.0, "max_rank": 17}
    table = {"text": texts, "author": [f"a{i % 5}" for i in range(60)], "own": [f"o{i}" for i in range(60)]}
    alone = eh.attack(model, table, **asked)
    by_text = eh.attack(model, table, units="own", **asked)
    by_author = eh.attack(model, table, units="author", **asked)
    one, same, wide = (r.primary[0].estimate for r in (alone, by_text, by_author))
    assert one.value == same.value == wide.value
    assert (same.low, same.high) == pytest.approx((one.low, one.high), rel=0.02)
    assert wide.low is not None
    assert one.low is not None
    assert wide.df < one.df  # type: ignore[operator]
    with pytest.raises(eh.EvenhandError, match="unknown-unit"):
        eh.attack(model, table, units="writer", **asked)


def test_halves_never_part_a_unit() -> None:
    """Whoever wrote the texts, what is learned from one of theirs is not confirmed on another."""
    from evenhand.audits.attack.confirmation import halves

    units = np.repeat(np.arange(8), [1, 9, 3, 3, 5, 2, 6, 11])
    for seed in range(20):
        seen, unseen = halves(range(40), 40, 0.5, seed, units)
        assert not set(units[seen]) & set(units[unseen])
        assert (seen | unseen).all()
        assert 8 <= unseen.sum() <= 32

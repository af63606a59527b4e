"""Words of captions, group lists, mined items, balancing and leakage, piece by piece."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand._errors import EvenhandError
from evenhand.audits.amplification.captions import all_words, mentions, tokenise
from evenhand.audits.amplification.panel import poisson_weights
from evenhand.measures.balancing import largest
from evenhand.measures.leakage import cross_fitted, leaked
from evenhand.terms.groups import GROUPS, group_words


@given(st.lists(st.one_of(st.none(), st.text(max_size=40)), max_size=30))
@settings(max_examples=200, deadline=None)
def test_tokens_equal_a_regular_expression_text_by_text(texts: list[str | None]) -> None:
    """The fast path (one translate a chunk) and the slow one find the same words, whatever the characters."""
    import unicodedata

    tokens = tokenise(texts)
    assert len(tokens) == len(texts)
    for row, text in enumerate(texts):
        expected = re.findall(r"\w+", unicodedata.normalize("NFC", text or "").lower())
        assert tokens.caption(row) == expected


@pytest.mark.parametrize(
    ("caption", "named"),
    [
        ("A Man's best friend", [1, 0]),
        ("The womanly woman.", [0, 1]),
        ("humans and mankind", [0, 0]),
        ("MEN at work", [1, 0]),
        ("he-man", [1, 0]),
        ("", [0, 0]),
    ],
)
def test_group_words_are_whole_words_in_any_case(caption: str, named: list[int]) -> None:
    """Word boundaries: "woman" does not name a man, "womanly" no woman."""
    words = {"man": ["man", "men"], "woman": ["woman"]}
    assert mentions(tokenise([caption]), list(words.values())).toarray().tolist() == [named]


def test_longer_phrases_keep_their_words() -> None:
    """A hot dog is no dog, two dogs in one caption count once, and a phrase does not span two captions."""
    tokens = tokenise(["a hot dog and a dog", "a hot dog", "hot", "dog dog"])
    found = mentions(tokens, [["dog"], ["hot dog"]]).toarray().tolist()
    assert found == [[1, 1], [0, 1], [0, 0], [1, 0]]


def test_a_form_that_two_items_share_counts_for_both() -> None:
    """Synonym lists overlap in practice: a table is furniture and a dining table."""
    found = mentions(tokenise(["a table"]), [["table"], ["desk", "table"], ["chair"]])
    assert found.toarray().tolist() == [[1, 1, 0]]


def test_all_words_is_the_union_of_single_mentions() -> None:
    """The sparse matrix of all words holds a 1 for every word of a caption, however often it occurs."""
    tokens = tokenise(["b a b", "c"])
    assert all_words(tokens).toarray().tolist() == [[1, 1, 0], [0, 0, 1]]
    assert tokens.caption(0) == ["b", "a", "b"]  # and the tokens keep their order


@pytest.mark.parametrize("name", list(GROUPS))
def test_shipped_groups_have_a_source_and_no_overlap(name: str) -> None:
    """Every list names its source; no word belongs to two groups or is neutral as well."""
    words = group_words(name)
    assert len(words.source) > 20
    every = list(itertools.chain(*words.groups.values(), words.neutral))
    assert len(every) == len(set(every))
    assert all(w == w.lower().strip() for w in every)


def test_own_groups_come_from_a_file(tmp_path: Path) -> None:
    """JSON and TOML {group: [words]}, with neutral words beside them."""
    (tmp_path / "g.json").write_text('{"cat": ["cat"], "dog": ["dog", "puppy"], "neutral": ["pet"]}')
    (tmp_path / "g.toml").write_text('neutral = ["pet"]\n[groups]\ncat = ["cat"]\ndog = ["dog", "puppy"]\n')
    a, b = group_words(tmp_path / "g.json"), group_words(str(tmp_path / "g.toml"))
    assert a.groups == b.groups == {"cat": ("cat",), "dog": ("dog", "puppy")}
    assert a.neutral == b.neutral == ("pet",)


def test_mined_items_are_nouns_and_verbs_by_lemma() -> None:
    """The most tied words become items: forms are joined under their lemma, group words are none of them."""
    pytest.importorskip("textblob")
    pytest.importorskip("lemminflect")
    texts = [
        "a man riding a horse",
        "a man rides a horse",
        "a woman holding umbrellas",
        "a woman with an umbrella",
    ] * 20
    texts += ["a woman near a tree", "a man near a tree"] * 20
    result = eh.audit_amplification(texts, draws=100)
    tied = {(r["item"], r["kind"], r["group"]): r["of"] for r in result.exhibits["tied items"].rows()}
    assert tied["umbrella", "noun", "woman"] == 40
    assert tied["to ride", "verb", "man"] == 40
    assert tied["horse", "noun", "man"] == 40
    assert not {k for k in tied if k[0] in ("man", "woman")}


def test_any_callable_tags_words() -> None:
    """A user's tagger is a function from words to tags; spaCy's and Penn's names both work."""

    def tagger(words: list[str]) -> list[str]:
        return ["NOUN" if w in ("umbrella", "horse") else "X" for w in words]

    texts = ["a man with a horse"] * 30 + ["a woman with an umbrella"] * 30
    result = eh.audit_amplification(texts, tagger=tagger, draws=100)
    assert set(result.exhibits["tied items"].columns["item"]) == {"umbrella", "horse"}


# --- balancing -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_the_balanced_subset_is_as_large_as_brute_force_finds(seed: int) -> None:
    """All subsets of a dozen images tried: none that meets the constraints is larger."""
    rng = np.random.default_rng(seed)
    n, alpha = 11, float(rng.choice([1, 1.5, 2, 3]))
    cells = rng.integers(0, 2, size=(n, 2, 3)).astype(float)
    kept = largest(cells, np.ones(n, dtype=np.int64), alpha).kept
    best = 0
    for mask in itertools.product((0, 1), repeat=n):
        counts = (np.array(mask)[:, None, None] * cells).sum(axis=0)
        if (counts[0] <= alpha * counts[1]).all() and (counts[1] <= alpha * counts[0]).all():
            best = max(best, sum(mask))
    counts = (kept[:, None, None] * cells).sum(axis=0)
    assert (counts[0] <= alpha * counts[1] + 1e-9).all()
    assert (counts[1] <= alpha * counts[0] + 1e-9).all()
    assert kept.sum() == best


@pytest.mark.parametrize("alpha", [1, 2, 3])
def test_no_item_of_a_balanced_set_exceeds_alpha(alpha: int) -> None:
    """Checked by counting the kept captions again, through the front door."""
    rng = np.random.default_rng(alpha)
    rows = []
    for k in range(600):
        who = rng.choice(["man", "woman"], p=[0.7, 0.3])
        things = [
            t
            for t, p in (("tie", 0.3 if who == "man" else 0.05), ("dog", 0.3), ("hat", 0.2))
            if rng.random() < p
        ]
        rows.append({"image_id": k, "caption": f"a {who} with a {' and a '.join(things) or 'friend'}"})
    made = eh.balance(rows, alpha=alpha, items=["tie", "dog", "hat"])
    kept = set(made.ids)
    again = eh.audit_amplification(
        [r for r in rows if str(r["image_id"]) in kept], items=["tie", "dog", "hat"], draws=100
    )
    counted: dict[str, list[int]] = {}
    for item in ("tie", "dog", "hat"):
        captions = [r["caption"] for r in rows if str(r["image_id"]) in kept and item in r["caption"]]
        counted[item] = [sum("a man" in c for c in captions), sum("a woman" in c for c in captions)]
        assert max(counted[item]) <= alpha * min(counted[item])
    assert again.counts["training rows"] == len(made.ids) < 600
    assert made.optimal


def test_an_item_that_one_group_never_has_is_impossible_to_balance() -> None:
    """It is reported; its images go, or stay where the user leaves it out."""
    texts = ["a man with a tie"] * 20 + ["a woman with a dog"] * 10 + ["a man with a dog"] * 10
    made = eh.balance(texts, alpha=1, items=["tie", "dog"])
    assert made.impossible == ("tie",)
    assert len(made.ids) == 20
    assert "Impossible" in made.summary()
    assert len(eh.balance(texts, alpha=1, items=["tie", "dog"], impossible="leave").ids) == 40


def test_weights_keep_more_than_a_subset_and_ids_are_written(tmp_path: Path) -> None:
    """Weights in [0, 1] meet the same constraints with at least the same sum; files hold ids and weights."""
    texts = ["a man with a tie"] * 20 + ["a woman with a tie"] * 3
    subset, weights = (eh.balance(texts, alpha=1.5, items=["tie"], weights=w) for w in (False, True))
    assert sum(subset.weights) == 7
    assert sum(weights.weights) == pytest.approx(7.5)
    for name in ("k.jsonl", "k.csv", "k.txt"):
        subset.write(tmp_path / name)
        assert len((tmp_path / name).read_text().splitlines()) == 7 + (name == "k.csv")
    assert json.loads((tmp_path / "k.jsonl").read_text().splitlines()[0]) == {
        "id": subset.ids[0],
        "weight": 1.0,
    }
    with pytest.raises(EvenhandError, match="ending"):
        subset.write(tmp_path / "k.xlsx")


def test_an_audit_compares_with_and_without_balancing() -> None:
    """balance= adds the growth from the balanced training set beside the growth from the data as they are."""
    texts = ["a man with a tie"] * 60 + ["a woman with a tie"] * 20
    made = ["a man with a tie"] * 70 + ["a woman with a tie"] * 10
    result = eh.audit_amplification(texts, made, items=["tie"], balance=1, draws=200, leakage=False)
    growth = [f.estimate.value for f in result.findings if f.family == "balanced"]
    assert growth == pytest.approx([0.125, 0.375])
    assert next(iter(result.exhibits["balanced"].rows()))["man after"] == 20


# --- leakage ---------------------------------------------------------------------------------------------------------


def test_leakage_finds_what_outputs_give_away_beyond_people() -> None:
    """Outputs that mention ties with men only leak the group; human captions at random do not."""
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(0)
    human, made, honest = [], [], []
    for k in range(400):
        who = "man" if rng.random() < 0.5 else "woman"
        human.append({"image_id": k, "caption": f"a {who} with a {rng.choice(['tie', 'dog'])} here"})
        made.append({"image_id": k, "caption": f"a {who} with a {'tie' if who == 'man' else 'dog'} here"})
        honest.append({"image_id": k, "caption": f"a {who} with a {rng.choice(['tie', 'dog'])} here"})
    leaky = eh.audit_amplification(human, made, items=["tie", "dog"], draws=100, leakage=True, seeds=2)
    found = {f.estimate.measure: f.estimate for f in leaky.findings if f.family == "leakage"}
    assert found["leakage"].value == pytest.approx(0.5, abs=0.08)
    assert found["LIC"].low is not None
    assert found["LIC"].low > 0.3
    fair = eh.audit_amplification(human, honest, items=["tie", "dog"], draws=100, leakage=True, seeds=2)
    found = {f.estimate.measure: f.estimate for f in fair.findings if f.family == "leakage"}
    assert found["leakage"].low < 0.03 < 0.1  # type: ignore[operator]
    assert abs(found["leakage"].value) < 0.1  # type: ignore[arg-type]


def test_masked_words_do_not_leak_themselves() -> None:
    """The group word itself is masked: captions that differ in nothing else leak nothing."""
    pytest.importorskip("sklearn")
    rows = [
        {"image_id": k, "caption": f"a {'man' if k % 2 else 'woman'} outside with a tie"} for k in range(200)
    ]
    result = eh.audit_amplification(rows, rows, items=["tie"], draws=100, leakage=True, seeds=1)
    shown = result.exhibits["leakage"].columns
    assert all(v == pytest.approx(0.5, abs=0.02) for v in shown["outputs"][:1])


def test_an_attacker_never_sees_the_rows_it_guesses() -> None:
    """With features that identify rows but say nothing about groups, guesses are at chance."""
    pytest.importorskip("sklearn")
    from sklearn.tree import DecisionTreeClassifier

    groups = np.random.default_rng(3).integers(0, 2, 300)
    right, _ = leaked(cross_fitted(np.eye(300), groups, classifier=DecisionTreeClassifier(), seed=1), groups)
    assert right.mean() < 0.6


def test_bootstrap_weights_are_poisson() -> None:
    """Mean and variance 1, and the share of zeros e⁻¹."""
    weights = np.concatenate([w.ravel() for w in poisson_weights(2000, 200, 0)])
    assert weights.mean() == pytest.approx(1.0, abs=0.005)
    assert weights.var() == pytest.approx(1.0, abs=0.01)
    assert (weights == 0).mean() == pytest.approx(np.exp(-1), abs=0.003)

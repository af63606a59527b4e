"""Leakage at equal accuracy and DPA through the front door: mistakes that know no group are no amplification, mistakes
that know it are, and what is computed is what scikit-learn computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import sparse

import evenhand as eh
from evenhand.measures.leakage import cross_fitted
from evenhand.measures.predictability import guessed_items, mistaken, mistakes

metrics = pytest.importorskip("sklearn.metrics")
Rows = list[dict[str, Any]]
Items = npt.NDArray[np.bool_]
THINGS = [f"thing{k}" for k in range(20)]
SIDE = np.where(np.arange(len(THINGS)) % 2 == 0, 0.15, -0.15)
EQUAL = "leakage at equal accuracy"
DATA_AS_WRONG = "leakage of the data at the outputs' accuracy (λ_D(a))"
TO_ITEMS = "predictability amplification A→T (DPA)"
TO_GROUP = "predictability amplification T→A (DPA)"


def world(n: int, seed: int, *, partial: float = 0.0, who: float = 0.1) -> tuple[Rows, Rows, Items, Items]:
    """(people's labels, outputs, both as matrices): outputs miss 30 % of what is there and add 10 % of what is not.

    Args:
        partial: by how much less often what fits the gender is missed, and more often added (half of it).
        who: share of images whose gender the outputs get wrong.
    """
    rng = np.random.default_rng(seed)
    woman = rng.random(n) < 0.5
    fits = np.where(woman[:, None], SIDE, -SIDE)
    truth = rng.random((n, len(THINGS))) < 0.25 + fits
    missed, added = 0.3 - partial * np.sign(fits), 0.1 + partial / 2 * np.sign(fits)
    said = np.where(truth, rng.random(truth.shape) >= missed, rng.random(truth.shape) < added)
    return rows(truth, woman), rows(said, woman ^ (rng.random(n) < who)), truth, said


def rows(things: Items, woman: Items) -> Rows:
    return [
        {
            "image_id": f"im{k}",
            "gender": "woman" if her else "man",
            **dict(zip(THINGS, own.tolist(), strict=True)),
        }
        for k, (own, her) in enumerate(zip(things.astype(int), woman, strict=True))
    ]


def audit(people: Rows, outputs: Rows, **asked: Any) -> eh.Result:
    given: dict[str, Any] = {
        "truth": people,
        "groups": "gender",
        "items": THINGS,
        "draws": 100,
        "permutations": 2,
    }
    return eh.audit_amplification(people, outputs, leakage=True, **given | asked)


def told(result: eh.Result) -> dict[str, Any]:
    return {f.estimate.measure: f.estimate for f in result.findings if f.family == "leakage"}


def test_mistakes_that_know_no_gender_hide_what_the_data_leak_and_are_allowed_for() -> None:
    """Outputs with mistakes leak less than people's labels; at the same accuracy neither leaks more."""
    people, outputs, *_ = world(500, 1)
    found = told(audit(people, outputs))
    assert found["leakage"].high < -0.05
    for name in (EQUAL, TO_ITEMS, TO_GROUP):
        assert found[name].low < 0 < found[name].high, name
    model = found["leakage of the outputs (λ_M)"]
    assert found[EQUAL].value == pytest.approx(model.value - found[DATA_AS_WRONG].value)
    assert found[DATA_AS_WRONG].reference == "chance"
    assert found[DATA_AS_WRONG].value < found["leakage of the data (λ_D)"].value - 0.05


def test_mistakes_that_follow_the_gender_are_found_where_the_leakage_alone_sees_nothing() -> None:
    """Partial mistakes make up for what mistakes take away: λ_M is λ_D, and yet the outputs amplify."""
    people, outputs, *_ = world(500, 2, partial=0.1)
    found = told(audit(people, outputs))
    assert found["leakage"].low < 0 < found["leakage"].high
    assert found[EQUAL].low > 0.03
    assert found[TO_ITEMS].low > 0.02
    assert found[TO_GROUP].low < 0 < found[TO_GROUP].high, "who is named goes wrong at random here"


def test_people_beside_themselves_are_as_predictable_as_themselves() -> None:
    people, _, *_ = world(300, 3)
    found = told(audit(people, people))
    for name in (EQUAL, "leakage", TO_ITEMS, TO_GROUP):
        assert found[name].value == pytest.approx(0.0, abs=1e-12), name


def test_outputs_that_name_one_gender_by_its_things_are_easier_to_tell_by_them() -> None:
    """T→A: who is named hangs on what is there, and not on who is there."""
    people, outputs, truth, _ = world(500, 4)
    looks = (truth @ np.sign(SIDE)) > 0
    outputs = [row | {"gender": "woman" if her else "man"} for row, her in zip(outputs, looks, strict=True)]
    found = told(audit(people, outputs))
    assert found[TO_GROUP].low > 0.02
    assert found[TO_ITEMS].low < 0 < found[TO_ITEMS].high


@pytest.mark.parametrize(
    "changed", [{"gender": "man"}, {thing: 0 for thing in THINGS}, {thing: 1 for thing in THINGS}]
)
def test_outputs_that_never_vary_have_no_predictability(changed: dict[str, Any]) -> None:
    """Everybody a man: no T→A; nothing, or everything, everywhere: no DPA at all; never an error or a number."""
    people, outputs, *_ = world(300, 5)
    found = told(audit(people, [row | changed for row in outputs]))
    left = {TO_ITEMS} if "gender" in changed else set()
    assert found.keys() & {TO_ITEMS, TO_GROUP} == left
    assert all(estimate.why_not or np.isfinite(estimate.value) for estimate in found.values())


def test_captions_have_no_leakage_at_equal_accuracy() -> None:
    """What people say of an image in other words is no mistake."""
    named = [
        {
            "image_id": f"im{k}",
            "caption": f"a {('man', 'woman')[k % 2]} with a {('kite', 'cake', 'dog')[k % 3]}",
        }
        for k in range(300)
    ]
    found = told(eh.audit_amplification(named, named, items=["kite", "cake"], draws=100, leakage=True))
    assert "leakage" in found
    assert EQUAL not in found


@pytest.mark.parametrize("modelled", [False, True])
def test_attackers_of_training_images_guess_as_wrong_labels_as_they_guess_outputs(modelled: bool) -> None:
    """Every other thing is dealt anew at random. An attacker that learnt from people's labels believes in it, on both
    sides; one that learnt from outputs of the training images does not, and neither may the one of the labels."""
    people, _, truth, _ = world(1600, 6)
    woman = np.array([row["gender"] == "woman" for row in people])
    said = truth.copy()
    said[:, ::2] = np.random.default_rng(0).random((len(truth), 10)) < 0.5
    outputs = rows(said, woman)[0 if modelled else 1000 :]
    asked = {"match": "all"} if modelled else {}
    found = told(audit(people[:1000] if modelled else people, outputs, truth=people[1000:], **asked))
    name = f"{EQUAL}, learnt from training {'images' if modelled else 'data'}"
    assert found[name].low < 0 < found[name].high
    assert abs(found[name].value) < 0.08


def test_disturbed_labels_have_the_f1_of_the_outputs_item_by_item() -> None:
    _, _, truth, said = world(20_000, 7, partial=0.2)
    wrong = mistaken(
        sparse.csr_matrix(truth.astype(float)),
        mistakes(sparse.csr_matrix(truth.astype(float)), sparse.csr_matrix(said.astype(float))),
        np.random.default_rng(0),
    )
    assert set(np.unique(wrong.data)) == {1.0}
    for average in ("micro", None):
        ours, theirs = (metrics.f1_score(truth, m, average=average) for m in (wrong.toarray(), said))
        assert ours == pytest.approx(theirs, abs=0.02)


def test_guessing_items_is_the_balanced_accuracy_of_scikit_learn() -> None:
    """Fold by fold, item by item, with each image's influence as the jackknife has it."""
    rng = np.random.default_rng(8)
    n, groups = 240, np.repeat([0, 1, 2], 80)
    items = rng.random((n, 4)) < np.array([0.2, 0.4, 0.6])[groups][:, None]
    places = rng.integers(0, 5, n)
    said = np.zeros_like(items)
    for fold in range(5):
        others = items[places != fold]
        for group in range(3):
            own = others[groups[places != fold] == group].mean(axis=0) > others.mean(axis=0)
            said[(places == fold) & (groups == group)] = own
    expected = [metrics.balanced_accuracy_score(items[:, k], said[:, k]) for k in range(4)]
    value, moved = guessed_items(sparse.csr_matrix(items.astype(float)), groups, places)
    assert value == pytest.approx(np.mean(expected))
    assert moved.sum() == pytest.approx(0.0, abs=1e-9)
    left = np.arange(n) != 17
    again = [metrics.balanced_accuracy_score(items[left, k], said[left, k]) for k in range(4)]
    assert (value - np.mean(again)) * (n - 1) == pytest.approx(moved[17], rel=0.05)


def test_without_an_item_nothing_is_guessed_and_it_is_said() -> None:
    """Three groups, no item with support: once a crash inside the attacker."""
    people = [{"image_id": f"im{k}", "gender": "abc"[k % 3], "kite": 0} for k in range(300)]
    result = eh.audit_amplification(
        people, people, truth=people, groups="gender", items=["kite"], draws=100, leakage=True
    )
    assert "no-leakage" in [note.slug for note in result.notes]
    assert not told(result)
    assert (
        cross_fitted(sparse.csr_matrix((6, 0)), np.array([0, 1, 2] * 2), folds=2).tolist()
        == [[1 / 3] * 3] * 6
    )


def test_captions_that_say_nothing_else_have_no_interval_from_0_to_1() -> None:
    """Nobody can guess from nothing: one half, and why there is no interval."""
    rows = [{"image_id": f"im{k}", "caption": ("man", "woman")[k % 2]} for k in range(200)]
    alone = told(eh.audit_amplification(rows, rows, items=["kite"], draws=100, leakage=True))[
        "leakage of the outputs (λ_M)"
    ]
    assert (alone.value, alone.low, alone.high) == (0.5, None, None)
    assert alone.why_not

"""Amplification where naive methods mislead: balanced data, erased groups, unfair baselines, row numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import evenhand as eh
from evenhand.cli import run

Table = dict[str, npt.NDArray[Any]]
QUICK = {"draws": 200, "leakage": False}
N, ITEMS = 1500, 10
RATES = np.linspace(0.25, 0.75, ITEMS)


def labels(seed: int, *, first: int = 0) -> Table:
    """People with a gender, and things that are tied to one or the other."""
    rng = np.random.default_rng(seed)
    woman = rng.random(N) < 0.5
    table: Table = {
        "image_id": np.array([f"im{first + k}" for k in range(N)]),
        "gender": np.where(woman, "woman", "man"),
    }
    for k, rate in enumerate(RATES):
        table[f"item{k}"] = (rng.random(N) < 0.3 * np.where(woman, rate, 1 - rate)).astype(int)
    return table


def balanced(table: Table) -> Table:
    """Every person once more with the other gender: exactly even, as balancing makes it."""
    other = np.where(table["gender"] == "man", "woman", "man")
    twin = {**table, "gender": other, "image_id": np.char.add(table["image_id"], "x")}
    return {name: np.concatenate([table[name], twin[name]]) for name in table}


def said(result: eh.Result, measure: str) -> eh.Finding:
    """The judged claim whose measure begins so."""
    return next(f for f in result.findings if f.verdict and f.estimate.measure.startswith(measure))


def test_a_copy_of_balanced_data_gets_no_verdict_without_sides() -> None:
    """Exactly even items are tied to no side: the value is 0, no interval of width 0, and the reason is said."""
    train = balanced(labels(1))
    result = eh.audit_amplification(train, dict(train), **QUICK)
    claim = said(result, "mean bias")
    assert claim.verdict == "inconclusive"
    assert (claim.estimate.value, claim.estimate.low) == (0.0, None)
    assert "10 of 10 items are exactly even" in claim.because
    assert "before=" in claim.because


def test_outputs_that_name_everybody_man_are_no_pass() -> None:
    """Erasure is judged and makes the headline, on balanced and on unbalanced training data."""
    for train in (balanced(labels(1)), labels(1)):
        made = {**train, "gender": np.where(np.arange(len(train["gender"])) < 2, "woman", "man")}
        result = eh.audit_amplification(train, made, **QUICK)
        claim = said(result, "representation")
        assert claim.primary
        assert result.verdict == "disparity"
        assert "woman is less frequent than in the truth, shown to be by more than 0.05" in claim.because
        assert said(result, "gender error").verdict == "disparity"


def test_sides_come_from_the_data_before_they_were_balanced() -> None:
    """With `before=`, a copy of balanced data is within tolerance, and outputs that fall back are found."""
    before = labels(1)
    train = balanced(before)
    copy = eh.audit_amplification(train, dict(train), before=before, **QUICK)
    assert said(copy, "mean bias").verdict == "within tolerance"
    low, high = said(copy, "mean bias").simultaneous or (0, 0)
    assert low < 0 < high
    rng = np.random.default_rng(2)
    lean = np.stack([train[f"item{k}"] for k in range(ITEMS)], axis=1) @ (RATES - 0.5)
    turned = np.where(lean > 0, "woman", np.where(lean < 0, "man", train["gender"]))
    made = {**train, "gender": np.where(rng.random(len(lean)) < 0.5, turned, train["gender"])}
    fallen = eh.audit_amplification(train, made, before=before, **QUICK)
    assert said(fallen, "mean bias").verdict == "disparity"
    assert (said(fallen, "mean bias").estimate.value or 0) > 0.05
    assert eh.audit_amplification(train, made, **QUICK).primary[0].verdict == "inconclusive"


def test_counts_take_their_sides_from_before_too() -> None:
    """Tables of counts: even training counts, sides from the counts before balancing."""
    names = [f"item{k}" for k in range(6)]
    before = {"item": names, "man": [300, 280, 260, 40, 60, 30], "woman": [40, 60, 30, 300, 280, 260]}
    train = {"item": names, "man": [100] * 6, "woman": [100] * 6}
    made = {"item": names, "man": [150, 160, 155, 50, 40, 45], "woman": [50, 40, 45, 150, 160, 155]}
    told = eh.audit_amplification(train, made, before=before, draws=200)
    assert told.verdict == "disparity"
    assert eh.audit_amplification(train, made, draws=200).verdict == "inconclusive"


def test_a_group_that_has_gone_is_named_where_nobody_knows_who_is_there() -> None:
    """Outputs of other images have no truth: what they name is said, and not judged."""
    made = {**labels(2, first=10**6), "gender": np.where(np.arange(N) < 20, "woman", "man")}
    result = eh.audit_amplification(labels(1), made, **QUICK)
    (note,) = [n for n in result.notes if n.slug == "named-otherwise"]
    assert "in the outputs and" in note.text
    assert "named-otherwise" not in {
        n.slug for n in eh.audit_amplification(labels(1), labels(2, first=10**6), **QUICK).notes
    }


def test_before_needs_outputs() -> None:
    """Sides are for a comparison."""
    with pytest.raises(eh.EvenhandError, match="before-alone"):
        eh.audit_amplification(labels(1), before=labels(2))


def _captions(seed: int, first: int = 0, ids: str = "im{}") -> list[dict[str, str]]:
    rng = np.random.default_rng(seed)
    things = ["horse", "kite", "phone", "cake", "boat", "guitar", "bench", "ladder"]
    rows = []
    for k in range(400):
        who = "man" if (k * 7919) % 100 < 55 else "woman"
        seen = rng.choice(things, 3, replace=False)
        rows.append({"image_id": ids.format(first + k), "caption": f"a {who} with a {' and a '.join(seen)}"})
    return rows


def test_leakage_needs_what_people_said_of_the_same_images() -> None:
    """A truth that is a table of groups has no words: training captions serve, and without them nothing is
    measured. The two sides never have different features."""
    people, made = _captions(1), _captions(2)
    table = [
        {"image_id": r["image_id"], "gender": "woman" if " woman " in r["caption"] else "man"} for r in people
    ]
    asked = {"items": ["horse", "kite"], "draws": 200, "leakage": True}
    with_table = eh.audit_amplification(people, made, truth=table, **asked)
    without = eh.audit_amplification(people, made, **asked)
    one, two = (
        next(f.estimate for f in r.findings if f.estimate.measure == "leakage") for r in (with_table, without)
    )
    assert (one.value, one.low, one.high) == (two.value, two.low, two.high)
    elsewhere = _captions(3, first=5_000)
    refused = eh.audit_amplification(elsewhere, made, truth=table, **asked)
    assert not [f for f in refused.findings if f.estimate.measure == "leakage"]
    assert any(n.slug == "no-leakage" and "truth has no captions" in n.text for n in refused.notes)


def test_a_balanced_baseline_that_an_attacker_guesses_below_chance_is_not_compared() -> None:
    """Cross-validation on exactly balanced labels falls below one half, so random outputs would seem to leak."""
    rng = np.random.default_rng(5)
    half = 400
    train: Table = {
        "image_id": np.array([f"im{k}" for k in range(2 * half)]),
        "gender": np.repeat(["man", "woman"], half),
    }
    made = dict(train)
    for k in range(25):
        one = (rng.random(half) < 0.1).astype(int)
        train[f"item{k}"] = np.concatenate([one, rng.permutation(one)])
        made[f"item{k}"] = (rng.random(2 * half) < 0.1).astype(int)
    result = eh.audit_amplification(train, made, draws=200, leakage=True)
    leaks = [f.estimate for f in result.findings if f.estimate.measure in ("leakage", "LIC")]
    assert len(leaks) == 2
    for e in leaks:
        assert (e.low, e.p_value) == (None, None)
        assert "where chance is 0.500" in (e.why_not or "")


def test_row_numbers_make_no_pair_of_images_unless_their_rows_agree_or_the_user_says_so() -> None:
    """Two unrelated files that count from 0 share no image; the page says where the truth came from."""
    rng = np.random.default_rng(3)
    one, same = _captions(1, ids="{}"), _captions(2, ids="{}")
    mixed = [
        {"image_id": str(k), "caption": same[j]["caption"]} for k, j in enumerate(rng.permutation(len(same)))
    ]
    asked = {"items": ["horse", "kite"], **QUICK}
    unrelated = eh.audit_amplification(one, mixed, **asked)
    slugs = {n.slug for n in unrelated.notes}
    assert {"ids-are-row-numbers", "no-truth"} <= slugs
    assert "truth-from" not in slugs
    for related in (
        eh.audit_amplification(one, same, **asked),  # the same person is named in both
        eh.audit_amplification(one, mixed, id="image_id", **asked),  # the user says so
    ):
        told = [n.text for n in related.notes if n.slug == "truth-from"]
        assert told == [
            "Who is truly there is taken from the training data of the same images: 400 images, matched by"
            " their ids."
        ]


def test_the_command_line_takes_the_data_before_balancing(
    tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """`evenhand amplification balanced.csv outputs.csv --before train.csv`."""
    import pyarrow as pa
    import pyarrow.csv as csv

    before = labels(1)
    for name, table in (("before", before), ("train", balanced(before)), ("made", balanced(before))):
        csv.write_csv(pa.table(table), tmp_path / f"{name}.csv")
    files = [str(tmp_path / f"{name}.csv") for name in ("train", "made", "before")]
    asked = ["amplification", files[0], files[1], "--before", files[2], "--draws", "200", "--no-leakage"]
    assert run([*asked, "--out", str(tmp_path / "o")]) == 0
    capsys.readouterr()
    told = eh.Result.from_json(tmp_path / "o" / "result.json")
    assert told.verdict == "within tolerance"


def tied_outputs(seed: int, strength: float) -> Table:
    """Outputs of the same images as `labels(1)`: people are named by the things beside them, more or less often."""
    table = labels(1)
    rng = np.random.default_rng(seed)
    lean = np.stack([table[f"item{k}"] for k in range(ITEMS)], axis=1) @ (RATES - 0.5)
    turned = np.where(lean > 0, "woman", np.where(lean < 0, "man", table["gender"]))
    return {**table, "gender": np.where(rng.random(len(lean)) < strength, turned, table["gender"])}


def test_with_and_without_balancing_stand_side_by_side(tmp_path: Any) -> None:
    """Balance, keep the filtered rows, audit both models' outputs at once: what balancing changed and what not, by
    the sides of the data before, with the change of the outputs and its interval."""
    import pyarrow as pa
    import pyarrow.csv as csv

    for name, table in (("before", labels(1)), ("with", labels(1)), ("without", tied_outputs(3, 0.5))):
        csv.write_csv(pa.table(table), tmp_path / f"{name}.csv")
    before, made, other = (str(tmp_path / f"{name}.csv") for name in ("before", "with", "without"))
    kept, out = str(tmp_path / "kept.csv"), str(tmp_path / "o")
    assert run(["balance", before, "--alpha", "1", "--filtered", kept]) == 0
    asked = ["--before", before, "--without", other, "--match", "all", "--no-leakage", "--draws", "200"]
    assert run(["amplification", kept, made, *asked, "--out", out]) == 0
    told = eh.Result.from_json(tmp_path / "o" / "result.json")
    rows = list(told.exhibits["balancing"].rows())
    by_corpus = {
        name: [float(r["share above even"]) for r in rows if r["corpus"] == name]  # type: ignore[arg-type]
        for name in dict.fromkeys(r["corpus"] for r in rows)
    }
    assert list(by_corpus) == [
        "data before balancing", "balanced data", "outputs without balancing", "outputs with balancing",
    ]  # fmt: skip
    assert max(map(abs, by_corpus["balanced data"])) == 0.0
    assert min(by_corpus["data before balancing"]) > 0.0
    assert by_corpus["outputs with balancing"] == by_corpus["data before balancing"]
    means = {name: np.mean(values) for name, values in by_corpus.items()}
    claims = {
        f.estimate.measure: f.estimate for f in told.findings if f.family == "with and without balancing"
    }
    moved = claims["mean tie of the outputs"]
    assert moved.value == pytest.approx(means["outputs with balancing"] - means["outputs without balancing"])
    assert moved.high is not None
    assert moved.high < 0  # balancing helped, though the outputs still amplify the balanced data
    grown = claims["mean growth with balancing"]
    assert grown.value == pytest.approx(means["outputs with balancing"])
    assert grown.low is not None
    assert grown.low > 0


def test_the_same_outputs_with_and_without_balancing_show_no_change() -> None:
    """Nothing moved, and the interval is not of width 0."""
    made = tied_outputs(3, 0.3)
    result = eh.audit_amplification(
        balanced(labels(1)), made, before=labels(1), without=made, match="all", **QUICK
    )
    moved = next(f.estimate for f in result.findings if f.estimate.measure == "mean tie of the outputs")
    assert moved.value == 0.0
    assert moved.low is not None
    assert moved.low < 0 < (moved.high or 0)


def test_outputs_without_balancing_need_the_data_before() -> None:
    """Sides come from there; counts say nothing of images."""
    with pytest.raises(eh.EvenhandError, match="without-before"):
        eh.audit_amplification(labels(1), labels(1), without=labels(1))
    counts = {"item": ["tie"], "man": [10], "woman": [10]}
    with pytest.raises(eh.EvenhandError, match="without-before"):
        eh.audit_amplification(counts, counts, before=counts, without=counts)


def test_filtered_rows_keep_their_columns_and_every_caption(tmp_path: Any) -> None:
    """Rows of a table with all columns as they were; captions with their image; a weight where rows have one."""
    import json

    rows = [
        {"image_id": f"im{k}", "caption": f"a {'man' if k % 3 else 'woman'} with a tie"} for k in range(30)
    ]
    (tmp_path / "captions.json").write_text(json.dumps([*rows, {**rows[0], "caption": "a woman and a tie"}]))
    made = eh.balance(
        str(tmp_path / "captions.json"), alpha=1, items=["tie"], rows=tmp_path / "kept.jsonl", min_support=1
    )
    lines = [json.loads(line) for line in (tmp_path / "kept.jsonl").read_text().splitlines()]
    assert {line["image_id"] for line in lines} == set(made.ids)
    assert all(set(line) == {"image_id", "caption"} for line in lines)
    table = {**labels(1), "photographer": np.arange(N)}
    eh.balance(table, alpha=2, weights=True, rows=tmp_path / "kept.csv")
    head = (tmp_path / "kept.csv").read_text().splitlines()[0]
    assert "photographer" in head
    assert "weight" in head
    with pytest.raises(eh.EvenhandError, match="unknown-format"):
        eh.balance(table, alpha=2, rows=tmp_path / "kept.parquet")

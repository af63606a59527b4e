"""The amplification audit as a user meets it: shapes of input, bad input, verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand._errors import EvenhandError
from evenhand.cli import run

QUICK: dict[str, Any] = {"draws": 200, "leakage": False}


def captions(
    n: int, seed: int, *, man: float, items: tuple[str, ...] = ("tie", "dog"), first: int = 0
) -> list[dict[str, Any]]:
    """`n` images with a caption that names man or woman, and an item tied to men with probability `man`."""
    rng = np.random.default_rng(seed)
    rows = []
    for k in range(n):
        item = items[int(rng.integers(len(items)))]
        who = "man" if rng.random() < (man if item == items[0] else 0.5) else "woman"
        rows.append({"image_id": first + k, "caption": f"a {who} with a {item} near a tree"})
    return rows


def values(result: eh.Result) -> dict[str, float | None]:
    """measure → value."""
    return {f.estimate.measure: f.estimate.value for f in result.findings}


def test_strong_amplification_is_a_disparity() -> None:
    """A model that ties ties to men far more than its data did is called a disparity, with an interval above zero."""
    result = eh.audit_amplification(
        captions(3000, 1, man=0.65), captions(3000, 2, man=0.95, first=10_000), items=["tie", "dog"], **QUICK
    )
    claim = next(f for f in result.findings if f.primary)
    assert claim.verdict == "disparity"
    assert claim.estimate.low is not None
    assert claim.estimate.low > 0.02


def test_outputs_less_tied_than_the_data_are_said_to_be_less_tied() -> None:
    """A tolerance has two sides: evening out by more than it is a change, and the sentence says which way."""
    result = eh.audit_amplification(
        captions(3000, 1, man=0.9), captions(3000, 2, man=0.5, first=10_000), items=["tie", "dog"], **QUICK
    )
    assert values(result)["mean bias amplification"] < -0.1  # type: ignore[operator]
    assert result.verdict == "disparity"
    said = next(f.because for f in result.primary if "mean bias" in f.estimate.measure)
    assert "less tightly than the data did, shown to be by more than 0.02" in said


def test_identical_outputs_give_exactly_zero_with_an_interval() -> None:
    """The very same captions amplify nothing: value 0, with the interval that so many images allow."""
    train = captions(400, 3, man=0.8)
    result = eh.audit_amplification(train, train, items=["tie", "dog"], **QUICK)
    for f in result.findings:
        if "amplification" in f.estimate.measure:
            assert f.estimate.value == 0.0, f.estimate
            assert f.estimate.low is None or -0.02 < f.estimate.low <= 0 < f.estimate.high < 0.02
    assert result.verdict == "within tolerance"
    items = [f for f in result.findings if f.family == "items"]
    assert {f.estimate.value for f in items} == {0.0}
    assert all(f.estimate.low < 0 < f.estimate.high for f in items)


def test_three_captions_conclude_nothing_and_say_why() -> None:
    """Too little data is inconclusive, with the reason, and no interval is made up."""
    texts = ["a man with a tie", "a woman with a tie", "a man with a dog"]
    result = eh.audit_amplification(texts, texts, items=["tie"], min_support=1, **QUICK)
    claim = next(f for f in result.findings if f.primary)
    assert claim.verdict == "inconclusive"
    assert "only 3 images" in str(claim.estimate.why_not)
    assert claim.estimate.low is None
    assert any(n.slug == "few-images" for n in result.notes)


def test_an_item_that_never_occurs_is_listed_and_counts_nowhere() -> None:
    """Unseen items are dropped with a reason; the mean is that of the others."""
    train, made = captions(500, 1, man=0.7), captions(500, 2, man=0.9, first=1000)
    with_it = eh.audit_amplification(train, made, items=["tie", "dog", "zeppelin"], **QUICK)
    without = eh.audit_amplification(train, made, items=["tie", "dog"], **QUICK)
    assert values(with_it)["mean bias amplification"] == values(without)["mean bias amplification"]
    dropped = list(with_it.exhibits["dropped"].rows())
    assert [d["item"] for d in dropped] == ["zeppelin"]
    assert "never mentioned" in str(dropped[0]["why"])


def test_group_words_are_no_synonyms_of_an_item() -> None:
    """COCO's person lists man and woman; an item named by a group word would be tied by definition."""
    items = {"person": ["man", "woman", "somebody"], "tie": []}
    result = eh.audit_amplification(
        [*captions(300, 1, man=0.7), {"image_id": 9999, "caption": "a man and a dog"}], items=items, **QUICK
    )
    assert list(dict.fromkeys(result.exhibits["tied items"].columns["item"])) == ["tie"]
    assert any(n.slug == "items-name-groups" and "person" in n.text for n in result.notes)


def test_an_item_that_outputs_never_mention_is_neither_zero_nor_minus_one() -> None:
    """An item of the training data without any output is listed apart."""
    train = captions(500, 1, man=0.7)
    made = [r for r in captions(500, 2, man=0.9, first=1000) if "tie" in r["caption"]]
    result = eh.audit_amplification(train, made, items=["tie", "dog"], **QUICK)
    assert list(result.exhibits["items"].columns["item"]) == ["tie", "tie"]
    assert "outputs" in str(next(iter(result.exhibits["dropped"].rows()))["why"])


def test_disjoint_images_are_compared_by_shares_and_noted() -> None:
    """Without a common image directional measures are not computed, and a note says what would help."""
    result = eh.audit_amplification(
        captions(300, 1, man=0.7), captions(300, 2, man=0.7, first=9000), items=["tie", "dog"], **QUICK
    )
    assert {"disjoint-images", "no-truth"} <= {n.slug for n in result.notes}
    assert "directional amplification T→A" not in values(result)


def test_an_output_that_names_nobody_is_not_perfect() -> None:
    """Silence gives no estimate, and coverage shows it."""
    made = [{"image_id": k, "caption": "a tie near a tree"} for k in range(300)]
    result = eh.audit_amplification(captions(300, 1, man=0.7), made, items=["tie", "dog"], **QUICK)
    assert result.verdict == "inconclusive"
    assert {f.verdict for f in result.findings if f.verdict} == {"inconclusive"}
    assert all(f.estimate.low is None for f in result.findings if f.verdict)
    shown = [
        r for r in result.exhibits["coverage"].rows() if r["corpus"] == "outputs" and r["names"] == "nobody"
    ]
    assert shown[0]["share"] == 1.0


def test_swapping_the_groups_flips_signs_and_nothing_else() -> None:
    """Everything that is signed by a group changes sign; everything else is equal."""
    train, made = captions(400, 1, man=0.7), captions(400, 2, man=0.8)
    words = {"man": ["man"], "woman": ["woman"]}
    one = eh.audit_amplification(train, made, groups=words, items=["tie", "dog"], **QUICK)
    two = eh.audit_amplification(
        train, made, groups={"woman": ["woman"], "man": ["man"]}, items=["tie", "dog"], **QUICK
    )
    for a, b in zip(one.findings, two.findings, strict=True):
        if a.family == "items":
            assert a.estimate.value == pytest.approx(-b.estimate.value, abs=1e-12)  # type: ignore[operator]
            assert a.estimate.low == pytest.approx(-b.estimate.high, abs=1e-12)  # type: ignore[operator]
        elif a.estimate.measure.startswith(("representation", "coverage gap")):
            assert a.estimate.value == pytest.approx(-b.estimate.value, abs=1e-12)  # type: ignore[operator]
            assert a.estimate.low == pytest.approx(-b.estimate.high, abs=1e-12)  # type: ignore[operator]
            assert a.verdict == b.verdict
        elif a.estimate.measure != "ratio gap":
            assert a.estimate.measure == b.estimate.measure
            assert a.estimate.value == pytest.approx(b.estimate.value, abs=1e-12)
            assert a.estimate.low == pytest.approx(b.estimate.low, abs=1e-12)
            assert a.verdict == b.verdict


def test_one_corpus_alone_is_described_and_not_judged() -> None:
    """`evenhand amplification CAPTIONS`: what is tied to whom, with intervals, and no verdict."""
    result = eh.audit_amplification(captions(500, 1, man=0.9), items=["tie", "dog"], **QUICK)
    assert result.verdict is None
    tied = {(r["item"], r["group"]) for r in result.exhibits["tied items"].rows()}
    assert ("tie", "man") in tied
    assert ("dog", "woman") in tied
    share = next(f.estimate for f in result.findings if f.estimate.group == "tie")
    assert share.low is not None
    assert share.low > 0


@pytest.mark.parametrize("rule", ["exactly-one", "any", "both"])
def test_captions_that_name_several_groups_follow_the_stated_rule(rule: str) -> None:
    """Left out, counted for each, or a group of their own; the number is always reported."""
    texts = ["a man with a tie"] * 40 + ["a woman with a tie"] * 20 + ["a man and a woman with a tie"] * 30
    result = eh.audit_amplification(texts, texts, items=["tie"], rule=rule, **QUICK)  # type: ignore[arg-type]
    counted = {r["group"]: r["count in training"] for r in result.exhibits["items"].rows()}
    expected = {
        "exactly-one": {"man": 40, "woman": 20},
        "any": {"man": 70, "woman": 50},
        "both": {"man": 40, "woman": 20, "several": 30},
    }
    assert counted == expected[rule]
    assert any(n.slug == "several-groups" and "30" in n.text for n in result.notes)


def test_captions_of_one_image_may_be_pooled() -> None:
    """pool="image" asks who any caption of the image names, and counts the image once."""
    rows = [
        {"image_id": k, "caption": c} for k in range(30) for c in ("a man outside", "somebody with a tie")
    ]
    rows += [
        {"image_id": 100 + k, "caption": "a woman with a tie" if k < 20 else "a woman"} for k in range(30)
    ]
    result = eh.audit_amplification(rows, items=["tie"], pool="image", **QUICK)
    row = next(r for r in result.exhibits["tied items"].rows())
    assert (row["group"], row["mentions"], row["of"]) == ("man", 30, 50)


def test_three_groups_are_compared_with_a_third_each() -> None:
    """More than two groups from the first day: every group has its own line."""
    rng = np.random.default_rng(0)
    words = {"cat": ["cat"], "dog": ["dog"], "bird": ["bird"]}
    train = [f"a {rng.choice(list(words))} by the sea" for _ in range(600)]
    made = [f"a {rng.choice(list(words), p=[0.8, 0.1, 0.1])} by the sea" for _ in range(600)]
    result = eh.audit_amplification(train, made, groups=words, items=["sea"], **QUICK)
    assert [f.estimate.measure for f in result.findings if f.family == "items"] == [
        "share of cat", "share of dog", "share of bird",
    ]  # fmt: skip
    changed = {f.estimate.measure: f.estimate.value for f in result.findings if f.family == "items"}
    assert changed["share of cat"] > 0.35  # type: ignore[operator]
    assert sum(v for v in changed.values() if v) == pytest.approx(0.0, abs=1e-12)


SHAPES: dict[str, Any] = {
    "coco": {
        "annotations": [
            {"image_id": k, "id": k, "caption": f"a {'man' if k % 2 else 'woman'} with a tie"}
            for k in range(40)
        ]
    },
    "records": [{"image_id": k, "caption": f"a {'man' if k % 2 else 'woman'} with a tie"} for k in range(40)],
    "mapping": {str(k): f"a {'man' if k % 2 else 'woman'} with a tie" for k in range(40)},
    "mapping of lists": {str(k): [f"a {'man' if k % 2 else 'woman'} with a tie"] for k in range(40)},
    "list": [f"a {'man' if k % 2 else 'woman'} with a tie" for k in range(40)],
    "karpathy": {
        "images": [
            {"cocoid": k, "sentences": [{"raw": f"a {'man' if k % 2 else 'woman'} with a tie"}]}
            for k in range(40)
        ]
    },
}


@pytest.mark.parametrize("shape", list(SHAPES))
def test_captions_are_read_in_every_published_shape(tmp_path: Path, shape: str) -> None:
    """The same captions give the same counts from Python objects and from JSON files."""
    path = tmp_path / "captions.json"
    path.write_text(json.dumps(SHAPES[shape]), encoding="utf-8")
    for source in (SHAPES[shape], path):
        result = eh.audit_amplification(source, items=["tie"], **QUICK)
        assert result.exhibits["coverage"].columns["rows"][:2] == [20, 20]


def test_captions_are_read_from_tables(tmp_path: Path) -> None:
    """JSON lines, CSV and Parquet give the same counts."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    rows = SHAPES["records"]
    table = pa.Table.from_pylist(rows)
    pyarrow.csv.write_csv(table, tmp_path / "c.csv")
    pyarrow.parquet.write_table(table, tmp_path / "c.parquet")
    (tmp_path / "c.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    for name in ("c.csv", "c.parquet", "c.jsonl"):
        result = eh.audit_amplification(tmp_path / name, items=["tie"], **QUICK)
        assert result.exhibits["coverage"].columns["rows"][:2] == [20, 20]


def test_label_tables_need_no_captions() -> None:
    """A group column and 0/1 item columns: items are found, ids pair the rows, directional measures appear."""
    rng = np.random.default_rng(0)
    n = 500
    sex = rng.choice(["F", "M"], n)
    truth = {
        "image_id": list(range(n)),
        "sex": sex.tolist(),
        "cooking": (rng.random(n) < np.where(sex == "F", 0.6, 0.3)).astype(int).tolist(),
    }
    made = {**truth, "cooking": (rng.random(n) < np.where(sex == "F", 0.9, 0.1)).astype(int).tolist()}
    result = eh.audit_amplification(truth, made, **QUICK)
    found = values(result)
    assert found["directional amplification A→T"] > 0.1  # type: ignore[operator]
    assert found["directional amplification T→A"] == pytest.approx(0.0, abs=1e-12)
    assert found["mean bias amplification"] > 0.1  # type: ignore[operator]


@pytest.mark.parametrize(
    ("arguments", "slug"),
    [
        ({"train": ["a tree", "a dog"]}, "no-group-named"),
        ({"train": ["a man with a tie"] * 20}, "one-group-named"),
        ({"train": {"annotation": [1, 2]}}, "json-shape"),
        ({"train": {"hello": {"a": 1}}}, "json-shape"),
        ({"train": [{"image_id": 1, "caption": 7}]}, "caption-not-text"),
        ({"train": ["a man", 3]}, "caption-not-text"),
        ({"train": []}, "empty-corpus"),
        ({"train": ["a man", "a woman"], "groups": {"a": ["man"], "b": ["man"]}}, "groups-overlap"),
        ({"train": ["a man", "a woman"], "groups": {"a": ["man"]}}, "one-group"),
        ({"train": ["a man", "a woman"], "groups": "women-snowbord"}, "unknown-groups"),
        ({"train": ["a man", "a woman"], "rule": "most"}, "unknown-rule"),
        ({"train": ["a man", "a woman"], "items": []}, "items"),
        ({"train": ["a man", "a woman"], "draws": 5}, "bad-draws"),
        ({"train": ["a man", "a woman"], "balance": 0.5}, "bad-alpha"),
        ({"train": ["a man", "a woman"], "truth": ["a man"]}, "truth-alone"),
        ({"train": {"sex": ["F", "M"], "x": [0, 2]}, "items": ["x"]}, "item-not-binary"),
        ({"train": {"sex": ["F", "M"], "x": [0.5, 1.0]}}, "no-items"),
        ({"train": {"sex": ["F", "M"], "x": [0, 1]}, "items": ["y"]}, "missing-column"),
        ({"train": {"image_id": [1, 1], "sex": ["F", "M"], "x": [0, 1]}}, "duplicate-ids"),
        ({"train": {"item": ["a"], "man": [3], "woman": [-1]}}, "bad-counts"),
        ({"train": {"x": [0, 1], "y": [1, 0]}}, "no-groups"),
        ({"train": ["a man", "a woman"], "outputs": {"sex": ["F", "M"], "x": [0, 1]}}, "truth-groups"),
        ({"train": ["a man", "a woman"], "outputs": {"item": ["x"], "man": [1], "woman": [2]}}, "mixed-kinds"),
        ({"train": {"sex": ["man", "woman"], "x": [0, 1]}, "outputs": ["a man"], "items": ["y"]}, "missing-column"),
        ({"train": ["a man", "a woman"], "tagger": "nowhere:tag"}, "unknown-tagger"),
    ],
)  # fmt: skip
def test_bad_input_gets_one_clear_message(arguments: dict[str, Any], slug: str) -> None:
    """What was given, what was expected: an error of the house, never a traceback from inside."""
    with pytest.raises(EvenhandError) as caught:
        eh.audit_amplification(**arguments)
    assert caught.value.slug == slug
    assert caught.value.exit_code == 2


def test_repeated_captions_of_an_image_are_counted_once_and_noted() -> None:
    """Duplicate rows do not add weight; COCO's own caption ids tell two annotators who wrote the same words apart."""
    rows = captions(100, 1, man=0.7)
    twice = eh.audit_amplification([*rows, *rows], items=["tie", "dog"], **QUICK)
    assert twice.counts["training rows"] == 100
    assert any(n.slug == "repeated-captions" for n in twice.notes)
    numbered = {"annotations": [{"id": k, **r} for k, r in enumerate([*rows, *rows])]}
    assert eh.audit_amplification(numbered, items=["tie", "dog"], **QUICK).counts["training rows"] == 200


def test_the_command_writes_the_report_and_repeats_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`evenhand amplification train outputs --out` writes result.json, estimates.csv, report.html and audit.toml."""
    for name, man in (("train", 0.6), ("made", 0.9)):
        (tmp_path / f"{name}.json").write_text(json.dumps(captions(300, 4, man=man)), encoding="utf-8")
    out = tmp_path / "out"
    code = run(
        ["amplification", str(tmp_path / "train.json"), str(tmp_path / "made.json"), "--item", "tie,dog", "--draws", "100",
         "--no-leakage", "--out", str(out)]
    )  # fmt: skip
    assert code == 0
    assert {p.name for p in out.iterdir()} == {"result.json", "estimates.csv", "report.html", "audit.toml"}
    first = eh.Result.from_json(out / "result.json")
    assert first.audit == "amplification"
    assert run(["run", str(out / "audit.toml")]) == 0
    assert eh.Result.from_json(out / "result.json").findings == first.findings
    capsys.readouterr()


def test_the_command_answers_bad_input_with_exit_code_two(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An unknown JSON shape names the keys that were expected."""
    path = tmp_path / "x.json"
    path.write_text('{"annotation": [1]}', encoding="utf-8")
    assert run(["amplification", str(path)]) == 2
    said = capsys.readouterr().err
    assert "annotations" in said
    assert "Traceback" not in said


def test_a_tolerance_for_a_measure_that_does_not_exist_is_refused() -> None:
    """A mapping with a misspelt measure says which measures there are, instead of judging nothing."""
    train, made = captions(200, 1, man=0.6), captions(200, 2, man=0.6, first=500)
    with pytest.raises(eh.EvenhandError, match="no measure of amplification") as caught:
        eh.audit_amplification(
            train, made, items=["tie", "dog"], tolerance={"mean amplification": 0.02}, **QUICK
        )
    assert caught.value.slug == "unknown-measure"
    assert "mean bias amplification" in str(caught.value)


def test_a_mapping_of_tolerances_judges_the_measures_that_it_names() -> None:
    """Each measure of the mapping is judged within its own tolerance, and no other is."""
    held = {"mean bias amplification": 0.3, "violations": 0.2}
    train, made = captions(300, 1, man=0.6), captions(300, 2, man=0.6, first=500)
    result = eh.audit_amplification(train, made, items=["tie", "dog"], tolerance=held, **QUICK)
    judged = {f.estimate.measure: f.tolerance for f in result.findings if f.verdict is not None}
    lowest = {"mean bias amplification": -0.3, "violations": -np.inf}
    assert judged == {f"{name} beyond its null": (lowest[name], bound) for name, bound in held.items()}


def test_a_published_value_that_the_choice_of_sides_moves_has_no_interval() -> None:
    """Nearly even items fall back by themselves: the published number is told without an interval and why, and the
    one beyond its null has it; p stands where the interval is about the same number."""
    rng = np.random.default_rng(0)

    def people(first: int) -> dict[str, Any]:
        table: dict[str, Any] = {
            "image_id": [f"im{first + k}" for k in range(400)],
            "gender": np.where(rng.random(400) < 0.5, "woman", "man"),
        }
        return table | {f"item{k}": (rng.random(400) < 0.1).astype(int) for k in range(20)}

    result = eh.audit_amplification(people(0), people(10_000), **QUICK)
    raw = next(f.estimate for f in result.findings if f.estimate.measure == "mean bias amplification")
    judged = next(
        f.estimate for f in result.findings if f.estimate.measure.startswith("mean bias amplification b")
    )
    assert raw.value is not None
    assert raw.value < 0
    assert (raw.low, raw.p_value) == (None, None)
    assert "choosing sides from the same data moves this value by" in (raw.why_not or "")
    assert judged.low is not None
    assert judged.p_value is not None
    assert judged.low < 0 < (judged.high or 0)


@pytest.mark.parametrize("said", ["a dog eats .", "a man holds a cake ."])
def test_outputs_of_images_without_a_known_group_are_an_audit_that_says_so(said: str) -> None:
    """The null of outcomes had none to draw, which ended as a defect of evenhand's own."""
    named = [
        {
            "image_id": f"i{k}",
            "caption": f"a {('woman', 'man')[k % 2]} holds a {('horse', 'cake')[k % 3 > 0]} .",
        }
        for k in range(60)
    ]
    train = [*named, {"image_id": "d", "caption": "a dog eats ."}]
    result = eh.audit_amplification(train, [{"image_id": "d", "caption": said}])
    assert result.answer.startswith("Nothing was judged")

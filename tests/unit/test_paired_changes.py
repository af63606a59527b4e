"""`compare` and `check --baseline`: what two audits of the same units share cancels in the change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand._changes import compare
from evenhand.cli import run


def decisions(seed: int, extra: float, n: int = 3000) -> tuple[eh.Result, eh.Result]:
    """Audits of two models on the same people: the second turns `extra` of the women down."""
    rng = np.random.default_rng(seed)
    sex, x = rng.choice(["F", "M"], n), rng.normal(size=n)
    first = (x > 0.3 - 0.2 * (sex == "M")).astype(int)
    second = np.where((sex == "F") & (rng.random(n) < extra), 0, first)
    ask: dict[str, Any] = {"groups": {"sex": sex}, "reference": "M", "positive": 1}
    one, two = (eh.audit_predictions(None, y_pred=p, **ask) for p in (first, second))
    return one, two


def scores(seed: int, shift: float, texts: int = 30, names: int = 40) -> list[dict[str, list[Any]]]:
    """Two models' scores of the same texts with the same names; the second moves one group by `shift`."""
    rng = np.random.default_rng(seed)
    group = np.repeat([0, 1], names)
    base = (
        rng.normal(0, 0.3, (texts, 1))
        + rng.normal(0, 0.05, 2 * names)
        + rng.normal(0, 0.05, (texts, 2 * names))
    )
    new = base + rng.normal(0, 0.01, (texts, 1)) + rng.normal(0, 0.01, 2 * names) + shift * (group == 0)
    columns = {
        "group": np.tile(np.where(group == 0, "b", "w"), texts).tolist(),
        "text": np.repeat([f"t{i}" for i in range(texts)], 2 * names).tolist(),
        "term": np.tile([f"n{i}" for i in range(2 * names)], texts).tolist(),
    }
    return [{"score": x.ravel().tolist(), **columns} for x in (base, new)]


ASK: dict[str, Any] = {
    "scores": "score",
    "groups": "group",
    "units": ["text", "term"],
    "reference": "w",
    "tolerance": 0.1,
}


def changed(old: eh.Result, new: eh.Result, measure: str) -> dict[str, Any]:
    return next(row for row in compare(old, new).rows() if row["measure"] == measure)


def test_a_change_between_two_models_on_the_same_people_is_known_ten_times_better() -> None:
    old, new = decisions(1, 0.03)
    row = changed(old, new, "disparate impact")
    assert row["paired"]
    assert row["changed"] == "less"
    apart = compare(old, decisions(2, 0.03)[1])  # other people
    independent = next(r for r in apart.rows() if r["measure"] == "disparate impact")
    assert not independent["paired"]
    width = row["change_high"] - row["change_low"]
    assert width < 0.2 * (independent["change_high"] - independent["change_low"])


def test_paired_intervals_of_people_hold() -> None:
    from scipy.stats import norm

    women, men = 1 - norm.cdf(0.3), 1 - norm.cdf(0.1)
    truth = women * 0.97 / men - women / men
    held = [changed(*decisions(seed, 0.03), "disparate impact") for seed in range(60)]
    assert (
        sum(r["change_low"] <= truth <= r["change_high"] for r in held) >= 52
    )  # of 60 at 95 %: less in 1 of 900


def test_paired_intervals_of_texts_and_names_hold() -> None:
    found = []
    for seed in range(40):
        old, new = (eh.audit_scores(rows, **ASK) for rows in scores(seed, -0.05))
        found.append(changed(old, new, "mean score"))
    assert all(r["paired"] for r in found)
    assert sum(r["change_low"] <= -0.05 <= r["change_high"] for r in found) >= 34
    assert max(r["change_high"] - r["change_low"] for r in found) < 0.03


def test_other_texts_or_names_are_not_paired() -> None:
    old, new = scores(1, -0.2)
    new = {**new, "term": [f"m{i[1:]}" for i in new["term"]]}
    one, two = (eh.audit_scores(rows, **ASK) for rows in (old, new))
    assert not changed(one, two, "mean score")["paired"]


def test_the_same_people_in_another_order_are_not_paired() -> None:
    rng = np.random.default_rng(5)
    sex, pred = rng.choice(["F", "M"], 800), rng.integers(0, 2, 800)
    ask: dict[str, Any] = {"reference": "M", "positive": 1}
    one = eh.audit_predictions(None, y_pred=pred, groups={"sex": sex}, **ask)
    two = eh.audit_predictions(None, y_pred=pred[::-1], groups={"sex": sex[::-1]}, **ask)
    assert not changed(one, two, "disparate impact")["paired"]


def test_the_order_of_rows_does_not_matter_where_units_have_names() -> None:
    old, new = scores(3, -0.2)
    turned = {name: column[::-1] for name, column in new.items()}
    results = [eh.audit_scores(rows, **ASK) for rows in (old, new, turned)]
    one, two = (changed(results[0], other, "mean score") for other in results[1:])
    assert one["paired"]
    assert two["paired"]
    assert (one["change_low"], one["change_high"]) == pytest.approx(
        (two["change_low"], two["change_high"]), rel=1e-5
    )


def test_a_gate_sees_a_small_growth_on_the_same_people(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Independent intervals would let it pass: it is within the error of either audit."""
    old, new = decisions(7, 0.05)
    old.to_json(tmp_path / "old.json")
    new.to_json(tmp_path / "new.json")
    assert run(["check", str(tmp_path / "new.json"), "--baseline", str(tmp_path / "old.json")]) == 1
    assert "grew by" in capsys.readouterr().out
    for path in tmp_path.iterdir():
        document = json.loads(path.read_text())
        document["provenance"].pop("shared")
        path.write_text(json.dumps(document))
    assert run(["check", str(tmp_path / "new.json"), "--baseline", str(tmp_path / "old.json")]) == 0


KEY = "disparate impact\tratio\tsex=F\tsex=M\t"


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"units": 3},
        {"units": {"row": {}}, "moves": {KEY: 1}},
        {"units": {"row": {"n": "x"}}, "moves": {KEY: {"row": ["a"]}}},
        {"units": {"row": {"n": 9}}, "moves": {KEY: {"row": [None] * 64}}},
        [],
        "x",
    ],
)
def test_a_record_that_was_meddled_with_is_not_paired(broken: Any) -> None:
    from dataclasses import replace

    old, new = decisions(1, 0.03, n=400)
    found = [replace(r, provenance={**r.provenance, "shared": broken}) for r in (old, new)]
    assert not changed(*found, "disparate impact")["paired"]


def test_intersections_that_share_no_attribute_are_not_compared() -> None:
    """Two cells, nobody beside either: it ended as a defect of evenhand's own."""
    rows = {"s": [0.1, 0.2, 0.3, 0.4], "g": list("aabb"), "h": list("xxyy"), "text": list("abab")}
    found = eh.audit_scores(rows, scores="s", groups="g*h", units="text", tolerance=0.1)
    assert any("more than one attribute" in note.text for note in found.notes)

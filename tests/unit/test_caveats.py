"""What stands under "Before you rely on this", and the hashes of the record."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np

import evenhand as eh
from evenhand._headline import answer_of
from evenhand.reports.caveats import ALWAYS, MOST, caveats


def told(result: eh.Result) -> list[str]:
    return [f"{bold} {more}" for bold, more in caveats(result, answer_of(result))]


def refused(share: float) -> eh.Result:
    """Scores of 400 replies, of which a share did not come."""
    rng = np.random.default_rng(0)
    score = rng.uniform(0, 1, 400)
    score[: int(400 * share)] = np.nan
    rows = {"score": list(score), "sex": list("FM") * 200, "text": [f"t{i // 2}" for i in range(400)]}
    return eh.audit_scores(rows, scores="score", groups="sex", units="text")


def test_missing_replies_come_with_their_worst_case_and_how_to_go_on() -> None:
    """5 % of replies on a scale of 1 move a mean by 0.05 at most; what the notes repeat is left out."""
    result = replace(refused(0.05), counts={"probes": 400, "failed": 20})
    first, *others = told(result)
    assert first.startswith("20 replies are missing (5\N{NO-BREAK SPACE}%).")
    bound = float(first.partition("would move by more than ")[2].split(". ")[0])
    assert 0.02 <= bound <= 0.05
    assert "“evenhand run audit.toml”" in first
    assert [line for line in others if "have no score" in line] == []
    assert others[-1] == " ".join(ALWAYS)
    assert len(others) < MOST


def test_an_audit_that_stopped_says_how_it_goes_on() -> None:
    """Nothing failed, and yet it is not whole."""
    first = told(replace(refused(0), complete=False))[0]
    assert first.startswith("The audit stopped early. “evenhand run audit.toml”")


def test_rows_without_a_group_are_told_once_with_what_is_made_of_them() -> None:
    """The note that they are left out would say the opposite of the one that intervals allow for them."""
    rng = np.random.default_rng(1)
    group = [None if i % 17 == 0 else "ab"[i % 2] for i in range(400)]
    rows = {"g": group, "p": ["yes" if x < 0.5 else "no" for x in rng.random(400)]}
    lines = told(eh.audit_predictions(rows, y_pred="p", groups="g", positive="yes"))
    (line,) = (line for line in lines if "24 of 400" in line)
    assert "allow for every group" in line


def test_a_tolerance_beyond_everything_that_was_found_is_named() -> None:
    """Within tolerance, and hardly anything could have failed: not a thing to rely on."""
    result = refused(0)
    wide = [
        replace(
            f,
            because=f.because
            + " That tolerance exceeds the whole flip rate, 1.0 %: this verdict says little.",
        )
        for f in result.findings
    ]
    assert any("too wide to say much by sex" in line for line in told(replace(result, findings=tuple(wide))))
    assert not any("too wide" in line for line in told(result))


def test_hashes_of_data_are_whole_and_say_their_algorithm(tmp_path: Path) -> None:
    """What stands in result.json is what `sha256sum` prints; the page shows it once, whole."""
    file = tmp_path / "rows.csv"
    file.write_text(
        "score,sex\n" + "".join(f"0.{i % 10},{'FM'[i % 2]}\n" for i in range(40)), encoding="utf-8"
    )
    result = eh.audit_scores(file, scores="score", groups="sex")
    expected = hashlib.sha256(file.read_bytes()).hexdigest()
    assert json.loads(result.to_json())["provenance"]["data"] == {"table": f"sha256:{expected}"}
    page = result.to_html()
    assert f"sha256 {expected}<" in page
    assert "first 16 digits" not in page


def test_results_with_hashes_of_16_digits_load_and_compare() -> None:
    """The same data under an old and a new record are the same data."""
    result = refused(0)
    whole = result.provenance["data"]["table"]
    short = {**result.provenance, "data": {"table": whole.removeprefix("sha256:")[:16]}}
    old = eh.Result.from_json(replace(result, provenance=short).to_json())
    assert "(first 16 digits)" in old.to_html()
    assert "Data, subject and protocol are recorded as the same" in eh.compare(old, result).note
    other = {**result.provenance, "data": {"table": "sha256:" + "0" * 64}}
    assert "Different: data" in eh.compare(old, replace(result, provenance=other)).note


def test_tolerances_that_nobody_declared_are_named_and_said_to_be_usual(tmp_path: Path) -> None:
    """Of predictions as of texts; not where one was declared."""
    rng = np.random.default_rng(0)
    rows = {"y": rng.integers(0, 2, 400), "p": rng.integers(0, 2, 400), "sex": rng.choice(["F", "M"], 400)}
    call = {"y_true": "y", "y_pred": "p", "groups": "sex", "positive": 1}
    usual = eh.audit_predictions(rows, **call)
    (note,) = [note for note in usual.notes if note.slug == "default-tolerance"]
    assert "disparate impact 0.8 to 1.25; true positive rate −0.1 to 0.1" in note.text
    assert "The tolerance is a default." in usual.to_html()
    own = eh.audit_predictions(rows, **call, tolerance={"disparate impact": 0.9})
    assert not [note for note in own.notes if note.slug == "default-tolerance"]
    assert "The tolerance is a default." not in own.to_html()


def test_of_many_groups_the_one_that_a_sentence_names_is_in_view() -> None:
    """Forty groups: of every fact the first row is the group that departs most, up or down."""
    rng = np.random.default_rng(1)
    group = np.repeat(np.arange(40), 60)
    p = rng.normal(size=2400) + 0.9 * (group == 37) + 0.02 * rng.normal(size=40)[group]
    result = eh.audit_predictions({"p": p, "g": [f"town {k:02d}" for k in group]}, y_pred="p", groups="g")
    found = re.findall(r'<h3>(.*?)</h3>.*?<div class="forest">(.*?)<details>', result.to_html(), re.DOTALL)
    assert len(found) >= 4
    for sentence, rows in found:
        shown = re.findall(r"<bdi>(town \d\d)</bdi>", rows)
        assert len(shown) == 14
        if "the largest of" in sentence or "widest" not in sentence:
            assert shown[0].lower() in sentence.lower()

"""Results: their JSON, table, verdicts, comparison and merging."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import evenhand as eh
from evenhand._changes import compare, merge
from evenhand._errors import DataError, UsageError
from evenhand._model import Estimate, Exhibit, Finding
from evenhand._record import TABLE, Note
from evenhand._result import Result
from evenhand.reports import REPORTS, render


def finding(
    group: str = "race=b", value: float | None = 0.1, verdict: Any = "inconclusive", **more: Any
) -> Finding:
    estimate = Estimate(
        measure="mean score",
        contrast="difference",
        group=group,
        reference="race=a",
        value=value,
        low=None if value is None else value - 0.05,
        high=None if value is None else value + 0.05,
        n=10,
        units={"text": 5, "term": 3},
    )
    return Finding(estimate=estimate, tolerance=(-0.1, 0.1), verdict=verdict, **more)


def result(*findings: Finding, **more: Any) -> Result:
    return Result(audit="text", title="t", findings=findings, **more)


def test_json_round_trip_gives_back_an_equal_result() -> None:
    """Everything that a result holds survives its JSON, whatever number types and containers it was made from."""
    made = result(
        finding(rests_on="one name", detectable=0.2, family="race"),
        replace(finding(value=None), tolerance=(-math.inf, 0.1)),
        exhibits={
            "z": Exhibit(
                title="é\u202e",
                columns={"b": np.array([1.5, np.nan]), "a": ("x", None)},
                encode={"rules": (0.8,)},
            ),
            "a": Exhibit(title="second", columns={}),
        },
        notes=(Note(slug="s", level="warning", text="w"),),
        counts={"probes": np.int64(4)},
        provenance={
            "call": {"f": math.sqrt, "path": Path("a/b"), "x": float("inf")},
            "seeds": (1, 2),
            "set": {3, 1},
        },
        complete=False,
    )
    back = Result.from_json(made.to_json())
    assert back == made
    assert list(back.exhibits) == ["z", "a"]
    assert list(back.exhibits["z"].columns) == ["b", "a"]
    assert back.exhibits["z"].columns["b"] == [1.5, None]
    assert back.findings[1].tolerance == (-math.inf, 0.1)
    assert back.provenance["call"] == {"f": "math:sqrt", "path": "a/b", "x": None}


def test_json_is_strict_and_the_same_for_the_same_result() -> None:
    """No NaN or infinity is written, and the order in which provenance was gathered does not show."""
    one = result(finding(), provenance={"a": 1, "b": {"x": math.nan, "y": 2}})
    two = result(finding(), provenance={"b": {"y": 2, "x": math.nan}, "a": 1})
    assert one.to_json() == two.to_json()
    json.loads(one.to_json(), parse_constant=pytest.fail)


def test_a_file_is_replaced_whole_and_read_back(tmp_path: Path) -> None:
    """to_json writes UTF-8 that from_json reads from the file and from its folder, and leaves no draft behind."""
    made = result(finding(because="naïve 𝄞 \ud800"))
    path = tmp_path / "out" / "result.json"
    made.to_json(path)
    made.to_json(path)
    assert Result.from_json(path) == Result.from_json(str(path.parent)) == Result.from_json(made.to_json())
    assert [p.name for p in path.parent.iterdir()] == ["result.json"]


def test_a_failed_write_keeps_the_older_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk is one clear error, and the result of the last run stays as it was."""
    path = tmp_path / "result.json"
    path.write_text("old")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(DataError, match="No space left"):
        result().to_json(path)
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def damaged(**changes: Any) -> dict[str, Any]:
    doc: dict[str, Any] = json.loads(
        result(finding(), exhibits={"e": Exhibit(title="t", columns={"a": [1]})}).to_json()
    )
    doc.update(changes)
    return doc


@pytest.mark.parametrize(
    ("source", "slug"),
    [
        (result(finding()).to_json()[:-40], "result-not-json"),
        ('{"a": NaN}', "result-foreign"),
        ('{"schema": "other/1"}', "result-foreign"),
        ({}, "result-foreign"),
        (damaged(schema="evenhand-result/3"), "result-newer"),
        (damaged(schema="evenhand-result/x"), "result-foreign"),
        (damaged(findings=[{}]), "result-foreign"),
        (damaged(findings={}), "result-foreign"),
        (damaged(audit="Weather"), "result-foreign"),
        (damaged(counts={"a": True}), "result-foreign"),
        (damaged(complete=1), "result-foreign"),
        (damaged(exhibits={"e": {"title": "t", "note": "", "chart": "pie", "encode": {}, "columns": {}}}), "result-foreign"),
        (
            damaged(exhibits={"e": {"title": "t", "note": "", "chart": "none", "encode": {}, "columns": {"a": [1], "b": []}}}),
            "result-foreign",
        ),
        ("{" * 100_000, "result-"),
        ('{"a":' * 100_000, "result-"),
    ],
)  # fmt: skip
def test_what_is_not_a_result_is_one_clear_error(source: Any, slug: str) -> None:
    """Cut, foreign, damaged and newer JSON each raise a DataError that says what is wrong."""
    with pytest.raises(DataError) as caught:
        Result.from_json(source)
    assert caught.value.slug.startswith(slug)
    assert "Traceback" not in str(caught.value)


@pytest.mark.parametrize("field", ["value", "verdict", "units", "tolerance", "n"])
def test_each_field_of_a_finding_is_checked(field: str) -> None:
    """A field of the wrong type is named in the error."""
    doc = damaged()
    doc["findings"][0][field] = "wrong"
    with pytest.raises(DataError, match=field):
        Result.from_json(doc)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """The path that does not exist is in the message; a binary file is called foreign."""
    with pytest.raises(DataError, match="nowhere"):
        Result.from_json(tmp_path / "nowhere.json")
    (tmp_path / "b").write_bytes(b"\xff\xfe\x00{")
    with pytest.raises(DataError, match="UTF-8"):
        Result.from_json(tmp_path / "b")


def test_fields_of_later_minor_versions_are_ignored() -> None:
    """Unknown fields do not stop an older evenhand, since fields may be added within a version."""
    doc = damaged(extra=1)
    doc["findings"][0]["extra"] = [1]
    assert len(Result.from_json(doc).findings) == 1


def test_the_verdict_is_the_worst_one() -> None:
    """One disparity outweighs any number of others; descriptive findings do not count."""
    fine, unsure, bad, plain = (
        finding(verdict=v) for v in ("within tolerance", "inconclusive", "disparity", None)
    )
    assert result(fine, unsure, bad, plain).verdict == "disparity"
    assert result(fine, unsure, plain).verdict == "inconclusive"
    assert result(fine, plain).verdict == "within tolerance"
    assert result(plain).verdict is None
    assert result(fine, fine, bad, plain).verdicts == {
        "disparity": 1,
        "gap": 0,
        "inconclusive": 0,
        "within tolerance": 2,
    }


def test_the_table_has_the_same_types_with_and_without_rows() -> None:
    """Column names, order and types never depend on the findings."""
    empty, full = result().table(), result(finding(), finding(value=None)).table()
    assert empty.schema == full.schema
    assert empty.column_names == list(TABLE)
    assert empty.schema.field("n_units").type == pa.int64()
    row = full.to_pylist()[0]
    assert (row["value"], row["n_units"], row["tolerance_low"], row["verdict"]) == (
        0.1,
        3,
        -0.1,
        "inconclusive",
    )
    assert full.to_pylist()[1]["value"] is None
    assert full.to_pylist()[1]["why_not"] == "undefined for these data"


def test_an_open_side_of_a_tolerance_is_null_in_the_table() -> None:
    """An infinite bound is an empty cell, never an infinity."""
    row = result(replace(finding(), tolerance=(0.8, math.inf))).table().to_pylist()[0]
    assert (row["tolerance_low"], row["tolerance_high"]) == (0.8, None)


def test_tables_leave_as_pandas_and_polars() -> None:
    """Both frames hold the rows of the Arrow table."""
    made = result(finding(), finding("race=c", value=None))
    assert made.to_pandas()["group"].tolist() == ["race=b", "race=c"]
    assert made.to_polars()["value"].to_list() == [0.1, None]


def test_compare_matches_findings_by_what_they_compare() -> None:
    """Changed, new and vanished findings are told apart, the worse ones first."""
    old = result(finding("x", 0.1, "within tolerance"), finding("gone"), finding("y", 0.5, "disparity"))
    new = result(finding("y", 0.1, "within tolerance"), finding("fresh"), finding("x", 0.4, "disparity"))
    rows = list(compare(old, new).rows())
    assert [(r["group"], r["status"]) for r in rows] == [
        ("x", "worse"),
        ("fresh", "new"),
        ("gone", "vanished"),
        ("y", "better"),
    ]
    assert rows[0]["change"] == pytest.approx(0.3)
    assert (rows[0]["changed"], rows[1]["changed"]) == ("more", None)
    assert rows[2]["new_value"] is None


def test_a_change_has_the_interval_of_two_independent_audits() -> None:
    """Arms add as squares; a change whose interval holds none is not settled; other kinds are refused."""
    old, new = result(finding("x", 0.1)), result(finding("x", 0.2))
    (row,) = compare(old, new).rows()
    a, b = old.findings[0].estimate, new.findings[0].estimate
    down = ((b.value - b.low) ** 2 + (a.high - a.value) ** 2) ** 0.5  # type: ignore[operator]
    assert row["change_low"] == pytest.approx(0.1 - down)
    assert (row["changed"] == "not settled") is (down >= 0.1)
    assert compare(old, old).note.startswith("1 same verdict. ")
    with pytest.raises(UsageError, match="compare-kinds"):
        compare(old, Result(audit="attack" if old.audit != "attack" else "text", title="t"))


def test_what_differs_between_two_audits_is_said() -> None:
    """Data, subject and protocol, as far as they are recorded."""
    one = result(finding(), provenance={"data": {"a": "1"}, "subject": "m 1", "call": {"x": 1}})
    two = result(finding(), provenance={"data": {"a": "1"}, "subject": "m 2", "call": {"x": 1}})
    assert compare(one, two).note.endswith("Different: subject. Same: data, protocol.")
    assert compare(one, one).note.endswith("Data, subject and protocol are recorded as the same.")


def test_compare_keeps_repeated_findings_apart() -> None:
    """Two findings of the same comparison are matched in order, none is lost."""
    old, new = result(finding(value=0.1), finding(value=0.2)), result(finding(value=0.1), finding(value=0.3))
    changes = compare(old, new).columns["change"]
    assert changes == [pytest.approx(0.0), pytest.approx(0.1)]


def test_merge_joins_everything_and_says_so() -> None:
    """Findings and counts add up, exhibits of one name are both kept, and one incomplete part makes the whole so."""
    exhibit = Exhibit(title="e", columns={"a": [1]})
    one = result(finding("x"), exhibits={"s": exhibit}, counts={"probes": 2}, provenance={"seed": 1})
    two = result(finding("y"), exhibits={"s": exhibit}, counts={"probes": 3, "failed": 1}, complete=False)
    whole = merge([one, two])
    assert [f.estimate.group for f in whole.findings] == ["x", "y"]
    assert list(whole.exhibits) == ["s", "s (2)"]
    assert whole.counts == {"probes": 5, "failed": 1}
    assert not whole.complete
    assert whole.provenance == {"parts": [{"seed": 1}, {}]}
    assert "adjusted within each part" in whole.notes[-1].text
    assert merge([one]).notes == ()


def test_merge_refuses_what_does_not_belong_together() -> None:
    """Nothing, or audits of different kinds, cannot be merged."""
    with pytest.raises(UsageError):
        merge([])
    with pytest.raises(UsageError, match="scores, text"):
        merge([result(), replace(result(), audit="scores")])


@pytest.mark.parametrize("name", ["", "Weather", "toxic replies", "a--b", "-a", "a-", "<b>", "a\n"])
def test_a_kind_of_audit_is_a_slug(name: str) -> None:
    """Every report names the kind, so what is no plain name is refused at the door."""
    with pytest.raises(UsageError, match="unknown-audit"):
        Result(audit=name, title="t")


def test_an_audit_of_the_user_s_own_is_kept_and_shown_like_any_other(tmp_path: Path) -> None:
    """A kind that evenhand does not know comes back from JSON, and every report renders and names it."""
    made = replace(result(finding()), audit="toxic-replies")
    made.to_json(tmp_path / "result.json")
    assert eh.Result.from_json(tmp_path / "result.json") == made
    assert "Audit: toxic replies" in made.to_html()
    assert "toxic replies audit by evenhand" in made.to_markdown()
    assert "toxic replies audit" in render(made, "terminal")
    for name in REPORTS:
        assert render(made, name)


def test_repr_is_short_and_shows_no_control_characters() -> None:
    """A prompt shows title, headline and the worst findings on clean lines, and counts the rest."""
    made = result(*[finding(f"g{i}\x1b[2J\u202e") for i in range(40)], finding("bad", 0.4, "disparity"))
    text = repr(made)
    assert text.splitlines()[2].split()[:2] == ["disparity", "bad"]
    assert "and 29 more" in text
    assert not {"\x1b", "\u202e"} & set(text)
    assert len(text.splitlines()) < 20


def test_notebook_html_escapes_and_needs_no_exhibits() -> None:
    """The notebook view is a fragment without script in which audited text stays text."""
    made = result(finding("<script>alert(1)</script>"))
    html = made._repr_html_()
    assert "<script" not in html
    assert "&lt;script&gt;" in html


def test_importing_results_imports_nothing_heavy() -> None:
    """pyarrow, rich, jinja2 and pandas wait until they are used."""
    code = "import sys, evenhand._result; print([m for m in ('pyarrow','rich','jinja2','pandas','polars') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

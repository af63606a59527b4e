"""Recorded scores: what a call tells of itself, and columns with the names of roles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand._analysis import Analysis
from evenhand._errors import UsageError
from evenhand._model import Exhibit


def scores(n: int = 40) -> dict[str, list[Any]]:
    """n texts, each scored for both sexes."""
    rng = np.random.default_rng(8)
    return {
        "text": np.repeat(np.arange(n), 2).tolist(),
        "sex": ["F", "M"] * n,
        "score": rng.normal(size=2 * n).tolist(),
        "w": rng.uniform(1, 2, size=2 * n).tolist(),
    }


def test_a_call_tells_its_weight_and_threshold() -> None:
    """Every argument that changes a number is in the provenance; the data are there as a digest only."""
    result = eh.audit_scores(
        scores(), scores="score", groups="sex", units="text", weight="w", threshold=0.5, tolerance=0.1
    )
    told = result.provenance["call"]["arguments"]
    assert (told["weight"], told["threshold"]) == ("w", 0.5)
    assert (told["scores"], told["groups"], told["units"]) == (["score"], ["sex"], ["text"])
    assert "data" not in told


def test_a_score_may_be_called_label() -> None:
    """A score called `label` is no column of true labels: no AUC is made of it."""
    rows = scores()
    rows["label"] = rows.pop("score")
    result = eh.audit_scores(rows, scores="label", groups="sex", units="text", tolerance=0.1)
    assert not [f for f in result.findings if f.family == "identity AUC"]
    assert result.findings[0].estimate.measure == "mean label"


def test_bounds_of_a_tolerance_may_come_as_a_list() -> None:
    """A file of settings has lists, no tuples; bounds in the wrong order, or one of them, are refused."""
    roles: dict[str, Any] = {"scores": "score", "groups": "sex", "units": "text"}
    result = eh.audit_scores(scores(), **roles, tolerance=[-0.1, 0.2])
    assert result.findings[0].tolerance == (-0.1, 0.2)
    for wrong in ([0.2, -0.1], [0.1]):
        with pytest.raises(UsageError, match="bad-tolerance"):
            eh.audit_scores(scores(), **roles, tolerance=wrong)


def test_an_exhibit_without_rows_is_not_shown() -> None:
    """An empty table says nothing; those with rows keep the order of the report."""
    analysis = Analysis()
    empty, full = Exhibit.of("none", []), Exhibit.of("some", [{"n": 1}])
    analysis.show({"first": full, "nothing": empty, "second": full})
    assert list(analysis.result(audit="own", title="t", counts={}, provenance={}).exhibits) == [
        "first",
        "second",
    ]


def test_what_carries_one_group_is_not_said_of_the_others() -> None:
    """Fifteen texts of one word in twelve make its gap; all others are held against it, and say nothing."""
    rng = np.random.default_rng(0)
    score = 0.3 + 0.001 * rng.normal(size=(500, 12))
    score[:15, 0] += 0.5
    rows = {
        "score": score.ravel(),
        "group": np.tile([f"w{i}" for i in range(12)], 500),
        "text": np.repeat(np.arange(500), 12).astype(str),
    }
    result = eh.audit_scores(rows, scores="score", groups="group", units="text")
    told = [f.estimate.group for f in result.findings if f.rests_on and not f.primary]
    assert told == ["group=w0"]


def test_the_pair_of_the_widest_gap_is_judged_once() -> None:
    """Of four groups the widest gap is primary, and its pair described; the other five pairs are judged."""
    rng = np.random.default_rng(0)
    group = np.tile(np.repeat(list("abcd"), 8), 30)
    rows = {
        "score": 0.3 + 0.3 * (group == "c") + 0.02 * rng.normal(size=len(group)),
        "group": group,
        "text": np.repeat(np.arange(30), 32).astype(str),
        "name": np.tile(np.arange(32), 30).astype(str),
    }
    result = eh.audit_scores(rows, scores="score", groups="group", units=["text", "name"])
    (head,) = result.primary
    pairs = [f for f in result.findings if f.family == "group"]
    same = [
        f
        for f in pairs
        if {f.estimate.group, f.estimate.reference} == {head.estimate.group, head.estimate.reference}
    ]
    assert (len(pairs), len(same)) == (6, 1)
    assert same[0].verdict is None
    assert abs(same[0].estimate.value or 0.0) == pytest.approx(abs(head.estimate.value or 0.0))
    assert [f.verdict for f in pairs].count("disparity") == 2


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e12])
def test_an_offset_changes_no_verdict(offset: float) -> None:
    """Scores around 1e12 with a standard deviation of 1 are known to 1e-4: the same interval, the same verdict."""
    rng = np.random.default_rng(1)
    group = np.tile(np.repeat(list("ab"), 20), 40)
    score = 0.6 * (group == "a") + np.tile(0.3 * rng.normal(size=40), 40) + rng.normal(size=1600)
    rows = {
        "group": group,
        "text": np.repeat(np.arange(40), 40).astype(str),
        "name": np.tile(np.arange(40), 40).astype(str),
    }

    def audited(values: np.ndarray) -> eh.Finding:
        return eh.audit_scores(
            {**rows, "score": values}, scores="score", groups="group", units=["text", "name"], tolerance=0.1
        ).primary[0]

    plain, found = audited(score).estimate, audited(score + offset)
    assert found.verdict == "disparity"
    assert (found.estimate.low, found.estimate.high) == pytest.approx((plain.low, plain.high), abs=1e-4)


def test_scores_below_their_precision_are_no_evidence() -> None:
    """Around 1e15 numbers are an eighth apart: a spread of a few of them shows nothing."""
    rng = np.random.default_rng(1)
    rows = {
        "score": 1e15 + rng.normal(size=200),
        "group": np.tile(list("ab"), 100),
        "row": np.arange(200).astype(str),
    }
    (found,) = eh.audit_scores(rows, scores="score", groups="group", units="row", tolerance=0.1).primary
    assert found.verdict == "inconclusive"
    assert "precision" in found.because


def test_a_claim_within_a_stratum_is_about_the_rows_of_the_stratum() -> None:
    """Value, interval and count of each stratum are those of an audit of its rows alone, and differ."""
    rng = np.random.default_rng(0)
    text, term = (a.ravel() for a in np.meshgrid(np.arange(30), np.arange(16), indexing="ij"))
    mood = np.array(["bad", "fair", "good"])[text % 3]
    score = 0.2 * (term % 2) * (text % 3) + rng.normal(size=len(text)) * 0.1
    rows = {
        "score": score,
        "group": np.where(term % 2 == 1, "a", "b"),
        "text": text.astype(str),
        "term": term.astype(str),
        "mood": mood,
    }
    asked = {"scores": "score", "groups": "group", "units": ["text", "term"], "tolerance": 0.1}
    whole = eh.audit_scores(rows, strata="mood", **asked)
    within = {f.estimate.given: f.estimate for f in whole.findings if f.family == "group by mood"}
    assert len(within) == 3
    for name in ("bad", "fair", "good"):
        alone = eh.audit_scores({k: v[mood == name] for k, v in rows.items()}, **asked)
        (own,) = [f.estimate for f in alone.primary]
        found = within[f"mood={name}"]
        assert (found.value, found.low, found.high, found.n) == (own.value, own.low, own.high, own.n)
    assert abs(within["mood=good"].value or 0) == pytest.approx(0.4, abs=0.05)
    assert within["mood=bad"].value == pytest.approx(0.0, abs=0.06)

"""Replies that never came: outcomes of their own, bounds that "within tolerance" must survive, and gates that fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand._errors import SubjectError
from evenhand._result import Result
from evenhand.cli import run
from evenhand.stats.worst_case import slack_of

RNG = np.random.default_rng(0)


def rows(
    groups: int = 2, *, lost: float, of: str = "g0", scale: float = 1.0, seed: int = 0
) -> dict[str, Any]:
    """10 names a group × 30 texts, scores near the middle of [0, scale]; a share of one group's is missing."""
    rng = np.random.default_rng(seed)
    names = 10 * groups
    group = np.tile(np.repeat([f"g{i}" for i in range(groups)], 10), 30)
    score = scale * (0.5 + 0.02 * rng.normal(size=30 * names))
    gone = (group == of) & (rng.random(len(group)) < lost)
    return {
        "score": np.where(gone, np.nan, score),
        "group": group,
        "text": np.repeat(np.arange(30), names).astype(str),
        "name": np.tile(np.arange(names), 30).astype(str),
    }


def audited(table: dict[str, Any], **more: Any) -> Result:
    return eh.audit_scores(
        table, scores="score", groups="group", units=["text", "name"], **{"tolerance": 0.1, **more}
    )


def missing(result: Result) -> list[eh.Finding]:
    return [f for f in result.findings if f.family == "group, missing replies"]


@pytest.mark.parametrize("groups", [2, 3])
def test_within_tolerance_survives_the_worst_case_or_is_not_said(groups: int) -> None:
    """Complete replies and two per cent missing are within ±.1; half of one group's missing are not."""
    assert audited(rows(groups, lost=0.0)).verdict == "within tolerance"
    assert audited(rows(groups, lost=0.02)).verdict == "within tolerance"
    half = audited(rows(groups, lost=0.5))
    assert half.verdict == "inconclusive"
    assert "Replies are missing" in half.primary[0].because
    assert "with any scores from 0 to 1 in their place the gap lies between" in half.primary[0].because


def test_the_bounds_are_those_of_the_worst_replies() -> None:
    """Filling in 0, or 1, gives the ends of the exhibit and of the sentence."""
    table = rows(lost=0.3)
    shown = list(audited(table).exhibits["missing replies by group"].rows())
    for fill, name in ((0.0, "lowest mean"), (1.0, "highest mean")):
        filled = {**table, "score": np.where(np.isnan(table["score"]), fill, table["score"])}
        means = [float(np.mean(filled["score"][table["group"] == g])) for g in ("g0", "g1")]
        assert [row[name] for row in shown] == pytest.approx(means)
    shares, means = [row["share"] for row in shown], [row["mean of the others"] for row in shown]
    down, up = slack_of((means[0], means[1]), (shares[0], shares[1]), (0.0, 1.0))
    lowest, highest = [row["lowest mean"] for row in shown], [row["highest mean"] for row in shown]
    assert means[0] - means[1] - down == pytest.approx(lowest[0] - highest[1])
    assert means[0] - means[1] + up == pytest.approx(highest[0] - lowest[1])


def test_unbounded_scores_are_bounded_by_what_was_seen_and_say_so() -> None:
    """Scores from 460 to 540: the range is that of the replies, and named."""
    said = audited(rows(lost=0.5, scale=1000.0), tolerance=20).primary[0].because
    assert "with any scores from 4" in said
    assert "to 5" in said


def test_missing_replies_are_an_outcome_of_their_own() -> None:
    """A share of .4 in one group is a disparity of missing replies, secondary; equal shares are none."""
    (found,) = missing(audited(rows(lost=0.4)))
    assert (found.verdict, found.primary) == ("disparity", False)
    assert found.estimate.measure == "share of score missing"
    assert found.estimate.value == pytest.approx(0.4, abs=0.07)
    alike = rows(lost=0.0)
    alike["score"] = np.where(RNG.random(600) < 0.3, np.nan, alike["score"])
    assert {f.verdict for f in missing(audited(alike))} <= {"inconclusive", "within tolerance"}
    assert missing(audited(rows(lost=0.0))) == []


def test_a_group_without_any_reply_has_a_share_of_one() -> None:
    """Nothing can be said of its mean, everything of its silence."""
    result = audited(rows(lost=1.0, of="g1"))
    (found,) = missing(result)
    assert found.estimate.value == pytest.approx(-1.0)
    assert result.verdict == "disparity"


def test_failures_of_a_live_subject_are_claimed_by_group() -> None:
    """A service that refuses men: its scores are even, its refusals are not."""
    men = set(eh.terms("names/freakonomics").where(gender="male").terms)

    def refuses(texts: list[str]) -> list[float | None]:
        return [None if t.split()[0] in men and len(t) % 2 else 0.3 + 0.001 * (len(t) % 7) for t in texts]

    nouns = ("keys", "dog", "way", "hat", "map", "shoe", "bag", "ring", "sister", "mind")
    texts = [f"Arthur {verb} his {noun}." for verb in ("lost", "found", "wanted", "left") for noun in nouns]
    result = eh.audit_text(refuses, texts, terms="names/freakonomics", replace="Arthur", control=False)
    (found,) = [f for f in result.findings if f.family == "gender, missing replies"]
    assert abs(found.estimate.value or 0.0) > 0.3
    assert found.verdict in ("disparity", "gap")
    assert result.verdict != "within tolerance"


def test_nothing_judged_and_nothing_answered_are_no_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`check` exits 1 and says so; a live subject that never answers is an error."""
    table = rows(lost=0.0)
    empty = audited({**table, "score": np.full(600, np.nan)})
    empty.to_json(tmp_path / "result.json")
    assert run(["check", str(tmp_path / "result.json")]) == 1
    assert "nothing" in "".join(capsys.readouterr()).lower()

    def silent(texts: list[str]) -> list[float | None]:
        return [None] * len(texts)

    with pytest.raises(SubjectError, match="answered nothing"):
        eh.audit_text(silent, ["Arthur left."], terms="names/weat-gender", replace="Arthur")

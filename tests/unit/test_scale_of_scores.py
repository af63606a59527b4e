"""A tolerance is in units of the score: where the scale is unknown it is asked for, not guessed."""

from __future__ import annotations

import pytest

import evenhand as eh
from evenhand._errors import UsageError

ROWS = {
    "score": [610.0, 655.0, 700.0, 640.0, 598.0, 671.0, 633.0, 702.0],
    "sex": list("FFFFMMMM"),
    "text": list("abcdabcd"),
    "name": list("stuvwxyz"),
    "round": list("12121212"),
}


def test_a_credit_score_needs_a_tolerance() -> None:
    with pytest.raises(UsageError, match="598 to 702") as raised:
        eh.audit_scores(ROWS, scores="score", groups="sex", units="text")
    assert raised.value.slug == "bad-tolerance"
    result = eh.audit_scores(ROWS, scores="score", groups="sex", units="text", tolerance=20)
    assert {f.tolerance for f in result.primary} == {(-20.0, 20.0)}


def test_a_share_has_a_default() -> None:
    rows = {**ROWS, "score": [value / 1000 for value in ROWS["score"]]}
    result = eh.audit_scores(rows, scores="score", groups="sex", units="text")
    assert {f.tolerance for f in result.primary} == {(-0.1, 0.1)}


def test_a_third_unit_is_not_dropped_in_silence() -> None:
    with pytest.raises(UsageError, match="text, name, round"):
        eh.audit_scores(ROWS, scores="score", groups="sex", units=["text", "name", "round"], tolerance=20)

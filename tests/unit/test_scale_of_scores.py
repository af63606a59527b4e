"""A tolerance is in units of the score: where the scale is unknown it is asked for, not guessed."""

from __future__ import annotations

from pathlib import Path

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


def rating(texts: list[str]) -> list[float]:
    """Stars from 1 to 5, as a model might give them."""
    ASKED.extend(texts)
    return [1.0 + sum(map(ord, text)) % 40 / 10 for text in texts]


ASKED: list[str] = []
TEXTS = [f"Arthur lost his {x}." for x in ("keys", "dog", "way", "hat", "map")]
LIVE = {"terms": "names/weat-gender", "replace": "Arthur", "control": False}


def test_a_live_audit_asks_for_a_tolerance_after_one_probe() -> None:
    """Stars leave [−1, 1]: one text was paid for, not eighty; with a tolerance there is a verdict."""
    ASKED.clear()
    with pytest.raises(UsageError, match="scale of its own") as raised:
        eh.audit_text(rating, TEXTS, **LIVE)
    assert (raised.value.slug, len(ASKED)) == ("bad-tolerance", 1)
    assert {f.tolerance for f in eh.audit_text(rating, TEXTS, **LIVE, tolerance=0.5).primary} == {(-0.5, 0.5)}


def test_a_declared_range_is_looked_at_before_anything_is_asked() -> None:
    """A subject that says it gives 0 to 100 is asked nothing; one that says 0 to 1 needs no probe of its own."""
    calls: list[int] = []

    def share(texts: list[str]) -> list[float]:
        calls.append(len(texts))
        return [len(text) / 100 for text in texts]

    share.score_range = (0.0, 100.0)  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="0 to 100"):
        eh.audit_text(share, TEXTS, **LIVE)
    assert calls == []
    share.score_range = (0.0, 1.0)  # type: ignore[attr-defined]
    result = eh.audit_text(share, TEXTS, **LIVE)
    assert calls[0] == 80
    assert "default-tolerance" in {note.slug for note in result.notes}


def late(texts: list[str]) -> list[float]:
    """In [0, 1] for all texts but those about a map."""
    ASKED.extend(texts)
    return [3.0 if "map" in text else 0.5 for text in texts]


def test_what_is_seen_late_loses_no_reply(tmp_path: Path) -> None:
    """Without a journal nothing is judged, and that is said; with one, the next call asks nothing again."""
    result = eh.audit_text(late, TEXTS, **LIVE)
    assert "no-tolerance" in {note.slug for note in result.notes}
    assert {f.verdict for f in result.findings} == {None}
    assert (result.verdict, result.primary) == (None, ())
    ASKED.clear()
    model = eh.subject(late, id="late")  # what it counts is no state of a model
    with pytest.raises(UsageError, match="scale of its own"):
        eh.audit_text(model, TEXTS, **LIVE, journal=tmp_path / "j")
    paid = len(ASKED)
    eh.audit_text(model, TEXTS, **LIVE, journal=tmp_path / "j", tolerance=0.5)
    assert len(ASKED) - paid <= 80 - 79 + 16  # the words of the list alone
    assert len(set(ASKED)) == len(ASKED)

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

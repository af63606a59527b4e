"""Names and levels are the user's own: "=" and "&" in them change nothing but the text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand._errors import UsageError


def people(rename: dict[str, str], n: int = 240) -> dict[str, list[Any]]:
    """Predictions of n people by sex and race; `rename` changes the names of columns."""
    rng = np.random.default_rng(3)
    rows: dict[str, Any] = {
        "sex": np.tile(["0", "1"], n // 2),
        "race": np.resize(["x", "y", "z"], n),
        "p": rng.normal(size=n),
        "y": rng.normal(size=n),
    }
    return {rename.get(k, k): v.tolist() for k, v in rows.items()}


def values(result: eh.Result) -> list[tuple[str, float | None]]:
    """Measure and value of every finding."""
    return [(f.estimate.measure, f.estimate.value) for f in result.findings]


@pytest.mark.parametrize("name", ["sex=F", "R & D", "sex & race", "a=b & c=d", "="])
def test_a_column_may_have_any_name(name: str) -> None:
    """The findings of an audit by a column called `sex=F` are those of the same column called `sex`."""
    plain = eh.audit_predictions(people({}), y_pred="p", y_true="y", groups="sex", reference="1")
    odd = eh.audit_predictions(people({"sex": name}), y_pred="p", y_true="y", groups=name, reference="1")
    assert values(odd) == values(plain)
    assert {f.estimate.reference for f in odd.findings if f.verdict} == {f"{name}=1"}
    assert odd.findings[0].because == plain.findings[0].because
    again = eh.audit_predictions(people({"sex": name}), y_pred="p", groups=name, reference=f"{name}=1")
    assert again.findings[0].estimate.reference == f"{name}=1"


def test_a_column_named_like_a_crossing_is_none() -> None:
    """`R & D` beside `race` makes one crossing, and no phantom worst subgroup (bug B5: 38 findings, not 34)."""
    roles: dict[str, Any] = {"y_pred": "p", "y_true": "y", "intersections": True}
    plain = eh.audit_predictions(people({}), groups=["sex", "race"], **roles)
    odd = eh.audit_predictions(people({"sex": "R & D"}), groups=["R & D", "race"], **roles)
    assert len(odd.findings) == len(plain.findings)
    assert not [f for f in odd.findings if f.family == "R & D, worst subgroup"]


@pytest.mark.parametrize("level", ["Black & White", "a=b", "x & y=z"])
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_a_level_may_hold_any_sign(level: str, task: str) -> None:
    """A level `Black & White` keeps its place in the table of intersections (bug B5: the table vanished)."""
    rows = people({})
    rows["race"] = [level if v == "x" else v for v in rows["race"]]
    if task == "classification":
        rows["p"] = [int(v > 0) for v in rows["p"]]
    result = eh.audit_predictions(rows, y_pred="p", groups=["sex", "race"], intersections=True)
    shown = result.exhibits["intersections of sex & race"].columns
    assert len(shown["sex"]) == 6
    assert set(shown["race"]) == {level, "y", "z"}
    assert set(shown["sex"]) == {"0", "1"}


def test_a_reference_that_is_no_group_is_offered_the_levels() -> None:
    """The message lists what may be named (bug B1: it offered `F=0`)."""
    with pytest.raises(UsageError, match="unknown-group") as caught:
        eh.audit_predictions(people({"sex": "sex=F"}), y_pred="p", groups="sex=F", reference="2")
    assert "F=0" not in str(caught.value)
    assert "0, 1" in str(caught.value)

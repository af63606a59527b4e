"""A result tells the call that made it."""

from __future__ import annotations

import inspect

import pytest

import evenhand as eh
from evenhand._provenance import provenance, tells_its_call


@tells_its_call("data")
def door(data: list[int], *, level: float = 0.95, of: str | None = None, way: str = "a-b") -> eh.Result:
    """A door of an audit."""
    return eh.Result(audit="text", title="t", provenance=provenance(door, {"way": f"resolved {way}"}))


def test_a_call_is_told_with_its_defaults_and_without_its_data() -> None:
    """None is left out; what the door resolved itself stands instead of what was passed."""
    told = door([1, 2], way="c-d").provenance["call"]
    assert told == {"function": "evenhand.door", "arguments": {"level": 0.95, "way": "resolved c-d"}}
    assert list(inspect.signature(door).parameters) == ["data", "level", "of", "way"]


def test_leaving_out_what_is_no_parameter_is_a_mistake() -> None:
    """A parameter that was renamed cannot slip into the record unseen."""
    with pytest.raises(TypeError, match="gone"):
        tells_its_call("gone")(door)

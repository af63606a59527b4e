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


def test_every_setting_of_a_predictions_audit_is_told() -> None:
    """Also those that only some audits use; data are told by their digest, arrays by the role they play."""
    rows = {"p": [1.0, 2.0, 3.0, 4.0], "lo": [0.0] * 4, "hi": [5.0] * 4, "g": list("abab")}
    found = eh.audit_predictions(
        rows, y_pred="p", groups={"side": rows["g"]}, interval=("lo", "hi"), suggest_threshold=True
    )
    told = found.provenance["call"]["arguments"]
    without = {"data", "progress", "y_true", "y_score", "weight", "count", "lists", "features", "positive"}
    without |= {"published", "period", "top", "probabilities", "model", "engine"}
    assert set(told) == set(inspect.signature(eh.audit_predictions).parameters) - without - {"law", "pinball"}
    assert (told["interval"], told["suggest_threshold"], told["task"]) == (["lo", "hi"], True, "regression")
    assert told["groups"] == ["side"]


def test_a_digest_is_of_what_a_table_holds_however_it_is_cut() -> None:
    """Chunks and dictionaries make no difference; a missing value is no empty one, and none moves."""
    import pyarrow as pa

    from evenhand._provenance import digest_of

    whole = pa.table({"x": [1.5, None, 3.0], "s": ["a", None, ""], "l": [[1], [2, 3], None]})
    cut = pa.concat_tables([whole.slice(0, 1), whole.slice(1, 2)])
    assert digest_of(None, whole) == digest_of(None, cut)
    assert digest_of(None, whole.slice(1)) == digest_of(None, cut.slice(1))
    other = [{"s": ["a", "", None]}, {"s": ["a", None, "b"]}, {"s": ["a", "b", ""]}, {"s": ["ab", "", ""]}]
    digests = [digest_of(None, pa.table(columns)) for columns in other]
    assert len(set(digests)) == len(digests)
    texts = pa.array(["a", "b", "a"])
    assert digest_of(None, pa.table({"s": texts})) == digest_of(
        None, pa.table({"s": texts.dictionary_encode()})
    )

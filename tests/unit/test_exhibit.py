"""A table that travels with a result can be made row by row."""

from __future__ import annotations

from evenhand import Exhibit


def test_columns_come_in_order_of_first_appearance_and_a_missing_cell_is_none() -> None:
    """Rows may have different keys; nothing is lost and nothing is made up."""
    made = Exhibit.of(
        "sizes", ({"group": "F"}, {"n": 3, "group": "M"}), note="n", chart="bars", encode={"x": "n"}
    )
    assert made == Exhibit(
        title="sizes",
        columns={"group": ["F", "M"], "n": [None, 3]},
        note="n",
        chart="bars",
        encode={"x": "n"},
    )


def test_named_columns_fix_the_order_and_stand_without_rows() -> None:
    """An exhibit of nothing still says what it would have shown."""
    rows = [{"a": 1, "left out": 2, "b": 3}]
    assert list(Exhibit.of("t", rows, columns=["b", "a"]).columns.items()) == [("b", [3]), ("a", [1])]
    assert dict(Exhibit.of("t", [], columns=["b", "a"]).columns) == {"b": [], "a": []}

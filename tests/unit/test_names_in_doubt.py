"""A name that may be a word there, or somebody else's: flagged, through the command line's tables and the grid."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import evenhand as eh

DOUBTFUL = [
    ("Mark my words: Mark will win.", "Mark", "the name, or the word"),
    ("It is late. Will you come, Will?", "Will", "the name, or the word"),
    ("Mary met Mary at the bar.", "Mary", "two people of one name"),
    ("The team chose Mary's cousin Mary for it.", "Mary", "two people of one name"),
]
CLEAR = [
    ("Mark is my friend.", "Mark"),
    ("Will will go, and Will stays.", "Will"),
    ("Mary came. Mary saw.", "Mary"),
    ("Mary, Mary, quite contrary.", "Mary"),
    ("Yesterday Mark the baker came.", "Mark"),
    ("John my friend came.", "John"),
]


def flags(text: str, name: str, *, column: bool) -> str:
    """What the table of flags says of the only text; its name in a column, or one name for all texts."""
    texts: Any = pa.table({"text": [text], "who": [name]}) if column else [text]
    where: dict[str, Any] = {"text_column": "text", "person_column": "who"} if column else {"replace": name}
    scored = eh.audit_text(
        lambda asked: [len(each) / 1000 for each in asked],
        texts,
        terms="names/freakonomics",
        groups="race",
        **where,
    )
    table = scored.exhibits.get("flags")
    return "" if table is None else str(list(table.rows()))


@pytest.mark.parametrize("column", [False, True])
@pytest.mark.parametrize(("text", "name", "why"), DOUBTFUL)
def test_what_may_not_be_the_person_is_flagged(text: str, name: str, why: str, column: bool) -> None:
    assert why in flags(text, name, column=column)
    assert any(why in said for said in eh.rewrite(text, replace=name, name="Molly").flags)


@pytest.mark.parametrize("column", [False, True])
@pytest.mark.parametrize(("text", "name"), CLEAR)
def test_what_is_the_person_is_not(text: str, name: str, column: bool) -> None:
    said = flags(text, name, column=column)
    assert "the name, or" not in said
    assert "two people" not in said

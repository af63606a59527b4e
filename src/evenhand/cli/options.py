"""Options that several commands share, and the small readings of their values."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from evenhand._errors import UsageError

out_option: TypeAlias = Annotated[
    Path | None, typer.Option("--out", help="Folder for result.json, estimates.csv, report.html.")
]
tolerance_option: TypeAlias = Annotated[
    float, typer.Option("--tolerance", help="Largest gap that counts as even-handed, declared beforehand.")
]
level_option: TypeAlias = Annotated[float, typer.Option("--level", help="Of the intervals, e.g. 0.95.")]


def named_levels(values: Sequence[str] | None, attributes: Sequence[str]) -> dict[str, str] | None:
    """``["race=white", "M"]`` as attribute → level; a bare level belongs to the only attribute.

    >>> named_levels(["M"], ["sex"]), named_levels(["race=white"], ["sex", "race"])
    ({'sex': 'M'}, {'race': 'white'})
    """
    if not values:
        return None
    found = {}
    for value in values:
        name, equals, level = value.partition("=")
        if equals and name in attributes:
            found[name] = level
        elif len(attributes) == 1:
            found[attributes[0]] = value
        else:
            raise UsageError(
                "reference",
                "with several attributes a reference names its own",
                given=value,
                expected="ATTRIBUTE=GROUP",
                available=list(attributes),
            )
    return found


def key_values(values: Sequence[str] | None, what: str = "--option") -> dict[str, Any]:
    """``["model=x", "temperature=0"]`` as a mapping; numbers, true, false and JSON are read as such.

    >>> key_values(["model=small", "temperature=0.5"])
    {'model': 'small', 'temperature': 0.5}
    """
    found: dict[str, Any] = {}
    for value in values or []:
        name, equals, text = value.partition("=")
        if not equals or not name:
            raise UsageError("option", f"{what} is written NAME=VALUE", given=value)
        try:
            found[name] = json.loads(text)
        except ValueError:
            found[name] = text
    return found

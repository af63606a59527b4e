"""Options that several commands share, each declared once, and the small readings of their values.

A command's parameters carry the names of the audit's keywords; tests/contracts/test_command_line_contract.py
holds defaults and help against the audit's signature and docstring. The help is the first sentence of the
keyword's entry there; what only the command line needs to say follows.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from typer import Option

from evenhand._errors import UsageError
from evenhand._labels import named_level

Subject: TypeAlias = Annotated[str, Option(help="A name of `evenhand list subjects`, or module:attr.")]
SubjectOptions: TypeAlias = Annotated[
    list[str] | None, Option("--option", help="NAME=VALUE for the subject; may be repeated.")
]
Texts: TypeAlias = Annotated[str, Option(help="A file (txt, csv, jsonl, parquet, toml) or a shipped name.")]
TextColumn: TypeAlias = Annotated[str | None, Option(help="Column with the texts, where they are a table.")]
Groups: TypeAlias = Annotated[
    list[str], Option("--group", help="Columns with the groups; each is a family of claims. May be repeated.")
]
Reference: TypeAlias = Annotated[
    list[str] | None,
    Option(
        help="The group that the others are held against; all pairs by default. GROUP, or ATTRIBUTE=GROUP;"
        " may be repeated."
    ),
]
Strata: TypeAlias = Annotated[str | None, Option(help="Column that classes the texts, e.g. by sentiment.")]
Weight: TypeAlias = Annotated[str | None, Option(help="Column with case weights.")]
Threshold: TypeAlias = Annotated[
    float | None, Option(help="Score from which a reply counts as positive, for measures of label changes.")
]
Classes: TypeAlias = Annotated[
    list[str] | None,
    Option(
        "--class",
        help="Scores that are the chances of all classes, for measures of label changes. May be repeated.",
    ),
]
Tolerance: TypeAlias = Annotated[
    float | None,
    Option(
        help="Largest difference of means that counts as even-handed, declared beforehand. By default 0.1"
        " for scores in [-1, 1]; scores on another scale need one."
    ),
]
Primary: TypeAlias = Annotated[
    list[str] | None,
    Option(
        help="Names of the claims that make the headline; by default a rule of the audit chooses them. May be"
        " repeated."
    ),
]
Alternative: TypeAlias = Annotated[
    str,
    Option(
        help="Which direction of mean gaps is looked for, declared beforehand: two-sided, or whether"
        " others are greater, or less, than their reference."
    ),
]
Level: TypeAlias = Annotated[float, Option(help="Confidence level of the intervals.")]
Correction: TypeAlias = Annotated[
    str, Option(help="Adjustment of p-values: single-step, holm, bh or none. Verdicts follow the intervals.")
]
Seed: TypeAlias = Annotated[int, Option(help="Seed of everything random.")]
Repeats: TypeAlias = Annotated[
    int, Option(help="Identical calls on purpose, for subjects that answer differently each time.", min=1)
]
BatchSize: TypeAlias = Annotated[int, Option(help="Inputs in one call of the subject.", min=1)]
Budget: TypeAlias = Annotated[int | None, Option(help="Most inputs to ask.", min=0)]
Rate: TypeAlias = Annotated[float | None, Option(help="Most inputs a second.")]
Price: TypeAlias = Annotated[float | None, Option(help="Money for one call.")]
PricePer100: TypeAlias = Annotated[
    float | None, Option("--price-per-100-characters", help="Money for each 100 characters begun.")
]
MinSimilarity: TypeAlias = Annotated[float, Option(help="Least cosine with the word.")]
MinGain: TypeAlias = Annotated[float, Option(help="Least change along the direction, in spreads.")]
Vocabulary: TypeAlias = Annotated[
    int | None, Option("--vocabulary", help="Only the first words of the file.")
]
FoldCase: TypeAlias = Annotated[bool, Option("--fold-case", help="Lower-case the words.")]
Journal: TypeAlias = Annotated[
    Path | None,
    Option(help="File with replies that arrived earlier; they are not asked again. By default in --out."),
]
SubjectVersion: TypeAlias = Annotated[
    str | None, Option(help="Version of the model, where its id does not say it.")
]
Rescore: TypeAlias = Annotated[
    bool, Option("--rescore", help="Ask nothing: read the answers in the journal again.")
]
NoCache: TypeAlias = Annotated[bool, Option("--no-cache", help="Keep and reuse no replies.")]
Engine: TypeAlias = Annotated[
    str | None, Option(help="Where the rows are summarised: local, daft, ray or ray://host:port.")
]
AskingEngine: TypeAlias = Annotated[
    str | None,
    Option(
        help="Where the subject is asked: local, ray or ray://host:port. Workers make it themselves, so it"
        " must have a name, and keep what arrives in the one journal."
    ),
]
Out: TypeAlias = Annotated[
    Path | None, Option(help="Folder for result.json, estimates.csv, report.html, audit.toml.")
]


def named_levels(values: Sequence[str] | None, attributes: Sequence[str]) -> dict[str, str] | None:
    """``["race=white", "M"]`` as attribute → level; a bare level belongs to the only attribute.

    >>> named_levels(["M"], ["sex"]), named_levels(["race=white"], ["sex", "race"])
    ({'sex': 'M'}, {'race': 'white'})
    """
    if not values:
        return None
    found = {}
    for value in values:
        named = named_level(value, attributes) or ((attributes[0], value) if len(attributes) == 1 else None)
        if named is None:
            raise UsageError(
                "reference",
                "with several attributes a reference names its own",
                given=value,
                expected="ATTRIBUTE=GROUP",
                available=list(attributes),
            )
        found[named[0]] = named[1]
    return found


def tolerances(values: Sequence[str], example: str) -> dict[str, Any]:
    """``["disparate impact=0.8"]`` as measure → tolerance.

    >>> tolerances(["RMSE=0.9"], "RMSE=0.9")
    {'RMSE': 0.9}
    """
    found = key_values(values, "--tolerance")
    for name, value in found.items():
        if not isinstance(value, int | float | list) or isinstance(value, bool):
            raise UsageError(
                "bad-tolerance", "a tolerance is a number", given=f"{name}={value}", expected=example
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

"""A blind sheet for people: which flips kept the meaning? Direction and placebos are mixed and unnamed.

A flip is sensitivity, not error: ugly → unattractive *is* less abusive. The adjusted rate counts valid flips
only.
"""

from __future__ import annotations

import os
from collections import Counter

import numpy as np

from evenhand._errors import DataError, UsageError
from evenhand._model import Exhibit, Scalar
from evenhand._result import Result
from evenhand._table import read_table, text_column, write_csv
from evenhand.stats.rates import wilson

YES = frozenset({"yes", "y", "1", "true", "ja", "x"})
NO = frozenset({"no", "n", "0", "false", "nein"})
_RISKY = ("=", "+", "-", "@", "\t", "\r")


def write_sheet(
    result: Result, sheet: str | os.PathLike[str], key: str | os.PathLike[str], *, seed: int = 0
) -> int:
    """Write the pairs that a person judges, in random order, and the key to them; the number of rows.

    Raises:
        UsageError: `no-flips`: the result holds no pairs to judge.
    """
    exhibit = result.exhibits.get("pairs to judge")
    if exhibit is None or not len(exhibit):
        raise UsageError("no-flips", "this result holds no flips that could be judged", given=result.title)
    rows = list(exhibit.rows())
    order = np.random.default_rng(seed).permutation(len(rows)).tolist()
    mixed = [rows[i] for i in order]
    ids = [f"p{i + 1}" for i in range(len(mixed))]
    texts = {name: [_safe(r[name]) for r in mixed] for name in ("before", "after")}
    write_csv(sheet, {"id": ids, **texts, "same_meaning": [""] * len(mixed)})
    write_csv(key, {"id": ids} | {name: [str(r[name]) for r in mixed] for name in ("kind", "direction")})
    return len(mixed)


def adjusted(result: Result, sheet: str | os.PathLike[str], key: str | os.PathLike[str]) -> Exhibit:
    """Per direction and for the placebos together: the share of flips that people found valid, and the flip
    rate times it.

    Raises:
        DataError: `annotation-answers`: answers that are neither yes nor no, or ids that do not match.
    """
    answers, names = read_table(sheet), read_table(key)
    kinds = dict(zip(text_column(names, "id"), text_column(names, "direction"), strict=True))
    placebo = {
        i for i, k in zip(text_column(names, "id"), text_column(names, "kind"), strict=True) if k == "placebo"
    }
    valid: Counter[str] = Counter()
    judged: Counter[str] = Counter()
    for i, answer in zip(text_column(answers, "id"), text_column(answers, "same_meaning"), strict=True):
        if i not in kinds:
            raise DataError("annotation-answers", "this id is not in the key", given=i)
        said = (answer or "").strip().lower()
        if not said:
            continue
        if said not in YES | NO:
            raise DataError(
                "annotation-answers",
                "an answer is neither yes nor no",
                given=f"{i}: {answer}",
                available=["yes", "no"],
            )
        group = "placebos" if i in placebo else str(kinds[i])
        judged[group] += 1
        valid[group] += said in YES
    if not judged:
        raise DataError("annotation-answers", "no row of the sheet has an answer yet", given=str(sheet))
    rates = _rates(result)
    rows: list[dict[str, Scalar]] = []
    for group, n in judged.items():
        share, rate = wilson(valid[group], n), rates.get(group)
        row: dict[str, Scalar] = {"direction": group, "judged": n, "valid": valid[group]}
        row |= {"share valid": share.value, "low": share.low, "high": share.high, "flip rate": rate}
        kept = None if rate is None or share.value is None else rate * share.value
        rows.append(row | {"adjusted flip rate": kept})
    return Exhibit.of("Flips that kept the meaning", rows)


def _rates(result: Result) -> dict[str, float]:
    found: dict[str, float] = {}
    for row in result.exhibits["flips"].rows() if "flips" in result.exhibits else ():
        name, rate = str(row["direction"]), row["flip rate"]
        if row["words"] == "all words" and isinstance(rate, float):
            found["placebos" if name.startswith("placebos of ") else name] = rate
    return found


def _safe(value: Scalar) -> str:
    """A cell that a spreadsheet would run as a formula begins with an apostrophe."""
    text = str(value or "")
    return f"'{text}" if text.startswith(_RISKY) else text

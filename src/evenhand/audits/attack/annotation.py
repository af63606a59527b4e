"""A blind sheet for people: which flips kept the meaning? Direction and placebos are mixed and unnamed.

A flip is sensitivity, not error: ugly → unattractive *is* less abusive. The valid-flip rate counts only flips
whose text reads well and deserves its old label.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import TypeAlias

import numpy as np

from evenhand._errors import DataError, UsageError
from evenhand._model import Exhibit, Scalar
from evenhand._result import Result
from evenhand._table import read_table, text_column, write_csv
from evenhand.stats.rates import wilson

YES = frozenset({"yes", "y", "1", "true", "ja", "x"})
NO = frozenset({"no", "n", "0", "false", "nein"})
PLACEBOS = "placebos"
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
    """Per direction and for the placebos together: the share of flips that people found valid, and the
    valid-flip rate, which is the flip rate times it.

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
        group = PLACEBOS if i in placebo else str(kinds[i])
        judged[group] += 1
        valid[group] += said in YES
    if not judged:
        raise DataError("annotation-answers", "no row of the sheet has an answer yet", given=str(sheet))
    rates = _rates(result)
    rows: list[dict[str, Scalar]] = []
    for group, n in sorted(judged.items(), key=lambda item: item[0] == PLACEBOS):
        share, (rate, low, high) = wilson(valid[group], n), rates.get(group, (None, None, None))
        row: dict[str, Scalar] = {"direction": group, "judged": n, "valid": valid[group]}
        row |= {"share valid": share.value, "low": share.low, "high": share.high, "flip rate": rate}
        row |= dict.fromkeys(("valid-flip rate", "valid low", "valid high"), None)
        if None not in (rate, low, high, share.value, share.low, share.high):
            people = share.value, share.low, share.high
            made = product_of((rate, low, high), people)  # type: ignore[arg-type]
            row |= dict(zip(("valid-flip rate", "valid low", "valid high"), made, strict=True))
        rows.append(row)
    return Exhibit.of(
        "Valid flips: the text reads well and deserves its old label",
        rows,
        note="Valid-flip rate: of the alterable texts, flips times the share that people found valid; its"
        " interval joins those of both (MOVER). Of placebos their mean rate and the middle 95 %.",
    )


Known: TypeAlias = tuple[float, float, float]
"""A value and the ends of its interval."""


def product_of(one: Known, other: Known) -> Known:
    """The product of two independent rates with its interval, from those of both.

    Each end is off by the root of the squared distances that each rate alone would bring (MOVER; Zou & Donner
    2008).

    >>> [round(x, 3) for x in product_of((0.2, 0.1, 0.3), (0.5, 0.4, 0.7))]
    [0.1, 0.046, 0.164]
    >>> [round(x, 3) for x in product_of((0.2, 0.1, 0.3), (0.0, 0.0, 0.5))]
    [0.0, 0.0, 0.15]
    """
    (p, p_low, p_high), (q, q_low, q_high) = one, other
    down = float(np.hypot(q * (p - p_low), p * (q - q_low)))
    up = float(np.hypot(q * (p_high - p), p * (q_high - q)))
    if not p * q:  # at zero the joint distance vanishes, the uncertainty does not
        up = p_high * q_high
    return p * q, max(0.0, p * q - down), min(1.0, p * q + up)


def headline(found: Exhibit) -> str:
    """What people's judgement makes of the attack, in one sentence.

    >>> row = {"direction": "woman-man", "valid-flip rate": 0.041, "valid low": 0.02, "valid high": 0.07}
    >>> headline(Exhibit.of("Valid flips", [row]))
    'Valid flips, of the alterable texts: woman-man 4.1 % (2.0 to 7.0).'
    """
    parts = [
        f"{row['direction']} {100 * rate:.1f} % ({100 * low:.1f} to {100 * high:.1f})"
        for row in found.rows()
        if isinstance(rate := row["valid-flip rate"], float)
        and isinstance(low := row["valid low"], float)
        and isinstance(high := row["valid high"], float)
    ]
    return f"Valid flips, of the alterable texts: {'; '.join(parts) or 'nothing can be said'}."


def _rates(result: Result) -> dict[str, tuple[float, float, float]]:
    """Direction → flip rate over alterable texts, with its ends."""
    found: dict[str, tuple[float, float, float]] = {}
    for row in result.exhibits["flips"].rows() if "flips" in result.exhibits else ():
        name, known = str(row["direction"]), tuple(row[k] for k in ("flip rate", "low", "high"))
        if row["words"] == "all words" and all(isinstance(k, float) for k in known):
            found[PLACEBOS if name.startswith("placebos of ") else name] = known  # type: ignore[assignment]
    return found


def _safe(value: Scalar) -> str:
    """A cell that a spreadsheet would run as a formula begins with an apostrophe."""
    text = str(value or "")
    return f"'{text}" if text.startswith(_RISKY) else text

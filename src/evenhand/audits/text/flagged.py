"""What the flagged texts do to the estimates: each gap with them and without them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from evenhand._analysis import Analysis
from evenhand._compare import evidence_of
from evenhand._estimate import Evidence
from evenhand._model import BoolArray, Exhibit, Observations, Scalar
from evenhand.audits.scores.claims import mean_claim, samples_of, sides_compared
from evenhand.audits.scores.sides import Question


def without_flagged(
    observations: Observations, asked: Question, evidence: Mapping[str, Sequence[Evidence]], part: str
) -> list[Mapping[str, Scalar]]:
    """One row a compared pair: the gap over all texts, and over those of which no version is flagged.

    Args:
        asked: the question of one part. evidence: attribute → evidence of its pairs. part: its name.
    """
    kept = _unflagged(observations, part)
    if kept is None:
        return []
    rows: list[Mapping[str, Scalar]] = []
    for attribute in asked.attributes:
        for item in evidence.get(attribute, ()):
            a, b = (side.within(kept) for side in sides_compared(item))
            told = {"comparison": f"{item.estimate.group} − {item.estimate.reference}"}
            both = {**told, **_ends(item, "all texts")}
            if a.n and b.n:
                over = samples_of(observations, asked, (a, b), Analysis(), attribute)
                claim = mean_claim(observations, asked, (a, b), over)
                both |= _ends(evidence_of(claim, a, b, level=asked.declared.level), "without flagged")
            rows.append(both)
    return rows


def _ends(item: Evidence, what: str) -> dict[str, Scalar]:
    e = item.estimate
    return {what: e.value, f"{what}, low": e.low, f"{what}, high": e.high, f"{what}, rows": e.n}


def _unflagged(observations: Observations, part: str) -> BoolArray | None:
    """Rows of texts of which no version is flagged; None where none is."""
    flags, texts = observations.units.get("flag"), observations.units["text"]
    category = observations.units.get("category")
    if flags is None:
        return None
    mine = np.ones(len(texts.codes), dtype=np.bool_) if category is None else category.is_level(part)
    doubtful = np.unique(texts.codes[mine & (flags.codes >= 0)])
    return None if not len(doubtful) else ~np.isin(texts.codes, doubtful)


def flagged_exhibit(rows: Sequence[Mapping[str, Scalar]]) -> Exhibit:
    """The rows of every part as a table."""
    return Exhibit.of(
        "With and without flagged texts",
        rows,
        note="Texts of which some version is flagged, left out whole. Verdicts rest on all texts that were"
        " asked; flagged=drop (--flagged drop) leaves these out.",
    )

"""The worst examples (the same text for two people, and how differently it was scored), doubtful texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

from evenhand._analysis import Analysis
from evenhand._estimate import Evidence
from evenhand._model import BoolArray, Exhibit, FloatArray, IntArray, Observations, Scalar
from evenhand.audits.scores.claims import sides_compared
from evenhand.audits.text.designs import Design
from evenhand.stats.blocks import blocks

EACH = 3
"""Examples for each comparison."""
MOST = 24


def add_examples(
    observations: Observations,
    made: Design,
    evidence: Mapping[str, Sequence[Evidence]],
    score: str,
    analysis: Analysis,
) -> None:
    """Doubtful texts after all other exhibits, examples before them."""
    analysis.show({"flags": flag_table(observations)})
    worst = examples(observations, made, evidence, score)
    if len(worst):
        analysis.exhibits = {"examples": worst, **analysis.exhibits}


def flag_table(observations: Observations) -> Exhibit:
    """How many rewritten texts carry which doubt, the most frequent first."""
    flags = observations.units.get("flag")
    counted = {} if flags is None else {flag: n for flag, n in flags.counts().items() if n}
    return Exhibit.of(
        "Rewritten texts that a person should look at",
        [{"flag": flag, "rows": n} for flag, n in sorted(counted.items(), key=lambda item: -item[1])],
        note="The grammar could not be decided for certain. The rows are part of the audit; the"
        " gaps without these texts are beside it.",
    )


def examples(
    observations: Observations, made: Design, evidence: Mapping[str, Sequence[Evidence]], score: str
) -> Exhibit:
    """For the widest gap of every attribute, the texts on which its groups were scored most differently."""
    rows: list[Mapping[str, Scalar]] = []
    seen: set[str] = set()
    values = observations.columns[score]
    for item in sorted(chain(*evidence.values()), key=lambda e: -abs(e.estimate.value or 0.0)):
        a, b = sides_compared(item)
        attribute = str(a.label.attribute)
        if attribute in seen or item.estimate.value is None:
            continue
        seen.add(attribute)
        for high, low, text in _widest(
            observations, a.rows, b.rows, score, np.sign(item.estimate.value) or 1.0
        ):
            rows.append(
                {
                    "comparison": f"{a.label.level} − {b.label.level}",
                    "text": observations.units["text"].levels[text],
                    "before": made.render(_position(observations, low)),
                    "after": made.render(_position(observations, high)),
                    "score before": values[low],
                    "score after": values[high],
                }
            )
    return Exhibit.of(
        "The most different replies to the same text",
        rows[:MOST],
        note="Single examples illustrate; they prove nothing. The changed words are marked.",
        chart="examples",
        encode={"before": "before", "after": "after"},
    )


def _widest(
    observations: Observations, a: BoolArray, b: BoolArray, score: str, sign: float
) -> list[tuple[int, int, int]]:
    """(row of the group, row of the reference, text) of the widest gaps in the direction of the claim."""
    values = observations.columns[score]
    codes = observations.units["text"].codes
    n = len(observations.units["text"].levels)
    high = _extreme(values, sign, a, codes, n)
    low = _extreme(values, -sign, b, codes, n)
    both = (high >= 0) & (low >= 0)
    gap = np.full(n, -np.inf)
    gap[both] = sign * (values[high[both]] - values[low[both]])
    order = [int(t) for t in np.argsort(-gap, kind="stable")[:EACH] if gap[t] > 0]
    return [(int(high[t]), int(low[t]), t) for t in order]


def _extreme(
    values: FloatArray, sign: float, among: BoolArray, codes: IntArray, n: int
) -> npt.NDArray[np.int64]:
    """The row with the largest (of sign −1 the smallest) value of each text, the last of equals, else −1."""
    best, largest = np.full(n, -1, dtype=np.int64), np.full(n, -np.inf)
    for at in blocks(len(values)):
        own, text = sign * values[at], codes[at]
        rows = np.flatnonzero(among[at] & np.isfinite(own) & (text >= 0))
        order = rows[np.argsort(own[rows], kind="stable")]
        here = np.full(n, -1, dtype=np.int64)
        here[text[order]] = order
        found = np.flatnonzero(here >= 0)
        found = found[own[here[found]] >= largest[found]]
        best[found], largest[found] = at.start + here[found], own[here[found]]
    return best


def _position(observations: Observations, row: int) -> int:
    """The place of a row in the plan, also where every probe was asked several times."""
    repeat = observations.units.get("repeat")
    return row if repeat is None else int(np.count_nonzero(repeat.codes[:row] == repeat.codes[row]))

"""The worst examples: the same text for two people, and how differently it was scored."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from evenhand._labels import spoken
from evenhand._model import BoolArray, Exhibit, Finding, FloatArray, IntArray, Observations, Scalar
from evenhand.audits.text.designs import Design

EACH = 3
"""Examples for each comparison."""


def examples(
    observations: Observations,
    made: Design,
    findings: Sequence[Finding],
    score: str,
    *,
    repeats: int = 1,
    most: int = 24,
) -> Exhibit:
    """For the widest gap of every attribute, the texts on which the two groups were scored most differently."""
    names = ("comparison", "text", "before", "after", "score before", "score after")
    rows: dict[str, list[Scalar]] = {name: [] for name in names}
    seen: set[str] = set()
    for finding in sorted(findings, key=lambda f: -abs(f.estimate.value or 0.0)):
        e = finding.estimate
        attribute, level, other = spoken(e.group, e.reference)
        if attribute not in observations.groups or attribute in seen:
            continue
        if e.given or e.value is None or e.measure != f"mean {score}":
            continue
        seen.add(attribute)
        a = observations.groups[attribute].is_level(level)
        b = observations.groups[attribute].is_level(other)
        for high, low, text in _widest(observations, a, b, score, np.sign(e.value) or 1.0):
            cells: tuple[Scalar, ...] = (
                f"{level} − {other}",
                observations.units["text"].levels[text],
                made.render(low if repeats == 1 else _position(observations, low)),
                made.render(high if repeats == 1 else _position(observations, high)),
                float(observations.columns[score][low]),
                float(observations.columns[score][high]),
            )
            for name, cell in zip(names, cells, strict=True):
                rows[name].append(cell)
    kept = {name: column[:most] for name, column in rows.items()}
    return Exhibit(
        title="The most different replies to the same text",
        columns=kept,
        note="Single examples illustrate; they prove nothing. The changed words are marked.",
        chart="examples",
        encode={"before": "before", "after": "after"},
    )


def _widest(
    observations: Observations, a: BoolArray, b: BoolArray, score: str, sign: float
) -> list[tuple[int, int, int]]:
    """(row of the group, row of the reference, text) of the texts with the widest gap in the direction of the claim."""
    values = observations.columns[score]
    codes = observations.units["text"].codes
    n = len(observations.units["text"].levels)
    high = _extreme(np.where(a, sign * values, np.nan), codes, n)
    low = _extreme(np.where(b, -sign * values, np.nan), codes, n)
    both = (high >= 0) & (low >= 0)
    gap = np.full(n, -np.inf)
    gap[both] = sign * (values[high[both]] - values[low[both]])
    order = [int(t) for t in np.argsort(-gap, kind="stable")[:EACH] if gap[t] > 0]
    return [(int(high[t]), int(low[t]), t) for t in order]


def _extreme(values: FloatArray, codes: IntArray, n: int) -> npt.NDArray[np.int64]:
    """The row with the largest value of every text; −1 where a text has none."""
    best = np.full(n, -1, dtype=np.int64)
    rows = np.flatnonzero(np.isfinite(values) & (codes >= 0))
    order = rows[np.argsort(values[rows], kind="stable")]
    best[codes[order]] = order
    return best


def _position(observations: Observations, row: int) -> int:
    """The place of a row in the plan, where every probe was asked several times."""
    first = observations.units["repeat"].codes == observations.units["repeat"].codes[row]
    return int(np.count_nonzero(first[:row]))

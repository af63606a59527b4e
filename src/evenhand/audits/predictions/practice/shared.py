"""How far each block of people moves a claim, for a comparison with another model on the same people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from evenhand._analysis import Analysis
from evenhand._labels import groupings
from evenhand._model import FloatArray, IntArray
from evenhand._shared import BLOCKS, blocks_of_rows, identity
from evenhand.audits.predictions.asked import Options, Task
from evenhand.audits.predictions.class_cells import class_terms, read_labels
from evenhand.audits.predictions.inputs import Input
from evenhand.audits.predictions.rows import Rows
from evenhand.measures import classification, regression
from evenhand.measures.row import Measure, statistic

UNIT = "row"
MOST_ROWS = 200_000
"""Rows up to which blocks are kept: beyond, independent intervals are short enough."""


def add_shared(given: Input, analysis: Analysis, options: Options, task: Task) -> None:
    """The moves of every claim that is a function of sums, where each row is somebody else.

    Rows are the same in two audits where their groups and outcomes are, in their order.
    """
    if given.large is not None or given.named.lists is not None or given.named.chances:
        return
    rows = given.rows(labels=task == "classification")
    if len(rows) > MOST_ROWS or rows.unit is not None or len(rows) < 2 * BLOCKS:
        return
    known = {name: factor.codes for name, factor in rows.groups.items()}
    analysis.shared.units[UNIT] = (identity(*known.values(), *_outcomes(rows)), len(rows))
    sides = {
        str(label): (grouped.factor.codes, place)
        for grouped in groupings(rows.groups, crossing=options.crossing)
        for place, label in enumerate(grouped.labels)
    }
    blocks = blocks_of_rows(len(rows))
    estimates = [item.estimate for item, _ in analysis.primary] + [f.estimate for f in analysis.findings]
    for where, terms, measures in _looked_at(rows, options, task):
        sums = _Sums(terms=terms, weight=rows.weight, blocks=blocks)
        for e in estimates:
            row = measures.get(e.measure)
            if row is None or (e.given or "") != where or e.group not in sides or e.reference not in sides:
                continue
            moves = sums.moves(row, sides[e.group], sides[e.reference])
            if moves is not None:
                analysis.shared.add(e, UNIT, moves)


def _outcomes(rows: Rows) -> list[FloatArray | IntArray]:
    if "y_true" in rows.labels:
        return [rows.labels["y_true"].codes]
    return [rows.columns["y_true"]] if "y_true" in rows.columns else []


def _looked_at(
    rows: Rows, options: Options, task: Task
) -> list[tuple[str, Mapping[str, FloatArray], dict[str, Measure]]]:
    """(what claims are given, terms of each row, measures that are made of them)."""
    if task == "classification":
        compared, columns = read_labels(rows, options.positive)[1:]
        found: list[tuple[str, Mapping[str, FloatArray], dict[str, Measure]]] = []
        for name in compared:
            names, values = class_terms(columns[name])
            terms = dict(zip(names, values, strict=True))
            given = f"class={name}" if len(compared) > 1 else ""
            found.append((given, terms, _made_of(terms, classification.ROWS)))
        return found
    able = {n: make for n, make in regression.TERMS.items() if n in ("p", "pp") or "y_true" in rows.columns}
    able = {n: make for n, make in able.items() if n in ("p", "pp", "y", "yy", "yp", "ae")}
    terms = {name: make(rows.columns) for name, make in able.items()}
    return [("", terms, _made_of(terms, regression.ROWS))]


def _made_of(terms: Mapping[str, FloatArray], rows: Sequence[Measure]) -> dict[str, Measure]:
    return {r.name: r for r in rows if r.terms and set(r.terms) <= set(terms)}


class _Sums:
    """Sums of terms by group and block, made once for each group."""

    def __init__(
        self, *, terms: Mapping[str, FloatArray], weight: FloatArray | None, blocks: IntArray
    ) -> None:
        self.terms, self.blocks = terms, blocks
        self.weight = np.ones(len(blocks)) if weight is None else weight
        self.known: dict[tuple[int, int], tuple[FloatArray, dict[str, FloatArray]]] = {}

    def without(self, side: tuple[IntArray, int]) -> tuple[FloatArray, dict[str, FloatArray]]:
        """(sizes, means) of a group without each block, and last with all."""
        key = id(side[0]), side[1]
        if key not in self.known:
            inside = side[0] == side[1]
            block, weight = self.blocks[inside], self.weight[inside]
            size = np.bincount(block, weight, BLOCKS)
            rest = np.append(size.sum() - size, size.sum())
            means = {}
            for name, values in self.terms.items():
                part = np.bincount(block, weight * values[inside], BLOCKS)
                means[name] = np.append(part.sum() - part, part.sum()) / np.where(rest > 0, rest, np.nan)
            self.known[key] = rest, means
        return self.known[key]

    def moves(self, row: Measure, a: tuple[IntArray, int], b: tuple[IntArray, int]) -> FloatArray | None:
        (n, one), (m, two) = self.without(a), self.without(b)
        with np.errstate(all="ignore"):
            found = statistic(row, one, two, (n, m))  # type: ignore[arg-type]
        if found is None:
            return None
        left = np.asarray(found, dtype=float)[:BLOCKS]
        if not np.isfinite(left).all():
            return None
        return np.asarray((left.mean() - left) * np.sqrt((BLOCKS - 1) / BLOCKS))

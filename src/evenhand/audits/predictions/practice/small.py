"""Groups that are too small to be compared, because the user says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import TypeVar

from evenhand._analysis import Analysis
from evenhand._labels import Attribute, Label
from evenhand.audits.predictions.cells import Cell
from evenhand.audits.predictions.class_cells import Classes
from evenhand.audits.predictions.sources import Source, Stratum

S = TypeVar("S", Cell, Classes)


def without_small(source: Source[S], least: int, analysis: Analysis, size: Callable[[S], int]) -> Source[S]:
    """The source without the groups of fewer than `least` rows, who are named in a note.

    Args:
        size: rows of a summary.
    """
    if least <= 1:
        return source
    inner = source.cells

    @cache
    def large(attribute: Attribute) -> frozenset[Label]:
        every = inner(attribute, None)
        few = [f"{c.label.level} ({size(c)})" for c in every if size(c) < least]
        if few:
            text = f"{attribute}: not compared, with under {least} rows: {', '.join(few)}."
            analysis.note("small-groups", text, warning=True)
        return frozenset(c.label for c in every if size(c) >= least)

    def cells(attribute: Attribute, stratum: Stratum) -> list[S]:
        return [c for c in inner(attribute, stratum) if c.label in large(attribute)]

    return replace(source, cells=cells)

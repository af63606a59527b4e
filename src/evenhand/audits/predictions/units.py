"""Rows that are about the same person: what is said of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from evenhand._analysis import Analysis
from evenhand._recurring import copied, identified
from evenhand.audits.predictions.roles import Named
from evenhand.audits.predictions.rows import Rows

if TYPE_CHECKING:
    import pyarrow as pa


def in_units(rows: Rows, name: str | None, analysis: Analysis) -> Rows:
    """The rows with units only where some unit has several; notes say what follows."""
    if rows.unit is None:
        return rows
    units = len(np.unique(rows.unit))
    if units == len(rows):
        analysis.note("units", f"No value of {name} has two rows: the {units} rows are independent.")
        return replace(rows, unit=None)
    if rows.lists is not None:
        analysis.note(
            "units",
            f"{len(rows)} rows of lists belong to {units} values of {name}: the interval is made of lists and"
            " of these, who recur.",
        )
        return rows
    analysis.note(
        "units",
        f"{len(rows)} rows belong to {units} values of {name}: intervals of means and rates are made of"
        " these. What looks at whole distributions (AUC, distances, curves, calibration), continuous"
        " attributes, the bootstrap and the tables of a law take every row for independent: the former are"
        " not judged.",
    )
    for attribute, groups in rows.groups.items():
        known = groups.codes >= 0
        pairs = np.unique(np.column_stack([rows.unit, groups.codes])[known], axis=0)
        across = len(pairs) - len(np.unique(rows.unit[known]))
        if across:
            analysis.note(
                "units-across",
                f"Some values of {name} have rows in several groups of {attribute}: what they share would"
                " cancel in a difference, but the two sides are taken for independent.",
            )
    return rows


def withhold_of_copies(table: pa.Table, named: Named, analysis: Analysis) -> None:
    """Nothing is judged where rows are evidently not independent and nobody has said what they belong to."""
    used, predictions = named.all(), [n for n in (named.y_score, named.y_pred) if n]
    if named.lists is not None:
        why = identified(table, used, fewest=2, names=True)
    else:
        why = identified(table, used) or copied(table, used, predictions)
    if why is not None:
        analysis.withheld = why
        analysis.note("rows-recur", f"{why[:1].upper()}{why[1:]}. No verdict is given before.", warning=True)

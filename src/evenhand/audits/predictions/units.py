"""Rows that are about the same person, and groups of a person that are known by chances only: what is said of
them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from evenhand._analysis import Analysis
from evenhand._errors import DataError, UsageError
from evenhand._model import Factor, FloatArray
from evenhand._recurring import copied, identified
from evenhand.audits.predictions.roles import Named, Roles, chance_of
from evenhand.audits.predictions.rows import Rows
from evenhand.terms.chances import NEAR_ONE

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


# --- groups that are known by chances


def check_chances(roles: Roles, *, crossing: bool) -> None:
    """What does not go together with chances of groups.

    Args:
        crossing: whether combinations of groups, or a table of a law, are asked for.

    Raises:
        UsageError: `probabilities`.
    """
    asked = roles.probabilities
    if not asked:
        return
    beside = {
        "groups (--group)": roles.groups,
        "continuous attributes": roles.continuous,
        "ranked lists": roles.lists,
        "a search (--search)": roles.search,
    }
    other = [name for name, given in beside.items() if given is not None and np.size(np.asarray(given)) > 0]
    if other or len(asked) > 1:
        raise UsageError(
            "probabilities",
            "one attribute that is known by chances is audited alone",
            given=", ".join([*asked, *other]),
            hint="audit the others in a run of their own",
        )
    if crossing:
        raise UsageError(
            "probabilities",
            "a table of a law, and combinations of groups, need to know who is of which group",
            given="law= or intersections=",
            expected="groups= (--group)",
        )
    name, columns = next(iter(asked.items()))
    if len(columns) < 2:
        raise UsageError(
            "probabilities",
            f"the chances of {name} are those of at least two groups, which add up to 1 in each row",
            given=dict(columns),
        )


def needs_groups(named: Named, what: str) -> None:
    """What counts people group by group cannot be made of chances.

    Raises:
        UsageError: `probabilities`.
    """
    if named.chances:
        raise UsageError(
            "probabilities",
            f"{what} needs to know who is of which group",
            given=f"chances of {named.groups[0]}",
            expected="groups= (--group)",
        )


def by_chances(rows: Rows, named: Named, analysis: Analysis) -> Rows:
    """A row for each person and group that the person may be of, weighted by the chance of it.

    Raises:
        DataError: `bad-probabilities`.
    """
    attribute, levels = named.groups[0], tuple(named.chances)
    chances = np.column_stack([rows.columns[chance_of(level)] for level in levels])
    _check(chances, named)
    chances = chances / chances.sum(axis=1, keepdims=True)
    person, code = np.nonzero(chances)
    weight = chances[person, code] * (1.0 if rows.weight is None else rows.weight[person])
    several = len(person) > len(rows)
    unit = np.arange(len(rows)) if rows.unit is None and several else rows.unit
    plain = {k: v for k, v in rows.columns.items() if k not in map(chance_of, levels)}
    made = replace(rows, columns=plain).take(person)
    _say(chances, attribute, analysis)
    return replace(
        made,
        groups={attribute: Factor(code.astype(np.int32), levels)},
        weight=weight if several or rows.weight is not None else None,
        unit=None if unit is None else unit[person].astype(np.int32),
        person=person,
        chances=chances[person] if several else None,
    )


def _check(chances: FloatArray, named: Named) -> None:
    sums = chances.sum(axis=1)
    wrong = ((chances < 0) | (chances > 1)).any(axis=1) | (np.abs(sums - 1) > NEAR_ONE)
    if wrong.any():
        first = int(np.argmax(wrong))
        raise DataError(
            "bad-probabilities",
            f"{int(wrong.sum())} of {len(sums)} rows have chances of {named.groups[0]} that are none; of the"
            f" rows used the first is {first + 1}",
            given=", ".join(
                f"{n}={p:g}" for n, p in zip(named.chances.values(), chances[first], strict=True)
            ),
            expected="numbers from 0 to 1 that add up to 1 in each row",
            hint="what is left, e.g. other races, is a group too",
        )


def _say(chances: FloatArray, attribute: str, analysis: Analysis) -> None:
    sure = float((chances.max(axis=1) > 0.95).mean())
    analysis.note(
        "groups-by-chance",
        f"{attribute} is known by chances only; {100 * sure:.0f} % of people have one of more than 95 %."
        " Chances are used as weights, which is right where what happens to people depends on nothing but"
        " what the chances are made of, and corrected for misclassification, which is right where it depends"
        " on nothing but the group. A verdict is given where it holds either way. Only means and rates can be"
        " corrected: whole distributions (AUC, distances, curves, calibration) are described, not judged.",
        warning=True,
    )

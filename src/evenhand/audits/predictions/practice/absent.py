"""Outcomes that are not known, by group: who lacks them is an outcome of its own."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TypeAlias

from evenhand._analysis import Analysis
from evenhand._declared import Declared
from evenhand._estimate import evidence
from evenhand._judge import judge
from evenhand._labels import Label, in_natural_order
from evenhand._model import Estimate, Exhibit, Scalar
from evenhand.stats.interval import Inference
from evenhand.stats.rates import newcombe, wilson

Absent: TypeAlias = Mapping[str, Mapping[str, tuple[int, int]]]
"""Attribute → group → (rows without an outcome, all rows)."""


def add_absent(absent: Absent, declared: Declared, analysis: Analysis) -> None:
    """The share of rows without an outcome of every group, and its difference from the largest group's."""
    level = declared.level
    for attribute, counts in absent.items():
        groups = [label.level for label in in_natural_order(Label.of(attribute, group) for group in counts)]
        known = {group: counts[group] for group in groups if counts[group][1]}
        if not any(missing for missing, _ in known.values()) or len(known) < 2:
            continue
        named = declared.reference.get(attribute)
        reference = named if named in known else max(known, key=lambda group: known[group][1])
        table: list[dict[str, Scalar]] = []
        found = []
        for group, (missing, every) in known.items():
            own = wilson(missing, every, level=level)
            row: dict[str, Scalar] = {"group": f"{Label.of(attribute, group)}", "without outcome": own.value}
            table.append(row | {"low": own.low, "high": own.high, "rows": missing, "n": every})
            if group != reference:
                at = partial(_gap, (missing, every), known[reference])
                item = Estimate(
                    measure="rate of missing outcomes",
                    contrast="difference",
                    group=str(Label.of(attribute, group)),
                    reference=str(Label.of(attribute, reference)),
                    n=every + known[reference][1],
                    n_group=every,
                    n_reference=known[reference][1],
                )
                found.append(evidence(item, at(level), at))
        analysis.findings += judge(found, family=f"{attribute}, missing outcomes, described")
        analysis.exhibits[f"missing outcomes by {attribute}"] = Exhibit.of(
            f"Rows without an outcome by {attribute}",
            table,
            columns=("group", "without outcome", "low", "high", "rows", "n"),
            note="Wilson's intervals. These rows are left out of everything else: where it goes with the"
            " outcome who has none, what is said of the others does not hold for all.",
        )
        said = ", ".join(
            f"{group} {100 * missing / every:.1f} %" for group, (missing, every) in known.items()
        )
        analysis.note("outcomes-missing", f"Rows without an outcome by {attribute}: {said}.", warning=True)


def _gap(one: tuple[int, int], two: tuple[int, int], level: float) -> Inference:
    return newcombe(*one, *two, level=level)

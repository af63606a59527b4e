"""The 2022 notebook's regression table as an exhibit and as a table of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand._analysis import Analysis
from evenhand._errors import DataError, UsageError
from evenhand._estimate import Evidence
from evenhand._judge import judge
from evenhand._labels import Label
from evenhand._model import Estimate, Exhibit, Factor, Finding, FloatArray
from evenhand.audits.predictions.roles import Column, Columns, Roles, gather
from evenhand.audits.predictions.rows import rows_of
from evenhand.measures.notebook import notebook_table

if TYPE_CHECKING:
    import pyarrow as pa


def regression_table(
    data: Any = None,
    *,
    y_true: Column | None = None,
    y_pred: Column,
    group: Columns,
    minority: str | None = None,
    reference: str | None = None,
) -> pa.Table:
    """The regression table of the 2022 notebook for two groups, value for value; no intervals, no verdicts.

    Args:
        data: anything tabular, or None where the roles are arrays. y_true, y_pred, group: columns or arrays;
            without outcomes the lines that need them are null.
        minority: group a; the smaller group by default. reference: group b; everyone else by default.

    Returns:
        a table with the columns ``measure`` and ``value`` (null where undefined).

    Raises:
        DataError: `one-group`, missing columns, text instead of numbers.

    >>> regression_table(
    ...     y_true=[1, 2, 3, 4], y_pred=[1, 3, 2, 4], group=["F", "M", "F", "M"], minority="F"
    ... ).to_pylist()[5]
    {'measure': 'Average Score Spread', 'value': -2.0}
    """
    import pyarrow as pa

    groups: Columns = group if isinstance(group, str | Mapping) else {"group": group}
    table, named = gather(data, Roles(y_true=y_true, y_pred=y_pred, groups=groups))
    rows = rows_of(table, named, missing="drop", analysis=Analysis())
    values = _values(rows.columns, rows.groups[named.groups[0]], minority, reference)
    clean = [None if not np.isfinite(v) else v for v in values.values()]
    return pa.table({"measure": list(values), "value": pa.array(clean, pa.float64())})


def _values(
    columns: Mapping[str, FloatArray], groups: Factor, minority: str | None, reference: str | None
) -> dict[str, float]:
    counts = {k: v for k, v in groups.counts().items() if v}
    if len(counts) < 2:
        raise DataError("one-group", "the notebook's table compares two groups", given=", ".join(counts))
    if minority is None:
        others = [level for level in counts if level != reference]
        minority = min(others, key=lambda level: counts[level])
    for name in (minority, reference):
        if name is not None and name not in counts:
            raise UsageError("unknown-group", "no such group", given=name, available=counts)
    one = groups.is_level(minority)
    two = groups.is_level(reference) if reference is not None else (groups.codes >= 0) & ~one
    keep = one | two
    p = columns["y_pred"]
    y = columns.get("y_true", np.full(len(p), np.nan))
    return notebook_table(y[keep], p[keep], one[keep])


OF_EVERYONE = ("Concurrent Validity", "RMSE")
"""The lines of the notebook's table that compare nobody."""


def _described(
    values: Mapping[str, float], groups: Factor, group: Label, reference: Label, *, told: bool
) -> list[Finding]:
    """The numbers as estimates without a verdict.

    Args:
        told: the outcomes are known.
    """
    counts = groups.counts()
    n, m = (counts[side.level] for side in (group, reference))
    why = "the 2022 notebook divides by nothing here" if told else "it needs outcomes, y_true= (--y-true)"
    items = [
        Evidence(
            estimate=Estimate(
                measure=name,
                contrast="as in the 2022 notebook",
                group="everyone" if name in OF_EVERYONE else str(group),
                reference="none" if name in OF_EVERYONE else str(reference),
                value=value,
                n=n + m,
                n_group=n,
                n_reference=m,
                method="the notebook's formula, faults included",
                why_not=None if np.isfinite(value) else why,
            )
        )
        for name, value in values.items()
    ]
    return judge(items, tolerance=None, family="notebook-2022", correction="none")


def add_notebook(
    analysis: Analysis,
    columns: Mapping[str, FloatArray],
    attributes: Mapping[str, Factor],
    reference: Mapping[str, str],
) -> None:
    """One exhibit for each attribute: every other group against the reference (the largest group by
    default)."""
    for attribute, groups in attributes.items():
        counts = {k: v for k, v in groups.counts().items() if v}
        if len(counts) < 2:
            analysis.note(
                "one-group",
                f"{attribute} has {len(counts)} group with rows: there is nothing to compare.",
                warning=True,
            )
            continue
        against = reference.get(attribute) or max(counts, key=lambda level: counts[level])
        table: dict[str, list[Any]] = {}
        for level in counts:
            if level != against:
                values = _values(columns, groups, level, against)
                sides = Label.of(attribute, level), Label.of(attribute, against)
                analysis.findings += _described(values, groups, *sides, told="y_true" in columns)
                table.setdefault("measure", list(values))
                table[f"{level} against {against}"] = [v if np.isfinite(v) else None for v in values.values()]
        analysis.exhibits[f"notebook-2022 {attribute}"] = Exhibit(
            title=f"The 2022 notebook's table, {attribute}",
            columns=table,
            note="Value for value as the notebook had it, with its known faults; see"
            " docs/reference/notebook-2022.md for every difference.",
        )
    analysis.note(
        "notebook-2022",
        "These are the numbers of the 2022 notebook, and nothing else: single values without intervals, tests"
        " or verdicts, some by formulas that are known to be wrong. The same audit without"
        ' measures="notebook-2022" has the corrected measures, each with its interval and verdict.',
    )

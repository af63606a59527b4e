"""Before a drawing: whether there is anything to draw, how many panels it takes, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evenhand._model import Exhibit, Scalar
from evenhand.reports.frame import Frame, evenly, floats, group_labels, numeric

MOST_TOGETHER = {"line": 5, "density": 5, "band": 3}
"""Kind → groups in one panel; more get a panel each."""


def nothing_to_draw(exhibit: Exhibit) -> str:
    """Why a drawing would show nothing: one row, or nothing but zeros; empty where it would.

    >>> nothing_to_draw(
    ...     Exhibit(
    ...         title="t",
    ...         columns={"a": ["x", "y"], "v": [0.0, 0.0]},
    ...         chart="bars",
    ...         encode={"x": "v", "y": "a"},
    ...     )
    ... )
    'All values are 0.'
    """
    names = {exhibit.encode.get(c) for c in ("value", "from", "to", "share")} or set()
    if exhibit.chart in ("bars", "line", "band", "scatter"):
        names |= {exhibit.encode.get("x"), exhibit.encode.get("y")}
    columns = [exhibit.columns[n] for n in names if isinstance(n, str) and n in exhibit.columns]
    values = [v for c in columns if numeric(c) for v in floats(c) if v is not None]
    if columns and values and not any(values):
        return "All values are 0."
    return "There is one row only." if len(exhibit) < 2 and exhibit.chart != "bars" else ""


def small_multiples(exhibit: Exhibit, limit: int, most: int = 12, shown: int = 6) -> list[Exhibit]:
    """A panel for each group, in colour before all the others in grey, where one panel would be a tangle.

    Past `most` groups the `shown` ones that lie furthest from the middle of all. Of curves at most about
    `limit` points, evenly of every group; of distributions all.
    """
    channel = exhibit.encode.get("color", exhibit.encode.get("group", "group"))
    if exhibit.chart not in MOST_TOGETHER or channel not in exhibit.columns:
        return []
    frame = Frame(exhibit=replace(exhibit, encode={**exhibit.encode, "color": channel}), limit=1)
    groups = group_labels(frame, len(exhibit))
    measured = (
        "share" if exhibit.chart == "density" and "y" not in exhibit.encode else exhibit.encode.get("y")
    )
    ys = floats(exhibit.columns.get(str(measured), [0.0] * len(exhibit)))
    xs = exhibit.columns.get(str(exhibit.encode.get("x")), [None] * len(exhibit))
    even = equality(xs, ys, groups) if exhibit.chart != "density" else None
    names = [g for g in dict.fromkeys(groups) if even is None or g != even[0]]
    if len(names) <= MOST_TOGETHER[exhibit.chart]:
        return []
    if len(names) > most:
        names = _furthest(names, groups, ys)[:shown]
    encode = {**exhibit.encode, "color": channel}
    if exhibit.chart != "density":
        exhibit = _thinned(exhibit, groups, limit)
    return [replace(exhibit, title=str(name), encode={**encode, "emphasis": name}) for name in names]


def _thinned(exhibit: Exhibit, groups: Sequence[Scalar], limit: int) -> Exhibit:
    rows: dict[Scalar, list[int]] = {}
    for at, group in enumerate(groups):
        rows.setdefault(group, []).append(at)
    share = max(2, limit // len(rows))
    kept = [own[i] for own in rows.values() for i in evenly(len(own), share)]
    return replace(exhibit, columns={k: [v[i] for i in kept] for k, v in exhibit.columns.items()})


def _furthest(names: Sequence[Scalar], groups: Sequence[Scalar], ys: Sequence[float | None]) -> list[Scalar]:
    """Groups by how far their mean lies from the middle of all groups' means."""
    means = {
        name: sum(own) / len(own)
        for name in names
        if (own := [y for y, group in zip(ys, groups, strict=True) if group == name and y is not None])
    }
    middle = sorted(means.values())[len(means) // 2] if means else 0.0
    return sorted(names, key=lambda name: -abs(means.get(name, middle) - middle))


def same_order(across: Sequence[Scalar], up: Sequence[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
    """The names of columns and rows; where they are the same names (a pair of groups), in the same order.

    >>> same_order(["b", "a"], ["a", "b"])
    (['a', 'b'], ['a', 'b'])
    """
    columns, rows = list(dict.fromkeys(across)), list(dict.fromkeys(up))
    if len(set(columns) & set(rows)) >= max(len(columns), len(rows)) - 1 > 0:
        shared = list(dict.fromkeys([*rows, *columns]))
        return shared, shared
    return columns, rows


def equality(
    xs: Sequence[Scalar], ys: Sequence[float | None], groups: Sequence[Scalar]
) -> tuple[Scalar, float, float] | None:
    """(name, start, end) of the series that lies on the line of equality, where there is one beside others.

    >>> equality([0.0, 1.0, 0.5], [0.0, 1.0, 0.4], ["even", "even", "a"])
    ('even', 0.0, 1.0)
    """
    series: dict[Scalar, list[tuple[Scalar, float | None]]] = {}
    for a, b, group in zip(xs, ys, groups, strict=True):
        series.setdefault(group, []).append((a, b))
    for group, members in series.items() if len(series) > 1 else ():
        if len(members) == 2 and all(a == b for a, b in members):
            ends = [float(b) for _, b in members if b is not None]
            return group, min(ends), max(ends)
    return None

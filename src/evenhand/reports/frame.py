"""The data behind a drawing: an exhibit's columns under neutral names, made numeric, binned, thinned."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from evenhand._errors import UsageError
from evenhand._labels import levels_alone
from evenhand._model import Exhibit, Scalar
from evenhand._wording import middle_cut, number, visible

Spec: TypeAlias = dict[str, Any]


@dataclass(kw_only=True)
class Frame:
    """The columns of a drawing under neutral names, and the titles that belong to them."""

    exhibit: Exhibit
    limit: int
    columns: dict[str, list[Scalar]] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    of_rows: int = 0

    def channel(self, name: str, *, required: bool = True) -> list[Scalar] | None:
        """The values of the column that channel `name` points to."""
        column = self.exhibit.encode.get(name)
        if column is None and not required:
            return None
        if not isinstance(column, str) or column not in self.exhibit.columns:
            raise UsageError(
                "chart-channel",
                f"the chart {self.exhibit.title!r} needs a column for its channel {name!r}",
                given=column,
                available=self.exhibit.columns,
            )
        return list(self.exhibit.columns[column])

    def add(self, title: str, values: Sequence[Scalar]) -> str:
        """A column of the drawing; its neutral name."""
        name = f"c{len(self.columns)}"
        self.columns[name] = [visible(v)[:120] if isinstance(v, str) else v for v in values]
        self.titles[name] = visible(title)
        return name

    def labels(self, title: str, values: Sequence[Scalar]) -> str:
        """A column of labels for an axis, whole: wrapped, and cut in the middle only where very long."""
        name = self.add(title, [])
        self.columns[name] = [wrapped(v) if isinstance(v, str) else v for v in values]
        return name

    def lines(self, name: str) -> int:
        """Lines of the tallest label of a column."""
        return max((v.count("\n") + 1 for v in self.columns[name] if isinstance(v, str)), default=1)

    def title_of(self, channel: str) -> str:
        """The name of the column behind a channel, spelled for readers."""
        return visible(str(self.exhibit.encode.get(channel, channel))).replace("_", " ")

    def keep(self, rows: Sequence[int]) -> None:
        """Only `rows`, in that order."""
        self.columns = {k: [v[i] for i in rows] for k, v in self.columns.items()}

    def encode(self, name: str, kind: str, **more: Any) -> Spec:
        """A field definition with the reader's title."""
        return {"field": name, "type": kind, "title": self.titles[name], **more}

    def tooltip(self) -> list[Spec]:
        """All columns, as they are."""
        kinds = {name: "quantitative" if numeric(v) else "nominal" for name, v in self.columns.items()}
        return [
            {"field": name, "type": kind, "title": self.titles[name]}
            | ({"format": ".4~g"} if kind == "quantitative" else {})
            for name, kind in kinds.items()
            if self.titles[name] and any(v is not None for v in self.columns[name])
        ]


WRAP, MOST_LABEL = 24, 120


def wrapped(label: str) -> str:
    """A label in lines of about 24 characters, broken at spaces and slashes.

    >>> wrapped("people with a disability of the eyes")
    'people with a disability\\nof the eyes'
    """
    shown = middle_cut(label, MOST_LABEL).replace("/", "/\u200b")
    lines = textwrap.wrap(shown.replace("\u200b", " \u200b"), WRAP, break_long_words=len(shown) > 2 * WRAP)
    return "\n".join(line.replace(" \u200b", "").replace("\u200b", "") for line in lines) or shown


def group_labels(frame: Frame, n: int) -> list[Scalar]:
    for channel in ("color", "group"):
        if channel in frame.exhibit.encode:
            return [*levels_alone([label_text(v) for v in frame.channel(channel) or []])]
    return ["all"] * n


def by_name(frame: Frame, column: str) -> list[Scalar]:
    if column not in frame.exhibit.columns:
        raise UsageError(
            "chart-channel",
            f"the chart {frame.exhibit.title!r} needs a column {column!r}",
            available=frame.exhibit.columns,
        )
    return list(frame.exhibit.columns[column])


def ready_bins(
    frame: Frame,
) -> tuple[list[float | None], list[float | None], list[float | None], list[Scalar]]:
    """Bins that the audit counted itself: low, high, share, group."""
    encode = frame.exhibit.encode
    low, high = floats(frame.channel("low")), floats(frame.channel("high"))
    channel = next((c for c in ("share", "y") if c in encode), None)
    share = floats(frame.channel(channel) if channel else by_name(frame, "share"))
    if not {"color", "group"} & set(encode) and "group" in frame.exhibit.columns:
        groups = levels_alone([label_text(v) for v in by_name(frame, "group")])
        return low, high, share, [*groups]
    return low, high, share, group_labels(frame, len(low))


def histogram(
    frame: Frame,
) -> tuple[list[float | None], list[float | None], list[float | None], list[Scalar]]:
    """Shares within each group over shared bins (Freedman–Diaconis, 8 to 40 bins)."""
    scores = np.array([np.nan if v is None else v for v in floats(frame.channel("x"))])
    weights = np.array(
        [0.0 if v is None else v for v in floats(frame.channel("weight", required=False), len(scores), 1.0)]
    )
    labels = np.array(group_labels(frame, len(scores)), dtype=object)
    good = np.isfinite(scores)
    scores, weights, labels = scores[good], weights[good], labels[good]
    if not len(scores):
        return [], [], [], []
    spread = float(np.subtract(*np.percentile(scores, [75, 25])))
    extent = float(scores.max() - scores.min())
    width = 2 * spread / len(scores) ** (1 / 3)
    count = 8 if width <= 0 else int(np.clip(math.ceil(extent / width), 8, 40))
    edges = np.histogram_bin_edges(scores, bins=count)
    low, high, share, groups = [], [], [], []
    for level in dict.fromkeys(labels):
        rows = labels == level
        counted, _ = np.histogram(scores[rows], bins=edges, weights=weights[rows])
        total = float(counted.sum()) or 1.0
        low += edges[:-1].tolist()
        high += edges[1:].tolist()
        share += (counted / total).tolist()
        groups += [level] * (len(edges) - 1)
    return low, high, share, groups


def step_corners(
    low: Sequence[float | None],
    high: Sequence[float | None],
    share: Sequence[float | None],
    groups: Sequence[Scalar],
) -> list[tuple[float, float, Scalar]]:
    """Corners of the step lines: each bin's left edge, and the right edge of each group's last bin."""
    bins: dict[Scalar, list[tuple[float, float, float]]] = {}
    for a, b, s, g in zip(low, high, share, groups, strict=True):
        if a is not None and b is not None and s is not None:
            bins.setdefault(g, []).append((a, b, s))
    corners: list[tuple[float, float, Scalar]] = []
    for group, members in bins.items():
        members.sort()
        corners += [(a, s, group) for a, _, s in members]
        corners.append((members[-1][1], members[-1][2], group))
    return corners


def first_rows(frame: Frame, rows: Sequence[int]) -> None:
    """The first rows that can be drawn, up to the limit."""
    frame.of_rows = len(rows)
    frame.keep(list(rows)[: frame.limit])


def spread_rows(frame: Frame, rows: Sequence[int]) -> None:
    """Rows taken evenly over the whole exhibit, up to the limit."""
    frame.of_rows = len(rows)
    frame.keep([rows[i] for i in evenly(len(rows), frame.limit)])


def thin(frame: Frame, color: str) -> None:
    """Evenly spaced rows of every line, so that each keeps its shape and its two ends."""
    by_line: dict[Scalar, list[int]] = {}
    for i, level in enumerate(frame.columns[color]):
        by_line.setdefault(level, []).append(i)
    frame.of_rows = len(frame.columns[color])
    share = max(2, frame.limit // max(1, len(by_line)))
    frame.keep([rows[i] for rows in by_line.values() for i in evenly(len(rows), share)])


def evenly(n: int, limit: int) -> list[int]:
    """Places taken evenly of `n`, at most `limit`, both ends among them."""
    return (
        list(range(n)) if n <= limit else np.unique(np.linspace(0, n - 1, limit).round().astype(int)).tolist()
    )


def numeric(values: Sequence[Scalar]) -> bool:
    present = [v for v in values if v is not None]
    return bool(present) and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in present)


def floats(values: Sequence[Scalar] | None, n: int = 0, default: float | None = None) -> list[float | None]:
    """Numbers as floats; anything else, and whatever is not finite, as None."""
    if values is None:
        return [default] * n
    return [
        float(v) if isinstance(v, (int, float)) and not isinstance(v, bool) and math.isfinite(v) else None
        for v in values
    ]


def label_text(value: Scalar) -> str:
    if value is None:
        return "(none)"
    return number(value) if isinstance(value, float) else visible(str(value))


def unique(labels: Sequence[str]) -> list[Scalar]:
    """Labels told apart by a count, so that two rows never fall on one line."""
    seen: dict[str, int] = {}
    unique: list[Scalar] = []
    for label in labels:
        seen[label] = seen.get(label, 0) + 1
        unique.append(label if seen[label] == 1 else f"{label} ({seen[label]})")
    return unique

"""Exhibits as Vega-Lite specifications: one small function a kind of chart, in one visible dict.

The channels that each kind reads from `Exhibit.encode` are in its docstring; a channel names a column unless
it says otherwise. Columns get neutral names (``c0``, ``c1``, …) in the specification, because Vega-Lite reads
dots and brackets in a field's name as paths; the reader sees the real names as titles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from evenhand._model import Exhibit, Scalar
from evenhand._wording import number, visible
from evenhand.reports.frame import (
    Frame,
    Spec,
    first_rows,
    floats,
    group_labels,
    histogram,
    label_text,
    numeric,
    ready_bins,
    spread_rows,
    step_corners,
    thin,
    unique,
)
from evenhand.reports.look import (
    CONFIG,
    MUTED,
    PALETTE,
    VERDICT_COLORS,
    VERDICT_SHAPES,
    group_color,
    line_at,
    tolerance_band,
)

Maker: TypeAlias = Callable[[Frame], Spec]


@dataclass(frozen=True, kw_only=True, slots=True)
class Chart:
    """A specification without its data, the data by column, and how much of the exhibit they show."""

    spec: Spec
    columns: Mapping[str, list[Scalar]]
    shown: int
    of: int

    def vega_lite(self) -> Spec:
        """The complete specification with its data inline, for any Vega-Lite viewer."""
        names = list(self.columns)
        rows = zip(*self.columns.values(), strict=True)
        return {**self.spec, "data": {"values": [dict(zip(names, row, strict=True)) for row in rows]}}


def chart(exhibit: Exhibit, *, limit: int = 800) -> Chart | None:
    """The drawing of an exhibit with at most `limit` rows; None for kinds that are not drawn by Vega-Lite.

    Raises:
        UsageError: a channel is missing or names a column that is not there.

    >>> e = Exhibit(
    ...     title="t", columns={"x": [1, 2], "y": [0.5, 0.25]}, chart="line", encode={"x": "x", "y": "y"}
    ... )
    >>> drawn = chart(e)
    >>> drawn.shown, drawn.of, drawn.vega_lite()["data"]["values"][0]
    (2, 2, {'c0': 1, 'c1': 0.5, 'c2': 'all'})
    """
    if exhibit.chart not in CHARTS or len(exhibit) == 0:
        return None
    frame = Frame(exhibit=exhibit, limit=limit)
    spec = {"$schema": "https://vega.github.io/schema/vega-lite/v6.json", **CHARTS[exhibit.chart](frame)}
    spec = {
        "width": "container",
        "autosize": {"type": "fit-x", "contains": "padding"},
        **spec,
        "config": CONFIG,
    }
    shown = len(next(iter(frame.columns.values()), []))
    columns = {k: v for k, v in frame.columns.items() if any(x is not None for x in v)}
    return Chart(spec=spec, columns=columns, shown=shown, of=frame.of_rows or shown)


def forest(frame: Frame) -> Spec:
    """Channels: y (label), value, low, high; verdict; and, as numbers, null and tolerance ``[low, high]``."""
    encode = frame.exhibit.encode
    labels = unique([label_text(v) for v in frame.channel("y") or []])
    y = frame.add(frame.title_of("y"), labels)
    value = frame.add("estimate", floats(frame.channel("value")))
    low = frame.add("low", floats(frame.channel("low", required=False), len(labels)))
    high = frame.add("high", floats(frame.channel("high", required=False), len(labels)))
    verdicts = frame.channel("verdict", required=False) or [None] * len(labels)
    verdict = frame.add("verdict", [v if v in VERDICT_COLORS else "not judged" for v in verdicts])
    first_rows(frame, [i for i, v in enumerate(frame.columns[value]) if v is not None])
    null = float(encode.get("null", 0.0))
    bounds = [b for b in (encode.get("tolerance") or []) if b is not None]
    numbers = [v for name in (value, low, high) for v in frame.columns[name] if isinstance(v, float)]
    log = null == 1.0 and all(v > 0 for v in [*numbers, *bounds])
    scale: Spec = {"type": "log"} if log else {"zero": False}
    scale |= {"nice": False, "padding": 12}
    position = {
        "scale": scale,
        "axis": {"format": "~g"},
        "title": visible(str(encode.get("title", "estimate"))),
    }
    two_lines = any(", given " in str(v) for v in frame.columns[y])
    axis = {"labelPadding": 8} | ({"labelExpr": "split(datum.label, ', given ')"} if two_lines else {})
    rows = {"field": y, "type": "nominal", "sort": None, "title": None, "axis": axis}
    used = [v for v in VERDICT_COLORS if v in frame.columns[verdict]]
    colors = {"domain": used, "range": [VERDICT_COLORS[v] for v in used]}
    shapes = {"domain": used, "range": [VERDICT_SHAPES[v] for v in used]}
    tone = {"field": verdict, "type": "nominal", "scale": colors, "title": None}
    layers: list[Spec] = [*tolerance_band(encode.get("tolerance"), position), line_at(null, "x", dash=[])]
    layers += [
        {
            "mark": {"type": "rule", "strokeWidth": 2, "aria": False},
            "encoding": {
                "x": {"field": low, "type": "quantitative", **position},
                "x2": {"field": high},
                "color": tone,
            },
        },
        {
            "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1},
            "encoding": {
                "x": {"field": value, "type": "quantitative", **position},
                "color": tone,
                "shape": {"field": verdict, "type": "nominal", "scale": shapes, "title": None},
                "tooltip": frame.tooltip(),
            },
        },
    ]
    for layer in layers[-2:]:
        layer["encoding"]["y"] = rows
    return {"height": {"step": 34 if two_lines else 22}, "layer": layers}


def density(frame: Frame) -> Spec:
    """Channels: x (score), color (group), weight; or ready bins: low, high, share (or y), color.

    Of ready bins, the columns `share` and `group` are found by their names where no channel points to them.
    """
    encode = frame.exhibit.encode
    ready = "low" in encode and "high" in encode
    low, high, share, groups = ready_bins(frame) if ready else histogram(frame)
    title = frame.title_of("x") if "x" in encode else "score"
    steps = step_corners(low, high, share, groups)
    frame.of_rows = len(steps)
    steps = steps[: frame.limit * 2]
    x = frame.add(title, [s[0] for s in steps])
    y = frame.add("share", [s[1] for s in steps])
    color = frame.add(frame.title_of("color") if "color" in encode else "", [s[2] for s in steps])
    tone = group_color(frame, color)
    encoding = {
        "x": frame.encode(x, "quantitative", scale={"zero": False, "nice": False}),
        "y": frame.encode(y, "quantitative", axis={"format": "~%"}, stack=None),
        "color": tone,
        "tooltip": frame.tooltip(),
    }
    few = len(set(frame.columns[color])) <= 4
    line = {"type": "line", "interpolate": "step-after", "strokeWidth": 2}
    fill = {"type": "area", "interpolate": "step-after", "opacity": 0.14, "aria": False}
    layers: list[Spec] = [{"mark": line, "encoding": encoding}]
    if few:
        layers.insert(0, {"mark": fill, "encoding": {k: v for k, v in encoding.items() if k != "tooltip"}})
    return {"height": 240, "layer": layers}


def heatmap(frame: Frame) -> Spec:
    """Channels: x, y, value; and, as a number, null (0 where absent), from which colours depart both ways."""
    null = float(frame.exhibit.encode.get("null", 0.0))
    values = floats(frame.channel("value"))
    x = frame.add(frame.title_of("x"), [label_text(v) for v in frame.channel("x") or []])
    y = frame.add(frame.title_of("y"), [label_text(v) for v in frame.channel("y") or []])
    frame.add(frame.title_of("value"), values)
    most = max((abs(v - null) for v in values if v is not None), default=0.0) or 1.0
    side = frame.add("side", ["–" if v is None else "above" if v >= null else "below" for v in values])
    strength = frame.add("", [0.0 if v is None else round(abs(v - null) / most, 4) for v in values])
    words = frame.add("", ["" if v is None else number(v) for v in values])
    order = {name: list(dict.fromkeys(frame.columns[name])) for name in (x, y)}
    first_rows(frame, [i for i, v in enumerate(values) if v is not None])
    across = len(order[x])
    place = {
        "x": frame.encode(
            x,
            "nominal",
            sort=order[x],
            scale={"domain": order[x]},
            axis={"labelAngle": -40 if across > 4 else 0, "domain": False},
        ),
        "y": frame.encode(y, "nominal", sort=order[y], scale={"domain": order[y]}, axis={"domain": False}),
    }
    names = {"domain": ["above", "below"], "range": [PALETTE[1], PALETTE[0]]}
    legend = {"symbolType": "square", "symbolOpacity": 0.8, "symbolStrokeWidth": 0}
    cell = {
        **place,
        "color": {
            "field": side,
            "type": "nominal",
            "scale": names,
            "title": f"against {number(null)}",
            "legend": legend,
        },
        "opacity": {
            "field": strength,
            "type": "quantitative",
            "scale": {"domain": [0, 1], "range": [0.06, 0.85]},
            "legend": None,
        },
        "tooltip": [t for t in frame.tooltip() if t["title"] != "side"],
    }
    layers: list[Spec] = [{"mark": {"type": "rect", "cornerRadius": 2}, "encoding": cell}]
    if across <= 12:
        text = {"type": "text", "fontSize": 11, "color": "currentColor", "aria": False}
        layers.append({"mark": text, "encoding": {**place, "text": {"field": words, "type": "nominal"}}})
    return {"height": {"step": 28}, "layer": layers}


def line(frame: Frame) -> Spec:
    """Channels: x, y, color; low and high for a band; and, as a list of numbers, rules across."""
    encode = frame.exhibit.encode
    xs = frame.channel("x") or []
    x = frame.add(frame.title_of("x"), xs if numeric(xs) else [label_text(v) for v in xs])
    y = frame.add(frame.title_of("y"), floats(frame.channel("y")))
    color = frame.add(frame.title_of("color") if "color" in encode else "", group_labels(frame, len(xs)))
    banded = "low" in encode and "high" in encode
    low = frame.add("low", floats(frame.channel("low", required=banded), len(xs)))
    high = frame.add("high", floats(frame.channel("high", required=banded), len(xs)))
    thin(frame, color)
    kind = "quantitative" if numeric(frame.columns[x]) else "ordinal"
    across = frame.encode(
        x, kind, sort=None, **({"scale": {"zero": False}} if kind == "quantitative" else {})
    )
    up = frame.encode(y, "quantitative", scale={"zero": False})
    tone = group_color(frame, color)
    layers: list[Spec] = []
    if banded:
        edges = {"y": {**up, "field": low}, "y2": {"field": high}}
        layers.append(
            {
                "mark": {"type": "area", "opacity": 0.18, "aria": False},
                "encoding": {"x": across, "color": tone, **edges},
            }
        )
    layers += [line_at(float(rule), "y") for rule in encode.get("rules") or []]
    points = len(frame.columns[x]) <= 60
    mark = {"type": "line", "strokeWidth": 2, "point": {"size": 28} if points else False}
    layers.append(
        {"mark": mark, "encoding": {"x": across, "y": up, "color": tone, "tooltip": frame.tooltip()}}
    )
    if not points:  # a line has one tooltip; invisible points give each place its own
        ghost = {"type": "point", "opacity": 0, "size": 60, "aria": False}
        layers.append({"mark": ghost, "encoding": {"x": across, "y": up, "tooltip": frame.tooltip()}})
    return {"height": 260, "layer": layers}


def scatter(frame: Frame) -> Spec:
    """Channels: x, y, label, color; and, as true or false, diagonal (the line of equality)."""
    encode = frame.exhibit.encode
    xs, ys = floats(frame.channel("x")), floats(frame.channel("y"))
    x, y = frame.add(frame.title_of("x"), xs), frame.add(frame.title_of("y"), ys)
    label = frame.add(
        frame.title_of("label"),
        [label_text(v) for v in frame.channel("label", required=False) or [""] * len(xs)],
    )
    color = frame.add(frame.title_of("color") if "color" in encode else "", group_labels(frame, len(xs)))
    spread_rows(
        frame, [i for i, (a, b) in enumerate(zip(xs, ys, strict=True)) if a is not None and b is not None]
    )
    both = [v for name in (x, y) for v in frame.columns[name] if isinstance(v, float)]
    square = (
        {"domain": [min(both), max(both)], "nice": True}
        if encode.get("diagonal") and both
        else {"zero": False}
    )
    across = frame.encode(x, "quantitative", scale=square)
    up = frame.encode(y, "quantitative", scale=square)
    few = len(frame.columns[x]) <= 15
    opacity = 0.85 if len(frame.columns[x]) < 200 else 0.5
    mark = {"type": "point", "filled": True, "size": 48, "opacity": opacity}
    place = {"x": across, "y": up}
    layers: list[Spec] = []
    if encode.get("diagonal") and both:
        ends = [{"a": min(both), "b": max(both)}]
        rule = {"type": "rule", "color": MUTED, "strokeDash": [4, 3], "aria": False}
        along = {"x": {"field": "a", "type": "quantitative"}, "x2": {"field": "b"}}
        upward = {"y": {"field": "a", "type": "quantitative"}, "y2": {"field": "b"}}
        layers.append({"data": {"values": ends}, "mark": rule, "encoding": {**along, **upward}})
    layers.append(
        {"mark": mark, "encoding": {**place, "color": group_color(frame, color), "tooltip": frame.tooltip()}}
    )
    if few and "label" in encode:
        text = {
            "type": "text",
            "align": "left",
            "dx": 7,
            "fontSize": 11,
            "color": "currentColor",
            "limit": 120,
        }
        layers.append(
            {
                "mark": {**text, "aria": False},
                "encoding": {**place, "text": {"field": label, "type": "nominal"}},
            }
        )
    return {"height": 320, "layer": layers}


def dumbbell(frame: Frame) -> Spec:
    """Channels: y (label), from, to, group."""
    labels = unique([label_text(v) for v in frame.channel("y") or []])
    y = frame.add(frame.title_of("y"), labels)
    start = frame.add(frame.title_of("from"), floats(frame.channel("from")))
    end = frame.add(frame.title_of("to"), floats(frame.channel("to")))
    if "group" in frame.exhibit.encode:
        frame.add(frame.title_of("group"), [label_text(v) for v in frame.channel("group") or []])
    frame.limit = min(frame.limit, 60)
    first_rows(frame, range(len(labels)))
    rows = {"field": y, "type": "nominal", "sort": None, "title": None}
    ends = {"domain": [frame.titles[start], frame.titles[end]], "range": [PALETTE[7], PALETTE[1]]}
    titles = {"scale": {"zero": False}, "title": f"{frame.titles[start]} → {frame.titles[end]}"}

    def dot(name: str) -> Spec:
        place = {"x": {"field": name, "type": "quantitative", **titles}, "y": rows}
        tone = {"datum": frame.titles[name], "type": "nominal", "scale": ends, "title": None}
        mark = {"type": "point", "filled": True, "size": 80, "opacity": 1}
        return {"mark": mark, "encoding": {**place, "color": tone, "tooltip": frame.tooltip()}}

    link = {"x": {"field": start, "type": "quantitative", **titles}, "x2": {"field": end}, "y": rows}
    rule = {
        "mark": {"type": "rule", "strokeWidth": 3, "opacity": 0.45, "color": MUTED, "aria": False},
        "encoding": link,
    }
    return {"height": {"step": 24}, "layer": [rule, dot(start), dot(end)]}


def bars(frame: Frame) -> Spec:
    """Channels: x and y (one of them numbers), color; low and high for error bars; rules as a list of
    numbers."""
    encode = frame.exhibit.encode
    upright = numeric(frame.channel("y") or [])
    size, name = ("y", "x") if upright else ("x", "y")
    values = floats(frame.channel(size))
    labels = frame.add(frame.title_of(name), [label_text(v) for v in frame.channel(name) or []])
    amount = frame.add(frame.title_of(size), values)
    color = frame.add(frame.title_of("color") if "color" in encode else "", group_labels(frame, len(values)))
    banded = "low" in encode and "high" in encode
    low = frame.add("low", floats(frame.channel("low", required=banded), len(values)))
    high = frame.add("high", floats(frame.channel("high", required=banded), len(values)))
    frame.limit = min(frame.limit, 80)
    first_rows(frame, [i for i, v in enumerate(values) if v is not None])
    split = len(set(frame.columns[labels])) < len(frame.columns[labels])
    rows: Spec = {"y": frame.encode(labels, "nominal", sort=None, axis={"title": None})}
    if split:
        rows["yOffset"] = {"field": color, "sort": None}
    along = frame.encode(amount, "quantitative")
    mark = {"type": "bar", "cornerRadiusEnd": 2, "height": {"band": 0.8}}
    tone = group_color(frame, color)
    layers: list[Spec] = [
        {"mark": mark, "encoding": {**rows, "x": along, "color": tone, "tooltip": frame.tooltip()}}
    ]
    if banded:
        edges = {"x": {**along, "field": low}, "x2": {"field": high}}
        layers.append(
            {"mark": {"type": "rule", "color": "currentColor", "aria": False}, "encoding": {**rows, **edges}}
        )
    layers += [line_at(float(rule), "x") for rule in encode.get("rules") or []]
    groups = len(set(frame.columns[color])) if split else 1
    return {"height": {"step": max(22, 13 * groups + 6), "for": "position"}, "layer": layers}


CHARTS: dict[str, Maker] = {
    "forest": forest,
    "density": density,
    "heatmap": heatmap,
    "line": line,
    "band": line,
    "scatter": scatter,
    "dumbbell": dumbbell,
    "bars": bars,
}
"""Kind of chart → how it is drawn. `examples` and `trace` are set as text by the HTML report."""

# --- pieces
# -------------------------------------------------------------------------------------------------------

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
from evenhand.reports.curves import density, line
from evenhand.reports.frame import (
    Frame,
    Spec,
    first_rows,
    floats,
    group_labels,
    label_text,
    numeric,
    spread_rows,
    unique,
)
from evenhand.reports.look import (
    CONFIG,
    LINES,
    MUTED,
    PALETTE,
    VERDICT_COLORS,
    VERDICT_SHAPES,
    diagonal,
    group_color,
    line_at,
    tolerance_band,
)
from evenhand.reports.multiples import nothing_to_draw, same_order

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


def chart(exhibit: Exhibit, *, limit: int = 800, alone: bool = False) -> Chart | None:
    """The drawing of an exhibit with at most `limit` rows; None for kinds that are not drawn by Vega-Lite.

    Args:
        alone: a single row is drawn too.

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
    if nothing_to_draw(exhibit) and not (alone and len(exhibit) == 1):
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
    y = frame.labels(frame.title_of("y"), labels)
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
    axis = {"labelPadding": 8, "labelExpr": LINES}
    rows = {"field": y, "type": "nominal", "sort": None, "title": None, "axis": axis}
    used = [v for v in VERDICT_COLORS if v in frame.columns[verdict]]
    colors = {"domain": used, "range": [VERDICT_COLORS[v] for v in used]}
    shapes = {"domain": used, "range": [VERDICT_SHAPES[v] for v in used]}
    tone: Spec = {"field": verdict, "type": "nominal", "scale": colors, "title": None}
    tone |= {"legend": None} if used == ["not judged"] else {}
    layers: list[Spec] = [*tolerance_band(encode.get("tolerance"), position), line_at(null, "x", dash=[])]
    layers += [
        {
            "mark": {"type": "rule", "strokeWidth": 2},
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
                "shape": {**tone, "scale": shapes},
                "tooltip": frame.tooltip(),
            },
        },
    ]
    for layer in layers[-2:]:
        layer["encoding"]["y"] = rows
    return {"height": {"step": 8 + 14 * frame.lines(y)}, "layer": layers}


def heatmap(frame: Frame) -> Spec:
    """Channels: x, y, value; and, as a number, null (0 where absent), from which colours depart both ways."""
    null = float(frame.exhibit.encode.get("null", 0.0))
    values = floats(frame.channel("value"))
    across_names, up_names = (
        [str(label_text(v)) for v in frame.channel(channel) or []] for channel in ("x", "y")
    )
    x, y = frame.labels(frame.title_of("x"), across_names), frame.labels(frame.title_of("y"), up_names)
    values = [None if a == b else v for a, b, v in zip(across_names, up_names, values, strict=True)]
    frame.add(frame.title_of("value"), values)
    most = max((abs(v - null) for v in values if v is not None), default=0.0) or 1.0
    side = frame.add("side", ["–" if v is None else "above" if v >= null else "below" for v in values])
    strength = frame.add("", [0.0 if v is None else round(abs(v - null) / most, 4) for v in values])
    words = frame.add("", ["" if v is None else number(v) for v in values])
    order = same_order(frame.columns[x], frame.columns[y])
    first_rows(frame, [i for i, v in enumerate(values) if v is not None])
    across = len(order[0])
    place = {
        "x": frame.encode(
            x,
            "nominal",
            sort=order[0],
            scale={"domain": order[0]},
            axis={"labelAngle": -40 if across > 4 else 0, "domain": False, "labelExpr": LINES},
        ),
        "y": frame.encode(
            y,
            "nominal",
            sort=order[1],
            scale={"domain": order[1]},
            axis={"domain": False, "labelExpr": LINES},
        ),
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
        text = {"type": "text", "fontSize": 11, "color": "currentColor"}
        layers.append({"mark": text, "encoding": {**place, "text": {"field": words, "type": "nominal"}}})
    return {"height": {"step": max(28, 8 + 14 * frame.lines(y))}, "layer": layers}


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
    out = encode.get("emphasis")
    last = [i for i, level in enumerate(frame.columns[color]) if level == out]
    frame.keep([*(i for i in range(len(frame.columns[color])) if i not in set(last)), *last])
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
        layers.append(diagonal(min(both), max(both)))
    layers.append(
        {"mark": mark, "encoding": {**place, "color": group_color(frame, color), "tooltip": frame.tooltip()}}
    )
    drawn = [v for v in frame.columns[x] if isinstance(v, float)]
    right = bool(last) and drawn[-1] > (min(drawn) + max(drawn)) / 2
    if last or (few and "label" in encode):
        text = {
            "type": "text",
            "align": "right" if right else "left",
            "dx": -7 if right else 7,
            "fontSize": 11,
            "color": "currentColor",
            "fontWeight": "bold" if last else "normal",
        }
        only = {"transform": [{"filter": {"field": color, "equal": out}}]} if last else {}
        words = {"field": label, "type": "nominal"}
        layers.append({**only, "mark": text, "encoding": {**place, "text": words}})
    return {"height": 320, "layer": layers}


def dumbbell(frame: Frame) -> Spec:
    """Channels: y (label), from, to, group."""
    labels = unique([label_text(v) for v in frame.channel("y") or []])
    y = frame.labels(frame.title_of("y"), labels)
    start = frame.add(frame.title_of("from"), floats(frame.channel("from")))
    end = frame.add(frame.title_of("to"), floats(frame.channel("to")))
    if "group" in frame.exhibit.encode:
        frame.add(frame.title_of("group"), [label_text(v) for v in frame.channel("group") or []])
    frame.limit = min(frame.limit, 60)
    first_rows(frame, range(len(labels)))
    rows = {"field": y, "type": "nominal", "sort": None, "title": None, "axis": {"labelExpr": LINES}}
    ends = {"domain": [frame.titles[start], frame.titles[end]], "range": [PALETTE[7], PALETTE[1]]}
    titles = {"scale": {"zero": False}, "title": f"{frame.titles[start]} → {frame.titles[end]}"}

    def dot(name: str) -> Spec:
        place = {"x": {"field": name, "type": "quantitative", **titles}, "y": rows}
        tone = {"datum": frame.titles[name], "type": "nominal", "scale": ends, "title": None}
        mark = {"type": "point", "filled": True, "size": 80, "opacity": 1}
        return {"mark": mark, "encoding": {**place, "color": tone, "tooltip": frame.tooltip()}}

    link = {"x": {"field": start, "type": "quantitative", **titles}, "x2": {"field": end}, "y": rows}
    rule = {
        "mark": {"type": "rule", "strokeWidth": 3, "opacity": 0.45, "color": MUTED},
        "encoding": link,
    }
    return {"height": {"step": 10 + 14 * frame.lines(y)}, "layer": [rule, dot(start), dot(end)]}


def bars(frame: Frame) -> Spec:
    """Channels: x and y (one of them numbers), color; low and high for error bars; rules as a list of
    numbers."""
    encode = frame.exhibit.encode
    upright = numeric(frame.channel("y") or [])
    size, name = ("y", "x") if upright else ("x", "y")
    values = floats(frame.channel(size))
    labels = frame.labels(frame.title_of(name), [label_text(v) for v in frame.channel(name) or []])
    amount = frame.add(frame.title_of(size), values)
    color = frame.add(frame.title_of("color") if "color" in encode else "", group_labels(frame, len(values)))
    banded = "low" in encode and "high" in encode
    low = frame.add("low", floats(frame.channel("low", required=banded), len(values)))
    high = frame.add("high", floats(frame.channel("high", required=banded), len(values)))
    frame.limit = min(frame.limit, 80)
    first_rows(frame, [i for i, v in enumerate(values) if v is not None])
    split = len(set(frame.columns[labels])) < len(frame.columns[labels])
    axis = {"title": None, "labelExpr": LINES}
    rows: Spec = {"y": frame.encode(labels, "nominal", sort=None, axis=axis)}
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
        layers.append({"mark": {"type": "rule", "color": "currentColor"}, "encoding": {**rows, **edges}})
    layers += [line_at(float(rule), "x") for rule in encode.get("rules") or []]
    groups = len(set(frame.columns[color])) if split else 1
    return {
        "height": {"step": max(8 + 14 * frame.lines(labels), 13 * groups + 6), "for": "position"},
        "layer": layers,
    }


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

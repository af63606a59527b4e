"""The look of all drawings: fonts, colours, lines and bands of reference. Text is ``currentColor``: the page
decides on light or dark."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.reports.frame import (
    Frame,
    Spec,
)

INK = "currentColor"

CONFIG: Spec = {
    "background": None,
    "aria": False,
    "font": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titleOpacity": 0.75,
        "gridColor": INK,
        "gridOpacity": 0.1,
        "domainColor": INK,
        "domainOpacity": 0.35,
        "tickColor": INK,
        "tickOpacity": 0.35,
    },
    "axisX": {"labelFlush": False, "tickCount": 7, "labelSeparation": 8, "labelOverlap": "greedy"},
    "axisY": {"labelLimit": 0},
    "legend": {
        "orient": "top",
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "columns": 3,
        "labelLimit": 0,
        "symbolOpacity": 1,
    },
}

PALETTE = ("#3d7cc9", "#d67a2c", "#2b9c86", "#b0559b", "#8b8f2f", "#7c6bd0", "#c2504a", "#6f7f8f")
"""Group colours: told apart by most kinds of colour vision, and legible on white and on near-black."""

VERDICT_COLORS = {
    "disparity": "#c23b22",
    "gap": "#b8860b",
    "inconclusive": "#6b7785",
    "within tolerance": "#2f7fd6",
    "not judged": "#8a949e",
}

VERDICT_SHAPES = {
    "disparity": "diamond",
    "gap": "triangle-up",
    "inconclusive": "circle",
    "within tolerance": "square",
    "not judged": "circle",
}

MUTED = "#7f8a96"
LINES = "split(datum.label, '\\n')"
"""Wrapped labels: Vega breaks a label where it is a list."""


def line_at(value: float, axis: str, dash: Sequence[int] = (4, 3)) -> Spec:
    mark = {"type": "rule", "color": INK, "opacity": 0.55, "strokeDash": list(dash), "aria": False}
    return {
        "data": {"values": [{}]},
        "mark": mark,
        "encoding": {axis: {"datum": value, "type": "quantitative"}},
    }


def tolerance_band(bounds: Sequence[float | None] | None, position: Spec) -> list[Spec]:
    if not bounds or len(bounds) != 2 or (bounds[0] is None and bounds[1] is None):
        return []
    low, high = bounds
    if low is None or high is None:
        return [line_at(float(b), "x") for b in bounds if b is not None]
    mark = {"type": "rect", "color": VERDICT_COLORS["within tolerance"], "opacity": 0.12, "aria": False}
    edges = {"x": {"datum": low, "type": "quantitative", **position}, "x2": {"datum": high}}
    return [{"data": {"values": [{}]}, "mark": mark, "encoding": edges}]


def group_color(frame: Frame, name: str) -> Spec:
    """Colour by group in order of appearance; no legend where there is one group, or one that stands out."""
    levels = list(dict.fromkeys(frame.columns[name]))
    if (out := frame.exhibit.encode.get("emphasis")) in levels:
        others = [level for level in levels if level != out]
        tones = [*[MUTED] * len(others), PALETTE[1]]
        return {
            "field": name,
            "type": "nominal",
            "scale": {"domain": [*others, out], "range": tones},
            "legend": None,
        }
    colors = [PALETTE[i % len(PALETTE)] for i in range(len(levels))]
    scale = {"domain": levels, "range": colors}
    legend: Spec = {} if len(levels) > 1 else {"legend": None}
    return {"field": name, "type": "nominal", "scale": scale, "title": frame.titles[name] or None, **legend}


def diagonal(low: float, high: float) -> Spec:
    """The line of equality."""
    rule = {"type": "rule", "color": MUTED, "strokeDash": [4, 3], "aria": False}
    along = {"x": {"field": "a", "type": "quantitative"}, "x2": {"field": "b"}}
    upward = {"y": {"field": "a", "type": "quantitative"}, "y2": {"field": "b"}}
    return {"data": {"values": [{"a": low, "b": high}]}, "mark": rule, "encoding": {**along, **upward}}

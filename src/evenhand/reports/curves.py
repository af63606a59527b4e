"""Distributions and curves: one panel for a few groups, or one group in colour before the others."""

from __future__ import annotations

from evenhand.reports.frame import (
    Frame,
    Spec,
    floats,
    group_labels,
    histogram,
    label_text,
    numeric,
    ready_bins,
    step_corners,
    thin,
)
from evenhand.reports.look import MUTED, diagonal, group_color, line_at
from evenhand.reports.multiples import equality


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
    one = encode.get("emphasis")
    few = len(set(frame.columns[color])) <= 4
    line = {"type": "line", "interpolate": "step-after", "strokeWidth": 2}
    fill = {"type": "area", "interpolate": "step-after", "opacity": 0.14}
    layers: list[Spec] = [{"mark": line, "encoding": encoding}]
    if few:
        layers.insert(0, {"mark": fill, "encoding": {k: v for k, v in encoding.items() if k != "tooltip"}})
    if one is not None:
        grey = {
            "type": "line",
            "interpolate": "step-after",
            "strokeWidth": 1,
            "opacity": 0.35,
            "color": MUTED,
        }
        others = {"x": encoding["x"], "y": encoding["y"], "detail": {"field": color, "type": "nominal"}}
        only = {"transform": [{"filter": {"field": color, "equal": one}}]}
        layers = [{"mark": grey, "encoding": others}, {**only, **layers[-1]}]
    return {"height": 160 if one is not None else 240, "layer": layers}


def line(frame: Frame) -> Spec:
    """Channels: x, y, color; low and high for a band; and, as a list of numbers, rules across.

    A series that lies on the line of equality is drawn as that line; `emphasis` names the one in colour.
    """
    encode = frame.exhibit.encode
    xs = frame.channel("x") or []
    ys = floats(frame.channel("y"))
    groups = group_labels(frame, len(xs))
    ends = equality(xs, ys, groups)
    x = frame.add(frame.title_of("x"), xs if numeric(xs) else [label_text(v) for v in xs])
    y = frame.add(frame.title_of("y"), ys)
    color = frame.add(frame.title_of("color") if "color" in encode else "", groups)
    banded = "low" in encode and "high" in encode
    low = frame.add("low", floats(frame.channel("low", required=banded), len(xs)))
    high = frame.add("high", floats(frame.channel("high", required=banded), len(xs)))
    if ends is not None:
        frame.keep([i for i, group in enumerate(groups) if group != ends[0]])
    thin(frame, color)
    kind = "quantitative" if numeric(frame.columns[x]) else "ordinal"
    across = frame.encode(
        x, kind, sort=None, **({"scale": {"zero": False}} if kind == "quantitative" else {})
    )
    up = frame.encode(y, "quantitative", scale={"zero": False})
    tone = group_color(frame, color)
    layers: list[Spec] = [] if ends is None else [diagonal(*ends[1:])]
    one = encode.get("emphasis")
    of_one = {"transform": [{"filter": {"field": color, "equal": one}}]} if one is not None else {}
    if banded:
        edges = {"y": {**up, "field": low}, "y2": {"field": high}}
        layers.append(
            {
                **of_one,
                "mark": {"type": "area", "opacity": 0.18},
                "encoding": {"x": across, "color": tone, **edges},
            }
        )
    layers += [line_at(float(rule), "y") for rule in encode.get("rules") or []]
    points = len(frame.columns[x]) <= 60 or one is not None
    mark = {"type": "line", "strokeWidth": 2, "point": {"size": 28} if points else False}
    drawn = {"x": across, "y": up, "color": tone, "tooltip": frame.tooltip()}
    if one is not None:
        others = {"x": across, "y": up, "detail": {"field": color, "type": "nominal"}}
        grey = {"type": "line", "strokeWidth": 1, "opacity": 0.35, "color": MUTED}
        layers.append({"mark": grey, "encoding": others})
    layers.append({**of_one, "mark": mark, "encoding": drawn})
    if not points:  # a line has one tooltip; invisible points give each place its own
        ghost = {"type": "point", "opacity": 0, "size": 60}
        layers.append({"mark": ghost, "encoding": {"x": across, "y": up, "tooltip": frame.tooltip()}})
    return {"height": 180 if one is not None else 260, "layer": layers}

"""Exhibits as parts of a page: tables cut to a stated length, pairs of texts with the changed words,
charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from evenhand._errors import UsageError
from evenhand._model import Exhibit, Scalar
from evenhand._wording import number, visible
from evenhand.reports.charts import CHARTS, Chart, chart
from evenhand.reports.multiples import nothing_to_draw, small_multiples
from evenhand.reports.words import word_diff

Part: TypeAlias = dict[str, Any]
Pieces: TypeAlias = list[tuple[str, bool]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """How much of a large result one page shows; whatever is left out is counted on the page."""

    claims: int = 160
    groups: int = 40
    estimates: int = 300
    rows: int = 150
    points: int = 700
    pairs: int = 20
    cell: int = 500
    exhibits: int = 60

    def halved(self) -> Limits:
        """Half of everything, but never nothing."""
        return Limits(**{name: max(2, getattr(self, name) // 2) for name in self.__slots__})


def exhibit_part(exhibit: Exhibit, index: int, limits: Limits) -> tuple[Part, list[Part]]:
    """What the template needs to show an exhibit, and the charts that the script draws."""
    part: Part = {
        "id": f"exhibit-{index}",
        "title": visible(exhibit.title),
        "note": visible(exhibit.note),
        "drawings": [],
        "pairs": [],
        "sides": ("Before", "After"),
        "steps": [],
        "table": None,
    }
    entries: list[Part] = []
    panels, why = _panels(exhibit, limits)
    for at, (title, drawn) in enumerate(panels):
        name = f"chart-{index}" if len(panels) == 1 else f"chart-{index}-{at + 1}"
        figure, entry = drawing_part(drawn, name, exhibit, title if len(panels) > 1 else "")
        part["drawings"].append(figure)
        if entries and entry["columns"] == entries[0]["columns"]:  # the panels of one exhibit share its data
            entry = {**entry, "columns": None, "as": entries[0]["id"]}
        entries.append(entry)
    if exhibit.chart == "examples":
        _pairs(part, exhibit, limits)
    elif exhibit.chart == "trace":
        _steps(part, exhibit, limits)
    if why:
        part["note"] = f"{part['note']} {why}".strip()
    shown_otherwise = bool(panels or part["pairs"] or part["steps"])
    part["table"] = table_part(exhibit, limits, opened=not shown_otherwise and len(exhibit) <= 12)
    return part, entries


def _panels(exhibit: Exhibit, limits: Limits) -> tuple[list[tuple[str, Chart]], str]:
    """(title, chart) of each panel, or why there is none: a broken exhibit costs only its drawing."""
    try:
        several = small_multiples(exhibit, limits.points)
        made = [(e.title, chart(e, limit=limits.points)) for e in several or [exhibit]]
    except UsageError as error:
        return [], f"(No chart: {visible(error.message)}.)"
    drawn = [(title, c) for title, c in made if c is not None]
    if not drawn:
        why = nothing_to_draw(exhibit) if exhibit.chart in CHARTS and len(exhibit) else ""
        return [], f"Not drawn: {why[0].lower()}{why[1:]}" if why else ""
    channel = exhibit.encode.get("color", exhibit.encode.get("group", "group"))
    groups = len(set(exhibit.columns.get(str(channel), ())))
    left = f"Drawn: {len(drawn)} of {groups} groups." if several and len(drawn) < groups - 1 else ""
    if several and len(several[0]) < len(exhibit):
        left = f"{left} Each panel shows {len(several[0]):,} of {len(exhibit):,} points.".strip()
    return drawn, left


def drawing_part(drawn: Chart, name: str, exhibit: Exhibit, title: str) -> tuple[Part, Part]:
    """The figure, and the entry that the script reads."""
    thinned = drawn.shown < drawn.of
    caption = f"The chart shows {drawn.shown:,} of {drawn.of:,} points." if thinned else ""
    about = f"{visible(exhibit.title)}{f', {visible(title)}' if title else ''}"
    description = f"{about}. {visible(exhibit.note)} The data are in the table below the chart."
    entry = {"id": name, "description": description, "spec": drawn.spec, "columns": _rounded(drawn.columns)}
    return {"id": name, "caption": caption, "title": visible(title), "label": description}, entry


MOST_WHOLE = 1e15
"""Whole numbers beyond are not told from their neighbours."""


def _rounded(columns: Mapping[str, Sequence[Scalar]]) -> dict[str, list[Scalar]]:
    """Six significant digits: more than a screen can show, in half of the space."""
    return {k: [float(f"{v:.6g}") if isinstance(v, float) else v for v in c] for k, c in columns.items()}


def table_part(exhibit: Exhibit, limits: Limits, *, opened: bool) -> Part | None:
    """The first rows of an exhibit as text, and how many there are."""
    if not exhibit.columns:
        return None
    said_of = {k: _whole(v) for k, v in exhibit.columns.items() if any(x is not None for x in v)}
    exhibit = replace(exhibit, columns=said_of or exhibit.columns)
    n = len(exhibit)
    shown = min(n, limits.rows)
    columns = [
        {"name": visible(name).replace("_", " "), "numeric": _numeric(values[:shown])}
        for name, values in exhibit.columns.items()
    ]
    rows = [[cell(v, limits.cell) for v in row.values()] for row in _first(exhibit, shown)]
    left = f"the first {shown:,} of {n:,} rows" if shown < n else f"{n:,} row{'' if n == 1 else 's'}"
    said = f"{left[0].upper()}{left[1:]}; result.json has all." if shown < n else ""
    label = visible(exhibit.title)
    return {
        "columns": columns,
        "rows": rows,
        "said": said,
        "summary": f"Table: {left}",
        "open": opened,
        "label": label,
        "links": [],
    }


def _first(exhibit: Exhibit, shown: int) -> list[dict[str, Scalar]]:
    return list(replace(exhibit, columns={k: list(v)[:shown] for k, v in exhibit.columns.items()}).rows())


def _whole(values: Sequence[Scalar]) -> list[Scalar]:
    """A column of whole numbers without their ".0"."""
    floats = [v for v in values if isinstance(v, float)]
    if not floats or not all(v.is_integer() and abs(v) < MOST_WHOLE for v in floats):
        return list(values)
    return [int(v) if isinstance(v, float) else v for v in values]


def _numeric(values: Sequence[Scalar]) -> bool:
    present = [v for v in values if v is not None]
    return bool(present) and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in present)


def cell(value: Scalar, width: int) -> str:
    """One value as a reader expects it, cut to `width` characters."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}".replace("-", "−") if abs(value) >= 10_000 else str(value).replace("-", "−")
    if isinstance(value, float):
        return number(value)
    return cut(visible(value[: width + 200]), width)


def cut(text: str, width: int) -> str:
    """`text`, or its beginning and an ellipsis."""
    return text if len(text) <= width else text[: width - 1] + "…"


# --- texts side by side
# -------------------------------------------------------------------------------------------

_BEFORE = ("before", "left", "original", "text_before", "base", "reference_text", "from")
_AFTER = ("after", "right", "changed", "text_after", "variant", "group_text", "to")


def _pairs(part: Part, exhibit: Exhibit, limits: Limits) -> None:
    """Channels: before, after (columns of text). Without them: columns of such names, or the first two of
    text."""
    before, after = _text_column(exhibit, _BEFORE, 0), _text_column(exhibit, _AFTER, 1)
    if before is None or after is None or before == after:
        return
    part["sides"] = (
        visible(before).replace("_", " ").capitalize(),
        visible(after).replace("_", " ").capitalize(),
    )
    shown = min(len(exhibit), limits.pairs)
    for row in _first(exhibit, shown):
        left, right = word_diff(visible(str(row[before] or "")), visible(str(row[after] or "")))
        meta = _others(row, {before, after}, limits)
        part["pairs"].append(
            {"left": elided(left, limits.cell), "right": elided(right, limits.cell), "meta": meta}
        )
    if shown < len(exhibit):
        part["note"] = f"{part['note']} Shown side by side: the first {shown} of {len(exhibit):,}.".strip()


def _steps(part: Part, exhibit: Exhibit, limits: Limits) -> None:
    """Channels: text; group where several traces follow one another. Changed words are marked against the
    step before."""
    text = _text_column(exhibit, ("text", "sentence", "input"), 0)
    if text is None:
        return
    group = exhibit.encode.get("group")
    previous: dict[str, Scalar] | None = None
    for row in _first(exhibit, min(len(exhibit), 3 * limits.pairs)):
        now = visible(str(row[text] or ""))
        fresh = previous is None or (group in row and previous[group] != row[group])
        pieces = (
            [(now, False)]
            if fresh or previous is None
            else word_diff(visible(str(previous[text] or "")), now)[1]
        )
        part["steps"].append({"text": elided(pieces, limits.cell), "meta": _others(row, {text}, limits)})
        previous = row
    if len(part["steps"]) < len(exhibit):
        part["note"] = (
            f"{part['note']} Shown: the first {len(part['steps'])} of {len(exhibit):,} steps.".strip()
        )


def _text_column(exhibit: Exhibit, names: Sequence[str], position: int) -> str | None:
    named = exhibit.encode.get(names[0])
    if isinstance(named, str) and named in exhibit.columns:
        return named
    found = next((name for name in names if name in exhibit.columns), None)
    texts = [k for k, v in exhibit.columns.items() if any(isinstance(x, str) for x in v)]
    return found or (texts[position] if len(texts) > position else None)


def _others(row: Mapping[str, Scalar], used: set[str], limits: Limits) -> str:
    facts = [
        f"{visible(k).replace('_', ' ')} {cell(v, limits.cell)}"
        for k, v in row.items()
        if k not in used and v is not None
    ]
    return " · ".join(facts)


def elided(pieces: Pieces, width: int) -> Pieces:
    """Long stretches shortened, the unchanged ones first, so that the changed words stay in sight."""
    room = max(40, width // 4)
    short: Pieces = []
    for i, (text, changed) in enumerate(pieces):
        if len(text) <= (width if changed else 2 * room):
            short.append((text, changed))
        elif changed:
            short.append((cut(text, width), changed))
        elif i == 0:
            short.append(("…" + text[-room:] if len(pieces) > 1 else cut(text, width), changed))
        elif i == len(pieces) - 1:
            short.append((text[:room] + "…", changed))
        else:
            short.append((f"{text[:room]} … {text[-room:]}", changed))
    keep = 400  # a text in which everything changed is no example to read
    return short if len(short) <= keep else [*short[:keep], (" …", False)]

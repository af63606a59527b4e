"""The matrix of a page: attributes × questions, each cell the claim that decides, on its column's axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from evenhand._facts import Scene, Told, base_of, named_attribute, phrase_of, system_of, tell
from evenhand._headline import ranked, state_of
from evenhand._labels import spoken
from evenhand._model import Finding
from evenhand._wording import in_brief, middle_cut, visible
from evenhand.reports.interval import Ruler, axis_for, glyph, scale, strip, tone

if TYPE_CHECKING:
    from evenhand._record import Record

Part: TypeAlias = dict[str, Any]
MOST_BESIDE = 12
"""Secondary rows in view; the others are folded."""
Anchor: TypeAlias = Callable[[Finding], str]
"""Finding → the id of its claim on the page."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """A question: its findings and the axis that they share."""

    measure: str
    contrast: str
    told: Told
    axis: Ruler
    first: Finding
    times: float


def matrix(result: Record, scene: Scene, anchor: Anchor) -> Part | None:
    """Rows, columns and cells; None where nothing was held against a tolerance."""
    primary = [f for f in result.primary if f.verdict is not None]
    if not primary:
        return None
    beside = _beside(result, primary)
    columns = _columns([*primary, *beside], len(primary), scene)
    rows = _rows(primary, columns, scene, anchor)
    others = _rows(beside, columns, scene, anchor)
    return {
        "columns": [
            {
                "title": _asked(c.told.question),
                "measure": visible(
                    f"{c.measure}, {c.contrast}" if c.contrast not in c.measure else c.measure
                ),
                "tolerance": c.told.tolerance,
                "scale": scale(c.first.tolerance, c.contrast, c.axis, times=c.times),
            }
            for c in columns
        ],
        "rows": rows,
        "beside": others[:MOST_BESIDE],
        "folded": others[MOST_BESIDE:],
    }


def _asked(question: str) -> str:
    shown = middle_cut(question, 90)
    return f"{shown[:1].upper()}{shown[1:]}{'?' if question.startswith('who ') else ''}"


def row_of(finding: Finding) -> str:
    """The row that a finding stands in; where its two sides share no attribute, the side compared."""
    e = finding.estimate
    return spoken(e.group, e.reference, finding.family)[0] or ("" if e.contrast == "difference" else e.group)


def _key(finding: Finding) -> tuple[str, str]:
    base, _, at = base_of(finding.estimate.measure)
    return (f"{base} at {at}" if at else base), finding.estimate.contrast


def _columns(findings: Sequence[Finding], primary: int, scene: Scene) -> list[Column]:
    by_key: dict[tuple[str, str], list[Finding]] = {}
    for f in findings[:primary]:
        by_key.setdefault(_key(f), []).append(f)
    for f in findings[primary:]:
        if _key(f) in by_key:
            by_key[_key(f)].append(f)
    made = []
    for (measure, contrast), members in by_key.items():
        first = members[0]
        points = phrase_of(first, scene.audit).scale in ("points", "pairs")
        times = 100.0 if points else 1.0
        told = tell(first, scene)
        made.append(
            Column(
                measure=measure,
                contrast=contrast,
                told=told,
                axis=axis_for(members),
                first=first,
                times=times,
            )
        )
    return made


def _beside(result: Record, primary: Sequence[Finding]) -> list[Finding]:
    """Attributes that no primary claim is about, by the same measures: the strongest finding of each."""
    rows, asked = {row_of(f) for f in primary}, {_key(f) for f in primary}
    found: dict[tuple[str, tuple[str, str]], list[Finding]] = {}
    for f in result.findings:
        looked_at = f.verdict is not None and not f.primary and f.estimate.given is None
        if looked_at and row_of(f) not in rows and _key(f) in asked:
            found.setdefault((row_of(f), _key(f)), []).append(f)
    return [ranked(members)[0] for members in found.values()]


def _rows(findings: Sequence[Finding], columns: Sequence[Column], scene: Scene, anchor: Anchor) -> list[Part]:
    by_row: dict[tuple[str, str], dict[tuple[str, str], list[Finding]]] = {}
    for f in findings:
        by_row.setdefault((row_of(f), system_of(f)), {}).setdefault(_key(f), []).append(f)
    made = []
    for (name, system), cells in by_row.items():
        first = next(iter(cells.values()))[0]
        told = tell(first, scene)
        title = named_attribute(name) if name else "All items"
        title = f"{title}, {in_brief(system)}" if system else title
        sub = _picked(told) if told.many else f"{told.group} against {told.reference}"
        row = [
            _cell(ranked(cells[c.measure, c.contrast])[0], c, scene, anchor)
            if (c.measure, c.contrast) in cells
            else None
            for c in columns
        ]
        made.append({"title": title[:1].upper() + title[1:], "sub": sub if name else "", "cells": row})
    return made


def _picked(told: Told) -> str:
    return f"{told.many} to {told.reference}" if told.many.startswith("largest") else told.many


def _cell(finding: Finding, column: Column, scene: Scene, anchor: Anchor) -> Part:
    told, state = tell(finding, scene), state_of(finding)
    note = ""
    e = finding.estimate
    if state == "gap" and finding.tolerance is not None and e.value is not None:
        inside = finding.tolerance[0] <= e.value <= finding.tolerance[1]
        note = f"estimate {'inside' if inside else 'beyond'} the tolerance"
    interval = "; ".join(t for t in (f"{told.level} interval {told.ends}", note) if t)
    unknown = state == "not judged"
    return {
        "state": state,
        "tone": tone(state),
        "glyph": glyph(state),
        "who": "" if unknown or told.group == in_brief(row_of(finding)) else told.group,
        "value": "" if unknown else told.value,
        "strip": "" if unknown else strip(finding, column.axis),
        "interval": middle_cut(e.why_not or "there is no interval", 120) if unknown else interval,
        "href": anchor(finding),
    }

"""A result for a terminal: readable at 80 columns, with and without colour, and deaf to escape sequences."""

from __future__ import annotations

import io
import os
import shutil
import sys
from typing import TYPE_CHECKING

from evenhand._json import SEVERITY
from evenhand._model import Finding, Verdict
from evenhand._wording import deciding, null_of, short, visible
from evenhand.reports import words
from evenhand.reports.interval import Ruler, shared_axes
from evenhand.reports.page import cut

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from evenhand._record import Record

STYLES: dict[Verdict | None, str] = {
    "disparity": "bold red",
    "gap": "yellow",
    "inconclusive": "white",
    "within tolerance": "blue",
    None: "dim",
}
SYMBOLS: dict[Verdict | None, str] = {
    "disparity": "◆",
    "gap": "◈",
    "inconclusive": "○",
    "within tolerance": "■",
    None: "·",
}


def render(result: Record, *, width: int | None = None, color: bool | None = None, limit: int = 12) -> str:
    """The audit as text, worst findings first.

    Args:
        result: the audit.
        width: columns; those of the terminal, or 80.
        color: with ANSI colours; by default only on a terminal, and never where NO_COLOR is set.
        limit: how many findings of each verdict are shown; the rest are counted.

    >>> from evenhand._record import Record
    >>> print(render(Record(audit="text", title="toy"), width=60, color=False).splitlines()[0])
    toy
    """
    terminal = sys.stdout.isatty()
    colored = (terminal and not os.environ.get("NO_COLOR")) if color is None else color
    columns = width or (shutil.get_terminal_size().columns if terminal else 80)
    console = _console(max(40, min(columns, 120)), colored)
    _head(console, result)
    axes = shared_axes(result.findings)
    for verdict in (*SEVERITY, None):
        _group(console, [f for f in result.findings if f.verdict == verdict], axes, limit)
    for note in result.notes:
        label = "Warning: " if note.level == "warning" else "Note: "
        style = "yellow" if note.level == "warning" else "dim"
        _say(console, label + cut(words.isolated(note.text), 600), style)
    rendered: str = console.file.getvalue()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in rendered.splitlines()).strip("\n") + "\n"


def _console(width: int, color: bool) -> Console:
    from rich.console import Console

    return Console(
        file=io.StringIO(),
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        no_color=not color,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )


def _say(console: Console, text: str, style: str = "", indent: int = 0) -> None:
    from rich.padding import Padding

    console.print(Padding(_text(text, style), (0, 0, 0, indent)))


def _text(text: str, style: str = "") -> Text:
    from rich.text import Text

    return Text(text, style=style)


def _head(console: Console, result: Record) -> None:
    _say(console, cut(words.isolated(result.title), 300), "bold")
    facts = [words.kind(result), words.counts_words(result)]
    _say(console, ", ".join(f for f in facts if f), "dim")
    console.print()
    if not result.complete:
        _say(console, "INCOMPLETE: the audit stopped early.", "bold red")
    _say(console, result.answer, STYLES[result.verdict])
    if said := words.missing(result):
        _say(console, said, "bold red")
    console.print()


def _group(console: Console, findings: list[Finding], axes: dict[tuple[str, str], Ruler], limit: int) -> None:
    """Disparities and inconclusive findings in a few lines each, the others in one."""
    if not findings:
        return
    verdict = findings[0].verdict
    name = (verdict or "not held against a tolerance").capitalize()
    _say(console, f"{SYMBOLS[verdict]} {name}: {len(findings)}", STYLES[verdict])
    for f in findings[:limit]:
        _finding(
            console,
            f,
            axes[f.estimate.measure, f.estimate.contrast],
            full=verdict in ("disparity", "inconclusive"),
        )
    if len(findings) > limit:
        _say(console, f"… and {len(findings) - limit} more in result.json and report.html", "dim", 2)
    console.print()


def _finding(console: Console, f: Finding, axis: Ruler, *, full: bool) -> None:
    e = f.estimate
    what = f"{visible(e.measure)}, {visible(e.contrast)}"
    _say(console, f"{cut(words.comparison(f), 200)}  ({cut(what, 120)})", "bold" if full else "", 2)
    picture = bar(f, axis, 31)
    _say(console, f"{picture}  {words.interval_words(f)}" if picture else words.interval_words(f), "", 4)
    if full and f.because:
        _say(console, cut(words.isolated(f.because), 600), "", 4)
    if f.rests_on:
        _say(console, f"Rests on: {cut(words.isolated(f.rests_on), 400)}", "", 4)
    if not full:
        return
    facts = [
        f"tolerance {words.tolerance_words(f)}" if f.tolerance else "",
        f"could detect {short(f.detectable)}" if f.detectable is not None else "",
        f"adjusted {words.p_words(e.p_adjusted)}" if e.p_adjusted is not None else words.p_words(e.p_value),
    ]
    said = ", ".join(t for t in facts if t)
    if said:
        _say(console, said, "dim", 4)


def bar(f: Finding, axis: Ruler, width: int) -> str:
    """The interval in characters: ``·`` tolerance, ``│`` null, ``─`` interval, ``●`` estimate; empty without
    one."""
    e = f.estimate
    if e.value is None:
        return ""

    def column(value: float) -> int:
        return round(
            (axis.place(value) - axis.place(axis.low))
            / (axis.place(axis.high) - axis.place(axis.low))
            * (width - 1)
        )

    cells = [" "] * width
    if f.tolerance is not None:
        low, high = (min(max(b, axis.low), axis.high) for b in f.tolerance)
        cells[column(low) : column(high) + 1] = "·" * (column(high) - column(low) + 1)
    cells[column(null_of(f.estimate.contrast))] = "│"
    ends = deciding(f)
    if ends != (None, None):
        low = axis.low if ends[0] is None else ends[0]
        high = axis.high if ends[1] is None else ends[1]
        for i in range(column(low), column(high) + 1):
            cells[i] = "┼" if cells[i] == "│" else "─"
    cells[column(e.value)] = "●"
    return "".join(cells)

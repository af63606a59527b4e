"""A result for a terminal: readable at 80 columns, with and without colour, and deaf to escape sequences."""

from __future__ import annotations

import io
import os
import shutil
import sys
from typing import TYPE_CHECKING

from evenhand._facts import named_attribute, tell
from evenhand._headline import answer_of, ranked, scene_of, state_of
from evenhand._json import SEVERITY
from evenhand._model import Finding, Verdict
from evenhand._wording import deciding, null_of, short, visible
from evenhand.reports import words
from evenhand.reports.interval import Ruler, shared_axes
from evenhand.reports.masthead import question
from evenhand.reports.page import cut

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from evenhand._record import Record

MOST_LINES = 25
"""Of a summary at 80 columns."""
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


def render(
    result: Record,
    *,
    width: int | None = None,
    color: bool | None = None,
    full: bool = False,
    limit: int = 12,
) -> str:
    """The answer and the primary claims in at most 25 lines; all of it where that is asked for.

    Args:
        result: the audit.
        width: columns; those of the terminal, or 80.
        color: with ANSI colours; by default only on a terminal, and never where NO_COLOR is set.
        full: every finding, the worst first, and every note.
        limit: how many findings of each verdict `full` shows; the rest are counted.

    >>> from evenhand._record import Record
    >>> print(render(Record(audit="mine", title="toy"), width=60, color=False).splitlines()[0])
    toy
    """
    terminal = sys.stdout.isatty()
    colored = (terminal and not os.environ.get("NO_COLOR")) if color is None else color
    columns = width or (shutil.get_terminal_size().columns if terminal else 80)
    console = _console(max(40, min(columns, 120)), colored)
    _head(console, result)
    if full:
        _everything(console, result, limit)
    else:
        _in_short(console, result)
    return "\n".join(_lines(console)).strip("\n") + "\n"


def _lines(console: Console) -> list[str]:
    written: str = console.file.getvalue()  # type: ignore[attr-defined]
    return [line.rstrip() for line in written.splitlines()]


def _everything(console: Console, result: Record, limit: int) -> None:
    axes = shared_axes(result.findings)
    for verdict in (*SEVERITY, None):
        _group(console, [f for f in result.findings if f.verdict == verdict], axes, limit)
    for note in result.notes:
        label = "Warning: " if note.level == "warning" else "Note: "
        style = "yellow" if note.level == "warning" else "dim"
        _say(console, label + cut(words.isolated(note.text), 600), style)


def _in_short(console: Console, result: Record) -> None:
    """As many primary claims as there is room for, a line each; the warnings in one; what is left."""
    scene = scene_of(result)
    shown = ranked(result.primary)
    warnings = [n for n in result.notes if n.level == "warning"]
    room = MOST_LINES - len(_lines(console)) - 2 - (1 if warnings else 0)
    for at, f in enumerate(shown):
        told, state = tell(f, scene), state_of(f)
        ends = f" ({told.level} {told.ends})" if told.ends else ""
        who = f"{told.group} {told.value}{ends}, " if state != "not judged" else ""
        about = f"{named_attribute(told.attribute)}, {told.question}"
        line = f"{SYMBOLS[f.verdict]} {state}: {who}by {about}"
        # a line that is too long is cut, not wrapped: the page has it whole
        if at + 1 >= room and at + 1 < len(shown):
            _say(console, f"… and {len(shown) - at} more primary claims", "dim")
            break
        _say(console, cut(words.isolated(line), console.width), STYLES[f.verdict])
    if warnings:
        more = f" (and {len(warnings) - 1} more warnings)" if len(warnings) > 1 else ""
        text = words.isolated(warnings[0].text)
        _say(console, cut(f"Warning: {text}", console.width - len(more)) + more, "yellow")
    left = len(result.findings) - len(shown)
    if left > 0 or len(result.notes) > len(warnings):
        _say(console, f"{left:,} more figures, {len(result.notes)} notes: -v, or the page.", "dim")


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
    """The question, what was counted, and the answer."""
    _say(console, cut(words.isolated(question(result)), 160), "bold")
    facts = [words.kind(result), words.counts_words(result)]
    _say(console, cut(", ".join(f for f in facts if f), 2 * console.width), "dim")
    console.print()
    answer = answer_of(result)
    _say(console, words.isolated(f"{SYMBOLS[result.verdict]} {answer}"), STYLES[result.verdict])
    if answer.outcome:
        _say(console, cut(words.isolated(f"{answer.outcome}."), console.width), "dim")
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
    ends = deciding(f)
    if e.value is None or (ends == (None, None) and f.tolerance is None):
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
    if ends != (None, None):
        low = axis.low if ends[0] is None else ends[0]
        high = axis.high if ends[1] is None else ends[1]
        for i in range(column(low), column(high) + 1):
            cells[i] = "┼" if cells[i] == "│" else "─"
    cells[column(e.value)] = "●"
    return "".join(cells)

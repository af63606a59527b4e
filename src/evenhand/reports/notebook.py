"""A result in a notebook: a light table without script, style sheet or exhibits."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from evenhand.reports import words
from evenhand.reports.page import cut

if TYPE_CHECKING:
    from evenhand._record import Record


def render(result: Record, *, limit: int = 20) -> str:
    """An HTML fragment with at most `limit` findings, worst first; everything escaped.

    >>> from evenhand._record import Record
    >>> "<b>" in render(Record(audit="text", title="<b>"))
    False
    """
    head = ("verdict", "comparison", "measure", "estimate", "tolerance")
    rows = [
        (
            f.verdict or "–",
            words.comparison(f),
            f"{f.estimate.measure}, {f.estimate.contrast}",
            words.interval_words(f),
            words.tolerance_words(f),
        )
        for f in words.worst_first(result.findings)[:limit]
    ]
    cells = "".join(f"<tr>{''.join(f'<td>{_safe(c)}</td>' for c in row)}</tr>" for row in rows)
    titles = "".join(f"<th>{h}</th>" for h in head)
    table = f"<table><thead><tr>{titles}</tr></thead><tbody>{cells}</tbody></table>" if rows else ""
    left = len(result.findings) - len(rows)
    more = f"<p>… and {left} more: <code>.table()</code></p>" if left > 0 else ""
    state = "" if result.complete else " (incomplete)"
    head_line = f"<strong>{_safe(result.title)}</strong>{state}<br>{_safe(result.answer)}"
    return f"<div><p>{head_line}</p>{table}{more}</div>"


def _safe(text: str) -> str:
    return escape(words.isolated(cut(text, 300)), quote=True)

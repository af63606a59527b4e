"""Findings and notes as GitHub-flavoured Markdown, for issues, pull requests and model cards."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from evenhand._model import Finding
from evenhand._wording import short
from evenhand.reports import words
from evenhand.reports.page import cut

if TYPE_CHECKING:
    from evenhand._record import Record

_SPECIAL = re.compile(r"([\\`*_{}\[\]#|~$])")


def render(result: Record, *, limit: int = 200) -> str:
    """Headline, warnings, one table of findings (worst first, at most `limit`), notes and provenance in
    brief.

    >>> from evenhand._record import Record
    >>> print(render(Record(audit="text", title="a|b")).splitlines()[0])
    # a\\|b
    """
    lead = "" if result.complete else "**Incomplete audit.** "
    lines = [f"# {escape(result.title)}", "", f"{lead}**{escape(result.answer)}**", ""]
    lines += [line for text in words.advice(result) for line in (escape(text), "")]
    for note in result.notes:
        if note.level == "warning":
            lines += [f"> **Warning:** {escape(note.text)} ({escape(note.slug)})", ""]
    lines += _table(words.worst_first(result.findings), limit)
    rests = [f for f in words.worst_first(result.findings) if f.rests_on][:limit]
    if rests:
        lines += ["## What findings rest on", ""]
        lines += [f"* {escape(words.comparison(f))}: {escape(cut(f.rests_on or '', 400))}" for f in rests] + [
            ""
        ]
    infos = [n for n in result.notes if n.level != "warning"]
    if infos:
        lines += ["## Notes", "", *[f"* {escape(n.text)} ({escape(n.slug)})" for n in infos], ""]
    lines += [f"*{escape(_origin(result))}*", ""]
    return "\n".join(lines)


def _table(findings: list[Finding], limit: int) -> list[str]:
    if not findings:
        return []
    lines = ["| Verdict | Comparison | Measure | Estimate | p, adjusted | Tolerance | Could detect |"]
    lines.append("| --- | --- | --- | --- | --- | --- | --- |")
    for f in findings[:limit]:
        e = f.estimate
        cells = [
            f.verdict or "–",
            words.comparison(f),
            f"{e.measure}, {e.contrast}",
            words.interval_words(f),
            words.p_words(e.p_adjusted if e.p_adjusted is not None else e.p_value),
            words.tolerance_words(f),
            short(f.detectable) if f.detectable is not None else "",
        ]
        lines.append("| " + " | ".join(escape(cut(cell, 300)) for cell in cells) + " |")
    if len(findings) > limit:
        lines += ["", f"The first {limit} of {len(findings)} findings; result.json has all."]
    return [*lines, ""]


def _origin(result: Record) -> str:
    facts = [f"{words.kind(result)} by evenhand", words.counts_words(result)]
    facts += [
        f"{name}: {cut(str(result.provenance[name]), 120)}"
        for name in ("subject", "created")
        if name in result.provenance
    ]
    return "; ".join(f for f in facts if f)


def escape(text: str) -> str:
    """`text` as one line that Markdown shows as it is: no markup, HTML, links, mentions or mathematics.

    >>> escape("<b>*x*</b> `y` @me https://a.b")
    '&lt;b&gt;\\\\*x\\\\*&lt;/b&gt; \\\\`y\\\\` &#64;me https&#58;//a.b'
    """
    shown = words.isolated(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    shown = _SPECIAL.sub(r"\\\1", shown)
    shown = shown.replace("@", "&#64;").replace("://", "&#58;//")
    shown = re.sub(r"(?i)\bwww\.", lambda m: m.group()[:-1] + "&#46;", shown)
    shown = re.sub(r"^(\s*)([-+])", r"\1\\\2", shown)
    return re.sub(r"^(\s*\d+)([.)])(?=\s|$)", r"\1\\\2", shown)

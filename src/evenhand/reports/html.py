"""One self-contained page: verdicts first, then estimates, what lies behind them, methods and provenance.

Audited text is hostile. The template escapes everything; chart data sit in an inert JSON script with ``<``
escaped; the page's policy allows one script, by its hash, and no request at all; there is no code generation.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from evenhand._json import SCHEMA, SEVERITY
from evenhand._model import Exhibit, Finding
from evenhand._wording import deciding, null_of, short, visible
from evenhand.reports import words
from evenhand.reports.charts import chart
from evenhand.reports.interval import Ruler, picture, shared_axes
from evenhand.reports.page import Limits, Part, cut, drawing_part, exhibit_part, table_part

if TYPE_CHECKING:
    from evenhand._record import Record

MAX_BYTES = 1_450_000
"""A page that would be larger shows less of each table and chart, and says so."""
MAX_FORESTS = 8
"""Forest plots on one page; the table of estimates holds all measures."""


def render(result: Record) -> str:
    """`result` as one HTML page under 1.5 MB that needs no network.

    >>> from evenhand._record import Record
    >>> page = render(Record(audit="text", title="<b>toy</b>"))
    >>> "<h1>&lt;b&gt;toy&lt;/b&gt;</h1>" in page, "nothing was compared." in page
    (True, True)
    """
    limits = Limits()
    text = _page(result, limits)
    for _ in range(8):
        if len(text.encode()) <= MAX_BYTES:
            break
        limits = limits.halved()
        text = _page(result, limits)
    return text


def _page(result: Record, limits: Limits) -> str:
    page, drawings = _view(result, limits)
    script = _asset("charts.js") if drawings else ""
    policy = f"script-src '{_digest(script)}'" if drawings else "script-src 'none'"
    charts = inert_json(drawings) if drawings else ""
    css = _asset("report.css")
    policy += "; style-src 'unsafe-inline'"
    rendered: str = _template().render(page=page, charts=charts, script=script, css=css, policy=policy)
    return rendered


def inert_json(value: Any) -> str:
    """JSON that no HTML parser can leave: ``<``, ``>`` and ``&`` only as escapes.

    >>> inert_json("</script>")
    '"\\\\u003c/script\\\\u003e"'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for c in "<>&\u2028\u2029":
        text = text.replace(c, f"\\u{ord(c):04x}")
    return text


def _view(result: Record, limits: Limits) -> tuple[Part, list[Part]]:
    forests, drawings = _forests(result)
    parts = []
    shown = list(result.exhibits.values())[: limits.exhibits]
    for i, exhibit in enumerate(shown):
        part, drawing = exhibit_part(exhibit, i + 1, limits)
        parts.append(part)
        drawings += [drawing] if drawing else []
    page: Part = {
        **_top(result),
        **_cards(result, limits),
        "forests": forests,
        "drawn": any(part["drawing"] for part in parts),
        "estimates": _estimates(result, limits),
        "exhibits": parts,
        "notes": [_note(n, limits) for n in result.notes if n.level != "warning"],
        "warnings": [_note(n, limits) for n in result.notes if n.level == "warning"],
        "methods": _methods(result, limits),
        "reading": _reading(result),
        "provenance": _provenance(result.provenance, limits),
        "footer": f"Made by evenhand from a result of schema {SCHEMA}. This file is complete: it loads"
        " nothing.",
    }
    if len(shown) < len(result.exhibits):
        text = f"This page shows {len(shown)} of {len(result.exhibits)} exhibits; result.json has all."
        page["notes"].append({"slug": "exhibits-left-out", "text": text})
    sections = (("findings", "Findings", True), ("estimates", "All estimates", page["estimates"]))
    behind = (("exhibits", "What lies behind it", parts), ("notes", "Notes", page["notes"]))
    rest = (("methods", "How to read this", True), ("provenance", "Provenance", page["provenance"]))
    page["contents"] = [(name, title) for name, title, there in (*sections, *behind, *rest) if there]
    return page, drawings


def _top(result: Record) -> Part:
    verdict = result.verdict if result.complete or result.verdict == "disparity" else "inconclusive"
    tone = (verdict or "none").replace(" ", "-")
    title = cut(visible(result.title), 200)
    lead = "" if result.complete else "Incomplete audit. "
    subject = result.provenance.get("subject")
    made = result.provenance.get("created")
    facts = [
        f"Subject: {cut(visible(subject), 120)}" if isinstance(subject, str) else "",
        words.counts_words(result),
        f"Made {cut(visible(made), 40)}" if isinstance(made, str) else "",
    ]
    counted = Counter(f.verdict for f in result.primary)
    judged = [(counted[verdict], verdict, verdict.replace(" ", "-")) for verdict in SEVERITY]
    return {
        "title": title,
        "kind": words.kind(result),
        "tone": tone,
        "headline": lead + result.answer,
        "tally": judged if result.verdict else [],
        "advice": words.advice(result),
        "meta": " · ".join(f for f in facts if f),
    }


LOUD = ("disparity", "gap")
"""Verdicts whose findings are in full view."""


def _cards(result: Record, limits: Limits) -> Part:
    """Every disparity in full view and the first inconclusive findings; the others folded, by verdict.

    With nothing to worry about, the good news is in full view. All up to a stated number.
    """
    axes = shared_axes(result.findings)
    by_verdict: dict[str, list[Finding]] = {}
    for f in words.worst_first(result.findings):
        by_verdict.setdefault(f.verdict or "not held against a tolerance", []).append(f)
    room = limits.cards
    groups: list[Part] = []
    opened = True
    for verdict, members in by_verdict.items():
        shown = [_card(f, axes, limits) for f in members[: max(2, room)]]
        room -= len(shown)
        primary = sum(f.primary for f in members[: len(shown)])
        loud = max(
            primary, len(shown) if verdict in LOUD else (6 if opened and not groups else 4 if opened else 0)
        )
        opened = opened and verdict in LOUD
        folded, left = shown[loud:], len(members) - len(shown)
        more = "more " if loud and folded else ""
        said = f"{len(folded)} {more}{verdict}"
        groups.append(
            {"cards": shown[:loud], "folded": folded, "said": said, "left": left, "verdict": verdict}
        )
    missing = [f"{g['left']} more {g['verdict']}" for g in groups if g["left"]]
    legend = (
        "Dot: estimate. Line: its interval. Shaded: the tolerance declared beforehand. Upright line:"
        " equal treatment."
    )
    return {
        "legend": legend if result.findings else "",
        "groups": groups,
        "cards_said": f"Not shown one by one: {', '.join(missing)}; see all estimates." if missing else "",
    }


def _card(f: Finding, axes: dict[tuple[str, str], Ruler], limits: Limits) -> Part:
    e = f.estimate
    adjusted = words.p_words(e.p_adjusted)
    tolerated = f"Tolerance {words.tolerance_words(f)}" if f.tolerance else ""
    detectable = f"could detect {short(f.detectable)}" if f.detectable is not None else ""
    key = [words.interval_words(f), "; ".join(t for t in (tolerated, detectable) if t)]
    facts = [
        ("p-value", words.p_words(e.p_value)),
        ("adjusted", adjusted + (f" within “{visible(f.family)}”" if adjusted and f.family else "")),
        ("from", words.sizes(f)),
        ("method", cut(visible(e.method), limits.cell)),
        ("limits", visible(e.why_not or "")),
    ]
    return {
        "tone": (f.verdict or "none").replace(" ", "-"),
        "verdict": f.verdict or "not judged",
        "comparison": words.comparison(f),
        "what": f"{visible(e.measure)}, {visible(e.contrast)}" + (", primary" if f.primary else ""),
        "sentence": cut(words.sentence(f), 2 * limits.cell),
        "rests_on": cut(visible(f.rests_on or ""), limits.cell),
        "picture": picture(f, axes[(e.measure, e.contrast)]),
        "key": [k for k in key if k],
        "facts": [(name, value) for name, value in facts if value],
    }


def _forests(result: Record) -> tuple[list[Part], list[Part]]:
    """A forest plot for each measure and contrast that has at least two estimates, the first MAX_FORESTS of
    them."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for f in result.findings:
        if f.estimate.value is not None:
            groups.setdefault((f.estimate.measure, f.estimate.contrast), []).append(f)
    parts, drawings = [], []
    plural = [(key, members) for key, members in groups.items() if len(members) > 1]
    for i, ((measure, contrast), members) in enumerate(plural[:MAX_FORESTS]):
        exhibit = forest_of(members, f"{measure}: {contrast}")
        drawn = chart(exhibit, limit=40)
        if drawn:
            part, drawing = drawing_part(drawn, f"forest-{i + 1}", exhibit)
            parts.append(part)
            drawings.append(drawing)
    if len(plural) > MAX_FORESTS:
        more = f" Drawn: the first {MAX_FORESTS} of {len(plural)} measures; the table below has all."
        parts[-1]["caption"] = (parts[-1]["caption"] + more).strip()
    return parts, drawings


def forest_of(findings: Sequence[Finding], title: str) -> Exhibit:
    """Findings of one contrast as an exhibit: worst first, with the tolerance where all share one."""
    ordered = words.worst_first(findings)
    bounds = {f.tolerance for f in ordered}
    shared = next(iter(bounds)) if len(bounds) == 1 else None
    finite = [b if abs(b) != float("inf") else None for b in shared] if shared else None
    columns: dict[str, list[Any]] = {
        "comparison": [words.comparison(f) for f in ordered],
        "estimate": [f.estimate.value for f in ordered],
        "low": [deciding(f)[0] for f in ordered],
        "high": [deciding(f)[1] for f in ordered],
        "verdict": [f.verdict or "not judged" for f in ordered],
    }
    encode = {"y": "comparison", "value": "estimate", "low": "low", "high": "high", "verdict": "verdict"}
    more = {
        "null": null_of(ordered[0].estimate.contrast),
        "tolerance": finite,
        "title": ordered[0].estimate.contrast,
    }
    return Exhibit(title=title, columns=columns, chart="forest", encode={**encode, **more})


def _estimates(result: Record, limits: Limits) -> Part | None:
    if not result.findings:
        return None
    ordered = words.worst_first(result.findings)
    columns: dict[str, list[Any]] = {
        "verdict": [f.verdict or "–" for f in ordered],
        "comparison": [words.comparison(f) for f in ordered],
        "measure": [f.estimate.measure for f in ordered],
        "contrast": [f.estimate.contrast for f in ordered],
        "value": [f.estimate.value for f in ordered],
        "low": [deciding(f)[0] for f in ordered],
        "high": [deciding(f)[1] for f in ordered],
        "p": [f.estimate.p_value for f in ordered],
        "p_adjusted": [f.estimate.p_adjusted for f in ordered],
        "n": [f.estimate.n for f in ordered],
        "tolerance": [words.tolerance_words(f) for f in ordered],
        "could_detect": [f.detectable for f in ordered],
        "why_not": [f.estimate.why_not or "" for f in ordered],
    }
    kept = {k: v for k, v in columns.items() if any(x not in (None, "") for x in v)}
    exhibit = Exhibit(title="All estimates", columns=kept)
    return table_part(exhibit, Limits(rows=limits.estimates, cell=limits.cell), opened=len(ordered) <= 12)


def _note(note: Any, limits: Limits) -> Part:
    return {"slug": visible(note.slug), "text": cut(visible(note.text), 4 * limits.cell)}


def _methods(result: Record, limits: Limits) -> list[tuple[str, str]]:
    """Each way of computing that was used, and the measures it was used for."""
    used: dict[str, list[str]] = {}
    for f in result.findings:
        if f.estimate.method:
            used.setdefault(f.estimate.method, []).append(f.estimate.measure)
    said = []
    for method, measures in list(used.items())[: limits.rows]:
        names = ", ".join(dict.fromkeys(visible(m) for m in measures))
        said.append(
            (
                cut(names, limits.cell),
                f"{cut(visible(method), limits.cell)} ({len(measures)} estimate{'s' * (len(measures) > 1)})",
            )
        )
    return said


def _reading(result: Record) -> list[str]:
    lines = [
        "Disparity: a gap beyond the tolerance that chance does not explain, after adjustment for the number"
        " of comparisons. "
        "Within tolerance: the data show that the gap lies inside it. Inconclusive: the data could do"
        " neither. "
        "“Could detect” is the smallest true gap that this design would have found four times out of five.",
        "“Rests on” says what carries an estimate. An effect carried by one word or one text says something"
        " about that word or "
        "text, and little about the group.",
    ]
    families = sorted({f.family for f in result.findings if f.family})
    if families:
        names = ", ".join(visible(f) for f in families[:12])
        lines.append(f"p-values are adjusted for the number of claims within each family: {names}.")
    return lines


def _provenance(provenance: Any, limits: Limits) -> list[tuple[str, str, bool]]:
    """Plain values as they are, nested ones as indented JSON."""
    said = []
    for name, value in provenance.items():
        nested = isinstance(value, (dict, list))
        text = json.dumps(value, ensure_ascii=False, indent=2) if nested else str(value)
        lines = [visible(line) for line in text.splitlines()]
        said.append((visible(name), cut("\n".join(lines), 12 * limits.cell), nested))
    return said


@cache
def _asset(name: str) -> str:
    """A file beside this module; line ends as the HTML parser will see them, since the policy hashes
    those."""
    return files("evenhand.reports").joinpath("assets", name).read_text("utf-8").replace("\r\n", "\n")


@cache
def _digest(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


@cache
def _template() -> Any:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    return environment.from_string(_asset("report.html.j2"))

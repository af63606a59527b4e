"""One self-contained page: the answer, the matrix, what to know first, claims, what lies behind, the record.

Audited text is hostile. The template escapes everything; chart data sit in an inert JSON script with ``<``
escaped; the page's policy allows one style and its scripts, by their hashes, and no request at all; there is
no code generation.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from evenhand._facts import Scene, attribute_of, named_attribute, phrase_of, tell
from evenhand._headline import STATES, Answer, State, answer_of, ranked, scene_of, state_of
from evenhand._json import SCHEMA
from evenhand._model import Exhibit, Finding
from evenhand._wording import deciding, in_brief, middle_cut, visible
from evenhand.reports import words
from evenhand.reports.caveats import caveats
from evenhand.reports.claims import Fact, anchors, entry, facts_of
from evenhand.reports.interval import glyph, tone
from evenhand.reports.masthead import (
    about,
    kind_of,
    meta_line,
    protocol_digest,
    question,
    record,
    state_line,
)
from evenhand.reports.matrix import matrix, row_of
from evenhand.reports.page import Limits, Part, cut, exhibit_part, table_part

if TYPE_CHECKING:
    from evenhand._record import Record

MAX_BYTES = 1_450_000
"""A page that would be larger shows less of each table and chart, and says so."""
OPEN_CLAIMS = 12
"""Claims in view beside the primary ones; the others are folded."""
MANY_CLAIMS = 10
"""Primary claims beyond which the printed matrix shrinks to verdicts and estimates."""
MOST_FIGURES = 40
"""Primary claims in the printed table."""
CASES = ("examples", "trace")
"""Exhibits that are cases: texts for people to read."""


def render(result: Record) -> str:
    """`result` as one HTML page under 1.5 MB that needs no network.

    >>> from evenhand._record import Record
    >>> page = render(Record(audit="text", title="<b>toy</b>"))
    >>> "&lt;b&gt;toy&lt;/b&gt;" in page, "nothing was compared." in page
    (True, True)
    """
    scene = scene_of(result)
    facts = facts_of(result, scene)
    limits = Limits()
    text = _page(result, facts, scene, limits)
    fixed = sum(len(_asset(name)) for name in ("charts.js", "page.js", "report.css"))
    for _ in range(4):
        size = len(text.encode())
        if size <= MAX_BYTES:
            break
        # What is not code shrinks with the limits: as many halvings at once as that takes.
        over = max(2.0, (size - fixed) / (MAX_BYTES - fixed))
        for _ in range(math.ceil(math.log2(over))):
            limits = limits.halved()
        text = _page(result, facts, scene, limits)
    return text


def _page(result: Record, facts: Sequence[Fact], scene: Scene, limits: Limits) -> str:
    page, drawings = _view(result, facts, scene, limits)
    own, css = _asset("page.js"), _asset("report.css")
    script = _asset("charts.js") if drawings else ""
    hashes = " ".join(f"'{_digest(code)}'" for code in (own, script) if code)
    charts = inert_json(drawings) if drawings else ""
    policy = f"script-src {hashes}; style-src '{_digest(css)}'"
    rendered: str = _template().render(
        page=page, charts=charts, script=script, own=own, css=css, policy=policy
    )
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


def _view(result: Record, facts: Sequence[Fact], scene: Scene, limits: Limits) -> tuple[Part, list[Part]]:
    answer = answer_of(result)
    where = anchors(facts)
    exhibits, drawings = _exhibits(result, limits)
    page: Part = {
        "question": question(result),
        "kind": kind_of(result),
        "state_line": state_line(result),
        "meta": meta_line(result),
        "protocol": f"{protocol_digest(result)[:8]}…",
        "answer": _answer(answer),
        "terms": _terms(answer, result),
        "matrix": matrix(result, scene, lambda f: where.get(id(f), "claims")),
        "many": len(result.primary) > MANY_CLAIMS,
        "legend": LEGEND,
        "caveats": caveats(result, answer),
        **_claims(facts, result, scene, limits),
        "figures": _figures(result, scene),
        "counted": _counted(result),
        "method": _method(result),
        "unsaid": _unsaid(result),
        **exhibits,
        "estimates": _estimates(result, limits, where),
        "notes": [_note(n, limits) for n in result.notes],
        "methods": _methods(result, limits),
        "reading": READING,
        "record": record(result),
        "provenance": _raw(result.provenance, limits),
        "footer": f"Made by evenhand from a result of schema {SCHEMA}. This file is whole: it loads nothing.",
    }
    return page, drawings


SPACE = "\N{NO-BREAK SPACE}"
LEGEND = (
    "Each cell names the group that departs most. The interval shown decided the verdict:"
    f" 95{SPACE}% to show a gap, 90{SPACE}% to show that there is none beyond the tolerance; both adjusted"
    " for all primary claims."
)
READING = (
    "Disparity: the interval lies wholly beyond the tolerance. Gap: it excludes equality, and reaches into"
    " the tolerance. Within tolerance: it lies wholly inside. Inconclusive: none of these. Not judged: there"
    " is no interval, for the reason given.",
    "The primary claims share one error over the whole audit; the others are families of their own, never"
    " in the answer. “Rests on” says what carries an estimate: an effect of one word or one text says"
    " something about that word or text, and little about the group.",
)


def _answer(answer: Answer) -> Part:
    """An incomplete audit is shown as inconclusive, unless what it has is a disparity already."""
    state: State = "inconclusive" if answer.lead and answer.state != "disparity" else answer.state
    return {
        "tone": tone(state),
        "glyph": glyph(state),
        "lead": answer.lead,
        "fact": answer.fact,
        "rest": answer.rest,
        "second": answer.second,
    }


def _terms(answer: Answer, result: Record) -> list[tuple[str, str]]:
    name, colon, text = answer.outcome.partition(": ")
    rows = [(name, text)] if colon else [("Favourable", "not stated")] if answer.outcome else []
    if answer.level:
        rows.append(("Level", answer.level))
    declared = about(result).get("declared")
    said = middle_cut(declared, 120) if declared else "whether before the data were read is not stated"
    return [*rows, ("Declared", said)] if result.verdict is not None else rows


def _claims(facts: Sequence[Fact], result: Record, scene: Scene, limits: Limits) -> Part:
    shown = facts[: limits.claims]
    entries = [entry(fact, scene, limits.cell, limits.groups) for fact in shown]
    loud = [e for e in entries if e["primary"]]
    rest = [e for e in entries if not e["primary"]]
    counted = {state: sum(e["state"] == state for e in entries) for state in STATES}
    left = len(facts) - len(shown)
    return {
        "claims": [*loud, *rest[:OPEN_CLAIMS]],
        "folded": rest[OPEN_CLAIMS:],
        "claims_said": f"{_many(len(facts), 'fact')} from {_many(len(result.findings), 'figure')}",
        "claims_left": f"{left} more facts stand in the table of all estimates." if left else "",
        "states": [{"state": s, "tone": tone(s), "glyph": glyph(s), "n": n} for s, n in counted.items() if n],
        "attributes": list(dict.fromkeys(e["attribute"] for e in entries)),
        "questions": list(dict.fromkeys(e["question"] for e in entries)),
    }


def _many(n: int, word: str) -> str:
    return f"{n:,} {word}{'' if n == 1 else 's'}"


def _exhibits(result: Record, limits: Limits) -> tuple[Part, list[Part]]:
    parts: list[Part] = []
    cases: list[Part] = []
    drawings: list[Part] = []
    shown = list(result.exhibits.values())[: limits.exhibits]
    for i, exhibit in enumerate(shown):
        part, entries = exhibit_part(exhibit, i + 1, limits)
        (cases if exhibit.chart in CASES else parts).append(part)
        drawings += entries
    if left := len(result.exhibits) - len(shown):
        text = f"This page shows {len(shown)} of {len(shown) + left} exhibits; result.json has all."
        parts.append({**exhibit_part(Exhibit(title="More", columns={}), 0, limits)[0], "note": text})
    return {"exhibits": parts, "cases": cases, "drawn": bool(drawings)}, drawings


def _figures(result: Record, scene: Scene) -> list[Part]:
    """The primary claims as a table: what the second printed side begins with."""
    rows = []
    for f in ranked(result.primary)[:MOST_FIGURES]:
        told, state, e = tell(f, scene), state_of(f), f.estimate
        rate = phrase_of(f, scene.audit).rate
        one, two = (scene.rates.get((rate, side)) for side in (e.group, e.reference))
        ends = f"{told.ends} ({told.level})" if told.ends else "none"
        name = named_attribute(row_of(f) or attribute_of(f))
        rows.append(
            {
                "name": f"{name}: {in_brief(told.question)}" if row_of(f) else name,
                "group": told.group,
                "reference": told.reference,
                "n_group": _share(one, e.n_group),
                "n_reference": _share(two, e.n_reference),
                "value": told.value,
                "ends": ends,
                "state": state,
                "tone": tone(state),
                "glyph": glyph(state),
            }
        )
    return rows


def _share(share: tuple[float, int] | None, n: int | None) -> str:
    if share is not None:
        return f"{round(share[0] * share[1]):,} of {share[1]:,}"
    return f"{n:,} rows" if n is not None else ""


def _counted(result: Record) -> str:
    said = [f"{n:,} {visible(name)}" for name, n in result.counts.items()]
    left = [n.text for n in result.notes if "left out" in n.text][:3]
    return " ".join(
        [f"{'; '.join(said)}." if said else "Nothing was counted.", *(middle_cut(t, 300) for t in left)]
    )


def _method(result: Record) -> str:
    n = len(result.primary)
    methods = list(dict.fromkeys(visible(f.estimate.method) for f in result.primary if f.estimate.method))
    used = f" Intervals: {middle_cut(methods[0], 160)}." if methods else ""
    return (
        f"{_many(n, 'primary claim')} share one error.{used} A claim is a disparity where its whole"
        f" interval lies beyond the tolerance, within tolerance where its 90{SPACE}% interval lies inside,"
        " a gap where it only excludes equality, inconclusive otherwise."
    )


def _unsaid(result: Record) -> str:
    more = len(result.findings) - len(result.primary)
    figures = _many(more, "further figure")
    beside = f" {figures} stand below; none of them is in the answer." if more > 0 else ""
    return (
        "Not why there is a difference, not whether it is lawful or justified, nothing about other data,"
        f" dates or versions.{beside}"
    )


def _estimates(result: Record, limits: Limits, where: Mapping[int, str]) -> Part | None:
    if not result.findings:
        return None
    ordered = sorted(ranked(result.findings), key=lambda f: not f.primary)
    columns: dict[str, list[Any]] = {
        "comparison": [words.comparison(f) for f in ordered],
        "verdict": [state_of(f) if f.verdict else "–" for f in ordered],
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
    part = table_part(exhibit, Limits(rows=limits.estimates, cell=limits.cell), opened=False)
    return None if part is None else {**part, "links": [where.get(id(f), "") for f in ordered]}


def _note(note: Any, limits: Limits) -> Part:
    text = cut(visible(note.text), 4 * limits.cell)
    return {"slug": visible(note.slug), "text": text, "warning": note.level == "warning"}


def _methods(result: Record, limits: Limits) -> list[tuple[str, str]]:
    """Each way of computing that was used, and the measures it was used for."""
    used: dict[str, list[Finding]] = {}
    for f in result.findings:
        if f.estimate.method:
            used.setdefault(f.estimate.method, []).append(f)
    said = []
    for method, members in list(used.items())[: limits.rows]:
        names = "; ".join(dict.fromkeys(visible(f.estimate.measure) for f in members))
        said.append(
            (
                cut(f"{_many(len(members), 'estimate')}: {names}", limits.cell),
                cut(visible(method), limits.cell),
            )
        )
    return said


def _raw(provenance: Any, limits: Limits) -> str:
    shown = {k: v for k, v in provenance.items() if k != "shared"} if provenance else provenance
    text = json.dumps(shown, ensure_ascii=False, indent=2)
    lines = "\n".join(visible(line) for line in text.splitlines())
    return cut(lines, 24 * limits.cell) if provenance else ""


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

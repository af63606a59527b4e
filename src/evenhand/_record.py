"""What an audit found, as data: findings, exhibits, notes, counts, provenance; its table and its versioned
JSON.

Reports render a `Record`; the `Result` that users hold is a record with doors to them (`_result.py`). The
JSON is described in docs/reference/result-schema.md.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, get_args

from evenhand._errors import UsageError
from evenhand._headline import answer_of
from evenhand._json import (
    ESTIMATE_FIELDS,
    FINDING_FIELDS,
    RULE,
    SCHEMA,
    SEVERITY,
    SPANS,
    check_schema,
    clean,
    dumps,
    exhibit_in,
    exhibit_out,
    expect,
    finding_in,
    finding_out,
    foreign,
    lines,
    one_of,
    plain,
    plain_exhibit,
    span_out,
)
from evenhand._model import Exhibit, Finding, Scalar, Verdict

if TYPE_CHECKING:
    import pyarrow

KIND = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
"""How a kind of audit is written: a key of `evenhand.audits.AUDITS`, or the name of an audit of the user's
own."""
Level: TypeAlias = Literal["info", "warning"]
TABLE: dict[str, str] = {
    "measure": "string",
    "contrast": "string",
    "group": "string",
    "reference": "string",
    "given": "string",
    "value": "double",
    "low": "double",
    "high": "double",
    "level": "double",
    "statistic": "double",
    "df": "double",
    "p_value": "double",
    "p_adjusted": "double",
    "n": "int64",
    "n_units": "int64",
    "method": "string",
    "primary": "bool",
    "verdict": "string",
    "why_not": "string",
    "n_group": "int64",
    "n_reference": "int64",
    "tolerance_low": "double",
    "tolerance_high": "double",
    "simultaneous_low": "double",
    "simultaneous_high": "double",
    "equivalence_low": "double",
    "equivalence_high": "double",
    "detectable": "double",
    "family": "string",
    "because": "string",
    "rests_on": "string",
}
"""The columns of `Record.table()`, in order, with their Arrow types."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Note:
    """Something a reader should know that is not an estimate.

    Args:
        slug: stable name, explained in docs/reference/messages.md.
        level: `info` or `warning`.
        text: one or two sentences.
    """

    slug: str
    level: Level = "info"
    text: str = ""


@dataclass(frozen=True, kw_only=True, repr=False)
class Record:
    """The data of a `Result`: what reports render, without the doors that lead to them.

    Exhibits, counts and provenance are reduced to plain JSON values when the result is made (NaN and
    infinity become None, arrays lists, callables their `module:name`), so that a record equals what is read
    back from its JSON.

    Args:
        audit: which kind of audit made it: lower-case words joined by dashes, of evenhand's audits or your
            own.
        title: what the reader sees first, e.g. ``"vader on 80 first names"``.
        findings: estimates held against their tolerances.
        exhibits: name → table or chart, in the order of the report.
        notes: warnings and remarks.
        counts: what was asked and what failed, e.g. ``{"probes": 3200, "failed": 0}``.
        provenance: subject id, data digests, seeds, versions, the call itself, when it was made.
        complete: False where the audit stopped early (budget, failures, interruption).
        rule: by which the verdicts were reached: 2, or 1 for results of evenhand 0.1.
    """

    audit: str
    title: str
    findings: tuple[Finding, ...] = ()
    exhibits: Mapping[str, Exhibit] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    complete: bool = True
    rule: int = RULE

    def __post_init__(self) -> None:
        if not KIND.fullmatch(self.audit):
            raise UsageError(
                "unknown-audit",
                "a kind of audit is lower-case words joined by dashes",
                given=self.audit,
                expected="text, scores, …, or a name of your own such as toxic-replies",
            )
        plain_exhibits = {str(name): plain_exhibit(e) for name, e in self.exhibits.items()}
        object.__setattr__(self, "title", clean(self.title))
        object.__setattr__(self, "findings", tuple(self.findings))
        object.__setattr__(self, "notes", tuple(self.notes))
        object.__setattr__(self, "exhibits", plain_exhibits)
        object.__setattr__(self, "counts", {clean(str(k)): int(v) for k, v in self.counts.items()})
        object.__setattr__(self, "provenance", plain(dict(self.provenance)))

    @property
    def verdicts(self) -> dict[Verdict, int]:
        """How many findings got each verdict, worst first; descriptive estimates are not counted."""
        counted = Counter(f.verdict for f in self.findings)
        return {verdict: counted[verdict] for verdict in SEVERITY}

    @property
    def primary(self) -> tuple[Finding, ...]:
        """The findings that make the headline; every judged one where none was declared primary."""
        judged = tuple(f for f in self.findings if f.verdict is not None)
        return tuple(f for f in judged if f.primary) or judged

    @property
    def verdict(self) -> Verdict | None:
        """The headline: the worst verdict of the primary claims; None where nothing was held against a
        tolerance."""
        found = {f.verdict for f in self.primary}
        return next((verdict for verdict in SEVERITY if verdict in found), None)

    @property
    def answer(self) -> str:
        """What the primary claims came to, in at most two sentences: what every report begins with."""
        return str(answer_of(self))

    def rows(self) -> list[dict[str, Scalar]]:
        """One mapping a finding, with the columns of `table()` in their order."""
        found = [_row(f) for f in self.findings]
        return [{name: _typed(row[name], kind) for name, kind in TABLE.items()} for row in found]

    def table(self) -> pyarrow.Table:
        """One row a finding. Column types are fixed, also without rows.

        A missing `tolerance_low` beside a present `tolerance_high` (or the other way round) is an open side.
        """
        import pyarrow as pa

        rows = self.rows()
        schema = pa.schema([(name, pa.type_for_alias(kind)) for name, kind in TABLE.items()])
        return pa.table({name: [row[name] for row in rows] for name in TABLE}, schema=schema)


R = TypeVar("R", bound=Record)


def encode(result: Record) -> str:
    """One finding, exhibit or note a line: readable, small, and kind to line-based diffs."""
    exhibits = [f"{dumps(name)}: {dumps(exhibit_out(exhibit))}" for name, exhibit in result.exhibits.items()]
    notes = [{"slug": n.slug, "level": n.level, "text": clean(n.text)} for n in result.notes]
    parts = {
        "schema": dumps(SCHEMA),
        "audit": dumps(result.audit),
        "title": dumps(clean(result.title)),
        "complete": dumps(bool(result.complete)),
        "rule": dumps(result.rule),
        "verdict": dumps(result.verdict),
        "answer": dumps(result.answer),
        "counts": dumps(result.counts),
        "findings": lines("[", [dumps(finding_out(f)) for f in result.findings], "]"),
        "exhibits": lines("{", exhibits, "}"),
        "notes": lines("[", [dumps(n) for n in notes], "]"),
        "provenance": dumps(result.provenance, indent=2).replace("\n", "\n  "),
    }
    return "{\n" + ",\n".join(f"  {dumps(k)}: {v}" for k, v in parts.items()) + "\n}\n"


def decode(kind: type[R], doc: Mapping[str, Any]) -> R:
    """A record of class `kind` from parsed JSON.

    Raises:
        DataError: it is not a result, from a newer evenhand, or a field is not what it should be.
    """
    check_schema(doc.get("schema"))
    expect(doc, "result", audit=(str,), title=(str,), complete=(bool,), counts=(dict,), provenance=(dict,))
    expect(doc, "result", findings=(list,), exhibits=(dict,), notes=(list,))
    if not KIND.fullmatch(doc["audit"]):
        raise foreign("audit", f"{doc['audit']!r} is no name of an audit")
    for name in doc["counts"]:
        expect(doc["counts"], "counts", **{name: (int,)})
    return kind(
        audit=doc["audit"],
        title=doc["title"],
        findings=tuple(finding_in(f, f"findings[{i}]") for i, f in enumerate(doc["findings"])),
        exhibits={name: exhibit_in(e, f"exhibits[{name!r}]") for name, e in doc["exhibits"].items()},
        notes=tuple(_note_in(n, f"notes[{i}]") for i, n in enumerate(doc["notes"])),
        counts=doc["counts"],
        provenance=doc["provenance"],
        complete=doc["complete"],
        rule=_rule_in(doc),
    )


def _rule_in(doc: Mapping[str, Any]) -> int:
    """Results of schema 1 keep their rule beside their verdicts."""
    if str(doc["schema"]).endswith("/1"):
        return 1
    expect(doc, "result", rule=(int,))
    return int(doc["rule"])


def _note_in(part: Any, where: str) -> Note:
    expect(part, where, slug=(str,), level=(str,), text=(str,))
    level: Level = (
        "warning" if one_of(part["level"], get_args(Level), f"{where}.level") == "warning" else "info"
    )
    return Note(slug=part["slug"], level=level, text=part["text"])


def _typed(value: Scalar, kind: str) -> Scalar:
    """A number that a column keeps as one with a point has one."""
    return float(value) if kind == "double" and isinstance(value, int | float) else value


def _row(finding: Finding) -> dict[str, Scalar]:
    estimate = {name: getattr(finding.estimate, name) for name in ESTIMATE_FIELDS if name != "units"}
    judged = {name: getattr(finding, name) for name in FINDING_FIELDS if name not in SPANS}
    spans: dict[str, float | None] = {}
    for name in SPANS:
        low, high = span_out(getattr(finding, name)) or (None, None)
        spans |= {f"{name}_low": low, f"{name}_high": high}
    return {**plain({**estimate, **judged, "n_units": finding.estimate.n_units}), **spans}

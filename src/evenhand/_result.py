"""The whole audit as one value: what was found, shown, noticed and done, and its versioned JSON.

Reports are views of a `Result`; nothing is measured here. The JSON is described in docs/reference/result-schema.md.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from evenhand._errors import DataError, UsageError
from evenhand._json import (
    ESTIMATE_FIELDS,
    FINDING_FIELDS,
    SCHEMA,
    SEVERITY,
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
    parse,
    plain,
    plain_exhibit,
    read,
    tolerance_out,
)
from evenhand._model import Estimate, Exhibit, Finding, Scalar, Verdict

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Level: TypeAlias = Literal["info", "warning"]
KIND = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
"""How a kind of audit is written: a key of `evenhand.audits.AUDITS`, or the name of an audit of the user's own."""
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
    "p_value": "double",
    "p_adjusted": "double",
    "n": "int64",
    "n_units": "int64",
    "method": "string",
    "verdict": "string",
    "why_not": "string",
    "n_group": "int64",
    "n_reference": "int64",
    "tolerance_low": "double",
    "tolerance_high": "double",
    "detectable": "double",
    "family": "string",
    "because": "string",
    "rests_on": "string",
}
"""The columns of `Result.table()`, in order, with their Arrow types."""


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
class Result:
    """A whole audit: findings, exhibits, notes and provenance.

    Exhibits, counts and provenance are reduced to plain JSON values when the result is made (NaN and infinity become
    None, arrays lists, callables their `module:name`), so that a result equals what is read back from its JSON.

    Args:
        audit: which kind of audit made it: lower-case words joined by dashes, of evenhand's audits or your own.
        title: what the reader sees first, e.g. ``"vader on 80 first names"``.
        findings: estimates held against their tolerances.
        exhibits: name → table or chart, in the order of the report.
        notes: warnings and remarks.
        counts: what was asked and what failed, e.g. ``{"probes": 3200, "failed": 0}``.
        provenance: subject id, data digests, seeds, versions, the call itself, when it was made.
        complete: False where the audit stopped early (budget, failures, interruption).

    >>> e = Estimate(
    ...     measure="mean score",
    ...     contrast="difference",
    ...     group="a",
    ...     reference="b",
    ...     value=0.1,
    ...     low=0.0,
    ...     high=0.2,
    ... )
    >>> r = Result(
    ...     audit="text",
    ...     title="toy",
    ...     findings=(Finding(estimate=e, tolerance=(-0.3, 0.3), verdict="within tolerance"),),
    ... )
    >>> r.verdict, Result.from_json(r.to_json()) == r
    ('within tolerance', True)
    """

    audit: str
    title: str
    findings: tuple[Finding, ...] = ()
    exhibits: Mapping[str, Exhibit] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    complete: bool = True

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
    def verdict(self) -> Verdict | None:
        """The worst verdict of any finding; None where nothing was held against a tolerance."""
        return next((verdict for verdict, n in self.verdicts.items() if n), None)

    def table(self) -> pyarrow.Table:
        """One row a finding. Column types are fixed, also without rows.

        A missing `tolerance_low` beside a present `tolerance_high` (or the other way round) is an open side.
        """
        import pyarrow as pa

        rows = [_row(f) for f in self.findings]
        schema = pa.schema([(name, pa.type_for_alias(kind)) for name, kind in TABLE.items()])
        return pa.table({name: [row[name] for row in rows] for name in TABLE}, schema=schema)

    def to_pandas(self) -> pandas.DataFrame:
        """`table()` as a pandas DataFrame (extra ``frames``)."""
        _require("pandas")
        frame: pandas.DataFrame = self.table().to_pandas()
        return frame

    def to_polars(self) -> polars.DataFrame:
        """`table()` as a polars DataFrame (extra ``frames``)."""
        frame: polars.DataFrame = _require("polars").from_arrow(self.table())
        return frame

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """The result as strict JSON, the same bytes for the same result; also written to `path` where given."""
        return _deliver(_encode(self), path)

    @classmethod
    def from_json(cls, source: str | os.PathLike[str] | Mapping[str, Any]) -> Result:
        """A result from a file, from JSON text (beginning with ``{``) or from parsed JSON.

        Raises:
            DataError: the file is missing, cut short, not a result, or from a newer evenhand.
        """
        if isinstance(source, Mapping):
            return _decode(source)
        if isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("{"):
            return _decode(parse(source, "JSON text"))
        return _decode(parse(read(Path(source)), str(source)))

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """One self-contained page that needs no network; also written to `path` where given."""
        return _deliver(_render(self, "html"), path)

    def to_markdown(self, path: str | os.PathLike[str] | None = None) -> str:
        """The findings and notes as GitHub-flavoured Markdown; also written to `path` where given."""
        return _deliver(_render(self, "markdown"), path)

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """`table()` as CSV, with cells neutralised that a spreadsheet would run as formulas."""
        return _deliver(_render(self, "csv"), path)

    def __repr__(self) -> str:
        brief: str = import_module("evenhand.reports.words").brief(self)
        return brief

    def _repr_html_(self) -> str:
        card: str = import_module("evenhand.reports.notebook").render(self)
        return card


def compare(old: Result, new: Result) -> Exhibit:
    """What changed between two audits: findings matched by measure, contrast, group, reference and given.

    `change` is new − old on the scale of the contrast. `intervals` says whether the two intervals overlap or lie apart;
    overlapping intervals are no evidence of a change, but neither do they exclude one. Rows whose verdict got worse come
    first, then new and vanished findings, then the rest.

    >>> from dataclasses import replace
    >>> e = Estimate(
    ...     measure="m", contrast="difference", group="a", reference="b", value=0.5, low=0.25, high=0.75
    ... )
    >>> f = Finding(estimate=e, tolerance=(-1, 1), verdict="within tolerance")
    >>> before = Result(audit="text", title="t", findings=(f,))
    >>> after = replace(before, findings=(replace(f, estimate=e.with_(value=0.75)),))
    >>> compare(before, after).columns["change"], compare(before, after).columns["status"]
    ([0.25], ['same verdict'])
    """
    before, after = _keyed(old.findings), _keyed(new.findings)
    rows = [_difference(key, before.get(key), after.get(key)) for key in {**before, **after}]
    order = {"worse": 0, "new": 1, "vanished": 2, "better": 3, "verdict changed": 4, "same verdict": 5}
    rows.sort(key=lambda row: order[str(row["status"])])
    names = [*MATCH, "old_value", "new_value", "change", "intervals", "old_verdict", "new_verdict", "status"]
    tally = Counter(str(row["status"]) for row in rows)
    counted = ", ".join(f"{tally[status]} {status}" for status in order if tally[status])
    return Exhibit(
        title=f"From “{old.title}” to “{new.title}”",
        columns={name: [row[name] for row in rows] for name in names},
        note=counted or "Neither result has findings.",
    )


def merge(results: Sequence[Result], *, title: str | None = None) -> Result:
    """Several results of one kind of audit as one.

    Findings and notes are joined, counts added, exhibits of the same name numbered (``scores``, ``scores (2)``). The
    adjusted p-values stay those of each part: a note says so. The whole is complete where every part is.

    Raises:
        UsageError: nothing to merge, or results of different kinds.
    """
    parts = tuple(results)
    kinds = sorted({r.audit for r in parts})
    if len(kinds) != 1:
        raise UsageError(
            "merge-kinds",
            "only results of one kind of audit can be merged",
            given=", ".join(kinds) or "no results",
            expected="at least one result, all of the same kind",
        )
    exhibits: dict[str, Exhibit] = {}
    counts: Counter[str] = Counter()
    for part in parts:
        counts.update(part.counts)
        for name, exhibit in part.exhibits.items():
            exhibits[_free_name(name, exhibits)] = exhibit
    notes = list(dict.fromkeys(note for part in parts for note in part.notes))
    if len(parts) > 1:
        text = f"Merged from {len(parts)} results; p-values are adjusted within each part, not across them."
        notes.append(Note(slug="merged", text=text))
    return Result(
        audit=parts[0].audit,
        title=title if title is not None else " + ".join(dict.fromkeys(r.title for r in parts)),
        findings=tuple(f for part in parts for f in part.findings),
        exhibits=exhibits,
        notes=tuple(notes),
        counts=counts,
        provenance={"parts": [dict(part.provenance) for part in parts]},
        complete=all(part.complete for part in parts),
    )


# --- rows ---------------------------------------------------------------------------------------------------------

MATCH = ("measure", "contrast", "group", "reference", "given")
Key: TypeAlias = tuple[str, str, str, str, str | None, int]


def _row(finding: Finding) -> dict[str, Scalar]:
    low, high = tolerance_out(finding) or (None, None)
    estimate = {name: getattr(finding.estimate, name) for name in ESTIMATE_FIELDS if name != "units"}
    judged = {name: getattr(finding, name) for name in FINDING_FIELDS if name != "tolerance"}
    row = {**estimate, **judged, "n_units": finding.estimate.n_units}
    return {**plain(row), "tolerance_low": low, "tolerance_high": high}


def _keyed(findings: Sequence[Finding]) -> dict[Key, Finding]:
    """Findings by what they compare; the last part of the key numbers repeats."""
    seen: Counter[tuple[Any, ...]] = Counter()
    keyed: dict[Key, Finding] = {}
    for f in findings:
        e = f.estimate
        key = (e.measure, e.contrast, e.group, e.reference, e.given)
        keyed[(*key, seen[key])] = f
        seen[key] += 1
    return keyed


def _difference(key: Key, old: Finding | None, new: Finding | None) -> dict[str, Scalar]:
    a, b = (old.estimate if old else None), (new.estimate if new else None)
    both = a is not None and b is not None and a.value is not None and b.value is not None
    return {
        **dict(zip(MATCH, key[:5], strict=True)),
        "old_value": a.value if a else None,
        "new_value": b.value if b else None,
        "change": b.value - a.value
        if both and a and b and a.value is not None and b.value is not None
        else None,
        "intervals": _overlap(a, b),
        "old_verdict": old.verdict if old else None,
        "new_verdict": new.verdict if new else None,
        "status": _status(old, new),
    }


def _overlap(a: Estimate | None, b: Estimate | None) -> str | None:
    if a is None or b is None or None in (a.low, a.high, b.low, b.high):
        return None
    return "overlap" if a.low <= b.high and b.low <= a.high else "apart"  # type: ignore[operator]


def _status(old: Finding | None, new: Finding | None) -> str:
    if old is None:
        return "new"
    if new is None:
        return "vanished"
    if old.verdict == new.verdict:
        return "same verdict"
    if old.verdict is None or new.verdict is None:
        return "verdict changed"
    return "worse" if SEVERITY.index(new.verdict) < SEVERITY.index(old.verdict) else "better"


def _free_name(name: str, taken: Mapping[str, Exhibit]) -> str:
    candidate, i = name, 2
    while candidate in taken:
        candidate, i = f"{name} ({i})", i + 1
    return candidate


# --- JSON ---------------------------------------------------------------------------------------------------------


def _encode(result: Result) -> str:
    """One finding, exhibit or note a line: readable, small, and kind to line-based diffs."""
    exhibits = [f"{dumps(name)}: {dumps(exhibit_out(exhibit))}" for name, exhibit in result.exhibits.items()]
    notes = [{"slug": n.slug, "level": n.level, "text": clean(n.text)} for n in result.notes]
    parts = {
        "schema": dumps(SCHEMA),
        "audit": dumps(result.audit),
        "title": dumps(clean(result.title)),
        "complete": dumps(bool(result.complete)),
        "verdict": dumps(result.verdict),
        "counts": dumps(result.counts),
        "findings": lines("[", [dumps(finding_out(f)) for f in result.findings], "]"),
        "exhibits": lines("{", exhibits, "}"),
        "notes": lines("[", [dumps(n) for n in notes], "]"),
        "provenance": dumps(result.provenance, indent=2).replace("\n", "\n  "),
    }
    return "{\n" + ",\n".join(f"  {dumps(k)}: {v}" for k, v in parts.items()) + "\n}\n"


def _decode(doc: Mapping[str, Any]) -> Result:
    check_schema(doc.get("schema"))
    expect(doc, "result", audit=(str,), title=(str,), complete=(bool,), counts=(dict,), provenance=(dict,))
    expect(doc, "result", findings=(list,), exhibits=(dict,), notes=(list,))
    if not KIND.fullmatch(doc["audit"]):
        raise foreign("audit", f"{doc['audit']!r} is no name of an audit")
    for name in doc["counts"]:
        expect(doc["counts"], "counts", **{name: (int,)})
    return Result(
        audit=doc["audit"],
        title=doc["title"],
        findings=tuple(finding_in(f, f"findings[{i}]") for i, f in enumerate(doc["findings"])),
        exhibits={name: exhibit_in(e, f"exhibits[{name!r}]") for name, e in doc["exhibits"].items()},
        notes=tuple(_note_in(n, f"notes[{i}]") for i, n in enumerate(doc["notes"])),
        counts=doc["counts"],
        provenance=doc["provenance"],
        complete=doc["complete"],
    )


def _note_in(part: Any, where: str) -> Note:
    expect(part, where, slug=(str,), level=(str,), text=(str,))
    level: Level = (
        "warning" if one_of(part["level"], get_args(Level), f"{where}.level") == "warning" else "info"
    )
    return Note(slug=part["slug"], level=level, text=part["text"])


# --- the way out --------------------------------------------------------------------------------------------------


def _render(result: Result, kind: str) -> str:
    """A view of the result. Named, not imported: reports stand above results."""
    rendered: str = import_module("evenhand.reports").render(result, kind)
    return rendered


def _deliver(text: str, path: str | os.PathLike[str] | None) -> str:
    """`text`, also written to `path`: complete or not at all, so that a full disk spoils no older file."""
    if path is None:
        return text
    target = Path(path)
    try:
        _replace_file(target, text)
    except OSError as error:
        raise DataError(
            "cannot-write", f"the file cannot be written: {error.strerror or error}", given=target
        ) from error
    return text


def _replace_file(target: Path, text: str) -> None:
    if target.exists() and not target.is_file():  # /dev/stdout and other devices have no rename
        target.write_text(text, "utf-8", newline="")
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    draft = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as out:
            out.write(text)
        draft.chmod(_mode(target))
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _mode(target: Path) -> int:
    """The permissions of the file that is replaced, or those of any new file (mkstemp alone gives 0600)."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _require(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError:
        raise UsageError(
            "missing-extra",
            f"{package} is not installed",
            expected="pandas and polars come with the extra `frames`",
            hint="pip install 'evenhand[frames]'",
        ) from None

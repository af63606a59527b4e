"""Between results: what changed from one to the next, and several as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from evenhand._errors import UsageError
from evenhand._facts import SYSTEM
from evenhand._json import SEVERITY
from evenhand._model import Estimate, Exhibit, Finding, Scalar
from evenhand._record import Note
from evenhand._result import Result
from evenhand._shared import paired
from evenhand.stats.interval import mover

MATCH = ("measure", "contrast", "group", "reference", "given")
Origins: TypeAlias = tuple[Mapping[str, Any], Mapping[str, Any]]
"""The provenance of an earlier and of a later result."""
Key: TypeAlias = tuple[str, str, str, str, str | None, int]


def compare(old: Result, new: Result) -> Exhibit:
    """What changed between two audits: findings matched by measure, contrast, group, reference and given.

    `change` is new − old on the scale of the contrast. Where both are of the same people, texts or names, its
    interval is `paired`: what they share cancels (`evenhand._shared`). Else it is that of two independent
    audits. `changed` says what that shows: "more" or "less" (the interval leaves out no
    change), else "not settled". Rows whose verdict got worse come first, then new and vanished findings, then
    the rest. The note says what differs between the two: data, subject, protocol.

    Raises:
        UsageError: `compare-kinds`: two audits of different kinds.

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
    if old.audit != new.audit:
        raise UsageError(
            "compare-kinds",
            "audits of different kinds cannot be compared",
            given=f"{old.audit} and {new.audit}",
            expected="two results of one kind of audit",
        )
    before, after = keyed(old.findings), keyed(new.findings)
    origins = old.provenance, new.provenance
    rows = [_difference(key, before.get(key), after.get(key), origins) for key in {**before, **after}]
    order = {"worse": 0, "new": 1, "vanished": 2, "better": 3, "verdict changed": 4, "same verdict": 5}
    rows.sort(key=lambda row: order[str(row["status"])])
    names = [*MATCH, "old_value", "new_value", "change", "change_low", "change_high", "changed", "paired"]
    names += ["old_verdict", "new_verdict", "status"]
    tally = Counter(str(row["status"]) for row in rows)
    counted = ", ".join(f"{tally[status]} {status}" for status in order if tally[status])
    together = sum(row["paired"] is True for row in rows)
    known = f" {together} changes are paired: both audits are of the same units." if together else ""
    note = f"{counted or 'Neither result has findings'}. {_differing(old, new)}{known}"
    return Exhibit.of(f"From “{old.title}” to “{new.title}”", rows, columns=names, note=note)


def merge(results: Sequence[Result], *, title: str | None = None) -> Result:
    """Several results of one kind of audit as one.

    Findings and notes are joined, counts added, exhibits of the same name numbered (``scores``, ``scores
    (2)``). The adjusted p-values stay those of each part: a note says so. The whole is complete where every
    part is.

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


def beside(results: Mapping[str, Result]) -> Result:
    """Audits of several systems as one result, side by side: a page shows it as any other.

    Every finding is given its system, every exhibit and warning is called after it, and a table holds each
    primary claim with its value, interval and verdict by system. Verdicts are those of each audit: nothing
    is judged again, and the systems are not held against each other (`compare` does that for two).

    Args:
        results: name of the system → its audit; two or more of one kind.

    Raises:
        UsageError: `merge-kinds`, `one-result`.
    """
    if len(results) < 2:
        raise UsageError("one-result", "side by side stand two results or more", given=", ".join(results))
    parts = {name: _of_system(name, result) for name, result in results.items()}
    whole = merge(list(parts.values()), title=" beside ".join(results))
    claims = dict.fromkeys(key for r in results.values() for key in keyed(r.primary))
    rows: list[dict[str, Scalar]] = []
    for key in claims:
        for name, result in results.items():
            found = keyed(result.findings).get(key)
            e = found.estimate if found else None
            row: dict[str, Scalar] = {"claim": _claim(key), "system": name}
            row |= {"value": e.value if e else None, "low": e.low if e else None}
            row |= {"high": e.high if e else None, "verdict": found.verdict if found else "not audited"}
            rows.append(row)
    table = Exhibit.of(
        "Side by side: the primary claims of each system",
        rows,
        note="Each verdict is that of its own audit, and each interval at its level. Where two"
        " overlap, `evenhand compare` says more.",
    )
    return replace(
        whole,
        exhibits={"side by side": table, **whole.exhibits},
        provenance={**whole.provenance, "about": {"title": f"How do {' and '.join(results)} compare?"}},
    )


def _claim(key: Key) -> str:
    given = f", given {key[4]}" if key[4] else ""
    return f"{key[0]}, {key[1]}: {key[2]} against {key[3]}{given}"


def _of_system(name: str, result: Result) -> Result:
    """The result with its system said in every finding, exhibit and warning."""
    return replace(
        result,
        findings=tuple(
            replace(
                f,
                estimate=f.estimate.with_(
                    given=" and ".join(x for x in (f"{SYSTEM}{name}", f.estimate.given) if x)
                ),
            )
            for f in result.findings
        ),
        exhibits={
            f"{label}, {name}": replace(exhibit, title=f"{name}: {exhibit.title}")
            for label, exhibit in result.exhibits.items()
        },
        notes=tuple(replace(n, text=f"{name}: {n.text}") for n in result.notes),
    )


def keyed(findings: Sequence[Finding]) -> dict[Key, Finding]:
    """Findings by what they compare; the last part of the key numbers repeats."""
    seen: Counter[tuple[Any, ...]] = Counter()
    keyed: dict[Key, Finding] = {}
    for f in findings:
        e = f.estimate
        key = (e.measure, e.contrast, e.group, e.reference, e.given)
        keyed[(*key, seen[key])] = f
        seen[key] += 1
    return keyed


def _difference(key: Key, old: Finding | None, new: Finding | None, origins: Origins) -> dict[str, Scalar]:
    a, b = (old.estimate if old else None), (new.estimate if new else None)
    together = None if a is None or b is None else paired_change(a, b, origins)
    change, low, high = together or change_of(a, b)
    return {
        **dict(zip(MATCH, key[:5], strict=True)),
        "old_value": a.value if a else None,
        "new_value": b.value if b else None,
        "change": change,
        "change_low": low,
        "change_high": high,
        "changed": None
        if low is None or high is None
        else ("more" if low > 0 else "less" if high < 0 else "not settled"),
        "paired": together is not None,
        "old_verdict": old.verdict if old else None,
        "new_verdict": new.verdict if new else None,
        "status": _status(old, new),
    }


def paired_change(a: Estimate, b: Estimate, origins: Origins) -> tuple[float, float, float] | None:
    """(new − old, its ends) of two audits of the same units; None where they are not.

    Texts have numbers for names, so a live audit's are the same where its data are.
    """
    before, after = origins
    live = str((before.get("call") or {}).get("function", "")).endswith("audit_text")
    if live and before.get("data") != after.get("data"):
        return None
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return None
    return paired((before, a), (after, b))


def change_of(a: Estimate | None, b: Estimate | None) -> tuple[float | None, float | None, float | None]:
    """(new − old, its ends): each moves by the root of both squared arms (MOVER, Zou & Donner 2008)."""
    if a is None or b is None or a.value is None or b.value is None:
        return None, None, None
    if a.low is None or a.high is None or b.low is None or b.high is None or a.level != b.level:
        return b.value - a.value, None, None
    return mover([(b.value, b.low, b.high), (a.value, a.low, a.high)], (1.0, -1.0))


def _of_digests(data: Any) -> Any:
    """Digests of data by their first 16 digits: older results have no more."""
    if not isinstance(data, Mapping):
        return data
    return {name: str(digest).removeprefix("sha256:")[:16] for name, digest in data.items()}


def _differing(old: Result, new: Result) -> str:
    """What the two audits do not have in common, as far as their records tell."""
    recorded = {"data": "data", "subject": "subject", "protocol": "call"}
    parts = {name: (old.provenance.get(key), new.provenance.get(key)) for name, key in recorded.items()}
    parts["data"] = (_of_digests(parts["data"][0]), _of_digests(parts["data"][1]))
    known = {name: pair for name, pair in parts.items() if any(pair)}
    other = [name for name, pair in known.items() if pair[0] != pair[1]]
    same = [name for name in known if name not in other]
    if not known:
        return "Nothing is recorded of where they come from."
    said = (
        f"Different: {', '.join(other)}." if other else "Data, subject and protocol are recorded as the same."
    )
    return f"{said} Same: {', '.join(same)}." if same and other else said


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

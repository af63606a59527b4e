"""The claims of a page: one entry a fact, with every group on one axis and the other measures beneath."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from evenhand._facts import Scene, attribute_of, base_of, named_attribute, phrase_of, share_words, tell
from evenhand._headline import STATES, State, claim_of, margin, ranked, state_of
from evenhand._model import Finding
from evenhand._wording import alike, level_words, middle_cut, visible
from evenhand.reports import words
from evenhand.reports.interval import axis_for, empty_strip, glyph, scale, strip, tone
from evenhand.reports.matrix import row_of

if TYPE_CHECKING:
    from evenhand._record import Record

Part: TypeAlias = dict[str, Any]
OPEN_ROWS = 14
"""Rows of a forest in view; the others are folded."""
_NEXT = re.compile(r"(?<=[^\d\s][.)])\s+(?=[A-Z])")


@dataclass(frozen=True, kw_only=True)
class Fact:
    """What is told once: its findings by all measures, and the one that speaks."""

    index: int
    speaker: Finding
    members: tuple[Finding, ...]

    @property
    def id(self) -> str:
        """Where it stands on the page."""
        return f"claim-{self.index}"


def facts_of(result: Record, scene: Scene) -> list[Fact]:
    """Findings that tell the same fact together: primary first, then by verdict and margin."""
    groups: dict[tuple[str, str, str | None], list[Finding]] = {}
    for f in result.findings:
        told = tell(f, scene)
        groups.setdefault((row_of(f), told.fact_key, f.estimate.given), []).append(f)
    chosen = [(_speaker(members), members) for members in groups.values()]
    judged = [pair for pair in chosen if pair[0].verdict is not None]

    def place(pair: tuple[Finding, list[Finding]]) -> tuple[bool, int, float]:
        speaker = pair[0]
        return not speaker.primary, STATES.index(state_of(speaker)), -margin(speaker)

    ordered = sorted(judged, key=place)
    return [Fact(index=i + 1, speaker=s, members=tuple(m)) for i, (s, m) in enumerate(ordered)]


def _speaker(members: Sequence[Finding]) -> Finding:
    """The primary finding; else what was judged, the strongest first; what was picked before its parts."""
    primary = [f for f in members if f.primary]
    picked = [f for f in members if f.verdict is not None and base_of(f.estimate.measure)[1]]
    return ranked(primary or picked or [f for f in members if f.verdict is not None] or members)[0]


def anchors(facts: Sequence[Fact]) -> Mapping[int, str]:
    """id() of a finding → the id of its claim."""
    return {id(f): fact.id for fact in facts for f in fact.members}


def entry(fact: Fact, scene: Scene, width: int, most: int = 40) -> Part:
    """What the template shows of a fact.

    Args:
        width: characters of a long text. most: rows of its forest; the table of estimates holds the rest.
    """
    f = fact.speaker
    told, state = tell(f, scene), state_of(f)
    sentence, rest = claim_of(f, scene)
    others = [m for m in fact.members if base_of(m.estimate.measure)[0] != base_of(f.estimate.measure)[0]]
    return {
        "id": fact.id,
        "state": state,
        "tone": tone(state),
        "glyph": glyph(state),
        "attribute": named_attribute(row_of(f) or attribute_of(f)),
        "question": told.question,
        "primary": f.primary,
        "given": visible(f.estimate.given or ""),
        "fact": sentence,
        "rest": rest.strip(),
        "more": middle_cut(beyond_the_fact(f), 2 * width),
        "rests": middle_cut(f.rests_on or "", width),
        "others": _others(f, others, scene),
        "forest": _forest(fact, scene, most),
        "figures": _figures(f, width),
    }


def beyond_the_fact(finding: Finding) -> str:
    """What the audit's own sentence says after the fact: what would decide it, and what was allowed for."""
    _, *more = _NEXT.split(visible(finding.because), maxsplit=1)
    return more[0] if more else ""


def _others(speaker: Finding, members: Sequence[Finding], scene: Scene) -> str:
    """The same fact, the same two sides, by other measures, without a verdict of their own."""
    said: dict[str, str] = {}
    sides = speaker.estimate.group, speaker.estimate.reference
    for m in sorted(ranked(members), key=lambda m: (m.estimate.group, m.estimate.reference) != sides):
        told, e = tell(m, scene), m.estimate
        if e.value is None or base_of(e.measure)[0] in said:
            continue
        side = f"{told.group} against {told.reference}" if told.group != told.attribute else told.group
        interval = f" ({told.level} {told.ends})" if told.ends else ""
        said[base_of(e.measure)[0]] = f"{visible(e.measure)} {told.value}{interval}, {side}"
    return "; ".join(said.values())


def _forest(fact: Fact, scene: Scene, most: int) -> Part | None:
    """Every group of the attribute by the measure that speaks, the reference last.

    Few groups stand in the order of their values; of many, as of all pairs, those come first whose verdict
    is the clearest, so that what is folded away is what says least.
    """
    f = fact.speaker
    base, contrast = base_of(f.estimate.measure)[0], f.estimate.contrast
    rows = [
        m
        for m in fact.members
        if (base_of(m.estimate.measure)[0], m.estimate.contrast) == (base, contrast)
        and m.estimate.value is not None
        and not base_of(m.estimate.measure)[1]
    ]
    if len(rows) < 2:
        rows = [f] if f.estimate.value is not None else []
    if not rows:
        return None
    references = {m.estimate.reference for m in rows}
    if len(references) > 1 or len(rows) > OPEN_ROWS:
        rows = ranked(rows)
    else:
        rows = sorted(rows, key=lambda m: m.estimate.value or 0.0)
    axis = axis_for(rows)
    points = phrase_of(f, scene.audit).scale in ("points", "pairs")
    shown = [_row(m, scene, strip(m, axis), pairs=len(references) > 1) for m in rows[:most]]
    _tell_apart(shown, rows)
    told = tell(f, scene)
    last = None
    if len(references) == 1:
        share = scene.rates.get((phrase_of(f, scene.audit).rate, f.estimate.reference))
        drawn = empty_strip(f.tolerance, contrast, axis)
        last = {"group": tell(rows[0], scene).reference, "counts": _share(share), "strip": drawn}
    how_often = "often" in phrase_of(f, scene.audit).say
    other = ("smaller", "larger") if contrast == "ratio" else ("lower", "higher")
    direction = ("less often", "more often") if how_often else other
    return {
        "rows": shown[:OPEN_ROWS],
        "folded": shown[OPEN_ROWS:],
        "left": len(rows) - len(shown),
        "last": last,
        "scale": scale(f.tolerance, contrast, axis, times=100.0 if points else 1.0, apart=24.0),
        "ends": direction,
        "counted": any(row["counts"] for row in shown),
        "about": f"{visible(base)}{' (log scale)' if axis.log else ''}"
        + (f"; tolerance {told.tolerance}" if told.tolerance else ""),
    }


def _tell_apart(shown: Sequence[Part], rows: Sequence[Finding]) -> None:
    """Rows of one group that were not judged are called after their family."""
    named = Counter(row["group"] for row in shown)
    for row, finding in zip(shown, rows, strict=False):
        if named[row["group"]] > 1 and finding.verdict is None:
            row["group"] = f"{row['group']}, {visible(finding.family)}"


def _row(finding: Finding, scene: Scene, drawn: str, *, pairs: bool) -> Part:
    told, state = tell(finding, scene), state_of(finding)
    share = scene.rates.get((phrase_of(finding, scene.audit).rate, finding.estimate.group))
    n = finding.estimate.n_group
    counts = _share(share) or (f"{n:,}" if n is not None and not pairs else "")
    verdict: State = "described" if finding.verdict is None else state
    return {
        "group": f"{told.group} against {told.reference}" if pairs else told.group,
        "counts": counts,
        "strip": drawn,
        "value": told.value,
        "ends": told.ends,
        "level": told.level,
        "state": verdict,
        "tone": tone(verdict),
        "glyph": glyph(verdict),
    }


def _share(share: tuple[float, int] | None) -> str:
    return "" if share is None else share_words(*share)


def _figures(f: Finding, width: int) -> list[tuple[str, str]]:
    e = f.estimate
    adjusted = words.p_words(e.p_adjusted)
    family = f" within “{middle_cut(f.family, 80)}”" if adjusted and f.family else ""
    rows = [
        ("Sides", f"{middle_cut(e.group, 160)} against {middle_cut(e.reference, 160)}"),
        ("Estimate", words.interval_words(f)),
        ("Plain interval", _plain(f)),
        ("p-value", f"{words.p_words(e.p_value)}{f', adjusted {adjusted}{family}' if adjusted else ''}"),
        ("From", words.sizes(f)),
        ("Measure", f"{visible(e.measure)}, {visible(e.contrast)}"),
        ("Method", middle_cut(e.method, width)),
        ("Limits", middle_cut(e.why_not or "", width)),
    ]
    return [(name, value) for name, value in rows if value]


def _plain(f: Finding) -> str:
    e = f.estimate
    if e.low is None or e.high is None or f.simultaneous is None:
        return ""
    low, high = alike(e.low, e.high)
    return f"{level_words(e.level)} {low} to {high}, of this comparison alone"

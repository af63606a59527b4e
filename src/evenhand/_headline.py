"""The answer of an audit in two sentences: one pure function of its record, shared by every report.

Sentence 1 is the primary claim that lies furthest beyond; sentence 2 covers every other attribute, each under
its strongest verdict. Nothing that was only looked at is in it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from evenhand._facts import Audited, Scene, Told, attribute_of, named_attribute, system_of, tell
from evenhand._model import Exhibit, Finding
from evenhand._wording import deciding, in_brief, listed, middle_cut, null_of, open_side

State: TypeAlias = Literal["disparity", "gap", "inconclusive", "not judged", "within tolerance", "described"]
STATES: tuple[State, ...] = (
    "disparity",
    "gap",
    "inconclusive",
    "not judged",
    "within tolerance",
    "described",
)
"""What a finding came to, in the order of an answer: its verdict, or that it has none."""
MOST_WORDS = 70
"""Of both sentences."""
TIE = 0.05
"""Margins that close are one place."""
ONES = ("1", "1.0", "true", "yes")
"""Classes that are named by their column."""
PLAIN_COLUMNS = ("y_pred", "pred", "prediction", "predicted", "predictions", "y_true", "label", "target", "y")
"""Columns whose name says nothing about what is predicted."""
_TAKEN = re.compile(r"(A high prediction|The first place of a list) is taken as (good|bad)")
_FAVOURABLE = re.compile(r"(Favourable|Unfavourable, and looked at): (.*?)\.(?: A group|$)")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer in parts, so that a page can set them apart.

    Args:
        state: what the headline came to. lead: said before everything else, of an incomplete audit.
        fact, rest: the first sentence: what was found, and how it lies to the tolerance.
        second: the second sentence; empty where there is nothing else.
        outcome: the outcome and which way is good for people. level: what chance does to the answer.
    """

    state: State
    lead: str
    fact: str
    rest: str
    second: str
    outcome: str
    level: str

    @property
    def first(self) -> str:
        """The first sentence whole."""
        return f"{self.fact}{self.rest}"

    def __str__(self) -> str:
        return " ".join(part for part in (self.lead, self.first, self.second) if part)


def state_of(finding: Finding) -> State:
    """The verdict, or why there is none: without an interval nothing was judged."""
    if finding.verdict is None:
        return "described"
    if finding.estimate.value is None or deciding(finding) == (None, None):
        return "not judged"
    return finding.verdict


def margin(finding: Finding) -> float:
    """How far the deciding interval's nearer end lies beyond the tolerance, in half-widths of it.

    Of what is no disparity: beyond equality; negative where the interval reaches across it. Ratios on the log
    scale.

    >>> from evenhand._model import Estimate
    >>> e = Estimate(measure="m", contrast="difference", group="a", reference="b", value=0.3)
    >>> margin(Finding(estimate=e, tolerance=(-0.1, 0.1), verdict="disparity", simultaneous=(0.25, 0.35)))
    1.5
    """
    e, tolerance = finding.estimate, finding.tolerance
    low, high = deciding(finding)
    if tolerance is None or (low is None and high is None):
        return -math.inf
    null = null_of(e.contrast)

    def at(value: float | None, open_end: float) -> float:
        if value is None:
            return open_end
        return math.log(value) if null == 1 and value > 0 else -math.inf if null == 1 else value

    ends = at(low, -math.inf), at(high, math.inf)
    bounds = at(tolerance[0], -math.inf), at(tolerance[1], math.inf)
    middle = math.log(null) if null == 1 else null
    sides = [abs(b - middle) for b in bounds if math.isfinite(b)]
    half = max(sum(sides) / len(sides), 1e-12) if sides else 1.0
    beyond = bounds if finding.verdict == "disparity" else (middle, middle)
    return round(max(ends[0] - beyond[1], beyond[0] - ends[1]) / half, 9)


def ranked(findings: Sequence[Finding]) -> list[Finding]:
    """By state, then by margin, the furthest first; those within by the size of their estimate."""

    def place(finding: Finding) -> tuple[int, float]:
        state = state_of(finding)
        far = _size(finding) if state == "within tolerance" else margin(finding)
        return STATES.index(state), -far

    return sorted(findings, key=place)


def _size(finding: Finding) -> float:
    """The estimate's distance from equality, in half-widths of the tolerance."""
    e, tolerance = finding.estimate, finding.tolerance
    if e.value is None or tolerance is None:
        return 0.0
    null = null_of(e.contrast)
    log = null == 1 and e.value > 0
    bounds = [
        abs(math.log(b) if log else b - null) for b in tolerance if math.isfinite(b) and (b > 0 or not log)
    ]
    return abs(math.log(e.value) if log else e.value - null) / max(*bounds, 1e-12) if bounds else 0.0


def answer_of(result: Audited) -> Answer:
    """The two sentences of a result, at most 70 words together."""
    scene = scene_of(result)
    judged = [f for f in result.primary if state_of(f) not in ("not judged", "described")]
    level = next((f.estimate.level for f in result.primary), 0.95)
    shared = {"lead": _incomplete(result), "outcome": scene.outcome, "level": _level(level, bool(judged))}
    if not judged:
        return Answer(
            state="not judged" if result.primary else "described", **_nothing(result), second="", **shared
        )
    order = ranked(result.primary)
    first, told = order[0], tell(order[0], scene)
    state = state_of(first)
    everything = len({attribute_of(f) for f in order})
    if state == "within tolerance" and everything > 1:
        whom = "both" if everything == 2 else f"all {everything}"
        fact = f"For {whom} attributes any {_gap_of(order)} is smaller than the tolerance"
        whole = _began(fact), f"; the widest: {told.fact} ({_stands(told)})."
        return Answer(state=state, fact=whole[0], rest=whole[1], second="", **shared)
    ties = _ties(order, first)
    for second in _seconds(order[1:], first, ties, scene):
        for stands in (_stands(told), _stands(told, counts=False)):
            fact, rest = _first(first, told, stands, ties, scene)
            made = Answer(state=state, fact=_began(fact), rest=rest, second=second, **shared)
            if len(str(made).split()) - len(made.lead.split()) <= MOST_WORDS:
                return made
    return made


def claim_of(finding: Finding, scene: Scene) -> tuple[str, str]:
    """One claim as a sentence, in two parts: the fact, and how it lies to the tolerance.

    Of what was only described, or not judged, the second part gives the interval or the reason.
    """
    told = tell(finding, scene)
    state = state_of(finding)
    if state == "not judged" or (state == "described" and not told.interval):
        why = middle_cut(finding.estimate.why_not or "there is no interval", 400).rstrip(".")
        return _began(
            told.fact
        ), f": {'not judged' if state == 'not judged' else 'no interval'}, because {why}."
    if state == "described":
        return _began(told.fact), f" ({_stands(told)})."
    if state == "inconclusive":
        return _began(
            told.fact
        ), f" ({_stands(told)}): the data can tell neither, and the tolerance is {told.tolerance}."
    fact, rest = _first(finding, told, _stands(told), [], scene)
    return _began(fact), rest


def _tied(finding: Finding, first: Finding, scene: Scene) -> str:
    """A side that has the same verdict; of another system, with its name."""
    group, system = tell(finding, scene).group, system_of(finding)
    return group if system == system_of(first) else f"{group} in {in_brief(system)}"


def _first(first: Finding, told: Told, stands: str, ties: list[Finding], scene: Scene) -> tuple[str, str]:
    """The fact, and how it lies to the tolerance."""
    state, tolerance = state_of(first), f"the tolerance of {told.tolerance}"
    fact = told.fact
    if ties:
        others = listed([_tied(f, first, scene) for f in ties])
        fact = f"{fact} (likewise {others})"
    if state == "disparity":
        return fact, f" ({stands}): beyond {tolerance}."
    if state == "gap":
        return fact, f" ({stands}); whether that exceeds {tolerance} is not settled."
    if state == "within tolerance":
        apart = first.simultaneous is not None and not (
            first.simultaneous[0] <= null_of(first.estimate.contrast) <= first.simultaneous[1]
        )
        if apart:
            shown = _shows_both(first, scene)
            if shown is not None:
                stands = stands.replace(told.level, shown.level, 1).replace(told.interval, shown.interval, 1)
            return fact, f" ({stands}): a gap, smaller than {tolerance}."
        between = f"between {told.group} and {told.reference} "
        if told.many:
            between = f"by {named_attribute(told.attribute)} "
        stands = stands.replace(told.interval, told.ends, 1)  # no direction is told, so nothing is turned
        if side := open_side(first.tolerance):
            over = f"{'over' if side == 'excess' else 'against'} {told.reference}"
            whose = over if told.many else f"of {told.group} {over}"
            return f"any {side} {whose} is smaller than {tolerance}", f" ({told.question}; {stands})."
        return f"any gap {between}is smaller than {tolerance}", f" ({told.question}; {stands})."
    name = named_attribute(told.attribute)
    return (
        f"for {name} the data can tell neither",
        f": {fact} ({stands}), and the tolerance is {told.tolerance}.",
    )


def _shows_both(found: Finding, scene: Scene) -> Told | None:
    """The finding with the interval that shows both that there is a gap and that it is small, if one does."""
    low, high = found.tolerance or (-math.inf, math.inf)
    outer, inner = found.simultaneous, found.equivalence
    if outer is None or inner is None:
        return None
    if low <= outer[0] <= outer[1] <= high:
        return tell(replace(found, equivalence=None), scene)
    ends = max(outer[0], inner[0]), min(outer[1], inner[1])
    return tell(replace(found, equivalence=ends), scene) if math.inf in map(abs, outer) else None


def _stands(told: Told, *, counts: bool = True) -> str:
    """The interval that decided, and what it is made of."""
    interval = f"{told.level} interval {told.interval}" if told.interval else "no interval"
    return f"{interval}; {told.counts}" if counts and told.counts else interval


def _ties(order: Sequence[Finding], first: Finding) -> list[Finding]:
    """Up to two more groups whose claim lies where the first one does: same verdict, same question."""
    where = margin(first)
    same = [
        f
        for f in order[1:]
        if state_of(f) == state_of(first) != "within tolerance"
        and attribute_of(f) == attribute_of(first)
        and f.estimate.measure == first.estimate.measure
        and abs(margin(f) - where) <= TIE * abs(where)
    ]
    return same[:2]


def _seconds(rest: Sequence[Finding], first: Finding, ties: list[Finding], scene: Scene) -> list[str]:
    """The second sentence, in ever fewer words."""
    own: dict[str, list[Finding]] = {}
    for f in rest:
        if f not in ties:
            own.setdefault(attribute_of(f), []).append(f)
    lead = attribute_of(first)
    told: dict[State, list[str]] = {}
    for attribute, members in own.items():
        name = named_attribute(attribute)
        states = {state_of(f) for f in members}
        if attribute == lead or len(states) > 1:
            shown = members if attribute == lead else members[:1]
            for f in shown:
                told.setdefault(state_of(f), []).append(f"{name} ({tell(f, scene).question})")
        else:
            told.setdefault(state_of(members[0]), []).append(name)
    if not told:
        return [""]
    found = []
    for most in (5, 3, 2, 1, 0):
        names = {state: list(dict.fromkeys(told[state])) for state in STATES if state in told}
        parts = [_under(state, who, most, _gap_of(rest)) for state, who in names.items()]
        found.append(_began("; ".join(parts)) + ".")
    return [*found, f"{len(own)} more attributes stand below."]


def _gap_of(findings: Sequence[Finding]) -> str:
    """What is called small: a gap; an excess or a shortfall, where all tolerances bound that alone."""
    kinds = {open_side(f.tolerance) for f in findings}
    return kinds.pop() or "gap" if len(kinds) == 1 else "gap"


def _under(state: State, names: list[str], most: int, gap: str) -> str:
    """Attributes under their verdict; "too" where it is that of the first sentence's."""
    left = len(names) - max(most, 1)
    if most == 0:
        who = f"{len(names)} more attribute{'s' * (len(names) > 1)}"
    elif left > 0 and most < 5:
        who = f"{', '.join(names[:most])} and {left} more"
    else:
        who = listed(names)
    if state == "disparity":
        return f"by {who} the gap lies beyond the tolerance too"
    if state == "gap":
        return f"by {who} there is a gap, and whether it exceeds the tolerance is not settled"
    if state == "inconclusive":
        return f"for {who} the data can tell neither"
    if state == "within tolerance":
        return f"by {who} any {gap} is smaller than the tolerance"
    return f"{who} {'were' if len(names) > 1 else 'was'} not judged"


def _nothing(result: Audited) -> dict[str, str]:
    """What is said where no claim has a verdict."""
    if not result.findings:
        return {"fact": "Nothing was judged: ", "rest": "nothing was compared."}
    unjudged = [f for f in result.primary if f.verdict is not None]
    if not unjudged:
        n = len(result.findings)
        figures = f"{n:,} figure{'s' * (n != 1)} described, none held against a tolerance"
        return {"fact": "Nothing was judged: ", "rest": f"{figures}."}
    why = next((f.estimate.why_not for f in unjudged if f.estimate.why_not), None)
    n = len(unjudged)
    claims = f"{n} claim{'s have' if n != 1 else ' has'} no interval"
    said = " ".join((why or claims).split()[:40]).rstrip(".")
    return {"fact": "Nothing was judged: ", "rest": f"{middle_cut(said, 300)}. This shows counts only."}


def _incomplete(result: Audited) -> str:
    if result.complete:
        return ""
    asked = result.counts.get("asked", result.counts.get("probes", 0))
    failed = result.counts.get("failed", 0)
    if asked and failed:
        return f"Incomplete: {failed:,} of {asked:,} replies are missing."
    return "Incomplete: the audit stopped early."


def _level(level: float, judged: bool) -> str:
    if not judged:
        return ""
    wrong = 100 * (1 - level)
    return f"chance alone would make this answer wrong in at most {wrong:.3g} of 100 such audits"


def _began(text: str) -> str:
    """With a capital letter, as a sentence begins."""
    return text[:1].upper() + text[1:]


# --- what was predicted, and which way is good


def scene_of(result: Audited) -> Scene:
    """What the sentences of a result share: the outcome, from the call, and the rates, from the tables."""
    arguments = _arguments(result)
    about = result.provenance.get("about")
    said = about.get("said") if isinstance(about, dict) else None
    several = any(system_of(f) for f in result.findings)  # their tables hold each its own rates
    rates = {} if several else _rates(result.exhibits)
    if result.audit != "predictions":
        return Scene(audit=result.audit, rates=rates, outcome=_direction(about))
    looked = next((m for note in _notes(result) if (m := _FAVOURABLE.search(note))), None)
    if looked is None:
        taken = next((m for n in _notes(result) if (m := _TAKEN.search(n))), None)
        way = "Unfavourable" if taken and taken[2] == "bad" else "Favourable"
        outcome = f"{way} outcome: {taken[1].lower()}" if taken else ""
        return Scene(audit=result.audit, rates=rates, outcome=outcome, stated=bool(taken))
    label, bad = looked[2], looked[1].startswith("Unf")
    column, true = arguments.get("y_pred"), arguments.get("y_true")
    stated = "positive" in arguments or bad or bool(said)
    outcome = f"{_column(column) or 'prediction'} is “{in_brief(label)}”"
    head = f"{'Unfavourable' if bad else 'Favourable'} outcome: {outcome}"
    if not stated:
        head = f"Outcome: {outcome}; which outcome is favourable was not stated"
    did = f"were {in_brief(str(said))}" if said else _did(label, column, true)
    return Scene(
        audit=result.audit, did=did, truth=_truth(label, true), outcome=head, stated=stated, rates=rates
    )


def _arguments(result: Audited) -> dict[str, Any]:
    """What was asked; of several results side by side what was asked of all."""
    parts = result.provenance.get("parts")
    calls = [part.get("call") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    calls = calls or [result.provenance.get("call")]
    asked = [call.get("arguments") if isinstance(call, dict) else None for call in calls]
    known = [a for a in asked if isinstance(a, dict)]
    if not known or len(known) < len(asked):
        return {}
    return {k: v for k, v in known[0].items() if all(other.get(k) == v for other in known[1:])}


def _notes(result: Audited) -> list[str]:
    return [note.text for note in result.notes]


def _direction(about: Any) -> str:
    said = about.get("favourable") if isinstance(about, dict) else None
    return (
        f"Favourable: {in_brief(str(said), 96)}" if said else "Which direction is favourable was not stated"
    )


def _column(name: Any) -> str:
    """A column's name where it says what is predicted."""
    if not isinstance(name, str) or name.lower() in PLAIN_COLUMNS or ":" in name:
        return ""
    return in_brief(name)


def _did(label: str, column: Any, true: Any) -> str:
    if label.lower() not in ONES:
        return f"received “{in_brief(label)}”"
    if own := _column(column):
        return f"received “{own}”"
    return f"were predicted “{truth}”" if (truth := _column(true)) else f"received “{label}”"


def _truth(label: str, true: Any) -> str:
    own = _column(true)
    if label.lower() in ONES and own:
        return f"“{own}”"
    return f"“{in_brief(label)}” as outcome"


def _rates(exhibits: Any) -> dict[tuple[str, str], tuple[float, int]]:
    """(measure, side) → (share, cases) of every table of rates."""
    found: dict[tuple[str, str], tuple[float, int]] = {}
    wanted = {"measure", "group", "value", "n"}
    for exhibit in exhibits.values():
        if isinstance(exhibit, Exhibit) and wanted <= set(exhibit.columns):
            for row in exhibit.rows():
                if isinstance(row["value"], float) and isinstance(row["n"], int) and row["n"] > 0:
                    found.setdefault((str(row["measure"]), str(row["group"])), (row["value"], row["n"]))
    return found

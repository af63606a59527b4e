"""What a finding says, as a phrase: who, against whom, in which direction, by how much.

A phrase names no cause and calls nobody worse off.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from evenhand._labels import spoken
from evenhand._model import Exhibit, Finding, Verdict
from evenhand._phrases import BY_CONTRAST, PHRASES, RECORDED, SAME_TEXTS, Phrase, Scale
from evenhand._wording import (
    deciding,
    deciding_level,
    digits_apart,
    ends_apart,
    fixed,
    in_brief,
    level_words,
    null_of,
    short,
)

_OF_MANY = re.compile(r", ((?:widest gap|largest|worst) of \d+ [a-z]+)$")
_AT = re.compile(r" (?:at|above) q=(\d*\.?\d+)$")
_BEYOND = " beyond its null"


class Audited(Protocol):
    """What is told of: a record of an audit."""

    @property
    def audit(self) -> str:
        """Its kind."""
        ...

    @property
    def title(self) -> str:
        """What the audit called itself."""
        ...

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Everything that was estimated."""
        ...

    @property
    def primary(self) -> tuple[Finding, ...]:
        """What makes the headline."""
        ...

    @property
    def verdict(self) -> Verdict | None:
        """The worst verdict of the primary claims."""
        ...

    @property
    def exhibits(self) -> Mapping[str, Exhibit]:
        """The tables behind."""
        ...

    @property
    def counts(self) -> Mapping[str, int]:
        """What was asked, and what failed."""
        ...

    @property
    def provenance(self) -> Mapping[str, Any]:
        """Where it comes from."""
        ...

    @property
    def notes(self) -> tuple[Any, ...]:
        """What a reader should know that is no estimate, each with its text."""
        ...

    @property
    def complete(self) -> bool:
        """Whether it came to its end."""
        ...


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What the sentences of one result share.

    Args:
        audit: its kind. did: the outcome as a verb, e.g. ``received “invite”``. truth: the true class.
        outcome: the outcome and which way is good, as a reader is told; empty where there is none.
        stated: whether somebody said which outcome is favourable.
        rates: (measure, side) → (share, cases), from the tables of rates.
    """

    audit: str
    did: str = "were selected"
    truth: str = "the outcome"
    outcome: str = ""
    stated: bool = False
    rates: Mapping[tuple[str, str], tuple[float, int]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Told:
    """One finding in words.

    Args:
        fact: without its interval, a whole clause.
        interval: the one that decided, turned as the fact is; empty where there is none. level: of it.
        counts: what it stands on. tolerance: in the fact's unit. question: what was asked.
        attribute: by what. fact_key: measures that share it tell the same fact.
        group, reference: the sides. value, signed: as a table has it. ends: the interval, as a table has it.
        many: "widest gap of 8 groups", where it was picked.
    """

    fact: str
    interval: str
    level: str
    counts: str
    tolerance: str
    question: str
    attribute: str
    group: str
    reference: str
    value: str
    ends: str
    many: str
    fact_key: str


def base_of(measure: str) -> tuple[str, str, str]:
    """(measure, "widest gap of 8 groups" or nothing, quantile or nothing) of a measure's whole name.

    >>> base_of("disparate impact at q=0.9, widest gap of 8 groups"), base_of("RMSE")
    (('disparate impact', 'widest gap of 8 groups', '0.9'), ('RMSE', '', ''))
    """
    found = _OF_MANY.search(measure)
    rest = measure[: found.start()] if found else measure
    at = _AT.search(rest)
    base = rest[: at.start()] if at else rest
    return base.removesuffix(_BEYOND), found[1] if found else "", at[1] if at else ""


def phrase_of(finding: Finding, audit: str) -> Phrase:
    """How this finding is told."""
    e = finding.estimate
    base = base_of(e.measure)[0]
    row = PHRASES.get(base)
    if row is not None and row.contrast == e.contrast:
        return row
    if audit in ("text", "scores") and base.startswith("mean ") and e.contrast == "difference":
        return SAME_TEXTS if audit == "text" else RECORDED
    return BY_CONTRAST.get(e.contrast, BY_CONTRAST["mean within texts"])


def attribute_of(finding: Finding) -> str:
    """What the two sides are told apart by; where they share nothing, what is asked, or the group."""
    e = finding.estimate
    row = PHRASES.get(base_of(e.measure)[0])
    asked = row.question if row is not None and row.contrast == e.contrast == "difference" else ""
    return spoken(e.group, e.reference, finding.family)[0] or asked or e.group


def named_attribute(name: str) -> str:
    """An attribute as a sentence names it: a column's underscores are spaces.

    >>> named_attribute("sexual_orientation")
    'sexual orientation'
    """
    return in_brief(name.replace("_", " "), 40)


def named_side(level: str, attribute: str) -> str:
    """A side as a sentence names it: codes and single letters with their attribute.

    >>> named_side("F", "sex"), named_side("black", "race"), named_side("3", "")
    ('sex F', 'black', '“3”')
    """
    shown = in_brief(level)
    if len(level) > 2 and not level.replace(".", "").replace("-", "").isdigit():
        return shown
    return f"{named_attribute(attribute)} {shown}" if attribute else f"“{shown}”"


def tell(finding: Finding, scene: Scene) -> Told:
    """One finding in words; its interval is the one that decided."""
    e = finding.estimate
    phrase = phrase_of(finding, scene.audit)
    base, many, at = base_of(e.measure)
    attribute, group, reference = spoken(e.group, e.reference, finding.family)
    g, r = named_side(group, attribute), named_side(reference, attribute)
    figures = Figures.of(finding, phrase.scale)
    words = {
        "G": g.removesuffix(" in outputs"),
        "R": r,
        "v": figures.size,
        "signed": figures.value,
        "more": "less" if figures.negative else "more",
        "higher": "lower" if figures.negative else "higher",
        "did": scene.did,
        "truth": scene.truth,
        "X": in_brief(base.removeprefix("mean ") if phrase is SAME_TEXTS else base),
        "null": "sampling alone would" if e.measure.endswith(_BEYOND) else f"in the {r}",
    }
    fact = _fact(phrase, words, figures, e.value)
    if at:
        fact = f"with the top {100 * (1 - float(at)):.3g}\N{NO-BREAK SPACE}% selected, {fact}"
    fact = _where(e.given, fact)
    question = phrase.question.format(**words)
    top = f", top {100 * (1 - float(at)):.3g}\N{NO-BREAK SPACE}%" if at else ""
    return Told(
        fact=f"{fact}, the {many}" if many else fact,
        interval=figures.turned,
        level=level_words(deciding_level(finding)),
        counts=_counts(finding, phrase, scene),
        tolerance=figures.tolerance,
        question=question + top,
        attribute=attribute_of(finding),
        group=g,
        reference=r,
        value=figures.value + figures.unit,
        ends=figures.ends,
        many=many,
        fact_key=(phrase.fact or question) + top,
    )


SYSTEM = "system="
"""Beginning of what a finding is given, where audits of several systems stand side by side."""


def system_of(finding: Finding) -> str:
    """The system that a finding is of, where several stand side by side; else empty."""
    given = finding.estimate.given or ""
    return given.removeprefix(SYSTEM).partition(" and ")[0] if given.startswith(SYSTEM) else ""


def _where(given: str | None, fact: str) -> str:
    """The fact, with the system and the stratum that it is of."""
    system, rest = "", given or ""
    if rest.startswith(SYSTEM):
        system, _, rest = rest.removeprefix(SYSTEM).partition(" and ")
    fact = f"given {in_brief(rest)}, {fact}" if rest else fact
    return f"in {in_brief(system)}, {fact}" if system else fact


def _fact(phrase: Phrase, words: Mapping[str, str], figures: Figures, value: float | None) -> str:
    if value is None:
        return f"{words['G']} against {words['R']}: no figure"
    if figures.size.strip("0.") == "" and phrase.scale in ("plain", "points") and "{v}" in phrase.say:
        about = phrase.question.format(**words)
        return f"{about}: the estimated gap between {words['G']} and {words['R']} is 0"
    return phrase.say.format(**words)


@dataclass(frozen=True, kw_only=True)
class Figures:
    """The numbers of a finding as text, on the scale of its phrase.

    Args:
        size: without its sign. value: with it, as a table has it. negative: whether the fact is told as less.
        turned: the interval in the direction of the fact. ends: the interval as it is.
        tolerance: in words. unit: what stands behind the value in a table.
    """

    size: str
    value: str
    negative: bool
    turned: str
    ends: str
    tolerance: str
    unit: str

    @classmethod
    def of(cls, finding: Finding, scale: Scale) -> Figures:
        """Two significant digits, ratios two decimals; more where an end would cross a boundary."""
        e = finding.estimate
        times = 100.0 if scale in ("points", "pairs") else 1.0
        low, high = (None if end is None else _steady(times * end) for end in deciding(finding))
        value = None if e.value is None else _steady(times * e.value)
        bounds = [times * b for b in finding.tolerance or () if math.isfinite(b)]
        edges = [times * null_of(e.contrast), *bounds]
        known = [v for v in (value, low, high) if v is not None]
        least = _digits(scale, known)
        signed = scale in ("plain", "points") and e.contrast not in ("distance",)
        negative = value is not None and value < 0
        turn = signed and negative
        unit = {"ratio": " times", "points": " points"}.get(scale, "")
        digits = least if value is None else digits_apart([value], least, edges)
        return cls(
            size="" if value is None else fixed(abs(value) if signed else value, digits),
            value="–" if value is None else fixed(value, digits if value else 0, signed=signed),
            negative=negative,
            turned=_between(low, high, least, edges, turn=turn),
            ends=_between(low, high, least, edges),
            tolerance=_tolerance(finding, times, unit if scale == "points" else ""),
            unit=unit if value is not None else "",
        )


def _steady(value: float) -> float:
    """Rounding errors of sums are 0."""
    return 0.0 if abs(value) < 1e-12 else value


def _digits(scale: Scale, known: list[float]) -> int:
    """Digits after the point at least."""
    if scale == "ratio":
        return 2
    sizes = [abs(v) for v in known if math.isfinite(v) and v]
    if not sizes:
        return 0
    if scale != "plain":
        return 0 if sizes[0] >= 10 else 1
    own, most = (1 - math.floor(math.log10(size)) for size in (sizes[0], max(sizes)))
    return min(8, max(0, min(own, most + 1)))


def _between(
    low: float | None, high: float | None, least: int, edges: list[float], *, turn: bool = False
) -> str:
    if low is None and high is None:
        return ""
    a, b = (-math.inf if low is None else low), (math.inf if high is None else high)
    if turn:
        a, b, edges = -b, -a, [-edge for edge in edges]
    if math.isinf(a) and math.isinf(b):
        return ""
    return " to ".join(ends_apart(a, b, least, edges))


def _tolerance(finding: Finding, times: float, unit: str) -> str:
    """As it is said after "the tolerance of"."""
    if finding.tolerance is None:
        return ""
    low, high = (times * b for b in finding.tolerance)
    if math.isinf(low) or low == -high:
        return f"{short(high)}{unit}"
    if math.isinf(high):
        return f"{short(low if null_of(finding.estimate.contrast) else -low)}{unit}"
    return f"{short(low)} to {short(high)}{unit}"


def _counts(finding: Finding, phrase: Phrase, scene: Scene) -> str:
    """Both sides absolute and relative where a table has them, else the units or the rows."""
    e = finding.estimate
    one, two = (scene.rates.get((phrase.rate, side)) for side in (e.group, e.reference))
    if phrase.rate and one and two:
        return f"{share_words(*one)} against {share_words(*two)}"
    if e.units:
        return " and ".join(f"{n:,} {_plural(unit, n)}" for unit, n in sorted(e.units.items(), reverse=True))
    if e.n_group is not None and e.n_reference is not None:
        return f"{e.n_group:,} and {e.n_reference:,} rows"
    return f"{e.n:,} {_plural('row', e.n)}" if e.n else ""


def share_words(share: float, n: int) -> str:
    """A rate and what it is of: whole percents, one decimal under 10.

    >>> share_words(0.0543, 410)
    '5.4\\xa0% of 410'
    """
    percent = 100 * share
    digits = 0 if percent >= 10 or percent == 0 else 1
    return f"{fixed(percent, digits)}\N{NO-BREAK SPACE}% of {n:,}"


def _plural(word: str, count: int) -> str:
    shown = in_brief(word)
    return shown if count == 1 or word.endswith("s") else f"{shown}s"

"""The words and numbers that every report shares: headlines, sentences, and text made safe to show.

Pure text in, pure text out; each format escapes what it gets from here once more, in its own way.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

from evenhand._json import SEVERITY
from evenhand._labels import spoken
from evenhand._model import Finding, Verdict
from evenhand._wording import alike, deciding, deciding_level, level_words, null_of, short, visible

if TYPE_CHECKING:
    from evenhand._record import Record


def isolated(text: str) -> str:
    """`visible(text)`, kept from reordering its surroundings where it has right-to-left letters."""
    shown = visible(text)
    if any(unicodedata.bidirectional(c) in ("R", "AL", "AN") for c in shown):
        return f"\u2068{shown}\u2069"
    return shown


def p_words(p: float | None) -> str:
    """A p-value as readers expect it.

    >>> p_words(0.0004), p_words(0.0312), p_words(None)
    ('p < 0.001', 'p = 0.031', '')
    """
    if p is None:
        return ""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.9995 else "p = 1"


def tolerance_words(finding: Finding) -> str:
    """The declared tolerance: ``±0.1`` where it is symmetric about 0, else its two bounds."""
    if finding.tolerance is None:
        return ""
    low, high = finding.tolerance
    if low == -high:
        return f"±{short(high)}"
    if math.isinf(low):
        return f"at most {short(high)}"
    if math.isinf(high):
        return f"at least {short(low)}"
    return f"{short(low)} to {short(high)}"


def interval_words(finding: Finding) -> str:
    """Value and interval to the same decimals, or the reason why there is none.

    >>> from evenhand._model import Estimate
    >>> e = Estimate(
    ...     measure="m", contrast="difference", group="a", reference="b", value=0.1, low=0.02, high=0.18
    ... )
    >>> interval_words(Finding(estimate=e))
    '0.100 (95\\xa0% interval 0.020 to 0.180)'
    """
    e = finding.estimate
    if e.value is None:
        return f"not estimated: {visible(e.why_not or 'no reason recorded')}"
    ends = deciding(finding)
    edges = (null_of(e.contrast), *(b for b in finding.tolerance or () if math.isfinite(b)))
    value, low, high = alike(e.value, *ends, edges=edges)
    if ends == (None, None) and finding.verdict is None and not e.why_not:
        return value  # described, and nobody asked for an interval
    if ends == (None, None):
        return f"{value} (no interval{': ' + visible(e.why_not) if e.why_not else ''})"
    return f"{value} ({level_words(deciding_level(finding))} interval {low or '−∞'} to {high or '∞'})"


def comparison(finding: Finding) -> str:
    """Who is compared with whom, and where; an attribute that both sides share is said once.

    >>> from evenhand._model import Estimate
    >>> e = Estimate(
    ...     measure="m", contrast="d", group="race=black", reference="race=white", given="sex=female"
    ... )
    >>> comparison(Finding(estimate=e))
    'race: black against white, given sex: female'
    """
    e = finding.estimate
    where = f", given {visible(e.given.replace('=', ': ', 1))}" if e.given else ""
    attribute, group, reference = spoken(e.group, e.reference, finding.family)
    if attribute and e.reference != reference:
        return f"{visible(attribute)}: {visible(group)} against {visible(reference)}{where}"
    if e.reference == "none":
        return f"{visible(e.group)}{where}"
    return f"{visible(e.group)} against {visible(e.reference)}{where}"


def sentence(finding: Finding) -> str:
    """The finding's own plain sentence, or a neutral one built from the estimate."""
    if finding.because:
        return visible(finding.because)
    e = finding.estimate
    return f"{visible(e.measure)} ({visible(e.contrast)}), {comparison(finding)}: {interval_words(finding)}."


def sizes(finding: Finding) -> str:
    """What the estimate stands on: rows, rows a side, units."""
    e = finding.estimate
    sides = (
        f" ({e.n_group:,} and {e.n_reference:,})"
        if e.n_group is not None and e.n_reference is not None
        else ""
    )
    units = "".join(f", {count:,} {visible(_plural(unit, count))}" for unit, count in sorted(e.units.items()))
    return f"{e.n:,} {_plural('row', e.n)}{sides}{units}"


def _plural(word: str, count: int) -> str:
    return word if count == 1 or word.endswith("s") else f"{word}s"


def worst_first(findings: Sequence[Finding]) -> list[Finding]:
    """By verdict, the worst first; primary claims before the others; otherwise in the order given."""
    order: dict[Verdict | None, int] = {v: i for i, v in enumerate(SEVERITY)}
    return sorted(findings, key=lambda f: (order.get(f.verdict, len(order)), not f.primary))


MANY_MISSING = 0.05
"""Share of questions without a score from which the reader is told before anything else."""


def missing(result: Record) -> str:
    """That many questions have no score; empty where few lack one."""
    asked = result.counts.get("probes", result.counts.get("asked", 0))
    failed = result.counts.get("failed", 0)
    if not asked or failed < MANY_MISSING * asked:
        return ""
    share = f"{100 * failed / asked:.1f}\N{NO-BREAK SPACE}%"
    return (
        f"{share} of what was asked has no score ({failed:,} of {asked:,}): this rests on the rest, which may"
        " not be like them. Look at the reasons, and run the same command again."
    )


def advice(result: Record) -> list[str]:
    """What to do next, one sentence each, worst first."""
    tally = result.verdicts
    lines = [said] if (said := missing(result)) else []
    if not result.complete:
        lines.append("The audit stopped early. Resume it before relying on any of this.")
    if tally["disparity"]:
        lines.append(
            "Look at each disparity below: first at its size against the tolerance, then at what it rests on."
            " A gap carried by one word or one text points to that word or text."
        )
    if tally["gap"]:
        lines.append(
            "A gap is shown; whether it exceeds the tolerance is not settled: more data would settle it."
        )
    if tally["inconclusive"]:
        lines.append(
            "Inconclusive does not mean fair: the data could show neither a gap beyond the tolerance nor its"
            " absence. "
            "More texts, names or rows narrow the interval."
        )
    if result.verdict == "within tolerance" and not tally["disparity"] + tally["gap"] + tally["inconclusive"]:
        lines.append(
            "For each comparison the data show that the gap lies inside the tolerance that was declared"
            " beforehand."
        )
    return lines


def kind(result: Record) -> str:
    """``text audit``: said from the result alone, so that an audit evenhand does not know reads like its
    own."""
    return f"{result.audit.replace('-', ' ')} audit"


def counts_words(result: Record) -> str:
    """``3,200 probes, 0 failed``."""
    return ", ".join(f"{n:,} {visible(name)}" for name, n in result.counts.items())


def brief(result: Record, limit: int = 12) -> str:
    """A few lines for a Python prompt: title, headline, a table of verdicts."""
    state = "" if result.complete else " (incomplete)"
    lines = [f"<Result {result.audit}: {_cut(visible(result.title), 80)}{state}>", result.answer]
    shown = worst_first(result.findings)[:limit]
    rows = [(f.verdict or "–", comparison(f), visible(f.estimate.measure), _compact(f)) for f in shown]
    if rows:
        widths = [min(38, max(len(row[i]) for row in rows)) for i in range(3)]
        for row in rows:
            cells = [_cut(cell, width).ljust(width) for cell, width in zip(row, widths, strict=False)]
            lines.append("  " + "  ".join([*cells, row[3]]))
    if len(result.findings) > limit:
        lines.append(f"  … and {len(result.findings) - limit} more: see .table()")
    return "\n".join(lines)


def _compact(finding: Finding) -> str:
    e = finding.estimate
    if e.value is None:
        return _cut(f"not estimated: {visible(e.why_not or '')}", 50)
    value, low, high = alike(e.value, e.low, e.high)
    return value if (e.low, e.high) == (None, None) else f"{value} [{low or '−∞'}, {high or '∞'}]"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


_TOKEN = re.compile(r"\s+|\w+|[^\w\s]")


def word_diff(before: str, after: str) -> tuple[list[tuple[str, bool]], list[tuple[str, bool]]]:
    """Both texts cut into pieces, each with whether it was changed. Joined, the pieces give the texts back.

    >>> word_diff("He left.", "She left.")
    ([('He', True), (' left.', False)], [('She', True), (' left.', False)])
    """
    import difflib

    a, b = _TOKEN.findall(before), _TOKEN.findall(after)
    start = _shared(a, b)
    end = _shared(a[start:][::-1], b[start:][::-1])
    middle_a, middle_b = a[start : len(a) - end], b[start : len(b) - end]
    left: list[tuple[str, bool]] = []
    right: list[tuple[str, bool]] = []
    _append(left, right, a[:start], b[:start], changed=False)
    if len(middle_a) * len(middle_b) > 250_000:  # difflib is quadratic: mark the whole stretch instead
        _append(left, right, middle_a, middle_b, changed=True)
    else:
        matcher = difflib.SequenceMatcher(None, middle_a, middle_b, autojunk=False)
        for tag, i1, i2, j1, j2 in matcher.get_opcodes():
            _append(left, right, middle_a[i1:i2], middle_b[j1:j2], changed=tag != "equal")
    _append(left, right, a[len(a) - end :], b[len(b) - end :], changed=False)
    return left, right


def _shared(a: Sequence[str], b: Sequence[str]) -> int:
    """How many tokens both begin with."""
    for i, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return i
    return min(len(a), len(b))


def _append(
    left: list[tuple[str, bool]],
    right: list[tuple[str, bool]],
    a: Sequence[str],
    b: Sequence[str],
    *,
    changed: bool,
) -> None:
    """One more stretch on each side, joined to the last one where both have the same state."""
    for pieces, tokens in ((left, a), (right, b)):
        text = "".join(tokens)
        if text and pieces and pieces[-1][1] == changed:
            pieces[-1] = (pieces[-1][0] + text, changed)
        elif text:
            pieces.append((text, changed))

"""Text and numbers as readers get them: nothing hidden, nothing rounded across a boundary.

Pure text in, pure text out; each report escapes what it gets from here once more, in its own way.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Sequence

from evenhand._model import Finding

_BIDI = {*"\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"}
_BREAKS = {*"\t\n\r\x0b\x0c\x85\u2028\u2029"}
MOST_DIGITS = 12
"""Digits after the point beyond which nothing is told apart any more."""


def visible(text: str) -> str:
    r"""`text` on one line with nothing hidden: control characters replaced, direction controls spelled out.

    Audited text may hold terminal escapes, or controls that make a sentence read differently from what it is.

    >>> visible("a\x1b[31mb\u202ec\nd")
    'a�[31mb⟨U+202E⟩c d'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_show(c) for c in text)


def _show(c: str) -> str:
    if c in _BREAKS:
        return " "
    if c in _BIDI:
        return f"⟨U+{ord(c):04X}⟩"
    kind = unicodedata.category(c)
    return "\N{REPLACEMENT CHARACTER}" if kind in ("Cc", "Cs") else c


def number(value: float | None, *, signed: bool = False) -> str:
    """About three significant digits, a true minus sign, never a long tail.

    >>> number(-0.05171), number(1234567.0), number(0.3, signed=True), number(None)
    ('−0.0517', '1,234,567', '+0.300', '–')
    """
    if value is None:
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1e7 or size < 1e-4:
        text = f"{size:.2e}"
    elif size >= 1000:
        text = f"{size:,.0f}"
    else:
        digits = max(0, min(4, 2 - math.floor(math.log10(size))))
        text = f"{size:.{digits}f}"
    sign = "−" if value < 0 else "+" if signed else ""
    return sign + text


def short(value: float) -> str:
    """`number`, without trailing zeros: for tolerances and axes.

    >>> short(0.1), short(-0.25), short(2.0)
    ('0.1', '−0.25', '2')
    """
    text = number(value)
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def digits_apart(values: Sequence[float], least: int, edges: Iterable[float]) -> int:
    """Digits after the point, at least `least`, that print every value on its true side of each edge.

    >>> digits_apart([1.002], 2, [0.8, 1.0, 1.25]), digits_apart([0.8], 2, [0.8])
    (3, 2)
    """
    digits, known = least, list(edges)
    while digits < MOST_DIGITS and any(
        _crosses(value, round(value, digits), edge) for value in values for edge in known
    ):
        digits += 1
    return digits


def _crosses(value: float, rounded: float, edge: float) -> bool:
    if value == edge:
        return abs(rounded - edge) > 1e-6 * max(1.0, abs(edge))
    return rounded == edge or (rounded - edge) * (value - edge) < 0


def fixed(value: float, digits: int, *, signed: bool = False) -> str:
    """`value` with so many digits, a true minus, and no sign before a zero.

    >>> fixed(-12.345, 1), fixed(-0.001, 2), fixed(0.5, 2, signed=True)
    ('−12.3', '0.00', '+0.50')
    """
    text = f"{value:{'+' if signed else ''},.{digits}f}"
    return (text.lstrip("+-") if float(text.replace(",", "")) == 0 else text).replace("-", "−")


def ends_apart(low: float, high: float, least: int, edges: Iterable[float]) -> tuple[str, str]:
    """Both ends of an interval with as many digits as either needs to stay on its true side.

    >>> ends_apart(0.8154, 1.002, 2, [0.8, 1.0, 1.25])
    ('0.815', '1.002')
    """
    digits = digits_apart([end for end in (low, high) if math.isfinite(end)], least, edges)
    return tuple(number(e) if math.isinf(e) else fixed(e, digits) for e in (low, high))  # type: ignore[return-value]


def level_words(level: float) -> str:
    """``95 %``, ``97.5 %``, with a space that no line breaks at.

    >>> level_words(0.95)
    '95\\xa0%'
    """
    return f"{level * 100:.6g}\N{NO-BREAK SPACE}%"


def null_of(contrast: str) -> float:
    """A contrast's value when the two groups are equal: 1 for ratios, ½ for probabilities of superiority,
    else 0.

    >>> [null_of(name) for name in ("difference", "ratio", "log ratio", "AUC")]
    [0.0, 1.0, 0.0, 0.5]
    """
    name = contrast.lower()
    if "difference" in name or "log" in name.split():
        return 0.0
    if "ratio" in name:
        return 1.0
    return 0.5 if "auc" in name or "superiority" in name else 0.0


def by_equivalence(finding: Finding) -> bool:
    """Whether the verdict was read from the interval of two one-sided tests."""
    return finding.verdict == "within tolerance" and finding.equivalence is not None


def deciding(finding: Finding) -> tuple[float | None, float | None]:
    """The interval that the verdict was read from; the plain one where nothing was judged."""
    e = finding.estimate
    found = finding.equivalence if by_equivalence(finding) else finding.simultaneous
    if found is None:
        return e.low, e.high
    low, high = (b if math.isfinite(b) else None for b in found)
    return low, high


def deciding_level(finding: Finding) -> float:
    """The level of `deciding`: 90 % where two one-sided tests of 5 % show that any gap is small.

    An interval of one direction, declared beforehand, has the level itself.
    """
    level = finding.estimate.level
    return 2 * level - 1 if by_equivalence(finding) and None not in deciding(finding) else level


def open_side(tolerance: tuple[float, float] | None) -> str:
    """What a tolerance with one end bounds: an excess, a shortfall; nothing where it has both.

    >>> open_side((-math.inf, 0.1)), open_side((0.8, math.inf)), open_side((-0.1, 0.1))
    ('excess', 'shortfall', '')
    """
    if tolerance is None or all(map(math.isfinite, tolerance)):
        return ""
    return "shortfall" if math.isfinite(tolerance[0]) else "excess"


def alike(*values: float | None, edges: Iterable[float] = ()) -> list[str]:
    """Numbers with as many decimals as the largest needs for three digits, and an end for its true side.

    None becomes an empty string.

    >>> alike(-0.14, -0.186, -0.0936), alike(1.214, None, 15.0), alike(0.9998, edges=[1.0])
    (['−0.140', '−0.186', '−0.094'], ['1.2', '', '15.0'], ['0.9998'])
    """
    sizes = [abs(v) for v in values if v]
    if not sizes or max(sizes) >= 1e5 or max(sizes) < 1e-3:
        return ["" if v is None else number(v) for v in values]
    least = max(0, min(4, 2 - math.floor(math.log10(max(sizes)))))
    digits = digits_apart([v for v in values if v is not None], least, edges)
    return ["" if v is None else fixed(v, digits) for v in values]


def middle_cut(text: str, width: int) -> str:
    """`text` on one visible line, its middle left out where it is longer than `width`.

    >>> middle_cut("abcdefghij", 5)
    'ab…ij'
    """
    shown = visible(text)
    half = (width - 1) // 2
    return shown if len(shown) <= width else f"{shown[:half]}…{shown[-half:]}"


def in_brief(name: str, width: int = 48) -> str:
    """A name as a sentence holds it: at most six words and `width` characters.

    >>> in_brief("one two three four five six seven eight")
    'one two three … seven eight'
    """
    parts = visible(name).split()
    return middle_cut(" ".join([*parts[:3], "…", *parts[-2:]] if len(parts) > 6 else parts), width)


def listed(names: list[str], most: int = 5) -> str:
    """Names in a row; past `most` three of them and how many more.

    >>> listed(["a"]), listed(["a", "b", "c"]), listed(list("abcdefg"))
    ('a', 'a, b and c', 'a, b, c and 4 more')
    """
    if len(names) > most:
        return f"{', '.join(names[:3])} and {len(names) - 3} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)

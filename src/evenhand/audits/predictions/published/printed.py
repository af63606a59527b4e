"""Published tables of an audit, in the form of Local Law 144: read as they are printed, and recomputed."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand._errors import DataError
from evenhand._model import Exhibit, Scalar
from evenhand._table import read_printed
from evenhand.audits.predictions.practice.law import SMALL_SHARE
from evenhand.stats.curves import FOUR_FIFTHS

NAMES = {
    "applicants": "applicants candidates people assessed n total count number all",
    "selected": "selected hired passed advanced promoted top above-median scored-above-median",
    "rate": "rate selection-rate scoring-rate pass-rate hiring-rate",
    "ratio": "ratio impact-ratio adverse-impact-ratio disparate-impact-ratio air",
}
"""Role → what its column may be called, without "number of", "#" and "the"."""
CATEGORY = re.compile(r"categor|group|sex|gender|race|ethnic")
GENERIC = re.compile(r"(category|categories|group|groups|demo)?")
OF = re.compile(r"\s+categor(y|ies)\s*$", re.I)
FILLERS = {"number", "no", "of", "the", "total", "count", "n", "their", "score"}
UNKNOWN = re.compile(
    r"|\(missing\)|missing|unknown|not (known|specified|reported|disclosed|stated|provided)|undisclosed"
    r"|unspecified|decline[ds]?( to (state|answer|say|self-identify))?|prefer not to (say|answer|disclose)"
    r"|did not (disclose|answer|say)|no answer|n/?a"
)
TOTAL = re.compile(r"(grand )?total( applicants)?|all|overall|everyone|sum")
EMPTY = re.compile(r"|[-–—*]+|n/?a|nan|none|null", re.I)
NUMBER = re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d+)?(\.\d*)?([eE][+-]?\d+)?")
EXACT = 1e-9
"""Error of a number that is printed in full."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A printed number.

    Args:
        value: as it stands there, a percentage as a share. half: half a unit of its last digit.
    """

    value: float
    half: float

    def fits(self, other: float | None) -> bool:
        """Whether another number would have been printed so."""
        return other is not None and abs(self.value - other) <= self.half + EXACT


@dataclass(frozen=True, slots=True)
class PrintedLine:
    """A line of a published table.

    Args:
        parts: its category, one level for each column of categories, None where it is not known.
        applicants, selected: people. rate, ratio: as printed, or None.
    """

    parts: tuple[str | None, ...]
    applicants: int
    selected: int
    rate: Figure | None = None
    ratio: Figure | None = None

    @property
    def name(self) -> str:
        """The category as it is shown."""
        return ", ".join("unknown" if part is None else part for part in self.parts)

    @property
    def share(self) -> float | None:
        """The rate that follows from the counts."""
        return self.selected / self.applicants if self.applicants else None


@dataclass(frozen=True, kw_only=True)
class Printed:
    """A published table.

    Args:
        attribute: the columns of categories. lines: of known categories. unknown: of others, and of those
            whom a printed total holds beside them. total: what is printed as the total. scored: it counts
            those above the median. source: where it is from. said: what was put right, in words.
    """

    attribute: tuple[str, ...]
    lines: Sequence[PrintedLine]
    unknown: Sequence[PrintedLine]
    total: PrintedLine | None
    scored: bool
    source: str
    said: Sequence[str] = ()
    wrong: Sequence[str] = ()

    @property
    def people(self) -> tuple[int, int]:
        """Applicants and selected, of known and unknown categories."""
        every = [*self.lines, *self.unknown]
        return sum(x.applicants for x in every), sum(x.selected for x in every)


def read_published(source: Any, *, groups: Sequence[str], selected: str | None, count: str | None) -> Printed:
    """A published table: one line a category, with two of applicants, selected and rate.

    Args:
        source: a file or anything else `read_table` reads; numbers may have %, and commas at thousands.
        groups, selected, count: its columns of categories, selected people and applicants, where they are
            named.

    Raises:
        DataError: `published-columns`, `published-counts`, `not-a-number`.
    """
    table = read_printed(source)
    where = Path(source).name if isinstance(source, str | os.PathLike) else "the table"
    named = {"selected": selected, "applicants": count}
    roles = _roles(table, named, groups, where)
    known = [v for k, v in roles.items() if k in NAMES and v is not None]
    categories = list(groups) or [n for n in table if n not in known and CATEGORY.search(n.lower())]
    categories = categories or [next(n for n in table if n not in known)]
    lines, said = _lines(table, roles, categories, where)
    stem = Path(where).stem if where != "the table" else "category"
    attribute = tuple(stem if GENERIC.fullmatch(n.strip().lower()) else OF.sub("", n) for n in categories)
    scored = "median" in (roles["selected"] or "").lower() or "scoring" in (roles["rate"] or "").lower()
    total = [x for x in lines if all(p is None or TOTAL.fullmatch(p.strip().lower()) for p in x.parts)]
    total = [x for x in total if any(p is not None for p in x.parts)]
    partly = [
        x for x in lines if x not in total and any(TOTAL.fullmatch((p or "-").lower()) for p in x.parts)
    ]
    if partly:
        said.append(f"subtotals are left out: {'; '.join(x.name for x in partly)}")
    rest = [x for x in lines if x not in total and x not in partly]
    made = Printed(
        attribute=attribute,
        lines=[x for x in rest if None not in x.parts],
        unknown=[x for x in rest if None in x.parts],
        total=total[0] if total else None,
        scored=scored,
        source=where,
        said=said,
    )
    return _with_total(_checked(made))


def _roles(
    table: dict[str, list[str | None]], named: dict[str, str | None], groups: Sequence[str], where: str
) -> dict[str, str | None]:
    """Role → its column."""
    for name in (*groups, *(n for n in named.values() if n is not None)):
        if name not in table:
            raise DataError(
                "missing-column", f"there is no column {name!r}", given=name, available=list(table)
            )
    free = [n for n in table if n not in groups and n not in named.values()]
    found: dict[str, str | None] = {}
    for role, names in NAMES.items():
        words = names.split()
        plain = [n for n in free if _plain(n) in words or _plain(n, bare=True) in words]
        found[role] = named.get(role) or (plain[0] if plain else None)
        free = [n for n in free if n != found[role]]
    counts = [role for role in ("applicants", "selected", "rate") if found[role] is not None]
    if len(counts) < 2 or not (free or groups):
        raise DataError(
            "published-columns",
            "a published table has categories, and two of: applicants, selected (or scored above the median),"
            " rate",
            given=f"{where}: {', '.join(table)}",
            expected="e.g. category, applicants, selected, selection rate, impact ratio",
            hint="name columns with groups= (--group), count= (--count, applicants) and y_pred= (--y-pred,"
            " selected)",
        )
    return found


def _plain(name: str, *, bare: bool = False) -> str:
    words = re.findall(r"[a-z]+", name.lower())
    return "-".join(w for w in words if not bare or w not in FILLERS)


def _figure(text: str | None, name: str) -> Figure | None:
    """A number as it is printed."""
    plain = "" if text is None else text.strip().replace("\u00a0", "").replace("\u202f", "")
    if EMPTY.fullmatch(plain):
        return None
    percent = plain.endswith("%")
    digits = plain.rstrip("% ")
    match = NUMBER.fullmatch(digits)
    if match is None or not re.search(r"\d", digits):
        raise DataError(
            "not-a-number",
            f"the column {name!r} of a published table holds text that is not a number",
            given=text,
            expected="e.g. 1,390 or 0.48 or 48 %",
        )
    value = float(digits.replace(",", ""))
    half = 0.5 * 10.0 ** -max(len(match[3] or ".") - 1, 0) * 10.0 ** int((match[4] or "e0")[1:])
    return Figure(value / 100, half / 100) if percent else Figure(value, half)


def _lines(
    table: dict[str, list[str | None]], roles: dict[str, str | None], categories: Sequence[str], where: str
) -> tuple[list[PrintedLine], list[str]]:
    """The lines as printed, a count that is missing computed from the others; what was computed, in words."""
    found = {
        role: [None] * len(next(iter(table.values())))
        if name is None
        else [_figure(text, name) for text in table[name]]
        for role, name in roles.items()
    }
    rates = [f for f in found["rate"] if f is not None]
    if any(f.value > 1 for f in rates) and all(f.value <= 100 for f in rates):
        found["rate"] = [None if f is None else Figure(f.value / 100, f.half / 100) for f in found["rate"]]
    lines, wrong, loose, blank = [], [], 0, 0
    for at in range(len(next(iter(table.values())))):
        parts = tuple(_level(table[name][at]) for name in categories)
        n, x, rate, ratio = (found[role][at] for role in ("applicants", "selected", "rate", "ratio"))
        counts, off = _counts(n, x, rate)
        if counts is None:
            if any(v is not None for v in (*parts, n, x, rate)):
                wrong.append(f"{', '.join(map(str, parts))}: no counts")
            blank += 1
            continue
        loose = max(loose, off)
        line = PrintedLine(parts, round(counts[0]), round(counts[1]), rate, ratio)
        if any(not math.isclose(v, round(v), abs_tol=EXACT) for v in counts):
            wrong.append(f"{line.name}: {counts[1]:g} of {counts[0]:g} are no whole people")
        elif not 0 <= line.selected <= line.applicants:
            wrong.append(f"{line.name}: {line.selected} selected of {line.applicants}")
        lines.append(line)
    if wrong:
        raise _impossible(wrong, where)
    said = []
    derived = next((r for r in ("applicants", "selected") if roles[r] is None), None)
    if derived is not None:
        within = "exactly" if loose == 0 else f"within {loose} people of a line"
        said.append(f"{derived} are not printed and follow from the rates, {within}")
    return lines, said


def _counts(
    n: Figure | None, x: Figure | None, rate: Figure | None
) -> tuple[tuple[float, float] | None, int]:
    """(applicants, selected), the third of the three from the other two; and how far off it may be."""
    if n is not None and x is not None:
        return (n.value, x.value), 0
    if n is not None and rate is not None:
        return (n.value, float(round(n.value * rate.value))), math.floor(n.value * rate.half)
    if x is not None and rate is not None and rate.value > 0:
        every = x.value / rate.value
        return (float(round(every)), x.value), math.floor(every * rate.half / rate.value)
    return None, 0


def _level(text: str | None) -> str | None:
    plain = "" if text is None else " ".join(text.split())
    return None if UNKNOWN.fullmatch(plain.lower()) else plain


def _impossible(wrong: Sequence[str], where: str) -> DataError:
    return DataError(
        "published-counts",
        f"{len(wrong)} line{'s' * (len(wrong) != 1)} of a published table cannot be counts of people",
        given=f"{where}: {'; '.join(wrong)}",
        expected="whole numbers, of which at most all applicants are selected",
    )


def _checked(made: Printed) -> Printed:
    seen: set[tuple[str | None, ...]] = set()
    twice = [x.name for x in made.lines if x.parts in seen or seen.add(x.parts)]  # type: ignore[func-returns-value]
    if twice:
        raise _impossible([f"{name} stands there twice" for name in twice], made.source)
    if len(made.lines) < 2 or not any(x.applicants for x in made.lines):
        raise _impossible([f"{len(made.lines)} known categories: nothing to compare"], made.source)
    return made


def _with_total(made: Printed) -> Printed:
    """Whom the total holds and no line does are of unknown category; a total that is less is wrong."""
    if made.total is None:
        return made
    n, x = made.people
    known = [sum(v) for v in zip(*((i.applicants, i.selected) for i in made.lines), strict=True)]
    total = [made.total.applicants, made.total.selected]
    if total in ([n, x], known):
        return made
    wrong = [f"the lines add up to {x} selected of {n}, the printed total is {total[1]} of {total[0]}"]
    more, chosen = total[0] - n, total[1] - x
    said = list(made.said)
    unknown = list(made.unknown)
    if 0 <= chosen <= more:
        unknown.append(PrintedLine(tuple(None for _ in made.attribute), more, chosen))
        said.append(f"{more} people of the printed total are in no line and taken for unknown")
    return Printed(**{**vars(made), "unknown": unknown, "said": said, "wrong": wrong})


# --- recomputed


@dataclass(frozen=True, kw_only=True)
class Recomputed:
    """A published table beside what its counts give.

    Args:
        exhibit: line by line. wrong: every mismatch, in words. left_out: categories without a printed ratio
            under the rule of 2 %. best: the category that ratios are to.
    """

    exhibit: Exhibit
    best: PrintedLine
    wrong: Sequence[str]
    left_out: Sequence[str]


def recomputed(made: Printed) -> Recomputed:
    """Rates and impact ratios from the counts, held against the printed ones within the rounding of these.

    Impact ratios are to the highest rate of the categories that have a printed ratio; of all where none has.
    """
    known = sum(x.applicants for x in made.lines)
    small = [x.applicants < SMALL_SHARE * known for x in made.lines]
    printed = any(x.ratio is not None for x in made.lines)
    used = [x for x in made.lines if x.share is not None and (x.ratio is not None or not printed)]
    top = max(used, key=lambda x: x.share or 0.0) if used else made.lines[0]
    wrong, left_out, rows = list(made.wrong), [], []
    other = _other_reference(used, top)
    if other is not None:
        wrong.append(f"its ratios are to {other.name}, not to {top.name}, which has the highest rate")
    shown = {
        "rate": "scoring rate" if made.scored else "selection rate",
        "selected": "scored above the median" if made.scored else "selected",
    }
    for line, is_small in zip(made.lines, small, strict=True):
        share = line.applicants / known
        ratio = None if line.share is None or not top.share else line.share / top.share
        remarks = [text for text in (_of_rate(line),) if text]
        said = ""
        if line.ratio is not None and not line.ratio.fits(ratio) and other is None:
            of_rates = _of_printed(line, top)
            under = ratio is not None and ratio < FOUR_FIFTHS[0] <= line.ratio.value
            if of_rates is not None and line.ratio.fits(of_rates) and not under:
                said = f"the ratio is that of the rounded rates; the counts give {_told(ratio)}"
            else:
                four = ", under four fifths" if under else ""
                remarks.append(
                    f"the printed ratio is {line.ratio.value:.4g}, the counts give {_told(ratio)}{four}"
                )
        if printed and line.ratio is None and is_small:
            left_out.append(f"{line.name} ({line.applicants} people, {100 * share:.1f} %)")
        elif printed and line.ratio is None and line.applicants:
            remarks.append(f"no ratio is printed, though it has {100 * share:.1f} % of applicants")
        wrong += [f"{line.name}: {remark}" for remark in remarks]
        rows.append(_row(line, ratio, "; ".join([*remarks, said] if said else remarks), shown))
    for line in [*made.unknown, *([] if made.total is None else [made.total])]:
        remark = _of_rate(line)
        wrong += [f"{line.name}: {remark}"] if remark else []
        known_as = "as printed" if line is made.total else "category not known"
        rows.append(_row(line, None, remark or known_as, shown))
    n, x = made.people
    if made.scored and 2 * sum(line.selected for line in made.lines) > n:
        wrong.append(f"{x} of {n} people are said to score above the median, which are more than half")
    note = (
        f"{made.source}. A printed number agrees where the number from the counts would be printed so."
        " Impact ratios are to the highest rate of the categories that have one in the published table."
    )
    title = f"Published table recomputed: {', '.join(made.attribute)}"
    exhibit = Exhibit.of(title, rows, note=note)
    return Recomputed(exhibit=exhibit, best=top, wrong=wrong, left_out=left_out)


def _of_rate(line: PrintedLine) -> str:
    """That the printed rate does not follow from the counts, in words."""
    if line.rate is None or line.rate.fits(line.share):
        return ""
    return f"the printed rate is {line.rate.value:.4g}, the counts give {_told(line.share)}"


def _row(line: PrintedLine, ratio: float | None, remark: str, shown: dict[str, str]) -> dict[str, Scalar]:
    return {
        "category": line.name,
        "applicants": line.applicants,
        shown["selected"]: line.selected,
        f"{shown['rate']} as printed": None if line.rate is None else line.rate.value,
        shown["rate"]: line.share,
        "impact ratio as printed": None if line.ratio is None else line.ratio.value,
        "impact ratio": ratio,
        "remark": remark,
    }


def _told(value: float | None) -> str:
    return "none" if value is None else f"{value:.4f}"


def _of_printed(line: PrintedLine, top: PrintedLine) -> float | None:
    if line.rate is None or top.rate is None or not top.rate.value:
        return None
    return line.rate.value / top.rate.value


def _other_reference(used: Sequence[PrintedLine], top: PrintedLine) -> PrintedLine | None:
    """The one category, not the best-off, that all printed ratios are to."""
    ratios = [x for x in used if x.ratio is not None and x.share is not None]
    if not ratios or all(x.ratio is not None and x.ratio.fits(_over(x, top)) for x in ratios):
        return None
    fitting = [
        o
        for o in ratios
        if o is not top and all(x.ratio is not None and x.ratio.fits(_over(x, o)) for x in ratios)
    ]
    return fitting[0] if fitting else None


def _over(line: PrintedLine, reference: PrintedLine) -> float | None:
    return None if line.share is None or not reference.share else line.share / reference.share


def across(tables: Sequence[Printed]) -> list[str]:
    """Tables of the same people that do not hold as many."""
    first = tables[0]
    return [
        f"{', '.join(first.attribute)} has {first.people[1]} selected of {first.people[0]} people,"
        f" {', '.join(other.attribute)} {other.people[1]} of {other.people[0]}"
        for other in tables[1:]
        if other.people != first.people
    ]

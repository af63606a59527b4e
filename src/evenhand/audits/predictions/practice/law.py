"""Tables that law and practice ask for. Evidence only: nothing here says that anyone complies with
anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand._analysis import Analysis
from evenhand._declared import Declared
from evenhand._errors import UsageError
from evenhand._labels import Attribute
from evenhand._model import BoolArray, Exhibit, Factor, FloatArray, Scalar
from evenhand.audits.predictions.cells import Cell
from evenhand.stats.practice import four_fifths, impact_ratio_bounds

LAWS: Mapping[str, str] = {
    "ll144": "New York City Local Law 144 of 2021, 6 RCNY 5-300 and 5-301",
    "four-fifths": "US Uniform Guidelines, 29 CFR 1607.4 D",
}
SMALL_SHARE = 0.02
PRACTICE = (
    "group",
    "n",
    "selected",
    "selection rate",
    "impact ratio",
    "low",
    "high",
    "under four fifths",
    "Z",
    "Z of ln ratio",
    "Fisher p",
    "use",
)
"""Columns of the four-fifths table."""


def check_law(law: str | None) -> str | None:
    """The name of a law whose tables are known, or None.

    Raises:
        UsageError: `unknown-law`.
    """
    if law is not None and law not in LAWS:
        raise UsageError("unknown-law", "no tables for this law", given=law, available=sorted(LAWS))
    return law


@dataclass(frozen=True, kw_only=True)
class Tally:
    """How many people each level of an attribute has and how many of them are selected (or their weights).

    Args:
        levels: names. every, selected: (levels,). unknown: (people, selected) whose level is not known.
    """

    levels: Sequence[str]
    every: FloatArray
    selected: FloatArray
    unknown: tuple[float, float]


def tally_of_rows(selected: BoolArray, groups: Factor, weight: FloatArray | None) -> Tally:
    """Count rows."""
    place = np.where(groups.codes < 0, len(groups.levels), groups.codes)
    w = np.ones(len(place)) if weight is None else weight
    size = len(groups.levels) + 1
    every, chosen = (np.bincount(place, v, size).astype(float) for v in (w, w * selected))
    return Tally(
        levels=groups.levels,
        every=every[:-1],
        selected=chosen[:-1],
        unknown=(float(every[-1]), float(chosen[-1])),
    )


def tally_of_cells(cells: Sequence[Cell], everyone: Cell, term: str) -> Tally:
    """Add up cells: `term` is the moment that is 1 for those selected."""

    def both(c: Cell) -> tuple[float, float]:
        return c.moments.weight, float(c.moments.sums[c.moments.names.index(term)])

    counts = np.array([both(c) for c in cells]).reshape(-1, 2)
    rest = np.array(both(everyone)) - counts.sum(axis=0)
    return Tally(
        levels=[c.label.level for c in cells],
        every=counts[:, 0],
        selected=counts[:, 1],
        unknown=(float(rest[0]), float(rest[1])),
    )


@dataclass(frozen=True, kw_only=True)
class Selected:
    """Who is selected by one rule.

    Args:
        tallies: attribute → who is selected, or scores above the median. rule: what "selected" means, in
            words. scored: it is a scoring rate. at: the rule in a title, where there are several.
    """

    tallies: Mapping[Attribute, Tally]
    rule: str
    scored: bool = False
    at: str = ""


def add_law(
    analysis: Analysis, law: str | None, found: Selected, declared: Declared, *, weighted: bool
) -> None:
    """The tables of one law, one exhibit for each attribute."""
    rule, at = found.rule, found.at
    for attribute, tally in found.tallies.items():
        if law == "ll144":
            analysis.exhibits[f"ll144 {attribute}"] = ll144_table(
                tally, f"{attribute}", scored=found.scored, rule=rule
            )
        else:
            named = declared.reference_of(attribute)
            analysis.exhibits[f"four-fifths {attribute}{at}"] = practice_table(
                tally, f"{attribute}{at}", rule=rule, reference=named, level=declared.level
            )
    if weighted:
        analysis.note(
            "law-weights",
            "The law tables count people by their weights; the rules speak of people.",
            warning=True,
        )


def ll144_table(tally: Tally, attribute: str, *, scored: bool, rule: str) -> Exhibit:
    """Rate and impact ratio of every category against the best-off one.

    Categories under 2 % may be left out of the calculation of impact ratios by the rule; they stay in the
    table with their number and rate, and are not the best-off category that others are divided by.
    """
    every, chosen = tally.every, tally.selected
    unknown, unknown_chosen = tally.unknown
    known = float(every.sum())
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = chosen / every
    small = every < SMALL_SHARE * known
    usable = rate[~small & np.isfinite(rate)]
    best = float(usable.max()) if len(usable) else 0.0
    name = "scoring rate" if scored else "selection rate"
    ratio = [
        float(r / best) if best > 0 and np.isfinite(r) and not s else None
        for r, s in zip(rate, small, strict=True)
    ]
    table: dict[str, list[Any]] = {
        "category": list(tally.levels),
        "applicants": [_whole(v) for v in every],
        "selected" if not scored else "scored above the median": [_whole(v) for v in chosen],
        name: [float(r) if np.isfinite(r) else None for r in rate],
        "impact ratio": ratio,
        "remark": ["under 2 % of applicants: left out of the impact ratios" if s else "" for s in small],
    }
    if unknown:
        lowest, highest = np.full((2, len(every)), np.nan)
        kept = np.flatnonzero(~small)
        lowest[kept], highest[kept] = impact_ratio_bounds(chosen[kept], every[kept], tally.unknown)
        table["lowest with the unknown"], table["highest with the unknown"] = (
            [float(v) if np.isfinite(v) else None for v in side] for side in (lowest, highest)
        )
    note = (
        f"{LAWS['ll144']}. {rule}. Impact ratio = {name} of the category ÷ that of the category with the"
        f" highest rate. {_whole(unknown)} applicants of unknown category ({_whole(unknown_chosen)} of them"
        f" {'above the median' if scored else 'selected'}) are not in the table. The rule sets no pass"
        " mark, and neither does this table."
    )
    if unknown:
        note += " Lowest and highest: the impact ratio at the worst categories that the unknown may be of."

    return Exhibit(title=f"Local Law 144: {attribute}", columns=table, note=note)


def practice_table(
    tally: Tally,
    attribute: str,
    *,
    rule: str,
    reference: str | None,
    level: float,
) -> Exhibit:
    """Four-fifths with Z, Z of the log ratio, Fisher's exact test where numbers are small, and the log
    interval.

    The comparison is with the named reference, else with the group of the highest rate, as practice does.
    """
    every, chosen = tally.every, tally.selected
    present = [i for i in range(len(tally.levels)) if every[i] > 0]
    title = f"Four-fifths: {attribute}"
    if not present:
        return Exhibit.of(title, [], columns=PRACTICE, note="No group has rows.")
    best = max(present, key=lambda i: chosen[i] / every[i])
    if reference is not None:
        if reference not in tally.levels:
            raise UsageError(
                "unknown-group",
                "the reference is not one of the groups",
                given=reference,
                available=tally.levels,
            )
        best = list(tally.levels).index(reference)
    rows: list[dict[str, Scalar]] = []
    for i in present:
        found = four_fifths(chosen[i], every[i], chosen[best], every[best], level=level)
        row: dict[str, Scalar] = {"group": tally.levels[i], "n": _whole(every[i])}
        row |= {"selected": _whole(chosen[i]), "selection rate": found.rate}
        if i == best:
            row |= {"impact ratio": 1.0, "use": "reference"}
        else:
            row |= {"impact ratio": found.ratio, "low": found.interval.low, "high": found.interval.high}
            row |= {"under four fifths": None if found.ratio is None else found.ratio < 0.8, "Z": found.z}
            row |= {"Z of ln ratio": found.z_ratio, "Fisher p": found.fisher_p}
            row["use"] = "Fisher: small numbers" if found.small else "Z"
        rows.append(row)
    note = (
        f"{LAWS['four-fifths']}. {rule}. Ratio to {tally.levels[best]}"
        f" ({'the reference' if reference else 'the highest rate'}), {100 * level:.0f} % log interval. |Z|"
        " above 1.96 is the 5 % level; under 30 people or an expected count under 5 use Fisher's exact"
        " test. A ratio under 0.8 without a small p-value is not evidence of a difference. Z and"
        " Fisher's test are those of practice: near the 5 % level a verdict, which rests on the score"
        " interval of its claim, may differ from them; Fisher's is the more cautious."
        f" {_whole(tally.unknown[0])} rows have no group."
    )
    return Exhibit.of(title, rows, columns=PRACTICE, note=note)


def _whole(value: float) -> float | int:
    return int(value) if float(value).is_integer() else float(value)

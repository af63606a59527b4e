"""Tables that law and practice ask for. Evidence only: nothing here says that anyone complies with anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from evenhand._errors import UsageError
from evenhand._model import BoolArray, Exhibit, Factor, FloatArray
from evenhand.audits.scoring import Analysis
from evenhand.stats.practice import four_fifths

LAWS: Mapping[str, str] = {
    "ll144": "New York City Local Law 144 of 2021, 6 RCNY 5-300 and 5-301",
    "four-fifths": "US Uniform Guidelines, 29 CFR 1607.4 D",
}
SMALL_SHARE = 0.02


def check_law(law: str | None) -> str | None:
    """The name of a law whose tables are known, or None.

    Raises:
        UsageError: `unknown-law`.
    """
    if law is not None and law not in LAWS:
        raise UsageError("unknown-law", "no tables for this law", given=law, available=sorted(LAWS))
    return law


def add_law(
    analysis: Analysis,
    law: str,
    selected: BoolArray,
    attributes: Mapping[str, Factor],
    *,
    weight: FloatArray | None,
    scored: bool,
    rule: str,
    reference: Mapping[str, str],
    level: float,
    at: str = "",
) -> None:
    """The tables of one law, one exhibit for each attribute.

    Args:
        selected: (n,) who is selected, or scores above the median. scored: it is a scoring rate.
        rule: what "selected" means, in words.
    """
    for attribute, groups in attributes.items():
        counts = _counts(selected, groups, weight)
        if law == "ll144":
            analysis.exhibits[f"ll144 {attribute}"] = ll144_table(
                counts, groups, attribute, scored=scored, rule=rule
            )
        else:
            analysis.exhibits[f"four-fifths {attribute}{at}"] = practice_table(
                counts, groups, f"{attribute}{at}", rule=rule, reference=reference.get(attribute), level=level
            )
    if weight is not None:
        analysis.note(
            "law-weights",
            "The law tables count people by their weights; the rules speak of people.",
            warning=True,
        )


def _counts(selected: BoolArray, groups: Factor, weight: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """(all, selected) for each level, and last for rows whose group is unknown."""
    place = np.where(groups.codes < 0, len(groups.levels), groups.codes)
    w = np.ones(len(place)) if weight is None else weight
    size = len(groups.levels) + 1
    return np.bincount(place, w, size).astype(float), np.bincount(place, w * selected, size).astype(float)


def ll144_table(
    counts: tuple[FloatArray, FloatArray], groups: Factor, attribute: str, *, scored: bool, rule: str
) -> Exhibit:
    """Rate and impact ratio of every category against the best-off one.

    Categories under 2 % may be left out of the calculation of impact ratios by the rule; they stay in the table with
    their number and rate, and are not the best-off category that others are divided by.
    """
    every, chosen = counts[0][:-1], counts[1][:-1]
    unknown, unknown_chosen = float(counts[0][-1]), float(counts[1][-1])
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
        "category": list(groups.levels),
        "applicants": [_whole(v) for v in every],
        "selected" if not scored else "scored above the median": [_whole(v) for v in chosen],
        name: [float(r) if np.isfinite(r) else None for r in rate],
        "impact ratio": ratio,
        "remark": ["under 2 % of applicants: left out of the impact ratios" if s else "" for s in small],
    }
    note = (
        f"{LAWS['ll144']}. {rule}. Impact ratio = {name} of the category ÷ that of the category with the highest rate."
        f" {_whole(unknown)} applicants of unknown category ({_whole(unknown_chosen)} of them"
        f" {'above the median' if scored else 'selected'}) are not in the table. The rule sets no pass mark, and neither does this table."
    )
    return Exhibit(title=f"Local Law 144: {attribute}", columns=table, note=note)


def practice_table(
    counts: tuple[FloatArray, FloatArray],
    groups: Factor,
    attribute: str,
    *,
    rule: str,
    reference: str | None,
    level: float,
) -> Exhibit:
    """Four-fifths with Z, Z of the log ratio, Fisher's exact test where numbers are small, and the log interval.

    The comparison is with the named reference, else with the group of the highest rate, as practice does.
    """
    every, chosen = counts[0][:-1], counts[1][:-1]
    present = [i for i in range(len(groups.levels)) if every[i] > 0]
    names = ("group", "n", "selected", "selection rate", "impact ratio", "low", "high", "under four fifths", "Z", "Z of ln ratio", "Fisher p", "use")  # fmt: skip
    table: dict[str, list[Any]] = {k: [] for k in names}
    if not present:
        return Exhibit(title=f"Four-fifths: {attribute}", columns=table, note="No group has rows.")
    best = max(present, key=lambda i: chosen[i] / every[i])
    if reference is not None:
        if reference not in groups.levels:
            raise UsageError(
                "unknown-group",
                "the reference is not one of the groups",
                given=reference,
                available=groups.levels,
            )
        best = groups.levels.index(reference)
    for i in present:
        found = four_fifths(chosen[i], every[i], chosen[best], every[best], level=level)
        head = (groups.levels[i], _whole(every[i]), _whole(chosen[i]), found.rate)
        tail: tuple[Any, ...] = (1.0, None, None, None, None, None, None, "reference")
        if i != best:
            under = None if found.ratio is None else found.ratio < 0.8
            use = "Fisher: small numbers" if found.small else "Z"
            tail = (found.ratio, found.interval.low, found.interval.high, under, found.z, found.z_ratio, found.fisher_p, use)  # fmt: skip
        for name, value in zip(names, (*head, *tail), strict=True):
            table[name].append(value)
    note = (
        f"{LAWS['four-fifths']}. {rule}. Ratio to {groups.levels[best]}"
        f" ({'named as the reference' if reference else 'the highest rate'}), {level:.0%} log interval. |Z| above 1.96 is the 5 %"
        " level; under 30 people or an expected count under 5 use Fisher's exact test. A ratio under 0.8 without a small"
        f" p-value is not evidence of a difference. {_whole(counts[0][-1])} rows have no group."
    )
    return Exhibit(title=f"Four-fifths: {attribute}", columns=table, note=note)


def _whole(value: float) -> float | int:
    return int(value) if float(value).is_integer() else float(value)

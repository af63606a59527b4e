"""Whether one attribute's gap is another among the groups of a second: black − white, of women and of men."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import TypeAlias

import numpy as np

from evenhand._analysis import Analysis
from evenhand._estimate import Evidence, evidence
from evenhand._judge import judge
from evenhand._labels import Label
from evenhand._model import Estimate, Folded, IntArray, Observations, Span
from evenhand.audits.scores.gaps import gap_of, range_of
from evenhand.audits.scores.sides import Question, Side
from evenhand.stats.crossed import LEAST_UNITS
from evenhand.stats.interaction import Halved, as_one_difference
from evenhand.stats.interval import Inference, tail
from evenhand.stats.worst_case import slack_of

Four: TypeAlias = tuple[Side, Side, Side, Side]
"""Group and reference of the one attribute, in the one and in the other group of the second."""
MOST = 10
"""Interactions that are judged; with more of them none is, and a note says so."""


def add_interactions(
    observations: Observations,
    asked: Question,
    sides: Sequence[Side],
    over: Sequence[str],
    analysis: Analysis,
) -> None:
    """A family of its own, beside that of the pairs: never in the headline."""
    weight, score = observations.weight, observations.columns[asked.score]
    found = fours([side for side in sides if side.mean(score, weight) is not None])
    if len(found) > MOST:
        analysis.note(
            "interactions",
            f"{sides[0].label.attribute}: {len(found)} differences of gaps are possible, more than the {MOST}"
            " that are looked at; none is.",
        )
    items = (
        [_evidence(observations, asked, tuple(over), four) for four in found] if len(found) <= MOST else []
    )
    family = f"{sides[0].label.attribute}, interaction"
    correction = asked.declared.correction
    analysis.findings += judge(items, tolerance=asked.tolerance, family=family, correction=correction)


def fours(sides: Sequence[Side]) -> list[Four]:
    """Every two levels of a first attribute, within every two of a second."""
    by = {side.label.parts: side for side in sides}
    if any(len(parts) != 2 for parts in by):
        return []
    first, second = (list(dict.fromkeys(parts[k] for parts in by)) for k in (0, 1))
    wanted = [
        ((a, c), (b, c), (a, d), (b, d))
        for b, a in combinations(first, 2)
        for d, c in combinations(second, 2)
    ]
    return [(by[four[0]], by[four[1]], by[four[2]], by[four[3]]) for four in wanted if by.keys() >= set(four)]


def _evidence(observations: Observations, asked: Question, over: tuple[str, ...], four: Four) -> Evidence:
    one, two, three, _ = (side.label for side in four)
    names = one.attribute.names if one.attribute is not None else ("", "")
    infer = _inferred(observations, asked, over, four)
    found = infer(asked.declared.level)
    sizes = [side.n for side in four]
    item = Estimate(
        measure=f"{one.parts[0]}−{two.parts[0]} gap in mean {asked.score}",
        contrast="difference",
        group=str(Label.of(names[1], one.parts[1])),
        reference=str(Label.of(names[1], three.parts[1])),
        n=sum(sizes),
        n_group=sizes[0] + sizes[1],
        n_reference=sizes[2] + sizes[3],
        units={str(k): int(v) for k, v in found.detail.get("units", {}).items()},
    )
    return evidence(item, found, infer)


def _inferred(
    observations: Observations, asked: Question, over: tuple[str, ...], four: Four
) -> partial[Inference]:
    """Level → twice the gap between two and two of the groups."""
    units: Mapping[str, IntArray] = {name: observations.units[name].codes for name in over}
    score = observations.columns[asked.score]
    half = as_one_difference(
        score,
        [side.rows for side in four],
        units=units,
        weight=observations.weight,
        count=observations.count,
    )
    a, b = (_joined(four[i], four[j]) for i, j in ((0, 3), (1, 2)))
    columns = {**observations.columns, asked.score: half.score}
    shown = replace(
        observations, columns=columns, weight=half.weight, folded=_moved(observations, asked.score, half)
    )
    bounds = None if asked.tolerance is None else (asked.tolerance[0] / 2, asked.tolerance[1] / 2)
    gap = gap_of(shown, replace(asked, counts_missing=False, tolerance=bounds), over, a, b, None)
    ends = range_of(observations, asked.score)
    slack = (0.0, 0.0)
    if asked.counts_missing:
        each = [side.missing(score, observations.weight) for side in four]
        means = [side.mean(score, observations.weight) or 0.0 for side in four]
        one = slack_of((means[0], means[1]), (each[0], each[1]), ends)
        two = slack_of((means[2], means[3]), (each[2], each[3]), ends)
        slack = (one[0] + two[1], one[1] + two[0])
    found = gap.found
    if found.df is not None and found.value is not None and found.se:
        df = found.df * half.left
        found = found.with_(df=df, p_value=tail(found.value / found.se, df))
    if few := _too_few(units, four):
        found = found.with_(low=None, high=None, p_value=None, se=None, why_not=few)
    gap = replace(gap, found=found, spread=max(gap.spread, ends[1] - ends[0]) if gap.spread else 0.0)
    return partial(_doubled, gap.at, slack)


def _moved(observations: Observations, score: str, half: Halved) -> dict[str, Folded]:
    """What stands behind the rows, moved as they were."""
    own = observations.folded.get(score)
    if own is None:
        return {}
    offset = half.score - half.stretch * observations.columns[score]
    tallies = [
        None if values is None else {float(half.stretch[i] * v + offset[i]): n for v, n in values.items()}
        for i, values in enumerate(own.tallies)
    ]
    moved = Folded(
        count=own.count,
        weight=half.weight / own.count,
        within=own.within * half.stretch**2,
        low=own.low * half.stretch + offset,
        high=own.high * half.stretch + offset,
        tallies=tallies,
    )
    return {score: moved}


def _doubled(at: Callable[[float], Inference], slack: Span, level: float) -> Inference:
    """The interaction, from half of it."""
    half = at(level)
    twice = {name: 2 * v for name in ("value", "low", "high", "se") if (v := getattr(half, name)) is not None}
    method = f"difference of two differences: twice the {half.method}"
    return half.with_(**twice, method=method, detail={**half.detail, "slack": slack})


def _joined(one: Side, other: Side) -> Side:
    return replace(one, rows=one.rows | other.rows, asked=one.asked | other.asked)


def _too_few(units: Mapping[str, IntArray], four: Four) -> str | None:
    """Why there is no verdict, where a group has too few units of its own."""
    for name, codes in units.items():
        sets = [np.unique(codes[side.rows & (codes >= 0)]) for side in four]
        nested = not np.intersect1d(sets[0], sets[1]).size or not np.intersect1d(sets[0], sets[2]).size
        least = min(len(s) for s in sets)
        if nested and least < LEAST_UNITS:
            return f"a group has {least} {name}s only; at least {LEAST_UNITS} are needed for a verdict"
    return None

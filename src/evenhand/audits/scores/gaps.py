"""The gap between two sides' mean scores: its error over sampled units, and what few units still allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evenhand._model import BoolArray, FloatArray, IntArray, Observations, Span
from evenhand.audits.scores.sides import Question, Side
from evenhand.stats.blocks import WHOLE, rows_by_unit, sums_by_unit
from evenhand.stats.crossed import LEAST_UNITS, Component, difference
from evenhand.stats.few_units import Few, Pair, few, few_rows, unit_means, units_for, widened, with_hidden
from evenhand.stats.interval import Inference, from_standard_error, quantile
from evenhand.stats.worst_case import slack_of

PRECISION = 64 * float(np.finfo(float).eps)
"""Spread of the scores, as a share of the largest, that numbers of their size cannot tell from none."""


@dataclass(frozen=True, kw_only=True)
class Gap:
    """A difference of means and what its interval rests on, whatever the level.

    Args:
        found: at some level. few: dimensions in which hardly anything differs. spread: the range of the
            scores.
        tolerance: the largest gap that counts as even-handed; None where nothing is judged.
        slack: how far down and up missing replies could move the gap. missing: what is said of them.
    """

    found: Inference
    few: Sequence[Few]
    spread: float
    tolerance: float | None
    slack: Span = (0.0, 0.0)
    missing: str | None = None

    def at(self, level: float) -> Inference:
        """The inference at a level."""
        found = self.found
        if found.value is not None and self.spread <= 0:
            why = "every score is the same to the precision of its number, which shows nothing about groups"
            return found.with_(low=None, high=None, p_value=None, se=None, level=level, why_not=why)
        if found.value is None or (found.low is None and not (found.se == 0.0 and self.few)):
            return found.with_(level=level)
        reach = (found.se or 0.0) * quantile(0.5 + level / 2, found.df)
        low, high = widened(
            (found.value - reach, found.value + reach), found.value, self.few, self.spread, level
        )
        said = [said for said in (self.missing, self._needed() if self.few else None) if said]
        detail = {**found.detail, "slack": self.slack, "needed": " ".join(said) or None}
        if not self.few:
            return found.with_(low=low, high=high, level=level, detail=detail)
        p = found.p_value if found.se else None
        return found.with_(
            low=low, high=high, level=level, p_value=p, why_not=None, detail=detail, method=self._method()
        )

    def _method(self) -> str:
        said = "; ".join(f"{f.differing} of {f.units} {f.dimension}s differ" for f in self.few)
        return (
            f"{self.found.method}; {said}, so the interval allows what as many units allow (Clopper–Pearson)"
        )

    def _needed(self) -> str | None:
        needed = None if self.tolerance is None else units_for(self.tolerance, self.spread)
        if needed is None or min(f.units for f in self.few) >= needed:
            return None
        sums: dict[str, list[int]] = {}
        for f in self.few:
            seen_of = sums.setdefault(f.dimension, [0, 0])
            seen_of[0], seen_of[1] = seen_of[0] + f.differing, seen_of[1] + f.units
        seen = " and ".join(f"{k} of {n} {dimension}s" for dimension, (k, n) in sums.items())
        more = f"with {needed} on either side, none differing, any gap would be shown to be smaller"
        return f"Only {seen} differ; {more}."


def gap_of(
    observations: Observations,
    asked: Question,
    over: tuple[str, ...],
    a: Side,
    b: Side,
    pooled: Component | None,
) -> Gap:
    """Difference of mean scores.

    The default design of a text audit: terms nested in groups, texts crossed with them (Clark 1973; Cameron,
    Gelbach & Miller 2011); see `evenhand.stats.crossed`.

    Args:
        over: names of `observations.units` that are samples; none for a claim about just these rows.
        pooled: variance of a difference from all groups, where they are single terms.
    """
    units: Mapping[str, IntArray] = {name: observations.units[name].codes for name in over}
    score = observations.columns[asked.score]
    weight, folded = observations.weighing(asked.score), observations.folded.get(asked.score)
    found = difference(score, a=a.rows, b=b.rows, units=units, weight=weight, over=over)
    if pooled is not None and found.se is not None and found.value is not None:
        share = pooled.variance * (1.0 + 1.0 / max(len(b.parts or (b,)), 1))
        if share > found.se**2:
            method = f"{found.method}; variance pooled over all groups"
            found = from_standard_error(
                found.value, share**0.5, df=pooled.df, method=method, detail=found.detail
            )
    rows = (a.rows, b.rows)
    means = {name: _means(score, codes, rows, observations.count) for name, codes in units.items()}
    found = with_hidden(found, means.values())
    small = [f"{n} {d}s" for d, n in _nested_sizes(observations, over, a, b) if n < LEAST_UNITS]
    if small and found.low is not None:
        why = f"a group has {small[0]} only; at least {LEAST_UNITS} are needed for a verdict"
        found = found.with_(low=None, high=None, p_value=None, se=None, why_not=why)
    low, high = range_of(observations, asked.score)
    spread = 0.0 if high - low <= PRECISION * max(-low, high) else high - low
    lost = [side.missing(score, observations.weight) if asked.counts_missing else 0.0 for side in (a, b)]
    slack, missing = (0.0, 0.0), None
    if found.value is not None and max(lost) > 0:
        slack = slack_of((found.detail["mean_a"], found.detail["mean_b"]), (lost[0], lost[1]), (low, high))
        missing = _told(
            [(side.label.level, share) for side, share in zip((a, b), lost, strict=True)],
            (low, high),
            (found.value - slack[0], found.value + slack[1]),
        )
    ends = observations.span(asked.score) or (0.0, 0.0)
    scale = ends[1] - ends[0]
    hardly = [f for name, own in means.items() for f in few(own, asked.declared.word(name), scale)]
    if not means and folded is not None:
        hardly = few_rows(rows, folded, "row", scale)
    elif not means:
        hardly = few(_means(score, np.arange(len(score)), rows), "row", scale)
    return Gap(
        found=found,
        few=hardly,
        spread=spread,
        tolerance=None if asked.tolerance is None else asked.tolerance[1],
        slack=slack,
        missing=missing,
    )


def _means(
    score: FloatArray, codes: IntArray, rows: tuple[BoolArray, BoolArray], times: IntArray | None = None
) -> Pair:
    """The means of the units of both sides, less the median (of very many scores, that of the first): what is
    next to the precision of its numbers would be lost in their sums."""
    first = score[:WHOLE]
    known = first[np.isfinite(first)]
    middle = float(np.median(known)) if len(known) else 0.0
    one, two = (unit_means(score, codes, own, times, middle) for own in rows)
    return one, two


def _told(lost: Sequence[tuple[str, float]], scale: Span, ends: Span) -> str:
    shares = " and ".join(f"{100 * share:.1f} % of {who}" for who, share in lost if share > 0)
    low, high = (f"{end:.3g}".replace("-", "−") for end in ends)
    return (
        f"Replies are missing ({shares}): with any scores from {scale[0]:g} to"
        f" {scale[1]:g} in their place the gap lies between {low} and {high}."
    )


def range_of(observations: Observations, score: str) -> Span:
    """The ends of the scale: 0 and 1 where all scores lie between, without being all the same; else what was
    seen."""
    low, high = observations.span(score) or (0.0, 0.0)
    return (0.0, 1.0) if 0.0 <= low < high <= 1.0 else (low, high)


def _nested_sizes(observations: Observations, over: Sequence[str], a: Side, b: Side) -> list[tuple[str, int]]:
    """(dimension, units of the smaller group) of the dimensions that are nested in the groups."""
    found = []
    for name in over:
        codes = observations.units[name].codes
        levels = len(observations.units[name].levels)
        mine, other = (np.flatnonzero(rows_by_unit(codes, side.rows, levels)) for side in (a, b))
        if not len(np.intersect1d(mine, other)):
            found.append((name, min(len(mine), len(other))))
    return found


def pooled_error(
    observations: Observations, asked: Question, sides: Sequence[Side], over: Sequence[str]
) -> Component | None:
    """Variance of one group's mean over texts, pooled over several groups that are single terms.

    A group without hits shows no variance of its own: its error is that of its like (residual of text +
    group).
    """
    if len(sides) < 3 or len(over) != 1 or over[0] == asked.nested:
        return None
    codes = observations.units[over[0]].codes
    score = observations.columns[asked.score]
    n = len(observations.units[over[0]].levels)
    table = np.full((n, len(sides)), np.nan)
    for k, side in enumerate(sides):
        rows = side.rows & np.isfinite(score)
        count, total = sums_by_unit(score, codes, rows, n, observations.count)
        table[:, k] = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    table = table[np.isfinite(table).all(axis=1)]
    texts, groups = table.shape
    if texts < 2:
        return None
    residual = table - table.mean(axis=1, keepdims=True) - table.mean(axis=0) + table.mean()
    df = float((texts - 1) * (groups - 1))
    return Component(variance=float(np.sum(residual**2)) / df / texts, df=df)

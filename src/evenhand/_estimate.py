"""Observations × inference → estimates with everything the judge needs.

`Evidence` is an estimate together with the numbers that a verdict is made of but a reader rarely wants: the interval
of the equivalence test, the standard error and degrees of freedom, and what the estimate rests on.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evenhand._errors import UsageError
from evenhand._model import BoolArray, Estimate, Observations
from evenhand.stats.crossed import difference
from evenhand.stats.interval import Inference, quantile
from evenhand.stats.power import detectable as smallest_detectable


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """An estimate and what its verdict is made of.

    Args:
        estimate: what the reader sees.
        narrow: interval at level 1 − 2α: inside the tolerance it shows equivalence (two one-sided tests).
        detectable: smallest gap found with 80 % power by this design, on the contrast's scale.
        rests_on: what carries the estimate, in words.
        blind: True where the subject did not react to the difference between the groups in any unit.
    """

    estimate: Estimate
    narrow: tuple[float, float] | None = None
    detectable: float | None = None
    rests_on: str | None = None
    blind: bool = False

    def with_estimate(self, **changes: Any) -> Evidence:
        """A copy whose estimate has some fields changed."""
        return replace(self, estimate=self.estimate.with_(**changes))


@dataclass(frozen=True, kw_only=True, slots=True)
class Side:
    """One side of a comparison: what it is called, and its rows."""

    label: str
    rows: BoolArray


def group_sides(observations: Observations, attribute: str) -> list[Side]:
    """The groups of one attribute, in the order of its levels; levels without rows are left out."""
    factor = observations.groups[attribute]
    sides = [Side(label=f"{attribute}={level}", rows=factor.is_level(level)) for level in factor.levels]
    return [side for side in sides if side.rows.any()]


def pairs(sides: Sequence[Side], reference: str | None = None) -> list[tuple[Side, Side]]:
    """(group, reference) pairs: each against the named reference, else every pair once.

    Raises:
        UsageError: `unknown-group` where the reference is none of the groups.
    """
    if reference is None:
        return list(itertools.combinations(sides, 2))
    by_name = {side.label: side for side in sides} | {side.label.partition("=")[2]: side for side in sides}
    if reference not in by_name:
        raise UsageError(
            "unknown-group",
            "the reference is not one of the groups",
            given=reference,
            available=[side.label for side in sides],
        )
    chosen = by_name[reference]
    return [(side, chosen) for side in sides if side is not chosen]


def mean_difference(
    observations: Observations,
    group: Side,
    reference: Side,
    *,
    score: str,
    over: Sequence[str],
    given: str | None = None,
    within: BoolArray | None = None,
    level: float = 0.95,
) -> Evidence:
    """Mean score of one group minus that of another, generalised over the units in `over`.

    Args:
        score: name of the column.
        over: names of `observations.units` that are samples; none for a claim about just these rows.
        within, given: rows of a stratum, and its name.

    The default design of a text audit: terms nested in groups, texts crossed with them (Clark 1973; Cameron, Gelbach &
    Miller 2011); see `evenhand.stats.crossed`.
    """
    a, b = _sides_within(observations, score, group, reference, within)
    units = {name: observations.units[name].codes for name in over}
    inference = difference(
        observations.columns[score],
        a=a,
        b=b,
        units=units,
        weight=observations.weight,
        level=level,
        over=tuple(over),
    )
    inference = exact_where_constant(inference)
    estimate = Estimate(
        measure=f"mean {score}",
        contrast="difference",
        group=group.label,
        reference=reference.label,
        given=given,
        n=int(a.sum() + b.sum()),
        n_group=int(a.sum()),
        n_reference=int(b.sum()),
        units={str(k): int(v) for k, v in inference.detail.get("units", {}).items()},
    )
    return evidence(estimate, inference)


def _sides_within(
    observations: Observations, score: str, group: Side, reference: Side, within: BoolArray | None
) -> tuple[BoolArray, BoolArray]:
    usable = np.isfinite(observations.columns[score])
    if within is not None:
        usable &= within
    return group.rows & usable, reference.rows & usable


def exact_where_constant(inference: Inference) -> Inference:
    """Every unit shows the very same gap: no standard error, but an exact sign test over the scarcest units.

    Under exchangeable groups each unit's sign is a fair coin, so p = 2·2⁻ⁿ (1 for a gap of 0).
    """
    if inference.se != 0.0 or inference.value is None:
        return inference
    sizes = [int(n) for n in inference.detail.get("units", {}).values()]
    n = min(sizes) if sizes else int(min(inference.detail.get("n_a", 1), inference.detail.get("n_b", 1)))
    value = 0.0 if abs(inference.value) < 1e-12 else inference.value
    p_value = 1.0 if value == 0.0 else min(1.0, 2.0 * 0.5**n)
    return inference.with_(
        value=value,
        low=value,
        high=value,
        p_value=p_value,
        why_not=None,
        method=f"all {n} units show exactly this gap; p by an exact sign test",
    )


def evidence(estimate: Estimate, inference: Inference) -> Evidence:
    """An inference as an estimate with its verdict numbers."""
    alpha = 1.0 - inference.level
    narrow, detectable = None, None
    if inference.se is not None and inference.value is not None and inference.low is not None:
        reach = inference.se * quantile(1.0 - alpha, inference.df)
        narrow = (float(inference.value - reach), float(inference.value + reach))
        if inference.se > 0:
            detectable = abs(smallest_detectable(inference.se, df=inference.df, alpha=alpha) or 0.0)
    filled = estimate.with_(
        value=inference.value,
        low=inference.low,
        high=inference.high,
        level=inference.level,
        p_value=inference.p_value,
        method=inference.method,
        why_not=inference.why_not,
    )
    return Evidence(
        estimate=filled,
        narrow=narrow,
        detectable=detectable,
        blind=inference.se == 0.0 and inference.value == 0.0,
    )

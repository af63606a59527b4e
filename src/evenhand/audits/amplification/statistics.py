"""The statistics of an amplification audit, each with its side, its change and its null.

A statistic aggregates changes Δ over pairs of a group and an item, each counted towards the side it is tied
to. Three uses of the same parts: the value (sides of the original sample), its bootstrap (sides of the
original sample, resampled changes), and its null: changes centred on zero with sides chosen anew, which
reproduces the selection of sides.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from evenhand._model import FloatArray
from evenhand.audits.amplification.panel import Sums
from evenhand.measures.amplification import amplification_sizes, mean_amplification, violations
from evenhand.measures.association import item_epsilon, shares
from evenhand.measures.directional import Directional, amplification, signs
from evenhand.measures.outcomes import error_rate, outcome_divergence

MEAN = "mean bias amplification"
"""The measure of Zhao et al., which every comparison has."""
DIVERGENCE = "outcome divergence"
REPRESENTATION = "representation"
"""Erasure: who is named, against who is there. The second primary claim where the truth is known."""
SILENCE = "coverage gap"
ERROR = "gender error"
SHARES, NAMING = 0.02, 0.05
"""Default tolerances: of growing shares of items, and of who is named."""


def _plain(_: FloatArray, change: FloatArray) -> FloatArray:
    return change


def _none(sums: Sums, _: Sums | None) -> FloatArray:
    return np.zeros(len(next(iter(sums.values()))))


@dataclass(frozen=True, kw_only=True)
class Statistic:
    """One measure of amplification.

    Args:
        name: as it appears in results. needs: blocks of the panel.
        change: Sums → Δ (draws, …). side: (Sums, Sums of the sample) → which side, (draws, …), with the
            sample's noise moved to where the null puts it; (Sums, None) → the side of these sums themselves.
        total: (side, Δ) → value (draws,).
        floor: smallest possible value, e.g. 0, or None.
        centred: whether Δ centred on zero is its null; else the null comes from a binomial model or by
            permutation.
        about: what it is, in a sentence, with its source.
        sided: Sums of the sample → which pairs are tied to a side there (1, …); all where None. A pair that
            is exactly even has no side, adds nothing to the value, and so adds nothing to the null.
        tolerance: of its own scale, by which it is judged by default; None: it is described. Less than
            nothing is held against it too, unless it has a floor. family: with which it is judged.
    """

    name: str
    needs: tuple[str, ...]
    change: Callable[[Sums], FloatArray]
    side: Callable[[Sums, Sums | None], FloatArray] = _none
    total: Callable[[FloatArray, FloatArray], FloatArray] = _plain
    floor: float | None = None
    centred: bool = True
    about: str = ""
    sided: Callable[[Sums], FloatArray] | None = None
    tolerance: float | None = None
    family: str = "amplification"

    def value(self, sums: Sums, side: FloatArray | None = None) -> FloatArray:
        """(draws,) with the given sides, or with those of the sums themselves."""
        return self.total(self.side(sums, None) if side is None else side, self.change(sums))

    def null(self, sums: Sums, point: Sums, side: FloatArray | None = None) -> FloatArray:
        """(draws,) of bootstrap sums, moved to a world without amplification; with the given sides, or with
        those of each draw, of the pairs that have one in the sample."""
        if side is None:
            side = self.side(sums, point) * self._sided(point)
        return self.total(side, self.change(sums) - self.change(point))

    def exchanged(self, sums: Sums, point: Sums, side: FloatArray | None = None) -> FloatArray:
        """(draws,) of sums in which training data and outputs were exchanged at random."""
        return self.value(sums, self.side(sums, None) * self._sided(point) if side is None else side)

    def bounds(self, tolerance: float) -> tuple[float, float]:
        """What counts as none, on both sides where there are two."""
        return (-tolerance if self.floor is None else -np.inf, tolerance)

    def even(self, side: FloatArray) -> tuple[int, int]:
        """(pairs that are tied to no side, all pairs), where sides make the value."""
        if self.sided is None:
            return 0, 1
        tied = (side[0] != 0).any(axis=0)
        return int((~tied).sum()), max(len(tied), 1)

    def _sided(self, point: Sums) -> FloatArray:
        return np.ones(1) if self.sided is None else np.asarray(self.sided(point))


def _share_change(sums: Sums, of: str = "") -> FloatArray:
    return shares(sums[f"out{of}"]) - shares(sums[f"train{of}"])


def _share_side(sums: Sums, point: Sums | None, of: str = "") -> FloatArray:
    before, after = f"train{of}", f"out{of}"
    counts = sums[before]
    if point is None:
        return np.asarray(counts * counts.shape[-2] > counts.sum(axis=-2, keepdims=True), dtype=float)
    # Without amplification both corpora have the pooled share; the sample's noise is put around it.
    pooled = _without_noise(shares(point[before] + point[after]), shares(sums[before] + sums[after]))
    drawn = pooled + shares(counts) - shares(point[before])
    return np.asarray(np.nan_to_num(drawn) > 1.0 / counts.shape[-2] + 1e-12, dtype=float)


def _without_noise(pooled: FloatArray, drawn: FloatArray) -> FloatArray:
    """Shares (1, G, I) drawn together by as much of their spread over items as is noise.

    The shares of few mentions lie apart by chance alone; taken as they are, items would seem more surely tied
    than they are, and too little of what was selected would fall back.

    Args:
        drawn: (draws, G, I) the same shares of resampled images, whose variance is that of the noise.

    Source: the normal shrinkage of Efron & Morris (1975), each item by its own variance.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # an item that no draw has
        noise = np.nanvar(drawn, axis=0, keepdims=True)
        middle = np.nanmean(pooled, axis=-1, keepdims=True)
        spread = np.nanmean((pooled - middle) ** 2 - noise, axis=-1, keepdims=True)
    real = np.maximum(spread, 0.0)
    kept = np.divide(real, real + noise, out=np.ones_like(noise), where=real + noise > 0)
    return np.asarray(middle + kept * (pooled - middle))


def _share_sided(point: Sums, of: str = "") -> FloatArray:
    return np.asarray(_share_side(point, None, of).any(axis=-2, keepdims=True), dtype=float)


def _signed(point: Sums) -> FloatArray:
    return np.asarray(_signs(point, None) != 0, dtype=float)


def _mean(side: FloatArray, change: FloatArray) -> FloatArray:
    return mean_amplification(np.zeros_like(change), change, side > 0)


def _sizes(side: FloatArray, change: FloatArray) -> tuple[FloatArray, FloatArray]:
    return amplification_sizes(np.zeros_like(change), change, side > 0)


def _directional(sums: Sums, prediction: str) -> FloatArray:
    given = sums["attributes"][..., :, None] if prediction == "forward" else sums["tasks"][..., None, :]
    return Directional(both=sums["both"], predicted=sums[prediction], given=given).delta()


def _signs(sums: Sums, _: Sums | None) -> FloatArray:
    return signs(sums["sign_both"], sums["sign_attributes"], sums["sign_tasks"], sums["sign_rows"][..., 0])


def _epsilon(sums: Sums) -> FloatArray:
    after = item_epsilon(sums["out"], sums["out_rows"]).max(axis=-1)
    return np.asarray(after - item_epsilon(sums["train"], sums["train_rows"]).max(axis=-1))


def _signed_ratio(sums: Sums) -> FloatArray:
    table = sums["outcomes"]
    named, truth = table[..., :2].sum(axis=-2), table.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = named[..., 1] / named[..., 0] - truth[..., 1] / truth[..., 0]
    return np.asarray(np.where(np.isfinite(gap), gap, np.nan))


def _representation(sums: Sums) -> FloatArray:
    """Only where truth and output both name a group: whom captions leave unnamed is no matter of chance, for
    people neither, so that two sets of human captions would differ."""
    table = sums["outcomes"][..., :2]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((table[..., 0, 1] - table[..., 1, 0]) / table.sum(axis=(-1, -2)))


def _silence(sums: Sums) -> FloatArray:
    table = sums["outcomes"]
    with np.errstate(divide="ignore", invalid="ignore"):
        silent = table[..., 2] / table.sum(axis=-1)
    return np.asarray(silent[..., 1] - silent[..., 0])


def statistics(margin: float) -> tuple[Statistic, ...]:
    """All of them, in the order of the report.

    Args:
        margin: of violations.
    """
    return (*_of_direction(), *_of_sizes(margin), *_of_outcomes())


def _of_direction() -> tuple[Statistic, ...]:
    """Signed: towards the side an item is tied to."""
    image_level = ("both", "attributes", "tasks", "sign_both")
    return (
        Statistic(
            name=MEAN,
            needs=("train", "out"),
            change=_share_change,
            side=_share_side,
            total=_mean,
            sided=_share_sided,
            tolerance=SHARES,
            about="mean growth of the share of the group an item is tied to (Zhao et al. 2017)",
        ),
        Statistic(
            name="directional amplification A→T",
            needs=(*image_level, "forward"),
            change=partial(_directional, prediction="forward"),
            side=_signs,
            total=amplification,
            sided=_signed,
            about="the group changes which items are named: P(T̂|A) − P(T|A) (Wang & Russakovsky 2021)",
        ),
        Statistic(
            name="directional amplification T→A",
            needs=(*image_level, "backward"),
            change=partial(_directional, prediction="backward"),
            side=_signs,
            total=amplification,
            sided=_signed,
            tolerance=SHARES,
            about="the item changes which group is named: P(Â|T) − P(A|T) (Wang & Russakovsky 2021)",
        ),
    )


def _of_sizes(margin: float) -> tuple[Statistic, ...]:
    """How much changed, whichever way, and the worst ratio."""
    multi = Statistic(
        name="multi-attribute amplification",
        needs=("train_sets", "out_sets"),
        change=partial(_share_change, of="_sets"),
        side=partial(_share_side, of="_sets"),
        sided=partial(_share_sided, of="_sets"),
        total=lambda side, change: _sizes(side, change)[0],
        floor=0.0,
        about="mean |growth| over sets of items named together (Zhao, Andrews & Xiang 2023)",
    )
    return (
        multi,
        replace(
            multi,
            name="variance of multi-attribute amplification",
            total=lambda side, change: _sizes(side, change)[1],
            about="how unevenly the sets change (Zhao, Andrews & Xiang 2023)",
        ),
        Statistic(
            name="violations",
            needs=("train", "out"),
            change=_share_change,
            total=lambda _, change: violations(np.zeros_like(change), change, margin=margin),
            floor=0.0,
            about=f"items whose share moved by more than {margin:g} (Zhao et al. 2017)",
        ),
        Statistic(
            name="differential-fairness amplification",
            needs=("train", "out", "train_rows", "out_rows"),
            change=_epsilon,
            centred=False,
            about="growth of the largest log ratio of P(item|group) between groups (Foulds et al. 2020)",
        ),
    )


def _of_outcomes() -> tuple[Statistic, ...]:
    """Whom the outputs name, against the truth."""
    return (
        Statistic(
            name=ERROR,
            needs=("outcomes",),
            change=lambda sums: error_rate(sums["outcomes"]),
            floor=0.0,
            centred=False,
            tolerance=NAMING,
            family="who is named",
            about="outputs that name a wrong group (Hendricks et al. 2018)",
        ),
        Statistic(
            name=REPRESENTATION,
            needs=("outcomes", "two_groups"),
            change=_representation,
            tolerance=NAMING,
            family="who is named",
            about="share of the second group among those named, less its share in the truth of the same"
            " images: erasure is negative",
        ),
        Statistic(
            name=SILENCE,
            needs=("outcomes", "two_groups"),
            change=_silence,
            tolerance=NAMING,
            family="who is named",
            about="outputs that name nobody: their share of the second group's images, less that of the"
            " first's",
        ),
        Statistic(
            name="ratio gap",
            needs=("outcomes", "two_groups"),
            change=_signed_ratio,
            total=lambda _, change: np.abs(change),
            floor=0.0,
            about="|named second ÷ first group − true ratio|, the Δ ratio of Hendricks et al. 2018",
        ),
        Statistic(
            name=DIVERGENCE,
            needs=("outcomes",),
            change=lambda sums: outcome_divergence(sums["outcomes"]),
            floor=0.0,
            centred=False,
            about="Jensen–Shannon divergence in bits of (right, wrong, none) between the true groups"
            " (Hendricks et al. 2018)",
        ),
    )


def divergence_null(table: FloatArray, draws: int, seed: int) -> FloatArray:
    """Outcome divergence where all groups have the pooled outcomes: multinomial draws of the same group
    sizes."""
    g = table.shape[-1] - 1
    right = np.diagonal(table[:, :g])
    outcomes = np.stack([right, table[:, :g].sum(axis=1) - right, table[:, g]], axis=1)
    if not outcomes.any():  # no output of an image whose group is known
        return np.zeros(draws)
    pooled = outcomes.sum(axis=0) / float(outcomes.sum())
    rng = np.random.default_rng(seed)
    drawn = np.zeros((draws, g, g + 1))
    for k in range(g):
        made = rng.multinomial(round(float(table[k].sum())), pooled, size=draws)
        drawn[:, k, k] = made[:, 0]
        drawn[:, k, (k + 1) % g] += made[:, 1]
        drawn[:, k, g] = made[:, 2]
    return outcome_divergence(drawn)

"""What was declared before looking, and the resamples of images: values, their replicates, their nulls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from evenhand._judge import Correction
from evenhand._model import FloatArray
from evenhand.audits.amplification.panel import Panel, binomial, poisson_weights, swapped
from evenhand.audits.amplification.statistics import Statistic, divergence_null, statistics
from evenhand.measures.association import shares


@dataclass(frozen=True, kw_only=True)
class Judging:
    """What is held against what, declared before looking.

    Args:
        tolerance: growth of a share that counts as none, for the measures on that scale; or measure →
            tolerance.
        margin: of violations.
        item_tolerance: change of one item's share that counts as none; None: items are described, not judged.
    """

    tolerance: float | Mapping[str, float] = 0.02
    margin: float = 0.05
    item_tolerance: float | None = None
    draws: int = 1000
    level: float = 0.95
    correction: Correction = "single-step"
    seed: int = 0

    def of(self, statistic: Statistic) -> float | None:
        """The tolerance of one statistic; None where it is only described."""
        if isinstance(self.tolerance, Mapping):
            found = self.tolerance.get(statistic.name)
            return None if found is None else float(found)
        return float(self.tolerance) if statistic.judged else None


@dataclass(kw_only=True)
class Summary:
    """One statistic, resampled: value, its replicates, its null and where the null is from."""

    statistic: Statistic
    value: float
    replicates: FloatArray
    null: FloatArray
    null_from: str
    why_not: str | None = None


@dataclass(kw_only=True)
class Resampled:
    """What the resamples of one comparison add up to.

    Args:
        point: sums of the sample. summaries: by statistic. before, after: replicates of the shares (draws, G,
            I).
        images: images that name a group, in the scarcer corpus. boot: whether images were resampled.
    """

    point: Mapping[str, FloatArray]
    summaries: list[Summary] = field(default_factory=list)
    before: FloatArray = field(default_factory=lambda: np.zeros((0, 0, 0)))
    after: FloatArray = field(default_factory=lambda: np.zeros((0, 0, 0)))
    images: int = 0
    boot: bool = True


def resample(joint: Panel, judging: Judging, *, exact: bool, images: int, blocks: Sequence[str]) -> Resampled:
    """Draw images, keep the sides of the sample, and put a null beside every value.

    Args:
        exact: training data and outputs are exchangeable image by image, so nulls come from exchanging them.
        images: of the scarcer corpus. blocks: what the panel holds.
    """
    point = joint.totals()
    chosen = [s for s in statistics(judging.margin) if set(s.needs) <= set(blocks)]
    fixed = {s.name: s.side(point, None) for s in chosen}
    values: dict[str, list[FloatArray]] = {s.name: [] for s in chosen}
    centred: dict[str, list[FloatArray]] = {s.name: [] for s in chosen}
    before, after = [], []
    for weights in poisson_weights(joint.images, judging.draws, judging.seed):
        sums = joint.totals(weights)
        for s in chosen:
            values[s.name].append(s.value(sums, fixed[s.name]))
            if s.centred:
                centred[s.name].append(s.null(sums, point))
        if "out" in sums:
            before.append(shares(sums["train"]))
            after.append(shares(sums["out"]))
    nulls = {
        name: (np.concatenate(v), "changes of resampled images, centred on none")
        for name, v in centred.items()
        if v
    }
    nulls |= _other_nulls(joint, point, chosen, judging, exact)
    summaries = [
        Summary(
            statistic=s,
            value=float(s.value(point, fixed[s.name])[0]),
            replicates=np.concatenate(values[s.name]),
            null=nulls.get(s.name, (np.empty(0), ""))[0],
            null_from=nulls.get(s.name, (np.empty(0), ""))[1],
        )
        for s in chosen
    ]
    return Resampled(
        point=point,
        summaries=summaries,
        before=np.concatenate(before) if before else np.zeros((0, 0, 0)),
        after=np.concatenate(after) if after else np.zeros((0, 0, 0)),
        images=images,
    )


def _other_nulls(
    joint: Panel, point: Mapping[str, FloatArray], chosen: Sequence[Statistic], judging: Judging, exact: bool
) -> dict[str, tuple[FloatArray, str]]:
    """Exchange of the two corpora where that is exact; the binomial model for what cannot be centred."""
    found: dict[str, tuple[FloatArray, str]] = {}
    of_shares = [
        s
        for s in chosen
        if any(n.startswith(("train", "out")) for n in s.needs) and "outcomes" not in s.needs
    ]
    if exact and of_shares:
        drawn = _collect(swapped(joint, judging.draws, judging.seed + 1), of_shares)
        found |= {
            name: (v, "training data and outputs exchanged image by image") for name, v in drawn.items()
        }
    else:
        rest = [s for s in of_shares if not s.centred]
        if rest:
            drawn = _collect(binomial(point, judging.draws, judging.seed + 1), rest)
            found |= {name: (v, "binomial model of one common rate") for name, v in drawn.items()}
    if any(s.name == "outcome divergence" for s in chosen):
        null = divergence_null(point["outcomes"][0], judging.draws, judging.seed + 2)
        found["outcome divergence"] = (null, "outcomes drawn alike for all groups")
    return found


def _collect(draws: Iterator[dict[str, FloatArray]], chosen: Sequence[Statistic]) -> dict[str, FloatArray]:
    values: dict[str, list[FloatArray]] = {s.name: [] for s in chosen}
    for sums in draws:
        for s in chosen:
            if set(s.needs) <= set(sums):
                values[s.name].append(s.value(sums))
    return {name: np.concatenate(v) for name, v in values.items() if v}


def resample_counts(point: Mapping[str, FloatArray], judging: Judging) -> Resampled:
    """The same for tables of counts: mentions are independent, the interval and the null are binomial."""
    chosen = [s for s in statistics(judging.margin) if set(s.needs) <= {"train", "out"}]
    fixed = {s.name: s.side(point, None) for s in chosen}
    own = {s.name: [] for s in chosen}  # type: dict[str, list[FloatArray]]
    before, after = [], []
    for sums in _own_rates(point, judging):
        for s in chosen:
            own[s.name].append(s.value(sums, fixed[s.name]))
        before.append(shares(sums["train"]))
        after.append(shares(sums["out"]))
    nulls = _collect(_common_rate(point, judging), chosen)
    summaries = [
        Summary(
            statistic=s,
            value=float(s.value(point, fixed[s.name])[0]),
            replicates=np.concatenate(own[s.name]),
            null=nulls[s.name],
            null_from="binomial model of one common share",
        )
        for s in chosen
    ]
    images = int(min(point["train"].sum(), point["out"].sum()))
    return Resampled(
        point=point,
        summaries=summaries,
        before=np.concatenate(before),
        after=np.concatenate(after),
        images=images,
        boot=False,
    )


def _own_rates(point: Mapping[str, FloatArray], judging: Judging) -> Iterator[dict[str, FloatArray]]:
    rng = np.random.default_rng(judging.seed)
    yield {k: _multinomial(rng, point[k][0], point[k][0], judging.draws) for k in ("train", "out")}


def _common_rate(point: Mapping[str, FloatArray], judging: Judging) -> Iterator[dict[str, FloatArray]]:
    rng = np.random.default_rng(judging.seed + 1)
    pooled = point["train"][0] + point["out"][0]
    yield {k: _multinomial(rng, point[k][0], pooled, judging.draws) for k in ("train", "out")}


def _multinomial(rng: np.random.Generator, counts: FloatArray, rates: FloatArray, draws: int) -> FloatArray:
    """(draws, G, I): the mentions of each item dealt to groups by the shares of `rates`."""
    total = counts.sum(axis=0).astype(np.int64)
    p = (rates / rates.sum(axis=0)).T
    drawn = np.stack([rng.multinomial(n, p[i], size=draws) for i, n in enumerate(total.tolist())], axis=-1)
    return np.asarray(drawn, dtype=float)

"""What was declared before looking, and the resamples of images: values, their replicates, their nulls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from evenhand._declared import Declared
from evenhand._errors import UsageError
from evenhand._judge import tolerance_of
from evenhand._model import FloatArray
from evenhand.audits.amplification.panel import Panel, Sums, binomial, poisson_weights, swapped
from evenhand.audits.amplification.statistics import (
    DIVERGENCE,
    SHARES,
    Statistic,
    divergence_null,
    statistics,
)
from evenhand.measures.association import shares


@dataclass(frozen=True, kw_only=True)
class Judging:
    """What is held against what, declared before looking.

    Args:
        declared: level, correction, seed, and for each measure that is judged the growth that counts as none.
        margin: of violations.
        item_tolerance: change of one item's share that counts as none; None: items are described, not judged.
    """

    declared: Declared
    margin: float = 0.05
    item_tolerance: float | None = None
    draws: int = 1000

    def __post_init__(self) -> None:
        if not 0 < self.margin < 1:
            raise UsageError(
                "bad-margin",
                "the margin is a change of a share",
                given=self.margin,
                expected="between 0 and 1",
            )
        if self.draws < 100:
            raise UsageError(
                "bad-draws",
                "an interval needs at least 100 resamples",
                given=self.draws,
                expected="1000 or more",
            )


def tolerances(given: float | Mapping[str, float], margin: float) -> dict[str, float]:
    """Measure → tolerance; a number is that of the growth of shares, who is named keeps its own.

    Raises:
        UsageError: `unknown-measure`, `bad-tolerance`.
    """
    known = statistics(margin)
    own = {s.name: s.tolerance for s in known if s.tolerance is not None}
    if not isinstance(given, Mapping):
        given = {name: given if tolerance == SHARES else tolerance for name, tolerance in own.items()}
    for name in given:
        if name not in {s.name for s in known}:
            raise UsageError(
                "unknown-measure",
                "no measure of amplification has this name",
                given=name,
                available=[s.name for s in known],
                hint="tolerance= is a number, or a mapping of measure to number",
            )
    return {name: tolerance_of(float(value))[1] for name, value in given.items()}


@dataclass(kw_only=True)
class Aggregate:
    """One statistic, resampled: value, its replicates, its null and where the null is from, and how many
    pairs of how many are tied to no side."""

    statistic: Statistic
    value: float
    replicates: FloatArray
    null: FloatArray = field(default_factory=lambda: np.empty(0))
    null_from: str = ""
    even: tuple[int, int] = (0, 1)


@dataclass(kw_only=True)
class Resampled:
    """What the resamples of one comparison add up to.

    Args:
        point: sums of the sample. summaries: by statistic. before, after: replicates of the shares (draws, G,
            I).
        images: images (or units of them) that name a group, in the scarcer corpus. boot: whether these were
            resampled. groups: names, in the order of the tables. unit: what was resampled.
    """

    point: Sums
    summaries: list[Aggregate]
    before: FloatArray
    after: FloatArray
    images: int = 0
    boot: bool = True
    groups: Sequence[str] = ()
    unit: str = "image"

    @property
    def what(self) -> str:
        """What one piece of evidence is."""
        return self.unit if self.boot else "mention"


def resample(
    joint: Panel, judging: Judging, *, exact: bool, images: int, before: Sums | None = None
) -> Resampled:
    """Draw images, keep the sides of the sample, and put a null beside every value.

    Args:
        before: of the training data before they were balanced, where sides come from there: no draw moves
            them, so nothing is selected.
        exact: training data and outputs are exchangeable image by image, so nulls come from exchanging them.
        images: of the scarcer corpus.
    """
    point = joint.totals()
    draws = poisson_weights(joint.images, judging.draws, judging.declared.seed)
    fixed = _given_sides(before, judging)
    done, centred = _resampled(point, map(joint.totals, draws), judging, fixed)
    done.images = images
    nulls = {name: (v, "changes of resampled images, centred on none") for name, v in centred.items()}
    nulls |= _other_nulls(joint, point, [s.statistic for s in done.summaries], judging, exact, fixed)
    for summary in done.summaries:
        summary.null, summary.null_from = nulls.get(summary.statistic.name, (np.empty(0), ""))
    return done


def resample_counts(point: Sums, judging: Judging, before: Sums | None = None) -> Resampled:
    """The same for tables of counts: mentions are independent, the interval and the null are binomial."""
    own = _rates(point, {k: point[k][0] for k in point}, judging.draws, judging.declared.seed)
    fixed = _given_sides(before, judging)
    done, _ = _resampled(point, [own], judging, fixed)
    done.images, done.boot = int(min(point["train"].sum(), point["out"].sum())), False
    pooled = point["train"][0] + point["out"][0]
    common = _rates(point, dict.fromkeys(point, pooled), judging.draws, judging.declared.seed + 1)
    for summary in done.summaries:
        statistic = summary.statistic
        summary.null = statistic.exchanged(common, point, fixed.get(statistic.name))
        summary.null_from = "binomial model of one common share"
    return done


def _given_sides(before: Sums | None, judging: Judging) -> Mapping[str, FloatArray]:
    """Statistic → the sides that the training data had before they were balanced."""
    if before is None:
        return {}
    sided = [s for s in statistics(judging.margin) if s.sided is not None]
    return {s.name: s.side(before, None) for s in sided if _side_blocks(s) <= set(before)}


def _side_blocks(statistic: Statistic) -> set[str]:
    return {name for name in statistic.needs if name.startswith(("train", "sign_"))}


def _resampled(
    point: Sums, draws: Iterable[Sums], judging: Judging, given: Mapping[str, FloatArray]
) -> tuple[Resampled, dict[str, FloatArray]]:
    """(every statistic that the blocks allow, with its replicates; the nulls that come of centring them).

    Args:
        given: sides that come from elsewhere.
    """
    chosen = [s for s in statistics(judging.margin) if set(s.needs) <= set(point)]
    fixed = {s.name: given[s.name] if s.name in given else s.side(point, None) for s in chosen}
    values: dict[str, list[FloatArray]] = {s.name: [] for s in chosen}
    centred: dict[str, list[FloatArray]] = {s.name: [] for s in chosen if s.centred}
    before: list[FloatArray] = []
    after: list[FloatArray] = []
    for sums in draws:
        for s in chosen:
            values[s.name].append(s.value(sums, fixed[s.name]))
            if s.centred:
                centred[s.name].append(s.null(sums, point, given.get(s.name)))
        if "out" in sums:
            before.append(shares(sums["train"]))
            after.append(shares(sums["out"]))
    summaries = [
        Aggregate(
            statistic=s,
            value=float(s.value(point, fixed[s.name])[0]),
            replicates=np.concatenate(values[s.name]),
            even=s.even(fixed[s.name]),
        )
        for s in chosen
    ]
    done = Resampled(point=point, summaries=summaries, before=_joined(before), after=_joined(after))
    return done, {name: np.concatenate(v) for name, v in centred.items()}


def _joined(parts: Sequence[FloatArray]) -> FloatArray:
    return np.concatenate(parts) if parts else np.zeros((0, 0, 0))


def _other_nulls(
    joint: Panel,
    point: Sums,
    chosen: Sequence[Statistic],
    judging: Judging,
    exact: bool,
    given: Mapping[str, FloatArray],
) -> dict[str, tuple[FloatArray, str]]:
    """Exchange of the two corpora where that is exact; the binomial model for what cannot be centred."""
    draws, seed = judging.draws, judging.declared.seed + 1
    of_shares = [s for s in chosen if s.needs[0].startswith("train")]
    rest = [s for s in of_shares if not s.centred]
    drawn, why = {}, ""
    if exact and of_shares:
        drawn = _collect(swapped(joint, draws, seed), of_shares, point, given)
        why = "training data and outputs exchanged image by image"
    elif rest:
        drawn = _collect(binomial(point, draws, seed), rest, point, given)
        why = "binomial model of one common rate"
    found = {name: (v, why) for name, v in drawn.items()}
    if any(s.name == DIVERGENCE for s in chosen):
        null = divergence_null(point["outcomes"][0], draws, seed + 1)
        found[DIVERGENCE] = (null, "outcomes drawn alike for all groups")
    return found


def _collect(
    draws: Iterator[Sums], chosen: Sequence[Statistic], point: Sums, given: Mapping[str, FloatArray]
) -> dict[str, FloatArray]:
    values: dict[str, list[FloatArray]] = {s.name: [] for s in chosen}
    for sums in draws:
        for s in chosen:
            if set(s.needs) <= set(sums):
                values[s.name].append(s.exchanged(sums, point, given.get(s.name)))
    return {name: np.concatenate(v) for name, v in values.items() if v}


def _rates(point: Sums, rates: Mapping[str, FloatArray], draws: int, seed: int) -> Sums:
    """The mentions of each item dealt to groups by the shares of `rates`: corpus → (draws, G, I)."""
    rng = np.random.default_rng(seed)
    return {k: _multinomial(rng, point[k][0], rates[k], draws) for k in ("train", "out")}


def _multinomial(rng: np.random.Generator, counts: FloatArray, rates: FloatArray, draws: int) -> FloatArray:
    total = counts.sum(axis=0).astype(np.int64)
    p = (rates / rates.sum(axis=0)).T
    drawn = np.stack([rng.multinomial(n, p[i], size=draws) for i, n in enumerate(total.tolist())], axis=-1)
    return np.asarray(drawn, dtype=float)

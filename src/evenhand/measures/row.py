"""What a measure is: one row that says everything that is done with it.

From a row follow its claim and default tolerance, its interval, its line in the table of performance, its
statistic in a bootstrap, its name in ``evenhand list measures``, and the function of the same name. Nothing
else knows measures by name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypeAlias

from evenhand.stats.histogram import Scores
from evenhand.stats.interval import Inference
from evenhand.stats.moments import Means, Moments, Smooth

ContrastName: TypeAlias = Literal["difference", "ratio", "AUC", "distance"]
Unit: TypeAlias = Literal["", "sd of predictions", "sd of outcomes"]
Family: TypeAlias = Literal["outcomes", "accuracy", "top of the scores"]

BY_ROWS = "its method takes every row for independent, and here several rows belong to one unit"
"""Why a measure of distributions has no interval."""


def null_of(contrast: str) -> float:
    """The value of a contrast where two groups are equal; 0 for those that are differences under another
    name."""
    return {"ratio": 1.0, "AUC": 0.5}.get(contrast, 0.0)


class Sums(Protocol):
    """What a group adds up to: moments of its terms, and its scores on a grid."""

    @property
    def moments(self) -> Moments:
        """Sums of the terms over all rows."""
        ...

    @property
    def scores(self) -> Scores:
        """The distribution of the scores."""
        ...


Gaps: TypeAlias = Callable[[float], tuple[Inference, Inference]]
"""Level → the gaps of two measures."""
Infer: TypeAlias = Callable[["Measure", Any, Any, float, int], Inference]
"""(row, group's sums, reference's sums, level, seed) → inference on the scale of the contrast."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Measure:
    """A measure of a group, and how two groups are compared by it.

    Args:
        name: as it appears in results, e.g. ``"RMSE"``.
        terms: the per-row terms whose means it is made of. of: its value, a smooth function of these means.
        parts, join: of a measure that is made of the gaps of others: these, and how their gaps at a level
            become one. rises: whether it grows with each of them.
        hits, trials: for a rate, the two means that it is the ratio of.
        together: for a contrast that is no contrast of two values: a function of both groups' means and
            effective sizes.
        infer: how two groups' sums become an inference; None for a measure that is only described.
        by_rows: that inference takes every row for independent: there is none where several are of one unit.
        contrast: what a claim says of two groups. tolerance: the default, of a ratio the lower bound; None
            for no claim.
        judged: False for a claim that tells the fact of another one on another scale: it is described, and
            judged only where a tolerance is declared for it.
        unit: what the tolerance is counted in. key: the name under which a user sets the tolerance, if not
            `name`.
        family: the claims with which it is judged together.
        cases: the share of rows that its denominator conditions on; None for all of them, or the trials of a
            rate.
        least: cases of each side below which there is no interval.
        linear: a mean, whose delta variance needs no widening. tails: excess kurtosis that widens it further.
        shape: second and third central moment of what a mean is of: skewness widens its error.
        log: its interval is made on the log scale, as every ratio's is. shifts: it moves with the origin of
            the scores.
        primary: the headline rests on it, unless the user says otherwise.
        top: also claimed of the top of the scores. widest: also claimed of the widest of several gaps.
        worst: also claimed of the worst subgroup. pooled: also claimed with a stratum held equal.
        searched: what of a row is averaged (over the `trials`) where a subgroup is searched over features;
            None for a measure that is not searched by.
        better: which direction is better for a group, or None where neither is.
        reference: formula and paper.

    >>> from evenhand.measures.regression import RMSE
    >>> RMSE.contrast, RMSE.tolerance, RMSE.of({"yy": 5.0, "yp": 2.0, "pp": 8.0})
    ('ratio', 0.8, 3.0)
    """

    name: str
    terms: tuple[str, ...] = ()
    of: Smooth | None = None
    parts: tuple[Measure, ...] = ()
    join: Callable[[Gaps, float], Inference] | None = None
    rises: bool = False
    hits: Smooth | None = None
    trials: Smooth | None = None
    together: Callable[[Means, Means, float, float], Any] | None = None
    infer: Infer | None = None
    by_rows: bool = False
    contrast: ContrastName = "difference"
    tolerance: float | None = None
    judged: bool = True
    unit: Unit = ""
    key: str = ""
    family: Family = "outcomes"
    cases: Smooth | None = None
    least: int = 5
    linear: bool = False
    tails: Callable[[Moments], float] | None = None
    shape: Callable[[Moments], tuple[float, float]] | None = None
    log: bool = False
    shifts: bool = False
    primary: bool = False
    top: bool = False
    widest: bool = False
    worst: bool = False
    pooled: bool = False
    searched: Smooth | None = None
    better: Literal["higher", "lower"] | None = None
    reference: str = ""

    @property
    def tolerance_name(self) -> str:
        """The name under which a user sets the tolerance."""
        return self.key or self.name

    @property
    def is_ratio(self) -> bool:
        """Whether two groups are compared by a ratio, and so on the log scale."""
        return self.contrast == "ratio"

    def value(self, means: Means) -> Any:
        """The measure of a group: a number, or an array where the means are arrays.

        Raises:
            TypeError: a measure that is no function of one group's means.
        """
        if self.of is not None:
            return self.of(means)
        if self.hits is None or self.trials is None:
            raise TypeError(self.name)
        return self.hits(means) / self.trials(means)

    def cases_in(self, m: Moments) -> float:
        """How many cases of a group the measure rests on: independent ones; with weights the effective
        number."""
        share = self.trials or self.cases
        if share is None:
            return m.independent
        return m.n_effective * max(float(share(m.means)), 0.0) if m.counts else m.cases(share)

    def with_(self, **changes: Any) -> Measure:
        """A copy with some fields changed."""
        return replace(self, **changes)


def compare(measure: Measure, a: Sums, b: Sums, *, level: float = 0.95, seed: int = 0) -> Inference:
    """Group `a` against reference `b`.

    Raises:
        TypeError: a measure that is only described.
    """
    if measure.infer is None:
        raise TypeError(measure.name)
    found = measure.infer(measure, a, b, level, seed)
    if a.moments.units is None and b.moments.units is None:
        return found
    if measure.by_rows:
        found = Inference(value=found.value, level=level, method=found.method, why_not=BY_ROWS)
    return found.with_(
        detail={**found.detail, "units": {"unit": a.moments.independent + b.moments.independent}}
    )


def statistic(measure: Measure, a: Means, b: Means, sizes: tuple[float, float]) -> Any:
    """The contrast of two groups' means, arrays over replicates; None where it is not made of means.

    Args:
        sizes: effective rows of the two groups.
    """
    if measure.together is not None:
        return measure.together(a, b, *sizes)
    if measure.of is None and measure.hits is None:
        return None
    x, y = measure.value(a), measure.value(b)
    return x / y if measure.is_ratio else x - y

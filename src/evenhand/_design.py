"""Before any data: the chance of each verdict by the true gap, and the cheapest design that decides.

A `Drawn` says how exactly a gap would be known; what the chances are then is the judge's affair.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from scipy.special import chdtri

from evenhand._errors import UsageError
from evenhand._judge import chances, first_shown, shown, tolerance_of
from evenhand._model import Exhibit, Finding, FloatArray, IntArray, Scalar, Span, Verdict
from evenhand._result import Result
from evenhand._sample import Crossed, Drawn, Error, Means, Paired, Rates, Redrawn
from evenhand.measures.row import null_of
from evenhand.stats.interval import quantile
from evenhand.stats.studentized import range_quantile

if TYPE_CHECKING:
    import pyarrow

Kind: TypeAlias = Literal["rates", "means", "paired", "texts"]
VERDICTS: tuple[Verdict, ...] = ("disparity", "gap", "within tolerance", "inconclusive")
STEPS = tuple(step / 20 for step in range(41))
"""True gaps of a design's curve, in tolerances."""
TOLD = (0.0, 0.5, 1.0, 1.5, 2.0)
"""Those that are printed."""
DRAWS = 10_000
"""Samples, at most, from which the chances of the widest of several gaps are counted."""
RANGE = 0.05
"""Tail on each side of a pilot's variance: the range of chances is that of its 90 % interval."""


KINDS: Mapping[Kind, type[Rates | Means | Paired | Crossed]] = {
    "rates": Rates,
    "means": Means,
    "paired": Paired,
    "texts": Crossed,
}
NEEDED: Mapping[Kind, tuple[str, ...]] = {
    "rates": ("n", "rate"),
    "means": ("n",),
    "paired": ("n", "sd"),
    "texts": ("n", "texts"),
}
OUTSIDE: Mapping[str, Span] = {
    "n": (1.0, math.inf),
    "n_reference": (1.0, math.inf),
    "texts": (1.0, math.inf),
    "groups": (2.0, 61.0),
    "rate": (1e-9, 1.0),
}
"""Where the numbers of a sample lie."""
TOLERANCES: Mapping[Kind, float] = {"rates": 0.8, "means": 0.2, "paired": 0.1, "texts": 0.1}
"""Default tolerances: those of the impact ratio, the standardised mean difference, a share, a score."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Chance:
    """The chance of a verdict, and its range where the spread is known from a pilot only."""

    value: float
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return _percent(self.value)
        return f"{_percent(self.low)[:-2]}–{_percent(self.high)}"


def _percent(share: float) -> str:
    """Nothing that may happen is said to be impossible.

    >>> _percent(0.0), _percent(0.004), _percent(0.59), _percent(0.9999)
    ('0 %', '<1 %', '59 %', '>99 %')
    """
    if share < 5e-5 or 0.005 <= share <= 0.995 or share > 1 - 5e-5:
        return f"{100 * share:.0f} %"
    return "<1 %" if share < 0.5 else ">99 %"


@dataclass(frozen=True, kw_only=True, repr=False)
class Chances:
    """What a design will say, before any data: the chance of each verdict by the true gap.

    Args:
        title: the design in words. ratio: whether gaps are ratios. tolerance, level, claims: as declared.
        detectable: the smallest gap called a disparity with probability `wanted`; None where there is none.
        curve: true gap → verdict → chance.
        cheapest: for each of two wishes, the smallest design like this one that grants it; None where none
            does.
    """

    title: str
    ratio: bool
    tolerance: Span
    level: float
    claims: int
    wanted: float
    detectable: float | None
    curve: Mapping[float, Mapping[Verdict, Chance]]
    cheapest: Mapping[str, str | None]

    def table(self) -> pyarrow.Table:
        """One row a true gap: the chance of each verdict, with its range where there is one."""
        import pyarrow as pa

        rows = []
        for gap, at in self.curve.items():
            row: dict[str, float | None] = {"true gap": gap}
            for verdict, chance in at.items():
                ends = {f"{verdict} low": chance.low, f"{verdict} high": chance.high}
                row |= {verdict: chance.value, **({} if chance.low is None else ends)}
            rows.append(row)
        return pa.Table.from_pylist(rows)

    def exhibit(self) -> Exhibit:
        """The chances as lines over the true gap."""
        rows: Iterator[dict[str, Scalar]] = (
            {
                "true gap": gap,
                "verdict": verdict,
                "chance": chance.value,
                "low": chance.low,
                "high": chance.high,
            }
            for gap, at in self.curve.items()
            for verdict, chance in at.items()
        )
        ranged = any(c.low is not None for at in self.curve.values() for c in at.values())
        encode = {"x": "true gap", "y": "chance", "color": "verdict"}
        return Exhibit.of(
            f"Chance of each verdict: {self.title}",
            rows,
            columns=["true gap", "verdict", "chance", *(("low", "high") if ranged else ())],
            note=f"Tolerance {self.tolerance[0]:g} to {self.tolerance[1]:g}, {self._said()}.",
            chart="line",
            encode=encode | ({"low": "low", "high": "high"} if ranged else {}),
        )

    def _said(self) -> str:
        return f"{self.claims} primary claim{'s' * (self.claims != 1)} at {100 * self.level:g} %"

    def __repr__(self) -> str:
        bounds = f"{self.tolerance[0]:g} to {self.tolerance[1]:g}"
        gaps = list(self.curve)
        told = [gaps[STEPS.index(step)] for step in TOLD]
        lines = [f"{self.title}; tolerance {bounds}, {self._said()}"]
        lines.append(_row("true ratio" if self.ratio else "true gap", [f"{gap:.3g}" for gap in told]))
        lines += [_row(verdict, [str(self.curve[gap][verdict]) for gap in told]) for verdict in VERDICTS]
        lines += [f"{wish}: {design or 'by no such design'}" for wish, design in self.cheapest.items()]
        return "\n".join(lines)


def _row(name: str, cells: Sequence[str]) -> str:
    return f"  {name:<18}" + "".join(f"{cell:<12}" for cell in cells).rstrip()


def design(
    of: Kind | Result | Finding,
    *,
    tolerance: float | Sequence[float] | None = None,
    level: float = 0.95,
    claims: int = 1,
    wanted: float = 0.8,
    gap: float | None = None,
    pilot_df: float | None = None,
    **sample: float,
) -> Chances:
    """The chance of each verdict that a design has, before any data, and the cheapest design that decides.

    Args:
        of: "rates" (n people a group, rate of the reference; gaps are impact ratios), "means" (n rows a
            group, sd; without sd gaps are standardised), "paired" (n differences, sd), "texts" (n names a
            group, texts, term_sd, text_sd, residual_sd); or a result or finding, whose design is asked again.
        tolerance: as the audit will declare it; by default that of the kind: 0.8 for rates, 0.2 for means,
            0.1 for paired and texts, and the finding's own.
        level: of the audit. claims: primary claims of the audit, who share the error.
        wanted: chance that the cheapest design has.
        gap: the true gap (or ratio) at which it is to find a disparity; twice the tolerance by default.
        pilot_df: degrees of freedom on which the spread was estimated, if it was: chances become ranges.
        sample: n, n_reference (where it differs), groups (more than two: the widest gap), and those above.

    Returns:
        chances with `table()`, `exhibit()` and a short text. A range is that of the 90 % interval of the
        pilot's variance. With several groups two lie apart by the gap, and the others between them.

    Raises:
        UsageError: `bad-design`, `bad-tolerance`, `bad-power`.

    >>> design("rates", n=800, rate=0.3)
    rates of 0.3, 800 a group; tolerance 0.8 to 1.25, 1 primary claim at 95 %
      true ratio        1           0.894       0.8         0.716       0.64
      disparity         0 %         <1 %        3 %         25 %        69 %
      gap               5 %         29 %        74 %        72 %        30 %
      within tolerance  80 %        40 %        5 %         <1 %        0 %
      inconclusive      15 %        31 %        18 %        3 %         <1 %
    within tolerance at no gap, 80 %: rates of 0.3, 803 a group
    disparity at a ratio of 0.64, 80 %: rates of 0.3, 1,032 a group
    """
    if not 0 < wanted < 1:
        raise UsageError("bad-power", "a wanted chance lies between 0 and 1", given=wanted)
    made: Drawn
    null = 0.0
    if isinstance(of, str):
        made = _sample(of, sample)
        bounds = tolerance_of(TOLERANCES[of] if tolerance is None else tolerance, ratio=of == "rates")
    else:
        if sample or claims != 1 or pilot_df is not None:
            raise UsageError("bad-design", "a finding brings its own sample and claims", given=[*sample])
        finding = of if isinstance(of, Finding) else _scarcest(of)
        redrawn, null = again(finding)
        made = redrawn
        known = finding.tolerance or (0.0, 0.0)
        bounds = known if tolerance is None else tolerance_of(tolerance, ratio=made.log)
        claims, pilot_df, level = _claims(finding, redrawn), redrawn.df, finding.estimate.level
    scale = math.log if made.log else float
    if not bounds[0] < bounds[1] or (made.log and bounds[0] <= 0):
        raise UsageError("bad-tolerance", "a tolerance of one point decides nothing", given=bounds)
    asked = Held(
        tolerance=(scale(bounds[0]) - null, scale(bounds[1]) - null),
        level=level,
        claims=claims,
        wanted=wanted,
    )
    step = asked.tolerance[1]
    truths = [s * step for s in STEPS]
    # Ratios are told as the smaller over the larger.
    name: Callable[[float], float] = (lambda g: math.exp(-g)) if made.log else (lambda g: g + null)
    aim = 2 * step if gap is None else abs(scale(gap) - null)
    place = f"a ratio of {name(aim):.3g}" if made.log else f"a gap of {name(aim):.3g}"
    return Chances(
        title=str(made),
        ratio=made.log,
        tolerance=bounds,
        level=level,
        claims=claims,
        wanted=wanted,
        detectable=None if (reach := asked.reach(made)) is None else name(reach),
        curve={name(g): asked.ranged(made, g, pilot_df) for g in truths},
        cheapest={
            f"within tolerance at no gap, {_percent(wanted)}": asked.cheapest(made, 0.0, "within tolerance"),
            f"disparity at {place}, {_percent(wanted)}": asked.cheapest(made, aim, "disparity"),
        },
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """What a design is held against, on the scale of its estimate (ratios as logarithms)."""

    tolerance: Span
    level: float
    claims: int
    wanted: float

    def of(self, sample: Drawn, gap: float, times: float = 1.0) -> dict[Verdict, float]:
        """The chance of each verdict; times: of the standard error."""
        error = sample.error(gap)
        if error is None:
            return {**dict.fromkeys(VERDICTS, 0.0), "inconclusive": 1.0}
        se, df = error
        if sample.groups > 2:
            return self._widest(gap, (se * times, df), sample.groups, sample.own_df)
        return chances(gap, se * times, df, self.tolerance, level=self.level, claims=self.claims)

    def ranged(self, sample: Drawn, gap: float, pilot_df: float | None) -> dict[Verdict, Chance]:
        """Chances, and what they are at both ends of what a pilot tells of the variance."""
        here = self.of(sample, gap)
        if pilot_df is None:
            return {v: Chance(value=here[v]) for v in VERDICTS}
        low, high = (math.sqrt(pilot_df / chdtri(pilot_df, tail)) for tail in (RANGE, 1 - RANGE))
        every = [here, *(self.of(sample, gap, float(k)) for k in np.geomspace(low, high, 5))]
        return {
            v: Chance(value=here[v], low=min(at[v] for at in every), high=max(at[v] for at in every))
            for v in VERDICTS
        }

    def cheapest(self, sample: Drawn, gap: float, verdict: Verdict) -> str | None:
        """The smallest sample that gives this verdict at this gap with the chance wanted, in words."""
        found = sample.cheapest(lambda one: self.of(one, gap)[verdict] >= self.wanted)
        return None if found is None else str(found)

    def reach(self, sample: Drawn) -> float | None:
        """The smallest gap that is called a disparity with the chance wanted."""
        from scipy.optimize import brentq

        start = self.tolerance[1]
        high = 2.0 * start
        while self.of(sample, high)["disparity"] < self.wanted:
            high *= 1.5
            if high > 1e3 * start or sample.error(high) is None:
                return None

        def missing(gap: float) -> float:
            return self.of(sample, gap)["disparity"] - self.wanted

        return float(brentq(missing, start, high, xtol=1e-6 * start))

    def _widest(self, gap: float, error: Error, groups: int, own_df: float | None) -> dict[Verdict, float]:
        """Of the widest of all gaps: two groups lie apart by `gap`, the others between them.

        Its interval is that of `evenhand._largest`: the largest lower end by the studentised range, the
        largest upper end unadjusted.
        """
        se, df = error
        normal, spread, own = _draws(groups, df, own_df)
        first, second = np.triu_indices(groups, 1)
        truth = np.zeros(groups)
        truth[:2] = gap / 2, -gap / 2
        place = truth + se / math.sqrt(2) * normal
        apart = np.abs(place[:, first] - place[:, second])
        alpha = (1.0 - self.level) / self.claims
        freedom = (df, own_df)
        reach = np.array([_range_reach(1.0 - alpha, groups, f) for f in freedom])[own]
        arm = np.array([quantile(1.0 - alpha, f) for f in freedom])[own]
        near = (apart - se * reach * spread).max(axis=1)
        far = (apart + se * arm * spread).max(axis=1)
        masks = first_shown(shown((near, np.maximum(near, far)), (-far, far), self.tolerance, 0.0))
        found: dict[Verdict, float] = {verdict: float(np.mean(mask)) for verdict, mask in masks}
        return {**found, "inconclusive": max(0.0, 1.0 - sum(found.values()))}


@lru_cache(maxsize=8)
def _draws(groups: int, df: float | None, own_df: float | None) -> tuple[FloatArray, FloatArray, IntArray]:
    """Means of groups, the errors that pairs of them show over the true one, and whether they are their own.

    With `own_df` the groups are single words: a pair's error is the larger of its own and the pooled one.
    """
    rng = np.random.default_rng(20_260_101)
    pairs = groups * (groups - 1) // 2
    draws = max(500, min(DRAWS, 300_000 // pairs))
    normal = rng.standard_normal((draws, groups))
    if own_df is not None and df is not None:
        own = np.sqrt(rng.chisquare(own_df, (draws, pairs)) / own_df)
        pooled = np.sqrt(rng.chisquare(df, (draws, 1)) / df)
        return normal, np.maximum(own, pooled), (own > pooled).astype(np.int64)
    if df is None:
        return normal, np.ones((draws, pairs)), np.zeros(1, dtype=np.int64)
    each = rng.chisquare(df / 2, (draws, groups)) / df
    first, second = np.triu_indices(groups, 1)
    return normal, np.sqrt(each[:, first] + each[:, second]), np.zeros(1, dtype=np.int64)


@lru_cache(maxsize=256)
def _range_reach(level: float, groups: int, df: float | None) -> float:
    return float(range_quantile(level, groups, df)) / math.sqrt(2)


def _sample(kind: Kind, given: Mapping[str, Any]) -> Rates | Means | Paired | Crossed:
    if kind not in KINDS:
        raise UsageError("bad-design", "unknown kind of design", given=kind, available=list(KINDS))
    made = KINDS[kind]
    known = [f.name for f in fields(made)]
    needed = NEEDED[kind]
    wrong = [name for name in given if name not in known] or [name for name in needed if name not in given]
    if wrong:
        said = f"a design of {kind} needs {' and '.join(needed)}"
        raise UsageError("bad-design", said, given=wrong[0], available=known)
    for name, value in given.items():
        low, high = OUTSIDE.get(name, (0.0 if made is Crossed else 1e-300, math.inf))
        if not low <= value < high:
            raise UsageError("bad-design", f"{name} is out of range", given=value)
    if made is Crossed and not any(given.get(f"{name}_sd") for name in ("term", "text", "residual")):
        raise UsageError("bad-design", "one spread at least is more than 0", available=known)
    return made(**given)


def _scarcest(result: Result) -> Finding:
    """The primary finding that knows least."""

    def known(f: Finding) -> float:
        low, high = f.simultaneous or (0.0, math.inf)
        width = (f.tolerance or (0.0, 0.0))[1] - (f.tolerance or (0.0, 0.0))[0]
        return (high - low) / width if width > 0 else math.inf

    found = [f for f in result.primary if f.simultaneous is not None and f.tolerance is not None]
    if not found:
        raise UsageError(
            "bad-design", "no finding of the result has an interval and a tolerance", given=result.title
        )
    return max(found, key=known)


def again(finding: Finding) -> tuple[Redrawn, float]:
    """The sample that a finding rested on, and the null of its contrast."""
    e = finding.estimate
    log = e.contrast == "ratio"
    if e.value is None or e.low is None or e.high is None or (log and e.low <= 0):
        raise UsageError("bad-design", "the finding has no interval", given=e.why_not or e.measure)
    null = 0.0 if log else null_of(e.contrast)
    value, low, high = (math.log(v) if log else v for v in (e.value, e.low, e.high))
    # Of a maximum, the end that points away from no difference is the unadjusted one.
    arm = high - value if value >= null else value - low
    if not arm > 0:
        raise UsageError("bad-design", "the finding has no interval", given=e.measure)
    title = f"{e.measure}, {e.group} and {e.reference}"
    return Redrawn(se=arm / quantile(0.5 + e.level / 2, e.df), df=e.df, log=log, title=title), null


def _claims(finding: Finding, sample: Redrawn) -> int:
    """As how many claims the finding was judged: what its simultaneous interval was widened for."""
    from scipy.special import ndtr, stdtr

    e, outer = finding.estimate, finding.simultaneous
    if outer is None or e.value is None or (sample.log and outer[0] <= 0):
        return 1
    value, low, high = (math.log(v) if sample.log else v for v in (e.value, *outer))
    null = 0.0 if sample.log else null_of(e.contrast)
    c = (value - low if value >= null else high - value) / sample.se
    alpha = 2.0 * float(ndtr(-c) if e.df is None else stdtr(e.df, -c))
    return max(1, round((1.0 - e.level) / max(alpha, 1e-12)))

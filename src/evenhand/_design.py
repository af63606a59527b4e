"""Before any data: the chance of each verdict by the true gap, and the cheapest design that decides.

A `Drawn` says how exactly a gap would be known; what the chances are then is the judge's affair.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
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
from evenhand.stats.power import power
from evenhand.stats.studentized import range_quantile

if TYPE_CHECKING:
    import pyarrow

Kind: TypeAlias = Literal["rates", "means", "paired", "texts"]
VERDICTS: tuple[Verdict, ...] = ("disparity", "gap", "within tolerance", "inconclusive")
STEPS = tuple(step / 20 for step in range(41))
"""True gaps of a design's curve, in tolerances."""
TOLD = (0.0, 0.5, 1.0, 1.5, 2.0)
"""Those that are printed."""
MOST_GROUPS = 60
DRAWS = 10_000
"""Samples, at most, from which the chances of the widest of several gaps are counted."""
REACHED = 0.8
"""Chance that the gap of a finding's `detectable` has."""
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
    "groups": (2.0, MOST_GROUPS + 1.0),
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
        sample: what is drawn. tolerance: as declared. held: the same on the scale of the estimate.
        null: no difference. aim: the true gap at which a disparity is to be found. pilot_df: of the spread.
    """

    sample: Drawn
    tolerance: Span
    held: Held
    null: float
    aim: float
    pilot_df: float | None

    @property
    def claims(self) -> float:
        """Primary claims that share the error."""
        return self.held.claims

    @cached_property
    def curve(self) -> Mapping[float, Mapping[Verdict, Chance]]:
        """True gap → verdict → chance, from no gap to twice the tolerance."""
        truths = [step * self.held.tolerance[1] for step in STEPS]
        return {self._told(g): self.held.ranged(self.sample, g, self.pilot_df) for g in truths}

    @cached_property
    def detectable(self) -> float | None:
        """The smallest gap called a disparity with the chance wanted; None where there is none."""
        reach = self.held.reach(self.sample)
        return None if reach is None else self._told(reach)

    @cached_property
    def cheapest(self) -> Mapping[str, str | None]:
        """For each of two wishes the smallest design like this one that grants it; None where none does."""
        what = f"a {'ratio' if self.sample.log else 'gap'} of {self._told(self.aim):.3g}"
        share = _percent(self.held.wanted)
        return {
            f"within tolerance at no gap, {share}": self.held.cheapest(self.sample, 0.0, "within tolerance"),
            f"disparity at {what}, {share}": self.held.cheapest(self.sample, self.aim, "disparity"),
        }

    def _told(self, gap: float) -> float:
        """A gap as a reader sees it: ratios as the smaller over the larger."""
        return math.exp(-gap) if self.sample.log else gap + self.null

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
            f"Chance of each verdict: {self.sample}",
            rows,
            columns=["true gap", "verdict", "chance", *(("low", "high") if ranged else ())],
            note=f"Tolerance {self.tolerance[0]:g} to {self.tolerance[1]:g}, {self._said()}.",
            chart="line",
            encode=encode | ({"low": "low", "high": "high"} if ranged else {}),
        )

    def _said(self) -> str:
        if isinstance(self.sample, Redrawn):
            return f"judged as in the audit at {100 * self.held.level:g} %"
        return f"{self.claims:g} primary claim{'s' * (self.claims != 1)} at {100 * self.held.level:g} %"

    def __repr__(self) -> str:
        bounds = f"{self.tolerance[0]:g} to {self.tolerance[1]:g}"
        gaps = list(self.curve)
        told = [gaps[STEPS.index(step)] for step in TOLD]
        lines = [f"{self.sample}; tolerance {bounds}, {self._said()}"]
        lines.append(_row("true ratio" if self.sample.log else "true gap", [f"{gap:.3g}" for gap in told]))
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
    claims: float = 1,
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
    if not bounds[0] < bounds[1] or (made.log and bounds[0] <= 0):
        raise UsageError("bad-tolerance", "a tolerance of one point decides nothing", given=bounds)
    # Of ratios the one below 1 is told: a positive gap is a small ratio.
    ends = (-math.log(bounds[1]), -math.log(bounds[0])) if made.log else (bounds[0] - null, bounds[1] - null)
    if not ends[0] < 0 < ends[1]:
        raise UsageError("bad-tolerance", "no difference lies outside of the tolerance", given=bounds)
    aim = 2 * ends[1] if gap is None else abs(math.log(gap) if made.log else gap - null)
    held = Held(tolerance=ends, level=level, claims=claims, wanted=wanted)
    return Chances(sample=made, tolerance=bounds, held=held, null=null, aim=aim, pilot_df=pilot_df)


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """What a design is held against, on the scale of its estimate (ratios as logarithms)."""

    tolerance: Span
    level: float
    claims: float
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


def of_result(result: Result) -> Iterator[str]:
    """For each primary claim, what a design like that of these data has as chances; the data's own gaps stay
    unsaid."""
    for finding in result.primary:
        try:
            yield f"{design(finding)!r}\n"
        except UsageError:
            e = finding.estimate
            why = e.why_not or "no interval that more data would narrow"
            yield f"{e.measure}, {e.group} and {e.reference}: {why}\n"


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


def _claims(finding: Finding, sample: Redrawn) -> float:
    """As how many claims the finding was judged, what a maximum was picked from among them.

    Said by the gap that it calls detectable; else by how much its simultaneous interval was widened, on the
    side that points away from no difference (the other one ends there, where the interval is a maximum's).
    """
    from scipy.optimize import brentq
    from scipy.special import ndtr, stdtr

    e, outer, known = finding.estimate, finding.simultaneous, finding.tolerance
    alpha, scale = 1.0 - e.level, math.log if sample.log else float
    if finding.detectable is not None and known is not None:
        over = scale(finding.detectable) - scale(known[1]) + (0.0 if sample.log else null_of(e.contrast))

        def missing(log_claims: float) -> float:
            found = power(over, sample.se, df=sample.df, alpha=alpha / math.exp(log_claims))
            return found - REACHED

        return 1.0 if missing(0.0) <= 0 else float(np.exp(brentq(missing, 0.0, 20.0)))
    if outer is None or e.value is None or (sample.log and outer[0] <= 0):
        return 1.0
    value, low, high = (scale(v) for v in (e.value, *outer))
    null = 0.0 if sample.log else null_of(e.contrast)
    c = (high - value if value >= null else value - low) / sample.se
    tail = 2.0 * float(ndtr(-c) if e.df is None else stdtr(e.df, -c))
    return max(1.0, alpha / max(tail, 1e-12))

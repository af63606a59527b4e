"""Runs of the worlds, and what they come to: coverage, false verdicts by family and by headline, power.

python tools/calibration.py --runs 2000        the full grid, and the page made of it
"""

from __future__ import annotations

import math
import re
import zlib
from collections import Counter
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np
from worlds import World

import evenhand as eh
from evenhand._result import Result
from evenhand.measures.row import null_of

FALSE = 0.05
"""Most of families, and of headlines, that may be false."""
COVERED = 0.94
"""Least coverage of a 95 % interval."""
LEAST_SEEN, LEAST_INTERVALS = 0.25, 100
"""Share of the runs in which a claim must have an interval for its coverage to be told, and how many at least: the
normal law of a share does not hold for few."""
MAXIMUM = re.compile(r"(widest gap|largest|worst) of \d+|, largest of|no-adverse-impact level")


@dataclass(kw_only=True)
class Tally:
    """What the runs of one world came to.

    Args:
        covered: claim → [intervals, intervals that hold the truth].
        families: family → [runs in which it was judged, with a false disparity, gap, within].
        headlines: verdict → audits. false: verdict → audits whose headline is false.
    """

    world: str
    runs: int = 0
    seed: int = 0
    covered: dict[str, list[int]] = field(default_factory=dict)
    families: dict[str, list[int]] = field(default_factory=dict)
    headlines: Counter[str] = field(default_factory=Counter)
    false: Counter[str] = field(default_factory=Counter)

    def as_json(self) -> dict[str, Any]:
        """The tally as plain data."""
        return {k: dict(v) if isinstance(v, Counter) else v for k, v in vars(self).items()}


def tally(world: World, runs: int, seed: int = 1) -> Tally:
    """The world, drawn so often."""
    rng = np.random.default_rng([seed, zlib.crc32(world.name.encode())])
    found = Tally(world=world.name, seed=seed)
    for _ in range(runs):
        _count(found, world, world.audit(rng))
    return found


def _count(into: Tally, world: World, result: Result) -> None:
    into.runs += 1
    seen: dict[str, set[str]] = {}
    for finding in result.findings:
        truth = world.truth(finding)
        if truth is None:
            continue
        if not MAXIMUM.search(finding.estimate.measure):
            _cover(into, finding, truth)
        if finding.verdict is not None:
            false = seen.setdefault(finding.family, set())
            if is_false(finding, truth):
                false.add(finding.verdict)
    for family, false in seen.items():
        row = into.families.setdefault(family, [0, 0, 0, 0])
        row[0] += 1
        for i, verdict in enumerate(("disparity", "gap", "within tolerance"), 1):
            row[i] += verdict in false
    headline = result.verdict or "none"
    into.headlines[headline] += 1
    wrong = {f.verdict for f in result.primary if (t := world.truth(f)) is not None and is_false(f, t)}
    into.false[headline] += headline in wrong


def _cover(into: Tally, finding: eh.Finding, truth: float) -> None:
    e = finding.estimate
    if e.low is None or e.high is None:
        return
    given = re.sub(r"=\S+", "", e.given or "")
    attribute = e.group.split("=")[0]
    row = into.covered.setdefault(
        f"{e.measure}{' given ' + given if given else ''} [{attribute}]"
        if not e.group.startswith("group=g")
        else f"{e.measure}{' given ' + given if given else ''} [{e.group.split('=')[1]}]",
        [0, 0],
    )
    row[0] += 1
    row[1] += e.low <= truth <= e.high


def is_false(finding: eh.Finding, truth: float) -> bool:
    """Whether the verdict asserts what is not so."""
    if finding.tolerance is None or finding.verdict in (None, "inconclusive"):
        return False
    low, high = finding.tolerance
    if finding.verdict == "within tolerance":
        return not low <= truth <= high
    span = finding.simultaneous or (math.nan, math.nan)
    upward = span[0] > null_of(finding.estimate.contrast)
    if finding.verdict == "disparity":
        return not truth > high if upward else not truth < low
    null = null_of(finding.estimate.contrast)
    return not truth > null if upward else not truth < null


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A cell that falls short: what kind, where, the measured share, its error and the target."""

    world: str
    kind: str
    where: str
    share: float
    error: float
    target: float

    def __str__(self) -> str:
        return (
            f"{self.world}: {self.kind} of {self.where} is {self.share:.1%} ± {self.error:.1%}"
            f" (target {self.target:.0%})"
        )


def error_of(share: float, runs: int) -> float:
    """Monte-Carlo standard error of a share."""
    return math.sqrt(share * (1 - share) / max(runs, 1))


def reach(claims: int) -> float:
    """How many Monte-Carlo standard errors the worst of so many claims may be off: two for one, and by chance no
    more often for all (Bonferroni).

    >>> round(reach(1), 6), round(reach(64), 2)
    (2.0, 3.39)
    """
    law = NormalDist()
    return law.inv_cdf(1 - (1 - law.cdf(2)) / max(claims, 1))


def failures(found: Tally, world: World) -> list[Failure]:
    """The cells beyond their target by more than two Monte-Carlo standard errors (those of the target); of many
    claims in one world the least covered one by as many as `reach` says."""
    made = []

    def judge(
        kind: str, where: str, count: int, of: int, target: float, least: bool = False, claims: int = 1
    ) -> None:
        share, error = count / max(of, 1), error_of(target, of)
        far = reach(claims) * error
        if share < target - far if least else share > target + far:
            made.append(
                Failure(world=found.world, kind=kind, where=where, share=share, error=error, target=target)
            )

    every = told(found)
    for claim, (seen, covered) in every.items():
        judge("coverage", claim, covered, seen, COVERED, least=True, claims=len(every))
    for family, (judged, *wrong) in found.families.items():
        for kind, count in zip(("disparity", "gap", "within"), wrong, strict=True):
            judge(kind, family, count, judged, FALSE)
    judge("headline", "the audit", sum(found.false.values()), found.runs, FALSE)
    for verdict, share in world.power.items():
        judge("power", verdict, found.headlines[verdict], found.runs, share, least=True)
    if world.silent:
        judge("silence", "the audit", found.runs - found.headlines["inconclusive"], found.runs, 0.0)
    return made


def told(found: Tally) -> dict[str, list[int]]:
    """The claims that had an interval often enough."""
    least = max(LEAST_SEEN * found.runs, LEAST_INTERVALS)
    return {claim: row for claim, row in found.covered.items() if row[0] >= least}

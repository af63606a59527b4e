"""What a difference rests on: the influence of each sampled unit, and how few of them carry the gap."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evenhand._errors import UsageError
from evenhand._model import FloatArray, Folded
from evenhand.stats.crossing import Crossing, prepare
from evenhand.stats.interval import tail


@dataclass(frozen=True, kw_only=True, slots=True)
class Influence:
    """How far the difference moves when each unit of one dimension is left out.

    Args:
        codes: (U,) the units, as the caller numbered them, most influential first.
        without: (U,) the difference without the unit; NaN where the unit is a whole group.
        change: (U,) difference − difference without the unit: what the unit contributes.
        side: (U,) 0 where the unit occurs only in the group, 1 only in the reference, −1 in both.
        value: the difference with all units.
    """

    codes: npt.NDArray[np.intp]
    without: FloatArray
    change: FloatArray
    side: npt.NDArray[np.intp]
    value: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Carried:
    """The fewest units whose removal takes a gap away.

    Args:
        k: how many units; None where no removal of up to half of the units does.
        of: units of the dimension.
        codes: the k units, most influential first.
        value: the difference with all units. without: the difference without those k.
        rule: what "takes away" meant, in words.
        fragile: True where k is at most 1, or at most 5 % of the units.
    """

    k: int | None
    of: int
    codes: tuple[int, ...]
    value: float
    without: float | None
    rule: str
    fragile: bool


def influence(
    score: npt.ArrayLike,
    *,
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    units: Mapping[str, npt.ArrayLike],
    unit: str,
    weight: npt.ArrayLike | Folded | None = None,
) -> Influence:
    """Leave-one-out influence of every unit of one dimension, from sums alone (no refitting).

    Args:
        score, a, b, units, weight: as in `difference`. unit: the dimension, a name of `units`.

    Raises:
        UsageError: as `difference`.

    >>> i = influence([5, 1, 1, 1], a=[1, 1, 0, 0], b=[0, 0, 1, 1], units={"term": [0, 1, 2, 3]}, unit="term")
    >>> i.codes[0], i.value, i.without[0]
    (np.int64(0), 2.0, np.float64(0.0))
    """
    rows = prepare(score, a=a, b=b, units=units, over=(unit,), weight=weight)
    return _influence(rows)


def _influence(rows: Crossing) -> Influence:
    means = rows.means()
    d = rows.dimensions[0]
    left = d.leave_one_out()
    without = left[0] - left[1]
    value = float(means[0] - means[1])
    change = value - without
    order = np.argsort(-np.nan_to_num(np.abs(change), nan=np.inf), kind="stable")
    side = np.where((d.total > 0).all(axis=0), -1, (d.total[1] > 0).astype(int))
    return Influence(
        codes=d.levels[order],
        without=without[order],
        change=change[order],
        side=side[order].astype(np.intp),
        value=value,
    )


def outlying(values: FloatArray) -> float:
    """Chance that the furthest of n normal values lies as far out as the furthest of these does (Grubbs'
    test).

    Args:
        values: (n,) unit means of one group, n ≥ 3.

    Returns:
        p in [0, 1], Bonferroni's bound: at most 1; 0 where all others are equal.

    Source: Grubbs (1969), Procedures for detecting outlying observations in samples, eq. 3.

    >>> round(outlying(np.array([1.0, 2.0, 3.0, 2.0, 1.5, 2.5])), 2)
    0.76
    >>> outlying(np.array([0.0, 0.0, 0.0, 0.0, 0.0, 9.0])) < 1e-6
    True
    """
    n, spread = len(values), float(np.std(values, ddof=1)) if len(values) > 2 else 0.0
    if n < 3 or spread == 0.0:
        return 1.0
    g2 = float(np.max(np.abs(values - values.mean())) / spread) ** 2
    rest = (n - 1) ** 2 - n * g2
    if rest <= 1e-9 * n:
        return 0.0
    return min(1.0, n * tail(float(np.sqrt(n * (n - 2) * g2 / rest)), n - 2))


def carried(
    score: npt.ArrayLike,
    *,
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    units: Mapping[str, npt.ArrayLike],
    unit: str,
    weight: npt.ArrayLike | Folded | None = None,
    share: float = 0.5,
) -> Carried:
    """The smallest number of units whose removal takes away at least `share` of the gap (or turns its sign).

    Units are removed greedily, each time the one whose removal shrinks the gap most; every step costs one
    pass over the sums. At most half of the units are tried: a gap that needs more is carried by the group as
    a whole.

    Args:
        score, a, b, units, unit, weight: as in `influence`.
        share: of the gap that must go, in (0, 1]; 1 asks for a gap of zero or of the other sign.

    Raises:
        UsageError: `bad-share`, and as `difference`.

    One name of eight makes the whole gap:

    >>> term = [0, 1, 2, 3, 4, 5, 6, 7]
    >>> a = [t < 4 for t in term]
    >>> c = carried([9, 1, 1, 1, 1, 1, 1, 1], a=a, b=[not x for x in a], units={"term": term}, unit="term")
    >>> c.k, c.of, c.codes, c.without, c.fragile
    (1, 8, (0,), 0.0, True)
    """
    if not 0.0 < share <= 1.0:
        raise UsageError("bad-share", "the share of the gap that must go is outside (0, 1]", given=share)
    rows = prepare(score, a=a, b=b, units=units, over=(unit,), weight=weight)
    d = rows.dimensions[0]
    n = len(d.levels)
    means = rows.means()
    value = float(means[0] - means[1])
    rule = f"takes away at least {100 * share:.0f} % of the gap"
    if not np.isfinite(value) or value == 0.0:
        return Carried(k=None, of=n, codes=(), value=value, without=None, rule=rule, fragile=False)
    total, sums, gone = d.total.copy(), d.score.copy(), []
    for _ in range(n // 2):
        rest = total.sum(axis=1, keepdims=True) - total
        with np.errstate(invalid="ignore", divide="ignore"):
            left = (sums.sum(axis=1, keepdims=True) - sums) / rest
        possible = np.all(rest > 1e-12 * d.total.sum(axis=1, keepdims=True), axis=0) & (total.sum(axis=0) > 0)
        toward = np.where(possible, (left[0] - left[1]) * np.sign(value), np.inf)
        best = int(np.argmin(toward))
        if not np.isfinite(toward[best]):
            break
        gone.append(int(d.levels[best]))
        total[:, best] = sums[:, best] = 0.0
        if toward[best] <= (1 - share) * abs(value) + 1e-12 * abs(value):
            k = len(gone)
            without = float(toward[best] * np.sign(value))
            return Carried(
                k=k,
                of=n,
                codes=tuple(gone),
                value=value,
                without=without,
                rule=rule,
                fragile=k <= max(1, n // 20),
            )
    return Carried(k=None, of=n, codes=(), value=value, without=None, rule=rule, fragile=False)

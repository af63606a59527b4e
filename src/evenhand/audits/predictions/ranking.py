"""Many ranked lists: the exposure that each gives to the groups in it, with the list as the unit of
inference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evenhand._analysis import Analysis
from evenhand._compare import against, claim_of, compare, reference_of
from evenhand._declared import Declared
from evenhand._labels import Attribute, Grouped, Label, groupings
from evenhand._model import BoolArray, Exhibit, Factor, FloatArray, Scalar
from evenhand.audits.predictions.rows import Rows
from evenhand.measures.contrasts import from_log
from evenhand.measures.ranking import exposure
from evenhand.measures.regression import EXPOSURE
from evenhand.stats.interval import Inference, bounds, from_standard_error

FEWEST = 10
METHOD = "ratio of mean exposures over lists with both groups, t on the log scale, error at least by chance"


@dataclass(frozen=True, kw_only=True)
class Listed:
    """What a group gets in ranked lists.

    Args:
        means: (lists,) mean exposure of its members in each list, NaN where it has none. size: (lists,) its
            members. places: (lists,) variance of the exposures of all places of a list. level: (lists,) their
            mean.
    """

    label: Label
    means: FloatArray
    size: FloatArray
    places: FloatArray
    level: FloatArray

    @property
    def n(self) -> int:
        """People."""
        return int(self.size.sum())


def ranked_lists(
    rows: Rows, lists: Factor, declared: Declared, analysis: Analysis, *, crossing: bool
) -> None:
    """Exposure of every group against the reference, averaged over lists.

    Args:
        lists: which list each row is of; places are counted within it.
    """
    given = exposure(rows.columns["y_pred"], lists=lists.codes)
    claim = claim_of(EXPOSURE, declared, _exposures, units={}, given="within lists")
    for groups in groupings(rows.groups, crossing=crossing):
        attribute = groups.attribute
        sides = [side for side in _sides(given, lists, groups) if side.n > 0]
        _table(analysis, attribute, sides, declared.level)
        if len(sides) < 2:
            text = f"{attribute} has {len(sides)} group with rows: there is nothing to compare."
            analysis.note("one-group", text, warning=True)
            continue
        reference = reference_of(sides, attribute, declared, analysis)
        own = replace(claim, primary=claim.primary and not attribute.crossed)
        compare(against(sides, reference), [own], declared, analysis, family=str(attribute))
    if rows.weight is not None:
        analysis.note("list-weights", "Lists count alike: the case weights are not used.", warning=True)


def _sides(given: FloatArray, lists: Factor, groups: Grouped) -> list[Listed]:
    means, size = _by_list(given, lists, groups.factor)
    whole = Factor(np.zeros(len(given), dtype=np.int32), ("",))
    (level,), (rows,) = _by_list(given, lists, whole)
    (square,), _ = _by_list((given - level[lists.codes]) ** 2, lists, whole)
    places = square * rows / np.maximum(rows - 1, 1)
    return [
        Listed(label=label, means=m, size=s, places=places, level=level)
        for label, m, s in zip(groups.labels, means, size, strict=True)
    ]


def _by_list(given: FloatArray, lists: Factor, groups: Factor) -> tuple[FloatArray, FloatArray]:
    """(groups, lists): mean exposure of a group in a list (NaN where it is not in it), and its rows there."""
    shape = (len(groups.levels), len(lists.levels))
    known = groups.codes >= 0
    place = groups.codes[known].astype(np.intp) * shape[1] + lists.codes[known]
    size = np.bincount(place, minlength=shape[0] * shape[1]).reshape(shape).astype(float)
    total = np.bincount(place, given[known], shape[0] * shape[1]).reshape(shape)
    with np.errstate(invalid="ignore"):
        return total / size, size


def exposure_ratio(means: FloatArray, *, level: float, least: float = 0.0) -> Inference:
    """Mean exposure of the first group ÷ that of the second, over lists that hold both; a list is one
    observation.

    The two groups of a list compete for its places, so their exposures are paired: the variance of the log
    ratio is that of x/x̄ − y/ȳ over lists ÷ their number (Singh & Joachims 2018 for the measure; delta
    method, t with lists − 1 df).

    Args:
        means: (2, lists) mean exposure of either group in each list, NaN where it is not in it.
        least: standard error of the log ratio below which the lists' own is not trusted.

    >>> x = np.array([0.5, 0.6, 0.4, 0.55, 0.45] * 2)
    >>> round(exposure_ratio(np.stack([x, 2 * x[::-1]]), level=0.95).value, 6)
    0.5
    """
    both = means[:, np.isfinite(means).all(axis=0)]
    n = both.shape[1]
    if n == 0:
        return Inference(level=level, method=METHOD, why_not="no list holds both groups")
    x, y = both.mean(axis=1)
    if n < FEWEST:
        why = f"{n} list{'s' * (n != 1)} hold both groups; at least {FEWEST} are needed"
        return Inference(value=float(x / y), level=level, method=METHOD, why_not=why)
    spread = both[0] / x - both[1] / y
    se = max(float(spread.std(ddof=1) / np.sqrt(n)), least)
    on = from_standard_error(float(np.log(x / y)), se, df=n - 1, level=level, method=METHOD)
    return from_log(on)


def _exposures(a: Listed, b: Listed, level: float) -> Inference:
    both = np.isfinite(a.means) & np.isfinite(b.means)
    least = _by_chance(a, b, both)
    found = exposure_ratio(np.stack([a.means, b.means]), level=level, least=least)
    return found.with_(detail={**found.detail, "n": tuple(int(side.size[both].sum()) for side in (a, b))})


def _by_chance(a: Listed, b: Listed, both: BoolArray) -> float:
    """Standard error of the log ratio if the places of every list were dealt at random: sampling without
    replacement.

    Few lists with one place each for a group often lack its rare good places, and then vary too little.
    """
    if not both.any():
        return 0.0
    dealt = a.places[both] * (1 / a.size[both] + 1 / b.size[both])
    return float(np.sqrt(np.sum(dealt)) / np.sum(a.level[both]))


def _table(analysis: Analysis, attribute: Attribute, sides: Sequence[Listed], level: float) -> None:
    rows: list[dict[str, Scalar]] = []
    for side in sides:
        own = side.means[np.isfinite(side.means)]
        n, value = len(own), float(own.mean())
        low = high = None
        if n >= FEWEST:
            low, high = bounds(value, float(own.std(ddof=1) / np.sqrt(n)), df=n - 1, level=level)
        rows.append(
            {"group": str(side.label), "exposure": value, "low": low, "high": high, "lists": n, "n": side.n}
        )
    analysis.exhibits[f"exposure by {attribute}"] = Exhibit.of(
        f"Exposure in ranked lists by {attribute}",
        rows,
        columns=("group", "exposure", "low", "high", "lists", "n"),
        note="Mean of 1/log₂(1 + rank) of the group's members in a list, averaged over the lists that hold"
        f" the group; each list counts once. {level:.0%} t intervals over lists.",
    )

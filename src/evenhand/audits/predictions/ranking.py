"""Many ranked lists: the exposure that each gives to the groups in it, with the list as the unit of inference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from evenhand._analysis import Analysis
from evenhand._estimate import Evidence
from evenhand._judge import judge, tolerance_of
from evenhand._model import Estimate, Exhibit, Factor, FloatArray
from evenhand.audits.predictions.compare import Settings, because
from evenhand.audits.predictions.rows import Rows, crossed
from evenhand.measures.ranking import exposure
from evenhand.stats.interval import Inference, bounds, from_standard_error

FEWEST = 10
METHOD = "ratio of mean exposures over the lists that hold both groups, lists as units, t on the log scale"


def ranked_lists(
    rows: Rows, lists: Factor, settings: Settings, analysis: Analysis, *, crossing: bool
) -> None:
    """Exposure of every group against the reference, averaged over lists.

    Args:
        lists: which list each row is of; places are counted within it.
    """
    given = exposure(rows.columns["y_pred"], lists=lists.codes)
    attributes = dict(rows.groups)
    if crossing and len(attributes) > 1:
        attributes[" & ".join(attributes)] = crossed(attributes)
    for attribute, groups in attributes.items():
        means, size = _by_list(given, lists, groups)
        people = size.sum(axis=1)
        present = [i for i in range(len(groups.levels)) if people[i] > 0]
        _table(analysis, attribute, groups, means, size, present, settings.level)
        if len(present) < 2:
            text = f"{attribute} has {len(present)} group with rows: there is nothing to compare."
            analysis.note("one-group", text, warning=True)
            continue
        reference = _reference(attribute, groups, people, settings, analysis)
        items = [
            _claim(f"{attribute}={groups.levels[i]}", f"{attribute}={groups.levels[reference]}",
                   means[[i, reference]], size[[i, reference]], settings.level)
            for i in present if i != reference
        ]  # fmt: skip
        tolerance = tolerance_of(settings.tolerances["exposure"], ratio=True)
        analysis.findings += judge(
            items,
            tolerance=tolerance,
            family=f"{attribute}, outcomes",
            correction=settings.correction,
            say=because,
        )
    if rows.weight is not None:
        analysis.note("list-weights", "Lists count alike: the case weights are not used.", warning=True)


def _by_list(given: FloatArray, lists: Factor, groups: Factor) -> tuple[FloatArray, FloatArray]:
    """(groups, lists): mean exposure of a group in a list (NaN where it is not in it), and its rows there."""
    shape = (len(groups.levels), len(lists.levels))
    known = groups.codes >= 0
    place = groups.codes[known].astype(np.intp) * shape[1] + lists.codes[known]
    size = np.bincount(place, minlength=shape[0] * shape[1]).reshape(shape).astype(float)
    total = np.bincount(place, given[known], shape[0] * shape[1]).reshape(shape)
    with np.errstate(invalid="ignore"):
        return total / size, size


def _reference(
    attribute: str, groups: Factor, people: FloatArray, settings: Settings, analysis: Analysis
) -> int:
    from evenhand._errors import UsageError

    named = settings.reference.get(attribute)
    if named is None:
        largest = int(np.argmax(people))
        text = f"{attribute}: no reference was named, so the largest group, {groups.levels[largest]}, is it."
        analysis.note("reference-chosen", text)
        return largest
    if named not in groups.levels:
        raise UsageError(
            "unknown-group", "the reference is not one of the groups", given=named, available=groups.levels
        )
    return list(groups.levels).index(named)


def exposure_ratio(means: FloatArray, *, level: float) -> Inference:
    """Mean exposure of the first group ÷ that of the second, over lists that hold both; a list is one observation.

    The two groups of a list compete for its places, so their exposures are paired: the variance of the log ratio is that of
    x/x̄ − y/ȳ over lists ÷ their number (Singh & Joachims 2018 for the measure; delta method, t with lists − 1 df).

    Args:
        means: (2, lists) mean exposure of either group in each list, NaN where it is not in it.

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
    se = float(spread.std(ddof=1) / np.sqrt(n))
    on = from_standard_error(float(np.log(x / y)), se, df=n - 1, level=level, method=METHOD)
    back = {k: None if (v := getattr(on, k)) is None else float(np.exp(v)) for k in ("value", "low", "high")}
    return on.with_(**back, detail={"scale_of_se": "log"})


def _claim(group: str, reference: str, means: FloatArray, size: FloatArray, level: float) -> Evidence:
    found, inner = (exposure_ratio(means, level=at) for at in (level, 1 - 2 * (1 - level)))
    rows = size[:, np.isfinite(means).all(axis=0)].sum(axis=1)
    item = Estimate(
        measure="exposure",
        contrast="ratio",
        group=group,
        reference=reference,
        given="within lists",
        value=found.value,
        low=found.low,
        high=found.high,
        level=level,
        p_value=found.p_value,
        n=int(rows.sum()),
        n_group=int(rows[0]),
        n_reference=int(rows[1]),
        method=found.method,
        why_not=found.why_not,
    )
    return Evidence(
        estimate=item, narrow=None if inner.low is None or inner.high is None else (inner.low, inner.high)
    )


def _table(
    analysis: Analysis,
    attribute: str,
    groups: Factor,
    means: FloatArray,
    size: FloatArray,
    present: Sequence[int],
    level: float,
) -> None:
    table: dict[str, list[Any]] = {k: [] for k in ("group", "exposure", "low", "high", "lists", "n")}
    for i in present:
        own = means[i][np.isfinite(means[i])]
        n, value = len(own), float(own.mean())
        low = high = None
        if n >= FEWEST:
            low, high = bounds(value, float(own.std(ddof=1) / np.sqrt(n)), df=n - 1, level=level)
        row = (f"{attribute}={groups.levels[i]}", value, low, high, n, int(size[i].sum()))
        for name, entry in zip(table, row, strict=True):
            table[name].append(entry)
    analysis.exhibits[f"exposure by {attribute}"] = Exhibit(
        title=f"Exposure in ranked lists by {attribute}",
        columns=table,
        note="Mean of 1/log₂(1 + rank) of the group's members in a list, averaged over the lists that hold the group; each list"
        f" counts once. {level:.0%} t intervals over lists.",
    )

"""The regression table under a Poisson bootstrap: a check of the closed-form intervals, in one matrix
product a group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from evenhand._analysis import Analysis
from evenhand._declared import Declared
from evenhand._model import Exhibit, FloatArray, Scalar
from evenhand.audits.predictions.cells import Cell, Counted
from evenhand.audits.predictions.sources import Compared, Numbers
from evenhand.measures.regression import PLACED
from evenhand.measures.row import Measure, statistic
from evenhand.stats.bootstrap import bag_totals, replicate_means

Places = npt.NDArray[np.intp]
COLUMNS = ("measure", "contrast", "group", "given", "value", "low", "high", "standard error")


def add_bootstrap(
    analysis: Analysis,
    found: Numbers,
    of: Compared[Cell],
    measures: Sequence[Measure],
    declared: Declared,
    replicates: int,
) -> None:
    """Percentile intervals of every claim that is a function of sums, beside the value."""
    made = found.counted
    if made is None:
        analysis.note(
            "no-bootstrap", "A streamed file is not bootstrapped: the intervals are the closed forms."
        )
        return
    attribute, reference = of.attribute, of.reference
    factor = found.factors[attribute]
    rng = np.random.default_rng(declared.seed)
    other = np.flatnonzero(factor.is_level(reference.label.level))
    rows: list[dict[str, Scalar]] = []
    for c in of.cells:
        own = np.flatnonzero(factor.is_level(c.label.level))
        if c.label == reference.label:
            continue
        for given, inside in ((None, np.ones(len(made.in_top), dtype=bool)), ("top", made.in_top)):
            sides = [
                _means(made, mine[inside[mine]], theirs[inside[theirs]], replicates, declared.seed, rng)
                for mine, theirs in ((own, other), (other, own))
            ]
            sizes = tuple(_size(made, side[inside[side]]) for side in (own, other))
            for measure in measures:
                if given is None or measure.top:
                    drawn = _drawn(measure, sides, (sizes[0], sizes[1]), declared.level)
                    share = None if given is None else f"top {100 * (1 - made.scale.top):.3g} %"
                    rows += [_row(measure, str(c.label), share, d) for d in drawn]
    analysis.exhibits[f"bootstrap by {attribute}"] = Exhibit.of(
        f"Bootstrap check of the table, {attribute}",
        rows,
        columns=COLUMNS,
        note=f"{replicates} Poisson replicates, seed {declared.seed}: percentile intervals beside which"
        " the closed forms of the estimates can be held. Thresholds stay at the quantiles of the sample; the"
        " AUC is resampled by its placements.",
    )


def _means(
    made: Counted, mine: Places, theirs: Places, replicates: int, seed: int, rng: np.random.Generator
) -> dict[str, FloatArray]:
    """Name → mean of each term: of the sample, then of every replicate."""
    placed = _placed(made.place, mine, theirs, made.weight)
    terms = np.concatenate([made.terms[:, mine], placed[None, :]])
    totals = bag_totals(terms, None if made.weight is None else made.weight[mine], seed=seed)
    drawn = replicate_means(totals, replicates, rng=rng)
    point = totals[:, :-1].sum(axis=0, keepdims=True) / max(float(totals[:, -1].sum()), 1e-300)
    names = (*made.scale.terms, PLACED)
    return {n: np.concatenate([point[:, i], drawn[:, i]]) for i, n in enumerate(names)}


def _size(made: Counted, rows: Places) -> float:
    """Effective rows."""
    if made.weight is None:
        return float(len(rows))
    w = made.weight[rows]
    return float(w.sum() ** 2 / max(float((w**2).sum()), 1e-300))


def _drawn(
    measure: Measure, sides: Sequence[dict[str, FloatArray]], sizes: tuple[float, float], level: float
) -> Iterator[tuple[float | None, float | None, float | None, float | None]]:
    """(value, low, high, standard error), if the measure is made of means."""
    with np.errstate(all="ignore"):
        found = statistic(measure, sides[0], sides[1], sizes)
    if found is None:
        return
    values = np.asarray(found, dtype=float)
    point, drawn = float(values[0]), values[1:][np.isfinite(values[1:])]
    if not np.isfinite(point):
        yield None, None, None, None
    elif len(drawn) < 20:
        yield point, None, None, None
    else:
        low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
        yield point, float(low), float(high), float(drawn.std())


def _row(measure: Measure, group: str, given: str | None, drawn: Sequence[float | None]) -> dict[str, Scalar]:
    return dict(zip(COLUMNS, (measure.name, measure.contrast, group, given, *drawn), strict=True))


def _placed(place: Places, mine: Places, theirs: Places, weight: FloatArray | None) -> FloatArray:
    """Share of the other group below each of my rows, ties counted half."""
    if not len(theirs):
        return np.full(len(mine), np.nan)
    size = int(place.max()) + 1
    counts = np.bincount(place[theirs], None if weight is None else weight[theirs], size)
    cumulated = np.cumsum(counts)
    return np.asarray((cumulated - counts / 2)[place[mine]] / cumulated[-1])

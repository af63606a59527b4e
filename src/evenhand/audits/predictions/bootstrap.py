"""The regression table under a Poisson bootstrap: a check of the closed-form intervals, in one matrix product a group."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from evenhand._analysis import Analysis
from evenhand._model import Exhibit, FloatArray
from evenhand.audits.predictions.cells import Cell, selected_term
from evenhand.audits.predictions.claims import Claim
from evenhand.audits.predictions.compare import Settings
from evenhand.audits.predictions.sources import Source
from evenhand.measures import regression as reg
from evenhand.stats.bootstrap import bag_totals, replicate_means
from evenhand.stats.moments import Means

PLACED = "share of the other group below"


def add_bootstrap(
    analysis: Analysis,
    source: Source,
    attribute: str,
    reference: Cell,
    claims: Sequence[Claim],
    settings: Settings,
    replicates: int,
) -> None:
    """Percentile intervals of every claim that is a function of sums, beside the value."""
    made = source.prepared
    if made is None:
        analysis.note(
            "no-bootstrap", "A streamed file is not bootstrapped: the intervals are the closed forms."
        )
        return
    factor = source.factors[attribute]
    rng = np.random.default_rng(settings.seed)
    names = (*source.frame.terms, PLACED)
    rows_of = {level: np.flatnonzero(factor.is_level(level)) for level in factor.levels}
    other = rows_of[reference.label.partition("=")[2]]
    table: dict[str, list[Any]] = {k: [] for k in ("measure", "contrast", "group", "given", "value", "low", "high", "standard error")}  # fmt: skip
    for level, rows in rows_of.items():
        if not len(rows) or rows is other:
            continue
        for given, inside in ((None, np.ones(len(made.in_top), dtype=bool)), ("top", made.in_top)):
            sides = []
            for mine, theirs in ((rows, other), (other, rows)):
                mine, theirs = mine[inside[mine]], theirs[inside[theirs]]
                terms = np.concatenate(
                    [made.terms[:, mine], _placed(made.place, mine, theirs, made.weight)[None, :]]
                )
                totals = bag_totals(
                    terms, None if made.weight is None else made.weight[mine], seed=settings.seed
                )
                drawn = replicate_means(totals, replicates, rng=rng)
                point = totals[:, :-1].sum(axis=0, keepdims=True) / max(float(totals[:, -1].sum()), 1e-300)
                sides.append({n: np.concatenate([point[:, i], drawn[:, i]]) for i, n in enumerate(names)})
            for claim in claims:
                function = _statistic(claim)
                if function is None or (claim.given is not None) != (given is not None):
                    continue
                with np.errstate(all="ignore"):
                    values = np.asarray(function(sides[0], sides[1]), dtype=float)
                _row(table, claim, f"{attribute}={level}", values, settings.level)
    analysis.exhibits[f"bootstrap by {attribute}"] = Exhibit(
        title=f"Bootstrap check of the table, {attribute}",
        columns=table,
        note=f"{replicates} Poisson replicates, seed {settings.seed}: percentile intervals beside which the closed forms of the"
        " estimates can be held. Thresholds stay at the quantiles of the sample; the AUC is resampled by its placements.",
    )


def _row(table: dict[str, list[Any]], claim: Claim, group: str, values: FloatArray, level: float) -> None:
    point, drawn = float(values[0]), values[1:][np.isfinite(values[1:])]
    usable = np.isfinite(point) and len(drawn) >= 20
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2]) if usable else (None, None)
    row = (claim.measure, claim.contrast, group, claim.given, point if np.isfinite(point) else None,
           None if low is None else float(low), None if high is None else float(high), float(drawn.std()) if usable else None)  # fmt: skip
    for name, value in zip(table, row, strict=True):
        table[name].append(value)


def _placed(place: Any, mine: Any, theirs: Any, weight: FloatArray | None) -> FloatArray:
    """Share of the other group below each of my rows, ties counted half."""
    if not len(theirs):
        return np.full(len(mine), np.nan)
    size = int(place.max()) + 1
    counts = np.bincount(place[theirs], None if weight is None else weight[theirs], size)
    cumulated = np.cumsum(counts)
    return np.asarray((cumulated - counts / 2)[place[mine]] / cumulated[-1])


Statistic = Callable[[Means, Means], Any]


def _statistic(claim: Claim) -> Statistic | None:
    """The claim as a function of two groups' means, arrays over replicates."""
    for prefix, make in (("disparate impact at q=", _ratio_of), ("selection rate above q=", _gap_of)):
        if claim.measure.startswith(prefix):
            return make(selected_term(float(claim.measure.removeprefix(prefix))))
    return STATISTICS.get(claim.measure)


def _ratio_of(term: str) -> Statistic:
    return lambda a, b: a[term] / b[term]


def _gap_of(term: str) -> Statistic:
    return lambda a, b: a[term] - b[term]


def _smd(a: Means, b: Means) -> Any:
    return (a["p"] - b["p"]) / ((a["pp"] - a["p"] ** 2 + b["pp"] - b["p"] ** 2) / 2) ** 0.5


def _rmse(m: Means) -> Any:
    return reg.mean_squared_error(m) ** 0.5


def _level(m: Means) -> Any:
    return m["y"] - reg.slope(m) * m["p"]


STATISTICS: Mapping[str, Statistic] = {
    "average score": lambda a, b: a["p"] - b["p"],
    "standardised mean difference": _smd,
    "adverse-impact AUC": lambda a, b: a[PLACED] - b[PLACED] + b[PLACED][:1],
    "concurrent validity": lambda a, b: reg.correlation(a) - reg.correlation(b),
    "RMSE": lambda a, b: _rmse(a) / _rmse(b),
    "MAE": lambda a, b: a["ae"] / b["ae"],
    "mean residual": lambda a, b: (a["p"] - a["y"]) - (b["p"] - b["y"]),
    "calibration slope": lambda a, b: reg.slope(a) - reg.slope(b),
    "calibration level": lambda a, b: _level(a) - _level(b),
}

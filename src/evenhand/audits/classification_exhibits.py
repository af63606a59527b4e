"""Tables of a classification audit: rates by group, confusion, calibration, individual and conditional indices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from evenhand._model import Exhibit, Factor, FloatArray
from evenhand.audits.prediction_cells import Cell
from evenhand.audits.prediction_compare import Settings
from evenhand.audits.scoring import Analysis
from evenhand.measures import classification as cls
from evenhand.measures.classification import Counted
from evenhand.stats.bootstrap import bag_totals, replicate_means
from evenhand.stats.interval import bounds
from evenhand.stats.moments import Moments, estimate
from evenhand.stats.rates import wilson

CALIBRATION_BINS = 10
REPLICATES = 200
Table = dict[str, list[Any]]


def add_classification(
    analysis: Analysis,
    columns: Mapping[str, FloatArray],
    weight: FloatArray | None,
    cells: Sequence[Cell],
    factor: Factor,
    attribute: str,
    settings: Settings,
    given: str | None,
) -> None:
    """All exhibits of one attribute."""
    where = attribute if given is None else f"{attribute}, {given}"
    _rates(analysis, cells, where, settings.level)
    if "y_score" in columns and "actual" in columns:
        _calibration(analysis, columns, weight, factor, attribute, settings)
    if " & " in attribute and given is None:
        _intersections(analysis, cells, attribute)


def _add(table: Table, *row: Any) -> None:
    for name, value in zip(table, row, strict=True):
        table[name].append(value)


def _rates(analysis: Analysis, cells: Sequence[Cell], where: str, level: float) -> None:
    table: Table = {k: [] for k in ("measure", "group", "value", "low", "high", "n")}
    have = set(cells[0].moments.names)
    for measure in cls.RATES.values():
        function = cast(Counted, measure.function)
        if not set(function.terms) <= have or function.hits is None or function.trials is None:
            continue
        for c in cells:
            m = c.moments.means
            n = c.moments.n_effective * float(function.trials(m))
            if n < 1e-9:
                _add(table, measure.name, c.label, None, None, None, c.n)
                continue
            hits = min(max(c.moments.n_effective * float(function.hits(m)), 0.0), n)
            found = wilson(hits, n, level=level)
            _add(table, measure.name, c.label, found.value, found.low, found.high, round(n))
    for measure in cls.SMOOTH:
        function = cast(Counted, measure.function)
        if set(function.terms) <= have:
            for c in cells:
                _add(table, measure.name, c.label, *_with_interval(function, c.moments, level), c.n)
    sizes = np.array([c.moments.n_effective for c in cells])
    chosen = np.array([c.moments.means["sel"] for c in cells]) * sizes
    epsilon = cls.differential_fairness(chosen, sizes)
    note = (
        f"Rates with Wilson's interval (n is the number of cases that the rate counts), indices with the delta method."
        f" Differential fairness: ε = {epsilon:.4f} (Foulds et al. 2020, Dirichlet prior of one case)."
    )
    if "act" in have:
        note += f" Between-group generalised entropy: {_between(cells):.6f}."
    analysis.exhibits[f"rates by {where}"] = Exhibit(title=f"Rates by {where}", columns=table, note=note)


def _with_interval(
    function: Counted, m: Moments, level: float
) -> tuple[float | None, float | None, float | None]:
    value, se = estimate(function.value, m)
    if not np.isfinite(value):
        return None, None, None
    if not np.isfinite(se):
        return value, None, None
    low, high = bounds(value, se, level=level)
    return value, low, high


def _between(cells: Sequence[Cell]) -> float:
    """Generalised entropy (α = 2) of the groups' mean benefits, each person having the mean of the group."""
    size = np.array([c.moments.weight for c in cells])
    mean = np.array([1 + c.moments.means["sel"] - c.moments.means["act"] for c in cells])
    overall = float(np.average(mean, weights=size))
    return float((np.average((mean / overall) ** 2, weights=size) - 1) / 2) if overall > 0 else float("nan")


def _calibration(
    analysis: Analysis,
    columns: Mapping[str, FloatArray],
    weight: FloatArray | None,
    factor: Factor,
    attribute: str,
    settings: Settings,
) -> None:
    """Observed share by mean score in ten bins, for each group; ECE with a bootstrap interval."""
    score, actual = columns["y_score"], columns["actual"]
    place = np.minimum((score * CALIBRATION_BINS).astype(int), CALIBRATION_BINS - 1)
    curve: Table = {k: [] for k in ("mean score", "observed", "low", "high", "n", "group")}
    errors: Table = {k: [] for k in ("group", "expected calibration error", "low", "high", "n")}
    rng = np.random.default_rng(settings.seed)
    for code, level in enumerate(factor.levels):
        rows = np.flatnonzero(factor.codes == code)
        if not len(rows):
            continue
        w = None if weight is None else weight[rows]
        one = np.ones(len(rows)) if w is None else w
        for k in range(CALIBRATION_BINS):
            inside = place[rows] == k
            size = float(one[inside].sum())
            if size <= 0:
                continue
            effective = size**2 / float((one[inside] ** 2).sum())
            observed = float(one[inside] @ actual[rows][inside]) / size
            own = wilson(observed * effective, effective, level=settings.level)
            mean = float(one[inside] @ score[rows][inside]) / size
            _add(curve, mean, observed, own.low, own.high, int(inside.sum()), f"{attribute}={level}")
        terms = np.zeros((2 * CALIBRATION_BINS, len(rows)))
        terms[place[rows], np.arange(len(rows))] = score[rows]
        terms[CALIBRATION_BINS + place[rows], np.arange(len(rows))] = actual[rows]
        totals = bag_totals(terms, w, seed=settings.seed)
        replicates = _ece(replicate_means(totals, REPLICATES, rng=rng))
        value = float(_ece(totals[:, :-1].sum(axis=0, keepdims=True) / totals[:, -1].sum())[0])
        tails = np.nanquantile(replicates, [(1 - settings.level) / 2, (1 + settings.level) / 2])
        low, high = max(0.0, 2 * value - float(tails[1])), max(0.0, 2 * value - float(tails[0]))
        _add(errors, f"{attribute}={level}", value, low, high, len(rows))
    curve_ends = (
        (0.0, 0.0, 0.0, 0.0, None, "perfectly calibrated"),
        (1.0, 1.0, 1.0, 1.0, None, "perfectly calibrated"),
    )
    for row in curve_ends:
        _add(curve, *row)
    analysis.exhibits[f"calibration by {attribute}"] = Exhibit(
        title=f"Calibration by {attribute}",
        columns=curve,
        note="Share of actual positives against the mean score in ten equal bins, with Wilson's interval.",
        chart="band",
        encode={"x": "mean score", "y": "observed", "low": "low", "high": "high", "color": "group"},
    )
    analysis.exhibits[f"calibration error by {attribute}"] = Exhibit(
        title=f"Expected calibration error by {attribute}",
        columns=errors,
        note=f"Σ over ten bins of |mean score − observed| × share. It is biased upwards in small groups, by chance alone;"
        f" the basic bootstrap interval ({REPLICATES} Poisson replicates) takes that bias off and may lie below the value.",
    )


def _ece(means: FloatArray) -> FloatArray:
    k = CALIBRATION_BINS
    return cls.expected_calibration_error({"s": means[:, :k], "y": means[:, k:]})


def _intersections(analysis: Analysis, cells: Sequence[Cell], attribute: str) -> None:
    names = attribute.split(" & ")
    parts = [c.label.partition("=")[2].split(" & ") for c in cells]
    if any(len(p) != len(names) for p in parts):
        return
    other = " & ".join(names[1:])
    rates = [c.moments.means["sel"] for c in cells]
    sizes = [c.moments.weight for c in cells]
    table: Table = {
        names[0]: [p[0] for p in parts],
        other: [" & ".join(p[1:]) for p in parts],
        "selection rate": rates,
        "n": [c.n for c in cells],
    }
    analysis.exhibits[f"intersections of {attribute}"] = Exhibit(
        title=f"Selection rate by {attribute}",
        columns=table,
        note="Colours depart from the rate of everyone. Small cells vary by chance: see the worst subgroup, which is corrected"
        " for the search.",
        chart="heatmap",
        encode={
            "x": other,
            "y": names[0],
            "value": "selection rate",
            "null": float(np.average(rates, weights=sizes)),
        },
    )


def add_conditional(
    analysis: Analysis,
    columns: Mapping[str, FloatArray],
    weight: FloatArray | None,
    factor: Factor,
    attribute: str,
    strata: Factor,
    name: str,
    given: str | None,
) -> None:
    """Demographic disparity of each group, overall and conditional on a legitimate factor (Wachter et al. 2021)."""
    w = np.ones(len(factor)) if weight is None else weight
    keep = (factor.codes >= 0) & (strata.codes >= 0)
    s = strata.codes[keep].astype(np.intp)
    size = len(strata.levels)
    chosen = w[keep] * columns["selected"][keep]
    every, taken = (np.bincount(s, v, size).astype(float) for v in (w[keep], chosen))
    table: Table = {k: [] for k in ("group", "demographic disparity", f"conditional on {name}", "n")}
    for code, level in enumerate(factor.levels):
        mine = factor.codes[keep] == code
        if not mine.any():
            continue
        n, x = (np.bincount(s[mine], v[mine], size).astype(float) for v in (w[keep], chosen))
        plain = cls.conditional_demographic_disparity(
            x.sum(keepdims=True), n.sum(keepdims=True), every.sum(keepdims=True), taken.sum(keepdims=True)
        )
        within = cls.conditional_demographic_disparity(x, n, every, taken)
        _add(
            table,
            f"{attribute}={level}",
            *(float(v) if np.isfinite(v) else None for v in (plain, within)),
            int(mine.sum()),
        )
    where = "" if given is None else f", {given}"
    analysis.exhibits[f"demographic disparity of {attribute} given {name}{where}"] = Exhibit(
        title=f"Demographic disparity of {attribute} given {name}{where}",
        columns=table,
        note="Share of the group among the rejected minus its share among the selected; above 0 it is rejected more often than"
        " its numbers explain. Conditional: averaged over the strata by their size. A description without interval.",
    )

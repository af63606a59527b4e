"""Tables of a classification audit: rates by group, confusion, calibration, individual and conditional
indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from evenhand._analysis import Analysis
from evenhand._declared import Declared
from evenhand._labels import Attribute, Label
from evenhand._model import Exhibit, FloatArray, Scalar
from evenhand.audits.predictions.cells import Cell
from evenhand.audits.predictions.class_cells import ClassCell
from evenhand.audits.predictions.exhibits import crossings
from evenhand.measures import classification as cls
from evenhand.measures import indices as whole_table
from evenhand.measures.contrasts import counts_of
from evenhand.measures.row import Measure
from evenhand.stats.interval import bounds
from evenhand.stats.moments import estimate
from evenhand.stats.rates import wilson

REPLICATES = 1000
Table = dict[str, list[Any]]


def add_classification(
    analysis: Analysis,
    cells: Sequence[ClassCell],
    attribute: Attribute,
    declared: Declared,
    given: str | None,
) -> None:
    """All exhibits of one attribute."""
    where = str(attribute) if given is None else f"{attribute}, {given}"
    _rates(analysis, cells, where, declared.level)
    if all(c.calibration is not None for c in cells):
        _calibration(analysis, cells, attribute, declared)
    if attribute.crossed and given is None:
        _intersections(analysis, cells, attribute)


def _add(table: Table, *row: Scalar) -> None:
    for name, value in zip(table, row, strict=True):
        table[name].append(value)


def _rates(analysis: Analysis, cells: Sequence[Cell], where: str, level: float) -> None:
    have = set(cells[0].moments.names)
    known = [m for m in cls.ROWS if set(m.terms) <= have]
    rates = [m for m in known if m.hits is not None and not m.is_ratio]
    indices = [m for m in known if m.of is not None]
    rows = [
        {"measure": m.name, "group": str(c.label), **told}
        for kind, tell in ((rates, _rate), (indices, _index))
        for m in kind
        for c in cells
        for told in (tell(m, c, level),)
    ]
    sizes = np.array([c.moments.n_effective for c in cells])
    chosen = np.array([c.moments.means["sel"] for c in cells]) * sizes
    epsilon = whole_table.differential_fairness(chosen, sizes)
    note = (
        "Rates with Wilson's interval (n is the number of cases that the rate counts), indices with the"
        f" delta method. Differential fairness: ε = {epsilon:.4f} (Foulds et al. 2020, Dirichlet prior of"
        " one case)."
    )
    if "act" in have:
        note += f" Between-group generalised entropy: {_between(cells):.6f}."
    columns = ("measure", "group", "value", "low", "high", "n")
    analysis.exhibits[f"rates by {where}"] = Exhibit.of(f"Rates by {where}", rows, columns=columns, note=note)


def _rate(measure: Measure, c: Cell, level: float) -> dict[str, Scalar]:
    """A rate with Wilson's interval; n is the number of cases that it counts."""
    of, among, _, df = counts_of(measure, c.moments)
    if among < 1e-9:
        return {"value": None, "low": None, "high": None, "n": c.n}
    found = wilson(min(of, among), among, level=level, df=df)
    return {"value": found.value, "low": found.low, "high": found.high, "n": round(among)}


def _index(measure: Measure, c: Cell, level: float) -> dict[str, Scalar]:
    """An index with the delta method's interval."""
    value, se = estimate(measure.value, c.moments)
    known = float(value) if np.isfinite(value) else None
    low, high = bounds(value, se, level=level) if known is not None and np.isfinite(se) else (None, None)
    return {"value": known, "low": low, "high": high, "n": c.n}


def _between(cells: Sequence[Cell]) -> float:
    """Generalised entropy (α = 2) of the groups' mean benefits, each person having the mean of the group."""
    size = np.array([c.moments.weight for c in cells])
    mean = np.array([1 + c.moments.means["sel"] - c.moments.means["act"] for c in cells])
    overall = float(np.average(mean, weights=size))
    return float((np.average((mean / overall) ** 2, weights=size) - 1) / 2) if overall > 0 else float("nan")


def _calibration(
    analysis: Analysis, cells: Sequence[ClassCell], attribute: Attribute, declared: Declared
) -> None:
    """Observed share by mean score in ten bins, for each group; ECE with an interval."""
    curve: Table = {k: [] for k in ("mean score", "observed", "low", "high", "n", "group")}
    errors: Table = {k: [] for k in ("group", "expected calibration error", "low", "high", "n")}
    rng = np.random.default_rng(declared.seed)
    for c in cells:
        if c.calibration is None:
            continue
        rows, w, w2, score, actual = c.calibration[:5]
        for k in np.flatnonzero(w > 0):
            effective, observed = w[k] ** 2 / w2[k], actual[k] / w[k]
            own = wilson(min(observed, 1.0) * effective, effective, level=declared.level)
            _add(
                curve, float(score[k] / w[k]), float(observed), own.low, own.high, int(rows[k]), str(c.label)
            )
        _add(errors, str(c.label), *_ece(c.calibration, rng, declared.level), int(rows.sum()))
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
        note="Σ over ten bins of |mean score − observed| × share. It is biased upwards in small groups, by"
        f" chance alone; the interval ({REPLICATES} draws of the bins' errors, reflected) takes that bias"
        " off and may lie below the value.",
    )


def _ece(
    sums: FloatArray, rng: np.random.Generator, level: float
) -> tuple[float, float | None, float | None]:
    """Expected calibration error and its basic bootstrap interval, from normal draws of the bins' mean
    errors."""
    rows, w, w2, score, actual, gap2, square2 = sums
    total, n = float(w.sum()), float(rows.sum())
    if total <= 0:
        return 0.0, None, None
    value = float(whole_table.expected_calibration_error({"s": score / total, "y": actual / total}))
    if n < 2:
        return value, None, None
    mean = (score - actual) / total
    cross = np.outer(gap2, mean)
    covariance = (
        (np.diag(square2) - cross - cross.T + w2.sum() * np.outer(mean, mean)) / total**2 * n / (n - 1)
    )
    spread, axes = np.linalg.eigh(covariance)
    drawn = mean + rng.normal(size=(REPLICATES, len(mean))) @ (axes * np.sqrt(np.maximum(spread, 0.0))).T
    replicates = np.abs(drawn).sum(axis=1)
    tails = np.quantile(replicates, [(1 - level) / 2, (1 + level) / 2])
    return value, max(0.0, 2 * value - float(tails[1])), max(0.0, 2 * value - float(tails[0]))


def _intersections(analysis: Analysis, cells: Sequence[Cell], attribute: Attribute) -> None:
    rates = [c.moments.means["sel"] for c in cells]
    analysis.exhibits[f"intersections of {attribute}"] = crossings(
        f"Selection rate by {attribute}",
        cells,
        "selection rate",
        rates,
        null=float(np.average(rates, weights=[c.moments.weight for c in cells])),
        note="Colours depart from the rate of everyone. Small cells vary by chance: see the worst"
        " subgroup, which is corrected for the search.",
    )


def add_conditional(
    analysis: Analysis,
    groups: Sequence[Label],
    strata: Sequence[Sequence[Cell]],
    attribute: Attribute,
    name: str,
    given: str | None,
) -> None:
    """Demographic disparity of each group, overall and conditional on a legitimate factor (Wachter et al.
    2021).

    Args:
        groups: labels of the cells. strata: the cells within each level of the factor.
    """
    size, chosen = np.zeros((len(groups), len(strata))), np.zeros((len(groups), len(strata)))
    rows = dict.fromkeys(groups, 0)
    place = {label: i for i, label in enumerate(groups)}
    for s, cells in enumerate(strata):
        for c in cells:
            size[place[c.label], s] = c.moments.weight
            chosen[place[c.label], s] = c.moments.weight * c.moments.means["sel"]
            rows[c.label] += c.n
    every, taken = size.sum(axis=0), chosen.sum(axis=0)
    table: Table = {k: [] for k in ("group", "demographic disparity", f"conditional on {name}", "n")}
    for label, n, x in zip(groups, size, chosen, strict=True):
        if not rows[label]:
            continue
        plain = whole_table.conditional_demographic_disparity(
            x.sum(keepdims=True), n.sum(keepdims=True), every.sum(keepdims=True), taken.sum(keepdims=True)
        )
        within = whole_table.conditional_demographic_disparity(x, n, every, taken)
        told = (float(v) if np.isfinite(v) else None for v in (plain, within))
        _add(table, str(label), *told, rows[label])
    where = "" if given is None else f", {given}"
    analysis.exhibits[f"demographic disparity of {attribute} given {name}{where}"] = Exhibit(
        title=f"Demographic disparity of {attribute} given {name}{where}",
        columns=table,
        note="Share of the group among the rejected minus its share among the selected; above 0 it is"
        " rejected more often than its numbers explain. Conditional: averaged over the strata by their"
        " size. A description without interval.",
    )

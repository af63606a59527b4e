"""Tables and curves of a regression audit: performance, selection, distributions, pass rates, impact ratio
by threshold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from evenhand._analysis import Analysis
from evenhand._compare import against
from evenhand._declared import Declared
from evenhand._estimate import evidence
from evenhand._judge import judge
from evenhand._labels import Attribute, Label
from evenhand._model import Estimate, Exhibit, FloatArray, Scalar
from evenhand.audits.predictions.cells import Cell, Scale
from evenhand.audits.predictions.sources import Numbers
from evenhand.measures import regression as reg
from evenhand.measures.contrasts import correlation_of, correlations, hits
from evenhand.measures.regression import selected_term
from evenhand.measures.row import Measure, compare
from evenhand.stats.curves import DrawnPair, ImpactCurve, impact_curve, no_adverse_impact_level, pass_curve
from evenhand.stats.interval import Inference, bounds
from evenhand.stats.moments import estimate
from evenhand.stats.practice import four_fifths
from evenhand.stats.rates import wilson
from evenhand.stats.two_samples import hedges_correction

Table = dict[str, list[Any]]
DRAWN = (0.25, 4.0)


def add_regression(
    analysis: Analysis,
    found: Numbers,
    cells: Sequence[Cell],
    reference: Cell,
    declared: Declared,
    quantiles: Sequence[float],
) -> None:
    """All exhibits of one attribute."""
    attribute, everyone = reference.label.attribute, found.source.everyone
    performance_table(analysis, found.scale, [everyone, *cells], f"{attribute}", declared.level)
    selection_table(analysis, found, cells, reference, declared.level, quantiles)
    distributions(analysis, cells, reference)
    curves(analysis, cells, reference, declared)
    if attribute is not None and attribute.crossed:
        intersections(analysis, cells, attribute)


def performance_table(
    analysis: Analysis, scale: Scale, cells: Sequence[Cell], attribute: str, level: float
) -> None:
    """Every measure of the model for everyone and for each group, with its interval."""
    rows = [
        {"measure": m.name, "group": str(c.label), **_performance(m, c, scale, level), "n": c.n}
        for m in reg.ROWS
        if m.of is not None and set(m.terms) <= set(scale.terms)
        for c in cells
    ]
    analysis.exhibits[f"performance by {attribute}"] = Exhibit.of(
        f"Performance by {attribute}",
        rows,
        columns=("measure", "group", "value", "low", "high", "n"),
        note=f"Each measure for everyone and for each group, with its {100 * level:.0f} % interval"
        " (delta method; Fisher's z for correlations). Groups are compared under the estimates.",
    )


MOST_LOG = 50
"""Standard error of the log of a ratio, beyond which an interval says nothing and may overflow."""


def _performance(measure: Measure, c: Cell, scale: Scale, level: float) -> dict[str, float | None]:
    """Value and interval of one group, on the scale of the data."""
    if measure.infer is correlations:
        found = correlation_of(measure, c.moments, level)
        return {"value": found.value, "low": found.low, "high": found.high}
    value, se = estimate(measure.value, c.moments)
    if not np.isfinite(value):
        return {"value": None, "low": None, "high": None}
    value += scale.centre if measure.shifts else 0.0
    if not np.isfinite(se):
        return {"value": value, "low": None, "high": None}
    low, high = bounds(value, se, level=level)
    if (measure.log or measure.is_ratio) and value > 0:
        if se > MOST_LOG * value:
            return {"value": value, "low": None, "high": None}
        low, high = (float(value * np.exp(x)) for x in bounds(0.0, se / value, level=level))
    return {"value": value, "low": low, "high": high}


def selection_table(
    analysis: Analysis,
    found: Numbers,
    cells: Sequence[Cell],
    reference: Cell,
    level: float,
    quantiles: Sequence[float],
) -> None:
    """Who is selected at each threshold, against the reference and against the best-off group."""
    rows: list[dict[str, Scalar]] = []
    for q in quantiles:
        term = selected_term(q)
        rates = [c.moments.means[term] for c in cells]
        best = max(rates)
        for c, rate in zip(cells, rates, strict=True):
            x, n, _, df = hits(c.moments, term)
            own = wilson(x, n, level=level, df=df)
            row: dict[str, Scalar] = {
                "quantile": q,
                "threshold": found.scale.thresholds[q],
                "group": str(c.label),
                "n": c.n,
                "selected": round(rate * c.moments.weight, 6),
                "selection rate": rate,
                "low": own.low,
                "high": own.high,
                "ratio to reference": None,
                "ratio to best-off": rate / best if best > 0 else None,
                "Z": None,
                "Z of ln ratio": None,
                "Fisher p": None,
            }
            if c is not reference:
                practice = four_fifths(x, n, *hits(reference.moments, term)[:2])
                row |= {"ratio to reference": practice.ratio, "Z": practice.z}
                row |= {"Z of ln ratio": practice.z_ratio, "Fisher p": practice.fisher_p}
            rows.append(row)
    means = found.source.everyone.moments.means
    really = ", ".join(f"q={q:g}: {100 * means[selected_term(q)]:.2f} %" for q in quantiles)
    attribute = reference.label.attribute
    analysis.exhibits[f"selection by {attribute}"] = Exhibit.of(
        f"Selection by {attribute}",
        rows,
        note="Selected is a score strictly above the quantile of everyone's scores. Ties move the share"
        f" that is really selected: {really}. Z and the Z of the log ratio as in US practice; Fisher's test"
        " is exact. Rates with Wilson's interval. Weighted rows count by their weight.",
    )


MOST_DRAWN = 7
"""Groups beside the reference that charts draw."""


def furthest(cells: Sequence[Cell], reference: Cell) -> list[Cell]:
    """The groups that charts draw, in their order: those whose mean lies furthest from the reference's."""
    others = [c for c in cells if c is not reference]
    middle = reference.moments.means["p"]
    kept = sorted(others, key=lambda c: -abs(c.moments.means["p"] - middle))[:MOST_DRAWN]
    return [c for c in others if any(c is k for k in kept)]


def _which(cells: Sequence[Cell]) -> str:
    left = len(cells) - 1 - MOST_DRAWN
    return f" Drawn are the {MOST_DRAWN} groups whose mean lies furthest; {left} are not." if left > 0 else ""


def distributions(analysis: Analysis, cells: Sequence[Cell], reference: Cell, bins: int = 30) -> None:
    """The distribution of scores of each group, in common bins."""
    attribute, shown = reference.label.attribute, [reference, *furthest(cells, reference)]
    values = cells[0].scores.values
    if len(values) < 2:
        return
    inside = np.flatnonzero(np.any([c.scores.occupied for c in cells], axis=0))
    edges = np.linspace(values[inside[0]], values[inside[-1]], bins + 1)
    starts = np.searchsorted(values, edges)
    starts[0], starts[-1] = 0, len(values)
    table: Table = {k: [] for k in ("low", "high", "share", "group")}
    for c in (c for c in cells if any(c is s for s in shown)):
        share = np.diff(c.scores.cumulated[starts]) / c.scores.total
        table["low"] += edges[:-1].tolist()
        table["high"] += edges[1:].tolist()
        table["share"] += share.tolist()
        table["group"] += [str(c.label)] * bins
    analysis.exhibits[f"score distributions by {attribute}"] = Exhibit(
        title=f"Score distributions by {attribute}",
        columns=table,
        note=f"Share of each group in equal bins of the predictions.{_which(cells)}",
        chart="density",
        encode={"low": "low", "high": "high", "share": "share", "color": "group"},
    )


def curves(analysis: Analysis, cells: Sequence[Cell], reference: Cell, declared: Declared) -> None:
    """Pass rate against pass rate, and impact ratio by threshold, with simultaneous bands; the level from
    them."""
    level, seed = declared.level, declared.seed
    roc: list[dict[str, Scalar]] = []
    impact: list[dict[str, Scalar]] = []
    known: dict[Label, ImpactCurve] = {}
    for c in furthest(cells, reference):
        sides = c.scores, reference.scores
        drawn = DrawnPair.of(*sides, seed=seed)
        passed = pass_curve(*sides, level=level, drawn=drawn)
        keep = np.unique(passed.reference, return_index=True)[1]  # one point for each place on the axis
        points = (passed.reference, passed.group, passed.low, passed.high, passed.thresholds)
        roc += _points(ROC, (column[keep] for column in points), str(c.label))
        curve = impact_curve(*sides, level=level, drawn=drawn)
        known[c.label] = curve
        band = (np.clip(side, *DRAWN) for side in (curve.low, curve.high))
        shown = (curve.thresholds, curve.ratio, curve.low, curve.high, curve.selected, *band)
        impact += _points(IMPACT, shown, str(c.label))
    add_levels(analysis, cells, reference, declared, known)
    if len({row["threshold"] for row in roc}) < 2:
        return
    diagonal = [(end, end, end, end, None, "equal pass rates") for end in (0.0, 1.0)]
    roc += [dict(zip((*ROC, "group"), point, strict=True)) for point in diagonal]
    _add_curves(analysis, roc, impact, reference.label, level, _which(cells))


def _add_curves(
    analysis: Analysis,
    roc: list[dict[str, Scalar]],
    impact: list[dict[str, Scalar]],
    reference: Label,
    level: float,
    which: str,
) -> None:
    attribute = reference.attribute
    analysis.exhibits[f"pass rates by {attribute}"] = Exhibit.of(
        f"Pass rate against pass rate by {attribute}",
        roc,
        note=f"Share of the group above each threshold against that of {reference}: under the diagonal fewer"
        f" of the group pass. {100 * level:.0f} % simultaneous band over all thresholds. The area is the"
        f" adverse-impact AUC.{which}",
        chart="band",
        encode={"x": ROC[0], "y": ROC[1], "low": "low", "high": "high", "color": "group"},
    )
    band = {"x": IMPACT[0], "y": IMPACT[1], "low": IMPACT[5], "high": IMPACT[6], "color": "group"}
    analysis.exhibits[f"impact ratio by {attribute}"] = Exhibit.of(
        f"Impact ratio by threshold, {attribute}",
        impact,
        columns=(*IMPACT, "group"),
        note=f"Selection rate of the group ÷ that of {reference} at every threshold, with a"
        f" {100 * level:.0f} % simultaneous band (made on the log scale; the drawing cuts it at 0.25 and"
        " 4). Rules at 0.8, 1 and 1.25. Thresholds with under 5 expected in a group are left out."
        f"{which}",
        chart="band",
        encode={**band, "rules": [0.8, 1.0, 1.25]},
    )


ROC = ("pass rate of the reference", "pass rate of the group", "low", "high", "threshold")
IMPACT = ("threshold", "impact ratio", "low", "high", "selected", "band from", "band to")


def _points(names: Sequence[str], columns: Iterable[FloatArray], group: str) -> list[dict[str, Scalar]]:
    """One row a point of a curve; a cell that is not finite is empty."""
    return [
        {n: float(v) if np.isfinite(v) else None for n, v in zip(names, values, strict=True)}
        | {"group": group}
        for values in zip(*columns, strict=True)
    ]


def add_levels(
    analysis: Analysis,
    cells: Sequence[Cell],
    reference: Cell,
    declared: Declared,
    known: Mapping[Label, ImpactCurve],
) -> None:
    """The no-adverse-impact level of each group and Hedges' g, as estimates without a verdict.

    Args:
        known: the curves that have been drawn.
    """
    items = []
    for c, _ in against(cells, reference):
        found = no_adverse_impact_level(
            c.scores,
            reference.scores,
            level=declared.level,
            seed=declared.seed,
            curve=known.get(c.label),
        )
        item = Estimate(
            measure="no-adverse-impact level",
            contrast="threshold",
            group=str(c.label),
            reference=str(reference.label),
            n=c.n + reference.n,
            n_group=c.n,
            n_reference=reference.n,
        )
        items.append(evidence(item, found))
        g = hedges_g(c, reference, declared.level).with_(p_value=None)
        items.append(evidence(item.with_(measure="Hedges' g", contrast="difference"), g))
    family = f"{reference.label.attribute}, described"
    analysis.findings += judge(items, tolerance=None, family=family, correction="none")


def hedges_g(a: Cell, b: Cell, level: float) -> Inference:
    """Cohen's d without its small-sample bias (Hedges 1981): d·J(n + m − 2)."""
    found = compare(reg.STANDARDISED, a, b, level=level)
    factor = hedges_correction(round(a.moments.n_effective + b.moments.n_effective) - 2)
    scaled = {k: None if (v := getattr(found, k)) is None else v * factor for k in ("value", "low", "high")}
    return found.with_(**scaled, method="Hedges' g: Cohen's d times J; p is Welch's")


def intersections(analysis: Analysis, cells: Sequence[Cell], attribute: Attribute) -> None:
    """Average score of every combination of several attributes."""
    total = np.sum([c.scores.total for c in cells])
    centre = float(np.sum([c.scores.weight @ c.scores.values for c in cells]) / total)
    analysis.exhibits[f"intersections of {attribute}"] = crossings(
        f"Average score by {attribute}",
        cells,
        "average score",
        [float(c.scores.weight @ c.scores.values / c.scores.total) for c in cells],
        null=centre,
        note="Colours depart from the average of everyone. Small cells vary by chance: see the estimates,"
        " and the worst subgroup, which is corrected for the search.",
    )


def crossings(
    title: str, cells: Sequence[Cell], measure: str, values: Sequence[float], *, null: float, note: str
) -> Exhibit:
    """A heat map of the combinations: the first column down, the others across."""
    names = cells[0].label.attribute.names if cells[0].label.attribute else ("",)
    down, across = Attribute(names[:1]), Attribute(names[1:])
    table: list[dict[str, Scalar]] = [
        {
            str(down): c.label.parts[0],
            str(across): Label(across, c.label.parts[1:]).level,
            measure: value,
            "n": c.n,
        }
        for c, value in zip(cells, values, strict=True)
    ]
    encode = {"x": str(across), "y": str(down), "value": measure, "null": null}
    return Exhibit.of(title, table, note=note, chart="heatmap", encode=encode)

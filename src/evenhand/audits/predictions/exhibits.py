"""Tables and curves of a regression audit: performance, selection, distributions, pass rates, impact ratio by threshold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from evenhand._analysis import Analysis
from evenhand._model import Exhibit, Scalar
from evenhand.audits.predictions.cells import Cell, Frame, selected_term
from evenhand.audits.predictions.claims import correlation_of, hedges_g
from evenhand.audits.predictions.compare import Settings
from evenhand.audits.predictions.rates import hits
from evenhand.measures import regression as reg
from evenhand.measures.regression import Smoothed
from evenhand.stats.curves import impact_curve, no_adverse_impact_level, pass_curve
from evenhand.stats.interval import bounds
from evenhand.stats.moments import estimate
from evenhand.stats.practice import four_fifths
from evenhand.stats.rates import wilson

Table = dict[str, list[Any]]
DRAWN = (0.25, 4.0)


def add_regression(
    analysis: Analysis,
    frame: Frame,
    cells: Sequence[Cell],
    reference: Cell,
    everyone: Cell,
    attribute: str,
    settings: Settings,
    quantiles: Sequence[float],
) -> None:
    """All exhibits of one attribute."""
    performance_table(analysis, frame, cells, everyone, attribute, settings.level)
    selection_table(analysis, frame, cells, reference, everyone, attribute, settings.level, quantiles)
    distributions(analysis, cells, attribute)
    curves(analysis, cells, reference, attribute, settings)
    if " & " in attribute:
        intersections(analysis, cells, attribute)


def performance_table(
    analysis: Analysis, frame: Frame, cells: Sequence[Cell], everyone: Cell, attribute: str, level: float
) -> None:
    """Every measure of the model for everyone and for each group, with its interval."""
    table: Table = {k: [] for k in ("measure", "group", "value", "low", "high", "n")}
    for measure in reg.MEASURES:
        function = measure.function
        if not isinstance(function, Smoothed) or not set(function.terms) <= set(frame.terms):
            continue
        for c in (everyone, *cells):
            if measure is reg.VALIDITY:
                found = correlation_of(c.moments, level)
                value, low, high = found.value, found.low, found.high
            else:
                v, se = estimate(function.value, c.moments)
                if measure in (reg.MEAN, reg.INTERCEPT):  # told on the scale of the data
                    v += frame.centre
                value = v if np.isfinite(v) else None
                ends = bounds(v, se, level=level) if value is not None and np.isfinite(se) else (None, None)
                low, high = ends
                if (
                    measure.name in ("RMSE", "MAE", "interval width", "score standard deviation")
                    and v > 0
                    and np.isfinite(se)
                ):
                    low, high = (float(v * np.exp(x)) for x in bounds(0.0, se / v, level=level))
            for name, entry in zip(table, (measure.name, c.label, value, low, high, c.n), strict=True):
                table[name].append(entry)
    analysis.exhibits[f"performance by {attribute}"] = Exhibit(
        title=f"Performance by {attribute}",
        columns=table,
        note=f"Each measure for everyone and for each group, with its {level:.0%} interval (delta method; Fisher's z for"
        " correlations). Groups are compared under the estimates.",
    )


def selection_table(
    analysis: Analysis,
    frame: Frame,
    cells: Sequence[Cell],
    reference: Cell,
    everyone: Cell,
    attribute: str,
    level: float,
    quantiles: Sequence[float],
) -> None:
    """Who is selected at each threshold, against the reference and against the best-off group."""
    names = ("quantile", "threshold", "group", "n", "selected", "selection rate", "low", "high", "ratio to reference", "ratio to best-off", "Z", "Z of ln ratio", "Fisher p")  # fmt: skip
    table: Table = {k: [] for k in names}
    for q in quantiles:
        term = selected_term(q)
        rates = [c.moments.means[term] for c in cells]
        best = max(rates)
        for c, rate in zip(cells, rates, strict=True):
            x, n = hits(c.moments, term)
            own = wilson(x, n, level=level)
            practice = (
                four_fifths(*hits(c.moments, term), *hits(reference.moments, term))
                if c is not reference
                else None
            )
            row = (q, frame.thresholds[q], c.label, c.n, round(rate * c.moments.weight, 6), rate, own.low, own.high,
                   None if practice is None else practice.ratio, rate / best if best > 0 else None,
                   None if practice is None else practice.z, None if practice is None else practice.z_ratio,
                   None if practice is None else practice.fisher_p)  # fmt: skip
            for name, entry in zip(names, row, strict=True):
                table[name].append(entry)
    really = ", ".join(f"q={q:g}: {100 * everyone.moments.means[selected_term(q)]:.2f} %" for q in quantiles)
    analysis.exhibits[f"selection by {attribute}"] = Exhibit(
        title=f"Selection by {attribute}",
        columns=table,
        note=f"Selected is a score strictly above the quantile of everyone's scores. Ties move the share that is really"
        f" selected: {really}. Z and the Z of the log ratio as in US practice; Fisher's test is exact."
        " Rates with Wilson's interval. Weighted rows count by their weight.",
    )


def distributions(analysis: Analysis, cells: Sequence[Cell], attribute: str, bins: int = 30) -> None:
    """The distribution of scores of each group, in common bins."""
    values = cells[0].scores.values
    if len(values) < 2:
        return
    inside = np.flatnonzero(np.any([c.scores.occupied for c in cells], axis=0))
    edges = np.linspace(values[inside[0]], values[inside[-1]], bins + 1)
    starts = np.searchsorted(values, edges)
    starts[0], starts[-1] = 0, len(values)
    table: Table = {k: [] for k in ("low", "high", "share", "group")}
    for c in cells[:8]:
        share = np.diff(c.scores.cumulated[starts]) / c.scores.total
        table["low"] += edges[:-1].tolist()
        table["high"] += edges[1:].tolist()
        table["share"] += share.tolist()
        table["group"] += [c.label] * bins
    analysis.exhibits[f"score distributions by {attribute}"] = Exhibit(
        title=f"Score distributions by {attribute}",
        columns=table,
        note="Share of each group in equal bins of the predictions."
        + (f" The first 8 of {len(cells)} groups are drawn." if len(cells) > 8 else ""),
        chart="density",
        encode={"low": "low", "high": "high", "share": "share", "color": "group"},
    )


def curves(
    analysis: Analysis, cells: Sequence[Cell], reference: Cell, attribute: str, settings: Settings
) -> None:
    """Pass rate against pass rate, and impact ratio by threshold, with simultaneous bands; the level from them."""
    roc: Table = {k: [] for k in ("pass rate of the reference", "pass rate of the group", "low", "high", "threshold", "group")}  # fmt: skip
    impact: Table = {
        k: []
        for k in ("threshold", "impact ratio", "low", "high", "selected", "band from", "band to", "group")
    }
    shown = [c for c in cells if c is not reference][:6]
    for c in shown:
        passed = pass_curve(c.scores, reference.scores, level=settings.level, seed=settings.seed)
        keep = np.unique(passed.reference, return_index=True)[1]  # one point for each place on the axis
        for name, column in zip(
            roc, (passed.reference, passed.group, passed.low, passed.high, passed.thresholds), strict=False
        ):
            roc[name] += [float(v) for v in column[keep]]
        roc["group"] += [c.label] * len(keep)
        curve = impact_curve(c.scores, reference.scores, level=settings.level, seed=settings.seed)
        for name, column in zip(
            impact,
            (
                curve.thresholds,
                curve.ratio,
                curve.low,
                curve.high,
                curve.selected,
                np.clip(curve.low, *DRAWN),
                np.clip(curve.high, *DRAWN),
            ),
            strict=False,
        ):
            impact[name] += [_finite(v) for v in column]
        impact["group"] += [c.label] * len(curve.thresholds)
    add_levels(analysis, cells, reference, attribute, settings)
    if len(set(roc["threshold"])) < 2:
        return
    ends: tuple[list[Any], ...] = (
        [0.0, 1.0],
        [0.0, 1.0],
        [0.0, 1.0],
        [0.0, 1.0],
        [None, None],
        ["equal pass rates"] * 2,
    )
    for name, end in zip(roc, ends, strict=True):
        roc[name] += end
    analysis.exhibits[f"pass rates by {attribute}"] = Exhibit(
        title=f"Pass rate against pass rate by {attribute}",
        columns=roc,
        note=f"Share of the group above each threshold against that of {reference.label}: under the diagonal fewer of the"
        f" group pass. {settings.level:.0%} simultaneous band over all thresholds. The area is the adverse-impact AUC.",
        chart="band",
        encode={"x": "pass rate of the reference", "y": "pass rate of the group", "low": "low", "high": "high", "color": "group"},
    )  # fmt: skip
    analysis.exhibits[f"impact ratio by {attribute}"] = Exhibit(
        title=f"Impact ratio by threshold, {attribute}",
        columns=impact,
        note=f"Selection rate of the group ÷ that of {reference.label} at every threshold, with a {settings.level:.0%}"
        " simultaneous band (made on the log scale; the drawing cuts it at 0.25 and 4). Rules at 0.8, 1 and 1.25. Thresholds with under 5"
        " expected in a group are left out.",
        chart="band",
        encode={"x": "threshold", "y": "impact ratio", "low": "band from", "high": "band to", "color": "group", "rules": [0.8, 1.0, 1.25]},
    )  # fmt: skip


def add_levels(
    analysis: Analysis, cells: Sequence[Cell], reference: Cell, attribute: str, settings: Settings
) -> None:
    """The no-adverse-impact level of each group, as estimates without a verdict."""
    from evenhand._estimate import evidence
    from evenhand._judge import judge
    from evenhand._model import Estimate

    items = []
    for c in cells:
        if c is reference:
            continue
        found = no_adverse_impact_level(c.scores, reference.scores, level=settings.level, seed=settings.seed)
        item = Estimate(
            measure="no-adverse-impact level",
            contrast="threshold",
            group=c.label,
            reference=reference.label,
            n=c.n + reference.n,
            n_group=c.n,
            n_reference=reference.n,
        )
        items.append(evidence(item, found))
        g = hedges_g(c, reference, settings.level).with_(p_value=None)
        items.append(evidence(item.with_(measure="Hedges' g", contrast="difference"), g))
    analysis.findings += judge(items, tolerance=None, family=f"{attribute}, described", correction="none")


def intersections(analysis: Analysis, cells: Sequence[Cell], attribute: str) -> None:
    """Average score of every combination of two attributes."""
    names = attribute.split(" & ")
    parts = [c.label.partition("=")[2].split(" & ") for c in cells]
    if any(len(p) != len(names) for p in parts):
        return
    rows: list[Scalar] = [p[0] for p in parts]
    columns: list[Scalar] = [" & ".join(p[1:]) for p in parts]
    centre = float(
        np.sum([c.scores.weight @ c.scores.values for c in cells]) / np.sum([c.scores.total for c in cells])
    )
    means = [float(c.scores.weight @ c.scores.values / c.scores.total) for c in cells]
    other = " & ".join(names[1:])
    analysis.exhibits[f"intersections of {attribute}"] = Exhibit(
        title=f"Average score by {attribute}",
        columns={names[0]: rows, other: columns, "average score": means, "n": [c.n for c in cells]},
        note="Colours depart from the average of everyone. Small cells vary by chance: see the estimates, and the worst"
        " subgroup, which is corrected for the search.",
        chart="heatmap",
        encode={"x": other, "y": names[0], "value": "average score", "null": centre},
    )


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None

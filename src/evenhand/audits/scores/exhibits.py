"""What a reader may want to see behind the claims about scores: distributions, gaps, influence, other analyses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evenhand._analysis import Analysis
from evenhand._compare import every_pair
from evenhand._estimate import Evidence
from evenhand._judge import CORRECTIONS
from evenhand._labels import Label
from evenhand._model import BoolArray, Exhibit, FloatArray, Observations, Scalar
from evenhand.audits.scores.claims import Question, Side, compared_rows, gap_of, samples_of, scored, sides_of
from evenhand.stats.crossed import difference
from evenhand.stats.influence import influence
from evenhand.stats.interval import Inference
from evenhand.stats.paired import by_unit, paired
from evenhand.stats.two_samples import diagnostics, welch

BINS = 40
MOST_GROUPS = 12
MOST_COMPARISONS = 4
NOTHING = 1e-12

Rows = dict[str, list[Scalar]]


def add_row(rows: Rows, cells: Sequence[Scalar]) -> None:
    """Append one row to a table of columns."""
    for column, cell in zip(rows.values(), cells, strict=True):
        column.append(cell)


def add_exhibits(
    observations: Observations,
    asked: Question,
    evidence: Mapping[str, Sequence[Evidence]],
    analysis: Analysis,
) -> None:
    """Every exhibit of an audit of scores, in the order of the report."""
    analysis.exhibits["scores by group"] = summary(observations, asked)
    for attribute in evidence:
        sides = sides_of(observations, attribute)
        if 2 <= len(sides) <= MOST_GROUPS:
            analysis.exhibits[f"distribution of scores by {attribute}"] = distribution(
                observations, asked, sides, attribute
            )
        if len(sides) > 2:
            over = samples_of(observations, asked, sides, Analysis(), attribute)
            analysis.exhibits[f"pairwise gaps by {attribute}"] = heat_map(
                observations, asked, sides, over, attribute
            )
    chosen = closest_look(evidence)
    for unit in asked.samples:
        table = influential(observations, asked, chosen, unit)
        if len(table):
            analysis.exhibits[f"influence of {unit}s"] = table
    analysis.exhibits["other analyses"] = other_analyses(observations, asked, chosen)
    noise = placebo(observations, asked, chosen)
    if len(noise):
        analysis.exhibits["placebo"] = noise
    analysis.exhibits["diagnostics"] = diagnostic_table(observations, asked, chosen)


def closest_look(evidence: Mapping[str, Sequence[Evidence]]) -> list[Evidence]:
    """The comparisons that get a closer look: of each attribute the widest, then the next widest."""
    ranked = [sorted(items, key=lambda e: -abs(e.estimate.value or 0.0)) for items in evidence.values()]
    first = [items[0] for items in ranked if items]
    rest = sorted((e for items in ranked for e in items[1:]), key=lambda e: -abs(e.estimate.value or 0.0))
    return (first + rest)[: max(MOST_COMPARISONS, len(first))]


def summary(observations: Observations, asked: Question) -> Exhibit:
    """n, minimum, mean, maximum and spread of every group, per class of base text; controls are a group of their own."""
    score = observations.columns[asked.score]
    usable = np.isfinite(score)
    strata: list[tuple[str | None, BoolArray]] = [(None, np.ones(len(score), dtype=np.bool_))]
    if asked.strata is not None:
        factor = observations.units[asked.strata]
        strata += [(f"{asked.strata}={level}", factor.is_level(level)) for level in factor.levels]
    names = ("attribute", "group", "given", "n", "failed", "min", "mean", "max", "sd")
    rows: Rows = {name: [] for name in names}
    for attribute, sides in _attributes_with_control(observations, asked):
        for side in sides:
            for given, within in strata:
                chosen = side.rows & within
                if not chosen.any():
                    continue
                values = score[chosen & usable]
                described = _describe(values)
                cells = (attribute, side.label.level, given, len(values))
                add_row(rows, (*cells, int(chosen.sum()) - len(values), *described))
    note = "Raw scores; a difference here is no evidence by itself. Controls are the base texts without the term."
    return Exhibit(title="Scores by group", columns=rows, note=note)


def _describe(values: FloatArray) -> tuple[Scalar, ...]:
    if not len(values):
        return (None,) * 4
    spread = float(values.std(ddof=1)) if len(values) > 1 else None
    return float(values.min()), float(values.mean()), float(values.max()), spread


def _attributes_with_control(observations: Observations, asked: Question) -> list[tuple[str, list[Side]]]:
    found = []
    role = observations.units.get("role")
    for attribute in asked.attributes:
        sides = sides_of(observations, attribute)
        if role is not None and "control" in role.levels:
            rows = role.is_level("control")
            if attribute in observations.units.get("category", role).levels:
                rows = rows & observations.units["category"].is_level(attribute)
            if rows.any():
                sides = [*sides, Side(label=Label.named("control"), rows=rows)]
        found.append((attribute, sides))
    return found


def distribution(
    observations: Observations, asked: Question, sides: Sequence[Side], attribute: str
) -> Exhibit:
    """Shares of each group's scores in common bins."""
    score = observations.columns[asked.score]
    finite = score[np.isfinite(score)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    edges = np.linspace(low, high if high > low else low + 1.0, BINS + 1)
    rows: Rows = {"group": [], "low": [], "high": [], "share": []}
    for side in sides:
        values = score[side.rows & np.isfinite(score)]
        counts, _ = np.histogram(values, edges)
        rows["group"] += [side.label.level] * BINS
        rows["low"] += edges[:-1].tolist()
        rows["high"] += edges[1:].tolist()
        rows["share"] += (counts / max(len(values), 1)).tolist()
    return Exhibit(
        title=f"Distribution of scores by {attribute}",
        columns=rows,
        note=f"Share of each group's scores in {BINS} equal bins of {asked.score}.",
        chart="density",
        encode={"low": "low", "high": "high", "y": "share", "color": "group", "x_title": asked.score},
    )


def heat_map(
    observations: Observations, asked: Question, sides: Sequence[Side], over: Sequence[str], attribute: str
) -> Exhibit:
    """Every pair of groups: mean of the row minus mean of the column, and whether it reaches the tolerance."""
    names = ("group", "reference", "gap", "low", "high", "p_value", "p_adjusted", "beyond tolerance")
    rows: Rows = {name: [] for name in names}
    low, high = asked.tolerance
    usable = [side.within(scored(observations, asked)) for side in sides]
    level = asked.declared.level
    found = [
        (a, b, gap_of(observations, asked, tuple(over), a, b, None).at(level)) for a, b in every_pair(usable)
    ]
    adjusted = CORRECTIONS[asked.declared.correction]([inference.p_value for _, _, inference in found])
    for (a, b, inference), p_adjusted in zip(found, adjusted, strict=True):
        for first, second, sign in ((a, b, 1.0), (b, a, -1.0)):
            value = None if inference.value is None else sign * inference.value
            bounds = sorted(sign * v for v in (inference.low, inference.high) if v is not None)
            cells: tuple[Scalar, ...] = (
                first.label.level,
                second.label.level,
                value,
                bounds[0] if len(bounds) == 2 else None,
                bounds[1] if len(bounds) == 2 else None,
                inference.p_value,
                p_adjusted,
                None if value is None else not low < value < high,
            )
            add_row(rows, cells)
    return Exhibit(
        title=f"Pairwise gaps by {attribute}",
        columns=rows,
        note="Mean of the row's group minus mean of the column's group; p_adjusted is corrected for all pairs shown.",
        chart="heatmap",
        encode={"x": "reference", "y": "group", "value": "gap"},
    )


def influential(
    observations: Observations, asked: Question, chosen: Sequence[Evidence], unit: str, most: int = 10
) -> Exhibit:
    """How far each unit moves the widest gaps: the gap with and without it."""
    word = asked.declared.word(unit)
    names = ("comparison", unit, "side", "gap", "gap without it", "change")
    rows: Rows = {name: [] for name in names}
    factor = observations.units[unit]
    for item in chosen:
        if unit not in item.estimate.units:
            continue
        a, b = (side.rows for side in compared_rows(item))
        found = influence(
            observations.columns[asked.score],
            a=a,
            b=b,
            units={unit: factor.codes},
            unit=unit,
            weight=observations.weight,
        )
        for at in range(min(most, len(found.codes))):
            if not abs(found.change[at]) > NOTHING:
                continue
            side = int(found.side[at])
            sides = (*(s.label.level for s in compared_rows(item)), "both")
            cells = (
                _comparison(item),
                factor.levels[int(found.codes[at])],
                sides[side],
                found.value,
                _number(found.without[at]),
                _number(found.change[at]),
            )
            add_row(rows, cells)
    return Exhibit(
        title=f"Most influential {word}s",
        columns=rows,
        note=f"The gap with all {word}s, and without the one named. A gap that one {word} carries says little about groups.",
        chart="bars",
        encode={"y": unit, "x": "change", "color": "comparison"},
    )


def other_analyses(observations: Observations, asked: Question, chosen: Sequence[Evidence]) -> Exhibit:
    """What narrower analyses would have said of the same gap_of, side by side; only the first row of each is a claim."""
    names = (
        "comparison",
        "analysis",
        "generalises over",
        "gap",
        "low",
        "high",
        "t",
        "df",
        "p_value",
        "effect size",
    )
    rows: Rows = {name: [] for name in names}
    for item in chosen:
        for label, reach, inference, size in _analyses(observations, asked, item):
            cells = (
                _comparison(item),
                label,
                reach,
                inference.value,
                inference.low,
                inference.high,
                inference.statistic,
                inference.df,
                inference.p_value,
                size,
            )
            add_row(rows, cells)
    note = (
        "The verdicts use the first analysis of each comparison. The others answer narrower questions: a small p over texts"
        " with the same few terms says that these very terms score differently, not that the groups do."
    )
    return Exhibit(title="The same gaps by other analyses", columns=rows, note=note)


def _analyses(
    observations: Observations, asked: Question, item: Evidence
) -> list[tuple[str, str, Inference, float | None]]:
    a, b = (side.rows for side in compared_rows(item))
    score = observations.columns[asked.score]
    units = {name: observations.units[name].codes for name in asked.samples}
    found: list[tuple[str, str, Inference, float | None]] = []

    def add(label: str, over: Sequence[str]) -> None:
        part = {name: units[name] for name in over}
        inference = difference(
            score,
            a=a,
            b=b,
            units=part,
            weight=observations.weight,
            level=asked.declared.level,
            over=tuple(over),
        )
        found.append(
            (label, " and ".join(asked.declared.word(n) + "s" for n in over) or "nothing", inference, None)
        )

    sampled = [name for name in asked.samples if name in item.estimate.units]
    add("crossed" if len(sampled) > 1 else "clustered", sampled)
    if len(sampled) > 1:
        for name in sampled:
            add(f"over {asked.declared.word(name)}s only", [name])
    rows = welch(score[a], score[b], level=asked.declared.level)
    found.append(("Welch, every score a case", "independent scores", rows, rows.detail.get("cohen_d")))
    for name in asked.samples:
        if name == asked.nested:
            continue
        gaps, _ = by_unit(score, a, b, units[name])
        if len(gaps) > 1:
            pair = paired(gaps, level=asked.declared.level)
            label = f"paired by {asked.declared.word(name)}"
            found.append((label, f"{asked.declared.word(name)}s", pair, pair.detail.get("dz")))
    return found


def placebo(
    observations: Observations, asked: Question, chosen: Sequence[Evidence], draws: int = 200
) -> Exhibit:
    """The noise floor: gaps between random halves of the same group, by the very same computation."""
    unit = (
        asked.nested if asked.nested in observations.units else (asked.samples[0] if asked.samples else None)
    )
    names = ("comparison", "gap", "placebo, 95 % of", "placebo, widest", "draws", "halves of")
    rows: Rows = {name: [] for name in names}
    if unit is None:
        return Exhibit(title="Placebo", columns=rows)
    rng = np.random.default_rng(asked.declared.seed)
    codes = observations.units[unit].codes
    score = observations.columns[asked.score]
    for item in chosen:
        gaps: list[float] = []
        for side in (s.rows for s in compared_rows(item)):
            present = np.unique(codes[side & (codes >= 0)])
            if len(present) < 4:
                continue
            mean = _unit_means(score, codes, side, len(observations.units[unit].levels))
            for _ in range(draws // 2):
                order = rng.permutation(present)
                half = len(order) // 2
                gaps.append(float(np.nanmean(mean[order[:half]]) - np.nanmean(mean[order[half:]])))
        if not gaps:
            continue
        sizes = np.abs(gaps)
        cells = (
            _comparison(item),
            item.estimate.value,
            float(np.quantile(sizes, 0.95)),
            float(sizes.max()),
            len(gaps),
            f"{asked.declared.word(unit)}s of one group",
        )
        add_row(rows, cells)
    note = (
        "Random halves of one group differ by chance alone, though by more than whole groups would, since halves are smaller."
        " A gap below this floor deserves no story."
    )
    return Exhibit(title="Noise floor: gaps between random halves of the same group", columns=rows, note=note)


def _unit_means(score: FloatArray, codes: Any, rows: BoolArray, levels: int) -> FloatArray:
    keep = rows & (codes >= 0)
    total = np.bincount(codes[keep], score[keep], levels)
    count = np.bincount(codes[keep], minlength=levels)
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan))


def diagnostic_table(observations: Observations, asked: Question, chosen: Sequence[Evidence]) -> Exhibit:
    """Shape of the unit means that the t-tests work on: skewness, tails, variance ratio, outliers, ties."""
    unit = (
        asked.nested if asked.nested in observations.units else (asked.samples[0] if asked.samples else None)
    )
    names = (
        "comparison",
        "side",
        "units",
        "skewness",
        "excess kurtosis",
        "Jarque–Bera p",
        "outliers",
        "variance ratio",
    )
    rows: Rows = {name: [] for name in names}
    for item in chosen:
        samples = []
        for side in (s.rows for s in compared_rows(item)):
            values = observations.columns[asked.score][side]
            if unit is not None:
                factor = observations.units[unit]
                means = _unit_means(observations.columns[asked.score], factor.codes, side, len(factor.levels))
                values = means[np.isfinite(means)]
            samples.append(values)
        found = diagnostics(samples[0], samples[1])
        if found is None:
            continue
        for k, one in enumerate(compared_rows(item)):
            cells = (
                _comparison(item),
                one.label.level,
                len(samples[k]),
                _number(found.skewness[k]),
                _number(found.excess_kurtosis[k]),
                found.normality_p[k],
                found.outliers[k],
                found.variance_ratio,
            )
            add_row(rows, cells)
    note = (
        "Computed on the means per unit, which is what the intervals rest on. Strong skewness or outliers with few units make"
        " t-based intervals optimistic; the calibration page of the documentation says by how much."
    )
    return Exhibit(title="Diagnostics of the samples behind the tests", columns=rows, note=note)


def _comparison(item: Evidence) -> str:
    a, b = compared_rows(item)
    return f"{a.label.level} − {b.label.level}"


def _number(value: Any) -> float | None:
    return float(value) if value is not None and np.isfinite(value) else None

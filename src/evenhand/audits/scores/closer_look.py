"""A closer look at the widest gaps: what carries them, other analyses, the noise floor, the samples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from evenhand._estimate import Evidence
from evenhand._model import BoolArray, Exhibit, Factor, FloatArray, IntArray, Observations, Scalar
from evenhand.audits.scores.claims import sides_compared
from evenhand.audits.scores.sides import Question, Side
from evenhand.stats.blocks import WHOLE, rows_by_unit, sums_by_unit
from evenhand.stats.crossed import difference
from evenhand.stats.influence import influence
from evenhand.stats.interval import Inference
from evenhand.stats.paired import by_unit, paired
from evenhand.stats.two_samples import described, diagnostics, welch, welch_of

MOST_COMPARISONS = 4
MOST_UNITS = 10
"""Units of one comparison whose influence is shown."""
NOTHING = 1e-12
DRAWS = 200
"""Random halvings that the noise floor of one comparison rests on."""


def worth_a_look(evidence: Mapping[str, Sequence[Evidence]]) -> list[Evidence]:
    """Of each attribute the widest gap, then the next widest of all."""
    ranked = [sorted(items, key=_width) for items in evidence.values()]
    first = [items[0] for items in ranked if items]
    rest = sorted((e for items in ranked for e in items[1:]), key=_width)
    return (first + rest)[: max(MOST_COMPARISONS, len(first))]


def _width(item: Evidence) -> float:
    """Sorts the widest gap first."""
    return -abs(item.estimate.value or 0.0)


def influential(
    observations: Observations, asked: Question, chosen: Sequence[Evidence], unit: str
) -> Exhibit:
    """How far each unit moves the widest gaps: the gap with and without it."""
    word = asked.declared.word(unit)
    factor = observations.units[unit]
    rows: list[dict[str, Scalar]] = []
    for item in chosen:
        if unit not in item.estimate.units:
            continue
        a, b = sides_compared(item)
        found = influence(
            observations.columns[asked.score],
            a=a.rows,
            b=b.rows,
            units={unit: factor.codes},
            unit=unit,
            weight=observations.weighing(asked.score),
        )
        rows += [
            {
                "comparison": _comparison(a, b),
                unit: factor.levels[int(found.codes[at])],
                "side": (a.label.level, b.label.level, "both")[int(found.side[at])],
                "gap": found.value,
                "gap without it": found.without[at],
                "change": found.change[at],
            }
            for at in range(min(MOST_UNITS, len(found.codes)))
            if abs(found.change[at]) > NOTHING
        ]
    return Exhibit.of(
        f"Most influential {word}s",
        rows,
        note=f"The gap with all {word}s, and without the one named. A gap that one {word} carries says little"
        " about groups.",
        chart="bars",
        encode={"y": unit, "x": "change", "color": "comparison"},
    )


def other_analyses(observations: Observations, asked: Question, chosen: Sequence[Evidence]) -> Exhibit:
    """What narrower analyses would have said of the same gap; only the first row of each is a claim."""
    rows = [
        {
            "comparison": _comparison(*sides_compared(item)),
            "analysis": analysis,
            "generalises over": reach,
            "gap": found.value,
            "low": found.low,
            "high": found.high,
            "t": found.statistic,
            "df": found.df,
            "p_value": found.p_value,
            "effect size": size,
        }
        for item in chosen
        for analysis, reach, found, size in _analyses(observations, asked, item)
    ]
    note = (
        "The verdicts use the first analysis of each comparison. The others answer narrower questions: a"
        " small p over texts with the same few terms says that these very terms score differently, not that"
        " the groups do."
    )
    return Exhibit.of("The same gaps by other analyses", rows, note=note)


def _analyses(
    observations: Observations, asked: Question, item: Evidence
) -> Iterator[tuple[str, str, Inference, float | None]]:
    """(analysis, what it generalises over, inference, effect size)."""
    a, b = (side.rows for side in sides_compared(item))
    score, level = observations.columns[asked.score], asked.declared.level
    words = {name: f"{asked.declared.word(name)}s" for name in asked.samples}

    def over(*names: str) -> tuple[str, Inference, None]:
        units = {name: observations.units[name].codes for name in names}
        weight = observations.weighing(asked.score)
        found = difference(score, a=a, b=b, units=units, weight=weight, level=level, over=names)
        return " and ".join(words[name] for name in names) or "nothing", found, None

    sampled = [name for name in asked.samples if name in item.estimate.units]
    yield "crossed" if len(sampled) > 1 else "clustered", *over(*sampled)
    for name in sampled if len(sampled) > 1 else ():
        yield f"over {words[name]} only", *over(name)
    folded = observations.folded.get(asked.score)
    if len(score) <= WHOLE and folded is None:
        rows = welch(score[a], score[b], level=level)
    else:
        rows = welch_of(*(described(score, own, folded) for own in (a, b)), level=level)
    yield "Welch, every score a case", "independent scores", rows, rows.detail.get("cohen_d")
    for name in asked.samples:
        gaps, _ = by_unit(score, a, b, observations.units[name].codes, observations.count)
        if name != asked.nested and len(gaps) > 1:
            pair = paired(gaps, level=level)
            yield f"paired by {asked.declared.word(name)}", words[name], pair, pair.detail.get("dz")


def placebo(observations: Observations, asked: Question, chosen: Sequence[Evidence]) -> Exhibit:
    """The noise floor: gaps between random halves of the same group, by the very same computation."""
    title = "Noise floor: gaps between random halves of the same group"
    unit = _unit(observations, asked)
    if unit is None:
        return Exhibit.of(title, [])
    rng = np.random.default_rng(asked.declared.seed)
    factor, score = observations.units[unit], observations.columns[asked.score]
    rows: list[dict[str, Scalar]] = []
    for item in chosen:
        sides = sides_compared(item)
        means = [_unit_means(observations, unit, score, side.rows) for side in sides]
        present = [_present(factor, side.rows) for side in sides]
        gaps = [gap for pair in zip(present, means, strict=True) for gap in _halved(*pair, rng)]
        if gaps:
            sizes = np.abs(gaps)
            rows.append(
                {
                    "comparison": _comparison(*sides),
                    "gap": item.estimate.value,
                    "placebo, 95 % of": float(np.quantile(sizes, 0.95)),
                    "placebo, widest": float(sizes.max()),
                    "draws": len(gaps),
                    "halves of": f"{asked.declared.word(unit)}s of one group",
                }
            )
    note = (
        "Random halves of one group differ by chance alone, though by more than whole groups would, since"
        " halves are smaller. A gap below this floor deserves no story."
    )
    return Exhibit.of(title, rows, note=note)


def _present(factor: Factor, rows: BoolArray) -> IntArray:
    return np.flatnonzero(rows_by_unit(factor.codes, rows, len(factor.levels)))


def _halved(present: IntArray, mean: FloatArray, rng: np.random.Generator) -> Iterator[float]:
    """Gaps between random halves of one group's units; none where there are too few to halve.

    Args:
        present: the units. mean: of each unit.
    """
    if len(present) < 4:
        return
    for _ in range(DRAWS // 2):
        order = rng.permutation(present)
        half = len(order) // 2
        yield float(np.nanmean(mean[order[:half]]) - np.nanmean(mean[order[half:]]))


def diagnostic_table(observations: Observations, asked: Question, chosen: Sequence[Evidence]) -> Exhibit:
    """Shape of the unit means that the t-tests work on: skewness, tails, variance ratio, outliers, ties."""
    unit = _unit(observations, asked)
    score = observations.columns[asked.score]
    rows: list[dict[str, Scalar]] = []
    # Rows that are folded have no shape; units have.
    for item in chosen if unit is not None or not observations.folded else ():
        sides = sides_compared(item)
        samples = [
            score[side.rows] if unit is None else _unit_means(observations, unit, score, side.rows)
            for side in sides
        ]
        found = diagnostics(samples[0], samples[1])
        if found is None:
            continue
        rows += [
            {
                "comparison": _comparison(*sides),
                "side": side.label.level,
                "units": int(np.isfinite(samples[k]).sum()),
                "skewness": found.skewness[k],
                "excess kurtosis": found.excess_kurtosis[k],
                "Jarque–Bera p": found.normality_p[k],
                "outliers": found.outliers[k],
                "variance ratio": found.variance_ratio,
            }
            for k, side in enumerate(sides)
        ]
    note = (
        "Computed on the means per unit, which is what the intervals rest on. Strong skewness or outliers"
        " with few units make t-based intervals optimistic; the calibration page of the documentation says by"
        " how much."
    )
    return Exhibit.of("Diagnostics of the samples behind the tests", rows, note=note)


def _unit(observations: Observations, asked: Question) -> str | None:
    """The unit that a group's rows are halved and averaged by."""
    if asked.nested in observations.units:
        return asked.nested
    return asked.samples[0] if asked.samples else None


def _unit_means(observations: Observations, unit: str, score: FloatArray, rows: BoolArray) -> FloatArray:
    """Mean score of every unit; NaN where it has no rows here."""
    factor = observations.units[unit]
    count, total = sums_by_unit(score, factor.codes, rows, len(factor.levels), observations.count)
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan))


def _comparison(a: Side, b: Side) -> str:
    return f"{a.label.level} − {b.label.level}"

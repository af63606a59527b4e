"""What other thresholds of the scores would give: chosen on one half of the rows, reported on the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np
import numpy.typing as npt

from evenhand._analysis import Analysis
from evenhand._compare import against, compare, reference_of
from evenhand._declared import Declared
from evenhand._errors import UsageError
from evenhand._estimate import evidence
from evenhand._judge import judge
from evenhand._labels import Grouped, Label, groupings
from evenhand._model import BoolArray, Estimate, Exhibit, FloatArray, IntArray, Scalar
from evenhand.audits.predictions.asked import Options
from evenhand.audits.predictions.claims import label_claims
from evenhand.audits.predictions.class_cells import ClassCell, class_cells, read_labels
from evenhand.audits.predictions.rows import Rows, rows_by_level
from evenhand.audits.predictions.searched.worst import halves
from evenhand.measures.classification import ACCURACY, FPR, SELECTED, TPR
from evenhand.measures.contrasts import counts_of
from evenhand.stats.cutoffs import Cuts, cuts_of_equal_recall, most_accurate
from evenhand.stats.interval import Inference
from evenhand.stats.paired import mean_change
from evenhand.stats.practice import four_fifths
from evenhand.stats.rates import wilson

FEWEST, FEWEST_POSITIVE = 50, 10
"""Rows, and positives among them, that a group needs in the first half for a threshold of its own."""
GIVEN, BLIND, ACCURATE = "as given", "one for all", "one for all, most accurate"
PARITY, RECALL, OWN = (
    "per group, equal selection",
    "per group, equal true positive rates",
    "per group, most accurate",
)
SHARES = np.linspace(0.05, 0.95, 19)


@dataclass(frozen=True, kw_only=True)
class Scored:
    """Rows of one half, with a group each.

    Args:
        columns: `selected`, `actual` and `y_score` as numbers. weight: (n,). unit: (n,) codes or None.
        groups: of each row.
    """

    columns: Mapping[str, FloatArray]
    weight: FloatArray
    unit: IntArray | None
    groups: Grouped

    @property
    def size(self) -> float:
        """Kish's effective number of rows, or of units."""
        sums = self.weight if self.unit is None else np.bincount(self.unit, self.weight)
        return float(sums.sum() ** 2 / (sums @ sums))

    def by_group(self) -> list[npt.NDArray[np.intp]]:
        """The rows of each group."""
        return rows_by_level(self.groups.factor)

    def decided(self, cuts: Sequence[float] | None) -> FloatArray:
        """(n,) who is selected: as given, or above the cut of their group."""
        if cuts is None:
            return self.columns["selected"]
        return np.asarray(self.columns["y_score"] > np.asarray(cuts)[self.groups.factor.codes], dtype=float)

    def cells(self, cuts: Sequence[float] | None, *, weighted: bool) -> list[ClassCell]:
        """The sums of each group under these cuts."""
        columns = {**self.columns, "selected": self.decided(cuts)}
        weight = self.weight if weighted else None
        return class_cells(columns, weight, self.groups, unit=self.unit)


def add_frontier(rows: Rows, declared: Declared, analysis: Analysis, options: Options) -> None:
    """For each attribute the policies, what they cost, and the frontier.

    Raises:
        UsageError: `frontier`.
    """
    compared, columns = read_labels(rows, options.positive)[1:]
    if len(compared) != 1 or not {"y_score", "actual"} <= set(columns[compared[0]]):
        raise UsageError(
            "frontier",
            "thresholds are of the scores of one class, held against outcomes",
            expected="y_score= (--y-score), y_true= (--y-true); of several classes positive= (--positive)",
        )
    first = halves(rows, declared.seed)
    for groups in groupings(rows.groups):
        known = groups.factor.codes >= 0
        one, two = (_half(rows, columns[compared[0]], groups, known & half) for half in (first, ~first))
        few = _few(one)
        if few or len(groups.labels) < 2:
            who = ", ".join(few) or "one group"
            text = (
                f"{groups.attribute}: {who} has too few people for a threshold of its own: none are compared."
            )
            analysis.note("frontier-few", text, warning=True)
            continue
        policies = _policies(one)
        _report(policies, two, declared, analysis, weighted=rows.weight is not None)
        _frontier(one, two, declared, analysis)
    text = (
        "Thresholds per group treat people with the same score differently, which many laws forbid; they are"
        " shown for what equal rates would cost, not as advice."
    )
    analysis.note("frontier", text)


def _half(rows: Rows, columns: Mapping[str, FloatArray], groups: Grouped, mask: BoolArray) -> Scored:
    return Scored(
        columns={k: v[mask] for k, v in columns.items()},
        weight=np.ones(int(mask.sum())) if rows.weight is None else rows.weight[mask],
        unit=None if rows.unit is None else rows.unit[mask],
        groups=replace(groups, factor=groups.factor[mask]),
    )


def _few(half: Scored) -> list[str]:
    codes, actual = half.groups.factor.codes, half.columns["actual"]
    sizes = np.bincount(codes, minlength=len(half.groups.labels))
    positive = np.bincount(codes, actual, len(half.groups.labels))
    return [
        label.level
        for label, n, k in zip(half.groups.labels, sizes, positive, strict=True)
        if n < FEWEST or min(k, n - k) < FEWEST_POSITIVE
    ]


def _policies(half: Scored) -> dict[str, list[float] | None]:
    """Policy → the threshold of each group; None for the decisions as they are."""
    score, actual, weight = half.columns["y_score"], half.columns["actual"], half.weight
    groups = half.by_group()
    share = float(np.average(half.columns["selected"], weights=weight))
    blind = Cuts.of(score, weight).at(share)
    right = most_accurate(score, actual, weight)
    return {
        GIVEN: None,
        BLIND: [blind] * len(groups),
        ACCURATE: [right] * len(groups),
        PARITY: [Cuts.of(score[g], weight[g]).at(share) for g in groups],
        RECALL: cuts_of_equal_recall(score, actual, weight, groups, share),
        OWN: [most_accurate(score[g], actual[g], weight[g]) for g in groups],
    }


def _report(
    policies: Mapping[str, list[float] | None],
    half: Scored,
    declared: Declared,
    analysis: Analysis,
    *,
    weighted: bool,
) -> None:
    """What each policy gives in rows that did not choose it: claims, rates by group, costs."""
    attribute, level = half.groups.attribute, declared.level
    blind = half.decided(policies[BLIND])
    rates: list[dict[str, Scalar]] = []
    costs: list[dict[str, Scalar]] = []
    found = []
    for policy, cuts in policies.items():
        cells = half.cells(cuts, weighted=weighted)
        reference = reference_of(cells, attribute, declared, analysis, size=lambda c: c.moments.weight)
        claims = [c for c in label_claims(cells[0].moments.names, declared) if c.primary]
        where = f"thresholds {policy}"
        compare(
            [] if policy == GIVEN else against(cells, reference),
            claims,
            declared,
            analysis,
            family=f"{attribute}, {where}",
            given=where,
            headline=False,
        )
        at: Sequence[float | None] = cuts or [None] * len(half.groups.labels)
        of = dict(zip(half.groups.labels, at, strict=True))
        rates += [_rates(policy, c, of.get(c.label), level) for c in cells]
        cost = _cost(half, half.decided(cuts), blind, level)
        changed = {"changed": int((half.decided(cuts) != blind).sum())}
        costs.append(_costs(policy, cells, half, cuts, cost) | changed)
        if policy not in (GIVEN, BLIND):
            item = Estimate(
                measure="accuracy, against one threshold for all",
                contrast="difference",
                group=str(Label.of("thresholds", policy)),
                reference=str(Label.of("thresholds", BLIND)),
                given=f"by {attribute}",
                n=len(blind),
            )
            found.append(evidence(item, cost))
    analysis.findings += judge(found, tolerance=None, family=f"{attribute}, cost of thresholds")
    analysis.exhibits[f"thresholds by {attribute}"] = Exhibit.of(
        f"Thresholds by {attribute}: what each policy gives",
        rates,
        note="Chosen on a random half of the rows, reported on the other. Selected are scores strictly above"
        f" the threshold. {100 * level:.0f} % Wilson intervals of the selection rate.",
    )
    analysis.exhibits[f"cost of thresholds by {attribute}"] = Exhibit.of(
        f"What equalising costs, by {attribute}",
        costs,
        note="Cost: accuracy minus that of one threshold for all which selects as many; a paired difference"
        " of the same people. Impact ratio: lowest rate ÷ highest, not corrected for which two these are."
        " Changed: people who would be decided otherwise.",
    )


def _rates(policy: str, c: ClassCell, cut: float | None, level: float) -> dict[str, Scalar]:
    row: dict[str, Scalar] = {"policy": policy, "group": str(c.label)}
    row["threshold"] = None if cut is None or not np.isfinite(cut) else cut
    own = wilson(*counts_of(SELECTED, c.moments)[:2], level=level)
    row |= {"selection rate": own.value, "low": own.low, "high": own.high}
    for measure in (TPR, FPR, ACCURACY):
        x, n = counts_of(measure, c.moments)[:2]
        row[measure.name] = x / n if n > 0 else None
    return row | {"n": c.n}


def _cost(half: Scored, decided: FloatArray, blind: FloatArray, level: float) -> Inference:
    """Accuracy minus that of one threshold, of the same people."""
    actual = half.columns["actual"]
    gained = (decided == actual).astype(float) - (blind == actual)
    found = mean_change(gained, weight=half.weight, unit=half.unit, level=level)
    return found.with_(method=f"paired difference of accuracies on the second half: {found.method}")


def _costs(
    policy: str,
    cells: Sequence[ClassCell],
    half: Scored,
    cuts: Sequence[float] | None,
    cost: Inference,
) -> dict[str, Scalar]:
    total, level = float(half.weight.sum()), cost.level
    decided = half.decided(cuts)
    everyone = reduce(add, [c.moments for c in cells])
    own = wilson(*counts_of(ACCURACY, everyone)[:2], level=level)
    rates = [counts_of(SELECTED, c.moments)[:2] for c in cells]
    low, high = min(rates, key=lambda r: r[0] / r[1]), max(rates, key=lambda r: r[0] / r[1])
    ratio = four_fifths(*low, *high, level=level)
    found = [counts_of(TPR, c.moments)[:2] for c in cells]
    recall = [h / n for h, n in found if n > 0]
    return {
        "policy": policy,
        "selection rate": float(half.weight @ decided) / total,
        "accuracy": own.value,
        "low": own.low,
        "high": own.high,
        "cost in accuracy": cost.value,
        "cost low": cost.low,
        "cost high": cost.high,
        "impact ratio": ratio.ratio,
        "ratio low": ratio.interval.low,
        "ratio high": ratio.interval.high,
        "gap of true positive rates": max(recall) - min(recall) if recall else None,
    }


def _frontier(one: Scored, two: Scored, declared: Declared, analysis: Analysis) -> None:
    """Accuracy and parity at every share selected: one threshold for all, and one per group with equal
    rates."""
    level = 1.0 - (1.0 - declared.level) / (2 * len(SHARES))
    score, weight, attribute = one.columns["y_score"], one.weight, one.groups.attribute
    everyone, each = Cuts.of(score, weight), [Cuts.of(score[g], weight[g]) for g in one.by_group()]
    inside = [g for g in two.by_group() if len(g)]
    rows: list[dict[str, Scalar]] = []
    curves: list[dict[str, Scalar]] = []
    total = float(two.weight.sum())
    for share in SHARES:
        blind = [everyone.at(float(share))] * len(each)
        own = [cuts.at(float(share)) for cuts in each]
        for policy, cuts in ((BLIND, blind), (PARITY, own)):
            decided = two.decided(cuts)
            right = float(two.weight @ (decided == two.columns["actual"]))
            band = wilson(right / total * two.size, two.size, level=level)
            rates = [float(np.average(decided[g], weights=two.weight[g])) for g in inside]
            ratio = min(rates) / max(rates) if max(rates) > 0 else None
            row: dict[str, Scalar] = {"share selected": float(two.weight @ decided) / total}
            row |= {"accuracy": band.value, "low": band.low, "high": band.high, "impact ratio": ratio}
            rows.append(row | {"policy": policy})
        for c in two.cells(blind, weighted=bool((two.weight != 1).any())):
            curves.append({"share of everyone": float(share), **_rates("", c, blind[0], declared.level)})
    analysis.exhibits[f"frontier by {attribute}"] = Exhibit.of(
        f"Accuracy, selection and parity by {attribute}",
        rows,
        note="At each share selected: accuracy with one threshold for all, and with one per group that makes"
        f" selection rates equal. Chosen on the first half, reported on the second;"
        f" {100 * declared.level:.0f} % band over all of it (Wilson, Bonferroni). The impact ratio is the"
        " lowest rate ÷ the highest.",
        chart="line",
        encode={"x": "share selected", "y": "accuracy", "low": "low", "high": "high", "color": "policy"},
    )
    analysis.exhibits[f"curves by {attribute}"] = Exhibit.of(
        f"One threshold for all, by {attribute}",
        [{k: v for k, v in row.items() if k != "policy"} for row in curves],
        note="Rates of each group at thresholds that select so many of everyone.",
        chart="line",
        encode={
            "x": "share of everyone",
            "y": "selection rate",
            "low": "low",
            "high": "high",
            "color": "group",
        },
    )

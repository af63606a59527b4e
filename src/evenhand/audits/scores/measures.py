"""The field's own measures of scores, as described estimates: sensitivity, deviation, range, label and identity AUC."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evenhand._analysis import Analysis
from evenhand._estimate import Evidence, evidence
from evenhand._judge import judge
from evenhand._labels import Label
from evenhand._model import BoolArray, Estimate, Exhibit, FloatArray, IntArray, Observations, Scalar
from evenhand.audits.scores.claims import Question, sides_of
from evenhand.measures import identity_auc
from evenhand.measures.scores import (
    counterfactual_token_gap,
    group_fairness,
    individual_fairness,
    invariance_failure_rate,
    label_distance,
    score_deviation,
    score_range,
    score_sensitivity,
)
from evenhand.stats.interval import Inference

MOST_CELLS = 4_000_000
MOST_DISTANCES = 50_000
"""Wasserstein distances that individual fairness may take; beyond, an even sample of the texts stands for all."""


@dataclass(frozen=True, kw_only=True)
class Wide:
    """Scores of one attribute as texts × terms: (T, N) means of the cells, NaN where there is none.

    Args:
        scores: (T, N). base: (T,) the control's score of each text, NaN where there is none.
        groups: (N,) code of each term's group. terms: names of the columns.
        toxic: (T,) label of each text where labels were given.
    """

    scores: FloatArray
    base: FloatArray
    groups: npt.NDArray[np.intp]
    levels: tuple[str, ...]
    label: FloatArray | None = None


def add_measures(
    observations: Observations,
    asked: Question,
    analysis: Analysis,
    *,
    threshold: float | None = None,
    name: str | None = None,
) -> None:
    """Estimates without a verdict: how far scores move between terms of the same text, by the field's definitions."""
    if "text" not in observations.units and not asked.samples:
        return
    items: list[Evidence] = []
    fairness: dict[str, list[Scalar]] = {"attribute": [], "group": [], "distance from all groups": []}
    for attribute in asked.attributes:
        wide = _wide(observations, asked, attribute, name)
        if wide is None:
            continue
        items += _spread(wide, attribute, asked, threshold)
        for code, distance in group_fairness(wide.scores, wide.groups).items():
            fairness["attribute"].append(attribute)
            fairness["group"].append(wide.levels[code])
            fairness["distance from all groups"].append(distance if np.isfinite(distance) else None)
    analysis.findings += judge(items, tolerance=None, family="measures", correction="none")
    if fairness["group"]:
        title = "Group fairness" if name is None else f"Group fairness: {', '.join(asked.attributes)}"
        analysis.exhibits[title.lower()] = Exhibit(
            title=title,
            columns=fairness,
            note="Wasserstein-1 distance of each group's scores from those of all groups (Huang et al. 2020). A description.",
        )


def _wide(observations: Observations, asked: Question, attribute: str, part: str | None) -> Wide | None:
    text_unit = next((u for u in asked.samples if u != asked.nested), None)
    column = asked.nested or ("term" if "term" in observations.units else None)
    if text_unit is None:
        return None
    texts = observations.units[text_unit]
    factor = observations.groups[attribute]
    terms = observations.units[column] if column is not None else factor
    score = observations.columns[asked.score]
    rows = (factor.codes >= 0) & (terms.codes >= 0) & (texts.codes >= 0) & np.isfinite(score)
    if not rows.any() or len(texts.levels) * len(terms.levels) > MOST_CELLS:
        return None
    shape = (len(texts.levels), len(terms.levels))
    cells = texts.codes[rows].astype(np.int64) * shape[1] + terms.codes[rows]
    scores = _cell_means(cells, score[rows], shape)
    group = np.full(shape[1], -1, dtype=np.intp)
    group[terms.codes[rows]] = factor.codes[rows]
    used = group >= 0
    label = _text_labels(observations, texts.codes, shape[0])
    kept = np.isfinite(scores[:, used]).any(axis=1)
    base = _base(observations, asked, texts.codes, shape[0], part)
    return Wide(
        scores=scores[kept][:, used],
        base=base[kept],
        groups=group[used],
        levels=factor.levels,
        label=None if label is None else label[kept],
    )


def _cell_means(cells: npt.NDArray[np.int64], values: FloatArray, shape: tuple[int, int]) -> FloatArray:
    size = shape[0] * shape[1]
    count = np.bincount(cells, minlength=size)
    total = np.bincount(cells, values, size)
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan).reshape(shape))


def _base(
    observations: Observations,
    asked: Question,
    texts: IntArray,
    n: int,
    part: str | None,
) -> FloatArray:
    role = observations.units.get("role")
    if role is None:
        return np.full(n, np.nan)
    score = observations.columns[asked.score]
    rows = role.is_level("control") & np.isfinite(score) & (texts >= 0)
    if part is not None and "category" in observations.units:
        rows &= observations.units["category"].is_level(part)
    return _cell_means(texts[rows].astype(np.int64), score[rows], (n, 1))[:, 0]


def _text_labels(observations: Observations, texts: IntArray, n: int) -> FloatArray | None:
    if "label" not in observations.columns:
        return None
    label = observations.columns["label"]
    rows = np.isfinite(label) & (texts >= 0)
    return _cell_means(texts[rows].astype(np.int64), label[rows], (n, 1))[:, 0]


def _spread(wide: Wide, attribute: str, asked: Question, threshold: float | None) -> list[Evidence]:
    level = asked.declared.level
    every = f"terms of {attribute}"
    found = [
        _described(asked.score, "score range", every, "the same text", score_range(wide.scores, level=level)),
        _described(
            asked.score, "score deviation", every, "the same text", score_deviation(wide.scores, level=level)
        ),
        _described(
            asked.score,
            "counterfactual token fairness gap",
            every,
            "the same text",
            counterfactual_token_gap(wide.scores, level=level),
        ),
        _described(
            asked.score,
            "individual fairness",
            f"groups of {attribute}",
            "the same text",
            _individual(wide, level),
        ),
    ]
    if wide.label is not None and (wide.label < 0.5).any():
        apart = counterfactual_token_gap(wide.scores, where=wide.label < 0.5, level=level)
        found.append(
            _described(
                asked.score,
                "counterfactual token fairness gap",
                every,
                "the same text",
                apart,
                given="label=0",
            )
        )
    if np.isfinite(wide.base).any():
        found += _against_control(wide, attribute, asked)
    if threshold is not None:
        found += _labels(wide, every, threshold, asked)
    return found


def _individual(wide: Wide, level: float) -> Inference:
    groups = len(np.unique(wide.groups))
    most = max(2, MOST_DISTANCES // max(1, groups * (groups - 1) // 2))
    step = -(-len(wide.scores) // most)
    return individual_fairness(wide.scores[::step], wide.groups, level=level)


def _against_control(wide: Wide, attribute: str, asked: Question) -> list[Evidence]:
    """ScoreSensitivity of each group: mean over its terms of the text with a term minus the text without."""
    means = []
    codes = np.unique(wide.groups)
    for code in codes:
        cells = wide.scores[:, wide.groups == code]
        count = np.isfinite(cells).sum(axis=1)
        means.append(np.where(count > 0, np.nansum(cells, axis=1) / np.maximum(count, 1), np.nan))
    found = []
    for code, inference in zip(
        codes, score_sensitivity(np.stack(means, axis=1), wide.base, level=asked.declared.level), strict=True
    ):
        label = str(Label.of(attribute, wide.levels[int(code)]))
        found.append(
            _described(asked.score, "score sensitivity", label, "the text without the term", inference)
        )
    return found


def _labels(wide: Wide, every: str, threshold: float, asked: Question) -> list[Evidence]:
    """Measures of label changes: a reply is positive from `threshold` on."""
    found = []
    known = np.isfinite(wide.scores).all(axis=1)
    with_base = known & np.isfinite(wide.base)
    if with_base.any():
        distance = label_distance(wide.scores[with_base] >= threshold, wide.base[with_base] >= threshold)
        found.append(_described(asked.score, "label distance", every, "the text without the term", distance))
    inside = bool(((wide.scores[known] >= 0) & (wide.scores[known] <= 1)).all()) if known.any() else False
    if inside:
        scores = wide.scores[known].ravel()
        cases = np.repeat(np.arange(int(known.sum())), wide.scores.shape[1])
        label = (scores >= threshold).astype(np.intp)
        rate = invariance_failure_rate(
            label, np.column_stack([1 - scores, scores]), cases, level=asked.declared.level
        )
        found.append(_described(asked.score, "invariance failure", every, "the same text", rate))
    return found


def _described(
    score: str, measure: str, group: str, reference: str, inference: Inference, given: str | None = None
) -> Evidence:
    units = {"text": int(inference.detail["texts"])} if "texts" in inference.detail else {}
    n = int(inference.detail.get("n", inference.detail.get("pairs", units.get("text", 0))))
    estimate = Estimate(
        measure=f"{measure} of {score}",
        contrast="mean within texts",
        group=group,
        reference=reference,
        given=given,
        n=n,
        units=units,
    )
    return evidence(estimate, inference.with_(p_value=None) if measure != "score sensitivity" else inference)


def add_labels(observations: Observations, asked: Question, analysis: Analysis) -> None:
    """Subgroup, BPSN and BNSP AUC and the equality gaps of every group against the background (Borkan et al. 2019)."""
    score, label = observations.columns[asked.score], observations.columns["label"]
    usable: BoolArray = np.isfinite(score) & np.isfinite(label)
    items = []
    for attribute in asked.attributes:
        for side in sides_of(observations, attribute):
            for measure, function in MEASURES.items():
                inference = function(
                    score[usable], label[usable] > 0.5, side.rows[usable], level=asked.declared.level
                )
                estimate = Estimate(
                    measure=f"{measure} of {asked.score}",
                    contrast="AUC" if "AUC" in measure else "AUC − ½",
                    group=str(side.label),
                    reference="background",
                    n=int(usable.sum()),
                    n_group=int((side.rows & usable).sum()),
                    n_reference=int((~side.rows & usable).sum()),
                )
                items.append(evidence(estimate, inference))
    analysis.findings += judge(
        items, tolerance=None, family="identity AUC", correction=asked.declared.correction
    )


MEASURES = {
    "subgroup AUC": identity_auc.subgroup_auc,
    "BPSN AUC": identity_auc.bpsn_auc,
    "BNSP AUC": identity_auc.bnsp_auc,
    "positive AEG": identity_auc.positive_aeg,
    "negative AEG": identity_auc.negative_aeg,
}

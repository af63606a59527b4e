"""The field's own measures of scores, without a verdict: sensitivity, range, label changes, identity AUCs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from evenhand._analysis import Analysis
from evenhand._errors import DataError, UsageError
from evenhand._estimate import Evidence, evidence
from evenhand._judge import judge
from evenhand._labels import Label
from evenhand._model import BoolArray, Estimate, Exhibit, Factor, FloatArray, IntArray, Observations, Scalar
from evenhand.audits.scores.sides import LABEL, Question, sides_of
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
from evenhand.stats.rates import wilson

MOST_CELLS = 4_000_000
MOST_DISTANCES = 50_000
"""Wasserstein distances that individual fairness may take; beyond, an even sample of texts stands for all."""


@dataclass(frozen=True, kw_only=True)
class Wide:
    """Scores of one attribute as texts × terms: (T, N) means of the cells, NaN where there is none.

    Args:
        scores: (T, N). base: (T,) the control's score of each text, NaN where there is none.
        groups: (N,) code of each term's group, into `levels`.
        label: (T,) label of each text where labels were given.
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
    part: str | None = None,
) -> None:
    """How far scores move between terms of the same text, by the field's definitions.

    Args:
        part: the level of the unit `category` whose controls count, in a design of several parts.
    """
    items: list[Evidence] = []
    rows: list[Mapping[str, Scalar]] = []
    for attribute in asked.attributes:
        wide = _wide(observations, asked, attribute, part)
        if wide is None:
            continue
        items += _spread(wide, attribute, asked)
        if asked.classes:
            items += _changes_of_class(observations, asked, attribute, part)
        rows += [
            {"attribute": attribute, "group": wide.levels[code], "distance from all groups": distance}
            for code, distance in group_fairness(wide.scores, wide.groups).items()
        ]
    analysis.findings += judge(items, tolerance=None, family="measures", correction="none")
    title = "Group fairness" if part is None else f"Group fairness: {', '.join(asked.attributes)}"
    note = (
        "Wasserstein-1 distance of each group's scores from those of all groups (Huang et al. 2020). A"
        " description."
    )
    analysis.show({title.lower(): Exhibit.of(title, rows, note=note)})


def _wide(observations: Observations, asked: Question, attribute: str, part: str | None) -> Wide | None:
    """None where no texts were sampled, or their table of texts × terms would be too large."""
    text_unit = next((u for u in asked.samples if u != asked.nested), None)
    if text_unit is None:
        return None
    column = asked.nested or ("term" if "term" in observations.units else None)
    texts = observations.units[text_unit]
    factor = observations.groups[attribute]
    terms = observations.units[column] if column is not None else factor
    score = observations.columns[asked.score]
    shape = (len(texts.levels), len(terms.levels))
    if shape[0] * shape[1] > MOST_CELLS:
        return None
    rows = (factor.codes >= 0) & (terms.codes >= 0) & (texts.codes >= 0) & np.isfinite(score)
    if not rows.any():
        return None
    cells = texts.codes[rows].astype(np.int64) * shape[1] + terms.codes[rows]
    times = None if observations.count is None else observations.count[rows]
    scores = _cell_means(cells, score[rows], shape, times)
    group = np.full(shape[1], -1, dtype=np.intp)
    group[terms.codes[rows]] = factor.codes[rows]
    used = group >= 0
    kept = np.isfinite(scores[:, used]).any(axis=1)
    label = observations.columns.get(LABEL)
    return Wide(
        scores=scores[kept][:, used],
        base=_of_texts(observations, score, texts, _control(observations, part))[kept],
        groups=group[used],
        levels=factor.levels,
        label=None if label is None else _of_texts(observations, label, texts)[kept],
    )


def _cell_means(
    cells: npt.NDArray[np.int64], values: FloatArray, shape: tuple[int, int], times: IntArray | None = None
) -> FloatArray:
    size = shape[0] * shape[1]
    count = np.bincount(cells, times, minlength=size)
    total = np.bincount(cells, values if times is None else values * times, size)
    return np.asarray(np.where(count > 0, total / np.maximum(count, 1), np.nan).reshape(shape))


def _of_texts(
    observations: Observations, values: FloatArray, texts: Factor, among: BoolArray | None = None
) -> FloatArray:
    """(T,) mean of each text's values; NaN where it has none."""
    rows = np.isfinite(values) & (texts.codes >= 0) & (True if among is None else among)
    times = None if observations.count is None else observations.count[rows]
    codes = texts.codes[rows].astype(np.int64)
    return _cell_means(codes, values[rows], (len(texts.levels), 1), times)[:, 0]


def _control(observations: Observations, part: str | None) -> BoolArray:
    """Rows of texts without a term; those of `part` only, where there are several."""
    role = observations.units.get("role")
    if role is None:
        return np.zeros(len(observations), dtype=np.bool_)
    rows = role.is_level("control")
    if part is not None and "category" in observations.units:
        rows = rows & observations.units["category"].is_level(part)
    return rows


def _spread(wide: Wide, attribute: str, asked: Question) -> list[Evidence]:
    level = asked.declared.level
    every = f"terms of {attribute}"
    told = partial(_described, asked.score)
    fairness_gap = "counterfactual token fairness gap"
    found = [
        told("score range", every, score_range(wide.scores, level=level)),
        told("score deviation", every, score_deviation(wide.scores, level=level)),
        told(fairness_gap, every, counterfactual_token_gap(wide.scores, level=level)),
        told("individual fairness", f"groups of {attribute}", _individual(wide, level)),
    ]
    if wide.label is not None and (wide.label < 0.5).any():
        apart = counterfactual_token_gap(wide.scores, where=wide.label < 0.5, level=level)
        found.append(told(fairness_gap, every, apart, given="label=0"))
    if np.isfinite(wide.base).any():
        found += _against_control(wide, attribute, asked)
    if asked.threshold is not None:
        found += _changes_of_label(wide, every, asked.threshold, asked)
    return found


def _individual(wide: Wide, level: float) -> Inference:
    groups = len(np.unique(wide.groups))
    most = max(2, MOST_DISTANCES // max(1, groups * (groups - 1) // 2))
    step = -(-len(wide.scores) // most)
    return individual_fairness(wide.scores[::step], wide.groups, level=level)


def _against_control(wide: Wide, attribute: str, asked: Question) -> list[Evidence]:
    """ScoreSensitivity of each group: mean over its terms of the text with a term minus the text without."""
    codes = np.unique(wide.groups)
    means = []
    for code in codes:
        cells = wide.scores[:, wide.groups == code]
        count = np.isfinite(cells).sum(axis=1)
        means.append(np.where(count > 0, np.nansum(cells, axis=1) / np.maximum(count, 1), np.nan))
    moved = score_sensitivity(np.stack(means, axis=1), wide.base, level=asked.declared.level)
    labels = [str(Label.of(attribute, wide.levels[int(code)])) for code in codes]
    return [
        _described(asked.score, "score sensitivity", label, inference, WITHOUT)
        for label, inference in zip(labels, moved, strict=True)
    ]


def _changes_of_label(wide: Wide, every: str, threshold: float, asked: Question) -> list[Evidence]:
    """Measures of label changes: a reply is positive from `threshold` on."""
    found = []
    known = np.isfinite(wide.scores).all(axis=1)
    with_base = known & np.isfinite(wide.base)
    if with_base.any():
        distance = label_distance(wide.scores[with_base] >= threshold, wide.base[with_base] >= threshold)
        found.append(_described(asked.score, "label distance", every, distance, WITHOUT))
    scores = wide.scores[known].ravel()
    if len(scores) and bool(((scores >= 0) & (scores <= 1)).all()):
        cases = np.repeat(np.arange(int(known.sum())), wide.scores.shape[1])
        label = (scores >= threshold).astype(np.intp)
        shares = np.column_stack([1 - scores, scores])
        rate = invariance_failure_rate(label, shares, cases, level=asked.declared.level)
        found.append(_described(asked.score, "invariance failure", every, rate))
    return found


def checked_classes(classes: Sequence[str]) -> tuple[str, ...]:
    """The scores of all classes.

    Raises:
        UsageError: `classes` where there are fewer than two, or one twice.
    """
    names = (classes,) if isinstance(classes, str) else tuple(classes)
    if names and len(set(names)) < max(2, len(names)):
        raise UsageError(
            "classes",
            "a label is the likeliest of several classes",
            given=", ".join(names),
            expected="the columns with the chances of all classes, e.g. negative, neutral, positive",
        )
    return names


def _changes_of_class(
    observations: Observations, asked: Question, attribute: str, part: str | None
) -> list[Evidence]:
    """Measures of label changes where a reply's label is the likeliest of several classes.

    Raises:
        DataError: `classes` where the chances are none.
    """
    whole = np.column_stack([observations.columns[name] for name in asked.classes])
    known = np.isfinite(whole).all(axis=1)
    among = observations.take(known)
    ends = [span for name in asked.classes if (span := among.span(name)) is not None]
    low, high = min((span[0] for span in ends), default=0.0), max((span[1] for span in ends), default=0.0)
    if not (low >= 0 and high <= 1):
        raise DataError(
            "classes",
            f"the chances of {', '.join(asked.classes)} leave 0 to 1",
            given=f"{low:g} to {high:g}",
        )
    kept = {name: np.where(known, whole[:, k], np.nan) for k, name in enumerate(asked.classes)}
    complete = replace(observations, columns={**observations.columns, **kept})
    each = [_wide(complete, replace(asked, score=name), attribute, part) for name in asked.classes]
    wide = [w for w in each if w is not None]
    if len(wide) < len(asked.classes):
        return []
    scores, base = np.stack([w.scores for w in wide], axis=-1), np.stack([w.base for w in wide], axis=-1)
    every, level = f"terms of {attribute}", asked.declared.level
    named = f"the likeliest of {', '.join(asked.classes)}"
    found = []
    full = np.isfinite(scores).all(axis=(1, 2))
    if full.any():
        shares = scores[full].reshape(-1, len(asked.classes))
        cases = np.repeat(np.arange(int(full.sum())), scores.shape[1])
        rate = invariance_failure_rate(shares.argmax(axis=1), shares, cases, level=level)
        found.append(_described(named, "invariance failure", every, rate))
    beside = full & np.isfinite(base).all(axis=1)
    if beside.any():
        changed = scores[beside].argmax(axis=-1) != base[beside].argmax(axis=-1)[:, None]
        any_term = wilson(int(changed.any(axis=1).sum()), len(changed), level=level)
        found.append(_described(named, "label changed by some term", every, any_term, WITHOUT))
    return found


WITHOUT = "the text without the term"


def _described(
    score: str,
    measure: str,
    group: str,
    inference: Inference,
    reference: str = "the same text",
    given: str | None = None,
) -> Evidence:
    units = {"text": int(inference.detail["texts"])} if "texts" in inference.detail else {}
    estimate = Estimate(
        measure=f"{measure} of {score}",
        contrast="mean within texts",
        group=group,
        reference=reference,
        given=given,
        n=int(inference.detail.get("n", inference.detail.get("pairs", units.get("text", 0)))),
        units=units,
    )
    return evidence(estimate, inference if measure == "score sensitivity" else inference.with_(p_value=None))


def add_labels(observations: Observations, asked: Question, analysis: Analysis) -> None:
    """AUCs and equality gaps of every group against the background (Borkan et al. 2019)."""
    score, label = observations.columns[asked.score], observations.columns[LABEL]
    usable: BoolArray = np.isfinite(score) & np.isfinite(label)
    items = []
    for side in (side for attribute in asked.attributes for side in sides_of(observations, attribute)):
        inside = side.rows[usable]
        over = {
            u: observations.units[u].codes[usable]
            for u in asked.samples
            if u != asked.nested or len(np.unique(observations.units[u].codes[side.rows & usable])) > 1
        }
        for measure, function in MEASURES.items():
            inference = function(
                score[usable], label[usable] > 0.5, inside, units=over, level=asked.declared.level
            )
            estimate = Estimate(
                measure=f"{measure} of {asked.score}",
                contrast="AUC" if "AUC" in measure else "AUC − ½",
                group=str(side.label),
                reference="background",
                n=len(inside),
                n_group=int(inside.sum()),
                n_reference=int((~inside).sum()),
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

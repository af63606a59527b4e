"""Rows of class labels reduced to sums for each group, of rows in memory or of a streamed file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand._errors import DataError
from evenhand._labels import Attribute, Grouped, Label, groupings
from evenhand._model import BoolArray, FloatArray, IntArray
from evenhand._vocabulary import Positive, Vocabulary, reconciled
from evenhand.audits.predictions.batches import Taking, seen_in
from evenhand.audits.predictions.cells import (
    BINS,
    EVERYONE,
    Cell,
    Loose,
    bin_of,
    doubtful,
    scores_at,
    with_chances,
)
from evenhand.audits.predictions.roles import Intake, Named
from evenhand.audits.predictions.rows import Chosen, Rows, check_weights, rows_by_level
from evenhand.audits.predictions.sources import Cells, Finds, Source, Stratum, in_memory, totals_of, within_of
from evenhand.engines.streamed import Streamed
from evenhand.measures import classification as cls
from evenhand.stats.histogram import Scores
from evenhand.stats.missing_groups import Unlabelled
from evenhand.stats.moments import Moments, moments, moments_of_units

CALIBRATION_BINS = 10
RIGHT = ""
"""The name under which rows are counted as right or wrong whatever their class: "selected" are those that are
right, and all are of the class, so that the accuracy of this class is that of all."""
MOST_LABELS = 50
NEEDS: Mapping[str, tuple[str, ...]] = {
    "sel": ("selected",),
    "act": ("actual",),
    "tp": ("selected", "actual"),
    "s": ("y_score",),
    "ss": ("y_score",),
    "sy": ("y_score", "actual"),
}
"""Term → the columns that it is made of."""


@dataclass(frozen=True, kw_only=True)
class ClassCell(Cell):
    """A group: sums of the class terms.

    Args:
        positives, negatives: the scores of those who are and who are not of the class.
        calibration: (7, bins) sums within equal bins of the score, see `calibration_sums`.
    """

    positives: Scores | None = None
    negatives: Scores | None = None
    calibration: FloatArray | None = None

    def __add__(self, other: Cell) -> ClassCell:
        if not isinstance(other, ClassCell):
            raise TypeError(type(other).__name__)
        both = (self.positives, other.positives, self.negatives, other.negatives)
        return ClassCell(
            label=self.label,
            moments=self.moments + other.moments,
            top=self.top + other.top,
            scores=self.scores,
            positives=None if both[0] is None or both[1] is None else both[0] + both[1],
            negatives=None if both[2] is None or both[3] is None else both[2] + both[3],
            calibration=None
            if self.calibration is None or other.calibration is None
            else self.calibration + other.calibration,
        )


@dataclass(frozen=True, kw_only=True)
class Classes:
    """A group, counted for each of several classes against the rest.

    Args:
        of: class → its sums.
    """

    label: Label
    of: Mapping[str, ClassCell]

    def beside(self, rest: Loose) -> Classes:
        """The classes, with the rows that may be of the group too."""
        return (
            self
            if not rest
            else replace(
                self, of={name: replace(own, unlabelled=rest[name]) for name, own in self.of.items()}
            )
        )

    def __add__(self, other: Classes) -> Classes:
        return Classes(label=self.label, of={name: own + other.of[name] for name, own in self.of.items()})


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """The source of an audit of class labels.

    Args:
        words: the labels. compared: those that are held against the rest; several for more than two classes.
    """

    words: Vocabulary
    compared: Sequence[str]
    source: Source[Classes]

    def only(self, crossing: bool) -> Labelled:
        """Without the crossed attribute, unless it is asked for."""
        return replace(self, source=self.source.only(crossing))

    def favourable(self, positive: Positive) -> str:
        """The favourable class, as `Vocabulary.favourable`."""
        return self.words.favourable(positive)

    @property
    def overall(self) -> Source[ClassCell] | None:
        """Right or wrong whatever the class, where there are several classes and outcomes."""
        several = len(self.compared) > 1 and self.words.true is not None
        return self.against_rest(RIGHT) if several else None

    def against_rest(self, name: str) -> Source[ClassCell]:
        """One class against the rest."""
        return self.source.of(lambda c: c.of[name])


def compared_labels(words: Vocabulary, positive: Positive) -> list[str]:
    """The favourable class; or, where none is named, each of more than two.

    Raises:
        DataError: `not-labels`. UsageError: as `Vocabulary.favourable`.
    """
    check_labels(words.predicted)
    return words.levels if positive is None and len(words.levels) > 2 else [words.favourable(positive)]


def check_labels(predicted: Sequence[str]) -> None:
    """DataError (`not-labels`) where there are too many different predictions to be class labels."""
    if len(predicted) > MOST_LABELS:
        raise DataError(
            "not-labels",
            f"the predictions have {len(predicted)} distinct values: too many to be class labels",
            given=", ".join(list(predicted)[:4]),
            expected=f"at most {MOST_LABELS} labels",
            hint='numbers are audited with task="regression", or turned into labels at a threshold'
            " beforehand",
        )


def class_columns(rows: Rows, label: str, *, scored: bool) -> dict[str, FloatArray]:
    """Whether each row is selected for the class and is of it, as 0 and 1; and its score where `scored`.

    Raises:
        DataError: `not-probabilities`.
    """
    columns = {"selected": rows.labels["y_pred"].is_level(label).astype(float)}
    if "y_true" in rows.labels:
        columns["actual"] = rows.labels["y_true"].is_level(label).astype(float)
    if "y_score" in rows.columns and scored:
        score = rows.columns["y_score"]
        outside = int(((score < 0) | (score > 1)).sum())
        if outside:
            raise DataError(
                "not-probabilities",
                f"{outside} of {len(score)} scores lie outside 0 to 1",
                given=f"{score.min():g} to {score.max():g}",
                expected="probabilities of the favourable class",
                hint='scores on another scale are audited as y_pred with task="regression"',
            )
        columns["y_score"] = score
    return columns


def class_cells(
    columns: Mapping[str, FloatArray],
    weight: FloatArray | None,
    groups: Grouped,
    within: BoolArray | None = None,
    *,
    unit: IntArray | None = None,
    binned: bool = False,
) -> list[ClassCell]:
    """One cell for each level that has rows."""
    if weight is None and unit is None and "y_score" not in columns:
        codes = groups.factor.codes if within is None else np.where(within, groups.factor.codes, -1)
        every = zip(groups.labels, _counted(columns, codes, len(groups.labels)), strict=True)
        return [_plain(label, made) for label, made in every if made.n]
    found = zip(groups.labels, rows_by_level(groups.factor, within), strict=True)
    return [
        class_cell(columns, weight, rows, label, unit=unit, binned=binned)
        for label, rows in found
        if len(rows)
    ]


def _counted(columns: Mapping[str, FloatArray], codes: IntArray, levels: int) -> list[Moments]:
    """The sums of each level, of rows that count alike: how many are selected, of the class, and both.

    Args:
        codes: (n,) levels, negative for rows to leave out.
    """
    parts = [columns[name] > 0 for name in ("selected", "actual") if name in columns]
    at: npt.NDArray[np.signedinteger[Any]] = (np.maximum(codes, -1) + 1).astype(
        np.int16 if levels < 1 << 12 else np.int64
    )
    for part in parts:
        at += at
        at += part
    shape = (levels + 1, *[2] * len(parts))
    counts = np.bincount(at, minlength=int(np.prod(shape))).reshape(shape)[1:].astype(float)
    found = []
    for own in counts:
        names: tuple[str, ...] = ("sel",)
        if len(parts) == 1:
            cross = np.array([[own[1]]])
        else:
            sel, act, both = own[1].sum(), own[:, 1].sum(), own[1, 1]
            names = ("sel", "act", "tp")
            cross = np.array([[sel, both, both], [both, act, both], [both, both, both]])
        n = float(own.sum())
        sums = np.diagonal(cross).copy()
        found.append(
            Moments(names=names, n=int(n), weight=n, weight2=n, sums=sums, sums2=sums.copy(), cross=cross)
        )
    return found


def _plain(label: Label, made: Moments) -> ClassCell:
    return ClassCell(label=label, moments=made, top=made, scores=NOTHING)


NOTHING = Scores(values=np.zeros(1), weight=np.zeros(1), weight2=np.zeros(1), n=0)
"""Labels have no scores."""


def class_cell(
    columns: Mapping[str, FloatArray],
    weight: FloatArray | None,
    rows: Chosen,
    label: Label,
    *,
    unit: IntArray | None = None,
    binned: bool = False,
) -> ClassCell:
    """The sums of some rows.

    Args:
        unit: (n,) codes, where rows belong to units.
        binned: scores are counted in `BINS` bins of 0 to 1, so that cells can be added; else they are exact.
    """
    part = {k: v[rows] for k, v in columns.items()}
    w = None if weight is None else weight[rows]
    names, terms = class_terms(part)
    made = moments(terms, names, w) if unit is None else moments_of_units(terms, names, unit[rows], w)
    positives = negatives = calibration = None
    if "y_score" in part and "actual" in part:
        if binned:
            grid, place = (np.arange(BINS) + 0.5) / BINS, bin_of(part["y_score"], 0.0, 1.0, BINS)
        else:
            grid, place = np.unique(part["y_score"], return_inverse=True)
        yes = part["actual"] > 0
        positives, negatives = (
            scores_at(place[side], None if w is None else w[side], grid) for side in (yes, ~yes)
        )
        calibration = calibration_sums(part["y_score"], part["actual"], w)
    return ClassCell(
        label=label,
        moments=made,
        top=made,
        scores=NOTHING,
        positives=positives,
        negatives=negatives,
        calibration=calibration,
    )


def class_terms(part: Mapping[str, FloatArray]) -> tuple[list[str], FloatArray]:
    """The terms that these columns allow, and (k, n) their values."""
    names = [n for n in cls.TERMS if set(NEEDS[n]) <= set(part)]
    return names, np.stack([cls.TERMS[n](part) for n in names])


def calibration_sums(score: FloatArray, actual: FloatArray, weight: FloatArray | None) -> FloatArray:
    """(7, bins): rows, Σw, Σw², Σws, Σwy, Σw²(s − y) and Σw²(s − y)² within equal bins of the score s."""
    place = np.minimum((score * CALIBRATION_BINS).astype(int), CALIBRATION_BINS - 1)
    w = np.ones(len(score)) if weight is None else weight
    gap = score - actual
    terms = (np.ones(len(score)), w, w * w, w * score, w * actual, w * w * gap, (w * gap) ** 2)
    return np.array([np.bincount(place, t, CALIBRATION_BINS) for t in terms])


def read_labels(
    rows: Rows, positive: Positive
) -> tuple[Vocabulary, list[str], dict[str, dict[str, FloatArray]]]:
    """The labels, those that are compared, and for each of these its columns.

    Raises:
        DataError, UsageError: as `compared_labels` and `class_columns`.
    """
    true = rows.labels.get("y_true")
    words = reconciled(rows.labels["y_pred"].levels, None if true is None else true.levels)
    compared = compared_labels(words, positive)
    if rows.of_second and len(compared) == 1 and words.is_first(compared[0]):
        rows = rows.with_column("y_score", 1 - rows.columns["y_score"])
    return words, compared, _columns(rows, compared)


def from_rows(rows: Rows, positive: Positive, *, crossing: bool) -> Labelled:
    """Rows in memory: exact scores.

    Raises:
        DataError, UsageError: as `compared_labels` and `class_columns`.
    """
    words, compared, columns = read_labels(rows, positive)

    known: dict[tuple[Attribute, Stratum], list[Classes]] = {}

    def cells(groups: Grouped, stratum: Stratum) -> list[Classes]:
        key = groups.attribute, stratum
        if key not in known:
            known[key] = _classes(rows, columns, groups, stratum, binned=False)
        return known[key]

    found = groupings(rows.groups, crossing=crossing)
    loose = partial(_loose, rows, columns)
    source = in_memory(rows, found, _everyone(rows, columns), cells, loose)
    return Labelled(words=words, compared=compared, source=source)


def from_file(large: Streamed, named: Named, positive: Positive, intake: Intake) -> Labelled:
    """Streamed data in two passes over their partitions: which labels there are, then sums. Nobody holds more
    than one batch and sums.

    Raises:
        DataError, UsageError: as `rows_of`, `compared_labels` and `class_columns`.
    """
    analysis, progress = intake.analysis, intake.progress
    taking = Taking(named=named, missing=intake.missing, labels=True)
    taking.look(large)  # what is wrong with a column is said first
    seen = large.total(partial(seen_in, taking.numbers_only, MOST_LABELS), progress)
    check_labels([*seen.predicted])
    if not seen.used:
        raise DataError("no-rows", "no row has all the values that the audit needs", given=large.name)
    check_weights(np.array([seen.weight]), named.weight)
    words = reconciled(seen.predicted, seen.true if named.y_true is not None else None)
    compared = compared_labels(words, positive)
    analysis.note(
        "streamed",
        f"{seen.used + seen.left:,} rows were streamed. Counts and sums are exact"
        + (f", and scores (of AUCs) to ±{0.5 / BINS:.3g}." if named.y_score and named.y_true else "."),
    )
    count = partial(_counted_labels, words, compared)
    sums = large.total(partial(totals_of, taking, intake.crossing, count), progress)
    sums.taken.tell(analysis)
    return Labelled(words=words, compared=compared, source=sums.source())


def _counted_labels(
    words: Vocabulary, compared: Sequence[str], rows: Rows
) -> tuple[Classes, Cells[Classes], Finds]:
    """Of the last pass."""
    rows = rows.in_words(words)
    columns = _columns(rows, compared)
    return (
        _everyone(rows, columns),
        partial(_classes, rows, columns, binned=True),
        partial(_loose, rows, columns),
    )


def _columns(rows: Rows, compared: Sequence[str]) -> dict[str, dict[str, FloatArray]]:
    """Class → its columns; scores belong to the one class that is compared. Of several classes also whether a
    row is right, under `RIGHT`."""
    found = {name: class_columns(rows, name, scored=len(compared) == 1) for name in compared}
    if len(compared) > 1 and "y_true" in rows.labels:
        right = np.sum([own["selected"] * own["actual"] for own in found.values()], axis=0)
        found[RIGHT] = {"selected": right, "actual": np.ones(len(rows))}
    return found


def _everyone(rows: Rows, columns: Mapping[str, Mapping[str, FloatArray]]) -> Classes:
    whole = {}
    for name, own in columns.items():
        labels = {k: v for k, v in own.items() if k != "y_score"}
        if rows.weight is None and rows.unit is None:
            whole[name] = _plain(EVERYONE, _counted(labels, np.zeros(len(rows), dtype=np.int32), 1)[0])
        else:
            whole[name] = class_cell(labels, rows.weight, slice(None), EVERYONE, unit=rows.unit)
    return Classes(label=EVERYONE, of=whole)


def _classes(
    rows: Rows,
    columns: Mapping[str, Mapping[str, FloatArray]],
    groups: Grouped,
    at: Stratum,
    *,
    binned: bool,
) -> list[Classes]:
    within = within_of(rows, at)
    each = [
        class_cells(own, rows.weight, groups, within, unit=rows.unit, binned=binned)
        for own in columns.values()
    ]
    return [
        Classes(label=same[0].label, of=dict(zip(columns, same, strict=True)))
        for same in zip(*each, strict=True)
    ]


def _loose(
    rows: Rows, columns: Mapping[str, Mapping[str, FloatArray]], groups: Grouped, at: Stratum
) -> dict[str, Unlabelled]:
    """Of each class the rows whose level is not known, or known by chances only."""
    chosen = doubtful(groups, rows.chances, within_of(rows, at))
    found = {}
    for name, own in columns.items() if len(chosen) else ():
        names, terms = class_terms({k: v[chosen] for k, v in own.items()})
        made = Unlabelled(
            names=tuple(names),
            n=len(chosen),
            terms=terms,
            weight=None if rows.weight is None else rows.weight[chosen],
            unit=None if rows.unit is None else rows.unit[chosen],
        )
        found[name] = with_chances(made, groups, rows.chances, chosen)
    return found

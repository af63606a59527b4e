"""What an attack wants, as losses and wins: a flip, a target label, or a score moved by an amount."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from evenhand._errors import SubjectError, UsageError
from evenhand._model import BoolArray, FloatArray, IntArray

Kind: TypeAlias = Literal["untargeted", "targeted", "minimise", "maximise"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Goal:
    """A goal for texts whose original scores are known; it is what `lockstep` calls to judge replies.

    Args:
        kind: `untargeted` (another label), `targeted` (that label), `minimise` or `maximise` (a score, by
            `amount`).
        names: the scores it reads, in the order of the columns.
        labels: what a reader calls the labels; two for a single score with a threshold.
        base: (T, k) scores of the unchanged texts. label: (T,) their labels; −1 without scores.
        threshold: of a single score; None where the largest of several scores decides.
    """

    kind: Kind
    names: tuple[str, ...]
    labels: tuple[str, ...]
    base: FloatArray
    label: IntArray
    threshold: float | None = None
    target: int = -1
    amount: float = 0.0
    notes: tuple[tuple[str, str], ...] = ()
    base_loss: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        loss, _ = self(self.base, np.arange(len(self.base)))
        object.__setattr__(self, "base_loss", loss)

    @property
    def attackable(self) -> BoolArray:
        """(T,) texts that have scores and have not reached the goal as they are."""
        usable = np.asarray(np.isfinite(self.base).all(axis=1), dtype=np.bool_)
        return np.asarray(usable & (self.label != self.target)) if self.kind == "targeted" else usable

    def labels_of(self, scores: FloatArray) -> IntArray:
        """Labels of rows of scores."""
        if self.threshold is not None:
            return np.asarray(scores[:, 0] >= self.threshold, dtype=np.int64)
        filled = np.where(np.isfinite(scores), scores, -np.inf)
        return np.asarray(np.argmax(filled, axis=1), dtype=np.int64)

    def __call__(self, scores: FloatArray, texts: Any, /) -> tuple[FloatArray, BoolArray]:
        """(loss, won): the loss falls as the goal comes nearer; a row without scores is NaN and no win."""
        finite = np.asarray(np.isfinite(scores).all(axis=1))
        own = self.label[texts]
        if self.kind in ("minimise", "maximise"):
            sign = 1.0 if self.kind == "minimise" else -1.0
            loss = sign * scores[:, 0]
            won = loss <= sign * self.base[texts, 0] - self.amount
        elif self.kind == "targeted":
            loss = -self._score_of(scores, np.full(len(scores), self.target))
            won = self.labels_of(scores) == self.target
        else:
            loss = self._score_of(scores, own)
            won = self.labels_of(scores) != own
        return loss, np.asarray(won & finite, dtype=np.bool_)

    def _score_of(self, scores: FloatArray, label: IntArray) -> FloatArray:
        """The score that speaks for a label; for a single score its distance beyond, or before, zero."""
        if self.threshold is not None:
            return np.asarray(np.where(label == 1, scores[:, 0], -scores[:, 0]))
        return np.asarray(scores[np.arange(len(scores)), np.maximum(label, 0)])


def goal_for(
    columns: dict[str, FloatArray],
    *,
    kind: Kind = "untargeted",
    score: str | None = None,
    labels: Sequence[str] | None = None,
    target: str | None = None,
    threshold: float | None = None,
    amount: float | None = None,
) -> Goal:
    """A goal from the replies to the unchanged texts and what the user asked for.

    Args:
        columns: name → scores of the unchanged texts.
        score: one score; its label is whether it reaches `threshold` (0.5 for probabilities).
        labels: the scores that are label probabilities; all of them by default.
        target: label of a targeted goal. amount: by which a score must move.

    Raises:
        UsageError: `unknown-goal`, `unknown-score`, `unknown-label`, `needs-threshold`, `needs-amount`,
            `label-scores`.
        SubjectError: `no-replies`.

    >>> g = goal_for({"spam": np.array([0.9]), "ham": np.array([0.1])})
    >>> g(np.array([[0.4, 0.6]]), np.array([0]))
    (array([0.4]), array([ True]))
    """
    if kind not in get_args(Kind):
        raise UsageError("unknown-goal", "there is no such goal", given=kind, available=get_args(Kind))
    names = list(columns)
    answered = any(bool(np.isfinite(values).any()) for values in columns.values())
    if not names or not answered:
        raise SubjectError(
            "no-replies", "the subject answered nothing", hint="every text failed; nothing can be attacked"
        )
    for name in [*(labels or ()), *([score] if score else [])]:
        if name not in names:
            raise UsageError("unknown-score", "the subject gives no such score", given=name, available=names)
    if score is None and len(names) == 1:
        score = names[0]
    if kind in ("minimise", "maximise"):
        return _moved(columns, kind, score, amount, names)
    if score is not None and labels is None:
        return _single(columns, kind, score, threshold, target)
    return _several(columns, kind, tuple(labels or names), target)


def _moved(
    columns: dict[str, FloatArray], kind: Kind, score: str | None, amount: float | None, names: list[str]
) -> Goal:
    if score is None:
        raise UsageError("unknown-score", f"the goal {kind!r} needs a score", given=None, available=names)
    if amount is None or not 0 < amount < float("inf"):
        raise UsageError(
            "needs-amount",
            f"the goal {kind!r} needs the amount by which {score!r} must move",
            given=amount,
            expected="a number above 0, e.g. 0.2",
        )
    base = columns[score][:, None]
    label = np.where(np.isfinite(base[:, 0]), 0, -1)
    return Goal(kind=kind, names=(score,), labels=(score,), base=base, label=label, amount=amount)


def _single(
    columns: dict[str, FloatArray], kind: Kind, score: str, threshold: float | None, target: str | None
) -> Goal:
    base = columns[score][:, None]
    finite = base[np.isfinite(base)]
    if threshold is None:
        if len(finite) and (finite.min() < 0 or finite.max() > 1):
            raise UsageError(
                "needs-threshold",
                f"{score!r} is no probability, so its label needs a threshold",
                given=f"values from {finite.min():g} to {finite.max():g}",
                hint="give --threshold, or --goal minimise/maximise with --amount",
            )
        threshold = 0.5
    names = (f"{score} < {threshold:g}", f"{score} ≥ {threshold:g}")
    label = np.where(np.isfinite(base[:, 0]), base[:, 0] >= threshold, -1).astype(np.int64)
    made = {"names": (score,), "labels": names, "base": base, "label": label, "threshold": threshold}
    if kind == "targeted":
        spoken = {"0": 0, "1": 1, "low": 0, "high": 1, names[0]: 0, names[1]: 1}
        if target not in spoken:
            raise UsageError(
                "unknown-label",
                "a targeted goal needs one of the labels",
                given=target,
                available=["low", "high"],
            )
        return Goal(kind=kind, target=spoken[target], **made)  # type: ignore[arg-type]
    return Goal(kind=kind, **made)  # type: ignore[arg-type]


def _several(columns: dict[str, FloatArray], kind: Kind, names: tuple[str, ...], target: str | None) -> Goal:
    base = np.column_stack([columns[n] for n in names])
    finite = base[np.isfinite(base).all(axis=1)]
    if len(names) < 2 or (len(finite) and finite.min() < -1e-9):
        raise UsageError(
            "label-scores",
            "these scores are not one probability for each label",
            given=", ".join(names),
            hint="name the label probabilities (labels=, --label), or one score and a threshold (score=,"
            " threshold=)",
        )
    notes = []
    off = np.abs(finite.sum(axis=1) - 1.0)
    if len(finite) and float(off.max()) > 0.01:
        text = (
            f"The scores of a text do not sum to 1 (by up to {off.max():.3g}); the largest still decides its"
            " label, and score"
            " changes are in the subject's own units."
        )
        notes.append(("not-probabilities", text))
    if len(finite) and bool(np.all((finite == 0) | (finite == 1))):
        text = (
            "The subject gives labels without probabilities: only flips are measured, and searches have"
            " nothing to follow."
        )
        notes.append(("hard-labels", text))
    label = np.where(np.isfinite(base).all(axis=1), np.argmax(np.nan_to_num(base, nan=-np.inf), axis=1), -1)
    wanted = -1
    if kind == "targeted":
        if target not in names:
            raise UsageError(
                "unknown-label", "a targeted goal needs one of the labels", given=target, available=names
            )
        wanted = names.index(target)
    return Goal(
        kind=kind,
        names=names,
        labels=names,
        base=base,
        label=label.astype(np.int64),
        target=wanted,
        notes=tuple(notes),
    )

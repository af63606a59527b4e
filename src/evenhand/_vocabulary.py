"""The words that labels are written in: which of them are the same, and which is the favourable class."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from evenhand._errors import DataError, UsageError
from evenhand._labels import natural
from evenhand._model import Factor

Positive: TypeAlias = str | int | float | bool | None
"""The favourable class, if the user names one."""
POSITIVES = frozenset({"1", "true", "yes", "y", "positive", "accepted", "hired"})
NEGATIVES = {
    "0": "1",
    "-1": "1",
    "false": "True",
    "no": "yes",
    "n": "y",
    "negative": "positive",
    "rejected": "accepted",
}
"""An obviously unfavourable class → what the other one is called where nobody has it."""
TRUTHS = {"true": "1", "false": "0"}


def spelled(level: str) -> str:
    """A label without what spelling adds to it: space around it, capitals, decimals of a whole number.

    >>> spelled(" Yes"), spelled("1.0"), spelled("-1")
    ('yes', '1', '-1')
    """
    plain = " ".join(level.split()).casefold()
    try:
        number = float(plain)
    except ValueError:
        return plain
    return str(int(number)) if number.is_integer() else str(number)


def as_number(level: str) -> str:
    """A spelled label, true and false as 1 and 0.

    >>> as_number("True"), as_number("0.0")
    ('1', '0')
    """
    plain = spelled(level)
    return TRUTHS.get(plain, plain)


def near_duplicates(levels: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of labels that differ by their spelling alone.

    >>> near_duplicates(["F", "M", "F "])
    [('F', 'F ')]
    """
    first: dict[str, str] = {}
    return [(first[key], x) for x in levels if first.setdefault(key := spelled(x), x) != x]


def listed(levels: Sequence[str], most: int = 8) -> str:
    """The labels as a message shows them, quoted so that a space is seen.

    >>> listed(["a", "b "]), listed([])
    ("'a', 'b '", 'nothing')
    """
    shown = ", ".join(map(repr, levels[:most])) or "nothing"
    return shown + (f" and {len(levels) - most} more" if len(levels) > most else "")


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """The labels of predictions and outcomes, in the outcomes' words.

    Args:
        predicted, true: the labels that occur, sorted; `true` is None without outcomes. renamed: a label of
            the predictions → what the outcomes call it.
    """

    predicted: tuple[str, ...]
    true: tuple[str, ...] | None = None
    renamed: Mapping[str, str] = field(default_factory=dict)

    @property
    def levels(self) -> list[str]:
        """Every label that is predicted or true, sorted."""
        return sorted({*self.predicted, *(self.true or ())})

    def is_first(self, level: str) -> bool:
        """Whether others stand after this label where classes are sorted: numbers by size, then text."""
        return any(natural(other) > natural(level) for other in self.levels)

    def of_predictions(self, found: Factor) -> Factor:
        """Predicted labels in the outcomes' words."""
        if not self.renamed:
            return found
        words = [self.renamed.get(level, level) for level in found.levels]
        levels = tuple(dict.fromkeys(words))
        place = np.array([*(levels.index(w) for w in words), -1], dtype=np.int32)
        return Factor(place[found.codes], levels)

    def favourable(self, positive: Positive) -> str:
        """The favourable class: named, or the obvious one of two.

        Raises:
            UsageError: `no-positive`, `unknown-class`.

        >>> Vocabulary(predicted=("no", "yes")).favourable(None)
        'yes'
        >>> Vocabulary(predicted=("0",), true=("0", "1")).favourable(True)
        '1'
        """
        return self._obvious() if positive is None else self._named(positive)

    def _obvious(self) -> str:
        levels = self.levels
        good = [level for level in levels if spelled(level) in POSITIVES]
        bad = [level for level in levels if spelled(level) in NEGATIVES]
        rest = [level for level in levels if level not in bad]
        if len(levels) == 1 and bad:
            return NEGATIVES[spelled(levels[0])]  # nobody is selected
        if 1 <= len(levels) <= 2 and len(rest) == 1:
            return rest[0] if len(levels) == 2 or good else self._ask()
        words = [level for level in good if not _is_number(level)]
        return words[0] if len(levels) == 2 and len(words) == 1 else self._ask()

    def _ask(self) -> str:
        raise UsageError(
            "no-positive",
            "which class is the favourable one?",
            expected="positive= (--positive), one of the labels",
            available=self.levels,
            hint='numbers that are no labels are audited with task="regression" (--task regression)',
        )

    def _named(self, positive: Positive) -> str:
        word = str(int(positive)) if isinstance(positive, float) and positive.is_integer() else str(positive)
        levels = self.levels
        found = next((x for x in levels if x == word), None)
        for form in (spelled, as_number):
            alike = [x for x in levels if form(x) == form(word)]
            found = alike[0] if found is None and len(alike) == 1 else found
        nobody = spelled(word) in POSITIVES and all(spelled(x) in NEGATIVES for x in levels)
        if found is None and self.true is None and nobody:
            return word
        if found is None or (self.true is not None and found not in self.true):
            outcomes = "" if self.true is None else f"; outcomes: {listed(self.true)}"
            what = "no label is this class" if found is None else "no outcome is of this class"
            raise UsageError(
                "unknown-class",
                what,
                given=word,
                expected=f"predictions: {listed(self.predicted)}{outcomes}",
                available=levels,
            )
        return found


def _is_number(level: str) -> bool:
    try:
        float(level)
    except ValueError:
        return False
    return True


def reconciled(predicted: Iterable[str], true: Iterable[str] | None) -> Vocabulary:
    """One vocabulary of predictions and outcomes: "Yes" and "yes", 1.0 and 1, True and 1 are the same label.

    Raises:
        DataError: `different-labels` where predictions and outcomes are evidently coded otherwise.

    >>> reconciled(["False", "True"], ["0", "1"]).renamed
    {'False': '0', 'True': '1'}
    >>> reconciled(["Yes", "no"], ["yes", "no"]).levels
    ['no', 'yes']
    """
    ours = tuple(sorted(set(predicted)))
    if true is None:
        return Vocabulary(predicted=ours)
    theirs = tuple(sorted(set(true)))
    if not _agree(ours, theirs):
        for form in (spelled, as_number):
            names = _renamed(ours, theirs, form)
            if names is not None:
                words = sorted({names.get(x, x) for x in ours})
                return Vocabulary(predicted=tuple(words), true=theirs, renamed=names)
        raise DataError(
            "different-labels",
            "predictions and outcomes are not coded in the same labels",
            given=f"predictions: {listed(ours)}; outcomes: {listed(theirs)}",
            expected="the same labels in both",
            hint="recode one of the two columns",
        )
    return Vocabulary(predicted=ours, true=theirs)


def _renamed(ours: Sequence[str], theirs: Sequence[str], form: Callable[[str], str]) -> dict[str, str] | None:
    """Prediction → outcome of the same form, where that makes one vocabulary and merges no two labels."""
    known = {form(x): x for x in theirs}
    mine = {form(x): x for x in ours}
    if len(known) < len(theirs) or len(mine) < len(ours) or not _agree(list(mine), list(known)):
        return None
    return {x: known[key] for key, x in mine.items() if key in known and known[key] != x}


def _agree(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    """Whether two lists of labels may be of one vocabulary, though either lacks some of it."""
    one, two = set(ours), set(theirs)
    if not one or not two or one <= two or two <= one:
        return True
    if len(one) <= 2 and len(two) <= 2:
        plain = {spelled(x) for x in one | two}
        return len(one | two) == 2 and len(plain & POSITIVES) == 1 and len(plain & NEGATIVES.keys()) == 1
    return 2 * len(one & two) >= min(len(one), len(two))

"""Tables become validated rows: what is missing is counted, noted and dropped, or a group of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from evenhand._analysis import Analysis
from evenhand._errors import DataError, UsageError
from evenhand._labels import UNKNOWN, natural
from evenhand._model import BoolArray, Factor, FloatArray, IntArray
from evenhand._table import factor, feature, numbers
from evenhand._vocabulary import Vocabulary, near_duplicates, reconciled
from evenhand.audits.predictions.roles import MISSING, Missing, Named

if TYPE_CHECKING:
    import pyarrow as pa

Chosen: TypeAlias = slice | npt.NDArray[np.intp]
"""Rows picked out of all."""
MOST_GROUPS = 200
"""More distinct labels than this are a feature or an identifier, not groups to compare."""


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Validated rows.

    Args:
        columns: ``y_pred`` and, where given, ``y_true``, ``y_score``, ``y_low``, ``y_high``; all finite for
            tasks on numbers.
        labels: true and predicted labels as Factors where they are text.
        groups, control: attribute → Factor. continuous: attribute → numbers.
        weight: case weights or None. dropped: rows left out. lists: the ranked list of each row, or None.
        unit: the unit of each row, or None where each is one.
        features: name → Factor or numbers, NaN where they are missing: over which subgroups are searched.
        absent: attribute → group → (rows without an outcome, all rows), before any is left out.
        of_second: the scores are those of the second of two classes, as these are sorted.
        chances: (n, k) of the levels of the only attribute, where groups are known by chances: then there is
            a row for each person and group, and `person` says whose it is.
    """

    columns: Mapping[str, FloatArray]
    groups: Mapping[str, Factor]
    control: Mapping[str, Factor] = field(default_factory=dict)
    continuous: Mapping[str, FloatArray] = field(default_factory=dict)
    labels: Mapping[str, Factor] = field(default_factory=dict)
    weight: FloatArray | None = None
    dropped: int = 0
    lists: Factor | None = None
    unit: IntArray | None = None
    features: Mapping[str, Factor | FloatArray] = field(default_factory=dict)
    absent: Mapping[str, Mapping[str, tuple[int, int]]] = field(default_factory=dict)
    of_second: bool = False
    chances: FloatArray | None = None
    person: IntArray | None = None

    @property
    def people(self) -> int:
        """Rows as they were handed over."""
        return len(self) if self.person is None else len(np.unique(self.person))

    def __len__(self) -> int:
        first: Mapping[str, Any] = self.groups or self.columns or self.labels or self.continuous
        return len(next(iter(first.values())))

    def take(self, rows: BoolArray | npt.NDArray[np.intp]) -> Rows:
        """The rows of a mask only, or of these places."""
        return replace(
            self,
            columns={k: v[rows] for k, v in self.columns.items()},
            groups={k: v[rows] for k, v in self.groups.items()},
            control={k: v[rows] for k, v in self.control.items()},
            continuous={k: v[rows] for k, v in self.continuous.items()},
            labels={k: v[rows] for k, v in self.labels.items()},
            features={k: v[rows] for k, v in self.features.items()},
            weight=None if self.weight is None else self.weight[rows],
            lists=None if self.lists is None else self.lists[rows],
            unit=None if self.unit is None else self.unit[rows],
            chances=None if self.chances is None else self.chances[rows],
            person=None if self.person is None else self.person[rows],
        )

    def in_words(self, words: Vocabulary) -> Rows:
        """The rows with predicted labels in the outcomes' words."""
        if not words.renamed:
            return self
        return replace(self, labels={**self.labels, "y_pred": words.of_predictions(self.labels["y_pred"])})

    def with_column(self, name: str, values: FloatArray) -> Rows:
        """The rows with one more column."""
        return replace(self, columns={**self.columns, name: values})

    def with_tau(self, tau: float | None) -> Rows:
        """The rows with the quantile that the model predicts as a column, where there is one."""
        return self if tau is None else self.with_column("tau", np.full(len(self), tau))


def rows_of(
    table: pa.Table,
    named: Named,
    *,
    missing: Missing,
    analysis: Analysis,
    labels: bool = False,
    part: bool = False,
) -> Rows:
    """Validated rows; what is missing is counted, noted and dropped (or an error, or a group of its own).

    Args:
        labels: predictions and outcomes are class labels, not numbers.
        part: the table is one of many parts, in which nothing may be left and a small number of rows proves
            nothing.

    Raises:
        DataError: `missing-values`, `infinite`, `bad-weights`, `too-many-groups`, `no-rows`.
    """
    if missing not in MISSING:
        raise UsageError("unknown-missing", "no such policy", given=missing, available=MISSING)
    roles = {"y_pred": named.y_pred} | ({"y_true": named.y_true} if named.y_true else {})
    columns = {role: numbers(table, name) for role, name in named.numeric().items()}
    if not labels:
        columns |= {role: numbers(table, name) for role, name in roles.items()}
    factors = _labels(table, roles, analysis, part=part) if labels else {}
    groups = {name: _group(table, name, missing, part) for name in named.columns}
    control = {name: _group(table, name, missing, part) for name in named.control}
    keep = np.ones(table.num_rows, dtype=bool)
    for role, values in columns.items():
        if role in ("y_pred", "y_true") and not part:
            _withhold_of_rounding(values, roles[role], analysis)
        keep &= _known(values, named.numeric().get(role, roles.get(role, role)), missing, analysis)
    for role, found in factors.items():
        keep &= _present(found.codes >= 0, roles[role], missing, analysis, "a label")
    for name, found in (groups | control).items():
        _near(name, found, analysis)
        _present(found.codes >= 0, name, missing, analysis, "a group")
    lists = None if named.lists is None else factor(table, named.lists)
    if lists is not None:
        keep &= _present(lists.codes >= 0, named.lists or "", missing, analysis, "a list")
    unit = None if named.unit is None else factor(table, named.unit).codes
    if unit is not None:
        keep &= _present(unit >= 0, named.unit or "", missing, analysis, "a unit")
    weight = columns.pop("weight", None)
    if weight is not None:
        check_weights(weight[keep], named.weight, part=part)
        if not part and len(np.unique(weight[keep])) == 1:
            analysis.note("equal-weights", f"All weights in {named.weight} are equal: they change nothing.")
            weight = None
    outcome = factors["y_true"].codes >= 0 if "y_true" in factors else None
    if "y_true" in columns:
        outcome = ~np.isnan(columns["y_true"])
    rows = Rows(
        absent={} if outcome is None else {n: _absent(f, ~outcome) for n, f in groups.items()},
        columns={k: v for k, v in columns.items() if k not in named.continuous},
        groups=groups,
        control=control,
        continuous={k: columns[k] for k in named.continuous},
        labels=factors,
        features={name: feature(table, name) for name in named.search},
        weight=weight,
        dropped=int((~keep).sum()),
        lists=lists,
        unit=unit,
        of_second=named.of_second,
    )
    if not (part or keep.any()):
        raise DataError("no-rows", "no row has all the values that the audit needs", given=table.num_rows)
    return rows if keep.all() else rows.take(keep)


def _labels(
    table: pa.Table, roles: Mapping[str, str], analysis: Analysis, *, part: bool
) -> dict[str, Factor]:
    """Role → its labels; of a whole table the predictions in the outcomes' words."""
    factors = {role: factor(table, name) for role, name in roles.items()}
    for role, found in factors.items():
        _near(roles[role], found, analysis)
    if part or "y_true" not in factors:
        return factors
    words = reconciled(factors["y_pred"].levels, factors["y_true"].levels)
    if words.renamed:
        pairs = ", ".join(f"{a!r} is {b!r}" for a, b in words.renamed.items())
        text = f"{roles['y_pred']} is read in the labels of {roles['y_true']}: {pairs}."
        analysis.note("labels-reconciled", text)
    return factors | {"y_pred": words.of_predictions(factors["y_pred"])}


def _near(name: str, found: Factor, analysis: Analysis) -> None:
    pairs = near_duplicates(found.levels)
    if pairs:
        shown = "; ".join(f"{a!r} and {b!r}" for a, b in pairs[:4])
        analysis.note(
            "near-duplicates",
            f"{name} has labels that differ by their spelling alone and are taken for different: {shown}.",
            warning=True,
        )


def _absent(groups: Factor, missing: BoolArray) -> dict[str, tuple[int, int]]:
    """(rows without an outcome, all rows) of each group."""
    counted, size = groups.codes + 1, len(groups.levels) + 1
    every = np.bincount(counted, minlength=size)[1:]
    lost = np.bincount(counted[missing], minlength=size)[1:] if missing.any() else np.zeros_like(every)
    return {level: (int(lost[i]), int(every[i])) for i, level in enumerate(groups.levels)}


MOST_ROUNDED = 0.25
"""Spacing of numbers of a size ÷ their spread, beyond which their differences are rounding."""


def _withhold_of_rounding(values: FloatArray, name: str, analysis: Analysis) -> None:
    """Nothing is judged where numbers are so large that they differ by little more than their rounding."""
    known = values[np.isfinite(values)]
    if not len(known):
        return
    size, spread = float(np.abs(known).max()), float(np.ptp(known))
    if spread > 0 and np.spacing(size) > MOST_ROUNDED * float(known.std()):
        why = (
            f"the values of {name} are near {size:.3g}, where numbers lie {np.spacing(size):.3g} apart, and"
            f" spread over {spread:.3g} only: subtract what they have in common"
        )
        analysis.withheld = why
        analysis.note("precision", f"{why[:1].upper()}{why[1:]}. No verdict is given before.", warning=True)


def _known(values: FloatArray, name: str, missing: Missing, analysis: Analysis) -> BoolArray:
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):  # so is each of them
            return np.ones(len(values), dtype=bool)
    infinite = np.isinf(values)
    if infinite.any():
        row = int(np.argmax(infinite)) + 1
        if missing == "error":
            raise DataError(
                "infinite", f"the column {name!r} holds infinity (row {row})", expected="finite numbers"
            )
        analysis.note(
            "infinite",
            f"{int(infinite.sum())} of {len(values)} values of {name} are infinite; these rows are left out.",
            warning=True,
        )
    return _present(~np.isnan(values), name, missing, analysis, "a value") & ~infinite


def _present(there: BoolArray, name: str, missing: Missing, analysis: Analysis, what: str) -> BoolArray:
    absent = int((~there).sum())
    if absent and missing == "error":
        raise DataError(
            "missing-values",
            f"{absent} of {len(there)} rows have no {what.removeprefix('a ')} in {name!r}",
            expected="complete rows",
            hint='missing="drop" leaves them out and counts them; "group" makes missing groups a group',
        )
    if absent:
        where = "left out of the comparison by it" if what == "a group" else "left out"
        analysis.note(
            "missing-values",
            f"{absent} of {len(there)} rows have no {what[2:]} in {name}; they are {where}.",
            warning=True,
        )
    return there


def check_weights(weight: FloatArray, name: str | None, *, part: bool = False) -> None:
    """DataError (`bad-weights`) where one is negative, or (unless they are a `part`) where they add up to
    0."""
    if (weight < 0).any():
        raise DataError(
            "bad-weights",
            f"the weights in {name!r} are negative",
            given=float(weight.min()),
            expected="at least 0",
        )
    if not (part or weight.sum() > 0):
        raise DataError("bad-weights", f"the weights in {name!r} add up to 0", expected="a positive sum")


def _group(table: pa.Table, name: str, missing: Missing, part: bool) -> Factor:
    found = factor(table, name)
    check_groups(name, found.levels, len(found), part=part)
    levels = len(found.levels)
    order = sorted(range(levels), key=lambda i: natural(found.levels[i]))
    place = np.empty(levels + 1, dtype=np.int32)
    place[order] = np.arange(levels, dtype=np.int32)
    place[-1] = -1
    codes = found.codes if order == list(range(levels)) else place[found.codes]
    names = tuple(found.levels[i] for i in order)
    if missing == "group" and (codes < 0).any():
        return Factor(np.where(codes < 0, levels, codes).astype(np.int32), (*names, UNKNOWN))
    return Factor(codes, names)


def check_groups(name: str, levels: Sequence[str], n: int, *, part: bool = False) -> None:
    """DataError (`too-many-groups`) where a column of n rows has too many distinct labels to be groups."""
    if len(levels) > MOST_GROUPS or (not part and len(levels) > 20 and len(levels) > n / 5):
        raise DataError(
            "too-many-groups",
            f"{name!r} has {len(levels)} distinct values in {n} rows: too many to be groups",
            given=", ".join(levels[:5]),
            expected=f"at most {MOST_GROUPS} labels",
            hint="is it a feature or an identifier? A number, e.g. age, is given with continuous="
            " (--continuous)",
        )


def rows_by_level(groups: Factor, within: BoolArray | None = None) -> list[npt.NDArray[np.intp]]:
    """The rows of each level (and of `within`), in one pass whatever the number of levels.

    >>> [r.tolist() for r in rows_by_level(Factor(np.array([1, 0, -1, 1], dtype=np.int32), ("a", "b")))]
    [[1], [0, 3]]
    """
    codes = groups.codes if within is None else np.where(within, groups.codes, -1)
    small = codes.astype(np.int16) if len(groups.levels) < 1 << 15 else codes  # sorted by counting
    order = np.argsort(small, kind="stable")
    edges = np.searchsorted(small[order], np.arange(len(groups.levels) + 1))
    return [order[a:b] for a, b in pairwise(edges)]

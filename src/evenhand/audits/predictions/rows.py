"""The door of the predictions audit: files, frames, arrays or a fitted model become validated rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, cast, runtime_checkable

import numpy as np
import numpy.typing as npt

from evenhand._analysis import Analysis
from evenhand._errors import DataError, UsageError
from evenhand._labels import UNKNOWN, natural
from evenhand._model import BoolArray, Factor, FloatArray
from evenhand._table import factor, numbers, read_table, require

if TYPE_CHECKING:
    import pyarrow as pa

Missing: TypeAlias = Literal["drop", "error", "group"]
MISSING: tuple[Missing, ...] = ("drop", "error", "group")
Progress: TypeAlias = Callable[[int, int], None]
"""Called with (rows read, 0)."""
Column: TypeAlias = npt.ArrayLike | Sequence[object]
"""What a user gives for a role: a column's name, or the values themselves."""
Columns: TypeAlias = Column | Mapping[str, Column]
"""What a user gives for roles that several columns play: names, or name → values."""
Chosen: TypeAlias = slice | npt.NDArray[np.intp]
"""Rows picked out of all."""
MOST_GROUPS = 200
"""More distinct labels than this are a feature or an identifier, not groups to compare."""


@runtime_checkable
class Fitted(Protocol):
    """A model that is asked for the rows of a frame."""

    def predict(self, frame: Any, /) -> Any:
        """One prediction a row."""
        ...


@dataclass(frozen=True, kw_only=True)
class Roles:
    """What the user gave for each role.

    Args:
        y_pred: a name, an array, or a fitted model with ``predict``, asked for the rows of the data.
        y_true, y_score, weight, lists: names or arrays. groups, control, continuous: names, or a mapping of
            name → array.
        interval: names of the lower and upper bound. features: columns that a model is asked with.
    """

    y_pred: Column | Fitted
    groups: Columns = ()
    y_true: Column | None = None
    y_score: Column | None = None
    weight: Column | None = None
    lists: Column | None = None
    control: Columns = ()
    continuous: Columns = ()
    interval: tuple[str, str] | None = None
    features: Sequence[str] | None = None


@dataclass(frozen=True, kw_only=True)
class Intake:
    """How rows are taken in, wherever they come from.

    Args:
        analysis: takes the notes. missing: what becomes of rows without a value. tau: the quantile that a
            model predicts. crossing: the combinations of all groups are summed too. progress: of a streamed
            file.
    """

    analysis: Analysis
    missing: Missing = "drop"
    tau: float | None = None
    crossing: bool = False
    progress: Progress | None = None


@dataclass(frozen=True, kw_only=True)
class Named:
    """Which column plays which role.

    Args:
        y_pred, y_true, y_score, weight: names. groups, control, continuous: names.
        interval: lower and upper bound of a prediction interval. lists: which ranked list a row is of.
    """

    y_pred: str
    groups: tuple[str, ...]
    y_true: str | None = None
    y_score: str | None = None
    control: tuple[str, ...] = ()
    continuous: tuple[str, ...] = ()
    interval: tuple[str, str] | None = None
    weight: str | None = None
    lists: str | None = None

    def numeric(self) -> dict[str, str]:
        """Role → column, for the columns that must be numbers."""
        roles = {"y_score": self.y_score, "weight": self.weight}
        if self.interval is not None:
            roles |= {"y_low": self.interval[0], "y_high": self.interval[1]}
        return {role: name for role, name in roles.items() if name is not None} | {
            n: n for n in self.continuous
        }

    def all(self) -> list[str]:
        """Every column that is read, once."""
        single = [self.y_pred, self.y_true, *self.numeric().values(), *self.groups, *self.control, self.lists]
        return list(dict.fromkeys(name for name in single if name is not None))


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Validated rows.

    Args:
        columns: ``y_pred`` and, where given, ``y_true``, ``y_score``, ``y_low``, ``y_high``; all finite for
            tasks on numbers.
        labels: true and predicted labels as Factors where they are text.
        groups, control: attribute → Factor. continuous: attribute → numbers.
        weight: case weights or None. dropped: rows left out. lists: the ranked list of each row, or None.
    """

    columns: Mapping[str, FloatArray]
    groups: Mapping[str, Factor]
    control: Mapping[str, Factor] = field(default_factory=dict)
    continuous: Mapping[str, FloatArray] = field(default_factory=dict)
    labels: Mapping[str, Factor] = field(default_factory=dict)
    weight: FloatArray | None = None
    dropped: int = 0
    lists: Factor | None = None

    def __len__(self) -> int:
        first: Mapping[str, Any] = self.groups or self.columns or self.labels or self.continuous
        return len(next(iter(first.values())))

    def take(self, rows: BoolArray) -> Rows:
        """The rows of a mask only."""
        return replace(
            self,
            columns={k: v[rows] for k, v in self.columns.items()},
            groups={k: v[rows] for k, v in self.groups.items()},
            control={k: v[rows] for k, v in self.control.items()},
            continuous={k: v[rows] for k, v in self.continuous.items()},
            labels={k: v[rows] for k, v in self.labels.items()},
            weight=None if self.weight is None else self.weight[rows],
            lists=None if self.lists is None else self.lists[rows],
        )

    def with_column(self, name: str, values: FloatArray) -> Rows:
        """The rows with one more column."""
        return replace(self, columns={**self.columns, name: values})

    def with_tau(self, tau: float | None) -> Rows:
        """The rows with the quantile that the model predicts as a column, where there is one."""
        return self if tau is None else self.with_column("tau", np.full(len(self), tau))


def gather(data: Any, roles: Roles) -> tuple[pa.Table, Named]:
    """A table and the roles of its columns, from names, arrays or a fitted model.

    Args:
        data: anything `read_table` reads, or None where every role is given as an array.

    Raises:
        DataError, UsageError: see `read_table`; `no-groups`, `unequal-lengths`.
    """
    table = None if data is None else read_table(data)
    y_pred, y_score = roles.y_pred, roles.y_score
    if isinstance(y_pred, Fitted):
        y_pred, y_score = _predicted(table, data, y_pred, roles)
    added: dict[str, Column] = {}
    named = Named(
        y_pred=_role(y_pred, "y_pred", added) or "y_pred",
        y_true=_role(roles.y_true, "y_true", added),
        y_score=_role(y_score, "y_score", added),
        weight=_role(roles.weight, "weight", added),
        groups=_roles(roles.groups, "group", table, added),
        control=_roles(roles.control, "control", table, added),
        continuous=_roles(roles.continuous, "continuous", table, added),
        interval=roles.interval,
        lists=_role(roles.lists, "list", added),
    )
    if not (named.groups or named.continuous):
        raise UsageError(
            "no-groups", "an audit compares groups, and none is named", hint="name one with groups= (--group)"
        )
    whole = _joined(table, added)
    for name in named.all():
        require(whole, name)
    return whole.select(named.all()), named


def _role(value: Column | None, name: str, added: dict[str, Column]) -> str | None:
    """The column's name; an array is `added` under the role's."""
    if value is None or isinstance(value, str):
        return value
    added[name] = value
    return name


def _roles(value: Columns, name: str, table: pa.Table | None, added: dict[str, Column]) -> tuple[str, ...]:
    """The columns' names; arrays are `added`, one alone under the role's name."""
    if isinstance(value, Mapping):
        added.update(value)
        return tuple(value)
    if isinstance(value, str):
        return (value,)
    listed = list(cast("Iterable[object]", value))
    names = tuple(v for v in listed if isinstance(v, str))
    if len(names) == len(listed) and (
        table is not None and (not names or names[0] in table.column_names or len(names) < table.num_rows)
    ):
        return names
    if not listed:
        return ()
    added[name] = value
    return (name,)


def _joined(table: pa.Table | None, added: Mapping[str, Column]) -> pa.Table:
    if not added:
        if table is None:
            raise UsageError("no-data", "no data are given", expected="data=, or arrays for every role")
        return table
    arrays = {
        n: v if isinstance(v, np.ndarray) else list(cast("Iterable[object]", v)) for n, v in added.items()
    }
    extra = read_table(arrays)
    if table is None:
        return extra
    if table.num_rows != extra.num_rows:
        raise DataError(
            "unequal-lengths",
            "arrays and table have different lengths",
            given=(extra.num_rows, table.num_rows),
        )
    for name in extra.column_names:
        if name in table.column_names:
            table = table.drop_columns([name])
        table = table.append_column(name, extra.column(name))
    return table


def _predicted(
    table: pa.Table | None, data: Any, model: Fitted, roles: Roles
) -> tuple[FloatArray, Column | None]:
    """Ask a fitted model for the rows of `data`; the probability of its second class too where it has two."""
    if table is None:
        raise UsageError("no-data", "a fitted model needs the rows to predict", expected="data=")
    own = getattr(model, "feature_names_in_", None)
    names = list(roles.features if roles.features is not None else () if own is None else own)
    if not names:
        raise UsageError(
            "no-features",
            "the model does not say which columns it was fitted on",
            expected="features=[…], in the order of the fit",
            available=table.column_names,
        )
    for name in names:
        require(table, name)
    frame = data[names] if hasattr(data, "iloc") else table.select(names).to_pandas()
    if own is None:
        frame = frame.to_numpy()
    predicted, y_score = np.asarray(model.predict(frame)), roles.y_score
    if y_score is None and hasattr(model, "predict_proba"):
        chances = np.asarray(model.predict_proba(frame))
        if chances.ndim == 2 and chances.shape[1] == 2:
            y_score = chances[:, 1]
    return predicted, y_score


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
    factors = {}
    for role, name in roles.items():
        if labels:
            factors[role] = factor(table, name)
        else:
            columns[role] = numbers(table, name)
    groups = {name: _group(table, name, missing, part) for name in named.groups}
    control = {name: _group(table, name, missing, part) for name in named.control}
    keep = np.ones(table.num_rows, dtype=bool)
    for role, values in columns.items():
        keep &= _known(values, named.numeric().get(role, roles.get(role, role)), missing, analysis)
    for role, found in factors.items():
        keep &= _present(found.codes >= 0, roles[role], missing, analysis, "a label")
    for name, found in (groups | control).items():
        _present(found.codes >= 0, name, missing, analysis, "a group")
    lists = None if named.lists is None else factor(table, named.lists)
    if lists is not None:
        keep &= _present(lists.codes >= 0, named.lists or "", missing, analysis, "a list")
    weight = columns.pop("weight", None)
    if weight is not None:
        check_weights(weight[keep], named.weight, part=part)
    rows = Rows(
        columns={k: v for k, v in columns.items() if k not in named.continuous},
        groups=groups,
        control=control,
        continuous={k: columns[k] for k in named.continuous},
        labels=factors,
        weight=weight,
        dropped=int((~keep).sum()),
        lists=lists,
    )
    if not (part or keep.any()):
        raise DataError("no-rows", "no row has all the values that the audit needs", given=table.num_rows)
    return rows if keep.all() else rows.take(keep)


def _known(values: FloatArray, name: str, missing: Missing, analysis: Analysis) -> BoolArray:
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
    codes, names = place[found.codes], tuple(found.levels[i] for i in order)
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
    order = np.argsort(codes, kind="stable")
    edges = np.searchsorted(codes[order], np.arange(len(groups.levels) + 1))
    return [order[a:b] for a, b in pairwise(edges)]

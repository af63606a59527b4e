"""Which column plays which role: names, arrays or a fitted model become a table and its columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, cast, runtime_checkable

import numpy as np
import numpy.typing as npt

from evenhand._analysis import Analysis
from evenhand._errors import DataError, UsageError
from evenhand._model import FloatArray
from evenhand._table import expanded, read_table, require

if TYPE_CHECKING:
    import pyarrow as pa

    from evenhand.subjects.tabular import Tabular

Missing: TypeAlias = Literal["drop", "error", "group"]
MISSING: tuple[Missing, ...] = ("drop", "error", "group")
Progress: TypeAlias = Callable[[int, int], None]
"""Called with (rows read, 0)."""
Column: TypeAlias = npt.ArrayLike | Sequence[object]
"""What a user gives for a role: a column's name, or the values themselves."""
Columns: TypeAlias = Column | Mapping[str, Column]
"""What a user gives for roles that several columns play: names, or name → values."""
Chances: TypeAlias = Mapping[str, Mapping[str, str]]
"""Attribute → group → the column with the chance that a row is of that group."""
Units: TypeAlias = Column | Literal[False]
"""What a user says of the units that rows belong to: a column, nothing (``()``), or that there are none."""


MOST_PERIODS = 24
"""Periods of an audit; days are put together until there are no more."""


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
        units: a name (of nested units a path, the widest first), an array, False, or nothing.
        y_true, y_score, weight, count, lists, period: names or arrays. groups, control, continuous, search:
            names, or a mapping of name → array.
        interval: names of the lower and upper bound. features: columns that a model is asked with.
        probabilities: attribute → group → name, where groups are known by chances only.
    """

    y_pred: Column | Fitted | None
    groups: Columns = ()
    y_true: Column | None = None
    y_score: Column | None = None
    units: Units = ()
    weight: Column | None = None
    count: Column | None = None
    lists: Column | None = None
    period: Column | None = None
    control: Columns = ()
    continuous: Columns = ()
    search: Columns = ()
    interval: tuple[str, str] | None = None
    features: Sequence[str] | None = None
    probabilities: Chances = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Intake:
    """How rows are taken in, wherever they come from.

    Args:
        analysis: takes the notes. missing: what becomes of rows without a value. tau: the quantile that a
            model predicts. crossing: the combinations of all groups are summed too. engine: what the user
            named for streamed data. progress: of these.
    """

    analysis: Analysis
    missing: Missing = "drop"
    tau: float | None = None
    crossing: bool = False
    engine: str | None = None
    progress: Progress | None = None


@dataclass(frozen=True, kw_only=True)
class Named:
    """Which column plays which role.

    Args:
        y_pred, y_true, y_score, weight: names. groups, control, continuous: names. search: features over
            which subgroups are searched.
        interval: lower and upper bound of a prediction interval. lists: which ranked list a row is of.
        period: when a row is of; it is one of `control`.
        unit: whom or what a row is about, where several rows may be about one. count: how many people a
            row stands for. of_second: the scores are those of the second of two classes, as these are sorted.
        chances: group → column, of the only attribute, `groups`, where it is known by chances.
    """

    y_pred: str
    groups: tuple[str, ...]
    y_true: str | None = None
    y_score: str | None = None
    control: tuple[str, ...] = ()
    continuous: tuple[str, ...] = ()
    search: tuple[str, ...] = ()
    interval: tuple[str, str] | None = None
    weight: str | None = None
    lists: str | None = None
    period: str | None = None
    unit: str | None = None
    count: str | None = None
    of_second: bool = False
    chances: Mapping[str, str] = field(default_factory=dict)

    def numeric(self) -> dict[str, str]:
        """Role → column, for the columns that must be numbers."""
        roles = {"y_score": self.y_score, "weight": self.weight} | {
            chance_of(group): name for group, name in self.chances.items()
        }
        if self.interval is not None:
            roles |= {"y_low": self.interval[0], "y_high": self.interval[1]}
        return {role: name for role, name in roles.items() if name is not None} | {
            n: n for n in self.continuous
        }

    @property
    def columns(self) -> tuple[str, ...]:
        """The groups that are columns."""
        return () if self.chances else self.groups

    def all(self) -> list[str]:
        """Every column that is read, once."""
        single = [self.y_pred, self.y_true, *self.numeric().values(), *self.columns, *self.control]
        single += [self.lists, self.unit, *self.search]
        return list(dict.fromkeys(name for name in single if name is not None))


def chance_of(group: str) -> str:
    """The role of a column of chances."""
    return f"chance of {group}"


def gather(data: Any, roles: Roles, *, everything: bool = False) -> tuple[pa.Table, Named]:
    """A table and the roles of its columns, from names, arrays or a fitted model.

    Args:
        data: anything `read_table` reads, or None where every role is given as an array.
        everything: the table keeps the columns that play no role.

    Raises:
        DataError, UsageError: see `read_table`; `no-groups`, `no-predictions`, `unequal-lengths`.
    """
    table = None if data is None else read_table(data)
    y_pred, y_score = roles.y_pred, roles.y_score
    if y_pred is None:
        raise UsageError(
            "no-predictions", "no predictions are named", expected="y_pred= (--y-pred), a column or an array"
        )
    if isinstance(y_pred, Fitted):
        y_pred, y_score = _predicted(table, data, y_pred, roles)
    both = tuple(getattr(y_score, "shape", ()))[1:] == (2,)
    if both:
        y_score = np.asarray(y_score)[:, 1]
    added: dict[str, Column] = {}
    period = _role(roles.period, "period", added)
    control = _roles(roles.control, "control", table, added)
    named = Named(
        y_pred=_role(y_pred, "y_pred", added) or "y_pred",
        y_true=_role(roles.y_true, "y_true", added),
        y_score=_role(y_score, "y_score", added),
        weight=_role(roles.weight, "weight", added),
        groups=tuple(roles.probabilities) or _roles(roles.groups, "group", table, added),
        chances=next(iter(roles.probabilities.values()), {}),
        control=control if period is None else (*control, period),
        period=period,
        continuous=_roles(roles.continuous, "continuous", table, added),
        search=_roles(roles.search, "feature", table, added),
        interval=roles.interval,
        lists=_role(roles.lists, "list", added),
        count=_role(roles.count, "count", added),
        of_second=both,
        unit=_role(unit_of(roles.units, () if table is None else table.column_names), "unit", added),
    )
    if not (named.groups or named.continuous):
        raise UsageError(
            "no-groups", "an audit compares groups, and none is named", hint="name one with groups= (--group)"
        )
    whole = _joined(table, added)
    for name in named.all():
        require(whole, name)
    if named.count is not None:
        whole = expanded(whole, named.count)
    return whole if everything else whole.select(named.all()), named


def unit_of(units: Units, columns: Sequence[str]) -> Column | None:
    """The column of the units that inference is over; of nested ones ("family/person") the widest.

    Raises:
        UsageError: `units` where several are crossed.
    """
    if units is False or (isinstance(units, list | tuple) and not units):
        return None
    if isinstance(units, list | tuple) and (len(units) == 1 or set(units) <= set(columns)):
        if len(units) > 1:
            raise UsageError(
                "units",
                "rows of predictions belong to one unit",
                given=list(units),
                expected='a column; nested units as a path, e.g. "family/person"',
            )
        units = cast("Column", units[0])
    if isinstance(units, str) and units not in columns:
        return units.split("/")[0]
    return units


def _role(value: Column | None, name: str, added: dict[str, Column]) -> str | None:
    """The column's name; an array is `added` under the role's."""
    if value is None or isinstance(value, str):
        return value
    added[name] = _flat(value, name)
    return name


def _flat(value: Column, name: str) -> Column:
    """One value a row: a single column of a matrix or frame is taken out of it.

    Raises:
        DataError: `two-dimensional`.
    """
    shape: tuple[int, ...] = getattr(value, "shape", ())
    if len(shape) < 2:
        return value
    if len(shape) == 2 and shape[1] == 1:
        return np.asarray(value)[:, 0]
    hint = ""
    if name == "y_pred":
        hint = "chances of classes are given as y_score=, and the classes predicted as y_pred="
    raise DataError(
        "two-dimensional", f"{name} has more than one column", given=shape, expected="(n,)", hint=hint
    )


def _roles(value: Columns, name: str, table: pa.Table | None, added: dict[str, Column]) -> tuple[str, ...]:
    """The columns' names; arrays are `added`, one alone under the role's name."""
    if not isinstance(value, Mapping) and hasattr(value, "columns"):
        value = {str(column): cast("Any", value)[column] for column in cast("Any", value).columns}
    if isinstance(value, Mapping):
        added.update(value)
        return tuple(value)
    if isinstance(value, str):
        return (value,)
    own = getattr(value, "name", None)
    if isinstance(own, str) and own and own not in added:
        if table is None or own not in table.column_names:
            name = own
        elif _joined(None, {own: value}).column(own).to_pylist() == table.column(own).to_pylist():
            return (own,)
    listed = list(cast("Iterable[object]", value))
    if listed and all(isinstance(getattr(v, "name", None), str) and hasattr(v, "shape") for v in listed):
        added.update({cast("Any", v).name: cast("Column", v) for v in listed})
        return tuple(cast("Any", v).name for v in listed)
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
    """Ask a fitted model for the rows of `data`; the probabilities of its classes too where it has two."""
    if table is None:
        raise UsageError("no-data", "a fitted model needs the rows to predict", expected="data=")
    from evenhand.subjects.tabular import tabular

    asked = tabular(model)
    predicted, chances = asked.answers(frame_of(data, table, features_of(asked, roles.features, table)))
    return predicted, chances if roles.y_score is None else roles.y_score


def features_of(model: Tabular, given: Sequence[str] | None, table: pa.Table) -> tuple[str, ...]:
    """The columns that a model is asked with: named, or those that it was fitted on.

    Raises:
        UsageError: `no-features`. DataError: `missing-column`.
    """
    names = tuple(given if given is not None else model.names or ())
    if not names:
        raise UsageError(
            "no-features",
            "the model does not say which columns it was fitted on",
            expected="features= (--features), in the order of the fit",
            available=table.column_names,
        )
    for name in names:
        require(table, name)
    return names


def frame_of(data: Any, table: pa.Table, names: Sequence[str]) -> Any:
    """The columns of a table as the frame that a model takes; a pandas frame keeps its types.

    Raises:
        UsageError: `missing-extra` without pandas.
    """
    if hasattr(data, "iloc"):
        return data[list(names)]
    if find_spec("pandas") is None:
        raise UsageError(
            "missing-extra",
            "a model is asked with a frame, which needs a package that is not installed",
            expected="the package pandas",
            hint="pip install 'evenhand[frames]'",
        )
    return table.select(list(names)).to_pandas()

"""A model that can be asked again: the rows that it is asked for, as they are and with columns of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evenhand._errors import UsageError
from evenhand._model import FloatArray
from evenhand._table import factor, read_table, require
from evenhand._vocabulary import Vocabulary
from evenhand.audits.predictions.inputs import not_streamed
from evenhand.audits.predictions.roles import Roles, features_of, frame_of
from evenhand.engines.files import streamed_files

if TYPE_CHECKING:
    import pyarrow as pa

    from evenhand.subjects.tabular import Tabular


@dataclass(frozen=True, kw_only=True)
class ModelAtHand:
    """A model, and the rows it is asked for.

    Args:
        model: it. names: the columns it is asked with. frame: these, as it takes them. table: all columns.
        proxies: columns that change together with an attribute.
    """

    model: Tabular
    names: tuple[str, ...]
    frame: Any = field(repr=False)
    table: pa.Table = field(repr=False)
    proxies: tuple[str, ...] = ()

    def moved(self, attribute: str) -> list[str]:
        """The columns that change with an attribute: itself, if the model is asked with it, and its
        proxies."""
        return [name for name in self.names if name == attribute or name in self.proxies]

    def with_columns_of(self, places: Mapping[str, npt.NDArray[np.intp]]) -> Any:
        """The frame with some columns taken from other rows; a column keeps its type."""
        frame = self.frame.copy()
        for name, rows in places.items():
            frame[name] = self.frame[name].array.take(rows)
        return frame


@dataclass(frozen=True, kw_only=True)
class AnswersRead:
    """How answers become numbers that may change.

    Args:
        classes: the classes that are looked at, or none where answers are numbers. words: in which they are
            written.
    """

    classes: tuple[str, ...] = ()
    words: Vocabulary | None = None

    def of(self, answers: npt.NDArray[Any]) -> dict[str, FloatArray]:
        """Class → (n,) 0 or 1; or "" → (n,) numbers."""
        if self.words is None:
            return {"": np.asarray(answers, dtype=float)}
        found = self.words.of_predictions(factor(read_table({"answer": answers}), "answer"))
        return {name: found.is_level(name).astype(float) for name in self.classes}


def ask(
    model: Any, data: Any, roles: Roles, proxies: Sequence[str], *, trusted: Sequence[str], trust_pickle: bool
) -> tuple[ModelAtHand | None, Roles]:
    """The model's answers as the predictions of an audit; nothing where there is no model.

    Raises:
        UsageError: `no-data`, `model-and-predictions`, `model-of-counts`, `no-features`, `proxies`;
            `streamed`. DataError: as `tabular` and `Tabular.answers`.
    """
    if model is None:
        return None, roles
    if data is None:
        raise UsageError("no-data", "a model needs the rows to predict", expected="data=")
    if roles.y_pred is not None:
        raise UsageError(
            "model-and-predictions",
            "the predictions of a model are its own",
            given="model= and y_pred=",
            expected="one of them",
        )
    if roles.count is not None or roles.probabilities:
        what = "rows that stand for several people" if roles.count is not None else "chances of groups"
        raise UsageError("model-of-counts", f"a model is asked for one person a row, not for {what}")
    if streamed_files(data, None) is not None:
        raise not_streamed("a model that is asked again (--model)")
    from evenhand.subjects.tabular import tabular

    table = read_table(data)
    asked = tabular(model, trusted=trusted, trust_pickle=trust_pickle)
    names = features_of(asked, roles.features, table)
    for name in proxies:
        require(table, name)
        if name not in names:
            raise UsageError(
                "proxies",
                "a proxy is a column that the model is asked with",
                given=name,
                available=list(names),
            )
    frame = frame_of(data, table, names)
    predicted, chances = asked.answers(frame)
    found = ModelAtHand(model=asked, names=names, frame=frame, table=table, proxies=tuple(proxies))
    y_score = chances if roles.y_score is None else roles.y_score
    return found, replace(roles, y_pred=predicted, y_score=y_score, features=None)

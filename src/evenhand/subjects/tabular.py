"""A model of rows of a table: a fitted object, a skops or ONNX file, or a callable of yours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand._errors import DataError
from evenhand.subjects import check_extra
from evenhand.subjects.onnx import session_of
from evenhand.subjects.python import named
from evenhand.subjects.sklearn import model_of

FLAGS = ("--trust-pickle", "--trusted NAME, repeated")
FILES = {".skops", ".pkl", ".pickle", ".joblib", ".onnx"}


@dataclass(frozen=True, kw_only=True)
class Tabular:
    """A model that is asked for the rows of a frame.

    Args:
        name: what it is called in a report. names: the columns it was fitted on, in their order, where it
            says so. matrix: it takes numbers without names.
        predict: a frame (or matrix) → (n,) predictions. chances: the same → (n, k), where it has any.
    """

    name: str
    names: tuple[str, ...] | None
    matrix: bool
    predict: Callable[[Any], Any] = field(repr=False)
    chances: Callable[[Any], Any] | None = field(default=None, repr=False)

    def answers(self, frame: Any) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64] | None]:
        """((n,) predictions, (n, 2) chances of two classes where there are such).

        Args:
            frame: the columns that it is asked with, in their order.

        Raises:
            DataError: `model-failed`, `model-answers`.
        """
        given = frame.to_numpy() if self.matrix else frame
        try:
            predicted = np.asarray(self.predict(given))
            chances = None if self.chances is None else np.asarray(self.chances(given))
        except Exception as error:  # a model raises what it likes
            said = str(error).splitlines() or [""]
            raise DataError(
                "model-failed",
                f"the model could not predict these rows: {type(error).__name__}: {said[0][:200]}",
                given=self.name,
                expected=f"rows as it was fitted on, in the columns {', '.join(map(str, frame.columns))}",
            ) from error
        if predicted.ndim == 2 and predicted.shape[1] == 1:
            predicted = predicted[:, 0]
        if predicted.shape != (len(frame),):
            raise DataError(
                "model-answers", "the model must give one prediction a row", given=predicted.shape
            )
        two = chances is not None and chances.shape == (len(frame), 2)
        return predicted, chances.astype(float) if two and chances is not None else None


def tabular(source: Any, *, trusted: Sequence[str] = (), trust_pickle: bool = False) -> Tabular:
    """A model of rows, from whatever names or is one.

    Args:
        source: a ``.skops`` or ``.onnx`` file; ``"module:attr"`` of a fitted model, or of a function from a
            frame to predictions; or these themselves.
        trusted: further type names that a skops file may contain. trust_pickle: a ``.pkl`` or ``.joblib`` may
            be opened, which runs whatever code it holds.

    Raises:
        DataError: `no-such-file`, `unreadable-file`, `not-a-model`. UsageError: `pickle-not-trusted`,
            `types-not-trusted`, `unknown-subject`.
    """
    if not isinstance(source, str | Path):
        return _of_object(source, type(source).__name__)
    file = Path(source)
    if file.suffix.lower() == ".onnx":
        check_extra("onnx")
        return _of_onnx(file)
    if file.suffix.lower() in FILES or ":" not in str(source):
        check_extra("sklearn")
        model = model_of(file, trusted=trusted, trust_pickle=trust_pickle, said=FLAGS)
        return _of_object(model, file.name)
    return _of_object(named(str(source)), str(source))


def _of_object(model: Any, name: str) -> Tabular:
    if not (hasattr(model, "predict") or callable(model)):
        raise DataError(
            "not-a-model",
            "this is no model",
            given=f"{name}: {type(model).__name__}",
            expected="an object with predict, or a function from a frame to predictions",
        )
    if not hasattr(model, "predict"):
        return Tabular(name=name, names=None, matrix=False, predict=model)
    own = getattr(model, "feature_names_in_", None)
    return Tabular(
        name=name,
        names=None if own is None else tuple(map(str, own)),
        matrix=own is None,
        predict=model.predict,
        chances=getattr(model, "predict_proba", None),
    )


def _of_onnx(file: Path) -> Tabular:
    """A graph with one input a column, named as it, or with one input of all of them as numbers."""
    session = session_of(file)
    inputs, outputs = session.get_inputs(), [item.name for item in session.get_outputs()]
    likely = [name for name in outputs if "prob" in name.lower()]
    answer = next((name for name in outputs if name not in likely), outputs[0])
    several = len(inputs) > 1

    def feed(frame: Any) -> Mapping[str, Any]:
        if not several:
            return {inputs[0].name: np.asarray(frame, dtype=np.float32)}
        return {
            i.name: np.asarray(frame[i.name]).astype(KINDS.get(i.type, np.float32)).reshape(-1, 1)
            for i in inputs
        }

    def chances(frame: Any) -> Any:
        found = session.run(likely[:1], feed(frame))[0]
        return np.array([list(row.values()) for row in found]) if isinstance(found, list) else found

    return Tabular(
        name=file.name,
        names=tuple(i.name for i in inputs) if several else None,
        matrix=not several,
        predict=lambda frame: session.run([answer], feed(frame))[0],
        chances=chances if likely else None,
    )


KINDS: dict[str, Any] = {
    "tensor(string)": object,
    "tensor(int64)": np.int64,
    "tensor(double)": np.float64,
    "tensor(bool)": np.bool_,
}
"""Type of an ONNX input → that of the array it takes."""

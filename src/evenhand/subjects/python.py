"""Any Python callable as a subject: what it may return, and what happens when it fails on one row."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from evenhand._errors import SubjectError, UsageError
from evenhand._model import Arrived, FloatArray, Replies, Traits, traits_of
from evenhand.subjects.identity import code_of, fingerprint_of


@dataclass(frozen=True, kw_only=True)
class PythonSubject:
    """A callable behind the seam. A row on which it raises is found by halving the batch; only it fails.

    Args:
        reading: how its answers become scores, where a setting says so; a journal keeps it beside the scores.
    """

    id: str
    function: Callable[[list[Any]], Any] = field(repr=False)
    names: tuple[str, ...] | None = None
    traits: Traits = field(default_factory=Traits)
    reading: str = ""

    def __call__(self, inputs: Sequence[Any], /) -> Replies:
        return self._ask(list(inputs))

    def _ask(self, inputs: list[Any]) -> Replies:
        if not inputs:
            return Replies(scores={})
        try:
            raw = self.function(inputs)
        except Exception as error:
            if isinstance(error, SubjectError):
                raise
            if len(inputs) == 1:
                return Replies(scores={}, errors={0: f"{type(error).__name__}: {_first_line(error)}"})
            half = len(inputs) // 2
            return join([self._ask(inputs[:half]), self._ask(inputs[half:])], [half, len(inputs) - half])
        return as_replies(raw, len(inputs), names=self.names, who=self.id)


def from_callable(
    function: Callable[..., Any],
    *,
    id: str | None = None,
    names: Sequence[str] | None = None,
    traits: Traits | None = None,
    version: str | None = None,
) -> PythonSubject:
    """A subject from a plain callable.

    Args:
        function: takes a list of inputs; returns a sequence of floats, a sequence of mappings, a mapping of
            sequences, or an (n, k) array.
        id: its identity in the journal, which then stands for all that can change an answer. By default its
            name and a digest of its code and of the state it carries. What it reads when it is called is not
            seen, so its replies only serve to finish a run that came to no end (docs/decisions/0011).
        names: the score names of an (n, k) array.
        traits: what is to be known of its scores; by default what its own attributes say (e.g.
            ``function.ordinal = True``).
        version: of the model behind it, e.g. ``"2024-06"``: its replies are used again while the code and the
            version stay the same.
    """
    if not callable(function):
        raise UsageError(
            "subject-type",
            "a subject must be callable",
            given=type(function).__name__,
            expected="a function that takes a list of inputs and returns one score for each",
        )
    said, reuse = _identity(function, id, version)
    return PythonSubject(
        id=said,
        function=function,
        names=tuple(names) if names is not None else None,
        traits=replace(traits or traits_of(function), reuse=reuse),
        reading=", ".join(names or ()),
    )


def named(path: str) -> Any:
    """What stands at ``"module:attr"`` or ``"path/to/file.py:attr"``."""
    module_name, _, attribute = path.rpartition(":")
    if not module_name:
        raise UsageError(
            "unknown-subject", "a thing in a module is named with both", given=path, expected='"module:attr"'
        )
    module = _load(module_name, path)
    target: Any = module
    for part in attribute.split("."):
        if not hasattr(target, part):
            raise UsageError(
                "unknown-subject",
                f"the module {module_name!r} has no attribute {part!r}",
                given=part,
                available=[n for n in dir(target) if not n.startswith("_")],
            )
        target = getattr(target, part)
    return target


def from_path(
    path: str, *, id: str | None = None, names: Sequence[str] | None = None, version: str | None = None
) -> PythonSubject:
    """A subject from ``"module:attr"`` or ``"path/to/file.py:attr"``; a class is instantiated."""
    target = named(path)
    if inspect.isclass(target):
        target = target()
    if id is None and isinstance(getattr(target, "id", None), str):
        id = target.id
    return from_callable(target, id=id, names=names, version=version)


def as_replies(raw: Any, n: int, *, names: Sequence[str] | None = None, who: str = "the subject") -> Replies:
    """Whatever a callable returned as Replies of length `n`; a NaN or infinite score is a counted error.

    >>> as_replies([{"pos": 0.5, "neg": 0.1}, {"pos": float("nan"), "neg": 0.2}], 2).errors
    {1: 'score is not a finite number: pos=nan'}
    """
    if isinstance(raw, Replies):
        _check_length(len(raw), n, who)
        return _finite(dict(raw.scores), dict(raw.errors))
    if isinstance(raw, Mapping):
        columns = {str(k): _floats(v, who) for k, v in raw.items()}
        for column in columns.values():
            _check_length(len(column), n, who)
        return _finite(columns, {})
    if hasattr(raw, "columns") and hasattr(raw, "to_dict"):
        return as_replies({c: np.asarray(raw[c]) for c in raw.columns}, n, who=who)
    rows = raw if isinstance(raw, np.ndarray) else list(_iterable(raw, who))
    _check_length(len(rows), n, who)
    if n and isinstance(rows, list) and any(isinstance(r, Mapping) for r in rows):
        return _from_mappings(rows, who)
    return _from_array(_floats(rows, who), names, who)


def join(parts: Sequence[Replies], lengths: Sequence[int]) -> Replies:
    """Replies end to end; a score that a part lacks is NaN there, and every such row carries an error."""
    names = list(dict.fromkeys(name for part in parts for name in part.scores))
    pieces: dict[str, list[FloatArray]] = {name: [] for name in names}
    errors: dict[int, str] = {}
    arrived: dict[int, Arrived] = {}
    offset = 0
    for part, length in zip(parts, lengths, strict=True):
        for name in names:
            pieces[name].append(part.scores.get(name, np.full(length, np.nan)))
        errors.update({offset + row: reason for row, reason in part.errors.items()})
        arrived.update({offset + row: answer for row, answer in part.arrived.items()})
        offset += length
    return Replies(
        scores={n: np.concatenate(p) if p else np.empty(0) for n, p in pieces.items()},
        errors=errors,
        arrived=arrived,
    )


def _from_mappings(rows: list[Any], who: str) -> Replies:
    errors = {
        i: f"expected a mapping of scores, got {type(r).__name__}"
        for i, r in enumerate(rows)
        if not isinstance(r, Mapping)
    }
    names = list(dict.fromkeys(str(k) for r in rows if isinstance(r, Mapping) for k in r))
    columns = {}
    for name in names:
        columns[name] = _floats(
            [r.get(name, np.nan) if isinstance(r, Mapping) else np.nan for r in rows], who
        )
    return _finite(columns, errors)


def _from_array(array: FloatArray, names: Sequence[str] | None, who: str) -> Replies:
    if array.ndim == 1:
        return _finite({(names or ("score",))[0]: array}, {})
    if array.ndim != 2:
        raise SubjectError(
            "reply-shape",
            f"{who} returned an array of {array.ndim} dimensions",
            expected="one score, or one row of scores, for each input",
        )
    if names is None:
        names = ["score"] if array.shape[1] == 1 else [f"class_{k}" for k in range(array.shape[1])]
    if len(names) != array.shape[1]:
        raise SubjectError(
            "reply-shape",
            f"{who} returned {array.shape[1]} columns and names= has {len(names)}",
            given=list(names),
        )
    return _finite({str(name): array[:, k] for k, name in enumerate(names)}, {})


def _finite(columns: dict[str, FloatArray], errors: dict[int, str]) -> Replies:
    for name, column in columns.items():
        for row in np.flatnonzero(~np.isfinite(column)).tolist():
            errors.setdefault(row, f"score is not a finite number: {name}={column[row]}")
    if errors:
        rows = np.array(sorted(errors))
        columns = {name: column.copy() for name, column in columns.items()}
        for column in columns.values():
            column[rows] = np.nan
    return Replies(scores=columns, errors=errors)


def _floats(values: Any, who: str) -> FloatArray:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        first = next((v for v in np.ravel(np.asarray(values, dtype=object)) if not _is_number(v)), None)
        raise SubjectError(
            "reply-type",
            f"{who} returned something that is not a number",
            given=repr(first),
            expected="floats, mappings of floats, or an (n, k) array",
            hint="wrap your model so that it returns a probability or a score for each input",
        ) from error


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _iterable(raw: Any, who: str) -> Any:
    if raw is None or isinstance(raw, str | bytes) or not hasattr(raw, "__iter__"):
        raise SubjectError(
            "reply-type",
            f"{who} returned {type(raw).__name__}",
            expected="one score for each input, in order",
        )
    return raw


def _check_length(got: int, n: int, who: str) -> None:
    if got != n:
        raise SubjectError(
            "reply-length",
            f"{who} returned {got} replies for {n} inputs",
            expected="exactly one reply for each input, in order",
            hint="a batch callable receives a list and must not drop or merge rows",
        )


def _identity(function: Callable[..., Any], id: str | None, version: str | None) -> tuple[str, str]:
    """The id of a callable, and when a reply of it may be used again (`Traits.reuse`)."""
    name = (
        f"{getattr(function, '__module__', '?')}:{getattr(function, '__qualname__', type(function).__name__)}"
    )
    if id is not None:
        return id if version is None else f"{id} version {version}", "always"
    if version is not None:  # whoever declares a version answers for the state; the code is still looked at
        return f"python {name} {code_of(function)} version {version}", "always"
    digest, seen = fingerprint_of(function)
    return f"python {name} {digest}", "unfinished" if seen else "never"


def _load(name: str, path: str) -> Any:
    if not name.endswith(".py"):
        if str(Path.cwd()) not in sys.path:
            sys.path.insert(0, str(Path.cwd()))  # a console script does not look beside the user's files
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name and not name.startswith(error.name):
                raise UsageError(
                    "subject-import", f"importing {name!r} failed: {error}", given=path
                ) from error
            raise UsageError(
                "unknown-subject",
                f"there is no module {name!r}",
                given=path,
                expected='"module:attr", importable from here, or "path/to/file.py:attr"',
            ) from error
        except Exception as error:
            raise UsageError(
                "subject-import", f"importing {name!r} failed: {_first_line(error)}", given=path
            ) from error
    file = Path(name)
    if not file.is_file():
        raise UsageError("unknown-subject", "there is no such file", given=name)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise UsageError("unknown-subject", "this file cannot be imported", given=name)
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(file.stem, module)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise UsageError(
            "subject-import", f"running {name} failed: {_first_line(error)}", given=path
        ) from error
    return module


def _first_line(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return (text[0] if text else "no message")[:200]

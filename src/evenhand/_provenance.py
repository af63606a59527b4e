"""Where a result comes from: the call, digests of the data, versions, the time. No texts, no secrets."""

from __future__ import annotations

import datetime
import functools
import hashlib
import inspect
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from evenhand._files import sha256
from evenhand._record import Record
from evenhand._version import __version__

PACKAGES = ("numpy", "scipy", "pyarrow")


P = ParamSpec("P")
R = TypeVar("R", bound=Record)


def tells_its_call(*without: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """For the door of an audit: the arguments of the call go into the provenance of its result, defaults
    included.

    Args:
        without: parameters that are data or machinery, and are not repeated. What the door itself puts into
            its provenance (names it resolved) stays; None is left out.
    """

    def wrap(door: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(door)
        unknown = set(without) - set(signature.parameters)
        if unknown:
            raise TypeError(f"{door.__name__} has no parameter {sorted(unknown)}")

        @functools.wraps(door)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            result = door(*args, **kwargs)
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            told = result.provenance["call"]
            given = {k: v for k, v in bound.arguments.items() if k not in without and v is not None}
            whole = {**told, "arguments": {**given, **told["arguments"]}}
            return replace(result, provenance={**result.provenance, "call": whole})

        return call

    return wrap


def provenance(
    function: Callable[..., Any],
    arguments: Mapping[str, Any],
    *,
    subject: str | None = None,
    data: Mapping[str, str] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """A plain record of one call."""
    versions = {"evenhand": __version__, "python": platform.python_version()}
    versions |= {name: _version_of(name) for name in PACKAGES}
    record: dict[str, Any] = {
        "call": {
            "function": f"evenhand.{function.__name__}",
            "arguments": {k: v for k, v in arguments.items() if v is not None},
        },
        "data": dict(data or {}),
        "versions": versions,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        **more,
    }
    if subject is not None:
        record["subject"] = subject
    return record


@functools.cache
def _version_of(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # vendored builds may carry no metadata
        return "unknown"


def digest_of(source: Any, table: Any = None) -> str:
    """Of a file's bytes, of texts, or of an Arrow table's contents: ``sha256:`` and its 64 hex digits.

    Results of before version 0.2 have the first 16 digits alone.

    >>> digest_of(["a"])[:20]
    'sha256:ffe9aaeaa2a2d'
    """
    digest = hashlib.sha256()
    if isinstance(source, str | os.PathLike) and len(str(source)) < 4096 and Path(source).is_file():
        return f"sha256:{sha256(source)}"
    elif table is not None:
        for name in table.column_names:
            digest.update(name.encode())
            digest.update(_as_text(table.column(name)))
    elif isinstance(source, Sequence) and not isinstance(source, str):
        for value in source:
            digest.update(f"{value}\0".encode("utf-8", "surrogatepass"))
    else:
        digest.update(str(source).encode("utf-8", "surrogatepass"))
    return f"sha256:{digest.hexdigest()}"


def _as_text(column: Any) -> bytes:
    """The values of a column as text: how long each is, all of them, and which are missing."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        texts = column.cast(pa.large_string()).combine_chunks()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # lists, structures
        return "".join([f"{value!r}\0" for value in column.to_pylist()]).encode("utf-8", "surrogatepass")
    if not len(texts):
        return b""
    missing = pc.indices_nonzero(pc.is_null(texts))  # to fill them in imports pandas
    ends = np.frombuffer(texts.buffers()[1], dtype=np.int64)[texts.offset :][: len(texts) + 1]
    held = memoryview(texts.buffers()[2] or b"")[int(ends[0]) : int(ends[-1])]
    at = np.from_dlpack(missing).tobytes() if len(missing) else b""
    return np.diff(ends).tobytes() + bytes(held) + at

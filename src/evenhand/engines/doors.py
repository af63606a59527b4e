"""Whether data at the door are streamed, and by which engine."""

from __future__ import annotations

import os
from typing import Any

from evenhand._errors import UsageError
from evenhand.engines import engine_of
from evenhand.engines.daft import Daft
from evenhand.engines.files import streamed_files
from evenhand.engines.frames import FramePart, LazyPart, SparkPart, is_lazy, library_of
from evenhand.engines.local import Local
from evenhand.engines.spark import Spark
from evenhand.engines.streamed import Streamed


def streamed(data: Any, engine: str | None) -> Streamed | None:
    """Files, or a frame whose rows are elsewhere, that are read in partitions; None for what is held in
    memory.

    Args:
        engine: what the user named, or None.

    Raises:
        DataError, UsageError: as `engine_of` and `streamed_files`; `engine` where the data are in this
            process already, or are read by another engine.
    """
    asked = None if engine is None else engine_of(engine)
    library = library_of(data)
    if library == "daft" and hasattr(data, "to_arrow_iter"):
        if not isinstance(asked, Daft | Local | None):
            reads = "Daft, here or on the cluster that daft.set_runner_ray names"
            raise _read_by(reads, "a frame of Daft's", engine, 'engine="daft"')
        return _frame(FramePart(frame=data), data.column_names, asked or Daft())
    if library == "pyspark" and hasattr(data, "mapInArrow"):
        if asked is not None:
            reads = "the executors of its session"
            raise _read_by(reads, "a frame of Spark's", engine, "no engine=")
        return _frame(SparkPart(frame=data), data.columns, Spark())
    found = streamed_files(data, asked)
    if found is not None or asked is None:
        return found
    if not isinstance(data, str | os.PathLike) and is_lazy(data):
        if not isinstance(asked, Local):
            raise _read_by("this process", "a table of another library", engine, 'engine="local"')
        part = LazyPart(frame=data)
        return _frame(part, part.names(), asked)
    raise UsageError(
        "engine",
        "an engine reads files, or frames whose rows are elsewhere; these data are in memory already",
        given=type(data).__name__,
        expected="a file, a folder, a pattern, a frame of Daft's, or a lazy one (DuckDB, polars)",
    )


def _frame(part: FramePart | SparkPart | LazyPart, columns: Any, engine: Any) -> Streamed:
    return Streamed(
        name=str(part), columns=list(columns), parts=[part], engine=engine, only=True, any_order=True
    )


def _read_by(who: str, what: str, given: str | None, expected: str) -> UsageError:
    return UsageError("engine", f"{what} is read by {who}", given=given, expected=expected)

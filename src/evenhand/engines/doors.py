"""Whether data at the door are streamed, and by which engine."""

from __future__ import annotations

from typing import Any

from evenhand._errors import UsageError
from evenhand.engines import engine_of
from evenhand.engines.files import streamed_files
from evenhand.engines.frames import is_daft, streamed_frame
from evenhand.engines.streamed import Streamed


def streamed(data: Any, engine: str | None) -> Streamed | None:
    """Files or a frame of Daft's that are read in partitions; None for what is held in memory.

    Args:
        engine: what the user named, or None.

    Raises:
        DataError, UsageError: as `engine_of`, `streamed_files` and `streamed_frame`; `engine` where the data
            are in this process already.
    """
    if is_daft(data):
        return streamed_frame(data, None if engine is None else engine_of(engine))
    found = streamed_files(data, None if engine is None else engine_of(engine))
    if found is None and engine is not None:
        raise UsageError(
            "engine",
            "an engine reads files, or a frame of Daft's; these data are in memory already",
            given=type(data).__name__,
            expected="a file, a folder, a pattern, or daft.DataFrame",
        )
    return found

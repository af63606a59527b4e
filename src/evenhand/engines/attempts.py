"""What goes to another process or machine, and what comes back: a summary, or why there is none."""

from __future__ import annotations

import pickle
from typing import Any

from evenhand._errors import EngineError, EvenhandError
from evenhand._files import brief
from evenhand._version import __version__


def attempt(work: bytes, part: bytes, version: str) -> bytes:
    """The pickled summary of a partition, or the error that says why there is none.

    An error comes back as a value: what is wrong with the data is wrong wherever they are read, so nobody
    tries again; and no engine's own wrapping stands between it and the user.

    Args:
        work, part: pickled; they are not opened by another version. version: of the evenhand that asks.
    """
    if version != __version__:
        return pickle.dumps(_other_version(f"evenhand {__version__}", version))
    given: Any = None
    try:
        given = pickle.loads(part)  # noqa: S301 - both are sent by the program that asks
        return pickle.dumps(pickle.loads(work)(given), protocol=5)  # noqa: S301
    except EvenhandError as error:
        return pickle.dumps(error)
    except Exception as error:  # a defect, or no memory: told with the partition's name
        said = f"a partition could not be summarised: {type(error).__name__}: {brief(error)}"
        return pickle.dumps(EngineError("partition-failed", said, given=given))


def summary_of(sent: bytes) -> Any:
    """What a worker sent; raises the error, where it is one. Nothing is a worker without evenhand."""
    if not sent:
        raise _other_version("no evenhand", __version__)
    found = pickle.loads(sent)  # noqa: S301 - sent by `attempt`
    if isinstance(found, EvenhandError):
        raise found
    return found


def _other_version(there: str, here: str) -> EngineError:
    return EngineError(
        "engine-version",
        "a worker has another version of evenhand, or none",
        given=there,
        expected=f"evenhand {here}",
        hint="install the same version on every machine of the cluster",
    )

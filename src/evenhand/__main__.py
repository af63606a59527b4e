"""`evenhand` and `python -m evenhand`."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any


def main() -> None:
    """The entry point: Ctrl-C is a message from the first moment, also while the command line is still being
    loaded."""
    usual = (
        signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )  # a background job ignores it, and goes on to
    if usual:
        signal.signal(signal.SIGINT, _leave)
    from evenhand.cli import main as command_line

    if usual:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    command_line()


def _leave(*_: Any) -> None:
    """Ends the process: an exception in the middle of an import comes out as whatever that module makes of
    it."""
    sys.stderr.write("\nevenhand: stopped before anything was asked.\n")
    sys.stderr.flush()
    os._exit(3)


if __name__ == "__main__":
    main()

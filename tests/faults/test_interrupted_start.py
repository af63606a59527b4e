"""Ctrl-C before the command line is there."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import os, runpy, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, {handler})
sys.meta_path.insert(0, Interrupting())
sys.argv = ["evenhand", "list", "subjects"]
runpy.run_module("evenhand", run_name="__main__", alter_sys=True)
"""


def _run(name: str, handler: str) -> subprocess.CompletedProcess[str]:
    program = PROGRAM.format(name=name, handler=handler)
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )


def test_ctrl_c_while_the_command_line_is_loaded_is_a_message() -> None:
    """Exit 3 and one line, wherever in the imports it falls."""
    for name in ("evenhand.cli", "typer", "evenhand.cli.about"):
        done = _run(name, "signal.default_int_handler")
        assert (done.returncode, done.stdout) == (3, "")
        assert done.stderr.strip() == "evenhand: stopped before anything was asked."


def test_a_job_that_ignores_ctrl_c_goes_on_ignoring_it() -> None:
    """What a shell started in the background is not stopped from the foreground."""
    done = _run("typer", "signal.SIG_IGN")
    assert done.returncode == 0, done.stderr
    assert "vader" in done.stdout

"""Workers that do not see the journal: processes that write letters through a socket, as to another machine."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing.connection import Client, Listener
from pathlib import Path
from typing import Any

import evenhand as eh
from evenhand.engines.attempts import attempt, summary_of
from evenhand.engines.local import Local

WORKER = """
import pickle, sys
from evenhand.engines.attempts import attempt
attempted = pickle.load(sys.stdin.buffer)
sys.path[:0] = attempted.pop()
while attempted:
    work, part, version = pickle.loads(attempted.pop(0))
    found = attempt(work, part, version)
    sys.stdout.buffer.write(len(found).to_bytes(8, "big") + found)
    sys.stdout.buffer.flush()
"""


@dataclass(frozen=True)
class Mail:
    """Sends a letter to whoever listens at a path. Where a file `mortal` lies beside it, the worker that has sent so
    many letters of what it holds dies once: before the letter leaves, or before it has read the answer."""

    path: str

    def __call__(self, letter: bytes) -> bytes:
        mortal = Path(self.path).with_name("mortal")
        dies = b'"operation": "put"' in letter and mortal.exists()
        if dies:
            when, _, left = mortal.read_text().partition(" ")
            dies = int(left) <= 0
            mortal.unlink() if dies else mortal.write_text(f"{when} {int(left) - 1}")
            if dies and when == "before":
                os.kill(os.getpid(), signal.SIGKILL)
        with Client(self.path, family="AF_UNIX") as line:
            line.send_bytes(letter)
            if dies:
                line.recv_bytes()
                os.kill(os.getpid(), signal.SIGKILL)
            return line.recv_bytes()


class Posted(Local):
    """An engine that takes letters at a socket."""

    @contextlib.contextmanager
    def post(self, answer: Callable[[bytes], bytes]) -> Iterator[Callable[[bytes], bytes]]:
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/mail"
            listener = Listener(path, family="AF_UNIX", backlog=64)
            ended = threading.Event()

            def listen() -> None:
                while not ended.is_set():
                    with contextlib.suppress(OSError, EOFError), listener.accept() as line:
                        line.send_bytes(answer(line.recv_bytes()))

            thread = threading.Thread(target=listen, daemon=True)
            thread.start()
            self.mortal = Path(folder) / "mortal"
            self.prepare()
            try:
                yield Mail(path)
            finally:
                ended.set()
                with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as last:
                    last.connect(path)
                thread.join()
                listener.close()

    def prepare(self) -> None:
        """Before anybody writes."""


class Machines(Posted):
    """Workers of their own process, each on its own machine: "here" sees the journal's file, any other does not.

    Args:
        machines: of the workers. dies: whether a worker that does not see the file dies ("before" or "after" it has
            sent what it holds), and after how many letters of that kind.
    """

    def __init__(self, *machines: str, dies: str = "") -> None:
        self.machines, self.dies = machines, dies
        self.deaths = 0

    def prepare(self) -> None:
        if self.dies:
            self.mortal.write_text(self.dies)

    def map(self, work: Any, parts: Sequence[Any], progress: Any = None) -> Iterator[Any]:
        """Shares in turn; those of a process that died are made by the next."""
        n = len(self.machines)
        with ThreadPoolExecutor(n) as pool:
            made = pool.map(lambda at: self._worker(at, work, parts[at::n]), range(n))
            found = list(made)
        yield from (found[at % n][at // n] for at in range(len(parts)))

    def _worker(self, at: int, work: Any, parts: Sequence[Any]) -> list[Any]:
        replies: list[bytes] = []
        while len(replies) < len(parts):
            home = work.home
            if self.machines[(at + self.deaths) % len(self.machines)] != "here":
                home = replace(home, journal=home.journal + ".is not there")
            sent = pickle.dumps(replace(work, home=home))
            tasks = [
                pickle.dumps((sent, pickle.dumps(part), eh.__version__)) for part in parts[len(replies) :]
            ]
            done = subprocess.run([sys.executable, "-c", WORKER], input=pickle.dumps([*tasks, sys.path]), capture_output=True, check=False)  # fmt: skip
            out = done.stdout
            while len(out) >= 8 and len(out) >= 8 + (size := int.from_bytes(out[:8], "big")):
                replies.append(out[8 : 8 + size])
                out = out[8 + size :]
            if done.returncode:
                self.deaths += 1
                assert done.returncode == -signal.SIGKILL, done.stderr.decode()
                assert self.deaths < 4
        return [summary_of(each) for each in replies]


class Away(Local):
    """This process, as if the journal's file were not here: every share is made through letters, sent as bytes.

    Args:
        change: of the workers' home.
    """

    def __init__(self, **change: Any) -> None:
        self.change = change or {"machine": "another"}
        self.letters: list[str] = []

    def post(self, answer: Callable[[bytes], bytes]) -> contextlib.AbstractContextManager[Any]:
        """What was asked for is noted."""

        def noted(letter: bytes) -> bytes:
            self.letters.append(json.loads(letter)["operation"])
            return answer(letter)

        return super().post(noted)

    def map(self, work: Any, parts: Sequence[Any], progress: Any = None) -> Iterator[Any]:
        work = replace(work, home=replace(work.home, **self.change))
        yield from (
            summary_of(attempt(pickle.dumps(work), pickle.dumps(part), eh.__version__)) for part in parts
        )

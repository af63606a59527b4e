"""Letters between workers of a Ray cluster and the process that asks, which may be a client outside of it.

No port is opened: the mailbox is an actor, and both sides call it as Ray calls anything.
"""

from __future__ import annotations

import contextlib
import threading
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from evenhand.engines import Send
from evenhand.engines.mailbox import SILENT, Mailbox

NAMESPACE = "evenhand"
LOOK = 1.0
"""Seconds that a look into an empty mailbox waits."""
PATIENCE = 3 * SILENT
"""Seconds that a worker waits for an answer; who keeps the journal waits for others for 60 at most."""
MOST_AT_ONCE = 100_000
"""Calls that wait in the mailbox: one of each worker, and two of the reader."""
_BOXES: dict[str, Any] = {}
"""Name → the actor, as this process knows it; one at a time."""


@dataclass(frozen=True, kw_only=True)
class RayPost:
    """What workers send letters with: the mailbox of this name."""

    name: str

    def __call__(self, letter: bytes) -> bytes:
        import ray

        end = time.monotonic() + PATIENCE
        while (left := end - time.monotonic()) > 0:
            try:
                if self.name not in _BOXES:
                    _BOXES.clear()
                    _BOXES[self.name] = ray.get_actor(self.name, namespace=NAMESPACE)
                # Not ray.get: it would say that this worker rests, and another would be begun in its place.
                answer: bytes = _BOXES[self.name].ask.remote(letter).future().result(left)
                return answer
            except ValueError:  # there is no such box any more
                return b""
            except TimeoutError:
                return b""
            except ray.exceptions.RayActorError:  # it is begun anew elsewhere, or gone: its name tells
                _BOXES.clear()
                time.sleep(0.5)
        return b""


@contextlib.contextmanager
def ray_post(ray: Any, answer: Send) -> Iterator[Send]:
    """Open a mailbox beside this process, and answer what comes into it."""
    name = f"evenhand {uuid.uuid4().hex}"
    actor = ray.remote(
        num_cpus=0, max_restarts=-1, max_concurrency=MOST_AT_ONCE, name=name, namespace=NAMESPACE
    )(Mailbox)
    box = actor.options(scheduling_strategy=_beside(ray)).remote()
    ended = threading.Event()
    reader = threading.Thread(target=_read, args=(ray, box, answer, ended), name="evenhand-mail", daemon=True)
    reader.start()
    try:
        yield RayPost(name=name)
    finally:
        ended.set()
        with contextlib.suppress(Exception):  # the cluster may be gone
            ray.kill(box)
        reader.join(2 * LOOK)


def _beside(ray: Any) -> Any:
    """The node of this process, or of its client's server, if there is room: it is lost with them anyway."""
    strategies = ray.util.scheduling_strategies
    return strategies.NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)


def _read(ray: Any, box: Any, answer: Send, ended: threading.Event) -> None:
    """Look for letters until the end; they are answered in another thread, so that a slow journal is not
    taken for a dead one."""
    name, seen = "", 0

    def reply(box_name: str, number: int, letter: bytes) -> None:
        box.answer.remote(box_name, number, answer(letter))

    with ThreadPoolExecutor(1, thread_name_prefix="evenhand-clerk") as desk:
        while not ended.is_set():
            try:
                found, letters = ray.get(box.look.remote(name, seen, LOOK))
            except Exception:  # it is begun anew, or the connection: those who wait write again
                ended.wait(LOOK)
                continue
            name, seen = found, max((number for number, _ in letters), default=seen if found == name else 0)
            for number, letter in letters:
                desk.submit(reply, name, number, letter)

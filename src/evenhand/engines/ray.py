"""The machines of a Ray cluster: partitions are summarised where a worker is free, and those of a lost worker
once more elsewhere."""

from __future__ import annotations

import pickle
import socket
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from evenhand._errors import EngineError, UsageError
from evenhand._files import brief
from evenhand._version import __version__
from evenhand.engines import Progress, Send, needs
from evenhand.engines.attempts import summary_of
from evenhand.engines.ray_post import ray_post

P = TypeVar("P")
S = TypeVar("S")
TRIES = 3
"""Times that the partition of a lost worker is made again."""
AHEAD = 4
"""Partitions under way for each processor: what has arrived early is held, so their number is bounded."""
PATIENCE = 5.0
"""Seconds that an address has to answer."""


class Ray:
    """The engine of a cluster.

    Args:
        address: ``ray://host:port`` of its head, or None: the cluster that this process, its environment or
            this machine is part of, else a new one of this machine's processors.
        gpu: GPUs for each worker, or a share of one; 0 for none.

    Raises:
        UsageError: `engine-missing`, `engine-unreachable`; `engine`: the cluster has fewer GPUs.
    """

    def __init__(self, address: str | None = None, gpu: float = 0.0) -> None:
        try:
            import ray
        except ImportError:
            raise needs("ray", "scale-ray") from None
        self._ray: Any = ray
        if address is not None:
            _check_answers(address)
        if not ray.is_initialized():
            try:
                ray.init(address=address, log_to_driver=False, logging_level="ERROR")
            except Exception as error:
                raise _unreachable(address or "ray", brief(error)) from error
        there = float(ray.cluster_resources().get("GPU", 0.0))
        if not 0.0 <= gpu <= there:
            said = f"the cluster has {there:g} GPUs"
            raise UsageError("engine", said, given=f"gpu={gpu:g}", expected=f"0 to {there:g}")
        # Ray ends a worker with a GPU after each task unless told not to: it would load its model anew.
        self._asked: dict[str, Any] = {"num_gpus": gpu, "max_calls": 0} if gpu else {}

    def map(
        self, work: Callable[[P], S], parts: Sequence[P], progress: Progress | None = None
    ) -> Iterator[S]:
        """See `Engine`. A worker that dies is replaced up to `TRIES` times a partition."""
        ray = self._ray
        summarise = ray.remote(max_retries=TRIES, **self._asked)(_by_value())
        shared = ray.put(pickle.dumps(work))
        ahead = max(2, AHEAD * int(ray.cluster_resources().get("CPU", 1)))
        waiting: deque[tuple[Any, Any]] = deque()
        left, rows = iter(parts), 0
        try:
            while True:
                while len(waiting) < ahead and (part := next(left, None)) is not None:
                    waiting.append((part, summarise.remote(shared, pickle.dumps(part), __version__)))
                if not waiting:
                    return
                part, reply = waiting.popleft()
                found = summary_of(self._arrived(part, reply))
                rows += part.rows if progress is not None else 0
                if progress is not None:
                    progress(rows, 0)
                yield found
        finally:
            for _, reply in waiting:  # an error, or a sum that needs no more
                ray.cancel(reply, force=False)

    def post(self, answer: Send) -> AbstractContextManager[Send]:
        """See `Postal`."""
        return ray_post(self._ray, answer)

    def _arrived(self, part: Any, reply: Any) -> bytes:
        try:
            sent: bytes = self._ray.get(reply)
        except Exception as error:
            raise EngineError(
                "partition-lost",
                f"the workers of a partition died {TRIES + 1} times, or the cluster is gone: {brief(error)}",
                given=part,
                hint="has every machine the memory for a partition, and can it read the file?",
            ) from error
        return sent


def _by_value() -> Callable[[bytes, bytes, str], bytes]:
    """A function that travels as it is, so that a worker without evenhand can say so."""

    def summarise(work: bytes, part: bytes, version: str) -> bytes:
        try:
            from evenhand.engines.attempts import attempt
        except ImportError:
            return b""
        return attempt(work, part, version)

    return summarise


def _check_answers(address: str) -> None:
    """UsageError (`engine-unreachable`) where nobody listens: Ray itself would try for minutes."""
    host, _, port = address.partition("://")[2].partition(":")
    try:
        socket.create_connection((host, int(port or 10001)), timeout=PATIENCE).close()
    except (OSError, ValueError, OverflowError) as error:
        raise _unreachable(address, brief(error)) from error


def _unreachable(address: str, why: str) -> UsageError:
    return UsageError(
        "engine-unreachable",
        f"no Ray cluster answers: {why}",
        given=address,
        expected="ray://host:port of the head, where its client server listens (10001)",
    )

"""The engine behind every network service: an event loop on a thread, a rate, retries, a breaker.

An `Endpoint` knows one service (what a request looks like, where the scores are, which errors are final); the
engine knows nothing of sentiment. Proxies and `.netrc` of the environment are not used.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import queue
import random
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from evenhand._errors import CredentialError, SubjectError
from evenhand._model import Arrived, Replies, Traits, traits_of
from evenhand.subjects import gate
from evenhand.subjects.keys import check_url
from evenhand.subjects.python import join
from evenhand.subjects.request import Again, Endpoint, Refused, ask_once, fingerprint
from evenhand.subjects.wrappers import Arrivals, Transient, gather

if TYPE_CHECKING:
    import aiohttp

logging.getLogger("stamina").addHandler(logging.NullHandler())  # retries are counted; stderr is for messages

STAGGER = 0.001
"""Seconds between the first requests of two places: what starts in one burst comes back in one, for ever."""
GRACE = 3.0
"""Seconds that requests in flight are given after Ctrl-C, and then the loop to end."""
LOOK = 0.2
"""Seconds after which a reader that waits looks whether anybody is left to send something."""
TOGETHER = 0.01
"""Seconds for which replies are collected before they are handed over: waking the reader for each one costs
more than the reply."""


@dataclass(frozen=True, kw_only=True)
class Service:
    """A subject that asks an endpoint over HTTP.

    Args:
        endpoint: the service.
        concurrency: requests in flight.
        rate: requests a second; characters: characters a second. Evenly spaced, never more.
        attempts: tries of one request in all. timeout: seconds for one of them.
        wait_initial, wait_max: seconds before the second try and at most between two; Retry-After wins.
        breaker: so many requests that fail after all their tries, one after another, end the run.
        proxy: address of a proxy, ``http://host:port``; none by default, whatever the environment says.
        version: of the model, where neither its name nor the request says it; part of the id.
        clock, sleep: what the rate is kept by; for tests.
    """

    endpoint: Endpoint
    concurrency: int = 8
    rate: float | None = None
    characters: float | None = None
    attempts: int = 6
    timeout: float = 60.0
    wait_initial: float = 0.5
    wait_max: float = 60.0
    breaker: int = 10
    proxy: str | None = None
    version: str = ""
    clock: Callable[[], float] = field(default=time.monotonic, repr=False, compare=False)
    sleep: Callable[[float], Awaitable[None]] = field(default=asyncio.sleep, repr=False, compare=False)
    id: str = field(init=False)
    paces: tuple[_Pace, _Pace] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_url(self.proxy or "", keyed=False)
        said = f"{self.endpoint.id} {fingerprint(self.endpoint)}"
        object.__setattr__(self, "id", f"{said} version {self.version}" if self.version else said)
        paces = (_Pace(each, self.clock, self.sleep) for each in (self.rate, self.characters))
        object.__setattr__(self, "paces", tuple(paces))

    @property
    def reading(self) -> str:
        """How answers are read; a journal keeps it beside the scores."""
        return self.endpoint.reading

    def read(self, body: bytes, n: int) -> Replies:
        """The scores in an answer that arrived earlier, as they are read now; asks nothing."""
        return gate.read(body, n, self.endpoint.parse, self.endpoint.within)

    @property
    def traits(self) -> Traits:
        """Those of the endpoint; it batches itself, since split batches would empty places at every seam."""
        return replace(traits_of(self.endpoint), batches_itself=True)

    def __call__(self, inputs: Sequence[Any], /) -> Replies:
        return gather(self.arrivals(inputs), len(inputs))

    def arrivals(self, inputs: Sequence[Any], /) -> Arrivals:
        """Replies as they come in; whatever has arrived together is handed over together."""
        refused = {
            row: why for row, text in enumerate(inputs) if (why := self.endpoint.refuse(text)) is not None
        }
        if refused:
            rows = np.array(sorted(refused), dtype=np.intp)
            yield rows, Replies(scores={}, errors={at: refused[int(row)] for at, row in enumerate(rows)})
        asked = [row for row in range(len(inputs)) if row not in refused]
        if not asked:
            return
        driver = _Driver(self, inputs, asked)
        thread = threading.Thread(target=driver.run, name="evenhand-service", daemon=True)
        try:
            thread.start()
            while (item := _next(driver, thread)) is not None:
                if isinstance(item, BaseException):
                    raise item
                yield _together(item)
        except KeyboardInterrupt:  # what is in flight is paid for: it is handed over before the run ends
            driver.stopping.set()
            if thread.is_alive():
                thread.join(GRACE)
            driver.end(thread)
            if left := driver.left():
                yield _together(left)
            raise
        finally:
            driver.end(thread)


def _next(driver: _Driver, thread: threading.Thread) -> Any:
    """What comes next.

    It wakes up now and then, since a wait without end cannot be interrupted everywhere (on Windows, and where
    a library has put its own handler of Ctrl-C in place), and since a thread that is gone sends nothing more.
    """
    while True:
        with contextlib.suppress(queue.Empty):
            return driver.arrived.get(timeout=LOOK)
        if not thread.is_alive() and driver.arrived.empty():
            return driver.left() or _died()


def _died() -> SubjectError:
    return SubjectError(
        "service-thread",
        "the thread that asks the service ended before its time",
        hint="run the same command again: what had arrived is kept",
    )


def _together(items: list[tuple[list[int], Replies]]) -> tuple[npt.NDArray[np.intp], Replies]:
    rows = np.array([row for rows, _ in items for row in rows], dtype=np.intp)
    return rows, join([replies for _, replies in items], [len(rows) for rows, _ in items])


@dataclass
class _Pace:
    """Evenly spaced permission: the next one is due 1/rate after the last, by the monotonic clock.

    It belongs to the service, not to one call of it, so the rate holds across calls and across threads, and
    by `line` (seconds → when one may begin who then takes so long) across processes. A loop that wakes late
    must not catch up in a burst: no second holds more than the rate.
    """

    rate: float | None
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    due: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)
    let_go: deque[float] = field(default_factory=deque)
    line: Callable[[float], float] | None = None

    async def wait(self, amount: float = 1.0) -> None:
        if not self.rate:
            return
        now, share = self.clock(), amount / self.rate
        with self.lock:
            start = max(now, self.due) if self.line is None else self.line(share)
            self.due = start + share
        if start > now:
            await self.sleep(start - now)
        while amount == 1.0 and (early := self._early()) > 0.0:
            await self.sleep(early)

    def _early(self) -> float:
        """Seconds until one more fits into the last second (or the last 1/rate, for a slower rate)."""
        most = max(1, int(self.rate or 1))
        with self.lock:
            now = self.clock()
            if len(self.let_go) >= most:
                wait = self.let_go[-most] + most / (self.rate or 1.0) - now
                if wait > 1e-9:
                    return wait
                self.let_go.popleft()
            self.let_go.append(now)
        return 0.0


@dataclass
class _Driver:
    """One run of the event loop: workers take chunks of rows, ask, and collect what arrived for the queue."""

    service: Service
    inputs: Sequence[Any]
    rows: list[int]
    # Not queue.Queue: an interrupt inside its lock, which is Python code, leaves the lock held for ever.
    arrived: queue.SimpleQueue[Any] = field(default_factory=queue.SimpleQueue)
    failed_in_a_row: int = 0
    outbox: list[tuple[list[int], Replies]] = field(default_factory=list)
    loop: asyncio.AbstractEventLoop | None = None
    stopping: threading.Event = field(default_factory=threading.Event)

    def end(self, thread: threading.Thread) -> None:
        """Ends the loop now, whatever it waits for, and its thread; does nothing where they have ended.

        A thread that is stuck outside the loop is left behind: it asks nothing and ends with the process.
        """
        self.stopping.set()
        until = time.monotonic() + GRACE
        while thread.is_alive() and time.monotonic() < until:
            if self.loop is not None:
                with contextlib.suppress(RuntimeError):  # closed in this moment
                    self.loop.call_soon_threadsafe(_cancel_all, self.loop)
            thread.join(0.1)

    def left(self) -> list[tuple[list[int], Replies]]:
        """What arrived and was not handed over; for the time after the thread has ended."""
        found: list[tuple[list[int], Replies]] = []
        while not self.arrived.empty():
            item = self.arrived.get()
            found += item if isinstance(item, list) else []
        found += self.outbox
        self.outbox = []
        return found

    def run(self) -> None:
        end: BaseException | None = None
        try:
            asyncio.run(self._all())
        except BaseExceptionGroup as errors:  # several workers fail in the same moment: the gravest is told
            end = _gravest(errors)
        except BaseException as error:  # handed to the caller's thread, which raises it
            end = error
        if end is not None and not isinstance(end, Exception):
            end = _died()  # this thread was told to end, which is no reason for the caller's to end
        if self.outbox:  # what had arrived before an error is kept
            self.arrived.put(self.outbox)
            self.outbox = []
        self.arrived.put(end)

    async def _all(self) -> None:
        import aiohttp

        self.loop = asyncio.get_running_loop()
        service, size = self.service, max(1, self.service.endpoint.batch)
        chunks = iter([self.rows[at : at + size] for at in range(0, len(self.rows), size)])
        timeout = aiohttp.ClientTimeout(total=service.timeout)
        connector = aiohttp.TCPConnector(limit=service.concurrency)
        async with (
            aiohttp.ClientSession(timeout=timeout, connector=connector, trust_env=False) as session,
            asyncio.TaskGroup() as workers,
        ):
            for _ in range(min(service.concurrency, -(-len(self.rows) // size))):
                workers.create_task(self._work(session, chunks))
                await asyncio.sleep(STAGGER)

    async def _work(self, session: aiohttp.ClientSession, chunks: Iterator[list[int]]) -> None:
        for rows in chunks:
            if self.stopping.is_set():
                return
            await self._hand_over(rows, await self._answer(session, [self.inputs[row] for row in rows]))

    async def _hand_over(self, rows: list[int], replies: Replies) -> None:
        """Collect what arrived; a reader that cannot follow holds up the workers."""
        if not self.outbox:
            asyncio.get_running_loop().call_later(TOGETHER, self._flush)
        self.outbox.append((rows, replies))
        while len(self.outbox) > 4 * self.service.concurrency and not self.stopping.is_set():
            await asyncio.sleep(TOGETHER)

    def _flush(self) -> None:
        if not self.outbox or self.stopping.is_set():
            return
        if self.arrived.empty():
            self.arrived.put(self.outbox)
            self.outbox = []
        else:
            asyncio.get_running_loop().call_later(TOGETHER, self._flush)

    async def _answer(self, session: aiohttp.ClientSession, part: list[Any]) -> Replies:
        service = self.service
        calls, characters = service.paces

        async def once() -> Replies:
            if calls.rate:
                await calls.wait()
            if characters.rate:
                await characters.wait(sum(len(str(text)) for text in part))
            body, answer = await ask_once(session, service.endpoint, part, service.proxy)
            n = len(part)
            replies = gate.checked(lambda: service.endpoint.parse(answer, n), n, service.endpoint.within)
            if len(replies.errors) == n and isinstance(replies.errors[0], Transient):
                self._count_failure(replies.errors[0])  # not what was asked for: a service that changed
            else:
                self.failed_in_a_row = 0
            tokens = gate.tokens_in(answer)
            return replace(replies, arrived={at: Arrived(body, at, n, *tokens) for at in range(n)})

        try:
            try:
                return await once()  # the usual case spends nothing on the machinery of retries
            except Again as first:
                return await self._retried(once, first)
        except Again as error:
            reason: str = Transient(f"{error.reason} (after {service.attempts} tries)")
        except Refused as error:
            reason = str(error)
        self._count_failure(reason)
        return Replies(scores={}, errors=dict.fromkeys(range(len(part)), reason))

    async def _retried(self, once: Callable[[], Awaitable[Replies]], first: Again) -> Replies:
        import stamina

        service = self.service
        if service.attempts < 2:
            raise first
        jitter = service.wait_initial * (1.0 + random.random())  # noqa: S311 - spreads requests, keeps no secret
        await asyncio.sleep(jitter if first.after is None else first.after)
        async for attempt in stamina.retry_context(
            on=_wait,
            attempts=service.attempts - 1,
            timeout=None,
            wait_initial=2 * service.wait_initial,
            wait_max=service.wait_max,
            wait_jitter=service.wait_initial,
        ):
            with attempt:
                return await once()
        raise first

    def _count_failure(self, reason: str) -> None:
        self.failed_in_a_row += 1
        if self.failed_in_a_row >= self.service.breaker:
            raise SubjectError(
                "service-down",
                f"{self.failed_in_a_row} requests in a row failed; the run stops here",
                given=reason,
                hint="look at the service, then run the same command again: what had arrived is kept",
            )


def _cancel_all(loop: asyncio.AbstractEventLoop) -> None:
    for task in asyncio.all_tasks(loop):
        task.cancel()


def _gravest(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    leaves: list[BaseException] = []
    stack: list[BaseException] = [errors]
    while stack:
        error = stack.pop()
        if isinstance(error, BaseExceptionGroup):
            stack.extend(error.exceptions)
        else:
            leaves.append(error)
    order = (CredentialError, SubjectError, Exception)
    return min(
        leaves, key=lambda e: next((i for i, kind in enumerate(order) if isinstance(e, kind)), len(order))
    )


def _wait(error: Exception) -> bool | float:
    if not isinstance(error, Again):
        return False
    return True if error.after is None else error.after

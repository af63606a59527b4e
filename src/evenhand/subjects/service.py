"""The engine behind every network service: one event loop on a thread, a rate, retries, a breaker, replies as they come.

An `Endpoint` knows one service (what a request looks like, where the scores are, which errors are final); the engine
knows nothing of sentiment. Requests go to the endpoint's host and nowhere else: redirects are not followed, and proxies
or `.netrc` of the environment are not used.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import json
import logging
import queue
import random
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt

from evenhand._errors import CredentialError, SubjectError
from evenhand._model import Replies, Traits, traits_of
from evenhand.subjects.python import join
from evenhand.subjects.wrappers import Arrivals, gather

if TYPE_CHECKING:
    import aiohttp

logging.getLogger("stamina").addHandler(logging.NullHandler())  # retries are counted; stderr is for messages

LARGEST_REPLY = 16 << 20
STAGGER = 0.001
"""Seconds between the first requests of two places: requests that start in one burst come back in one burst, for ever."""
GRACE = 3.0
"""Seconds that requests in flight are given after Ctrl-C, and then the loop to end."""
LOOK = 0.2
"""Seconds after which a reader that waits looks whether anybody is left to send something."""
TOGETHER = 0.01
"""Seconds for which replies are collected before they are handed over: waking the reader for each one costs more than the reply."""
RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
REFUSED = frozenset({401, 403})


class Endpoint(Protocol):
    """What the engine must know of one service."""

    @property
    def id(self) -> str:
        """Service, model, version and parameters; never a secret."""
        ...

    @property
    def url(self) -> str: ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers with the credentials; never logged."""
        ...

    @property
    def batch(self) -> int:
        """Inputs in one request."""
        ...

    @property
    def variable(self) -> str:
        """The environment variable that holds the key, for messages."""
        ...

    def refuse(self, text: Any) -> str | None:
        """Why an input cannot be asked (too long, empty), or None."""
        ...

    def body(self, inputs: Sequence[Any]) -> Any:
        """The JSON of a request."""
        ...

    def parse(self, answer: Any, n: int) -> Replies:
        """The scores in an answer to `n` inputs. Raises KeyError, TypeError or ValueError where they are missing."""
        ...


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
    clock: Callable[[], float] = field(default=time.monotonic, repr=False, compare=False)
    sleep: Callable[[float], Awaitable[None]] = field(default=asyncio.sleep, repr=False, compare=False)
    paces: tuple[_Pace, _Pace] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        paces = (_Pace(each, self.clock, self.sleep) for each in (self.rate, self.characters))
        object.__setattr__(self, "paces", tuple(paces))

    @property
    def id(self) -> str:
        return self.endpoint.id

    @property
    def traits(self) -> Traits:
        """Those of the endpoint; given many inputs at once the places stay filled, which split batches would empty at every seam."""
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
    """What comes next; wakes up now and then, since a wait without end cannot be interrupted everywhere (on Windows, and
    where a library has put its own handler of Ctrl-C in place), and since a thread that is gone sends nothing more."""
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

    It belongs to the service, not to one call of it, so the rate holds across calls and across threads.
    """

    rate: float | None
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    due: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    async def wait(self, amount: float = 1.0) -> None:
        if not self.rate:
            return
        now = self.clock()
        with self.lock:
            start = max(now, self.due)
            self.due = start + amount / self.rate
        if start > now:
            await self.sleep(start - now)


class _Retry(Exception):
    def __init__(self, reason: str, after: float | None = None) -> None:
        self.reason, self.after = reason, after
        super().__init__(reason)


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

        A thread that is stuck outside the loop is left behind: it asks nothing more, and ends with the process.
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
            part = [self.inputs[row] for row in rows]
            replies = await self._answer(session, part)
            await self._hand_over(rows, replies)
            again = [at for at, reason in replies.errors.items() if isinstance(reason, PartialFailure)]
            for _ in range(
                self.service.attempts - 1
            ):  # rows that failed inside a good answer are asked alone
                if not again or self.stopping.is_set():
                    break
                replies = await self._answer(session, [part[at] for at in again])
                await self._hand_over([rows[at] for at in again], replies)
                again = [
                    again[at] for at, reason in replies.errors.items() if isinstance(reason, PartialFailure)
                ]
            for at in again:
                reason = PartialFailureFinal(str(replies.errors[again.index(at)]))
                await self._hand_over([rows[at]], Replies(scores={}, errors={0: reason}), final=True)

    async def _hand_over(self, rows: list[int], replies: Replies, *, final: bool = False) -> None:
        """Collect what arrived; rows that will be asked again wait. A reader that cannot follow holds up the workers."""
        if replies.errors and not final:
            keep = [at for at in range(len(rows)) if not isinstance(replies.errors.get(at), PartialFailure)]
            rows, replies = [rows[at] for at in keep], _taken(replies, keep)
        if not rows:
            return
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
            answer = await _ask_once(session, service.endpoint, part)
            replies = service.endpoint.parse(answer, len(part))
            self.failed_in_a_row = 0
            return replies

        try:
            try:
                return await once()  # the usual case spends nothing on the machinery of retries
            except _Retry as first:
                return await self._retried(once, first)
        except _Retry as error:
            reason = f"{error.reason} (after {service.attempts} tries)"
        except _Final as error:
            reason = str(error)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            reason = (
                f"the answer has no score where it was expected ({type(error).__name__}: {str(error)[:80]})"
            )
        self._count_failure(reason)
        return Replies(scores={}, errors=dict.fromkeys(range(len(part)), reason))

    async def _retried(self, once: Callable[[], Awaitable[Replies]], first: _Retry) -> Replies:
        import stamina

        service = self.service
        if service.attempts < 2:
            raise first
        jitter = service.wait_initial * (1.0 + random.random())  # noqa: S311 - spreads requests, keeps no secret
        await asyncio.sleep(jitter if first.after is None else first.after)
        async for attempt in stamina.retry_context(
            on=_wait, attempts=service.attempts - 1, timeout=None, wait_initial=2 * service.wait_initial,
            wait_max=service.wait_max, wait_jitter=service.wait_initial,
        ):  # fmt: skip
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


def _taken(replies: Replies, keep: list[int]) -> Replies:
    picked = np.array(keep, dtype=np.intp)
    return Replies(
        scores={name: column[picked] for name, column in replies.scores.items()},
        errors={i: replies.errors[at] for i, at in enumerate(keep) if at in replies.errors},
    )


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


class PartialFailure(str):
    """The reason of a row that failed inside a good answer and may be asked again alone."""

    __slots__ = ()


class PartialFailureFinal(str):
    """The same after the last try."""

    __slots__ = ()


class _Final(Exception):
    """A request that would fail again."""


def _wait(error: Exception) -> bool | float:
    if not isinstance(error, _Retry):
        return False
    return True if error.after is None else error.after


async def _ask_once(session: aiohttp.ClientSession, endpoint: Endpoint, part: list[Any]) -> Any:
    import aiohttp

    try:
        async with session.post(
            endpoint.url, json=endpoint.body(part), headers=dict(endpoint.headers), allow_redirects=False
        ) as response:
            raw = await response.content.read(LARGEST_REPLY + 1)
            while len(raw) <= LARGEST_REPLY and not response.content.at_eof():
                raw += await response.content.read(LARGEST_REPLY + 1 - len(raw))
            return _judge(endpoint, response.status, response.headers, raw)
    except aiohttp.ClientSSLError as error:
        raise SubjectError(
            "certificate",
            "the certificate of the service was not accepted",
            given=urlsplit(endpoint.url).hostname,
            hint="is this the right host? Nothing was sent",
        ) from error
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise _Retry(f"{type(error).__name__}: {_without_secrets(str(error), endpoint)}"[:160]) from None


def _judge(endpoint: Endpoint, status: int, headers: Mapping[str, str], raw: bytes) -> Any:
    """The JSON of a good answer; an exception that says what to do about any other."""
    if status in REFUSED or (status == 400 and (b"API_KEY_INVALID" in raw or b"API key not valid" in raw)):
        raise CredentialError(
            "credentials",
            f"the service refused the key (HTTP {status})",
            given=urlsplit(endpoint.url).hostname,
            expected=f"a valid key in the environment variable {endpoint.variable}"
            if endpoint.variable
            else None,
            hint="nothing is asked again until the key is right; what had arrived is kept",
        )
    if status in RETRIED:
        raise _Retry(f"HTTP {status}", _retry_after(headers.get("Retry-After")))
    if not 200 <= status < 300:
        said = _without_secrets(raw[:200].decode("utf-8", "replace"), endpoint)
        if status == 404:
            raise SubjectError(
                "not-found", f"the service knows no such model or path (HTTP 404): {said}", given=endpoint.id,
                hint="check the name of the model and the URL",
            )  # fmt: skip
        raise _Final(f"HTTP {status}: {said}")
    if len(raw) > LARGEST_REPLY:
        raise _Final(f"the answer is larger than {LARGEST_REPLY:,} bytes")
    try:
        return json.loads(raw)
    except ValueError:
        if raw.lstrip()[:1] == b"<":
            raise _Final("the endpoint answered HTML, not JSON; is the URL that of the API?") from None
        raise _Retry("the answer is not JSON") from None  # cut off in the middle, most often


def _retry_after(value: str | None) -> float | None:
    """Seconds, or a date (RFC 9110, 10.2.3); never more than an hour, whatever the clocks say."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            due = parsedate_to_datetime(value)
        except ValueError:
            return None
        seconds = (due - datetime.datetime.now(datetime.UTC)).total_seconds()
    return min(max(seconds, 0.0), 3600.0)


def _without_secrets(text: str, endpoint: Endpoint) -> str:
    """Services like to echo what they were sent; keys stay out of every message."""
    secrets = [part for value in endpoint.headers.values() for part in value.split() if len(part) >= 8]
    secrets += [part.partition("=")[2] for part in urlsplit(endpoint.url).query.split("&") if "=" in part]
    for secret in secrets:
        if secret:
            text = text.replace(secret, "•••")
    return text

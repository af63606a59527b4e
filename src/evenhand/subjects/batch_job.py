"""Batch jobs of a chat service, at half the price: sent, waited for, joined by custom id.

Another way to send the same requests, so a reply counts as one of the direct service. With a journal the job
is the journal's: it is entered before it is sent, and a run after a kill collects it instead of paying again.
"""

from __future__ import annotations

import json
import logging
import time
import uuid
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np

from evenhand._addresses import keys_of
from evenhand._errors import EvenhandError, SubjectError
from evenhand._jobs import Job, Jobs
from evenhand._model import Arrived, Replies, layers
from evenhand._store import Journal
from evenhand.subjects import gate
from evenhand.subjects.exchange import Exchange
from evenhand.subjects.python import join
from evenhand.subjects.request import Again, Refused
from evenhand.subjects.service import Service
from evenhand.subjects.wrappers import Arrivals, Rows, gather

PRICE_SHARE = 0.5
"""What a job costs of the price of direct calls, at the vendors that offer one."""
IN_BATCHES = frozenset({"openai", "anthropic"})
"""Subjects that take `batch_job`."""
TOGETHER = 1_000
"""Replies that are handed over, and kept, in one transaction."""
TOLD_EVERY = 600.0
"""Seconds between two lines about a job that is waited for."""
_log = logging.getLogger("evenhand")


@dataclass(frozen=True, kw_only=True, slots=True)
class State:
    """How far a job is.

    Args:
        ended: whether nothing more will come. status: in the vendor's word. why: what it says of a failure.
        outputs: where the results are, addresses below the base URL.
    """

    ended: bool
    status: str
    why: str = ""
    outputs: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One line of the results: whose it is, and the answer or the reason why there is none."""

    custom_id: str
    answer: Any = None
    error: str = ""


class Batches(Protocol):
    """What one vendor's batch endpoint looks like."""

    @property
    def base_url(self) -> str: ...

    @property
    def most(self) -> int:
        """Requests in one job."""
        ...

    @property
    def most_bytes(self) -> int:
        """Bytes of the requests of one job."""
        ...

    def send(self, exchange: Exchange, token: str, requests: Sequence[tuple[str, Any]]) -> str:
        """Make a job of (custom id, body); its name.

        Asked once: `Again` where nobody knows whether it was made.
        """
        ...

    def find(self, exchange: Exchange, job: Job) -> str:
        """The name of the job of this token, if it was made; else empty."""
        ...

    def state(self, exchange: Exchange, name: str) -> State:
        """How far a job is."""
        ...

    def line(self, row: Any) -> Line:
        """One line of the results; whatever it raises makes it a line of nobody."""
        ...


@dataclass
class Owner:
    """Whose jobs they are: those of a journal under the address of the subject, or nobody's."""

    journal: Journal | None = None
    scope: str = ""
    repeat: int = 0

    def keep_in(self, journal: Journal, scope: str, repeat: int) -> None:
        """Jobs of this journal from now on."""
        self.journal, self.scope, self.repeat = journal, scope, repeat

    def running(self) -> list[Job]:
        return self._jobs.running(self.scope) if self._jobs is not None else []

    def begin(self, token: str, keys: Sequence[bytes]) -> Job:
        if self._jobs is not None:
            return self._jobs.begin(self.scope, token, keys)
        return Job(token=token, name="", began=time.time(), size=len(keys), keys=dict(enumerate(keys)))

    def named(self, job: Job, name: str) -> Job:
        if self._jobs is not None:
            self._jobs.named(job.token, name)
        return Job(token=job.token, name=name, began=job.began, size=job.size, keys=job.keys)

    def collected(self, job: Job, keys: set[bytes]) -> None:
        if self._jobs is not None:
            self._jobs.collected(job, keys)

    @property
    def _jobs(self) -> Jobs | None:
        """None also where the subject outlived the journal of an earlier audit."""
        return None if self.journal is None or self.journal.closed else self.journal.jobs


@dataclass(frozen=True, kw_only=True)
class BatchJob:
    """A service asked in jobs; `whole` tells audits to hand over all probes at once.

    Args:
        subject: the direct service, of the same id: what it would send, and how answers are read.
        batches: the vendor's batch endpoint. poll: seconds between two looks at a job.
    """

    subject: Service
    batches: Batches
    poll: float = 60.0
    owner: Owner = field(default_factory=Owner, repr=False, compare=False)
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False, compare=False)
    whole: ClassVar[bool] = True
    batches_itself: ClassVar[bool] = True
    price_share: ClassVar[float] = PRICE_SHARE

    @property
    def id(self) -> str:
        return self.subject.id

    def __call__(self, inputs: Sequence[Any], /) -> Replies:
        return gather(self.arrivals(inputs), len(inputs))

    def arrivals(self, inputs: Sequence[Any], /) -> Arrivals:
        """Replies as jobs end; those of jobs that are running already come without asking again."""
        endpoint = self.subject.endpoint
        refused = {row: why for row, text in enumerate(inputs) if (why := endpoint.refuse(text)) is not None}
        if refused:
            errors = dict(enumerate(refused.values()))
            yield np.array(list(refused), dtype=np.intp), Replies(scores={}, errors=errors)
        keys = keys_of(self.owner.scope or self.id, inputs, self.owner.repeat)
        open_rows: dict[bytes, list[int]] = {}
        texts: dict[bytes, Any] = {}
        for row, key in enumerate(keys):
            if row not in refused:
                open_rows.setdefault(key, []).append(row)
                texts.setdefault(key, inputs[row])
        waiting = self._found(open_rows)
        for job in waiting:
            for key in job.keys.values():
                texts.pop(key, None)
        waiting += [self._sent(part) for part in self._parted(texts)]
        yield from self._until_all_ended(waiting, open_rows)

    def _exchange(self) -> Exchange:
        service = self.subject
        return Exchange(
            endpoint=service.endpoint,
            base_url=self.batches.base_url,
            proxy=service.proxy,
            timeout=service.timeout,
            attempts=service.attempts,
            wait_initial=service.wait_initial,
            wait_max=service.wait_max,
            sleep=self.sleep,
        )

    def _found(self, wanted: Mapping[bytes, Any]) -> list[Job]:
        """Jobs of earlier runs that hold something of what is wanted; one never made is forgotten."""
        found = []
        for job in self.owner.running():
            if wanted.keys().isdisjoint(job.keys.values()):
                continue
            if not job.name:
                name = self.batches.find(self._exchange(), job)
                if not name:
                    self.owner.collected(job, set(job.keys.values()))
                    continue
                job = self.owner.named(job, name)
            _log.warning("evenhand: batch job %s is running already; waiting for it", job.name)
            found.append(job)
        return found

    def _parted(self, texts: Mapping[bytes, Any]) -> Iterator[list[tuple[bytes, Any]]]:
        """(key, body) of the requests of each job, within the vendor's limits."""
        part: list[tuple[bytes, Any]] = []
        size = 0
        for key, text in texts.items():
            body = self.subject.endpoint.body([text])
            length = len(json.dumps(body)) + 256  # the custom id and the braces around it
            if part and (len(part) >= self.batches.most or size + length > self.batches.most_bytes):
                yield part
                part, size = [], 0
            part.append((key, body))
            size += length
        if part:
            yield part

    def _sent(self, part: list[tuple[bytes, Any]]) -> Job:
        """The job of some requests. Where an answer was lost the vendor is asked whether the job was made."""
        exchange = self._exchange()
        job = self.owner.begin(uuid.uuid4().hex[:16], [key for key, _ in part])
        requests = [(f"{job.token}-{place}", body) for place, (_, body) in enumerate(part)]
        try:
            name = self._made(exchange, job, requests)
        except Refused as error:
            self.owner.collected(job, set(job.keys.values()))
            raise SubjectError(
                "job-refused", f"the service took no batch job: {error}", given=self.id
            ) from None
        except EvenhandError as error:
            if error.slug != "service-down":  # then nobody knows, and the next run asks whether it was made
                self.owner.collected(job, set(job.keys.values()))
            raise
        _log.warning("evenhand: batch job %s with %d requests was sent", name, job.size)
        return self.owner.named(job, name)

    def _made(self, exchange: Exchange, job: Job, requests: Sequence[tuple[str, Any]]) -> str:
        for attempt in range(1, exchange.attempts + 1):
            try:
                return self.batches.send(exchange, job.token, requests)
            except Again as error:
                self.sleep(exchange.wait(attempt, error.after))
                reason = error.reason
            if name := self.batches.find(exchange, job):
                return name
        raise exchange.down(reason)

    def _until_all_ended(self, waiting: list[Job], wanted: Mapping[bytes, Sequence[int]]) -> Arrivals:
        exchange, failed, left = self._exchange(), [], set(wanted)
        told = time.monotonic()
        while waiting:
            for job in list(waiting):
                try:
                    state = self.batches.state(exchange, job.name)
                except SubjectError as error:
                    if error.slug != "not-found":
                        raise
                    state = State(ended=True, status="gone", why="the service knows no such job any more")
                if not state.ended:
                    continue
                waiting.remove(job)
                answered = yield from self._collected(exchange, job, state, wanted, left)
                if not answered:
                    failed.append((job, state))
            if waiting:
                self.sleep(self.poll)
                if time.monotonic() - told > TOLD_EVERY:
                    told = time.monotonic()
                    _log.warning("evenhand: waiting for batch job %s", ", ".join(job.name for job in waiting))
        if failed:
            raise _ended_badly(failed)

    def _collected(
        self,
        exchange: Exchange,
        job: Job,
        state: State,
        wanted: Mapping[bytes, Sequence[int]],
        left: set[bytes],
    ) -> Generator[tuple[Rows, Replies], None, bool]:
        """What a job that ended has for us; whether any of it is an answer."""
        missing = {key for key in job.keys.values() if key in left}
        ours, odd, answered = set(missing), 0, 0
        left -= ours
        keys: list[bytes] = []
        pieces: list[Replies] = []
        for line in self._lines(exchange, state):
            key = None if line is None else job.keys.get(_place(line.custom_id, job.token), None)
            odd += key is None
            if line is None or key is None or key not in missing:
                continue
            missing.discard(key)
            keys.append(key)
            pieces.append(self._reply(line))
            answered += not line.error
            if len(keys) == TOGETHER:
                yield _spread(keys, pieces, wanted)
                keys, pieces = [], []
        reason = _missing(job, state, odd)
        keys += missing
        pieces += [gate.failed(1, reason)] * len(missing)
        if answered or odd or state.status == "completed":
            if keys:
                yield _spread(keys, pieces, wanted)
            self.owner.collected(job, ours)  # what was handed over is kept by now
            return True
        self.owner.collected(job, set(job.keys.values()))
        return False

    def _lines(self, exchange: Exchange, state: State) -> Iterator[Line | None]:
        for path in state.outputs:
            for raw in exchange.lines(path):
                try:
                    yield self.batches.line(json.loads(raw))
                except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError):
                    yield None

    def _reply(self, line: Line) -> Replies:
        """One reply behind the gate; nothing of a job is transient: it is asked again by the next run."""
        if line.error:
            return gate.failed(1, line.error)
        endpoint = self.subject.endpoint
        replies = gate.checked(lambda: endpoint.parse(line.answer, 1), 1, endpoint.within)
        body = json.dumps(line.answer, ensure_ascii=False).encode("utf-8", "surrogatepass")
        sent, received = gate.tokens_in(line.answer)
        return Replies(
            scores=replies.scores,
            errors={row: str(reason) for row, reason in replies.errors.items()},
            arrived={0: Arrived(body, 0, 1, sent, received)},
        )


def price_share(subject: object) -> float:
    """What a subject costs of the price of direct calls: half in batch jobs, else all of it."""
    return next((layer.price_share for layer in layers(subject) if isinstance(layer, BatchJob)), 1.0)


def _place(custom_id: str, token: str) -> int:
    """The place in a job that a custom id names; -1 where it is none of this job."""
    ours, _, place = custom_id.rpartition("-")
    return int(place) if ours == token and place.isascii() and place.isdigit() and len(place) < 9 else -1


def _spread(
    keys: Sequence[bytes], pieces: Sequence[Replies], wanted: Mapping[bytes, Sequence[int]]
) -> tuple[Rows, Replies]:
    """One reply to every row that asked the same."""
    joined = join(list(pieces), [1] * len(pieces))
    source = [at for at, key in enumerate(keys) for _ in wanted[key]]
    rows = [row for key in keys for row in wanted[key]]
    return np.array(rows, dtype=np.intp), joined.take(np.array(source, dtype=np.intp))


def _missing(job: Job, state: State, odd: int) -> str:
    """Why a row of a job that ended has no answer."""
    others = f"; {odd} of its lines name no text of it" if odd else ""
    if state.status == "completed":
        return f"the results of batch job {job.name} have no line for this text{others}"
    return f"batch job {job.name} ended as {state.status} before this text was answered{others}"


def _ended_badly(failed: Sequence[tuple[Job, State]]) -> SubjectError:
    job, state = failed[0]
    why = f": {state.why}" if state.why else ""
    return SubjectError(
        "job-failed",
        f"batch job {job.name} ended as {state.status} without an answer{why}",
        given=", ".join(job.name for job, _ in failed),
        hint="the same command sends a new job; ask directly without batch_job=true",
    )

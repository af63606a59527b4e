"""One loop for every live audit: a plan yields probes, a subject answers, observations accumulate.

The loop owns the journal, the batches, the executor and the counting of failures; plans do no I/O and
subjects know nothing of groups.
"""

from __future__ import annotations

import mmap
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand._errors import BudgetSpent, UsageError
from evenhand._model import Factor, Observations, Plan, Probes, Replies, Subject, layers, traits_of
from evenhand._store import Journal
from evenhand.subjects.cached import Cached, Reused
from evenhand.subjects.spread import Scattered
from evenhand.subjects.wrappers import Arrivals, Batched, Budgeted, Streaming, Transient, gather, left_of

Progress = Callable[[int, int], None]
"""Called with (rows asked so far, rows failed so far) after every batch."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a run brought back.

    Args:
        observations: scores as columns, every factor as a unit; failed rows are NaN, in their place.
        failures: reason → rows.
        stopped: why the run ended early, or None.
        reused: how many of the replies came from the journal, and of when they are.
    """

    observations: Observations
    failures: Counter[str] = field(default_factory=Counter)
    stopped: str | None = None
    reused: Reused = field(default_factory=Reused)

    @property
    def failed(self) -> int:
        """Rows without a score."""
        return sum(self.failures.values())


def ask(
    plan: Plan,
    subject: Subject,
    *,
    executor: Executor | None = None,
    journal: Journal | None = None,
    repeats: int = 1,
    batch_size: int = 1_000,
    keep: Sequence[str] | None = None,
    progress: Progress | None = None,
    asks: bool = True,
    again: bool = False,
) -> Asked:
    """Ask `subject` everything `plan` yields and collect the answers.

    Args:
        plan: generator of Probes; it is sent the Replies to each batch (their mean over repeats).
        subject: what is asked.
        executor: runs the batches of one plan step side by side; any `concurrent.futures.Executor`. Not used
            for a subject
            that keeps its own requests in flight: its rate and its number of requests would no longer hold.
        journal: replies known to it are not asked again; what arrives is kept at once.
        repeats: identical calls on purpose, kept apart by the factor `repeat`.
        batch_size: most inputs in one call of the subject.
        keep: names of the scores to keep; all by default.
        progress: called with the rows asked and the rows failed so far, after every batch.
        asks: whether what the journal lacks is asked; else it is an error of its row.
        again: a second round of the same questions: no reply of the first answers for it.

    Raises:
        UsageError: `rescore`: nothing may be asked and there is no journal.

    Rows that failed in passing (`Transient`) are asked once more at the end of their step.

    >>> from evenhand.subjects import subject
    >>> def plan():
    ...     replies = yield Probes(inputs=["a", "bb"], factors={"text": Factor.of(["t1", "t2"])})
    >>> ask(plan(), subject(lambda xs: [len(x) for x in xs], id="length")).observations.columns["score"]
    array([1., 2.])
    """
    if journal is None and not asks:
        raise UsageError(
            "rescore",
            "there is no journal whose answers could be read again",
            expected="journal= (--journal, or the --out of the run that asked)",
        )
    columns, reused = _Columns(keep), Reused(before=None if journal is None else journal.latest())
    stopped: str | None = None
    executor = None if traits_of(subject).batches_itself else executor

    def report(rows: int, failed: int) -> None:
        if progress is not None:
            progress(columns.rows + rows, sum(columns.failures.values()) + failed)

    try:
        probes = next(plan)
        while stopped is None:
            answers = []
            for repeat in range(repeats):
                wrapped = _asking(subject, journal, batch_size, repeat + repeats * again, asks, reused)
                replies, stopped = _step(wrapped, probes.inputs, executor, batch_size, report)
                columns.add(probes, replies, repeat if repeats > 1 else None)
                reused.rows += len(probes)
                answers.append(replies)
                if stopped:
                    break
            if stopped is None:
                probes = plan.send(_mean(answers, len(probes)))
    except StopIteration:
        pass
    finally:
        plan.close()
        for layer in layers(subject):
            if isinstance(layer, Budgeted):
                layer.purse.settle()
    return Asked(
        observations=columns.observations(), failures=columns.failures, stopped=stopped, reused=reused
    )


def _asking(
    subject: Subject, journal: Journal | None, batch_size: int, repeat: int, asks: bool, reused: Reused
) -> Streaming:
    """How it is asked: in batches, what a journal knows not at all; or by workers, who see to both."""
    if isinstance(subject, Scattered):
        return subject.repetition(repeat, reused)
    batched = Batched(subject=subject, size=batch_size)
    if journal is None:
        return batched
    return Cached(subject=batched, journal=journal, repeat=repeat, asks=asks, reused=reused)


def finish(journal: Journal | None, asked: Asked) -> None:
    """An audit has all it wanted of its subject: replies that hold for one run only are not used again."""
    if journal is not None and asked.stopped is None:
        journal.finish()


def _step(
    subject: Streaming, inputs: Sequence[Any], executor: Executor | None, batch_size: int, report: Progress
) -> tuple[Replies, str | None]:
    """The replies to one batch of probes, and why the run must end with it (a spent budget), if it must."""
    replies, stopped = _pass(subject, inputs, executor, batch_size, report)
    again = [row for row, reason in replies.errors.items() if isinstance(reason, Transient)]
    if stopped is not None or not again:
        return replies, stopped
    rows = np.array(sorted(again), dtype=np.intp)
    second, stopped = _pass(
        subject, [inputs[row] for row in rows.tolist()], executor, batch_size, lambda *_: None
    )
    rest = np.delete(np.arange(len(inputs)), rows)
    return gather([(rest, replies.take(rest)), (rows, second)], len(inputs)), stopped


def _pass(
    subject: Streaming, inputs: Sequence[Any], executor: Executor | None, batch_size: int, report: Progress
) -> tuple[Replies, str | None]:
    """Every input once."""
    parts: list[tuple[Any, Replies]] = []
    done = failed = 0
    stopped = None
    stream = _arriving(subject, inputs, executor, batch_size)
    try:
        for rows, replies in stream:
            parts.append((rows, replies))
            done += len(rows)
            failed += len(replies.errors)
            report(done, failed)
    except BudgetSpent as spent:
        stopped = spent.message
    except KeyboardInterrupt as interrupt:
        for _ in left_of(stream, interrupt):  # the journal keeps it on its way here
            pass
        raise
    return gather(
        parts, len(inputs), missing="not asked: the run ended" if stopped else "no reply arrived"
    ), stopped


def _arriving(
    subject: Streaming, inputs: Sequence[Any], executor: Executor | None, batch_size: int
) -> Arrivals:
    if executor is None:
        yield from subject.arrivals(inputs)
        return
    starts = range(0, len(inputs), batch_size)
    parts = (inputs[start : start + batch_size] for start in starts)
    for start, replies in zip(starts, executor.map(subject, parts), strict=True):
        yield start + np.arange(min(batch_size, len(inputs) - start)), replies


def _mean(answers: list[Replies], n: int) -> Replies:
    """Of the repeats; a score that one of them lacks (a service that was down) is missing."""
    if len(answers) == 1:
        return answers[0]
    names, lacking = dict.fromkeys(name for a in answers for name in a.scores), np.full(n, np.nan)
    scores = {name: np.mean([a.scores.get(name, lacking) for a in answers], axis=0) for name in names}
    return Replies(scores=scores, errors={k: v for a in answers for k, v in a.errors.items()})


BLOCK = 1 << 20
"""Rows that a column grows by. A block is a map of its own, which goes back to the system when it is let go,
so a column is held once."""


class _Column:
    """One column that grows at its end; rows that nobody put are `missing`."""

    def __init__(self, missing: float) -> None:
        self.missing = missing
        self.rows = 0
        self._blocks: list[npt.NDArray[Any]] = []

    def put(self, row: int, values: npt.NDArray[Any]) -> None:
        """Append `values` as rows `row`, `row` + 1, …"""
        if row > self.rows:
            self._append(np.full(row - self.rows, self.missing, dtype=values.dtype))
        self._append(values)

    def _append(self, values: npt.NDArray[Any]) -> None:
        at = 0
        while at < len(values):
            used = self.rows % BLOCK
            if used == 0:
                room = mmap.mmap(-1, BLOCK * values.dtype.itemsize)
                self._blocks.append(np.frombuffer(room, dtype=values.dtype))
            elif not np.can_cast(values.dtype, self._blocks[-1].dtype):
                self._blocks[-1] = self._blocks[-1].astype(
                    values.dtype
                )  # more levels than before: wider codes
            take = min(BLOCK - used, len(values) - at)
            self._blocks[-1][used : used + take] = values[at : at + take]
            self.rows += take
            at += take

    def _same(self, at: int) -> bool:
        """Whether a block holds nothing but the first of all values."""
        own = self._blocks[at][: self.rows - at * BLOCK]
        return bool((own == self._blocks[0][0]).all())

    def whole(self, n: int, kind: npt.DTypeLike) -> npt.NDArray[Any]:
        """The column as one array of n rows; its blocks are let go one by one."""
        if n == self.rows > BLOCK and all(self._same(at) for at in range(len(self._blocks))):
            return np.broadcast_to(self._blocks[0][:1].astype(kind), n)  # ten million times the same is once
        made = np.empty(n, dtype=kind)
        made[self.rows :] = self.missing
        for at in range(len(self._blocks)):
            start = at * BLOCK
            stop = min(start + BLOCK, self.rows)
            made[start:stop] = self._blocks[at][: stop - start]
            self._blocks[at] = np.empty(0, dtype=kind)
        return made


class _Columns:
    """Grows the columns of a run batch by batch; codes take the smallest integers that hold them."""

    def __init__(self, keep: Sequence[str] | None) -> None:
        self.keep = keep
        self.failures: Counter[str] = Counter()
        self.rows = 0
        self._scores: dict[str, _Column] = {}
        self._factors: dict[str, _Column] = {}
        self._index: dict[str, dict[str, int]] = {}
        self._recodes: dict[str, tuple[tuple[str, ...], npt.NDArray[Any]]] = {}

    def add(self, probes: Probes, replies: Replies, repeat: int | None) -> None:
        self.failures.update(str(reason) for reason in replies.errors.values())
        for name, scores in replies.scores.items():
            if self.keep is None or name in self.keep:
                self._scores.setdefault(name, _Column(np.nan)).put(self.rows, scores)
        factors = dict(probes.factors)
        if repeat is not None:
            factors["repeat"] = Factor(np.zeros(len(probes), dtype=np.int8), (str(repeat),))
        for name, factor in factors.items():
            if not factor.levels:
                continue  # nothing but missing so far: ten million times −1 says no more than no column
            codes = self._recode(name, factor.levels)[
                factor.codes
            ]  # code −1 picks the last entry, which is −1
            self._factors.setdefault(name, _Column(-1)).put(self.rows, codes)
        self.rows += len(probes)

    def _recode(self, name: str, levels: tuple[str, ...]) -> npt.NDArray[Any]:
        known = self._recodes.get(name)
        if known is None or known[0] is not levels:  # a plan gives the same levels with every batch
            index = self._index.setdefault(name, {})
            recode = np.array([index.setdefault(level, len(index)) for level in levels] + [-1])
            known = self._recodes[name] = (levels, recode.astype(_smallest(len(index))))
        return known[1]

    def observations(self) -> Observations:
        units = {}
        for name in list(self._factors):
            index = self._index[name]
            codes = self._factors.pop(name).whole(self.rows, _smallest(len(index)))
            units[name] = Factor(codes, tuple(index))
        columns = {name: self._scores.pop(name).whole(self.rows, np.float64) for name in list(self._scores)}
        return Observations(columns=columns, units=units)


def _smallest(levels: int) -> npt.DTypeLike:
    """The smallest signed integers that hold the codes of so many levels, and −1."""
    return np.min_scalar_type(-max(levels, 1) - 1)

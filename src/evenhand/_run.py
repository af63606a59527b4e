"""One loop for every live audit: a plan yields probes, a subject answers, observations accumulate.

The loop owns the journal, the batches, the executor and the counting of failures; plans do no I/O and subjects know
nothing of groups.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evenhand._errors import BudgetSpent
from evenhand._model import Factor, FloatArray, Observations, Plan, Probes, Replies, Subject
from evenhand._store import Journal
from evenhand.subjects.wrappers import Arrivals, Batched, Cached, Streaming, gather

Progress = Callable[[int, int], None]
"""Called with (rows asked so far, rows failed so far) after every batch."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a run brought back.

    Args:
        observations: scores as columns, every factor as a unit; failed rows are NaN, in their place.
        failures: reason → rows.
        stopped: why the run ended early, or None.
    """

    observations: Observations
    failures: Counter[str] = field(default_factory=Counter)
    stopped: str | None = None

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
) -> Asked:
    """Ask `subject` everything `plan` yields and collect the answers.

    Args:
        plan: generator of Probes; it is sent the Replies to each batch (their mean over repeats).
        executor: runs the batches of one plan step side by side; any `concurrent.futures.Executor`.
        journal: replies known to it are not asked again; what arrives is kept at once.
        repeats: identical calls on purpose, kept apart by the factor `repeat`.
        batch_size: most inputs in one call of the subject.
        keep: names of the scores to keep; all by default.

    >>> from evenhand.subjects import subject
    >>> def plan():
    ...     replies = yield Probes(inputs=["a", "bb"], factors={"text": Factor.of(["t1", "t2"])})
    >>> ask(plan(), subject(lambda xs: [len(x) for x in xs], id="length")).observations.columns["score"]
    array([1., 2.])
    """
    columns = _Columns(keep)
    stopped: str | None = None

    def report(rows: int, failed: int) -> None:
        if progress is not None:
            progress(columns.rows + rows, sum(columns.failures.values()) + failed)

    try:
        probes = next(plan)
        while stopped is None:
            answers = []
            for repeat in range(repeats):
                wrapped = _wrap(subject, journal, repeat, batch_size)
                replies, stopped = _step(wrapped, probes.inputs, executor, batch_size, report)
                columns.add(probes, replies, repeat if repeats > 1 else None)
                answers.append(replies)
                if stopped:
                    break
            if stopped is None:
                probes = plan.send(_mean(answers))
    except StopIteration:
        pass
    finally:
        plan.close()
    return Asked(observations=columns.observations(), failures=columns.failures, stopped=stopped)


def _wrap(subject: Subject, journal: Journal | None, repeat: int, batch_size: int) -> Streaming:
    batched = Batched(subject=subject, size=batch_size)
    return batched if journal is None else Cached(subject=batched, journal=journal, repeat=repeat)


def _step(
    subject: Streaming, inputs: Sequence[Any], executor: Executor | None, batch_size: int, report: Progress
) -> tuple[Replies, str | None]:
    """The replies to one batch of probes, and why the run must end with it (a spent budget), if it must."""
    parts: list[tuple[Any, Replies]] = []
    done = failed = 0
    stopped = None
    try:
        for rows, replies in _arriving(subject, inputs, executor, batch_size):
            parts.append((rows, replies))
            done += len(rows)
            failed += len(replies.errors)
            report(done, failed)
    except BudgetSpent as spent:
        stopped = spent.message
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


def _mean(answers: list[Replies]) -> Replies:
    if len(answers) == 1:
        return answers[0]
    names = list(answers[0].scores)
    scores = {n: np.mean([a.scores[n] for a in answers], axis=0) for n in names}
    return Replies(scores=scores, errors={k: v for a in answers for k, v in a.errors.items()})


class _Columns:
    """Grows columns batch by batch; codes take the smallest integer type that holds them."""

    def __init__(self, keep: Sequence[str] | None) -> None:
        self.keep = keep
        self.failures: Counter[str] = Counter()
        self._scores: dict[str, list[FloatArray]] = {}
        self._factors: dict[str, tuple[list[Any], dict[str, int]]] = {}
        self._lengths: list[int] = []
        self.rows = 0

    def add(self, probes: Probes, replies: Replies, repeat: int | None) -> None:
        n = len(probes)
        self.rows += n
        self.failures.update(str(reason) for reason in replies.errors.values())
        wanted = (
            replies.scores
            if self.keep is None
            else {k: v for k, v in replies.scores.items() if k in self.keep}
        )
        for name, column in wanted.items():
            self._behind(name, len(self._lengths)).append(column)
        self._lengths.append(n)
        for name in self._scores:
            self._behind(name, len(self._lengths))
        factors = dict(probes.factors)
        if repeat is not None:
            factors["repeat"] = Factor(np.zeros(n, dtype=np.int8), (str(repeat),))
        for name, factor in factors.items():
            self._add_factor(name, factor)

    def _behind(self, name: str, batches: int) -> list[FloatArray]:
        """The pieces of one score, filled up with NaN for batches that did not have it."""
        pieces = self._scores.setdefault(name, [])
        for length in self._lengths[len(pieces) : batches]:
            pieces.append(np.full(length, np.nan))
        return pieces

    def _add_factor(self, name: str, factor: Factor) -> None:
        pieces, index = self._factors.setdefault(name, ([], {}))
        for length in self._lengths[len(pieces) : -1]:
            pieces.append(np.full(length, -1, dtype=np.int8))
        recode = np.array(
            [index.setdefault(level, len(index)) for level in factor.levels] + [-1], dtype=np.int32
        )
        codes = recode[factor.codes]  # code −1 picks the last entry, which is −1
        pieces.append(codes.astype(np.min_scalar_type(-max(len(index), 1) - 1)))

    def observations(self) -> Observations:
        units: dict[str, Factor] = {}
        for name in list(self._factors):
            pieces, index = self._factors.pop(name)
            for length in self._lengths[len(pieces) :]:
                pieces.append(np.full(length, -1, dtype=np.int8))
            kind = np.min_scalar_type(-max(len(index), 1) - 1)
            codes = (
                np.concatenate([p.astype(kind, copy=False) for p in pieces])
                if pieces
                else np.empty(0, np.int8)
            )
            units[name] = Factor(codes, tuple(index))
        columns = {}
        for name in list(self._scores):
            pieces = self._scores.pop(name)
            columns[name] = np.concatenate(pieces) if pieces else np.empty(0)
        return Observations(columns=columns, units=units)

"""How an attack asks its subject: one journal and budget for all plans, repeats, and a look at its
stability."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from evenhand._analysis import Analysis
from evenhand._errors import EvenhandError, SubjectError
from evenhand._model import Factor, FloatArray, IntArray, Plan, Probes, Subject
from evenhand._run import Asked, Progress, ask
from evenhand._store import Journal
from evenhand.plans.goal import Goal
from evenhand.subjects import Budgeted, Limited
from evenhand.subjects import subject as subject_of
from evenhand.subjects.cached import UNASKED, Reused
from evenhand.subjects.python import PythonSubject

AGAIN = 25
"""Unchanged texts that are asked twice, to see whether the subject answers the same."""


@dataclass
class Asking:
    """One way of asking for the whole audit; remembers why it stopped and what failed."""

    subject: Subject
    journal: Journal | None
    repeats: int
    batch_size: int
    executor: Executor | None
    progress: Progress | None
    asks: bool = True
    asked: int = 0
    failed: int = 0
    stopped: str | None = None
    reasons: dict[str, int] = field(default_factory=dict)
    reused: Reused = field(default_factory=Reused)
    hashes: list[IntArray] = field(default_factory=list)

    @property
    def distinct(self) -> int:
        """Inputs that differ, of all that were asked for."""
        return len(np.unique(np.concatenate(self.hashes))) if self.hashes else 0

    def run(self, plan: Plan, *, fresh: bool = False, keep: Sequence[str] | None = ()) -> Asked:
        """Runs a plan; `fresh` asks a second time what was answered before."""
        before, failed = self.asked, self.failed

        def told(done: int, wrong: int) -> None:
            self.asked, self.failed = before + done, failed + wrong
            if self.progress is not None:
                self.progress(self.asked, self.failed)

        found = ask(
            self._counted(plan if self.asks else self._within(plan)),
            self.subject,
            executor=self.executor,
            journal=self.journal,
            repeats=self.repeats,
            batch_size=self.batch_size,
            keep=keep,
            progress=told,
            asks=self.asks,
            again=fresh,
        )
        self.stopped = self.stopped or found.stopped
        self.reused.join(found.reused)
        self.asked -= found.failures[UNASKED]
        self.failed -= found.failures[UNASKED]
        for reason, n in found.failures.items():
            if reason != UNASKED and not reason.startswith("not asked"):
                self.reasons[reason] = self.reasons.get(reason, 0) + n
        return found

    def _counted(self, plan: Plan) -> Plan:
        """Remembers what was asked for, as hashes."""
        with contextlib.closing(plan), contextlib.suppress(StopIteration):
            probes = next(plan)
            while True:
                self.hashes.append(np.fromiter(map(hash, probes.inputs), np.int64, len(probes.inputs)))
                probes = plan.send((yield probes))

    def _within(self, plan: Plan) -> Plan:
        """As far as the answers that are there lead: what comes next depends on those that are not."""
        with contextlib.closing(plan), contextlib.suppress(StopIteration):
            probes = next(plan)
            while True:
                replies = yield probes
                lacking = sum(reason == UNASKED for reason in replies.errors.values())
                if lacking:
                    self.stopped = (
                        f"read as they are now, the answers lead to {lacking:,} texts that were never asked,"
                        " and nothing is asked; the same command without --rescore asks them and whatever"
                        " they lead to"
                    )
                    return
                probes = plan.send(replies)

    def columns(self, texts: list[str], *, fresh: bool = False) -> dict[str, FloatArray]:
        """All scores of texts, equal ones asked once, the mean over repeats."""
        unique = list(dict.fromkeys(texts))
        numbered = {text: i for i, text in enumerate(unique)}

        def plan() -> Plan:
            each = Factor(np.arange(len(unique), dtype=np.int64), tuple(map(str, range(len(unique)))))
            yield Probes(inputs=unique, factors={"text": each})

        found = self.run(plan(), fresh=fresh, keep=None)
        row = np.array([numbered[t] for t in texts], dtype=np.int64)
        codes = found.observations.units["text"].codes
        made = {}
        for name, values in found.observations.columns.items():
            total = np.zeros(len(unique))
            count = np.bincount(codes, minlength=len(unique))
            np.add.at(total, codes, values)
            made[name] = np.where(count > 0, total / np.maximum(count, 1), np.nan)[row]
        return made

    def unstable(self, texts: list[str], goal: Goal, analysis: Analysis) -> bool:
        """Asks some texts a second time; notes differing answers. Whether any answer differs."""
        rows = np.flatnonzero(np.isfinite(goal.base).all(axis=1))
        rows = rows[np.linspace(0, len(rows) - 1, min(AGAIN, len(rows))).astype(int)] if len(rows) else rows
        if not len(rows) or self.stopped is not None:
            return False
        try:
            columns = self.columns([texts[r] for r in rows.tolist()], fresh=True)
        except EvenhandError:
            return False
        if self.stopped is not None and not self.asks:
            self.stopped = None
            analysis.note(
                "not-asked-twice",
                "Whether the subject answers the same question the same way is not known: no second answer to"
                " any text is in the journal, and nothing is asked.",
                warning=True,
            )
            return False
        missing = np.full(len(rows), np.nan)
        now = np.column_stack([columns.get(name, missing) for name in goal.names])
        usable = np.isfinite(now).all(axis=1)
        differ = np.abs(now - goal.base[rows]).max(axis=1) > 1e-6
        labels = (goal.labels_of(now) != goal.label[rows]) & usable
        if not bool((differ & usable).any()):
            return False
        text = (
            f"The subject answered {int((differ & usable).sum())} of {int(usable.sum())} unchanged texts"
            f" differently the second time ({int(labels.sum())} with another label). Every flip is asked once"
            " more and counts only if it comes back."
        )
        analysis.note(
            "changing-answers",
            text + ("" if self.repeats > 1 else " Ask each text several times (repeats=)."),
            warning=True,
        )
        return True

    def finish(self) -> None:
        """The audit has all it wanted."""
        if self.journal is not None and self.stopped is None:
            self.journal.finish()

    def trace(self, texts: list[str]) -> dict[str, FloatArray]:
        """Scores for the examples a report draws; nothing where the budget is spent."""
        return {} if self.stopped is not None or not texts else self.columns(texts)


def attacked_subject(
    given: str | Callable[..., Any] | Subject,
    labels: Sequence[str] | None,
    budget: int | None,
    rate: float | None,
) -> Subject:
    """The subject behind its limits; labels in words become one score each."""
    chosen = subject_of(given)
    if isinstance(chosen, PythonSubject):
        reading = f"{chosen.reading} labels {list(labels or ())}"
        chosen = replace(chosen, function=_one_hot(chosen.function, labels), reading=reading)
    if rate is not None:
        chosen = Limited(subject=chosen, calls=rate)
    return chosen if budget is None else Budgeted(subject=chosen, calls=budget)


def _one_hot(
    function: Callable[[list[Any]], Any], labels: Sequence[str] | None
) -> Callable[[list[Any]], Any]:
    """Hard labels in words ("fine", "abusive") as one score for each label; anything else as it is."""

    def ask_labels(inputs: list[Any]) -> Any:
        raw = function(inputs)
        named = isinstance(raw, list | tuple | np.ndarray) and len(raw) and isinstance(raw[0], str)
        if not named:
            return raw
        if labels is None:
            raise SubjectError(
                "label-names",
                "the subject answers with labels, and all of them must be known beforehand",
                given=raw[0],
                hint='name them: labels=["fine", "abusive"] (--label fine --label abusive)',
            )
        unknown = sorted({str(label) for label in raw} - set(labels))
        if unknown:
            raise SubjectError(
                "label-names",
                "the subject gave a label that was not named",
                given=unknown[0],
                available=labels,
            )
        return {label: np.array([float(r == label) for r in raw]) for label in labels}

    return ask_labels

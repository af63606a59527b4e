"""Running the searches of one axis and its placebos."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evenhand._errors import UsageError
from evenhand._model import IntArray, Plan, Probes
from evenhand.audits.attack.asking import Asking
from evenhand.audits.attack.confirmation import Confirmed, halves, plan_confirmation
from evenhand.audits.attack.field import Field
from evenhand.audits.attack.findings import Attacked
from evenhand.audits.attack.records import Key, Records, altered, distinct
from evenhand.plans.alter import alterations
from evenhand.plans.goal import Goal
from evenhand.plans.search import MakesSearch, Outcomes, TextTasks, columns_of, lockstep

BLOCK_CHARACTERS = 24_000_000
"""Characters of altered texts that one block of searches may hold at a time (estimated)."""


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How hard each search tries.

    Args:
        make: the search. max_queries: for one text in one direction. max_changed: share of a text's words.
        holdout: share of the texts on which what was learned is confirmed.
        definitional: "apart" also searches without definitional words, "include" does not.
        block: states (estimated) that are searched side by side; a smaller block leaves more finished texts
            behind when a budget ends.
        units: (T,) codes of whom the texts are of, None where every text is its own.
    """

    make: MakesSearch
    max_queries: int
    max_changed: float
    holdout: float
    definitional: str
    seed: int
    block: int = 200_000
    units: IntArray | None = None

    def __post_init__(self) -> None:
        if self.max_queries < 1:
            raise UsageError(
                "bad-budget",
                "a search needs at least one query for a text",
                given=self.max_queries,
                hint="max_queries= (--max-queries) is per text and direction; budget= limits the whole audit",
            )
        for name, value, top in (("max_changed", self.max_changed, 1.0), ("holdout", self.holdout, 0.9)):
            if not 0.0 <= value <= top:
                raise UsageError("bad-share", f"{name} is a share from 0 to {top:g}", given=value)
        if self.definitional not in ("apart", "include"):
            raise UsageError(
                "unknown-definitional",
                "no such treatment of definitional words",
                given=self.definitional,
                available=["apart", "include"],
            )


def plan_searches(
    field: Field, goal: Goal, effort: Effort, texts: Sequence[int], *, apart: bool
) -> tuple[Plan, Records, Records | None]:
    """The plan that runs every search, and the records that it fills.

    Args:
        texts: which texts. apart: also search without definitional words; where that changes nothing, nothing
            is asked.

    Returns:
        plan, records with all words, records without definitional words (None where not `apart`).
    """
    whole = Records.empty(field)
    without = Records.empty(field) if apart else None
    waiting = np.zeros(len(field.sites), dtype=np.int64)

    def store(tasks: TextTasks, found: Outcomes) -> None:
        owners: _Owners = tasks.key
        for stratum, records in enumerate((whole, without)):
            if records is not None:
                records.add(tasks, owners.task[:, stratum], found, owners.sites, owners.edges)
        waiting[tasks.number] -= 1
        whole.done[tasks.number] = waiting[tasks.number] == 0

    def parts() -> Iterator[TextTasks]:
        for t in texts:
            tasks = _tasks_of(field, goal, effort, t, apart=apart)
            listed = [] if tasks is None else list(_divided(tasks, effort))
            waiting[t] = len(listed)
            whole.done[t] = not listed
            yield from listed

    plan = lockstep(
        _blocks(parts(), effort),
        effort.make,
        goal,
        names=goal.names,
        max_queries=effort.max_queries,
        into=store,
    )
    return plan, whole, without


@dataclass(frozen=True, kw_only=True, slots=True)
class _Owners:
    """For which directions the searches of a text are; those that offer the same words share one.

    Args:
        task: (directions, strata, sides) the search of each, −1 for none; strata: all words, without
            definitional words.
        sites, edges: (changes,) of the text.
    """

    task: IntArray
    sites: IntArray
    edges: IntArray


def _tasks_of(field: Field, goal: Goal, effort: Effort, t: int, *, apart: bool) -> TextTasks | None:
    open_ = field.open_sites(t)
    if not open_:
        return None
    every = field.options(t)
    strata = [every]
    if apart:
        strata.append(field.options(t, apart=True) if field.touched(t) else every)
    edges = np.stack(strata, axis=1)
    slots, of = edges.shape[:3], edges.shape[3:]
    # best candidates of all places first
    edges = np.swapaxes(edges.reshape(-1, *of), 1, 2).reshape(-1, of[0] * of[1])
    first, owner = distinct(edges)
    if not len(first):
        return None
    place = np.tile(np.arange(of[0]), of[1])
    numbers, offered = _numbered(field, [field.sites[t][s].row for s in open_], edges[first], place)
    k, _, side = np.unravel_index(first, slots)
    rows = [field.pool.candidate[e].tolist() for e in offered]
    changes = alterations([field.sites[t][s] for s in open_], rows, field.vectors)
    return TextTasks(
        text=field.contexts.texts[t],
        number=t,
        place=changes.place,
        spans=changes.spans,
        words=changes.words,
        tasks=changes.number[numbers],
        limit=field.most_changes(t, effort.max_changed),
        base_loss=float(goal.base_loss[t]),
        seeds=(effort.seed * 1_000_003 + t * 1_009 + k * 7 + side) & 0x7FFFFFFF,
        key=_Owners(
            task=owner.reshape(slots),
            sites=np.repeat(open_, [len(e) + 1 for e in offered]),
            edges=np.concatenate([part for e in offered for part in ([-1], e)]),
        ),
    )


def _numbered(
    field: Field, rows: Sequence[int], edges: IntArray, place: IntArray
) -> tuple[IntArray, list[IntArray]]:
    """The edges that are offered at each place, and `edges` as numbers of these, place by place.

    Args:
        rows: of the word at each place. edges: (n, m). place: (m,).
    """
    begins = np.array([field.segment[row][0] for row in rows])
    sizes = np.array([field.segment[row][1] for row in rows]) - begins
    starts = np.concatenate([[0], np.cumsum(sizes)])
    code = np.where(edges >= 0, edges - begins[place] + starts[place], starts[-1])
    used = np.zeros(starts[-1] + 1, dtype=np.bool_)
    used[code] = True
    used[-1] = False
    number = np.where(used, np.cumsum(used) - 1, -1)
    found = np.flatnonzero(used)
    cut = np.searchsorted(found, starts)
    offered = [found[cut[p] : cut[p + 1]] - starts[p] + begins[p] for p in range(len(rows))]
    return number[code], offered


def _states(tasks: TextTasks, effort: Effort) -> IntArray:
    """States of each search, at most (estimated)."""
    return np.asarray(np.minimum(effort.max_queries, 8 * (tasks.tasks >= 0).sum(axis=1)))


def _divided(tasks: TextTasks, effort: Effort) -> Iterator[TextTasks]:
    """A text beyond all bounds in parts."""
    cuts, size = [0], 0
    for i, many in enumerate((_states(tasks, effort) * len(tasks.text)).tolist()):
        if size > BLOCK_CHARACTERS:
            cuts.append(i)
            size = 0
        size += many
    if len(cuts) == 1:
        yield tasks
        return
    for rows in np.split(np.arange(len(tasks.tasks)), cuts[1:]):
        task = tasks.key.task
        here = np.where((task >= rows[0]) & (task <= rows[-1]), task - rows[0], -1)
        yield replace(
            tasks, tasks=tasks.tasks[rows], seeds=tasks.seeds[rows], key=replace(tasks.key, task=here)
        )


def _blocks(parts: Iterator[TextTasks], effort: Effort) -> Iterator[list[TextTasks]]:
    """Texts whole, since equal candidates are asked once within a block; only a text beyond all bounds is
    divided."""
    block: list[TextTasks] = []
    size = states = 0
    for part in parts:
        many = int(_states(part, effort).sum())
        if block and (states > effort.block or size + many * len(part.text) > BLOCK_CHARACTERS):
            yield block
            block, size, states = [], 0, 0
        size += many * len(part.text)
        states += many
        block.append(part)
    if block:
        yield block


def plan_again(
    field: Field, goal: Goal, records: Sequence[Records], lost: list[Key], chunk: int = 5_000
) -> Plan:
    """Asks every flip once more; one that does not come back is no flip, and is `lost` (for subjects that
    answer differently)."""
    for one in records:
        flips = one.changes.select(one.won)
        for start in range(0, len(flips), chunk):
            part = flips[start : start + chunk]
            replies = yield Probes(inputs=[altered(field, t, moves) for (_, _, t), moves in part])
            scores = columns_of(replies, goal.names, len(part))
            _, won = goal(scores, np.array([t for (_, _, t), _ in part], dtype=np.int64))
            for (key, _), flip in zip(part, won.tolist(), strict=True):
                if not flip:
                    one.won[key] = False
                    lost.append(key)


def attack_axis(laid: Field, goal: Goal, effort: Effort, asking: Asking, *, again: bool) -> Attacked:
    """Search, ask flips again where the subject is unstable, confirm on the unseen half."""
    texts = np.flatnonzero(goal.attackable).tolist()
    plan, whole, without = plan_searches(laid, goal, effort, texts, apart=effort.definitional == "apart")
    asking.run(plan)
    strata = [records for records in (whole, without) if records is not None]
    lost: list[Key] = []
    if again and asking.stopped is None:
        asking.run(plan_again(laid, goal, strata, lost), fresh=True)
    searched = np.flatnonzero(whole.done & goal.attackable).tolist()
    confirmed: list[Confirmed] = []
    if effort.holdout:
        parts = halves(searched, len(goal.base), effort.holdout, effort.seed, effort.units)
        plan, confirmed = plan_confirmation(laid, goal, strata, parts, max_changed=effort.max_changed)
        if asking.stopped is None:
            asking.run(plan)
    return Attacked(
        field=laid,
        whole=whole,
        without=without,
        texts=whole.done & goal.attackable,
        confirmed=confirmed,
        labels=goal.label,
        units=effort.units,
        not_repeated=len(lost),
    )

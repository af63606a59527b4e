"""Running the searches of one axis and its placebos, and the confirmation on texts that the search did not see."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand._model import BoolArray, FloatArray, IntArray, Plan, Probes
from evenhand.audits.attack_field import Field, Options
from evenhand.plans.alter import problems
from evenhand.plans.goal import Goal
from evenhand.plans.search import MakesSearch, Outcome, Problem, Task, columns_of, lockstep

BLOCK_CHARACTERS = 24_000_000
"""Characters of altered texts that one block of searches may hold at a time (estimated)."""
Moves = tuple[tuple[int, int], ...]
"""(site, row of the word that stands there now), in the order of the changes."""


@dataclass(kw_only=True)
class Records:
    """What the searches found: arrays of shape (directions, sides, texts), the axis first, then its placebos.

    Args:
        open: the text has an alterable word there. won: the goal was reached. moved: by how much the loss fell.
        changed: words changed. queries: states asked for. single: mean fall of the loss over all single changes.
        moves: (direction, side, text) → the changes of a search that found something.
        options_seen: candidates a text had. done: (texts,) all its searches ended.
    """

    open: BoolArray
    won: BoolArray
    moved: FloatArray
    changed: IntArray
    queries: IntArray
    single: FloatArray
    options_seen: IntArray
    done: BoolArray
    moves: dict[tuple[int, int, int], Moves] = field(default_factory=dict)

    @classmethod
    def empty(cls, directions: int, sides: int, texts: int) -> Records:
        """Nothing found yet."""
        shape = (directions, sides, texts)
        return cls(
            open=np.zeros(shape, dtype=np.bool_),
            won=np.zeros(shape, dtype=np.bool_),
            moved=np.zeros(shape),
            changed=np.zeros(shape, dtype=np.int32),
            queries=np.zeros(shape, dtype=np.int32),
            single=np.full(shape, np.nan),
            options_seen=np.zeros(shape, dtype=np.int32),
            done=np.zeros(texts, dtype=np.bool_),
        )


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How hard each search tries.

    Args:
        make: the search. max_queries: for one text in one direction. max_changed: share of a text's words.
        block: states (estimated) that are searched side by side; a smaller block leaves more finished texts behind when a
            budget ends.
    """

    make: MakesSearch
    max_queries: int
    max_changed: float
    seed: int
    block: int = 50_000


def plan_searches(
    field: Field, goal: Goal, effort: Effort, texts: Sequence[int], *, apart: bool
) -> tuple[Plan, Records, Records | None]:
    """The plan that runs every search, and the records that it fills.

    Args:
        texts: which texts. apart: also search without definitional words; where that changes nothing, nothing is asked.

    Returns:
        plan, records with all words, records without definitional words (None where not `apart`).
    """
    shape = (field.directions, len(field.axis.sides), len(field.sites))
    whole = Records.empty(*shape)
    without = Records.empty(*shape) if apart else None
    waiting = np.zeros(len(field.sites), dtype=np.int64)

    def store(task: Task, outcome: Outcome) -> None:
        made: _Same = task.key
        moves = tuple([(made.sites[p], made.rows[p][c]) for p, c in outcome.state])
        for stratum, k, side in made.owners:
            for records in (whole, without) if stratum == 2 else ((whole,) if stratum == 0 else (without,)):
                if records is not None:
                    _store(records, (k, side, task.text), task.problem, outcome, moves)
        waiting[task.text] -= 1
        if waiting[task.text] == 0:
            whole.done[task.text] = True

    def tasks() -> Iterator[Task]:
        for t in texts:
            listed = list(_tasks_of(field, goal, effort, t, apart=apart))
            waiting[t] = len(listed)
            if not listed:
                whole.done[t] = True
            yield from listed

    plan = lockstep(
        _blocks(tasks(), effort), effort.make, goal, names=goal.names,
        max_queries=effort.max_queries, into=store,
    )  # fmt: skip
    return plan, whole, without


@dataclass(frozen=True, kw_only=True, slots=True)
class _Same:
    """One search for all directions that offer the same words.

    Args:
        owners: (stratum, direction, side); stratum 0: all words; 1: without definitional words; 2: both, where they are
            the same.
        sites, rows: per place its site and the rows of its candidates.
    """

    owners: list[tuple[int, int, int]]
    sites: tuple[int, ...]
    rows: tuple[tuple[int, ...], ...]


def _tasks_of(field: Field, goal: Goal, effort: Effort, t: int, *, apart: bool) -> Iterator[Task]:
    open_ = field.open_sites(t)
    if not open_:
        return
    every = field.options(t)
    rest = field.options(t, apart=True) if apart and field.touched(t) else every
    owners: dict[Options, list[tuple[int, int, int]]] = {}
    for k, sides_all in enumerate(every):
        strata = [(0, sides_all)]
        if apart:
            strata = [(2, sides_all)] if rest[k] == sides_all else [(0, sides_all), (1, rest[k])]
        for stratum, sides in strata:
            for side, options in enumerate(sides):
                if any(options):
                    owners.setdefault(options, []).append((stratum, k, side))
    sites = field.sites[t]
    make = problems(
        field.contexts.texts[t], [sites[s] for s in open_], field.vectors, words=_words(field, t),
        max_changed=effort.max_changed, base_loss=float(goal.base_loss[t]),
    )  # fmt: skip
    for options, who in owners.items():
        made, used = make(options)
        _, k, side = who[0]
        seed = (effort.seed * 1_000_003 + t * 1_009 + k * 7 + side) & 0x7FFFFFFF
        same = _Same(
            owners=who, sites=tuple([open_[i] for i in used]), rows=tuple([options[i] for i in used])
        )
        yield Task(text=t, problem=made, key=same, seed=seed)


def _words(field: Field, t: int) -> int:
    """Tokens with a letter."""
    return sum(any(c.isalpha() for c in token) for token in field.contexts.tokens[t])


def _blocks(tasks: Iterator[Task], effort: Effort) -> Iterator[list[Task]]:
    """Texts whole, since equal candidates are asked once within a block; only a text beyond all bounds is divided."""
    block: list[Task] = []
    size = states = 0
    for task in tasks:
        enough = states > effort.block and task.text != block[-1].text
        if block and (enough or size > BLOCK_CHARACTERS):
            yield block
            block, size, states = [], 0, 0
        many = min(effort.max_queries, 8 * sum(map(len, task.problem.options)))
        size += many * sum(map(len, task.problem.pieces))
        states += many
        block.append(task)
    if block:
        yield block


def _store(records: Records, at: tuple[int, int, int], made: Problem, outcome: Outcome, moves: Moves) -> None:
    records.open[at] = made.limit > 0
    records.won[at] = outcome.won
    records.moved[at] = made.base_loss - outcome.loss if outcome.loss < float("inf") else 0.0
    records.changed[at] = len(moves)
    records.queries[at] = outcome.queries
    records.options_seen[at] = sum(map(len, made.options))
    if outcome.single_mean is not None:
        records.single[at] = outcome.single_mean
    if moves:
        records.moves[at] = moves


def altered(field: Field, text: int, moves: Moves) -> str:
    """A text with words replaced."""
    raw, sites = field.contexts.texts[text], field.sites[text]
    pieces, at = [], 0
    for s, row in sorted(moves):
        site = sites[s]
        pieces += [raw[at : site.start], site.spelled(field.vectors.words[row])]
        at = site.end
    return "".join([*pieces, raw[at:]])


@dataclass(frozen=True, kw_only=True, eq=False)
class Confirmed:
    """The alterations that carried flips in one half of the texts, applied blindly to the other half.

    Args:
        open: (directions, sides, texts) a learned alteration applies. won, moved: as in Records.
        seen, unseen: (texts,) the two halves.
    """

    open: BoolArray
    won: BoolArray
    moved: FloatArray
    seen: BoolArray
    unseen: BoolArray
    applied: dict[tuple[int, int, int], Moves]


def halves(texts: Sequence[int], n: int, share: float, seed: int) -> tuple[BoolArray, BoolArray]:
    """(seen, unseen): a random part `share` of the texts is kept for confirmation."""
    rng = np.random.default_rng([seed, 71])
    order = rng.permutation(np.array(sorted(texts), dtype=np.int64))
    cut = round(len(order) * share)
    seen, unseen = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    unseen[order[:cut]] = True
    seen[order[cut:]] = True
    return seen, unseen


Lexicon = dict[int, dict[int, float]]
"""Source row → target row → how much it carried in the texts seen."""


def learned(field: Field, records: Records, seen: BoolArray) -> dict[tuple[int, int], Lexicon]:
    """(direction, side) → its lexicon.

    Flips count first, the fall of the loss decides between equals; a change of several words shares its worth.
    """
    found: dict[tuple[int, int], Lexicon] = {}
    for (k, side, t), moves in records.moves.items():
        if not seen[t]:
            continue
        worth = float(records.won[k, side, t]) + 1e-6 * float(np.tanh(records.moved[k, side, t]))
        lexicon = found.setdefault((k, side), {})
        for s, row in moves:
            known = lexicon.setdefault(field.sites[t][s].row, {})
            known[row] = known.get(row, 0.0) + worth / len(moves)
    return found


def plan_confirmation(
    field: Field, goal: Goal, records: Records, seen: BoolArray, unseen: BoolArray, *, max_changed: float,
    chunk: int = 5_000,
) -> tuple[Plan, Confirmed]:  # fmt: skip
    """One altered text for each unseen text, direction and side, with the best learned alterations; one query each."""
    shape = records.won.shape
    made = Confirmed(
        open=np.zeros(shape, dtype=np.bool_), won=np.zeros(shape, dtype=np.bool_), moved=np.zeros(shape),
        seen=seen, unseen=unseen, applied={},
    )  # fmt: skip

    def plan() -> Plan:
        keys: list[tuple[int, int, int]] = []
        inputs: list[str] = []
        for key, moves in _applied(field, records, seen, unseen, max_changed):
            made.applied[key] = moves
            keys.append(key)
            inputs.append(altered(field, key[2], moves))
            if len(keys) >= chunk:
                yield from _settle(inputs, keys, goal, made)
                keys, inputs = [], []
        if keys:
            yield from _settle(inputs, keys, goal, made)

    return plan(), made


def _settle(inputs: list[str], keys: list[tuple[int, int, int]], goal: Goal, made: Confirmed) -> Plan:
    places = {text: i for i, text in enumerate(dict.fromkeys(inputs))}
    replies = yield Probes(inputs=list(places))
    scores = columns_of(replies, goal.names, len(places))[[places[text] for text in inputs]]
    texts = np.array([t for _, _, t in keys], dtype=np.int64)
    loss, won = goal(scores, texts)
    for key, value, flip in zip(keys, loss.tolist(), won.tolist(), strict=True):
        if np.isfinite(value):
            made.open[key] = True
            made.won[key] = flip
            made.moved[key] = goal.base_loss[key[2]] - value


def _applied(
    field: Field, records: Records, seen: BoolArray, unseen: BoolArray, max_changed: float
) -> Iterator[tuple[tuple[int, int, int], Moves]]:
    lexicons = learned(field, records, seen)
    for t in np.flatnonzero(unseen).tolist():
        limit = max(1, int(max_changed * _words(field, t))) if max_changed > 0 else 0
        open_ = field.open_sites(t)
        sources = [field.sites[t][s].row for s in open_]
        for k, sides in enumerate(field.options(t)):
            for side, options in enumerate(sides):
                lexicon = lexicons.get((k, side))
                ranked = sorted(_known(open_, sources, options, lexicon)) if lexicon else ()
                if ranked and limit:
                    yield (k, side, t), tuple((s, row) for _, s, row in ranked[:limit])


def _known(
    sites: Sequence[int], sources: Sequence[int], options: Options, lexicon: Lexicon
) -> Iterator[tuple[float, int, int]]:
    """(−worth, site, row) of the best learned word of every site."""
    for s, source, rows in zip(sites, sources, options, strict=True):
        known = lexicon.get(source)
        if known and rows:
            worth, row = max([(known.get(row, 0.0), row) for row in rows])
            if worth > 0:
                yield -worth, s, row


def plan_again(
    field: Field, goal: Goal, records: Sequence[Records], fails: Callable[[int], None], chunk: int = 5_000
) -> Plan:
    """Asks every flip once more; one that does not come back is no flip (for subjects that answer differently)."""
    for one in records:
        keys = [key for key in one.moves if one.won[key]]
        for start in range(0, len(keys), chunk):
            part = keys[start : start + chunk]
            replies = yield Probes(inputs=[altered(field, t, one.moves[k, s, t]) for k, s, t in part])
            scores = columns_of(replies, goal.names, len(part))
            _, won = goal(scores, np.array([t for _, _, t in part], dtype=np.int64))
            for key, flip in zip(part, won.tolist(), strict=True):
                if not flip:
                    one.won[key] = False
                    fails(1)


def rate_over(won: npt.NDArray[Any], over: npt.NDArray[Any]) -> FloatArray:
    """Share of `over` that won, along the last axis; 0 where there is nothing."""
    n = over.sum(axis=-1)
    return np.asarray(np.where(n > 0, (won & over).sum(axis=-1) / np.maximum(n, 1), 0.0))

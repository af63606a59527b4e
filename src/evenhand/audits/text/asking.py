"""Who is asked, and within which limits: rates, long texts, budgets; and who classes the texts."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias, get_args

import numpy as np

from evenhand._errors import UsageError
from evenhand._model import Factor, Plan, Probes, Subject, traits_of
from evenhand._run import ask, finish
from evenhand._store import Journal, opened
from evenhand.audits.text.designs import Design
from evenhand.engines import engine_of
from evenhand.subjects import Budgeted, ByName, Limited, subject, versioned
from evenhand.subjects.batch_job import price_share
from evenhand.subjects.long_texts import How, LongTexts
from evenhand.subjects.service import Service
from evenhand.subjects.spread import Scattered, spread

Asks: TypeAlias = str | Callable[..., object] | Subject
"""Whatever `subject` makes a subject of."""
Keeps: TypeAlias = str | os.PathLike[str] | Journal | None
"""A journal, its file, or none."""


def within_limits(given: Asks, rate: float | None, long_texts: How) -> Subject:
    """The subject, at most so fast; texts over the service's limit are split, or end the run.

    Raises:
        UsageError: `long-texts`, and what `subject` raises.
    """
    if long_texts not in get_args(How):
        raise UsageError(
            "long-texts", "no such way with long texts", given=long_texts, available=list(get_args(How))
        )
    chosen = subject(given)
    if rate is not None and isinstance(chosen, Service):
        chosen = replace(chosen, rate=rate)
    elif rate is not None:
        chosen = Limited(subject=chosen, calls=rate)
    return chosen if long_texts == "error" else LongTexts(subject=chosen, how=long_texts)


def within_budget(
    chosen: Subject, calls: int | None, money: float | None, price: float | None, per_100: float | None
) -> Subject:
    """The subject until the budget in calls or in money is spent.

    Args:
        price, per_100: money for one direct call, and for each 100 characters begun; a batch job pays half.

    Raises:
        UsageError: `no-price`.
    """
    if calls is None and money is None:
        return chosen
    if money is not None and price is None and per_100 is None:
        raise UsageError("no-price", "a budget in money needs a price", expected="price= or price_per_100=")

    share = price_share(chosen)

    def cost(text: object) -> float:
        return share * ((price or 0.0) + (per_100 or 0.0) * max(1, -(-len(str(text)) // 100)))

    return Budgeted(subject=chosen, calls=calls, money=money, price=cost)


def limited(given: Any, limits: Mapping[str, Any]) -> Subject:
    """The subject of a call of `audit_text`, within its limits, made here or by a worker.

    Args:
        given: what the user calls the subject. limits: the arguments of the call that limit it.

    Raises:
        UsageError: as `within_limits` and `within_budget`.
    """
    version, rate, long_texts, calls, money, price, per_100 = (limits[name] for name in LIMITS)
    chosen = within_limits(versioned(given, version), rate, long_texts)
    return within_budget(chosen, calls, money, price, per_100)


BATCH = 10_000
"""Probes of one step of the plan, where the subject does not want all of them at once."""
LIMITS = ("subject_version", "rate", "long_texts", "budget", "max_cost", "price", "price_per_100")
"""Arguments of a call that limit how its subject is asked."""


def where_asked(
    chosen: Subject, journal: Journal | None, call: Mapping[str, Any]
) -> AbstractContextManager[Subject]:
    """The subject as it is asked: here, or by the workers of an engine.

    Args:
        chosen: made here. journal: open. call: the arguments of `audit_text`.

    Raises:
        UsageError: `engine`, `engine-journal`, `engine-subject`, and as `engine_of`.
    """
    name, given = call["engine"], call["subject"]
    if name is None and call["gpu"] is not None:
        raise UsageError(
            "engine", "only workers of a cluster are given a GPU", expected="engine= (--engine ray)"
        )
    if name is None or call["rescore"]:  # nothing is asked, so nothing is asked elsewhere
        return nullcontext(chosen)
    if str(name).partition("://")[0] == "daft" or call["executor"] is not None:
        said = (
            "an engine has workers of its own: no executor="
            if call["executor"] is not None
            else ("a text audit asks a model, and Daft sums rows")
        )
        raise UsageError("engine", said, given=name, expected="local, ray or ray://host:port")
    if not isinstance(given, str | ByName):
        raise UsageError(
            "engine-subject",
            "workers make the subject themselves, so it must have a name",
            given=chosen.id,
            expected='a name of `evenhand list subjects`, or "module:attr"',
        )
    build = partial(limited, given, {limit: call[limit] for limit in LIMITS})
    return spread(chosen, build, engine_of(name, call["gpu"]), journal, call["batch_size"])


def steps_of(made: Design, asked: Subject, batch_size: int) -> tuple[int | None, int]:
    """Probes of one step of the plan, and inputs in one call; None where workers cut the steps."""
    if isinstance(asked, Scattered):
        return None, batch_size
    return (len(made), len(made)) if traits_of(asked).whole and len(made) else (BATCH, batch_size)


def classed(made: Design, given: Asks, journal: Keeps, *, asks: bool) -> Design:
    """Base texts classed by a subject's score: negative below −0.05, positive above 0.05 (VADER's cuts).

    A text without a score is in no class.

    Args:
        journal: what keeps the subject's replies. asks: whether what it lacks is asked.

    Raises:
        UsageError: `rescore`: nothing may be asked and there is no answer at all.
    """
    bases = list(dict.fromkeys(text for part in made.parts for text in part.grid.bases))

    def plan() -> Plan:
        yield Probes(inputs=bases)

    with opened(journal) as store:
        found = ask(plan(), subject(given), journal=store, asks=asks)
        finish(store, found)
    scores = next(iter(found.observations.columns.values()), np.full(len(bases), np.nan))
    if not asks and not np.isfinite(scores).any():
        raise UsageError(
            "rescore",
            "the subject that classes the texts has no answers in the journal",
            expected="the journal of a run that asked it, too",
        )
    classes = dict(zip(bases, map(_class_of, scores.tolist()), strict=True))
    parts = []
    for part in made.parts:
        factor = Factor.of([classes[text] for text in part.grid.bases])
        factors = {**part.grid.text_factors, "sentiment": factor}
        parts.append(replace(part, grid=replace(part.grid, text_factors=factors)))
    return Design(parts=tuple(parts))


def _class_of(score: float) -> str | None:
    if not math.isfinite(score):
        return None
    return "negative" if score < -0.05 else "positive" if score > 0.05 else "neutral"

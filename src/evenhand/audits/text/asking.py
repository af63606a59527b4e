"""Who is asked, and within which limits: rates, long texts, budgets; and who classes the texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias, get_args

import numpy as np

from evenhand._errors import UsageError
from evenhand._model import Factor, Subject
from evenhand.audits.text.designs import Design
from evenhand.subjects import Budgeted, Limited, subject
from evenhand.subjects.batch_job import price_share
from evenhand.subjects.long_texts import How, LongTexts
from evenhand.subjects.service import Service

Asks: TypeAlias = str | Callable[..., object] | Subject
"""Whatever `subject` makes a subject of."""


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


def classed(made: Design, given: Asks) -> Design:
    """Base texts classed by a subject's score: negative below −0.05, positive above 0.05 (VADER's cuts)."""
    judge = subject(given)
    parts = []
    for part in made.parts:
        replies = judge(list(part.grid.bases))
        values = next(iter(replies.scores.values()), np.full(len(part.grid.bases), np.nan))
        classes = ["negative" if v < -0.05 else "positive" if v > 0.05 else "neutral" for v in values]
        factors = {**part.grid.text_factors, "sentiment": Factor.of(classes)}
        parts.append(replace(part, grid=replace(part.grid, text_factors=factors)))
    return Design(parts=tuple(parts))

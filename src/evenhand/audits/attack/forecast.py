"""What an attack would ask: how many texts can be altered, and how many queries that may take. Asks
nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from evenhand._design import design
from evenhand.audits.attack.axes import axes_of
from evenhand.audits.attack.field import Laying, field_of, proposals_from, reader_of
from evenhand.embeddings.dictionary import Rules
from evenhand.embeddings.fluency import contexts_of
from evenhand.embeddings.vectors import vectors
from evenhand.texts import distinct_texts
from evenhand.texts import texts as texts_of

DEPTH = 2.0
"""Queries of a beam search for each single change, at most, in the runs measured."""
FLIPPING = 0.1
"""Share of the texts whose label is assumed to flip, either way."""


def forecast_attack(
    arguments: Mapping[str, Any], *, price: float | None = None, rate: float | None = None
) -> list[str]:
    """Lines for `evenhand plan`: texts, alterable texts, queries at least and at most, cost and time.

    Args:
        arguments: of `attack`. price: of one query. rate: queries a second.
    """
    given = distinct_texts(texts_of(arguments["texts"], column=arguments.get("text_column")))
    space = vectors(
        arguments["embeddings"], limit=arguments.get("limit"), fold_case=arguments.get("fold_case", False)
    )
    contexts = contexts_of(given.texts)
    reader = reader_of(
        arguments.get("fluency", "ngram"),
        contexts.tokens,
        space,
        corpus=arguments.get("corpus"),
        order=int(arguments.get("fluency_order", 3)),
        pmi=bool(arguments.get("fluency_pmi", False)),
    )
    laying = _laying(arguments)
    most = int(arguments.get("max_queries", 500))
    opened: list[int] = []
    lines = [f"{len(given):,} texts; embeddings {space.id}: {len(space):,} words"]
    lowest, highest = len(given), len(given)
    directions = arguments.get("directions", ("woman-man", "man-woman"))
    for axis in axes_of(directions, space, arguments.get("strength")):
        laid = field_of(axis, contexts, space, reader, laying)
        open_ = 0
        for t in range(len(given)):
            edges = laid.options(t)
            singles = (edges >= 0).sum(axis=(2, 3))
            open_ += bool(singles.any())
            lowest += sum(len(np.unique(at[at >= 0])) for at in np.moveaxis(edges, 2, 0))
            highest += int(np.minimum(DEPTH * singles, most).sum())
        opened.append(open_)
        lines.append(f"{axis.name}: {open_:,} texts can be altered; {laid.directions - 1} placebos")
    times = int(arguments.get("repeats", 1))
    lowest, highest = lowest * times, max(lowest, highest) * times
    most_asked = f"about {highest:,} (beam search without any text asked twice)"
    lines.append(f"queries: {lowest:,} (single changes) to {most_asked}")
    if price is not None:
        lines.append(f"cost: {lowest * price:,.2f} to about {highest * price:,.2f}")
    if rate is not None and rate > 0:
        least, longest = (f"{n / rate / 60:,.1f}" for n in (lowest, highest))
        lines.append(f"time at {rate:g} a second: {least} to about {longest} minutes")
    tolerance = (float("-inf"), float(arguments.get("tolerance", 0.05)))
    level = float(arguments.get("level", 0.95))
    lines += _rank_needed(level, laying.placebos)
    for n in opened:
        if n > 1:  # of flips either way in a share of the texts, the asymmetry varies by its root
            told = design(
                "paired", n=n, sd=FLIPPING**0.5, tolerance=tolerance, level=level, claims=len(opened)
            )
            lines.append(f"if {100 * FLIPPING:g} % of the texts flip: {told!r}")
    return lines


def _laying(arguments: Mapping[str, Any]) -> Laying:
    """What the arguments of an attack say may be done to a text."""
    names = ("n", "min_similarity", "min_gain", "max_rank")
    rules = Rules(**{name: arguments[name] for name in names if arguments.get(name) is not None})
    return Laying(
        rules=rules,
        placebos=int(arguments.get("placebos", 99)),
        seed=int(arguments.get("seed", 0)),
        match=arguments.get("match", "candidates"),
        ratio=float(arguments.get("fluency_ratio", 0.25)),
        sentence=float(arguments.get("min_sentence_similarity", -1.0)),
        proposals=proposals_from(
            arguments.get("candidates", "embeddings"), int(arguments.get("proposals", 50))
        ),
    )


def _rank_needed(level: float, placebos: int) -> list[str]:
    """What a disparity needs besides its interval."""
    first = int((1.0 - level) * (placebos + 1) + 1e-9)
    if not placebos:
        return []
    if not first:
        needed = math.ceil(1.0 / (1.0 - level) - 1e-9) - 1
        return [f"{placebos} placebos are too few for any disparity; {needed} are needed"]
    return [
        f"a disparity also needs a rank among the first {first} of {placebos + 1}: at most {first - 1} of"
        f" {placebos} placebos may reach as much"
    ]

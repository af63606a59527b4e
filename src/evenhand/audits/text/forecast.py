"""What an audit will ask, cost and be able to find, said before a single call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evenhand._design import MOST_GROUPS, Chances, design
from evenhand._model import IntArray
from evenhand.audits.scores.doubted import stretch_of
from evenhand.audits.scores.scale import SHARE_TOLERANCE
from evenhand.audits.text.designs import Design, chances_of, design_of
from evenhand.audits.text.parts import Part
from evenhand.subjects.batch_job import IN_BATCHES, PRICE_SHARE

GUESSES = (0.02, 0.05, 0.1, 0.2)
"""Spreads of a term's effect that a plan shows where the user names none, on the scale of the score."""


def forecast(
    arguments: Mapping[str, Any],
    *,
    price: float | None = None,
    price_per_100: float | None = None,
    minimum_units: int = 1,
    rate: float | None = None,
    sds: Sequence[float] | None = None,
) -> list[str]:
    """Lines for a reader: probes, characters, cost, time, smallest detectable gaps, chances of verdicts.

    Args:
        arguments: those of `audit_text`.
        price: money for one call. price_per_100: money for 100 characters begun.
        minimum_units: least hundreds of characters that a call is charged for. rate: calls a second.
        sds: assumed standard deviations of a term's own effect on the score, and of a text's reaction
            to a group.
    """
    made = design_of(arguments)
    repeats = int(arguments.get("repeats", 1))
    lengths = np.array([len(text) for text in made.inputs()], dtype=np.int64)
    calls = len(lengths) * repeats
    lines = [
        f"subject      {arguments.get('subject')}",
        f"texts        {made.counts['texts']:,}",
        f"terms        {made.counts['terms']:,}",
        f"probes       {len(lengths):,}" + (f" × {repeats} repeats = {calls:,} calls" if repeats > 1 else ""),
        f"characters   {int(lengths.sum()) * repeats:,} (longest text {int(lengths.max(initial=0)):,})",
    ]
    price = arguments.get("price") if price is None else price
    price_per_100 = arguments.get("price_per_100") if price_per_100 is None else price_per_100
    batches = arguments.get("subject") in IN_BATCHES
    lines += _cost(lengths, repeats, price, price_per_100, minimum_units, batches=batches)
    speed = rate if rate is not None else arguments.get("rate")
    if speed:
        lines.append(f"time         {_duration(calls / float(speed))} at {float(speed):g} calls a second")
    lines += _power(made, sds, arguments)
    return lines


def bill(made: Design, arguments: Mapping[str, Any]) -> float | None:
    """What all probes cost at the prices among the arguments of `audit_text`; None without a price."""
    price, per_100 = arguments.get("price"), arguments.get("price_per_100")
    if price is None and per_100 is None:
        return None
    repeats = int(arguments.get("repeats", 1))
    units = sum(max(1, -(-len(text) // 100)) for text in made.inputs()) if per_100 is not None else 0
    return repeats * (len(made) * float(price or 0.0) + units * float(per_100 or 0.0))


def _cost(
    lengths: IntArray,
    repeats: int,
    price: float | None,
    per_100: float | None,
    least: int,
    *,
    batches: bool,
) -> list[str]:
    if price is None and per_100 is None:
        return ["cost         unknown: name --price or --price-per-100-characters"]
    money = (price or 0.0) * len(lengths) * repeats
    note = []
    if per_100 is not None:
        units = int(np.maximum(-(-lengths // 100), least).sum()) * repeats
        money += units * per_100
        note.append(f"{units:,} units of 100 characters")
    if batches:
        note.append(f"{PRICE_SHARE * money:,.2f} as batch jobs: batch_job=true, within a day")
    return [f"cost         {money:,.2f}" + (f" ({', '.join(note)})" if note else "")]


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _power(made: Design, sds: Sequence[float] | None, arguments: Mapping[str, Any]) -> list[str]:
    """The gap that each attribute's scarcest groups have called a disparity, and the chances at others."""
    guesses = sds or GUESSES
    lines = ["gap called a disparity with 80 % chance, if a term's effect and a text's reaction each vary by"]
    lines.append("             " + "".join(f"sd {sd:<9g}" for sd in guesses))
    chances = []
    found = [(part, f, label) for part in made.parts for f, label in part.attributes.items()]
    usable = [(part, label, sizes) for part, f, label in found if len(sizes := _sizes(part, f)) >= 2]
    for part, label, sizes in usable:
        told = {sd: _design(part, sizes, sd, len(usable), arguments) for sd in guesses}
        gaps = [known.detectable for known in told.values()]
        shown = "".join(f"{gap:<12.3f}" if gap is not None else f"{'–':<12}" for gap in gaps)
        lines.append(f"{label[:12]:<13}{shown}({_said(part, sizes)})")
        chances += [f"{label}: {told[sd]!r}" for sd in sds or GUESSES[1:2]]
    for part in made.parts:
        for label, names in chances_of(part).items():
            if (times := stretch_of(names)) is not None:
                said = f"{part.word}s are of their groups by chances: the gap between groups has to be"
                chances.append(f"{label}: {said} {times:.2f} times those above")
    return [*lines, *chances]


def _design(
    part: Part, sizes: Sequence[int], sd: float, attributes: int, arguments: Mapping[str, Any]
) -> Chances:
    """Of groups held against a reference the largest of several gaps, else the widest of all."""
    few = sorted(sizes)[:2] if part.sampled else [1, 1]
    against = bool(arguments.get("reference"))
    return design(
        "texts",
        n=few[0],
        n_reference=few[1],
        texts=max(1, len(part.grid.texts)),
        groups=2 if against else min(len(sizes), MOST_GROUPS),
        term_sd=sd,
        text_sd=sd,
        tolerance=arguments.get("tolerance") or SHARE_TOLERANCE,
        level=float(arguments.get("level", 0.95)),
        claims=attributes * (len(sizes) - 1 if against else 1),
    )


def _sizes(part: Part, factor: str) -> list[int]:
    terms = part.grid.terms.factors
    return [n for n in terms[factor].counts().values() if n] if factor in terms else []


def _said(part: Part, sizes: Sequence[int]) -> str:
    texts = len(part.grid.texts)
    return f"{min(sizes)} {part.word}s a group × {texts} texts" if part.sampled else f"{texts} texts"

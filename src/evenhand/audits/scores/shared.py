"""How far each block of texts, names or people moves a gap, for a comparison with another audit of them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from evenhand._estimate import Evidence
from evenhand._model import Observations
from evenhand._shared import Shared, blocks_of, identity, summed
from evenhand.audits.scores.sides import Question
from evenhand.stats.influence import influence


def add_shared(
    shared: Shared,
    observations: Observations,
    asked: Question,
    over: Iterable[str],
    items: Iterable[Evidence],
) -> None:
    """The moves of each gap between two sides, over every sampled unit."""
    score = observations.columns[asked.score]
    found = {name: observations.units[name] for name in over}
    blocks = {name: blocks_of(factor.levels) for name, factor in found.items()}
    for name, factor in found.items():
        shared.units[name] = (identity(factor.levels), len(factor.levels))
    for item in items:
        if item.sides is None or item.estimate.value is None:
            continue
        a, b = item.sides
        for name, factor in found.items():
            moved = influence(
                score,
                a=a.rows,
                b=b.rows,
                units={name: factor.codes},
                unit=name,
                weight=observations.weighing(asked.score),
            )
            sizes = np.bincount(moved.side + 1, minlength=3)[moved.side + 1].astype(float)
            scaled = moved.change * np.sqrt((sizes - 1) / sizes)
            shared.add(item.estimate, name, summed(blocks[name][moved.codes], scaled))

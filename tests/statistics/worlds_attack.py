"""Worlds of attacked models: blind ones, planted ones, ones that never flip, texts that come several times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from planted_words import planted
from worlds import Rng, World

import evenhand as eh
from evenhand._result import Result

SPACES = [planted(clusters=20, size=6, seed=s) for s in range(5)]


def attacked(
    *,
    texts: int,
    loading: float = 0.0,
    noise: float = 1.0,
    bias: float = 0.0,
    copied: int = 1,
    placebos: int = 59,
) -> Callable[[Rng], Result]:
    """A linear model whose words have random weights, plus `loading` times their leaning to a gender."""

    def audit(rng: Rng) -> Result:
        space = SPACES[int(rng.integers(len(SPACES)))]
        weight = {w: float(rng.normal(0, noise)) + loading * x for w, x in space.loading.items()}

        def model(inputs: Sequence[str]) -> Any:
            z = np.array([bias + sum(weight.get(w, 0.0) for w in t.lower().split()) for t in inputs])
            p = 1 / (1 + np.exp(-z))
            return np.column_stack([1 - p, p])

        seed = int(rng.integers(1 << 30))
        sentences = list(space.sentences(texts, seed=seed))
        return eh.attack(
            model,
            [t for t in sentences for _ in range(copied)],
            embeddings=space.vectors,
            fluency="none",
            placebos=placebos,
            seed=seed,
            definitional="include",
        )

    return audit


def blind(found: eh.Finding) -> float | None:
    """A blind model flips no more along the direction than along its placebos; what is described is no claim."""
    return 0.0 if found.tolerance is not None else None


ATTACK: tuple[World, ...] = (
    World(
        name="attack on a blind model, 40 texts",
        what="Random weights of all words: the direction is a placebo like others.",
        audit=attacked(texts=40),
        truth=blind,
        runs=200,
        quick=12,
    ),
    World(
        name="attack on a blind model, unequal labels",
        what="The same with four of five texts in one label.",
        audit=attacked(texts=40, bias=-1.5),
        truth=blind,
        runs=200,
    ),
    World(
        name="attack on a blind model, every text four times",
        what="20 texts, each four times: copies are no further evidence.",
        audit=attacked(texts=20, copied=4),
        truth=blind,
        runs=200,
    ),
    World(
        name="attack on a model that hardly ever flips",
        what="40 texts, weights of .05: no flip at all, which still allows 7 %: no verdict.",
        audit=attacked(texts=40, noise=0.02, bias=-4.0),
        truth=blind,
        runs=100,
        quick=8,
        silent=True,
    ),
    World(
        name="attack on a planted model, 120 texts",
        what="Words matter by their leaning: found.",
        audit=attacked(texts=120, loading=6.0, noise=0.3, placebos=99),
        truth=lambda found: None,
        runs=100,
        quick=4,
        power={"disparity": 0.8},
    ),
)

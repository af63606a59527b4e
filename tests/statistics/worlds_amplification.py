"""Worlds of captions and labels: who is tied to what, who is named, on data that were balanced or were not."""

from __future__ import annotations

from typing import Any

import numpy as np
from worlds import Rng, World

import evenhand as eh
from evenhand._result import Result

Rows = dict[str, np.ndarray]
QUICK: dict[str, Any] = {"draws": 200, "leakage": False}


def people(rng: Rng, n: int, shares: np.ndarray, *, rate: float = 0.15, first: int = 0) -> Rows:
    """n images: a person of one of two groups, and items of which a `share` is the second group's."""
    second = rng.random(n) < 0.5
    found: Rows = {
        "image_id": np.array([f"im{first + k}" for k in range(n)]),
        "gender": np.where(second, "woman", "man"),
    }
    for k, share in enumerate(shares):
        found[f"item{k}"] = (rng.random(n) < 2 * rate * np.where(second, share, 1 - share)).astype(int)
    return found


def items_of(rows: Rows) -> np.ndarray:
    """(n, items)."""
    return np.stack([v for k, v in rows.items() if k.startswith("item")], axis=1)


def noisy(rng: Rng, rows: Rows, slips: float = 0.1) -> Rows:
    """Outputs of a model that names the wrong group now and then, whoever is there and whatever they do."""
    wrong = rng.random(len(rows["gender"])) < slips
    other = np.where(rows["gender"] == "man", "woman", "man")
    return {**rows, "gender": np.where(wrong, other, rows["gender"])}


def balanced(rows: Rows) -> Rows:
    """Everybody once more as the other group: exactly even."""
    other = np.where(rows["gender"] == "man", "woman", "man")
    twin = {**rows, "gender": other, "image_id": np.char.add(rows["image_id"], "x")}
    return {k: np.concatenate([rows[k], twin[k]]) for k in rows}


def nothing(found: eh.Finding) -> float | None:
    """Nothing is amplified and nobody gives way; how often a model slips is no gap between groups."""
    if found.family in ("values as published", "leakage", "balanced") or "error" in found.estimate.measure:
        return None
    return 0.0


def other_images(n: int, shares: np.ndarray, rate: float = 0.15) -> Any:
    """Training data and outputs of different images, alike."""

    def audit(rng: Rng) -> Result:
        train, made = people(rng, n, shares, rate=rate), people(rng, n, shares, rate=rate, first=10**6)
        return eh.audit_amplification(train, made, min_support=1, **QUICK)

    return audit


def videos(rng: Rng, first: int, count: int = 80, frames: int = 15) -> Rows:
    """Frames of videos: who is seen is one person in all frames, and what is seen stays."""
    shares = np.linspace(0.35, 0.65, 6)
    one = people(rng, count, shares, first=first)
    found = {name: np.repeat(column, frames) for name, column in one.items()}
    found["video"] = found["image_id"]
    found["image_id"] = np.array([f"{first}frame{k}" for k in range(count * frames)])
    for name in one:
        if name.startswith("item"):
            found[name] = np.where(rng.random(count * frames) < 0.1, 1 - found[name], found[name])
    return found


def of_videos(units: str | None) -> Any:
    """Training data and outputs of other videos, alike."""

    def audit(rng: Rng) -> Result:
        train, made = videos(rng, 0), videos(rng, 10**6)
        return eh.audit_amplification(train, made, groups="gender", min_support=1, units=units, **QUICK)

    return audit


def human_against_human(rng: Rng) -> Result:
    """Two captions of each of 400 images: one is taken for the training data, one for the output."""
    shares = np.linspace(0.3, 0.7, 8)
    truth = people(rng, 400, shares)
    seen = items_of(truth)
    twice = []
    for _ in range(2):
        told = (seen & (rng.random(seen.shape) < 0.7)).astype(int)
        twice.append({**noisy(rng, truth, 0.08), **{f"item{k}": told[:, k] for k in range(8)}})
    return eh.audit_amplification(*twice, min_support=1, **QUICK)


def balanced_slips(with_before: bool) -> Any:
    """A model trained on exactly balanced data that slips at random."""

    def audit(rng: Rng) -> Result:
        before = people(rng, 300, np.linspace(0.25, 0.75, 10))
        train = balanced(before)
        more = {"before": before} if with_before else {}
        return eh.audit_amplification(train, noisy(rng, train), min_support=1, **more, **QUICK)

    return audit


def balanced_falls_back(rng: Rng) -> Result:
    """The same, but the model names the group that the items leaned to before balancing."""
    shares = np.linspace(0.25, 0.75, 10)
    before = people(rng, 600, shares)
    train = balanced(before)
    lean = items_of(train) @ (shares - 0.5)
    turned = np.where(lean > 0, "woman", np.where(lean < 0, "man", train["gender"]))
    gives_way = rng.random(len(lean)) < 0.4
    made = {**train, "gender": np.where(gives_way, turned, train["gender"])}
    return eh.audit_amplification(train, made, before=before, **QUICK)


def everybody_man(rng: Rng) -> Result:
    """Outputs that name nobody else."""
    train = people(rng, 400, np.linspace(0.3, 0.7, 8))
    made = {**train, "gender": np.where(np.arange(400) < 1, "woman", "man")}
    return eh.audit_amplification(train, made, min_support=1, **QUICK)


def erased(found: eh.Finding) -> float | None:
    """Half of those named change sides; what that does to items is not asked."""
    return -0.5 if found.estimate.measure.startswith("representation") else None


def random_things(rng: Rng) -> Result:
    """Outputs whose items know nothing of groups, while the data tie them: less than nothing is amplified."""
    shares = np.array([0.2, 0.25, 0.3, 0.7, 0.75, 0.8])
    return eh.audit_amplification(
        people(rng, 800, shares), people(rng, 800, np.full(6, 0.5), first=10**6), **QUICK
    )


def evened(found: eh.Finding) -> float | None:
    """Every item moves from its share to one half: by −.25 on average towards its side."""
    return -0.25 if found.estimate.measure.startswith("mean bias amplification beyond") else None


AMPLIFICATION: tuple[World, ...] = (
    World(
        name="10 items near even, 400 images each side",
        what="Labels of different images, shares of .45 to .55, nothing amplified: sides are chosen by noise.",
        audit=other_images(400, np.linspace(0.45, 0.55, 10)),
        truth=nothing,
        runs=500,
        quick=60,
    ),
    World(
        name="80 videos of 15 frames each side, by video",
        what="Who and what is seen stays for a whole video, nothing amplified; units are videos.",
        audit=of_videos("video"),
        truth=nothing,
        runs=300,
        quick=20,
    ),
    World(
        name="40 tied items, 1,500 images each side",
        what="Shares of .2 to .8, nothing amplified.",
        audit=other_images(1500, np.linspace(0.2, 0.8, 40)),
        truth=nothing,
        runs=120,
    ),
    World(
        name="sparse items: about 6 mentions each",
        what="30 items at a rate of 2 % in 300 images, nothing amplified.",
        audit=other_images(300, np.linspace(0.45, 0.55, 30), rate=0.02),
        truth=nothing,
        runs=100,
        silent=True,
    ),
    World(
        name="rare items: about 12 mentions each",
        what="The same at a rate of 4 %: what falls back by selection is most of what is seen.",
        audit=other_images(300, np.linspace(0.45, 0.55, 30), rate=0.04),
        truth=nothing,
        runs=300,
    ),
    World(
        name="human captions against human captions",
        what="Two captions of each of 400 images by people who slip alike: no leak, no shift, no amplification.",
        audit=human_against_human,
        truth=nothing,
        runs=500,
        quick=60,
    ),
    World(
        name="exactly balanced data, a model that slips at random",
        what="600 images in which every item is exactly even: no verdict on amplification without the data before.",
        audit=balanced_slips(with_before=False),
        truth=nothing,
        runs=300,
        quick=30,
    ),
    World(
        name="exactly balanced data, slips at random, data before given",
        what="The same with sides from the data before balancing.",
        audit=balanced_slips(with_before=True),
        truth=nothing,
        runs=500,
        quick=60,
    ),
    World(
        name="exactly balanced data, a model that falls back",
        what="1,200 balanced images; the outputs lean as the data did before: a disparity, with `before=`.",
        audit=balanced_falls_back,
        truth=lambda found: None,
        runs=200,
        quick=20,
        power={"disparity": 0.9},
    ),
    World(
        name="outputs that name everybody man",
        what="Erasure: the mean amplification may cancel, the headline does not.",
        audit=everybody_man,
        truth=erased,
        runs=100,
        quick=10,
        power={"disparity": 0.99},
    ),
    World(
        name="outputs whose items know nothing of groups",
        what="Tied training data, random outputs: shown to be tied less, beyond the tolerance.",
        audit=random_things,
        truth=evened,
        runs=200,
        power={"disparity": 0.9},
    ),
)

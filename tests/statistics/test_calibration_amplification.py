"""Without amplification, mean amplification beyond its null is about zero, its p-value uniform, its interval honest."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from evenhand._declared import Declared
from evenhand._model import IntArray
from evenhand.audits.amplification.corpus import Corpus
from evenhand.audits.amplification.findings import findings
from evenhand.audits.amplification.panel import corpus_blocks, panel
from evenhand.audits.amplification.resampling import Judging, resample, tolerances


def corpus(rng: np.random.Generator, images: IntArray, who: IntArray, item: IntArray, items: int) -> Corpus:
    """A corpus of rows that each name one of two groups and one item."""
    member = np.eye(2)[who]
    n = len(images)
    return Corpus(
        images=images,
        named=member > 0,
        member=member,
        neutral=np.zeros(n, dtype=np.bool_),
        items=sparse.csr_matrix((np.ones(n, dtype=np.int32), (np.arange(n), item)), shape=(n, items)),
    )


def simulate(
    seed: int, *, items: int, images: int, per_image: int, paired: bool, spread: float
) -> tuple[float, bool, bool, float]:
    """(p, whether the interval of the excess holds 0, whether it was called a disparity, raw value) of one world."""
    rng = np.random.default_rng(seed)
    share = np.clip(0.5 + rng.normal(0, spread, items), 0.02, 0.98)
    item = rng.integers(items, size=images)
    tendency = share[item]
    own = (rng.random(images) > tendency).astype(np.int64)

    def rows(k: int, base: IntArray) -> tuple[IntArray, IntArray]:
        """Captions of an image agree with its person in four of five cases."""
        who = np.repeat(base, k)
        again = (rng.random(len(who)) > np.repeat(tendency, k)).astype(np.int64)
        return np.repeat(np.arange(images), k), np.where(rng.random(len(who)) < 0.8, who, again)

    ids, who = rows(per_image, own)
    other = own if paired else (rng.random(images) > tendency).astype(np.int64)
    ids_out, who_out = rows(1, other)
    train = corpus(rng, ids, who, np.repeat(item, per_image), items)
    made = corpus(rng, ids_out + (0 if paired else images), who_out, item, items)
    total = images if paired else 2 * images
    joint = panel(corpus_blocks(train, total, "train") | corpus_blocks(made, total, "out"))
    judging = Judging(declared=Declared(tolerance=tolerances(0.02, 0.05), seed=seed), draws=300)
    done = resample(joint, judging, exact=False, images=images)
    found = findings(done, judging, items=[str(k) for k in range(items)])
    claim = next(f for f in found if f.primary)
    e = claim.estimate
    raw = next(f.estimate.value for f in found if f.estimate.measure == "mean bias amplification")
    assert e.low is not None
    assert e.high is not None
    assert e.p_value is not None
    return e.p_value, e.low <= 0 <= e.high, claim.verdict == "disparity", float(raw or 0.0)


WORLDS = [
    {"items": 10, "images": 400, "per_image": 5, "paired": True, "spread": 0.05},
    {"items": 40, "images": 2000, "per_image": 5, "paired": True, "spread": 0.15},
    {"items": 10, "images": 400, "per_image": 1, "paired": False, "spread": 0.05},
    {"items": 40, "images": 1500, "per_image": 1, "paired": False, "spread": 0.2},
    {"items": 100, "images": 3000, "per_image": 2, "paired": False, "spread": 0.1},
]


def check(world: dict[str, object], runs: int, slack: float) -> None:
    """Coverage near 95 %, false alarms at most 5 %, both within the simulation's own error."""
    done = [simulate(1000 + k, **world) for k in range(runs)]  # type: ignore[arg-type]
    p, covered, alarm, _ = (np.array(column) for column in zip(*done, strict=True))
    print(
        world,
        "rejected",
        (p < 0.05).mean(),
        "covered",
        covered.mean(),
        "alarms",
        alarm.mean(),
        "raw",
        np.mean([d[3] for d in done]),
    )
    assert (p < 0.05).mean() <= 0.05 + slack
    assert covered.mean() >= 0.95 - slack
    assert alarm.mean() <= 0.05 + slack


@pytest.mark.parametrize("world", WORLDS[::2])
def test_no_amplification_raises_few_alarms(world: dict[str, object]) -> None:
    """A quick slice: 60 worlds, so within 7 points."""
    check(world, 60, 0.07)


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_no_amplification_raises_few_alarms_in_full(world: dict[str, object]) -> None:
    """600 worlds: within 2.5 points."""
    check(world, 600, 0.025)


@pytest.mark.parametrize("paired", [True, False])
def test_few_images_an_item_raise_no_false_disparities(paired: bool) -> None:
    """Five images an item, where resampling alone is far too sure: disparities stay rare."""
    world = {"items": 55, "images": 300, "per_image": 5, "paired": paired, "spread": 0.3}
    alarms = [simulate(1000 + k, **world)[2] for k in range(40)]  # type: ignore[arg-type]
    assert np.mean(alarms) <= 0.1


def test_the_raw_value_is_negative_without_any_amplification() -> None:
    """Why the null is printed: choosing sides from the sample makes the published number negative by itself."""
    raw = [simulate(k, items=10, images=400, per_image=1, paired=False, spread=0.02)[3] for k in range(40)]
    assert np.mean(raw) < -0.02

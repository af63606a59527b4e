"""Stragglers and losses on paper: how long a pass over partitions takes on a cluster, and how much is done twice.

    python tools/scale_simulator.py [--seed 0]

Workers take partitions one after the other, as `engines/ray.py` hands them out. A partition's time is lognormal around its
mean; some workers are slow throughout (stragglers); a worker dies at an exponential rate, its partition is found lost after
the heartbeat's patience and made again elsewhere, and another worker takes its place after a while; a partition that was
lost more often than it may be ends the pass. The driver adds what arrives, one summary after the other, and is a queue of
its own. Nothing here is measured on a cluster: the figures that go in are those of one machine (docs/explanation/scale.md).
"""

from __future__ import annotations

import argparse
import heapq
import itertools
from collections import deque
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True)
class World:
    """What a pass runs on.

    Args:
        partitions, workers: how many. seconds: that a partition takes a worker on average. spread: σ of the log of it.
        slow: share of workers that are `times` slower. deaths: of a worker an hour. patience: seconds until a death is
            noticed. replaced: seconds until another worker is there. tries: of a lost partition beyond the first.
        adding: seconds that the driver needs for a summary. ahead: partitions under way for each worker: later ones wait
            for the first that is not added yet.
    """

    partitions: int = 512
    workers: int = 100
    seconds: float = 40.0
    spread: float = 0.25
    slow: float = 0.0
    times: float = 4.0
    deaths: float = 0.0
    patience: float = 15.0
    replaced: float = 120.0
    tries: int = 3
    adding: float = 0.02
    ahead: int = 4


@dataclass(frozen=True, kw_only=True)
class Pass:
    """How a pass went: seconds, partitions that were made again, whether one was lost too often, most summaries held early."""

    wall: float
    again: int
    ended: bool
    held: int


def simulate(world: World, rng: np.random.Generator) -> Pass:
    """One pass, event by event."""
    pace = np.where(rng.random(world.workers) < world.slow, world.times, 1.0)
    lost, again, held = np.zeros(world.partitions, dtype=int), 0, 0
    fresh, added, adding = 0, 0, False
    returned: deque[int] = deque()
    idle = list(range(world.workers))
    arrived: set[int] = set()
    events: list[tuple[float, int, str, int, int]] = []
    order = itertools.count()

    def later(at: float, what: str, part: int = 0, worker: int = 0) -> None:
        heapq.heappush(events, (at, next(order), what, part, worker))

    later(0.0, "start")
    now = 0.0
    while added < world.partitions:
        now, _, what, part, worker = heapq.heappop(events)
        if what == "done":
            arrived.add(part)
            idle.append(worker)
        elif what == "back":
            idle.append(worker)
        elif what == "lost":
            lost[part] += 1
            if lost[part] > world.tries:
                return Pass(wall=now, again=again, ended=True, held=held)
            again += 1
            returned.append(part)
        elif what == "added":
            added, adding = added + 1, False
        if not adding and added in arrived:
            arrived.discard(added)
            adding = True
            later(now + world.adding, "added")
        held = max(held, len(arrived))
        while idle and (
            returned or (fresh < world.partitions and fresh - added < world.ahead * world.workers)
        ):
            worker = idle.pop()
            part = returned.popleft() if returned else fresh
            fresh += part == fresh
            took = world.seconds * pace[worker] * rng.lognormal(-(world.spread**2) / 2, world.spread)
            dies = rng.exponential(3600 / world.deaths) if world.deaths else np.inf
            if dies < took:
                later(now + dies + world.patience, "lost", part)
                later(now + dies + world.replaced, "back", 0, worker)
            else:
                later(now + took, "done", part, worker)
    return Pass(wall=now, again=again, ended=False, held=held)


WORLDS = {
    "nothing goes wrong": {},
    "1 worker in 20 is 4 times slower": {"slow": 0.05},
    "the same, 2 partitions ahead for a worker": {"slow": 0.05, "ahead": 2},
    "the same, a tenth of the partitions": {"slow": 0.05, "partitions": 52, "seconds": 400.0},
    "the same, ten times the partitions": {"slow": 0.05, "partitions": 5120, "seconds": 4.0},
    "a worker dies every 10 hours": {"deaths": 0.1},
    "a worker dies every hour": {"deaths": 1.0},
    "a worker dies every 5 minutes": {"deaths": 12.0},
    "a worker dies every minute": {"deaths": 60.0},
    "10 workers": {"workers": 10},
    "1,000 workers": {"workers": 1000},
    "1,000 workers, a driver ten times slower": {"workers": 1000, "adding": 0.2},
}
"""What is looked at: 10^11 rows in 512 partitions of 195 million, 40 CPU seconds each, unless it says otherwise."""


def main() -> None:
    """A table of all worlds."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=int, default=50)
    asked = parser.parse_args()
    print(
        f"{'world':42} {'ideal s':>8} {'median s':>9} {'95 % s':>8} {'again %':>8} {'ended %':>8} {'held':>5}"
    )
    for name, change in WORLDS.items():
        world = World(**change)
        rng = np.random.default_rng(asked.seed)
        runs = [simulate(world, rng) for _ in range(asked.runs)]
        ideal = world.partitions * world.seconds / world.workers
        wall = np.array([run.wall for run in runs])
        again = 100 * np.mean([run.again for run in runs]) / world.partitions
        ended = 100 * np.mean([run.ended for run in runs])
        held = max(run.held for run in runs)
        print(
            f"{name:42} {ideal:8.0f} {np.median(wall):9.0f} {np.quantile(wall, 0.95):8.0f} {again:8.1f} {ended:8.0f} {held:5}"
        )


if __name__ == "__main__":
    main()

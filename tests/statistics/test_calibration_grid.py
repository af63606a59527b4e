"""Verdicts on the worlds of `worlds.py`: what they say is true as often as they promise.

A slice runs everywhere (fixed seeds, so the outcome is the same every time); ``-m slow`` runs the whole grid.
The page docs/reference/calibration.md is made by ``python tools/calibration.py``.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from every_world import WORLDS
from grid import Tally, failures, is_false, tally
from worlds import World, alike

import evenhand as eh


def unknown(world: World, runs: int, seed: int) -> list[str]:
    """The failures of a world that are not among those it is known for."""
    found = failures(tally(world, runs, seed), world)
    return [str(failure) for failure in found if failure.kind not in world.known]


@pytest.mark.timeout(900)  # a busy machine takes its time
@pytest.mark.parametrize("world", [w for w in WORLDS if w.quick], ids=lambda w: w.name)
def test_verdicts_keep_their_promise_quick(world: World) -> None:
    """Coverage, false verdicts by family and headline, and power are within two Monte-Carlo errors of the target."""
    assert unknown(world, world.quick, seed=3) == []


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS, ids=lambda w: w.name)
def test_verdicts_keep_their_promise(world: World) -> None:
    """The whole grid."""
    assert unknown(world, world.runs, seed=1) == []


def finding(verdict: str, span: tuple[float, float]) -> eh.Finding:
    """A finding about a difference, tolerance .1."""
    e = eh.Estimate(measure="m", contrast="difference", group="group=g0", reference="group=g1", value=0.0)
    return eh.Finding(
        estimate=e, tolerance=(-0.1, 0.1), verdict=verdict, simultaneous=span, family="f", primary=True
    )


@pytest.mark.parametrize(
    ("verdict", "span", "truth", "false"),
    [
        ("disparity", (0.12, 0.3), 0.1, True),
        ("disparity", (0.12, 0.3), 0.11, False),
        ("disparity", (0.12, 0.3), -0.2, True),
        ("disparity", (-0.3, -0.12), -0.11, False),
        ("gap", (0.02, 0.3), 0.0, True),
        ("gap", (0.02, 0.3), 0.01, False),
        ("gap", (0.02, 0.3), -0.01, True),
        ("within tolerance", (-0.05, 0.05), 0.09, False),
        ("within tolerance", (-0.05, 0.05), 0.11, True),
        ("inconclusive", (-1.0, 1.0), 5.0, False),
    ],
)
def test_a_verdict_is_false_where_it_asserts_what_is_not_so(
    verdict: str, span: tuple[float, float], truth: float, false: bool
) -> None:
    """A gap on the wrong side is as false as one where there is none."""
    assert is_false(finding(verdict, span), truth) is false


def world_of(*results: eh.Finding) -> World:
    """A world whose audits hold these findings."""
    from evenhand._result import Result

    made = Result(audit="scores", title="", findings=results)
    return World(name="made up", what="", audit=lambda rng: made, truth=alike)


def test_false_verdicts_are_counted_by_family_and_by_headline() -> None:
    """Twenty audits that all hold a false disparity fail in their family and in their headline."""
    world = world_of(finding("disparity", (0.2, 0.3)))
    found = tally(world, 20)
    assert found.families == {"f": [20, 20, 0, 0]}
    assert {f.kind for f in failures(found, world)} == {"disparity", "headline"}


def test_a_secondary_claim_makes_no_false_headline() -> None:
    """What is not primary counts for its family only."""
    world = world_of(
        replace(finding("gap", (0.02, 0.3)), primary=False), finding("inconclusive", (-1.0, 1.0))
    )
    assert {f.kind for f in failures(tally(world, 20), world)} == {"gap"}


def test_the_allowance_is_two_monte_carlo_errors() -> None:
    """Of 2,000 runs 119 may be false, and 120 may not; of coverage 1,859 must hold, and 1,858 are too few."""
    world = world_of()

    def kinds(false: int, covered: int) -> set[str]:
        row = {"claim": [2000, covered]}
        made = Tally(world="", runs=2000, covered=row, families={"f": [2000, 0, false, 0]})
        return {f.kind for f in failures(made, world)}

    assert kinds(119, 1859) == set()
    assert kinds(120, 1858) == {"gap", "coverage"}


def test_a_promise_of_power_is_held() -> None:
    """Where a world promises disparities, too few of them fail."""
    world = replace(world_of(finding("gap", (0.02, 0.3))), power={"disparity": 0.5}, truth=lambda f: 0.2)
    assert [f.kind for f in failures(tally(world, 20), world)] == ["power"]


def test_the_least_covered_of_many_claims_is_allowed_what_chance_makes_of_many() -> None:
    """The same shortfall is one for a single claim, and none as the worst of 64: 3.4 errors are needed there."""
    world = world_of()

    def fails(covered: int, claims: int) -> bool:
        rows = {f"claim {i}": [2000, 1900] for i in range(1, claims)} | {"worst": [2000, covered]}
        return bool(failures(Tally(world="", runs=2000, covered=rows), world))

    assert fails(1858, 1)
    assert not fails(1858, 64)
    assert not fails(1845, 64)
    assert fails(1843, 64)

"""What a difference rests on."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand._errors import UsageError
from evenhand.stats.crossed import difference
from evenhand.stats.influence import carried, influence


def sample(shift: float = 0.0, seed: int = 0):
    rng = np.random.default_rng(seed)
    text, term = np.divmod(np.arange(30 * 40), 40)
    a = term < 20
    score = rng.normal(size=len(text)) * 0.1 + shift * a
    return score, a, {"text": text, "term": term}


@pytest.mark.parametrize("unit", ["text", "term"])
def test_influence_equals_refitting_without_the_unit(unit):
    """Each leave-one-out value from sums is the difference computed on the remaining rows."""
    score, a, units = sample(0.3)
    weight = np.random.default_rng(1).uniform(0.5, 2, len(score))
    found = influence(score, a=a, b=~a, units=units, unit=unit, weight=weight)
    for code, without in zip(found.codes[:7], found.without[:7], strict=True):
        keep = units[unit] != code
        again = difference(score[keep], a=a[keep], b=~a[keep], units={}, over=(), weight=weight[keep])
        assert without == pytest.approx(again.value)


def test_a_lone_name_carries_its_gap_and_a_shared_gap_is_carried_by_none():
    """1 of 40 names against an effect that all names share."""
    score, a, units = sample(0.0)
    lone = carried(score * 0.01 + 0.5 * (units["term"] == 7), a=a, b=~a, units=units, unit="term")
    assert (lone.k, lone.of, lone.codes, lone.fragile) == (1, 40, (7,), True)
    shared, a, units = sample(0.5)
    assert carried(shared, a=a, b=~a, units=units, unit="term").k is None


def test_two_names_are_both_named():
    """Removing either alone leaves more than half; both are returned, the larger first."""
    score, a, units = sample(0.0)
    score = (
        score * 0.01 - 0.6 * (units["term"] == 25) + 0.6 * (units["term"] == 3) + 0.5 * (units["term"] == 4)
    )
    found = carried(score, a=a, b=~a, units=units, unit="term", share=0.7)
    assert set(found.codes) == {3, 25} or found.codes[0] in (3, 25)
    assert found.k == 3 or found.k == 2


def test_no_gap_is_carried_by_nothing():
    """A difference of exactly zero has no carriers."""
    found = carried([1.0, 1, 1, 1], a=[1, 1, 0, 0], b=[0, 0, 1, 1], units={"u": [0, 1, 2, 3]}, unit="u")
    assert found.k is None
    assert not found.fragile


def test_a_unit_that_is_a_whole_group_is_marked_undefined_and_first():
    """Leaving out the only term of a group leaves no difference."""
    found = influence([1.0, 2, 3], a=[1, 0, 0], b=[0, 1, 1], units={"u": [5, 6, 7]}, unit="u")
    assert found.codes[0] == 5
    assert np.isnan(found.without[0])


def test_a_share_outside_the_unit_interval_is_named():
    """share=50 is refused."""
    with pytest.raises(UsageError, match="bad-share"):
        carried([1.0, 2], a=[1, 0], b=[0, 1], units={"u": [0, 1]}, unit="u", share=50)

"""The widest of many gaps is found without looking at every pair, and is the one that looking at every pair finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evenhand._compare import Claim, widest, widest_pair
from evenhand._declared import Declared
from evenhand._labels import grouping
from evenhand._model import Factor
from evenhand.audits.predictions.cells import Cell, all_others, cells_of, everyone, prepare
from evenhand.audits.predictions.claims import label_claims, number_claims
from evenhand.audits.predictions.class_cells import class_cells
from evenhand.audits.predictions.rows import Rows
from evenhand.stats.multiplicity import worst_pair


def by_every_pair(cells: list[Cell], claim: Claim[Any]) -> tuple[float, float, float, float] | None:
    """(value, low, high, p) of the widest gap, by asking for every pair; ratios on the log scale."""
    usable = []
    for i, a in enumerate(cells):
        for b in cells[i + 1 :]:
            found = claim.infer(a, b, 0.95)
            if claim.on_log and found.value and found.low is not None and found.se:
                found = found.with_(value=float(np.log(found.value)))
            elif claim.on_log:
                continue
            if found.value is not None and found.se:
                usable.append(found)
    if not usable:
        return None
    _, worst = worst_pair(usable, len(cells), level=0.95)
    sign = -1.0 if (worst.value or 0.0) * (1 if claim.on_log else -1) > 0 else 1.0
    low, high = sorted((sign * (worst.low or 0.0), sign * (worst.high or 0.0)))
    return sign * (worst.value or 0.0), low, high, worst.p_value or 0.0


def random_cells(seed: int) -> list[Cell]:
    """3 to 12 groups of 1 to 40 people: some constant, some never selected, some the same as another, some weighted."""
    rng = np.random.default_rng(seed)
    codes, scores = [], []
    for g in range(int(rng.integers(3, 13))):
        n = int(rng.integers(1, 40))
        kind = rng.integers(0, 5)
        own = {
            0: rng.normal(rng.normal(), 1, n),
            1: np.full(n, float(rng.integers(0, 3))),
            2: np.full(n, -9.0),
            3: rng.integers(0, 3, n).astype(float),
            4: np.repeat([0.0, 1.0], [n // 2, n - n // 2]),
        }[int(kind)]
        codes += [g] * n
        scores += own.tolist()
    groups = Factor(np.array(codes, dtype=np.int32), tuple(f"g{i}" for i in range(max(codes) + 1)))
    weight = rng.exponential(size=len(scores)) if seed % 3 == 0 else None
    rows = Rows(columns={"y_pred": np.array(scores)}, groups={"g": groups}, weight=weight)
    made = prepare(rows, [0.8, 0.5], cells=len(groups.levels))
    return cells_of(made, grouping("g", groups))


@pytest.mark.parametrize("seed", range(120))
def test_the_widest_gap_is_that_of_every_pair(seed: int) -> None:
    """Value, simultaneous interval and p agree with the loop over all pairs, wherever it finds a pair at all."""
    cells = random_cells(seed)
    rows = Rows(columns={"y_pred": np.arange(4.0)}, groups={"g": Factor(np.zeros(4, dtype=np.int32), ("a",))})
    scale = prepare(rows, [0.8, 0.5]).scale
    claims = [c for c in number_claims(scale, [0.8, 0.5], Declared(), everyone(cells)) if c.widest]
    assert {c.key for c in claims} == {"disparate impact", "average score"}
    found = {
        f.estimate.measure.partition(",")[0]: f.estimate
        for f in widest(cells, claims, Declared(), family="g")
    }
    for claim in claims:
        expected = by_every_pair(cells, claim)
        assert (expected is None) == (claim.name not in found)
        if expected is None:
            continue
        e = found[claim.name]
        told = [e.value, e.low, e.high]
        if claim.on_log:
            told = [float(np.log(v)) for v in (e.value, e.low, e.high) if v is not None]
        # Where several pairs tie for the widest, their errors may differ: the value is the same all the same.
        assert told[0] == pytest.approx(expected[0], rel=1e-9, abs=1e-12)
        if len(set(np.round([c.alone(x)[0] for x in cells for c in [claim] if c.alone], 9))) == len(cells):
            assert told == pytest.approx(list(expected[:3]), rel=1e-9, abs=1e-12)
            assert e.p_value == pytest.approx(expected[3], rel=1e-9)


def test_the_widest_gap_of_labels_is_that_of_every_pair() -> None:
    """A classification's selection rates, one of them 0 and two of them 1."""
    rng = np.random.default_rng(1)
    codes = np.repeat(np.arange(6), 30)
    rate = np.array([0.2, 0.9, 0.0, 1.0, 1.0, 0.5])[codes]
    columns = {"selected": (rng.random(180) < rate).astype(float)}
    factor = Factor(codes.astype(np.int32), tuple("abcdef"))
    cells = class_cells(columns, None, grouping("g", factor))
    claim = label_claims(["sel"], Declared())[0]
    expected = by_every_pair(cells, claim)
    (found,) = widest(cells, [claim], Declared(), family="g")
    assert expected is not None
    assert found.estimate.value is not None
    assert np.log(found.estimate.value) == pytest.approx(expected[0])
    assert found.estimate.p_value == pytest.approx(expected[3])


def test_groups_without_a_gap_have_no_widest() -> None:
    """Nothing varies, or one group alone has a value."""
    nan = float("nan")
    assert widest_pair([(1.0, 0.0), (2.0, 0.0), (3.0, 0.0)]) is None
    assert widest_pair([(1.0, 0.1), (nan, 0.1), (2.0, nan)]) is None
    assert widest_pair([(5.0, 0.0), (2.0, 0.1), (9.0, 0.0), (9.0, 0.0)]) == (1, 2)
    assert widest_pair([(1.0, 0.1)] * 3) == (0, 1)


def test_all_others_are_the_sums_of_the_others() -> None:
    """Every cell's rest is the sum over the other cells, also of two."""
    cells = random_cells(4)
    for n in (2, 3, len(cells)):
        for i, rest in enumerate(all_others(cells[:n])):
            others = [c for j, c in enumerate(cells[:n]) if j != i]
            assert rest.n == sum(c.n for c in others)
            np.testing.assert_allclose(rest.moments.cross, np.sum([c.moments.cross for c in others], axis=0))
            np.testing.assert_allclose(rest.top.sums, np.sum([c.top.sums for c in others], axis=0))

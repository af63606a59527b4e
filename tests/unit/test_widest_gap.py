"""The widest of many gaps is found without looking at every pair, and is the one that looking at every pair finds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand._compare import Claim, widest_of
from evenhand._declared import Declared
from evenhand._labels import grouping
from evenhand._model import Factor
from evenhand.audits.predictions.cells import Cell, all_others, cells_of, everyone, prepare
from evenhand.audits.predictions.claims import number_claims
from evenhand.audits.predictions.rows import Rows


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


def claim_of_means(cells: list[Cell]) -> Claim[Any]:
    """The claim whose widest gap is searched for in linear time."""
    rows = Rows(columns={"y_pred": np.arange(4.0)}, groups={"g": Factor(np.zeros(4, dtype=np.int32), ("a",))})
    claims = number_claims(prepare(rows, [0.8, 0.5]).scale, [0.8, 0.5], Declared(), everyone(cells))
    return next(c for c in claims if c.key == "average score" and c.given is None)


@pytest.mark.parametrize("seed", range(60))
def test_the_widest_gap_is_that_of_every_pair(seed: int) -> None:
    """Value, pair and both intervals are those that looking at every pair gives."""
    cells = [c for c in random_cells(seed) if c.n > 1]
    claim = claim_of_means(cells)
    fast = widest_of(cells, claim, level=0.95)
    slow = widest_of(cells, replace(claim, alone=None), level=0.95)
    assert len(fast) == len(slow)
    for one, two in zip(fast, slow, strict=True):
        if one.interval is None or two.interval is None:
            assert one.interval is two.interval
            continue
        assert one.interval(0.95) == pytest.approx(two.interval(0.95), rel=1e-9, abs=1e-12)
        assert one.estimate.value == pytest.approx(two.estimate.value, rel=1e-9, abs=1e-12)


def test_the_widest_gap_of_labels_has_no_upper_end_inside_while_a_group_has_none() -> None:
    """A group of one forbids `within tolerance`, and is named; a group of nobody selected is the smallest ratio."""
    rng = np.random.default_rng(1)
    rows = {"p": rng.normal(size=401), "g": ["a"] * 200 + ["b"] * 200 + ["c"]}
    result = eh.audit_predictions(
        rows, y_pred="p", groups="g", reference="a", measures=["standardised mean difference"]
    )
    (primary,) = result.primary
    assert primary.verdict == "inconclusive"
    assert "g=c" in primary.because


def test_all_others_are_the_sums_of_the_others() -> None:
    """Every cell's rest is the sum over the other cells, also of two."""
    cells = random_cells(4)
    for n in (2, 3, len(cells)):
        for i, rest in enumerate(all_others(cells[:n])):
            others = [c for j, c in enumerate(cells[:n]) if j != i]
            assert rest.n == sum(c.n for c in others)
            np.testing.assert_allclose(rest.moments.cross, np.sum([c.moments.cross for c in others], axis=0))
            np.testing.assert_allclose(rest.top.sums, np.sum([c.top.sums for c in others], axis=0))

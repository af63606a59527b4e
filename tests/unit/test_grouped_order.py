"""One sort for several groups: values with their codes, scores on the shared grid, sums by part, placements."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand import Factor
from evenhand._labels import Label, grouping
from evenhand.audits.predictions.cells import cells_of, everyone, prepare
from evenhand.audits.predictions.rows import Rows
from evenhand.measures.regression import selected_term
from evenhand.stats import auc as by_rows
from evenhand.stats import histogram
from evenhand.stats import moments as sums
from evenhand.stats.curves import _resampled
from evenhand.stats.grouped_order import distinct, in_order, scores_of
from evenhand.stats.histogram import Scores, ordered_quantile, weighted_quantile
from evenhand.stats.moments import Moments, moments, moments_by_part, with_indicators

Draw = Callable[[np.random.Generator, int], np.ndarray]
DRAWS: dict[str, Draw] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "probabilities": lambda rng, n: rng.random(n),
    "far from zero": lambda rng, n: rng.normal(700, 50, n),
    "tied": lambda rng, n: rng.normal(size=n).round(1),
    "zeros of both signs": lambda rng, n: rng.choice([-0.0, 0.0, 1.0], n),
    "neighbouring doubles": lambda rng, n: np.nextafter(0.3, rng.choice([0.0, 0.3, 1.0], n)),
    "all magnitudes": lambda rng, n: rng.choice([-1.0, 1.0], n) * 10.0 ** rng.uniform(-320, 308, n),
    "tiny beside one": lambda rng, n: rng.choice([5e-324, -5e-324, 1e-200, 0.0, 1.0], n),
    "constant": lambda rng, n: np.full(n, 2.5),
    "largest": lambda rng, n: rng.choice([-1.7976931348623157e308, 1.7976931348623157e308], n),
}


@pytest.mark.parametrize("shape", DRAWS)
@pytest.mark.parametrize("groups", [1, 2, 3, 40, 300, 70_000])
@pytest.mark.parametrize("n", [1, 2, 500])
def test_values_keep_their_groups_through_the_sort(shape: str, groups: int, n: int) -> None:
    """To the last bit of every value, whatever the magnitudes and however many groups."""
    rng = np.random.default_rng(groups + n)
    x, codes = DRAWS[shape](rng, n), rng.integers(0, groups, n).astype(np.int32)
    found = in_order(x, codes, groups)
    order = np.lexsort((codes, x))
    assert np.array_equal(found.values, x[order])
    inside = np.lexsort((found.codes, found.values))  # the order among equal values is free
    assert np.array_equal(found.codes[inside], codes[order])
    assert distinct(found.values) == len(np.unique(x))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", ["normal", "tied", "constant"])
def test_scores_on_the_grid_are_counts_of_equal_values(shape: str, weighted: bool) -> None:
    """The distinct values, and at each the weight of each group's rows."""
    rng = np.random.default_rng(3)
    x, codes = DRAWS[shape](rng, 400), rng.integers(0, 3, 400)
    w = rng.uniform(0, 2, 400) * (rng.random(400) > 0.1) if weighted else None
    grid, place = np.unique(x, return_inverse=True)
    for code, own in enumerate(scores_of(in_order(x, codes, 3, w), 3)):
        mine = codes == code
        assert np.array_equal(own.values, grid)
        for power, weights in ((1, own.weight), (2, own.weight2)):
            at = None if w is None else w[mine] ** power
            assert weights == pytest.approx(np.bincount(place[mine], at, len(grid)), abs=1e-12)
        assert own.n == (mine.sum() if w is None else (w[mine] > 0).sum())
        assert own.total == pytest.approx(mine.sum() if w is None else w[mine].sum())


def same(a: Moments, b: Moments) -> None:
    assert (a.names, a.n) == (b.names, b.n)
    for name in ("weight", "weight2", "sums", "sums2", "cross"):
        scale = 1 + float(np.max(np.abs(getattr(b, name)), initial=0.0))
        assert getattr(a, name) == pytest.approx(getattr(b, name), abs=1e-12 * scale), name


def plainly(terms: np.ndarray, names: list[str], w: np.ndarray) -> Moments:
    """The definition."""
    return Moments(
        names=tuple(names),
        n=int((w > 0).sum()),
        weight=float(w.sum()),
        weight2=float((w**2).sum()),
        sums=(terms * w).sum(axis=1),
        sums2=(terms * w**2).sum(axis=1),
        cross=np.einsum("in,jn,n->ij", terms, terms, w**2),
    )


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 400), st.integers(1, 9), st.integers(1, 5), st.booleans())
def test_sums_by_part_are_the_sums_of_each_part(
    seed: int, n: int, parts: int, k: int, weighted: bool
) -> None:
    """Over several blocks, with parts that are empty and rows in none."""
    rng = np.random.default_rng(seed)
    terms, part = rng.normal(size=(k, n)), rng.integers(-1, parts, n)
    w = rng.uniform(0, 3, n) * (rng.random(n) > 0.2) if weighted else None
    names = [f"t{i}" for i in range(k)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sums, "BLOCK", 64)
        patched.setattr(sums, "FEWEST", 1)
        found = moments_by_part(
            lambda rows, out: np.copyto(out, terms[:, rows]), names, part, parts, w
        )  # fmt: skip
    for code, m in enumerate(found):
        mine = part == code
        same(m, plainly(terms[:, mine], names, np.ones(mine.sum()) if w is None else w[mine]))


def test_indicators_of_parts_are_terms_of_zeros_and_ones() -> None:
    """As if they had been summed row by row."""
    rng = np.random.default_rng(1)
    terms, part, w = rng.normal(size=(2, 90)), rng.integers(0, 3, 90), rng.uniform(0, 2, 90)
    parts = [moments(terms[:, part == i], ["a", "b"], w[part == i]) for i in range(3)]
    found = with_indicators(parts, {"late": [False, True, True], "last": [False, False, True]})
    rows = np.concatenate([terms, [(part >= 1).astype(float), (part == 2).astype(float)]])
    same(found, plainly(rows, ["a", "b", "late", "last"], w))


@pytest.mark.parametrize("shape", ["normal", "tied", "constant"])
@pytest.mark.parametrize(("n", "m"), [(1, 1), (2, 3), (300, 40)])
@pytest.mark.parametrize("kind", ["rows", "counts", "weights", "among others"])
def test_the_area_equals_that_of_the_published_form(
    shape: str, n: int, m: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Masks of rows, counts and weights, over several blocks, beside a third group."""
    monkeypatch.setattr(histogram, "BLOCK", 16)
    rng = np.random.default_rng(n)
    x, codes = DRAWS[shape](rng, n + m + 50), np.repeat([0, 1, 2], [n, m, 50])
    w = rng.uniform(0.5, 2, len(x)) if kind == "weights" else None
    used = slice(None) if kind == "among others" else slice(0, n + m)
    a, b = scores_of(in_order(x[used], codes[used], 3, None if w is None else w[used]), 2)
    if kind == "counts":
        a, b = (Scores(values=s.values, weight=s.weight, weight2=s.weight, n=s.n) for s in (a, b))
    sides = {} if w is None else {"weight_positive": w[:n], "weight_negative": w[n : n + m]}
    mine, theirs = histogram.auc(a, b), by_rows.auc(x[:n], x[n : n + m], **sides)
    assert mine.value == pytest.approx(theirs.value, abs=1e-12)
    assert mine.se is None if theirs.se is None else mine.se == pytest.approx(theirs.se, rel=1e-9)
    if shape != "constant":
        assert mine.low is None if theirs.low is None else mine.low == pytest.approx(theirs.low, rel=1e-9)


def test_the_area_of_another_pair_is_another_area() -> None:
    """What is remembered of a pair is not given for the next one, in whichever order they come."""
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.normal(i, 1, 40) for i in range(3)])
    a, b, c = scores_of(in_order(x, np.repeat([0, 1, 2], 40), 3), 3)
    found = [histogram.auc(*pair).value for pair in ((a, b), (a, c), (a, b), (b, a), (b, c))]
    truth = [
        by_rows.auc(x[i * 40 :][:40], x[j * 40 :][:40]).value
        for i, j in ((0, 1), (0, 2), (0, 1), (1, 0), (1, 2))
    ]
    assert found == pytest.approx(truth, abs=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", ["normal", "tied"])
def test_resampled_shares_scatter_around_the_share_above_each_threshold(shape: str, weighted: bool) -> None:
    """A score that equals a threshold is not above it."""
    rng = np.random.default_rng(4)
    x, codes = DRAWS[shape](rng, 600), rng.integers(0, 2, 600)
    w = rng.uniform(0.5, 2, 600) if weighted else None
    side = scores_of(in_order(x, codes, 2, w), 2)[0]
    thresholds = np.unique(np.sort(x)[[100, 300, 500]])
    mine = codes == 0
    truth = [np.average(x[mine] > t, weights=None if w is None else w[mine]) for t in thresholds]
    assert side.share_above(thresholds) == pytest.approx(truth, abs=1e-12)
    drawn = _resampled(side, thresholds, 4000, rng)
    assert drawn.mean(axis=0) == pytest.approx(truth, abs=5 * 0.5 / np.sqrt(300 * 4000) + 1e-3)
    ones = np.ones(mine.sum()) if w is None else w[mine]
    apart = (x[mine][:, None] > thresholds) - np.array(truth)
    error = np.sqrt(ones**2 @ apart**2) / ones.sum()
    assert drawn.std(axis=0) == pytest.approx(error, rel=0.08)


def test_the_drawn_distribution_is_the_histogram_of_each_group() -> None:
    """Shares of each group in equal bins from the lowest to the highest prediction, ends included."""
    rng = np.random.default_rng(6)
    rows = {"p": rng.normal(size=500).round(2), "g": rng.choice(["a", "b"], 500)}
    exhibits = eh.audit_predictions(rows, y_pred="p", groups="g").exhibits
    drawn = list(exhibits["score distributions by g"].rows())
    for name in ("a", "b"):
        own = [r for r in drawn if r["group"] == f"g={name}"]
        edges = [float(r["low"]) for r in own] + [float(own[-1]["high"])]  # type: ignore[arg-type]
        assert (edges[0], edges[-1]) == (rows["p"].min(), rows["p"].max())
        mine = rows["p"][rows["g"] == name]
        assert [r["share"] for r in own] == pytest.approx(np.histogram(mine, edges)[0] / len(mine), abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 200))
def test_quantiles_of_ordered_values_are_those_of_numpy_to_the_last_bit(seed: int, n: int) -> None:
    """A threshold decides who is above it, so a rounding error would move people."""
    rng = np.random.default_rng(seed)
    x, q = np.sort(rng.normal(size=n).round(2)), rng.random(7)
    assert np.array_equal(ordered_quantile(x, q), np.quantile(x, q))
    w = rng.integers(1, 4, n).astype(float)
    assert np.array_equal(ordered_quantile(x, q, w), weighted_quantile(x, q, w))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bins", [False, True])
def test_cells_are_the_sums_of_their_rows(
    weighted: bool, bins: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Terms, selections and the top, for each level, within a stratum and for rows without a level."""
    if bins:
        monkeypatch.setattr("evenhand.audits.predictions.cells.MOST_GRID", 10)
    rng = np.random.default_rng(8)
    n = 600
    y = rng.normal(size=n)
    p = (y + rng.normal(size=n)).round(1)
    groups = Factor(rng.integers(-1, 3, n).astype(np.int32), ("a", "b", "nobody", "c"))
    groups = Factor(np.where(groups.codes == 2, 3, groups.codes), groups.levels)
    w = rng.integers(0, 3, n).astype(float) if weighted else None
    within = rng.random(n) < 0.5
    made = prepare(Rows(columns={"y_pred": p, "y_true": y}, groups={"g": groups}, weight=w), [0.9, 0.5])
    ones = np.ones(n) if w is None else w
    names = list(made.scale.terms)
    assert np.array_equal(made.terms[names.index(selected_term(0.5))], p > made.scale.thresholds[0.5])
    for stratum, rest in ((None, Label.named("no group")), (None, None), (within, None)):
        cells = cells_of(made, grouping("g", groups), stratum, rest=rest)
        assert [str(c.label) for c in cells] == ["g=a", "g=b", "g=c"] + ["no group"] * (rest is not None)
        for c, code in zip(cells, (0, 1, 3, -1), strict=False):
            mine = (groups.codes == code) & (True if stratum is None else stratum)
            same(c.moments, plainly(made.terms[:, mine], names, ones[mine]))
            top = mine & made.in_top
            same(c.top, plainly(made.terms[:, top], names, ones[top]))
            assert c.scores.total == pytest.approx(ones[mine].sum())
            mean = float(c.scores.weight @ c.scores.values) / c.scores.total
            assert mean == pytest.approx(np.average(p[mine], weights=ones[mine]), abs=2e-4 if bins else 1e-12)
    whole = everyone(cells_of(made, grouping("g", groups), rest=Label.named("no group")))
    same(whole.moments, plainly(made.terms, names, ones))
    assert whole.scores.total == pytest.approx(ones.sum())

"""Differences over crossed and nested samples: closed forms, degenerate designs, bad input."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand._errors import UsageError
from evenhand.stats.crossed import cluster_variance, difference


def grid(texts: int, terms_a: int, terms_b: int, seed: int = 0, effects: float = 1.0):
    """A complete texts × terms grid in long format: score, units, mask of group a."""
    rng = np.random.default_rng(seed)
    k = terms_a + terms_b
    wide = rng.normal(size=(texts, k)) + effects * rng.normal(size=k) + rng.normal(size=(texts, 1))
    text, term = np.divmod(np.arange(texts * k), k)
    return wide, wide.ravel(), {"text": text, "term": term}, term < terms_a


def test_a_balanced_grid_gives_the_quasi_f_mean_squares():
    """On a complete grid the variance is 2(MS_term + MS_text×group − MS_e)/(KT) with Satterthwaite's df."""
    texts, k = 12, 7
    wide, score, units, a = grid(texts, k, k, effects=0.7)
    found = difference(score, a=a, b=~a, units=units)
    ms_term = ms_cell = 0.0
    for block in (wide[:, :k], wide[:, k:]):
        term, text = block.mean(axis=0), block.mean(axis=1)
        ms_term += texts * np.sum((term - block.mean()) ** 2) / (2 * (k - 1))
        ms_cell += np.sum((block - term - text[:, None] + block.mean()) ** 2) / (2 * (k - 1) * (texts - 1))
    d = wide[:, :k].mean(axis=1) - wide[:, k:].mean(axis=1)
    ms_text = k * np.var(d, ddof=1) / 2
    variance = 2 * (ms_term + ms_text - ms_cell) / (k * texts)
    assert found.se**2 == pytest.approx(variance, rel=1e-9)
    # Components of df: each group's term and cell mean squares count apart (they need not have equal variances).
    assert found.value == pytest.approx(d.mean())
    assert min(k, texts) - 1 <= found.df <= 2 * (k - 1) + (texts - 1) + 2 * (k - 1) * (texts - 1)


def test_one_name_that_shifts_all_its_scores_is_not_a_group_effect():
    """The trap: over texts the gap is overwhelming, over names t = 1 and p = 0.33."""
    rng = np.random.default_rng(1)
    text, term = np.divmod(np.arange(216 * 40), 40)
    score = rng.choice([-0.5, 0.0, 0.4], 216)[text] + 0.6 * (term == 3)
    a = term < 20
    units = {"text": text, "term": term}
    by_text = difference(score + 1e-4 * rng.normal(size=len(score)), a=a, b=~a, units=units, over=("text",))
    both = difference(score, a=a, b=~a, units=units)
    names = difference(score, a=a, b=~a, units=units, over=("term",))
    assert by_text.statistic > 100
    assert both.statistic == pytest.approx(1.0)
    assert names.statistic == pytest.approx(1.0)
    assert both.p_value == pytest.approx(0.33, abs=0.005)
    assert both.df == pytest.approx(19)


def test_nesting_is_read_off_the_codes():
    """Terms that occur in one group only are nested, texts that occur in both are crossed."""
    _, score, units, a = grid(6, 3, 4)
    found = difference(score, a=a, b=~a, units=units)
    assert found.detail["design"] == {"text": "crossed", "term": "nested"}
    assert found.detail["units"] == {"text": 6, "term": 7}


def test_the_order_of_rows_and_the_numbering_of_units_do_not_matter():
    """Shuffled rows with units renumbered sparsely give the same inference."""
    _, score, units, a = grid(9, 4, 5)
    order = np.random.default_rng(3).permutation(len(score))
    far = {name: codes[order].astype(np.int64) * 10_000_019 + 7 for name, codes in units.items()}
    before = difference(score, a=a, b=~a, units=units)
    after = difference(score[order], a=a[order], b=~a[order], units=far)
    assert after.se == pytest.approx(before.se)
    assert after.df == pytest.approx(before.df)


def test_swapping_the_groups_mirrors_the_interval():
    """a − b and b − a have opposite values, mirrored bounds and one p-value."""
    _, score, units, a = grid(9, 4, 5)
    one = difference(score, a=a, b=~a, units=units)
    two = difference(score, a=~a, b=a, units=units)
    assert (one.value, one.low, one.high) == pytest.approx((-two.value, -two.high, -two.low))
    assert one.p_value == pytest.approx(two.p_value)


def test_integer_weights_equal_repeated_rows_when_units_are_sampled():
    """A weight of 3 is the same as three copies of the row where inference is over units."""
    _, score, units, a = grid(8, 4, 4)
    weight = np.random.default_rng(5).integers(1, 4, len(score))
    again = np.repeat(np.arange(len(score)), weight)
    one = difference(score, a=a, b=~a, units=units, weight=weight)
    two = difference(score[again], a=a[again], b=~a[again], units={k: v[again] for k, v in units.items()})
    assert one.value == pytest.approx(two.value)
    assert one.se == pytest.approx(two.se)
    assert one.df == pytest.approx(two.df)


def test_rows_without_a_score_or_a_unit_are_dropped_and_counted():
    """NaN, infinite and unit −1 rows leave; the count says how many."""
    _, score, units, a = grid(8, 4, 4)
    broken = score.copy()
    broken[[0, 9]] = np.nan, np.inf
    units["term"] = np.where(np.arange(len(score)) == 20, -1, units["term"])
    found = difference(broken, a=a, b=~a, units=units)
    assert found.detail["dropped"] == 3
    assert found.p_value is not None


@pytest.mark.parametrize("over", [(), ("term",), ("text",), ("text", "term")])
def test_a_constant_subject_has_a_gap_of_zero_and_a_reason_instead_of_an_interval(over):
    """Zero variance is said in words, with the exact value; no NaN, no p of 0 or 1."""
    _, score, units, a = grid(5, 3, 3)
    found = difference(np.full_like(score, 0.1), a=a, b=~a, units=units, over=over)
    assert found.value == pytest.approx(0.0, abs=1e-15)
    assert found.p_value is None
    assert found.low is None
    assert "no variation" in found.why_not


def test_a_group_with_one_term_cannot_be_generalised_over_terms():
    """One term in a group: the value stays, and why_not says what is missing."""
    _, score, units, a = grid(5, 1, 3)
    found = difference(score, a=a, b=~a, units=units)
    assert found.value is not None
    assert found.low is None
    assert "one term" in found.why_not
    assert difference(score, a=a, b=~a, units=units, over=("text",)).p_value is not None


def test_one_text_cannot_be_generalised_over_texts():
    """A single text supports inference over terms only."""
    _, score, units, a = grid(1, 5, 5)
    assert "one text" in difference(score, a=a, b=~a, units=units).why_not
    assert difference(score, a=a, b=~a, units=units, over=("term",)).p_value is not None


def test_an_empty_group_has_no_value():
    """No rows in a group: neither value nor interval, and a reason."""
    _, score, units, a = grid(5, 3, 3)
    found = difference(score, a=np.zeros_like(a), b=~a, units=units)
    assert found.value is None
    assert "no score" in found.why_not


@pytest.mark.parametrize(
    ("slug", "change"),
    [
        ("unknown-unit", {"over": ("nme",)}),
        ("groups-overlap", {"b": np.ones(30, dtype=bool)}),
        ("unequal-lengths", {"a": np.ones(3, dtype=bool)}),
        ("bad-weight", {"weight": np.full(30, -1.0)}),
        ("bad-level", {"level": 95}),
        ("bad-alternative", {"alternative": "both"}),
    ],
)
def test_bad_arguments_are_named(slug, change):
    """Each kind of unusable argument raises its own slug."""
    _, score, units, a = grid(5, 3, 3)
    with pytest.raises(UsageError) as caught:
        difference(score, **({"a": a, "b": ~a, "units": units} | change))
    assert caught.value.slug == slug


def test_clusters_of_one_row_give_the_ordinary_variance_of_a_mean():
    """With influence (x − x̄)/n and each row its own cluster, V is s²/n."""
    x = np.random.default_rng(2).normal(size=50)
    part = cluster_variance((x - x.mean()) / 50, np.arange(50))
    assert part.variance == pytest.approx(x.var(ddof=1) / 50)
    assert part.df == 49


def test_two_way_clusters_never_give_less_than_one_way():
    """The positive fallback keeps V at or above each one-way variance."""
    rng = np.random.default_rng(4)
    psi = rng.normal(size=60)
    psi -= psi.mean()
    one, two = rng.integers(0, 6, 60), rng.integers(0, 9, 60)
    both = cluster_variance(psi, one, two).variance
    assert both >= cluster_variance(psi, one).variance
    assert both >= cluster_variance(psi, two).variance

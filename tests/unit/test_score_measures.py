"""Text measures: definitions by brute force, missing cells, bad shapes, and the table of names."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from evenhand._errors import UsageError
from evenhand.measures import MEASURES, identity_auc, measure, scores


@pytest.fixture
def wide() -> np.ndarray:
    x = np.random.default_rng(0).random((12, 5))
    x[3, 2] = x[7, :4] = np.nan
    return x


def test_every_name_in_the_table_leads_to_a_documented_measure():
    """Names are imported on demand and carry a docstring or a reference."""
    for name in MEASURES:
        found = measure(name)
        assert (
            getattr(found, "reference", None) or "Source" in found.__doc__ or "description" in found.__doc__
        )


def test_an_unknown_measure_is_named_with_its_neighbour():
    """A typo gets a suggestion."""
    with pytest.raises(UsageError, match="score range"):
        measure("score rnage")


def test_deviation_and_range_skip_texts_with_one_score(wide):
    """Text 7 has one cell left: it is in neither mean."""
    rows = [r[np.isfinite(r)] for i, r in enumerate(wide) if i != 7]
    assert scores.score_deviation(wide).value == pytest.approx(np.mean([r.std() for r in rows]))
    assert scores.score_range(wide).value == pytest.approx(np.mean([np.ptp(r) for r in rows]))
    assert scores.score_range(wide).detail["texts"] == 11


def test_the_counterfactual_gap_from_sorted_values_is_the_mean_over_pairs(wide):
    """Without forming pairs: the same number."""
    per_text = [
        np.mean([abs(a - b) for a, b in combinations(r[np.isfinite(r)], 2)])
        for i, r in enumerate(wide)
        if i != 7
    ]
    assert scores.counterfactual_token_gap(wide).value == pytest.approx(np.mean(per_text))


def test_the_counterfactual_gap_of_chosen_texts_uses_their_base_scores(wide):
    """`where` selects texts and their base scores together."""
    base, where = np.linspace(0, 1, 12), np.arange(12) < 3
    expected = np.mean(np.abs(wide[:3] - base[:3, None]), axis=1).mean()
    assert scores.counterfactual_token_gap(wide, base, where=where).value == pytest.approx(expected)


def test_a_measure_without_any_usable_text_says_so():
    """All missing: why_not, no number."""
    found = scores.score_range(np.full((3, 2), np.nan))
    assert found.value is None
    assert "no text" in found.why_not


def test_a_constant_subject_has_zero_spread_and_no_p_value():
    """Spread 0, no interval invented."""
    found = scores.score_deviation(np.full((4, 3), 0.25))
    assert found.value == pytest.approx(0.0)
    assert found.p_value is None


def test_shapes_that_do_not_fit_are_named():
    """A vector for a matrix, a base of another length."""
    with pytest.raises(UsageError, match="bad-shape"):
        scores.score_range([1.0, 2.0])
    with pytest.raises(UsageError, match="unequal-lengths"):
        scores.score_sensitivity([[1.0, 2.0]], [1.0, 2.0])


def test_wasserstein_is_scipys_on_samples_of_unequal_size():
    """Ties and unequal sizes included."""
    from scipy.stats import wasserstein_distance

    rng = np.random.default_rng(1)
    x, y = np.round(rng.normal(size=40), 1), np.round(rng.normal(0.5, 2, 17), 1)
    assert scores.wasserstein(x, y) == pytest.approx(wasserstein_distance(x, y))


def test_groups_with_identical_scores_are_fair():
    """Individual and group fairness are 0 where the groups' scores agree."""
    x = np.tile(np.random.default_rng(2).random((6, 2)), (1, 3))
    groups = [0, 0, 1, 1, 2, 2]
    assert scores.individual_fairness(x, groups).value == pytest.approx(0)
    assert max(scores.group_fairness(x, groups).values()) == pytest.approx(0)


def test_label_distance_counts_each_term():
    """A term that flips every positive label has distance 1, an unchanged one 0, two empty sets 0."""
    found = scores.label_distance([[1, 0], [0, 0]], [1, 0])
    assert found.detail["terms"] == [0.0, 1.0]
    assert scores.label_distance([[0], [0]], [0, 0]).value == 0.0


def test_a_label_change_without_a_probability_move_is_no_invariance_failure():
    """0.50 to 0.49 flips the label but not the case; the order of rows of other cases does not matter."""
    p = [[0.5, 0.5], [0.9, 0.1], [0.49, 0.51], [0.2, 0.8]]
    assert scores.invariance_failures([0, 0, 1, 1], p, [5, 2, 5, 2]).tolist() == [True, False]


def test_a_subject_that_ignores_the_subgroup_has_no_equality_gap():
    """AEG's interval contains 0 and the subgroup AUC's contains the overall AUC."""
    rng = np.random.default_rng(3)
    y, g = rng.random(2000) < 0.5, rng.random(2000) < 0.3
    x = rng.normal(y)
    for gap in (identity_auc.positive_aeg(x, y, g), identity_auc.negative_aeg(x, y, g)):
        assert gap.low < 0 < gap.high
    assert identity_auc.subgroup_auc(x, y, g).low < 0.76 < identity_auc.subgroup_auc(x, y, g).high


def test_a_subgroup_without_positives_has_no_subgroup_auc():
    """An empty class is a reason, not a 0.5."""
    found = identity_auc.subgroup_auc([0.1, 0.2, 0.3], [0, 0, 1], [1, 1, 0])
    assert found.value is None
    assert found.why_not

"""Many logistic regressions at once against scikit-learn, one by one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from evenhand.measures.leakage import cross_fitted, taught
from evenhand.stats import logistic
from evenhand.stats.logistic import balanced_logistic

linear = pytest.importorskip("sklearn.linear_model", reason="scikit-learn is not installed")


def words(n: int, p: int, seed: int) -> sparse.csr_matrix:
    """Word counts by Zipf's law: the first in nearly every row, the last in hardly any; one word never, one always."""
    rng = np.random.default_rng(seed)
    rate = np.minimum(0.9, 3.0 / np.arange(1, p + 1))
    made = (rng.random((n, p)) < rate).astype(float)
    made[:, 1], made[:, 2] = 1.0, 0.0
    return sparse.csr_matrix(made)


def peer(features: sparse.csr_matrix, labels: np.ndarray, used: np.ndarray) -> np.ndarray:
    """(p + 1,) coefficients and intercept by scikit-learn, converged far beyond its default."""
    model = linear.LogisticRegression(solver="newton-cg", tol=1e-10, max_iter=5_000, class_weight="balanced")
    model.fit(features[used], labels[used])
    return np.append(model.coef_[0], model.intercept_[0])


@pytest.mark.parametrize("widest", [3_000, 0])
@pytest.mark.parametrize("leak", [0.0, 2.0, 12.0])
def test_each_is_scikit_learns_whatever_stands_beside_it(
    monkeypatch: pytest.MonkeyPatch, widest: int, leak: float
) -> None:
    """Other labels, rows and shares of a class in every column; with features that tell nothing, much, nearly all."""
    monkeypatch.setattr(logistic, "WIDEST", widest)
    monkeypatch.setattr(logistic, "TOLERANCE", 1e-9)
    features, rng = words(400, 40, 1), np.random.default_rng(2)
    line = leak * (features[:, 0].toarray().ravel() - features[:, 3].toarray().ravel())
    share = np.array([-2.0, 0.0, 0.5, 2.0])
    labels = rng.random((400, 4)) < 1 / (1 + np.exp(-(line[:, None] + share)))
    used = rng.random((400, 4)) < np.array([0.5, 0.8, 0.9, 1.0])
    monkeypatch.setattr(logistic, "CELLS", 800)  # two columns at a time
    weights, constant = balanced_logistic(features, labels, used)
    for k in range(4):
        np.testing.assert_allclose(np.append(weights[:, k], constant[k]), peer(features, labels[:, k], used[:, k]), atol=2e-5)  # fmt: skip
    dense, _ = balanced_logistic(features.toarray(), labels, used)
    np.testing.assert_allclose(dense, weights, atol=1e-8)


def test_at_its_own_tolerance_probabilities_agree_to_a_hundredth() -> None:
    """And are nearer to the optimum than scikit-learn's at its default."""
    features, rng = words(3_000, 300, 3), np.random.default_rng(4)
    labels = rng.random((3_000, 1)) < 0.3
    used = np.ones_like(labels)
    best = peer(features, labels[:, 0], used[:, 0])
    weights, constant = balanced_logistic(features, labels, used)
    plain = linear.LogisticRegression(solver="newton-cg", class_weight="balanced").fit(features, labels[:, 0])

    def chance(w: np.ndarray, b: float) -> np.ndarray:
        return 1 / (1 + np.exp(-(features @ w + b)))

    told = chance(best[:-1], best[-1])
    ours = np.abs(chance(weights[:, 0], constant[0]) - told).max()
    assert ours < 0.01
    assert ours <= np.abs(plain.predict_proba(features)[:, 1] - told).max() + 1e-4


def test_attackers_of_several_labels_guess_as_each_alone() -> None:
    """Folds, units and seeds are each one's own; the same through training images."""
    features, rng = words(200, 30, 5), np.random.default_rng(6)
    groups = (rng.random((3, 200)) < 0.4).astype(np.int64)
    units = np.arange(200) // 2
    together = cross_fitted(features, groups, units=units, seed=3)
    assert together.shape == (3, 200, 2)
    for one, true in zip(together, groups, strict=True):
        np.testing.assert_allclose(one, cross_fitted(features, true, units=units, seed=3), atol=2e-3)
    np.testing.assert_allclose(together.sum(axis=2), 1.0)
    taught_all = taught(features, groups, features[:50])
    for one, true in zip(taught_all, groups, strict=True):
        np.testing.assert_allclose(one, taught(features, true, features[:50]), atol=2e-3)


def test_no_row_is_guessed_by_an_attacker_that_saw_it() -> None:
    """Rows that only their own label could tell (each has a word of its own) are guessed at random."""
    groups = np.arange(300) % 2
    found = cross_fitted(sparse.identity(300, format="csr"), groups)
    np.testing.assert_allclose(found, 0.5, atol=0.01)
    seen = taught(sparse.identity(300, format="csr"), groups, sparse.identity(300, format="csr"))
    assert (seen.argmax(axis=1) == groups).all()


def test_three_groups_are_left_to_scikit_learn() -> None:
    """Its softmax, with the same folds."""
    groups = np.arange(150) % 3
    found = cross_fitted(sparse.csr_matrix(np.eye(3)[groups]), groups)
    assert found.shape == (150, 3)
    assert (found.argmax(axis=1) == groups).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


def test_nothing_to_learn_from_is_chance() -> None:
    """Empty captions, or one word that all have: one half for everybody."""
    groups = (np.arange(60) % 3 == 0).astype(np.int64)
    for features in (sparse.csr_matrix((60, 4)), sparse.csr_matrix(np.ones((60, 1)))):
        np.testing.assert_allclose(cross_fitted(features, groups), 0.5, atol=1e-3)


def test_a_step_that_goes_too_far_is_taken_back() -> None:
    """Numbers of very unlike size and one case of a class: Newton's own steps run away from the optimum."""
    features = np.array([
        [0.8813, 68.11], [33.24, -2.088], [0.03242, -0.01469], [35.01, 21.65], [0.4119, 0.9106], [0.03197, -4.442],
        [0.0003607, -18380.0], [-10.88, -3.916], [-34.13, 0.1967], [1.596, -6.233], [2.082, 1.139], [0.03304, 39.31],
        [0.7024, -0.02463], [2.337, -1.849], [-0.6811, 0.4398], [-0.04384, -2.598], [0.05257, 117.1], [8.26, 1.298],
        [19.72, 1.228],
    ])  # fmt: skip
    labels = (np.arange(19) == 3)[:, None]
    weights, constant = balanced_logistic(features, labels, np.ones_like(labels))
    best = peer(sparse.csr_matrix(features), labels[:, 0], np.ones(19, dtype=np.bool_))
    np.testing.assert_allclose(np.append(weights, constant), best, rtol=0.01)

"""The clustered AUC against Obuchowski's formula written out pair by pair, the jackknife over clusters, and DeLong."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.stats.auc import auc, placements
from evenhand.stats.clustered_auc import clustered_auc, obuchowski


def patients(seed: int, clusters: int = 30, most: int = 6) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(score, diseased, patient): vessels of patients, of whom each has none to `most`; scores on a scale of five."""
    rng = np.random.default_rng(seed)
    patient = np.repeat(np.arange(clusters), rng.integers(1, most + 1, clusters))
    diseased = rng.random(len(patient)) < 0.4
    latent = rng.normal(size=clusters)[patient] + rng.normal(size=len(patient)) + diseased
    return np.clip(np.round(latent + 2), 0, 4), diseased, patient


def by_pairs(score: np.ndarray, diseased: np.ndarray, patient: np.ndarray) -> tuple[float, float]:
    """AUC and variance after Obuchowski (1997), section 2, by loops over patients, S10, S01 and S11 in her scaling."""
    x, y = score[diseased], score[~diseased]
    below = (x[:, None] > y[None, :]) + 0.5 * (x[:, None] == y[None, :])
    area, m, n = below.mean(), len(x), len(y)
    s10 = s01 = s11 = 0.0
    for i in np.unique(patient):
        up = below[patient[diseased] == i].mean(axis=1).sum() - (patient[diseased] == i).sum() * area
        down = below[:, patient[~diseased] == i].mean(axis=0).sum() - (patient[~diseased] == i).sum() * area
        s10, s01, s11 = s10 + up**2, s01 + down**2, s11 + up * down
    i10, i01 = len(set(patient[diseased])), len(set(patient[~diseased]))
    total = len(set(patient))
    s10, s01, s11 = s10 * i10 / (i10 - 1) / m, s01 * i01 / (i01 - 1) / n, s11 * total / (total - 1)
    return area, s10 / m + s01 / n + 2 * s11 / (m * n)


@pytest.mark.parametrize("seed", range(8))
def test_it_is_obuchowski_s_formula(seed: int) -> None:
    """Patients of one to six vessels, scores with ties."""
    score, diseased, patient = patients(seed)
    area, variance = by_pairs(score, diseased, patient)
    found = clustered_auc(score, positive=diseased, negative=~diseased, units={"patient": patient})
    assert found.value == pytest.approx(area, abs=1e-12)
    assert found.se == pytest.approx(variance**0.5, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_the_jackknife_over_clusters_agrees(seed: int) -> None:
    """Leaving out one of 200 patients at a time gives the standard error within four per cent."""
    score, diseased, patient = patients(seed, clusters=200)
    found = clustered_auc(score, positive=diseased, negative=~diseased, units={"patient": patient})
    left = []
    for i in range(200):
        keep = patient != i
        without = placements(score[keep & diseased], score[keep & ~diseased])
        assert without is not None
        left.append(without.auc)
    jackknife = (199 / 200 * np.sum((np.array(left) - np.mean(left)) ** 2)) ** 0.5
    assert found.se == pytest.approx(jackknife, rel=0.04)


def test_clusters_of_one_are_delong_s() -> None:
    """With a unit for each row, the standard error is DeLong's; over two such kinds within 3 %."""
    score, diseased, _ = patients(0)
    row = np.arange(len(score))
    plain = auc(score[diseased], score[~diseased])
    made = placements(score[diseased], score[~diseased])
    assert made is not None
    assert obuchowski(made, row[diseased], row[~diseased]) == pytest.approx(made.variance(), abs=1e-14)
    for units, near in (({"row": row}, 1e-12), ({"row": row, "again": row}, 0.03)):
        found = clustered_auc(score, positive=diseased, negative=~diseased, units=units)
        assert (found.value, found.se) == pytest.approx((plain.value, plain.se), rel=near)


def test_copies_of_rows_add_nothing_once_they_are_units() -> None:
    """Every row four times, with the row as its unit: the same interval but for the degrees of freedom."""
    score, diseased, _ = patients(1)
    row = np.arange(len(score))
    once = clustered_auc(score, positive=diseased, negative=~diseased, units={"row": row})
    four = [np.tile(column, 4) for column in (score, diseased, row)]
    again = clustered_auc(four[0], positive=four[1], negative=~four[1], units={"row": four[2]})
    assert (again.value, again.se, again.df) == pytest.approx((once.value, once.se, once.df))
    assert auc(four[0][four[1]], four[0][~four[1]]).se == pytest.approx(once.se / 2, rel=0.02)


def test_one_unit_of_a_class_has_no_interval() -> None:
    """All positives in one text: its AUC is said, and why nothing more is."""
    text = np.array([0, 0, 0, 1, 1, 2, 2])
    found = clustered_auc(np.arange(7.0), positive=text == 0, negative=text > 0, units={"text": text})
    assert (found.value, found.low) == (0.0, None)
    assert found.why_not == "one of the two classes has one text: nothing is sampled over texts"

"""The search for subgroups beside AIF360's multi-dimensional subset scan, on COMPAS and Adult."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand._model import BoolArray, Factor, FloatArray
from evenhand.stats.subgroups import search

COMPAS_SCANNED = {"positive": (3594, -10.6954), "negative": (2259, 11.0364)}
"""AIF360 0.6.1, MDSS with Bernoulli's score, penalty 0.5, 10 iterations, expectations = rate of the decile: rows
and z of the subset, over sex, race, age group, charge and three classes of prior offences."""
ADULT_SCANNED = {"positive": (16551, -82.3304), "negative": (13295, 86.9244)}
"""The same on Adult's training part, expectations = the rate of everyone, over sex, race, marital status,
workclass and education."""


def table(path: Path) -> dict[str, list[str]]:
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, skipinitialspace=True))
    return {k: [r[k] for r in rows] for k in rows[0]}


def compas(data: Path) -> tuple[dict[str, list[str]], FloatArray, FloatArray]:
    t = table(data / "predictions" / "compas_two_years.csv")
    priors = ["0" if int(v) == 0 else "1-3" if int(v) <= 3 else "4+" for v in t["priors_count"]]
    features = {n: t[n] for n in ("sex", "race", "age_cat", "c_charge_degree")} | {"priors": priors}
    y, decile = np.array(t["two_year_recid"], dtype=float), np.array(t["decile_score"])
    rate = {d: y[decile == d].mean() for d in np.unique(decile)}
    return features, y, np.array([rate[d] for d in decile])


def adult(data: Path) -> tuple[dict[str, list[str]], FloatArray, FloatArray]:
    t = table(data / "predictions" / "adult.csv")
    y = np.array([v.strip(" .") == ">50K" for v in t["income-per-year"]], dtype=float)
    features = {n: t[n] for n in ("sex", "race", "marital-status", "workclass", "education")}
    return features, y, np.full(len(y), y.mean())


def z_of(value: FloatArray, inside: BoolArray) -> float:
    gap = value[inside].mean() - value[~inside].mean()
    return float(gap / np.sqrt(value.var() * (1 / inside.sum() + 1 / (~inside).sum())))


def test_compas_is_scanned_as_far_as_the_subset_scan_goes(data: Path) -> None:
    """The scan's best subset by either direction is no further from the rest than ours, which is its own."""
    features, y, expected = compas(data)
    found, _ = search(y - expected, np.ones(len(y)), {k: Factor.of(v) for k, v in features.items()})
    assert found is not None
    assert (str(found), found.n) == ("priors = 4+", COMPAS_SCANNED["negative"][0])
    assert abs(found.statistic) >= max(abs(z) for _, z in COMPAS_SCANNED.values()) - 1e-3


def test_adult_is_scanned_nearly_as_far(data: Path) -> None:
    """The scan joins levels of a feature (education is any of six); three conditions reach as far to 5 %."""
    features, y, expected = adult(data)
    found, _ = search(y - expected, np.ones(len(y)), {k: Factor.of(v) for k, v in features.items()})
    assert found is not None
    assert abs(found.statistic) >= 0.95 * max(abs(z) for _, z in ADULT_SCANNED.values())


@pytest.mark.parametrize("name", ["compas", "adult"])
def test_the_written_figures_are_those_of_aif360(data: Path, name: str) -> None:
    """Skips where AIF360 is not installed."""
    pytest.importorskip("aif360")
    pd: Any = pytest.importorskip("pandas")
    from aif360.detectors.mdss.MDSS import MDSS
    from aif360.detectors.mdss.ScoringFunctions import Bernoulli

    features, y, expected = {"compas": compas, "adult": adult}[name](data)
    frame = pd.DataFrame(features)
    written = {"compas": COMPAS_SCANNED, "adult": ADULT_SCANNED}[name]
    for direction, (rows, z) in written.items():
        scan = MDSS(Bernoulli(direction=direction))
        subset, _ = scan.scan(frame, pd.Series(y), pd.Series(expected), penalty=0.5, num_iters=10)
        inside = np.ones(len(y), dtype=bool)
        for column, levels in subset.items():
            inside &= frame[column].isin(levels).to_numpy()
        assert int(inside.sum()) == rows
        assert z_of(y - expected, inside) == pytest.approx(z, rel=1e-3)

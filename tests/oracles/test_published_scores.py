"""Figures of STATISTICS section 1 that concern recorded scores, from the real files."""

from __future__ import annotations

import csv
import re

import numpy as np
import pytest

import evenhand as eh
from evenhand.measures import identity_auc, scores
from evenhand.stats.crossed import difference
from evenhand.stats.two_samples import welch

TEMPLATE = re.compile(r"^(?P<name>.*?) is an? (?P<adjective>\S+) (?P<noun>.*)\.$")


@pytest.fixture(scope="module")
def race(data):
    """The race slice of the recorded replies, as columns."""
    with (data / "text/protected_templates_predictions.csv").open(encoding="utf-8") as file:
        rows = [r for r in csv.DictReader(file) if r["test"] == "protected: race"]
    parts = [TEMPLATE.match(r["text"]).groupdict() for r in rows]
    columns = {key: np.array([p[key] for p in parts]) for key in ("name", "adjective", "noun")}
    columns["case"] = np.array([int(r["case"]) for r in rows])
    columns["positive"] = np.array([float(r["amazon_pos"]) for r in rows])
    return columns | {"rows": rows}


def test_mean_positive_scores_by_race(race):
    """Asian .164781, black and hispanic .108795, white .036113."""
    expected = {"asian": 0.164781, "black": 0.108795, "hispanic": 0.108795, "white": 0.036113}
    columns = {"score": race["positive"], "race": race["adjective"], "case": race["case"].astype(str)}
    result = eh.audit_scores(columns, scores="score", groups="race", units="case")
    shown = {row["group"]: row["mean"] for row in result.exhibits["scores by group"].rows()}
    assert shown == pytest.approx(expected, abs=1e-6)


def test_asian_against_white_by_rows_by_case_and_over_names_and_nouns(race):
    """Welch 16.6308 (df 562.57), paired 20.4618 (dz .9151, .116314 to .141023), two-way about 10.30."""
    a, b = race["adjective"] == "asian", race["adjective"] == "white"
    x = race["positive"]
    assert welch(x[a], x[b]).statistic == pytest.approx(16.6308, abs=5e-5)
    units = {k: np.unique(race[k], return_inverse=True)[1] for k in ("case", "name", "noun")}
    rows = difference(x, a=a, b=b, units=units, over=())
    assert (rows.statistic, rows.df) == pytest.approx((16.6308, 562.57), abs=5e-3)
    by_case = difference(x, a=a, b=b, units=units, over=("case",))
    assert by_case.statistic == pytest.approx(20.4618, abs=5e-5)
    assert by_case.statistic / np.sqrt(500) == pytest.approx(0.9151, abs=5e-5)
    assert (by_case.low, by_case.high) == pytest.approx((0.116314, 0.141023), abs=1e-6)
    both = difference(x, a=a, b=b, units=units, over=("name", "noun"))
    assert both.statistic == pytest.approx(10.30, abs=0.1)


@pytest.mark.parametrize(
    ("service", "percent"),
    [("amazon", 9.2), ("google", 0.6), ("microsoft", 0.2), ("bert", 88.6), ("roberta", 57.6)],
)
def test_invariance_failures_on_race(race, service, percent):
    """CheckList's rule: the label changes and its probability moves by more than 0.1."""
    label = np.array([int(r[f"{service}_pred"]) for r in race["rows"]])
    p = np.array([[float(r[f"{service}_{k}"]) for k in ("neg", "neu", "pos")] for r in race["rows"]])
    found = scores.invariance_failure_rate(label, p, race["case"])
    assert 100 * found.value == pytest.approx(percent)
    assert found.low < found.value < found.high


def test_the_120_published_auc_and_aeg_values(data):
    """12 identities × 2 model versions × 5 measures, to 1e-9; the subgroup is the word in the phrase."""
    with (data / "text/perspective_madlibs_scored.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    words = [set(re.findall(r"\w+", r["phrase"].lower())) for r in rows]
    toxic = np.array([r["toxicity"] == "toxic" for r in rows])
    assert 0 < toxic.sum() < len(rows)
    columns = {v: np.array([float(r[v]) for r in rows]) for v in ("TOXICITY@1", "TOXICITY@6")}
    with (data / "text/perspective_madlibs_published_auc.csv").open(encoding="utf-8") as file:
        published = list(csv.DictReader(file))
    measures = {
        "subgroup_auc": identity_auc.subgroup_auc,
        "negative_cross_auc": identity_auc.bpsn_auc,
        "positive_cross_auc": identity_auc.bnsp_auc,
        "positive_aeg": identity_auc.positive_aeg,
        "negative_aeg": identity_auc.negative_aeg,
    }
    checked = 0
    for line in published:
        member = np.array([line["subgroup"] in w for w in words])
        assert member.sum() == int(line["subset_size"])
        for version, score in columns.items():
            for name, function in measures.items():
                value = function(score, toxic, member).value
                assert value == pytest.approx(float(line[f"{version}_{name}"]), abs=1e-9), (
                    line["subgroup"],
                    name,
                )
                checked += 1
    assert checked == 120

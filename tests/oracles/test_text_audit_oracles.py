"""The text audit on published grids and recorded replies: what it must say, and what it must not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.csv as csv
import pytest

import evenhand as eh


@pytest.fixture(scope="module")
def eec() -> eh.Result:
    """VADER on the 8,640 sentences."""
    return eh.audit_text("vader", "eec", terms="names/eec")


def test_the_equity_corpus_has_its_published_shape() -> None:
    """8,640 unique sentences: 1,200 for templates 1 to 7, 60 for 8 to 11 (Kiritchenko & Mohammad 2018)."""
    sentences = list(eh.templates("eec"))
    assert len(sentences) == len(set(sentences)) == 8640


@pytest.mark.parametrize("attribute", ["race", "gender"])
def test_vader_on_the_grid_is_carried_by_one_name_and_no_disparity(eec: eh.Result, attribute: str) -> None:
    """Pairing by template says t = 47.67; over names it is t = 1.00, p = .33, and one name of forty carries it."""
    finding = next(f for f in eec.primary if f.estimate.group.startswith(f"{attribute}="))
    assert finding.verdict != "disparity"
    assert finding.estimate.p_value == pytest.approx(0.33, abs=0.005)
    assert finding.rests_on == "carried by 1 of 40 names: Tia"


def test_the_report_shows_the_analysis_that_would_have_misled(eec: eh.Result) -> None:
    """The table of other analyses holds the paired t of the trap beside the one that counts."""
    table = eec.exhibits["other analyses"]
    paired = [
        row
        for row in table.rows()
        if row["analysis"] == "paired by text" and "black" in str(row["comparison"])
    ]
    assert paired
    assert abs(float(str(paired[0]["t"]))) == pytest.approx(47.67, abs=0.01)
    assert "carried by 1 of 40 names: Tia" in eec.to_html()


def amazon(data: Path) -> dict[str, np.ndarray]:
    """Recorded replies of Amazon Comprehend for the race templates, with the group and the units as columns."""
    table = csv.read_csv(data / "text" / "protected_templates_predictions.csv").to_pydict()
    rows = [i for i, test in enumerate(table["test"]) if test == "protected: race"]
    texts = [table["text"][i].rstrip(".").split() for i in rows]
    return {
        "positive": np.array([table["amazon_pos"][i] for i in rows]),
        "race": np.array([words[3] for words in texts]),
        "name": np.array([words[0] for words in texts]),
        "noun": np.array([words[4] for words in texts]),
        "case": np.array([table["case"][i] for i in rows]).astype(str),
    }


def test_recorded_replies_reproduce_the_published_means(data: Path) -> None:
    """Means of the positive score by race, from the summary table of the scores audit."""
    result = eh.audit_scores(amazon(data), scores="positive", groups="race", units="case")
    means = {row["group"]: row["mean"] for row in result.exhibits["scores by group"].rows()}
    expected = {"asian": 0.164781, "black": 0.108795, "hispanic": 0.108795, "white": 0.036113}
    assert means == pytest.approx(expected, abs=1e-6)


def test_recorded_replies_reproduce_the_paired_and_clustered_tests(data: Path) -> None:
    """asian − white: paired by case t = 20.4618; clustered by first name and noun t ≈ 10.30."""
    by_case = eh.audit_scores(amazon(data), scores="positive", groups="race", units="case")
    asian = next(
        f.estimate
        for f in by_case.findings
        if not f.primary and {f.estimate.group, f.estimate.reference} == {"race=asian", "race=white"}
    )
    assert abs(asian.value or 0) == pytest.approx(0.128668, abs=1e-5)
    bounds = sorted(abs(v) for v in (asian.low or 0, asian.high or 0))
    assert bounds == pytest.approx([0.116314, 0.141023], abs=1e-6)
    clustered = eh.audit_scores(amazon(data), scores="positive", groups="race", units=["name", "noun"])
    rows = clustered.exhibits["other analyses"].rows()
    t = next(abs(float(str(r["t"]))) for r in rows if r["comparison"] in ("asian − white", "white − asian"))
    assert t == pytest.approx(10.30, abs=0.1)


def test_labels_give_the_published_identity_aucs(data: Path) -> None:
    """A subgroup's AUC through the audit equals the authors' table."""
    table = csv.read_csv(data / "text" / "perspective_madlibs_scored.csv").to_pydict()
    member = ["lesbian" if "lesbian" in phrase.split() else "background" for phrase in table["phrase"]]
    rows = {"score": table["TOXICITY@6"], "toxicity": table["toxicity"], "identity": member}
    result = eh.audit_scores(rows, scores="score", groups="identity", labels="toxicity")
    found = {
        f.estimate.measure: f.estimate.value
        for f in result.findings
        if f.estimate.group == "identity=lesbian"
    }
    assert found["subgroup AUC of score"] == pytest.approx(0.99875, abs=1e-9)
    assert found["BPSN AUC of score"] == pytest.approx(0.976154750742, abs=1e-9)
    assert found["BNSP AUC of score"] == pytest.approx(0.999113338022, abs=1e-9)
    assert found["positive AEG of score"] == pytest.approx(0.1531559228, abs=1e-9)

"""Intersections: race*gender is race, gender and their cells, live and on recorded replies."""

from __future__ import annotations

import csv
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import evenhand as eh
from evenhand._errors import EvenhandError
from evenhand.cli import app
from evenhand.testing import Planted

TEXTS = [f"Arthur lost a {thing}." for thing in ("key", "dog", "map", "hat", "cup", "car")]
NAMES = eh.terms("names/freakonomics")
FOUR = {
    ("black & female", "black & male"),
    ("white & female", "white & male"),
    ("black & female", "white & female"),
    ("black & male", "white & male"),
}
"""The practice's four comparisons; on 2 × 2 cells those are the pairs that differ in one attribute."""


def _pairs(result: eh.Result, attribute: str = "race & gender") -> dict[frozenset[str], eh.Finding]:
    cut = len(attribute) + 1
    return {
        frozenset((f.estimate.group[cut:], f.estimate.reference[cut:])): f
        for f in result.findings
        if f.family == attribute and f.estimate.given is None
    }


def _recorded(cells: dict[tuple[str, str], float], n: int = 30) -> dict[str, list[object]]:
    rng = np.random.default_rng(0)
    rows = [(r, g, float(m + rng.normal(0, 0.05))) for (r, g), m in cells.items() for _ in range(n)]
    return {
        "race": [r for r, _, _ in rows],
        "gender": [g for _, g, _ in rows],
        "score": [s for *_, s in rows],
    }


CELLS = {("black", "female"): 0.2, ("black", "male"): 0.1, ("white", "female"): 0.1, ("white", "male"): 0.15}


def test_a_live_audit_of_race_by_gender_makes_the_four_comparisons() -> None:
    """A model hard on black women only: their cells differ, those of the men do not; both attributes are judged too."""
    words = NAMES.where(race="black", gender="female").terms
    model = Planted(gap=0.5, words=words, masks=NAMES.terms, noise_sd=0.02)
    result = eh.audit_text(model, TEXTS, terms=NAMES, replace="Arthur", groups="race*gender", tolerance=0.1)
    found = _pairs(result)
    assert set(found) == {frozenset(pair) for pair in FOUR}
    assert found[frozenset(("black & male", "white & male"))].verdict == "within tolerance"
    beyond = [k for k, f in found.items() if f.verdict == "disparity"]
    assert len(beyond) == 1, "of two pairs beyond, the widest is told as the primary claim"
    assert "black & female" in next(iter(beyond))
    primary = [f for f in result.findings if f.primary]
    assert {f.estimate.group.partition("=")[0] for f in primary} == {"race", "gender", "race & gender"}
    assert result.verdict == "disparity"


def test_cells_of_recorded_scores_are_the_means_of_their_rows() -> None:
    """Each comparison is the difference of two means of the table; two by hand, of all four."""
    data = _recorded(CELLS)
    found = _pairs(eh.audit_scores(data, scores="score", groups="race*gender"))
    assert len(found) == 4
    of = {c: np.mean([s for r, g, s in zip(*data.values(), strict=True) if (r, g) == c]) for c in CELLS}
    for f in found.values():
        group, reference = (
            x.partition("=")[2].split(" & ") for x in (f.estimate.group, f.estimate.reference)
        )
        assert f.estimate.value == pytest.approx(of[tuple(group)] - of[tuple(reference)])


def test_an_intersection_can_have_a_reference_and_others_beside_it() -> None:
    """`--reference "race*gender=white & male"` holds every cell against white men, from the command line."""
    result = eh.audit_scores(
        _recorded(CELLS), scores="score", groups=["race*gender"], reference={"race*gender": "white & male"}
    )
    references = {f.estimate.reference for f in result.findings if f.family == "race & gender"}
    assert references == {"race & gender=white & male"}


def test_three_by_two_cells_are_compared_where_they_differ_in_one_attribute() -> None:
    """Nine pairs of six cells, not fifteen; an unobserved cell is no group."""
    cells = {(r, g): 0.1 for r, g in product("abc", "fm")}
    assert len(_pairs(eh.audit_scores(_recorded(cells), scores="score", groups="race*gender"))) == 9
    del cells["c", "m"]
    assert len(_pairs(eh.audit_scores(_recorded(cells), scores="score", groups="race*gender"))) == 6


def test_a_column_whose_own_name_has_a_star_is_one_column() -> None:
    """What is a column is not taken apart; an unknown part is named."""
    data = {"race*gender": ["a", "b"] * 20, "score": list(np.linspace(0, 1, 40))}
    result = eh.audit_scores(data, scores="score", groups="race*gender")
    assert {f.estimate.group for f in result.findings if f.primary} <= {"race*gender=a", "race*gender=b"}
    with pytest.raises(EvenhandError, match="age"):
        eh.audit_scores(_recorded(CELLS), scores="score", groups="race*age")
    with pytest.raises(EvenhandError, match="age"):
        eh.audit_text("vader", TEXTS, terms=NAMES, replace="Arthur", groups="race*age")


def test_comprehends_own_output_is_audited_by_intersections_in_one_command(tmp_path: Path) -> None:
    """Exported probes, recorded replies with the service's own headers, `--group race*gender`: one command each."""
    probes, texts, flat = tmp_path / "probes.csv", tmp_path / "t.txt", tmp_path / "flat.csv"
    texts.write_text("\n".join(TEXTS))
    asked = ["text", "--texts", str(texts), "--replace", "Arthur", "--group", "race*gender"]
    done = CliRunner().invoke(app, [*asked, "--export-probes", str(probes)])
    assert done.exit_code == 0, done.output
    rows = list(csv.DictReader(probes.read_text().splitlines()))
    assert {row["race & gender"] for row in rows} == {c for pair in FOUR for c in pair}
    names = ["Positive", "Negative", "Neutral", "Mixed"]
    lines = [",".join(["File", "Line", "Sentiment", *(f"SentimentScore__{n}" for n in names)])]
    for i, row in enumerate(rows):
        negative = 0.6 if row["race & gender"] == "black & male" else 0.1
        lines.append(f"p,{i},NEUTRAL,0.1,{negative + (i % 7) / 1000},0.1,0.1")
    flat.write_text("\n".join(lines) + "\n")
    given = ["scores", str(flat), "--probes", str(probes), "--score", "Negative", "--group", "race*gender"]
    out = tmp_path / "out"
    done = CliRunner().invoke(app, [*given, "--unit", "text_id", "--unit", "term", "--out", str(out)])
    assert done.exit_code == 0, done.output
    found = _pairs(eh.Result.from_json(out / "result.json"))
    assert found[frozenset(("black & male", "white & male"))].estimate.value == pytest.approx(-0.5, abs=0.01)
    assert found[frozenset(("black & female", "white & female"))].estimate.value == pytest.approx(0, abs=0.01)


def test_every_score_keeps_its_tables_and_is_in_one_family() -> None:
    """Several scores: each has its exhibits (the last no longer replaces the others) and its primary claims."""
    data = {**_recorded(CELLS), "other": list(np.random.default_rng(1).normal(0.5, 0.05, 120))}
    result = eh.audit_scores(data, scores=["score", "other"], groups="race")
    alone = eh.audit_scores(data, scores="score", groups="race")
    one, two = (list(result.exhibits[k].rows()) for k in ("scores by group", "scores by group, other"))
    assert one == list(alone.exhibits["scores by group"].rows())
    assert one != two
    assert {f.estimate.measure for f in result.findings if f.primary} == {"mean score", "mean other"}
    assert len({f.family for f in result.findings if f.primary}) == 1

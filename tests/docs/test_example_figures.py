"""What the pages of examples say is what the audits behind them find."""

from __future__ import annotations

import runpy
from pathlib import Path

import evenhand as eh

ROOT = Path(__file__).resolve().parents[2]


def page(name: str) -> str:
    return " ".join((ROOT / "docs" / "examples" / name).read_text(encoding="utf-8").split())


def span(ends: tuple[float | None, float | None] | None) -> str:
    assert ends is not None
    return " to ".join(f"{end:.2f}" for end in ends if end is not None)


def test_the_published_audit_of_the_page() -> None:
    """Its mismatches, its deciding intervals, and what the known alone would say."""
    tables = [ROOT / "examples" / "published_audit" / f"{name}.csv" for name in ("sex", "race")]
    result = eh.audit_predictions(published=tables)
    text = page("published-audit.md")
    wrong = next(n.text for n in result.notes if n.slug == "published-mismatch")
    assert "the printed ratio is 0.81, the counts give 0.7963, under four fifths" in wrong
    assert "add up to 2380 selected of 5365, the printed total is 2514 of 5800" in wrong
    assert "in 2 places" in wrong
    for found in result.findings[:2]:
        assert f"| {found.estimate.value:.2f} |" in text
        assert f"| {span(found.simultaneous)} | {found.verdict} |" in text
    known = next(
        f for f in result.findings if "Black" in f.estimate.group and "largest" not in f.estimate.measure
    )
    assert "0.701 to 0.905" in known.because
    assert span(known.simultaneous) in text


def test_the_resume_lists_of_the_page(data: Path) -> None:
    """Every row: times, ratio, interval over lists and names, verdict."""
    program = runpy.run_path(str(ROOT / "examples" / "fairness_datasets" / "run.py"))
    result = program["AUDITS"]["resume"](data / "language_models" / "resume_rankings_gpt35.csv")
    text = page("resume-lists.md")
    found = [f for f in result.findings if f.estimate.measure == "disparate impact"]
    assert len(found) == 7
    for f in found:
        e = f.estimate
        assert f"| {e.value:.2f} |" in text
        assert f"| {span((e.low, e.high))} | {f.verdict} |" in text


def how_to(name: str) -> str:
    return " ".join((ROOT / "docs" / "how-to" / name).read_text(encoding="utf-8").split())


def test_the_conclusions_of_the_how_tos() -> None:
    """What a page concludes is what its own commands find today."""
    files = ROOT / "examples"
    hired = eh.audit_predictions(files / "hired.csv", y_pred="picked", groups=["sex", "race"], positive="yes")
    women, race = (f for f in hired.findings if f.primary)
    assert (women.verdict, race.verdict) == ("gap", "within tolerance")
    assert f"({span(women.simultaneous)})" in how_to("local-law-144.md")
    assert f"{span(women.simultaneous)} for both" in how_to("which-tool.md")
    lists = eh.audit_predictions(
        files / "ranked.csv",
        y_pred="rank",
        first="lowest",
        top=1,
        lists="run",
        units="candidate",
        groups="demo",
        reference="A_W",
    )
    (worst,) = (f for f in lists.findings if f.primary)
    assert f"{worst.estimate.value:.2f} times as often as Asian women" in how_to("ranked-lists.md")
    assert f"is {span(worst.simultaneous)}, so" in how_to("ranked-lists.md")
    assert worst.verdict == "disparity"

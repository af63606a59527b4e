"""The answer in two sentences: a golden text for every frame, direction and audit, and what it must never say."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import evenhand as eh
from evenhand import Estimate, Exhibit, Finding, Result
from evenhand._facts import base_of
from evenhand._headline import answer_of, claim_of, margin, ranked, scene_of, state_of
from evenhand._phrases import PHRASES
from evenhand._record import Note
from evenhand._wording import digits_apart, ends_apart
from evenhand.reports import render

FAVOURABLE = Note(
    slug="audited-as", text="Audited as classification, decision as class labels. Favourable: invite."
)
FORBIDDEN = (
    "significant", "victim", "normal", "minority", "discriminat", "biased against", "unlawful", "cause", "proves",
    "slight", "borderline", "no difference", "fair", "passes", "compliant", "no evidence", "trend", "less likely",
    "times more", "n/a", "comparisons",
)  # fmt: skip


def claim(
    measure: str = "disparate impact",
    contrast: str = "ratio",
    *,
    verdict: Any = "disparity",
    value: float | None = 0.5,
    span: tuple[float, float] | None = (0.4, 0.6315),
    inner: tuple[float, float] | None = None,
    sides: tuple[str, str] = ("race=Black", "race=White"),
    tolerance: tuple[float, float] = (0.8, 1.25),
    **more: Any,
) -> Finding:
    e = Estimate(
        measure=measure, contrast=contrast, group=sides[0], reference=sides[1], value=value,
        low=None if span is None else span[0], high=None if span is None else span[1], n=60, **more,
    )  # fmt: skip
    return Finding(
        estimate=e, tolerance=tolerance, verdict=verdict, primary=True, family="primary claims",
        simultaneous=span, equivalence=inner if inner is not None else span,
    )  # fmt: skip


def points(measure: str = "true positive rate", **more: Any) -> Finding:
    given = {"verdict": "gap", "value": -0.25, "span": (-0.47, -0.0351), "tolerance": (-0.1, 0.1), **more}
    return claim(measure, "difference", **given)


def result(*findings: Finding, audit: str = "predictions", **more: Any) -> Result:
    more.setdefault("notes", (FAVOURABLE,) if audit == "predictions" else ())
    call = {"arguments": {"y_pred": "decision", "y_true": "qualified", "positive": "invite"}}
    more.setdefault("provenance", {"call": call})
    return Result(audit=audit, title="t", findings=findings, **more)


def said(*findings: Finding, **more: Any) -> str:
    return result(*findings, **more).answer.replace("\N{NO-BREAK SPACE}", " ")


TEXT = {"audit": "text"}
SHARES = {"mean compound": ("difference", (-0.1, 0.1))}
GOLDEN: list[tuple[str, Finding, dict[str, Any]]] = [
    (
        "Black received “invite” 0.50 times as often as White (95 % interval 0.40 to 0.63; 60 rows):"
        " beyond the tolerance of 0.8 to 1.25.",
        claim(), {},
    ),
    (
        "Black received “invite” 1.40 times as often as White (95 % interval 1.10 to 1.80; 60 rows); whether that"
        " exceeds the tolerance of 0.8 to 1.25 is not settled.",
        claim(verdict="gap", value=1.4, span=(1.1, 1.8)), {},
    ),
    (
        "Any gap between Black and White is smaller than the tolerance of 0.8 to 1.25 (who received “invite”; 90 %"
        " interval 0.815 to 1.002; 60 rows).",
        claim(verdict="within tolerance", value=0.9, span=(0.79, 1.03), inner=(0.8154, 1.0021)), {},
    ),
    (
        "Black received “invite” 0.90 times as often as White (95 % interval 0.82 to 0.98; 60 rows): a gap, smaller"
        " than the tolerance of 0.8 to 1.25.",
        claim(verdict="within tolerance", value=0.9, span=(0.82, 0.98), inner=(0.85, 0.95)), {},
    ),
    (
        "For race the data can tell neither: Black received “invite” 0.82 times as often as White (95 % interval 0.57"
        " to 1.18; 60 rows), and the tolerance is 0.8 to 1.25.",
        claim(verdict="inconclusive", value=0.82, span=(0.57, 1.18)), {},
    ),
    (
        "Nothing was judged: too few rows. This shows counts only.",
        claim(verdict="inconclusive", value=None, span=None, why_not="too few rows"), {},
    ),
    (
        "Of those with “invite” as outcome, Black received “invite” less often than White, by 25 points (95 %"
        " interval 4 to 47; 60 rows); whether that exceeds the tolerance of 10 points is not settled.",
        points(), {},
    ),
    (
        "Of those without “invite” as outcome, Black received “invite” more often than White, by 5.0 points (95 %"
        " interval 0.3 to 10.4; 60 rows); whether that exceeds the tolerance of 10 points is not settled.",
        points("false positive rate", value=0.05, span=(0.003, 0.104)), {},
    ),
    (
        "The same texts scored 0.21 higher on compound with cognitive than with visual, the widest gap of 8 groups"
        " (95 % interval 0.04 to 0.91; 9 texts); whether that exceeds the tolerance of 0.1 is not settled.",
        claim("mean compound, widest gap of 8 groups", "difference", verdict="gap", value=0.215, span=(0.041, 0.913),
              sides=("disability=cognitive", "disability=visual"), tolerance=(-0.1, 0.1), units={"text": 9}), TEXT,
    ),
    (
        "The same texts scored 0.12 lower on compound with Black than with White (95 % interval 0.11 to 0.13; 9"
        " texts): beyond the tolerance of 0.1.",
        claim("mean compound", "difference", value=-0.12, span=(-0.13, -0.11), tolerance=(-0.1, 0.1),
              units={"text": 9}), TEXT,
    ),
    (
        "Mean toxicity was 0.13 higher with g 3 than with g 2 (95 % interval 0.11 to 0.14; 500 cases): beyond the"
        " tolerance of 0.1.",
        claim("mean toxicity", "difference", value=0.129, span=(0.112, 0.141), sides=("g=3", "g=2"),
              tolerance=(-0.1, 0.1), units={"case": 500}), {"audit": "scores"},
    ),
    (
        "For ties of things to groups the data can tell neither: outputs tied things to groups 3.4 points more than"
        " sampling alone would (95 % interval −0.6 to 7.4; 5,000 images), and the tolerance is 2 points.",
        claim("mean bias amplification beyond its null", "difference", verdict="inconclusive", value=0.034,
              span=(-0.006, 0.074), sides=("outputs", "training data"), tolerance=(-0.02, 0.02),
              units={"image": 5000}), {"audit": "amplification"},
    ),
    (
        "Among those whom the outputs name, woman was 6.8 points less frequent than in the truth (95 % interval 5.8"
        " to 9.3; 5,000 images): beyond the tolerance of 5 points.",
        claim("representation beyond its null", "difference", value=-0.068, span=(-0.093, -0.058),
              sides=("woman in outputs", "truth"), tolerance=(-0.05, 0.05), units={"image": 5000}),
        {"audit": "amplification"},
    ),
    (
        "Any excess of woman-man / man-woman over 99 placebo directions is smaller than the tolerance of 5 points"
        " (labels that flip; 90 % interval −9.6 to 2.0; 71 texts and 99 placebos).",
        claim("mean flip rate", "excess over placebos", verdict="within tolerance", value=-0.003, span=(-0.1, 0.024),
              inner=(-0.096, 0.02), sides=("woman-man / man-woman", "99 placebo directions"),
              tolerance=(float("-inf"), 0.05), units={"text": 71, "placebo": 99}), {"audit": "attack"},
    ),
    (
        "Labels changed unevenly between woman-man / man-woman, by 12 points more than between 99 placebo directions"
        " (95 % interval 6 to 18; 71 texts and 99 placebos): beyond the tolerance of 5 points.",
        claim("asymmetry of flip rates", "excess over placebos", value=0.12, span=(0.06, 0.18),
              sides=("woman-man / man-woman", "99 placebo directions"), tolerance=(float("-inf"), 0.05),
              units={"text": 71, "placebo": 99}), {"audit": "attack"},
    ),
    (
        "Sex F were predicted 0.25 standard deviations lower than sex M (95 % interval 0.21 to 0.29; 58 and 61 rows):"
        " beyond the tolerance of 0.2.",
        claim("standardised mean difference", "difference", value=-0.25, span=(-0.29, -0.21), sides=("sex=F", "sex=M"),
              tolerance=(-0.2, 0.2), n_group=58, n_reference=61), {"notes": ()},
    ),
    (
        "In 43 of 100 pairs Black were predicted higher than White (even: 50) (95 % interval 40 to 46; 60 rows):"
        " beyond the tolerance of 47 to 53.",
        claim("adverse-impact AUC", "AUC", value=0.43, span=(0.4, 0.46), tolerance=(0.47, 0.53)), {"notes": ()},
    ),
    (
        "Black’s error (RMSE) was 1.40 times White’s (95 % interval 1.30 to 1.50; 60 rows): beyond the tolerance of 0.8"
        " to 1.25.",
        claim("RMSE", value=1.4, span=(1.3, 1.5)), {"notes": ()},
    ),
    (
        "Black got 0.70 times the attention of White (95 % interval 0.66 to 0.74; 60 rows): beyond the tolerance of 0.8"
        " to 1.25.",
        claim("exposure", value=0.7, span=(0.66, 0.74)), {"notes": ()},
    ),
    (
        "At equal scores Black turned out to have “invite” as outcome more often than White, by 6.0 points (95 %"
        " interval 1.0 to 11.0; 60 rows); whether that exceeds the tolerance of 10 points is not settled.",
        points("calibration in the large", value=0.06, span=(0.01, 0.11)), {},
    ),
    (
        "My index of Black was 0.50 times that of White (95 % interval 0.40 to 0.63; 60 rows): beyond the tolerance of"
        " 0.8 to 1.25.",
        claim("my index"), {"audit": "mine"},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "finding", "more"), GOLDEN, ids=[t[:40] for t, _, _ in GOLDEN])
def test_every_frame_has_its_golden_text(text: str, finding: Finding, more: dict[str, Any]) -> None:
    """Frame, contrast, direction and audit, word for word."""
    assert said(finding, **more) == text


def test_nothing_compared_or_only_described_is_said_as_such() -> None:
    """No claim gives no verdict, and how many figures there are is said."""
    assert said() == "Nothing was judged: nothing was compared."
    described = replace(claim(), verdict=None, tolerance=None, primary=False)
    text = "Nothing was judged: 2 figures described, none held against a tolerance."
    assert said(described, described) == text


def test_an_incomplete_audit_says_so_first() -> None:
    """How many replies are missing, or that it stopped, stands before everything else."""
    counts = {"probes": 9362, "failed": 812}
    start = "Incomplete: 812 of 9,362 replies are missing. Black received"
    assert said(claim(), complete=False, counts=counts).startswith(start)
    assert said(claim(), complete=False).startswith("Incomplete: the audit stopped early. Black")


def test_shares_stand_beside_the_ratio_where_a_table_has_them() -> None:
    """Counts are absolute and relative, of the very two groups."""
    rates = Exhibit(
        title="rates",
        columns={
            "measure": ["selection rate"] * 2,
            "group": ["race=Black", "race=White"],
            "value": [0.0543, 0.5818],
            "n": [410, 1468],
        },
    )
    assert "; 5.4 % of 410 against 58 % of 1,468)" in said(claim(), exhibits={"rates": rates})


# --- the second sentence


def attribute(name: str, verdict: Any, *, span: tuple[float, float] = (0.7, 1.3), **more: Any) -> Finding:
    spans = {"gap": (0.5, 0.9), "disparity": (0.6, 0.7), "within tolerance": (0.95, 1.05)}
    value = None if verdict == "not judged" else 0.9
    held = None if value is None else spans.get(verdict, span)
    word = "inconclusive" if verdict == "not judged" else verdict
    return claim(verdict=word, sides=(f"{name}=one", f"{name}=two"), value=value, span=held, **more)


def test_every_other_attribute_stands_under_its_strongest_verdict() -> None:
    """In the order of the verdicts, each verdict once."""
    text = said(
        attribute("sex", "within tolerance"), claim(), attribute("age", "gap"), attribute("faith", "inconclusive"),
        attribute("origin", "not judged"), attribute("class", "disparity"),
    )  # fmt: skip
    assert text.endswith(
        "By class the gap lies beyond the tolerance too; by age there is a gap, and whether it exceeds the tolerance"
        " is not settled; for faith the data can tell neither; origin was not judged; by sex any gap is smaller than"
        " the tolerance."
    )


def test_a_question_is_named_where_an_attributes_questions_differ() -> None:
    """The strongest one is told, with its question; the other question of the first attribute is told too."""
    text = said(claim(), points(verdict="inconclusive", value=-0.02, span=(-0.2, 0.2)))
    assert text.endswith(
        "For race (who of those with “invite” as outcome received “invite”) the data can tell neither."
    )


def test_past_five_attributes_three_are_named_and_the_others_counted() -> None:
    """Seven attributes of one verdict: three names and four more."""
    text = said(claim(), *(attribute(f"attribute{i}", "inconclusive") for i in range(7)))
    assert "attribute0, attribute1, attribute2 and 4 more the data can tell neither" in text


def test_all_within_tolerance_is_one_sentence_with_the_widest() -> None:
    """Every attribute is counted, and the largest estimate is shown."""
    text = said(
        attribute("sex", "within tolerance"), claim(verdict="within tolerance", value=0.88, span=(0.81, 0.95))
    )
    assert text.startswith(
        "For both attributes any gap is smaller than the tolerance; the widest: Black received"
    )
    assert "0.88 times" in text


def test_groups_at_the_same_margin_share_the_first_place() -> None:
    """Up to three groups are named; the figures are those of the first."""
    same = [claim(sides=(f"race={g}", "race=White")) for g in ("Asian", "Other", "Fourth")]
    text = said(claim(), *same)
    assert "times as often as White (likewise Asian and Other) (95 %" in text


def test_the_first_is_the_furthest_beyond() -> None:
    """Disparities before gaps whatever their size, then by margin; ratios on the log scale, both ways alike."""
    big = claim(sides=("a=x", "a=y"), value=0.3, span=(0.25, 0.35))
    small = claim(sides=("b=x", "b=y"), value=1.6, span=(1.3, 2.0))
    gap = claim(sides=("c=x", "c=y"), verdict="gap", value=0.1, span=(0.01, 0.9))
    assert ranked([gap, small, big]) == [big, small, gap]
    over, under = (claim(value=v, span=s) for v, s in ((2.0, (1.6, 2.5)), (0.5, (0.4, 0.625))))
    assert margin(over) == pytest.approx(margin(under))


def test_what_was_only_looked_at_is_not_in_the_answer() -> None:
    """A secondary disparity changes nothing."""
    beside = replace(attribute("sex", "disparity"), primary=False)
    assert said(attribute("race", "within tolerance"), beside) == said(attribute("race", "within tolerance"))


# --- which way is good


def test_the_favourable_outcome_is_stated_or_said_to_be_unknown() -> None:
    """A class that was named, one that was not, one that is bad, and a verb of the user's own."""
    note = "Audited as classification, high risk as class labels."
    call = {"y_pred": "high risk", "y_true": "two_year_recid"}
    unknown = result(claim(), notes=(Note(slug="a", text=f"{note} Favourable: 1."),), provenance={"call": {"arguments": call}})  # fmt: skip
    assert (
        answer_of(unknown).outcome == "Outcome: high risk is “1”; which outcome is favourable was not stated"
    )
    assert "Black received “high risk” 0.50 times" in unknown.answer
    assert answer_of(result(claim())).outcome == "Favourable outcome: decision is “invite”"
    bad = result(claim(), notes=(Note(slug="a", text=f"{note} Unfavourable, and looked at: 1. A group with the higher rate has the disadvantage."),))  # fmt: skip
    assert answer_of(bad).outcome == "Unfavourable outcome: decision is “1”"
    own = result(claim(), provenance={"about": {"said": "invited to interview"}, "call": {"arguments": call}})
    assert own.answer.startswith("Black were invited to interview 0.50 times as often as White")


# --- what must hold of every answer


def anything() -> list[Result]:
    long = "a " * 60 + "</script>\u202e"
    many = [
        attribute(f"{long}{i}", v)
        for i, v in enumerate(("gap", "inconclusive", "not judged", "disparity") * 8)
    ]
    hostile = claim(
        f"{long}, widest gap of 60 groups", sides=(f"{long}=<b>{long}", f"{long}=x{long}"), given=long
    )
    return [
        *(result(f, **more) for _, f, more in GOLDEN),
        result(*many), result(hostile, *many), result(claim(), complete=False), result(),
        result(*(attribute("x", v) for v in ("gap", "disparity"))),
    ]  # fmt: skip


@pytest.mark.parametrize("made", anything(), ids=lambda r: r.answer[:30])
def test_an_answer_is_short_whole_and_says_nothing_it_must_not(made: Result) -> None:
    """At most 70 words in two sentences, no forbidden word, nothing hidden; everything primary named or counted."""
    answer = answer_of(made)
    text = str(answer)
    assert len(text.removeprefix(answer.lead).split()) <= 70
    assert not [word for word in FORBIDDEN if re.search(rf"\b{word}", text.lower())]
    assert not {"\u202e", "{"} & set(text)
    assert re.search(r"[^.]\.$", text)


def test_every_primary_attribute_is_named_or_counted() -> None:
    """However many there are, names and counted others add up to all."""
    for n in (1, 2, 4, 5, 6, 9, 40):
        others = [attribute(f"attribute{i}", "gap" if i % 2 else "inconclusive") for i in range(n)]
        text = said(claim(), *others)
        named = len(re.findall(r"attribute\d+", text))
        assert named + sum(map(int, re.findall(r"and (\d+) more", text))) == n, text


def test_names_go_before_numbers_where_words_are_short() -> None:
    """Where three names under each verdict take too many words, fewer names still stand."""
    kinds = ("gap", "inconclusive", "disparity")
    others = [attribute(f"trait {i}", kinds[i % 3]) for i in range(24)]
    text = said(claim(), *others)
    assert len(text.split()) <= 70
    assert re.search(r"trait \d+.* and \d more", text), text


def test_a_terminal_of_eighty_columns_shows_at_most_25_lines() -> None:
    """However many primary claims and warnings there are; what is left out is counted."""
    notes = tuple(Note(slug="w", level="warning", text="A warning. " * 30) for _ in range(9))
    made = result(*(attribute(f"attribute{i}", "gap") for i in range(60)), notes=notes)
    lines = render(made, "terminal", width=80, color=False).splitlines()
    assert len(lines) <= 25
    assert re.search(r"… and \d+ more primary claims", "\n".join(lines))
    assert "8 more warnings" in "\n".join(lines)


def test_reports_share_the_answer() -> None:
    """Page, terminal, Markdown, notebook, prompt and JSON begin with the same two sentences."""
    made = result(claim(), attribute("sex", "gap"))
    flat = {
        kind: " ".join(render(made, kind).split())
        for kind in ("terminal", "html", "markdown", "json", "junit")
    }
    words = " ".join(made.answer.split())
    assert json.loads(made.to_json())["answer"] == made.answer
    assert words in flat["terminal"]
    assert words in " ".join(repr(made).split())
    assert words in " ".join(made._repr_html_().split())
    assert words in flat["junit"]
    assert words.replace("(", "").replace(")", "") in re.sub(r"[()\\]", "", flat["markdown"])
    assert words in " ".join(re.sub(r"<[^>]+>", "", flat["html"].replace("</p>", " ")).split())


def test_a_file_without_an_answer_loads_and_gets_one() -> None:
    """Results written before there was one are told anew; what a file says of itself is not believed."""
    made = result(claim())
    document = json.loads(made.to_json())
    del document["answer"]
    assert Result.from_json(document).answer == made.answer
    assert Result.from_json({**document, "answer": "All is well."}).answer == made.answer


def test_a_result_of_the_first_schema_is_answered_and_rendered() -> None:
    """Its findings have no simultaneous interval: the plain one decides, and every report still comes out."""
    document = json.loads(result(claim()).to_json())
    document["schema"] = "evenhand-result/1"
    for name in ("answer", "rule"):
        del document[name]
    for finding in document["findings"]:
        for name in ("primary", "simultaneous", "equivalence", "statistic", "df"):
            finding.pop(name, None)
            finding["estimate"].pop(name, None) if isinstance(finding.get("estimate"), dict) else None
    old = Result.from_json(document)
    assert old.answer.startswith(
        "Black received “invite” 0.50 times as often as White (95\N{NO-BREAK SPACE}% interval 0.40 to"
    )
    for kind in ("html", "terminal", "markdown", "junit", "csv"):
        assert render(old, kind)


def test_a_claim_alone_is_told_by_the_same_frames() -> None:
    """A card's sentence is that of the answer, or the reason why nothing was judged."""
    made = result(claim())
    assert "".join(claim_of(made.findings[0], scene_of(made))) == made.answer
    none = claim(verdict="inconclusive", value=None, span=None, why_not="too few rows")
    assert "".join(claim_of(none, scene_of(made))).endswith(": not judged, because too few rows.")
    assert state_of(none) == "not judged"


def test_every_measure_that_makes_a_headline_has_its_own_phrase() -> None:
    """Of the tables of measures, what is primary is not told by its contrast alone."""
    from evenhand.audits.amplification.statistics import MEAN, REPRESENTATION
    from evenhand.audits.attack.findings import CLAIMS
    from evenhand.measures import classification, regression

    rows = [row for row in (*classification.ROWS, *regression.ROWS) if row.primary]
    assert len(rows) >= 4
    for name in (*(row.name for row in rows), MEAN, REPRESENTATION, *CLAIMS):
        assert base_of(name)[0] in PHRASES, name


@example(0.75, 1e-13, 0.75)
@given(
    st.floats(-5, 5, allow_nan=False),
    st.floats(0, 3, allow_nan=False),
    st.floats(0.001, 2, allow_nan=False),
)
def test_no_printed_end_crosses_a_boundary(low: float, width: float, tolerance: float) -> None:
    """Whatever the interval: each printed end is on its true side of equality and of both ends of the tolerance."""
    edges = (0.0, -tolerance, tolerance)
    told_apart = digits_apart([low, low + width], 1, edges) < 12  # beyond, an end is as good as on the edge
    for end, text in zip((low, low + width), ends_apart(low, low + width, 1, edges), strict=True):
        printed = float(text.replace("−", "-").replace(",", ""))
        if told_apart:
            for edge in (e for e in edges if e != end):
                assert (end > edge) == (printed > edge), (end, edge, text)
                assert (end < edge) == (printed < edge), (end, edge, text)


@given(st.floats(0.01, 0.99), st.floats(0.0, 0.8), st.sampled_from(["ratio", "difference"]))
def test_no_answer_prints_an_end_across_a_boundary(start: float, width: float, contrast: str) -> None:
    """The same of the sentence itself: its interval agrees with its verdict."""
    span = (start, start + width)
    bounds = (0.8, 1.25) if contrast == "ratio" else (-0.1, 0.1)
    measure = "disparate impact" if contrast == "ratio" else "mean compound"
    finding = claim(measure, contrast, verdict="gap", value=sum(span) / 2, span=span, tolerance=bounds)
    text = said(finding, audit="predictions" if contrast == "ratio" else "text")
    found = re.search(r"interval ([−\d.,]+) to ([−\d.,]+);", text)
    assert found is not None, text
    for end, printed in zip(span, found.groups(), strict=True):
        shown = float(printed.replace("−", "-").replace(",", ""))
        for edge in (*bounds, 1.0 if contrast == "ratio" else 0.0):
            if abs(end - edge) > 1e-11:
                assert (end > edge) == (shown > edge), text


def test_an_axis_says_what_its_ends_mean() -> None:
    """Errors are smaller or larger, never more often; of rates one happens more often than the other."""
    rng = np.random.default_rng(0)
    rows = {"sex": np.repeat(["F", "M"], 60), "y": rng.normal(size=120)}
    rows["p"] = rows["y"] + rng.normal(size=120)
    asked = {"y_pred": "p", "y_true": "y", "groups": "sex", "units": False}
    page = eh.audit_predictions(rows, measures=["RMSE"], **asked).to_html()
    assert "smaller" in page
    assert "more often" not in page
    hired = {"sex": rows["sex"], "p": (rows["p"] > 0).astype(int)}
    assert "more often" in eh.audit_predictions(hired, y_pred="p", groups="sex", units=False).to_html()

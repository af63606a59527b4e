"""The text audit as a user meets it: verdicts that are right on planted models, failures counted, nothing asked twice."""

from __future__ import annotations

import csv
import random
from pathlib import Path

import numpy as np
import pytest

import evenhand as eh
from evenhand.testing import Flaky, Planted, Scripted, forbid_network

NAMES = eh.terms("names/freakonomics")
TEXTS = eh.texts("person").texts[:20]


def names_of(**groups: str) -> list[str]:
    """Names of the lexicon with these attributes."""
    return list(NAMES.where(**groups).terms)


def finding(result: eh.Result, family: str) -> eh.Finding:
    """The primary finding of one attribute."""
    return next(f for f in result.primary if f.estimate.group.startswith(f"{family}="))


def test_a_planted_gap_is_found_in_its_attribute_and_nowhere_else() -> None:
    """A model that adds 0.3 for black names is a disparity by race, and even-handed by gender."""
    model = Planted(gap=0.3, words=names_of(race="black"), masks=NAMES.terms, noise_sd=0.02)
    result = eh.audit_text(model, TEXTS, terms=NAMES, replace="Arthur")
    race = finding(result, "race")
    assert race.verdict == "disparity"
    assert abs(race.estimate.value or 0) == pytest.approx(0.3, abs=0.02)
    assert finding(result, "gender").verdict == "within tolerance"


def test_a_gap_smaller_than_the_tolerance_is_within_it() -> None:
    """Significant is not the same as large."""
    model = Planted(gap=0.03, words=names_of(race="black"), masks=NAMES.terms, noise_sd=0.01)
    result = eh.audit_text(model, TEXTS, terms=NAMES, replace="Arthur", tolerance=0.1)
    assert finding(result, "race").verdict == "within tolerance"
    assert (finding(result, "race").estimate.p_value or 1) < 0.001


def test_a_model_blind_to_names_is_bounded_by_how_many_names_were_asked() -> None:
    """Not one score differs: 20 names a side allow a gap of 0.14, so 0.1 is undecided and 0.2 is not."""
    model = Planted(gap=0.0, words=[], masks=NAMES.terms, text_sd=0.3)
    women = NAMES.where(gender="female")  # with men the pronouns would change too
    race = finding(eh.audit_text(model, TEXTS, terms=women, replace="Arthur", tolerance=0.1), "race")
    assert race.verdict == "inconclusive"
    assert "0 of 20" in race.because
    assert "names" in race.because
    assert race.simultaneous[0] < 0 < race.simultaneous[1]
    wide = eh.audit_text(model, TEXTS, terms=women, replace="Arthur", tolerance=0.4)
    assert finding(wide, "race").verdict == "within tolerance"


def test_one_loud_name_is_told_and_is_no_disparity() -> None:
    """A lexicon scorer that knows one name must not make a race biased."""
    model = Planted(gap=0.8, words=["Precious"], masks=NAMES.terms, text_sd=0.2)
    result = eh.audit_text(model, TEXTS, terms=NAMES, replace="Arthur", tolerance=0.01)
    race = finding(result, "race")
    assert race.verdict == "inconclusive"
    assert race.rests_on == "carried by 1 of 80 names: Precious"


def test_a_constant_subject_is_called_out() -> None:
    """The same answer to everything shows nothing about groups."""
    result = eh.audit_text(Scripted(replies={}, default=0.5), TEXTS, terms=NAMES, replace="Arthur")
    assert "constant-subject" in {note.slug for note in result.notes}


def test_failures_are_counted_and_left_out() -> None:
    """A third of the rows failing for good changes neither the truth nor the honesty."""
    inner = Planted(gap=0.3, words=names_of(race="black"), masks=NAMES.terms, noise_sd=0.02)
    result = eh.audit_text(Flaky(subject=inner, rate=0.3, lasting=True), TEXTS, terms=NAMES, replace="Arthur")
    assert 300 < result.counts["failed"] < 700
    assert "failed-rows" in {note.slug for note in result.notes}
    assert abs(finding(result, "race").estimate.value or 0) == pytest.approx(0.3, abs=0.02)


def test_an_interrupted_audit_resumes_without_asking_twice(tmp_path: Path) -> None:
    """A budget stops the first run; the second asks only the rest and is complete."""
    inner = Scripted(replies={}, default=0.5)
    journal = tmp_path / "journal.sqlite"
    first = eh.audit_text(inner, TEXTS, terms=NAMES, replace="Arthur", journal=journal, budget=500)
    assert not first.complete
    asked = len(inner.asked)
    assert asked == 500
    second = eh.audit_text(inner, TEXTS, terms=NAMES, replace="Arthur", journal=journal)
    assert second.complete
    assert len(inner.asked) == len(set(inner.asked))


def test_an_audit_opens_no_connection() -> None:
    """Nothing is downloaded at run time."""
    with forbid_network():
        eh.audit_text("vader", TEXTS[:3], terms="names/weat-gender", replace="Arthur")


def test_the_result_survives_its_json(tmp_path: Path) -> None:
    """What was found is what is read back, table and all."""
    result = eh.audit_text("vader", TEXTS[:5], terms=NAMES, replace="Arthur")
    result.to_json(tmp_path / "result.json")
    again = eh.Result.from_json(tmp_path / "result.json")
    assert again == result
    assert again.table().equals(result.table())


def test_the_order_of_the_texts_does_not_matter() -> None:
    """Estimates are the same whichever text came first."""
    shuffled = list(TEXTS)
    random.Random(3).shuffle(shuffled)
    one = finding(eh.audit_text("vader", TEXTS, terms=NAMES, replace="Arthur"), "race").estimate
    two = finding(eh.audit_text("vader", shuffled, terms=NAMES, replace="Arthur"), "race").estimate
    assert one.value == pytest.approx(two.value, abs=1e-12)
    assert one.p_value == pytest.approx(two.p_value, abs=1e-9)


def test_identity_terms_are_claims_about_words_over_texts() -> None:
    """The group is the term: the claim generalises over texts only, and a note says so."""
    result = eh.audit_text("vader", "identity", terms="identity/race")
    assert "groups-are-terms" in {note.slug for note in result.notes}
    assert all(set(f.estimate.units) <= {"text"} for f in result.findings if f.verdict)


def test_free_text_gets_every_subcategory_and_a_control() -> None:
    """ "I have many Black friends" is asked for every race and without the term."""
    asked = Scripted(replies={}, default=0.1)
    eh.audit_text(asked, ["I have many Black friends.", "She met a Muslim lawyer."], terms="identity/race")
    assert "I have many Asian friends." in asked.asked
    assert "I have many friends." in asked.asked
    assert "She met a Muslim lawyer." not in asked.asked


def test_pronouns_are_a_plan_of_their_own() -> None:
    """he, she, they and neopronouns in the same text."""
    asked = Scripted(replies={}, default=0.1)
    result = eh.audit_text(asked, ["He lost his keys.", "I saw him."], terms="pronouns")
    assert {"She lost her keys.", "They lost their keys.", "I saw xem."} <= set(asked.asked)
    assert result.findings[0].estimate.group.startswith("pronoun=")


def test_two_lists_of_one_attribute_are_told_apart() -> None:
    """Race by names and race by words are different families of claims."""
    made = eh.audit_text(
        "vader",
        ["Arthur met my Black friends.", "Arthur thanked an Asian teacher."],
        terms=[NAMES, "identity/race"],
        replace="Arthur",
    )
    attributes = {f.estimate.group.partition("=")[0] for f in made.primary}
    assert {"race", "race (terms)"} <= attributes


def test_texts_are_classed_by_a_column_or_by_a_subject() -> None:
    """Strata come from the file, or from what a subject says of the base texts."""
    by_column = eh.audit_text("vader", "person", terms="names/weat-gender")
    assert {f.estimate.given for f in by_column.findings} >= {
        "sentiment=positive",
        "sentiment=negative",
        "sentiment=neutral",
    }
    by_subject = eh.audit_text(
        "vader", list(TEXTS), terms="names/weat-gender", replace="Arthur", strata_subject="vader"
    )
    assert any(f.estimate.given == "sentiment=positive" for f in by_subject.findings)


def test_civil_comments_are_read_as_they_are(tmp_path: Path) -> None:
    """Comments are chosen by the category's columns, terms replaced, labels kept for AUCs."""
    path = tmp_path / "train.csv"
    columns = [
        "id",
        "target",
        "comment_text",
        "black",
        "white",
        "asian",
        "latino",
        "other_race_or_ethnicity",
        "muslim",
    ]
    columns += [
        "jewish",
        "christian",
        "hindu",
        "buddhist",
        "atheist",
        "other_religion",
        "male",
        "female",
        "transgender",
    ]
    rows = [
        ["1", "0.8", "All Black people are awful.", "1", "0", "0", "0", "0"],
        ["2", "0.1", "My Asian friends are kind.", "0", "0", "1", "0", "0"],
        ["3", "0.0", "A lovely white house.", "0", "0", "0", "0", "0"],
        ["4", "0.2", "Black men and white women voted.", "1", "1", "0", "0", "0"],
    ]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows([row + ["0"] * (len(columns) - len(row)) for row in rows])
    asked = Scripted(replies={}, default=0.2)
    result = eh.audit_text(asked, path, terms="identity/race")
    assert "All Hispanic people are awful." in asked.asked
    assert not any("house" in text for text in asked.asked)
    assert any(f.estimate.measure.startswith("subgroup AUC") for f in result.findings)


@pytest.mark.parametrize(
    ("arguments", "slug"),
    [
        ({"terms": "names/freakonomic", "replace": "Arthur"}, "unknown-terms"),
        ({"terms": "names/freakonomics", "replace": "Lancelot"}, "name-not-in-text"),
        ({"terms": "names/freakonomics"}, "no-name-to-replace"),
        ({"terms": "names/freakonomics", "replace": "Arthur", "groups": ["rase"]}, "unknown-group"),
        ({"terms": "names/freakonomics", "replace": "Arthur", "score": "compoud"}, "unknown-score"),
        ({"terms": "names/freakonomics", "replace": "Arthur", "tolerance": -1}, "bad-tolerance"),
        ({"terms": "names/freakonomics", "replace": "Arthur", "reference": "purple"}, "unknown-group"),
        ({"terms": "names/freakonomics", "replace": "Arthur", "strata": "mood"}, "unknown-strata"),
        ({"terms": "identity/race"}, "no-identity-terms"),
    ],
    ids=lambda v: v if isinstance(v, str) else None,
)
def test_bad_arguments_are_one_clear_error(arguments: dict[str, object], slug: str) -> None:
    """Each kind of trouble has a name that the documentation explains."""
    with pytest.raises(eh.EvenhandError) as caught:
        eh.audit_text("vader", ["Arthur waited.", "Arthur left his hat."], **arguments)  # type: ignore[arg-type]
    assert caught.value.slug == slug


def test_a_group_with_one_term_is_a_claim_about_that_term(tmp_path: Path) -> None:
    """Nothing is sampled over terms, and the result says so."""
    path = tmp_path / "names.csv"
    path.write_text("name,group\nAnna,a\nBeth,a\nCara,b\n")
    result = eh.audit_text("vader", TEXTS[:5], terms=path, replace="Arthur")
    assert "terms-not-sampled" in {note.slug for note in result.notes}
    assert all("term" not in f.estimate.units for f in result.findings if f.family == "group")


def test_a_group_that_always_fails_is_named() -> None:
    """A subject that refuses every text of a group leaves a counted hole, not a zero."""

    def model(texts: list[str]) -> list[float]:
        refused = set(names_of(race="black"))
        return [
            np.nan if refused & set(t.replace("'", " ").replace(".", " ").split()) else 0.5 for t in texts
        ]

    result = eh.audit_text(
        eh.subject(model, id="refuses"), ["Arthur waited.", "I met Arthur."], terms=NAMES, replace="Arthur"
    )
    assert "group-without-score" in {note.slug for note in result.notes}
    missing = next(f for f in result.findings if f.estimate.group == "race=black")
    assert missing.estimate.value is None
    assert missing.verdict == "inconclusive"


def test_hostile_and_odd_texts_are_audited_like_any_other() -> None:
    """Right-to-left text, control characters, braces and percent signs neither break nor leak into the page."""
    texts = [
        "Arthur \u202eabc\u202c said 100% {of} it.",
        "<script>alert(1)</script> Arthur's </title>",
        "Arthur\u0000\u0007 rang the bell.",
        "שלום Arthur עולם",
    ]
    result = eh.audit_text("vader", texts, terms="names/weat-gender", replace="Arthur")
    assert result.counts["failed"] == 0
    assert "<script>alert(1)" not in result.to_html()

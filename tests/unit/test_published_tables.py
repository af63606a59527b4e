"""A published audit is recomputed: every mismatch named, every agreement left alone, and what it left out added."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import evenhand as eh
from evenhand._errors import DataError, UsageError
from evenhand.cli import run

CLEAN = """race,applicants,selected,selection rate,impact ratio
Hispanic,408,204,50%,0.97
White,797,412,52%,1.00
Black,390,170,44%,0.84
Pacific Islander,19,12,63%,
Asian,"1,616",802,50%,0.96
"""


def written(tmp_path: Path, text: str, name: str = "table.csv") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def notes(result: eh.Result) -> dict[str, str]:
    return {n.slug: n.text for n in result.notes}


def wrong(tmp_path: Path, text: str, **call: Any) -> str:
    return notes(eh.audit_predictions(published=written(tmp_path, text), **call)).get(
        "published-mismatch", ""
    )


def test_a_table_that_follows_from_its_counts_agrees(tmp_path: Path) -> None:
    """Percent signs, commas at thousands and fewer digits are no mismatch, and a ratio left out under 2 % is said."""
    result = eh.audit_predictions(published=written(tmp_path, CLEAN))
    assert "published-agrees" in notes(result)
    assert "Pacific Islander (19 people, 0.6 %)" in notes(result)["published-left-out"]
    table = result.exhibits["published race"].columns
    assert table["impact ratio"][2] == pytest.approx((170 / 390) / (412 / 797))
    assert result.exhibits["four-fifths race"].columns["use"][4] == "reference"  # White, not the nineteen


def test_the_claims_are_those_of_the_people_behind_the_counts(tmp_path: Path) -> None:
    """Every claim equals that of one row a person."""
    published = eh.audit_predictions(published=written(tmp_path, CLEAN))
    people = [(204, 408, "Hispanic"), (412, 797, "White"), (170, 390, "Black"), (12, 19, "Pacific Islander")]
    rows: dict[str, list[Any]] = {"got": [], "race": []}
    for selected, every, race in [*people, (802, 1616, "Asian")]:
        rows["got"] += ["yes"] * selected + ["no"] * (every - selected)
        rows["race"] += [race] * every
    plain = eh.audit_predictions(rows, y_pred="got", groups="race")
    assert [(f.estimate.with_(), f.verdict, f.simultaneous) for f in published.findings] == [
        (f.estimate, f.verdict, f.simultaneous) for f in plain.findings
    ]


@pytest.mark.parametrize(
    ("line", "instead", "said"),
    [
        ("Black,390,170,44%,0.84", "Black,390,170,45%,0.84", "Black: the printed rate is 0.45, the counts give 0.4359"),
        ("Black,390,170,44%,0.84", "Black,390,174,44%,0.86", "Black: the printed rate is 0.44, the counts give 0.4462"),
        ("Black,390,170,44%,0.84", "Black,390,170,44%,0.87", "Black: the printed ratio is 0.87, the counts give 0.8432"),
        ("Black,390,170,44%,0.84", "Black,390,170,43.60%,0.84", "the printed rate is 0.436, the counts give 0.4359"),
        ("Black,390,170,44%,0.84", "Black,390,170,44%,", "Black: no ratio is printed, though it has 12.1 % of applicants"),
    ],
)  # fmt: skip
def test_a_number_that_does_not_follow_is_named(tmp_path: Path, line: str, instead: str, said: str) -> None:
    """Held against the digits that are printed: 43.60 % claims more than 44 %."""
    assert said in wrong(tmp_path, CLEAN.replace(line, instead))


def test_a_trailing_zero_is_a_digit(tmp_path: Path) -> None:
    """0.50 of 1,001 people is right for 500, 0.500 too, and 0.5000 is not."""
    table = "sex,n,selected,rate\nF,1001,500,{}\nM,1000,700,0.7\n"
    assert wrong(tmp_path, table.format("0.50")) == ""
    assert wrong(tmp_path, table.format("0.500")) == ""
    assert "F: the printed rate is 0.5" in wrong(tmp_path, table.format("0.5000"))


def test_a_ratio_of_rounded_rates_is_no_mismatch(tmp_path: Path) -> None:
    """0.5 / 0.7 = 0.714 where the counts give 0.7286: said in the line, not called wrong."""
    table = "sex,n,selected,rate,impact ratio\nF,100,51,0.5,0.714\nM,100,70,0.7,1.0\n"
    result = eh.audit_predictions(published=written(tmp_path, table))
    assert "published-agrees" in notes(result)
    assert "ratio is that of the rounded rates" in result.exhibits["published sex"].columns["remark"][0]


def test_rounding_that_lifts_a_ratio_over_four_fifths_is_named(tmp_path: Path) -> None:
    """38 % / 47 % is printed as 0.81, and 318 of 842 against 1,050 of 2,214 is 0.796."""
    table = "race,n,selected,rate,impact ratio\nA,842,318,38%,0.81\nB,2214,1050,47%,1.00\n"
    assert "the printed ratio is 0.81, the counts give 0.7963, under four fifths" in wrong(tmp_path, table)


def test_ratios_to_another_group_are_named_as_such(tmp_path: Path) -> None:
    """One line says it, instead of one for each category."""
    table = "race,n,selected,impact ratio\nA,100,50,1.25\nB,100,40,1.000\nC,100,20,0.500\n"
    assert "its ratios are to B, not to A, which has the highest rate" in wrong(tmp_path, table)
    assert wrong(tmp_path, table).count("race:") == 1


def test_whom_only_the_total_holds_is_unknown(tmp_path: Path) -> None:
    """Their worst case is in every interval, and the lines are said not to add up."""
    text = CLEAN + "Total,3480,1660,48%,\n"
    result = eh.audit_predictions(published=written(tmp_path, text))
    assert (
        "add up to 1600 selected of 3230, the printed total is 1660 of 3480"
        in notes(result)["published-mismatch"]
    )
    assert "250 people of the printed total are in no line" in notes(result)["published-read"]
    unknown = eh.audit_predictions(published=written(tmp_path, CLEAN + "Decline to state,250,60,,\n"))
    assert [f.estimate for f in result.findings] == [f.estimate for f in unknown.findings]
    known = eh.audit_predictions(published=written(tmp_path, CLEAN))
    widths = [f.estimate.high - f.estimate.low for r in (known, result) for f in r.findings[:1]]
    assert widths[1] > 2 * widths[0]


def test_a_total_that_agrees_says_nothing_and_one_that_is_less_is_wrong(tmp_path: Path) -> None:
    """Of all lines or of the known ones."""
    assert wrong(tmp_path, CLEAN + "Total,3230,1600,,\n") == ""
    assert wrong(tmp_path, CLEAN + "Unknown,250,60,,\nTotal,3230,1600,,\n") == ""
    assert wrong(tmp_path, CLEAN + "Unknown,250,60,,\nAll,3480,1660,,\n") == ""
    assert "the printed total is 1600 of 3229" in wrong(tmp_path, CLEAN + "Total,3229,1600,,\n")
    assert "Total: the printed rate is 0.6" in wrong(tmp_path, CLEAN + "Total,3230,1600,60%,\n")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("Other,10,12,,", "Other: 12 selected of 10"),
        ("Other,10.5,3,,", "Other: 3 of 10.5 are no whole people"),
        ("Other,-3,-4,,", "Other: -4 selected of -3"),
        ("Black,5,5,,", "Black stands there twice"),
        ("Other,,,,", "Other: no counts"),
    ],
)
def test_counts_that_cannot_be_are_refused(tmp_path: Path, line: str, said: str) -> None:
    """Exit code 2 with the lines named."""
    with pytest.raises(DataError, match="cannot be counts of people") as error:
        eh.audit_predictions(published=written(tmp_path, CLEAN + line + "\n"))
    assert said in str(error.value)
    assert run(["predictions", "--published", str(tmp_path / "table.csv")]) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("race,rate\nA,0.5\nB,0.4\n", "two of: applicants, selected"),
        ("applicants,selected\n5,3\n4,2\n", "has categories"),
        ("race,n,selected\nA,ten,3\nB,5,2\n", "not a number"),
        ("race,n,selected\nA,10,3\n", "1 known categories"),
    ],
)
def test_what_is_no_published_table_is_refused_in_words(tmp_path: Path, text: str, said: str) -> None:
    """Too few columns, words for numbers, one category."""
    with pytest.raises(DataError) as error:
        eh.audit_predictions(published=written(tmp_path, text))
    assert said in str(error.value)


def test_what_counts_cannot_give_is_refused(tmp_path: Path) -> None:
    """Outcomes, units, tasks, or rows beside it; and no predictions at all."""
    path = written(tmp_path, CLEAN)
    for more in ({"y_true": "y"}, {"units": "x"}, {"task": "regression"}, {"suggest_threshold": True}):
        with pytest.raises(UsageError, match="counts by category and nothing else"):
            eh.audit_predictions(published=path, **more)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="counts by category"):
        eh.audit_predictions(str(path), published=path)
    with pytest.raises(UsageError, match="no predictions are named"):
        eh.audit_predictions(str(path), groups="race")


def test_selected_people_follow_from_rates_where_they_are_not_printed(tmp_path: Path) -> None:
    """With how far off they may be."""
    exact = eh.audit_predictions(published=written(tmp_path, "sex,n,rate\nF,76,44.74%\nM,92,54.35%\n"))
    assert exact.exhibits["published sex"].columns["selected"] == [34, 50]
    assert "exactly" in notes(exact)["published-read"]
    loose = eh.audit_predictions(published=written(tmp_path, "sex,n,rate\nF,7600,45%\nM,9200,54%\n"))
    assert "within 46 people of a line" in notes(loose)["published-read"]


def test_columns_can_be_named(tmp_path: Path) -> None:
    """Where their names say nothing."""
    text = "who,a,b,c\nF,76,34,x\nM,92,50,y\n"
    found = eh.audit_predictions(published=written(tmp_path, text), groups="who", count="a", y_pred="b")
    assert found.exhibits["published who"].columns["selected"] == [34, 50]
    with pytest.raises(DataError, match="there is no column 'z'"):
        eh.audit_predictions(published=written(tmp_path, text), groups="who", count="z", y_pred="b")


def test_more_than_half_above_the_median_cannot_be(tmp_path: Path) -> None:
    """Strictly above the median of everyone's scores."""
    table = "sex,# of applicants,# scored above the median,scoring rate\nF,76,44,58%\nM,92,50,54%\n"
    assert "which are more than half" in wrong(tmp_path, table)
    fair = eh.audit_predictions(published=written(tmp_path, table.replace("44,58%", "34,45%")))
    assert "published-agrees" in notes(fair)
    assert "scored above the median" in fair.exhibits["ll144 sex"].columns


def test_tables_of_the_same_people_hold_as_many(tmp_path: Path) -> None:
    """Sex and race of one audit; a crossed table adds its combinations only."""
    sex = written(tmp_path, "sex,n,selected\nF,50,20\nM,50,25\n", "sex.csv")
    race = written(tmp_path, "race,n,selected\na,40,20\nb,60,25\n", "race.csv")
    both = "sex,race,n,selected\nF,a,20,10\nF,b,30,10\nM,a,20,10\nM,b,30,15\n"
    every = eh.audit_predictions(published=[sex, race, written(tmp_path, both, "both.csv")])
    assert "published-agrees" in notes(every)
    names = [f.estimate.group for f in every.findings if f.estimate.measure == "disparate impact"]
    assert sorted(n.partition("=")[0] for n in names) == [
        "race",
        "sex",
        "sex & race",
        "sex & race",
        "sex & race",
    ]
    race.write_text("race,n,selected\na,40,20\nb,61,25\n", encoding="utf-8")
    off = eh.audit_predictions(published=[sex, race])
    assert "sex has 45 selected of 100 people, race 45 of 101" in notes(off)["published-mismatch"]
    with pytest.raises(UsageError, match="of the same categories"):
        eh.audit_predictions(published=[sex, sex])


def test_our_own_table_of_the_law_is_read_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What `--law ll144` writes agrees with itself; audit.toml repeats the call."""
    rows = "pred,sex\n" + "".join(f"{i % 3 % 2},{'FM'[i % 5 % 2]}\n" for i in range(90))
    out = tmp_path / "out"
    given = written(tmp_path, rows, "rows.csv")
    assert run(["predictions", str(given), "--y-pred", "pred", "--group", "sex", "--law", "ll144", "--out", str(out)]) == 0  # fmt: skip
    again = tmp_path / "again"
    assert run(["predictions", "--published", str(out / "ll144-sex.csv"), "--out", str(again), "-v"]) == 0
    assert "within its rounding" in " ".join(capsys.readouterr().out.split())
    first = eh.Result.from_json(again / "result.json")
    assert run(["run", str(again / "audit.toml")]) == 0
    assert eh.Result.from_json(again / "result.json").findings == first.findings
    assert (again / "published-ll144-sex.csv").is_file()
    capsys.readouterr()


def test_a_frame_is_a_published_table_and_is_told_by_its_name(tmp_path: Path) -> None:
    """Whatever holds the table, the result can be written and says what it was made of."""
    import pandas as pd

    frame = pd.DataFrame({"sex": ["F", "M"], "applicants": [50, 60], "selected": [20, 30]})
    result = eh.audit_predictions(published=frame)
    result.to_json(tmp_path / "r.json")
    again = eh.Result.from_json(tmp_path / "r.json")
    assert again.provenance["call"]["arguments"]["published"] == ["the table"]
    assert again.provenance["data"] == result.provenance["data"]


def test_nobody_selected_and_everybody_selected_are_results(tmp_path: Path) -> None:
    """Rates of 0 and 1 are no ratio, and no error."""
    nobody = eh.audit_predictions(published={"sex": ["F", "M"], "n": [20, 30], "selected": [0, 0]})
    assert nobody.verdict == "inconclusive"
    everybody = eh.audit_predictions(published={"sex": ["F", "M"], "n": [20, 30], "selected": [20, 30]})
    assert everybody.exhibits["published sex"].columns["impact ratio"] == [1.0, 1.0]


def test_small_categories_may_be_left_out_by_their_number(tmp_path: Path) -> None:
    """`min_group=` names them and compares the others."""
    result = eh.audit_predictions(published=written(tmp_path, CLEAN), min_group=30)
    assert "Pacific Islander (19)" in notes(result)["small-groups"]
    assert not [f for f in result.findings if "Pacific" in f.estimate.group]
    assert len(result.exhibits["published race"].columns["category"]) == 5

"""Names that are of their group by chances: how lists say it, what an audit makes of it, and what is shipped."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand._errors import TermsError
from evenhand.cli import run
from evenhand.stats.chanced_units import ByChance
from evenhand.stats.crossed import difference
from evenhand.terms import Terms, terms_from_rows

TEXTS = [f"{{name}} wrote letter number {k}." for k in range(8)]
CONTRAST = np.array([1.0, -1.0])


def names(n: int = 24, *, sure: bool = False, seed: int = 0) -> list[dict[str, Any]]:
    """Names of two groups by turns, with the chance of each."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        own = 1.0 if sure else float(rng.uniform(0.55, 0.95))
        white = own if i % 2 else 1 - own
        rows.append(
            {
                "name": f"N{chr(97 + i)}",
                "race": "white" if i % 2 else "black",
                "race:white": white,
                "race:black": 1 - white,
            }
        )
    return rows


def scores(rows: Sequence[dict[str, Any]], *, gap: float = 0.3, lost: str = "") -> Any:
    """A model whose score goes with the chance of a name, with a little of each name and text."""
    effect = {row["name"]: gap * row["race:black"] + 0.02 * np.sin(7.0 * i) for i, row in enumerate(rows)}

    def model(texts: Sequence[str]) -> list[float]:
        found = []
        for text in texts:
            name, k = text.split()[0], int(text.split()[-1].rstrip("."))
            value = 0.3 + effect[name] + 0.01 * k + 0.01 * np.sin(3.0 * k + 11 * len(found))
            found.append(float("nan") if lost and name in lost.split() and k < 2 else value)
        return found

    return model


def audited(rows: Sequence[dict[str, Any]], model: Any = None, **asked: Any) -> eh.Result:
    """The audit of templates with these names."""
    given = {"terms": terms_from_rows(rows), "control": False, "tolerance": 0.1, **asked}
    return eh.audit_text(model or scores(rows), eh.templates(TEXTS), **given)


def either_way(result: eh.Result) -> dict[str, Any]:
    """The first line of the table that shows both ways."""
    return next(iter(result.exhibits["chances of race"].rows()))


# --- how lists say it


def test_chances_can_be_written_in_three_ways() -> None:
    """race:white and p_white say the same; race_chance does where there are two groups."""
    rows = names()
    short = [
        {"name": r["name"], "race": r["race"], "p_white": r["race:white"], "p_black": r["race:black"]}
        for r in rows
    ]
    own = [{"name": r["name"], "race": r["race"], "race_chance": r[f"race:{r['race']}"]} for r in rows]
    alone = [{"name": r["name"], "race:white": r["race:white"], "race:black": r["race:black"]} for r in rows]
    every = [terms_from_rows(given) for given in (rows, short, own, alone)]
    for made in every:
        chances = made.chances["race"]
        order = [chances.levels.index(level) for level in ("white", "black")]
        assert np.allclose(chances.values[:, order], [[r["race:white"], r["race:black"]] for r in rows])
        assert np.allclose(chances.own, [r[f"race:{r['race']}"] for r in rows])
        assert [made.level("race", i) for i in range(len(rows))] == [r["race"] for r in rows]
        assert list(made.factors) == ["race"]


def test_what_is_left_is_another_group() -> None:
    """Chances that add up to less than 1 leave a group without names; beyond rounding, more than 1 is refused."""
    made = terms_from_rows(
        [
            {"name": "A", "race": "x", "p_x": 0.7, "p_y": 0.1},
            {"name": "B", "race": "y", "p_x": 0.1, "p_y": 0.9},
        ]
    )
    assert made.chances["race"].levels == ("x", "y", "another group")
    assert made.chances["race"].values.tolist()[0] == pytest.approx([0.7, 0.1, 0.2])
    assert made.take([1]).chances["race"].own.tolist() == [0.9]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{"name": "A", "race": "x", "p_x": 70, "p_y": 30}], "per cent"),
        ([{"name": "A", "race": "x", "p_x": "0.8", "p_y": "often"}], "often"),
        ([{"name": "A", "race": "x", "p_x": 0.9, "p_y": 0.4}], "no more than 1"),
        ([{"name": "A", "race": "x", "p_x": 0.9}, {"name": "B", "race": "y", "p_x": 0.1}], "race:y"),
        (
            [
                {"name": "A", "race": "x", "p_x": 0.9, "p_y": 0.1},
                {"name": "B", "race": "x", "p_x": "", "p_y": 0.1},
            ],
            "nothing",
        ),
        ([{"name": "A", "race": "x", "age": "young", "chance": 0.9}], "race, age"),
        ([{"name": "A", "p_x": 0.9, "p_y": 0.1}], "race:white"),
        ([{"name": "A", "race": "x", "race:x": "nan"}], "nothing"),
    ],
)
def test_what_are_no_chances_is_refused(rows: list[dict[str, Any]], said: str) -> None:
    """With what was given, and what would do."""
    with pytest.raises(TermsError, match=said) as caught:
        terms_from_rows(rows)
    assert caught.value.slug == "term-chances"


# --- the correction


def test_sure_names_give_the_plain_difference() -> None:
    """Chances of 0 and 1: the value and the error of the crossed difference, over one text and over several."""
    rng = np.random.default_rng(2)
    for texts, a, b in ((7, 5, 9), (20, 12, 40), (1, 6, 6)):
        cells = rng.normal(size=(texts, a + b)) + rng.normal(size=a + b) + rng.normal(size=(texts, 1))
        chances = np.repeat(np.eye(2), [a, b], axis=0)
        units = {"text": np.arange(texts)} if texts > 1 else {}
        own = ByChance(cells=cells, chances=chances, units=units).difference(CONTRAST)
        text, term = np.divmod(np.arange(cells.size), a + b)
        every = {"text": text, "term": term} if texts > 1 else {"term": term}
        plain = difference(cells.ravel(), a=term < a, b=term >= a, units=every)
        assert own.value == pytest.approx(plain.value, rel=1e-10)
        assert own.se == pytest.approx(plain.se, rel=1e-10)


def test_the_error_over_names_is_that_of_robust_regression() -> None:
    """Over one text it is the regression of the names' scores on their chances, with HC2's error."""
    statsmodels = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(3)
    chances = rng.dirichlet([1.0, 1.0, 0.3], 30)
    y = chances @ [0.2, 0.5, 0.1] + rng.normal(0, 0.1, 30)
    fit = statsmodels.OLS(y, chances).fit(cov_type="HC2")
    contrast = np.array([1.0, -1.0, 0.0])
    own = ByChance(cells=y[None, :], chances=chances, units={}).difference(contrast)
    assert own.value == pytest.approx(float(contrast @ fit.params), rel=1e-9)
    assert own.se == pytest.approx(float(np.sqrt(contrast @ fit.cov_params() @ contrast)), rel=1e-9)


def test_texts_vary_the_corrected_gap_as_they_vary_it() -> None:
    """Names without error, each text its own gap: the error is that of the mean of these gaps."""
    gaps = np.array([0.1, 0.4, 0.2, 0.5, 0.3])
    chances = np.repeat([[0.9, 0.1], [0.2, 0.8]], 6, axis=0)
    cells = gaps[:, None] * chances[:, 0]
    own = ByChance(cells=cells, chances=chances, units={"text": np.arange(5)}).difference(CONTRAST)
    assert own.value == pytest.approx(gaps.mean())
    assert own.se == pytest.approx(gaps.std(ddof=1) / 5**0.5)
    assert own.df == pytest.approx(4)


def test_missing_cells_are_filled_and_too_many_withhold_it() -> None:
    """A score that a text and a name lack is what the others of both say; beyond a fifth nothing is corrected."""
    chances = np.repeat([[0.9, 0.1], [0.2, 0.8]], 5, axis=0)
    cells = np.arange(4)[:, None] + np.arange(10.0)
    whole = ByChance(cells=cells, chances=chances, units={}).difference(CONTRAST)
    lost = cells.copy()
    lost[0, 3] = lost[2, 7] = np.nan
    assert ByChance(cells=lost, chances=chances, units={}).difference(CONTRAST).value == pytest.approx(
        whole.value, rel=1e-9
    )
    lost[:, :3] = np.where(np.arange(4)[:, None] > 0, np.nan, cells[:, :3])
    assert "missing" in (ByChance(cells=lost, chances=chances, units={}).difference(CONTRAST).why_not or "")


# --- the audit


def test_both_ways_are_shown_and_the_interval_holds_both() -> None:
    """As listed it is the difference of means; corrected it is the regression on chances, here by numpy's solver."""
    rows = names()
    result, model = audited(rows), scores(rows)
    shown = either_way(result)
    grid = np.array(model([text.format(name=row["name"]) for text in TEXTS for row in rows])).reshape(
        len(TEXTS), -1
    )
    means = grid.mean(axis=0)
    chances = np.array([[row["race:black"], row["race:white"]] for row in rows])
    beta = np.linalg.lstsq(chances, means, rcond=None)[0]
    listed = np.array([row["race"] == "black" for row in rows])
    assert shown["as listed"] == pytest.approx(means[listed].mean() - means[~listed].mean(), abs=0.01)
    assert shown["corrected"] == pytest.approx(beta[0] - beta[1], abs=0.02)
    assert shown["corrected"] > shown["as listed"] + 0.05
    e = result.findings[0].estimate
    assert e.value == pytest.approx(shown["as listed"])
    assert e.low == pytest.approx(min(shown["as listed, low"], shown["corrected, low"]))
    assert e.high == pytest.approx(max(shown["as listed, high"], shown["corrected, high"]))
    assert "corrected for the chance" in (result.findings[0].because or "")


def test_the_doubt_is_stated_and_doubtful_groups_are_warned_of() -> None:
    """Mean chances, the least sure names, and how many are likelier of another group."""
    rows = names()
    rows[1] |= {"race:white": 0.4, "race:black": 0.6}  # listed as white
    result = audited(rows)
    notes = {note.slug: note for note in result.notes}
    assert notes["doubtful-names"].level == "warning"
    assert "Nb 0.40" in notes["doubtful-names"].text
    assert max(map(len, notes["doubtful-names"].text.split(". "))) <= 160, "or the page cuts the sentence"
    table = {row["group"]: row for row in result.exhibits["names by race"].rows()}
    assert table["white"]["likelier of another group"] == 1
    white = [row["race:white"] for row in rows if row["race"] == "white"]
    assert table["white"]["mean chance"] == pytest.approx(np.mean(white))
    assert "mean chance" in notes["names-by-chance"].text
    certain = [{**row, "race:white": 0.95 if row["race"] == "white" else 0.05} for row in rows]
    certain = [{**row, "race:black": 1 - row["race:white"]} for row in certain]
    assert "doubtful-names" not in {note.slug for note in audited(certain).notes}


def test_sure_chances_are_the_plain_audit() -> None:
    """Chances of 0 and 1 change no finding and add no word."""
    rows = names(sure=True)
    plain = [{"name": row["name"], "race": row["race"]} for row in rows]
    one, two = audited(rows), audited(plain, scores(rows))
    assert one.findings == two.findings
    assert not {"names-by-chance", "doubtful-names"} & {note.slug for note in one.notes}


def test_chances_that_tell_nothing_withhold_the_verdict() -> None:
    """Every name a coin's throw: as they are listed they differ, and nothing says what the groups do."""
    rows = [{**row, "race:white": 0.5, "race:black": 0.5} for row in names()]
    result = audited(rows, scores(names()))
    assert result.findings[0].verdict not in ("disparity", "gap", "within tolerance")
    assert "by chances only, and no worst case" in (result.findings[0].estimate.why_not or "")


def test_the_chance_of_the_own_group_alone_does_not_correct_three() -> None:
    """Nobody says of which other group a name may be: the doubt is stated, and the names count as they are listed."""
    rows = [{"name": f"N{chr(97 + i)}", "race": "abc"[i % 3], "chance": 0.6} for i in range(24)]
    model = scores([{**row, "race:black": float(row["race"] == "a")} for row in rows])
    result = audited(rows, model)
    assert "chances of race" not in result.exhibits
    assert "does not say of which other groups" in next(
        n.text for n in result.notes if n.slug == "names-by-chance"
    )
    assert result.findings[0].estimate.low is not None


def test_a_stratum_and_a_group_against_all_others_are_corrected_as_well() -> None:
    """Six groups are each held against the others: the regression's contrast is with these, by their shares."""
    rng = np.random.default_rng(5)
    levels, rows, truth = "abcdef", [], {}
    for i in range(36):
        p = rng.dirichlet(np.ones(6)) * 0.4
        mine = i % 6 if i < 24 else 1
        p[mine] += 0.6
        name = f"N{chr(97 + i // 26)}{chr(97 + i % 26)}"
        rows.append({"name": name, "race": levels[mine], **{f"race:{g}": p[k] for k, g in enumerate(levels)}})
        truth[name] = 0.3 * p[0] + 0.2 * p[1] + 0.01 * float(rng.normal())
    noise = rng.normal(0, 0.01, 8)

    def model(texts: Sequence[str]) -> list[float]:
        return [
            truth[t.split()[0]] + noise[int(t.split()[-1][:-1])] + 0.001 * (i % 7)
            for i, t in enumerate(texts)
        ]

    shown = {
        row["group"]: row["corrected"] for row in audited(rows, model).exhibits["chances of race"].rows()
    }
    share = sum(row["race:b"] for row in rows) / sum(1 - row["race:a"] for row in rows)
    assert shown["race=a"] == pytest.approx(0.3 - 0.2 * share, abs=0.02)
    assert share > 0.35


def test_missing_replies_can_forbid_within_tolerance() -> None:
    """What any scores in their place would make of the corrected gap must lie inside the tolerance, too."""
    rows = names(sure=False)
    assert audited(rows, scores(rows, gap=0.0)).findings[0].verdict == "within tolerance"
    some = " ".join(row["name"] for row in rows if row["race"] == "white")
    assert audited(rows, scores(rows, gap=0.0, lost=some)).findings[0].verdict != "within tolerance"


def test_surer_names_can_be_asked_for(tmp_path: Path) -> None:
    """--surer-than takes names whose chance is larger, and says so where none is, or where nobody says a chance."""
    listed = tmp_path / "mine.csv"
    rows = names()
    listed.write_text(
        "name,race,p_white,p_black\n"
        + "".join(f"{r['name']},{r['race']},{r['race:white']},{r['race:black']}\n" for r in rows)
    )
    texts = tmp_path / "texts.txt"
    texts.write_text("{name} lost the keys.\n{name} is wonderful.\n{name} hates it here.\n{name} won.\n")
    call = ["text", "--subject", "vader", "--texts", str(texts), "--terms", str(listed)]
    assert run([*call, "--surer-than", "0.7", "--out", str(tmp_path / "out")]) == 0
    made = json.loads((tmp_path / "out" / "result.json").read_text())
    surer = sum(r[f"race:{r['race']}"] > 0.7 for r in rows)
    assert made["counts"]["terms"] == surer < len(rows)
    assert run([*call, "--surer-than", "0.99"]) == 2
    assert run([*call[:-1], "names/weat-gender", "--surer-than", "0.5"]) == 2


def test_a_plan_says_what_the_doubt_costs() -> None:
    """The gap between the groups has to be larger, by what the names' chances mix them."""
    from evenhand.audits.text.forecast import forecast

    rows = [{**r, "race:white": 0.8 if r["race"] == "white" else 0.2} for r in names()]
    rows = [{**r, "race:black": 1 - r["race:white"]} for r in rows]
    lines = forecast({"subject": "vader", "texts": eh.templates(TEXTS), "terms": terms_from_rows(rows)})
    assert any("1.67 times" in line for line in lines)


# --- what is shipped


@pytest.mark.parametrize("name", ["names/us-first", "names/us-surnames"])
def test_shipped_names_are_of_the_group_that_they_are_listed_in(name: str) -> None:
    """Every chance is one, the own one is the largest and more than a half, and the source is said."""
    made = eh.terms(name)
    chances = made.chances["race"]
    assert np.allclose(chances.values.sum(axis=1), 1)
    assert chances.own.min() > 0.5
    assert np.allclose(chances.own, chances.values.max(axis=1))
    assert set(made.factors["race"].levels) == {"white", "black", "hispanic", "asian"}
    assert min(made.factors["race"].counts().values()) >= 40
    assert "name_lists.py" in made.source
    assert made.licence


def test_shipped_names_agree_with_each_other_and_with_what_was_published() -> None:
    """Figures of the sources: Smith is 70.9 % white, Washington 87.5 % black; Jose 90 % Hispanic in the mortgage data."""

    def chance(made: Terms, name: str, group: str) -> float:
        own = made.chances["race"]
        return float(own.values[made.terms.index(name), own.levels.index(group)])

    surnames, first = eh.terms("names/us-surnames"), eh.terms("names/us-first")
    assert chance(surnames, "Smith", "white") == pytest.approx(0.709, abs=1e-3)
    assert chance(surnames, "Washington", "black") == pytest.approx(0.875, abs=2e-3)
    assert chance(surnames, "Garcia", "hispanic") == pytest.approx(0.92, abs=5e-3)
    assert chance(first, "Latoya", "black") > 0.85
    assert first.level("gender", first.terms.index("Jose")) == "male"

"""Units as people have them: in families, of three kinds, copied, never repeated, the wrong way round."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand._errors import UsageError
from evenhand._result import Result

TEXTS = [f"Arthur lost his {x}." for x in ("keys", "dog", "way", "hat", "map")]


def families(seed: int = 0, count: int = 6, size: int = 4, names: int = 12) -> dict[str, Any]:
    """Families of paraphrases × names, with an effect of each family on the gap."""
    rng = np.random.default_rng(seed)
    family, text, name = (
        v.ravel() for v in np.meshgrid(np.arange(count), np.arange(size), np.arange(names), indexing="ij")
    )
    man = name < names // 2
    lean = 0.2 * rng.normal(size=count)
    return {
        "score": 0.5 + 0.1 * rng.normal(size=len(family)) * 0.3 + lean[family] * np.where(man, 0.1, -0.1),
        "sex": np.where(man, "m", "f"),
        "family": [f"f{i}" for i in family],
        "text": [f"f{i} t{j}" for i, j in zip(family, text, strict=True)],
        "number": [f"t{j}" for j in text],
        "name": [f"n{i}" for i in name],
    }


def audited(rows: dict[str, Any], units: Any, **more: Any) -> Result:
    return eh.audit_scores(rows, scores="score", groups="sex", units=units, **{"tolerance": 0.1, **more})


def notes(result: Result) -> dict[str, str]:
    return {note.slug: note.text for note in result.notes}


def test_families_are_the_units_of_nested_texts() -> None:
    """family/text, family alone, and both named side by side say the same; texts alone say more than they know."""
    rows = families()
    ways: list[Any] = [
        ["family/text", "name"],
        ["family", "name"],
        ["family", "text", "name"],
        ["family/number", "name"],
    ]
    found = [audited(rows, way).primary[0].estimate for way in ways]
    assert {tuple(e.units) for e in found} == {("family", "name")}
    assert len({(e.value, e.low, e.high) for e in found}) == 1
    alone = audited(rows, ["text", "name"]).primary[0].estimate
    assert alone.high - alone.low < found[0].high - found[0].low
    told = [notes(audited(rows, way)) for way in ways]
    assert told[0]["units-nested"] == "24 values of text belong to 6 of family: family is the unit."
    assert "text no further one" in told[2]["units-nested"]
    assert "read as another number there" in told[3]["units-recur"]


def test_units_the_other_way_round_are_refused() -> None:
    with pytest.raises(UsageError, match="each text belongs to one family") as raised:
        audited(families(), ["text/family", "name"])
    assert raised.value.slug == "units-order"


def test_a_third_kind_of_units_widens_the_interval() -> None:
    """Four raters who lean: claims over texts and names only would not hold for other raters."""
    rng = np.random.default_rng(3)
    rows = families()
    lean = 0.3 * rng.normal(size=4)
    many = {name: np.tile(np.asarray(column), 4) for name, column in rows.items()}
    rater = np.repeat(np.arange(4), len(rows["sex"]))
    many["score"] = many["score"] + lean[rater] * (many["sex"] == "m") + 0.05 * rng.normal(size=len(rater))
    many["rater"] = [f"r{i}" for i in rater]
    two, three = (
        audited(many, units).primary[0].estimate for units in (["text", "name"], ["text", "name", "rater"])
    )
    assert tuple(three.units) == ("text", "name", "rater")
    assert three.high - three.low > 3 * (two.high - two.low)
    assert "three-way" in three.method


def test_five_kinds_are_too_many() -> None:
    rng = np.random.default_rng(0)
    rows = {f"u{i}": rng.integers(0, 5, 200).astype(str) for i in range(5)}
    with pytest.raises(UsageError, match="at most 4") as raised:
        audited({**rows, "score": rng.random(200), "sex": np.tile(["f", "m"], 100)}, list(rows))
    assert raised.value.slug == "too-many-units"


def test_a_unit_that_never_repeats_says_nothing_new() -> None:
    """Rows of their own are independent: said, and the same interval as without units."""
    rng = np.random.default_rng(0)
    rows = {"score": rng.random(60), "sex": np.tile(["f", "m"], 30), "row": np.arange(60).astype(str)}
    named, plain = audited(rows, "row"), audited(rows, ())
    assert "60 rows are independent" in notes(named)["unit-never-repeats"]
    spans = [(r.primary[0].estimate.low, r.primary[0].estimate.high) for r in (named, plain)]
    assert spans[0] == pytest.approx(spans[1])


def test_one_unit_in_all_is_said() -> None:
    """One text only: no claim reaches beyond it."""
    rows = {**families(), "text": ["t"] * 288}
    assert "one text only" in notes(audited(rows, ["text", "name"]))["one-unit"]


@pytest.mark.parametrize("units", [["text", "name"], "text", ()])
def test_copies_of_recorded_texts_are_one_unit(units: Any) -> None:
    """Every text four times under other ids: the interval is that of the texts once."""
    once = families(count=8, size=1)
    copies = {name: np.tile(np.asarray(column), 4) for name, column in once.items()}
    copies["text"] = [f"{t} copy {i // 96}" for i, t in enumerate(copies["text"])]
    plain, again = audited(once, units), audited(copies, units)
    assert (
        "24 of 32 texts" in notes(again)["copies"] if units else "288 of 384 rows" in notes(again)["copies"]
    )
    one, four = plain.primary[0].estimate, again.primary[0].estimate
    assert (four.low, four.high) == pytest.approx((one.low, one.high), rel=0.02)
    assert "copies" not in notes(plain)


def test_flags_and_rounded_scores_are_no_copies() -> None:
    """A flag gives many texts the same replies: nothing is merged."""
    rng = np.random.default_rng(0)
    for score in (rng.random(288) < 0.2, np.round(rng.random(288), 1)):
        for units in (["text", "name"], ()):
            assert "copies" not in notes(audited({**families(), "score": score.astype(float)}, units))


def test_texts_asked_several_times_are_one_unit() -> None:
    """Five texts, each given four times: five units, the same interval as of the five."""

    def model(texts: list[str]) -> list[float]:
        return [0.1 + (sum(map(ord, t)) * 37 % 97) / 200 for t in texts]

    def run(texts: list[str]) -> Result:
        return eh.audit_text(model, texts, terms="names/weat-gender", replace="Arthur", control=False)

    once, four = run(TEXTS), run(TEXTS * 4)
    assert "15 of 20 texts repeat another one word for word" in notes(four)["copies"]
    assert four.primary[0].estimate.units["text"] == 5
    ends = [(r.primary[0].estimate.low, r.primary[0].estimate.high) for r in (once, four)]
    assert ends[1] == pytest.approx(ends[0])


def test_a_text_audit_takes_a_column_of_families() -> None:
    """Paraphrases of the same text: families are the units, in Python as in the file of an audit."""

    def model(texts: list[str]) -> list[float]:
        return [0.1 + (sum(map(ord, t)) * 37 % 97) / 200 for t in texts]

    table = {"text": TEXTS + [t.replace("lost", "left") for t in TEXTS], "family": list("abcde") * 2}

    def run(units: Any) -> Result:
        return eh.audit_text(
            model,
            table,
            text_column="text",
            terms="names/weat-gender",
            replace="Arthur",
            control=False,
            units=units,
        )

    found = run("family/text")
    assert found.primary[0].estimate.units == {"family": 5, "term": 16}
    assert run(()).primary[0].estimate.units == {"text": 10, "term": 16}
    with pytest.raises(UsageError, match="no such column") as raised:
        run("author")
    assert "family" in str(raised.value)

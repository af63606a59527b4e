"""Names and levels are the user's own: "=" and "&" in them change nothing but the text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import evenhand as eh
from evenhand._errors import UsageError
from evenhand._labels import spoken
from evenhand.cli import app
from evenhand.testing import Planted


def people(rename: dict[str, str], n: int = 240) -> dict[str, list[Any]]:
    """Predictions of n people by sex and race; `rename` changes the names of columns."""
    rng = np.random.default_rng(3)
    rows: dict[str, Any] = {
        "sex": np.tile(["0", "1"], n // 2),
        "race": np.resize(["x", "y", "z"], n),
        "p": rng.normal(size=n),
        "y": rng.normal(size=n),
    }
    return {rename.get(k, k): v.tolist() for k, v in rows.items()}


def values(result: eh.Result) -> list[tuple[str, float | None]]:
    """Measure and value of every finding."""
    return [(f.estimate.measure, f.estimate.value) for f in result.findings]


@pytest.mark.parametrize("name", ["sex=F", "R & D", "sex & race", "a=b & c=d", "="])
def test_a_column_may_have_any_name(name: str) -> None:
    """The findings of an audit by a column called `sex=F` are those of the same column called `sex`."""
    plain = eh.audit_predictions(people({}), y_pred="p", y_true="y", groups="sex", reference="1")
    odd = eh.audit_predictions(people({"sex": name}), y_pred="p", y_true="y", groups=name, reference="1")
    assert values(odd) == values(plain)
    assert {f.estimate.reference for f in odd.findings if f.verdict} == {f"{name}=1"}
    assert odd.findings[0].because == plain.findings[0].because
    again = eh.audit_predictions(people({"sex": name}), y_pred="p", groups=name, reference=f"{name}=1")
    assert again.findings[0].estimate.reference == f"{name}=1"


def test_a_column_named_like_a_crossing_is_none() -> None:
    """`R & D` beside `race` makes one crossing, and no phantom worst subgroup (bug B5: 38 findings, not 34)."""
    roles: dict[str, Any] = {"y_pred": "p", "y_true": "y", "intersections": True}
    plain = eh.audit_predictions(people({}), groups=["sex", "race"], **roles)
    odd = eh.audit_predictions(people({"sex": "R & D"}), groups=["R & D", "race"], **roles)
    assert len(odd.findings) == len(plain.findings)
    assert not [f for f in odd.findings if f.family == "R & D, worst subgroup"]


@pytest.mark.parametrize("level", ["Black & White", "a=b", "x & y=z"])
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_a_level_may_hold_any_sign(level: str, task: str) -> None:
    """A level `Black & White` keeps its place in the table of intersections (bug B5: the table vanished)."""
    rows = people({})
    rows["race"] = [level if v == "x" else v for v in rows["race"]]
    if task == "classification":
        rows["p"] = [int(v > 0) for v in rows["p"]]
    result = eh.audit_predictions(rows, y_pred="p", groups=["sex", "race"], intersections=True)
    shown = result.exhibits["intersections of sex & race"].columns
    assert len(shown["sex"]) == 6
    assert set(shown["race"]) == {level, "y", "z"}
    assert set(shown["sex"]) == {"0", "1"}


def test_a_reference_that_is_no_group_is_offered_the_levels() -> None:
    """The message lists what may be named (bug B1: it offered `F=0`)."""
    with pytest.raises(UsageError, match="unknown-group") as caught:
        eh.audit_predictions(people({"sex": "sex=F"}), y_pred="p", groups="sex=F", reference="2")
    assert "F=0" not in str(caught.value)
    assert "0, 1" in str(caught.value)


ODD_LEVELS = ["Black & White", "a=b", "a=c", "x"]
"""Levels that hold the signs with which labels are written; two of them begin alike."""


@pytest.fixture
def one_hot(tmp_path: Path) -> Path:
    """A table of scores with a column `sex=F`, as one-hot encoders name it, and a race of odd levels."""
    rng = np.random.default_rng(5)
    lines = ["text,sex=F,race,score"]
    for text in range(30):
        for sex in (0, 1):
            lines += [f"t{text},{sex},{race},{rng.normal(0.1 * sex, 0.1):.3f}" for race in ODD_LEVELS]
    path = tmp_path / "oh.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("reference", [[], ["1"], ["sex=F=1"]])
def test_recorded_scores_are_compared_by_a_one_hot_column(
    one_hot: Path, tmp_path: Path, reference: list[str]
) -> None:
    """`evenhand scores --group sex=F` ends well, and its sentence speaks of 0 and 1 (bug B1: a traceback)."""
    named = [word for each in reference for word in ("--reference", each)]
    arguments = ["scores", str(one_hot), "--score", "score", "--group", "sex=F", "--unit", "text", *named]
    done = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    result = eh.Result.from_json(tmp_path / "out" / "result.json")
    first = result.findings[0]
    assert (first.estimate.group, first.estimate.reference) == ("sex=F=0", "sex=F=1")
    assert "0 minus 1 is " in first.because
    assert "by sex=F" in done.output


def test_a_reference_is_told_from_its_attribute_where_there_are_several(
    one_hot: Path, tmp_path: Path
) -> None:
    """`--reference sex=F=1 --reference race=a=b` names a level of each; the signs inside are the levels' own."""
    groups = ["--group", "sex=F", "--group", "race", "--reference", "sex=F=1", "--reference", "race=a=b"]
    arguments = ["scores", str(one_hot), "--score", "score", "--unit", "text", *groups]
    done = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    result = eh.Result.from_json(tmp_path / "out" / "result.json")
    judged = {f.estimate.reference for f in result.findings if f.verdict}
    assert judged == {"sex=F=1", "race=a=b"}


def test_odd_levels_keep_every_exhibit_of_scores(one_hot: Path) -> None:
    """Heat map, influence, other analyses and distributions name the levels whole."""
    result = eh.audit_scores(one_hot, scores="score", groups="race", units="text")
    pairs = result.exhibits["pairwise gaps by race"].columns
    assert set(pairs["group"]) == set(pairs["reference"]) == set(ODD_LEVELS)
    assert set(result.exhibits["distribution of scores by race"].columns["group"]) == set(ODD_LEVELS)
    known = {f"{a} − {b}" for a in ODD_LEVELS for b in ODD_LEVELS}
    for name in ("influence of texts", "other analyses", "placebo", "diagnostics"):
        assert set(result.exhibits[name].columns["comparison"]) <= known
    sentences = [f.because for f in result.findings if f.estimate.reference == "race=a=c"]
    assert sentences
    assert all("minus a=c is " in sentence for sentence in sentences)


@pytest.fixture
def odd_terms(tmp_path: Path) -> Path:
    """Names of two groups whose levels begin alike, up to an "="."""
    names = ["John", "Paul", "Mike", "Kevin", "Amy", "Joan", "Lisa", "Sarah"]
    rows = [f"{name},side={'ab'[at >= 4]}" for at, name in enumerate(names)]
    path = tmp_path / "names.csv"
    path.write_text("\n".join(["name,side & kin", *rows]), encoding="utf-8")
    return path


TEXTS = [f"Arthur lost his {thing}." for thing in ("keys", "dog", "way", "hat", "map")]


def test_odd_levels_keep_the_examples_of_a_text_audit(odd_terms: Path) -> None:
    """Attribute `side & kin`, levels `side=a` and `side=b`: examples, influence and sentences know them."""
    model = Planted(gap=0.3, words=["John", "Paul", "Mike", "Kevin"], noise_sd=0.01)
    result = eh.audit_text(model, TEXTS, terms=odd_terms, replace="Arthur", reference="side=b")
    assert "side=a minus side=b is " in result.findings[0].because
    assert set(result.exhibits["examples"].columns["comparison"]) == {"side=a − side=b"}
    assert set(result.exhibits["influence of terms"].columns["side"]) <= {"side=a", "side=b"}


@pytest.mark.parametrize("reference", ["side=b", "side & kin=side=b"])
def test_the_reference_of_a_text_audit_is_a_level_of_the_user_s_own_attribute(
    odd_terms: Path, tmp_path: Path, reference: str
) -> None:
    """Without --group the attributes are those of the terms, whatever they are called."""
    texts = tmp_path / "texts.txt"
    texts.write_text("\n".join(TEXTS), encoding="utf-8")
    arguments = ["text", "--texts", str(texts), "--terms", str(odd_terms), "--replace", "Arthur"]
    arguments += ["--reference", reference, "--out", str(tmp_path / "out"), "--no-cache"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    result = eh.Result.from_json(tmp_path / "out" / "result.json")
    assert result.findings[0].estimate.reference == "side & kin=side=b"


def test_the_family_of_a_claim_tells_where_its_attribute_ends() -> None:
    """`race=a=b` against `race=a=c` is two levels of race, `sex=F=1` against `sex=F=0` two of `sex=F`."""
    assert spoken("race=a=b", "race=a=c", "race by sentiment") == ("race", "a=b", "a=c")
    assert spoken("sex=F=1", "sex=F=0", "sex=F, widest gap") == ("sex=F", "1", "0")
    assert spoken("sex=F=1", "sex=F=0", "measures") == ("sex=F", "1", "0")

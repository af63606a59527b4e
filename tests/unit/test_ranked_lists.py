"""Rankings with many lists: places within each, exposures averaged over lists, lists as the units of inference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.audits.predictions.ranking import exposure_ratio
from evenhand.measures.ranking import exposure


def queries(lists: int = 40, gap: float = 0.0, seed: int = 0) -> dict[str, Any]:
    """Lists of 3 to 12 people; scores are on a scale of their own in each list."""
    rng = np.random.default_rng(seed)
    rows: dict[str, list[Any]] = {"query": [], "score": [], "sex": []}
    for query in range(lists):
        n = int(rng.integers(3, 13))
        sex = rng.choice(["F", "M"], n)
        rows["query"] += [f"q{query}"] * n
        rows["sex"] += sex.tolist()
        rows["score"] += (100 * query + rng.normal(size=n) - gap * (sex == "F")).tolist()
    return rows


def audit(rows: dict[str, Any], **more: Any) -> Any:
    call: dict[str, Any] = {
        "y_pred": "score",
        "groups": "sex",
        "lists": "query",
        "task": "ranking",
        "reference": "M",
    }
    return eh.audit_predictions(rows, **{**call, **more})


def test_places_begin_anew_in_each_list() -> None:
    """Ranks of several lists at once are those of one list after the other, with ties sharing the mean of their places."""
    rng = np.random.default_rng(0)
    lists, score = rng.integers(0, 7, 200), rng.integers(0, 5, 200).astype(float)
    found = exposure(score, lists=lists)
    for one in range(7):
        np.testing.assert_allclose(found[lists == one], exposure(score[lists == one]))
    order = rng.permutation(200)
    np.testing.assert_allclose(exposure(score[order], lists=lists[order]), found[order])
    assert exposure([], lists=[]).tolist() == []


def test_exposure_is_averaged_over_the_lists_that_hold_both_groups() -> None:
    """The ratio is that of the plain means of each list's mean exposures, and the scales of lists do not matter."""
    rows = queries()
    (found,) = (f.estimate for f in audit(rows).findings)
    sides: dict[str, list[float]] = {"F": [], "M": []}
    score, sex, query = (np.array(rows[k]) for k in ("score", "sex", "query"))
    for name in dict.fromkeys(rows["query"]):
        inside = query == name
        if len(set(sex[inside])) == 2:
            given = exposure(score[inside])
            for side, values in sides.items():
                values.append(float(given[sex[inside] == side].mean()))
    assert found.value == pytest.approx(np.mean(sides["F"]) / np.mean(sides["M"]))
    assert found.low < found.value < found.high
    moved = rows | {"score": (score * 3 + 1000 * (query == "q1")).tolist()}
    assert audit(moved).findings[0].estimate.low == pytest.approx(found.low)


def test_a_group_that_is_ranked_lower_everywhere_is_a_disparity() -> None:
    """Two standard deviations in 200 lists; and equal groups in 2,000 lists are within tolerance."""
    assert audit(queries(200, gap=2.0)).findings[0].verdict == "disparity"
    assert audit(queries(2000)).findings[0].verdict == "within tolerance"


def test_lists_are_the_units() -> None:
    """300 runs of 25 lists, equal groups: false alarms and misses of the interval stay near 5 %."""
    rng = np.random.default_rng(3)
    alarms = misses = 0
    for _ in range(300):
        sizes = rng.integers(2, 6, (2, 25))
        means = np.empty((2, 25))
        for i, (a, b) in enumerate(sizes.T):
            given = exposure(rng.normal(size=a + b))
            means[:, i] = given[:a].mean(), given[a:].mean()
        found = exposure_ratio(means, level=0.95)
        assert found.p_value is not None
        assert found.low is not None
        assert found.high is not None
        alarms, misses = alarms + (found.p_value < 0.05), misses + (not found.low <= 1 <= found.high)
    assert alarms == misses
    assert alarms <= 27


def test_few_lists_and_lists_of_one_group_say_why() -> None:
    """Under ten lists with both groups there is a value and no interval; with none there is no value."""
    few = audit(queries(6)).findings[0].estimate
    assert few.low is None
    assert "at least 10" in (few.why_not or "")
    apart = queries()
    apart["sex"] = ["F" if int(q[1:]) % 2 else "M" for q in apart["query"]]
    found = audit(apart).findings[0].estimate
    assert (found.value, found.why_not) == (None, "no list holds both groups")


def test_lists_need_a_ranking() -> None:
    """Lists of a regression are a misunderstanding, and rows without a list are counted."""
    with pytest.raises(eh.EvenhandError) as caught:
        audit(queries(), task="regression")
    assert caught.value.slug == "lists"
    rows = queries()
    rows["query"][0] = None
    assert audit(rows).counts["left out"] == 1


def test_the_command_line_takes_a_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--list` with `--task ranking`."""
    from evenhand._table import write_csv
    from evenhand.cli import run

    write_csv(tmp_path / "q.csv", queries())
    call = f"predictions {tmp_path / 'q.csv'} --y-pred score --group sex --reference M --task ranking --list query"
    assert run(call.split()) in (0, 1)
    assert "attention by rank" in capsys.readouterr().out


def recurring(people: int = 30, lists: int = 20, seed: int = 0) -> dict[str, Any]:
    """The same people in every list, half of them women, with abilities of their own."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=people) + 0.5 * rng.normal(size=(lists, people))
    return {
        "query": np.repeat([f"q{i}" for i in range(lists)], people),
        "score": score.ravel(),
        "sex": np.tile(np.repeat(["F", "M"], people // 2), lists),
        "candidate": np.tile([f"c{i}" for i in range(people)], lists),
    }


@pytest.mark.parametrize("name", ["candidate", "candidate_id", "name", "first name"])
def test_candidates_who_recur_are_asked_for(name: str) -> None:
    """A column of candidates or names with repeats: no verdict before it is said what they are."""
    rows = recurring()
    rows[name] = rows.pop("candidate")
    found = audit(rows)
    assert found.verdict == "inconclusive"
    assert f"pass units={name!r}" in (found.findings[0].estimate.why_not or "")
    assert audit(rows, units=False).findings[0].estimate.low is not None


def test_candidates_are_units_beside_lists() -> None:
    """Their abilities widen the interval, and the estimate says how many lists and candidates it is made of."""
    rows = recurring()
    one, two = (audit(rows, units=u).findings[0].estimate for u in (False, "candidate"))
    assert one.value == pytest.approx(two.value)
    assert two.high / two.low > 1.5 * one.high / one.low
    assert two.units == {"list": 20, "candidate": 30}
    assert "candidates recur" in two.method


def test_candidates_who_do_not_recur_change_nothing() -> None:
    """A person of one list is a row; and a group of three people gets no interval."""
    rows: dict[str, Any] = recurring()
    rows["candidate"] = np.arange(len(rows["query"])).astype(str)
    assert audit(rows, units="candidate").findings[0].estimate.low == pytest.approx(
        audit(rows, units=False).findings[0].estimate.low
    )
    few = recurring(6)
    assert "at least 4 are needed" in (audit(few, units="candidate").findings[0].estimate.why_not or "")


def test_candidates_that_are_alike_cost_little() -> None:
    """Without abilities the two-way interval is at least that of the lists alone, and not twice as wide."""
    rows = recurring()
    rows["score"] = np.random.default_rng(1).normal(size=len(rows["score"]))
    one, two = (audit(rows, units=u).findings[0].estimate for u in (False, "candidate"))
    assert 0.99 <= np.log(two.high / two.low) / np.log(one.high / one.low) < 1.6


def test_lists_with_rows_of_unknown_group_are_not_judged() -> None:
    """Their worst case is not known: the interval of the known rows is shown with the reason."""
    rows = queries()
    rows["sex"][0] = None
    found = audit(rows).findings[0]
    assert found.verdict == "inconclusive"
    assert "1 rows have no group" in (found.estimate.why_not or "")

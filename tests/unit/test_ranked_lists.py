"""Rankings with many lists: places within each, exposures averaged over lists, lists as the units of inference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.audits.predictions.ranking import exposure_ratio
from evenhand.measures.ranking import exposure, taken


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


def winners(lists: int = 60, odds: float = 1.0, seed: int = 0) -> dict[str, Any]:
    """Lists of two women and two men, one of whom is taken; women with these odds."""
    rng = np.random.default_rng(seed)
    chance = np.array([odds, odds, 1.0, 1.0]) / (2 * odds + 2)
    best = [int(rng.choice(4, p=chance)) for _ in range(lists)]
    return {
        "query": np.repeat([f"q{i}" for i in range(lists)], 4),
        "score": [int(k == b) for b in best for k in range(4)],
        "place": [1 if k == b else 2 + (k - b) % 4 - 1 for b in best for k in range(4)],
        "sex": ["F", "F", "M", "M"] * lists,
    }


def test_who_is_taken_is_a_ratio_of_shares_of_lists() -> None:
    """0 and 1 are who is taken, and nothing is said of exposure."""
    rows = winners()
    result = audit(rows, task="auto")
    (found,) = (f.estimate for f in result.findings)
    taken_by = [sum(s for s, g in zip(rows["score"], rows["sex"], strict=True) if g == x) for x in "FM"]
    assert (found.measure, found.given) == ("disparate impact", "taken from each list")
    assert found.value == pytest.approx(taken_by[0] / taken_by[1])
    assert "shares taken" in found.method
    assert result.exhibits["taken by sex"].columns["share taken"] == [x / 120 for x in taken_by]
    assert audit(winners(400, odds=0.3), task="auto").verdict == "disparity"


def test_places_are_ranks_only_where_it_is_said() -> None:
    """`first="lowest"`; without it 1 to 4 in every list is warned of, and the result is that of the other end."""
    rows = winners()
    ranked = audit(rows, y_pred="place", first="lowest", top=1)
    labelled = audit(rows)
    assert ranked.findings[0].estimate.value == labelled.findings[0].estimate.value
    assert "list-places" not in {n.slug for n in ranked.notes}
    assert "list-places" in {n.slug for n in audit(rows, y_pred="place").notes}
    assert "list-places" not in {n.slug for n in audit(queries()).notes}
    upside = audit(rows, y_pred="place", first="lowest").findings[0].estimate
    turned = audit({**rows, "score": [-p for p in rows["place"]]}).findings[0].estimate
    assert (upside.value, upside.low) == (turned.value, turned.low)


def test_top_k_of_scores_shares_tied_places_and_heads_the_audit() -> None:
    """The claim that was asked for is primary, exposure is looked at beside it."""
    rows = queries(80, gap=1.0)
    result = audit(rows, top=2)
    assert [(f.estimate.measure, f.estimate.given, f.primary) for f in result.findings] == [
        ("disparate impact", "top 2 of each list", True),
        ("exposure", "within lists", False),
    ]
    np.testing.assert_allclose(taken([1, 1, 1, 0], 2), [2 / 3, 2 / 3, 2 / 3, 0])


@pytest.mark.parametrize(
    ("wins", "value", "ends"),
    [
        ((0, 9), 0.0, (0.0, 0.507)),
        ((9, 0), None, (1.97, None)),
        ((2, 20), 0.1, (0.011, 0.407)),
        ((0, 0), None, None),
    ],
)
def test_few_who_are_taken_have_an_exact_interval(
    wins: tuple[int, int], value: float | None, ends: tuple[float | None, float | None] | None
) -> None:
    """Clopper-Pearson's of who of the two is taken: 0 of 9 allows up to a third, a ratio of a half."""
    f, m = wins
    rows: dict[str, Any] = {"query": np.repeat(np.arange(40), 3)}
    who = [0] * f + [1] * m + [2] * (40 - f - m)
    rows["score"] = [int(k == w) for w in who for k in range(3)]
    rows["sex"] = ["F", "M", "X"] * 40
    every = [
        f.estimate for f in audit(rows, task="auto").findings if f.estimate.measure == "disparate impact"
    ]
    found = next(e for e in every if e.group == "sex=F")
    assert found.value == (None if value is None else pytest.approx(value))
    if ends is None:
        assert found.why_not == "nobody of the reference is taken"
        return
    for end, wanted in zip((found.low, found.high), ends, strict=True):
        assert end == (None if wanted is None else pytest.approx(wanted, abs=0.01))


def test_few_taken_from_lists_of_different_sizes_say_why() -> None:
    """No exact interval without one constant share by chance, and none with candidates who recur."""
    rows = winners(12)
    rows["score"] = [int(g == "M" and k % 4 == 2) for k, g in enumerate(rows["sex"])]
    rows["sex"][0] = "M"
    found = audit(rows).findings[0]
    assert found.verdict == "inconclusive"
    assert "0 of a group are taken in 12 lists; at least 5 are needed" in (found.estimate.why_not or "")


@pytest.mark.parametrize("wrong", [{"top": 0}, {"first": "last"}, {"top": 1, "lists": None}])
def test_what_is_asked_of_lists_is_checked(wrong: dict[str, Any]) -> None:
    """At least one is taken, from either end, of lists."""
    with pytest.raises(eh.EvenhandError) as caught:
        audit(queries(), **wrong)
    assert caught.value.slug == "lists"


def test_what_a_candidate_gains_the_others_lose() -> None:
    """100 runs of 300 lists of four, 8 recurring names a group with abilities of their own: at most 5 % false
    headlines, plus two errors. Counting the gain alone had 11."""
    alarms = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        ability = rng.normal(size=(4, 8))
        drawn = rng.integers(0, 8, (300, 4))
        worth = ability[np.arange(4), drawn] + rng.gumbel(size=(300, 4))
        rows = {
            "query": np.repeat(np.arange(300), 4),
            "sex": np.tile(list("abcM"), 300),
            "who": [f"{g}-{k}" for row in drawn for g, k in enumerate(row)],
            "score": (worth == worth.max(axis=1, keepdims=True)).astype(int).ravel(),
        }
        alarms += audit(rows, units="who").verdict in ("gap", "disparity")
    assert alarms <= 9

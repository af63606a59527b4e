"""Rows whose group is not known: bounds over every group they may belong to, and what is said of them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand._result import Result
from evenhand.measures import classification as labels
from evenhand.measures import regression as numbers
from evenhand.measures.row import Measure, statistic
from evenhand.stats.missing_groups import Bounded, Codes, Unlabelled
from evenhand.stats.moments import moments
from evenhand.stats.practice import impact_ratio_bounds

MEASURES = (
    labels.IMPACT, labels.TPR, labels.PPV, labels.ACCURACY,
    numbers.STANDARDISED, numbers.RESIDUAL, numbers.RMSE, numbers.VALIDITY,
)  # fmt: skip


def drawn(measure: Measure, rng: np.random.Generator, n: int) -> tuple[tuple[str, ...], np.ndarray]:
    """Names and (k, n) terms of some people."""
    y, p = rng.normal(size=n), rng.normal(size=n)
    if measure in (labels.IMPACT, labels.TPR, labels.PPV, labels.ACCURACY):
        chosen, actual = (p > 0).astype(float), (y > 0).astype(float)
        return ("sel", "act", "tp"), np.stack([chosen, actual, chosen * actual])
    return ("p", "pp", "y", "yy", "yp"), np.stack([p, p * p, y, y * y, y * p])


@pytest.mark.parametrize("measure", MEASURES, ids=lambda m: m.name)
def test_the_extremes_are_those_of_every_assignment(measure: Measure) -> None:
    """Of five unknown rows each of the 3^5 assignments is tried: none goes further, and one goes as far."""
    rng = np.random.default_rng(5)
    for _ in range(12):
        names, a = drawn(measure, rng, 9)
        b, rest = drawn(measure, rng, 8)[1], drawn(measure, rng, 5)[1]
        found = Bounded(
            contrast=lambda x, y, n, m: statistic(measure, x, y, (n, m)),
            terms=measure.terms,
            a=moments(a, names),
            b=moments(b, names),
            rest=Unlabelled(names=names, n=5, terms=rest),
        )
        every = []
        for codes in itertools.product(range(3), repeat=5):
            where: Codes = np.array(codes, dtype=np.int8)
            sides = [
                dict(zip(names, np.hstack([own, rest[:, where == side]]).mean(axis=1), strict=True))
                for side, own in enumerate((a, b))
            ]
            sizes = (9.0 + (where == 0).sum(), 8.0 + (where == 1).sum())
            every.append(float(statistic(measure, *sides, sizes)))
        if not np.isfinite(every).all():
            continue
        low, high = found.extreme(up=False), found.extreme(up=True)
        assert low is not None
        assert high is not None
        tight = 1e-9 if measure is not numbers.VALIDITY else 0.2
        assert min(every) - 1e-9 <= low.value <= min(every) + tight
        assert max(every) + 1e-9 >= high.value >= max(every) - tight


def test_the_tipping_point_is_the_fewest_rows() -> None:
    """30 of 100 against 50 of 100: at least 20 more selected of 20 unknown bring the ratio to 5/6, no fewer to .8."""

    def rate(x: int, n: int) -> Any:
        return moments(np.array([[1.0] * x + [0.0] * (n - x)]), ["sel"])

    rest = Unlabelled(names=("sel",), n=40, terms=np.array([[1.0] * 20 + [0.0] * 20]))
    found = Bounded(
        contrast=lambda x, y, n, m: x["sel"] / y["sel"],
        terms=("sel",),
        a=rate(30, 100),
        b=rate(50, 100),
        rest=rest,
    )
    fewest = found.tips(0.8, up=True)
    best = min(h + k for h in range(21) for k in range(21) if (30 + h) / (100 + h) / (50 / (100 + k)) >= 0.8)
    assert fewest is not None
    assert best <= fewest <= best + 1
    assert found.tips(1.5, up=True) is None


def test_the_bounds_of_the_law_hold_for_every_category_of_the_unknown() -> None:
    """All ways to put three selected and two rejected into three categories; the lowest is reached."""
    x, n = np.array([4.0, 6, 2]), np.array([10.0, 11, 9])
    low, high = impact_ratio_bounds(x, n, (5.0, 3.0))
    ways = [
        (np.array(a), np.array(b))
        for a in itertools.product(range(4), repeat=3)
        for b in itertools.product(range(3), repeat=3)
        if sum(a) == 3 and sum(b) == 2
    ]
    ratios = np.array([(r := (x + a) / (n + a + b)) / r.max() for a, b in ways])
    assert low == pytest.approx(ratios.min(axis=0))
    assert (high >= ratios.max(axis=0) - 1e-9).all()
    assert high == pytest.approx(ratios.max(axis=0), abs=0.05)


def people(missing: int, seed: int = 0, **more: Any) -> Result:
    """1,000 people at equal rates; so many of one group's rejected have no group."""
    rng = np.random.default_rng(seed)
    group = np.repeat(["a", "b"], [400, 600]).astype(object)
    p = np.concatenate([np.arange(400) % 10 < 3, np.arange(600) % 10 < 3])
    group[rng.permutation(np.flatnonzero((group == "a") & ~p))[:missing]] = None
    return eh.audit_predictions(
        {"g": group, "p": p}, y_pred="p", groups="g", positive="True", reference="b", **more
    )


def test_a_gap_that_missing_groups_could_make_alone_is_not_called_one() -> None:
    """109 rejected people without a group look like a disparity; the sentence says so, and the verdict waits."""
    result = people(109)
    found = result.primary[0]
    assert found.verdict == "inconclusive"
    assert 'would make it "disparity"' in found.because or 'would make it "gap"' in found.because
    assert "does not survive the worst case of the 109 rows without a group" in found.because
    e = found.estimate
    assert e.low is not None
    assert e.high is not None
    assert e.p_value is not None
    assert e.low < 1 < e.high
    assert e.p_value > 0.05


def test_the_table_of_missing_groups_says_what_the_others_say_alone() -> None:
    """Known rows alone, shares, worst case and tipping points; and the note counts the rows."""
    result = people(109)
    table = {k: v[0] for k, v in result.exhibits["missing groups of g"].columns.items()}
    assert table["rows without group"] == 109
    assert table["low"] > 1
    assert table["lowest"] == pytest.approx(1.0)  # all of them in the group where they are indeed
    assert table["lowest low"] < 1 < table["value"] < table["highest"]
    assert 0 < table["rows across the tolerance"] <= 109
    assert "groups-missing" in {n.slug for n in result.notes}


def test_few_missing_groups_change_little() -> None:
    """Five of a thousand: the interval grows, and the same verdict is found with a word."""
    none, few = (people(n).primary[0] for n in (0, 5))
    assert few.estimate.low <= none.estimate.low
    assert few.estimate.high > none.estimate.high
    assert few.estimate.high - few.estimate.low < 1.3 * (none.estimate.high - none.estimate.low)  # type: ignore[operator]
    assert "allows for every group that the 5 rows without a group may belong to" in few.because
    assert "without a group" not in none.because


def test_a_clear_disparity_survives_missing_groups() -> None:
    """Rates .1 and .5 of 1,000 people each stay a disparity where 1 % of the groups are not known."""
    rng = np.random.default_rng(1)
    group = np.repeat(["a", "b"], 1000).astype(object)
    p = rng.random(2000) < np.where(group == "a", 0.1, 0.5)
    group[rng.random(2000) < 0.01] = None
    result = eh.audit_predictions(
        {"g": group, "p": p}, y_pred="p", groups="g", positive="True", reference="b"
    )
    assert result.verdict == "disparity"
    assert "rows without a group may belong to" in result.primary[0].because


def test_numbers_with_missing_groups_are_bounded_by_the_rows_themselves() -> None:
    """The worst case of d and of the residual puts the lowest into one group and the highest into the other."""
    rng = np.random.default_rng(2)
    group = np.repeat(["a", "b"], 200).astype(object)
    p = rng.normal(size=400)
    group[rng.random(400) < 0.2] = None
    rows = {"g": group, "p": p, "y": p + rng.normal(size=400)}
    result = eh.audit_predictions(rows, y_pred="p", y_true="y", groups="g", reference="b", control=())
    d = next(f for f in result.primary if "standardised" in f.estimate.measure).estimate
    assert d.low is not None
    assert d.high is not None
    assert d.low < -0.3
    assert d.high > 0.3
    assert result.verdict == "inconclusive"


def test_strata_with_missing_groups_are_bounded_too() -> None:
    """Within a stratum and pooled, the interval is wider than that of the known rows."""
    rng = np.random.default_rng(3)
    group = np.repeat(["a", "b"], 400).astype(object)
    rows = {"p": rng.normal(size=800), "c": np.tile(["x", "y"], 400)}
    full = eh.audit_predictions({**rows, "g": group}, y_pred="p", groups="g", reference="b", control="c")
    group[rng.random(800) < 0.1] = None
    part = eh.audit_predictions({**rows, "g": group}, y_pred="p", groups="g", reference="b", control="c")

    def width(result: Result, given: str) -> float:
        e = next(
            f.estimate for f in result.findings
            if f.estimate.given == given and f.estimate.measure == "disparate impact at q=0.5"
        )  # fmt: skip
        return float((e.high or 0) - (e.low or 0))

    for given in ("c=x", "c held equal"):
        assert width(part, given) > 1.2 * width(full, given)


def test_a_measure_without_a_worst_case_is_not_judged_where_groups_are_missing() -> None:
    """The AUC within a group keeps its interval of the known rows, and says why there is no verdict."""
    rng = np.random.default_rng(4)
    s = rng.random(400)
    rows = {"g": [None, *np.tile(["a", "b"], 200)[1:]], "s": s, "p": s > 0.5, "y": rng.random(400) < s}
    result = eh.audit_predictions(rows, y_pred="p", y_true="y", y_score="s", groups="g", positive="True")
    found = next(f for f in result.findings if f.estimate.measure == "AUC within the group")
    assert found.verdict == "inconclusive"
    assert "1 rows have no group" in (found.estimate.why_not or "")


def test_weights_and_units_are_kept_in_the_worst_case() -> None:
    """A missing row of weight 50 widens more than one of weight 1."""
    widths = []
    for heavy in (1.0, 50.0):
        rows = {"g": [None, *np.tile(["a", "b"], 100)[1:]], "p": np.arange(200) % 3 == 0, "w": np.ones(200)}
        rows["w"][0] = heavy
        rows["person"] = np.arange(200) // 2
        result = eh.audit_predictions(
            rows, y_pred="p", groups="g", weight="w", positive="True", reference="a", units="person"
        )
        e = result.primary[0].estimate
        assert e.low is not None
        assert e.high is not None
        widths.append(e.high / e.low)
    assert widths[1] > 1.2 * widths[0]


def test_the_local_law_table_holds_the_worst_case() -> None:
    """A ratio above .8 whose unknown could bring it below, and none of these columns without unknown."""
    table = people(60, law="ll144").exhibits["ll144 g"]
    i = table.columns["category"].index("b")
    ratio, low = table.columns["impact ratio"][i], table.columns["lowest with the unknown"][i]
    assert low < ratio
    assert "worst categories" in table.note
    assert "lowest with the unknown" not in people(0, law="ll144").exhibits["ll144 g"].columns


def test_a_streamed_file_has_the_same_worst_case(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows without a group are kept while a file is streamed; too many of them are only counted."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    from evenhand.audits.predictions import sources
    from evenhand.engines import files as engine_files

    rng = np.random.default_rng(8)
    group = np.repeat(["a", "b"], 2000).astype(object)
    group[rng.random(4000) < 0.02] = None
    path = tmp_path / "people.parquet"
    parquet.write_table(pa.table({"g": group, "p": (rng.random(4000) < 0.3).astype(str)}), path)
    call: dict[str, Any] = {"y_pred": "p", "groups": "g", "positive": "True", "reference": "a"}
    whole = eh.audit_predictions(path, **call).primary[0].estimate
    monkeypatch.setattr(engine_files, "STREAM_ROWS", 1000)
    monkeypatch.setattr(engine_files, "BATCH", 700)
    streamed = eh.audit_predictions(path, **call).primary[0].estimate
    assert (streamed.low, streamed.high) == pytest.approx((whole.low, whole.high))
    monkeypatch.setattr(sources, "MOST_LOOSE", 10)
    counted = eh.audit_predictions(path, **call)
    assert counted.verdict == "inconclusive"
    assert any("too many to look at" in n.text for n in counted.notes)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_equalised_and_average_odds_hold_for_every_assignment(seed: int) -> None:
    """Each of 3⁵ assignments of five rows (to either group or to neither) lies inside, with its interval."""
    rng = np.random.default_rng(seed)
    n, lost = 240, 5
    group = rng.choice(["a", "b"], n).astype(object)
    y = rng.random(n) < 0.5
    p = rng.random(n) < np.where(y, 0.7, 0.2)
    asked = {
        "y_pred": "p",
        "y_true": "y",
        "groups": "group",
        "positive": "True",
        "reference": "a",
        "units": False,
    }
    tolerance = {"equalised odds": 0.5, "average odds": 0.5}

    def odds(groups: np.ndarray) -> dict[str, eh.Estimate]:
        made = eh.audit_predictions({"group": groups, "y": y, "p": p}, tolerance=tolerance, **asked)  # type: ignore[arg-type]
        found = [f.estimate for f in made.findings if f.estimate.group == "group=b"]
        return {e.measure: e for e in found if e.measure in tolerance}

    unknown = group.copy()
    unknown[:lost] = None
    whole = odds(unknown)
    for some in itertools.product(["a", "b", "c"], repeat=lost):
        one = group.copy()
        one[:lost] = some
        for name, e in odds(one).items():
            assert whole[name].low is not None
            assert whole[name].low <= (e.low or 0) + 1e-9
            assert (e.high or 0) - 1e-9 <= (whole[name].high or 0)


def test_equalised_odds_is_judged_although_groups_are_missing() -> None:
    """One row in a hundred: the verdict of all is given, and says what it allows for."""
    rng = np.random.default_rng(0)
    n = 4000
    group = rng.choice(["a", "b"], n).astype(object)
    y = rng.random(n) < 0.5
    p = rng.random(n) < np.where(y, 0.7, 0.2)
    group[rng.random(n) < 0.005] = None
    result = eh.audit_predictions(
        {"group": group, "y": y, "p": p}, y_pred="p", y_true="y", groups="group", positive="True", reference="a",
        units=False, tolerance={"equalised odds": 0.1},
    )  # fmt: skip
    found = next(f for f in result.findings if f.estimate.measure == "equalised odds")
    assert found.verdict == "within tolerance"
    assert "This allows for every group that" in found.because

"""Whether a gap is another among women than among men: its value, error and sentence, against simpler tests."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student
from scipy.stats import ttest_1samp

import evenhand as eh
from evenhand import Finding


def world(
    interaction: float = 0.0,
    *,
    names: int = 6,
    texts: int = 8,
    races: str = "bw",
    sd: float = 0.1,
    seed: int = 0,
) -> dict[str, Any]:
    """Names nested in race and gender, crossed with texts; large main effects, and an interaction."""
    rng = np.random.default_rng(seed)
    said: dict[str, list[Any]] = {name: [] for name in ("score", "race", "gender", "name", "text")}
    slopes = rng.normal(0, sd, (len(races), 2, texts))
    for (i, race), (j, gender) in product(enumerate(races), enumerate(("woman", "man"))):
        for k in range(names):
            own = rng.normal(0, sd)
            for text in range(texts):
                score = 0.4 * i + 0.3 * j + interaction * (race == "b" and gender == "woman") + own
                row = (
                    score + slopes[i, j, text] + rng.normal(0, sd),
                    race,
                    gender,
                    f"{race}{gender}{k}",
                    f"t{text}",
                )
                for column, value in zip(said.values(), row, strict=True):
                    column.append(value)
    return said


def interactions(data: dict[str, Any], *units: str, **more: Any) -> list[Finding]:
    call = {"scores": "score", "groups": "race*gender", "units": list(units), "tolerance": 0.1, **more}
    return [f for f in eh.audit_scores(data, **call).findings if f.family == "race & gender, interaction"]


def cells(data: dict[str, Any], *by: str) -> dict[tuple[str, ...], float]:
    """Mean score of every combination."""
    keys = list(zip(*(data[name] for name in by), strict=True))
    found: dict[tuple[str, ...], list[float]] = {}
    for key, score in zip(keys, data["score"], strict=True):
        found.setdefault(key, []).append(score)
    return {key: float(np.mean(scores)) for key, scores in found.items()}


def test_over_texts_alone_it_is_the_paired_test_of_each_texts_own_interaction() -> None:
    """Against SciPy, on one score for every text and group."""
    data = world(0.2, names=1, texts=12)
    (found,) = interactions(data, "text")
    of = cells(data, "race", "gender", "text")
    own = [
        of["b", "woman", f"t{k}"]
        - of["w", "woman", f"t{k}"]
        - of["b", "man", f"t{k}"]
        + of["w", "man", f"t{k}"]
        for k in range(12)
    ]
    peer = ttest_1samp(own, 0.0)
    sign = 1.0 if "b−w" in found.estimate.measure else -1.0
    assert abs(found.estimate.value or 0.0) == pytest.approx(abs(np.mean(own)), rel=1e-9)
    assert abs(found.estimate.statistic or 0.0) == pytest.approx(abs(peer.statistic), rel=1e-9)
    assert found.estimate.df == pytest.approx(11)
    assert sign * (found.estimate.value or 0.0) * (1 if found.estimate.group == "gender=woman" else -1) > 0


@pytest.mark.parametrize("sizes", [(5, 5, 5, 5), (4, 9, 6, 20)])
def test_over_names_alone_it_is_welchs_contrast_of_four_groups_of_names(sizes: tuple[int, ...]) -> None:
    """Value and error by the formula of a contrast with unequal variances; its degrees of freedom nearly."""
    rng = np.random.default_rng(3)
    groups = list(product("bw", ("woman", "man")))
    means = [rng.normal(0.2 * k, 0.1 * (k + 1), n) for k, n in enumerate(sizes)]
    data = {
        "score": np.concatenate(means),
        "race": np.repeat([race for race, _ in groups], sizes),
        "gender": np.repeat([gender for _, gender in groups], sizes),
        "name": np.arange(sum(sizes)).astype(str),
    }
    (found,) = interactions(data, "name")
    parts = np.array([m.var(ddof=1) / len(m) for m in means])
    value = means[0].mean() - means[1].mean() - means[2].mean() + means[3].mean()
    df = parts.sum() ** 2 / (parts**2 / (np.array(sizes) - 1)).sum()
    assert abs(found.estimate.value or 0.0) == pytest.approx(abs(value), rel=1e-9)
    width = (found.estimate.high or 0.0) - (found.estimate.low or 0.0)
    # Small groups beside large ones are given the larger of Welch's and the pooled variance, so no narrower.
    assert 0.95 < width / (2 * student.ppf(0.975, df) * parts.sum() ** 0.5) < 1.35


def test_the_sentence_says_whose_gap_is_larger() -> None:
    """And the verdict is about the difference of the gaps, not about either."""
    (found,) = interactions(world(0.5, names=10, texts=12), "text", "name")
    assert found.verdict == "disparity"
    assert not found.primary
    e = found.estimate
    direction = ("b−w" in e.measure) == (e.group == "gender=woman")
    assert ((e.value or 0.0) > 0) == direction
    assert (
        "gap in mean score: woman minus man" in found.because
        or "gap in mean score: man minus woman" in found.because
    )
    assert "shown to be larger than the tolerance" in found.because


def test_large_main_effects_are_no_interaction() -> None:
    """Forty worlds in which both attributes matter and do not interact: 5 % of intervals miss, at most."""
    missed = 0
    for seed in range(40):
        (found,) = interactions(world(names=5, texts=6, seed=seed), "text", "name")
        low, high = found.estimate.low, found.estimate.high
        assert low is not None
        assert high is not None
        missed += not low <= 0.0 <= high
    assert missed <= 6


def test_without_everybody_without_variation_or_with_too_few_there_is_no_verdict() -> None:
    """No fourth group: no claim. Three names a group, one score for all, missing scores: none within."""
    data = world()
    three = [k for k in range(len(data["score"])) if (data["race"][k], data["gender"][k]) != ("w", "man")]
    assert (
        interactions({name: [column[k] for k in three] for name, column in data.items()}, "text", "name")
        == []
    )
    (few,) = interactions(world(names=3), "text", "name")
    assert few.verdict == "inconclusive"
    assert "at least 4 are needed" in (few.estimate.why_not or "")
    (same,) = interactions({**data, "score": [0.5] * len(data["score"])}, "text", "name")
    assert same.verdict == "inconclusive"
    calm = world(names=40, texts=20, sd=0.01)
    assert interactions(calm, "text", "name")[0].verdict == "within tolerance"
    gone = [np.nan if k % 4 == 0 and calm["race"][k] == "b" else s for k, s in enumerate(calm["score"])]
    assert interactions({**calm, "score": gone}, "text", "name")[0].verdict != "within tolerance"


def test_every_two_by_two_is_looked_at_and_of_too_many_none() -> None:
    """Three races: three interactions. Five: ten. Six: fifteen, and a note."""
    found = interactions(world(races="abc"), "text", "name")
    assert len({f.estimate.measure for f in found}) == 3
    assert len(interactions(world(races="abcde", names=4, texts=4), "text", "name")) == 10
    data = world(races="abcdef", names=4, texts=4)
    assert interactions(data, "text", "name") == []
    result = eh.audit_scores(
        data, scores="score", groups="race*gender", units=["text", "name"], tolerance=0.1
    )
    assert any(note.slug == "interactions" and "15 differences" in note.text for note in result.notes)


def test_a_group_without_weight_has_no_interaction() -> None:
    """As without rows: the other claims are made, this one is not."""
    data = world()
    data["w"] = [
        0.0 if pair == ("w", "man") else 1.0 for pair in zip(data["race"], data["gender"], strict=True)
    ]
    assert interactions(data, "text", "name", weight="w") == []

"""A direction declared beforehand: verdicts, intervals and sentences are about it alone."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import ttest_ind

import evenhand as eh
from evenhand._errors import UsageError
from evenhand.cli import run


def rows(gaps: dict[str, float], *, people: int = 60, sd: float = 0.1, seed: int = 0) -> dict[str, Any]:
    """Independent scores of people, whose groups differ from 0.5 by `gaps`."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(list(gaps), people)
    return {
        "score": 0.5 + np.repeat(list(gaps.values()), people) + rng.normal(0, sd, len(groups)),
        "g": groups,
    }


def audit(data: dict[str, Any], **more: Any) -> eh.Result:
    return eh.audit_scores(
        data, **{"scores": "score", "groups": "g", "reference": "white", "tolerance": 0.02, **more}
    )


@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_p_and_the_open_interval_are_those_of_welchs_one_sided_test(alternative: Any) -> None:
    """Against SciPy, where one claim is all there is."""
    data = rows({"white": 0.0, "black": 0.03})
    found = audit(data, alternative=alternative).primary[0]
    b, w = (data["score"][data["g"] == group] for group in ("black", "white"))
    peer = ttest_ind(b, w, equal_var=False, alternative=alternative)
    assert found.estimate.p_value == pytest.approx(peer.pvalue, rel=1e-9)
    # Ours is widened where a group's scores are skewed; these are not.
    assert found.simultaneous == pytest.approx(tuple(peer.confidence_interval(0.95)), abs=2e-3)
    assert math.isinf(found.simultaneous[alternative == "greater"])  # type: ignore[index]


@pytest.mark.parametrize(
    ("gap", "alternative", "verdict", "said"),
    [
        (0.10, "greater", "disparity", "higher with black than with white"),
        (
            0.10,
            "less",
            "within tolerance",
            "Any shortfall of black against white is smaller than the tolerance of 0.02",
        ),
        (-0.10, "less", "disparity", "lower with black than with white"),
        (
            -0.10,
            "greater",
            "within tolerance",
            "Any excess of black over white is smaller than the tolerance of 0.02",
        ),
        (0.015, "less", "within tolerance", "Any shortfall of black"),
        (0.0, "greater", "inconclusive", "can tell neither"),
    ],
)
def test_verdict_and_sentence_are_about_the_declared_direction(
    gap: float, alternative: Any, verdict: str, said: str
) -> None:
    """A gap in the other direction, however large, is none of this one; a note says so."""
    result = audit(rows({"white": 0.0, "black": gap}), alternative=alternative)
    assert result.primary[0].verdict == verdict
    assert said in str(result.answer)
    assert "tolerance of −" not in str(result.answer)
    assert [note.text.count("gets no verdict") for note in result.notes if note.slug == "one-direction"] == [
        1
    ]


def test_a_small_gap_of_many_people_is_shown_with_both_of_its_ends() -> None:
    """It is there, and it is small: the interval says both, at the level of two bounds."""
    answer = str(
        audit(rows({"white": 0.0, "black": 0.02}, people=4000), tolerance=0.05, alternative="greater").answer
    )
    assert "a gap, smaller than the tolerance of 0.05" in answer
    assert "90\N{NO-BREAK SPACE}% interval 0.01" in answer
    assert "∞" not in answer


def test_of_several_groups_the_furthest_in_that_direction_is_primary() -> None:
    """Not the widest: one that is far below does not hide one that is above, nor make it a disparity."""
    data = rows({"white": 0.0, "black": 0.08, "far": -0.3, "even": 0.0}, people=200)
    greater, less = (audit(data, alternative=side).primary[0] for side in ("greater", "less"))
    assert (greater.estimate.group, greater.verdict) == ("g=black", "disparity")
    assert (less.estimate.group, less.verdict) == ("g=far", "disparity")
    below = audit(
        rows({"white": 0.0, "black": -0.05, "far": -0.3}, people=200), alternative="greater"
    ).primary[0]
    assert (below.estimate.group, below.verdict) == ("g=black", "within tolerance")


def test_of_several_attributes_what_is_small_is_an_excess() -> None:
    """Not any gap: one of them lies far on the other side. So of those in the second sentence."""
    data = rows({"white": 0.0, "black": -0.3}, people=200)
    data["h"] = np.tile(["old", "young"], 200)
    call = {"groups": ["g", "h"], "reference": {"g": "white", "h": "old"}, "tolerance": 0.1}
    answer = str(audit(data, alternative="greater", **call).answer)
    assert answer.startswith("For both attributes any excess is smaller than the tolerance;")
    less = str(audit(data, alternative="less", **call).answer)
    assert "By h any shortfall is smaller than the tolerance." in less
    assert "any gap" not in answer + less


def test_at_the_tolerance_itself_one_in_twenty_is_falsely_a_disparity_or_within() -> None:
    """A hundred audits of six groups at the edge, and one far on the other side: at most 5 % of either verdict."""
    verdicts = []
    for seed in range(100):
        data = rows({"white": 0.0, **dict.fromkeys("bcdefg", 0.05), "far": -0.2}, people=25, seed=seed)
        verdicts.append(audit(data, tolerance=0.05, alternative="greater").primary[0].verdict)
    assert verdicts.count("disparity") <= 100 * 0.05 + 3 * math.sqrt(100 * 0.05 * 0.95)
    assert verdicts.count("within tolerance") <= 100 * 0.05 + 3 * math.sqrt(100 * 0.05 * 0.95)
    assert verdicts.count("gap") > 10


def test_a_direction_needs_somebody_to_be_held_against() -> None:
    """Before anything is asked of a model."""
    asked: list[str] = []

    def model(texts: list[str]) -> list[float]:
        asked.extend(texts)
        return [0.5] * len(texts)

    with pytest.raises(UsageError, match="than whom") as caught:
        eh.audit_text(
            model, ["Arthur left."], terms="names/weat-gender", replace="Arthur", alternative="less"
        )
    assert caught.value.slug == "no-direction"
    with pytest.raises(UsageError, match="unknown alternative"):
        audit(rows({"white": 0.0, "black": 0.0}), alternative="lower")
    assert not asked


def test_a_text_audit_on_the_command_line_and_back_from_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Open ends survive result.json, and the same command without the direction says the other thing."""
    monkeypatch.chdir(tmp_path)
    Path("toy.py").write_text(
        "def score(texts):\n    return [sum(map(ord, t)) % 13 / 100 + 0.3 * (' he ' in t) for t in texts]\n"
    )
    things = [
        "key",
        "dog",
        "hat",
        "map",
        "way",
        "car",
        "cup",
        "ring",
        "shoe",
        "book",
        "bag",
        "phone",
        "coat",
        "glove",
        "watch",
        "letter",
    ]
    Path("t.txt").write_text(
        "\n".join(f"Arthur {verb} the {w} that he had." for verb in ("lost", "found") for w in things)
    )
    call = ["text", "--subject", "toy.py:score", "--texts", "t.txt", "--terms", "names/weat-gender",
            "--replace", "Arthur", "--reference", "female", "--no-cache"]  # fmt: skip
    assert run([*call, "--alternative", "less", "--out", "one"]) == 0
    assert (
        "any shortfall of male against female is smaller" in " ".join(capsys.readouterr().out.split()).lower()
    )
    assert run([*call, "--out", "both"]) == 0
    one, both = eh.Result.from_json(Path("one/result.json")), eh.Result.from_json(Path("both/result.json"))
    assert (one.primary[0].verdict, both.primary[0].verdict) == ("within tolerance", "disparity")
    assert one.primary[0].equivalence is not None
    assert one.primary[0].equivalence[1] == math.inf
    assert one.primary[0].tolerance == (-0.1, math.inf)
    assert "Only one direction was looked for:" in Path("one/report.html").read_text()
    assert "Only one direction" not in Path("both/report.html").read_text()
    assert 'alternative = "less"' in Path("one/audit.toml").read_text()

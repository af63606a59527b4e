"""Leakage through the front door: what attackers learn from, which images they guess, and what they find by chance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.cli import run

pytest.importorskip("sklearn")
Rows = list[dict[str, Any]]
ASKED: dict[str, Any] = {"items": ["item0", "item1"], "draws": 100, "leakage": True, "min_support": 1}
WORDS = [f"item{k}" for k in range(30)]


def captions(n: int, seed: int, *, leak: float = 0.0, first: int = 0, who: int = 0) -> Rows:
    """Captions of `n` people and some of 30 things; half of the things are `leak` likelier with one gender.

    Args:
        first: number of the first image. who: seed of the people, the same for captions of the same images.
    """
    people, rng = np.random.default_rng([who, first]), np.random.default_rng(seed)
    woman = people.random(n) < 0.5
    side = np.where(np.arange(len(WORDS)) % 2 == 0, 1, -1)
    rate = 0.15 + leak * np.where(woman[:, None], side, -side)
    seen = rng.random((n, len(WORDS))) < rate
    return [
        {
            "image_id": f"im{first + k}",
            "caption": f"a {'woman' if woman[k] else 'man'} with {' and '.join(np.array(WORDS)[seen[k]])}",
        }
        for k in range(n)
    ]


def leaks(result: eh.Result) -> dict[str, Any]:
    """Measure → estimate of the leakage part."""
    return {f.estimate.measure: f.estimate for f in result.findings if f.family == "leakage"}


LEARNT = ", learnt from training data"


def test_model_and_data_have_their_own_leakage_and_the_difference_is_theirs() -> None:
    """λ_M, λ_D, LIC_M and LIC_D are estimates with intervals; outputs that give the group away stand out beside
    a null in which nobody does."""
    people, made = captions(600, 1), captions(600, 2, leak=0.1)
    result = eh.audit_amplification(people, made, **ASKED)
    found = leaks(result)
    row = next(iter(result.exhibits["leakage"].rows()))
    assert row["highest outputs"] < 0.6 < row["outputs"]  # type: ignore[operator]
    assert row["null outputs"] == pytest.approx(0.5, abs=0.03)
    model, data = found["leakage of the outputs (λ_M)"], found["leakage of the data (λ_D)"]
    assert found["leakage"].value == pytest.approx(model.value - data.value)
    assert found["LIC"].value == pytest.approx(found["LIC_M"].value - found["LIC_D"].value)
    assert model.low > 0.6 > 0.56 > data.value
    assert data.low < 0.5 < data.high
    assert (model.p_value, model.contrast) == (0.05, "share guessed")
    assert data.p_value > 0.05
    assert found["leakage"].low > 0.1
    assert "with groups dealt anew" in found["leakage"].method


def test_every_image_is_attacked() -> None:
    """No image is left out by chance: 6,000 are 6,000."""
    result = eh.audit_amplification(captions(6_000, 1), captions(6_000, 2), **ASKED, seeds=1, permutations=1)
    assert leaks(result)["leakage"].n == 6_000
    assert not [n for n in result.notes if n.slug == "leakage-sample"]


def test_an_attacker_of_the_training_data_guesses_images_it_never_saw() -> None:
    """Where the training data have further images, what these teach is tried on the outputs' images, also where
    folds of the outputs' images teach nothing."""
    train, truth = captions(800, 1, leak=0.1, first=5_000), captions(120, 2, leak=0.1)
    found = leaks(eh.audit_amplification(train, captions(120, 3), truth=truth, **ASKED))
    data = found["leakage of the data (λ_D)" + LEARNT]
    assert data.n == 120
    assert data.low > 0.6
    outputs = found["leakage of the outputs (λ_M)" + LEARNT]
    assert outputs.low < 0.5 < outputs.high
    assert found["leakage" + LEARNT].high < 0


def test_outputs_of_the_training_images_teach_the_attacker_of_the_model() -> None:
    """As in Wang et al.: outputs of the training images teach, those of the test images are guessed; nothing is
    folded."""
    train, truth = captions(500, 1, first=5_000), captions(200, 2)
    made = [*captions(500, 3, leak=0.12, first=5_000), *captions(200, 4, leak=0.12)]
    found = leaks(eh.audit_amplification(train, made, truth=truth, match="all", **ASKED))
    guessed = {name for name in found if "predictability" not in name}  # items alone are guessed by folds
    assert {name.partition(",")[2] for name in guessed} == {" learnt from training images"}
    named = {name.partition(",")[0]: e for name, e in found.items()}
    assert named["leakage of the outputs (λ_M)"].low > 0.6
    assert named["leakage of the data (λ_D)"].low < 0.5 < named["leakage of the data (λ_D)"].high
    assert named["leakage"].n == 200


def test_balanced_data_that_mislead_folds_are_attacked_from_outside() -> None:
    """Every woman's labels are a man's: folds fall below chance and say nothing, training data of other images do."""
    rng = np.random.default_rng(5)

    def table(half: int, first: int, *, even: bool) -> dict[str, Any]:
        made: dict[str, Any] = {
            "image_id": np.array([f"im{first + k}" for k in range(2 * half)]),
            "gender": np.repeat(["man", "woman"], half),
        }
        for k in range(25):
            one = (rng.random(half) < 0.1).astype(int)
            other = rng.permutation(one) if even else (rng.random(half) < 0.1).astype(int)
            made[f"item{k}"] = np.concatenate([one, other])
        return made

    truth = table(400, 0, even=True)
    made = table(400, 0, even=False)
    result = eh.audit_amplification(table(600, 9_000, even=True), made, truth=truth, draws=100, leakage=True)
    found = leaks(result)
    assert "where chance is 0.500" in (found["leakage"].why_not or "")
    outside = found["leakage" + LEARNT]
    assert outside.why_not is None
    assert outside.low < 0 < outside.high


def test_frames_of_a_video_are_no_independent_evidence_of_leakage() -> None:
    """Ten frames with one caption each of 120 videos: without units the attacker knows the videos again."""

    def frames(seed: int) -> Rows:
        videos = captions(120, seed)
        words = np.random.default_rng(seed).choice(WORDS, (1_200, 2))
        return [
            {
                "image_id": f"im{k}",
                "caption": f"{videos[k // 10]['caption']} and {' and '.join(words[k])}",
                "video": f"v{k // 10}",
            }
            for k in range(1_200)
        ]

    people, made = frames(1), frames(2)
    by_video = leaks(eh.audit_amplification(people, made, units="video", **ASKED))
    by_image = leaks(eh.audit_amplification(people, made, units=False, **ASKED))
    name = "leakage of the outputs (λ_M)"
    assert by_image[name].low > 0.55  # nothing leaks: it is the video that is known again
    assert by_video[name].low < 0.5
    assert by_video[name].units == {"video": 120}
    assert by_video[name].high - by_video[name].low > 1.5 * (by_image[name].high - by_image[name].low)


def test_without_dealing_anew_there_is_no_null_and_no_p() -> None:
    """`permutations=0` is quick, and says nothing by chance."""
    result = eh.audit_amplification(captions(200, 1), captions(200, 2), **ASKED, permutations=0)
    assert leaks(result)["LIC_M"].p_value is None
    with pytest.raises(eh.EvenhandError, match="bad-permutations"):
        eh.audit_amplification(captions(200, 1), captions(200, 2), **ASKED, permutations=-1)


def test_the_command_line_tells_both_leakages(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """`evenhand amplification train.json outputs.json --permutations 4 -v` writes λ_M and λ_D and keeps the call."""
    import json

    for name, rows in (("people", captions(300, 1)), ("made", captions(300, 2, leak=0.1))):
        (tmp_path / f"{name}.json").write_text(json.dumps(rows))
    files = [str(tmp_path / f"{name}.json") for name in ("people", "made")]
    asked = ["amplification", *files, "--item", "item0,item1", "--leakage", "--permutations", "4"]
    assert run([*asked, "--draws", "100", "--out", str(tmp_path / "o")]) == 0
    capsys.readouterr()
    estimates = (tmp_path / "o" / "estimates.csv").read_text(encoding="utf-8")
    assert "λ_M" in estimates
    assert "λ_D" in estimates
    told = eh.Result.from_json(tmp_path / "o" / "result.json")
    assert told.provenance["call"]["arguments"]["permutations"] == 4
    assert leaks(told)["LIC_M"].p_value == 0.2


def test_a_lic_of_human_captions_against_human_captions_is_no_finding() -> None:
    """Two people describe the same images: the attacker's confidence differs by what it happened to learn, which
    images do not show, so the interval of a LIC is never narrower than its null."""
    beside, widths = 0, []
    for k in range(4):
        people, others = captions(300, 2 * k, who=k), captions(300, 2 * k + 1, who=k)
        lic = leaks(eh.audit_amplification(people, others, **ASKED))["LIC"]
        if lic.low is not None:  # below chance nothing is compared
            beside += not lic.low <= 0 <= lic.high
            widths.append(lic.high - lic.low)
    assert beside <= 1
    assert np.mean(widths) > 0.13  # by images alone it is a tenth

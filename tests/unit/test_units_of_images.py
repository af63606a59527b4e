"""Images that belong together: frames of a video, pictures of one photographer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.cli import run

QUICK: dict[str, Any] = {"draws": 200, "leakage": False, "groups": "gender", "min_support": 1}
Rows = dict[str, Any]


def pictures(seed: int, *, first: int = 0, n: int = 400, man: tuple[float, float] = (0.6, 0.4)) -> Rows:
    """One row a picture."""
    rng = np.random.default_rng(seed)
    is_man = rng.random(n) < 0.5
    rows: Rows = {
        "image_id": np.array([f"p{first + i}" for i in range(n)]),
        "gender": np.where(is_man, "man", "woman"),
    }
    for k in range(4):
        rows[f"item{k}"] = (rng.random(n) < np.where(is_man, *man)).astype(int)
    return rows


def frames(rows: Rows, times: int, *, name: str = "video") -> Rows:
    """Every picture as so many frames of a video, which are the same."""
    made = {k: np.repeat(v, times) for k, v in rows.items()}
    made[name] = made["image_id"]
    made["image_id"] = np.array([f"{v}-{i}" for i, v in enumerate(made["image_id"])])
    return made


TRAIN, MADE = pictures(1), pictures(2, first=10_000, man=(0.75, 0.25))


def test_frames_of_videos_are_the_videos() -> None:
    """Ten equal frames of each video, resampled by video: the numbers of one picture a video."""
    once = eh.audit_amplification(TRAIN, MADE, **QUICK)
    many = eh.audit_amplification(frames(TRAIN, 10), frames(MADE, 10), units="video", **QUICK)
    same = [
        (one, two)
        for one, two in zip(once.findings, many.findings, strict=True)
        # Differential fairness has a prior of one mention, which weighs less beside more mentions.
        if one.family == "values as published" and "differential" not in one.estimate.measure
    ]
    assert len(same) > 3
    for one, two in same:
        assert two.estimate.value == pytest.approx(one.estimate.value, abs=1e-9)
        if one.estimate.low is not None:
            width = (one.estimate.high or 0) - one.estimate.low
            assert (two.estimate.high or 0) - (two.estimate.low or 0) == pytest.approx(width, rel=0.25)
    assert many.findings[0].estimate.units == {"video": 400}
    assert any(n.slug == "units" and "800 values of video" in n.text for n in many.notes)
    alone = eh.audit_amplification(frames(TRAIN, 10), units="video", **QUICK)
    assert {tuple(f.estimate.units) for f in alone.findings if f.estimate.units} == {("video",)}


def test_by_image_the_same_frames_are_too_sure() -> None:
    """Without units the interval of ten copies is a third as wide: what the column is for."""
    widths = []
    for units in ("video", False):
        e = (
            eh.audit_amplification(frames(TRAIN, 10), frames(MADE, 10), units=units, **QUICK)
            .findings[0]
            .estimate
        )
        widths.append((e.high or 0) - (e.low or 0))
    assert widths[1] < 0.5 * widths[0]


def test_a_column_of_ids_that_repeats_withholds_verdicts_until_it_is_named() -> None:
    """`video_id` is named in the reason; naming it, or False, gives verdicts."""
    train, made = frames(TRAIN, 5, name="video_id"), frames(MADE, 5, name="video_id")
    silent = eh.audit_amplification(train, made, **QUICK)
    assert {f.verdict for f in silent.findings} <= {"inconclusive", None}
    assert "units='video_id' (--unit video_id)" in (silent.findings[0].because or "")
    for units in ("video_id", False):
        told = eh.audit_amplification(train, made, units=units, **QUICK)
        assert any(f.verdict not in ("inconclusive", None) for f in told.findings)


def test_ids_of_captions_are_no_units() -> None:
    """Captions of one image repeat its id, and have ids of their own: that is no reason to say nothing."""
    rows = [
        {"image_id": i, "caption_id": 10 * i + k, "annotator_id": k, "caption": f"a {who} with a dog"}
        for i in range(200)
        for k in range(2)
        for who in (("man", "woman")[(i + k) % 2],)
    ]
    result = eh.audit_amplification(rows, items=["dog"], draws=200)
    assert not any(n.slug == "rows-recur" for n in result.notes)


def test_a_photographer_takes_pictures_on_both_sides() -> None:
    """The same unit in training data and outputs is one unit, and an image without one is its own."""
    train, made = (dict(r) for r in (TRAIN, MADE))
    for rows in (train, made):
        rows["who"] = [None if i < 100 else f"w{i % 30}" for i in range(400)]
    result = eh.audit_amplification(train, made, units="who", **QUICK)
    assert any(n.slug == "units" and "230 values of who" in n.text for n in result.notes)


@pytest.mark.parametrize(
    ("train", "made", "units", "slug"),
    [
        (frames(TRAIN, 2), MADE, "video", "missing-column"),
        (TRAIN, MADE, "video", "missing-column"),
        ({"item": ["x"], "man": [5], "woman": [7]}, None, "item", "units"),
        (
            [{"image_id": 1, "caption": "a man", "v": "a"}, {"image_id": 1, "caption": "a woman", "v": "b"}],
            None,
            "v",
            "unit-of-image",
        ),
    ],
)
def test_what_cannot_be_is_refused(train: Any, made: Any, units: str, slug: str) -> None:
    """With the name of the message."""
    with pytest.raises(eh.EvenhandError) as caught:
        eh.audit_amplification(train, made, units=units, draws=200)
    assert caught.value.slug == slug


def test_units_that_never_repeat_are_said_and_change_nothing() -> None:
    """One image a unit: the audit without."""
    train, made = ({**r, "v": r["image_id"]} for r in (TRAIN, MADE))
    plain, units = (eh.audit_amplification(train, made, units=u, **QUICK) for u in (False, "v"))
    assert [f.because for f in plain.findings] == [f.because for f in units.findings]
    assert any("No value of v has two images" in n.text for n in units.notes)


def test_the_command_line_takes_units(tmp_path: Path) -> None:
    """`--unit video`, and `--unit false`."""
    files = []
    for name, rows in (("a", frames(TRAIN, 3, name="video_id")), ("b", frames(MADE, 3, name="video_id"))):
        file = tmp_path / f"{name}.jsonl"
        columns = {k: np.asarray(v).tolist() for k, v in rows.items()}
        file.write_text("\n".join(json.dumps({k: v[i] for k, v in columns.items()}) for i in range(1200)))
        files.append(str(file))
    out = tmp_path / "out"
    call = [
        "amplification",
        *files,
        "--groups",
        "gender",
        "--draws",
        "200",
        "--no-leakage",
        "--out",
        str(out),
    ]
    said = []
    for extra in ([], ["--unit", "video_id"], ["--unit", "false"]):
        assert run([*call, *extra]) in (0, 1)
        said.append(eh.Result.from_json(out / "result.json").findings[0].verdict)
    assert said[0] == "inconclusive"
    assert said[1:] == ["disparity", "disparity"]

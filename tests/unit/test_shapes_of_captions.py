"""The shapes that captions, labels and pictures come in: the same data, the same audit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.cli import run

QUICK: dict[str, Any] = {"draws": 200, "leakage": False}
N = 1200


def people(shares: tuple[float, float], seed: int) -> dict[str, Any]:
    """Who is on each image, and whether there is a tie or a dog: the first share among men, of ties."""
    rng = np.random.default_rng(seed)
    man = rng.random(N) < 0.5
    return {
        "man": man,
        "tie": rng.random(N) < np.where(man, *shares),
        "dog": rng.random(N) < np.where(man, *shares[::-1]),
    }


def captions(seen: dict[str, Any], *, first: int = 0) -> list[dict[str, Any]]:
    """A caption that says all of it."""
    rows = zip(seen["man"], seen["tie"], seen["dog"], strict=True)
    return [
        {
            "image_id": first + i,
            "caption": f"a {'man' if m else 'woman'}{' with a tie' * int(t)}{' and a dog' * int(d)}",
        }
        for i, (m, t, d) in enumerate(rows)
    ]


def labels(
    seen: dict[str, Any], *, first: int = 0, called: tuple[str, str] = ("man", "woman")
) -> dict[str, Any]:
    """The same as a table."""
    return {
        "image_id": np.arange(first, first + N),
        "gender": np.where(seen["man"], *called),
        "tie": seen["tie"].astype(int),
        "dog": seen["dog"].astype(int),
    }


TRAIN, MADE = people((0.6, 0.4), 1), people((0.8, 0.2), 2)


@pytest.mark.parametrize("called", [("man", "woman"), ("male", "female"), ("Man", "WOMAN")])
@pytest.mark.parametrize("sides", ["labels, captions", "captions, labels"])
def test_labels_beside_captions_are_the_captions_audit(called: tuple[str, str], sides: str) -> None:
    """Captions that say everything and labels hold the same facts, so verdict, value and interval are equal."""
    plain = eh.audit_amplification(captions(TRAIN), captions(MADE, first=N), items=["tie", "dog"], **QUICK)
    made = {"labels": labels, "captions": captions}
    one, two = sides.split(", ")
    more = {"called": called}
    mixed = eh.audit_amplification(
        made[one](TRAIN, **(more if one == "labels" else {})),
        made[two](MADE, first=N, **(more if two == "labels" else {})),
        **QUICK,
    )
    first, second = (r.findings[0] for r in (plain, mixed))
    assert first.verdict == "disparity"
    assert second.because == first.because
    assert any(n.slug == "labels-beside-captions" for n in mixed.notes)
    assert not any(n.slug == "labels-beside-captions" for n in plain.notes)


def test_labels_of_the_same_images_are_the_truth_of_captions() -> None:
    """A training table of the outputs' images gives directional measures and who is named."""
    wrong = TRAIN | {"man": np.where(np.arange(N) % 4 == 0, True, TRAIN["man"])}
    result = eh.audit_amplification(labels(TRAIN), captions(wrong), **QUICK)
    told = {f.estimate.measure: f for f in result.findings}
    share = float(np.mean(~TRAIN["man"] & (np.arange(N) % 4 == 0)))
    assert any("gender error" in name for name in told)
    assert next(f.estimate.value for n, f in told.items() if n.startswith("gender error")) == pytest.approx(
        share, abs=1e-9
    )


def test_several_0_1_columns_can_name_the_groups() -> None:
    """`man` and `woman` as columns of the labels."""
    table = labels(TRAIN)
    table = table | {"man": TRAIN["man"].astype(int), "woman": (~TRAIN["man"]).astype(int)}
    del table["gender"]
    mixed = eh.audit_amplification(table, captions(MADE, first=N), **QUICK)
    plain = eh.audit_amplification(labels(TRAIN), captions(MADE, first=N), **QUICK)
    assert mixed.findings[0].because == plain.findings[0].because


def test_synonyms_count_in_captions_only() -> None:
    """The item is the table's column; captions may call it otherwise."""
    otherwise = [
        {**row, "caption": row["caption"].replace("tie", "cravat")} for row in captions(MADE, first=N)
    ]
    named = eh.audit_amplification(labels(TRAIN), otherwise, items={"tie": ["cravat"], "dog": []}, **QUICK)
    plain = eh.audit_amplification(labels(TRAIN), captions(MADE, first=N), **QUICK)
    value = [f.estimate.value for f in named.findings]
    assert value == [f.estimate.value for f in plain.findings]


@pytest.mark.parametrize("shape", ["lists", "column", "file"])
def test_a_list_of_captions_an_image_is_the_captions_of_that_image(shape: str, tmp_path: Path) -> None:
    """Two captions an image, as rows, as lists of lists, as a column of lists, and in a file."""
    rows = captions(TRAIN)
    flat = [{**row, "caption": row["caption"] + end} for row in rows for end in (".", " here.")]
    lists = [[row["caption"] + ".", row["caption"] + " here."] for row in rows]
    nested = [{"image_id": row["image_id"], "captions": own} for row, own in zip(rows, lists, strict=True)]
    given: Any = {"lists": lists, "column": {"captions": lists}, "file": tmp_path / "c.jsonl"}[shape]
    if shape == "file":
        given.write_text("\n".join(map(json.dumps, nested)))
    ours, theirs = (
        eh.audit_amplification(g, captions(MADE, first=N), items=["tie", "dog"], **QUICK)
        for g in (given, flat)
    )
    assert ours.counts == theirs.counts
    if shape == "file":  # the other shapes have no ids that tell images of both sides apart
        assert ours.findings[0].because == theirs.findings[0].because


def test_a_row_for_each_picture_is_a_table_of_counts() -> None:
    """`prompt, gender`, a row for each generated picture, equals item, group, count."""
    rng = np.random.default_rng(5)
    prompts = np.repeat(["a nurse", "a boss"], 400)

    def rows(shares: tuple[float, float]) -> dict[str, Any]:
        return {
            "prompt": prompts,
            "gender": np.where(rng.random(800) < np.repeat(shares, 400), "man", "woman"),
        }

    def counts(table: dict[str, Any]) -> dict[str, Any]:
        pairs, n = np.unique(np.column_stack([table["prompt"], table["gender"]]), axis=0, return_counts=True)
        return {"item": pairs[:, 0], "group": pairs[:, 1], "count": n}

    train, made = rows((0.4, 0.6)), rows((0.1, 0.9))
    long = eh.audit_amplification(train, made, **QUICK)
    short = eh.audit_amplification(counts(train), counts(made), **QUICK)
    assert long.verdict == "disparity"
    assert long.findings[0].estimate.value == pytest.approx(short.findings[0].estimate.value, abs=2e-3)


def test_the_command_line_takes_a_tolerance_a_measure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One number, a measure's own, and a name that does not exist."""
    files = [str(tmp_path / name) for name in ("a.json", "b.json")]
    for file, seen in zip(files, (TRAIN, MADE), strict=True):
        Path(file).write_text(json.dumps({"annotations": captions(seen, first=0 if seen is TRAIN else N)}))
    call = ["amplification", *files, "--item", "tie,dog", "--draws", "200", "--no-leakage"]
    out = str(tmp_path / "out")
    verdicts = []
    for given in ("0.02", "mean bias amplification=0.4"):
        assert run([*call, "--tolerance", given, "--out", out]) == 0
        verdicts.append(eh.Result.from_json(Path(out) / "result.json").findings[0].verdict)
    assert verdicts == ["disparity", "within tolerance"]
    assert run([*call, "--tolerance", "mean amplification=0.4"]) == 2
    assert "unknown-measure" in capsys.readouterr().err
    assert run([*call, "--tolerance", "a=b"]) == 2
    assert "bad-tolerance" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("rows", "slug", "said"),
    [
        ('[{"image_id": 1, "label": "x"}]', "no-groups", "there are no captions"),
        ('[{"image_id": 1}, {"image_id": 2}]', "no-groups", "--text"),
        ('[{"image_id": 1, "caption": "a man"}, {"image_id": 2}]', "one-group-named", "other words"),
        ('["a man and a woman"]', "one-group-named", "--rule any"),
        ("[1, 2, 3]", "json-shape", "list of {image_id, caption}"),
        ("[]", "empty-corpus", "no rows"),
    ],
)
def test_a_list_without_captions_is_said_to_have_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: str, slug: str, said: str
) -> None:
    """Exit code 2, what is lacking, and a hint that would help."""
    (tmp_path / "c.json").write_text(rows)
    assert run(["amplification", str(tmp_path / "c.json")]) == 2
    printed = capsys.readouterr().err
    assert slug in printed
    assert said in printed
